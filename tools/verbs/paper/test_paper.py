"""Each experiment's gates, its exact numbers, and its figure; and what the verb refuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.verbs.paper import __main__ as verb
from tools.verbs.paper import experiments, prr
from tools.verbs.paper.place import Place, RunFailed

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "build/release/lockstep"
PNG = b"\x89PNG\r\n\x1a\n"


def expected(name: str) -> str:
    """The part of quick.txt that belongs to an experiment."""
    text = (Path(__file__).parent / "quick.txt").read_text()
    begin = text.index(f"{name}: {experiments.ALL[name].TITLE}\n")
    ends = [text.find(f"\n{other}: {each.TITLE}\n", begin)
            for other, each in experiments.ALL.items()]
    return text[begin:min([end for end in ends if end > begin], default=len(text))].strip()


@pytest.mark.parametrize("name", experiments.ALL)
def test_the_gates_hold_with_the_same_numbers(name, tmp_path, capsys):
    code = verb.main(["--program", str(PROGRAM), name, "--quick", "--out", str(tmp_path)])
    table = "\n".join(line for line in capsys.readouterr().out.splitlines()
                      if not line.startswith(str(tmp_path)))
    assert table.strip() == expected(name)
    assert code == 0
    assert (tmp_path / f"{name}.png").read_bytes().startswith(PNG)
    kept = json.loads((tmp_path / f"{name}.json").read_text())
    assert kept["holds"] and kept["data"]


def test_a_gate_that_fails_is_a_finding(monkeypatch, capsys):
    monkeypatch.setitem(prr.PRINTED, ("PRR-CRB", 15), ("19 19 4 4 4", "N N R R N"))
    code = verb.main(["--program", str(PROGRAM), "prr", "--no-figure", "--json"])
    found = json.loads(capsys.readouterr().out)["prr"]
    assert code == 1 and not found["holds"]
    assert [gate["what"] for gate in found["gates"] if not gate["holds"]] == [
        "PRR-CRB, 15 of 20 lost: sent"]


def test_what_cannot_be_done_gets_one_line(tmp_path, capsys, monkeypatch):
    def said(*words):
        assert verb.main(list(map(str, words))) == 3
        (line,) = capsys.readouterr().err.splitlines()
        return line.removeprefix("lockstep paper: ")

    gone, file = tmp_path / "gone", tmp_path / "file"
    assert said("--program", gone, "prr") == (
        f"{gone}: there is no such program: build the preset release")
    file.write_text("")
    monkeypatch.setattr(prr, "measure", None)  # not called: the folder comes first
    assert said("--program", PROGRAM, "prr", "--out", file) == (
        f"{file}: cannot be a folder (File exists): name another --out")

    def full(_):
        raise OSError("No space left on device")

    monkeypatch.setattr(prr, "measure", full)
    assert said("--program", PROGRAM, "prr", "--out", tmp_path) == (
        f"{tmp_path}: No space left on device")


def test_a_world_that_cannot_be_run_is_named_once(tmp_path):
    place = Place(PROGRAM, tmp_path, True)
    with pytest.raises(RunFailed) as failed:
        place.run("dctcp.toml", {"nobody.sack": "true"})
    assert str(failed.value).startswith("dctcp.toml cannot be run: ")
    assert "lockstep:" not in str(failed.value) and "nobody" in str(failed.value)


def test_the_command():
    def run(*words):
        done = subprocess.run([PROGRAM, "paper", *words], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    code, out, _ = run("--list", "--json")
    assert code == 0 and [row["name"] for row in json.loads(out)] == list(experiments.ALL)
    assert run("cubik")[0] == 2 and "expected one of prr, cubic" in run("cubik")[2]
    assert run()[0] == 2 and "--list" in run()[2]
    code, out, _ = run("--help")
    assert code == 0 and "Example: lockstep paper" in out and "--json" in out


def test_the_misprint_of_rfc_6937():
    """Pipe falls by one for each ACK, and by one more for the loss found at the third; what is sent
    raises it. The printed row of pipe does not follow from the printed row of what is sent."""
    pipe, sent = prr.PRINTED["PRR-SSRB", 1]
    level, row = 20, []
    for ack, what in enumerate(sent.split()):
        level -= 2 if ack == 2 else 1
        row.append(level)
        level += what != "-"
    assert prr.words(row) == prr.MENDED != pipe


def test_a_folder_that_is_not_the_module_yet(tmp_path, capsys, monkeypatch):
    program = tmp_path / "lockstep"
    program.write_text("")
    (tmp_path / "python/lockstep").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [each for each in sys.path
                                      if not Path(each, "lockstep/__init__.py").exists()])
    monkeypatch.delitem(sys.modules, "lockstep", raising=False)
    assert verb.main(["--program", str(program), "prr", "--no-figure"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("lockstep paper: the Python module lockstep is missing: cmake --preset")
    sys.modules.pop("lockstep")  # the folder
