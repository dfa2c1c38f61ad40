"""Cells, causes, the table and the speed, on made-up results."""

import json
from pathlib import Path

import pytest

from tools.proofs.ns3_grid import causes, cells, speed, table
from tools.proofs.ns3_grid.__main__ import main

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


def answers(ratios: dict, asked: list):
    """A substitute for runs: ours gets 8, ns-3's what `ratios` gives for the first matching
    word."""
    def run(wanted: list) -> dict:
        asked.append([cell.more for cell in wanted])
        out = {}
        for cell in wanted:
            ratio = next((ratios[word] for word in cell.more if word in ratios), ratios[""])
            out[cell.name] = result_of(8 if cell.flows == ("ours",) else 8 / ratio)
        return out
    return run


def test_a_difference_is_traced_to_the_first_change_that_takes_it_away():
    pair = pair_of()
    results = results_of(pair, 8, 5)
    asked: list = []
    run = answers({causes.QUICK_TIMER: 1.01, "": 1.6}, asked)
    assert causes.cause_of(pair, results, run) == "timer: 1.01"
    # First other run numbers of the path itself, then one change after the other.
    assert asked[0][:4] == [("--run=2",), ("--run=2",), ("--run=3",), ("--run=3",)]
    assert len(asked[0]) == 2 * (causes.RUNS - 1)
    assert [each[1] for each in asked[1:4]] == [
        (causes.OCTETS,), (causes.FLIGHT,), (causes.QUICK_TIMER,)]
    assert causes.cause_of(pair, results_of(pair, 8, 5), answers({"": 1.6}, [])) == "untraced"


def test_a_change_has_to_hold_over_all_run_numbers():
    pair = pair_of()
    good_once = {causes.OCTETS, "--run=1"}

    def run(wanted: list) -> dict:
        return {cell.name: result_of(8 if cell.flows == ("ours",) or
                                     good_once.issuperset(cell.more) and cell.more else 5)
                for cell in wanted}

    assert causes.cause_of(pair, results_of(pair, 8, 5), run) == "untraced"


def test_what_is_gone_over_all_run_numbers_was_chance():
    pair = pair_of()
    run = answers({"": 1.0}, [])
    assert causes.cause_of(pair, results_of(pair, 9, 8), run) == "chance: 1.04"


def test_without_losses_by_chance_one_run_is_all():
    pair = pair_of(path=("0", 10, 10, "droptail", False))
    asked: list = []
    run = answers({causes.OCTETS: 1.0, "": 1.6}, asked)
    assert causes.cause_of(pair, results_of(pair, 8, 5), run) == "octets: 1.00"
    assert asked == [[], [(), (causes.OCTETS,)], []]


def test_a_change_says_whom_it_concerns():
    changed = pair_of("cubic").but(("friendly", "hystart"))
    assert changed.ours.flows == ("ours",) and changed.ours.more == (causes.OUR_SLOW_START,)
    assert changed.theirs.flows == ("cubic-ruled",)
    assert changed.theirs.more == (causes.FRIENDLY, causes.THEIR_SLOW_START)
    assert pair_of().but(("timer",)).theirs.flows == ("newreno",)


def test_what_died_is_said_and_differs():
    pair = pair_of()
    results = {pair.ours.name: result_of(8), pair.theirs.name: {
        "cell": {"flows": ["newreno"]}, "died": 11}}
    assert pair.differs(results)
    assert causes.cause_of(pair, results, None) == "ns-3 died of signal 11"


def test_formulas():
    assert causes.formula(pair_of(path=("0", 50, 10, "codel", False)).ours) == \
        pytest.approx(9.640, abs=0.001)
    # Mathis's 1.22 MSS / (RTT sqrt p) is 14.2 Mbit/s, with recovery 12.6: the link is the limit.
    assert causes.formula(pair_of().ours) == pytest.approx(9.640, abs=0.001)
    # 1.054 (RTT / p)^0.75 segments: 187.4 at 100 ms and 1e-4.
    long_path = pair_of("cubic", ("0.0001", 100, 100, "codel", False)).ours
    assert causes.cubic_formula(long_path) == pytest.approx(187.4 * 1448 * 80 / 1e6, rel=1e-3)


def test_the_table_is_held_against_the_committed_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(table, "FILE", tmp_path / "table.txt")
    monkeypatch.setattr(cells, "paths", lambda: [PATH])
    monkeypatch.setattr(cells, "mixes", list)
    pairs = table.pairs()
    results = results_of(pairs[0], 8, 5) | results_of(pairs[1], 5, 5)

    run = answers({causes.OCTETS: 1.0, "": 1.6}, [])
    assert table.judge(results, run, write=False) == 1
    assert table.judge(results, run, write=True) == 0
    assert "8.000     5.000   1.60  octets: 1.00\n" in table.FILE.read_text(encoding="utf-8")
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
