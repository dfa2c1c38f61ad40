"""tools/evidence reorder-linux: the sixth of the reorder matrix, ours and Linux's."""

import argparse
import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.dev.test import kernel
from tools.proofs.bbr.cells import RunFailed
from tools.proofs.reorder_linux import cells

TABLE = Path(__file__).with_name("table.txt")
# The columns of a line that no kernel has a part in.
OWN = 31 + len(" kbit/s  again")
EPILOG = """\
goodput in kbit/s and retransmissions of one transfer: from our TCP to ours, from Linux to ours,
from Linux to Linux; then Linux's goodput in percent of ours. Medians of the seeds 1 to N.
example: tools/evidence reorder-linux --only "cubic 10M"
exit: 0 the lines are those of the table, or --write wrote it; 1 one differs; 2 bad usage; 3 a world
could not be run"""


def options_of(words: list | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="tools/evidence reorder-linux", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="Runs the sixth of the reorder matrix with Linux "
                                                 "as the sender, and as both TCPs, beside ours")
    parser.add_argument("--into", type=Path, default=Path("build/evidence/reorder-linux"),
                        help="folder for the files (default: %(default)s)")
    parser.add_argument("--lockstep", type=Path, default=Path("build/release/lockstep"),
                        help="the program to run (default: %(default)s)")
    parser.add_argument("--only", default="", help="only the cells whose line has these words")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each cell (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once (default: 2)")
    parser.add_argument("--table", type=Path, default=TABLE, help="the table to compare with")
    parser.add_argument("--write", action="store_true", help="write the table")
    options = parser.parse_args(words)
    if options.seeds < 1 or options.jobs < 1:
        parser.error("--seeds and --jobs take 1 or more")
    return options


def head_of(seeds: int) -> list:
    """The first lines of the table."""
    pairs = " ".join(f"{name:>7} {'again':>5}" for name in cells.PAIRS)
    return [f"# kbit/s and retransmissions, medians of seeds 1 to {seeds}; README.md says more.",
            "# Made by `tools/evidence reorder-linux --write`.",
            f"# Of the kernel with the SHA-256 {kernel_print()}.",
            f"# {'cell':<29} {pairs}  sender    both"]


def kernel_print() -> str:
    """The first digits of the hash of Linux as a program."""
    return hashlib.sha256(Path(kernel.find()).read_bytes()).hexdigest()[:12]


def line_of(cell: cells.Cell, found: dict) -> str:
    """The line of a cell."""
    shown = " ".join(f"{one['kbit']:>7} {one['again']:>5}" for one in found.values())
    ratios = "  ".join(f"{found[name]['kbit'] * 100 // found['ours']['kbit']:>5}%"
                       for name in ("sender", "both"))
    return f"{cell.name:<31} {shown}  {ratios}"


def missing(options: argparse.Namespace) -> str:
    """What this machine lacks, in one line."""
    linux = kernel.find()
    if not options.lockstep.exists():
        return f"{options.lockstep} is missing: build it with ninja -C build/release lockstep"
    if not Path(linux).is_file():
        place = f" at {linux}" if linux else ""
        return f"there is no Linux{place}: tools/setup --with linux builds it"
    return ""


def measured(options: argparse.Namespace) -> list:
    """The lines of the chosen cells, which are printed as they come."""
    kept = options.into / "runs"
    kept.mkdir(parents=True, exist_ok=True)
    chosen = [cell for cell in cells.sixth()
              if all(word in cell.name.split() for word in options.only.split())]
    lines = []
    with ThreadPoolExecutor(options.jobs) as pool:
        works = [(cell, {name: pool.submit(cells.measure, cell, name, options.seeds,
                                           options.lockstep, kept) for name in cells.PAIRS})
                 for cell in chosen]
        try:
            for at, (cell, work) in enumerate(works, 1):
                lines.append(line_of(cell, {name: one.result() for name, one in work.items()}))
                print(lines[-1], flush=True)
                if sys.stderr.isatty():
                    print(f"{at} of {len(works)} cells", end="\r", file=sys.stderr, flush=True)
        except RunFailed:
            pool.shutdown(cancel_futures=True)
            raise
    return lines


def main(words: list | None = None) -> int:
    """Returns the exit code."""
    options = options_of(words)
    lacking = missing(options)
    if lacking:
        print(f"reorder-linux: {lacking}", file=sys.stderr)
        return 3
    heads = head_of(options.seeds)
    print(heads[-1])
    try:
        lines = measured(options)
    except RunFailed as failed:
        print(f"reorder-linux: {failed}", file=sys.stderr)
        return 3
    if not lines:
        print(f"reorder-linux: no cell has the words '{options.only}'", file=sys.stderr)
        return 2
    if options.write:
        options.table.write_text("\n".join([*heads, *lines]) + "\n", encoding="utf-8")
        return 0
    table = options.table.read_text(encoding="utf-8").splitlines()
    if table[0] != heads[0]:
        print("reorder-linux: the table has other seeds: nothing is compared")
        return 0
    if table[2] != heads[2]:
        print("reorder-linux: the table is of another kernel: only from ours to ours is compared")
        lines, table = [line[:OWN] for line in lines], [line[:OWN] for line in table]
    differing = [line for line in lines if line not in table]
    print(f"{len(differing)} of {len(lines)} lines differ from the table")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
