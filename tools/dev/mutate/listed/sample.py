"""Draws the sample: binding requirements of finished RFCs that code of core/ cites."""

import hashlib
import pathlib
import tomllib

from dev.mutate.cited import read

RFCS = (9293, 5681, 6298, 6582)
LEVELS = ("MUST", "MUST NOT", "text")
NO_CODE = ("_test", "_fuzz", "_kit")


def binding_rows(root):
    """Each id that must be tested, with its summary, in the order of its list."""
    rows = {}
    for rfc in RFCS:
        file = pathlib.Path(root) / "conformance" / "requirements" / f"rfc{rfc}.toml"
        for row in tomllib.loads(file.read_text(encoding="utf-8"))["requirements"]:
            if row["level"] in LEVELS:
                rows[row["id"]] = row["summary"]
    return rows


def cited_places(root):
    """Every id that code of core/ cites, with the places (path, line); tests are left out."""
    places = {}
    for one, found in read(root).places.items():
        for file, line in found:
            if file.startswith("core/") and not pathlib.PurePath(file).stem.endswith(NO_CODE):
                places.setdefault(one, []).append((file, line))
    return places


def draw(root, seed, count):
    """`count` ids by seed. Ids are ordered by the hash of seed and id, so that a citation that is
    added or removed changes one id of the sample and not all."""
    cited = cited_places(root)
    ids = [one for one in binding_rows(root) if one in cited]
    ids.sort(key=lambda one: hashlib.sha256(f"{seed} {one}".encode()).digest())
    return ids[:count]
