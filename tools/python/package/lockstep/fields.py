"""Packets as numpy arrays of their fields; needs numpy (``pip install lockstep[numpy]``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional, Union

from lockstep import _core
from lockstep.errors import BadInput
from lockstep.sim import Arrival, Frame
from lockstep.units import NANOSECONDS_MAX, BytesLike, as_bytes, as_number

try:
    import numpy
except ImportError as missing:
    raise ImportError("lockstep.fields needs numpy, which is not installed: "
                      "pip install lockstep[numpy]") from missing

__all__ = ["DTYPE", "fields_of", "packets_of"]

#: One packet. Addresses are 16 octets, IPv4 as ::ffff:a.b.c.d. Numbers are those on the wire.
DTYPE: numpy.dtype = numpy.dtype([
    ("at", "<u8"),  # nanoseconds; 0 if only bytes were given
    ("version", "u1"),  # 4 or 6; 0: neither, malformed or truncated: all that follows is 0
    ("protocol", "u1"),  # 6: TCP; if another or malformed, everything from sport on is 0
    ("ttl", "u1"),  # hop limit
    ("tos", "u1"),  # traffic class: DSCP and ECN
    ("length", "<u4"),  # of the packet in bytes, IP header included
    ("source", "u1", 16),
    ("destination", "u1", 16),
    ("sport", "<u2"),
    ("dport", "<u2"),
    ("seq", "<u4"),
    ("ack", "<u4"),
    ("flags", "<u2"),  # FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128, AE 256
    ("window", "<u2"),  # not scaled
    ("urgent", "<u2"),
    ("mss", "<u2"),  # option; 0: not present
    ("window_scale", "i1"),  # option; -1: not present
    ("sack_permitted", "?"),
    ("ts_val", "<u4"),  # option; valid if ts_present
    ("ts_ecr", "<u4"),
    ("ts_present", "?"),
    ("sack_count", "u1"),  # blocks of the SACK option, 0 to 4
    ("sack", "<u4", (4, 2)),  # left edge, right edge
    ("payload", "<u4"),  # payload bytes
    ("checksum_good", "?"),  # of TCP
])

#: The most payload bytes of a packet.
PAYLOAD_MAX = 65_535

VLAN_TAG = b"\x81\x00"
ETHERTYPES = (b"\x08\x00", b"\x86\xdd")  # IPv4, IPv6

assert DTYPE.itemsize == _core.RECORD_BYTES


def fields_of(sent: Iterable[object]) -> numpy.ndarray:
    """An array of :data:`DTYPE` with one record for each packet.

    Takes packets of link "ip" as bytes, packets of scapy, or the result of
    :meth:`lockstep.Stack.advance`; and the results of :meth:`lockstep.Sim.frames` and
    :meth:`lockstep.Tap.arrived`, whose link headers are left out. Packets that cannot be parsed and
    frames without IP, such as those of ARP, have a record too, as DTYPE describes. BadInput: an
    entry is not a packet.
    """
    packets = []
    for each in sent:
        if isinstance(each, (Frame, Arrival)):
            each = each.at, _without_link(each)
        at, octets = each if isinstance(each, tuple) and len(each) == 2 else (0, each)
        packets.append((as_number(at, "a time", 0, NANOSECONDS_MAX), as_bytes(octets, "a packet")))
    return numpy.frombuffer(_core.records_of(packets), dtype=DTYPE).copy()


def _without_link(frame: Union[Frame, Arrival]) -> bytes:
    """The packet in a frame; another frame than one of IP is returned as a single octet."""
    if isinstance(frame, Frame) and frame.link == "ip":
        return frame.packet
    begin = 18 if frame.packet[12:14] == VLAN_TAG else 14
    is_ip = frame.packet[begin - 2:begin] in ETHERTYPES and len(frame.packet) > begin
    return frame.packet[begin:] if is_ip else bytes(1)


def packets_of(fields: numpy.ndarray, payloads: Optional[Iterable[BytesLike]] = None
               ) -> list[bytes]:
    """The TCP packets of an array of :data:`DTYPE`, for receive() of a stack.

    Lengths and checksums are computed; ``at``, ``length`` and ``checksum_good`` are ignored.

    Args:
        fields: one record for each packet.
        payloads: the payload of each; without them ``payload`` gives the number of zeros.

    Raises:
        BadInput: not such an array, the number of payloads differs, or a field is out of range.
    """
    if not isinstance(fields, numpy.ndarray) or fields.dtype != DTYPE or fields.ndim != 1:
        raise BadInput("fields is no array of lockstep.fields.DTYPE with one dimension")
    if payloads is None:
        most = int(fields["payload"].max(initial=0))
        if most > PAYLOAD_MAX:
            raise BadInput(f"payload is {most}, expected 0 to {PAYLOAD_MAX}")
        texts = [bytes(int(count)) for count in fields["payload"]]
    else:
        texts = [as_bytes(each, "a payload") for each in payloads]
    if len(texts) != len(fields):
        raise BadInput(f"there are {len(texts)} payloads, expected {len(fields)}")
    return _core.packets_of(fields.tobytes(), texts)
