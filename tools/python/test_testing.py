"""lockstep.testing: the output and files of a failing test, and the one-line errors of misuse."""

import json
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import xml.etree.ElementTree

import pytest

pytest.importorskip("nanobind")
import lockstep  # noqa: E402
import scapy.layers.l2  # noqa: E402,F401  (once, not in each run below)
from lockstep.testing import again, stack_target, units  # noqa: E402
from lockstep.testing.errors import Misuse  # noqa: E402

pytest_plugins = ["pytester"]
ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs a file of tests on its own; returns the result."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def go(body, *arguments):
        head = "import pytest\nfrom scapy.layers.inet import IP, TCP\n"
        pytester.makepyfile(test_it=head + "from scapy.layers.l2 import ARP, Ether\n" + body)
        return pytester.runpytest_inprocess(
            "-p", "lockstep.testing.plugin", "-p", "no:cacheprovider", *arguments
        )

    return go


#: Its marks are assembled here, so that no scan of this repository takes them for citations.
FAILING = '''
@pytest.mark.ip(4)
@= rfc9293#3.5
@@ 9293:P-3WHS the second of three
def test_it(tcp):
    tcp.listen().send("S")
    tcp.expect("SA", seq=0, ack=2)
'''.replace("@= ", "#= ").replace("@@ ", "## ")


def test_a_failure_shows_two_columns_clause_and_repro(run):
    result = run(FAILING, "--lockstep-seed", "7")
    out = result.stdout.str()
    result.assert_outcomes(failed=1)
    assert re.search(r"expected +actual", out)
    assert re.search(r"! ack +2 +1", out)
    assert re.search(r"clause +rfc9293#3.5 +9293:P-3WHS the second of three", out)
    assert " -m pytest 'test_it.py::test_it[ip4]' --lockstep-seed 7" in out
    assert "Traceback" not in out


def repro_of(result):
    """The words of the line that repeats the failing test."""
    (line,) = re.findall(r"repro +(.*)", result.stdout.str())
    return shlex.split(line)


def test_the_repro_line_has_what_the_command_line_had(run, pytester):
    target = f"device:{ROOT / 'sim/examples/your_tcp/your_tcp.py'}"
    words = repro_of(run(
        FAILING, "-k", "test_it", "-rf", f"--target={target}", "--lockstep-seed", "7", "-W",
        "error", "-o", "lockstep_artifacts=left", "--lockstep-share", "0/1", "--maxfail=3", "."))
    assert words[0] == sys.executable and words[1:4] == ["-m", "pytest", "test_it.py::test_it[ip4]"]
    assert words[4:] == [
        "--lockstep-seed", "7", "--lockstep-profile", "rfc", "--target", target,
        "-p", "lockstep.testing.plugin", "-p", "no:cacheprovider", "-W", "error",
        "-o", "lockstep_artifacts=left"]


@pytest.mark.parametrize("arguments, words", [
    ("-xp name -vsW error", "-p name -W error"),
    ("-xpname -pother --rootdir=here --rootdir there", "-p name -p other --rootdir here"
     " --rootdir there"),
    ("-k -p -m -W --deselect -c --ignore=x -n 4 -p name", "-p name"),
    ("-rfE -r a -kpart -x --noconftest test_p.py -p", "--noconftest -p ''"),
])
def test_options_are_repeated_as_pytest_reads_them(arguments, words):
    assert again.given(arguments.split()) == shlex.split(words)


@pytest.mark.parametrize("below", ["", "deeper"])
def test_the_repro_line_works_where_pytest_was_started(run, pytester, monkeypatch, below):
    pytester.path.joinpath("pytest.ini").write_text("[pytest]\n")
    pytester.mkdir("deeper")
    run(FAILING)  # writes the file
    pytester.path.joinpath("deeper/test_it.py").write_text(
        pytester.path.joinpath("test_it.py").read_text())
    monkeypatch.chdir(pytester.path / below)
    once = pytester.runpytest_inprocess(
        "-p", "lockstep.testing.plugin", "-p", "no:cacheprovider", "--lockstep-seed", "9",
        pytester.path / below / "test_it.py")
    again = pytester.runpytest_inprocess(*repro_of(once)[3:])
    again.assert_outcomes(failed=1)
    assert repro_of(again) == repro_of(once) and "9" in repro_of(once)
    left = re.findall(r"left +(.*)", again.stdout.str())
    assert [os.path.dirname(path) for path in left] == ["lockstep-report"] * 2
    assert all(os.path.isfile(path) for path in left)


def test_git_ignores_the_folder_of_the_files(run, pytester):
    run(FAILING)
    assert "*" in pytester.path.joinpath("lockstep-report/.gitignore").read_text().splitlines()
    run(FAILING, "-o", "lockstep_artifacts=named")
    assert not pytester.path.joinpath("named/.gitignore").exists()


def test_where_nothing_came_the_failure_names_the_target_and_what_it_dropped(run):
    result = run("""
@pytest.mark.ip(4)
def test_it(tcp):
    tcp.send("S", chksum=1)
    tcp.expect("RA")
""")
    out = result.stdout.str()
    result.assert_outcomes(failed=1)
    assert re.search(r"RA.*: nothing came", out)
    assert re.search(r"target +10\.\S+ port 80, the tester 10\.\S+ port 5000", out), out
    assert re.search(r"dropped +1 tcp_checksum: \S+", out), out


def test_a_failure_leaves_a_capture(run, pytester):
    run(FAILING)
    (capture,) = pytester.path.glob("lockstep-report/*.pcapng")
    octets = capture.read_bytes()
    assert struct.unpack_from("<I", octets)[0] == 0x0A0D0D0A
    blocks, at = [], 0
    while at < len(octets):
        kind, length = struct.unpack_from("<II", octets, at)
        assert struct.unpack_from("<I", octets, at + length - 4)[0] == length
        blocks.append(kind)
        at += length
    assert blocks == [0x0A0D0D0A, 1, 6, 6]
    assert b"listen; tester: S 0:0(0)" in octets and b"target: SA 0:0(0) ack 1" in octets


def test_a_folder_elsewhere_will_do(run, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    out = run(FAILING, "-o", f"lockstep_artifacts={elsewhere}").stdout.str()
    assert sorted(each.suffix for each in elsewhere.iterdir()) == [".pcapng", ".svg"]
    assert all(str(each) in out for each in elsewhere.iterdir())


def test_a_folder_that_cannot_be_made_is_said(run, pytester):
    pytester.path.joinpath("taken").write_text("")
    out = run(FAILING, "-o", "lockstep_artifacts=taken").stdout.str()
    assert "left     not written: " in out and "! ack" in out


def test_a_failure_leaves_a_diagram_within_its_edges(run, pytester):
    run(FAILING)
    (diagram,) = pytester.path.glob("lockstep-report/*.svg")
    root = xml.etree.ElementTree.fromstring(diagram.read_text())
    width, height = int(root.get("width")), int(root.get("height"))
    places = [e for e in root.iter() if e.tag.endswith("text")]
    assert all(0 <= float(e.get("x")) <= width and 0 < float(e.get("y")) < height for e in places)
    words = [e.text for e in places]
    assert any(word.startswith("S 0:0(0)") for word in words)
    assert any("! ack" in word for word in words)


MISUSES = {
    "tcp.listen().inject(Ether() / IP() / TCP())": "as the outermost layer, not Ether",
    "tcp.listen().inject(ARP())": "outermost layer, not ARP",
    "tcp.listen().inject('SYN')": "not str",
    "tcp.expect('SA', within=None)": "within is None: write a number with a unit",
    "tcp.expect_silence('forever')": "the silence is 'forever'",
    "tcp.expect_silence(3)": "the silence is 3: write a number with a unit",
    "tcp.advance('1000h')": "every wait ends, after 30 days",
    "tcp.expect('SYN')": "flags are 'SYN'",
    "tcp.expect('A', sequence=1)": "expect() knows no 'sequence'",
    "tcp.expect('A', at='1s', within='1s')": "takes `within` or `at`, not both",
    "tcp.finish()": "no connection yet",
    "tcp.send('A', seq='1')": "a sequence number is '1'",
}


def test_misuse_is_one_line_with_its_place(run):
    calls = list(MISUSES)
    body = "".join(
        f"@pytest.mark.ip(4)\ndef test_{number}(tcp):\n    {call}\n"
        for number, call in enumerate(calls)
    )
    result = run(body)
    out = result.stdout.str()
    result.assert_outcomes(failed=len(calls))
    assert "Traceback" not in out
    for number, call in enumerate(calls):
        place = f"test_it.py:{6 + 3 * number}: "
        (line,) = [each for each in out.splitlines() if each.startswith(place)]
        assert MISUSES[call] in line


@pytest.mark.parametrize(
    "mark,words",
    [
        ("stack(no_such_field=1)", "no_such_field"),
        ("stack(profile='xp')", "xp"),
        ("stack(rto_min='soon')", "soon"),
    ],
)
def test_a_marker_that_is_wrong(run, mark, words):
    result = run(f"@pytest.mark.{mark}\n@pytest.mark.ip(4)\ndef test_it(tcp):\n    pass\n")
    result.assert_outcomes(errors=1)
    assert any("marker stack: " in e and words in e for e in result.stdout.str().splitlines())


@pytest.mark.parametrize(
    "arguments,words",
    [
        (["--target", "moon"], "--target moon: no such target; there is "),
        (["--target", "linux:junk"], "--target linux:junk: linux takes no colon"),
        (["--target", "stack:x"], "--target stack:x: stack takes no colon"),
        (["--target", "linux:"], "--target linux:: nothing follows the colon"),
        (["--target", "tap:x"], "--target tap:x: only tap:lockstep is known"),
        (["--target", "tap"], "--target tap: only tap:lockstep is known"),
        (["--lockstep-profile", "xp"], "--lockstep-profile xp: no such profile"),
        (["--lockstep-seed", "-1"], "number of 0 to 2^64 - 1"),
        (["--lockstep-seed", "few"], "number of 0 to 2^64 - 1"),
    ],
)
def test_an_option_that_is_wrong(run, arguments, words):
    result = run("def test_it():\n    pass\n", *arguments)
    assert result.ret == 4
    assert (result.stdout.str() + result.stderr.str()).count(words) == 1


def test_a_program_that_is_not_there_is_said_once(run, monkeypatch):
    monkeypatch.setenv("LOCKSTEP_PROGRAM", "/no/such/program")
    result = run(FAILING, "--target", "tap:lockstep")
    assert result.ret == 4
    assert result.stderr.str().splitlines() == [
        "ERROR: --target tap:lockstep: LOCKSTEP_PROGRAM names /no/such/program, which is no"
        " program: build it, or unset the variable"]


@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/net/tun"),
                    reason="as root, with /dev/net/tun: the target makes a network namespace")
@pytest.mark.parametrize("program,words", [
    ("/bin/true", "its helper /bin/true has ended"),
    ("/bin/echo", "its helper /bin/echo does not answer as lockstep serve calls does"),
])
def test_a_program_that_is_another(run, monkeypatch, program, words):
    monkeypatch.setenv("LOCKSTEP_PROGRAM", program)
    result = run(FAILING, "--target", "tap:lockstep")
    result.assert_outcomes(errors=1)
    out = result.stdout.str()
    assert words in out and "Traceback" not in out and "BrokenPipe" not in out


UNTESTABLE = """
@pytest.mark.parametrize("number", range(3))
@pytest.mark.ip(4)
def test_it(tcp, number):
    tcp.leave_out("it is not asked")
"""


def test_a_run_that_has_tested_nothing_fails_loudly(run):
    result = run(UNTESTABLE, "--target", "stack")
    result.assert_outcomes(skipped=3)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["--target stack: NOTHING WAS TESTED, all 3 tests were skipped: "
                                 "target stack: it is not asked"])


def test_one_that_has_tested_something_does_not(run):
    assert run(UNTESTABLE).ret == 0  # no target was named
    some = UNTESTABLE.replace("tcp.leave", "number == 1 or tcp.leave")
    result = run(some, "--target=stack")
    result.assert_outcomes(skipped=2, passed=1)
    assert result.ret == 0 and "NOTHING" not in result.stdout.str()


def test_what_nobody_expected_is_a_failure(run):
    result = run("@pytest.mark.ip(6)\ndef test_it(tcp):\n    tcp.listen().send('S')\n")
    result.assert_outcomes(passed=1, errors=1)
    assert "nothing more" in result.stdout.str()


#: What it expects, no SACK, holds only in the profile that it names.
BARE = """
@pytest.mark.ip(4)
def test_it(tcp):
    tcp.listen().send("S", options=[("MSS", 1460), ("SAckOK", b"")])
    tcp.expect("SA", options={"SAckOK": None})
    tcp.send("A").accept()
    tcp.send("PA", payload=100).expect_read(100)
    assert tcp.elsewhere != "linux"
"""


@pytest.mark.parametrize("mode,passed", [("named", 1), ("drawn", 2), ("all", 4)])
def test_other_profiles_do_not_have_to_do_what_a_test_expects(run, mode, passed):
    run(BARE, "--lockstep-profiles", mode).assert_outcomes(passed=passed)
    # Under its own name it must hold.
    result = run(BARE, "--lockstep-profiles", mode, "--lockstep-profile", "linux")
    result.assert_outcomes(passed=passed - 1, failed=1)


def test_the_ini_file_can_ask_for_other_profiles(run, pytester):
    pytester.makeini("[pytest]\nlockstep_profiles = drawn\n")
    run(BARE).assert_outcomes(passed=2)
    run(BARE, "--lockstep-profiles", "named").assert_outcomes(passed=1)
    pytester.makeini("[pytest]\nlockstep_profiles = some\n")
    assert "lockstep_profiles some: expected one of named" in run(BARE).stderr.str()


def test_a_test_has_the_same_other_profile_each_time(run):
    body = BARE.replace('assert tcp.elsewhere != "linux"', "print('ran', tcp.elsewhere)")
    body = body.replace("def test_it(tcp)",
                        "@pytest.mark.parametrize('i', range(12))\ndef test_it(tcp, i)")
    runs = [re.findall(r"ran (\w+)", run(body, "--lockstep-profiles", "drawn", "-s").stdout.str())
            for _ in range(2)]
    assert runs[0] == runs[1] and set(runs[0]) == {"default", "linux", "freebsd"}


def test_a_test_that_waits_for_ever_ends_there(run):
    body = """
@pytest.mark.ip(4)
def test_it(tcp):
    tcp.established()
    while tcp.elsewhere:
        tcp.send("A")
"""
    run(body, "--lockstep-profiles", "drawn").assert_outcomes(passed=2)


#: Violates a rule that holds in every profile, but only in the other profiles.
PLANTED = """
import lockstep
from lockstep.testing import stack_target

def planted(name):
    def plant(change):
        sound = getattr(stack_target.StackTarget, name)
        def spoiled(self, *more, **named):
            out = sound(self, *more, **named)
            return out if self.stack._arguments[0] == "rfc" else change(self, out)
        setattr(stack_target.StackTarget, name, spoiled)
    return plant
"""


@pytest.mark.parametrize("plant,words", [
    ('@planted("_pull")\ndef wrong_sum(self, _):\n'
     "    self._left = type(self._left)(type(each)(each.at, each.packet[:-1] + b'!')"
     " for each in self._left)\n", "no TCP sends this"),
    ('@planted("settled_down")\ndef wrong(self, out):\n'
     "    return out + ['the referee: planted']\n", "the referee: planted"),
])
def test_what_holds_everywhere_is_judged_in_other_profiles(run, pytester, plant, words):
    kept = dict(vars(stack_target.StackTarget))
    pytester.makeconftest(PLANTED + plant)
    try:
        result = run(BARE, "--lockstep-profiles", "drawn")
    finally:
        for name in ("_pull", "settled_down"):
            setattr(stack_target.StackTarget, name, kept[name])
    outcomes = result.parseoutcomes()
    assert outcomes.get("failed", 0) + outcomes.get("errors", 0) == 1
    assert words in result.stdout.str() and "in profile " in result.stdout.str()


def test_what_does_not_end_is_a_failure(run, monkeypatch):
    monkeypatch.setattr(lockstep.Stack, "close", lambda *_: None)
    result = run("@pytest.mark.ip(4)\ndef test_it(tcp):\n    tcp.established()\n")
    result.assert_outcomes(passed=1, errors=1)
    assert "of 1 connections 0 have ended" in result.stdout.str()


def test_without_scapy_the_plugin_loads_and_the_fixture_says_so(pytester):
    pytester.makepyfile("def test_plain():\n    pass\n\ndef test_it(tcp):\n    pass\n")
    pytester.makeconftest("import sys\nsys.modules['scapy'] = sys.modules['scapy.layers'] = None\n"
                          "sys.modules['scapy.layers.inet'] = None\n")
    package = str(pathlib.Path(units.__file__).parents[2])
    program = f"import sys; sys.path.insert(0, {package!r}); import pytest;"
    program += "sys.exit(pytest.main(['-p', 'lockstep.testing.plugin']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          cwd=pytester.path, timeout=60,
                          env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert "1 passed, 2 errors" in done.stdout
    assert "fixture tcp: scapy.layers.inet is missing: pip install scapy" in done.stdout


def test_the_seed_decides_the_packets(run, pytester):
    packets = []
    for seed in ("1", "1", "2"):
        run(FAILING, "--lockstep-seed", seed)
        (capture,) = pytester.path.glob("lockstep-report/*.pcapng")
        packets.append(capture.read_bytes())
    assert packets[0] == packets[1] != packets[2]


@pytest.mark.parametrize(
    "text,ns",
    [("1s", 10**9), ("1.5s", 15 * 10**8), ("200ms", 2 * 10**8), ("4m", 24 * 10**10), ("7ns", 7)],
)
def test_durations(text, ns):
    assert units.nanoseconds(text) == ns


@pytest.mark.parametrize(
    "text", ["", "1", "s", "-1s", "1e3s", "1 s", "0.1ns", "1d", None, 1.5, True]
)
def test_durations_that_are_none(text):
    with pytest.raises(Misuse, match="a duration is"):
        units.nanoseconds(text)


# --- the verdict on each requirement ---

#: Two tests that pass, one that fails, one that is skipped, one that is deselected.
CITING = """
@= rfc9293#3.5
@@ 9293:P-3WHS met
@@ 9293:MUST-10 broken by the other
@pytest.mark.ip(4)
def test_passes(tcp):
    tcp.listen().send("S").expect("SA", seq=0, ack=1)

@= rfc9293#3.5
@@ 9293:MUST-10 broken
@pytest.mark.ip(4)
def test_fails(tcp):
    tcp.listen().send("S").expect("SA", seq=0, ack=2)

@= rfc9293#3.1
@@ 9293:MUST-2 not judged
@pytest.mark.ip(4)
def test_skipped(tcp):
    tcp.leave_out("it cannot")

@= rfc9293#3.1
@@ 9293:MUST-3 left out
@pytest.mark.ip(4)
def test_deselected(tcp):
    pass
""".replace("@= ", "#= ").replace("@@ ", "## ")


def verdicts(path):
    """id -> verdict, in JSON."""
    rows = json.loads(path.read_text(encoding="utf-8"))["requirements"]
    return {row["id"]: row["verdict"] for row in rows}


def test_the_verdict_on_each_requirement_is_written(run, pytester):
    target = f"device:{ROOT / 'sim/examples/your_tcp/your_tcp.py'}"
    result = run(CITING, "-k", "not deselected", "--target", target)
    out, folder = result.stdout.str(), pytester.path / "lockstep-report"
    result.assert_outcomes(passed=1, failed=1, skipped=1, deselected=1)
    assert ("requirements: 1 met, 1 broken, 1 not judged, 1 left out:"
            " lockstep-report/clauses.html") in out
    assert verdicts(folder / "clauses.json") == {
        "9293:P-3WHS": "meets", "9293:MUST-10": "breaks", "9293:MUST-2": "not judged",
        "9293:MUST-3": "left out"}
    page = (folder / "clauses.html").read_text(encoding="utf-8")
    row = re.search(r'<details class="row" id="9293:MUST-10">(.*?)</details>', page, re.S)[1]
    assert "1 of 2" in row and "Simultaneous open works" in row and "MUST, RFC 9293" in row
    capture = re.search(r'<summary.*?<a href="([^"]+)">capture</a>.*?</summary>', row, re.S)[1]
    assert (folder / capture).read_bytes().startswith(b"\x0a\x0d\x0d\x0a")
    assert re.search(r"test_passes\[ip4\]</code> .*?passed", row)
    (failed,) = re.findall(r'<details class="row test".*?</details>', page, re.S)
    assert f"--target {target}" in failed and "ack 1 in place of 2" in failed


def test_a_failing_test_without_files_names_none(run, pytester):
    run("""
@= rfc9293#3.5
@@ 9293:MUST-10 fails
@pytest.mark.ip(4)
def test_it(tcp):
    assert tcp is None
""".replace("@= ", "#= ").replace("@@ ", "## "), "--lockstep-html", "page.html")
    page = pytester.path.joinpath("page.html").read_text(encoding="utf-8")
    said = re.search(r"requirements: (<a .*?</a>.*?)</div>", page, re.S)[1]
    assert re.fullmatch(r"<a href=\"#9293:MUST-10\">9293:MUST-10</a>\s*", said)


def test_what_the_workers_of_xdist_leave_out_is_listed_by_rfc(run, pytester, monkeypatch):
    pytest.importorskip("xdist")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    more = """
@= rfc12345#3.1
@@ 12345:MUST-1 left out
@pytest.mark.ip(4)
def test_deselected_too(tcp):
    pass
""".replace("@= ", "#= ").replace("@@ ", "## ")
    run(CITING + more)  # writes the file
    result = pytester.runpytest_subprocess(
        "-p", "xdist.plugin", "-n", "2", "-p", "lockstep.testing.plugin", "-p", "no:cacheprovider",
        "-k", "not deselected", "--lockstep-html", "page.html")
    assert "1 met, 1 broken, 1 not judged, 2 left out" in result.stdout.str()
    assert list(verdicts(pytester.path / "page.json")) == [
        "9293:MUST-10", "9293:MUST-2", "9293:MUST-3", "9293:P-3WHS", "12345:MUST-1"]


def test_for_our_own_stack_it_is_written_where_it_was_asked_for(run, pytester):
    run(CITING)
    assert not list(pytester.path.glob("**/clauses.*"))
    result = run(CITING, "--lockstep-html", "deep/er/page.html")
    assert "1 met, 1 broken, 1 not judged" not in result.stdout.str()  # the last one ran
    page = pytester.path / "deep/er/page.html"
    assert verdicts(page.with_suffix(".json"))["9293:MUST-3"] == "meets"
    capture = re.search(r'href="([^"]+.pcapng)"', page.read_text(encoding="utf-8"))[1]
    assert capture.startswith("../../lockstep-report/")
    assert (page.parent / capture).resolve().parent == pytester.path / "lockstep-report"


def test_a_page_that_cannot_be_written_is_said(run, pytester):
    pytester.path.joinpath("taken").write_text("")
    result = run(CITING, "--lockstep-html", "taken/page.html")
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    assert re.search(r"requirements: .*taken/page.html: not written: ", result.stdout.str())


def test_without_jinja2_there_is_the_json(run, pytester, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    out = run(CITING, "--lockstep-html", "page.html").stdout.str()
    assert "page.json (no page: pip install jinja2)" in out
    assert verdicts(pytester.path / "page.json")["9293:MUST-10"] == "breaks"


# --- targets with names ---

HANDSHAKE = """
@pytest.mark.ip(4)
def test_it(tcp):
    tcp.listen().send("S").expect("SA", seq=0, ack=1)
    assert tcp.target.name == NAME
"""
TARGETS = """
from lockstep.testing import stack_target
class Named(stack_target.StackTarget):
    name = "board"
def pytest_lockstep_targets():
    return {TARGETS}
"""


def test_a_conftest_gives_targets_names(run, pytester):
    device = f"device:{ROOT / 'sim/examples/your_tcp/your_tcp.py'}"
    names = f"{{'mine': {device!r}, 'other': 'mine', 'board': Named}}"
    pytester.makeconftest(TARGETS.replace("{TARGETS}", names))
    for target, name in (("mine", device), ("other", device), ("board", "board")):
        result = run(f"NAME = {name!r}" + HANDSHAKE, "--target", target)
        result.assert_outcomes(passed=1)
        assert "requirements: " not in result.stdout.str()  # the test cites none
        assert not pytester.path.joinpath("lockstep-report").exists()
    out = run(HANDSHAKE, "--target", "mine:more").stderr.str()
    assert f"--target mine:more: mine stands for {device}, and takes no colon" in out


def test_a_plugin_gives_targets_names_and_they_end_with_the_run(run, pytester):
    pytester.makepyfile(my_targets=TARGETS.replace("{TARGETS}", "{'board': Named}"))
    pytester.syspathinsert()
    run("NAME = 'board'" + HANDSHAKE, "--target", "board", "-p", "my_targets"
        ).assert_outcomes(passed=1)
    assert "--target board: no such target" in run(HANDSHAKE, "--target", "board").stderr.str()


@pytest.mark.parametrize("targets, words", [
    ("['mine']", "pytest_lockstep_targets returned list, expected a dictionary"),
    ("{'stack': Named}", "there is already a target stack: choose another name"),
    ("{'a:b': Named}", "'a:b' is no name: expected text without a colon or a slash"),
    ("{'mine': 7}", "mine is 7, expected a class derived from Target, or text such as"),
    ("{'mine': 'nowhere'}", "--target nowhere: no such target"),
    ("{'mine': 'mine'}", "--target mine: mine stands for mine: let mine stand for a target, as "),
    ("{'mine': 'a', 'a': 'b', 'b': 'a'}", "--target mine: mine stands for a stands for b stands"
     " for a: let b stand for a target, as 'device:./my_tcp.so'"),
])
def test_a_name_that_is_wrong_is_said_in_a_line(run, pytester, targets, words):
    pytester.makeconftest(TARGETS.replace("{TARGETS}", targets))
    result = run(HANDSHAKE, "--target", "mine")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.stderr.str().splitlines() if line]
    assert words in line
