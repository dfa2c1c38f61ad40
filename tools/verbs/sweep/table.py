# The statistics of a sweep as a table: of each arm and measure, and of each arm less the first.
"""An arm is a cell without its seed. The interval is Student's, at 95 %. Differences are paired: an
arm and the first arm with the same seed, so that what the seed draws cancels out."""
import csv
import io
import math
import statistics
import sys

from verbs.sweep.plan import Failure, word_of

# Quantiles 0.975 of Student's distribution with 1, 2, ... 30 degrees of freedom, and with more.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
           2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
           2.060, 2.056, 2.052, 2.048, 2.045, 2.042]
BEYOND = [(1000, 1.962), (120, 1.980), (60, 2.000), (40, 2.021), (30, 2.042)]
COLUMNS = ["row", "arm", "measure", "runs", "mean", "median", "low", "high"]


def quantile(degrees):
    """Of Student's distribution; between two rows of the table that of the wider interval."""
    if degrees <= len(STUDENT):
        return STUDENT[degrees - 1]
    return next(value for least, value in BEYOND if degrees >= least)


def jain(rates):
    """Jain's index of fairness."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


def measures_of_run(result):
    """What a report of `sim run` measures."""
    connections = [each for each in result["connections"] if "acceptor" in each]
    ends = [[each[side] for side in ("opener", "acceptor") if side in each]
            for each in connections]
    rates = [max(end["goodput_bits_per_second"] for end in pair) for pair in ends]
    out = {"virtual_s": result["virtual_ns"] / 1e9}
    if connections:
        out["goodput_mbit_s"] = statistics.fmean(rates) / 1e6
        out["flow_duration_s"] = statistics.fmean(
            each["duration_ns"] for each in connections) / 1e9
        out["jain_index"] = jain(rates)
        out["retransmissions"] = sum(end["retransmissions"] for pair in ends for end in pair)
    out["drops"] = sum(sum(lane["drops"].values()) for lane in result["lanes"])
    out["marks"] = sum(lane["marked"] for lane in result["lanes"])
    return out


def measures_of(result):
    """The measures of a cell by name; of other verbs the numbers of the report, and the means of
    those in its lists."""
    if not isinstance(result, dict):
        return {}
    if "connections" in result and "lanes" in result:
        return measures_of_run(result)
    out = {}
    for key, value in result.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and key != "seed":
            out[key] = value
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            for inner in value[0]:
                numbers = [each.get(inner) for each in value]
                if all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers):
                    out[f"{key}.{inner}"] = statistics.fmean(numbers)
    return out


def arm_of(line):
    """The name of an arm: its values, as on the command line."""
    words = [f"{key}={word_of(value)}" for kind in ("options", "set")
             for key, value in line.get(kind, {}).items()]
    return " ".join(words) or "all"


def row_of(kind, arm, measure, values):
    """One row; without an interval if there is one value."""
    mean = statistics.fmean(values)
    row = [kind, arm, measure, len(values), mean, statistics.median(values), None, None]
    if len(values) > 1:
        half = quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
        row[6:] = [mean - half, mean + half]
    return row


def rows_of(lines):
    """All rows: first the arms, then the differences from the first arm."""
    arms = {}
    for index in sorted(lines):
        line = lines[index]
        seeds = arms.setdefault(arm_of(line), {})
        seeds[line.get("seed", 0)] = measures_of(line.get("result"))
    rows = []
    first = next(iter(arms), None)
    for kind in ("arm", "difference"):
        for arm, seeds in arms.items():
            if kind == "difference" and arm == first:
                continue
            names = list(dict.fromkeys(name for found in seeds.values() for name in found))
            for name in names:
                values = [found[name] for found in seeds.values() if name in found]
                if kind == "difference":
                    values = [found[name] - arms[first][seed][name]
                              for seed, found in seeds.items()
                              if name in found and name in arms[first].get(seed, {})]
                if values:
                    rows.append(row_of(kind, arm, name, values))
    return rows


def words_of_row(row):
    """A row as the CSV shows it."""
    return ["" if cell is None else f"{cell:.9g}" if isinstance(cell, float) else cell
            for cell in row]


def csv_of(lines):
    """The table as text."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(words_of_row, rows_of(lines)))
    return file.getvalue()


def pyarrow_or_failure():
    """The package, before any cell runs."""
    try:
        import pyarrow.parquet
        return pyarrow
    except ImportError as error:
        raise Failure(3, f"--parquet: pyarrow is missing in {sys.executable}: tools/setup installs"
                         " it, or use --csv") from error


def parquet_of(lines):
    """The same table as Parquet, with numbers as numbers."""
    arrow = pyarrow_or_failure()
    schema = arrow.schema([(name, arrow.string()) for name in COLUMNS[:3]]
                          + [("runs", arrow.int64())]
                          + [(name, arrow.float64()) for name in COLUMNS[4:]])
    columns = list(zip(*rows_of(lines))) or [()] * len(COLUMNS)
    arrays = [arrow.array([float(cell) if cell is not None and field.type == arrow.float64()
                           else cell for cell in column], field.type)
              for column, field in zip(columns, schema)]
    file = io.BytesIO()
    arrow.parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), file)
    return file.getvalue()
