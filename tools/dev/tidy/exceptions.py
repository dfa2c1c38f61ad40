"""The exception list, exceptions.toml: each entry has a reason and must still be needed."""

import fnmatch
import tomllib

from dev.tidy.source import Finding

LIST = "tools/dev/tidy/exceptions.toml"
KEYS = {"rule", "path", "contains", "reason"}


class BadList(Exception):
    """The exception list cannot be read; the message names the place and the fix."""


def load(root):
    """The entries, each with the line where it begins."""
    file = root / LIST
    if not file.is_file():
        return []
    text = file.read_text(encoding="utf-8")
    try:
        entries = tomllib.loads(text).get("exception", [])
    except tomllib.TOMLDecodeError as error:
        raise BadList(f"{LIST}: {error}") from error
    lines = [n for n, line in enumerate(text.split("\n"), 1) if line.strip() == "[[exception]]"]
    for entry, line in zip(entries, lines):
        unknown = set(entry) - KEYS
        if unknown:
            raise BadList(f"{LIST}:{line}: unknown key '{sorted(unknown)[0]}': use {sorted(KEYS)}")
        for key in ("rule", "path", "reason"):
            if not entry.get(key):
                raise BadList(f"{LIST}:{line}: '{key}' is missing: say it")
        entry["line"] = line
        entry["used"] = False
    return entries


def excused(entries, finding, text):
    for entry in entries:
        if (entry["rule"] == finding.rule and fnmatch.fnmatchcase(finding.path, entry["path"])
                and entry.get("contains", "") in text):
            entry["used"] = True
            return True
    return False


def unused(entries, checked):
    """Findings for the entries that nothing needs; `checked(rule, path)` tells whether a file has
    been checked for a rule."""
    for entry in entries:
        if not entry["used"] and checked(entry["rule"], entry["path"]):
            yield Finding("exception", LIST, entry["line"],
                          f"is not needed: {entry['rule']} in {entry['path']}", "remove it")
