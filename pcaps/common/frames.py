# Reads and writes Ethernet frames of IPv4 or IPv6 with TCP, and verifies checksums.
"""Only what the checker and the recorder need: a flat view of one segment."""
import socket
import struct
from dataclasses import dataclass

LETTERS = "FSRPAUEC"  # from bit 0 upwards
TCP, ICMP, ICMP6 = 6, 1, 58


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
    ecn: int = 0  # the ECN field of the IP header

    @property
    def length(self):
        """SEG.LEN: octets of data, plus one each for SYN and FIN."""
        return len(self.payload) + ("S" in self.flags) + ("F" in self.flags)

    def option(self, kind):
        """The contents of the first option of this kind; None if there is none."""
        at = 0
        while at < len(self.options) and self.options[at] != 0:
            if self.options[at] == 1:
                at += 1
                continue
            size = max(2, self.options[at + 1])
            if self.options[at] == kind:
                return self.options[at + 2 : at + size]
            at += size
        return None


class BadFrame(Exception):
    """The frame is not a complete TCP segment over IP with correct checksums; the text gives the
    reason.
    """


def _sum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def is_ipv6(frame):
    """Whether the frame carries IPv6."""
    return frame[12:14] == b"\x86\xdd"


def protocol(frame):
    """The protocol that the IP packet carries; 0 if it is not IP."""
    if frame[12:14] == b"\x08\x00":
        return frame[23]
    return frame[20] if is_ipv6(frame) else 0


def _split(frame):
    """(both addresses as octets, the IP payload, the ECN field)."""
    if len(frame) < 54 or not (frame[12:14] == b"\x08\x00" or is_ipv6(frame)):
        raise BadFrame("is not an IP packet in an Ethernet II frame")
    if is_ipv6(frame):
        size = struct.unpack_from(">H", frame, 18)[0]
        if frame[14] >> 4 != 6 or 54 + size > len(frame):
            raise BadFrame("has an impossible IPv6 header")
        return (frame[22:38], frame[38:54]), frame[54 : 54 + size], frame[15] >> 4 & 3
    header = (frame[14] & 15) * 4
    total = struct.unpack_from(">H", frame, 16)[0]
    if frame[14] >> 4 != 4 or header < 20 or total < header + 8 or 14 + total > len(frame):
        raise BadFrame("has an impossible IPv4 header")
    if _sum(frame[14 : 14 + header]) != 0xFFFF:
        raise BadFrame("has a wrong IPv4 header checksum")
    return (frame[26:30], frame[30:34]), frame[14 + header : 14 + total], frame[15] & 3


def _pseudo(ends, kind, size):
    """The pseudo-header of either family; the order of its zero octets does not change the sum."""
    return b"".join(ends) + struct.pack(">HH", kind, size)


def _text(address):
    return socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)


def parse(number, packet):
    """Return the Segment of a pcapng.Packet, or None for an ICMP message; raise BadFrame if it is
    invalid.
    """
    frame = packet.frame
    ends, inside, ecn = _split(frame)
    kind = protocol(frame)
    if kind not in (TCP, ICMP, ICMP6):
        raise BadFrame(f"carries protocol {kind}, expected 6 (TCP) or 1 or 58 (ICMP)")
    if kind != TCP:
        before = _pseudo(ends, kind, len(inside)) if kind == ICMP6 else b""
        if _sum(before + inside) != 0xFFFF:
            raise BadFrame("has a wrong ICMP checksum")
        return None
    if len(inside) < 20:
        raise BadFrame("ends inside the TCP header")
    if _sum(_pseudo(ends, TCP, len(inside)) + inside) != 0xFFFF:
        raise BadFrame("has a wrong TCP checksum")
    sport, dport, seq, ack, bits, window, _, urgent = struct.unpack_from(">HHIIHHHH", inside)
    offset = (bits >> 12) * 4
    if offset < 20 or offset > len(inside):
        raise BadFrame("has an impossible TCP data offset")
    flags = "".join(letter for bit, letter in enumerate(LETTERS) if bits >> bit & 1)
    return Segment(number, packet.time_ns, (_text(ends[0]), sport), (_text(ends[1]), dport), seq,
                   ack, flags, window, urgent, inside[20:offset], inside[offset:], ecn)


def address_bytes(text):
    """The octets of an address."""
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def ip_frame(source, target, macs, kind, inside, ecn=0):
    """Return an Ethernet frame with one IP packet; addresses are texts, macs (from, to)."""
    ends = address_bytes(source), address_bytes(target)
    link = b"".join(bytes.fromhex(mac.replace(":", "")) for mac in (macs[1], macs[0]))
    if len(ends[0]) == 16:
        head = struct.pack(">IHBB", 6 << 28 | ecn << 20, len(inside), kind, 64)
        return link + b"\x86\xdd" + head + b"".join(ends) + inside

    def ip(checksum):
        return struct.pack(">BBHHHBBH", 0x45, ecn, 20 + len(inside), 0, 0x4000, 64, kind,
                           checksum) + b"".join(ends)

    return link + b"\x08\x00" + ip(_sum(ip(0)) ^ 0xFFFF) + inside


def build(source, target, macs, flags, seq, ack, window=65535, urgent=0, options=b"", payload=b"",
          ecn=0):
    """Return an Ethernet frame with one segment; ends are (address, port), macs (from, to)."""
    bits = (20 + len(options)) // 4 << 12 | sum(1 << LETTERS.index(letter) for letter in flags)
    ends = address_bytes(source[0]), address_bytes(target[0])

    def tcp(checksum):
        return struct.pack(">HHIIHHHH", source[1], target[1], seq, ack, bits, window, checksum,
                           urgent) + options + payload

    sum_of_all = _sum(_pseudo(ends, TCP, len(tcp(0))) + tcp(0)) ^ 0xFFFF
    return ip_frame(source[0], target[0], macs, TCP, tcp(sum_of_all), ecn)


def marked(frame):
    """The frame as a congested router forwards it: marked CE, if it is ECN-capable."""
    if not _split(frame)[2]:
        return frame
    if is_ipv6(frame):
        return frame[:15] + bytes([frame[15] | 0x30]) + frame[16:]
    head = frame[14:15] + bytes([frame[15] | 3]) + frame[16:24] + b"\0\0" + frame[26:34]
    return frame[:14] + head[:10] + struct.pack(">H", _sum(head) ^ 0xFFFF) + frame[26:]


def too_big(frame, router, macs, mtu):
    """A router's reply to a packet that does not fit: ICMP of the packet's family."""
    ends, _, _ = _split(frame)
    sender, target = _text(ends[0]), router
    if is_ipv6(frame):
        quoted = frame[14 : 14 + 1232]

        def icmp(checksum):
            return struct.pack(">BBHI", 2, 0, checksum, mtu) + quoted

        pair = address_bytes(target), address_bytes(sender)
        value = _sum(_pseudo(pair, ICMP6, len(icmp(0))) + icmp(0)) ^ 0xFFFF
        return ip_frame(target, sender, macs, ICMP6, icmp(value))
    quoted = frame[14 : 14 + 28]

    def icmp4(checksum):
        return struct.pack(">BBHHH", 3, 4, checksum, 0, mtu) + quoted

    return ip_frame(target, sender, macs, ICMP, icmp4(_sum(icmp4(0)) ^ 0xFFFF))
