# Two endpoints, a clock and a packet writer: the base of every authored scenario.
"""A script states what happens; this file computes sequence numbers, checksums and times.

Sequence numbers in scripts are relative to each side's initial one: SYN is 0, the first byte 1.
The capture is taken at the device: it contains packets lost on the way to the peer, but not packets
lost on the way to the device. The device responds without delay.
A segment written with `ignored` must have no effect on its receiver.
"""
import argparse
import inspect
import sys
from pathlib import Path

ROOM = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOM))

from scapy.layers.inet import ICMP, IP, TCP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402

from common import pcapng, scenario_file  # noqa: E402

EPOCH_NS = 1_600_000_000 * 10**9
MS = 1_000_000
MSS = 1460
MSS6 = 1440


def pattern(offset, size, salt=0):
    """`size` bytes of the stream at `offset`; any shift or exchange of bytes is detectable."""
    return bytes((position * 31 + position // 256 + salt) % 251
                 for position in range(offset, offset + size))


class Endpoint:
    """One side: its address, the next number to send, and the ranges received."""

    def __init__(self, address, port, mac, isn, salt):
        self.address, self.port, self.mac, self.isn, self.salt = address, port, mac, isn, salt
        self.window, self.send_next, self.receive_next, self.early = 65535, 0, 0, []

    def take(self, seq, size):
        """Receive [seq, seq + size) and advance over everything that is now in order."""
        self.early.append((seq, seq + size))
        for begin, end in sorted(self.early):
            if begin <= self.receive_next < end:
                self.receive_next = end


class Scenario:
    """A scenario being written. Times are in milliseconds; packets count from 1."""

    def __init__(self, slug, title, shows, origin, role="passive", config=None,
                 device_isn=0xFFFFFC00, peer_isn=0xFFFFF800, rtt=10, ipv6=False):
        self.slug, self.title, self.shows, self.origin = slug, title, shows, origin
        self.role, self.config, self.rtt = role, config or {}, rtt
        ports = (40000, 80) if role == "active" else (80, 40000)
        self.ipv6, self.mss = ipv6, MSS6 if ipv6 else MSS
        near, far = ("2001:db8::1", "2001:db8::2") if ipv6 else ("10.0.0.1", "10.0.0.2")
        self.dev = Endpoint(near, ports[0], "02:00:00:00:00:01", device_isn, 0)
        self.far = Endpoint(far, ports[1], "02:00:00:00:00:02", peer_isn, 7)
        self.now_ns, self.packets, self.calls, self.twins = 0, [], [], []
        self.stamped_ns = 0

    def wait(self, milliseconds):
        """Advance the time."""
        self.now_ns += round(milliseconds * MS)

    def at(self, milliseconds):
        """Continue at this instant of the capture, which must not be in the past."""
        assert milliseconds * MS >= self.now_ns, f"{self.slug}: {milliseconds} ms is past"
        self.now_ns = round(milliseconds * MS)

    def restart_peer(self, isn):
        """The peer restarts with another initial sequence number, without telling the device."""
        self.far.isn, self.far.send_next = isn, 0
        self.dev.receive_next, self.dev.early = 0, []

    def restart_device(self, isn):
        """The device restarts with another initial sequence number, without telling the peer."""
        self.dev.isn, self.dev.send_next = isn, 0
        self.far.receive_next, self.far.early = 0, []

    @property
    def ms(self):
        """The current instant of the capture."""
        return self.now_ns / MS

    def call(self, do, size=None):
        """The device's application makes a call now: directly after a packet, or at a time."""
        entry = {"after_packet": len(self.packets)}
        if self.packets and self.now_ns != self.stamped_ns:
            entry = {"at": scenario_file.time_text(self.now_ns)}
        entry["do"] = do
        if size is not None:
            entry["bytes"] = size
        self.calls.append(entry)

    def peer(self, flags, data=0, after=None, **fields):
        """The peer's segment arrives after `after` milliseconds (None: one round trip)."""
        self.wait(self.rtt if after is None else after)
        return self._segment(self.far, self.dev, flags, data, **fields)

    def device(self, flags, data=0, after=0, **fields):
        """The device must send this now, or after `after` milliseconds."""
        self.wait(after)
        return self._segment(self.dev, self.far, flags, data, **fields)

    def _segment(self, sender, target, flags, data, seq=None, ack=None, win=None, mss=None,
                 urg=0, lost=False, ignored=False, payload=None, options=None, pad=0,
                 reserved=0, note=""):
        seq = sender.send_next if seq is None else seq
        ack = sender.receive_next if ack is None else ack
        payload = pattern(seq, data, sender.salt) if payload is None else payload
        sender.window = sender.window if win is None else win
        length = len(payload) + ("S" in flags) + ("F" in flags)
        options = [("MSS", mss)] if mss else options or []
        header = TCP(sport=sender.port, dport=target.port, flags=flags, window=sender.window,
                     seq=(sender.isn + seq) % 2**32, urgptr=urg, options=options,
                     reserved=reserved, ack=(target.isn + ack) % 2**32 if "A" in flags else 0)
        outer = (IPv6(src=sender.address, dst=target.address, hlim=64) if self.ipv6 else
                 IP(src=sender.address, dst=target.address, id=0, flags="DF", ttl=64))
        frame = Ether(src=sender.mac, dst=target.mac) / outer / header / payload
        frame = bytes(frame)
        if not (lost or ignored or "R" in flags):
            target.take(seq, length)
        if not (ignored or "R" in flags):
            sender.send_next = max(sender.send_next, seq + length)
        if lost and sender is self.far:
            return 0
        self.stamped_ns = self.now_ns
        frame += bytes(max(0, pad - len(frame)))
        self.packets.append(pcapng.Packet(EPOCH_NS + self.now_ns, frame, note))
        return len(self.packets)

    def icmp(self, kind, code, about, after=None, note=""):
        """A router's ICMP error about the device's packet number `about` arrives."""
        self.wait(self.rtt if after is None else after)
        quoted = self.packets[about - 1].frame[14 : 14 + 28]
        frame = (Ether(src="02:00:00:00:00:fe", dst=self.dev.mac)
                 / IP(src="10.0.0.254", dst=self.dev.address, id=0, flags="DF", ttl=64)
                 / ICMP(type=kind, code=code) / quoted)
        self.stamped_ns = self.now_ns
        self.packets.append(pcapng.Packet(EPOCH_NS + self.now_ns, bytes(frame), note))
        return len(self.packets)

    def listen_and_accept(self, peer_mss="same", win=65535):
        """Packets 1 to 3: the three-way handshake, the device on the passive side."""
        self.call("listen")
        self.far.window = win
        self.peer("S", after=0, mss=self.mss if peer_mss == "same" else peer_mss)
        self.device("SA", mss=self.mss)
        return self.peer("A")

    def open_and_connect(self, peer_mss="same", win=65535):
        """Packets 1 to 3: the three-way handshake, the device on the active side."""
        self.call("open")
        self.far.window = win
        self.device("S", mss=self.mss)
        self.peer("SA", mss=self.mss if peer_mss == "same" else peer_mss)
        return self.device("A")

    def device_gone(self, after=10, seq=None, ack=None):
        """Prove that the device has forgotten the connection: an ACK must draw a reset."""
        seq = self.far.send_next if seq is None else seq
        ack = self.far.receive_next if ack is None else ack
        self.peer("A", after=after, seq=seq, ack=ack, note="a probe: is the connection forgotten?")
        reset = self.device("R", seq=ack, note="<SEQ=SEG.ACK><CTL=RST>")
        state = "LISTEN" if any(call["do"] == "listen" for call in self.calls) else "CLOSED"
        self.twin_lacks(f"9293:P-{state}-ACK", reset)
        self.twin_shifts(f"9293:P-{state}-ACK", reset, "seq", 1)

    def twin(self, clause, **edit):
        """An edit of a packet of the device after which the capture must be judged to violate
        `clause`.
        """
        self.twins.append({"clause": clause, "edit": edit})

    def twin_lacks(self, clause, packet):
        """The twin in which the device did not send this packet."""
        self.twin(clause, packet=packet, drop=True)

    def twin_shifts(self, clause, packet, field, add):
        """The twin in which a number of this packet is changed."""
        self.twin(clause, packet=packet, field=field, add=add)

    def twin_adds(self, clause, after, flags, **numbers):
        """The twin in which the device sent one more packet after this one."""
        self.twin(clause, after_packet=after, insert={"from": "device", "flags": flags, **numbers})

    def write(self, room, made_by):
        """Write the scenario's folder below `room`."""
        assert self.twins, f"{self.slug} has no twin"
        head = {"title": self.title, "shows": self.shows, "origin": self.origin,
                "made_by": made_by}
        device = {"address": self.dev.address, "port": self.dev.port, "role": self.role,
                  "profile": "rfc"}
        text = scenario_file.toml(head, device, self.config, self.calls, self.twins)
        scenario_file.write(room / self.slug, text, self.packets)


def scenarios_of(module):
    """Run every scenario function of a script: those whose names begin with `scenario_`."""
    for name, function in vars(module).items():
        if name.startswith("scenario_") and inspect.isfunction(function):
            made = function()
            yield from made if isinstance(made, list) else [made]


def main():
    """Write the scenarios of the calling script, into pcaps/ or the folder given."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--into", type=Path, default=ROOM, help="folder to write to")
    into = parser.parse_args().into
    if not into.is_dir():
        parser.error(f"--into {into} is not a folder; make it first")
    script = Path(sys.argv[0]).name
    for scenario in scenarios_of(sys.modules["__main__"]):
        scenario.write(into, f"pcaps/author/{script}")
        print(f"{scenario.slug}: {len(scenario.packets)} packets")
