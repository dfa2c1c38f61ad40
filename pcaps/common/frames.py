# Reads and writes Ethernet frames that carry IPv4 and TCP, and verifies both checksums.
"""Only what the checker and the recorder need: a flat view of one segment."""
import socket
import struct
from dataclasses import dataclass

LETTERS = "FSRPAUEC"  # bit 0 upwards


@dataclass
class Segment:
    """One TCP segment of a capture; `packet` is its number, counted from 1."""

    packet: int
    time_ns: int
    source: tuple
    target: tuple
    seq: int
    ack: int
    flags: str
    window: int
    urgent: int
    options: bytes
    payload: bytes

    @property
    def length(self):
        """SEG.LEN: octets of data, plus one each for SYN and FIN."""
        return len(self.payload) + ("S" in self.flags) + ("F" in self.flags)


class BadFrame(Exception):
    """The frame is not a whole, rightly summed TCP segment over IPv4; the text says why."""


def _sum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def parse(number, packet):
    """Return the Segment of a pcapng.Packet, None for an ICMP message; raise BadFrame if wrong."""
    frame = packet.frame
    if len(frame) < 54 or frame[12:14] != b"\x08\x00":
        raise BadFrame("is not an IPv4 packet in an Ethernet II frame")
    header = (frame[14] & 15) * 4
    total = struct.unpack_from(">H", frame, 16)[0]
    if frame[14] >> 4 != 4 or header < 20 or total < header + 20 or 14 + total > len(frame):
        raise BadFrame("has an impossible IPv4 header")
    if frame[23] not in (1, 6):
        raise BadFrame(f"carries protocol {frame[23]}, expected 6 (TCP) or 1 (ICMP)")
    if _sum(frame[14 : 14 + header]) != 0xFFFF:
        raise BadFrame("has a wrong IPv4 header checksum")
    if frame[23] == 1:
        if _sum(frame[14 + header : 14 + total]) != 0xFFFF:
            raise BadFrame("has a wrong ICMP checksum")
        return None
    tcp = frame[14 + header : 14 + total]
    if _sum(frame[26:34] + struct.pack(">HH", 6, len(tcp)) + tcp) != 0xFFFF:
        raise BadFrame("has a wrong TCP checksum")
    sport, dport, seq, ack, bits, window, _, urgent = struct.unpack_from(">HHIIHHHH", tcp)
    offset = (bits >> 12) * 4
    if offset < 20 or offset > len(tcp):
        raise BadFrame("has an impossible TCP data offset")
    flags = "".join(letter for bit, letter in enumerate(LETTERS) if bits >> bit & 1)
    source = (socket.inet_ntoa(frame[26:30]), sport)
    target = (socket.inet_ntoa(frame[30:34]), dport)
    return Segment(number, packet.time_ns, source, target, seq, ack, flags, window, urgent,
                   tcp[20:offset], tcp[offset:])


def build(source, target, macs, flags, seq, ack, window=65535, urgent=0, options=b"", payload=b""):
    """Return an Ethernet frame with one segment; addresses are (IPv4, port), macs (from, to)."""
    bits = (20 + len(options)) // 4 << 12 | sum(1 << LETTERS.index(letter) for letter in flags)
    ends = socket.inet_aton(source[0]) + socket.inet_aton(target[0])

    def tcp(checksum):
        return struct.pack(">HHIIHHHH", source[1], target[1], seq, ack, bits, window, checksum,
                           urgent) + options + payload

    size = len(tcp(0))
    segment = tcp(_sum(ends + struct.pack(">HH", 6, size) + tcp(0)) ^ 0xFFFF)

    def ip(checksum):
        return struct.pack(">BBHHHBBH", 0x45, 0, 20 + size, 0, 0x4000, 64, 6, checksum) + ends

    link = b"".join(bytes.fromhex(mac.replace(":", "")) for mac in (macs[1], macs[0]))
    return link + b"\x08\x00" + ip(_sum(ip(0)) ^ 0xFFFF) + segment
