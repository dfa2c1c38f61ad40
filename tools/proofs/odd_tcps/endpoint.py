# An endpoint: its timers, the handshake, what it does with each segment, resets.
"""Positions in the stream are offsets: 0 is the SYN, 1 the first octet of data."""
import struct

from proofs.odd_tcps import wire
from proofs.odd_tcps.clock import Timer
from proofs.odd_tcps.receiving import Receiving
from proofs.odd_tcps.sending import Sending
from proofs.odd_tcps.wire import ACK, CWR, CYCLE, ECE, FIN, RST, STAMPS, SYN, Segment

HALF = CYCLE // 2


class Endpoint(Sending, Receiving):
    """One end of the connection. `emit(endpoint, segment)` puts a segment on the path."""

    def __init__(self, clock, draw, habits, place, emit):
        self.clock, self.draw, self.habits = clock, draw, habits
        self.place, self.emit = place, emit
        self.peer = None
        self.state = "closed"
        self.isn = habits.isn
        self.stamps, self.sack, self.scale = habits.stamps, habits.sack, habits.scale
        self.ecn, self.early_data = habits.ecn, habits.early_data
        self.scaled = False            # both sides have the window scale
        self.peer_shift, self.peer_mss = 0, 536
        self.echoes_ce = False
        self.dead = self.time_wait = False
        self.syns = 0
        self.identification = draw.randrange(1, 65536)
        self.on_open = lambda: None
        self.on_data = lambda octets: None
        self.on_peer_fin = lambda: None
        self.rto_timer = Timer(clock, self.on_rto)
        self.ack_timer = Timer(clock, self.on_ack_timer)
        self.probe_timer = Timer(clock, self.on_probe_timer)
        self.keep_alive_timer = Timer(clock, self.on_keep_alive)
        self.start_sending()
        self.start_receiving()

    def stamp(self):
        """The timestamp clock."""
        return (self.habits.stamp_start + int((self.clock.now + 1e-9) / self.habits.tick)) % CYCLE

    @staticmethod
    def around(number, near):
        """The position nearest to `near` that equals `number` modulo 2^32."""
        return (number - near + HALF) % CYCLE - HALF + near

    def next_identification(self, counts=True):
        """The identification of the next IPv4 packet."""
        if counts:
            self.identification = (self.identification + 1) % 65536 or 1
        if self.habits.identification == "inc" and counts:
            return self.identification
        if self.habits.identification == "zero":
            return 0
        return self.draw.randrange(1, 65536)

    def options_for(self, flags):
        """The options of a segment that is no SYN."""
        options = b""
        if self.stamps and (not flags & RST or self.habits.stamps_resets):
            options = wire.stamps_option(self.stamp(), self.recent if flags & ACK else 0)
        if flags & ACK and self.sack and not flags & RST:
            blocks = self.blocks()
            if blocks:
                options += wire.sack_option(blocks)
        return options

    def send(self, position, flags, data=b"", options=None, urgent=0, capable=False):
        """Send a segment."""
        ack = self.irs + self.next if flags & ACK else 0
        if options is None:
            options = self.options_for(flags)
        if flags & SYN:
            window = min(self.free(), 65535)
        elif flags & RST:
            window = self.draw.choice([0, 0, 1000])
        else:
            window = self.window()
        if flags & SYN and flags & ACK:
            self.edge = self.next + window
        if flags & ACK and not flags & RST:
            self.acknowledged, self.unacknowledged = self.next, 0
            self.ack_timer.stop()
        if self.echoes_ce and not flags & (SYN | RST):
            flags |= ECE
        if self.habits.fault == "acks-ahead" and not flags & (SYN | RST) and self.next > 1:
            ack += 1000
        self.emit(self, Segment(
            self.place, self.peer, (self.isn + position) % CYCLE, ack % CYCLE, flags, window,
            options, bytes(data), urgent, 2 if capable else 0, self.next_identification(),
            self.habits.hops))

    def syn_options(self, is_answer):
        """The options of a SYN or a SYN,ACK."""
        options = wire.mss_option(self.habits.mss) if self.habits.says_mss else b""
        if self.scale is not None:
            options += wire.scale_option(self.scale)
        if self.sack:
            options += wire.permitted_option()
        if self.stamps:
            options += wire.stamps_option(self.stamp(), self.recent if is_answer else 0)
        return options

    def connect(self, peer):
        """Open actively."""
        self.peer, self.state = peer, "syn-sent"
        self.send_syn()

    def send_syn(self):
        """Send the SYN, for the first time or again."""
        if self.syns >= self.habits.plain_after:
            self.scale, self.sack, self.stamps = None, False, False
        first = self.syns == 0
        flags = SYN | (ECE | CWR if self.ecn and first else 0)
        options, data = self.syn_options(False), b""
        if self.early_data and first and self.buffer:
            options += b"\1\1\x22\x0aCOOKIE12"
            data = bytes(self.buffer[:self.early_data])
        self.syns += 1
        self.nxt = 1
        self.sent_most = max(self.sent_most, 1 + len(data))
        self.send(0, flags, data, options=wire.aligned(options))
        self.timed = (1, self.clock.now) if first else None
        self.rto_timer.set(self.rto * 2 ** (self.syns - 1))

    def send_syn_ack(self):
        """Send the SYN,ACK, for the first time or again."""
        options = wire.aligned(self.syn_options(True))
        self.nxt, self.sent_most = max(self.nxt, 1), max(self.sent_most, 1)
        self.syns += 1
        self.send(0, SYN | ACK | (ECE if self.ecn else 0), options=options)
        self.rto_timer.set(self.rto * 2 ** (self.syns - 1))

    def abort(self):
        """Reset the connection."""
        if self.dead:
            return
        if self.state == "open":
            behind = self.habits.resets_at_most and self.sent_most
            self.send(behind or self.nxt, RST | ACK if self.habits.resets_ack else RST)
        self.die()

    def die(self):
        """End without a word."""
        self.dead = True
        for timer in (self.rto_timer, self.ack_timer, self.probe_timer, self.keep_alive_timer):
            timer.stop()

    def receive(self, segment):
        """A segment arrives."""
        options = wire.options_of(segment.options)
        if segment.target != self.place:
            return
        if self.dead or self.state == "closed":
            self.refuse(segment)
        elif self.state == "listen":
            if segment.flags & SYN and not segment.flags & (ACK | RST):
                self.accept(segment, options)
        elif self.state == "syn-sent":
            self.receive_answer(segment, options)
        else:
            begin = self.around(segment.seq - self.irs, self.next)
            self.receive_open(segment, options, begin)

    def refuse(self, segment):
        """Answer where there is no connection."""
        if segment.flags & RST or not self.habits.answers_dead or not self.peer:
            return
        length = len(segment.data) + bool(segment.flags & SYN) + bool(segment.flags & FIN)
        with_ack = segment.flags & ACK
        self.emit(self, Segment(
            self.place, segment.source, segment.ack if with_ack else 0,
            0 if with_ack else (segment.seq + length) % CYCLE, RST if with_ack else RST | ACK,
            identification=self.next_identification(counts=False), hops=self.habits.hops))

    def accept(self, segment, options):
        """Open passively."""
        self.peer, self.irs, self.next = segment.source, segment.seq, 1
        self.negotiate(segment, options, True)
        self.state = "syn-received"
        if segment.data and options.get(wire.FAST_OPEN) and self.habits.takes_early_data:
            data = segment.data[:self.free()]
            self.next += len(data)
            self.unread += len(data)
            self.on_data(len(data))
        self.peer_window, self.window_edge = segment.window, 1 + segment.window
        self.send_syn_ack()

    def receive_answer(self, segment, options):
        """A segment arrives after the own SYN."""
        ack = (segment.ack - self.isn) % CYCLE
        if segment.flags & ACK and not 1 <= ack <= self.sent_most:
            return
        if segment.flags & RST:
            if segment.flags & ACK:
                self.die()
            return
        if not segment.flags & SYN:
            return
        self.irs, self.next = segment.seq, 1
        self.negotiate(segment, options, False)
        self.peer_window = segment.window
        if not segment.flags & ACK:
            self.state, self.window_edge = "syn-received", 1 + segment.window
            self.send_syn_ack()
            return
        self.una = self.nxt = ack
        if not self.habits.acks_at_next:
            self.sent_most = max(ack, 1)
        self.window_edge = ack + segment.window
        self.update_seq, self.update_ack = 0, ack
        self.open()
        if not (self.habits.ack_with_data and self.output()):
            self.acknowledge()
            self.output()

    def negotiate(self, segment, options, passive):
        """Take the options of the peer's SYN."""
        self.peer_mss = struct.unpack(">H", options[wire.MSS])[0] if wire.MSS in options else 536
        self.scaled = self.scale is not None and wire.SCALE in options
        self.peer_shift = min(14, options[wire.SCALE][0]) if self.scaled else 0
        if not self.scaled and passive:
            self.scale = None
        self.sack = self.sack and wire.PERMITTED in options
        self.stamps = self.stamps and STAMPS in options
        if self.stamps:
            self.recent = struct.unpack(">II", options[STAMPS])[0]
        asked = ECE | CWR if passive else ECE
        self.ecn = self.ecn and segment.flags & (ECE | CWR) == asked
        self.cwnd = self.habits.cwnd_first * self.segment_most()

    def open(self):
        """The connection is open."""
        self.state, self.tries = "open", 0
        self.rto_timer.stop()
        if self.timed:
            self.measure(self.clock.now - self.timed[1])
            self.timed = None
        if self.habits.keep_alive:
            self.keep_alive_timer.set(self.habits.keep_alive)
        self.on_open()

    def receive_open(self, segment, options, begin):
        """A segment that begins at `begin` arrives after the peer's SYN."""
        flags = segment.flags
        length = len(segment.data) + bool(flags & FIN) + bool(flags & SYN)
        if flags & RST:
            if begin == self.next:
                self.die()
            elif self.next < begin <= (self.edge or self.next):
                self.acknowledge()
            return
        if self.is_old(segment, options, begin) or self.is_second_syn(segment, begin):
            return
        limit = self.limit()
        if not (flags & SYN or self.is_acceptable(begin, length, limit)):
            self.answer_unacceptable(segment, options, begin, length)
            return
        if self.state == "syn-received" and not self.complete_handshake(segment, begin):
            return
        if not flags & ACK:
            return
        self.take_ack(segment, options, begin, True)
        if self.dead:
            return
        if self.habits.keep_alive and not self.keep_alive_timer.is_set:
            self.keep_alive_timer.set(self.habits.keep_alive)
        if self.ecn:
            self.echoes_ce = segment.ecn == 3 or (self.echoes_ce and not flags & CWR)
        if segment.data or flags & FIN:
            self.take_data(segment, begin, limit)

    def is_old(self, segment, options, begin):
        """PAWS: whether the timestamp is old, which an ACK answers; keeps TS.Recent."""
        if not self.stamps or STAMPS not in options or segment.flags & SYN:
            return False
        value = struct.unpack(">II", options[STAMPS])[0]
        if (value - self.recent) % CYCLE >= HALF:
            self.acknowledge()
            return True
        if begin <= self.acknowledged:
            self.recent = value
        return False

    def is_second_syn(self, segment, begin):
        """Whether it is a SYN that is only answered."""
        if not segment.flags & SYN:
            return False
        waits = self.state == "syn-received" and begin == 0
        if waits and segment.flags & ACK:
            return False
        if not waits:
            self.acknowledge()
        elif not self.habits.ignores_second_syn:
            self.send_syn_ack()
        return True

    def is_acceptable(self, begin, length, limit):
        """RFC 9293's test of the sequence number."""
        if length:
            return begin < limit and begin + length > self.next
        return self.next <= begin < limit or begin == self.next

    def answer_unacceptable(self, segment, options, begin, length):
        """Answer a segment outside the window with an ACK; some process its ACK field."""
        if length and begin + length <= self.next and self.sack and segment.data:
            self.doubled = (begin, begin + len(segment.data))
        if not length or self.habits.takes_old_acks:
            self.take_ack(segment, options, begin, False)
        if not self.dead and (length or begin < self.next):
            self.acknowledge()

    def complete_handshake(self, segment, begin):
        """The ACK of the own SYN; whether the segment is processed further."""
        ack = (segment.ack - self.isn) % CYCLE
        if not segment.flags & ACK or not 1 <= ack <= self.sent_most:
            return False
        self.una, self.update_seq, self.update_ack = ack, begin, ack
        self.open()
        self.nxt = max(self.nxt, 1)
        if segment.flags & SYN:
            self.acknowledge()
            self.output()
            return False
        return True
