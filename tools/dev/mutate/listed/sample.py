"""Draws the sample: rows that bind, of the RFCs that are finished, that code of core/ cites."""

import hashlib
import pathlib
import re
import tomllib

from dev.tidy.citations import BODY, HEAD, ids_of

RFCS = (9293, 5681, 6298, 6582)
LEVELS = ("MUST", "MUST NOT", "text")
TEST = re.compile(r"TEST(?:_[FP])?\((\w+), (\w+)\)")


def binding_rows(root):
    """Each id that must be shown, with its summary, in the order of its list."""
    rows = {}
    for rfc in RFCS:
        file = pathlib.Path(root) / "conformance" / "requirements" / f"rfc{rfc}.toml"
        for row in tomllib.loads(file.read_text(encoding="utf-8"))["requirements"]:
            if row["level"] in LEVELS:
                rows[row["id"]] = row["summary"]
    return rows


def cited_places(root):
    """Every id that code of core/ cites, with the places (path, line): tests are left out."""
    places = {}
    root = pathlib.Path(root)
    for file in sorted((root / "core").rglob("*")):
        if file.suffix not in (".cpp", ".hpp") or file.stem.endswith(("_test", "_fuzz", "_kit")):
            continue
        opened = False
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            body = BODY.match(line)
            for one in ids_of(body.group(2)) if body and opened else ():
                places.setdefault(one, []).append((str(file.relative_to(root)), number))
            opened = bool(HEAD.match(line) or body)
    return places


def citing_tests(root, one):
    """The tests (suite.name) of core/ that cite the id, above them or within."""
    tests = []
    for file in sorted((pathlib.Path(root) / "core").rglob("*_test.cpp")):
        waiting, current = False, None
        for line in file.read_text(encoding="utf-8").splitlines():
            test, body = TEST.match(line), BODY.match(line)
            if test:
                current = f"{test.group(1)}.{test.group(2)}"
                tests += [current] if waiting else []
                waiting = False
            elif body and one in ids_of(body.group(2)):
                waiting = waiting or line.startswith("//")
                tests += [current] if current and not line.startswith("//") else []
    return tests


def draw(root, seed, count):
    """`count` ids by seed. Each id has its own place in the order, the hash of seed and id, so that
    a citation that comes or goes moves one id of the sample, and not all of them."""
    cited = cited_places(root)
    ids = [one for one in binding_rows(root) if one in cited]
    ids.sort(key=lambda one: hashlib.sha256(f"{seed} {one}".encode()).digest())
    return ids[:count]
