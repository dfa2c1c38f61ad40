# The path between two endpoints, with a recorder at one end or in the middle.
"""Loses, delays, doubles and marks segments, and so changes their order."""
import copy
import dataclasses

from proofs.odd_tcps import wire


@dataclasses.dataclass
class Terms:
    """What the path does; times are seconds, the rest are shares of the segments."""
    loss: float
    doubled: float
    delay: float       # one way
    jitter: float      # at most; above the distance of two segments it changes their order
    place: str         # of the recorder: client, server or middle
    marked: float      # CE on capable segments
    dark_from: float = 1e9   # from here on nothing of the client arrives


class Path:
    """Carries segments between `ends` (client, server), and records them as IP packets."""

    def __init__(self, clock, draw, terms):
        self.clock, self.draw, self.terms = clock, draw, terms
        self.ends = ()
        self.records = []              # (time_ns, octets)

    def record(self, segment):
        """The recorder sees a segment."""
        self.records.append((int(self.clock.now * 1e9), wire.packet(segment)))

    def is_at(self, endpoint):
        """Whether the recorder is at this endpoint."""
        return self.terms.place == ("client" if endpoint is self.ends[0] else "server")

    def emit(self, sender, segment):
        """Put a segment on the path."""
        terms, draw = self.terms, self.draw
        if self.is_at(sender):
            self.record(segment)
        if sender is self.ends[0] and self.clock.now > terms.dark_from:
            return
        if terms.place == "middle":
            if draw.random() < terms.loss / 2:
                return
            for _ in range(2 if draw.random() < terms.doubled else 1):
                self.clock.after(self.half_way(), self.pass_middle, sender, segment)
            return
        for _ in range(2 if draw.random() < terms.doubled else 1):
            if draw.random() < terms.loss:
                continue
            delay = terms.delay * draw.uniform(.95, 1.05) + draw.random() * terms.jitter
            self.clock.after(delay, self.arrive, sender, segment)

    def half_way(self):
        """The delay of half the path."""
        return (self.terms.delay / 2 * self.draw.uniform(.9, 1.1)
                + self.draw.random() * self.terms.jitter)

    def pass_middle(self, sender, segment):
        """A segment passes the recorder in the middle."""
        self.record(segment)
        if self.draw.random() >= self.terms.loss / 2:
            self.clock.after(self.half_way(), self.arrive, sender, segment)

    def arrive(self, sender, segment):
        """A segment arrives at the other end."""
        receiver = self.ends[1] if sender is self.ends[0] else self.ends[0]
        segment = copy.copy(segment)
        if segment.ecn and self.draw.random() < self.terms.marked:
            segment.ecn = 3
        if self.is_at(receiver):
            self.record(segment)
        receiver.receive(segment)
