# Tests of the pairs: all results are as expected, and errors in the file are reported.
"""Run by pytest; needs build/release/lockstep."""
import subprocess
from pathlib import Path

import pytest

ROOM = Path(__file__).resolve().parent
PROGRAM = ROOM.parents[1] / "build/release/lockstep"

pytestmark = pytest.mark.skipif(not PROGRAM.is_file(),
                                reason="build/release/lockstep is missing: build it")


def run(*words):
    """Runs check; returns its exit code and its output."""
    done = subprocess.run([ROOM / "check", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def altered(tmp_path, old, new):
    """A copy of pairs.toml with one string replaced."""
    text = (ROOM / "pairs.toml").read_text()
    assert old in text
    path = tmp_path / "pairs.toml"
    path.write_text(text.replace(old, new, 1))
    return path


def test_every_pair_is_as_stated():
    code, text = run()
    assert code == 0, text


def test_another_number_is_a_finding(tmp_path):
    path = altered(tmp_path, "is = 44 }", "is = 45 }")
    code, text = run("--file", path, "SACK")
    assert code == 1
    assert "expected 45 and 0" in text


def test_a_setting_that_does_nothing_is_a_finding(tmp_path):
    path = altered(tmp_path, "b.sack=false", "b.nagle=false")
    code, text = run("--file", path, "SACK")
    assert code == 1
    assert "1 not as expected" in text


@pytest.mark.parametrize("old, new, line", [
    ("b.sack=false", "c.sack=false", "there is no host 'c'"),
    ('measure = "sack_blocks"', 'measure = "blocks"', "pair 1: no measure 'blocks'"),
    ('world = "one_lost"', 'world = "none"', "pair 1: no world 'none'"),
    ('host = "b"', 'host = "c"', "pair 1: host 'c'"),
    ("is = 44 }", "is = 0 }", "pair 1: on and off are the same"),
    ('feature = "SACK"\n', 'feature = "SACK"\nfeeture = "x"\n', "pair 1: unknown key 'feeture'"),
    ("is = 44 }", "was = 44 }", "pair 1: 'on' lacks 'set' or 'is'"),
    ("\nbase = ", "\nbasis = ", "pairs.toml: 'base' is missing"),
    ('measure = "sack_blocks"', 'measure = "flight_soon"', "nothing to measure"),
    ("\n[worlds]", "\n[worlds", "pairs.toml: "),
])
def test_bad_input_is_one_line(tmp_path, old, new, line):
    code, text = run("--file", altered(tmp_path, old, new), "SACK")
    assert code in (1, 2)
    assert line in text
    assert "Traceback" not in text


def test_usage(tmp_path):
    assert run("nothing")[0] == 2
    assert run("--program", tmp_path / "none")[0] == 3
    assert run("--file", tmp_path / "none")[0] == 2
