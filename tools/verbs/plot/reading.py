"""Reads a run: traces.csv and summary.json of ns-3; errors are one line with file and line."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = "time_ns,who,name,value"
OF_FLOWS = ("CongestionWindow", "SlowStartThreshold", "BytesInFlight", "RTT", "RTO", "State",
            "Received")
OF_QUEUES = ("PacketsInQueue",)
IDLE_SHARE_MAX = 0.3  # share of a figure's width before the first value


class BadInput(Exception):
    """One line for the user: file, line, and what was expected."""


@dataclass
class Series:
    """One trace: its value from each time on."""

    seconds: list = field(default_factory=list)
    values: list = field(default_factory=list)


@dataclass
class Run:
    """The traces of a run by name and owner, and the names of the flows."""

    file: Path
    traces: dict
    flows: list
    title: str
    begin: float  # 0, or the first time in the traces if that is most of the way to the end
    end: float
    queues: list = field(default_factory=list)  # the names of the queues; none: bottlenecks
    shown_max: int = 1000  # the lines of one figure: those of the first flows

    def of(self, name: str) -> list:
        """(owner, series) of each trace of this name, in order."""
        return sorted(((who, series) for (each, who), series in self.traces.items()
                       if each == name), key=lambda pair: pair[0])

    def shown(self, name: str) -> list:
        """The same, of the flows that are drawn."""
        return [(who, series) for who, series in self.of(name) if who < self.shown_max]


def row_of(file: Path, line: int, text: str) -> tuple[int, int, str, int]:
    """Parses the four fields of a line."""
    fields = text.split(",")
    if len(fields) != 4:
        raise BadInput(f"{file}:{line}: {len(fields)} columns, expected the four {COLUMNS}")
    if fields[2] not in OF_FLOWS and fields[2] not in OF_QUEUES:
        raise BadInput(f"{file}:{line}: column name: unknown trace '{fields[2]}', expected "
                       f"one of {', '.join(OF_FLOWS + OF_QUEUES)}")
    for column, value in zip(COLUMNS.split(","), fields):
        if column != "name" and not (value.isascii() and value.isdigit()):
            raise BadInput(f"{file}:{line}: column {column}: '{value}' is not a whole number")
    return int(fields[0]), int(fields[1]), fields[2], int(fields[3])


def traces_of(file: Path) -> dict:
    """The series by (name, owner)."""
    traces: dict = defaultdict(Series)
    before = 0
    try:
        with file.open(encoding="utf-8") as lines:
            head = next(lines, "").rstrip("\r\n")
            if head != COLUMNS:
                raise BadInput(f"{file}:1: the columns are '{head[:60]}', expected '{COLUMNS}', "
                               "as lockstep ns3 run --out writes them")
            for line, text in enumerate(lines, 2):
                time, who, name, value = row_of(file, line, text.rstrip("\r\n"))
                if time < before:
                    raise BadInput(f"{file}:{line}: column time_ns: {time} is before {before}, "
                                   "the time of the line above")
                before = time
                series = traces[name, who]
                series.seconds.append(time / 1e9)
                series.values.append(value)
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{file}: not a text file, expected a CSV of {COLUMNS}") from None
    if not traces:
        raise BadInput(f"{file}: no traces after the first line: the run ended at once")
    return dict(traces)


def kinds_of(file: Path) -> tuple[list, str]:
    """The TCP of each flow and the name of the topology, from the summary beside the traces."""
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))
        return [flow["tcp"] for flow in summary["flows"]], summary["topology"]
    except FileNotFoundError:
        return [], ""
    except (ValueError, KeyError, TypeError) as error:
        line = getattr(error, "lineno", 1)
        raise BadInput(f"{file}:{line}: not a summary of lockstep ns3 run: {error}") from None


def named(kinds: list, count: int) -> list:
    """A name for each flow, with a number where several have the same TCP."""
    kinds = kinds + [f"flow {i}" for i in range(len(kinds), count)]
    return [f"{kind} ({i})" if kinds.count(kind) > 1 else kind for i, kind in enumerate(kinds)]


def begin_of(first: float, end: float) -> float:
    """Where a figure begins."""
    return first if first > IDLE_SHARE_MAX * end else 0


def read(path: Path) -> Run:
    """Reads a run from its folder, or from a table in it."""
    from tools.verbs.plot import sim_reading
    folder = path if path.is_dir() else path.parent
    if (folder / "senders.csv").exists() and (path == folder or path.name != "traces.csv"):
        return sim_reading.read(folder)
    file = path / "traces.csv" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise BadInput(f"{path}: no senders.csv or traces.csv in this folder: lockstep sim run "
                       f"... --out {path}, or ns3 run, writes them")
    traces = traces_of(file)
    kinds, topology = kinds_of(file.with_name("summary.json"))
    count = 1 + max((who for name, who in traces if name in OF_FLOWS), default=-1)
    first = min(series.seconds[0] for series in traces.values())
    end = max(series.seconds[-1] for series in traces.values())
    return Run(file, traces, named(kinds, count), topology or file.parent.name,
               begin_of(first, end), end)
