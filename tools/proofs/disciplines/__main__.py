"""Runs four flows of our TCP through each queue discipline of ours and of ns-3, and compares.

Exit codes: 0 throughput, mean and 95th percentile of the delay agree, 1 one does not, 2 wrong
usage, 3 cannot run. Example: tools/evidence ns3-disciplines pie codel
"""

import argparse
import json
import sys
from pathlib import Path

from tools.proofs.disciplines import runs

EPILOG = __doc__.split("\n\n", 1)[1]


def options_of(words: list) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/evidence ns3-disciplines", description=__doc__.split("\n\n", 1)[0],
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="DISCIPLINE",
                        help=f"of {', '.join(runs.DISCIPLINES)} (default: all)")
    parser.add_argument("--quick", action="store_true",
                        help="one path instead of four")
    parser.add_argument("--into", type=Path, default=Path("build/evidence/ns3-disciplines"),
                        help="folder for disciplines.json (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--lockstep", type=Path, default=Path("build/release/lockstep_ns3"),
                        help="the program to run (default: %(default)s)")
    options = parser.parse_args(words)
    for name in options.names:
        if name not in runs.DISCIPLINES:
            parser.error(f"there is no discipline '{name}', expected one of "
                         f"{', '.join(runs.DISCIPLINES)}")
    return options


def print_rows(name: str, rows: list) -> None:
    for row in rows:
        print(f"{name:<10} {row.what:<24} {row.ours:>8.3f} {row.theirs:>8.3f} {row.unit:<7} "
              f"{row.difference:>+7.1%}  {'agrees' if row.agrees() else 'DIFFERS'}", flush=True)


def main(words: list) -> int:
    options = options_of(words)
    if not options.lockstep.exists():
        print(f"ns3-disciplines: {options.lockstep} is missing: tools/setup --with ns3, then build "
              "the preset release", file=sys.stderr)
        return 3
    found = {}
    if not options.json:
        print(f"{'':<10} {'':<24} {'ours':>8} {'ns-3':>8}")
    try:
        for name in options.names or runs.DISCIPLINES:
            found[name] = runs.compare(name, options.lockstep, options.quick)
            if not options.json:
                print_rows(name, found[name])
    except runs.RunFailed as failed:
        print(f"ns3-disciplines: {failed}", file=sys.stderr)
        return 3
    as_json = json.dumps({name: [{**vars(row), "difference": row.difference} for row in rows]
                          for name, rows in found.items()}, indent=1)
    options.into.mkdir(parents=True, exist_ok=True)
    (options.into / "disciplines.json").write_text(as_json + "\n")
    if options.json:
        print(as_json)
    return 0 if all(row.agrees() for rows in found.values() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
