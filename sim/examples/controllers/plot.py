# Draws what `lockstep sim run --series` wrote, one column for each file: cwnd, RTT, goodput.
"""usage: plot.py OUT.png NAME=SERIES.csv...

Needs matplotlib, which tools/setup installs into build/venv.
"""
import csv
import sys


def columns_of(path):
    """The first flow of a file: times in s, cwnd in KiB, round trips in ms, octets acknowledged."""
    with open(path, encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["flow"] == "0"]
    return ([int(row["time_ns"]) / 1e9 for row in rows], [int(row["cwnd"]) / 1024 for row in rows],
            [int(row["srtt_ns"]) / 1e6 for row in rows], [int(row["acked"]) for row in rows])


def goodput_of(times, acked):
    """The ends of twenty equal intervals, and the goodput in each, in Mbit/s."""
    step = times[-1] / 20 if times[-1] else 1
    ends, rates, at, before = [], [], 0, 0
    for part in range(1, 21):
        while at < len(times) and times[at] <= part * step:
            at += 1
        ends.append(part * step)
        rates.append((acked[max(at - 1, 0)] - before) * 8 / step / 1e6)
        before = acked[max(at - 1, 0)]
    return ends, rates


def main(out, *named):
    """Writes the picture."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, len(named), figsize=(5 * len(named), 8), sharex="col",
                                   sharey="row", squeeze=False)
    for column, each in enumerate(named):
        name, _, path = each.rpartition("=")
        times, cwnd, rtt, acked = columns_of(path)
        axes[0][column].set_title(name or path)
        for row, (x, y, what) in enumerate(((times, cwnd, "cwnd, KiB"), (times, rtt, "SRTT, ms"),
                                            (*goodput_of(times, acked), "goodput, Mbit/s"))):
            axes[row][column].plot(x, y, linewidth=1)
            axes[row][column].grid(alpha=0.3)
            axes[row][column].set_ylim(bottom=0)
            if column == 0:
                axes[row][column].set_ylabel(what)
        axes[2][column].set_xlabel("time, s")
    figure.tight_layout()
    figure.savefig(out, dpi=100)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        print(__doc__, end="", file=sys.stderr if len(sys.argv) < 3 else sys.stdout)
        sys.exit(2 if len(sys.argv) < 3 else 0)
    main(*sys.argv[1:])
