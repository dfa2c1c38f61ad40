# Reads and writes pcapng files of one Ethernet interface; the same input gives the same bytes.
"""Little-endian pcapng, nanoseconds (if_tsresol 9), one interface, one comment a packet."""
import struct
from dataclasses import dataclass

SECTION, INTERFACE, ENHANCED = 0x0A0D0D0A, 1, 6
MAGIC = 0x1A2B3C4D
ETHERNET = 1
NANOSECONDS = 9
SNAP_LENGTH = 262144


@dataclass
class Packet:
    """One frame: nanoseconds since the epoch, its bytes, a comment."""

    time_ns: int
    frame: bytes
    comment: str = ""


class BadCapture(Exception):
    """The file is not a capture of the supported kind; the text gives the reason."""


def _padded(data):
    return data + bytes(-len(data) % 4)


def _option(code, value):
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind, body):
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def encode(packets):
    """Return the bytes of a capture of `packets` in the given order."""
    out = [_block(SECTION, struct.pack("<IHHq", MAGIC, 1, 0, -1))]
    options = _option(9, bytes([NANOSECONDS])) + _option(0, b"")
    out.append(_block(INTERFACE, struct.pack("<HHI", ETHERNET, 0, SNAP_LENGTH) + options))
    for packet in packets:
        size = len(packet.frame)
        head = struct.pack("<IIIII", 0, packet.time_ns >> 32, packet.time_ns & 0xFFFFFFFF, size,
                           size)
        remark = packet.comment.encode()
        tail = _option(1, remark) + _option(0, b"") if remark else b""
        out.append(_block(ENHANCED, head + _padded(packet.frame) + tail))
    return b"".join(out)


def _check_interface(body):
    """Refuse an interface that is not Ethernet with nanosecond timestamps."""
    link = struct.unpack_from("<H", body)[0]
    if link != ETHERNET:
        raise BadCapture(f"link type {link}, expected {ETHERNET} (Ethernet II)")
    offset = 8
    while offset + 4 <= len(body):
        code, size = struct.unpack_from("<HH", body, offset)
        if code == 9 and size == 1 and body[offset + 4] == NANOSECONDS:
            return
        offset += 4 + size + (-size % 4)
    raise BadCapture("timestamps are not in nanoseconds, expected if_tsresol 9")


def decode(data):
    """Return the packets of a capture as `encode` writes it; raise BadCapture otherwise."""
    packets, offset, interfaces = [], 0, 0
    if data[:4] != struct.pack("<I", SECTION):
        raise BadCapture("no pcapng section header at its beginning")
    while offset < len(data):
        if offset + 12 > len(data):
            raise BadCapture(f"ends in the middle of a block at byte {offset}")
        kind, length = struct.unpack_from("<II", data, offset)
        if length < 12 or length % 4 or offset + length > len(data):
            raise BadCapture(f"block at byte {offset} has an impossible length {length}")
        body = data[offset + 8 : offset + length - 4]
        if kind == SECTION and body[:4] != struct.pack("<I", MAGIC):
            raise BadCapture("is not little-endian")
        if kind == INTERFACE:
            _check_interface(body)
            interfaces += 1
        if kind == ENHANCED:
            if interfaces != 1:
                raise BadCapture(f"packet with {interfaces} interfaces described, expected 1")
            _, high, low, kept, size = struct.unpack_from("<IIIII", body)
            if kept != size:
                raise BadCapture(f"packet {len(packets) + 1} is cut to {kept} of {size} bytes")
            packets.append(Packet(high << 32 | low, body[20 : 20 + kept]))
        offset += length
    return packets
