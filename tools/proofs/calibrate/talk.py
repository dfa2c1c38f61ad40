# One connection as it was captured at an end, ready to be changed: who said what, and when.
"""A plant edits a Talk and returns Planted. The device is the end where the capture was taken."""
import dataclasses

from proofs.calibrate import pcap
from proofs.calibrate.pcap import ACK, CYCLE, FIN, RST, SYN

MS = 1_000_000
SECOND = 1000 * MS


@dataclasses.dataclass
class Planted:
    """What was planted: who did it, and in which packets it shows."""
    packets: list
    accused: tuple            # (address octets, port)
    marks: list               # packets of `packets`
    lasting: bool = False     # it shows at the marks or anywhere behind them
    anyone: bool = False      # either side may be accused
    anywhere: bool = False    # any packet, and any port of that address


def less(one, other):
    """Before in the circle of sequence numbers."""
    return 0 < (other - one) % CYCLE < CYCLE // 2


def later(one, other):
    """Whichever comes later in the circle."""
    return other if less(one, other) else one


class Talk:
    """A whole capture of one connection, from its SYN on; ValueError if it is none."""

    def __init__(self, packets, at_client):
        self.packets = packets
        if len(packets) < 4 or packets[0].flags & (SYN | ACK | RST) != SYN:
            raise ValueError("it does not begin with a SYN")
        self.client = packets[0].source
        self.server = packets[0].addresses[1], packets[0].dport
        self.device, self.peer = (self.client, self.server) if at_client else \
            (self.server, self.client)
        self.syn = packets[0]
        found = [one for one in packets if one.flags & (SYN | ACK) == SYN | ACK
                 and one.source == self.server]
        self.syns = [one for one in packets if one.flags & (SYN | ACK) == SYN]
        self.synack = found[0] if found else None

    # who and which

    def ours(self, one):
        """Whether the device sent it."""
        return one.source == self.device

    @property
    def single(self):
        """One incarnation, opened by three packets."""
        return self.synack is not None and len({one.seq for one in self.syns}) == 1

    def syn_of(self, end):
        """The SYN with which an end began."""
        return self.syn if end == self.client else self.synack

    def where(self, test):
        """Indices of packets that pass."""
        return [at for at, one in enumerate(self.packets) if test(one)]

    def established(self):
        """The index after the handshake's last packet."""
        for at, one in enumerate(self.packets):
            if one.source == self.client and one.flags & ACK and not one.flags & (SYN | RST):
                return at
        raise ValueError("no handshake")

    def text_by(self, end):
        """Indices of segments with text of an end, SYNs apart."""
        return self.where(lambda one: one.source == end and one.text and not one.flags & SYN)

    def pure_acks(self, end):
        """Indices of ACKs alone of an end."""
        return self.where(lambda one: one.source == end and not one.text
                          and one.flags & (SYN | FIN | RST | ACK) == ACK)

    # numbers

    def next_of(self, end, before):
        """What an end sends next, as seen before an index."""
        value = None
        for one in self.packets[:before]:
            if one.source == end and not one.flags & RST:
                value = one.end if value is None else later(value, one.end)
        if value is None:
            raise ValueError("it has sent nothing")
        return value

    def acked_of(self, end, before):
        """The highest ACK by an end before an index."""
        value = None
        for one in self.packets[:before]:
            if one.source == end and one.flags & ACK and not one.flags & RST:
                value = one.ack if value is None else later(value, one.ack)
        if value is None:
            raise ValueError("it has acknowledged nothing")
        return value

    def shift_of(self, end):
        """By how much an end's windows are scaled."""
        mine, other = (self.syn_of(one).option(pcap.SCALE) for one in (self.client, self.server))
        if mine is None or other is None:
            return 0
        return self.syn_of(end).option(pcap.SCALE)[0]

    def edge_of(self, end, before):
        """The right edge that an end has offered."""
        value = None
        for one in self.packets[:before]:
            if one.source == end and one.flags & ACK and not one.flags & RST:
                size = one.window << (0 if one.flags & SYN else self.shift_of(end))
                edge = (one.ack + size) % CYCLE
                value = edge if value is None else later(value, edge)
        if value is None:
            raise ValueError("it has offered nothing")
        return value

    def agreed(self, kind):
        """Whether both SYNs have an option."""
        return None not in (self.syn.option(kind), self.synack.option(kind))

    @property
    def ecn(self):
        """Whether both sides agreed on it."""
        both = pcap.ECE | pcap.CWR
        return self.syn.flags & both == both and self.synack.flags & both == pcap.ECE

    @property
    def asked_mss(self):
        """The MSS that the peer asked for."""
        value = self.syn_of(self.peer).option(pcap.MSS)
        return int.from_bytes(value, "big") if value else 536

    # changes

    def insert(self, at, packet):
        """Put it before the index; its time must fit."""
        self.packets.insert(at, packet)
        return packet

    def delay(self, at, by):
        """Everything from an index on happens later."""
        for one in self.packets[at:]:
            one.time += by

    def wait(self, at, by):
        """The same, and the timestamps of Linux, a tick a millisecond, say so."""
        first = {one.source: one.stamps[0] for one in reversed(self.packets[at:]) if one.stamps}
        for one in self.packets[at:]:
            if one.stamps:
                value, echo = one.stamps
                other = next((first[end] for end in first if end != one.source), None)
                later = other is not None and less(other, echo)
                one.stamps = value + by // MS, echo + (by // MS if later else 0)
        self.delay(at, by)

    def like(self, one, by=0, **fields):
        """A packet of its own with other fields, so much later."""
        other = one.copy()
        other.time += by
        other.renew()
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    def last_by(self, end, before):
        """The last packet of an end before an index that is no SYN nor reset."""
        for one in reversed(self.packets[:before]):
            if one.source == end and not one.flags & (SYN | RST):
                return one
        raise ValueError("it has said nothing")

    def bare(self, end, before, by=0):
        """An ACK alone as that end would send it at the index, `by` after the packet before."""
        last = self.last_by(end, before)
        other = self.like(last, text=b"", flags=ACK, seq=self.next_of(end, before),
                          ack=self.acked_of(end, before), urgent=0)
        other.blocks = []
        other.ecn = 0
        other.renew()
        other.time = self.packets[before - 1].time + by
        return other

    def strip(self, kind, test=lambda one: True):
        """Take an option from those that pass."""
        for one in self.packets:
            if test(one):
                one.set_option(kind, None)

    def in_order(self):
        """By time again."""
        self.packets.sort(key=lambda one: one.time)

    def renumber(self, end, by, test=lambda one: True):
        """All that an end sends, and what is said of it, is moved in the circle."""
        for one in self.packets:
            if not test(one):
                continue
            if one.source == end:
                one.seq = (one.seq + by) % CYCLE
            else:
                if one.flags & ACK:
                    one.ack = (one.ack + by) % CYCLE
                one.blocks = [(left + by, right + by) for left, right in one.blocks]

    def planted(self, *marks, **words):
        """What a plant returns."""
        return Planted(self.packets, words.pop("accused", self.device), list(marks), **words)


def need(condition):
    """Else this flow does not suit."""
    if not condition:
        raise ValueError("it does not suit")


def pick(draw, found, least=1):
    """One of them."""
    need(len(found) >= least)
    return draw.choice(found)


KINDS = {}


@dataclasses.dataclass
class Kind:
    """A kind of violation: how it is planted, and what may be said of it."""
    name: str
    plant: object
    rules: tuple     # of lint
    clauses: tuple   # of replay


def plant(rules, clauses):
    """A decorator: rules of lint, clauses of replay that name what was planted."""
    def keep(function):
        name = function.__name__.replace("_", "-")
        KINDS[name] = Kind(name, function, tuple(rules.split()), tuple(clauses.split()))
        return function
    return keep
