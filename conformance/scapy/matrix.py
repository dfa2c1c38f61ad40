# The matrix of devices: a page in which each cell opens the tests, their captures and the clause.
"""Writes index.html, junit.xml, results.json and results.md of a run of targets.py --devices."""
import shutil
from pathlib import Path
from xml.etree import ElementTree

from lockstep.testing import clauses

SUFFIXES = (".pcapng", ".svg")


def write(folder, page, data, found, left):
    """Writes the report into `folder`. `found` has the rows of all tests by target, `left` a
    subfolder for each target with the captures and diagrams of its failed tests."""
    folder.mkdir(parents=True, exist_ok=True)
    tests = failed_tests(page, data, found, left, folder)
    (folder / "index.html").write_text(clauses.html(page.heading, page.targets, data, tests, {}),
                                       encoding="utf-8")
    (folder / "junit.xml").write_bytes(junit(page, found))
    for path in (page.data, page.table):
        shutil.copyfile(path, folder / path.name)


def failed_tests(page, data, found, left, folder):
    """One entry for each difference: what was expected and seen, why, and links to its files."""
    out = []
    for row in data["differing"]:
        target, test = row["target"], row["test"]
        place = Path(target.replace(":", "-"))
        files = []
        for suffix in SUFFIXES:
            name = clauses.slug(test) + suffix
            if (left / place / name).exists():
                (folder / "captures" / place).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(left / place / name, folder / "captures" / place / name)
                files.append(f"captures/{place}/{name}")
        out.append({
            "id": clauses.anchor(target, test), "target": target, "title": page.targets[target],
            "test": test, "words": row["words"], "seen": row["seen"], "files": files,
            "reason": data["reasons"][row["reason"] - 1] if row["reason"] else "",
            "clauses": found[target][test]["clauses"],
            "command": "build/venv/bin/python -m pytest --target "
                       f"{target} 'conformance/scapy/{test}'",
        })
    return out


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
