"""Why ours and ns-3's differ somewhere: what is taken away there, and both are run again."""

from dataclasses import dataclass, replace
from math import inf

from tools.ns3_grid.cells import SEGMENT, Cell, goodputs

DIFFERENCE_MAX = 0.1

NO_DELAY = "--set=DelayedAcks=false"
NO_HYSTART = "--default=ns3::TcpCubic::HyStart=false"
QUICK_TIMER = "--default=ns3::TcpSocketBase::MinRto=200ms"


@dataclass(frozen=True)
class Counter:
    """A change after which a difference is gone, if the cause is what its name says."""

    name: str
    words: tuple
    congestion: str = ""  # of which alone; empty: any


COUNTERS = (
    Counter("acks", (NO_DELAY,)),
    Counter("timeout", (QUICK_TIMER,)),
    Counter("hystart", (NO_HYSTART,), "cubic"),
    Counter("acks, timeout", (NO_DELAY, QUICK_TIMER)),
    Counter("acks, hystart", (NO_DELAY, NO_HYSTART), "cubic"),
    Counter("acks, timeout, hystart", (NO_DELAY, QUICK_TIMER, NO_HYSTART), "cubic"),
)


@dataclass(frozen=True)
class Pair:
    """The same path with our sender and with ns-3's."""

    ours: Cell
    theirs: Cell

    def but(self, counter: Counter) -> "Pair":
        """With the change."""
        return Pair(*(replace(cell, more=counter.words) for cell in (self.ours, self.theirs)))

    def ratio(self, results: dict) -> float:
        """Our goodput by theirs."""
        ours, theirs = (goodputs(results[cell.name])[0] for cell in (self.ours, self.theirs))
        return ours / theirs if theirs else inf

    def differs(self, results: dict) -> bool:
        """More than a difference may be that nobody asks about."""
        return abs(self.ratio(results) - 1) > DIFFERENCE_MAX


def link(cell: Cell) -> float:
    """Mbit/s of text that the bottleneck carries, with headers of TCP, IP and PPP around it."""
    return cell.rate * SEGMENT / (SEGMENT + 32 + 20 + 2)


def reno_formula(cell: Cell) -> float:
    """Mathis and others, with the round trip of recovery: Mbit/s, whatever the link."""
    from tools.formulas.formulas import mathis_with_recovery
    return mathis_with_recovery(SEGMENT, cell.rtt_ms / 1000, float(cell.loss)) * 8 / 1e6


def cubic_formula(cell: Cell) -> float:
    """RFC 9438 5.1 without the Reno-friendly region: Mbit/s, whatever the link."""
    from tools.formulas.formulas import cubic_mean_window
    window = cubic_mean_window(cell.rtt_ms / 1000, float(cell.loss))
    return window * SEGMENT * 8 / (cell.rtt_ms / 1000) / 1e6


def formula(cell: Cell) -> float:
    """What the sender's congestion control should come to on the path."""
    if float(cell.loss) == 0:
        return link(cell)
    best = reno_formula(cell)
    if cell.congestion == "cubic":
        best = max(best, cubic_formula(cell))
    return min(best, link(cell))


def is_friendly(cell: Cell) -> bool:
    """Whether Cubic is in its Reno-friendly region on this path (RFC 9438 4.3)."""
    return (cell.congestion == "cubic" and float(cell.loss) > 0
            and min(reno_formula(cell), link(cell)) > (1 + DIFFERENCE_MAX) * cubic_formula(cell))


def all_of(pairs: list, results: dict, run) -> dict:
    """The cause of each difference, by the name of our cell.

    Where a drop-tail queue without ECN has one that is no timeout, and so none of the queue's, the
    other queues of that path are said to have it too, without runs of their own.
    """
    causes: dict = {}
    known: dict = {}
    for pair in sorted(pairs, key=lambda each: (each.ours.disc != "droptail", each.ours.ecn)):
        if pair.differs(results):
            cell = pair.ours
            path = (cell.congestion, cell.rate, cell.rtt_ms, cell.loss)
            died = "died" in results[pair.theirs.name]
            if path in known and not died:
                causes[cell.name] = known[path].split(":")[0] + ", as drop-tail"
            else:
                causes[cell.name] = cause_of(pair, results, run)
                if not died and causes[cell.name].split(":")[0] in ("acks", "friendly"):
                    known[path] = causes[cell.name]
    return causes


def cause_of(pair: Pair, results: dict, run) -> str:
    """The first change that takes the difference away; `run` gives the results of cells."""
    if "died" in results[pair.theirs.name]:
        return f"ns-3 died of signal {results[pair.theirs.name]['died']}"
    if is_friendly(pair.ours):
        return "friendly"
    for counter in COUNTERS:
        if counter.congestion in ("", pair.ours.congestion):
            changed = pair.but(counter)
            results.update(run([changed.ours, changed.theirs]))
            if not changed.differs(results):
                return f"{counter.name}: {changed.ratio(results):.2f}"
    return "untraced"
