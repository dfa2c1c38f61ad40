# A device is copied in the middle of a connection: each copy does what a device that was never
# copied would have done, and knows nothing of the others.
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP

from lockstep.testing import Misuse, Unsupported, Wanted, tap_target
from lockstep.testing.target import make

S = 10**9
#: Those that say they can be copied. gVisor's process has threads.
ABLE = ("lockstep", "lwip", "lwip_head", "smoltcp", "ns3", "linux")


@pytest.fixture(scope="module", autouse=True)
def program():
    """The program lockstep, or a skip."""
    try:
        return tap_target.program()
    except Unsupported as why:
        pytest.skip(str(why))


class Talk:
    """A client that speaks to port 80 of a target, and all that the target sent."""

    def __init__(self, target, client=40_000):
        self.target, self.client, self.next, self.ack = target, client, 1_000, 0
        self.heard = []

    def segment(self, flags, data=b"", options=()):
        """Sends a segment."""
        header = TCP(sport=self.client, dport=80, seq=self.next, ack=self.ack, flags=flags,
                     window=65_000, options=list(options))
        self.target.send(bytes(IP(src=self.target.remote, dst=self.target.local) / header / data))
        self.next += len(data) + ("S" in flags) + ("F" in flags)

    def listen_for(self, seconds):
        """Lets time pass; notes each packet and its time, and what it acknowledges and brings."""
        until = self.target.now() + seconds * S
        while (one := self.target.receive(until)) is not None:
            packet = IP(one.packet)
            self.heard.append((one.at, bytes(one.packet)))
            self.ack = packet[TCP].seq + len(packet[TCP].payload) + ("S" in str(packet[TCP].flags))

    def open(self):
        """The handshake; the connection."""
        self.target.listen(80)
        self.segment("S", options=[("MSS", 1460)])
        self.listen_for(1)
        self.segment("A")
        self.listen_for(1)
        return self.target.accept()


def goes_on(talk, connection, way):
    """What follows after the point of the copy: one of several ways."""
    if way == "silence":
        talk.target.write(connection, bytes(range(100)))
        talk.listen_for(20)
    elif way == "reset":
        talk.segment("R")
        talk.listen_for(1)
        talk.segment("A")
        talk.listen_for(1)
    else:
        talk.segment("PA", b"question")
        talk.listen_for(1)
        assert talk.target.read(connection, 100) == b"question"
        talk.target.write(connection, b"answer")
        talk.listen_for(0)
        talk.segment("FA")
        talk.listen_for(5)
    return talk.heard


WAYS = ("silence", "reset", "data")


def never_copied(name, way):
    """What a device says on one of the ways."""
    target = make(f"device:{name}", Wanted(4, 7, "rfc", {}))
    try:
        talk = Talk(target)
        return goes_on(talk, talk.open(), way)
    finally:
        target.stop()


def copies_of(copies):
    """A copy of each copy; none for a kernel of the first kind, which can make no more."""
    out = []
    for way, talk in copies:
        try:
            copy = Talk(talk.target.branch())
        except Unsupported:
            assert talk.target.name == "device:linux" and not out
            return []
        copy.next, copy.ack, copy.heard = talk.next, talk.ack, list(talk.heard)
        out.append((way, copy))
    return out


@pytest.mark.parametrize("name", ABLE)
def test_copies_are_equal_to_a_device_that_was_never_copied(name):
    if name == "linux" and not os.environ.get("LOCKSTEP_LINUX"):
        pytest.skip("target device:linux: LOCKSTEP_LINUX names no kernel")
    try:
        target = make(f"device:{name}", Wanted(4, 7, "rfc", {}))
    except (Misuse, Unsupported) as why:
        pytest.skip(f"target device:{name}: {why}")
    wanted = {way: never_copied(name, way) for way in WAYS}
    assert len({str(heard) for heard in wanted.values()}) == len(WAYS)
    try:
        talk = Talk(target)
        connection = talk.open()
        copies = []
        for way in (*WAYS, *WAYS):  # all copies live at once
            copy = Talk(target.branch())
            copy.next, copy.ack, copy.heard = talk.next, talk.ack, list(talk.heard)
            copies.append((way, copy))
        copies += copies_of(copies)
        for way, copy in reversed(copies):
            assert goes_on(copy, connection, way) == wanted[way], way
            copy.target.stop()
        assert goes_on(talk, connection, "data") == wanted["data"]
    finally:
        target.stop()


def test_a_device_that_cannot_be_copied_says_so():
    host = Path(__file__).with_name("closed_host.py")
    target = make(f"device:{host}", Wanted(4, 7, "rfc", {}))
    try:
        with pytest.raises(Unsupported, match="closed_host.py cannot be copied"):
            target.branch()
        # It goes on.
        assert target.receive(target.now() + S) is None
    finally:
        target.stop()


def test_copies_end_with_the_tests():
    code = ("import sys; sys.path[:0] = sys.argv[1].split(':')\n"
            "from lockstep.testing import Wanted, device_target\n"
            "from lockstep.testing.target import make\n"
            "target = make('device:lockstep', Wanted(4, 7, 'rfc', {}))\n"
            "kept = [target.branch() for _ in range(3)]\n"
            "print(target._process.pid, flush=True)\n")
    done = subprocess.run([sys.executable, "-c", code, ":".join(filter(None, sys.path))],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    group = int(done.stdout)
    # Their input has ended with the process that held it; they need not be killed.
    found = subprocess.run(["pgrep", "-g", str(group)], capture_output=True, text=True).stdout
    for process in map(int, found.split()):
        try:
            ended = os.pidfd_open(process)
        except ProcessLookupError:
            continue
        assert select.select([ended], [], [], 20)[0], f"process {process} is left"
        os.close(ended)
