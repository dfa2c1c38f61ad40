# Two hosts in network namespaces, joined by TAPs through a wire on which the script makes faults.
"""The namespaces have no names, so they end with the process that made them, however it ends.

The capture is taken at the device's TAP, which has no offloads: every frame has its own checksum
and the size that it would have on a wire. One thread forwards all frames, so the order is certain.
"""
import ctypes
import fcntl
import heapq
import os
import select
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from common import frames, pcapng  # noqa: E402

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
LIBC = ctypes.CDLL(None, use_errno=True)
PLAIN = {"tcp_sack": 0, "tcp_timestamps": 0, "tcp_window_scaling": 0, "tcp_ecn": 0, "tcp_frto": 0,
         "tcp_no_metrics_save": 1, "tcp_congestion_control": "reno", "tcp_syn_linear_timeouts": 0,
         "tcp_invalid_ratelimit": 0}


def in_namespace(descriptor):
    """Move this thread into a network namespace."""
    if LIBC.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def ip(*words):
    """Run ip(8) in the current namespace."""
    subprocess.run(["ip", *words], check=True)


def sysctl(name, value=None):
    """Read an IPv4 setting of the current namespace, or write it."""
    path = Path("/proc/sys/net/ipv4") / name
    if value is not None:
        path.write_text(str(value))
    return path.read_text().strip()


class Host:
    """A kernel in a namespace of its own with one interface, a TAP whose other end the script
    holds.
    """

    def __init__(self, number, settings, ipv6=False):
        other = 3 - number
        if LIBC.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        self.namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        net, bits = ("2001:db8::", 64) if ipv6 else ("10.0.0.", 24)
        self.address, self.mac = f"{net}{number}", f"02:00:00:00:00:0{number}"
        self.tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.tap, TUNSETIFF, struct.pack("16sH22x", b"tap0", IFF_TAP | IFF_NO_PI))
        for name in ("all", "default", "tap0"):
            room = Path("/proc/sys/net/ipv6/conf") / name
            (room / "disable_ipv6").write_text("0" if ipv6 else "1")
            (room / "accept_dad").write_text("0")
            (room / "router_solicitations").write_text("0")
        ip("link", "set", "dev", "lo", "up")
        ip("link", "set", "dev", "tap0", "address", self.mac)
        ip("address", "add", f"{self.address}/{bits}", "dev", "tap0",
           *(["nodad"] if ipv6 else []))
        ip("link", "set", "dev", "tap0", "up")
        ip("neigh", "replace", f"{net}{other}", "lladdr", f"02:00:00:00:00:0{other}",
           "dev", "tap0", "nud", "permanent")
        for name, value in settings.items():
            sysctl(name, value)
        self.congestion_control = sysctl("tcp_congestion_control")


@dataclass
class Late:
    """A verdict on a frame: it is delayed by this many milliseconds."""

    ms: int


@dataclass
class TooBig:
    """A verdict on a frame: a router drops packets above this size, and reports the limit."""

    mtu: int


def is_kept(frame):
    """Whether to capture a frame: TCP, and "packet too big" about it."""
    kind = frames.protocol(frame)
    types = {frames.ICMP: 3, frames.ICMP6: 2}
    return kind == frames.TCP or frame[54 if frames.is_ipv6(frame) else 34] == types.get(kind)


class Wire:
    """The device, an optional kernel as its peer, the path between them, and the capture."""

    def __init__(self, settings, kernel_peer=True, delay_ms=10, fault=None, ipv6=False,
                 peer_settings=None):
        self.device = Host(1, settings, ipv6)
        other = {**settings, **(peer_settings or {})}
        self.peer = Host(2, other, ipv6) if kernel_peer else None
        self.delay_ns, self.fault = delay_ms * 1_000_000, fault
        self.packets, self.counts, self.heap, self.number = [], {1: 0, 2: 0}, [], 0
        self.inbox, self.lock, self.running = [], threading.Condition(), True
        self.held = []  # [frames to go, side, frame]: overtaken by so many of the same side
        self.thread = threading.Thread(target=self._forward, daemon=True)
        self.thread.start()

    def as_device(self):
        """Make further sockets in the device's namespace."""
        in_namespace(self.device.namespace)

    def as_peer(self):
        """Make further sockets in the peer's namespace."""
        in_namespace(self.peer.namespace)

    def stop(self):
        """End forwarding; the namespaces end with the process."""
        self.running = False
        self.thread.join()

    def inject(self, frame):
        """A scripted peer sends a frame, which reaches the device at once."""
        with self.lock:
            self._capture(frame)
            os.write(self.device.tap, frame)
            self._drain(self.device.tap, 1)

    def _capture(self, frame):
        if is_kept(frame):
            now = time.time_ns()
            last = self.packets[-1].time_ns if self.packets else 0
            self.packets.append(pcapng.Packet(max(now, last), frame))

    def _arrived(self, side, frame):
        """A frame left host 1 or 2: forward it, or apply the fault's verdict.

        "drop": it is lost; an integer: this many others overtake it; a Late: it is delayed; "mark":
        a congested router marks it; a TooBig: a router drops it and reports the limit.
        """
        if frames.protocol(frame) != frames.TCP:
            return
        self.counts[side] += 1
        segment = frames.parse(self.counts[side], pcapng.Packet(time.time_ns(), frame))
        verdict = self.fault(side, segment) if self.fault else None
        if side == 1:
            self._capture(frame)
        if self.peer is None:
            self.inbox.append(segment)
            self.lock.notify_all()
        elif isinstance(verdict, int):
            self.held.append([verdict, side, frame])
        elif isinstance(verdict, TooBig):
            router = "2001:db8::fe" if frames.is_ipv6(frame) else "10.0.0.254"
            macs = f"02:00:00:00:00:0{3 - side}", f"02:00:00:00:00:0{side}"
            self._send(3 - side, frames.too_big(frame, router, macs, verdict.mtu))
        elif verdict != "drop":
            self._send(side, frames.marked(frame) if verdict == "mark" else frame,
                       verdict.ms * 1_000_000 if isinstance(verdict, Late) else 0)
            self._release(side)

    def _send(self, side, frame, extra_ns=0):
        """Put a frame on its way."""
        self.number += 1
        due = time.monotonic_ns() + self.delay_ns + extra_ns
        heapq.heappush(self.heap, (due, self.number, side, frame))

    def _release(self, side):
        """Count one more frame of this side that overtook the held ones; release those that are
        due.
        """
        for entry in [entry for entry in self.held if entry[1] == side]:
            entry[0] -= 1
            if entry[0] == 0:
                self.held.remove(entry)
                self._send(side, entry[2])

    def _deliver(self):
        """Deliver the next frame that is due, if any."""
        if self.heap and self.heap[0][0] <= time.monotonic_ns():
            _, _, side, frame = heapq.heappop(self.heap)
            if side == 2:
                self._capture(frame)
            os.write((self.peer if side == 1 else self.device).tap, frame)

    def _drain(self, tap, side):
        """Read everything that a host has sent, so that the capture shows cause before effect."""
        try:
            while True:
                self._arrived(side, os.read(tap, 65536))
        except BlockingIOError:
            pass

    def _forward(self):
        taps = {self.device.tap: 1, **({self.peer.tap: 2} if self.peer else {})}
        while self.running:
            with self.lock:
                self._deliver()
                for tap, side in taps.items():
                    self._drain(tap, side)
                due = self.heap[0][0] - time.monotonic_ns() if self.heap else 50_000_000
            wait = max(0, due) / 1e9
            select.select(list(taps), [], [], wait)
