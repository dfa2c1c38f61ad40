# Two hosts in network namespaces, joined by TAPs through a wire on which the script makes faults.
"""The real world. The namespaces have no names, so they end with the process that made them.

The capture is taken at the device's TAP, which has no offloads: every frame has its own checksum
and the size that it would have on a wire. One thread forwards all frames, so the order is certain.
"""
import ctypes
import fcntl
import os
import platform
import select
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

import wire

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
LIBC = ctypes.CDLL(None, use_errno=True)
NEEDED = "run it as root on Linux with /dev/net/tun and ip(8) (Debian package iproute2)"


def missing():
    """What this machine lacks for recording, and the mend; or an empty string."""
    fault = ""
    if os.geteuid() != 0:
        fault = "not root"
    elif not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        fault = "/dev/net/tun is not there"
    elif not any(Path(folder, "ip").exists() for folder in os.environ.get("PATH", "").split(":")):
        fault = "ip(8) is not there"
    return f"{fault}; {NEEDED}, or give --device linux" if fault else ""


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
        self.tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.tap, TUNSETIFF, struct.pack("16sH22x", b"tap0", IFF_TAP | IFF_NO_PI))
        for name in ("all", "default", "tap0"):
            room = Path("/proc/sys/net/ipv6/conf") / name
            (room / "disable_ipv6").write_text("0" if ipv6 else "1")
            (room / "accept_dad").write_text("0")
            (room / "router_solicitations").write_text("0")
        ip("link", "set", "dev", "lo", "up")
        ip("link", "set", "dev", "tap0", "address", wire.mac_of(number))
        ip("address", "add", f"{net}{number}/{bits}", "dev", "tap0",
           *(["nodad"] if ipv6 else []))
        ip("link", "set", "dev", "tap0", "up")
        ip("neigh", "replace", f"{net}{other}", "lladdr", wire.mac_of(other),
           "dev", "tap0", "nud", "permanent")
        for name, value in settings.items():
            sysctl(name, value)
        self.congestion_control = sysctl("tcp_congestion_control")


class Wire(wire.Wire):
    """Both hosts, and the thread that forwards their frames."""

    def __init__(self, settings, kernel_peer=True, delay_ms=10, fault=None, ipv6=False,
                 peer_settings=None):
        super().__init__(delay_ms, fault)
        self.device = Host(1, settings, ipv6)
        other = {**settings, **(peer_settings or {})}
        self.peer = Host(2, other, ipv6) if kernel_peer else None
        self.lock, self.running = threading.Condition(), True
        self.thread = threading.Thread(target=self._forward, daemon=True)
        self.thread.start()

    def now_ns(self):
        """The system's clock, for times in the capture."""
        return time.time_ns()

    def clock_ns(self):
        """The clock for delays."""
        return time.monotonic_ns()

    def until(self, test, seconds):
        """Wait until `test` returns something; return that, or None when the time is over."""
        end = time.monotonic() + seconds
        with self.lock:
            while time.monotonic() < end:
                found = test()
                if found is not None:
                    return found
                self.lock.wait(0.05)
        return None

    def pause(self, seconds):
        """Let time pass."""
        time.sleep(seconds)

    def as_device(self):
        """Make further sockets in the device's namespace."""
        in_namespace(self.device.namespace)

    def as_peer(self):
        """Make further sockets in the peer's namespace."""
        in_namespace(self.peer.namespace)

    def socket(self, ipv6):
        """A TCP socket of the current host."""
        return socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET)

    def kernel(self):
        """The version of the kernel."""
        return platform.release().split("-")[0]

    def stop(self):
        """End forwarding; the namespaces end with the process."""
        self.running = False
        self.thread.join()

    def inject(self, frame):
        """A scripted peer sends a frame, which reaches the device at once."""
        with self.lock:
            self.capture(frame)
            self.put(self.device, frame)
            self._drain(self.device.tap, 1)

    def put(self, host, frame):
        """A frame arrives at a host."""
        os.write(host.tap, frame)

    def _drain(self, tap, side):
        """Read everything that a host has sent, so that the capture shows cause before effect."""
        try:
            while True:
                self.arrived(side, os.read(tap, 65536))
                self.lock.notify_all()
        except BlockingIOError:
            pass

    def _forward(self):
        taps = {self.device.tap: 1, **({self.peer.tap: 2} if self.peer else {})}
        while self.running:
            with self.lock:
                self.deliver()
                for tap, side in taps.items():
                    self._drain(tap, side)
                arrival = self.next_arrival()
                left = arrival[0] - time.monotonic_ns() if arrival else 50_000_000
            wait = max(0, left) / 1e9
            select.select(list(taps), [], [], wait)
