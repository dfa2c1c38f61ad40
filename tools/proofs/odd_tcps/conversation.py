# Packets of hand-made conversations between two hosts on one pair of ports.
"""Sides are "a" (connects) and "b"; sequence numbers are those on the wire."""
from proofs.odd_tcps import wire
from proofs.odd_tcps.wire import ACK, CYCLE, RST, SYN, Segment

ADDRESSES = {"a": "10.0.0.1", "b": "10.0.0.2"}
IDENTIFICATIONS = {"a": 100, "b": 9000}


class Conversation:
    """Records what the sides send. `options` and `clock` may change between connections."""

    def __init__(self, draw, port_a, port_b):
        self.draw = draw
        self.ends = {"a": (ADDRESSES["a"], port_a), "b": (ADDRESSES["b"], port_b)}
        self.now = 0.0
        self.records = []
        self.identification = dict(IDENTIFICATIONS)
        self.stamps = False
        self.clock = {}                # side: function that gives its timestamp
        self.options = {"a": b"", "b": b""}    # of SYNs, without timestamps
        self.window = {"a": 8000, "b": 8000}
        self.syn_window = {"a": 8000, "b": 8000}
        self.turned = False            # the sides are the other hosts
        self.seq = {"a": 0, "b": 0}    # the next sequence number of each side
        self.last = {"a": 0, "b": 0}   # the newest timestamp that each side knows

    def wait(self, seconds):
        """Time passes."""
        self.now += seconds

    def data(self, octets):
        """Random data."""
        return bytes(self.draw.randrange(256) for _ in range(octets))

    def send(self, side, flags, seq, ack, data=b"", gap=.001, echo=None):
        """A segment of `side`, `gap` seconds after the one before."""
        self.now += gap
        other = "b" if side == "a" else "a"
        options = self.options[side] if flags & SYN else b""
        if self.stamps and not flags & RST:
            newest = self.last[side] if echo is None else echo
            options += wire.stamps_option(self.clock[side](), newest if flags & ACK else 0)
            self.last[other] = self.clock[side]() % CYCLE
        window = self.syn_window[side] if flags & SYN else self.window[side]
        host, peer = (other, side) if self.turned else (side, other)
        self.identification[host] = (self.identification[host] + 1) % 65536
        segment = Segment(self.ends[host], self.ends[peer], seq % CYCLE,
                          ack % CYCLE if flags & ACK else 0, flags, window,
                          wire.aligned(options), data,
                          identification=self.identification[host])
        octets = wire.packet(segment)
        self.records.append((int(self.now * 1e9), octets, len(octets)))

    def say(self, side, flags, data=b"", gap=.001):
        """A segment of `side` at its next sequence number, which acknowledges all."""
        other = "b" if side == "a" else "a"
        self.send(side, flags, self.seq[side], self.seq[other], data, gap)
        self.seq[side] += len(data) + bool(flags & (SYN | wire.FIN))
