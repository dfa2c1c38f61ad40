# The half of an endpoint that receives: the window it offers, gaps, blocks, pending ACKs.
"""Positions in the stream are offsets: 0 is the SYN, 1 the first octet of data."""
from proofs.odd_tcps.wire import ACK, FIN


class Receiving:
    """Needs the attributes and `send` of Endpoint."""

    def start_receiving(self):
        """Nothing has arrived."""
        self.irs = None
        self.next = 0                  # RCV.NXT
        self.gaps = []                 # [(left, right, data, FIN)] behind a gap
        self.arrivals = []             # the left edges of those, in their order
        self.unread = 0
        self.edge = None               # the right edge that was offered
        self.peer_fin = None
        self.unacknowledged = 0
        self.doubled = None            # the range of the next D-SACK
        self.acknowledged = 0          # the last ACK that was sent
        self.recent = 0                # TS.Recent

    def free(self):
        """Octets of the buffer that are free."""
        return max(0, self.habits.buffer - self.unread)

    def shift(self):
        """The scale of the own windows."""
        return self.scale if self.scale is not None and self.scaled else 0

    def window(self):
        """The window field of the next segment."""
        habits, shift = self.habits, self.shift()
        edge = self.next + self.free()
        if self.edge is not None:
            step = min(habits.mss, habits.buffer // 2)
            if edge < self.edge or (edge - self.edge < step and habits.avoids_silly):
                edge = self.edge
        field = min(edge - self.next, 65535 << shift) >> shift
        if self.edge is not None and self.next + (field << shift) < self.edge and habits.rounds_up:
            field = min(65535, -(-(self.edge - self.next) >> shift))
        offered = self.next + (field << shift)
        self.edge = offered if self.edge is None else max(self.edge, offered)
        if habits.fault == "moves-edge" and self.sent_most > 1:
            field //= 2
        return field

    def limit(self):
        """The first position that the offered window does not hold."""
        return self.edge if self.edge is not None else self.next + self.free()

    def blocks(self):
        """The SACK blocks: a D-SACK if one is due, the newest range, then the others."""
        due, self.doubled = self.doubled, None
        joined = []
        for left, right, _, _ in sorted(self.gaps, key=lambda one: one[:2]):
            if joined and left <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], right)
            else:
                joined.append([left, right])
        if self.arrivals:
            newest = self.arrivals[-1]
            joined.sort(key=lambda one: not one[0] <= newest < one[1])
        found = [due] if due and self.habits.dsack else []
        found += [tuple(one) for one in joined]
        return [(self.irs + left, self.irs + right)
                for left, right in found[:3 if self.stamps else 4]]

    def read(self, octets):
        """The application reads; the window is announced if it opens by much."""
        if self.dead:
            return
        self.unread -= min(octets, self.unread)
        if self.state == "open" and self.edge is not None and not self.time_wait:
            shift = self.shift()
            edge = self.next + (min(self.free(), 65535 << shift) >> shift << shift)
            much = min(self.habits.buffer // 2, 2 * self.habits.mss)
            if edge - self.edge >= max(1 << shift, much):
                self.acknowledge()

    def acknowledge(self):
        """Send a pure ACK."""
        self.send(self.ack_position(), ACK)

    def on_ack_timer(self):
        """Send the pending ACK."""
        if not self.dead and self.state == "open":
            self.acknowledge()

    def acknowledge_later(self, at_once):
        """Acknowledge data that is in order, at once or by the habits of delayed ACKs."""
        self.unacknowledged += 1
        if at_once or self.unacknowledged >= self.habits.ack_every:
            self.acknowledge()
        elif not self.ack_timer.is_set:
            self.ack_timer.set(self.habits.ack_delay)

    def take_data(self, segment, begin, limit):
        """Take the data and the FIN of an acceptable segment that begins at `begin`."""
        data, fin = segment.data, segment.flags & FIN
        if self.time_wait or self.peer_closed():
            self.acknowledge()
            return
        if self.habits.drops and self.draw.random() < self.habits.drops:
            return
        if begin < self.next:
            if self.sack and data:
                self.doubled = (begin, min(self.next, begin + len(data)))
            data, begin = data[self.next - begin:], self.next
        if begin + len(data) > limit:
            data, fin = data[:max(0, limit - begin)], 0
        if begin > self.next:
            self.keep(data, fin if self.habits.keeps_early_fin else 0, begin)
            self.acknowledge()
            return
        filled = bool(self.gaps)
        self.advance(data, fin)
        self.take_kept()
        if not self.peer_closed():
            self.acknowledge_later(filled)
            return
        self.acknowledge()
        self.on_peer_fin()
        if self.fin_acknowledged():
            self.time_wait = True
            self.keep_alive_timer.stop()

    def keep(self, data, fin, begin):
        """Keep data behind a gap, if the habits say so."""
        if not self.habits.drops_early and (data or fin):
            self.gaps.append((begin, begin + len(data) + bool(fin), data, fin))
            self.arrivals.append(begin)

    def take_kept(self):
        """Take what is no longer behind a gap."""
        found = True
        while found:
            found = False
            for one in list(self.gaps):
                left, right, data, fin = one
                if left <= self.next:
                    self.gaps.remove(one)
                    if right > self.next:
                        self.advance(data[self.next - left:], fin)
                    found = True

    def advance(self, data, fin):
        """Give data in order to the application."""
        self.next += len(data)
        self.unread += len(data)
        if data:
            self.on_data(len(data))
        if fin and self.peer_fin is None:
            self.peer_fin = self.next
            self.next += 1

    def peer_closed(self):
        """Whether the peer's FIN arrived in order."""
        return self.peer_fin is not None and self.next > self.peer_fin
