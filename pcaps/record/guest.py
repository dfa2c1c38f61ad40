# Linux as a program in virtual time: starts it, lets its time pass, and makes its calls.
"""The counterpart of conformance/devices/linux/guest.hpp, which describes the program.

Its command line, its environment and its descriptor are fixed, because the kernel's random numbers
depend on them: the same program and seed do the same at the same nanoseconds.
"""
import collections
import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile

HEADER = struct.Struct("<IIQqqqq")  # length, kind, time and four numbers
IDLE, FRAME, RESULT = 1, 2, 3  # the guest's messages
RUN, PACKET, CALL = 1, 2, 3  # our commands
(SOCKET, BIND, LISTEN, ACCEPT, CONNECT, SEND, RECEIVE, SHUTDOWN, CLOSE, SET, GET, POLL, SYSCTL,
 ROUTE) = range(1, 15)
SYSCTL_GET = 16  # newer programs only
ADDR_NO_RANDOMIZE = 0x0040000
CHANNEL = 3  # the guest's descriptor
START_SECONDS = 1_000_000_000  # the kernel's date when it starts, since 1970
WORDS = ("linux", "mem=256M", "time-travel=inf-cpu", f"time-travel-start={START_SECONDS}000000000",
         f"lockstep={CHANNEL}", "con=null", "con0=null", "ssl=null")
INTERFACE = "ls0"
ANSWER_SECONDS_MAX = 60  # of real time, for a program that hangs


class Ended(Exception):
    """The kernel has ended, or refuses a setting; the text says so in one line."""


def missing():
    """Why no kernel can be started, and the mend; or an empty string."""
    program = os.environ.get("LOCKSTEP_LINUX", "")
    if not program:
        return "LOCKSTEP_LINUX is not set; let it name the program (conformance/devices/linux)"
    if not os.access(program, os.X_OK) or os.path.isdir(program):
        return f"LOCKSTEP_LINUX: {program} is no program; name the kernel built for User-Mode Linux"
    return ""


def memory_folder():
    """Where the guest keeps its memory: a folder whose files may be executed."""
    for folder in (os.environ.get("TMPDIR", ""), "/dev/shm"):
        if (folder and os.access(folder, os.W_OK)
                and not os.statvfs(folder).f_flag & os.ST_NOEXEC):
            return folder
    return "/tmp"


class Guest:
    """A kernel with one interface, `ls0`, that passes IP packets. Its time passes only in `run`.

    `now` and `next` are its clock and its next event in nanoseconds; `sent` holds the packets that
    nobody has taken yet.
    """

    def __init__(self, program, seed):
        self.program, self.sent = program, collections.deque()
        self.now, self.next, self._buffer, self._results = 0, 0, b"", []
        ours, its = socket.socketpair()
        ours.settimeout(ANSWER_SECONDS_MAX)
        self._channel, home = ours, tempfile.mkdtemp(prefix="lockstep-linux-")
        environment = {"PATH": "/usr/bin:/bin", "HOME": home, "LS_SEED": str(seed),
                       "TMPDIR": memory_folder()}
        libc = ctypes.CDLL(None)
        libc.personality(libc.personality(0xFFFFFFFF) | ADDR_NO_RANDOMIZE)
        actions = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)]
        actions.append((os.POSIX_SPAWN_DUP2, its.fileno(), CHANNEL))
        try:
            self.process = os.posix_spawn(program, WORDS, environment, file_actions=actions)
            its.close()
            self._wait()
        except OSError as error:
            raise Ended(f"{program} cannot be run: {os.strerror(error.errno)}") from error
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def end(self):
        """End the program."""
        self._channel.close()
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
            self.process = 0

    def _ended(self):
        status, self.process = os.waitpid(self.process, 0)[1], 0
        code = os.waitstatus_to_exitcode(status)
        raise Ended(f"the kernel has ended: "
                    f"{f'exit code {code}' if code >= 0 else f'signal {-code}'}")

    def _exactly(self, length):
        while len(self._buffer) < length:
            try:
                piece = self._channel.recv(1 << 18)
            except ConnectionError:
                piece = b""
            except TimeoutError:
                self.end()
                raise Ended(f"the kernel says nothing for {ANSWER_SECONDS_MAX} s") from None
            if not piece:
                self._ended()
            self._buffer += piece
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        return taken

    def _wait(self):
        """Take messages until the guest waits."""
        while True:
            length, kind, self.now, first, _, _, _ = HEADER.unpack(self._exactly(HEADER.size))
            octets = self._exactly(max(0, length - HEADER.size))
            if kind == IDLE:
                self.next = first % 2**64
                return
            if kind == FRAME:
                self.sent.append(octets)
            else:
                self._results.append((first, octets))

    def _command(self, kind, at, numbers=(), octets=b""):
        four = (*numbers, 0, 0, 0, 0)[:4]
        try:
            self._channel.sendall(HEADER.pack(HEADER.size + len(octets), kind, at, *four) + octets)
        except ConnectionError:
            self._ended()
        self._wait()

    def run(self, until):
        """Let time pass to `until`, with what is due then, or to the first packet that it sends."""
        while (self.now < until or self.next <= until) and not self.sent:
            self._command(RUN, until)

    def packet(self, octets, at):
        """An IP packet arrives at that time, which is not after `next`."""
        self._command(PACKET, max(at, self.now), octets=octets)

    def call(self, which, *numbers, octets=b"", at=0):
        """Make a call at that time: (its result, below 0 for -errno; the octets it returns)."""
        self._command(CALL, max(at, self.now), (which, *numbers), octets)
        while not self._results:  # the call itself takes time
            self._command(RUN, self.next)
        return self._results.pop()

    def sysctl(self, name, value):
        """Write below /proc/sys."""
        octets = name.encode() + b"\0" + str(value).encode() + b"\0"
        result = self.call(SYSCTL, octets=octets)[0]
        if result < 0:
            raise Ended(f"the kernel refuses {name} = {value}: {os.strerror(-result)}")

    def version(self):
        """The version of the kernel: by a call, or as the program prints it."""
        result, octets = self.call(SYSCTL_GET, octets=b"kernel/osrelease\0")
        if result > 0 and octets:
            return octets.rstrip(b"\0\n").decode()
        with tempfile.TemporaryDirectory() as home:  # it leaves files there
            done = subprocess.run([self.program, "--version"], capture_output=True, text=True,
                                  check=False, env={"HOME": home})
        if not done.stdout.strip():
            raise Ended(f"{self.program} --version prints nothing")
        return done.stdout.split()[0]

    def netlink(self, kind, flags, body):
        """A request to rtnetlink: the octets of its answer."""
        message = struct.pack("<IHHII", 16 + len(body), kind, flags | 1 | 4, 1, 0) + body
        result, answer = self.call(ROUTE, octets=message)
        code = 0
        if len(answer) >= 20 and struct.unpack_from("<H", answer, 4)[0] == 2:  # NLMSG_ERROR
            code = struct.unpack_from("<i", answer, 16)[0]
        error = min(result, code, 0)
        if error:
            raise Ended(f"the kernel refuses a setting of its network: {os.strerror(-error)}")
        return answer


def _attribute(kind, octets):
    return struct.pack("<HH", 4 + len(octets), kind) + octets + bytes(-len(octets) % 4)


def configure(guest, address, bits):
    """Set the interface and its address up, with the route to its net."""
    new_link, get_link, new_address, new_route, create = 16, 18, 20, 24, 0x400
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    own = socket.inet_pton(family, address)
    net = own[: bits // 8] + bytes(len(own) - bits // 8)
    found = guest.netlink(get_link, 0, bytes(16) + _attribute(3, INTERFACE.encode() + b"\0"))
    number = struct.unpack_from("<i", found, 20)[0]
    for scope in ("all", "default", INTERFACE):
        for name, value in (("disable_ipv6", 0 if ":" in address else 1), ("accept_dad", 0),
                            ("router_solicitations", 0)):
            guest.sysctl(f"net/ipv6/conf/{scope}/{name}", value)
    for each in (1, number):
        guest.netlink(new_link, 0, bytes(4) + struct.pack("<iII", each, 1, 1))
    guest.netlink(new_address, create,
                  struct.pack("<BBBBi", family, bits, 0, 0, number) + _attribute(2, own)
                  + _attribute(1, own) + _attribute(8, struct.pack("<I", 0x02 | 0x200)))
    # The main table, by this program, for the link, a unicast route.
    guest.netlink(new_route, create,
                  struct.pack("<BBBBBBBBI", family, bits, 0, 0, 254, 3, 253, 1, 0)
                  + _attribute(1, net) + _attribute(4, struct.pack("<i", number)))
