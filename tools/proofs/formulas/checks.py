"""Checks that run worlds and return rows: name, expected and measured value, limit, result."""

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tools.proofs.formulas import formulas
from tools.proofs.formulas.runs import Trace, World, run


@dataclass
class Row:
    """One line of the table."""

    what: str
    expected: str
    measured: str
    gate: str
    holds: bool


@dataclass
class Place:
    """The program and the folder for runs."""

    folder: Path
    lockstep: Path

    def run(self, world: World, seed: int = 1, until: str = "") -> Trace:
        return run(world, self.folder, self.lockstep, seed, until)


def within(expected: float, measured: float, share: float) -> bool:
    return abs(measured - expected) <= share * expected


def after_loss(trace: Trace) -> int:
    """The first row in congestion avoidance after the last change of ssthresh."""
    changed = max(i for i in range(1, len(trace.ssthresh))
                  if trace.ssthresh[i] != trace.ssthresh[i - 1])
    # Recovery inflates cwnd, and may leave it a segment below ssthresh, in slow start.
    left = next(i for i in range(changed, len(trace.cwnd))
                if trace.cwnd[i] <= trace.ssthresh[i] and trace.flight[i] <= trace.ssthresh[i])
    return next(i for i in range(left, len(trace.cwnd)) if trace.cwnd[i] >= trace.ssthresh[i])


def growth(place: Place) -> tuple[list[Row], list[Trace]]:
    """RFC 5681: slow start doubles cwnd per RTT, congestion avoidance adds one segment."""
    trace = place.run(World("reno-growth", mss=200, size="6MB", mask="0" * 150 + "1",
                            limit="60s"), until="14s")
    rtt = 0.1
    rows = []
    begin = next(i for i, at in enumerate(trace.seconds) if trace.srtt[i] > 0)
    start = trace.seconds[begin]
    for n in range(3):
        at = [trace.cwnd[i] for i, t in enumerate(trace.seconds) if t <= start + (n + 0.5) * rtt]
        expected = 10 * 2 ** n
        rows.append(Row(f"slow start, round {n}", f"{expected} segments",
                        f"{at[-1] / 200:.2f}", "equal", at[-1] == expected * 200))
    first = after_loss(trace)
    last = max(i for i, at in enumerate(trace.seconds) if at <= trace.seconds[first] + 6)
    rounds = (trace.seconds[last] - trace.seconds[first]) / rtt
    gained = (trace.cwnd[last] - trace.cwnd[first]) / 200
    rows.append(Row("congestion avoidance, a round", "1 segment", f"{gained / rounds:.3f}", "2 %",
                    within(1, gained / rounds, 0.02)))
    return rows, [trace]


def mathis(place: Place) -> tuple[list[Row], list[Trace]]:
    """Periodic loss: every n-th segment is lost."""
    rows, traces = [], []
    for n in (100, 250, 500, 1000):
        world = World(f"mathis-{n}", size="60MB", mask="0" * (n - 1) + "1", repeat=True,
                      config="restart_after_idle = false")
        trace = place.run(world, until="220s")
        expected = formulas.mathis(1000, 0.1, 1 / n)
        measured = trace.rate(20, 219)
        # With the largest p, recovery, which the formula ignores, takes a tenth of the time.
        gated = n >= 250
        rows.append(Row(f"Mathis, p = 1/{n}", f"{expected / 1000:.1f} kB/s",
                        f"{measured / 1000:.1f} kB/s ({measured / expected - 1:+.1%})",
                        "10 %" if gated else "see next", not gated
                        or within(expected, measured, 0.1)))
        expected = formulas.mathis_with_recovery(1000, 0.1, 1 / n)
        rows.append(Row("  with its round of recovery", f"{expected / 1000:.1f} kB/s",
                        f"{measured / 1000:.1f} kB/s ({measured / expected - 1:+.1%})", "3 %",
                        within(expected, measured, 0.03)))
        traces.append(trace)
    return rows, traces[1:2]


def pftk(place: Place) -> tuple[list[Row], list[Trace]]:
    """Random loss, independent for each segment; the median of nine seeds."""
    rows = []
    for text, p in (("0.3%", 0.003), ("1%", 0.01), ("2%", 0.02), ("4%", 0.04)):
        world = World(f"pftk-{text.rstrip('%')}", size="60MB", loss=text)
        rates = [place.run(world, seed, "220s").rate(10, 219) for seed in range(1, 10)]
        expected = formulas.pftk(1000, 0.1, p, 0.2, 65535)
        measured = median(rates)
        rows.append(Row(f"PFTK, p = {text}", f"{expected / 1000:.1f} kB/s",
                        f"{measured / 1000:.1f} kB/s ({measured / expected - 1:+.1%})", "20 %",
                        within(expected, measured, 0.2)))
    return rows, []


def cubic_window(place: Place, name: str, mss: int, delay: str, lost: int) -> tuple[Row, Trace]:
    """One loss, then the curve: the largest deviation of the window from RFC 9438's equation."""
    world = World(name, mss=mss, delay=delay, size="200MB", mask="0" * lost + "1", limit="600s",
                  config='congestion = "cubic"')
    trace = place.run(world, until="20s")
    first = after_loss(trace)
    before = max(trace.cwnd[i] for i in range(first) if trace.ssthresh[i] != trace.ssthresh[first])
    w_max, epoch = before / mss, trace.cwnd[first] / mss
    k, estimate = formulas.cubic_k(w_max, epoch), epoch
    worst, count = 0.0, 0
    started = None
    for i in range(first + 1, len(trace.cwnd)):
        newly = trace.acked[i] - trace.acked[i - 1]
        if newly == 0:
            continue
        if trace.cwnd[i] > 65535 - 2 * mss:
            break  # from here on the peer's window is the limit, not cwnd
        started = started if started is not None else trace.seconds[i]
        t = trace.seconds[i] - started
        alpha = 1 if estimate >= w_max else formulas.reno_alpha()
        estimate += alpha * newly / mss / (trace.cwnd[i - 1] / mss)
        expected = max(formulas.cubic(t, k, w_max), estimate)
        error = abs(trace.cwnd[i] / mss - expected)
        worst = max(worst, error / max(1, 0.02 * expected))
        count += 1
    row = Row(f"CUBIC, W_max {w_max:.0f}, RTT {2 * int(delay[:-2])} ms, {count} ACKs",
              "W_cubic or W_est", f"worst {worst:.2f} of the gate", "1 segment or 2 %",
              worst <= 1 and count > 100)
    return row, trace


def cubic(place: Place) -> tuple[list[Row], list[Trace]]:
    found = [cubic_window(place, "cubic-far", 100, "50ms", 300),
             cubic_window(place, "cubic-near", 100, "5ms", 300),
             cubic_window(place, "cubic-large", 1000, "50ms", 25)]
    return [row for row, _ in found], [found[0][1]]


BOTTLENECK = {"rate": "10Mbit/s", "delay": "10ms", "limit": "120s", "size": "12MB"}


def ecn(place: Place) -> tuple[list[Row], list[Trace]]:
    """Compares a queue that marks with one that drops, and checks DCTCP's short queue."""
    plain = place.run(World("ecn-off", queue_packets=20, mark_packets=10, **BOTTLENECK))
    rows = [Row("ECN off: what is sent again", "some", str(plain.retransmissions[-1]), "> 0",
                plain.retransmissions[-1] > 0)]
    traces = [plain]
    for name in ("reno", "cubic", "dctcp"):
        trace = place.run(World(f"ecn-{name}", queue_packets=60, mark_packets=10,
                                config=f'ecn = "on"\ncongestion = "{name}"\nhystart = true',
                                **BOTTLENECK))
        rows.append(Row(f"ECN, {name}: what is sent again", "0", str(trace.retransmissions[-1]),
                        "equal", trace.retransmissions[-1] == 0 and trace.marked[-1] > 0))
        cuts = [trace.cwnd[i] / trace.cwnd[i - 1] for i in range(1, len(trace.cwnd))
                if trace.cwnd[i] < trace.cwnd[i - 1] and trace.seconds[i] > 3]
        if name != "dctcp":
            expected = 0.5 if name == "reno" else 0.7
            rows.append(Row(f"ECN, {name}: cwnd after an echo", f"{expected} of it",
                            f"{median(cuts):.3f}", "5 %", within(expected, median(cuts), 0.05)))
        else:
            depth = [q for q, at in zip(trace.queue, trace.seconds) if at > 3]
            rows.append(Row("DCTCP: queue, threshold 10 frames", "at most 20", str(max(depth)),
                            "2 times", max(depth) <= 20))
        traces.append(trace)
    return rows, traces


def pacing(place: Place) -> tuple[list[Row], list[Trace]]:
    """The same transfer over a slow link, with and without pacing: the longest queue."""
    peaks, traces = [], []
    for on in ("false", "true"):
        trace = place.run(World(f"pacing-{on}", rate="10Mbit/s", delay="50ms", size="4MB",
                                limit="60s", config=f"pacing = {on}\n"))
        traces.append(trace)
        peaks.append(max(q for q, at in zip(trace.queue, trace.seconds) if at < 0.45))
    return [Row("pacing: the fullest queue of the first rounds", f"below {peaks[0]} (off)",
                str(peaks[1]), "half", peaks[1] * 2 <= peaks[0])], traces


ALL = (growth, mathis, pftk, cubic, ecn, pacing)
