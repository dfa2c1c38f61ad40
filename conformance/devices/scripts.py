#!/usr/bin/env python3
# scripts.md: the verdict of each script of conformance/script on our stack and on every device.
"""Runs `lockstep pkt run conformance/script` on our stack and on each device, and prints the table
as Markdown, or with --check compares it with scripts.md, for the devices that are there.

Exit: 0 written or equal, 1 different, 3 no program lockstep.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from dev.test import kernel  # noqa: E402 (its folder is not a package of this one)

TABLE = Path(__file__).with_name("scripts.md")
DEVICES = ["lockstep", "lwip", "lwip_head", "smoltcp", "gvisor", "libslirp", "linux"]
WORDS = {"passed": "pass", "failed": "**fail**", "left_out": "-", "bad": "bad"}
INTRODUCTION = """# Scripts on devices

The scripts of `../script` on our stack and on each device, in virtual time: `pass`, **fail**, or
`-` where the device lacks something that the script needs. A script says what our stack does; where
it fails on another stack, the reasons below say which line, and an RFC may permit both.
`conformance/devices/scripts.py` makes this page; a test compares it.
"""


def verdicts(program, device):
    """script -> (verdict, reason) of a device, or of our stack for ''; None: it cannot run here."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        words = [program, "pkt", "run", "conformance/script", "--json", report, "--failed",
                 "--pcapng", Path(folder, "captures"), "--jobs", "2"]
        done = subprocess.run([*words, *(["--device", device] if device else [])], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        if not report.exists():
            print(f"scripts: {device}: {done.stderr.strip()}", file=sys.stderr)
            return None
        rows = json.loads(report.read_text(encoding="utf-8"))["results"]
    out = {}
    for row in rows:
        what = row.get("reason") or (f"line {row['line']}: {row['what']}" if "what" in row else "")
        out[row["file"].removeprefix("conformance/script/")] = row["verdict"], what
    if all(verdict == "left_out" for verdict, _ in out.values()):
        reason, _ = collections.Counter(what for _, what in out.values()).most_common(1)[0]
        print(f"scripts: {device}: all scripts: {reason}", file=sys.stderr)
        return None
    return out


def page(columns):
    """The Markdown of {device: verdicts}."""
    names = list(columns)
    lines = [INTRODUCTION, "| of " + str(len(columns[names[0]])) + " | "
             + " | ".join(name or "our stack" for name in names) + " |",
             "|---" * (len(names) + 1) + "|"]
    for verdict, word in (("passed", "pass"), ("failed", "fail"), ("left_out", "left out")):
        counts = [sum(one == verdict for one, _ in columns[name].values()) for name in names]
        lines.append(f"| {word} | " + " | ".join(map(str, counts)) + " |")
    lines += ["", "| script | " + " | ".join(name or "our stack" for name in names) + " |",
              "|---" * (len(names) + 1) + "|"]
    for script in columns[names[0]]:
        row = [WORDS[columns[name][script][0]] for name in names]
        if set(row) != {"pass"}:
            lines.append(f"| `{script}` | " + " | ".join(row) + " |")
    lines += ["", "Scripts without a row pass everywhere.", ""]
    for name in names:
        reasons = collections.defaultdict(list)
        for script, (verdict, what) in columns[name].items():
            if verdict != "passed":
                reasons[verdict, what if verdict == "left_out" else what.split(": ", 1)[1]].append(
                    script + ("" if verdict == "left_out" else ":" + what.split(":")[0][5:]))
        if reasons:
            lines += [f"## {name or 'our stack'}", ""]
            for (verdict, what), scripts in sorted(reasons.items()):
                lines.append(f"- {'left out' if verdict == 'left_out' else 'fail'}: {what}: "
                             + ", ".join(f"`{script}`" for script in scripts))
            lines.append("")
    return "\n".join(lines)


def columns_of(text):
    """device -> script -> word, of the second table of a page."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines()
            if line.startswith(("| script |", "| `"))]
    return {name: {row[0].strip("`"): row[1 + at] for row in rows[1:]}
            for at, name in enumerate(rows[0][1:])}


def main():
    """Writes the page, or compares it."""
    parser = argparse.ArgumentParser(prog="conformance/devices/scripts.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with scripts.md")
    check = parser.parse_args().check
    program = os.environ.get("LOCKSTEP_PROGRAM", str(ROOT / "build/release/lockstep"))
    if not os.access(program, os.X_OK):
        print(f"scripts: {program}: there is no program: build it", file=sys.stderr)
        return 3
    columns = {"": verdicts(program, "")}
    for device in DEVICES:
        without_kernel = device == "linux" and not kernel.find()
        column = None if without_kernel else verdicts(program, device)
        if column is None:
            print(f"scripts: {device} is left out", file=sys.stderr)
        else:
            columns[device] = column
    if not check:
        TABLE.write_text(page(columns), encoding="utf-8")
        return 0
    wanted = columns_of(TABLE.read_text(encoding="utf-8"))
    wrong = 0
    for device, column in columns.items():
        for script, (verdict, what) in column.items():
            expected = wanted[device or "our stack"].get(script, "pass")
            if WORDS[verdict] != expected:
                print(f"scripts: {device or 'our stack'}: {script}: {WORDS[verdict]} ({what}),"
                      f" expected {expected}: if that is right, run conformance/devices/scripts.py")
                wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
