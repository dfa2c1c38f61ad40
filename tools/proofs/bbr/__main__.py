"""tools/evidence bbr: the goodput of BBR as a controller of one's own, beside Linux's."""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.dev.test import kernel
from tools.proofs.bbr import cells

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "sim/examples/controllers"
LIMIT = 10  # percent
EPILOG = """\
goodput in kbit/s, median round trip in us; the ratio is ours (version 1) to Linux's, in percent.
Version 3 is shown beside both and has no limit: it is another algorithm.
example: tools/evidence bbr --only 10M
exit: 0 version 1 is within 10 % of Linux; 1 it is not; 2 bad usage; 3 a world could not be run"""


def compile_controllers(into: Path) -> None:
    """FILE.so of each controller in C."""
    for name in ("bbr", "bbr3"):
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{ROOT}", str(SOURCES / f"{name}.c"),
                        "-o", str(into / f"{name}.so")], check=True)


DRAWN = cells.Cell("10M", "100ms", "0.1%", "none")


def draw(options: argparse.Namespace, kept: Path) -> Path:
    """cwnd, round trip and goodput of the three senders side by side, on one path."""
    for name in cells.SENDERS:
        cells.simulate(DRAWN, name, 1, options.lockstep, options.into, kept, "--series",
                       kept / f"{name}.csv")
    out = options.into / "bbr.png"
    subprocess.run([sys.executable, str(SOURCES / "plot.py"), str(out),
                    *(f"{name}={kept / name}.csv" for name in cells.SENDERS)], check=True)
    return out


def options_of(words: list | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="tools/evidence bbr", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="Compares BBR as a controller of one's own with "
                                                 "Linux's in virtual time")
    parser.add_argument("--into", type=Path, default=Path("build/evidence/bbr"),
                        help="folder for the files (default: %(default)s)")
    parser.add_argument("--lockstep", type=Path, default=Path("build/release/lockstep"),
                        help="the program to run (default: %(default)s)")
    parser.add_argument("--only", default="", help="only the cells whose line has these words")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each cell (default: 3)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once (default: 2)")
    parser.add_argument("--no-plot", action="store_true", help="only the table")
    parser.add_argument("--json", action="store_true", help="also write bbr.json into the folder")
    return parser.parse_args(words)


def line_of(cell: cells.Cell, found: dict) -> tuple:
    """The line of a cell, and whether it is within the limit."""
    ratio = found["bbr"]["kbit"] * 1000 // found["linux"]["kbit"]
    within = abs(ratio - 1000) <= 10 * LIMIT
    verdict = "holds" if within else "DIFFERS"
    shown = "  ".join(f"{found[name]['kbit']:>7} {found[name]['rtt_us']:>7} "
                      f"{found[name]['again']:>5}" for name in cells.SENDERS)
    return f"{cell.name} {shown}  {ratio // 10:>4}.{ratio % 10}  {verdict}", within


def main(words: list | None = None) -> int:
    options = options_of(words)
    kept = options.into / "runs"
    kept.mkdir(parents=True, exist_ok=True)
    if not options.lockstep.exists():
        print(f"bbr: {options.lockstep} is missing: build it with ninja -C build/release lockstep",
              file=sys.stderr)
        return 3
    linux = kernel.find()
    if not Path(linux).is_file():
        place = f" at {linux}" if linux else ""
        print(f"bbr: there is no Linux{place}: tools/setup --with linux builds it", file=sys.stderr)
        return 3
    try:
        compile_controllers(options.into)
    except OSError:
        print("bbr: cc is missing: tools/setup installs it", file=sys.stderr)
        return 3
    chosen = [cell for cell in cells.sixth()
              if all(word in cell.name.split() for word in options.only.split())]
    heads = "  ".join(f"{name:>7} {'rtt':>7} {'again':>5}" for name in cells.SENDERS)
    print(f"{'path':<23} {heads}   ratio")
    well, rows = True, []
    place = (options.lockstep, options.into, kept)
    with ThreadPoolExecutor(options.jobs) as pool:
        works = [(cell, {name: pool.submit(cells.measure, cell, name, options.seeds,
                                                   *place)
                         for name in cells.SENDERS}) for cell in chosen]
        for cell, work in works:
            try:
                found = {name: each.result() for name, each in work.items()}
            except cells.RunFailed as failed:
                pool.shutdown(cancel_futures=True)
                print(f"bbr: {failed}", file=sys.stderr)
                return 3
            line, good = line_of(cell, found)
            print(line, flush=True)
            well &= good
            rows.append({"cell": cell.name.split(), **found})
    if options.json:
        (options.into / "bbr.json").write_text(json.dumps(rows, indent=1) + "\n")
    if not options.no_plot:
        print(f"bbr: {draw(options, kept)}")
    return 0 if well and rows else 1


if __name__ == "__main__":
    sys.exit(main())
