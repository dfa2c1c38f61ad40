# Packets of scapy and their octets: what may be injected, and how a segment reads in one line.
import logging

from .errors import Misuse

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

from scapy.layers.inet import IP, TCP, ICMP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.packet import Packet, Padding  # noqa: E402

MOD = 1 << 32
LETTERS = "FSRPAUEC"


def octets_of(packet, target):
    """The IP packet to hand over, from scapy's IP, IPv6 or bare TCP, or from bytes."""
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


def dissected(octets):
    """scapy's view of an IP packet."""
    return IPv6(octets) if octets[:1] and octets[0] >> 4 == 6 else IP(octets)


def payload_of(packet):
    """The text of a segment, without the padding of a link."""
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
    """'AS' -> 'SA'; Misuse for letters that are no flags."""
    if not isinstance(flags, str) or set(flags) - set(LETTERS) or len(set(flags)) != len(flags):
        raise Misuse(f"flags are {flags!r}: use letters of {LETTERS}, each once, as in 'SA'")
    return "".join(letter for letter in LETTERS if letter in flags)


def length_of(tcp, payload):
    """SEG.LEN: the text, and one each for SYN and FIN."""
    flags = str(tcp.flags)
    return len(payload) + ("S" in flags) + ("F" in flags)


def options_of(tcp):
    """Options by scapy's names; NOP and EOL have none."""
    return {
        name: value
        for name, value in (tcp.options if isinstance(tcp.options, list) else [])
        if name not in ("NOP", "EOL")
    }


def since(number, origin):
    """The distance on the circle of sequence numbers, signed."""
    return (number - origin + MOD // 2) % MOD - MOD // 2
