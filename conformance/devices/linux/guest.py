# A Linux kernel as a program in virtual time, and the calls that it takes.
"""User-Mode Linux with one more driver: it speaks over one descriptor, in whole messages, and its
time passes only when it is told so. A message is a header and octets.
"""
import ctypes
import os
import shutil
import socket
import struct
import tempfile
from pathlib import Path

HEADER = struct.Struct("<IIQqqqq")
#: Messages of the guest: it waits for a command; an IP packet; the result of a call.
IDLE, FRAME, RESULT = 1, 2, 3
#: Commands.
RUN, PACKET, CALL = 1, 2, 3
#: Calls.
SOCKET, BIND, LISTEN, ACCEPT, CONNECT, SEND, RECEIVE, SHUTDOWN, CLOSE, SET, GET = range(1, 12)
SYSCTL, ROUTE = 13, 14
#: The guest's descriptor. Its number is a part of the command line, which seeds the kernel.
CHANNEL = 3
MEMORY = "256M"
BEGIN_NS = 10**18
ADDR_NO_RANDOMIZE = 0x0040000
INTERFACE = "ls0"
RTM_NEWLINK, RTM_GETLINK, RTM_NEWADDR, RTM_NEWROUTE = 16, 18, 20, 24
NLM_CREATE = 0x400
ATTRIBUTE = struct.Struct("<HH")


class Ended(Exception):
    """The guest has ended."""


class Guest:
    """A kernel that runs. `now` and `next`: its clock, and its next event, in nanoseconds."""

    def __init__(self, binary, seed):
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        if its.fileno() == CHANNEL:
            os.set_inheritable(CHANNEL, True)
        # The same addresses each time.
        ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
        quiet = os.open(os.devnull, os.O_RDWR)
        # It leaves files in its home, for a console that it does not have.
        home = tempfile.mkdtemp(prefix="lockstep-linux-")
        actions = [(os.POSIX_SPAWN_DUP2, quiet, fd) for fd in (0, 1, 2)]
        actions.append((os.POSIX_SPAWN_DUP2, its.fileno(), CHANNEL))
        self._process = os.posix_spawn(
            binary, ["linux", f"mem={MEMORY}", "time-travel=inf-cpu",
                     f"time-travel-start={BEGIN_NS}", f"lockstep={CHANNEL}", "con=null",
                     "con0=null", "ssl=null"],
            {"PATH": "/usr/bin:/bin", "HOME": home, "LS_SEED": str(seed),
             "TMPDIR": memory_folder()}, file_actions=actions)
        os.close(quiet)
        its.close()
        self._channel = ours
        self._read = b""
        self.now = self.next = 0
        #: Packets that it has sent: (time, octets).
        self.sent = []
        try:
            self._wait()
        finally:
            shutil.rmtree(home, ignore_errors=True)

    # --- messages ---

    def _exactly(self, length):
        while len(self._read) < length:
            piece = self._channel.recv(1 << 18)
            if not piece:
                raise Ended(f"the kernel has ended: {ended(self._process)}")
            self._read += piece
        out, self._read = self._read[:length], self._read[length:]
        return out

    def _wait(self):
        """Takes messages until the guest waits; returns the results among them."""
        results = []
        while True:
            length, kind, self.now, first, *_ = HEADER.unpack(self._exactly(HEADER.size))
            octets = self._exactly(length - HEADER.size)
            if kind == IDLE:
                self.next = first
                return results
            if kind == FRAME:
                self.sent.append((self.now, octets))
            else:
                results.append((first, octets))

    def _command(self, kind, at, numbers=(0, 0, 0, 0), octets=b""):
        head = HEADER.pack(HEADER.size + len(octets), kind, at, *numbers)
        self._channel.sendall(head + octets)
        return self._wait()

    # --- what one can do with it ---

    def run(self, until):
        """Lets time pass to `until`, or to the first packet that it sends."""
        while self.now < until and not self.sent:
            self._command(RUN, until)

    def packet(self, octets):
        """An IP packet arrives now."""
        self._command(PACKET, self.now, octets=octets)

    def call(self, which, *numbers, octets=b""):
        """(result, octets) of a call. The result is below 0 for an error, as -errno."""
        numbers = (which, *numbers, *(0,) * (3 - len(numbers)))
        results = self._command(CALL, self.now, numbers, octets)
        while not results:  # the call itself takes time
            results = self._command(RUN, self.next)
        return results[0]

    def sysctl(self, name, value):
        """Writes below /proc/sys; the result, below 0 for an error."""
        return self.call(SYSCTL, octets=f"{name}\0{value}\0".encode())[0]

    def netlink(self, kind, flags, body):
        """A request to rtnetlink: the octets of its answer."""
        request = struct.pack("<IHHII", 16 + len(body), kind, flags | 1 | 4, 1, 0) + body
        result, octets = self.call(ROUTE, octets=request)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        (error,) = struct.unpack_from("<i", octets, 16)
        if struct.unpack_from("<H", octets, 4)[0] == 2 and error:
            raise OSError(-error, os.strerror(-error))
        return octets


def memory_folder():
    """Where the guest keeps its memory: a folder whose files may be executed."""
    for folder in (os.environ.get("TMPDIR"), "/dev/shm", "/tmp"):
        usable = folder and os.access(folder, os.W_OK)
        if usable and not os.statvfs(folder).f_flag & os.ST_NOEXEC:
            return folder
    return "/tmp"


def ended(process):
    """How a process ended."""
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def attribute(kind, octets):
    """A netlink attribute."""
    return ATTRIBUTE.pack(4 + len(octets), kind) + octets + b"\0" * (-len(octets) % 4)


def configure(guest, local, mtu, first_window):
    """Sets the interface and its address up, and the route to its net; `first_window`: the route's
    initial window in segments, or None.
    """
    whole = socket.AF_INET6 if ":" in local else socket.AF_INET
    bits = 64 if whole == socket.AF_INET6 else 24
    head = struct.pack("<BBHiII", 0, 0, 0, 0, 0, 0)
    found = guest.netlink(RTM_GETLINK, 0, head + attribute(3, INTERFACE.encode() + b"\0"))
    (number,) = struct.unpack_from("<i", found, 16 + 4)
    for scope in ("all", "default", INTERFACE):
        guest.sysctl(f"net/ipv6/conf/{scope}/accept_dad", 0)
        guest.sysctl(f"net/ipv6/conf/{scope}/router_solicitations", 0)
    for each in (1, number):
        more = attribute(4, struct.pack("<I", mtu)) if each == number else b""
        guest.netlink(RTM_NEWLINK, 0, struct.pack("<BBHiII", 0, 0, 0, each, 1, 1) + more)
    own = socket.inet_pton(whole, local)
    net = own[:bits // 8].ljust(len(own), b"\0")
    nodad_noprefixroute = attribute(8, struct.pack("<I", 0x02 | 0x200))
    guest.netlink(RTM_NEWADDR, NLM_CREATE,
                  struct.pack("<BBBBI", whole, bits, 0, 0, number) + attribute(2, own)
                  + attribute(1, own) + nodad_noprefixroute)
    metrics = attribute(8, attribute(11, struct.pack("<I", first_window))) if first_window else b""
    guest.netlink(RTM_NEWROUTE, NLM_CREATE,
                  struct.pack("<BBBBBBBBI", whole, bits, 0, 0, 254, 3, 253, 1, 0)
                  + attribute(1, net) + attribute(4, struct.pack("<i", number)) + metrics)


def binary():
    """The path of the kernel, which LOCKSTEP_LINUX names; ValueError without it."""
    path = os.environ.get("LOCKSTEP_LINUX", "")
    if not path:
        raise ValueError("unsupported: LOCKSTEP_LINUX names no kernel")
    if not Path(path).is_file() or not os.access(path, os.X_OK):
        raise ValueError(f"LOCKSTEP_LINUX: {path} is no program")
    return path
