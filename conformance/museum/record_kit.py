# What a TCP has sent, with its instants: the record of a conversation as a list of segments.
import dataclasses

from museum_kit import alive
from scapy.layers.inet import TCP

from lockstep.testing.conversation import pattern
from lockstep.testing.packets import (
    MOD,
    dissected,
    letters_of,
    options_of,
    payload_of,
    since,
)

SECOND = 10**9


@dataclasses.dataclass(frozen=True)
class Seen:
    """A segment that the TCP under test has sent; numbers are relative to the two SYNs."""

    #: When, in nanoseconds.
    at: int
    flags: str
    seq: int
    ack: int
    window: int
    payload: bytes
    options: dict

    @property
    def end(self):
        """The number after its last octet."""
        return self.seq + len(self.payload)


def mark(tcp):
    """A point in the conversation, for seen()."""
    tcp.drain()
    return len(tcp.record)


def seen(tcp, begin=0):
    """All segments that were sent by now, after the point `begin`; none of them is expected."""
    tcp.drain()
    found = []
    for entry in tcp.record[begin:]:
        packet = None if entry.inward or not entry.packet else dissected(entry.packet)
        if packet is None or TCP not in packet:
            continue
        ours, theirs = entry.origins
        header = packet[TCP]
        found.append(Seen(entry.at, letters_of(header), since(header.seq, ours),
                          since(header.ack, theirs), header.window, payload_of(packet),
                          options_of(header)))
    return found


def data(tcp, begin=0):
    """Those segments of seen() that carry data."""
    return [one for one in seen(tcp, begin) if one.payload]


def furthest(tcp, begin=0):
    """The number after the highest octet of data that was sent; 1 if none was."""
    return max([1, *(one.end for one in data(tcp, begin))])


def confirmed(tcp):
    """The highest number that the tester has acknowledged, relative; 1 if it has none."""
    numbers = [1]
    for entry in tcp.record:
        packet = dissected(entry.packet) if entry.inward and entry.packet else None
        if packet is not None and TCP in packet and "A" in letters_of(packet[TCP]):
            numbers.append(since(packet[TCP].ack, tcp.device_iss))
    return max(numbers)


def resets(tcp, begin=0):
    """The resets among the segments of seen()."""
    return [one for one in seen(tcp, begin) if "R" in one.flags]


def lives(tcp, **more):
    """alive() of a connection that must still be in ESTABLISHED."""
    return alive(tcp.expect_state("ESTABLISHED"), **more)


def limits_on(tcp):
    """Leaves out the targets of Linux, on which the tests' settings switch its limits off."""
    if tcp.target.name in ("linux", "device:linux"):
        tcp.leave_out("its limits on answers and on challenge ACKs are switched off here")
    return tcp


def apart(first, second):
    """The distance of two absolute sequence numbers, modulo 2^32."""
    return (second - first) % MOD


def at_most(tcp, what, most, actual):
    """Checks an upper bound."""
    return tcp.check(what, f"at most {most}", f"at most {most}" if actual <= most else actual)


def at_least(tcp, what, least, actual):
    """Checks a lower bound."""
    return tcp.check(what, f"at least {least}", f"at least {least}" if actual >= least else actual)


def flowing(tcp, octets, mss=1000, window=65535, options=()):
    """A connection whose program has written this much, or what its buffer takes, and whose first
    flight has left. Returns the octets of that flight.
    """
    tcp.established(window=window, options=[("MSS", mss), *options])
    tcp.offer(pattern(octets))
    return furthest(tcp) - 1
