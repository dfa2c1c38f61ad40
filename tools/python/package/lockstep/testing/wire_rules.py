# Rules for each packet of a TCP, independent of the test: applied to everything that is sent.
"""A test judges its subject; the rest of each packet is judged here, from what the tester has sent
and the program has written: addresses, ports, lengths, checksums, invalid combinations of flags,
impossible numbers, payload that was never written, options that were not negotiated.
"""
import collections
import dataclasses

from .packets import MOD, since, socket_octets

TCP, ICMP, ICMP6 = 6, 1, 58
FIN, SYN, RST, ACK, URG, ECE, CWR = 1, 2, 4, 16, 32, 64, 128
EOL, NOP, MSS, SCALE, SACK_PERMITTED, SACK, STAMPS = 0, 1, 2, 3, 4, 5, 8
#: kind of an option -> its valid lengths.
LENGTHS = {MSS: {4}, SCALE: {3}, SACK_PERMITTED: {2}, SACK: {10, 18, 26, 34}, STAMPS: {10}}
ON_SYN_ONLY = {MSS: "MSS", SCALE: "WScale", SACK_PERMITTED: "SAckOK"}
SCALE_MAX = 14
#: RFC 7323 5.5: timestamps of milliseconds further apart than this cannot be ordered.
STAMPS_ORDERED = (1 << 31) * 1_000_000
#: Extension headers of IPv6 that a tester may put before its segment.
EXTENSIONS = {0, 43, 60}
#: ICMP errors, which quote a packet.
ERRORS = {3, 4, 5, 11, 12}
QUOTED_OCTETS = 28
REMEMBERED = 64


def summed(octets):
    """'right' if the Internet checksum over these octets is correct, else 'wrong'."""
    octets = octets + b"\0" * (len(octets) % 2)
    return "right" if any(octets) and int.from_bytes(octets, "big") % 0xFFFF == 0 else "wrong"


def number(octets, at, length):
    return int.from_bytes(octets[at : at + length], "big")


def options_in(octets):
    """[(kind, value)] of a header's options, and a description of the first error or None."""
    out, at = [], 0
    while at < len(octets):
        kind = octets[at]
        if kind == EOL:
            return out, "octets after the end of the list" if any(octets[at:]) else None
        if kind == NOP:
            at += 1
            continue
        length = octets[at + 1] if at + 1 < len(octets) else 0
        if length < 2 or at + length > len(octets):
            return out, f"kind {kind} of length {length}"
        out.append((kind, octets[at + 2 : at + length]))
        at += length
    return out, None


@dataclasses.dataclass
class Segment:
    """The fields of a TCP segment, as in the packet."""

    source: int
    destination: int
    seq: int
    ack: int
    flags: int
    window: int
    urgent: int
    reserved: int
    payload: bytes
    options: list
    wrong: str | None

    @classmethod
    def read(cls, octets):
        """Parses a header and its payload; None if it is truncated, or its lengths contradict."""
        if len(octets) < 20:
            return None
        begin = (octets[12] >> 4) * 4
        options, wrong = options_in(octets[20:begin])
        return cls(number(octets, 0, 2), number(octets, 2, 2), number(octets, 4, 4),
                   number(octets, 8, 4), octets[13], number(octets, 14, 2), number(octets, 18, 2),
                   octets[12] & 15, octets[begin:], options, wrong)

    @property
    def length(self):
        """SEG.LEN."""
        return len(self.payload) + bool(self.flags & SYN) + bool(self.flags & FIN)

    @property
    def end(self):
        return (self.seq + self.length) % MOD

    def value(self, kind):
        """The value of the first option of this kind, or None."""
        return next((value for each, value in self.options if each == kind), None)

    def malformed(self, kind):
        """Whether it has an option of this kind whose length is wrong."""
        value = self.value(kind)
        return value is not None and len(value) + 2 not in LENGTHS[kind]


@dataclasses.dataclass
class Pair:
    """The known state of the two ends of a connection, or of a possible one."""

    # Of the tester; everything it sent, whether it arrived or not.
    pieces: list = dataclasses.field(default_factory=list)
    ends: set = dataclasses.field(default_factory=set)
    acks: set = dataclasses.field(default_factory=set)
    stamps: set = dataclasses.field(default_factory=set)
    #: What its SYNs offered: a kind of option or ECE -> the set of answers, {True, False}.
    offered: dict = dataclasses.field(default_factory=dict)
    scale: int = 0
    limit: int | None = None
    # Of the target, since its last SYN.
    iss: int | None = None
    nxt: int = 0
    acked: int | None = None
    edge: int | None = None
    own_scale: int = 0
    own: set = dataclasses.field(default_factory=set)
    #: Its last TSval, and when it was sent.
    stamp: tuple | None = None
    # The data that the program has written, and how much of it was seen.
    owner: object = None
    written: bytearray | None = None
    seen: bytearray = dataclasses.field(default_factory=bytearray)

    def covers(self, octet):
        """How many octets from this number on the tester has sent; 0 if not even this one."""
        for begin, length in self.pieces:
            into = (octet - begin) % MOD
            if into < length:
                return length - into
        return 0

    def covers_all(self, begin, end):
        """Whether the tester sent each octet from begin up to end."""
        while (left := since(end, begin)) > 0:
            run = self.covers(begin)
            if run == 0:
                return False
            begin = (begin + min(run, left)) % MOD
        return True

    def agreed(self, kind):
        """Whether both SYNs had it, True or False; None if the tester's SYNs differ."""
        said = self.offered.get(kind, {False})
        return None if len(said) > 1 else kind in self.own and said == {True}


class WireRules:
    """Judges one conversation. `sent`, `wrote` and `opened` report what happens."""

    def __init__(self, target):
        self._exact = target.exact
        self._version = target.ip_version
        self._ours = socket_octets(target.remote)
        self._theirs = socket_octets(target.local)
        self._pairs = collections.defaultdict(Pair)
        self._packets = collections.deque(maxlen=REMEMBERED)
        #: A packet of the tester was fragmented or unreadable, so what the target received is not
        #: known.
        self._blind = False
        self._at = 0
        #: A packet of the tester had IP options.
        self._optioned = False

    @property
    def blind(self):
        """A packet of the tester could not be parsed; what the target has received is unknown."""
        return self._blind

    # --- events ---

    def opened(self, port, peer_port):
        """The target may send from this port to that port of the tester."""
        return self._pairs[port, peer_port]

    def wrote(self, port, peer_port, connection, data):
        """The program has written this data to the connection between these ports."""
        pair = self.opened(port, peer_port)
        if pair.written is None or pair.owner != connection:
            pair.owner, pair.written = connection, bytearray()
        pair.written += data

    def sent(self, octets):
        """The tester has sent this packet."""
        self._packets.append(octets)
        body = self._segment_within(octets)
        segment = body and Segment.read(body)
        if not segment:
            return
        pair = self._pairs[segment.destination, segment.source]
        if segment.length:
            pair.pieces.append((segment.seq, segment.length))
        pair.ends.add(segment.end)
        stamps = segment.value(STAMPS)
        if stamps and not segment.malformed(STAMPS):
            pair.stamps.add(number(stamps, 0, 4))
        if segment.flags & SYN:
            for kind in (STAMPS, SCALE, SACK_PERMITTED):
                # A peer may drop what is malformed, or ignore that option.
                doubtful = segment.wrong or segment.malformed(kind)
                pair.offered.setdefault(kind, set()).update(
                    {True, False} if doubtful else {segment.value(kind) is not None})
            pair.offered.setdefault(ECE, set()).add(bool(segment.flags & ECE))
            scale = None if segment.malformed(SCALE) else segment.value(SCALE)
            pair.scale = min(scale[0], SCALE_MAX) if scale else pair.scale
        if segment.flags & ACK:
            pair.acks.add(segment.ack)
        if not segment.flags & RST:
            self._note_window(pair, segment)

    def _note_window(self, pair, segment):
        """Records the furthest right edge that the tester has offered."""
        base = segment.ack if segment.flags & ACK else None
        if base is None:
            return
        limit = (base + (segment.window << pair.scale)) % MOD
        if pair.limit is None or since(limit, pair.limit) > 0:
            pair.limit = limit

    def _segment_within(self, octets):
        """The TCP segment in a packet of the tester; None if it has none."""
        if octets[:1] and octets[0] >> 4 == 6 and len(octets) >= 40:
            kind, at = octets[6], 40
            while kind in EXTENSIONS and at + 8 <= len(octets):
                kind, at = octets[at], at + 8 * (octets[at + 1] + 1)
            self._blind = self._blind or kind == 44
            return octets[at : 40 + number(octets, 4, 2)] if kind == TCP else None
        if len(octets) < 20 or octets[9] != TCP:
            return None
        self._blind = self._blind or number(octets, 6, 2) & 0x3FFF != 0
        self._optioned = self._optioned or octets[0] & 15 > 5
        return octets[(octets[0] & 15) * 4 : number(octets, 2, 2)]

    # --- judging ---

    def faults(self, octets, at):
        """The violations of a packet that was sent at an instant, as rows of a Mismatch; [] if
        none.
        """
        rows = Rows()
        self._at = at
        body, kind, ecn = self._header(octets, rows)
        if rows or body is None:
            return rows
        if kind == TCP:
            self._tcp(body, ecn, rows)
        else:
            self._icmp(octets, body, kind, rows)
        return rows

    def _header(self, octets, rows):
        """Judges the IP header. Returns its payload, the protocol, and the ECN bits."""
        rows.same("version", self._version, octets[0] >> 4 if octets else None)
        least = 20 if self._version == 4 else 40
        rows.true("IP header", f"{least} octets or more", len(octets), len(octets) >= least)
        if rows:
            return None, None, 0
        length = (octets[0] & 15) * 4 if self._version == 4 else 40
        if self._version == 4:
            kind, life, addresses, ecn = octets[9], octets[8], octets[12:20], octets[1] & 3
            # RFC 1122 3.2.1.8: a reply may have options if the packet that it answers had some.
            rows.true("IP header", "20 octets", f"{length} octets",
                      length == 20 or (self._optioned and length > 20))
            rows.same("IP length", len(octets), number(octets, 2, 2))
            rows.same("IP sum", "right", summed(octets[:length]))
            rows.same("IP flags", "no reserved bit", "no reserved bit" if not octets[6] & 128
                      else "the reserved bit")
            whole = number(octets, 6, 2) & 0x3FFF == 0
        else:
            kind, life, addresses, ecn = octets[6], octets[7], octets[8:40], octets[1] >> 4 & 3
            rows.same("IP length", len(octets) - 40, number(octets, 4, 2))
            whole = kind != 44
        half = len(addresses) // 2
        rows.same("source", self._theirs.hex(":"), addresses[:half].hex(":"))
        rows.same("to", self._ours.hex(":"), addresses[half:].hex(":"))
        rows.true("TTL", "1 or more", life, life > 0)
        rows.true("protocol", "TCP or ICMP", kind,
                  not whole or kind in (TCP, ICMP if self._version == 4 else ICMP6))
        rows.true("fragment", "none of TCP", "one", whole or kind != TCP)
        return (octets[length:] if whole else None), kind, ecn

    def _pseudo(self, kind, length):
        if self._version == 4:
            return self._theirs + self._ours + bytes([0, kind]) + length.to_bytes(2, "big")
        return self._theirs + self._ours + length.to_bytes(4, "big") + bytes([0, 0, 0, kind])

    def _icmp(self, octets, body, kind, rows):
        """Judges an ICMP message: its checksum, and that the packet quoted by an error was sent."""
        rows.true("ICMP", "8 octets or more", len(body), len(body) >= 8)
        if rows:
            return
        pseudo = self._pseudo(kind, len(body)) if kind == ICMP6 else b""
        rows.same("ICMP sum", "right", summed(pseudo + body))
        if body[0] in ERRORS if kind == ICMP else body[0] < 128:
            quote = body[8 : 8 + QUOTED_OCTETS]
            rows.true("quotes", "a packet that was sent", quote.hex(),
                      any(each.startswith(quote) for each in self._packets))

    def _tcp(self, body, ecn, rows):
        segment = Segment.read(body)
        words = (body[12] >> 4) if segment else 0
        rows.true("header", "whole", f"{words} words of {len(body)} octets",
                  segment is not None and words >= 5 and words * 4 <= len(body))
        if rows:
            return
        rows.same("checksum", "right", summed(self._pseudo(TCP, len(body)) + body))
        known = (segment.source, segment.destination) in self._pairs
        rows.true("ports", " or ".join(f"{a} to {b}" for a, b in self._pairs),
                  f"{segment.source} to {segment.destination}", known)
        if rows:
            return
        pair = self._pairs[segment.source, segment.destination]
        self._flags(pair, segment, ecn, rows)
        if segment.flags & SYN:
            self._begin(pair, segment)
        self._options(pair, segment, rows)
        if segment.flags & RST:
            self._reset(pair, segment, rows)
        else:
            self._numbers(pair, segment, rows)
            self._payload(pair, segment, rows)

    def _flags(self, pair, segment, ecn, rows):
        flags = segment.flags
        rows.same("reserved", 0, segment.reserved)
        rows.true("flags", "one of SYN, FIN, RST", "more",
                  sum(bool(flags & each) for each in (SYN, FIN, RST)) <= 1)
        rows.true("flags", "ACK", "none", flags & (ACK | RST) or flags & SYN)
        rows.true("ack", "0 without ACK", segment.ack, flags & ACK or segment.ack == 0)
        rows.true("urgent", "0 without URG", segment.urgent, flags & URG or segment.urgent == 0)
        rows.true("payload", "none with RST", len(segment.payload),
                  not (flags & RST and segment.payload))
        offered = pair.offered.get(ECE, {False})
        if offered == {False} and (flags & ACK or not flags & SYN):
            rows.true("flags", "no ECE or CWR", "one", not flags & (ECE | CWR))
            rows.same("ECN", "not ECT", "not ECT" if ecn == 0 else str(ecn))

    def _begin(self, pair, segment):
        """A SYN of the target: its numbers so far belong to another connection."""
        if pair.iss != segment.seq:
            pair.seen = bytearray()
            pair.nxt, pair.stamp = segment.seq, None
        pair.iss, pair.edge, pair.acked = segment.seq, None, None
        pair.own = {kind for kind, _ in segment.options}
        scale = segment.value(SCALE)
        pair.own_scale = scale[0] if scale else 0

    def _options(self, pair, segment, rows):
        rows.same("options", "well formed", segment.wrong or "well formed")
        kinds = [kind for kind, _ in segment.options]
        syn, reset = segment.flags & SYN, segment.flags & RST
        for kind, value in segment.options:
            rows.true("option", "a known kind and length", f"{kind}, {len(value) + 2}",
                      len(value) + 2 in LENGTHS.get(kind, {0}))
            rows.true("option", "once", kind, kinds.count(kind) == 1)
            if kind in ON_SYN_ONLY:
                rows.true(ON_SYN_ONLY[kind], "on a SYN only", "here", syn)
        if rows:
            return
        if syn:
            rows.true("MSS", "on a SYN", "none", MSS in kinds)
            rows.true("WScale", "14 at most", pair.own_scale, pair.own_scale <= SCALE_MAX)
            answered = (SCALE, SACK_PERMITTED, STAMPS) if segment.flags & ACK else ()
            for kind in answered:
                unasked = kind in kinds and pair.offered.get(kind, {False}) == {False}
                rows.true("option", "none that was not negotiated", kind, not unasked)
        elif not reset and pair.agreed(STAMPS) is not None:
            rows.same("timestamps", "there" if pair.agreed(STAMPS) else "absent",
                      "there" if STAMPS in kinds else "absent")
        self._stamps(pair, segment, rows)
        self._blocks(pair, segment, rows)

    def _stamps(self, pair, segment, rows):
        value = segment.value(STAMPS)
        if value is None or segment.flags & RST:
            return
        mine, echo = number(value, 0, 4), number(value, 4, 4)
        if segment.flags & ACK:
            rows.true("TSecr", "a TSval that the tester sent", echo,
                      self._blind or echo in pair.stamps)
        else:
            rows.same("TSecr", 0, echo)
        before, then = pair.stamp or (mine, self._at)
        rows.true("TSval", f"{before} or later", mine,
                  since(mine, before) >= 0 or self._at - then > STAMPS_ORDERED)
        pair.stamp = mine, self._at

    def _blocks(self, pair, segment, rows):
        value = segment.value(SACK)
        if value is None:
            return
        rows.true("SACK", "negotiated, and not on a SYN", "here",
                  pair.agreed(SACK_PERMITTED) is not False and not segment.flags & SYN)
        for at in range(0, len(value), 8):
            begin, end = number(value, at, 4), number(value, at + 4, 4)
            sane = since(end, begin) > 0 and (self._blind or pair.covers_all(begin, end))
            rows.true("SACK", "blocks of data that was sent", f"{begin}-{end}", sane)

    def _reset(self, pair, segment, rows):
        """Judges a RST: of a connection, or in reply to a segment, with that segment's number or
        none.
        """
        own = pair.iss is not None and 0 <= since(segment.seq, pair.iss) <= since(
            pair.nxt, pair.iss)
        fine = own or segment.seq in pair.acks or (segment.flags & ACK and segment.seq == 0)
        rows.true("seq", "the connection's, or that of an ACK", segment.seq, fine or self._blind)
        if segment.flags & ACK:
            covered = pair.covers((segment.ack - 1) % MOD) or segment.ack in pair.ends
            rows.true("ack", "of data that was sent", segment.ack, covered or self._blind)

    def _numbers(self, pair, segment, rows):
        rows.true("seq", "of a connection that had a SYN", segment.seq, pair.iss is not None)
        if rows:
            return
        gap = since(segment.seq, pair.nxt)
        rows.true("seq", "no gap before it", f"{gap} octets further", gap <= 0)
        if since(segment.end, pair.nxt) > 0:
            pair.nxt = segment.end
        if not segment.flags & ACK or self._blind:
            return
        sent = pair.covers((segment.ack - 1) % MOD) > 0
        if pair.acked is not None:
            step = since(segment.ack, pair.acked)
            rows.true("ack", "never further back", f"{step} octets", step >= 0)
            sent = sent and pair.covers_all(pair.acked, segment.ack)
        rows.true("ack", "of data that was sent", segment.ack, sent)
        pair.acked = segment.ack
        scaled = pair.agreed(SCALE) and not segment.flags & SYN
        unit = 1 << pair.own_scale * bool(scaled)
        edge = (segment.ack + segment.window * unit) % MOD
        if self._exact and pair.edge is not None and pair.agreed(SCALE) is not None:
            moved = since(edge, pair.edge)
            # RFC 7323 2.4: rounding by the scale may move the edge back by less than one unit.
            rows.true("window", "its edge does not go back", f"{moved} octets", moved > -unit)
        pair.edge = edge

    def _payload(self, pair, segment, rows):
        if not segment.payload or pair.iss is None:
            return
        begin = since(segment.seq, pair.iss) - 1 + bool(segment.flags & SYN)
        end = begin + len(segment.payload)
        if pair.limit is not None and not segment.flags & SYN:
            # One octet beyond it is a probe of a zero window.
            over = since((segment.seq + len(segment.payload)) % MOD, pair.limit)
            rows.true("window", "data inside it", f"{over} octets over",
                      over <= (len(segment.payload) == 1))
        if pair.written is not None:
            rows.true("payload", f"{len(pair.written)} octets were written", f"{begin} to {end}",
                      begin >= 0 and end <= len(pair.written))
            rows.true("payload", "as it was written", "other octets",
                      rows or pair.written[begin:end] == segment.payload)
            return
        if begin == len(pair.seen):
            pair.seen += segment.payload
        again = pair.seen[begin:end] if begin >= 0 else b""
        rows.true("payload", "as in the first transmission", "other octets",
                  segment.payload.startswith(bytes(again)))


class Rows(list):
    """Rows of a Mismatch; stores only those that are wrong."""

    def same(self, name, expected, actual):
        if expected != actual:
            self.append((name, str(expected), str(actual), True))

    def true(self, name, expected, actual, fine):
        if not fine:
            self.append((name, str(expected), str(actual), True))
