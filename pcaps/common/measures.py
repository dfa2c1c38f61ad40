# Measures of the device's segments, by which recordings with a feature on and off differ.
"""Each measure takes (the device's segments, all segments) and returns an integer."""
import struct

HALF = 2**31


def _relative(number, base):
    """A sequence number relative to `base`, negative before it."""
    return (number - base + HALF) % 2**32 - HALF


def _blocks(segment):
    data = segment.option(5) or b""
    return [struct.unpack_from(">II", data, at) for at in range(0, len(data) - 7, 8)]


def sack_blocks(device, _):
    """Segments that carry SACK blocks."""
    return sum(bool(_blocks(segment)) for segment in device)


def duplicate_blocks(device, _):
    """Segments whose first SACK block reports duplicate data."""
    count = 0
    for segment in device:
        blocks = _blocks(segment)
        below = blocks and _relative(blocks[0][1], segment.ack) <= 0
        inside = len(blocks) > 1 and (_relative(blocks[0][0], blocks[1][0]) >= 0
                                      and _relative(blocks[0][1], blocks[1][1]) <= 0)
        count += bool(below or inside)
    return count


def _again(device):
    """(position, segment) of each retransmitted segment."""
    high = None
    for position, segment in enumerate(device):
        if segment.length == 0 or "R" in segment.flags:
            continue
        if high is not None and _relative(segment.seq, high) < 0:
            yield position, segment
        end = (segment.seq + segment.length) % 2**32
        high = end if high is None or _relative(end, high) > 0 else high


def again(device, _):
    """Retransmitted segments."""
    return sum(1 for _ in _again(device))


def silence_ms(device, _):
    """The longest time before a retransmission without a segment of the device, in multiples of 10
    ms.
    """
    waits = [segment.time_ns - device[position - 1].time_ns
             for position, segment in _again(device) if position]
    return max(waits, default=0) // 10_000_000 * 10


def stamps(device, _):
    """Segments with timestamps."""
    return sum(segment.option(8) is not None for segment in device)


def second_ack(device, everything):
    """How many octets the second bare ACK acknowledges."""
    peer = next(s for s in everything if "S" in s.flags and s.source != device[0].source)
    bare = [s for s in device if s.flags == "A" and not s.payload]
    return _relative(bare[1].ack, peer.seq) - 1


def flight(device, everything):
    """The largest number of octets in flight."""
    most, high, una = 0, None, None
    for segment in everything:
        if segment.source == device[0].source:
            end = (segment.seq + segment.length) % 2**32
            high = end if high is None or _relative(end, high) > 0 else high
        elif "A" in segment.flags:
            una = segment.ack
        if una is not None and high is not None:
            most = max(most, _relative(high, una))
    return most


def capable(device, _):
    """Packets marked as ECN-capable."""
    return sum(segment.ecn != 0 for segment in device)


def echoes(device, _):
    """Segments with ECE, except SYNs."""
    return sum("E" in segment.flags and "S" not in segment.flags for segment in device)


def cookies(device, _):
    """SYNs with the Fast Open option."""
    return sum("S" in segment.flags and segment.option(34) is not None for segment in device)


def text_on_syn(device, _):
    """Octets of data on SYNs."""
    return sum(len(segment.payload) for segment in device if "S" in segment.flags)


def probes(device, _):
    """Bare ACKs with the sequence number before the next one (keep-alive probes)."""
    count, high = 0, None
    for segment in device:
        end = (segment.seq + segment.length) % 2**32
        count += high is not None and segment.length == 0 and _relative(segment.seq, high) == -1
        high = end if high is None or _relative(end, high) > 0 else high
    return count


ALL = {function.__name__: function for function in (
    sack_blocks, duplicate_blocks, again, silence_ms, stamps, second_ack, flight, capable, echoes,
    cookies, text_on_syn, probes)}
