# Writes pcap files of IP packets without a link layer.
"""Little-endian, with nanoseconds or microseconds."""
import struct

NANO, MICRO, RAW_IP = 0xA1B23C4D, 0xA1B2C3D4, 101
SNAP = 262_144
BEGIN_NS = 1_700_000_000 * 10 ** 9


def octets_of(records, fine=True):
    """The octets of a file with records of (time_ns, octets, length on the wire)."""
    parts = [struct.pack("<IHHiIII", NANO if fine else MICRO, 2, 4, 0, 0, SNAP, RAW_IP)]
    for time_ns, octets, length in records:
        seconds, rest = divmod(BEGIN_NS + time_ns, 10 ** 9)
        parts.append(struct.pack("<IIII", seconds, rest if fine else rest // 1000, len(octets),
                                 length) + octets)
    return b"".join(parts)


def write(name, records, fine=True):
    """Write the file `name`."""
    with open(name, "wb") as file:
        file.write(octets_of(records, fine))
