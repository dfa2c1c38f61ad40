"""tools/evidence formulas: the table, its limits, and the page of plots."""

import argparse
import json
import sys
from pathlib import Path

from tools.proofs.formulas import checks
from tools.proofs.formulas.runs import RunFailed

EPILOG = """\
checks: growth (RFC 5681), mathis (periodic loss), pftk (random loss), cubic (RFC 9438), ecn (RFC
3168, RFC 8257), pacing
example: tools/evidence formulas cubic ecn
exit: 0 all limits hold, 1 one does not, 2 bad usage, 3 a world could not be run"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/evidence formulas", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="Compares congestion control with formulas")
    parser.add_argument("checks", nargs="*", help="the checks to run (default: all)")
    parser.add_argument("--into", type=Path, default=Path("build/evidence/formulas"),
                        help="folder for the files (default: %(default)s)")
    parser.add_argument("--lockstep", type=Path, default=Path("build/release/lockstep"),
                        help="the program to run (default: %(default)s)")
    parser.add_argument("--no-plots", action="store_true", help="only the table, no plots")
    options = parser.parse_args()
    known = {check.__name__: check for check in checks.ALL}
    for name in options.checks:
        if name not in known:
            parser.error(f"unknown check '{name}', expected one of {', '.join(known)}")
    if not options.lockstep.exists():
        print(f"formulas: {options.lockstep} is missing: build it with "
              "ninja -C build/release lockstep", file=sys.stderr)
        return 3
    place = checks.Place(options.into / "worlds", options.lockstep)
    rows, traces = [], []
    try:
        for name in options.checks or known:
            found, drawn = known[name](place)
            rows += found
            traces += drawn
            for row in found:
                print(f"{row.what:<46} {row.expected:>18} {row.measured:>26} {row.gate:>17}  "
                      f"{'holds' if row.holds else 'FAILS'}", flush=True)
    except RunFailed as failed:
        print(f"formulas: {failed}", file=sys.stderr)
        return 3
    (options.into / "formulas.json").write_text(
        json.dumps([vars(row) for row in rows], indent=1) + "\n")
    if traces and not options.no_plots:
        from tools.proofs.formulas.plots import draw  # matplotlib is needed for plots only
        for file in draw(traces, options.into):
            print(f"formulas: {file}")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
