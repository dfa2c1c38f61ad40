"""Cells, causes, the table and the speed, on results that were made up."""

import json
from pathlib import Path

import pytest

from tools.ns3_grid import causes, cells, speed, table
from tools.ns3_grid.__main__ import main

PATH = ("0.01", 10, 10, "droptail", False)


def pair_of(congestion="reno", path=PATH) -> causes.Pair:
    return causes.Pair(cells.Cell(("ours",), congestion, *path),
                       cells.Cell((cells.SENDERS[congestion],), congestion, *path))


def result_of(mbit: float, lost: int = 100) -> dict:
    return {"result": {"flows": [{"late_goodput_bit_s": mbit * 1e6}], "lost_by_chance": lost}}


def results_of(pair: causes.Pair, ours: float, theirs: float) -> dict:
    return {pair.ours.name: result_of(ours), pair.theirs.name: result_of(theirs)}


def test_every_path_of_the_grid_is_there_once():
    paths = cells.paths()
    assert len(paths) == len(set(paths)) == 2 * 3 * 4 * 3 + 4
    assert len({cell.name for cell in cells.grid() + cells.mixes()}) == 4 * len(paths) + 36


def test_a_difference_is_traced_to_the_first_change_that_takes_it_away():
    pair = pair_of()
    results = results_of(pair, 8, 5)
    asked = []

    def run(changed: list) -> dict:
        asked.append(changed[0].more)
        gone = causes.QUICK_TIMER in changed[0].more
        return {changed[0].name: result_of(8), changed[1].name: result_of(7.9 if gone else 5)}

    assert causes.cause_of(pair, results, run) == "timeout: 1.01"
    assert asked == [(causes.NO_DELAY,), (causes.QUICK_TIMER,)]
    assert causes.cause_of(pair, results, lambda changed: results_of(
        causes.Pair(*changed), 8, 5)) == "untraced"


def test_other_queues_of_a_path_have_its_cause():
    drop_tail = pair_of()
    codel = pair_of(path=("0.01", 10, 10, "codel", True))
    results = results_of(drop_tail, 8, 5) | results_of(codel, 8, 5)
    said = causes.all_of([codel, drop_tail], results,
                         lambda changed: results_of(causes.Pair(*changed), 8, 8))
    assert said == {drop_tail.ours.name: "acks: 1.00", codel.ours.name: "acks, as drop-tail"}


def test_what_died_is_said_and_differs():
    pair = pair_of()
    results = {pair.ours.name: result_of(8), pair.theirs.name: {
        "cell": {"flows": ["newreno"]}, "died": 11}}
    assert pair.differs(results)
    assert causes.cause_of(pair, results, None) == "ns-3 died of signal 11"


def test_formulas():
    assert causes.formula(pair_of(path=("0", 50, 10, "codel", False)).ours) == \
        pytest.approx(9.640, abs=0.001)
    # Mathis's 1.22 MSS / (RTT sqrt p) is 14.2 Mbit/s, with recovery's round trip 12.6: the link.
    assert causes.formula(pair_of().ours) == pytest.approx(9.640, abs=0.001)
    # 1.054 (RTT / p)^0.75 segments: 187.4 at 100 ms and 1e-4.
    long_path = pair_of("cubic", ("0.0001", 100, 100, "codel", False)).ours
    assert causes.cubic_formula(long_path) == pytest.approx(187.4 * 1448 * 80 / 1e6, rel=1e-3)
    assert causes.is_friendly(pair_of("cubic").ours) and not causes.is_friendly(pair_of().ours)


def test_the_table_is_held_against_the_committed_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(table, "FILE", tmp_path / "table.txt")
    monkeypatch.setattr(cells, "paths", lambda: [PATH])
    monkeypatch.setattr(cells, "mixes", lambda: [])
    pairs = table.pairs()
    results = results_of(pairs[0], 8, 5) | results_of(pairs[1], 5, 5)

    def run(changed: list) -> dict:
        return results_of(causes.Pair(*changed), 6, 6)

    assert table.judge(results, run, write=False) == 1
    assert table.judge(results, run, write=True) == 0
    assert "8.000     5.000   1.60  acks: 1.00\n" in table.FILE.read_text(encoding="utf-8")
    assert table.judge(results_of(pairs[0], 8, 5.1) | results_of(pairs[1], 5, 5), run, False) == 1
    assert "+reno" in capsys.readouterr().out


def test_a_finished_cell_is_not_run_again(tmp_path):
    cell = pair_of().ours
    (tmp_path / f"{cell.name}.json").write_text(json.dumps(result_of(3)))
    assert cells.goodputs(cells.run(cell, Path("nowhere"), tmp_path)) == [3.0]


def test_a_run_that_fails_is_one_line(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho 'lockstep: no such disc' >&2\nexit 2\n")
    program.chmod(0o755)
    with pytest.raises(cells.RunFailed, match="ended with 2: lockstep: no such disc"):
        cells.run(pair_of().ours, program, tmp_path)
    assert not list(tmp_path.glob("*.json"))


def test_without_ns3_setup_is_named(tmp_path, capsys):
    assert main(["--into", str(tmp_path), "--program", str(tmp_path / "none")]) == 3
    assert speed.main(["--program", str(tmp_path / "none")]) == 3
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and all("tools/setup --with ns3" in line for line in said)


def test_the_speed_is_judged(capsys):
    quick, slow = speed.Speed(1000, 3000, 1.0), speed.Speed(1000, 4000, 1.5)
    assert speed.judge({"ours": quick, "ns-3": slow}) == 0
    assert speed.judge({"ours": slow, "ns-3": quick}) == 1
    assert capsys.readouterr().out.startswith(
        "ratio: 1.50 times the frames a second, 0.75 of the events a frame\n")
