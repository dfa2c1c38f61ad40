# Reads the fields of an Ethernet frame that carries IPv4 and TCP, and verifies both checksums.
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
    """Return the Segment of a pcapng.Packet; raise BadFrame if anything in it is wrong."""
    frame = packet.frame
    if len(frame) < 54 or frame[12:14] != b"\x08\x00":
        raise BadFrame("is not an IPv4 packet in an Ethernet II frame")
    header = (frame[14] & 15) * 4
    total = struct.unpack_from(">H", frame, 16)[0]
    if frame[14] >> 4 != 4 or header < 20 or total < header + 20 or 14 + total > len(frame):
        raise BadFrame("has an impossible IPv4 header")
    if frame[23] != 6:
        raise BadFrame(f"carries protocol {frame[23]}, expected 6 (TCP)")
    if _sum(frame[14 : 14 + header]) != 0xFFFF:
        raise BadFrame("has a wrong IPv4 header checksum")
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
