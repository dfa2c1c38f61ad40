# Reused ports: successive connections, renumbered, with some control packets not recorded.
"""A life is one connection as both ends recorded it: [frames at the client, at the server]."""
import struct

from proofs.calibrate import relay
from proofs.calibrate.pcap import ACK, CYCLE, FIN, RST, SYN

SECOND = 1_000_000_000
TIME_WAIT = 61 * SECOND  # Linux keeps the ports for 60 s
SACK = 5
HOLES = {"none": 2, "syn": 4, "syn_ack": 3, "handshake": 5, "former_end": 2, "both": 3}


class Head:
    """The TCP header of a frame, without options."""

    def __init__(self, frame):
        self.at, self.tcp, end = relay.where_tcp(frame)
        (self.sport, self.dport, self.seq, self.ack, offset, self.flags) = \
            struct.unpack_from(">HHIIBB", frame, self.tcp)
        self.text_at = min(end, self.tcp + (offset >> 4) * 4)
        self.from_client = self.sport > self.dport
        self.end = (self.seq + end - self.text_at + bool(self.flags & SYN)
                    + bool(self.flags & FIN)) % CYCLE

    def opens(self):
        """Whether it is a client's SYN."""
        return self.flags & (SYN | ACK | RST) == SYN


def pseudo_sum(frame, head):
    """The checksum that a kernel leaves for the NIC to complete."""
    four = frame[head.at] >> 4 == 4
    addresses = frame[head.at + 12:head.at + 20] if four else frame[head.at + 8:head.at + 40]
    return relay.sum16(bytes(addresses) + struct.pack(">HH", relay.TCP, len(frame) - head.tcp))


def move_blocks(octets, head, by):
    """Shift the SACK blocks of a header by `by`."""
    at = head.tcp + 20
    while at + 1 < head.text_at and octets[at]:
        size = 1 if octets[at] == 1 else octets[at + 1]
        if not size or at + size > head.text_at:
            return
        if octets[at] == SACK:
            for edge in range(at + 2, at + size - 3, 4):
                moved = (int.from_bytes(octets[edge:edge + 4], "big") + by) % CYCLE
                octets[edge:edge + 4] = moved.to_bytes(4, "big")
        at += size


def renumbered(frame, ports, shifts):
    """The frame with new ports (client, server) and sequence numbers shifted by (client's,
    server's). Right checksums stay right, wrong ones wrong, and those left to the NIC are kept."""
    head, out = Head(frame), bytearray(frame)
    mine, others = shifts if head.from_client else shifts[::-1]
    is_answer = head.flags & RST and not head.seq  # a RST in reply to a SYN has SEQ 0
    seq = head.seq if is_answer else (head.seq + mine) % CYCLE
    ack = (head.ack + others) % CYCLE if head.flags & ACK else head.ack
    struct.pack_into(">HHII", out, head.tcp, *(ports if head.from_client else ports[::-1]),
                     seq, ack)
    move_blocks(out, head, others)
    known = struct.unpack_from(">H", frame, head.tcp + 16)[0]
    if known != pseudo_sum(frame, head):
        before, after = (relay.sum16(bytes(one[head.tcp:head.tcp + 16])
                                     + bytes(one[head.tcp + 18:head.text_at]).ljust(42, b"\0"))
                         for one in (frame, out))
        total = (~known & 0xFFFF) + (~before & 0xFFFF) + after
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        struct.pack_into(">H", out, head.tcp + 16, ~total & 0xFFFF)
    return bytes(out)


def lives(ends):
    """The connections of a flow in order; each SYN with a new number begins one."""
    parts = []
    for frames in ends:
        part, known = [[]], None
        for when, frame in frames:
            head = Head(frame)
            if head.opens() and head.seq != known:
                if known is not None:
                    part.append([])
                known = head.seq
            part[-1].append((when, frame))
        parts.append(part)
    return [list(pair) for pair in zip(*parts)] if len(parts[0]) == len(parts[1]) else []


def is_over(life):
    """How the connection ended at both ends: "reset", "closed", or None if one end is open."""
    if not all(life):
        return None
    heads = [[Head(frame) for _, frame in frames] for frames in life]
    if all(any(one.flags & RST for one in end) for end in heads):
        return "reset"
    for end in heads:
        for from_client in (True, False):
            last = {one.end for one in end if one.flags & FIN and one.from_client == from_client}
            if not any(one.from_client != from_client and one.flags & ACK and one.ack in last
                       for one in end):
                return None
    return "closed"


def first_and_last(life, from_client):
    """One side's first sequence number, and how many it used."""
    said = [Head(frame) for frames in life for _, frame in frames]
    said = [one for one in said if one.from_client == from_client and not one.flags & RST]
    if not said:
        return 0, 1
    first = next((one.seq for one in said if one.flags & SYN), said[0].seq)
    return first, 1 + max((one.end - first) % CYCLE for one in said if
                          (one.end - first) % CYCLE < CYCLE // 2)


def where_to(draw, first, used):
    """Draw the next ISN: above, among or below the previous connection's numbers, or anywhere."""
    kind = draw.randrange(5)
    near = draw.choice([100, 70_000, 1 << 20, 1 << 24, 1 << 30])
    by = (used + draw.randrange(near), draw.randrange(1, used + 1), -draw.randrange(1, near),
          draw.getrandbits(32), used + 6_000_000)[kind]
    return (first + by) % CYCLE


def is_of_handshake(life, hole):
    """A test for the frames that the recorder lost with a hole of that name."""
    opened = set()
    for frames in life:
        for when, frame in frames:
            head = Head(frame)
            opened.add((when, frame))
            if head.from_client and head.flags & ACK and not head.flags & SYN:
                break
    def test(one):
        flags = Head(one[1]).flags
        if hole == "syn":
            return flags & (SYN | ACK) == SYN
        if hole == "syn_ack":
            return flags & (SYN | ACK) == SYN | ACK
        return bool(flags & SYN) or (one in opened and not flags & (RST | FIN))
    return test


def with_hole(draw, in_a_row):
    """The lives with some control packets not recorded, and the name of the hole."""
    hole = draw.choices(list(HOLES), list(HOLES.values()))[0]
    out = [in_a_row[0]]
    for life in in_a_row[1:]:
        if hole in ("former_end", "both"):
            out[-1] = [[one for one in frames if not Head(one[1]).flags & (FIN | RST)]
                       for frames in out[-1]]
        if hole not in ("none", "former_end"):
            lost = is_of_handshake(life, "handshake" if hole == "both" else hole)
            life = [[one for one in frames if not lost(one)] for frames in life]
        out.append(life)
    return out, hole


def in_a_row(draw, first, others, ports):
    """The life `first`, then the others, on one pair of ports with new ISNs, as behind a firewall
    that randomizes ISNs. After a closed connection the next one waits for TIME-WAIT."""
    out = [first]
    for life in others:
        before, how = out[-1], is_over(out[-1])
        if how is None:
            break
        shifts = []
        for side in (True, False):
            number, _ = first_and_last(life, side)
            shifts.append((where_to(draw, *first_and_last(before, side)) - number) % CYCLE)
        gap = draw.choice([1, 3, 70, 400]) * SECOND if how == "reset" else \
            TIME_WAIT + draw.randrange(300) * SECOND
        later = max(frames[-1][0] for frames in before if frames) + gap \
            - min(frames[0][0] for frames in life if frames)
        out.append([[(when + later, renumbered(frame, ports, shifts)) for when, frame in frames]
                    for frames in life])
    return out


def reused(draw, ports, own, others):
    """(both ends' frames, name of the hole), or None; `others`: lives of other flows."""
    if not own or not all(own[0]):
        return None
    if len(own) > 1 and draw.random() < 0.4:  # the connections that Linux made on these ports
        made = own
    else:
        rest = own[1:] + draw.sample(others, min(len(others), 2))
        made = in_a_row(draw, own[0], rest[:draw.randrange(1, 3)], ports)
    if len(made) < 2:
        return None
    made, hole = with_hole(draw, made)
    return [[one for life in made for one in life[side]] for side in (0, 1)], hole
