# The arithmetic of RFC 5681, 6582 and 6298 for one bulk sender whose peer ACKs every segment.
"""An independent calculation, not a TCP: whole segments, no SACK, one constant round trip.

`Bulk` writes the device's segments and the peer's acknowledgments into a Scenario until all is
acknowledged or a limit is reached. Every number can be checked by hand against the RFCs.
"""
from collections import Counter

from lib import MSS

RTO_MS = 1000  # the round trip is short: RFC 6298 2.4 rounds up to one second
SPACING_MS = 0.5  # between two acknowledgments of the peer


class Bulk:
    """`segments` whole segments; each entry in `lost` (segments count from 1) loses one
    transmission.
    """

    def __init__(self, scenario, segments, lost=(), window=3, rto_ms=RTO_MS):
        self.s, self.end, self.lost = scenario, 1 + segments * MSS, Counter(lost)
        self.una = self.next = self.highest = 1
        self.cwnd, self.ssthresh, self.counted = window * MSS, 1 << 30, 0
        self.duplicates, self.limited, self.recovering, self.recover = 0, 0, False, 0
        self.acks, self.armed, self.rto_ms, self.kept = [], None, rto_ms, 0
        self.sent = []  # (packet, segment, kind), kind: new limited fast partial timeout again
        self.answered_at = 0

    def add(self, segments):
        """The application writes more."""
        self.s.call("write", segments * MSS)
        self.end += segments * MSS
        self.push()

    def begin(self):
        """The application writes everything in one call, now."""
        self.s.call("write", self.end - 1)
        self.push()

    def transmit(self, seq, kind):
        """Send one segment; if it arrives, its acknowledgment is scheduled."""
        segment = (seq - 1) // MSS + 1
        lost = self.lost[segment] > 0
        self.lost[segment] -= lost
        flags = "PA" if seq + MSS >= self.end else "A"
        note = f"{kind}: cwnd {self.cwnd}, ssthresh {min(self.ssthresh, 999999)}"
        packet = self.s.device(flags, MSS, seq=seq, lost=lost, note=note)
        self.sent.append((packet, segment, kind))
        self.highest = max(self.highest, seq + MSS)
        self.armed = self.s.ms + self.rto_ms if self.armed is None else self.armed
        if not lost:
            self.answered_at = max(self.answered_at + SPACING_MS, self.s.ms + self.s.rtt)
            self.acks.append((self.answered_at, self.s.far.receive_next))

    def push(self):
        """Send what min(cwnd, rwnd) allows (RFC 5681 2 and 3.1)."""
        while self.next < self.end:
            if self.next - self.una + MSS > min(self.cwnd, self.s.far.window):
                break
            self.transmit(self.next, "again" if self.next < self.highest else "new")
            self.next += MSS

    def new_ack(self, ack):
        """Process an acknowledgment of new data (RFC 5681 3.1, RFC 6582 3.2 step 3)."""
        amount, self.una = ack - self.una, ack
        self.next = max(self.next, ack)
        partial = self.recovering and ack < self.recover
        if partial:
            self.transmit(ack, "partial")
            self.cwnd += MSS - amount
        elif self.recovering:
            self.recovering = False
            self.cwnd = min(self.ssthresh, max(self.next - ack, MSS) + MSS)
            self.counted = 0
        elif self.cwnd < self.ssthresh:
            self.cwnd += min(amount, MSS)
        else:
            self.counted += amount
            if self.counted >= self.cwnd:
                self.counted -= self.cwnd
                self.cwnd += MSS
        if not self.recovering:
            self.duplicates, self.limited = 0, 0
        self.armed = self.s.ms + self.rto_ms if self.una < self.next else None

    def duplicate_ack(self):
        """Process a duplicate acknowledgment (RFC 5681 3.2, RFC 6582 3.2 step 1)."""
        self.duplicates += 1
        if self.recovering:
            self.cwnd += MSS
        elif self.duplicates < 3:
            flight = self.next - self.una
            if self.next < self.end and flight + MSS <= self.cwnd + 2 * MSS:
                self.transmit(self.next, "limited")
                self.next += MSS
                self.limited += MSS
            return
        elif self.duplicates == 3 and self.una > self.recover:
            flight = self.next - self.una - self.limited
            self.ssthresh = max(flight // 2, 2 * MSS)
            self.recovering, self.recover = True, self.next
            self.cwnd = self.ssthresh
            self.transmit(self.una, "fast")
            self.cwnd += 3 * MSS
        else:
            return
        self.push()

    def timeout(self):
        """The retransmission timer expires (RFC 6298 5.4 to 5.6, RFC 5681 3.1)."""
        self.s.at(self.armed)
        if not self.repeated():
            self.ssthresh = max((self.next - self.una) // 2, 2 * MSS)
        self.cwnd, self.recovering, self.recover = MSS, False, self.highest
        self.duplicates, self.limited, self.counted = 0, 0, 0
        self.rto_ms, self.armed, self.kept = self.rto_ms * 2, None, self.highest
        self.next = self.una
        self.transmit(self.una, "timeout")
        self.next += MSS

    def repeated(self):
        """Whether a timeout has just retransmitted this same segment (RFC 5681 3.1, CC-13)."""
        return self.sent[-1][2] == "timeout" and self.sent[-1][1] == (self.una - 1) // MSS + 1

    def run(self, acks=10**6, timeouts=10**6):
        """Process acknowledgments and timeouts until nothing is left or a limit is reached."""
        while acks > 0 and (self.acks or (timeouts > 0 and self.una < self.next)):
            if not self.acks or (self.armed is not None and self.armed < self.acks[0][0]):
                timeouts -= 1
                self.timeout()
                continue
            at, ack = self.acks.pop(0)
            acks -= 1
            self.s.at(at)
            self.s.peer("A", after=0, ack=ack)
            if ack > self.una:
                if ack > self.kept:  # data sent only once: a valid sample (RFC 6298 3 and 5)
                    self.rto_ms = RTO_MS
                self.new_ack(ack)
                self.push()
            elif self.una < self.next:
                self.duplicate_ack()

    def packet(self, kind, count=1):
        """The number of the count-th packet of that kind."""
        return [packet for packet, _, what in self.sent if what == kind][count - 1]
