#!/usr/bin/env python3
"""Counts the test cases of a run from the JUnit file of ctest or pytest, and from gtest's own
files."""

import argparse
import json
import pathlib
import sys
import xml.etree.ElementTree


def gtest_counts(folder, name):
    """(cases, failures) that a gtest program wrote, or None if the entry is not a gtest program."""
    file = folder / f"{name}.json"
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return report["tests"] - report.get("disabled", 0), report["failures"]


def tally(junit, gtest_folder):
    """(passed, failed, skipped). A crashed program counts as at least one failure."""
    passed = failed = skipped = 0
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None \
            or case.get("status") == "fail"
        counts = gtest_counts(gtest_folder, case.get("name")) if gtest_folder else None
        if not bad and (case.find("skipped") is not None or case.get("status") == "notrun"):
            skipped += 1
        elif counts is None:
            passed += not bad
            failed += bad
        else:
            failures = max(counts[1], 1 if bad else 0)
            passed += max(counts[0] - failures, 0)
            failed += failures
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     epilog="example: tally.py build/release/ctest.xml "
                                            "--gtest build/release/gtest")
    parser.add_argument("junit", type=pathlib.Path)
    parser.add_argument("--gtest", type=pathlib.Path,
                        help="folder with the JSON files of gtest programs")
    options = parser.parse_args()
    try:
        print(*tally(options.junit, options.gtest))
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"tally: {options.junit}: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
