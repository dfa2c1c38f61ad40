"""What failed is counted and named."""

import json

from tools.dev.test import tally

JUNIT = """<testsuites><testsuite>
<testcase classname="a.test_b" name="test_one"/>
<testcase classname="a.test_b" name="test_two">
  <failure message="assert 1 == 2&#10;more"/></testcase>
<testcase classname="a.test_b" name="test_three"><skipped/></testcase>
<testcase classname="a.test_b" name="test_four"><error>
  OSError: no such file
</error></testcase>
</testsuite></testsuites>
"""
CTEST = """<testsuite><testcase name="stack" status="fail"><failure message="Failed"/></testcase>
<testcase name="wire" status="run"/><testcase name="crashed" status="fail"/></testsuite>
"""
STACK = {"tests": 3, "failures": 1, "testsuites": [{"name": "Turn", "testsuite": [
    {"name": "Sends"},
    {"name": "Asks", "failures": [{"failure": "core/a_test.cpp:7\nExpected"}]}]}]}


def test_pytest_names_each_case_with_the_first_line_of_its_reason(tmp_path):
    report = tmp_path / "python.xml"
    report.write_text(JUNIT)
    assert tally.tally(report, None) == (1, 2, 1)
    assert list(tally.failures(report, None)) == [
        "a.test_b::test_two: assert 1 == 2", "a.test_b::test_four: OSError: no such file"]


def test_a_gtest_program_names_its_cases_and_a_crashed_one_itself(tmp_path):
    report = tmp_path / "ctest.xml"
    report.write_text(CTEST)
    (tmp_path / "stack.json").write_text(json.dumps(STACK))
    (tmp_path / "wire.json").write_text(json.dumps({"tests": 2, "failures": 0, "testsuites": []}))
    assert tally.tally(report, tmp_path) == (4, 2, 0)
    assert list(tally.failures(report, tmp_path)) == [
        "stack Turn.Asks: core/a_test.cpp:7", "crashed: "]


def test_no_more_than_twenty_are_named(tmp_path, monkeypatch, capsys):
    report = tmp_path / "python.xml"
    report.write_text("<testsuite>" + "".join(
        f'<testcase name="t{n}" classname="c"><failure message="m"/></testcase>'
        for n in range(23)) + "</testsuite>")
    monkeypatch.setattr("sys.argv", ["tally.py", str(report)])
    assert tally.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "0 23 0"
    assert lines[1:] == [f"c::t{n}: m" for n in range(20)] + ["and 3 more"]
