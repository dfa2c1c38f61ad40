#!/usr/bin/env python3
# versions.md: what two versions of Linux do with the same scripts and tests.
"""Runs the scripts of conformance/script/linux and a tenth of conformance/scapy on the devices
linux and linux-6.1, and writes versions.md, or with --check compares it.

Example: build/venv/bin/python conformance/devices/linux/versions.py --check

Exit: 0 written or equal; 1 different; 2 bad usage; 3 a device or its kernel is missing.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from dev.test import kernel  # noqa: E402 (its folder is not a package of this one)

PAGE = Path(__file__).with_name("versions.md")
DEVICES = ("linux", "linux-6.1")
SHARE = "3/10"
INTRODUCTION = """# Two versions of Linux

The scripts of `../../script/linux`, which say what Linux 6.12 does, and a tenth of the tests of
`../../scapy`, on the kernels of the devices `linux` and `linux-6.1`, in virtual time.
`conformance/devices/linux/versions.py` makes this page; it needs `tools/setup --with
linux,linux-6.1`. `README.md` explains the differences.
"""


class Missing(Exception):
    """One line for the user, and exit code 3."""


def titles(program):
    """device -> the kernel that it is."""
    done = subprocess.run([program, "devices", "--json"], capture_output=True, text=True,
                          check=False)
    rows = json.loads(done.stdout)["devices"] if done.returncode == 0 else []
    found = {row["name"]: row["stack"] for row in rows}
    for name in DEVICES:
        if found.get(name, "Linux") == "Linux":
            raise Missing(f"device {name} has no kernel: tools/setup --with {name}")
    return {name: found[name] for name in DEVICES}


def scripts(program, device):
    """script -> (verdict, what it says)."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        subprocess.run([program, "pkt", "run", "conformance/script/linux", "--json", report,
                        "--failed", "--pcapng", Path(folder, "captures"), "--device", device],
                       cwd=ROOT, capture_output=True, check=False)
        rows = json.loads(report.read_text(encoding="utf-8"))["results"]
    return {Path(row["file"]).name: (row["verdict"], row.get("reason") or row.get("what", ""))
            for row in rows}


def tests(device):
    """test -> (outcome, what it says)."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "rows.jsonl")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "conformance/scapy", "--target", f"device:{device}",
             "--lockstep-share", SHARE, "--lockstep-profiles", "named", "--lockstep-results", out,
             "-p", "no:cacheprovider", "--ignore=conformance/scapy/test_live.py",
             "--ignore=conformance/scapy/test_targets.py", "-o",
             f"lockstep_artifacts={folder}/left"],
            cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            said = (done.stderr or done.stdout).strip().splitlines() or [""]
            raise Missing(f"pytest --target device:{device} ended with {done.returncode} "
                          f"({said[-1][:100]}): run this by build/venv/bin/python")
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return {row["test"].removeprefix("conformance/scapy/"): (row["outcome"], row["words"])
            for row in rows}


def counts(title, found):
    """A row of the first table."""
    numbers = collections.Counter(verdict for verdict, _ in found.values())
    passed = numbers["passed"]
    left_out = numbers["left_out"] + numbers["skipped"]
    return f"| {title} | {len(found)} | {passed} | {len(found) - passed - left_out} | {left_out} |"


def page(kernels, both_scripts, both_tests):
    """The Markdown."""
    lines = [INTRODUCTION, "| | of | pass | fail | left out |", "|---|---|---|---|---|"]
    for what, both in (("scripts", both_scripts), ("tests", both_tests)):
        lines += [counts(f"{what}, {kernels[name]}", both[name]) for name in DEVICES]
    for what, both in (("Scripts", both_scripts), ("Tests", both_tests)):
        first, second = (both[name] for name in DEVICES)
        other = [name for name in sorted(first) if first[name][0] != second[name][0]]
        lines += ["", f"## {what} with another verdict", "",
                  "| name | " + " | ".join(kernels.values()) + " | what it says |",
                  "|---|---|---|---|"]
        for name in other:
            said = next(each[name][1] for each in (second, first) if each[name][0] != "passed")
            said = " ".join(said.split())[:160].replace("|", "\\|")
            lines.append(f"| `{name}` | {first[name][0]} | {second[name][0]} | {said} |")
        lines += [] if other else ["| none | | | |"]
    return "\n".join(lines) + "\n"


def main():
    """Writes the page, or compares it."""
    parser = argparse.ArgumentParser(prog="conformance/devices/linux/versions.py",
                                     description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with versions.md")
    check = parser.parse_args().check
    program = os.environ.get("LOCKSTEP_PROGRAM", str(ROOT / "build/release/lockstep"))
    kernel.find()
    try:
        if not os.access(program, os.X_OK):
            raise Missing(f"{program}: there is no program: build it")
        kernels = titles(program)
        made = page(kernels, {name: scripts(program, name) for name in DEVICES},
                    {name: tests(name) for name in DEVICES})
    except Missing as missing:
        print(f"versions: {missing}", file=sys.stderr)
        return 3
    if not check:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    if made != PAGE.read_text(encoding="utf-8"):
        print("versions: the results are not those of versions.md: if that is right, run"
              " conformance/devices/linux/versions.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
