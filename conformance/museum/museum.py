#!/usr/bin/env python3
# The museum: the decorator `case`, and the program that makes results.md.
"""Runs the cases of this folder on every device; writes results.json and results.md.

    conformance/museum/museum.py                   run all, write both files
    conformance/museum/museum.py --only lwip       run these devices, keep the results of the others
    conformance/museum/museum.py --table           no run: rewrite results.md
    conformance/museum/museum.py --check           no run: check that both files fit the cases, that
                                                   ours is sound, and verdicts.toml

A case of a test file:

    from museum import case

    @case("option-length-zero", "An option of length 0 keeps the parser in its place for ever",
          sources=["CVE-2020-24337 (picoTCP)"], stimulus="...", clause="RFC 9293 3.1, MUST-7",
          sound="...")
    def test_option_length_zero(tcp):

verdicts.toml says in a sentence what a device does in a case that it fails. Exit code: 0 fine; 1 a
finding; 2 bad usage or input; 3 a run was not possible.
"""
import argparse
import collections
import dataclasses
import importlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOM = Path(__file__).resolve().parent
ROOT = ROOM.parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from dev.test import kernel  # noqa: E402 (its folder is not a package of this one)

DATA, PAGE, VERDICTS = ROOM / "results.json", ROOM / "results.md", ROOM / "verdicts.toml"
ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
#: name -> (title, what pytest is told). The first two are ours.
DEVICES = {
    "rfc": ("Lockstep, rfc", ["--target", "stack", "--lockstep-profile", "rfc"]),
    "default": ("Lockstep, default", ["--target", "stack", "--lockstep-profile", "default"]),
    "lwip": ("lwIP 2.1.3", ["--target", "lwip"]),
    "lwip_head": ("lwIP 2.2.1-dev", ["--target", "lwip_head"]),
    "smoltcp": ("smoltcp 0.14", ["--target", "smoltcp"]),
    "gvisor": ("gVisor 20260905", ["--target", "device:gvisor"]),
    "libslirp": ("libslirp 4.7", ["--target", "device:libslirp"]),
    "linux": ("Linux 6.12", ["--target", "device:linux"]),
}
OURS = ("rfc", "default")
#: Characters of what a failed test says; some quote all octets that they read.
WORDS_MAX = 300


class Trouble(Exception):
    """An error in the input, in one line."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One historical defect: its sources, and what its test does and expects."""

    id: str
    title: str
    sources: tuple
    stimulus: str
    clause: str
    sound: str
    #: The test: the name of its file, and of its function.
    file: str
    function: str


def case(id, title, *, sources, stimulus, clause, sound):
    """Marks a test function as a case: it gets the attribute `case`."""
    words = {"title": title, "stimulus": stimulus, "clause": clause, "sound": sound}
    if not ID.fullmatch(id):
        raise ValueError(f"case {id!r}: an id is lower-case words with hyphens")
    for name, value in words.items():
        if not isinstance(value, str) or not value.strip() or value.endswith("."):
            raise ValueError(f"case {id}: {name} is a text without a full stop at its end")
    if not sources or isinstance(sources, str) or not all(isinstance(one, str) for one in sources):
        raise ValueError(f"case {id}: sources is a list of at least one text")

    def mark(function):
        file = Path(function.__code__.co_filename).name
        function.case = Case(id, title, tuple(sources), stimulus, clause, sound, file,
                             function.__name__)
        return function

    return mark


def cases(room=ROOM):
    """Every case by its id, in the order of files and lines. Raises ValueError if one is double."""
    for folder in (room, ROOT / "tools", ROOT / "build/release/python"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    found = {}
    for path in sorted(room.glob("test_*.py")):
        module = importlib.import_module(path.stem)
        marked = [each for each in vars(module).values()
                  if isinstance(getattr(each, "case", None), Case)]
        for function in sorted(marked, key=lambda each: each.__code__.co_firstlineno):
            one = function.case
            if one.file != path.name:
                continue  # imported from another file
            if one.id in found:
                raise ValueError(f"{one.file} and {found[one.id].file}: both have case {one.id}")
            found[one.id] = one
    return found


# --- running ------------------------------------------------------------------------------------


def run(name, folder, jobs):
    """The rows of --lockstep-results of all tests on a device."""
    _, words = DEVICES[name]
    running, rows = [], []
    for share in range(jobs):
        out = folder / f"{name}.{share}.jsonl"
        out.touch()
        running.append((out, subprocess.Popen(
            [sys.executable, "-m", "pytest", ROOM, *words, "--lockstep-profiles", "named",
             "--lockstep-results", out, "--lockstep-share", f"{share}/{jobs}",
             "-p", "no:cacheprovider", "-o", f"lockstep_artifacts={folder / 'left'}"],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
    for out, process in running:
        if process.wait() not in (0, 1, 5):
            raise OSError(f"pytest for {name} ended with {process.returncode}: run it by hand")
        rows += [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    missing = [row["words"] for row in rows if row["words"].startswith("--target ")]
    if missing:
        raise OSError(missing[0])
    return rows


def judged(rows, known):
    """case -> {passed, failed, skipped, tests, words}: numbers of tests, and of the first that
    failed or was skipped what it says."""
    functions = {(one.file, one.function): one.id for one in known.values()}
    outcomes = {}
    for row in rows:
        if row["test"] not in outcomes or row["outcome"] == "failed":
            outcomes[row["test"]] = row
    found = collections.defaultdict(lambda: {"passed": 0, "failed": 0, "skipped": 0})
    for test, row in sorted(outcomes.items()):
        path, _, function = test.partition("::")
        id = functions.get((Path(path).name, function.partition("[")[0]))
        if id is None:
            continue
        cell = found[id]
        cell[row["outcome"]] += 1
        if row["outcome"] == "failed" and cell["failed"] == 1:
            cell["test"], cell["words"] = function, row["words"][:WORDS_MAX]
        elif row["outcome"] == "skipped" and "words" not in cell:
            cell["words"] = re.sub(r"^target [a-z0-9_:.-]+:? (unsupported: )?", "", row["words"])
    return {id: found[id] for id in known if id in found}


def run_all(names, jobs, known):
    """Runs these devices; returns the results of all, those of earlier runs included."""
    kept = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    for name in names:
        if name == "linux" and not kernel.find():
            print("linux: there is no kernel (tools/setup --with linux): its results stay",
                  file=sys.stderr)
            continue
        print(f"{name}: all cases, in {jobs} processes", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            kept[name] = judged(run(name, Path(folder), jobs), known)
        kept = {name: kept[name] for name in DEVICES if name in kept}
        DATA.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return kept


# --- the page -----------------------------------------------------------------------------------


def verdict(cell):
    """One word for a case on a device."""
    if cell is None or not cell["passed"] + cell["failed"]:
        return "not judged"
    return "defect" if cell["failed"] else "sound"


def sentences():
    """(device, case) -> what the device does. Raises Trouble for a malformed file."""
    if not VERDICTS.exists():
        return {}
    try:
        entries = tomllib.loads(VERDICTS.read_text(encoding="utf-8")).get("verdict", [])
    except tomllib.TOMLDecodeError as why:
        raise Trouble(f"{VERDICTS.name}: {why}") from None
    found = {}
    for entry in entries:
        if set(entry) != {"devices", "case", "words"}:
            raise Trouble(f"{VERDICTS.name}: {entry.get('case')}: expected devices, case and words")
        for device in entry["devices"].split():
            found[device, entry["case"]] = " ".join(entry["words"].split())
    return found


def page(known, results):
    """The text of results.md."""
    names = list(results)
    said = sentences()
    lines = ["# The museum: verdicts", "",
             f"{len(known)} historical defects, each as a test. Made by"
             " `conformance/museum/museum.py`, in virtual",
             "time; `README.md` explains it.", "",
             "`sound`: every test of the case passed. `defect`: some failed; what the device did is"
             " below the table.",
             "`not judged`: the device cannot be put into the state, for the reason that is below,"
             " too.", "",
             "| device | sound | defect | not judged |", "|---|---|---|---|"]
    for name in names:
        count = collections.Counter(verdict(results[name].get(id)) for id in known)
        lines.append(f"| {DEVICES[name][0]} | {count['sound']} | {count['defect']} |"
                     f" {count['not judged']} |")
    lines += ["", "| case | " + " | ".join(DEVICES[name][0] for name in names) + " |",
              "|---|" + "---|" * len(names)]
    for id in known:
        cells = [verdict(results[name].get(id)) for name in names]
        lines.append(f"| [{id}](#{id}) | " + " | ".join(cells) + " |")
    lines += ["", "## What they did", ""]
    done = collections.defaultdict(list)
    for id in known:
        for name in names:
            cell = results[name].get(id)
            if verdict(cell) == "defect":
                words = said.get((name, id), "`" + cell["words"].replace("`", "'")[:140] + "`")
                count = f"{cell['failed']} of {cell['failed'] + cell['passed']} tests"
                done[id, count, words].append(DEVICES[name][0])
    lines += [f"- {id}: **{', '.join(devices)}** ({count}): {words}"
              for (id, count, words), devices in done.items()]
    lines += ["", "## Not judged", ""]
    reasons = collections.defaultdict(dict)
    for name in names:
        for id in known:
            cell = results[name].get(id)
            if verdict(cell) == "not judged":
                words = (cell or {}).get("words", "it was not run")
                reasons[words].setdefault(name, []).append(id)
    for words, found in sorted(reasons.items()):
        titles = collections.defaultdict(list)
        for name, ids in found.items():
            titles[", ".join(ids)].append(DEVICES[name][0])
        lines += [f"- {words}: {', '.join(devices)}: {ids}" for ids, devices in titles.items()]
    lines += ["", "## The cases", ""]
    for one in known.values():
        lines += [f"### {one.id}", "", f"{one.title}.", "",
                  f"- Sources: {'; '.join(one.sources)}", f"- Stimulus: {one.stimulus}",
                  f"- Clause: {one.clause}", f"- A sound stack: {one.sound}",
                  f"- Test: `{one.file}::{one.function}`", ""]
    return "\n".join(lines).rstrip() + "\n"


def findings(known, results):
    """What is wrong with the committed results, one line each."""
    wrong = []
    if PAGE.read_text(encoding="utf-8") != page(known, results):
        wrong.append("results.md is not what results.json gives: museum.py --table writes it")
    for name, found in results.items():
        wrong += [f"{name}: {id} has no result: run museum.py --only {name}"
                  for id in sorted(set(known) - set(found))]
        wrong += [f"{name}: {id} is no case any more" for id in sorted(set(found) - set(known))]
    wrong += [f"{name}: {id}: ours has the defect" for name in OURS for id in known
              if verdict(results.get(name, {}).get(id)) == "defect"]
    for device, id in sentences():
        if verdict(results.get(device, {}).get(id)) != "defect":
            wrong.append(f"verdicts.toml: {device} does not fail {id}")
    return wrong


def main():
    """Does what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="DEVICE", nargs="+", choices=list(DEVICES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    words = parser.parse_args()
    try:
        known = cases()
        if words.table or words.check:
            results = json.loads(DATA.read_text(encoding="utf-8"))
        else:
            results = run_all(words.only or list(DEVICES), words.jobs, known)
        if not words.check:
            PAGE.write_text(page(known, results), encoding="utf-8")
        wrong = findings(known, results)
    except (Trouble, ValueError) as why:
        print(f"museum.py: {why}", file=sys.stderr)
        return 2
    except OSError as why:
        print(f"museum.py: {why}", file=sys.stderr)
        return 3
    print("\n".join(wrong) or f"{len(known)} cases, {len(results)} devices")
    return 1 if wrong else 0


if __name__ == "__main__":
    # The test files import `case` from the module of this name.
    sys.modules["museum"] = sys.modules["__main__"]
    sys.exit(main())
