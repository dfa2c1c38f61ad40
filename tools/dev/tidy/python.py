"""Findings of ruff in the Python files, with the settings of pyproject.toml."""

import json
import pathlib
import shutil
import subprocess

from dev.tidy.source import Finding


class Missing(Exception):
    """ruff is not installed."""


def find_ruff():
    ours = pathlib.Path(__file__).resolve().parents[3] / "build/venv/bin/ruff"
    return str(ours) if ours.is_file() else shutil.which("ruff")


def check(root, sources):
    """Findings of the rule 'python'; each names ruff's own rule."""
    files = [source.path for source in sources if is_python(source)]
    if not files or not (pathlib.Path(root) / "pyproject.toml").is_file():
        return
    ruff = find_ruff()
    if ruff is None:
        raise Missing
    ran = subprocess.run([ruff, "check", "--no-cache", "--output-format", "json", *files],
                         cwd=root, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        raise OSError(f"ruff: {ran.stderr.strip()}")
    for each in json.loads(ran.stdout):
        path = str(pathlib.Path(each["filename"]).relative_to(root))
        mend = (each.get("fix") or {}).get("message") or f"`ruff rule {each['code']}` says more"
        yield Finding("python", path, each["location"]["row"],
                      f"{each['code']}: {each['message']}", mend)


def is_python(source):
    return source.path.endswith(".py") or source.lines[0].startswith("#!/usr/bin/env python3")
