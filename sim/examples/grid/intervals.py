# Draws a measure of what `lockstep sweep --csv` wrote: each arm's mean with its 95 % interval.
"""usage: intervals.py TABLE.csv MEASURE OUT.png

Needs matplotlib, which tools/setup installs into build/venv.
"""
import csv
import sys

UNITS = {"virtual_s": "virtual time (s)", "goodput_mbit_s": "mean goodput of a flow (Mbit/s)",
         "flow_duration_s": "mean duration of a flow (s)", "jain_index": "Jain's index"}


def arms_of(path, measure):
    """The arms in the file's order: name, runs, mean, and the interval's ends."""
    with open(path, encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["row"] == "arm"]
    found = [row for row in rows if row["measure"] == measure]
    if not found:
        names = ", ".join(dict.fromkeys(row["measure"] for row in rows))
        sys.exit(f"{path}: no measure '{measure}', expected one of {names}")
    if any(not row["low"] for row in found):
        sys.exit(f"{path}: no interval of '{measure}': run several seeds of each arm")
    return [(row["arm"], int(row["runs"]), *(float(row[key]) for key in ("mean", "low", "high")))
            for row in found]


def main(table, measure, out):
    """Writes the picture."""
    arms = arms_of(table, measure)
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 1.6 + 0.6 * len(arms)), constrained_layout=True)
    for height, (_, _, mean, low, high) in enumerate(reversed(arms)):
        axes.errorbar([mean], [height], xerr=[[mean - low], [high - mean]], fmt="o", capsize=6)
        axes.annotate(f"{mean:.4g}", (mean, height), (0, 8), ha="center",
                      textcoords="offset points")
    axes.set_yticks(range(len(arms)), [arm for arm, *_ in reversed(arms)])
    axes.set_ylim(-0.6, len(arms) - 0.4)
    axes.set_xlabel(UNITS.get(measure, measure))
    axes.set_title(f"mean and 95 % interval of {arms[0][1]} seeds", loc="left")
    axes.grid(alpha=0.3)
    figure.savefig(out, dpi=100)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        print(__doc__, end="", file=sys.stderr)
        sys.exit(2)
    main(*sys.argv[1:])
