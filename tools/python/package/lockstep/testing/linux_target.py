# The target `linux`: the TCP of this machine's kernel, in a network namespace of the test's own.
"""The wire is a TUN whose other end the tester holds, so no second kernel can reply.

A child process in the namespace makes the calls; both end when it is killed.
"""
import fcntl
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

from .errors import Unsupported
from .live import LiveTarget, answer_calls, own_namespace
from .stack_target import ADDRESSES
from .target import Wanted, kinds
from .units import nanoseconds

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
DEVICE = "tun0"
#: Settings for the profile `rfc`, as far as a kernel has them: no extensions, Reno, no limit on
#: challenge ACKs. RFC 5681's initial window of four segments is set on the route.
PLAIN = {
    "tcp_sack": 0, "tcp_timestamps": 0, "tcp_window_scaling": 0, "tcp_ecn": 0, "tcp_frto": 0,
    "tcp_early_retrans": 0, "tcp_no_metrics_save": 1, "tcp_congestion_control": "reno",
    "tcp_recovery": 0,
    "tcp_syn_linear_timeouts": 0, "tcp_invalid_ratelimit": 0, "tcp_syncookies": 0,
    "tcp_challenge_ack_limit": 1_000_000_000, "tcp_rto_min_us": 1_000_000,
    "tcp_rmem": "4096 131072 131072", "tcp_wmem": "4096 1048576 1048576",
}
#: Fields of Config that are sysctls, below /proc/sys/net.
SYSCTLS = {
    "sack": ["ipv4/tcp_sack"], "dsack": ["ipv4/tcp_dsack"],
    "timestamps": ["ipv4/tcp_timestamps"], "window_scale": ["ipv4/tcp_window_scaling"],
    "ttl": ["ipv4/ip_default_ttl", "ipv6/conf/all/hop_limit", f"ipv6/conf/{DEVICE}/hop_limit"],
    "time_wait_ignores_reset": ["ipv4/tcp_rfc1337"],
}
#: Fields that are socket options, with the unit that the kernel uses.
OPTIONS = {
    "keepalive": (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
    "keepalive_idle": (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
    "keepalive_interval": (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
    "keepalive_probes": (socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
}
#: Settings that Stack.set() changes on one connection.
SETTINGS = {
    "nagle": (socket.IPPROTO_TCP, socket.TCP_NODELAY, lambda value: 1 - value),
    "user_timeout_ms": (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, lambda value: value),
    "keepalive": (socket.SOL_SOCKET, socket.SO_KEEPALIVE, lambda value: value),
}
IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, PMTUDISC_DONT, PMTUDISC_WANT = 10, 23, 0, 1
#: How long the kernel may take until its address can be used.
ADDRESS_SECONDS = 15
#: tcp_info of linux/tcp.h: eight octets, then words of 32 bits.
CA_RECOVERY = 3
INFO_WORDS = {"rto": 0, "snd_mss": 2, "sacked": 5, "rtt": 15, "ssthresh": 17, "cwnd": 18}
INFO_SND_WND = 228
SYN_SENT = 2
#: The state numbers of /proc/net/tcp.
STATES = {
    1: "ESTABLISHED", 2: "SYN-SENT", 3: "SYN-RECEIVED", 4: "FIN-WAIT-1", 5: "FIN-WAIT-2",
    6: "TIME-WAIT", 7: "CLOSED", 8: "CLOSE-WAIT", 9: "LAST-ACK", 10: "LISTEN", 11: "CLOSING",
    12: "SYN-RECEIVED",
}


class LinuxTarget(LiveTarget):
    """The kernel, used through sockets and a TUN."""

    name = "linux"
    speaks_udp = True

    def __init__(self, wanted: Wanted):
        self.local, self.remote = ADDRESSES[wanted.ip_version]
        mapped = {"mtu", "path_mtu_discovery", *SYSCTLS, *OPTIONS}
        for field in wanted.settings:
            if field not in mapped:
                raise Unsupported(f"target linux: no way to set {field}")
        if wanted.profile not in ("rfc", "default", "linux"):
            raise Unsupported(f"target linux: it cannot be set to profile {wanted.profile}")
        super().__init__(wanted, serve)

    def set(self, connection, name, value):
        if name not in SETTINGS:
            raise Unsupported(f"target linux: no way to set {name} on a socket")
        super().set(connection, name, value)

    def urgent(self, connection):
        """Unsupported: a program can mark data when it writes it, but not afterwards."""
        raise Unsupported("target linux: no way to mark written data urgent")


def serve(channel, wanted):
    """In the child: makes the namespace and the device, then answers calls."""
    if shutil.which("ip") is None:
        raise Unsupported("target linux: ip is missing: tools/setup")
    own_namespace("linux")
    wire = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(wire, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    local, _ = ADDRESSES[wanted.ip_version]
    for scope in ("all", "default", DEVICE):
        write_setting(f"ipv6/conf/{scope}/accept_dad", 0)
        write_setting(f"ipv6/conf/{scope}/router_solicitations", 0)
    bits, net = (24, "10.0.0.0/24") if wanted.ip_version == 4 else ("64 nodad", "fd00::/64")
    window = "initcwnd 4" if wanted.profile == "rfc" else ""
    mtu = wanted.settings.get("mtu", 1500)
    commands = (f"link set dev lo up\nlink set dev {DEVICE} mtu {mtu} up\n"
                f"address add {local}/{bits} dev {DEVICE} noprefixroute\n"
                f"route add {net} dev {DEVICE} {window}\n")
    subprocess.run(["ip", "-batch", "-"], input=commands, text=True, check=True,
                   capture_output=True)
    if wanted.profile == "rfc":
        for name, value in PLAIN.items():
            write_setting(f"ipv4/{name}", value)
    for field, names in SYSCTLS.items():
        for name in names if field in wanted.settings else ():
            write_setting(name, int(wanted.settings[field]))
    if wanted.ip_version == 6:
        await_address()
    hello = {"kernel": os.uname().release}
    socket.send_fds(channel, [json.dumps(hello).encode()], [wire])
    answer_calls(channel, Program(wanted).calls())


def write_setting(name, value):
    """Sets a sysctl of this namespace, unless this kernel does not have it."""
    try:
        Path("/proc/sys/net", name).write_text(str(value))
    except FileNotFoundError:
        pass


def await_address():
    """Waits until the address is usable; before that the kernel may drop packets to an IPv6
    address.
    """
    end = time.monotonic() + ADDRESS_SECONDS
    whole = socket.inet_pton(socket.AF_INET6, ADDRESSES[6][0]).hex() + " 80 "
    routes = Path("/proc/thread-self/net/ipv6_route")
    while whole not in routes.read_text():
        if time.monotonic() > end:
            raise Unsupported(f"target linux: its address is not in use after {ADDRESS_SECONDS} s")
        time.sleep(0.002)


class Program:
    """The program on the host: sockets that never block, by number."""

    def __init__(self, wanted):
        self.family = socket.AF_INET if wanted.ip_version == 4 else socket.AF_INET6
        self.local, self.remote = ADDRESSES[wanted.ip_version]
        self.settings = wanted.settings
        self.sockets = {}
        self.listener = None

    def calls(self):
        """Functions by name."""
        return {name: getattr(self, name) for name in (
            "listen", "unlisten", "connect", "accept", "write", "read", "finish", "close", "abort",
            "state", "set", "inspect")}

    def _keep(self, made):
        made.setblocking(False)
        number = len(self.sockets) + 1
        self.sockets[number] = made
        return number

    def _bound(self, port):
        made = socket.socket(self.family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # RFC 9293 3.8.5: urgent data is a part of the stream, which the program reads in order.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        discovery = PMTUDISC_WANT if self.settings.get("path_mtu_discovery") else PMTUDISC_DONT
        if self.family == socket.AF_INET:
            made.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, discovery)
        else:
            made.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, discovery)
        for field, option in OPTIONS.items():
            if field in self.settings:
                value = self.settings[field]
                whole = nanoseconds(value) // 10**9 if isinstance(value, str) else int(value)
                made.setsockopt(*option, whole)
        made.bind((self.local, port))
        return made

    def listen(self, port):
        self.listener = self._bound(port)
        self.listener.setblocking(False)
        self.listener.listen(128)

    def unlisten(self):
        if self.listener is not None:
            self.listener.close()
            self.listener = None

    def connect(self, local_port, remote_port):
        made = self._bound(local_port)
        number = self._keep(made)
        try:
            made.connect((self.remote, remote_port))
        except BlockingIOError:
            pass
        return number

    def accept(self):
        try:
            return self._keep(self.listener.accept()[0]) if self.listener else None
        except BlockingIOError:
            return None

    def write(self, number, data):
        octets = bytes.fromhex(data)
        try:
            return self.sockets[number].send(octets)
        except BlockingIOError:
            if tcp_info(self.sockets[number])[0] != SYN_SENT:
                return 0
        # A blocking program would wait in write() for the connection; a thread does that here.
        threading.Thread(target=write_later, args=(self.sockets[number].dup(), octets),
                         daemon=True).start()
        return len(octets)

    def read(self, number, most):
        out = b""
        try:
            while len(out) < most:
                piece = self.sockets[number].recv(most - len(out))
                if not piece:
                    break
                out += piece
        except OSError:
            pass  # nothing more now, or the connection is over
        return out.hex()

    def finish(self, number):
        self.sockets[number].shutdown(socket.SHUT_WR)

    def close(self, number):
        self.sockets[number].close()

    def abort(self, number):
        self.sockets[number].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                        struct.pack("ii", 1, 0))
        self.sockets[number].close()

    def set(self, number, name, value):
        level, option, translated = SETTINGS[name]
        self.sockets[number].setsockopt(level, option, translated(value))

    def inspect(self, number):
        """TCP_INFO's fields that have another name or unit."""
        return variables(tcp_info(self.sockets[number]))

    def state(self, local_port, remote_port):
        """The state in /proc/net/tcp: of the connection, or of the listener, or CLOSED."""
        name = "tcp" if self.family == socket.AF_INET else "tcp6"
        listens = False
        for line in Path("/proc/thread-self/net", name).read_text().splitlines()[1:]:
            fields = line.split()
            ours, theirs = (int(end.rsplit(":", 1)[1], 16) for end in fields[1:3])
            state = int(fields[3], 16)
            if ours == local_port and theirs == remote_port:
                return STATES[state]
            listens = listens or (ours == local_port and state == 10)
        return "LISTEN" if listens else "CLOSED"


def tcp_info(made):
    """The octets of TCP_INFO."""
    return made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)


def variables(info):
    """Fields of TCP_INFO's octets by our names, in our units."""
    word = {name: struct.unpack_from("=I", info, 8 + 4 * at)[0] for name, at in INFO_WORDS.items()}
    mss = word["snd_mss"]
    return {
        "cwnd": word["cwnd"] * mss, "ssthresh": min(word["ssthresh"] * mss, 0xFFFF_FFFF),
        "sacked": word["sacked"] * mss, "fast_recovery": info[1] == CA_RECOVERY,
        "srtt_ns": word["rtt"] * 1000, "rto_ns": word["rto"] * 1000,
        "snd_wnd": struct.unpack_from("=I", info, INFO_SND_WND)[0],
    }


def write_later(made, octets):
    """Writes once the connection is established; a failure shows on the wire."""
    with made:
        select.select([], [made], [])
        try:
            made.sendall(octets)
        except OSError:
            pass


kinds["linux"] = LinuxTarget
