# The table of live targets: the committed files are consistent, and inconsistencies are reported.
import copy
import dataclasses
import json
import re
import sys
from xml.etree import ElementTree

import matrix
import pytest
import targets


def run_check(monkeypatch, capsys, *arguments):
    """(exit code, output) of targets.py."""
    monkeypatch.setattr(sys, "argv", ["targets.py", *arguments])
    code = targets.main()
    printed = capsys.readouterr()
    return code, printed.out + printed.err


@pytest.mark.parametrize("page", [(), ("--devices",)])
def test_what_is_committed_agrees(monkeypatch, capsys, page):
    code, said = run_check(monkeypatch, capsys, *page, "--check")
    assert code == 0, said
    assert said.endswith(" 0 problems\n")


@pytest.mark.parametrize("page", [targets.LIVE, targets.DEVICES], ids=["live", "devices"])
def test_each_test_in_it_is_still_there(page):
    data = json.loads(page.data.read_text(encoding="utf-8"))
    there = set()
    for path in targets.ROOM.glob("test_*.py"):
        names = re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        there |= {f"{path.name}::{name}" for name in names}
    gone = {row["test"].partition("[")[0] for row in data["differing"]} - there
    assert not gone, f"run tools/evidence {page.job}: {sorted(gone)}"


@pytest.fixture(name="small")
def small_fixture(tmp_path, monkeypatch):
    """A run of three tests on Linux, one of which differs; its files, and their writer."""
    moved = {name: tmp_path / getattr(targets.LIVE, name).name
             for name in ("data", "table", "differences")}
    monkeypatch.setattr(targets, "LIVE", dataclasses.replace(targets.LIVE, **moved))
    rows = [("test_a", "passed"), ("test_b", "failed"), ("test_c", "passed")]
    for wave in ("first", "again1", "again2", "again3"):
        text = "".join(json.dumps({
            "test": f"conformance/scapy/test_x.py::{name}[ip4]", "target": "linux",
            "outcome": outcome, "clauses": ["9293:MUST-1"], "words": "A in place of B",
            "seen": ["0 ms  < A"]}) + "\n" for name, outcome in rows
            if wave == "first" or outcome == "failed")
        (tmp_path / f"linux.{wave}.0.jsonl").write_text(text)
    explain(tmp_path, "test_b")
    return tmp_path


def explain(folder, *patterns, more=""):
    """A differences.toml with a reason for each of these."""
    (folder / "differences.toml").write_text("".join(
        f'[[difference]]\ntarget = "linux"\ntests = "{pattern}"\nreason = "It is old."\n{more}'
        for pattern in patterns))


def test_a_difference_with_its_reason_is_fine(small, monkeypatch, capsys):
    assert run_check(monkeypatch, capsys, "--from", str(small))[0] == 0
    table = (small / "targets.md").read_text()
    assert "| 9293:MUST-1 | - | - | 2 of 3 (1) |" in table
    assert "### 1. Linux, 1 test\n\nIt is old." in table and "0 ms  < A" in table
    assert json.loads((small / "targets.json").read_text())["again"]["linux"] == 1
    assert run_check(monkeypatch, capsys, "--check")[0] == 0


@pytest.mark.parametrize("patterns,said", [
    ([], "test_b[ip4]: A in place of B: failed, but differences.toml has no reason for it"),
    (["test_b", "test_a"], "difference 2: linux shows no difference in tests 'test_a'"),
    (["test_", "test_b"], "difference 2: linux shows no difference in tests 'test_b'"),
])
def test_reasons_and_differences_belong_together(small, monkeypatch, capsys, patterns, said):
    (small / "differences.toml").write_text("difference = []\n")
    explain(small, *patterns) if patterns else None
    code, output = run_check(monkeypatch, capsys, "--from", str(small))
    assert code == 1 and said in output


def test_a_table_that_was_edited_is_found(small, monkeypatch, capsys):
    run_check(monkeypatch, capsys, "--from", str(small))
    table = small / "targets.md"
    table.write_text(table.read_text().replace("2 of 3", "3 of 3"))
    code, output = run_check(monkeypatch, capsys, "--check")
    assert code == 1 and "targets.md: does not match targets.json" in output
    assert run_check(monkeypatch, capsys, "--table")[0] == 0
    assert run_check(monkeypatch, capsys, "--check")[0] == 0


def test_a_device_of_ours_that_behaves_otherwise_is_found():
    same, other = {"test_a[ip4]": {"wire": "1"}}, {"test_a[ip4]": {"wire": "2"}}
    assert targets.unequal({"stack": same, "device:lockstep": same}) == []
    assert targets.unequal({"stack": same, "device:lockstep": other}) == ["test_a[ip4]"]
    assert targets.unequal({"stack": {}, "device:lockstep": same}) == ["test_a[ip4]"]
    data = {"differing": [], "clauses": {}, "unequal": ["test_a[ip4]"]}
    assert "not the same as without the interface" in targets.complaints(
        targets.DEVICES, data, [])[0]


def test_a_requirement_that_is_none_is_found(small, monkeypatch, capsys):
    run_check(monkeypatch, capsys, "--from", str(small))
    data = json.loads(targets.LIVE.data.read_text())
    data["clauses"]["9293:MUST-999"] = copy.deepcopy(data["clauses"]["9293:MUST-1"])
    targets.LIVE.data.write_text(json.dumps(data))
    code, output = run_check(monkeypatch, capsys, "--table")
    assert code == 1 and "9293:MUST-999 is not a requirement" in output


@pytest.mark.parametrize("later,outcome", [
    (("passed", "passed", "passed"), "passed"),
    (("failed", "passed", "failed"), "unsteady"),
    (("failed", "failed", "failed"), "failed"),
])
def test_three_that_agree_decide(small, later, outcome):
    for number, said in enumerate(later, 1):
        path = small / f"linux.again{number}.0.jsonl"
        path.write_text(path.read_text().replace('"failed"', f'"{said}"'))
    data = targets.collect(*targets.read_results(targets.LIVE, small), 1, 0)
    assert data["totals"]["linux"].get(outcome, 0) == (3 if outcome == "passed" else 1)
    assert data["again"]["linux"] == 1
    cell = data["clauses"]["9293:MUST-1"]["linux"]
    assert cell["passed"] == (3 if outcome == "passed" else 2)
    if outcome == "unsteady":
        assert "## Unsteady" in targets.table(
            targets.LIVE, data, targets.load_differences(targets.LIVE))


@pytest.mark.parametrize("text,said", [
    ("[[difference]]\ntarget = 'bsd'\ntests = 'x'\nreason = 'y'\n", "1: expected target"),
    ("[[difference]]\ntarget = 'linux'\ntests = '('\nreason = 'y'\n", "difference 1: tests:"),
    ("[[difference]\n", "differences.toml"),
])
def test_bad_reasons_are_said_in_a_line(small, monkeypatch, capsys, text, said):
    (small / "differences.toml").write_text(text)
    code, output = run_check(monkeypatch, capsys, "--from", str(small))
    assert code == 2 and said in output and output.count("\n") == 1


def test_a_folder_without_results_is_refused(small, monkeypatch, capsys, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    code, output = run_check(monkeypatch, capsys, "--from", str(empty))
    assert code == 2 and "there are no results" in output


# --- the page of devices ---


@pytest.fixture(name="report")
def report_fixture(tmp_path):
    """The report of a run of four tests on two targets; its folder."""
    rows = {
        "stack": [("test_a", "passed", ["9293:MUST-1"]), ("test_b", "passed", ["9293:MUST-2"]),
                  ("test_c", "passed", ["9293:MUST-3"])],
        "device:lwip": [("test_a", "passed", ["9293:MUST-1"]),
                        ("test_b", "failed", ["9293:MUST-2"]),
                        ("test_c", "skipped", ["9293:MUST-3"])]}
    page = dataclasses.replace(
        targets.DEVICES, targets={"stack": "Lockstep", "device:lwip": "lwIP & co"},
        data=tmp_path / "results.json", table=tmp_path / "results.md")
    found = {target: {f"test_x.py::{name}[ip4]": {
        "test": f"conformance/scapy/test_x.py::{name}[ip4]", "outcome": outcome,
        "clauses": clauses, "words": "A in place of <B>", "seen": ["0 ms  < A"]}
        for name, outcome, clauses in tests} for target, tests in rows.items()}
    data = targets.collect(found, {}, 1, 0)
    targets.write(page, data, [("device:lwip", re.compile("test_b"), "It is old.")])
    left = tmp_path / "left/device-lwip"
    left.mkdir(parents=True)
    (left / "test-x-py-test-b-ip4.pcapng").write_bytes(b"capture")
    matrix.write(tmp_path / "report", page, data, found, tmp_path / "left")
    return tmp_path / "report"


def test_each_cell_of_the_page_opens_its_tests(report):
    page = (report / "index.html").read_text(encoding="utf-8")
    rows = re.findall(r'<details class="row" id="([^"]+)">(.*?)</details>', page, re.DOTALL)
    said = {name: re.findall(r'badge ([^"]+)"', row) for name, row in rows}
    assert said == {"9293:MUST-1": ["meets", "meets"], "9293:MUST-2": ["meets", "breaks"],
                    "9293:MUST-3": ["meets", "not judged"]}
    failed = dict(rows)["9293:MUST-2"]
    assert 'href="#device-lwip-test-x-py-test-b-ip4"' in failed and "lwIP &amp; co" in failed
    assert "Sender fills in the TCP checksum" in failed and "section 3.1" in failed
    assert 'id="device-lwip-test-x-py-test-b-ip4"' in page
    for words in ("A in place of &lt;B&gt;", "It is old.", "--target device:lwip",
                  'href="captures/device-lwip/test-x-py-test-b-ip4.pcapng"'):
        assert words in page
    assert (report / "captures/device-lwip/test-x-py-test-b-ip4.pcapng").read_bytes() == b"capture"
    for name in ("results.json", "results.md"):
        assert (report / name).exists()


def test_the_page_has_a_junit_file(report):
    suites = ElementTree.parse(report / "junit.xml").getroot()
    counts = {suite.get("name"): (suite.get("tests"), suite.get("failures"), suite.get("skipped"))
              for suite in suites}
    assert counts == {"stack": ("3", "0", "0"), "device:lwip": ("3", "1", "1")}
    failure = suites.find("testsuite/testcase/failure")
    assert failure.get("message") == "A in place of <B>" and failure.text == "0 ms  < A"
