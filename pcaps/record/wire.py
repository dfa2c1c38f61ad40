# The wire between two hosts: its delay, the faults that a script makes on it, and the capture.
"""What both worlds share. `network` has hosts and a clock in real time, `virtual` in virtual time.

The capture is taken at the device: what it sends is captured there, what it gets when it arrives.
"""
import heapq
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from common import frames, pcapng  # noqa: E402

PLAIN = {"tcp_sack": 0, "tcp_timestamps": 0, "tcp_window_scaling": 0, "tcp_ecn": 0, "tcp_frto": 0,
         "tcp_no_metrics_save": 1, "tcp_congestion_control": "reno", "tcp_syn_linear_timeouts": 0,
         "tcp_invalid_ratelimit": 0}


@dataclass
class Late:
    """A verdict on a frame: it is delayed by this many nanoseconds."""

    ns: int


@dataclass
class TooBig:
    """A verdict on a frame: a router drops packets above this size, and reports the limit."""

    mtu: int


def mac_of(number):
    """The MAC address of host 1 or 2."""
    return f"02:00:00:00:00:0{number}"


def is_kept(frame):
    """Whether to capture a frame: TCP, and "packet too big" about it."""
    kind = frames.protocol(frame)
    types = {frames.ICMP: 3, frames.ICMP6: 2}
    return kind == frames.TCP or frame[54 if frames.is_ipv6(frame) else 34] == types.get(kind)


class Wire:
    """The device (host 1), an optional kernel as its peer (host 2), and the path between them.

    A world adds the clock and the hosts: `now_ns`, `clock_ns`, `until`, `pause`, `inject`, `stop`,
    `as_device`, `as_peer`, `socket`, `kernel` and `put`.
    """

    virtual = False  # whether time is virtual
    frame_ns = 0  # the time from one frame to the next in one direction, at least

    def __init__(self, delay_ms, fault):
        self.device, self.peer = None, None
        self.delay_ns, self.fault = delay_ms * 1_000_000, fault
        self.packets, self.counts, self.number = [], {1: 0, 2: 0}, 0
        self.ways = {1: [], 2: []}  # by side that sent: a heap of (due, number, frame)
        self.free = {1: 0, 2: 0}  # when the next frame can arrive, whatever is due
        self.inbox = []  # the device's segments that a scripted peer has not taken yet
        self.held = []  # [frames to go, side, frame]: overtaken by so many of the same side

    def now_ns(self):
        """Nanoseconds since the epoch."""
        raise NotImplementedError

    def clock_ns(self):
        """Nanoseconds of the clock by which frames are delayed, which is never set."""
        raise NotImplementedError

    def put(self, host, frame):
        """A frame arrives at a host."""
        raise NotImplementedError

    def capture(self, frame):
        """Keep a frame with the current time."""
        if is_kept(frame):
            last = self.packets[-1].time_ns if self.packets else 0
            self.packets.append(pcapng.Packet(max(self.now_ns(), last), frame))

    def arrived(self, side, frame):
        """A frame left host 1 or 2: forward it, or apply the fault's verdict.

        "drop": it is lost; an integer: this many others overtake it; a Late: it is delayed; "mark":
        a congested router marks it; a TooBig: a router drops it and reports the limit.
        """
        if frames.protocol(frame) != frames.TCP:
            return
        self.counts[side] += 1
        segment = frames.parse(self.counts[side], pcapng.Packet(self.now_ns(), frame))
        verdict = self.fault(side, segment) if self.fault else None
        if side == 1:
            self.capture(frame)
        if self.peer is None:
            self.inbox.append(segment)
        elif isinstance(verdict, int):
            self.held.append([verdict, side, frame])
        elif isinstance(verdict, TooBig):
            router = "2001:db8::fe" if frames.is_ipv6(frame) else "10.0.0.254"
            macs = mac_of(3 - side), mac_of(side)
            self._send(3 - side, frames.too_big(frame, router, macs, verdict.mtu))
        elif verdict != "drop":
            self._send(side, frames.marked(frame) if verdict == "mark" else frame,
                       verdict.ns if isinstance(verdict, Late) else 0)
            self._release(side)

    def _send(self, side, frame, extra_ns=0):
        """Put a frame on its way."""
        self.number += 1
        due = self.clock_ns() + self.delay_ns + extra_ns
        heapq.heappush(self.ways[side], (due, self.number, frame))

    def _release(self, side):
        """Count one more frame of this side that overtook the held ones; release those that are
        due.
        """
        for entry in [entry for entry in self.held if entry[1] == side]:
            entry[0] -= 1
            if entry[0] == 0:
                self.held.remove(entry)
                self._send(side, entry[2])

    def next_arrival(self):
        """When and from which side the next frame arrives; None if none is on its way."""
        return min(((max(way[0][0], self.free[side]), side)
                    for side, way in self.ways.items() if way), default=None)

    def deliver(self):
        """Deliver the next frame if it is due; whether one was."""
        due, side = self.next_arrival() or (None, None)
        if due is None or due > self.clock_ns():
            return False
        frame = heapq.heappop(self.ways[side])[2]
        self.free[side] = due + self.frame_ns
        if side == 2:
            self.capture(frame)
        self.put(self.peer if side == 1 else self.device, frame)
        return True
