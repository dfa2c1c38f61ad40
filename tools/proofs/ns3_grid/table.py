"""The table of the grid and of the mixes, and whether it equals the committed one."""

import difflib
import sys
from pathlib import Path

from tools.proofs.ns3_grid import cells
from tools.proofs.ns3_grid.causes import Pair, all_of, formula

FILE = Path(__file__).with_name("table.txt")
LOSSES_MIN = 10  # losses in a run, from which on a formula for long runs applies

HEAD = """\
# Made by `tools/evidence ns3-grid --write`; README.md in this folder explains it.
# Goodput in Mbit/s after the first fifth of a run; formula: - if there were fewer than ten losses.
"""


def pairs() -> list:
    """Each path with each congestion control, ours and ns-3's."""
    return [Pair(cells.Cell(("ours",), congestion, *path), cells.Cell((theirs,), congestion, *path))
            for congestion, theirs in cells.SENDERS.items() for path in cells.paths()]


def formula_text(pair: Pair, results: dict) -> str:
    """The formula's rate, if there were enough losses to compare a run with it."""
    lost = results[pair.ours.name]["result"]["lost_by_chance"]
    return f"{formula(pair.ours):9.3f}" if float(pair.ours.loss) == 0 or lost >= LOSSES_MIN else \
        f"{'-':>9}"


def line_of(pair: Pair, results: dict, cause: str) -> str:
    ours, theirs = (cells.goodputs(results[cell.name])[0] for cell in (pair.ours, pair.theirs))
    cell = pair.ours
    return (f"{cell.congestion:5} {cell.rate:4} {cell.rtt_ms:4} {cell.loss:>6} {cell.disc:8} "
            f"{'on' if cell.ecn else 'off':3} {formula_text(pair, results)} {ours:9.3f} "
            f"{theirs:9.3f} {pair.ratio(results):6.2f}  {cause}").rstrip()


def mix_line(cell: cells.Cell, results: dict) -> str:
    rates = cells.goodputs(results[cell.name])
    jain = sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))
    each = " ".join(f"{flow} {rate:.2f}" for flow, rate in zip(cell.flows, rates))
    return f"{cell.congestion:5} {cell.rtt_ms:4} {cell.disc:8} {jain:6.3f}  {each}"


def text_of(results: dict, run) -> str:
    causes = all_of(pairs(), results, run)
    grid = [line_of(pair, results, causes.get(pair.ours.name, "")) for pair in pairs()]
    mixes = [mix_line(cell, results) for cell in cells.mixes()]
    return "\n".join([
        HEAD + "\ncc   rate  rtt   loss disc     ecn   formula      ours      ns-3  ratio  cause",
        *grid, "\ncc   rtt disc       Jain  Mbit/s of each flow, 10 Mbit/s in total", *mixes, ""])


def judge(results: dict, run, write: bool) -> int:
    """0: as committed, every difference explained. 1: not so; prints what differs."""
    made = text_of(results, run)
    if write:
        FILE.write_text(made, encoding="utf-8")
    committed = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    otherwise = list(difflib.unified_diff(committed.splitlines(), made.splitlines(),
                                          str(FILE.name), "now", lineterm="", n=0))
    untraced = [line for line in made.splitlines() if line.endswith("untraced")]
    print("\n".join(otherwise + untraced))
    differing = sum(pair.differs(results) for pair in pairs())
    print(f"ns3-grid: {len(pairs())} paths, {differing} differ by more than 10 %, "
          f"{len(untraced)} of them untraced; {len(cells.mixes())} mixes; the table is "
          f"{'as committed' if not otherwise else 'not as committed'}", file=sys.stderr)
    return 1 if otherwise or untraced else 0
