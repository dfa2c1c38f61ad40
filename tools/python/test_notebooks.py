"""The notebooks of sim/examples/notebooks run, and are stored without outputs."""

import json
import pathlib

import pytest

pytest.importorskip("nanobind")
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "sim/examples/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells_of(notebook):
    document = json.loads(notebook.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    return [(cell, "".join(cell["source"])) for cell in document["cells"]]


def executed(notebook):
    """The names after all code cells, executed as Jupyter does: in one namespace, in order."""
    names = {"__name__": "__main__"}
    for number, (cell, source) in enumerate(cells_of(notebook)):
        if cell["cell_type"] == "code":
            code = compile(source, f"{notebook.name}, cell {number}", "exec")
            exec(code, names)  # pylint: disable=exec-used
    return names


@pytest.fixture(name="in_folder", autouse=True)
def in_the_folder_without_a_screen(monkeypatch):
    monkeypatch.chdir(FOLDER)
    monkeypatch.setenv("MPLBACKEND", "Agg")


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda each: each.stem)
def test_no_output_is_stored(notebook):
    for cell, source in cells_of(notebook):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
        assert "/home/" not in source and "/tmp/" not in source
    assert any(cell["cell_type"] == "markdown" for cell, _ in cells_of(notebook))


def test_one_run_counts_the_same_twice(capsys):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    names = executed(FOLDER / "one_run.ipynb")
    again = sum(each["opener"]["retransmissions"] for each in names["report"]["connections"])
    assert f", {again} of them sent again" in capsys.readouterr().out and again > 0
    assert names["frame"].time_s.max() <= names["report"]["virtual_ns"] / 1e9
    assert all(axes.get_xlabel() or axes.get_ylabel() for axes in names["figure"].axes)


def test_codel_shortens_round_trips():
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    names = executed(FOLDER / "two_disciplines.ipynb")
    assert len(names["runs"]) == 20
    interval = names["interval"]
    assert interval["mean"]["rtt_p95_ms"] + interval["half"]["rtt_p95_ms"] < 0
    assert names["figure"].axes[0].get_ylabel().endswith("(ms)")
