"""The outputs shown in README are what its commands print."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
FRONT = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLES = re.findall(r"```console\n\$ (build/release/lockstep (?:replay|sim) .*?)\n(.*?)```",
                      FRONT, re.S)


def is_shown(printed, shown):
    """Whether the lines of `printed` are those of `shown`, where a line '...' stands for any number
    of lines, and '...' at the end of a line for the rest of it."""
    pattern = ""
    for line in shown.splitlines():
        if line == "...":
            pattern += "(?:.*\n)*?"
        elif line.endswith(" ..."):
            pattern += re.escape(line[:-4]) + " .*\n"
        else:
            pattern += re.escape(line) + "\n"
    return re.fullmatch(pattern, printed) is not None


def test_lines_left_out_stand_for_others():
    assert is_shown("a\nb\nc\nd\n", "a\n...\nd\n")
    assert is_shown("a b c\n", "a b ...\n")
    assert not is_shown("a\nb\n", "a\n")
    assert not is_shown("a\nb\n", "a\nc\n")


@pytest.mark.parametrize("command,shown", CONSOLES, ids=lambda text: text.splitlines()[0][:40])
def test_a_command_prints_what_is_shown(command, shown):
    ran = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True, check=True)
    assert is_shown(ran.stdout, shown), ran.stdout


def test_both_ways_without_a_network_are_shown():
    assert [command.split()[1] for command, _ in CONSOLES] == ["replay", "sim"]


def test_the_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", FRONT, re.S)
    exec(compile(code, "README.md", "exec"), {})  # pylint: disable=exec-used
    assert re.fullmatch(r"50000 bytes arrived, [1-9]\d* retransmissions\n", capsys.readouterr().out)
