"""Packets of scapy to bytes and back; needs scapy (``pip install lockstep[scapy]``).

:meth:`lockstep.Stack.receive` accepts packets of scapy directly. Packets sent are bytes, which
:func:`packet` and :func:`packets` convert to packets of scapy.
"""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.errors import BadInput
from lockstep.units import as_bytes

try:
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether
    from scapy.packet import Packet
except ImportError as missing:
    raise ImportError("lockstep.scapy needs scapy, which is not installed: "
                      "pip install lockstep[scapy]") from missing

__all__ = ["packet", "packets", "wire"]


def packet(octets: object, link: str = "ip") -> Packet:
    """Parses bytes into a packet of scapy: IP or IPv6 by their version, or Ether.

    Args:
        octets: a whole packet, as transmit() returns it.
        link: ``ip`` or ``ethernet``, as that of the stack.

    Raises:
        BadInput: they are empty, or of another version of IP.
    """
    data = as_bytes(octets, "a packet")
    if link == "ethernet":
        return Ether(data)
    if link != "ip":
        raise BadInput(f"link is {link!r}, expected ip or ethernet")
    version = data[0] >> 4 if data else None
    if version not in (4, 6):
        raise BadInput(f"a packet begins with version {version}, expected 4 or 6: is it Ethernet?")
    return IP(data) if version == 4 else IPv6(data)


def packets(sent: Iterable[object], link: str = "ip") -> list[Packet]:
    """packet() of each of bytes, or of the result of advance(); then with its time, in seconds."""
    out = []
    for each in sent:
        at, octets = each if isinstance(each, tuple) and len(each) == 2 else (None, each)
        made = packet(octets, link)
        if at is not None:
            made.time = at / 10**9
        out.append(made)
    return out


def wire(made: Packet) -> bytes:
    """The bytes of a packet of scapy, with lengths and checksums filled in where they are None.

    BadInput: not a packet of scapy, or its first layer is not IP, IPv6 or Ether.
    """
    if not isinstance(made, Packet):
        raise BadInput(f"{made!r} was given, expected a packet of scapy")
    if not isinstance(made, (IP, IPv6, Ether)):
        raise BadInput(f"a packet of scapy begins with {made.name}, expected IP, IPv6 or Ether")
    return bytes(made)
