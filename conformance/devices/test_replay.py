# `lockstep replay --device NAME`: another TCP in place of a side of a capture.
"""The captures are recordings of Linux. Devices that are not there are left out."""
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from dev.test import device


ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ["rfc9293-3.10-linux-overlap-received", "rfc2018-4-linux-gap-reported",
            "rfc9293-3.10.7.4-linux-time-wait", "rfc8200-8.1-linux-refused"]
#: A device in Python: the example of `sim/examples/your_tcp`, changed.
HEAD = """#!{python}
import os, sys
sys.path[:0] = {path!r}
import your_tcp
from lockstep.testing import device_wire

class Changed(your_tcp.YourTcp):
    name = "changed"
"""


def replay(program, *words):
    """The exit code, what was printed, and the errors."""
    done = subprocess.run([program, "replay", *map(str, words)], cwd=ROOT, capture_output=True,
                          text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def capture(name):
    return ROOT / "pcaps" / name / "capture.pcapng"


@pytest.fixture
def changed(tmp_path):
    """A function that makes a device from the lines of its class."""
    def make(body):
        path = tmp_path / "changed.py"
        places = [str(ROOT / "sim/examples/your_tcp"), *(each for each in sys.path if each)]
        path.write_text(HEAD.format(python=sys.executable, path=places)
                        + "".join(f"    {line}\n" for line in body.splitlines())
                        + "\ndevice_wire.serve(Changed)\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path
    return make


@pytest.mark.parametrize("name", ["lockstep", "lwip", "smoltcp", "gvisor", "libslirp", "linux"])
def test_a_device_is_judged_and_does_the_same_again(tmp_path, program, name):
    listed = json.loads(subprocess.run([program, "devices", "--json"], capture_output=True,
                                       text=True).stdout)["devices"]
    if name not in {row["name"] for row in listed} or (
            name == "linux" and not os.environ.get("LOCKSTEP_LINUX")):
        pytest.skip(f"device {name} is not there")
    if why := device.cannot_run(name):
        pytest.skip(why)
    judged = 0
    for each in CAPTURES:
        files = [tmp_path / f"{number}.pcapng" for number in (1, 2)]
        first, second = (replay(program, capture(each), "--device", name, "--pcapng", file)
                         for file in files)
        assert first == second and first[0] == 0 and first[2] == "", first
        assert files[0].read_bytes() == files[1].read_bytes()
        assert f" ({name}) and " in first[1]
        judged += first[1].count(": agrees") + first[1].count(": differs, allowed")
    assert judged >= len(CAPTURES) + 2  # of the eight sides


def test_what_it_sent_is_in_the_capture_that_is_written(tmp_path, program):
    file, report = tmp_path / "play.pcapng", tmp_path / "play.json"
    code, _, _ = replay(program, capture(CAPTURES[0]), "--device", "10.0.0.1:5000", "--device",
                        "lockstep", "--pcapng", file, "--json", report)
    assert code == 0
    (flow,) = json.loads(report.read_text(encoding="utf-8"))["flows"]
    assert (flow["device"], flow["played_by"]) == ("10.0.0.1:5000", "lockstep")
    code, text, _ = replay(program, file, "--device", "10.0.0.1:5000")
    assert code == 0 and f"10.0.0.1:5000 (device) and 10.0.0.2:6000: {flow['verdict']}" in text


LIES = {
    "an ACK of what was never sent": (
        "def send_segment(self, ports, seq, ack, flags, options=b''):\n"
        "    more = 1000 if flags == 16 else 0\n"
        "    super().send_segment(ports, seq, ack + more, flags, options)"),
    "timestamps that nobody offered": (
        "def send_segment(self, ports, seq, ack, flags, options=b''):\n"
        "    more = b'\\1\\1\\10\\12' + b'\\0' * 8 if flags == 16 else options\n"
        "    super().send_segment(ports, seq, ack, flags, more)"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_violation_is_found(program, changed, lie):
    code, text, _ = replay(program, capture(CAPTURES[0]), "--device", changed(LIES[lie]),
                           "--device", "10.0.0.1:5000")
    assert code == 1 and "(changed) and 10.0.0.2:6000: violates" in text, text


@pytest.mark.parametrize("body, words", [
    ("def packet(self, octets): os.abort()", "packet: it has ended by SIGABRT"),
    ("def packet(self, octets): sys.exit('no memory left')",
     "packet: it has ended with exit code 1: no memory left"),
    ("def packet(self, octets): self.packets.append(b'E' * 70000)",
     "packet: packet 1 of the 1 in its answer has 70000 octets"),
    ("def receive(self, connection, most): return b'x'",
     "receive: it has returned more octets than the peer has sent"),
    ("def advance(self, now): self.packets.append(b'E' * 40)\n"
     "def deadline(self): return self.now", "advance: the play did not settle"),
])
def test_a_device_that_breaks_its_interface_ends_one_side(program, changed, body, words):
    path = changed(body)
    code, text, _ = replay(program, capture(CAPTURES[0]), "--device", path)
    assert code == 1 and f"cannot tell: device changed: {words}" in text, text
    assert "10.0.0.2:6000 (changed) and 10.0.0.1:5000: cannot tell" in text


def test_a_device_that_takes_more_than_it_was_given_ends_one_side(program, changed):
    path = changed("def send(self, connection, octets): return 10**9\n"
                   "def finish(self, connection): return 0")
    for name in CAPTURES + ["rfc3042-2-linux-limited-transmit"]:
        code, text, _ = replay(program, capture(name), "--device", path)
        if code:
            assert "cannot tell: device changed: send: it took 1000000000 of " in text
            return
    raise AssertionError("no capture made the device send")


def test_a_device_that_sends_nothing_is_said_to(program, changed):
    path = changed("def connect(self, local_port, remote_port): return 1\n"
                   "def receive(self, connection, most): return -3")
    _, text, _ = replay(program, capture(CAPTURES[0]), "--device", path, "--device", "10.0.0.2")
    assert "cannot tell: neither side sent anything" in text, text


@pytest.mark.parametrize("words, said", [
    (["nothing"], "device nothing: there is none of this name"),
    (["10.0.0.300"], "--device 10.0.0.300: expected an address"),
    (["lockstep", "lwip"], "--device lwip: there is already one"),
    (["10.0.0.1", "10.0.0.2"], "--device 10.0.0.2: there is already one"),
    (["10.9.9.9", "lockstep"], "no TCP segment from or to 10.9.9.9"),
])
def test_what_cannot_be_meant_is_refused_in_a_line(program, words, said):
    given = [each for word in words for each in ("--device", word)]
    code, _, errors = replay(program, capture(CAPTURES[0]), *given)
    assert code == 2 and said in errors and errors.count("\n") == 1, errors
