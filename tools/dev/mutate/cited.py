"""What a tree cites, as `lockstep coverage --json` reads it."""

import collections
import dataclasses
import functools
import json
import pathlib
import subprocess

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "build" / "release" / "lockstep"


class Unreadable(Exception):
    """Why the citations of a tree cannot be read."""


@dataclasses.dataclass
class Cited:
    """`code`: of each file the ids by line. `places`: of each id the (file, line) in code.
    `tests`: of each id the (file, suite.name) of the tests that cite it, in the order of files."""
    code: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(dict))
    places: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    tests: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))


@functools.lru_cache(maxsize=4)
def read(root):
    """The citations of the tree at `root`. Raises Unreadable if the program `lockstep` of the
    preset release is missing or fails."""
    try:
        done = subprocess.run([str(PROGRAM), "coverage", "--root", str(root), "--json"], text=True,
                              capture_output=True, check=False)
    except FileNotFoundError:
        raise Unreadable(f"{PROGRAM} is missing: build the preset release") from None
    if done.returncode not in (0, 1):
        raise Unreadable(f"lockstep coverage: {done.stderr.strip()}")
    cited = Cited()
    for row in json.loads(done.stdout)["requirements"]:
        for place in row["code"]:
            cited.code[place["file"]].setdefault(place["line"], set()).add(row["id"])
            cited.places[row["id"]].append((place["file"], place["line"]))
        for place in row["tests"]:
            if "name" in place:
                cited.tests[row["id"]].append((place["file"], place["name"]))
    return cited


def tests_of_core(root):
    """Of each id the tests (suite.name) of core/ that cite it, without repetition."""
    return {one: list(dict.fromkeys(name for file, name in tests if file.startswith("core/")))
            for one, tests in read(root).tests.items()}
