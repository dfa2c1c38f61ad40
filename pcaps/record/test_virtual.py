# Tests of the recordings in virtual time: the same octets twice, and clear faults.
"""Those that start a kernel need LOCKSTEP_LINUX, and are skipped without it."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LOCKSTEP = ROOT / "build" / "release" / "lockstep"
sys.path.insert(0, str(HERE))

import compare  # noqa: E402
from common import frames, pcapng  # noqa: E402

# A kernel as the peer, a script as the peer, loss, all options, held frames, IPv6, Fast Open.
FEW = ["rfc9293-3.5-linux-server", "rfc9293-3.10.7.4-linux-challenges",
       "rfc6582-3.2-linux-two-losses", "rfc5681-4.2-linux-default-loss-received",
       "rfc5682-3.1-linux-nothing-new", "rfc8201-4-linux-packet-too-big",
       "rfc7413-4.2.2-linux-client-shows-cookie"]
needs_kernel = pytest.mark.skipif(not os.environ.get("LOCKSTEP_LINUX"),
                                  reason="LOCKSTEP_LINUX names no kernel")


def record(*words, **environment):
    """Run pcaps/record/record; return its exit code and output."""
    done = subprocess.run([HERE / "record", *words], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout + done.stderr


def files(folder):
    """Each file below a folder and its octets."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")
            if path.is_file()}


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory):
    """A folder with the few scenarios."""
    folder = tmp_path_factory.mktemp("made")
    code, text = record("--device", "linux", "--into", str(folder), *FEW)
    assert code == 0, text
    return folder


@needs_kernel
def test_second_recording_has_the_same_octets(made, tmp_path):
    record("--device", "linux", "--into", str(tmp_path), *FEW)
    assert len(files(made)) == 2 * len(FEW)
    assert files(tmp_path) == files(made)


@needs_kernel
def test_origin_says_how_it_was_made(made):
    text = (made / FEW[0] / "scenario.toml").read_text()
    assert 'origin = "recorded: Linux ' in text and " in virtual time as server" in text
    assert f'made_by = "pcaps/record/record.py --device linux {FEW[0]}"' in text


@needs_kernel
def test_capture_begins_at_a_fixed_instant(made):
    first = [pcapng.decode((made / name / "capture.pcapng").read_bytes())[0].time_ns
             for name in FEW[:2]]
    assert first == [10**18 + 3 * 10**9 + 10_000_000, 10**18 + 3 * 10**9 + 100_000]


@needs_kernel
def test_check_has_no_findings(made):
    done = subprocess.run([ROOT / "pcaps" / "check", *(made / name for name in FEW)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@needs_kernel
@pytest.mark.skipif(not LOCKSTEP.exists(), reason=f"{LOCKSTEP} is not built")
def test_core_agrees_with_it(made, tmp_path):
    done = subprocess.run([LOCKSTEP, "conformance", "--pcaps", made, "--json", tmp_path / "json",
                           "--junit", tmp_path / "xml"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout
    assert f"{len(FEW)} of {len(FEW)} scenarios agree" in done.stdout


@needs_kernel
def test_comparison_says_same_or_why_not():
    code, text = record("--device", "linux", "--compare", "--json", FEW[0], FEW[4])
    report = json.loads(text)
    assert (code, report["findings"], report["same"], report["explained"]) == (0, 0, 1, 1), text
    assert report["scenarios"][0] == {"scenario": FEW[0], "verdict": "same", "findings": []}


def scenario(body):
    """A program that records a scenario with this body, as record.py does."""
    return f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import record, virtual
from pathlib import Path
from plain import recorded

@recorded("a-scenario", "", [], "passive", "server", kernel_peer=False)
def body(r):
    {body}

sys.exit(record.in_child(body, virtual.Wire, Path("nowhere")))
"""


@needs_kernel
@pytest.mark.parametrize("body, fault", [
    ("r.script()[1].expect('F')", "the device sent no segment with flags F within 5 s"),
    ("r.listen(); r.accept()", "timed out"),
    ("import os; os.kill(r.wire.device.guest.process, 9); r.listen()",
     "the kernel has ended: signal 9"),
])
def test_fault_ends_in_one_line(body, fault, tmp_path):
    done = subprocess.run([sys.executable, "-c", scenario(body)], capture_output=True, text=True,
                          check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"pcaps/record: a-scenario: {fault}\n")


def test_program_that_is_no_kernel_ends_in_one_line():
    code, text = record("--device", "linux", FEW[0], LOCKSTEP_LINUX="/bin/false")
    assert (code, text) == (1, f"pcaps/record: {FEW[0]}: the kernel has ended: exit code 1\n")


@pytest.mark.parametrize("words, code, said", [
    (["--device", "linux", FEW[0]], 3, "LOCKSTEP_LINUX is not set"),
    (["--device", "linux", "no-such"], 2, "unknown no-such"),
    (["--device", "linux"], 2, "nothing named"),
    (["--compare", FEW[0]], 2, "--compare needs --device linux"),
    (["--json", "--device", "linux", FEW[0]], 2, "--json needs --compare"),
])
def test_wrong_usage_is_one_line(words, code, said):
    done = record(*words, LOCKSTEP_LINUX="")
    assert done[0] == code and said in done[1] and done[1].count("\n") == 1, done


ENDS = ("10.0.0.2", 6000), ("10.0.0.1", 5000)
MACS = ("02:00:00:00:00:02", "02:00:00:00:00:01")


def capture(path, *segments, isn=100):
    """A capture of the peer's segments: (flags, seq, window, octets)."""
    packets = [pcapng.Packet(number, frames.build(*ENDS, MACS, flags, isn + seq, 7, window,
                                                  payload=bytes(octets)))
               for number, (flags, seq, window, octets) in enumerate(segments)]
    path.write_bytes(pcapng.encode(packets))
    return path


SYN, DATA = ("S", 0, 1000, 0), ("PA", 1, 1000, 10)


@pytest.mark.parametrize("now, where, text", [
    ([SYN, DATA], None, ""),
    ([SYN, ("A", 1, 1900, 10)], None, ""),  # PSH and about the same window
    ([SYN, ("A", 1, 4000, 10)], (2, 2), "peer: window"),
    ([SYN, ("A", 1, 0, 10)], (2, 2), "peer: window"),
    ([SYN, ("A", 2, 1000, 9)], (2, 2), "peer: seq, length"),
    ([SYN, ("FA", 1, 1000, 10)], (2, 2), "peer: flags"),
    ([SYN], (2, None), "peer: missing"),
    ([SYN, DATA, DATA], (None, 3), "peer: more"),
])
def test_first_difference(now, where, text, tmp_path):
    one = capture(tmp_path / "one", SYN, DATA)
    found = compare.first_difference(one, capture(tmp_path / "two", *now, isn=2**32 - 60))
    if where is None:
        assert found is None
    else:
        assert (found.committed, found.made) == where and found.text.startswith(text)


@pytest.mark.parametrize("text, verdict, findings", [
    ("seq", "differs", 0), ("window", "differs", 2), (None, "same", 1)])
def test_reason_that_fits_nothing_is_a_finding(text, verdict, findings):
    entries = [{"scenarios": ["x"], "text": text or "", "reason": "r", "source": "s"}]
    row = compare.judge("x", compare.Difference(2, 2, "peer: seq") if text else None, entries)
    assert row["verdict"] == verdict and len(row["findings"]) == findings
    assert row.get("reason") == (None if findings else "r")


@pytest.mark.parametrize("text, said", [
    ('[[difference]]\nscenarios = ["y"]\ntext = ""\nreason = ""\nsource = ""', "no scenario y"),
    ('[[difference]]\nscenarios = []\ntext = "("\nreason = ""\nsource = ""', "no regular"),
    ('[[difference]]\nscenarios = []', "expected scenarios, text, reason and source"),
    ("[[", "reasons.toml: "),
])
def test_fault_of_the_reasons_is_named(text, said, tmp_path):
    path = tmp_path / "reasons.toml"
    path.write_text(text)
    with pytest.raises(compare.BadReasons, match=said):
        compare.reasons(["x"], path)
