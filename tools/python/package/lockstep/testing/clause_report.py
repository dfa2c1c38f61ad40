# Collects the results of a run of pytest, and writes the verdict on each requirement.
import json
import os

import pytest

import lockstep

from . import again, clauses

FORMAT = 1
VERDICTS = {clauses.MEETS: "met", clauses.BREAKS: "broken", clauses.NOT_JUDGED: "not judged",
            clauses.LEFT_OUT: "left out"}


#: The key under which a worker of pytest-xdist passes the requirements that it left out.
LEFT = "lockstep_left_out"


def ids_of(items, cited):
    """The ids of the requirements that these test items cite."""
    return {name for item in items for name in cited(item)}


class LeftOut:
    """A pytest plugin in a worker of pytest-xdist: passes on what ClauseReport cannot see."""

    def __init__(self, config, cited):
        self._output, self._cited = config.workeroutput, cited

    def pytest_deselected(self, items):
        names = ids_of(items, self._cited)
        self._output[LEFT] = sorted(names.union(self._output.get(LEFT, ())))


class ClauseReport:
    """A pytest plugin: after the tests it writes clauses.html, and the same as JSON beside it."""

    def __init__(self, config, cited):
        """`cited` is a function: a test item -> the ids of the requirements that it cites."""
        self._config, self._cited = config, cited
        self._target = config.getoption("--target")
        #: Test -> row; of a test that also fails after its end the row of that failure.
        self._rows = {}
        self._deselected = set()
        self._words = ""

    def pytest_deselected(self, items):
        self._deselected |= ids_of(items, self._cited)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """A worker of pytest-xdist has ended: the tests are collected, and deselected, there."""
        self._deselected.update(getattr(node, "workeroutput", {}).get(LEFT, ()))

    def pytest_runtest_logreport(self, report):
        row = getattr(report, "lockstep_row", None)
        if row is not None and (row["outcome"] == "failed" or row["test"] not in self._rows):
            self._rows[row["test"]] = row

    def pytest_sessionfinish(self):
        if not any(row["clauses"] for row in self._rows.values()):
            return
        named = self._config.getoption("--lockstep-html")
        path = self._config.invocation_params.dir / (named or "")
        try:
            path = path if named else again.made(self._config) / "clauses.html"
            self._words = self._write(path)
        except OSError as why:
            self._words = f"requirements: {path}: not written: {why.strerror}"

    def pytest_terminal_summary(self, terminalreporter):
        if self._words:
            terminalreporter.write_line(self._words)

    def _write(self, path):
        """Writes both files; returns a line for the summary."""
        path.parent.mkdir(parents=True, exist_ok=True)
        found = {self._target: self._rows}
        failed = self._failed(path.parent)
        cells = dict.fromkeys(self._deselected, {}) | clauses.by_clause(found)
        cells = {name: cells[name] for name in sorted(cells, key=clauses.place)}
        totals = clauses.totals(found)
        rows = self._json_rows(cells, failed)
        counts = {name: sum(row["verdict"] == name for row in rows) for name in VERDICTS}
        data = {"format": FORMAT, "lockstep": lockstep.__version__, "target": self._target,
                "seed": self._config.getoption("--lockstep-seed"),
                "profile": self._config.getoption("--lockstep-profile"), "verdicts": counts,
                "tests": totals[self._target], "requirements": rows, "failed": failed}
        written, more = path.with_suffix(".json"), ""
        written.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        try:
            page = clauses.html(f"Requirements: {self._target}", {self._target: self._target},
                                {"clauses": cells, "totals": totals}, failed, found)
            path.write_text(page, encoding="utf-8")
            written = path
        except ModuleNotFoundError as why:
            more = f" (no page: pip install {why.name})"
        words = ", ".join(f"{counts[name]} {words}" for name, words in VERDICTS.items())
        return f"requirements: {words}: {again.shortest(self._config, written)}{more}"

    def _failed(self, folder):
        """The failed tests, as clauses.html() expects them; files are relative to `folder`."""
        return [{"id": clauses.anchor(self._target, test), "target": self._target, "title": "",
                 "test": test, "words": row["words"], "seen": row.get("seen", []), "reason": "",
                 "clauses": row["clauses"], "command": row["command"],
                 "files": [os.path.relpath(file, folder) for file in row["files"]]}
                for test, row in sorted(self._rows.items()) if row["outcome"] == "failed"]

    def _json_rows(self, cells, failed):
        """The requirements, each with its verdict and its tests."""
        out = []
        for row in clauses.rows_of({self._target: ""}, cells, failed, {self._target: self._rows}):
            (cell,) = row.pop("cells")
            tests = [{"test": test["test"], "outcome": "failed", "files": test["files"]}
                     for test in cell["failed"]]
            out.append({**row, "verdict": cell["verdict"], "tests": tests + cell["others"]})
        return out
