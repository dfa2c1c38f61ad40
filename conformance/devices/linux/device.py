#!/usr/bin/env python3
# Linux as a device: its kernel as a program, in virtual time, without root.
"""LOCKSTEP_LINUX names the kernel; see README.md beside this file.

A program on Linux writes before the connection is established by waiting for it; so does this one:
what it writes then is queued, and given to the kernel as soon as that takes it.
"""
import errno
import os
import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import guest as kernel  # noqa: E402

from lockstep.testing import device_wire as wire  # noqa: E402
from lockstep.testing import linux_target as live  # noqa: E402
from lockstep.testing.units import nanoseconds  # noqa: E402

MILLISECOND = 1_000_000
SO_PEERNAME = 28
SHUT_WR = 1
#: The largest read of the guest, and the largest write that fits a message.
PIECE = 60_000
WAITS = (errno.EAGAIN, errno.EINPROGRESS)
DISCOVERY = {
    4: (socket.IPPROTO_IP, live.IP_MTU_DISCOVER), 6: (socket.IPPROTO_IPV6,
                                                      live.IPV6_MTU_DISCOVER),
}


class Linux(wire.Device):
    """One kernel, with one interface and an IPv4 or IPv6 address."""

    name = "linux"
    stack = "Linux"
    abilities = "ipv4 ipv6 udp deterministic"
    timer_grain = MILLISECOND
    #: The timer wheel rounds up to an eighth (kernel/time/timer.c).
    timer_late = 125

    def __init__(self, local, remote, mtu, seed, start, options):
        super().__init__(local, remote, mtu, seed, start, options)
        self.ip_version = 6 if ":" in local else 4
        self.family = socket.AF_INET6 if self.ip_version == 6 else socket.AF_INET
        self.profile = options.pop("profile", "rfc")
        for field in options:
            if field not in {"path_mtu_discovery", *live.SYSCTLS, *live.OPTIONS}:
                raise ValueError(f"unsupported: no way to set {field}")
        if self.profile not in ("rfc", "default", "linux"):
            raise ValueError(f"unsupported: no way to set profile to {self.profile}")
        self.guest = kernel.Guest(kernel.binary(), seed)
        kernel.configure(self.guest, local, mtu, 4 if self.profile == "rfc" else None)
        for name, value in (live.PLAIN if self.profile == "rfc" else {}).items():
            self.guest.sysctl(f"net/ipv4/{name}", value)
        for field, names in live.SYSCTLS.items():
            for name in names if field in options else ():
                name = name.replace(live.DEVICE, kernel.INTERFACE)
                self.guest.sysctl(f"net/{name}", number(options[field]))
        #: Our handle -> the guest's, its ports, and what was written before the connection.
        self.sockets = {}
        self.ports = {}
        self.unwritten = {}
        self.handles = 0
        self.guest.sent.clear()
        self.shift = start - self.guest.now

    # --- time and the wire ---

    def _settle(self):
        """Writes what waits, and takes what the guest has sent."""
        for handle in list(self.unwritten):
            self._write_on(handle)
        self.now = self.guest.now + self.shift
        self.packets += [octets for _, octets in self.guest.sent]
        self.guest.sent.clear()

    def advance(self, now):
        self.guest.run(now - self.shift)
        self._settle()

    def deadline(self):
        # advance() stops at a packet by itself.
        return wire.NEVER

    def packet(self, octets):
        self.guest.packet(octets)
        self._settle()

    # --- the program ---

    def _keep(self, made, local_port, remote_port=0):
        self.handles += 1
        self.sockets[self.handles] = made
        self.ports[self.handles] = local_port, remote_port
        return self.handles

    def _call(self, which, *numbers, octets=b""):
        result, out = self.guest.call(which, *numbers, octets=octets)
        self._settle()
        return result, out

    def _option(self, number, level, option, value):
        octets = value if isinstance(value, bytes) else struct.pack("<i", value)
        return self.guest.call(kernel.SET, number, level, option, octets=octets)[0]

    def _address(self, address, port):
        whole = socket.inet_pton(self.family, address)
        if self.ip_version == 4:
            return struct.pack("<H", self.family) + struct.pack(">H", port) + whole + bytes(8)
        return struct.pack("<H", self.family) + struct.pack(">HI", port, 0) + whole + bytes(4)

    def _bound(self, port):
        made, _ = self.guest.call(kernel.SOCKET, self.family, socket.SOCK_STREAM, 0)
        self._option(made, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._option(made, socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        wanted = self.options.get("path_mtu_discovery") == "true"
        self._option(made, *DISCOVERY[self.ip_version],
                     live.PMTUDISC_WANT if wanted else live.PMTUDISC_DONT)
        for field, option in live.OPTIONS.items():
            if field in self.options:
                self._option(made, *option, number(self.options[field]))
        result, _ = self.guest.call(kernel.BIND, made, octets=self._address(self.local, port))
        if result < 0:
            self.guest.call(kernel.CLOSE, made)
            return None
        return made

    def listen(self, port, backlog):
        made = self._bound(port)
        if made is None or self._call(kernel.LISTEN, made, backlog)[0] < 0:
            return wire.REFUSED
        return self._keep(made, port)

    def unlisten(self, listener):
        return self.close(listener)

    def accept(self, listener):
        if listener not in self.sockets:
            return wire.GONE
        made, _ = self._call(kernel.ACCEPT, self.sockets[listener])
        if made < 0:
            return wire.AGAIN
        _, peer = self.guest.call(kernel.GET, made, socket.SOL_SOCKET, SO_PEERNAME,
                                  octets=bytes(28))
        return self._keep(made, self.ports[listener][0], int.from_bytes(peer[2:4], "big"))

    def connect(self, local_port, remote_port):
        made = self._bound(local_port)
        if made is None:
            return wire.REFUSED
        result, _ = self._call(kernel.CONNECT, made, octets=self._address(self.remote, remote_port))
        if result != 0 and -result not in WAITS:
            return wire.REFUSED
        return self._keep(made, local_port, remote_port)

    def _write_on(self, handle):
        """Gives the kernel what it takes of what waits."""
        left = self.unwritten.pop(handle)
        while left and handle in self.sockets:
            result, _ = self.guest.call(kernel.SEND, self.sockets[handle], octets=left[:PIECE])
            if -result in WAITS:
                self.unwritten[handle] = left
                return
            left = left[result:] if result > 0 else b""

    def send(self, connection, octets):
        if connection not in self.sockets:
            return wire.GONE
        if connection in self.unwritten:
            self.unwritten[connection] += octets
            return len(octets)
        taken = 0
        while taken < len(octets):
            piece = octets[taken:taken + PIECE]
            result, _ = self.guest.call(kernel.SEND, self.sockets[connection], octets=piece)
            if -result in WAITS and self._info(connection)[0] == live.SYN_SENT:
                self.unwritten[connection] = octets[taken:]
                taken = len(octets)
            if result <= 0:
                break
            taken += result
        self._settle()
        return taken or wire.AGAIN

    def receive(self, connection, most):
        if connection not in self.sockets:
            return wire.GONE
        out = b""
        while len(out) < most:
            result, octets = self.guest.call(kernel.RECEIVE, self.sockets[connection], 0,
                                             min(most - len(out), PIECE))
            if result <= 0:
                break
            out += octets
        self._settle()
        return out or (0 if result == 0 else wire.AGAIN if -result in WAITS else wire.GONE)

    def finish(self, connection):
        if connection not in self.sockets:
            return wire.GONE
        result, _ = self._call(kernel.SHUTDOWN, self.sockets[connection], SHUT_WR)
        return 0 if result == 0 else wire.GONE

    def close(self, connection):
        if connection not in self.sockets:
            return wire.GONE
        self._call(kernel.CLOSE, self.sockets.pop(connection))
        return 0

    def abort(self, connection):
        if connection in self.sockets:
            self._option(self.sockets[connection], socket.SOL_SOCKET, socket.SO_LINGER,
                         struct.pack("<ii", 1, 0))
        return self.close(connection)

    def set(self, connection, name, value):
        if name not in live.SETTINGS:
            return wire.UNSUPPORTED
        if connection not in self.sockets:
            return wire.GONE
        level, option, translated = live.SETTINGS[name]
        result = self._option(self.sockets[connection], level, option, translated(value))
        self._settle()
        return 0 if result == 0 else wire.REFUSED

    # --- the observer ---

    def _info(self, connection):
        """The octets of TCP_INFO."""
        result, octets = self.guest.call(kernel.GET, self.sockets[connection], socket.IPPROTO_TCP,
                                         socket.TCP_INFO, octets=bytes(256))
        return octets if result == 0 else bytes(256)

    def get(self, connection, name):
        if connection not in self.sockets:
            return wire.GONE
        known = live.variables(self._info(connection))
        return int(known[name]) if name in known else wire.UNSUPPORTED

    def state(self, local_port, remote_port):
        """The state of a connection that the program has; what else there is cannot be seen. A
        socket whose connection is in TIME-WAIT looks as one that is closed.
        """
        for handle, ports in self.ports.items():
            if ports == (local_port, remote_port) and handle in self.sockets:
                state = live.STATES[self._info(handle)[0]]
                return wire.UNSUPPORTED if state == "CLOSED" else state
        return wire.UNSUPPORTED


def number(value):
    """A setting as the kernel takes it: a truth value, a time in seconds, or a number."""
    if value in ("true", "false"):
        return int(value == "true")
    return int(value) if value.isdecimal() else nanoseconds(value) // 10**9


if __name__ == "__main__":
    try:
        wire.serve(Linux)
    except kernel.Ended as why:
        sys.exit(str(why))
    except OSError as why:
        sys.exit(f"the kernel refuses a setting: {os.strerror(why.errno)}")
