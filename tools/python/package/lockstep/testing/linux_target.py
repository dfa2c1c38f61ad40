# The target `linux`: the TCP of this machine's kernel, in a network namespace of the test's own.
"""The wire is a TUN whose other end the tester holds: no second kernel is there that could answer.

A child of the tester lives in the namespace and makes the calls; both are gone when it is killed.
"""
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
from pathlib import Path

from .errors import Unsupported
from .live import LiveTarget, answer_calls, own_namespace
from .stack_target import ADDRESSES
from .target import Wanted, kinds

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
DEVICE = "tun0"
#: What of the profile `rfc` a kernel can be told: without extensions, Reno, no limit on challenges.
PLAIN = {
    "tcp_sack": 0, "tcp_timestamps": 0, "tcp_window_scaling": 0, "tcp_ecn": 0, "tcp_frto": 0,
    "tcp_early_retrans": 0, "tcp_no_metrics_save": 1, "tcp_congestion_control": "reno",
    "tcp_syn_linear_timeouts": 0, "tcp_invalid_ratelimit": 0, "tcp_syncookies": 0,
    "tcp_challenge_ack_limit": 1_000_000_000, "tcp_rto_min_us": 1_000_000,
    "tcp_rmem": "4096 131072 131072",
}
#: /proc/net/tcp's numbers.
STATES = {
    1: "ESTABLISHED", 2: "SYN-SENT", 3: "SYN-RECEIVED", 4: "FIN-WAIT-1", 5: "FIN-WAIT-2",
    6: "TIME-WAIT", 7: "CLOSED", 8: "CLOSE-WAIT", 9: "LAST-ACK", 10: "LISTEN", 11: "CLOSING",
    12: "SYN-RECEIVED",
}


class LinuxTarget(LiveTarget):
    """The kernel, spoken to by sockets and by a TUN."""

    name = "linux"

    def __init__(self, wanted: Wanted):
        self.local, self.remote = ADDRESSES[wanted.ip_version]
        mapped = {"mtu"}
        for field in wanted.settings:
            if field not in mapped:
                raise Unsupported(f"target linux: no way to set {field}")
        if wanted.profile not in ("rfc", "linux"):
            raise Unsupported(f"target linux: it is not told to be as profile {wanted.profile}")
        super().__init__(wanted, serve)


def serve(channel, wanted):
    """In the child: the namespace, the device, then the calls."""
    if shutil.which("ip") is None:
        raise Unsupported("target linux: ip is missing: tools/setup")
    own_namespace("linux")
    wire = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(wire, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    local, _ = ADDRESSES[wanted.ip_version]
    for scope in ("all", "default", DEVICE):
        write_setting(f"ipv6/conf/{scope}/accept_dad", 0)
        write_setting(f"ipv6/conf/{scope}/router_solicitations", 0)
    bits = 24 if wanted.ip_version == 4 else "64 nodad"
    mtu = wanted.settings.get("mtu", 1500)
    commands = (f"link set dev lo up\nlink set dev {DEVICE} mtu {mtu}\n"
                f"address add {local}/{bits} dev {DEVICE}\nlink set dev {DEVICE} up\n")
    subprocess.run(["ip", "-batch", "-"], input=commands, text=True, check=True,
                   capture_output=True)
    if wanted.profile == "rfc":
        for name, value in PLAIN.items():
            write_setting(f"ipv4/{name}", value)
    hello = {"kernel": os.uname().release}
    socket.send_fds(channel, [json.dumps(hello).encode()], [wire])
    answer_calls(channel, Program(wanted).calls())


def write_setting(name, value):
    """A sysctl of this namespace; one that this kernel does not have is left out."""
    try:
        Path("/proc/sys/net", name).write_text(str(value))
    except FileNotFoundError:
        pass


class Program:
    """The program on the host: sockets that never block, by number."""

    def __init__(self, wanted):
        self.family = socket.AF_INET if wanted.ip_version == 4 else socket.AF_INET6
        self.local, self.remote = ADDRESSES[wanted.ip_version]
        self.sockets = {}
        self.listener = None

    def calls(self):
        """Name to function."""
        return {name: getattr(self, name) for name in (
            "listen", "unlisten", "connect", "accept", "write", "read", "finish", "close", "abort",
            "state")}

    def _keep(self, made):
        made.setblocking(False)
        number = len(self.sockets) + 1
        self.sockets[number] = made
        return number

    def _bound(self, port):
        made = socket.socket(self.family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((self.local, port))
        return made

    def listen(self, port):
        self.listener = self._bound(port)
        self.listener.setblocking(False)
        self.listener.listen(16)

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
        return self.sockets[number].send(bytes.fromhex(data))

    def read(self, number, most):
        out = b""
        try:
            while len(out) < most:
                piece = self.sockets[number].recv(most - len(out))
                if not piece:
                    break
                out += piece
        except OSError:
            pass  # nothing more now, or it is over
        return out.hex()

    def finish(self, number):
        self.sockets[number].shutdown(socket.SHUT_WR)

    def close(self, number):
        self.sockets[number].close()

    def abort(self, number):
        self.sockets[number].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                        struct.pack("ii", 1, 0))
        self.sockets[number].close()

    def state(self, local_port, remote_port):
        """As /proc/net/tcp has it: of the connection, or of the listener, or CLOSED."""
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


kinds["linux"] = LinuxTarget
