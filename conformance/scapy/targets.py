#!/usr/bin/env python3
# Runs conformance/scapy against each target and writes the table of requirements for all targets.
"""Runs conformance/scapy against stack, tap:lockstep and linux; writes targets.json and targets.md.

    conformance/scapy/targets.py                  run all three, write both files (as root)
    conformance/scapy/targets.py --devices        run each device in virtual time instead, and write
                                                  results.json and results.md of conformance/devices
    conformance/scapy/targets.py --devices --only device:lwip    run one, keep the other columns
    conformance/scapy/targets.py --from FOLDER    no run: use the results of an earlier --keep
    conformance/scapy/targets.py --table          no run: rewrite both with the current reasons
    conformance/scapy/targets.py --check          no run: check that the table fits the results,
                                                  that each difference has a reason and each reason
                                                  a difference, and that each requirement exists

A failed live test is run three times more, a few tests at a time. If those three agree, they
decide; otherwise the test is unsteady. differences.toml explains where a target differs from the
tests. Exit code: 0 fine; 1 a difference without a reason, or a reason without a difference;
2 bad usage or input; 3 something is missing.
"""
import argparse
import collections
import dataclasses
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
sys.path.append(str(ROOT / "build/release/python"))

import matrix  # noqa: E402
from lockstep.testing import clauses  # noqa: E402

#: How often a failed live test is repeated, and the maximum number of processes for that.
AGAIN, AGAIN_JOBS = 3, 4
#: Lines of the packet log that targets.json keeps of each difference.
SEEN_MAX = 8


class Trouble(Exception):
    """An error in the input, in one line."""


@dataclasses.dataclass(frozen=True)
class Page:
    """A table of requirements: its targets with their titles, its files, and what makes it."""

    targets: dict
    data: Path
    table: Path
    differences: Path
    heading: str
    job: str
    #: Whether targets other than ours run in real time, so that failures are repeated.
    live: bool
    #: Differences of one target in a file of their own: target -> file.
    own: dict = dataclasses.field(default_factory=dict)


LIVE = Page({"stack": "Lockstep", "tap:lockstep": "Lockstep on a TAP", "linux": "Linux"},
            ROOM / "targets.json", ROOM / "targets.md", ROOM / "differences.toml",
            "Results of live targets, by requirement", "targets", True)
DEVICE_ROOM = ROOT / "conformance/devices"
DEVICES = Page({"stack": "Lockstep", "device:lockstep": "Lockstep as a device",
                "device:lwip": "lwIP 2.1.3", "device:lwip_head": "lwIP 2.2.1-dev",
                "device:smoltcp": "smoltcp 0.14", "device:gvisor": "gVisor 2026-09",
                "device:libslirp": "libslirp 4.7", "device:linux": "Linux 6.12"},
               DEVICE_ROOM / "results.json", DEVICE_ROOM / "results.md",
               DEVICE_ROOM / "differences.toml", "Results of devices, by requirement", "devices",
               False, {f"device:{name}": DEVICE_ROOM / name / "differences.toml"
                       for name in ("gvisor", "libslirp", "linux")})


# --- running ------------------------------------------------------------------------------------


def take_priority(priority):
    """Real-time priority for this process and its children: the machine may be loaded."""
    if priority:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))


def run_wave(target, name, jobs, folder, tests):
    """Runs these tests in `jobs` processes; each writes its results to NAME.SHARE.jsonl."""
    running = []
    for share in range(jobs):
        out = folder / f"{target.replace(':', '-')}.{name}.{share}.jsonl"
        out.unlink(missing_ok=True)
        running.append(subprocess.Popen(
            [sys.executable, "-m", "pytest", *tests, "--target", target, "--lockstep-share",
             f"{share}/{jobs}", "--lockstep-results", out, "-p", "no:cacheprovider",
             "--lockstep-profiles", "named",
             *(f"--ignore={ROOM / name}" for name in ("test_live.py", "test_targets.py")),
             "-o", f"lockstep_artifacts={folder / 'left' / name / target.replace(':', '-')}"],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    codes = {process.wait() for process in running}
    if not codes <= {0, 1, 5}:
        raise OSError(f"pytest --target {target} ended with {max(codes)}: run it by hand")


def run_all(page, jobs, folder):
    """Runs every target in turn; repeats the failed tests of a live one."""
    for target in page.targets:
        print(f"{target}: every test, in {jobs} processes", file=sys.stderr, flush=True)
        run_wave(target, "first", jobs, folder, [str(ROOM)])
        if target == "stack" or not page.live:
            continue
        first = outcomes(folder, target, "first")
        failed = [row["node"] for row in first.values() if row["outcome"] == "failed"]
        for number in range(1, AGAIN + 1) if failed else ():
            print(f"{target}: {len(failed)} tests again, {number} of {AGAIN}", file=sys.stderr,
                  flush=True)
            run_wave(target, f"again{number}", min(jobs, AGAIN_JOBS), folder, failed)


def outcomes(folder, target, wave):
    """test -> row of a run; a failure in teardown counts for its test."""
    found = {}
    for path in sorted(folder.glob(f"{target.replace(':', '-')}.{wave}.*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            row["node"] = row["test"]
            name = row["test"].removeprefix("conformance/scapy/")
            if name not in found or row["outcome"] == "failed":
                found[name] = row
    return found


def read_results(page, folder):
    """({target: {test: row}}, {target: number of repeated tests}); `outcome` may be unsteady."""
    found, again = {}, {}
    for target in page.targets:
        found[target] = outcomes(folder, target, "first")
        again[target] = 0
        if not page.live:
            continue
        later = [outcomes(folder, target, f"again{number}") for number in range(1, AGAIN + 1)]
        ran = [test for test in found[target] if all(test in wave for wave in later)]
        for test in ran:
            rows = [wave[test] for wave in later]
            said = {row["outcome"] for row in rows}
            failed = [row for row in rows if row["outcome"] == "failed"]
            found[target][test] = (failed or rows)[-1]
            if len(said) > 1:
                found[target][test]["outcome"] = "unsteady"
        again[target] = len(ran)
    return found, again


def collect(found, again, jobs, priority):
    """The results: passed and failed tests for each requirement and target."""
    differing = []
    left_out = collections.Counter()
    for target, rows in found.items():
        for test, row in sorted(rows.items()):
            if row["outcome"] in ("failed", "unsteady"):
                differing.append({"target": target, "test": test, "outcome": row["outcome"],
                                  "words": row["words"], "seen": row.get("seen", [])[-SEEN_MAX:]})
            if row["outcome"] == "skipped":
                left_out[target, without_numbers(row["words"])] += 1
    return {"kernel": os.uname().release.split("-")[0], "jobs": jobs, "priority": priority,
            "again": again, "totals": clauses.totals(found), "unequal": unequal(found),
            "left_out": [{"target": target, "words": words, "tests": count}
                         for (target, words), count in sorted(left_out.items())],
            "differing": differing, "clauses": clauses.by_clause(found)}


def unequal(found):
    """The tests in which our stack sent other packets as a device, or at other times."""
    direct, behind = found.get("stack", {}), found.get("device:lockstep", {})
    return sorted(test for test, row in behind.items()
                  if test not in direct or row.get("wire") != direct[test].get("wire"))


def without_numbers(words):
    """The reason for a skip, without its target and its number of seconds."""
    words = re.sub(r"^target [a-z0-9_:.-]+:? (unsupported: )?", "", words)
    return re.sub(r"a wait of \d+ s", "a wait of more than 12 s", words)


def merged(page, old, new, targets):
    """Committed results in which those of `targets` are replaced."""
    order = list(page.targets)

    def rows_of(name, key):
        kept = [row for row in old[name] if row["target"] not in targets]
        return sorted(kept + new[name], key=key)

    clause_names = sorted(old["clauses"].keys() | new["clauses"].keys(), key=clauses.place)
    cells = {}
    for name in clause_names:
        both = {target: cell for target, cell in old["clauses"].get(name, {}).items()
                if target not in targets} | new["clauses"].get(name, {})
        cells[name] = {target: both[target] for target in order if target in both}
    totals = old["totals"] | new["totals"]
    return old | {"totals": {target: totals[target] for target in order if target in totals},
                  "left_out": rows_of("left_out", lambda row: (row["target"], row["words"])),
                  "differing": rows_of("differing", lambda row: order.index(row["target"])),
                  "clauses": {name: found for name, found in cells.items() if found}}


# --- output -------------------------------------------------------------------------------------


def load_differences(page):
    """[(target, pattern, reason)] of differences.toml, and of the files of single targets."""
    out = read_differences(page, page.differences, None)
    for target, path in page.own.items():
        out += read_differences(page, path, target)
    return out


def read_differences(page, path, own):
    """[(target, pattern, reason)] of one file; `own`: the target of all its entries."""
    name = path.name if own is None else f"{path.parent.name}/{path.name}"
    try:
        with open(path, "rb") as file:
            entries = tomllib.load(file)["difference"]
    except tomllib.TOMLDecodeError as why:
        raise Trouble(f"{name}: {why}") from None
    if own is not None:
        entries = [{"target": own, **entry} for entry in entries]
    out = []
    for number, entry in enumerate(entries, 1):
        named = str(entry.get("target", "")).split()
        whole = set(entry) == {"target", "tests", "reason"} and named
        if not whole or not set(named) <= set(page.targets):
            raise Trouble(f"{name}: difference {number}: expected target (one or more of"
                          f" {', '.join(page.targets)}), tests and reason")
        try:
            out.append((entry["target"], re.compile(entry["tests"]), entry["reason"]))
        except re.error as why:
            raise Trouble(f"{name}: difference {number}: tests: {why}") from None
    return out


def reason_of(differences, target, test):
    """The number, from 1, of the matching explanation; 0: none."""
    for number, (of, pattern, _) in enumerate(differences, 1):
        if target in of.split() and pattern.search(test):
            return number
    return 0


def cell_text(cell, target, differences):
    """'12 of 14 (3)': the number in brackets refers to an explanation below."""
    if cell is None:
        return "-"
    total = cell["passed"] + len(cell["failed"])
    if total == 0:
        return "-"
    reasons = sorted({reason_of(differences, target, test) for test in cell["failed"]})
    shown = ", ".join(str(number) if number else "?" for number in reasons)
    return f"{cell['passed']} of {total}" + (f" ({shown})" if reasons else "")


def made(page, data):
    """How the results came about."""
    if not page.live:
        return [
            f"Made by `tools/evidence {page.job}`, in virtual time. A cell gives how many of the"
            " tests that cite the",
            "requirement the device passes; a number in brackets refers to an explanation below.",
        ]
    ran = f"in {data['jobs']} processes"
    if data["priority"]:
        ran += f" at real-time priority {data['priority']}"
    again = " and ".join(f"{data['again'][target]} of {page.targets[target]}"
                         for target in page.targets if target != "stack")
    return [
        f"Made by `tools/evidence {page.job} --jobs {data['jobs']}`, {ran}; the kernel was Linux"
        f" {data['kernel']}.",
        "A cell gives how many of the tests that cite the requirement the target passes; a number",
        "in brackets refers to an explanation below. Failed tests ran three times more"
        f" ({again});",
        "if the three agree they decide; otherwise the test is unsteady and counts as not passed.",
    ]


def head(page, data):
    """The first lines of the table: what was run, and how."""
    lines = [
        f"# {page.heading}",
        "",
        *made(page, data),
        "",
        "| target | passed | failed | unsteady | skipped |",
        "|---|---|---|---|---|",
    ]
    for target, title in page.targets.items():
        totals = data["totals"].get(target, {})
        counts = (totals.get(kind, 0) for kind in ("passed", "failed", "unsteady", "skipped"))
        lines.append(f"| {title} | " + " | ".join(map(str, counts)) + " |")
    lines += ["", "| skipped because of | " + " | ".join(page.targets.values()) + " |",
              "|---|" + "---|" * len(page.targets)]
    counts = {(row["words"], row["target"]): row["tests"] for row in data["left_out"]}
    for words in sorted({words for words, _ in counts}):
        lines.append(f"| {words} | " + " | ".join(
            str(counts.get((words, target), 0)) for target in page.targets) + " |")
    return lines


def table(page, data, differences):
    """The contents of the table."""
    lines = head(page, data)
    lines += ["", "| requirement | " + " | ".join(page.targets.values()) + " |",
              "|---|" + "---|" * len(page.targets)]
    for name, cells in data["clauses"].items():
        lines.append(f"| {name} | " + " | ".join(
            cell_text(cells.get(target), target, differences) for target in page.targets) + " |")
    lines += ["", "## Differences", ""]
    for number, (target, _, reason) in enumerate(differences, 1):
        rows = [row for row in data["differing"]
                if reason_of(differences, row["target"], row["test"]) == number]
        if rows:
            tests = "1 test" if len(rows) == 1 else f"{len(rows)} tests"
            titles = ", ".join(page.targets[each] for each in target.split())
            lines += [f"### {number}. {titles}, {tests}", "", reason.strip(), "",
                      f"`{rows[0]['test']}`: {rows[0]['words']}", ""]
            lines += ["```text", *rows[0]["seen"], "```", ""]
    unsteady = [row for row in data["differing"] if row["outcome"] == "unsteady"]
    if unsteady:
        lines += ["## Unsteady", ""]
        lines += [f"- {page.targets[row['target']]}: `{row['test']}`: {row['words']}"
                  for row in unsteady]
    return "\n".join(lines).rstrip() + "\n"


# --- checks -------------------------------------------------------------------------------------


def complaints(page, data, differences):
    """The inconsistencies, one line each."""
    out = []
    name = page.differences.name
    for row in data["differing"]:
        if not reason_of(differences, row["target"], row["test"]):
            out.append(f"{row['target']}: {row['test']}: {row['words']}: {row['outcome']}, but"
                       f" {name} has no reason for it")
    used = {reason_of(differences, row["target"], row["test"]) for row in data["differing"]}
    for number, (target, pattern, _) in enumerate(differences, 1):
        if number not in used:
            out.append(f"{name}: difference {number}: {target} shows no difference"
                       f" in tests '{pattern.pattern}' beyond the earlier reasons: remove it")
    out += [f"device:lockstep: {test}: it is not the same as without the interface"
            for test in data.get("unequal", [])]
    known = clauses.requirements()
    out += [f"{page.data.name}: {clause} is not a requirement in conformance/requirements: run"
            " targets.py" for clause in data["clauses"] if clause not in known]
    return out


def main():
    """Runs the tests, collects the results, writes the files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: conformance/scapy/targets.py --jobs 8")
    parser.add_argument("--devices", action="store_true",
                        help="the devices of conformance/devices in place of live targets")
    parser.add_argument("--jobs", type=int, default=None,
                        help="processes per target (default: 8; with --devices one per processor)")
    parser.add_argument("--priority", type=int, default=10,
                        help="real-time priority of the tests; 0: none (default: 10)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the results here")
    parser.add_argument("--only", nargs="+", metavar="TARGET", default=[],
                        help="with --devices: run these, and keep the results of the others")
    parser.add_argument("--from", dest="folder", type=Path, help="results of an earlier run")
    parser.add_argument("--table", action="store_true", help="run nothing, write both files")
    parser.add_argument("--report", type=Path, metavar="FOLDER",
                        default=ROOT / "build/report/devices",
                        help="with --devices: also write index.html, junit.xml, results.json, "
                        "results.md and captures there (default: build/report/devices)")
    parser.add_argument("--check", action="store_true", help="run nothing, write nothing")
    asked = parser.parse_args()
    page = DEVICES if asked.devices else LIVE
    if asked.jobs is None:
        asked.jobs = 8 if page.live else os.cpu_count()
    if not set(asked.only) <= (set(DEVICES.targets) if asked.devices else set()):
        parser.error(f"--only takes, with --devices, some of {', '.join(DEVICES.targets)}")
    if asked.jobs < 1 or not 0 <= asked.priority <= 99:
        parser.error("--jobs takes 1 or more, --priority 0 to 99")
    try:
        differences = load_differences(page)
        data = checked(page, differences) if asked.check else measured(page, asked, differences)
        if data is None:
            return 1
    except (Trouble, OSError, ValueError, KeyError) as why:
        print(f"targets.py: {type(why).__name__}: {why}", file=sys.stderr)
        return 3 if isinstance(why, PermissionError) else 2
    wrong = complaints(page, data, differences)
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"{len(data['clauses'])} requirements, {len(data['differing'])} tests differ,"
          f" {len(wrong)} problems")
    return 1 if wrong else 0


def checked(page, differences):
    """The committed data; None and the reason if it does not match the current table."""
    data = json.loads(page.data.read_text(encoding="utf-8"))
    reasons = [reason.strip() for _, _, reason in differences]
    shown = page.table.read_text(encoding="utf-8")
    if shown == table(page, data, differences) and data["reasons"] == reasons:
        return data
    print(f"{page.table.name}: does not match {page.data.name} and {page.differences.name}: rewrite"
          f" it with tools/evidence {page.job} --table")
    return None


def measured(page, asked, differences):
    """Runs the tests, unless --from is given; writes both files."""
    if asked.table:
        data = json.loads(page.data.read_text(encoding="utf-8"))
        write(page, data, differences)
        return data
    if asked.folder is None and page.live and os.geteuid() != 0:
        raise PermissionError("tap and linux need network namespaces: run as root")
    if asked.only:
        ran = {target: page.targets[target] for target in page.targets if target in asked.only}
        ran_page = dataclasses.replace(page, targets=ran)
    else:
        ran_page = page
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or asked.keep or Path(temporary)
        folder = folder.resolve()  # pytest leaves captures in it
        if asked.folder is None:
            folder.mkdir(parents=True, exist_ok=True)
            take_priority(asked.priority if page.live else 0)
            run_all(ran_page, asked.jobs, folder)
        elif not list(folder.glob("*.jsonl")):
            raise Trouble(f"--from {folder}: there are no results: expected a folder of --keep")
        found, again = read_results(ran_page, folder)
        data = collect(found, again, asked.jobs, asked.priority)
        if asked.only:
            old = json.loads(page.data.read_text(encoding="utf-8"))
            data = merged(page, old, data, asked.only)
        write(page, data, differences)
        if not page.live and not asked.only:
            matrix.write(asked.report, page, data, found, folder / "left/first")
            print(f"{asked.report / 'index.html'}: written")
    return data


def write(page, data, differences):
    """Writes both files; the data include the reasons, which `lockstep coverage` prints."""
    data["reasons"] = [reason.strip() for _, _, reason in differences]
    for row in data["differing"]:
        row["reason"] = reason_of(differences, row["target"], row["test"])
    page.data.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    page.table.write_text(table(page, data, differences), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
