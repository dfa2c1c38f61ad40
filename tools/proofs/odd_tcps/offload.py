# Joins segments as offloads do: before the NIC of the sender (TSO), behind it (GRO).
"""Joined segments of the recorder's own host have the pseudo-header's sum alone."""
import ipaddress
import struct

from proofs.odd_tcps import wire

OCTETS_MOST, GRO_NS = 60_000, 50_000
ONLY_LAST = wire.FIN | wire.PSH


class Parts:
    """The parts of an IP packet with TCP."""

    def __init__(self, octets):
        self.tcp = 40 if octets[0] >> 4 == 6 else 20
        self.data = self.tcp + (octets[self.tcp + 12] >> 4) * 4
        self.source = wire.source_of(octets)
        self.flags = octets[self.tcp + 13]
        self.seq = struct.unpack_from(">I", octets, self.tcp + 4)[0]
        # ACK, header length, window and options: equal in segments that are joined.
        self.equal = (octets[self.tcp + 8:self.tcp + 13] + octets[self.tcp + 14:self.tcp + 16]
                      + octets[self.tcp + 20:self.data])
        self.length = len(octets) - self.data


def may_join(first, second):
    """Whether the second segment continues the first and differs in nothing that counts."""
    return (first.source == second.source and first.length and second.length
            and first.equal == second.equal
            and first.flags & ~ONLY_LAST == second.flags & ~ONLY_LAST == wire.ACK
            and not first.flags & ONLY_LAST
            and (first.seq + first.length) % wire.CYCLE == second.seq
            and first.length + second.length < OCTETS_MOST)


def joined(octets, other, own):
    """The packet that holds the data of both; `own`: not yet cut and summed by the NIC."""
    parts = Parts(other)
    out = bytearray(octets + other[parts.data:])
    out[parts.tcp + 13] |= parts.flags & ONLY_LAST
    length = len(out) - parts.tcp
    if parts.tcp == 40:
        struct.pack_into(">H", out, 4, length)
        target = bytes(out[24:40])
    else:
        struct.pack_into(">H", out, 2, len(out))
        struct.pack_into(">H", out, 10, 0)
        struct.pack_into(">H", out, 10, wire.checksum(bytes(out[:20])))
        target = bytes(out[16:20])
    head = wire.pseudo_header(parts.source, target, length)
    struct.pack_into(">H", out, parts.tcp + 16, 0)
    total = wire.checksum(head) ^ 0xFFFF if own else wire.checksum(head + bytes(out[parts.tcp:]))
    struct.pack_into(">H", out, parts.tcp + 16, total)
    return bytes(out)


def join(records, address):
    """(records with joined segments, number of joins), as recorded on the host `address`."""
    own_address = ipaddress.ip_address(address).packed
    out, joins = [], 0
    for time_ns, octets in records:
        if out:
            before_ns, before = out[-1]
            parts = Parts(octets)
            own = parts.source == own_address
            near = time_ns == before_ns if own else time_ns - before_ns < GRO_NS
            if near and may_join(Parts(before), parts):
                out[-1] = (before_ns if own else time_ns, joined(before, octets, own))
                joins += 1
                continue
        out.append((time_ns, octets))
    return out, joins
