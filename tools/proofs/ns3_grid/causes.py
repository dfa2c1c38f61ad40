"""Finds why our TCP and ns-3's differ in a cell: rules are made equal, and both run again."""

from dataclasses import dataclass, replace
from math import inf

from tools.proofs.ns3_grid.cells import SEGMENT, Cell, goodputs

DIFFERENCE_MAX = 0.1

RUNS = 3        # ns-3 run numbers that are tried if packets are lost at random
MANY_RUNS = 8   # if a run has about 700 segments, of which a few are lost

# The changes by their names in the table: options for our sender's run, for ns-3's, and for both.
OCTETS = "--default=lockstep::RuledNewReno::CountOctets=true"
FLIGHT = "--default=lockstep::RuledNewReno::FlightSize=true"
FRIENDLY = "--default=lockstep::RuledCubic::Friendly=true"
QUICK_TIMER = "--default=ns3::TcpSocketBase::MinRto=200ms"
OUR_SLOW_START = "--set=Hystart=false"
THEIR_SLOW_START = "--default=ns3::TcpCubic::HyStart=false"
NO_DELAY = "--set=DelayedAcks=false"
MANY_GAPS = ("--set=ExtentsPerConnection=4096", "--set=ExtentsMax=16384")
NO_ECN = "--default=ns3::TcpSocketBase::UseEcn=Off"
NO_RACK = ("--set=Rack=false", "--set=TailProbe=false")


@dataclass(frozen=True)
class Change:
    """One rule made the same for both senders."""

    ours: tuple = ()
    theirs: tuple = ()
    ruled: bool = False  # ns-3's sender is one of tools/verbs/ns3_program/ruled.hpp


CHANGES = {
    "octets": Change(theirs=(OCTETS,), ruled=True),
    "flight": Change(theirs=(FLIGHT,), ruled=True),
    "friendly": Change(theirs=(FRIENDLY,), ruled=True),
    "timer": Change(theirs=(QUICK_TIMER,)),
    "hystart": Change(ours=(OUR_SLOW_START,), theirs=(THEIR_SLOW_START,)),
    "acks": Change(ours=(NO_DELAY,), theirs=(NO_DELAY,)),
    "rack": Change(ours=NO_RACK),
    "ecn": Change(theirs=(NO_ECN,)),
    "gaps": Change(ours=MANY_GAPS, theirs=MANY_GAPS),
}

# Tried in this order: few changes before many, likely ones first.
TRIALS = {
    "reno": (("octets",), ("flight",), ("timer",), ("hystart",), ("rack",), ("ecn",), ("gaps",),
             ("octets", "ecn"), ("octets", "gaps"), ("octets", "flight"),
             ("octets", "timer"), ("octets", "hystart"), ("octets", "rack"), ("flight", "timer"),
             ("octets", "flight", "timer"), ("octets", "flight", "hystart"),
             ("octets", "timer", "hystart"), ("octets", "timer", "rack"),
             ("octets", "flight", "rack"),
             ("octets", "flight", "timer", "hystart"),
             ("octets", "flight", "timer", "hystart", "rack")),
    "cubic": (("friendly",), ("timer",), ("hystart",), ("rack",), ("acks",), ("ecn",),
              ("gaps",),
              ("friendly", "timer"), ("friendly", "hystart"), ("friendly", "rack"),
              ("friendly", "acks"), ("timer", "hystart"), ("timer", "rack"),
              ("friendly", "timer", "hystart"),
              ("friendly", "timer", "acks"), ("friendly", "timer", "rack"),
              ("friendly", "timer", "hystart", "rack")),
}


@dataclass(frozen=True)
class Pair:
    """The same path with our sender and with ns-3's."""

    ours: Cell
    theirs: Cell

    def but(self, names: tuple) -> "Pair":
        """The pair with these changes."""
        changes = [CHANGES[name] for name in names]
        flow = self.theirs.flows[0] + ("-ruled" if any(each.ruled for each in changes) else "")
        return Pair(
            replace(self.ours, more=tuple(word for each in changes for word in each.ours)),
            replace(self.theirs, flows=(flow,),
                    more=tuple(word for each in changes for word in each.theirs)))

    def runs(self) -> list:
        """The pair with every run number; without random losses all runs are equal."""
        if float(self.ours.loss) == 0:
            return [self]
        last = MANY_RUNS if (self.ours.loss, self.ours.rtt_ms) == ("0.01", 200) else RUNS
        return [self] + [Pair(*(replace(cell, more=(*cell.more, f"--run={run}"))
                                for cell in (self.ours, self.theirs)))
                         for run in range(2, last + 1)]

    def cells(self) -> list:
        """Both cells."""
        return [self.ours, self.theirs]

    def ratio(self, results: dict) -> float:
        """Our goodput divided by ns-3's."""
        return ratio_of([self], results)

    def differs(self, results: dict) -> bool:
        """Whether the goodputs differ so much that a cause is required."""
        return is_much(self.ratio(results))


def ratio_of(pairs: list, results: dict) -> float:
    """Our goodput divided by ns-3's, over all pairs."""
    ours, theirs = (sum(goodputs(results[cell.name])[0] for cell in cells)
                    for cells in zip(*(pair.cells() for pair in pairs)))
    return ours / theirs if theirs else inf


def is_much(ratio: float) -> bool:
    """Whether such a ratio requires a cause."""
    return abs(ratio - 1) > DIFFERENCE_MAX


def link(cell: Cell) -> float:
    """Goodput in Mbit/s that the bottleneck can carry, with headers of TCP, IP and PPP."""
    return cell.rate * SEGMENT / (SEGMENT + 32 + 20 + 2)


def reno_formula(cell: Cell) -> float:
    """Mathis and others, with the RTT of recovery: Mbit/s, without the limit of the link."""
    from tools.proofs.formulas.formulas import mathis_with_recovery
    return mathis_with_recovery(SEGMENT, cell.rtt_ms / 1000, float(cell.loss)) * 8 / 1e6


def cubic_formula(cell: Cell) -> float:
    """RFC 9438 5.1 without the Reno-friendly region: Mbit/s, without the limit of the link."""
    from tools.proofs.formulas.formulas import cubic_mean_window
    window = cubic_mean_window(cell.rtt_ms / 1000, float(cell.loss))
    return window * SEGMENT * 8 / (cell.rtt_ms / 1000) / 1e6


def formula(cell: Cell) -> float:
    """The goodput expected of the sender's congestion control on the path."""
    if float(cell.loss) == 0:
        return link(cell)
    best = reno_formula(cell)
    if cell.congestion == "cubic":
        best = max(best, cubic_formula(cell))
    return min(best, link(cell))


def all_of(pairs: list, results: dict, run) -> dict:
    """The cause of each difference, by the name of our cell; `run` returns the results of cells."""
    return {pair.ours.name: cause_of(pair, results, run)
            for pair in pairs if pair.differs(results)}


def mean_ratio(pair: Pair, results: dict, run) -> float:
    """Our goodput divided by ns-3's over all run numbers."""
    runs = pair.runs()
    results.update(run([cell for each in runs for cell in each.cells()
                        if cell.name not in results]))
    return ratio_of(runs, results)


def cause_of(pair: Pair, results: dict, run) -> str:
    """The first changes that remove the difference over all runs, and in the first run if any do so
    there."""
    if "died" in results[pair.theirs.name]:
        return f"ns-3 died of signal {results[pair.theirs.name]['died']}"
    mean = mean_ratio(pair, results, run)
    if not is_much(mean):
        return f"chance: {mean:.2f}"
    for first_agrees in (True, False):
        for names in TRIALS[pair.ours.congestion]:
            changed = pair.but(names)
            if "ecn" in names and not pair.ours.ecn:
                continue
            results.update(run(changed.cells()))
            if first_agrees and changed.differs(results):
                continue
            mean = mean_ratio(changed, results, run)
            if not is_much(mean):
                return f"{', '.join(names)}: {mean:.2f}"
    return "untraced"
