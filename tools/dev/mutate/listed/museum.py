"""The defects of conformance/museum: each, in core/, must make a test of its case fail."""

import ast
import dataclasses
import fcntl
import hashlib
import json
import pathlib
import re
import subprocess
import time
import tomllib

from dev.mutate.listed import patches, trial

ROOM = "conformance/museum"
FILES = (f"{ROOM}/defects.toml", f"{ROOM}/defects_b.toml")
KEYS = {"case", "file", "find", "replace", "why"}
CANNOT = {"case", "cannot"}
#: What a result depends on, besides the files of its own test.
WATCHED = ("core", "tools/python")
#: Seconds after which the tests of a case hang. A defect may be an endless loop.
HANGS_AFTER_S = 120
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)


@dataclasses.dataclass(frozen=True)
class Case:
    """A case: its id, and its test."""
    id: str
    file: str
    function: str

    @property
    def node(self):
        return f"{ROOM}/{self.file}::{self.function}"


@dataclasses.dataclass(frozen=True)
class Defect:
    """A change that puts the defect of a case into core/, or why there is none."""
    case: str
    origin: str
    change: patches.Mutation | None
    cannot: str = ""


def cases(root):
    """Every case by its id, found in the text of the tests: importing them needs scapy."""
    found = {}
    for path in sorted((pathlib.Path(root) / ROOM).glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            marks = [one for one in getattr(node, "decorator_list", ()) if is_case(one)]
            for mark in marks:
                one = Case(ast.literal_eval(mark.args[0]), path.name, node.name)
                if one.id in found:
                    raise patches.BadInput(f"{one.node} and {found[one.id].node}: both have the "
                                           f"case {one.id}")
                found[one.id] = one
    return found


def is_case(mark):
    return (isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name)
            and mark.func.id == "case" and bool(mark.args))


def load(root):
    """All defects by case. Raises BadInput for a malformed entry, and for a case with two."""
    found = {}
    for name in FILES:
        path = pathlib.Path(root) / name
        if not path.exists():
            continue
        try:
            entries = tomllib.loads(path.read_text(encoding="utf-8")).get("defect", [])
        except tomllib.TOMLDecodeError as error:
            raise patches.BadInput(f"{name}: not TOML: {error}") from None
        for number, entry in enumerate(entries, 1):
            one = read(entry, name, number)
            if one.case in found:
                raise patches.BadInput(f"{name}: {one.case} has two defects: keep one")
            found[one.case] = one
    return found


def read(entry, name, number):
    case = entry.get("case", f"entry {number}")
    if set(entry) not in (KEYS, CANNOT) or not all(isinstance(v, str) for v in entry.values()):
        raise patches.BadInput(f"{name}: {case}: expected the strings {', '.join(sorted(KEYS))}, "
                               "or case and cannot")
    if "cannot" in entry:
        return Defect(case, name, None, entry["cannot"])
    words = {key: entry[key] for key in ("file", "find", "replace", "why")}
    return Defect(case, name, patches.Mutation(id=case, **words))


def check(root):
    """One line for each defect that does not apply, case without one, and defect without a case."""
    known, defects = cases(root), load(root)
    wrong = [f"{known[one].node}: the case {one} has no defect in {FILES[0]}: add one"
             for one in sorted(set(known) - set(defects))]
    wrong += [f"{defects[one].origin}: {one} is no case of {ROOM}"
              for one in sorted(set(defects) - set(known))]
    changes = [one.change for one in defects.values() if one.change]
    return wrong + [line.replace(patches.FILE, defects[change.id].origin)
                    for change in changes for line in patches.check(root, [change])]


class Memory:
    """What noticed each defect, as long as core/ and its test are the same."""

    def __init__(self, place, fresh):
        self.place = place
        self.file = place.home / "museum.json"
        kept = json.loads(self.file.read_text()) if self.file.exists() and not fresh else {}
        self.core = digest(path for folder in WATCHED
                           for path in sorted((place.tree / folder).rglob("*"))
                           if path.is_file() and path.suffix in (".cpp", ".hpp", ".py"))
        self.found = kept.get("found", {}) if kept.get("core") == self.core else {}

    def key(self, case, change):
        """Names the change, and the texts of the case's test and of its helpers."""
        room = self.place.tree / ROOM
        texts = digest([room / case.file, *sorted(room.glob("*_kit.py"))])
        words = f"{case.node} {change} {texts}" if change else f"{case.node} {texts}"
        return f"{case.id} {hashlib.sha256(words.encode()).hexdigest()[:24]}"

    def put(self, key, caught):
        self.found[key] = caught
        scratch = self.file.with_suffix(".new")
        scratch.write_text(json.dumps({"core": self.core, "found": self.found}, indent=1))
        scratch.replace(self.file)


def digest(paths):
    total = hashlib.sha256()
    for path in paths:
        total.update(str(path).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def python(place):
    return place.root / "build" / "venv" / "bin" / "python"


def build(place):
    """Builds the module with the copy of core/; "" or the end of what the compiler prints."""
    done = trial.run(["cmake", "--build", place.build, "-j", place.jobs, "--target",
                      "python_core"], place.root)
    return "" if done.returncode == 0 else trial.tail(done.stdout, 40)


def failure(place, *cases):
    """The first test of the cases that fails with the module as it is built, or None."""
    command = [python(place), "-m", "pytest", *(case.node for case in cases), "-x", "-rf",
               "-p", "no:cacheprovider", "--lockstep-profiles", "named", "--tb=no",
               "-o", f"pythonpath=tools {place.build}/python",
               "-o", f"lockstep_artifacts={place.home}/left"]
    function = cases[0].function
    try:
        done = trial.run(command, place.tree, HANGS_AFTER_S * len(cases))
    except subprocess.TimeoutExpired:
        return f"{function} (it hangs)"
    if done.returncode == 0:
        return None
    named = [name.rpartition("::")[2] for name in FAILED.findall(done.stdout)]
    if done.returncode == 1 and named:
        return named[0]
    if done.returncode < 0 or done.returncode > 5:
        return f"{function} (it crashes)"
    raise trial.Unable(f"{cases[0].node} cannot be run:\n{trial.tail(done.stdout)}")


def build_or_stop(place, words):
    trouble = build(place)
    if trouble:
        raise trial.Unable(f"{words}: the module cannot be built:\n{trouble}")


def try_all(place, chosen, memory):
    """Rows of (case, defect, what noticed it). The unchanged module must pass first."""
    rows = []
    pending = [(case, defect) for case, defect in chosen
               if defect.change and memory.key(case, defect.change) not in memory.found]
    unsure = [case for case, _ in pending if memory.key(case, None) not in memory.found]
    if unsure:
        build_or_stop(place, "the unchanged tree")
        caught = failure(place, *unsure)
        if caught:
            raise trial.Unable(f"the unchanged tree fails: {caught}")
    for case in unsure:
        memory.put(memory.key(case, None), "passes unchanged")
    for case, defect in chosen:
        caught = try_one(place, case, defect, memory)
        rows.append((case, defect, caught))
        words = defect.change.why if defect.change else f"cannot: {defect.cannot}"
        print(f"{case.id:32} {words:70} {caught or 'NOTHING'}", flush=True)
    return rows


def try_one(place, case, defect, memory):
    if not defect.change:
        return "-"
    key = memory.key(case, defect.change)
    if key in memory.found:
        return memory.found[key]
    path = place.tree / defect.change.file
    before = path.read_text(encoding="utf-8")
    path.write_text(patches.mutated(before, defect.change), encoding="utf-8")
    try:
        build_or_stop(place, case.id)
        caught = failure(place, case)
    finally:
        path.write_text(before, encoding="utf-8")
    if caught:
        memory.put(key, caught)
    return caught


def choose(root, only):
    """(case, defect) of the cases to try. Raises BadInput for an unknown id."""
    known, defects = cases(root), load(root)
    for one in only:
        if one not in known or one not in defects:
            raise patches.BadInput(f"{ROOM} has no case {one}, or it has no defect")
    return [(known[one], defects[one]) for one in only or sorted(set(known) & set(defects))]


def run(root, arguments):
    """Tries the defects of all cases, or of those that `only` names; returns the exit code."""
    chosen = choose(root, arguments.only)
    if arguments.list:
        for case, defect in chosen:
            print(f"{case.id:32} {defect.change.why if defect.change else defect.cannot}")
        return 0
    wrong = [] if arguments.only else check(root)
    wrong += patches.check(root, [defect.change for _, defect in chosen if defect.change])
    if wrong:
        raise patches.BadInput("\n".join(wrong))
    place = trial.Place(pathlib.Path(root), arguments.jobs)
    trial.be_modest()
    began = time.monotonic()
    place.home.mkdir(parents=True, exist_ok=True)
    with open(place.home / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits for the copy
        trial.copy_tree(place)
        trial.configure(place, [f"-DPython_EXECUTABLE={python(place)}"])
        rows = try_all(place, chosen, Memory(place, arguments.fresh))
    return report(arguments, rows, time.monotonic() - began)


def report(arguments, rows, took):
    tried = [row for row in rows if row[1].change]
    survivors = [case.id for case, _, caught in tried if not caught]
    print(f"\n{len(tried)} defects, {len(tried) - len(survivors)} noticed, {len(survivors)} "
          f"survived, {len(rows) - len(tried)} cases without one; {took:.0f} s")
    if survivors:
        print(f"survived: {', '.join(survivors)}")
    if arguments.json:
        table = [{"case": case.id, "defect": defect.change.why if defect.change else None,
                  "file": defect.change.file if defect.change else None,
                  "cannot": defect.cannot, "caught_by": caught} for case, defect, caught in rows]
        path = pathlib.Path(arguments.json)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 1 if survivors else 0
