# Makes the capture file of a flow: the kernel's record at one end, or a damaged one, from a seed.
"""A damaged capture was taken elsewhere, is incomplete, or was changed afterwards."""
import random
import socket
import struct

from proofs.calibrate import pcap, relay

NEAR_NS, WHOLE_OCTETS = 40_000, 60_000
HOPPED = 120_000  # nanoseconds between the records before and after a router


def missing(draw, frames):
    """The recorder lost some packets."""
    chance = draw.choice([0.005, 0.02, 0.1])
    return [one for one in frames if draw.random() >= chance]


def swapped(draw, frames):
    """Several queues: packets less than 60 us apart may be in another order."""
    out = list(frames)
    for at in range(len(out) - 1):
        if out[at + 1][0] - out[at][0] < 60_000 and draw.random() < 0.3:
            out[at], out[at + 1] = (out[at][0], out[at + 1][1]), (out[at + 1][0], out[at][1])
    return out


def edited(draw, frames):
    """Payload was replaced without fixing the checksums."""
    mask = bytes(draw.randrange(1, 256) for _ in range(64))
    return [(when, alter_text(frame, mask)) for when, frame in frames]


def edited_sums(draw, frames):
    """Addresses were replaced, and only IPv4's checksum was fixed."""
    new = draw.randrange(1, 250)
    out = []
    for when, frame in frames:
        octets = bytearray(frame)
        at = 26 if octets[14] >> 4 == 4 else 22
        size = 4 if at == 26 else 16
        octets[at + 1] = octets[at + size + 1] = new
        if at == 26:
            octets[24:26] = b"\0\0"
            octets[24:26] = (~relay.sum16(bytes(octets[14:34])) & 0xFFFF).to_bytes(2, "big")
        out.append((when, bytes(octets)))
    return out


def alter_text(frame, mask):
    """XOR the payload with a mask that depends only on the sequence number."""
    place = relay.where_tcp(frame)
    if place is None:
        return frame
    _, tcp, end = place
    text = tcp + (frame[tcp + 12] >> 4) * 4
    sequence = int.from_bytes(frame[tcp + 4:tcp + 8], "big")
    out = bytearray(frame)
    for at in range(text, end):
        out[at] ^= mask[(sequence + at - text) % 64]
    return bytes(out)


def snapped(draw, frames):
    """Only the first 96 to 200 octets of each packet."""
    snap = draw.choice([96, 128, 200])
    return [(when, frame[:snap], len(frame)) for when, frame in frames]


def doubled(draw, frames):
    """Each packet twice, as if recorded both at a bridge and at one of its ports."""
    out = []
    for when, frame in frames:
        out += [(when, frame), (when + draw.randrange(300, 6000), frame)]
    return out


def hops(_, frames):
    """Each packet twice, before and after a router: the second has a hop limit one lower."""
    out = []
    for when, frame in frames:
        octets = bytearray(frame)
        if octets[14] >> 4 == 4:
            octets[22] -= 1
            octets[24:26] = b"\0\0"
            octets[24:26] = (~relay.sum16(bytes(octets[14:34])) & 0xFFFF).to_bytes(2, "big")
        else:
            octets[21] -= 1
        out += [(when, frame), (when + HOPPED, bytes(octets))]
    return sorted(out, key=lambda one: one[0])


def pseudo_only(packet):
    """A frame with the pseudo-header's sum as checksum, as the kernel leaves one that it joined."""
    out = bytearray(packet.frame())
    at, tcp = len(packet.link), len(packet.link) + len(packet.ip)
    addresses = bytes(packet.ip[12:20] if packet.is_v4 else packet.ip[8:40])
    total = relay.sum16(addresses + struct.pack(">HH", relay.TCP, len(out) - tcp))
    struct.pack_into(">H", out, tcp + 16, total)
    assert at == 14
    return bytes(out)


def joins(before, one, sender):
    """Whether a receiver's kernel would join the two packets."""
    same = before.source == one.source != sender and before.flags == pcap.ACK \
        and one.flags & ~pcap.PSH == pcap.ACK and before.text and one.text
    return same and before.end == one.seq and before.ack == one.ack \
        and before.options == one.options and before.ecn == one.ecn \
        and one.time - before.time < NEAR_NS and len(before.text) + len(one.text) < WHOLE_OCTETS


def coalesced(_, frames, sender=None):
    """Join consecutive arriving segments, as generic receive offload does."""
    out, joined = [], set()
    for when, frame in frames:
        one = pcap.Packet(when, frame)
        if out and joins(out[-1], one, sender):
            last = out[-1]
            last.text, last.flags = last.text + one.text, last.flags | one.flags
            joined.add(id(last))
        else:
            out.append(one)
    return [(one.time, pseudo_only(one) if id(one) in joined else one.frame()) for one in out]


def late_start(draw, frames):
    """The capture lacks the beginning of the connection."""
    return frames[min(len(frames) // 2, draw.choice([1, 3, 8])):]


def early_end(draw, frames):
    """The capture ends before the connection."""
    return frames[:max(3, int(len(frames) * draw.choice([0.3, 0.6, 0.9])))]


MAKERS = {"missing": missing, "swapped": swapped, "edited": edited, "edited_sums": edited_sums,
          "snapped": snapped, "doubled": doubled, "hops": hops, "late_start": late_start,
          "early_end": early_end}


def make(flow, ends, middle):
    """The frames of a flow's file; `ends`: those recorded at client and server."""
    if flow["view"] in ("middle", "behind"):
        return middle
    frames = ends[flow["side"]]
    if flow["view"] == "coalesced":
        if flow["offloads"]:  # its own packets are captured without checksums anyway
            return frames
        port = flow["client_port"] if flow["side"] == 0 else flow["server_port"]
        sender = socket.inet_pton(socket.AF_INET6 if flow["six"] else socket.AF_INET,
                                  flow["address"][flow["side"]]), port
        return coalesced(None, frames, sender)
    maker = MAKERS.get(flow["view"])
    return maker(random.Random(f"view/{flow['view_seed']}"), frames) if maker else frames
