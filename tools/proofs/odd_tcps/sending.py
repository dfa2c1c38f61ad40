# The half of an endpoint that sends: new data, retransmissions, probes, its congestion window.
"""Positions in the stream are offsets: 0 is the SYN, 1 the first octet of data."""
import struct

from proofs.odd_tcps.wire import ACK, CWR, CYCLE, ECE, FIN, PSH, SACK, SYN, URG

TRIES_MOST, PROBES_MOST = 8, 9


class Sending:
    """Needs the attributes and `send` of Endpoint."""

    def start_sending(self):
        """Nothing was sent."""
        self.una = 0
        self.nxt = 0
        self.sent_most = 0             # behind the highest position that was sent
        self.buffer = bytearray()      # all data of the application
        self.closing = False           # the application has closed
        self.fin_at = None             # where the FIN was sent
        self.urgent = []               # positions behind urgent octets
        self.window_edge = 0
        self.update_seq = self.update_ack = -1
        self.peer_window = 0
        self.cwnd = self.habits.cwnd_first * 536
        self.threshold = 1 << 30
        self.duplicates = 0
        self.recover = -1
        self.recovering = False
        self.srtt = self.rttvar = None
        self.rto = self.habits.rto_first
        self.tries = 0
        self.probes = 0
        self.timed = None              # (position, time) of the round trip that is measured
        self.sacked = []
        self.reduced_at = -1
        self.reduction_due = False     # CWR

    def write(self, data, urgent=False):
        """The application writes."""
        if self.closing or self.dead:
            return
        self.buffer += data
        if urgent:
            self.urgent.append(1 + len(self.buffer))
        if self.state == "open":
            self.output()

    def close(self):
        """The application closes."""
        if self.dead or self.closing:
            return
        self.closing = True
        if self.state == "open":
            self.output()

    def ack_position(self):
        """The sequence position of a pure ACK."""
        return self.nxt if self.habits.acks_at_next else self.sent_most

    def segment_most(self):
        """The most data in a segment."""
        own = self.habits.mss if self.habits.says_mss else 1460
        return min(self.peer_mss, own) - (12 if self.stamps else 0) - self.habits.spare

    def end(self):
        """The position behind all data."""
        return 1 + len(self.buffer)

    def output(self):
        """Send new data, and data again after a timeout; whether something was sent."""
        if self.state != "open" or self.dead:
            return False
        sent = False
        for _ in range(100):
            self.nxt = max(self.nxt, self.una)
            behind = self.behind_block(self.nxt)
            if behind is not None:
                self.nxt = behind
                continue
            length, fin = self.next_length()
            if length is None:
                break
            self.transmit(self.nxt, length, fin)
            sent = True
            self.nxt += length + (1 if fin else 0)
        self.arm_after_output()
        return sent

    def next_length(self):
        """(length, FIN) of the segment at `nxt`; length None: nothing may be sent."""
        habits, most = self.habits, self.segment_most()
        extra = 3 * most if self.recovering else 0
        edge = min(self.window_edge, self.una + int(self.cwnd) + extra)
        left = self.end() - self.nxt
        length = min(left, edge - self.nxt, most)
        if habits.odd_sizes and length > 1 and self.draw.random() < .4:
            length = self.draw.randrange(1, length + 1)
        begin = self.nxt + max(length, 0)
        fin = (self.closing and begin == self.end() and left >= 0
               and (begin < self.window_edge or habits.fin_beyond))
        if left < 0 or (length <= 0 and not fin):
            return None, False
        length = max(length, 0)
        new = self.nxt == self.sent_most and self.sent_most > self.una
        if length and length < most and new:
            if habits.nagle and not fin and left < most:
                return None, False
            if left > length and not habits.sends_small:
                return None, False
        return length, fin

    def arm_after_output(self):
        """Set the retransmission timer, or that of the probes."""
        timers = self.rto_timer.is_set or self.probe_timer.is_set
        if self.sent_most > self.una and not timers:
            self.arm()
        waits = self.end() > self.nxt or (self.closing and self.nxt <= self.end())
        if (self.sent_most <= self.una and waits and self.window_edge <= self.nxt
                and not self.probe_timer.is_set):
            self.rto_timer.stop()
            self.arm_probe()

    def behind_block(self, position):
        """The end of the SACK block that holds the position, or None."""
        if self.habits.uses_blocks:
            for left, right in self.sacked:
                if left <= position < right:
                    return right
        return None

    def transmit(self, position, length, fin):
        """Send one segment of data."""
        data, flags = bytes(self.buffer[position - 1:position - 1 + length]), ACK
        if self.habits.uses_blocks:
            for left, _ in self.sacked:
                if position < left < position + length:
                    length = left - position
                    data, fin = data[:length], False
        if fin:
            flags |= FIN
        if length and (position + length == self.end() or self.draw.random() < .2):
            flags |= PSH
        urgent = 0
        for behind in self.urgent if length else ():
            if self.una <= behind and position < behind < position + 65535:
                flags |= URG
                urgent = behind - position
        behind = position + length + (1 if fin else 0)
        new = behind > self.sent_most and position >= self.sent_most
        capable = self.ecn and new and length > 0
        if capable and self.reduction_due:
            flags |= CWR
            self.reduction_due = False
        if not new:
            self.timed = None
        elif self.timed is None:
            self.timed = (behind, self.clock.now)
        self.sent_most = max(self.sent_most, behind)
        if fin:
            self.fin_at = position + length
        self.send(position, flags, data, urgent=urgent, capable=capable)

    def arm(self):
        """Set the retransmission timer, doubled for each try."""
        doubled = 0 if self.habits.fault == "constant-rto" else self.tries
        self.rto_timer.set(min(60, self.rto * 2 ** doubled))

    def arm_probe(self):
        """Set the timer of the probes of a closed window."""
        self.probe_timer.set(max(.5, min(60, self.rto * 2 ** self.probes)))

    def on_rto(self):
        """The retransmission timer expired."""
        if self.dead:
            return
        if self.state in ("syn-sent", "syn-received"):
            if self.syns > 5:
                self.die()
            elif self.state == "syn-sent":
                self.send_syn()
            else:
                self.send_syn_ack()
            return
        if self.sent_most <= self.una:
            return
        self.tries += 1
        if self.tries > TRIES_MOST:
            self.die()
            return
        most = self.segment_most()
        self.halve()
        self.cwnd = most
        self.recovering = False
        self.duplicates = 0
        self.recover = self.sent_most
        self.sacked = []
        self.timed = None
        length = min(self.end() - self.una, most, max(0, self.window_edge - self.una))
        fin = self.fin_at is not None and self.una + length == self.end()
        if length <= 0 and not fin:
            length = min(1, self.end() - self.una)
        self.transmit(self.una, length, fin)
        if self.habits.goes_back:
            self.nxt = self.una + length + (1 if fin else 0)
        self.arm()

    def halve(self):
        """Set the threshold to half of what is in flight."""
        self.threshold = max((self.sent_most - self.una) // 2, 2 * self.segment_most())

    def on_probe_timer(self):
        """Probe the closed window."""
        if self.dead or self.state != "open":
            return
        if self.window_edge > self.nxt:
            self.output()
            return
        self.probes += 1
        if self.probes > PROBES_MOST:
            self.die()
            return
        if self.nxt >= self.end() and self.sent_most <= self.window_edge:
            self.send(self.una - 1, ACK)
        else:
            length = 1
            self.nxt = min(self.nxt, max(self.window_edge, self.una))
            if self.habits.probe == "seg":
                length = max(1, min(self.end() - self.nxt, self.segment_most()))
            if self.habits.probe == "data":
                self.send(self.nxt, ACK, self.buffer[self.nxt - 1:self.nxt - 1 + length])
                self.sent_most = max(self.sent_most, self.nxt + length)
            else:
                self.send(self.una - 1, ACK)
        self.arm_probe()

    def on_keep_alive(self):
        """Send a keep-alive if nothing is in flight."""
        if self.dead or self.state != "open" or self.time_wait:
            return
        if self.sent_most == self.una:
            self.send(self.una - 1, ACK, b"\0" if self.habits.keeps_garbage else b"")
        self.keep_alive_timer.set(self.habits.keep_alive)

    def measure(self, seconds):
        """A round trip was measured (RFC 6298)."""
        if self.srtt is None:
            self.srtt, self.rttvar = seconds, seconds / 2
        else:
            self.rttvar += .25 * (abs(self.srtt - seconds) - self.rttvar)
            self.srtt += .125 * (seconds - self.srtt)
        self.rto = max(self.habits.rto_least, self.srtt + max(.01, 4 * self.rttvar))

    def take_ack(self, segment, options, begin, acceptable):
        """Process the ACK field of a segment that begins at `begin`."""
        if not segment.flags & ACK:
            return
        ack = self.around(segment.ack - self.isn, self.una)
        if ack > self.sent_most:
            self.acknowledge()
            return
        shift = self.peer_shift if self.scaled and not segment.flags & SYN else 0
        window = segment.window << shift
        self.take_blocks(options, ack)
        if ack > self.una:
            self.take_new_ack(ack)
        elif (ack == self.una and not segment.data and not segment.flags & (FIN | SYN)
              and window == self.peer_window and self.sent_most > self.una and acceptable):
            self.take_duplicate_ack(ack)
        newer = self.update_seq < begin or (self.update_seq == begin and self.update_ack <= ack)
        if acceptable and newer:
            self.peer_window, self.window_edge = window, ack + window
            self.update_seq, self.update_ack = begin, ack
            if window > 0 and self.probe_timer.is_set:
                self.probe_timer.stop()
                self.probes = 0
        if segment.flags & ECE and self.ecn and self.una > self.reduced_at:
            self.reduced_at, self.reduction_due = self.sent_most, True
            self.halve()
            self.cwnd = min(self.cwnd, self.threshold)
        self.output()
        if self.fin_acknowledged() and self.peer_closed():
            self.time_wait = True
            for timer in (self.rto_timer, self.keep_alive_timer, self.probe_timer):
                timer.stop()

    def take_blocks(self, options, ack):
        """Remember the SACK blocks above the ACK."""
        if SACK not in options or not self.sack:
            return
        for left, right in struct.iter_unpack(">II", options[SACK]):
            block = ((left - self.isn) % CYCLE, (right - self.isn) % CYCLE)
            if ack <= block[0] < block[1] <= self.sent_most and block not in self.sacked:
                self.sacked.append(block)

    def take_new_ack(self, ack):
        """An ACK acknowledges more than before."""
        if self.timed and ack >= self.timed[0]:
            self.measure(self.clock.now - self.timed[1])
            self.timed = None
        octets, self.una = ack - self.una, ack
        self.nxt = max(self.nxt, ack)
        self.tries = self.probes = 0
        self.sacked = [block for block in self.sacked if block[1] > ack]
        if self.recovering and ack >= self.recover:
            self.recovering = False
            self.cwnd, self.duplicates = self.threshold, 0
        elif self.recovering:
            self.transmit_hole()
        else:
            most = self.segment_most()
            self.duplicates = 0
            self.cwnd += (min(octets, most) if self.cwnd < self.threshold
                          else most * most / self.cwnd)
            if not self.habits.goes_back and ack < self.recover and ack < self.sent_most:
                self.transmit_hole()
        if self.una >= self.sent_most:
            self.rto_timer.stop()
        else:
            self.arm()

    def transmit_hole(self):
        """Retransmit at `una`, within the window, unless a SACK block covers it."""
        length = min(self.end() - self.una, self.segment_most())
        room = self.window_edge - self.una
        fin = self.fin_at is not None and self.una + length == self.end()
        if self.behind_block(self.una) is None and (length > 0 or fin):
            fits = min(length, max(1, room)) if length > 0 else 0
            self.transmit(self.una, fits, fin and length <= room)

    def take_duplicate_ack(self, ack):
        """The third duplicate ACK begins a fast retransmission."""
        self.duplicates += 1
        if (self.duplicates != 3 or self.recovering or ack < self.recover
                or not self.habits.retransmits_fast):
            return
        self.recovering, self.recover = True, self.sent_most
        self.halve()
        self.cwnd = self.threshold
        room = max(0, self.window_edge - self.una)
        length = min(self.end() - self.una, self.segment_most(), room)
        fin = self.fin_at is not None and self.una + length == self.end()
        if length > 0 or fin:
            self.transmit(self.una, length, fin)
        self.arm()

    def fin_acknowledged(self):
        """Whether the own FIN was acknowledged."""
        return self.fin_at is not None and self.una > self.fin_at
