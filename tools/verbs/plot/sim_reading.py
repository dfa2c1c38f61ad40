"""Reads the folder of `lockstep sim run --out`; errors are one line with file and line."""

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path

from tools.verbs.plot.reading import BadInput, Run, Series, begin_of

SHOWN_MAX = 8  # lines of one figure
SHARE_MIN = 0.05  # of the octets in the other direction; requests of a few octets are no flow
QUEUE_MIN = 0.01  # of the mean of the longest queue
SIDES = ("opener", "acceptor")
WAYS = ("forward", "back")

SENDERS = ("time_ns,connection,side,cwnd_bytes,ssthresh_bytes,flight_bytes,srtt_ns,rto_ns,"
           "pacing_bytes_per_second,retransmitted_segments")
SAMPLES = "time_ns,connection,side,rtt_ns"
READERS = "time_ns,connection,side,read_bytes"
QUEUES = "time_ns,link,way,packets,dropped_packets,marked_packets"

TRACES = {"cwnd_bytes": "CongestionWindow", "ssthresh_bytes": "SlowStartThreshold",
          "srtt_ns": "RTT", "rtt_ns": "RttSample", "pacing_bytes_per_second": "PacingRate",
          "retransmitted_segments": "Retransmissions"}


def number(file: Path, line: int, column: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise BadInput(f"{file}:{line}: column {column}: '{text}' is not a whole number")
    return int(text)


def rows_of(file: Path, columns: str):
    """(line, time in ns, the cells by column) of each row."""
    names = columns.split(",")
    before = 0
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            head = next(lines, "").rstrip("\r\n")
            if head != columns:
                raise BadInput(f"{file}:1: the columns are '{head[:60]}', expected '{columns}', "
                               "as lockstep sim run --out writes them")
            for line, text in enumerate(lines, 2):
                cells = text.rstrip("\r\n").split(",")
                if len(cells) != len(names):
                    raise BadInput(f"{file}:{line}: {len(cells)} columns, expected the "
                                   f"{len(names)} {columns}")
                at = number(file, line, "time_ns", cells[0])
                if at < before:
                    raise BadInput(f"{file}:{line}: column time_ns: {at} is before {before}, "
                                   "the time of the line above")
                before = at
                yield line, at, dict(zip(names, cells))
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{file}: not a text file, expected a CSV of {columns}") from None


def one_of(file: Path, line: int, column: str, text: str, words: tuple) -> str:
    if text not in words:
        raise BadInput(f"{file}:{line}: column {column}: '{text}', expected {' or '.join(words)}")
    return text


def add_flows(file: Path, columns: str, traces: dict) -> None:
    """Adds the series of a table of ends of connections, by (name, (connection, side))."""
    for line, at, cells in rows_of(file, columns):
        who = (number(file, line, "connection", cells["connection"]),
               one_of(file, line, "side", cells["side"], SIDES))
        for column, name in TRACES.items():
            if cells.get(column):
                series = traces[name, who]
                series.seconds.append(at / 1e9)
                series.values.append(number(file, line, column, cells[column]))


def add_received(file: Path, traces: dict) -> None:
    """What one side reads, the other side has sent."""
    for line, at, cells in rows_of(file, READERS):
        side = one_of(file, line, "side", cells["side"], SIDES)
        sender = SIDES[1 - SIDES.index(side)]
        who = number(file, line, "connection", cells["connection"]), sender
        series = traces["Received", who]
        series.seconds.append(at / 1e9)
        series.values.append(number(file, line, "read_bytes", cells["read_bytes"]))


def add_queues(file: Path, traces: dict) -> None:
    for line, at, cells in rows_of(file, QUEUES):
        who = cells["link"], one_of(file, line, "way", cells["way"], WAYS)
        for column, name in (("packets", "PacketsInQueue"), ("dropped_packets", "Dropped")):
            series = traces[name, who]
            series.seconds.append(at / 1e9)
            series.values.append(number(file, line, column, cells[column]))


def apps_of(file: Path) -> dict:
    """The app of each connection."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return {int(row["connection"]): row["app"] for row in csv.DictReader(lines)}
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}") from None
    except (KeyError, ValueError, TypeError):
        raise BadInput(f"{file}:1: expected the columns connection and app, as lockstep sim run "
                       "--out writes them") from None


def title_of(file: Path) -> str:
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))
        return f"{summary['world']}, seed {summary['seed']}"
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        line = getattr(error, "lineno", 1)
        raise BadInput(f"{file}:{line}: not a summary of lockstep sim run: {error}") from None


def names_of(flows: list, apps: dict) -> list:
    """The app of each flow, with the number of the connection where an app has several."""
    several = {app for app, count in Counter(apps.values()).items() if count > 1}
    names = []
    for connection, side in flows:
        app = apps.get(connection, "connection")
        name = f"{app} {connection}" if app in several or app == "connection" else app
        names.append(name if side == "opener" else f"{name} reply")
    return names


def mean_level(series: Series) -> float:
    spans = [after - at for at, after in zip(series.seconds, series.seconds[1:])]
    return sum(span * value for span, value in zip(spans, series.values))


def read(folder: Path) -> Run:
    """Reads a run. The flows are numbered by their octets, the largest first, the queues by
    their mean length."""
    traces: dict = defaultdict(Series)
    title = title_of(folder / "summary.json")
    apps = apps_of(folder / "connections.csv")
    add_flows(folder / "senders.csv", SENDERS, traces)
    add_flows(folder / "rtt_samples.csv", SAMPLES, traces)
    add_received(folder / "readers.csv", traces)
    add_queues(folder / "queues.csv", traces)
    if not traces:
        raise BadInput(f"{folder}: no time series: the run ended at once")
    octets = {who: series.values[-1] for (name, who), series in traces.items()
              if name == "Received"}
    flows = [(connection, side) for (connection, side), count in octets.items()
             if count >= SHARE_MIN * octets.get((connection, SIDES[1 - SIDES.index(side)]), 0)]
    flows.sort(key=lambda who: (-octets[who], who))
    means = {who: mean_level(series) for (name, who), series in traces.items()
             if name == "PacketsInQueue"}
    lanes = [who for who, mean in means.items()
             if mean >= QUEUE_MIN * max(means.values())]
    lanes.sort(key=lambda who: (-means[who], who))
    place = {who: i for i, who in enumerate(flows)} | {who: i for i, who in enumerate(lanes)}
    kept = {(name, place[who]): series for (name, who), series in traces.items() if who in place}
    first = min(series.seconds[0] for series in traces.values())
    end = max(series.seconds[-1] for series in traces.values())
    lane_names = [link if way == "forward" else f"{link}, back" for link, way in lanes]
    return Run(folder / "senders.csv", kept, names_of(flows, apps), title, begin_of(first, end),
               end, lane_names, SHOWN_MAX)
