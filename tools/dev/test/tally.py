#!/usr/bin/env python3
"""Counts the test cases of a run from the JUnit file of ctest or pytest, and from gtest's own
files: passed, failed and skipped on the first line, then a line for each of the first that
failed."""

import argparse
import json
import pathlib
import sys
import xml.etree.ElementTree


NAMED = 20  # at most so many failed cases are named


def gtest_report(folder, name):
    """What a gtest program wrote, or None if the entry is not a gtest program."""
    try:
        return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def gtest_counts(folder, name):
    """(cases, failures) that a gtest program wrote, or None if the entry is not a gtest program."""
    report = gtest_report(folder, name)
    return report and (report["tests"] - report.get("disabled", 0), report["failures"])


def is_bad(case):
    return case.find("failure") is not None or case.find("error") is not None \
        or case.get("status") == "fail"


def first_line(text):
    return next((line.strip()[:200] for line in (text or "").splitlines() if line.strip()), "")


def failed_in(report):
    """Failed cases of a gtest program, each with the first line of the reason."""
    for suite in report["testsuites"]:
        for case in suite["testsuite"]:
            if case.get("failures"):
                yield f"{suite['name']}.{case['name']}: " \
                      + first_line(case["failures"][0]["failure"])


def failures(junit, gtest_folder):
    """One line for each failed case: its name, and the first line of the reason."""
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        report = gtest_report(gtest_folder, case.get("name")) if gtest_folder else None
        named = list(failed_in(report)) if report else []
        yield from (f"{case.get('name')} {line}" for line in named)
        if is_bad(case) and not named:
            reason = next((each for kind in ("failure", "error")
                           for each in case.iter(kind)), None)
            said = "" if reason is None else first_line(reason.get("message") or reason.text)
            yield "::".join(filter(None, (case.get("classname"), case.get("name")))) + f": {said}"


def tally(junit, gtest_folder):
    """(passed, failed, skipped). A crashed program counts as at least one failure."""
    passed = failed = skipped = 0
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        bad = is_bad(case)
        counts = gtest_counts(gtest_folder, case.get("name")) if gtest_folder else None
        if not bad and (case.find("skipped") is not None or case.get("status") == "notrun"):
            skipped += 1
        elif counts is None:
            passed += not bad
            failed += bad
        else:
            wrong = max(counts[1], 1 if bad else 0)
            passed += max(counts[0] - wrong, 0)
            failed += wrong
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
        named = list(failures(options.junit, options.gtest))
        print(*named[:NAMED], sep="\n", end="\n" if named else "")
        if len(named) > NAMED:
            print(f"and {len(named) - NAMED} more")
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"tally: {options.junit}: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
