# Relays frames between two TAPs with impairments per connection, drawn from a seed.
"""Needs no netem in the kernel. Frames on both TAPs have a virtio_net_hdr."""
import dataclasses
import heapq
import os
import random
import struct
import time

VNET_OCTETS = 10
FRAME_MAX = 70_000
TURN_FRAMES = 64
NEEDS_CSUM, GSO_TCP4, GSO_TCP6, GSO_ECN = 1, 1, 4, 0x80
NO_HEADER = bytes(VNET_OCTETS)
IPV4, IPV6, TCP = 0x0800, 0x86DD, 6


@dataclasses.dataclass
class Terms:
    """The impairments of one connection in each direction; probabilities are per packet."""
    delay: float = 0.01       # seconds, one way
    jitter: float = 0.0       # maximum extra delay in seconds, without reordering
    loss: float = 0.0
    burst: int = 1            # maximum number of packets lost in a row
    reorder: float = 0.0
    hold: float = 0.005       # extra delay in seconds of a reordered packet
    duplicate: float = 0.0
    mark: float = 0.0         # CE, on packets with ECT
    corrupt: float = 0.0
    rate: int = 0             # bits a second; 0: unlimited
    queue: int = 64 * 1024    # octets; used only with a rate
    drop_forth: tuple = ()    # indices from 0 of the client's packets to drop
    drop_back: tuple = ()
    dark_from: int = -1       # from this packet on, each direction drops everything ...
    dark_for: float = 0.0     # ... for this many seconds; 0: for ever
    dark_back_only: bool = False
    behind: float = 0.0       # lost between the middle capture point and the receiver
    seed: int = 1


def sum16(octets):
    """The Internet checksum of the octets, not inverted."""
    if len(octets) % 2:
        octets += b"\0"
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def where_tcp(frame):
    """(offset of the IP header, of the TCP header, end of the packet), or None."""
    if len(frame) < 54:
        return None
    kind = frame[12] << 8 | frame[13]
    if kind == IPV4 and frame[23] == TCP:
        return 14, 14 + (frame[14] & 15) * 4, 14 + (frame[16] << 8 | frame[17])
    if kind == IPV6 and frame[20] == TCP:
        return 14, 54, 54 + (frame[18] << 8 | frame[19])
    return None


def seal(frame, at, tcp):
    """Fill in the IP and TCP checksums of a bytearray."""
    length = len(frame) - tcp
    if frame[at] >> 4 == 4:
        frame[at + 10:at + 12] = b"\0\0"
        frame[at + 10:at + 12] = struct.pack(">H", ~sum16(bytes(frame[at:tcp])) & 0xFFFF)
        pseudo = bytes(frame[at + 12:at + 20]) + struct.pack(">HH", TCP, length)
    else:
        pseudo = bytes(frame[at + 8:at + 40]) + struct.pack(">II", length, TCP)
    frame[tcp + 16:tcp + 18] = b"\0\0"
    total = ~sum16(pseudo + bytes(frame[tcp:])) & 0xFFFF
    frame[tcp + 16:tcp + 18] = struct.pack(">H", total or 0xFFFF)


def resegment(frame, header):
    """Split a frame that the kernel left to TSO into the frames that a NIC would send."""
    flags, kind, _, size = struct.unpack_from("<BBHH", header)
    place = where_tcp(frame)
    if place is None or not flags & NEEDS_CSUM:
        return [frame]
    at, tcp, _ = place
    text_at = tcp + (frame[tcp + 12] >> 4) * 4
    text = frame[text_at:]
    if not kind & ~GSO_ECN or len(text) <= size:
        size = max(1, len(text))
    made = []
    sequence = struct.unpack_from(">I", frame, tcp + 4)[0]
    for number, start in enumerate(range(0, max(1, len(text)), size)):
        one = bytearray(frame[:text_at] + text[start:start + size])
        last = start + size >= len(text)
        struct.pack_into(">I", one, tcp + 4, (sequence + start) & 0xFFFFFFFF)
        if not last:
            one[tcp + 13] &= ~0x09  # only the last segment has FIN and PSH
        if number and kind & GSO_ECN:
            one[tcp + 13] &= ~0x80
        if frame[at] >> 4 == 4:
            identity = struct.unpack_from(">H", frame, at + 4)[0]
            struct.pack_into(">HH", one, at + 2, len(one) - at, (identity + number) & 0xFFFF)
        else:
            struct.pack_into(">H", one, at + 4, len(one) - tcp)
        seal(one, at, tcp)
        made.append(bytes(one))
    return made


def mark(frame):
    """The frame with CE, if it has ECT."""
    out = bytearray(frame)
    if out[14] >> 4 == 4:
        if not out[15] & 3 or out[15] & 3 == 3:
            return frame
        out[15] |= 3
        length = (out[14] & 15) * 4
        out[24:26] = b"\0\0"
        out[24:26] = struct.pack(">H", ~sum16(bytes(out[14:14 + length])) & 0xFFFF)
    elif out[15] & 0x30 and out[15] & 0x30 != 0x30:
        out[15] |= 0x30
    return bytes(out)


class Way:
    """One direction of one connection."""

    def __init__(self, terms, forth):
        self.terms, self.forth = terms, forth
        self.random = random.Random(f"{terms.seed}/{forth}")
        self.count = self.queued = self.burst_left = 0
        self.line_free = self.last_due = self.dark_until = 0.0
        self.drops = terms.drop_forth if forth else terms.drop_back

    def is_lost(self, now):
        """Whether to drop this packet."""
        number, terms = self.count, self.terms
        self.count += 1
        if number in self.drops:
            return True
        if number == terms.dark_from and not (terms.dark_back_only and self.forth):
            self.dark_until = now + (terms.dark_for or 1e9)
        if now < self.dark_until:
            return True
        if self.burst_left:
            self.burst_left -= 1
            return True
        if terms.loss and self.random.random() < terms.loss:
            self.burst_left = self.random.randrange(terms.burst)
            return True
        return False

    def dues(self, size, now):
        """The times at which the packet leaves: none, one or two."""
        terms, draw = self.terms, self.random.random
        if self.is_lost(now):
            return []
        due = now
        if terms.rate:
            waiting = max(0.0, self.line_free - now) * terms.rate / 8
            if waiting + size > terms.queue:
                return []
            due = self.line_free = max(now, self.line_free) + size * 8 / terms.rate
        due += terms.delay + (terms.jitter * draw() if terms.jitter else 0.0)
        if terms.reorder and draw() < terms.reorder:
            return [due + terms.hold]
        due = self.last_due = max(due, self.last_due)
        if terms.duplicate and draw() < terms.duplicate:
            return [due, due + draw() * 0.002]
        return [due]

    def altered(self, frame):
        """The frame as it arrives, perhaps marked or corrupted."""
        terms = self.terms
        if terms.mark and self.random.random() < terms.mark:
            frame = mark(frame)
        if terms.corrupt and self.random.random() < terms.corrupt:
            place = where_tcp(frame)
            out = bytearray(frame)
            out[self.random.randrange(place[1] + 13, place[2])] ^= 1 << self.random.randrange(8)
            frame = bytes(out)
        return frame


class Relay:
    """Connects two TAPs; calls `middle(time_ns, frame)` for frames at the middle capture point."""

    def __init__(self, taps, terms_of, middle):
        self.taps, self.terms_of, self.middle = taps, terms_of, middle
        self.ways, self.waiting, self.order = {}, [], 0

    def way_of(self, frame, side):
        """The Way of a frame, found by the server's port, which is the lower one."""
        place = where_tcp(frame)
        if place is None:
            return None
        ports = struct.unpack_from(">HH", frame, place[1])
        key = (min(ports), side)
        if key not in self.ways:
            terms = self.terms_of.get(key[0])
            self.ways[key] = Way(terms, side == 0) if terms else None
        return self.ways[key]

    def pull(self, side):
        """Read frames from a TAP."""
        for _ in range(TURN_FRAMES):
            try:
                octets = os.read(self.taps[side], FRAME_MAX)
            except (BlockingIOError, OSError):
                return
            for frame in resegment(octets[VNET_OCTETS:], octets):
                self.take(frame, side)

    def take(self, frame, side):
        """Drop, delay or forward a frame that came from a side."""
        now = time.monotonic()
        way = self.way_of(frame, side)
        if way is None:
            self.put(frame, side)
            return
        dues = way.dues(len(frame), now)
        if not dues:
            return
        frame = way.altered(frame)
        self.middle(time.time_ns(), frame)
        for due in dues:
            if way.terms.behind and way.random.random() < way.terms.behind:
                continue
            self.order += 1
            heapq.heappush(self.waiting, (due, self.order, frame, side))

    def put(self, frame, side):
        """Deliver a frame to the other side."""
        try:
            os.write(self.taps[1 - side], NO_HEADER + frame)
        except OSError:
            pass  # the interface's queue is full: the frame is lost

    def release(self):
        """Deliver the frames that are due; returns when the next one is, or None."""
        now = time.monotonic()
        while self.waiting and self.waiting[0][0] <= now:
            _, _, frame, side = heapq.heappop(self.waiting)
            self.put(frame, side)
        return self.waiting[0][0] if self.waiting else None
