#!/usr/bin/env python3
# Runs conformance/scapy against each target and makes the table of requirements beside each other.
"""Runs conformance/scapy against stack, tap:lockstep and linux; writes targets.json and targets.md.

    conformance/scapy/targets.py                  run all three, write both files (as root)
    conformance/scapy/targets.py --from FOLDER    no run: TARGET.*.jsonl of an earlier one
    conformance/scapy/targets.py --check          no run: targets.md is what targets.json says,
                                                  and every difference in it is explained

differences.toml explains what a live target does otherwise than the tests ask. Exit code: 0 fine;
1 a difference without an explanation; 2 bad usage or input; 3 something is missing.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOM = Path(__file__).resolve().parent
ROOT = ROOM.parents[1]
TARGETS = {"stack": "Lockstep", "tap:lockstep": "Lockstep on a TAP", "linux": "Linux"}
DATA, TABLE = ROOM / "targets.json", ROOM / "targets.md"


def run_all(jobs, folder):
    """Every target in turn, in `jobs` processes; a test has a namespace of its own."""
    for target in TARGETS:
        running = []
        for share in range(jobs):
            out = folder / f"{target.replace(':', '-')}.{share}.jsonl"
            running.append(subprocess.Popen(
                [sys.executable, "-m", "pytest", ROOM, "--target", target, "--lockstep-share",
                 f"{share}/{jobs}", "--lockstep-results", out, "-p", "no:cacheprovider"],
                cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        codes = {process.wait() for process in running}
        if not codes <= {0, 1}:
            raise OSError(f"pytest --target {target} ended with {max(codes)}: run it by hand")


def read_results(folder):
    """Of each target and test the outcome; a failure at the end of a test counts for the test."""
    found = {target: {} for target in TARGETS}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            name = row["test"].removeprefix("conformance/scapy/")
            before = found[row["target"]].get(name)
            if before is None or row["outcome"] == "failed":
                found[row["target"]][name] = row
    return found


def load_differences():
    """[(target, pattern, reason)] of differences.toml."""
    with open(ROOM / "differences.toml", "rb") as file:
        entries = tomllib.load(file)["difference"]
    return [(entry["target"], re.compile(entry["tests"]), entry["reason"]) for entry in entries]


def reason_of(differences, target, test):
    """Which explanation fits, as its number from 1; 0: none."""
    for number, (of, pattern, _) in enumerate(differences, 1):
        if of == target and pattern.search(test):
            return number
    return 0


def collect(found):
    """What targets.json holds: of each requirement and target how many tests passed and failed."""
    clauses = collections.defaultdict(dict)
    failed = []
    for target, rows in found.items():
        for test, row in sorted(rows.items()):
            if row["outcome"] == "failed":
                failed.append({"target": target, "test": test, "words": row["words"]})
            if row["outcome"] == "skipped":
                continue
            for clause in row["clauses"]:
                cell = clauses[clause].setdefault(target, {"passed": 0, "failed": []})
                if row["outcome"] == "passed":
                    cell["passed"] += 1
                else:
                    cell["failed"].append(test)
    totals = {target: dict(collections.Counter(row["outcome"] for row in rows.values()))
              for target, rows in found.items()}
    order = sorted(clauses, key=lambda name: (int(name.split(":")[0]), name))
    return {"kernel": os.uname().release, "totals": totals, "failed": failed,
            "clauses": {name: clauses[name] for name in order}}


def cell_text(cell, target, differences):
    """'12 of 14 (3)': the number in brackets is that of an explanation below."""
    if cell is None:
        return "-"
    total = cell["passed"] + len(cell["failed"])
    reasons = sorted({reason_of(differences, target, test) for test in cell["failed"]})
    shown = ", ".join(str(number) if number else "?" for number in reasons)
    return f"{cell['passed']} of {total}" + (f" ({shown})" if reasons else "")


def table(data, differences):
    """targets.md."""
    lines = [
        "# What live targets do, requirement by requirement",
        "",
        f"Made by `conformance/scapy/targets.py`; the kernel was Linux {data['kernel']}.",
        "A cell says how many of the tests that cite the requirement the target passes; a number",
        "in brackets is the explanation below. Tests that a target cannot run (waits of real time",
        "above 12 s, settings that it does not have) are left out.",
        "",
        "| target | passed | failed | left out |",
        "|---|---|---|---|",
    ]
    for target, title in TARGETS.items():
        totals = data["totals"].get(target, {})
        lines.append(f"| {title} | {totals.get('passed', 0)} | {totals.get('failed', 0)} |"
                     f" {totals.get('skipped', 0)} |")
    lines += ["", "| requirement | " + " | ".join(TARGETS.values()) + " |", "|---|---|---|---|"]
    for name, cells in data["clauses"].items():
        lines.append(f"| {name} | " + " | ".join(
            cell_text(cells.get(target), target, differences) for target in TARGETS) + " |")
    lines += ["", "## The differences", ""]
    for number, (target, pattern, reason) in enumerate(differences, 1):
        count = sum(1 for row in data["failed"]
                    if reason_of(differences, row["target"], row["test"]) == number)
        if count:
            lines.append(f"{number}. {TARGETS[target]}, {count} tests: {reason}")
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def unexplained(data, differences):
    """Failures that no entry of differences.toml fits."""
    return [row for row in data["failed"]
            if not reason_of(differences, row["target"], row["test"])]


def main():
    """Run, collect, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: conformance/scapy/targets.py --jobs 8")
    parser.add_argument("--jobs", type=int, default=4, help="processes a target (default: 4)")
    parser.add_argument("--from", dest="folder", type=Path, help="results of an earlier run")
    parser.add_argument("--check", action="store_true", help="run nothing, write nothing")
    asked = parser.parse_args()
    try:
        differences = load_differences()
        if asked.check:
            data = json.loads(DATA.read_text(encoding="utf-8"))
            if TABLE.read_text(encoding="utf-8") != table(data, differences):
                print(f"{TABLE}: is not what targets.json says: run targets.py", file=sys.stderr)
                return 1
        else:
            if asked.folder is None and os.geteuid() != 0:
                print("targets.py: tap and linux need network namespaces: run it as root",
                      file=sys.stderr)
                return 3
            with tempfile.TemporaryDirectory() as made:
                folder = asked.folder or Path(made)
                if asked.folder is None:
                    run_all(asked.jobs, folder)
                data = collect(read_results(folder))
            DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
            TABLE.write_text(table(data, differences), encoding="utf-8")
    except (OSError, ValueError, KeyError) as why:
        print(f"targets.py: {type(why).__name__}: {why}", file=sys.stderr)
        return 2
    bare = unexplained(data, differences)
    for row in bare:
        print(f"{row['target']}: {row['test']}: {row['words']}")
    print(f"{len(data['clauses'])} requirements, {len(data['failed'])} tests differ,"
          f" {len(bare)} of them without an explanation")
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
