# Writes the record of a conversation as pcapng: nanoseconds, IP packets, a comment on each.
import struct

LINKTYPE_RAW = 101


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def pcapng(record, title=""):
    """The bytes of a capture with every packet of the record; remarks become part of the next
    packet's comment.
    """
    end = struct.pack("<HH", 0, 0)
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    if title:
        section += option(1, title.encode()) + end
    interface = struct.pack("<HHI", LINKTYPE_RAW, 0, 0) + option(9, b"\x09") + end
    blocks = [block(0x0A0D0D0A, section), block(1, interface)]
    remarks = []
    for entry in record:
        if not entry.packet:
            remarks.append(entry.remark)
            continue
        words = "; ".join([*remarks, ("tester: " if entry.inward else "target: ") + entry.text])
        remarks = []
        size = len(entry.packet)
        body = struct.pack("<IIIII", 0, entry.at >> 32, entry.at & 0xFFFFFFFF, size, size)
        body += entry.packet + b"\0" * (-size % 4) + option(1, words.encode()) + end
        blocks.append(block(6, body))
    return b"".join(blocks)
