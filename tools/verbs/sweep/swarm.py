# Runs the seeds of a swarm on a Dask cluster; started by `lockstep swarm --dask`.
"""The seeds are cut into parts, each of which is a `lockstep swarm` on a worker. The results add up
to those of one process: the same numbers, and the same bytes of JSON."""
import argparse
import hashlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from verbs.sweep.files import AtomicFile  # noqa: E402  (the path comes first)
from verbs.sweep.main import TRIES, Progress  # noqa: E402
from verbs.sweep.plan import Failure  # noqa: E402
from verbs.sweep.pools import DaskPool  # noqa: E402

PART = 250  # seeds
SUMS = ("failed", "frames", "connections", "bytes_read", "virtual_ms")
COVERAGE_SEEDS_MIN = 5000  # as in swarm.hpp
FAILURES_SHOWN = 100
KINDS = ("transition", "timer", "drop", "link drop", "fault")  # in the order of the table


def parts_of(first, last):
    """(first, last) of each part, both included."""
    return [(begin, min(begin + PART - 1, last)) for begin in range(first, last + 1, PART)]


def merged(first, last, results):
    """The result of all seeds, from those of the parts in order."""
    out = {"seeds": {"first": first, "last": last}, "failures": [], "coverage": [],
           "fingerprint": f"{sum(int(one['fingerprint'], 16) for one in results) % 2**64:016x}",
           "unreachable": results[0]["unreachable"],
           "fired": {kind: dict.fromkeys(rows, 0) for kind, rows in results[0]["fired"].items()}}
    for key in SUMS:
        out[key] = sum(one[key] for one in results)
    for one in results:
        out["failures"] += one["failures"]
        for kind, rows in one["fired"].items():
            for name, count in rows.items():
                out["fired"][kind][name] += count
    for kind in KINDS:
        out["coverage"] += coverage_of(kind, out, last - first + 1)
    return out


def coverage_of(kind, result, seeds):
    """What swarm.cpp's coverage_findings() says about the rows of one kind."""
    out = []
    for name, count in result["fired"].get(kind, {}).items():
        if name in result["unreachable"] and count:
            out.append(f"{kind} {name} was reached, but is listed as unreachable")
        if name not in result["unreachable"] and not count and seeds >= COVERAGE_SEEDS_MIN:
            out.append(f"{kind} {name} was never reached")
    return out


def print_result(result, options):
    """As the verb without --dask prints it."""
    seeds = result["seeds"]["last"] - result["seeds"]["first"] + 1
    for kind in KINDS:
        print(f"{kind}s")
        for name, count in result["fired"].get(kind, {}).items():
            why = "   unreachable" if name in result["unreachable"] else ""
            print(f"  {name:<34} {count:>14}{why}")
    for line in result["coverage"]:
        print(f"MISSING {line}")
    if seeds < COVERAGE_SEEDS_MIN:
        print(f"Rows of 0 are allowed below {COVERAGE_SEEDS_MIN} seeds.")
    for failure in result["failures"][:FAILURES_SHOWN]:
        seed = failure["seed"]
        print(f"FAILED seed {seed}: {failure['what']}\n  replay: lockstep swarm --seeds"
              f" {seed}..{seed} {' '.join(options)} --pcapng DIR")
    print(f"{seeds} seeds, {result['failed']} failed; {result['connections']} connections,"
          f" {result['frames']} frames, {result['bytes_read']} bytes read in"
          f" {result['virtual_ms'] // 1000} virtual s; fingerprint {result['fingerprint']}")


def run_parts(parts, pool, program, options):
    """The results of the parts, in order."""
    digest = hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
    results, tries = {}, {}
    waiting = list(range(len(parts)))[::-1]
    running = 0
    progress = Progress(len(parts))
    try:
        while waiting or running:
            while waiting and running < pool.size:
                index = waiting.pop()
                words = ["swarm", "--seeds", f"{parts[index][0]}..{parts[index][1]}",
                         "--shrink", "0", *options]
                pool.start(index, {"program": program, "words": words, "report": "file",
                                   "folder": str(pathlib.Path.cwd()), "files": {program: digest}})
                running += 1
            progress.draw(len(results), pool)
            index, outcome = pool.next()
            running -= 1
            name = f"seeds {parts[index][0]}..{parts[index][1]}"
            if "killed" in outcome and tries.setdefault(index, 0) < TRIES - 1:
                tries[index] += 1
                waiting.append(index)
            elif "killed" in outcome or outcome.get("result") is None and "stop" not in outcome:
                raise Failure(3, f"{name}: the process or its worker ended {TRIES} times without a"
                                 " result: run them alone with lockstep swarm")
            elif "stop" in outcome:
                raise Failure(outcome["exit"], f"{name}: {outcome['stop']}")
            else:
                results[index] = outcome["result"]
    finally:
        progress.clear()
    return [results[index] for index in range(len(parts))]


def run(arguments):
    file = AtomicFile(arguments.json, "--json") if arguments.json else None
    try:
        pool = DaskPool(arguments.dask)
        try:
            results = run_parts(parts_of(arguments.first, arguments.last), pool, arguments.program,
                                arguments.options)
        finally:
            pool.close()
        result = merged(arguments.first, arguments.last, results)
        print_result(result, arguments.options)
        if file:
            file.keep(json.dumps(result, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    finally:
        if file:
            file.discard()
    return 1 if result["failures"] or result["coverage"] else 0


def main():
    parser = argparse.ArgumentParser(prog="lockstep swarm")
    parser.add_argument("program")
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--dask", required=True)
    parser.add_argument("--json")
    parser.add_argument("options", nargs="*")
    try:
        return run(parser.parse_args())
    except Failure as failure:
        print(f"lockstep: {' '.join(str(failure).split())}", file=sys.stderr)
        return failure.code
    except KeyboardInterrupt:
        print("lockstep: stopped", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
