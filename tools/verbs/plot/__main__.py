"""Plots what `lockstep sim run --out FOLDER` or `lockstep ns3 run --out FOLDER` wrote: cwnd, rtt,
pacing, queue, throughput, retransmissions, fairness."""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tools.verbs.plot import reading  # noqa: E402  (the path comes first)

FIGURES = ("cwnd", "rtt", "pacing", "queue", "throughput", "retransmissions", "fairness")


def some_of(known: tuple):
    """A parser for a comma-separated list of these words."""
    def parse(text: str) -> list:
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(
                    f"'{word}' is not one of {', '.join(known)}")
        return text.split(",")
    return parse


class Parser(argparse.ArgumentParser):
    """Reports an error in one line."""

    def error(self, message):
        self.exit(2, f"lockstep plot: {message}; see 'lockstep plot --help'\n")


def options_of(words: list) -> argparse.Namespace:
    parser = Parser(
        prog="lockstep plot", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="A figure without data is left out, with a warning if --only names it.\n"
        "Exit codes: 0 success, 2 wrong usage or bad input, 3 environment.\n"
               "Example: lockstep sim run sim/examples/queues.toml --out run; lockstep plot run")
    parser.add_argument("runs", nargs="+", type=Path, metavar="FILE|FOLDER",
                        help="the folder of a run, or a table in it")
    parser.add_argument("--out", type=Path, help="folder for the figures (default: beside the "
                                            "traces); with several runs a subfolder for each")
    parser.add_argument("--only", type=some_of(FIGURES),
                        metavar="FIGURE,...", help="only these of " + ", ".join(FIGURES))
    parser.add_argument("--format", type=some_of(("png", "svg")), default=["png", "svg"],
                        metavar="FORMAT,...", help="png, svg or both (default: both)")
    parser.add_argument("--json", action="store_true", help="print the list of files as JSON")
    return parser.parse_args(words)


def draw(run: reading.Run, into: Path, options: argparse.Namespace) -> tuple[list, list]:
    """Writes the figures of a run; returns the files, and the names of figures without data."""
    from tools.verbs.plot import figures, style
    files, empty = [], []
    for name in options.only or FIGURES:
        figure = figures.ALL[name](run)
        if figure is None:
            empty.append(name)
        else:
            files += style.save(figure, into / name, options.format)
    return files, empty


def run_all(options: argparse.Namespace) -> int:
    drawn, files = [], []
    for path in options.runs:
        run = reading.read(path)
        into = options.out or run.file.parent
        if options.out and len(options.runs) > 1:
            into = options.out / run.file.resolve().parent.name
        if into in drawn:
            raise reading.BadInput(f"{path}: its figures would overwrite those of another run in "
                                   f"{into}: give each its own folder")
        drawn.append(into)
        into.mkdir(parents=True, exist_ok=True)
        written, empty = draw(run, into, options)
        files += written
        if not options.json:
            for file in written:
                print(file)
        for name in empty if options.only else []:
            print(f"lockstep plot: {run.file} has no traces for the figure {name}", file=sys.stderr)
    if options.json:
        print(json.dumps([str(file) for file in files], indent=2))
    return 0


def main(words: list) -> int:
    options = options_of(words)
    try:
        return run_all(options)
    except reading.BadInput as bad:
        print(f"lockstep plot: {bad}", file=sys.stderr)
        return 2
    except ImportError as missing:
        print(f"lockstep plot: {missing.name or 'matplotlib'} is missing: run tools/setup",
              file=sys.stderr)
        return 3
    except OSError as error:
        print(f"lockstep plot: {error.filename}: {error.strerror}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
