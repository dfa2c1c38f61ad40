# The matrix of devices: a page in which each cell opens the tests, their captures and the clause.
"""Writes index.html, junit.xml, results.json and results.md of a run of targets.py --devices."""
import re
import shutil
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import jinja2

ROOM = Path(__file__).resolve().parent
REQUIREMENTS = ROOM.parent / "requirements"
SUFFIXES = (".pcapng", ".svg")


def write(folder, page, data, found, left):
    """Writes the report into `folder`. `found` has the rows of all tests by target, `left` a
    subfolder for each target with the captures and diagrams of its failed tests."""
    folder.mkdir(parents=True, exist_ok=True)
    tests = failed_tests(page, data, found, left, folder)
    (folder / "index.html").write_text(html(page, data, tests), encoding="utf-8")
    (folder / "junit.xml").write_bytes(junit(page, found))
    for path in (page.data, page.table):
        shutil.copyfile(path, folder / path.name)


def slug(test):
    """The name that the plugin gives to the capture of a test."""
    return re.sub(r"[^A-Za-z0-9]+", "-", test).strip("-")


def failed_tests(page, data, found, left, folder):
    """One entry for each difference: what was expected and seen, why, and links to its files."""
    out = []
    for row in data["differing"]:
        target, test = row["target"], row["test"]
        place = Path(target.replace(":", "-"))
        files = []
        for suffix in SUFFIXES:
            name = slug(test) + suffix
            if (left / place / name).exists():
                (folder / "captures" / place).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(left / place / name, folder / "captures" / place / name)
                files.append(f"captures/{place}/{name}")
        out.append({
            "id": f"{place}-{slug(test)}", "target": target, "title": page.targets[target],
            "test": test, "words": row["words"], "seen": row["seen"], "files": files,
            "reason": data["reasons"][row["reason"] - 1] if row["reason"] else "",
            "clauses": found[target][test]["clauses"],
            "command": "build/venv/bin/python -m pytest --target "
                       f"{target} 'conformance/scapy/{test}'",
        })
    return out


def requirements():
    """id -> {rfc, section, level, summary} of conformance/requirements."""
    out = {}
    for path in sorted(REQUIREMENTS.glob("rfc*.toml")):
        with open(path, "rb") as file:
            book = tomllib.load(file)
        for row in book["requirements"]:
            out[row["id"]] = {"rfc": book["rfc"], **row}
    return out


#: The verdicts of a cell, with the style of each.
MEETS, BREAKS, NOT_ASKED, LEFT_OUT = "meets", "breaks", "cannot be asked", "left out"


def verdict(cell):
    """(verdict, count of tests) of a requirement on a device."""
    if cell is None:
        return LEFT_OUT, ""
    judged = cell["passed"] + len(cell["failed"])
    if judged == 0:
        return NOT_ASKED, ""
    return BREAKS if cell["failed"] else MEETS, f"{cell['passed']} of {judged}"


def rows_of(page, data, tests):
    """The rows of the page: a requirement, and a cell for each target."""
    known = requirements()
    anchors = {(test["target"], test["test"]): test["id"] for test in tests}
    for name, cells in data["clauses"].items():
        row = {**known.get(name, {"summary": "", "level": ""}), "id": name, "cells": []}
        for target, title in page.targets.items():
            cell = cells.get(target)
            words, count = verdict(cell)
            failed = [{"test": test, "id": anchors.get((target, test))}
                      for test in (cell or {}).get("failed", [])]
            row["cells"].append({"title": title, "verdict": words, "count": count,
                                 "skipped": (cell or {}).get("skipped", 0), "failed": failed})
        yield row


def html(page, data, tests):
    """The page, in one file but for the captures."""
    rows = list(rows_of(page, data, tests))
    sums = [{"title": title, **{key: data["totals"].get(target, {}).get(key, 0)
                                for key in ("passed", "failed", "skipped")},
             **{key.replace(" ", "_"): sum(row["cells"][at]["verdict"] == key for row in rows)
                for key in (MEETS, BREAKS, NOT_ASKED, LEFT_OUT)}}
            for at, (target, title) in enumerate(page.targets.items())]
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((ROOM / "matrix.html").read_text(encoding="utf-8"))
    return template.render(page=page, rows=rows, sums=sums, tests=tests)


def junit(page, found):
    """A test suite for each target."""
    root = ElementTree.Element("testsuites")
    for target in page.targets:
        rows = found[target]
        suite = ElementTree.SubElement(root, "testsuite", name=target, tests=str(len(rows)))
        for kind, outcome in (("failures", "failed"), ("skipped", "skipped")):
            suite.set(kind, str(sum(row["outcome"] == outcome for row in rows.values())))
        for test, row in sorted(rows.items()):
            file, _, name = test.partition("::")
            case = ElementTree.SubElement(suite, "testcase", name=name,
                                          classname=f"{target}.{file.removesuffix('.py')}")
            if row["outcome"] == "skipped":
                ElementTree.SubElement(case, "skipped", message=row["words"])
            elif row["outcome"] != "passed":
                failure = ElementTree.SubElement(case, "failure", message=row["words"])
                failure.text = "\n".join(row.get("seen", []))
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
