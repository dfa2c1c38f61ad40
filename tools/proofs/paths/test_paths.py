"""The results belong to the commands that the pages show today, and the plot of a grid draws."""

import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.proofs.paths import pages

ROOT = Path(__file__).resolve().parents[3]
RESULTS = json.loads(pages.RESULTS.read_text())
INTERVALS = ROOT / "sim/examples/grid/intervals.py"


@pytest.mark.parametrize("name", pages.PATHS)
def test_the_results_are_of_the_commands_of_the_page(name):
    path, found = pages.PATHS[name], RESULTS[name]
    assert found["page"] == path.page and found["limit_minutes"] == path.minutes
    assert found["commands"] == pages.commands_of(ROOT / path.page).split("\n"), (
        f"{path.page} has changed: run tools/evidence paths")
    assert found["within"] and found["minutes"] <= path.minutes


@pytest.fixture(name="job")
def _job(monkeypatch, tmp_path):
    """The program, whose runs take what the test says: of quickstart, and of each path."""
    loader = importlib.machinery.SourceFileLoader("job", str(ROOT / "tools/proofs/jobs/paths"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("job", loader))
    loader.exec_module(module)
    monkeypatch.setattr(pages, "RESULTS", tmp_path / "results.json")
    monkeypatch.setenv("EVIDENCE_DIR", str(tmp_path))

    def run(words, load, seconds):
        monkeypatch.setattr(sys, "argv", ["paths", *words])
        monkeypatch.setattr(module.os, "getloadavg", lambda: (load, 0, 0))
        taken = dict(zip(pages.steps_of(ROOT), seconds))
        for place in ("in_clone", "in_root"):
            monkeypatch.setattr(module, place, lambda *_: taken)
        return module.main()

    return run


def test_the_minutes_of_the_wall_clock_are_judged(job):
    for quickstart, code in ((270, 0), (280, 1)):
        assert job([], 0.1, [quickstart, 300, 300, 25]) == code
    found = json.loads(pages.RESULTS.read_text())
    assert [found[name]["within"] for name in pages.PATHS] == [True, True, False]
    assert found["gallery"]["minutes"] == 5.1 and found["plot"]["place"] == "a clean clone"


def test_a_loaded_machine_is_refused_or_not_judged(job, capsys):
    assert job(["--root"], 9, [1, 1, 1, 1]) == 3
    out = capsys.readouterr()
    assert out.out == "" and out.err.count("\n") == 1 and "(load 9.0, at most 0.5)" in out.err
    assert job(["--root", "--loaded"], 9, [9000, 1, 1, 1]) == 0
    assert "not judged, as the load was 9.0" in capsys.readouterr().out
    assert not pages.RESULTS.exists()


def test_a_step_that_fails_is_named(job, capsys):
    assert job(["--loaded"], 9, [9, 9]) == 1
    out = capsys.readouterr()
    assert "plot: 0.3 min of 10" in out.out and "paths: controller failed" in out.err


def test_what_a_bare_system_prints():
    said = ("--- set -eu; one\nword\n--- set -eu; one: fine, 12 s since the beginning\n"
            "--- two\n--- three\n--- two\n--- three: fine, 345 s since the beginning\n"
            "--- four: FAILED with 1, 400 s since the beginning\n")
    assert pages.ENDS.findall(said) == ["12", "345"]


def test_readme_leads_there():
    readme = (ROOT / "README.md").read_text()
    assert pages.QUICKSTART in readme
    for path in pages.PATHS.values():
        assert path.page in readme


def test_a_plot_with_intervals(tmp_path):
    table, picture = tmp_path / "table.csv", tmp_path / "out.png"
    table.write_text("row,arm,measure,runs,mean,median,low,high\n"
                     "arm,a=1,jain_index,20,0.8,0.8,0.7,0.9\n"
                     "arm,a=2,jain_index,20,0.6,0.6,0.5,0.7\n"
                     "arm,a=1,drops,1,3,3,,\n")

    def run(measure):
        return subprocess.run([sys.executable, INTERVALS, table, measure, picture],
                              capture_output=True, text=True, check=False)

    assert run("jain_index").returncode == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "expected one of jain_index, drops" in run("goodput").stderr
    assert "run several seeds" in run("drops").stderr
