# Runs the cells of a sweep that have no result yet; started by `lockstep sweep`.
"""register.cpp in this folder declares the options, and starts this program."""
import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from verbs.sweep.files import AtomicFile  # noqa: E402  (the path comes first)
from verbs.sweep.plan import Failure, Plan  # noqa: E402
from verbs.sweep.pools import DaskPool, LocalPool  # noqa: E402
from verbs.sweep.results import Results  # noqa: E402
from verbs.sweep.table import csv_of, parquet_of, pyarrow_or_failure  # noqa: E402

# How often a cell is tried if its process or worker is killed.
TRIES = 3
BAR = 30
TABLES = {"csv": csv_of, "parquet": parquet_of}


class Progress:
    """A bar on a terminal, for work that takes more than two seconds."""

    def __init__(self, total):
        self.total = total
        self.due = time.monotonic() + 2
        self.drawn = False

    def draw(self, done, pool):
        if sys.stderr.isatty() and time.monotonic() >= self.due:
            self.due = time.monotonic() + 0.1
            self.drawn = True
            bar = "#" * (BAR * done // max(1, self.total))
            print(f"\r\x1b[K[{bar:<{BAR}}] {done} of {self.total} cells, {pool.words()}",
                  end="", file=sys.stderr, flush=True)

    def clear(self):
        if self.drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self.drawn = False


class Sweep:
    """Passes the missing cells to a pool, and keeps their results as they arrive."""

    def __init__(self, plan, results, program):
        self.plan = plan
        self.results = results
        self.program = program
        self.waiting = [i for i in range(len(plan.cells)) if i not in results.lines]
        self.waiting.reverse()
        self.kept = len(results.lines)
        self.again = 0
        self.tries = {}
        self.lost = []
        self.running = 0

    def work(self, index):
        return {"program": self.program, "words": self.plan.cells[index][0],
                "folder": str(pathlib.Path.cwd()), "report": self.plan.report,
                "files": self.plan.files}

    def take(self, index, outcome):
        """Processes the outcome of a cell."""
        if "stop" in outcome:
            raise Failure(outcome["exit"], f"cell {index} ({' '.join(self.plan.cells[index][0])}):"
                                           f" {outcome['stop']}")
        if "killed" in outcome:
            self.tries[index] = self.tries.get(index, 0) + 1
            if self.tries[index] == TRIES:
                self.lost.append(index)
            else:
                self.again += 1
                self.waiting.append(index)
            return
        self.refuse_equal_seeds(index, outcome.get("result"))
        self.results.add({"cell": index, **self.plan.cells[index][1], **outcome})

    def refuse_equal_seeds(self, index, result):
        """Several seeds of a run that draws nothing are one measurement, and no statistics."""
        seeds = next((len(values) for kind, _, values in self.plan.axes if kind == "seed"), 1)
        if seeds > 1 and isinstance(result, dict) and result.get("drawn_from_seed") == []:
            raise Failure(2, f"cell {index} ({' '.join(self.plan.cells[index][0])}): it draws"
                             f" nothing from its seed, so {seeds} seeds are one measurement: remove"
                             ' `seeds`, or let something be drawn, like start = "uniform 0s 1s" of'
                             " an app")

    def run(self, pool):
        progress = Progress(len(self.plan.cells))
        try:
            while self.waiting or self.running:
                while self.waiting and self.running < pool.size:
                    index = self.waiting.pop()
                    pool.start(index, self.work(index))
                    self.running += 1
                progress.draw(len(self.results.lines), pool)
                index, outcome = pool.next()
                self.running -= 1
                self.take(index, outcome)
        finally:
            progress.clear()

    def summary(self):
        bad = [i for i, line in sorted(self.results.lines.items()) if line["exit"] != 0]
        return {"cells": len(self.plan.cells), "kept": self.kept,
                "ran": len(self.results.lines) - self.kept, "again": self.again,
                "findings": bad, "lost": sorted(self.lost), "results": str(self.results.path)}


def print_summary(summary, as_json):
    if as_json:
        print(json.dumps(summary, indent=2))
        return
    for index in summary["findings"][:10]:
        print(f"cell {index}: exit code not 0, see its line in the results")
    for index in summary["lost"]:
        print(f"cell {index}: skipped, because its process or worker was killed {TRIES} times")
    print(f"{summary['cells']} cells: {summary['kept']} had results, {summary['ran']} ran,"
          f" {summary['again']} were repeated because a worker died,"
          f" {len(summary['findings'])} with findings")
    if not summary["lost"]:
        print(f"results: {summary['results']}")
    for kind in TABLES:
        if kind in summary:
            print(f"statistics: {summary[kind]}")


def refuse_clashes(arguments, others):
    """A table must be no other file of the sweep."""
    taken = [pathlib.Path(each).resolve() for each in others]
    for kind in TABLES:
        path = getattr(arguments, kind)
        if path and pathlib.Path(path).resolve() in taken:
            raise Failure(2, f"--{kind} {path}: is another file of this sweep: name a new one")
        if path:
            taken.append(pathlib.Path(path).resolve())


def cells_done(arguments, plan, out):
    """Runs the cells that have no result yet."""
    results = Results(out, plan, arguments.fresh)
    sweep = Sweep(plan, results, arguments.program)
    try:
        if sweep.waiting:
            pool = DaskPool(arguments.dask) if arguments.dask else LocalPool(arguments.jobs)
            try:
                sweep.run(pool)
            finally:
                pool.close()
        if not sweep.lost:
            results.finish()
    finally:
        results.close()
    return sweep


def run(arguments):
    plan = Plan(arguments.file, arguments.program)
    out = arguments.out or str(pathlib.Path(arguments.file).with_suffix(".results.jsonl"))
    refuse_clashes(arguments, [arguments.file, out, f"{out}.part", *plan.files])
    if arguments.parquet:
        pyarrow_or_failure()
    tables = {}
    try:
        for kind in TABLES:
            if path := getattr(arguments, kind):
                tables[kind] = AtomicFile(path, f"--{kind}")
        sweep = cells_done(arguments, plan, out)
        summary = sweep.summary()
        for kind, file in tables.items():
            file.keep(TABLES[kind](sweep.results.lines))
            summary[kind] = file.path
    finally:
        for file in tables.values():
            file.discard()
    print_summary(summary, arguments.json)
    return 1 if summary["findings"] or summary["lost"] else 0


def main():
    parser = argparse.ArgumentParser(prog="lockstep sweep")
    parser.add_argument("program")
    parser.add_argument("file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--dask")
    parser.add_argument("--out")
    parser.add_argument("--csv")
    parser.add_argument("--parquet")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--json", action="store_true")
    try:
        return run(parser.parse_args())
    except Failure as failure:
        print(f"lockstep: {' '.join(str(failure).split())}", file=sys.stderr)
        return failure.code
    except KeyboardInterrupt:
        print("lockstep: stopped; the same command resumes the sweep", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
