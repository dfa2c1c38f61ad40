# Devices: ours behaves as without device.h, byte for byte; lwIP is judged in virtual time; a device
# that breaks the interface fails its test with one line that names the device and the call.
import collections
import json
import os
import re
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from dev.test import device

from lockstep.testing import Misuse, Unsupported, Wanted, device_target
from lockstep.testing.errors import Mismatch
from lockstep.testing.target import known, make

ROOT = Path(__file__).resolve().parents[2]
#: One test in so many of the suite is compared here.
SHARE = 20


def listed(program):
    """The devices that `lockstep devices` lists, by name."""
    done = subprocess.run([program, "devices", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["devices"]}


def results(target, folder, *more):
    """Runs a share of the suite on a target; test -> its line of --lockstep-results."""
    out = folder / f"{len(list(folder.iterdir()))}.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "conformance/scapy", "--target", target, "-p",
         "no:cacheprovider", "--lockstep-profiles", "named", "--lockstep-results", out,
         "--ignore=conformance/scapy/test_live.py", "--ignore=conformance/scapy/test_targets.py",
         "-o", f"lockstep_artifacts={folder / 'left'}", *more],
        cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-2000:]
    rows = (json.loads(line) for line in out.read_text(encoding="utf-8").splitlines())
    return {row["test"]: row for row in rows}


def test_ours_is_the_same_behind_the_interface(tmp_path):
    share = ("--lockstep-share", f"3/{SHARE}")
    direct = results("stack", tmp_path, *share)
    behind = results("device:lockstep", tmp_path, *share)
    judged = {test for test, row in behind.items() if row["outcome"] != "skipped"}
    assert len(judged) >= 0.9 * len(direct) >= 80
    for test in judged:
        assert behind[test]["outcome"] == direct[test]["outcome"] == "passed"
        assert behind[test]["wire"] == direct[test]["wire"], test


@pytest.mark.parametrize("name, without", [
    ("lwip", "liblwip-dev"), ("lwip_head", "the group devices of tools/setup"),
    ("smoltcp", "the group devices of tools/setup"),
    ("gvisor", "the group devices of tools/setup"), ("libslirp", "libslirp-dev")])
def test_a_foreign_stack_is_judged_and_equal_twice(tmp_path, program, name, without):
    if name not in listed(program):
        pytest.skip(f"target device:{name}: built without {without}")
    if why := device.cannot_run(name):
        pytest.skip(why)
    share = ("--lockstep-share", f"3/{SHARE}")
    once = results(f"device:{name}", tmp_path, *share)
    assert once == results(f"device:{name}", tmp_path, *share)
    judged = [row for row in once.values() if row["outcome"] != "skipped"]
    assert len(judged) >= 0.6 * len(once)
    # It fails the tests that results.md says, and no others.
    page = json.loads((ROOT / "conformance/devices/results.json").read_text(encoding="utf-8"))
    wanted = {"conformance/scapy/" + row["test"] for row in page["differing"]
              if row["target"] == f"device:{name}" and row["outcome"] == "failed"}
    failed = {test for test, row in once.items() if row["outcome"] == "failed"}
    assert failed == wanted & set(once)


def test_linux_is_judged_and_equal_twice(tmp_path):
    if not os.environ.get("LOCKSTEP_LINUX"):
        pytest.skip("target device:linux: LOCKSTEP_LINUX names no kernel")
    share = ("--lockstep-share", f"3/{SHARE}")
    once = results("device:linux", tmp_path, *share)
    assert once == results("device:linux", tmp_path, *share)
    judged = [row for row in once.values() if row["outcome"] != "skipped"]
    assert len(judged) >= 0.85 * len(once)
    with open(ROOT / "conformance/devices/linux/differences.toml", "rb") as file:
        known = [re.compile(entry["tests"]) for entry in tomllib.load(file)["difference"]]
    failed = {test for test, row in once.items() if row["outcome"] != "passed"
              and row["outcome"] != "skipped"}
    assert {test for test in failed if not any(one.search(test) for one in known)} == set()
    assert len(failed) <= 0.25 * len(judged)


def test_scripts_have_the_verdicts_of_the_page(program):
    done = subprocess.run([sys.executable, "conformance/devices/scripts.py", "--check"], cwd=ROOT,
                          env={**os.environ, "LOCKSTEP_PROGRAM": program}, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pairs_in_random_worlds_are_equal_twice(tmp_path, program):
    devices = [name for name in ("lockstep", "lwip", "smoltcp", "gvisor")
               if name in listed(program)]
    if os.environ.get("LOCKSTEP_LINUX"):
        devices.append("linux")
    reports = []
    for jobs in ("1", "2"):
        report = tmp_path / f"{jobs}.json"
        done = subprocess.run([program, "swarm", "--seeds", "0..99", "--devices", ",".join(devices),
                               "--jobs", jobs, "--json", report], capture_output=True, text=True,
                              timeout=600)
        assert done.returncode in (0, 1), done.stderr
        reports.append(json.loads(report.read_text(encoding="utf-8")))
    assert reports[0] == reports[1]
    assert sum(pair["octets"] for pair in reports[0]["pairs"]) > 1_000_000
    assert not any(pair["left_out"] for pair in reports[0]["pairs"])
    # findings/ has what these do.
    known = ("lwip", "smoltcp", "gvisor")
    strange = [row for row in reports[0]["findings"] if row["device"] not in known]
    assert strange == []


def test_overlaps_are_those_of_the_page(tmp_path, program):
    page = (ROOT / "conformance/overlaps/results.md").read_text(encoding="utf-8")
    titles = re.search(r"^\| layer \| chunks \| (.*) \|$", page, re.MULTILINE)[1].split(" | ")
    devices = [name for name in titles if name in listed(program)
               and (name != "linux" or os.environ.get("LOCKSTEP_LINUX"))]
    for name, why in [(name, device.cannot_run(name)) for name in devices]:
        if why:
            devices.remove(name)
            print(f"left out: {why}", file=sys.stderr)
    assert "lockstep" in devices
    report = tmp_path / "overlaps.json"
    done = subprocess.run([program, "overlaps", "--devices", ",".join(devices), "--chunks", "3",
                           "--json", report], capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    results = json.loads(report.read_text(encoding="utf-8"))["results"]
    assert len(results) == 4 * len(devices)
    for result in results:
        for at, chunks in enumerate((2, 3)):
            row = re.search(rf"^\| {result['layer']} \| {chunks} \| (.*) \|$", page, re.MULTILINE)
            cell = row[1].split(" | ")[titles.index(result["device"])]
            here = result["fingerprints"][at] if "fingerprints" in result else result["left_out"]
            assert cell == here, (result["device"], result["layer"], chunks)


def test_a_device_in_python(tmp_path):
    host = "device:" + str(ROOT / "conformance/devices/closed_host.py")
    rows = results(host, tmp_path, "-k", "test_segment_arrives and ip4-CLOSED")
    assert {row["outcome"] for row in rows.values()} == {"passed"} and len(rows) >= 20
    rows = results(host, tmp_path, "-k", "test_segment_arrives and CLOSED and old and ip6")
    assert {row["words"] for row in rows.values()} == {f"target {host}: it has no IPv6"}


# --- the page "Test your own TCP" ---

#: What both examples do with conformance/scapy/test_handshake.py over IPv4, by test.
EXAMPLES_FAIL = {"test_text_on_the_third": "! ack         5                     1",
                 "test_syn_ack_again": "expected SA, seq 0, ack 1, after 1s: nothing came"}
EXAMPLES_PASS = {"test_three_ways_passive": 1, "test_old_duplicate_syn": 1,
                 "test_half_open_text": 1, "test_half_open_passive": 1, "test_fin_on_the_third": 1,
                 "test_fin_before_it_can_be": 2, "test_initial_numbers_of_others": 1,
                 "test_bad_ack_in_syn_received": 4, "test_many_at_once": 1}
EXAMPLES_SKIPPED = 35


def commands():
    """The commands of the page that test the examples, in order."""
    page = (ROOT / "conformance/devices/README.md").read_text(encoding="utf-8")
    section = page.partition("## Test your own TCP\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return next(block for block in blocks if "your_tcp" in block).splitlines()


def test_the_commands_for_your_own_tcp(tmp_path, program):
    in_python, build, in_c, scripts = commands()
    words = {"build/venv/bin/python": sys.executable, "build/release/lockstep": program,
             "build/your_tcp.so": str(tmp_path / "your_tcp.so")}

    def run(command):
        """Runs a line of the page; its files go elsewhere."""
        for old, new in words.items():
            command = command.replace(old, new)
        more = f"-p no:cacheprovider -o lockstep_artifacts={tmp_path} --lockstep-results"
        out = tmp_path / "results.jsonl"
        out.unlink(missing_ok=True)
        done = subprocess.run(
            command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=600,
            env={**os.environ, "PYTEST_ADDOPTS": f"{more} {out}"})
        rows = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
        return done, [json.loads(row) for row in rows]

    done, _ = run(build.replace("cc ", "cc -Wall -Wextra -Wconversion -Wshadow -Werror ", 1))
    assert (done.returncode, done.stderr) == (0, "")
    for command in (in_python, in_c):
        done, rows = run(command)
        assert done.returncode == 1
        found = {outcome: collections.Counter(
            re.search(r"::(\w+)", row["test"])[1] for row in rows if row["outcome"] == outcome)
            for outcome in ("passed", "failed", "skipped")}
        assert found["passed"] == EXAMPLES_PASS
        assert set(found["failed"]) == set(EXAMPLES_FAIL)
        assert sum(found["skipped"].values()) == EXAMPLES_SKIPPED
        assert all(words in done.stdout for words in EXAMPLES_FAIL.values())
        assert "requirements: 10 met, 3 broken, 23 not judged, 0 left out: " in done.stdout
        assert {row["words"].partition(" has no call ")[2] for row in rows
                if row["outcome"] == "skipped"} == {"connect", "receive", "unlisten"}
    done, _ = run(scripts)
    assert done.returncode == 1 and "2 of 16 scripts pass, 1 fail" in done.stdout, done.stdout


# --- devices that break the interface ---

HEAD = """#!{python}
import os, sys, time
sys.path[:0] = {path!r}
from lockstep.testing import device_wire as wire
OUT = os.dup(1)
class Broken(wire.Device):
    name = stack = "broken"
    abilities = "ipv4"
    def listen(self, port, backlog):
        return 1
"""


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A function that makes a device from the lines of its class, and returns its target."""
    made = []

    def go(body, tail="wire.serve(Broken)\n"):
        path = tmp_path / "broken.py"
        path.write_text(HEAD.format(python=sys.executable, path=[p for p in sys.path if p])
                        + "".join(f"    {line}\n" for line in body.splitlines()) + tail,
                        encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(device_target, "PATIENCE", 5.0)
        made.append(make(f"device:{path}", Wanted(4, 1, "rfc", {})))
        return made[-1]

    yield go
    for each in made:
        each.stop()


@pytest.mark.parametrize("body, call, words", [
    ("def advance(self, now): os.abort()\ndef deadline(self): return self.now + 5",
     "advance", "it has ended by SIGABRT"),
    ("def advance(self, now): sys.exit('no memory left')\ndef deadline(self): return self.now",
     "advance", "it has ended with exit code 1: no memory left"),
    ("def advance(self, now): time.sleep(60)\ndef deadline(self): return self.now",
     "advance", "it has not answered in 0.5 s"),
    ("def advance(self, now): self.now = 0; self.packets.append(b'E' * 40)\n"
     "def deadline(self): return self.now + 5", "advance", "its time went back by"),
    ("def advance(self, now): self.packets.append(b'E' * 70000)\n"
     "def deadline(self): return self.now + 5", "advance", "it sent a packet of 70000 octets"),
    ("def advance(self, now): pass\ndef deadline(self): return self.now",
     "advance", "it has not answered in 0.5 s"),
    ("wire.run = lambda device, until: None",
     "advance", "it stopped after 0 ns of 1000000000 without a packet"),
    ("def advance(self, now): self.packets.append(b'x')\ndef deadline(self): return self.now",
     "advance", "its time stands still after 1000 calls"),
    ("def advance(self, now): self.now = now + 10**12; self.packets.append(b'x' * 40)\n"
     "def deadline(self): return self.now + 5", "advance", "ns too far"),
    ("def packet(self, octets): os.write(OUT, b'hello, world, this is no answer at all')",
     "packet", "its answer has 1819043176 octets, expected 28 to"),
    ("def packet(self, octets):\n    if os.fork() == 0: time.sleep(60)\n    os.abort()",
     "packet", "it has ended by SIGABRT"),
])
def test_a_broken_device_is_named_with_its_call(broken, body, call, words):
    target = broken(body)
    if "0.5 s" in words:
        target._peer._patience = 0.5
    target.listen(80)
    with pytest.raises(Mismatch) as found:
        if call == "packet":
            target.send(b"E" * 40)
        else:
            target.receive(target.now() + 10**9)
    assert str(found.value).startswith("device ") and f"broken.py: {call}: " in str(found.value)
    assert words in str(found.value)


def test_what_a_device_prints_harms_nobody(broken):
    target = broken("def packet(self, octets):\n    print('p' * 200_000, flush=True)")
    target.send(b"E" * 40)
    target._peer._patience = 5.0
    assert target.receive(target.now() + 10**9) is None


def test_a_request_that_is_not_read_has_an_end(broken):
    target = broken("def packet(self, octets): time.sleep(60)")
    target._peer._patience = 0.5
    for _ in range(2):
        with pytest.raises(Mismatch, match="packet: it has not answered in 0.5 s"):
            target.send(b"E" * 300_000)


def test_the_children_of_a_device_end_with_it(broken, tmp_path):
    target = broken("def listen(self, port, backlog):\n    child = os.fork()\n"
                    "    while child == 0: time.sleep(60)\n    return child")
    target.listen(80)
    child = target._listener
    target.stop()
    for _ in range(500):
        if not Path(f"/proc/{child}").exists() or " Z " in Path(f"/proc/{child}/stat").read_text():
            return
        time.sleep(0.01)
    raise AssertionError(f"process {child} is left")


def test_a_program_that_is_no_device(tmp_path):
    with pytest.raises(Mismatch, match="about: it has ended with exit code 0"):
        make("device:/bin/true", Wanted(4, 1, "rfc", {}))
    with pytest.raises(Mismatch, match="about: .*it cannot be loaded"):
        path = tmp_path / "no.so"
        path.write_text("text", encoding="utf-8")
        make(f"device:{path}", Wanted(4, 1, "rfc", {}))


TRAP = """
#include <stdio.h>
#include "conformance/devices/device.h"
struct lockstep_device { int unused; };
static struct lockstep_device one;
static struct lockstep_device* create(const struct lockstep_device_setup* s, char* w, size_t r)
{ puts("created"); fflush(stdout); return &one; }
static void destroy(struct lockstep_device* d) {}
static void advance(struct lockstep_device* d, uint64_t now) {}
static uint64_t deadline(struct lockstep_device* d) { return LOCKSTEP_DEVICE_NEVER; }
static void packet_in(struct lockstep_device* d, const void* p, size_t n) {}
static size_t packet_out(struct lockstep_device* d, void* p, size_t n) { return 0; }
LINKAGE int64_t listen(struct lockstep_device* d, uint16_t port, uint32_t backlog) { return 7; }
const struct lockstep_device_calls* lockstep_device_entry(void) {
  static const struct lockstep_device_calls c = {
    LOCKSTEP_DEVICE_VERSION, "trap", "Trap", "ipv4", 1, 0, create, destroy, advance,
    deadline, packet_in, packet_out, listen};
  return &c;
}
"""


@pytest.mark.parametrize("linkage", ["static", ""])
def test_a_device_in_c_that_prints(tmp_path, linkage):
    source, library = tmp_path / "trap.c", tmp_path / "trap.so"
    source.write_text(TRAP, encoding="utf-8")
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-fno-builtin", f"-DLINKAGE={linkage}",
                    f"-I{ROOT}", source, "-o", library], check=True)
    if linkage:
        target = make(f"device:{library}", Wanted(4, 1, "rfc", {}))
        target.listen(80)
        assert target._listener == 7
        target.stop()
    else:
        with pytest.raises(Mismatch, match=r"its listen\(\) is that of .*libc.*: make it static"):
            make(f"device:{library}", Wanted(4, 1, "rfc", {}))


def test_a_device_that_is_not_there():
    with pytest.raises(Misuse, match="name the device, as device:lwip"):
        device_target.DeviceTarget.accepts("")
    with pytest.raises(Misuse, match="--target nowhere: no such target; there is device, linux"):
        known("nowhere")
    with pytest.raises(Misuse, match="there is no such file"):
        device_target.DeviceTarget.accepts("./nowhere.so")
    with pytest.raises(Misuse, match="device:nowhere: lockstep devices does not list it"):
        make("device:nowhere", Wanted(4, 1, "rfc", {}))
    with pytest.raises(Misuse, match="README.md: it is neither a shared library"):
        make("device:conformance/devices/README.md", Wanted(4, 1, "rfc", {}))


def test_what_a_device_cannot_do_is_left_out():
    target = make("device:lockstep", Wanted(4, 1, "rfc", {}))
    try:
        with pytest.raises(Unsupported, match="does not show colour"):
            target.inspect(target.connect(80, 5000))["colour"]
    finally:
        target.stop()
    with pytest.raises(Misuse, match="device:lockstep: .*no_such_field"):
        make("device:lockstep", Wanted(4, 1, "rfc", {"no_such_field": 1}))


def test_an_installed_device_needs_no_prefix():
    assert known("lockstep") == (device_target.DeviceTarget, "lockstep")


def test_each_finding_is_a_difference_that_was_seen():
    folder = ROOT / "conformance/devices"
    data = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    seen = {row["test"] for row in data["differing"] if row["outcome"] == "failed"}
    for page in (folder / "findings").glob("*.md"):
        named = re.findall(r"`(test_\w+\.py::[^`]+)`", page.read_text(encoding="utf-8"))
        assert len(named) >= 10 and set(named) <= seen, (page.name, set(named) - seen)


def test_the_list(program):
    rows = listed(program)
    assert rows["lockstep"]["stack"] == "Lockstep" and rows["lockstep"]["missing"] == []
    assert "deterministic" in rows["lockstep"]["abilities"]
    text = subprocess.run([program, "devices"], capture_output=True, text=True)
    assert text.returncode == 0 and "calls that it lacks" in text.stdout


def test_the_list_asks_programs(program, tmp_path):
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed/device").write_text(
        f"#!{sys.executable}\n" + (ROOT / "conformance/devices/closed_host.py").read_text("utf-8"),
        encoding="utf-8")
    (tmp_path / "ends").mkdir()
    (tmp_path / "ends/device").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    for name in ("closed", "ends"):
        (tmp_path / name / "device").chmod(0o755)
    environment = device_target.with_package({**os.environ, "LOCKSTEP_DEVICES": str(tmp_path)})
    done = subprocess.run([program, "devices", "--json"], capture_output=True, text=True,
                          env=environment)
    assert done.returncode == 1
    rows = {row["name"]: row for row in json.loads(done.stdout)["devices"]}
    assert rows["closed"]["program"] and "ipv4" in rows["closed"]["abilities"]
    assert "listen" in rows["closed"]["missing"]
    assert "it has ended with exit code 3" in rows["ends"]["wrong"]


def test_the_list_names_a_broken_one(program, tmp_path):
    (tmp_path / "bad.so").write_text("text", encoding="utf-8")
    done = subprocess.run([program, "devices"], capture_output=True, text=True,
                          env={**os.environ, "LOCKSTEP_DEVICES": str(tmp_path)})
    assert done.returncode == 1
    assert "cannot be loaded" in done.stdout.replace("\n", " ")
