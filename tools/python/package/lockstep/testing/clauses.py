# The verdict on each requirement, from the results of tests: as data, and as a page.
"""`found` below is {target: {test: row}}; a row has `outcome`, `clauses`, `words` and `seen`, as a
line of --lockstep-results, and may have `files` and `command`.
"""
import collections
import re
import tomllib
from pathlib import Path

ROOM = Path(__file__).resolve().parent

#: The verdicts: all tests that cite it pass; one fails; all are skipped; none ran.
MEETS, BREAKS, NOT_JUDGED, LEFT_OUT = "meets", "breaks", "not judged", "left out"


def requirements():
    """id -> {rfc, section, level, summary}."""
    out = {}
    for path in sorted((ROOM / "requirements").glob("rfc*.toml")):
        with open(path, "rb") as file:
            book = tomllib.load(file)
        for row in book["requirements"]:
            out[row["id"]] = {"rfc": book["rfc"], **row}
    return out


def slug(test):
    """The name of the files of a test."""
    return re.sub(r"[^A-Za-z0-9]+", "-", test).strip("-")


def anchor(target, test):
    """The place of a failed test on the page."""
    return f"{target.replace(':', '-')}-{slug(test)}"


def place(name):
    """The sort key of a requirement's id: by RFC."""
    return int(name.split(":")[0]), name


def by_clause(found):
    """id -> {target: {passed, skipped, failed: [test]}}, ordered by RFC."""
    clauses = collections.defaultdict(dict)
    for target, rows in found.items():
        for test, row in sorted(rows.items()):
            for clause in row["clauses"]:
                cell = clauses[clause].setdefault(target, {"passed": 0, "skipped": 0, "failed": []})
                if row["outcome"] in ("passed", "skipped"):
                    cell[row["outcome"]] += 1
                else:
                    cell["failed"].append(test)
    return {name: clauses[name] for name in sorted(clauses, key=place)}


def totals(found):
    """target -> {outcome: number of tests}."""
    return {target: dict(collections.Counter(row["outcome"] for row in rows.values()))
            for target, rows in found.items()}


def verdict(cell):
    """(verdict, count of tests) of a requirement on a target."""
    if cell is None:
        return LEFT_OUT, ""
    judged = cell["passed"] + len(cell["failed"])
    if judged == 0:
        return NOT_JUDGED, ""
    return BREAKS if cell["failed"] else MEETS, f"{cell['passed']} of {judged}"


def rows_of(titles, clauses, tests, found):
    """The rows of the page: a requirement, and a cell for each target of `titles`. `tests` has the
    failed tests, each with `id`, `target`, `test` and `files`; a cell lists the others of `found`.
    """
    known = requirements()
    others = collections.defaultdict(list)
    for target, rows in found.items():
        for test, row in sorted(rows.items()):
            for clause in row["clauses"] if row["outcome"] in ("passed", "skipped") else ():
                words = row["words"] if row["outcome"] == "skipped" else ""
                others[target, clause].append({"test": test, "outcome": row["outcome"],
                                               "words": words})
    failures = {(test["target"], test["test"]): test for test in tests}
    for name, cells in clauses.items():
        row = {**known.get(name, {"summary": "", "level": ""}), "id": name, "cells": []}
        for target, title in titles.items():
            cell = cells.get(target)
            words, count = verdict(cell)
            cell = cell or {"passed": 0, "skipped": 0, "failed": []}
            failed = [{"files": [], "id": None, **failures.get((target, test), {}), "test": test}
                      for test in cell["failed"]]
            captures = [name for test in failed for name in test["files"]
                        if name.endswith(".pcapng")]
            row["cells"].append({"title": title, "verdict": words, "count": count,
                                 "capture": next(iter(captures), None),
                                 "passed": cell["passed"], "skipped": cell["skipped"],
                                 "failed": failed, "others": others[target, name]})
        yield row


def html(heading, titles, data, tests, found):
    """The page, in one file but for the captures. `titles`: target -> title; `data` has `clauses`
    and `totals`, as above; `found`: whose tests a row lists. ModuleNotFoundError without jinja2.
    """
    import jinja2
    rows = list(rows_of(titles, data["clauses"], tests, found))
    sums = [{"title": title, **{key: data["totals"].get(target, {}).get(key, 0)
                                for key in ("passed", "failed", "skipped")},
             **{key.replace(" ", "_"): sum(row["cells"][at]["verdict"] == key for row in rows)
                for key in (MEETS, BREAKS, NOT_JUDGED, LEFT_OUT)}}
            for at, (target, title) in enumerate(titles.items())]
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((ROOM / "clauses.html").read_text(encoding="utf-8"))
    return template.render(heading=heading, titles=titles, rows=rows, sums=sums, tests=tests)
