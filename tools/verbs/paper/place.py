"""What an experiment needs from the outside: the module lockstep, worlds, runs, and progress."""

import csv
import importlib
import json
import subprocess
import sys
import time
from pathlib import Path

BAR = 30


class Missing(Exception):
    """The environment lacks something; one line with the mend."""


class RunFailed(Exception):
    """A world could not be run; one line."""


class Place:
    """Runs the worlds of this folder. `quick`: short runs, as in continuous integration."""

    def __init__(self, program: Path, scratch: Path, quick: bool) -> None:
        self.program = program
        self.scratch = scratch
        self.quick = quick
        self.name = ""
        self.due = time.monotonic() + 2
        self.drawn = False

    def module(self):
        """The Python module; that of the build if there is one beside the program."""
        beside = str(self.program.parent / "python")
        if beside not in sys.path:
            sys.path.insert(0, beside)
        try:
            module = importlib.import_module("lockstep")
        except ImportError:
            module = None
        if not hasattr(module, "Stack"):  # a folder that CMake made ready is a package, too
            raise Missing("the Python module lockstep is missing: cmake --preset release && "
                          "cmake --build --preset release --target python_core, or pip install .")
        return module

    def world(self, name: str) -> str:
        """The path of a world of this folder."""
        return str(Path(__file__).resolve().parent / "worlds" / name)

    def run(self, world: str, settings: dict, *, seed: int = 1, until: str = "",
            series: bool = False) -> tuple[dict, list]:
        """Runs `lockstep sim run` without checks: the report, and the rows of --series."""
        report, rows = self.scratch / "report.json", self.scratch / "series.csv"
        command = [str(self.program), "sim", "run", self.world(world), "--seed", str(seed),
                   "--checks", "off", "--json", str(report)]
        command += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        command += ["--until", until] if until else []
        command += ["--series", str(rows)] if series else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not report.exists() or done.returncode not in (0, 1):
            said = (done.stderr or done.stdout).strip().splitlines()
            what = said[-1].removeprefix("lockstep: ") if said else f"exit {done.returncode}"
            raise RunFailed(f"{world} cannot be run: {what}")
        found = json.loads(report.read_text())
        report.unlink()
        if not series:
            return found, []
        with rows.open() as file:
            return found, [{key: int(value) for key, value in row.items()}
                           for row in csv.DictReader(file)]

    def progress(self, done: float, words: str = "") -> None:
        """A bar on a terminal, for what takes more than two seconds; `done` is from 0 to 1."""
        if sys.stderr.isatty() and time.monotonic() >= self.due:
            self.due = time.monotonic() + 0.1
            self.drawn = True
            bar = "#" * int(BAR * done)
            print(f"\r\x1b[K[{bar:<{BAR}}] {self.name} {words}", end="", file=sys.stderr,
                  flush=True)

    def clear(self) -> None:
        if self.drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self.drawn = False
