# The requests and answers between the tests and a device in another process.
"""The format is that of conformance/devices/program.h. `Peer` asks; `serve()` answers.

A device written in Python is a program that calls `serve()` with an object that has the methods of
:class:`Device`.
"""
import dataclasses
import enum
import os
import select
import socket
import struct
import tempfile
import time

NEVER = (1 << 64) - 1
UNSUPPORTED, REFUSED, AGAIN, GONE = -1, -2, -3, -4
#: The largest request, and the largest answer that is read, in bytes.
REQUEST_MAX, ANSWER_MAX = 1 << 20, 1 << 28
PACKET_MAX = 65_535
#: So much can be written to a pipe that is ready without waiting.
PIPE_BUF = select.PIPE_BUF
#: Virtual time passes at least so much faster than real time; a year, in ns, is the most that
#: counts.
SLOWEST, YEAR = 20_000, 366 * 86_400 * 10**9
REQUEST, ANSWER = struct.Struct("<Iqq"), struct.Struct("<qQQI")
LENGTH = struct.Struct("<I")


class Call(enum.IntEnum):
    """The calls, in the order of program.h."""

    ABOUT = 1
    CREATE = 2
    ADVANCE = 3
    PACKET = 4
    LISTEN = 5
    UNLISTEN = 6
    ACCEPT = 7
    CONNECT = 8
    SEND = 9
    RECEIVE = 10
    FINISH = 11
    CLOSE = 12
    ABORT = 13
    URGENT = 14
    SET = 15
    GET = 16
    STATE = 17
    EVENTS = 18
    BRANCH = 19


class Fault(Exception):
    """The device broke the interface: it ended, did not answer, or answered nonsense."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to a call: packets were all sent at `now`, which is in nanoseconds."""

    result: int
    now: int
    deadline: int
    packets: tuple
    octets: bytes

    @property
    def text(self):
        """The octets as text."""
        return self.octets.decode("utf-8", "replace")


class Peer:
    """The tests' side: sends a request, waits for its answer at most `patience` seconds, and one
    more for each 20,000 s that the device is to advance.
    """

    def __init__(self, to, source, patience=20.0):
        self._to, self._source = to, source
        self._patience = self._allowed = patience
        self._now = 0
        self._connection = None  # of a copy

    def ask(self, call, first=0, second=0, octets=b""):
        """Makes a call and returns its Answer; Fault, with one line, if the device is wrong."""
        return self._answer(call, REQUEST.pack(call, first, second) + octets, first)

    def branch(self):
        """(Answer, Peer of a copy of the device or None): the device's process is forked, and the
        copy goes on, with a device in the same state, until its Peer is closed. The result is
        UNSUPPORTED for a device that cannot.
        """
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            path = os.path.join(folder, "branch")
            listener.bind(path)
            listener.listen(1)
            listener.settimeout(self._patience)
            answer = self.ask(Call.BRANCH, octets=path.encode())
            if answer.result < 0:
                return answer, None
            try:
                connection = listener.accept()[0]
            except TimeoutError:
                raise Fault(f"its copy has not connected in {self._patience:.3g} s") from None
        copy = Peer(connection.fileno(), connection.fileno(), self._patience)
        copy._connection, copy._now = connection, self._now
        try:
            copy._receive(time.monotonic() + self._patience)
        except Fault:
            copy.close()
            raise
        return answer, copy

    def close(self):
        """Ends a copy that branch() made."""
        if self._connection is not None:
            self._connection.close()

    def _answer(self, call, body, first):
        self._allowed = self._patience
        if call == Call.ADVANCE:  # a kernel that idles for days takes a while
            self._allowed += min(max(0, first - self._now), YEAR) / SLOWEST / 10**9
        end = time.monotonic() + self._allowed
        self._write(LENGTH.pack(len(body)) + body, end)
        return self._receive(end)

    def _receive(self, end):
        (length,) = LENGTH.unpack(self._read(4, end))
        if not ANSWER.size <= length <= ANSWER_MAX:
            raise Fault(f"its answer has {length} octets, expected {ANSWER.size} to {ANSWER_MAX}:"
                        " does it print to its standard output?")
        answer = parsed(self._read(length, end))
        self._now = answer.now
        return answer

    def _late(self):
        return Fault(f"it has not answered in {self._allowed:.3g} s")

    def _write(self, octets, end):
        view = memoryview(octets)
        while view:
            left = end - time.monotonic()
            if left <= 0 or not select.select([], [self._to], [], left)[1]:
                raise self._late()
            try:
                view = view[os.write(self._to, view[:PIPE_BUF]):]
            except OSError:
                raise Fault("it has ended") from None

    def _read(self, length, end):
        parts = []
        while length:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._source], [], [], left)[0]:
                raise self._late()
            piece = os.read(self._source, min(length, 1 << 16))
            if not piece:
                raise Fault("it has ended")
            parts.append(piece)
            length -= len(piece)
        return b"".join(parts)


def parsed(body):
    """The Answer in these bytes."""
    result, now, deadline, count = ANSWER.unpack_from(body)
    at = ANSWER.size
    packets = []
    for _ in range(count):
        if at + 4 > len(body):
            raise Fault(f"its answer announces {count} packets and ends after {len(packets)}")
        (length,) = LENGTH.unpack_from(body, at)
        at += 4
        if length > PACKET_MAX or at + length > len(body):
            raise Fault(f"it sent a packet of {length} octets, expected {PACKET_MAX} at most, and"
                        " all of it in the answer")
        packets.append(body[at:at + length])
        at += length
    return Answer(result, now, deadline, tuple(packets), body[at:])


def write_all(to, octets):
    """Writes all of it to a descriptor."""
    view = memoryview(octets)
    while view:
        view = view[os.write(to, view):]


class Device:
    """What serve() needs of a device, and the methods that it calls if they are there.

    Times are in nanoseconds. Handles and results are those of device.h. `packets` is a list to
    which the device appends the packets (bytes, from the IP header on) that it sends. `options`
    are those of device.h, as text; `profile` is always among them. A ValueError of the constructor
    refuses to make the device; if it begins with "unsupported", the test is skipped. What the
    device prints goes to its standard error.

    Further methods, each of which may be missing:
        listen(port, backlog), unlisten(listener), accept(listener), connect(local_port,
        remote_port), send(connection, bytes), finish(connection), close(connection),
        abort(connection), urgent(connection), set(connection, name, value), get(connection, name):
        return a number, or None for 0; receive(connection, most): bytes, or a number below 0, or 0
        when the peer has finished; state(local_port, remote_port), events(connection): text.
    """

    name = "?"
    stack = "?"
    abilities = "ipv4"
    timer_grain = 1
    timer_late = 0

    def __init__(self, local, remote, mtu, seed, start, options):
        self.local, self.remote, self.mtu, self.seed = local, remote, mtu, seed
        self.now, self.options = start, options
        self.packets = []

    def advance(self, now):
        """Time is now `now`: runs all timers due by then."""
        self.now = now

    def deadline(self):
        """When advance() must be called next, or NEVER."""
        return NEVER

    def packet(self, octets):
        """An IP packet arrives now."""


#: The calls that have a result, with what is passed: first, second, octets.
RESULTS = {
    Call.LISTEN: "listen", Call.UNLISTEN: "unlisten", Call.ACCEPT: "accept",
    Call.CONNECT: "connect", Call.SEND: "send", Call.FINISH: "finish", Call.CLOSE: "close",
    Call.ABORT: "abort", Call.URGENT: "urgent", Call.SET: "set", Call.GET: "get",
}
#: The calls that return bytes, or a number below 0.
OCTETS = {Call.RECEIVE: "receive", Call.STATE: "state", Call.EVENTS: "events"}
#: What a method is called with, of first, second and octets.
TAKES = {
    Call.LISTEN: (0, 1), Call.UNLISTEN: (0,), Call.ACCEPT: (0,), Call.CONNECT: (0, 1),
    Call.SEND: (0, 2), Call.RECEIVE: (0, 1), Call.FINISH: (0,), Call.CLOSE: (0,), Call.ABORT: (0,),
    Call.URGENT: (0,), Call.SET: (0, 2, 1), Call.GET: (0, 2), Call.STATE: (0, 1),
    Call.EVENTS: (0,),
}


def serve(kind, source=0, to=None):
    """Answers requests for a device of the class `kind` until the input ends; on `to`, or on the
    standard output, which then is the standard error for all that the device prints.
    """
    if to is None:
        to = os.dup(1)
        os.dup2(2, 1)
    device = None
    while True:
        head = read_exactly(source, 4)
        if not head:
            return
        body = read_exactly(source, LENGTH.unpack(head)[0])
        call, first, second = REQUEST.unpack_from(body)
        octets = body[REQUEST.size:]
        if call == Call.CREATE:
            device, result, words = created(kind, octets.decode())
        else:
            result, words = answered(kind, device, call, (first, second, octets))
        packets = device.packets if call in (Call.ADVANCE, Call.PACKET) and device else []
        now, due = (device.now, device.deadline()) if device else (0, NEVER)
        out = ANSWER.pack(result, now, due, len(packets))
        out += b"".join(LENGTH.pack(len(each)) + each for each in packets) + words
        packets.clear()
        write_all(to, LENGTH.pack(len(out)) + out)


def read_exactly(source, length):
    """So many bytes; b'' at the end of the input."""
    out = b""
    while len(out) < length:
        piece = os.read(source, length - len(out))
        if not piece:
            return b""
        out += piece
    return out


def created(kind, text):
    """(device or None, result, words)."""
    *lines, options = text.split("\n", 5)
    values = dict(line.split("=", 1) for line in lines)
    try:
        made = kind(values["local"], values["remote"], int(values["mtu"]), int(values["seed"]),
                    int(values["start"]),
                    dict(line.split("=", 1) for line in options.splitlines()))
    except ValueError as why:
        words = str(why)
        return None, UNSUPPORTED if words.startswith("unsupported") else REFUSED, words.encode()
    return made, 0, b""


def answered(kind, device, call, arguments):
    """(result, octets) of a call."""
    if call == Call.ABOUT:
        names = " ".join(name for name in [*RESULTS.values(), *OCTETS.values()]
                         if hasattr(kind, name))
        return 0, (f"version 3\nname {kind.name}\nstack {kind.stack}\n"
                   f"abilities {kind.abilities}\ntimer_grain {kind.timer_grain}\n"
                   f"timer_late {kind.timer_late}\ncalls {names}\n").encode()
    if call == Call.ADVANCE:
        run(device, arguments[0])
        return 0, b""
    if call == Call.PACKET:
        device.packet(arguments[2])
        return 0, b""
    method = getattr(device, (RESULTS | OCTETS).get(call, ""), None)
    if method is None:
        return UNSUPPORTED, b""
    if call in (Call.SET, Call.GET):
        arguments = (*arguments[:2], arguments[2].decode())
    found = method(*(arguments[at] for at in TAKES[call]))
    if call in RESULTS or isinstance(found, int):
        return found or 0, b""
    octets = found.encode() if isinstance(found, str) else found
    return len(octets) if call == Call.RECEIVE else 0, octets


def run(device, until):
    """Runs from deadline to deadline, up to the first packet or to `until`."""
    while not device.packets and (device.now < until or device.deadline() <= until):
        device.advance(min(max(device.deadline(), device.now), until))
