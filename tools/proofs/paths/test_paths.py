"""The results belong to the commands that the pages show today, and the plot of a grid draws."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.proofs.paths import pages

ROOT = Path(__file__).resolve().parents[3]
RESULTS = json.loads((Path(__file__).parent / "results.json").read_text())
INTERVALS = ROOT / "sim/examples/grid/intervals.py"


@pytest.mark.parametrize("name", pages.PATHS)
def test_the_results_are_of_the_commands_of_the_page(name):
    path, found = pages.PATHS[name], RESULTS[name]
    assert found["page"] == path.page and found["limit_minutes"] == path.minutes
    assert found["commands"] == pages.commands_of(ROOT / path.page).split("\n"), (
        f"{path.page} has changed: run tools/evidence paths")
    assert found["within"] and found["own"]["code"] == 0


def test_readme_leads_there():
    readme = (ROOT / "README.md").read_text()
    assert pages.QUICKSTART in pages.commands_of(ROOT / "README.md")
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
