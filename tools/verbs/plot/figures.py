"""The figures of a run: cwnd, rtt, pacing, queue, throughput, retransmissions, fairness. Each title
gives the result."""

import math
from bisect import bisect_right

from tools.verbs.plot.reading import Run, Series
from tools.verbs.plot.style import look, mark_end, name_lines, note, sheet, thinned

UNSET_SSTHRESH = 2 ** 30
QUEUES_MAX = 4  # lines of one figure


def at_time(series: Series, second: float, before=0):
    """The value of a trace at that time."""
    place = bisect_right(series.seconds, second)
    return series.values[place - 1] if place else before


def mean_of(series: Series, end: float) -> float:
    """The mean over time, from the first value to the end of the run."""
    ends = series.seconds[1:] + [end]
    spans = [after - at for at, after in zip(series.seconds, ends)]
    whole = sum(spans)
    weighted = sum(span * value for span, value in zip(spans, series.values))
    return weighted / whole if whole > 0 else series.values[-1]


def listed(words: list) -> str:
    """Joins words as "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def number(value: float) -> str:
    """A number with three significant digits."""
    if value >= 0.9995:  # 0.9999 is shown as 1.00
        return f"{value:.{max(0, 2 - int(math.log10(value)))}f}"
    return f"{value:.3g}"


def claim(what: str, names: list, values: list, unit: str, show=number) -> str:
    """A title: `what` with the value of each flow, or with the extremes if there are many."""
    if len(names) <= 3:
        return f"{what}: " + listed([f"{name} {show(value)}"
                                     for name, value in zip(names, values)]) + f" {unit}"
    least = min(range(len(names)), key=values.__getitem__)
    most = max(range(len(names)), key=values.__getitem__)
    return (f"{what}: from {show(values[least])} ({names[least]}) to "
            f"{show(values[most])} {unit} ({names[most]})")


def end_of(run: Run, who: int) -> float:
    """When the last octet of a flow was received; the end of the run if none was."""
    received = dict(run.of("Received")).get(who)
    return received.seconds[-1] if received else run.end


def while_it_ran(run: Run, name: str) -> list:
    """(flow, series) of each flow's trace, without what follows the flow's last octet."""
    cut = []
    for who, series in run.shown(name):
        place = bisect_right(series.seconds, end_of(run, who))
        kept = [i for i in range(place) if series.values[i] > 0]
        if kept:
            cut.append((who, Series([series.seconds[i] for i in kept],
                                    [series.values[i] for i in kept])))
    return cut


def draw_steps(axes, run: Run, traces: list, scale: float) -> list:
    """Draws a step line for each flow; returns (value, name, colour) of their ends."""
    ends = []
    for who, series in traces:
        end, colour = end_of(run, who), look(who)["color"]
        seconds, values = thinned(series.seconds + [end], series.values + series.values[-1:])
        scaled = [value * scale for value in values]
        axes.plot(seconds, scaled, drawstyle="steps-post", linewidth=1.3, **look(who))
        if end < run.end * 0.98:
            mark_end(axes, end, scaled[-1], colour)
        ends.append((scaled[-1], run.flows[who], colour))
    axes.set_xlim(run.begin, run.end)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.08)
    return ends


def leave_out_spikes(axes, values: list, unit: str) -> None:
    """Cuts the axis above the usual values if a few far larger ones would flatten the rest."""
    usual = sorted(values)[int(len(values) * 0.99)]
    if max(values) > 5 * usual > 0:
        axes.set_ylim(0, 2 * usual)
        axes.text(0.01, 0.98, f"not shown: a spike to {number(max(values))} {unit}", ha="left",
                  va="top", fontsize=9, color="#444444", transform=axes.transAxes)


def cwnd(run: Run):
    """The congestion window and slow-start threshold of each flow."""
    traces = while_it_ran(run, "CongestionWindow")
    if not traces:
        return None
    means = [mean_of(series, end_of(run, who)) / 1000 for who, series in traces]
    names = [run.flows[who] for who, _ in traces]
    figure, axes = sheet(f"{run.title}: {claim('mean congestion window', names, means, 'kB')}",
                         "time (s)", "congestion window (kB)")
    ends = draw_steps(axes, run, traces, 1e-3)
    highest = axes.get_ylim()[1]
    drawn = False
    for who, series in while_it_ran(run, "SlowStartThreshold"):
        known = [(at, value / 1000) for at, value in zip(series.seconds, series.values)
                 if value < UNSET_SSTHRESH]
        if known and len(traces) <= 4:
            seconds, values = zip(*known, (end_of(run, who), known[-1][1]))
            axes.plot(seconds, values, drawstyle="steps-post", linewidth=0.9, alpha=0.7,
                      color=look(who)["color"], linestyle=":")
            drawn = True
    axes.set_ylim(0, highest)
    say(axes, run, ["dotted: slow-start threshold"] if drawn else [])
    name_lines(axes, ends)
    return figure


def say(axes, run: Run, words: list) -> None:
    """Notes what the lines are, and that some flows have none."""
    count = len(run.flows)
    if count > run.shown_max:
        words = words + [f"the {run.shown_max} largest of {count} flows"]
    if words:
        note(axes, "; ".join(words))


def draw_samples(axes, run: Run) -> bool:
    """Draws each round trip as a dot."""
    drawn = False
    for who, series in run.shown("RttSample"):
        seconds, values = thinned(series.seconds, series.values, 400)
        axes.plot(seconds, [value * 1e-6 for value in values], linestyle="none", marker=".",
                  markersize=4, alpha=0.5, color=look(who)["color"], markeredgewidth=0)
        drawn = True
    return drawn


def rtt(run: Run):
    """The round-trip times that the senders measured."""
    traces = while_it_ran(run, "RTT")
    if not traces:
        return None
    means = [mean_of(series, end_of(run, who)) / 1e6 for who, series in traces]
    every = traces + run.shown("RttSample")
    least = min(min(series.values) for _, series in every) / 1e6
    names = [run.flows[who] for who, _ in traces]
    figure, axes = sheet(f"{run.title}: {claim('mean round trip', names, means, 'ms')}, "
                         f"least {number(least)} ms",
                         "time (s)", "round trip at the sender (ms)" if run.of("RttSample") else
                         "round trip by the sender's trace (ms)")
    dots = draw_samples(axes, run)
    ends = draw_steps(axes, run, traces, 1e-6)
    leave_out_spikes(axes, [value / 1e6 for _, series in every for value in series.values], "ms")
    say(axes, run, ["dots: samples, lines: smoothed"] if dots else [])
    name_lines(axes, ends)
    return figure


def pacing(run: Run):
    """The rate at which each sender paces its segments."""
    traces = while_it_ran(run, "PacingRate")
    if not traces:
        return None
    means = [mean_of(series, end_of(run, who)) * 8 / 1e6 for who, series in traces]
    names = [run.flows[who] for who, _ in traces]
    figure, axes = sheet(f"{run.title}: {claim('mean pacing rate', names, means, 'Mbit/s')}",
                         "time (s)", "pacing rate (Mbit/s)")
    ends = draw_steps(axes, run, traces, 8e-6)
    leave_out_spikes(axes, [value * 8e-6 for _, series in traces for value in series.values],
                     "Mbit/s")
    say(axes, run, [])
    name_lines(axes, ends)
    return figure


def retransmissions(run: Run):
    """The segments that each sender has sent again, so far."""
    traces = run.shown("Retransmissions")
    counts = [series.values[-1] for _, series in traces]
    if not traces or max(counts) == 0:
        return None
    names = [run.flows[who] for who, _ in traces]
    figure, axes = sheet(f"{run.title}: " + claim("retransmitted", names, counts, "segments", str),
                         "time (s)", "retransmitted so far (segments)")
    ends = draw_steps(axes, run, traces, 1)
    axes.yaxis.get_major_locator().set_params(integer=True)
    say(axes, run, [])
    name_lines(axes, ends)
    return figure


def mark_drops(axes, run: Run, who: int, levels: Series) -> bool:
    """Marks when packets were dropped, at the length of the queue then."""
    dropped = dict(run.of("Dropped")).get(who)
    if dropped is None:
        return False
    at = [second for second, value, before in
          zip(dropped.seconds, dropped.values, [0] + dropped.values) if value > before]
    axes.plot(at, [at_time(levels, second) for second in at], linestyle="none", marker="x",
              markersize=5, color=look(who)["color"])
    return bool(at)


def queue(run: Run):
    """The packets queued at each bottleneck."""
    traces = [(who, series) for who, series in run.of("PacketsInQueue")
              if not run.queues or max(series.values) > 1][:QUEUES_MAX]
    # On a LAN the only trace is the packet being sent, so there is no queue to show.
    if not traces or max(max(series.values) for _, series in traces) <= 1:
        return None
    one = len(traces) == 1
    names = [run.queues[who] if run.queues else "the bottleneck" if one else f"bottleneck {who}"
             for who, _ in traces]
    means = [mean_of(series, run.end) for _, series in traces]
    most = max(max(series.values) for _, series in traces)
    said = f"mean queue{' of ' + names[0] if run.queues else ''}: {number(means[0])} packets" \
        if one else \
        claim("mean queue", names, means, "packets")
    figure, axes = sheet(f"{run.title}: {said}, at most {most}", "time (s)", "queue (packets)")
    for who, series in traces:
        seconds, values = thinned(series.seconds + [run.end], series.values + series.values[-1:])
        axes.plot(seconds, values, drawstyle="steps-post", linewidth=0.8, **look(who))
    drops = [mark_drops(axes, run, who, series) for who, series in traces]
    ends = [(mean, "" if one else name, look(who)["color"])
            for (who, _), mean, name in zip(traces, means, names)]
    axes.set_xlim(run.begin, run.end)
    axes.set_ylim(bottom=0)
    if any(drops):
        note(axes, "x: packets dropped")
    for (who, _), mean in zip(traces, means):
        axes.axhline(mean, color="#000000" if one else look(who)["color"], linewidth=1,
                     linestyle="--")
    if one:
        ends = [(means[0], "mean", "#000000")]
    name_lines(axes, ends)
    return figure


def window_of(span: float, slices: int) -> float:
    """A round interval of which about `slices` fit into the span."""
    width = 1e-6
    while True:
        for factor in (1, 2, 5):
            if span / (width * factor) <= slices:
                return width * factor
        width *= 10


def rates_of(run: Run, width: float) -> tuple[list, dict]:
    """The middle of each interval, and each flow's rate of received data in it, in bit/s."""
    count = max(1, round((run.end - run.begin) / width))
    middles = [run.begin + (i + 0.5) * width for i in range(count)]
    rates = {}
    for who, series in run.of("Received"):
        marks = [at_time(series, run.begin + i * width) for i in range(count + 1)]
        rates[who] = [(after - before) * 8 / width for before, after in zip(marks, marks[1:])]
    return middles, rates


def span_of(run: Run, who: int) -> tuple[float, float]:
    """The times of the first and the last octet that a flow received."""
    series = dict(run.of("Received"))[who]
    return series.seconds[0], series.seconds[-1]


def throughput(run: Run):
    """The goodput of each flow over time."""
    if not run.of("Received"):
        return None
    width = window_of(run.end - run.begin, 60)
    middles, rates = rates_of(run, width)
    shown = dict(run.shown("Received"))
    names = [run.flows[who] for who in shown]
    means = []
    for who, series in shown.items():
        first, last = span_of(run, who)
        means.append(series.values[-1] * 8 / (last - first) / 1e6 if last > first else 0)
    figure, axes = sheet(f"{run.title}: {claim('goodput', names, means, 'Mbit/s')}",
                         "time (s)", f"goodput of each {width * 1000:g} ms (Mbit/s)")
    ends = []
    for who in shown:
        values = rates[who]
        # Intervals in which the flow ran throughout: the first and the last show less than its
        # rate.
        first, last = span_of(run, who)
        whole = [i for i, middle in enumerate(middles)
                 if first <= middle + width / 2 and middle + width / 2 <= last]
        whole = whole or [i for i, middle in enumerate(middles)
                          if middle + width / 2 >= first and middle - width / 2 <= last]
        whole = whole or [len(middles) - 1]  # it ran after the last whole interval
        drawn = [values[i] / 1e6 for i in whole]
        seconds = [middles[i] for i in whole]
        axes.plot(seconds, drawn, linewidth=1.4, **look(who))
        if last < run.end * 0.98:
            mark_end(axes, seconds[-1], drawn[-1], look(who)["color"])
        ends.append((drawn[-1], run.flows[who], look(who)["color"]))
    if len(rates) > len(shown):
        total = [sum(each) / 1e6 for each in zip(*rates.values())]
        axes.plot(middles, total, linewidth=1.4, color="#999999")
        ends.append((total[-1], "all flows", "#777777"))
        say(axes, run, [])
    axes.set_xlim(run.begin, run.end)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.08)
    name_lines(axes, ends)
    return figure


def jain(shares: list) -> float:
    """Jain's index, (sum x)^2 / (n sum x^2)."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares > 0 else 0


def fairness(run: Run):
    """Jain's index of the running flows over time."""
    if len(run.of("Received")) < 2:
        return None
    width = window_of(run.end - run.begin, 60)
    middles, rates = rates_of(run, width)
    spans = {who: span_of(run, who) for who in rates}
    seconds, values = [], []
    for i, middle in enumerate(middles):
        running = [rates[who][i] for who, (first, last) in spans.items()
                   if first <= middle - width / 2 and middle + width / 2 <= last]
        if len(running) > 1 and sum(running) > 0:
            seconds.append(middle)
            values.append(jain(running))
    if not values:
        return None
    middle_value = sorted(values)[len(values) // 2]
    figure, axes = sheet(
        f"{run.title}: median of Jain's index over {len(rates)} flows is {middle_value:.3f}",
        "time (s)", f"Jain's index of each {width * 1000:g} ms (1: equal)")
    axes.plot(seconds, values, linewidth=1.4, marker="o", markersize=3, **look(0))
    axes.axhline(1 / len(rates), color=look(1)["color"], linewidth=1, linestyle="--")
    axes.axhline(middle_value, color="#000000", linewidth=1, linestyle="--")
    axes.set_xlim(run.begin, run.end)
    axes.set_ylim(0, 1.02)
    name_lines(axes, [(1 / len(rates), "one flow has all", look(1)["color"]),
                      (middle_value, "median", "#000000"), (1, "all equal", "#444444")])
    return figure


ALL = {each.__name__: each for each in (cwnd, rtt, pacing, queue, throughput, retransmissions,
                                         fairness)}
