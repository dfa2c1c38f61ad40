# One connection as captured at one end, with queries and edits for planting violations.
"""A plant edits a Talk and returns Planted. The device is the end where the capture was taken."""
import dataclasses

from proofs.calibrate import pcap
from proofs.calibrate.pcap import ACK, CYCLE, FIN, RST, SYN

MS = 1_000_000
SECOND = 1000 * MS


@dataclasses.dataclass
class Planted:
    """The edited packets, the accused endpoint, and the packets that show the violation."""
    packets: list
    accused: tuple            # (address octets, port)
    marks: list               # packets of `packets`
    lasting: bool = False     # it shows at the marks or anywhere after them
    anyone: bool = False      # either side may be accused
    anywhere: bool = False    # any packet, and any port of the accused address


def less(one, other):
    """Whether `one` is before `other` in sequence space."""
    return 0 < (other - one) % CYCLE < CYCLE // 2


def later(one, other):
    """The later of two sequence numbers."""
    return other if less(one, other) else one


class Talk:
    """A whole capture of one connection, from its SYN on; else raises ValueError."""

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
        """Whether the ports have only one connection, with a SYN-ACK."""
        return self.synack is not None and len({one.seq for one in self.syns}) == 1

    def syn_of(self, end):
        """The SYN or SYN-ACK of an end."""
        return self.syn if end == self.client else self.synack

    def where(self, test):
        """Indices of the packets for which `test` is true."""
        return [at for at, one in enumerate(self.packets) if test(one)]

    def established(self):
        """The index of the handshake's last packet."""
        for at, one in enumerate(self.packets):
            if one.source == self.client and one.flags & ACK and not one.flags & (SYN | RST):
                return at
        raise ValueError("no handshake")

    def text_by(self, end):
        """Indices of an end's segments with data, without SYNs."""
        return self.where(lambda one: one.source == end and one.text and not one.flags & SYN)

    def pure_acks(self, end):
        """Indices of an end's pure ACKs."""
        return self.where(lambda one: one.source == end and not one.text
                          and one.flags & (SYN | FIN | RST | ACK) == ACK)

    # numbers

    def next_of(self, end, before):
        """An end's SND.NXT before the packet at an index."""
        value = None
        for one in self.packets[:before]:
            if one.source == end and not one.flags & RST:
                value = one.end if value is None else later(value, one.end)
        if value is None:
            raise ValueError("it has sent nothing")
        return value

    def acked_of(self, end, before):
        """An end's highest acknowledgment number before an index."""
        value = None
        for one in self.packets[:before]:
            if one.source == end and one.flags & ACK and not one.flags & RST:
                value = one.ack if value is None else later(value, one.ack)
        if value is None:
            raise ValueError("it has acknowledged nothing")
        return value

    def shift_of(self, end):
        """The shift count of an end's windows."""
        mine, other = (self.syn_of(one).option(pcap.SCALE) for one in (self.client, self.server))
        if mine is None or other is None:
            return 0
        return self.syn_of(end).option(pcap.SCALE)[0]

    def edge_of(self, end, before):
        """The furthest right edge that an end has offered before an index."""
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
        """Whether both SYNs agreed on ECN."""
        both = pcap.ECE | pcap.CWR
        return self.syn.flags & both == both and self.synack.flags & both == pcap.ECE

    @property
    def asked_mss(self):
        """The MSS of the peer's SYN, 536 if it has none."""
        value = self.syn_of(self.peer).option(pcap.MSS)
        return int.from_bytes(value, "big") if value else 536

    # changes

    def insert(self, at, packet):
        """Insert a packet at an index; its time must fit there."""
        self.packets.insert(at, packet)
        return packet

    def delay(self, at, by):
        """Move all packets from an index on later by `by`."""
        for one in self.packets[at:]:
            one.time += by

    def wait(self, at, by):
        """As delay(), and advance the TCP timestamps, which tick once a millisecond in Linux."""
        first = {one.source: one.stamps[0] for one in reversed(self.packets[at:]) if one.stamps}
        for one in self.packets[at:]:
            if one.stamps:
                value, echo = one.stamps
                other = next((first[end] for end in first if end != one.source), None)
                later = other is not None and less(other, echo)
                one.stamps = value + by // MS, echo + (by // MS if later else 0)
        self.delay(at, by)

    def like(self, one, by=0, **fields):
        """A new packet like `one`, `by` later, with the given fields changed."""
        other = one.copy()
        other.time += by
        other.renew()
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    def last_by(self, end, before):
        """An end's last packet before an index, without SYNs and resets."""
        for one in reversed(self.packets[:before]):
            if one.source == end and not one.flags & (SYN | RST):
                return one
        raise ValueError("it has said nothing")

    def bare(self, end, before, by=0):
        """A pure ACK that an end would send at the index, `by` after the packet before it."""
        last = self.last_by(end, before)
        other = self.like(last, text=b"", flags=ACK, seq=self.next_of(end, before),
                          ack=self.acked_of(end, before), urgent=0)
        other.blocks = []
        other.ecn = 0
        other.renew()
        other.time = self.packets[before - 1].time + by
        return other

    def strip(self, kind, test=lambda one: True):
        """Remove an option from all packets for which `test` is true."""
        for one in self.packets:
            if test(one):
                one.set_option(kind, None)

    def in_order(self):
        """Sort the packets by time."""
        self.packets.sort(key=lambda one: one.time)

    def renumber(self, end, by, test=lambda one: True):
        """Shift an end's sequence numbers by `by`, and the ACKs and SACK blocks of them."""
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
        """The Planted that a plant returns; accuses the device unless `accused` is given."""
        return Planted(self.packets, words.pop("accused", self.device), list(marks), **words)


def need(condition):
    """Raise ValueError (the flow does not suit) unless the condition holds."""
    if not condition:
        raise ValueError("it does not suit")


def pick(draw, found, least=1):
    """Draw one element; the flow does not suit if there are fewer than `least`."""
    need(len(found) >= least)
    return draw.choice(found)


KINDS = {}


@dataclasses.dataclass
class Kind:
    """A kind of violation: how it is planted, and which rules and clauses match it."""
    name: str
    plant: object
    rules: tuple     # of lint
    clauses: tuple   # of replay


def plant(rules, clauses):
    """Decorator that registers a kind with the lint rules and the clauses that match it."""
    def keep(function):
        name = function.__name__.replace("_", "-")
        KINDS[name] = Kind(name, function, tuple(rules.split()), tuple(clauses.split()))
        return function
    return keep
