# Packets of scapy and their octets: what may be injected, and a segment in one line of text.
import dataclasses
import logging
import socket

from .errors import Misuse

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

from scapy.layers.inet import IP, TCP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.packet import Packet, Padding  # noqa: E402

MOD = 1 << 32
LETTERS = "FSRPAUEC"


def octets_of(packet, target):
    """The IP packet to deliver, from scapy's IP, IPv6 or bare TCP, or from bytes."""
    if isinstance(packet, (bytes, bytearray, memoryview)):
        return bytes(packet)
    if not isinstance(packet, Packet):
        raise Misuse(
            "inject() takes a packet of scapy's (IP, IPv6 or TCP) or bytes,"
            f" not {type(packet).__name__}"
        )
    if isinstance(packet, TCP):
        packet = ip_header(target) / packet
    if not isinstance(packet, (IP, IPv6)):
        raise Misuse(
            f"inject() takes IP, IPv6 or TCP as the outermost layer, not {type(packet).__name__}:"
            " the link carries IP packets, so leave other headers away"
        )
    return bytes(packet)


def ip_header(target, **fields):
    """An IP header of the target's family, from the tester to the TCP under test."""
    layer = IP if target.ip_version == 4 else IPv6
    return layer(src=target.remote, dst=target.local, **fields)


def socket_octets(address):
    """The octets of an address of either family."""
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def dissected(octets):
    """scapy's view of an IP packet."""
    return IPv6(octets) if octets[:1] and octets[0] >> 4 == 6 else IP(octets)


def payload_of(packet):
    """The payload of a segment, without link padding."""
    payload = packet[TCP].payload
    if Padding in payload:
        payload = payload.copy()
        if isinstance(payload, Padding):
            return b""
        payload[Padding].underlayer.remove_payload()
    return bytes(payload)


def letters_of(tcp):
    """The flags in one order, as expect() takes them: 'SA', 'FA', 'PA'."""
    flags = str(tcp.flags)
    return "".join(letter for letter in LETTERS if letter in flags)


def in_order(flags):
    """'AS' -> 'SA'; Misuse for letters that are not flags."""
    if not isinstance(flags, str) or set(flags) - set(LETTERS) or len(set(flags)) != len(flags):
        raise Misuse(f"flags are {flags!r}: use letters of {LETTERS}, each once, as in 'SA'")
    return "".join(letter for letter in LETTERS if letter in flags)


def options_of(tcp):
    """Options by scapy's names, without NOP and EOL."""
    return {
        name: value
        for name, value in (tcp.options if isinstance(tcp.options, list) else [])
        if name not in ("NOP", "EOL")
    }


@dataclasses.dataclass(frozen=True)
class Glance:
    """The fields of a segment that the conversation itself needs, parsed without scapy, which is
    slow.
    """

    flags: str
    seq: int
    length: int
    window: int
    #: TSval, or None.
    stamp: int | None


def glance(octets):
    """A Glance at an IP packet with TCP directly after its header; None for any other."""
    if not octets:
        return None
    if octets[0] >> 4 == 6:
        begin, end = 40, 40 + int.from_bytes(octets[4:6], "big")
        protocol = octets[6] if len(octets) >= 40 else None
    else:
        begin, end = (octets[0] & 15) * 4, int.from_bytes(octets[2:4], "big")
        protocol = octets[9] if len(octets) >= 20 else None
    if protocol != 6 or len(octets) < begin + 20:
        return None
    tcp = octets[begin : min(end, len(octets))]
    if len(tcp) < 20:
        return None
    flags = "".join(letter for bit, letter in enumerate(LETTERS) if tcp[13] >> bit & 1)
    offset = (tcp[12] >> 4) * 4
    return Glance(
        flags,
        int.from_bytes(tcp[4:8], "big"),
        max(len(tcp) - offset, 0) + ("S" in flags) + ("F" in flags),
        int.from_bytes(tcp[14:16], "big"),
        stamp_of(tcp[20:offset]),
    )


def stamp_of(options):
    """TSval in these options; None if there is none, or if an option before it is malformed."""
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2:
            return None
        if options[at] == 8 and length == 10 and at + 10 <= len(options):
            return int.from_bytes(options[at + 2 : at + 6], "big")
        at += length
    return None


def words_of(octets, ours, theirs):
    """A packet in one line: 'SA 0:1(0) ack 1 win 65535 <MSS 1460>', relative to two numbers."""
    try:
        packet = dissected(octets)
        if TCP not in packet:
            return packet.summary()
        tcp = packet[TCP]
        payload = payload_of(packet)
        seq = since(tcp.seq, ours)
        words = f"{letters_of(tcp) or '-'} {seq}:{seq + len(payload)}({len(payload)})"
        if "A" in str(tcp.flags):
            words += f" ack {since(tcp.ack, theirs)}"
        words += f" win {tcp.window}"
        options = [f"{name} {value}" if value not in (b"", None, "") else str(name)
                   for name, value in options_of(tcp).items()]
        return words + (f" <{', '.join(options)}>" if options else "")
    except Exception:  # a packet that scapy cannot parse can still be shown
        return f"{len(octets)} octets"


def since(number, origin):
    """The signed distance of two sequence numbers."""
    return (number - origin + MOD // 2) % MOD - MOD // 2
