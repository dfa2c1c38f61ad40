# The tester's half of a TCP conversation: sending, expecting, building states, advancing time.
import dataclasses
import hashlib

from scapy.layers.inet import ICMP

from .. import drops
from .errors import Elsewhere, Mismatch, Misuse, Unsupported
from .packets import (
    MOD,
    TCP,
    dissected,
    glance,
    in_order,
    ip_header,
    letters_of,
    octets_of,
    options_of,
    payload_of,
    since,
    words_of,
)
from .target import Timing
from .units import nanoseconds, seconds
from .wire_rules import WireRules

ANY = object()
#: Lines of the record after which a test ends in a profile that it does not name, where a wait for
#: something that never arrives would have no end.
ELSEWHERE_MAX = 1_500


class Absolute(int):
    """An absolute sequence number, as in the packet; other numbers are relative to a side's SYN."""


@dataclasses.dataclass
class Entry:
    """One line of the record: a packet, or a remark, at an instant."""

    at: int
    inward: bool = True
    packet: bytes = b""
    #: The initial sequence numbers of its sender and of the other side, as known then.
    origins: tuple = (0, 0)
    remark: str = ""

    @property
    def text(self):
        """The packet in one line."""
        return words_of(self.packet, *self.origins)


class Conversation:
    """The value of the fixture `tcp`.

    Sequence numbers are relative: `seq` of what the tester sends and `ack` of what the target sends
    are relative to the tester's SYN (`peer_iss`), the other two to the target's (`device_iss`).
    Durations are strings with a unit: '200ms'. Waits are measured from the last packet sent, packet
    expected, call or advance, whichever was last.
    """

    def __init__(self, target, peer_iss=0xFFFF_FFF0, elsewhere=""):
        self.target = target
        #: In a profile that the test does not name, its expectations are not judged.
        self.elsewhere = elsewhere
        self.peer_iss = peer_iss % MOD
        #: Before the target has sent a SYN: an arbitrary number.
        self.device_iss = 0x1000_0000
        #: The next number of each side, relative.
        self.peer_nxt = 0
        self.device_nxt = 0
        #: The window that the target advertised last, as in the packet.
        self.device_window = 0
        self.port = target.port
        self.peer_port = target.peer_port
        self.connection = None
        #: Once both SYNs had a timestamp, each segment of the tester has this TSval and echoes the
        #: target's last one.
        self.stamp = 1
        self.echo = 0
        self.stamping = False
        self._stamp_offered = False
        #: Names of the options of the target's last SYN.
        self._device_options = set()
        self.record = []
        self.clauses = []
        self._queue = []
        self._lenient = False
        self._rules = WireRules(target)
        self._mark = target.now()
        self._start = self._mark

    # --- sending ---

    def segment(self, flags, seq=None, ack=None, payload=b"", window=65535, options=None,
                urgent=0, **fields):
        """A packet of scapy from the tester; fields left out continue from the tester's current
        state.

        `options` are scapy's; a timestamp whose echo is None echoes the target's last one. Without
        `options` the negotiated ones are added. `fields` are passed to scapy's TCP unchanged
        (reserved, dataofs, chksum, ...).
        """
        flags = in_order(flags)
        seq = self.peer_nxt if seq is None else seq
        if ack is None:
            ack = self.device_nxt if "A" in flags else Absolute(0)
        if isinstance(payload, int):
            payload = pattern(payload)
        header = TCP(
            sport=self.peer_port,
            dport=self.port,
            flags=flags,
            seq=self._absolute(seq, self.peer_iss),
            ack=self._absolute(ack, self.device_iss),
            window=window,
            options=self._options(flags, options, "dataofs" not in fields),
            urgptr=urgent,
            **fields,
        )
        packet = ip_header(self.target) / header
        return packet / payload if payload else packet

    def inject(self, packet):
        """Delivers a packet to the target: IP, IPv6 or TCP of scapy, or bytes. Returns self."""
        if self.elsewhere and len(self.record) > ELSEWHERE_MAX:
            raise Elsewhere(f"{ELSEWHERE_MAX} packets")
        octets = octets_of(packet, self.target)
        self._note_sent(octets)
        self._rules.sent(octets)
        self.record.append(self._entry(self.target.now(), True, octets))
        self.target.send(octets)
        self._mark = self.target.now()
        return self

    def send(self, flags, **fields):
        """inject(segment(...))."""
        return self.inject(self.segment(flags, **fields))

    # --- expecting ---

    def expect(self, flags=ANY, within=ANY, at=ANY, timing=None, **fields):
        """The next packet, which must be a segment with these flags; returned as a packet of scapy.

        within   how long it may take; 0s unless `at` is given
        at       how long it takes exactly; a live target has the tolerance of `timing`, by default
                 that of a timer
        seq ack window urgent length   numbers
        payload  bytes
        options  {'MSS': 1460, 'SAckOK': None}: with this value; None: must not be present;
                 ... (Ellipsis): must be present
        """
        known = {"seq", "ack", "window", "urgent", "length", "payload", "options", "port", "chksum"}
        unknown = set(fields) - known
        if unknown:
            raise Misuse(f"expect() knows no {sorted(unknown)[0]!r}; it knows {sorted(known)}")
        if flags is not ANY:
            flags = in_order(flags)
        if at is not ANY and within is not ANY:
            raise Misuse("expect() takes `within` or `at`, not both")
        mark = self._mark
        earliest, latest = self._bounds(mark, within, at, timing)
        headline = self._headline(flags, fields, within, at)
        departure = self._next(latest)
        if departure is None:
            waited = ("waited", "", seconds(latest - mark) + " s", False)
            rows = [("packet", "one", "none", True), waited, *self._state_row(),
                    *self._absence_rows()]
            self._fail(headline + ": nothing came", rows)
            self._mark = latest
            return None
        packet = dissected(departure.packet)
        packet.time = departure.at / 1e9
        if TCP not in packet:
            self._fail(headline, [("packet", "a TCP segment", packet.summary(), True)])
            self._mark = departure.at
            return packet
        rows = self._compare(packet, flags, fields)
        due = seconds(earliest - mark) if earliest == latest else (
            f"{seconds(earliest - mark)} to {seconds(latest - mark)}")
        late = departure.at > latest or departure.at < earliest
        rows.insert(0, ("after", due, seconds(departure.at - mark), late))
        if any(row[3] for row in rows):
            self._fail(headline, rows + self._state_row())
        self._mark = departure.at
        return packet

    def expect_icmp(self, within="0s"):
        """The next packet, which must be ICMP or ICMPv6; returned as a packet of scapy."""
        latest = self._mark + nanoseconds(within, "within")
        departure = self._next(self.target.window(latest, Timing.AT_ONCE)[1])
        if departure is None:
            self._fail("an ICMP message: nothing came",
                       [("packet", "ICMP", "none", True), *self._absence_rows()])
            self._mark = latest
            return None
        packet = dissected(departure.packet)
        if ICMP not in packet and not any("ICMPv6" in layer.__name__ for layer in packet.layers()):
            self._fail("an ICMP message", [("packet", "ICMP", packet.summary(), True)])
        self._mark = departure.at
        return packet

    def expect_silence(self, duration):
        """Nothing is sent for this long, counted from now; advances the time by it."""
        until = self._mark + nanoseconds(duration, "the silence")
        departure = self._next(self.target.quiet(until))
        if departure is not None:
            after = seconds(departure.at - self._mark)
            words = self._words(departure.packet)
            self._fail(
                f"silence for {duration}",
                [("packet", "none", words, True), ("after", "", after + " s", False)]
                + self._state_row(),
            )
        self._mark = until
        return self

    def advance(self, duration):
        """Advances the time; packets sent meanwhile are kept for the next expect()."""
        until = self.target.now() + nanoseconds(duration, "advance")
        for _ in range(100_000):
            departure = self.target.receive(until)
            if departure is None:
                break
            self._take(departure)
        else:
            raise Misuse(f"advance({duration!r}): 100000 packets left; shorten it or take them")
        self._mark = until
        return self

    def skip_bare_ack(self):
        """Ignores a bare ACK that leaves now; a target in virtual time sends none that needs
        skipping.
        """
        departure = None if self.target.exact else self._next(self.target.settled())
        seen = departure and glance(departure.packet)
        if departure is not None and not (seen and seen.flags == "A" and seen.length == 0):
            self._queue.insert(0, departure)
        return self

    def peek(self):
        """The flags of the next segment that was already sent, or None; it stays next."""
        departure = self._next(self.target.settled())
        if departure is None:
            return None
        self._queue.insert(0, departure)
        packet = dissected(departure.packet)
        return letters_of(packet[TCP]) if TCP in packet else ""

    def drain(self):
        """All packets sent by now and not expected yet, as packets of scapy; nothing is judged."""
        out = []
        while True:
            departure = self._next(self.target.settled())
            if departure is None:
                return out
            out.append(dissected(departure.packet))

    def expect_state(self, *names):
        """The target is in one of these states; not judged if it cannot be observed."""
        state = self.state
        if state is not None and state not in names:
            self._fail(f"state {' or '.join(names)}", [("state", " or ".join(names), state, True)])
        return self

    @property
    def state(self):
        """The state by the RFC's name, or None."""
        return self.target.state(self.port, self.peer_port)

    def expect_read(self, data):
        """The program reads exactly this."""
        if isinstance(data, int):
            data = pattern(data)
        got = self.target.read(self.connection, max(len(data) + 1, 65536))
        if got != data:
            self._fail(
                f"the program reads {len(data)} bytes",
                [("bytes", shown(data), shown(got), True)],
            )
        self._mark = self.target.now()
        return self

    def expect_event(self, *words):
        """The program has received one of these events; nothing is judged if events cannot be
        observed.
        """
        events = self.target.events(self.connection)
        if events is not None and not any(word in events for word in words):
            self._fail(
                f"the program gets the event {' or '.join(words)}",
                [("events", " or ".join(words), ", ".join(events) or "nothing", True)],
            )
        return self

    @property
    def events(self):
        """The events of the connection, as words; Unsupported if they cannot be observed."""
        events = self.target.events(self.connection)
        if events is None:
            raise Unsupported(f"target {self.target.name} does not show the program's events")
        return events

    def check(self, what, expected, actual):
        """Any other comparison, reported like those of expect()."""
        if expected != actual:
            self._fail(what, [(what[:10], str(expected), str(actual), True)])
        return self

    def obeying(self, target, ids):
        """Names the clause that the following tests: obeying('rfc9293#3.5', '9293:MUST-10')."""
        self.clauses = [(target, ids)]
        return self

    def ignore_rest(self):
        """Does not judge packets that are sent from here on, or were not expected."""
        self._lenient = True
        return self

    def needs_virtual_time(self, why):
        """Restricts the test to targets in virtual time, with this reason."""
        return self if self.target.virtual else self.leave_out(why)

    def leave_out(self, why):
        """Skips the test on this target, with this reason."""
        raise Unsupported(f"target {self.target.name}: {why}")

    # --- the program on the target ---

    def write(self, data):
        """The program sends bytes, or a number of bytes of a pattern."""
        data = pattern(data) if isinstance(data, int) else data
        taken = self.offer(data)
        if taken != len(data):
            self._fail("the program writes", [("bytes", str(len(data)), str(taken), True)])
        return self

    def offer(self, data):
        """The program sends as much of this as is accepted now; returns how many bytes that is."""
        taken = self.target.write(self._open(), data)
        self._rules.wrote(self.port, self.peer_port, self.connection, data[:taken])
        self._called(f"write {taken}")
        return taken

    def read(self, most=1 << 20):
        """The data that the program can read now."""
        data = self.target.read(self._open(), most)
        self._called(f"read {len(data)}")
        return data

    def finish(self):
        """The program closes its half."""
        self.target.finish(self._open())
        return self._called("finish")

    def close(self):
        """The program closes and stops reading."""
        self.target.close(self._open())
        return self._called("close")

    def abort(self):
        """The program aborts."""
        self.target.abort(self._open())
        return self._called("abort")

    def unlisten(self):
        """The program stops listening."""
        self.target.unlisten()
        return self._called("unlisten")

    def accept(self):
        """The program accepts the connection, which must be present."""
        self.connection = self.target.accept()
        if self.connection is None:
            self._fail("a connection to accept", [("accept", "a connection", "none", True)])
        return self

    @property
    def info(self):
        """The variables of the connection, as the target shows them."""
        return self.target.inspect(self._open())

    # --- states ---

    def closed(self):
        """No listener and no connection."""
        return self

    def listen(self):
        """A program listens."""
        self.target.listen(self.port)
        if self.target.keeps_listening:
            self.port = self.target.port
        self._called("listen")
        return self.expect_state("LISTEN")

    def syn_sent(self):
        """An active open; its SYN has left and is not answered."""
        self.connection = self.target.connect(self.port, self.peer_port)
        self._called("connect")
        self.expect("S", ack=Absolute(0))
        return self.expect_state("SYN-SENT")

    def syn_received(self, active=False, window=65535, options=()):
        """A SYN has arrived; our SYN-ACK is not acknowledged. active: a simultaneous open."""
        if active:
            self.syn_sent()
        else:
            self.listen()
        self.send("S", window=window, options=options)
        self.expect("SA", seq=0, ack=1)
        return self.expect_state("SYN-RECEIVED")

    def established(self, active=False, window=65535, options=()):
        """The handshake is complete, the program has the connection; the listener is gone."""
        if active:
            self.syn_sent()
            self.send("SA", ack=1, window=window, options=options)
            self.expect("A", seq=1, ack=1)
        else:
            self.syn_received(window=window, options=options)
            self.send("A", window=window)
            self.accept()
            if not self.target.keeps_listening:
                self.unlisten()
        return self.expect_state("ESTABLISHED")

    def fin_wait_1(self, **more):
        """We have closed; our FIN is not acknowledged."""
        self.established(**more)
        self.finish()
        self.expect("FA", seq=1, ack=1, length=0)
        return self.expect_state("FIN-WAIT-1")

    def fin_wait_2(self, **more):
        """We have closed; our FIN is acknowledged, the peer's has not arrived."""
        self.fin_wait_1(**more)
        self.send("A")
        return self.expect_state("FIN-WAIT-2")

    def close_wait(self, **more):
        """The peer has closed, we have not."""
        self.established(**more)
        self.send("FA")
        self.expect("A", within="500ms", seq=1, ack=2)
        return self.expect_state("CLOSE-WAIT")

    def closing(self, **more):
        """Both sides have closed at once; our FIN is not acknowledged."""
        self.fin_wait_1(**more)
        self.send("FA", ack=1)
        self.expect("A", within="500ms", seq=2, ack=2)
        return self.expect_state("CLOSING")

    def last_ack(self, **more):
        """The peer has closed, then we have; our FIN is not acknowledged."""
        self.close_wait(**more)
        self.finish()
        self.expect("FA", seq=1, ack=2)
        return self.expect_state("LAST-ACK")

    def time_wait(self, **more):
        """We have closed first; both FINs are acknowledged."""
        self.fin_wait_2(**more)
        self.send("FA")
        self.expect("A", within="500ms", seq=2, ack=2)
        return self.expect_state("TIME-WAIT")

    # --- the end ---

    def end(self):
        """After the test: unexpected packets are failures, and so are violations of the wire rules,
        and connections that do not end.
        """
        while (departure := self._next(self.target.now())) is not None:
            if not self._lenient:
                words = self._words(departure.packet)
                self._fail("nothing more", [("packet", "none", words, True)])
        self.settle()

    def settle(self):
        """Checks what holds in each profile: the wire rules, and that every connection ends."""
        wrong = self.target.settled_down(judged=not self._rules.blind)
        if wrong:
            raise Mismatch("no TCP does this", [("", "", line, True) for line in wrong])

    @property
    def start(self):
        """The instant at which the test began."""
        return self._start

    def wire_lines(self):
        """The record as lines: milliseconds, > to the target or < from it, the packet."""
        out = []
        for entry in self.record:
            way = ("> " if entry.inward else "< ") + entry.text if entry.packet else entry.remark
            out.append(f"{(entry.at - self._start) / 1e6:.0f} ms  {way}")
        return out

    def digest(self):
        """A hash of the whole record: each packet with its direction and instant, and each call."""
        seen = hashlib.sha256()
        for entry in self.record:
            seen.update(f"{entry.at - self._start} {entry.inward} {entry.remark} ".encode())
            seen.update(entry.packet)
        return seen.hexdigest()[:32]

    # --- internals ---

    def _absolute(self, number, origin):
        if not isinstance(number, int):
            raise Misuse(f"a sequence number is {number!r}: write a whole number")
        return int(number) % MOD if isinstance(number, Absolute) else (origin + number) % MOD

    def _options(self, flags, options, whole):
        echo = self.echo if "A" in flags else 0
        if self.elsewhere and whole and "S" in flags:
            options = [*(options or ()), *self._extensions(flags, options or ())]
        if options is None:
            stamps = self.stamping and "R" not in flags
            return [("NOP", None), ("NOP", None), ("Timestamp", (self.stamp, echo))] * stamps
        return [
            ("Timestamp", (value[0], echo)) if name == "Timestamp" and value[1] is None
            else (name, value)
            for name, value in options
        ]

    def _extensions(self, flags, options):
        """The options that a profile adds to a SYN for which the test gives none, so that they are
        negotiated.
        """
        there = {name for name, _ in options}
        able = {"SAckOK": b"", "Timestamp": (self.stamp, None), "WScale": 0}
        if len(there) > 1 or ("A" in flags and not self._device_options):
            return []
        return [(name, value) for name, value in able.items()
                if name not in there and ("A" not in flags or name in self._device_options)]

    def _open(self):
        if self.connection is None:
            if self.elsewhere:
                raise Elsewhere("no connection")
            raise Misuse("no connection yet: build a state first, as tcp.established()")
        return self.connection

    def _called(self, words):
        self._mark = self.target.now()
        self.record.append(Entry(self._mark, remark=words))
        return self

    def _bounds(self, mark, within, at, timing):
        if at is not ANY:
            return self.target.window(mark + nanoseconds(at, "at"), timing or Timing.TIMER)
        timing = timing or Timing.AT_ONCE
        if within is ANY:
            return self.target.window(mark, timing)
        latest = mark + nanoseconds(within, "within")
        return self.target.window(mark, timing)[0], self.target.window(latest, timing)[1]

    def _next(self, until):
        """The next packet by `until`, recorded; None if there was none."""
        if not self._queue:
            departure = self.target.receive(until)
            if departure is not None:
                self._take(departure)
        if self._queue and self._queue[0].at <= until:
            return self._queue.pop(0)
        return None

    def _take(self, departure):
        seen = glance(departure.packet)
        if seen is not None:
            if "S" in seen.flags:
                self.device_iss = seen.seq
                self._device_options = set(options_of(dissected(departure.packet)[TCP]))
                self.stamping = self._stamp_offered and seen.stamp is not None
            if "R" not in seen.flags:
                end = since(seen.seq, self.device_iss) + seen.length
                self.device_nxt = max(self.device_nxt, end)
                self.device_window = seen.window
                self.echo = self.echo if seen.stamp is None else seen.stamp
        self.record.append(self._entry(departure.at, False, departure.packet))
        self._rules.opened(self.port, self.peer_port)
        faults = self._rules.faults(departure.packet, departure.at)
        if faults:
            words = self._words(departure.packet)
            raise Mismatch(f"no TCP sends this: {words}", faults + self._state_row())
        self._queue.append(departure)

    def _note_sent(self, octets):
        seen = glance(octets)
        if seen is None:
            return
        if "S" in seen.flags:
            self._stamp_offered = seen.stamp is not None
            if self._stamp_offered and "A" in seen.flags:
                self.stamping = self.echo != 0
        begin = since(seen.seq, self.peer_iss)
        if "R" not in seen.flags and begin == self.peer_nxt:
            self.peer_nxt = begin + seen.length

    def _relative(self, packet):
        """seq and ack of a packet of the target, relative."""
        tcp = packet[TCP]
        return since(tcp.seq, self.device_iss), since(tcp.ack, self.peer_iss)

    def _compare(self, packet, flags, fields):
        tcp = packet[TCP]
        payload = payload_of(packet)
        seq, ack = self._relative(packet)
        rows = []
        actual = letters_of(tcp)
        if tcp.dport != self.peer_port:
            rows.append(("to port", str(self.peer_port), str(tcp.dport), True))
        if tcp.sport != fields.get("port", self.port):
            rows.append(("port", str(fields.get("port", self.port)), str(tcp.sport), True))
        if flags is not ANY:
            # RFC 9293 3.9.1.2 requires PSH when the queue becomes empty; elsewhere it is optional.
            pushed = (not self.target.exact and payload and "P" not in flags
                      and in_order("P" + flags) == actual)
            rows.append(("flags", flags, actual, flags != actual and not pushed))
        plain = {
            "seq": tcp.seq if isinstance(fields.get("seq"), Absolute) else seq,
            "ack": tcp.ack if isinstance(fields.get("ack"), Absolute) else ack,
            "window": tcp.window,
            "urgent": tcp.urgptr,
            "length": len(payload),
            "chksum": tcp.chksum,
        }
        for name, value in plain.items():
            if name in fields:
                rows.append((name, str(int(fields[name])), str(value), int(fields[name]) != value))
        if "payload" in fields:
            wanted = fields["payload"]
            wanted = pattern(wanted) if isinstance(wanted, int) else wanted
            rows.append(("payload", shown(wanted), shown(payload), wanted != payload))
        there = options_of(tcp)
        for name, value in fields.get("options", {}).items():
            found = there.get(name, None)
            if value is None:
                actual = repr(found) if name in there else "absent"
                rows.append((name, "absent", actual, name in there))
            elif value is ...:
                rows.append((name, "present", "present" if name in there else "absent",
                             name not in there))
            else:
                rows.append((name, repr(value), repr(found), found != value))
        return rows

    def _headline(self, flags, fields, within, at):
        parts = [flags if flags is not ANY else "a segment"]
        parts += [f"{name} {value}" for name, value in fields.items() if name != "payload"]
        if at is not ANY:
            parts.append(f"after {at}")
        elif within is not ANY:
            parts.append(f"within {within}")
        return "expected " + ", ".join(parts)

    def _state_row(self):
        state = self.state
        return [] if state is None else [("state", "", state, False)]

    def _absence_rows(self):
        """Why nothing may have come: which target it is, and what that has dropped."""
        target = self.target
        rows = [("target", "", f"{target.local} port {self.port}, the tester {target.remote} "
                 f"port {self.peer_port}", False)]
        try:
            dropped = target.dropped()
        except Unsupported:
            return rows
        reasons = drops()
        return rows + [("dropped", "", f"{count} {name}: {reasons.get(name, '')}", False)
                       for name, count in dropped.items() if count]

    def _entry(self, at, inward, octets):
        ours, theirs = self.peer_iss, self.device_iss
        return Entry(at, inward, octets, (ours, theirs) if inward else (theirs, ours))

    def _words(self, octets):
        return words_of(octets, self.device_iss, self.peer_iss)

    def _fail(self, headline, rows):
        """An expectation is not met. In a profile that the test does not name it continues."""
        if not self.elsewhere:
            raise Mismatch(headline, rows)


def pattern(length):
    """Bytes of a pattern with period 251, so that a shift is detectable."""
    return bytes(i % 251 for i in range(length))


def shown(data):
    """Bytes for a column: short ones completely, otherwise the first of them and their number."""
    return repr(data) if len(data) <= 16 else f"{len(data)} bytes {data[:8]!r}..."
