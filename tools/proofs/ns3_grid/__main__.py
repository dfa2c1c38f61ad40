"""Runs the grid, resuming where it stopped, and compares with the committed table and reasons.

0: the table equals the committed one and every difference has its reason. 1: not so. 3: cannot run.
"""

import argparse
import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.proofs.ns3_grid import cells, table

PROGRAM = Path("build/release/lockstep_ns3")


def options_of(words: list) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/evidence ns3-grid", description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="folder for finished cells")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="lockstep_ns3 (%(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="parallel runs (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--only", default="", help="only cells whose name contains this; no table")
    return parser.parse_args(words)


def run_cells(wanted: list, options: argparse.Namespace, kept: Path) -> dict:
    """Results by the name of the cell."""
    results: dict = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        done = pool.map(lambda cell: cells.run(cell, options.program, kept), wanted)
        for count, (cell, result) in enumerate(zip(wanted, done), 1):
            results[cell.name] = result
            rates = " ".join(f"{rate:.3f}" for rate in cells.goodputs(result))
            print(f"{count}/{len(wanted)} {cell.name}: {rates} Mbit/s", flush=True)
    return results


def main(words: list) -> int:
    options = options_of(words)
    if not options.program.exists():
        print(f"ns3-grid: {options.program} is missing: tools/setup --with ns3, then build the "
              "preset release", file=sys.stderr)
        return 3
    words = Path(cells.__file__).read_bytes()
    stamp = hashlib.sha256(options.program.read_bytes() + words).hexdigest()[:16]
    kept = options.into / stamp
    kept.mkdir(parents=True, exist_ok=True)
    wanted = [cell for cell in cells.grid() + cells.mixes() if options.only in cell.name]

    def again(changed: list) -> dict:
        return run_cells(changed, options, kept)

    try:
        results = run_cells(wanted, options, kept)
        return 0 if options.only else table.judge(results, again, options.write)
    except cells.RunFailed as failed:
        print(f"ns3-grid: {failed}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
