"""Runs clang-tidy with the checks of .clang-tidy. Results are kept by content.

The flags of each file are those of the preset release. What a change touches is checked: a changed
source file by itself, a changed header through one file that includes it. With `everything`, also
the other files of the folders WHOLE, except tests; all files would take minutes more.
"""

import concurrent.futures
import dataclasses
import fnmatch
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from dev.cxx.command import without_forced_headers
from dev.tidy import changed
from dev.tidy import kept as storage
from dev.tidy.closure import Closure
from dev.tidy.source import Finding

PROGRAM = "clang-tidy-19"  # other versions have other checks
SETTINGS = ".clang-tidy"
BUILD = "build/tidy/apart"  # release without joined files, configured and never built
FLAGS = "build/tidy/flags"
KEPT = "analysis.jsonl"
WHOLE = ("core", "sim", "hw", "conformance")
RULES = ("function-size", "twins", "clang-tidy")

WARNING = re.compile(r"^(?P<file>/[^\n:]+):(?P<line>\d+):\d+: (?P<kind>warning|error|note): "
                     r"(?P<text>.*?)(?: \[(?P<check>[\w.,-]+)\])?$", re.M)
LINES = re.compile(r"(\d+) lines including whitespace")
INTEGERS = re.compile(
    r"(\d+) adjacent parameters of '(.*)' of similar type \('(?:const )?"
    r"((?:std::)?(?:u?int(?:8|16|32|64)_t|size_t))'\)")


class Unable(Exception):
    """Why clang-tidy cannot run, and what to do."""


@dataclasses.dataclass
class Tally:
    """How many files were checked now, known from an earlier run, or are not compiled here.
    `covered` are the checked files and all that they include, `paths` all files."""
    ran: int = 0
    known: int = 0
    absent: int = 0
    scope: str = ""
    covered: set = dataclasses.field(default_factory=set)
    paths: list = dataclasses.field(default_factory=list)

    def text(self):
        return (f"clang-tidy: {self.scope}: {self.ran} files checked, {self.known} unchanged since "
                f"they were, {self.absent} not compiled here")


def version():
    program = shutil.which(PROGRAM)
    if program is None:
        raise Unable(f"{PROGRAM} is missing: run tools/setup")
    return subprocess.run([program, "--version"], capture_output=True, text=True,
                          check=False).stdout


def commands(root):
    """The flags of each file in the preset release. They are also written to FLAGS, for clang-tidy
    and for editors."""
    database = root / BUILD / "compile_commands.json"
    if (root / "CMakePresets.json").is_file():
        done = subprocess.run(
            ["cmake", "--preset", "release", "-B", BUILD, "-DLOCKSTEP_TESTS=ON",
             "-DLOCKSTEP_JOINED=OFF"], cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unable("the preset release cannot be configured: run cmake --preset release")
    if not database.is_file():
        raise Unable(f"{BUILD} has no compile_commands.json: remove {BUILD}")
    found = {}
    for entry in json.loads(database.read_text(encoding="utf-8")):
        path = pathlib.Path(entry["directory"], entry["file"])
        if path.is_relative_to(root):
            found.setdefault(str(path.relative_to(root)), {
                "directory": entry["directory"], "file": str(path),
                "arguments": without_forced_headers(
                    shlex.split(entry["command"]))})
    flags = root / FLAGS / "compile_commands.json"
    flags.parent.mkdir(parents=True, exist_ok=True)
    temporary = flags.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(list(found.values()), indent=1), encoding="utf-8")
    temporary.replace(flags)
    return {path: " ".join(entry["arguments"]) for path, entry in found.items()}


def through(closure, headers, units):
    """For each header one of the units that include it: its own, or else the smallest. Also the
    headers that none includes."""
    chosen, left = set(), set(headers)
    for header in headers:
        own = header.removesuffix(".hpp") + ".cpp"
        if own in units and header in closure.files(own):
            chosen.add(own)
            left.discard(header)
    if left:
        for unit in sorted(units, key=lambda one: (len(closure.files(one)), one)):
            if left & closure.files(unit):
                chosen.add(unit)
                left -= closure.files(unit)
    return chosen, left


def select(root, sources, known, closure, everything, tally):
    """The files to check."""
    units = [source for source in sources if source.path.endswith((".cpp", ".c"))]
    touched = changed.files(root) or set()
    chosen = {unit.path for unit in units if unit.path in touched}
    if everything:
        tally.scope = f"{', '.join(WHOLE)} without tests, and what differs from main"
        chosen |= {unit.path for unit in units if unit.module in WHOLE and not unit.is_test}
    else:
        tally.scope = "what differs from main"
    headers = [source.path for source in sources if source.is_header and source.path in touched]
    ours = {unit.path for unit in units if unit.path in known}
    including, left = through(closure, headers, ours)
    tally.absent = len(chosen - ours | left)
    return sorted(chosen & ours | including)


def parse(root, output):
    """The findings of one run, each as [check, path, line, text]."""
    found = []
    for match in WARNING.finditer(output):
        path = os.path.relpath(os.path.realpath(match["file"]), root)
        if match["kind"] == "note":
            lines = LINES.match(match["text"])
            if lines and found and found[-1][0] == "readability-function-size":
                found[-1][3] += f": {int(lines[1]) + 1} lines, 70 at most"
        else:
            check = "error" if match["kind"] == "error" else match["check"]
            found.append([check, path, int(match["line"]), match["text"]])
    return found


def run(root, path):
    """Checks one file."""
    done = subprocess.run(
        [PROGRAM, "-p", FLAGS, "--quiet", str(root / path)], cwd=root, capture_output=True,
        text=True, errors="replace", check=False)
    found = parse(root, done.stdout)
    if done.returncode and not found:
        raise Unable(f"{PROGRAM} {path}: {(done.stderr.strip() or 'it failed').splitlines()[-1]}")
    return found


def named(sources, check, path, line, text):
    """The finding of a rule, or None if the rule does not apply there."""
    if check == "readability-function-size":
        name = re.search("function '(.*)' exceeds .*?(: .*)?$", text)
        return Finding("function-size", path, line, f"{name[1]}{name[2] or ' is too long'}",
                       "move computations to other functions")
    if check == "bugprone-easily-swappable-parameters":
        two = INTEGERS.match(text)
        source = sources[path]
        if not two or source.module not in ("core", "sim") or source.is_test:
            return None
        return Finding("twins", path, line,
                       f"{two[1]} {two[3]} stand side by side in the parameters of {two[2]}",
                       "use the strong types of core/units, or a struct with named fields")
    return Finding("clang-tidy", path, line, f"{text} [{check}]", "mend it")


def load(file):
    """The kept results by key."""
    kept = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return kept
    for line in lines:
        try:
            key, found = json.loads(line)
            kept[key] = found
        except ValueError:
            continue  # an interrupted run left half a line
    return kept


def results(root, keys, tally):
    """What clang-tidy finds in each file. A result is kept as soon as it is there."""
    file = storage.file(KEPT)
    kept = load(file)
    waiting = [path for path, key in keys.items() if key not in kept]
    tally.ran, tally.known = len(waiting), len(keys) - len(waiting)
    file.parent.mkdir(parents=True, exist_ok=True)
    jobs = int(os.environ.get("LOCKSTEP_JOBS") or os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool, file.open("a") as store:
        running = {pool.submit(run, root, path): path for path in waiting}
        try:
            for one in concurrent.futures.as_completed(running):
                key = keys[running[one]]
                kept[key] = one.result()
                if all(check != "error" for check, *_ in kept[key]):
                    store.write(json.dumps([key, kept[key]]) + "\n")
                    store.flush()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return {path: kept[key] for path, key in keys.items()}


def decides(rule, pattern, covered, paths):
    """Whether a run that covered these files shows that a rule has no finding in the files of a
    pattern, of all `paths`: other rules than those of clang-tidy see every file. Tests are not
    needed for that."""
    if rule not in RULES or pattern.endswith(".py"):
        return True
    meant = {path for path in fnmatch.filter(paths, pattern) if not path.endswith("_test.cpp")}
    return bool(meant) and meant <= covered


def check(root, sources, everything, tally):
    """The findings, each once, although every file that includes a header repeats them."""
    if not (root / SETTINGS).is_file():
        return
    tally.paths = [source.path for source in sources]
    known, closure = commands(root), Closure(root)
    chosen = select(root, sources, known, closure, everything, tally)
    if not chosen:
        return
    same = (version(), (root / SETTINGS).read_text(encoding="utf-8"))
    keys = {path: closure.digest(path, *same, known[path].replace(str(root), "."))
            for path in chosen}
    tally.covered = set().union(*(closure.files(path) for path in chosen))
    ours = {source.path: source for source in sources}
    findings = {}
    for unit, found in results(root, keys, tally).items():
        for name, path, line, text in found:
            if path not in ours and name == "error":
                path, line = unit, 1
            if path in ours:
                findings[named(ours, name, path, line, text)] = None
    yield from (finding for finding in findings if finding is not None)
