# The common part of live targets: real time with its tolerances, and a helper that makes the calls.
import errno
import json
import os
import select
import signal
import socket
import time
import traceback

from .errors import Misuse, Unsupported
from .target import Departure, Target, Timing

MS = 1_000_000
SECOND = 1_000_000_000
#: A test that has to wait longer than this for a packet, or for silence, runs in virtual time only.
LONGEST_WAIT = 12 * SECOND
#: The limit for a whole test.
LONGEST_TEST = 60 * SECOND
#: The real time that the machine may take for something due at once.
PROMPT = 200 * MS
#: The time without packets after which everything due at once has been sent.
SETTLED = 80 * MS
#: The time that a helper may take to answer a call.
ANSWER_SECONDS = 20
TCP, ICMP, ICMP6 = 6, 1, 58
#: ICMPv6 that a kernel sends on any link: groups, routers, neighbours.
OF_THE_LINK = {130, 131, 132, 133, 134, 135, 136, 137, 143}
PR_SET_PDEATHSIG = 1


def concerns(packet, tester):
    """Whether it is a TCP segment or an ICMP message to the tester, not traffic of the link."""
    if packet[:1] and packet[0] >> 4 == 4 and len(packet) >= 20:
        kind, to = packet[9], socket.inet_ntop(socket.AF_INET, packet[16:20])
    elif packet[:1] and packet[0] >> 4 == 6 and len(packet) >= 41:
        kind, to = packet[6], socket.inet_ntop(socket.AF_INET6, packet[24:40])
        if kind == ICMP6 and packet[40] in OF_THE_LINK:
            return False
    else:
        return False
    return kind in (TCP, ICMP, ICMP6) and to == tester


class Shown(dict):
    """The variables that a target shows; any other is Unsupported."""

    def __init__(self, name, variables):
        super().__init__(variables)
        self._name = name

    def __missing__(self, variable):
        raise Unsupported(f"target {self._name} does not show {variable}")


class RealTimeTarget(Target):
    """A target in real time, with the tolerances of its classes. `wire` is a descriptor."""

    exact = False
    virtual = False

    def __init__(self):
        self._origin = time.monotonic_ns()
        self.wire = None

    def now(self):
        return time.monotonic_ns() - self._origin

    def send(self, packet):
        self._put(packet)

    def receive(self, until):
        now = self.now()
        if until - now > LONGEST_WAIT:
            raise Unsupported(
                f"target {self.name}: a wait of {(until - now) / SECOND:.0f} s of real time")
        if until > LONGEST_TEST:
            raise Unsupported(f"target {self.name}: more than 60 s of real time")
        while True:
            left = max(0, until - self.now())
            if not self._ready(left / SECOND):
                return None
            packet = self._get()
            if packet is not None and concerns(packet, self.remote):
                # It was sent before `until`, even if it is read a moment later.
                return Departure(min(self.now(), until), packet)

    def window(self, due, timing):
        if timing is Timing.TIMER:
            wait = max(0, due - self.now())
            return due - max(SETTLED + 30 * MS, wait // 20), due + max(300 * MS, wait // 5)
        if timing is Timing.DELAYED_ACK:
            return due - 500 * MS, due + PROMPT
        return due - 30 * MS, due + PROMPT

    def settled(self):
        return self.now() + SETTLED

    def quiet(self, until):
        return until - max(30 * MS, (until - self.now()) // 4)

    def _ready(self, seconds):
        """Whether _get() has something within this time."""
        return bool(select.select([self.wire], [], [], seconds)[0])

    def _get(self):
        """The next packet, or None if it was something else."""
        raise NotImplementedError

    def _put(self, packet):
        raise NotImplementedError

    def dropped(self):
        """Not available on a live target."""
        raise Unsupported(f"target {self.name} does not report dropped packets")


class LiveTarget(RealTimeTarget):
    """A TCP in a process of its own, in a network namespace that ends with that process.

    `serve(channel, wanted)` runs in the process: it sends a descriptor of the wire, then answers
    calls. The tester reads and writes packets directly, without its own kernel.
    """

    def __init__(self, wanted, serve):
        super().__init__()
        self.ip_version = wanted.ip_version
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._child = os.fork()
        if self._child == 0:
            self._channel.close()
            run_helper(theirs, serve, wanted)
        theirs.close()
        self._channel.settimeout(ANSWER_SECONDS)
        self._lines = b""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._channel, 4096, 1)
            if not descriptors:
                raise Unsupported(json.loads(message)["error"] if message else
                                  f"target {self.name}: its helper has ended at once")
            self.wire = descriptors[0]
            self.hello = json.loads(message)
            self.call("state", 1, 1)  # answered once the helper is ready
        except BaseException:
            self.stop()
            raise

    # --- the wire ---

    def _get(self):
        return os.read(self.wire, 1 << 17)

    def _put(self, packet):
        try:
            os.write(self.wire, packet)
        except OSError as why:
            if why.errno != errno.EINVAL:  # the device drops what is not IP
                raise

    # --- the program ---

    def _program(self):
        """The path of the program that is the helper, if it is one."""
        return f" {self.hello['program']}" if "program" in self.hello else ""

    def call(self, name, *arguments):
        """Has the helper make a call; returns its answer."""
        try:
            self._channel.sendall(json.dumps([name, *arguments]).encode() + b"\n")
            while b"\n" not in self._lines:
                piece = self._channel.recv(1 << 16)
                if not piece:
                    raise Misuse(f"target {self.name}: its helper{self._program()} has ended:"
                                 f" {name} is not answered")
                self._lines += piece
        except TimeoutError:
            raise Misuse(f"target {self.name}: its helper{self._program()} has not answered {name}"
                         f" in {ANSWER_SECONDS} s") from None
        except (BrokenPipeError, ConnectionResetError):
            raise Misuse(f"target {self.name}: its helper{self._program()} has ended: {name} cannot"
                         " be asked") from None
        line, self._lines = self._lines.split(b"\n", 1)
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not {"error", "value"} & answer.keys():
            raise Misuse(f"target {self.name}: its helper{self._program()} does not answer as"
                         f" lockstep serve calls does: {line[:40]!r}")
        if "error" in answer:
            raise Misuse(f"target {self.name}: {name}: {answer['error']}")
        return answer["value"]

    def listen(self, port):
        self.call("listen", port)

    def unlisten(self):
        self.call("unlisten")

    def connect(self, local_port, remote_port):
        return self.call("connect", local_port, remote_port)

    def accept(self):
        return self.call("accept")

    def write(self, connection, data):
        return self.call("write", connection, data.hex())

    def read(self, connection, most):
        return bytes.fromhex(self.call("read", connection, most))

    def finish(self, connection):
        self.call("finish", connection)

    def close(self, connection):
        self.call("close", connection)

    def abort(self, connection):
        self.call("abort", connection)

    def state(self, local_port, remote_port):
        return self.call("state", local_port, remote_port)

    def set(self, connection, name, value):
        """Changes a setting of the connection, as Stack.set names them."""
        self.call("set", connection, name, value)

    def inspect(self, connection):
        return Shown(self.name, self.call("inspect", connection))

    def urgent(self, connection):
        self.call("urgent", connection)

    def stop(self):
        if self.wire is not None:
            os.close(self.wire)
            self.wire = None
        self._channel.close()
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
            self._child = 0


def run_helper(channel, serve, wanted):
    """Runs the child; it ends with the tester, however that ends."""
    code = 1
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        serve(channel, wanted)
        code = 0
    except Unsupported as why:
        channel.sendall(json.dumps({"error": str(why)}).encode())
    except BaseException as why:  # reported by the tester
        text = f"{type(why).__name__}: {why}"
        if not isinstance(why, (OSError, ValueError)):
            text += " " + traceback.format_exc(limit=-2).replace("\n", " ")
        try:
            channel.sendall(json.dumps({"error": text}).encode() + b"\n")
        except OSError:
            pass
    finally:
        os._exit(code)


def answer_calls(channel, calls):
    """Answers one call on each line, until the tester closes the channel."""
    for line in channel.makefile("rb"):
        name, *arguments = json.loads(line)
        try:
            answer = {"value": calls[name](*arguments)}
        except (OSError, KeyError) as why:
            answer = {"error": f"{type(why).__name__}: {why}"}
        channel.sendall(json.dumps(answer).encode() + b"\n")


def own_namespace(name):
    """Moves this process to a new network namespace; Unsupported if it has no permission."""
    import ctypes

    if not os.path.exists("/dev/net/tun"):
        raise Unsupported(f"target {name}: /dev/net/tun is missing: modprobe tun")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x40000000):
        words = os.strerror(ctypes.get_errno())
        raise Unsupported(f"target {name}: no network namespace ({words}): run it as root")
