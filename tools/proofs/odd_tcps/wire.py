# TCP segments as octets: flags, options, checksums, IPv4 and IPv6.
"""Sequence numbers here are those on the wire, modulo 2^32."""
import dataclasses
import ipaddress
import struct

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = 1, 2, 4, 8, 16, 32, 64, 128
MSS, SCALE, PERMITTED, SACK, STAMPS, FAST_OPEN = 2, 3, 4, 5, 8, 34
CYCLE = 1 << 32


@dataclasses.dataclass(slots=True)
class Segment:
    """A segment with the fields of its IP header that matter; an end is (address, port)."""
    source: tuple
    target: tuple
    seq: int
    ack: int
    flags: int
    window: int = 0
    options: bytes = b""
    data: bytes = b""
    urgent: int = 0
    ecn: int = 0
    identification: int = 0
    hops: int = 64


def checksum(octets):
    """The Internet checksum."""
    if len(octets) & 1:
        octets += b"\0"
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def mss_option(octets):
    """The option of the maximum segment size."""
    return b"\2\4" + struct.pack(">H", octets)


def scale_option(shift):
    """The option of the window scale, behind a NOP."""
    return b"\1\3\3" + bytes([shift])


def permitted_option():
    """SACK-permitted, behind two NOPs."""
    return b"\1\1\4\2"


def stamps_option(value, echo):
    """The timestamps option, behind two NOPs."""
    return b"\1\1\x08\x0a" + struct.pack(">II", value % CYCLE, echo % CYCLE)


def sack_option(blocks):
    """The SACK option with blocks of (left, right), behind two NOPs."""
    edges = b"".join(struct.pack(">II", left % CYCLE, right % CYCLE) for left, right in blocks)
    return b"\1\1\5" + bytes([2 + len(edges)]) + edges


def aligned(options):
    """The options with NOPs behind them up to a multiple of four octets."""
    return options + b"\1" * (-len(options) % 4)


def options_of(octets):
    """The value of each kind of option."""
    found, at = {}, 0
    while at < len(octets) and octets[at]:
        if octets[at] == 1:
            at += 1
            continue
        length = octets[at + 1]
        found[octets[at]] = octets[at + 2:at + length]
        at += length
    return found


def pseudo_header(source, target, length):
    """What the checksum covers in front of `length` octets of TCP."""
    if len(source) == 16:
        return source + target + struct.pack(">II", length, 6)
    return source + target + struct.pack(">BBH", 0, 6, length)


def packet(segment):
    """The octets of the IP packet, with both checksums."""
    options = segment.options
    if len(options) % 4 or len(options) > 40:
        raise ValueError(f"options of {len(options)} octets")
    source, target = (ipaddress.ip_address(end[0]).packed
                      for end in (segment.source, segment.target))
    header = struct.pack(">HHIIBBHHH", segment.source[1], segment.target[1], segment.seq % CYCLE,
                         segment.ack % CYCLE, 5 + len(options) // 4 << 4, segment.flags,
                         segment.window, 0, segment.urgent)
    tcp = header + options + segment.data
    total = checksum(pseudo_header(source, target, len(tcp)) + tcp)
    tcp = tcp[:16] + struct.pack(">H", total) + tcp[18:]
    if len(source) == 16:
        return struct.pack(">IHBB", 6 << 28 | segment.ecn << 20, len(tcp), 6,
                           segment.hops) + source + target + tcp
    ip = struct.pack(">BBHHHBBH", 0x45, segment.ecn, 20 + len(tcp), segment.identification,
                     0x4000, segment.hops, 6, 0) + source + target
    return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + tcp


def source_of(octets):
    """The source address of an IP packet."""
    return octets[8:24] if octets[0] >> 4 == 6 else octets[12:16]
