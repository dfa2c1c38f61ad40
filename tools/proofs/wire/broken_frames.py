#!/usr/bin/env python3
# Sends frames that no honest host sends from an interface of the present namespace.
"""False values in every header, forged ICMP errors, fragments, resets and ACKs for connections of
honest hosts. For namespaces that a test has created."""
import socket
import struct
import sys

from spoof import checksum, run

EPHEMERAL = (32768, 61000)  # range of the kernel's local ports
IPV4, IPV6, ARP = 0x0800, 0x86DD, 0x0806
ICMP, ICMPV6, FRAGMENT_HEADER = 1, 58, 44
FRAGMENTATION_NEEDED = (3, 4)


def octets(draw, most):
    """Random octets, up to this many."""
    return draw.randbytes(draw.randrange(most + 1))


def padded(what):
    """Pads to an even number of octets, for checksums."""
    return what + bytes(len(what) % 2)


def framed(ends, kind, packet):
    """Adds an Ethernet header, within the MTU."""
    return ends + struct.pack(">H", kind) + packet[:1500]


def other_host(draw, destination):
    """A host of the same link, or any address."""
    near = destination[:3] + bytes([draw.randrange(1, 255)])
    return draw.choice((near, bytes([draw.randrange(1, 224), *draw.randbytes(3)])))


def peer_of(destination):
    """The honest clients' address: the first of the network."""
    return destination[:3] + b"\x01"


def ipv4(draw, source, destination, protocol, payload, **lies):
    """A packet whose header has the values in `lies` instead of the true ones."""
    options = lies.get("options", b"")
    header = struct.pack(">BBHHHBBH4s4s", lies.get("first", 0x45 + len(options) // 4), 0,
                         lies.get("total", 20 + len(options) + len(payload)) & 0xFFFF,
                         draw.getrandbits(16), lies.get("fragment", 0x4000), lies.get("ttl", 64),
                         protocol, 0, source, destination) + options
    return header[:10] + struct.pack(">H", checksum(padded(header))) + header[12:] + payload


def segment(draw, source, destination, port, **lies):
    """A TCP segment with a correct checksum, for a port that may have a connection."""
    options = lies.get("options", b"")
    options += bytes(-len(options) % 4)
    tcp = struct.pack(">HHIIBBHHH", draw.randrange(*EPHEMERAL), port, draw.getrandbits(32),
                      draw.getrandbits(32), lies.get("offset", 5 + len(options) // 4) << 4 & 0xF0,
                      lies.get("flags", draw.getrandbits(8)), draw.getrandbits(16), 0,
                      draw.getrandbits(16)) + options[:40] + lies.get("data", b"")
    pseudo = source + destination + struct.pack(">BBH", 0, socket.IPPROTO_TCP, len(tcp))
    return tcp[:16] + struct.pack(">H", checksum(padded(pseudo + tcp))) + tcp[18:]


def noise(draw, ends, *_):
    """Random octets after a correct link header."""
    return framed(ends, draw.choice((IPV4, IPV6, ARP, draw.getrandbits(16))), octets(draw, 1500))


def lying_header(draw, ends, destination, port):
    """Lengths, versions and options of IPv4 that contradict the frame."""
    source = other_host(draw, destination)
    lies = {"first": draw.getrandbits(8), "total": draw.getrandbits(16),
            "ttl": draw.randrange(2), "options": padded(octets(draw, 38))}
    fields = {name: lies[name] for name in draw.sample(sorted(lies), draw.randrange(1, 4))}
    fields["options"] = fields.get("options", b"")[:len(fields.get("options", b"")) // 4 * 4]
    return framed(ends, IPV4, ipv4(draw, source, destination, socket.IPPROTO_TCP,
                                   segment(draw, source, destination, port), **fields))


def piece(draw, ends, destination, port):
    """Fragments: tiny, overlapping, without an end, beyond 65,535 octets."""
    source = other_host(draw, destination)
    whole = segment(draw, source, destination, port, data=octets(draw, 64))
    offset = draw.choice((0, 1, 2, draw.randrange(0x2000), 0x1FFF))
    return framed(ends, IPV4, ipv4(draw, source, destination, socket.IPPROTO_TCP,
                                   whole[:draw.choice((8, 16, len(whole)))],
                                   fragment=offset | draw.choice((0, 0x2000))))


def strange_segment(draw, ends, destination, port):
    """Any flags, a wrong data offset, options with wrong lengths, from the honest peer's
    address."""
    source = draw.choice((peer_of(destination), other_host(draw, destination), destination))
    lies = {"options": octets(draw, 36), "data": octets(draw, 200)}
    if draw.randrange(4) == 0:
        lies["offset"] = draw.randrange(16)
    return framed(ends, IPV4, ipv4(draw, source, destination, socket.IPPROTO_TCP,
                                   segment(draw, source, destination, port, **lies)))


def forged_error(draw, ends, destination, port):
    """ICMP errors that quote a segment of ours to the honest peer, with guessed numbers."""
    peer = peer_of(destination)
    quoted = ipv4(draw, destination, peer, socket.IPPROTO_TCP, struct.pack(
        ">HHI", port, draw.randrange(*EPHEMERAL), draw.getrandbits(32)), total=1500)
    kind, code = draw.choice((FRAGMENTATION_NEEDED, (3, draw.randrange(16)), (4, 0), (5, 1),
                              (11, 0), (12, 0), (draw.getrandbits(8), draw.getrandbits(8))))
    message = struct.pack(">BBHHH", kind, code, 0, draw.getrandbits(16),
                          draw.choice((0, 1, 68, 296, 1492, 65535))) + quoted
    message = message[:2] + struct.pack(">H", checksum(padded(message))) + message[4:]
    return framed(ends, IPV4, ipv4(draw, other_host(draw, destination), destination, ICMP, message))


def lying_arp(draw, ends, destination, *_):
    """ARP claims for addresses that no honest client has, and wrong lengths."""
    claimed = destination[:3] + bytes([draw.randrange(10, 255)])
    sizes = draw.choice((0x0604, draw.getrandbits(16)))
    return framed(ends, ARP, struct.pack(">HHHH", 1, IPV4, sizes, draw.randrange(4)) +
                  draw.randbytes(6) + claimed + bytes(6) + destination)


def lying_ipv6(draw, ends, *_):
    """Extension headers in any order and length, fragments, random neighbour discovery."""
    chain = bytes([draw.choice((0, 43, FRAGMENT_HEADER, 60, ICMPV6, 6))]) + octets(draw, 300)
    header = struct.pack(">IHBB", 6 << 28, draw.choice((len(chain), draw.getrandbits(16))),
                         draw.choice((0, 43, FRAGMENT_HEADER, 50, 60, ICMPV6, 6, 59)), 255)
    source = draw.choice((b"\xfe\x80" + draw.randbytes(14), bytes(16), draw.randbytes(16)))
    target = draw.choice((bytes.fromhex("20010db8000900000000000000000002"),
                          bytes.fromhex("ff020000000000000000000000000001")))
    return framed(ends, IPV6, header + source + target + chain)


KINDS = (noise, lying_header, piece, strange_segment, forged_error, lying_arp, lying_ipv6)


def broken(draw, ends, destination, port):
    """A frame of one of these kinds."""
    return draw.choice(KINDS)(draw, ends, destination, port)


if __name__ == "__main__":
    sys.exit(run(__doc__, broken))
