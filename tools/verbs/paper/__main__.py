"""Repeats experiments of papers and RFCs: a figure beside the published numbers, and a gate."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tools.verbs.paper import experiments  # noqa: E402  (the path comes first)
from tools.verbs.paper.place import Missing, Place, RunFailed  # noqa: E402


class Parser(argparse.ArgumentParser):
    """Reports an error in one line."""

    def error(self, message):
        self.exit(2, f"lockstep paper: {message}; see 'lockstep paper --help'\n")


def options_of(words: list) -> argparse.Namespace:
    parser = Parser(
        prog="lockstep paper", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 every gate holds, 1 one does not, 2 wrong usage, 3 environment.\n"
               "Example: lockstep paper cubic --out figures")
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments, see --list")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--all", action="store_true", help="run every experiment")
    parser.add_argument("--quick", action="store_true",
                        help="fewer points and shorter runs: all experiments in a minute")
    parser.add_argument("--out", type=Path, help="folder for NAME.png, NAME.svg and NAME.json "
                                                 "(default: papers)")
    parser.add_argument("--no-figure", action="store_true", help="only the table; writes no file")
    parser.add_argument("--json", action="store_true", help="print values and gates as JSON")
    parser.add_argument("--program", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    for name in options.names:
        if name not in experiments.ALL:
            parser.error(f"there is no experiment '{name}', expected one of "
                         f"{', '.join(experiments.ALL)}")
    if options.all:
        options.names = list(experiments.ALL)
    if not options.names and not options.list:
        parser.error("expected the name of an experiment, --all or --list")
    options.out = options.out or Path("papers")
    return options


def print_list(as_json: bool) -> int:
    rows = [{"name": name, "title": each.TITLE, "source": each.SOURCE, "seconds": each.SECONDS}
            for name, each in experiments.ALL.items()]
    if as_json:
        print(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        print(f"{row['name']:<12} {row['title']} ({row['source']}); about {row['seconds']} s")
    return 0


def print_table(name: str, module, result) -> None:
    print(f"{name}: {module.TITLE}\n{module.SOURCE}\n")
    rows = [("", "expected", "measured", "gate", "")]
    rows += [(gate.what, gate.published, gate.measured, gate.limit,
              "holds" if gate.holds else "FAILS") for gate in result.gates]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    if sum(widths) > 130:  # packet by packet: a block for each gate
        for what, published, measured, limit, holds in rows[1:]:
            print(f"{what}: {holds} ({limit})\n  expected   {published}\n  measured   {measured}")
    else:
        for row in rows:
            print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, [*widths, 0])).rstrip())
    for note in result.notes:
        print(f"\n{note}")


def as_dict(module, result) -> dict:
    return {"title": module.TITLE, "source": module.SOURCE, "holds": result.holds(),
            "gates": [vars(gate) for gate in result.gates], "notes": result.notes,
            "data": result.data}


def save(name: str, module, result, out: Path) -> list:
    from tools.verbs.plot import style
    files = style.save(module.draw(result), out / name, ("png", "svg"))
    (out / f"{name}.json").write_text(json.dumps(as_dict(module, result), indent=1) + "\n")
    return files


def run_all(options: argparse.Namespace, place: Place) -> int:
    found, holds = {}, True
    for name in options.names:
        module = experiments.ALL[name]
        place.name = name
        result = module.measure(place)
        place.clear()
        holds = holds and result.holds()
        found[name] = as_dict(module, result)
        files = [] if options.no_figure else save(name, module, result, options.out)
        if not options.json:
            print_table(name, module, result)
            for file in files:
                print(file)
            print(flush=True)
    if options.json:
        print(json.dumps(found, indent=1))
    return 0 if holds else 1


def main(words: list) -> int:
    options = options_of(words)
    if options.list:
        return print_list(options.json)
    program = options.program or Path("build/release/lockstep")
    if not program.is_file():
        print(f"lockstep paper: {program}: there is no such program: build the preset release",
              file=sys.stderr)
        return 3
    if not options.no_figure:
        try:
            options.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            print(f"lockstep paper: {options.out}: cannot be a folder ({error.strerror}): name "
                  "another --out", file=sys.stderr)
            return 3
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(program.resolve(), Path(scratch), options.quick)
        try:
            return run_all(options, place)
        except (Missing, RunFailed) as failed:
            place.clear()
            print(f"lockstep paper: {failed}", file=sys.stderr)
            return 3
        except ImportError as missing:
            print(f"lockstep paper: {missing.name or 'matplotlib'} is missing: run tools/setup",
                  file=sys.stderr)
            return 3
        except OSError as error:
            place.clear()
            print(f"lockstep paper: {error.filename or options.out}: {error.strerror or error}",
                  file=sys.stderr)
            return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
