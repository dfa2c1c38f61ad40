# Frames of Ethernet: ARP, neighbour discovery, and segments as they were on the wire.
import struct

ARP, IP4, IP6 = b"\x08\x06", b"\x08\x00", b"\x86\xdd"
#: Linux's virtio_net_hdr before a frame: flags, gso_type, hdr_len, gso_size, csum_start, csum_at.
VNET = struct.Struct("=BBHHHH")
VNET_EMPTY = bytes(VNET.size)
NEEDS_SUM = 1
TCP, ICMP6 = 6, 58
SOLICITATION, ADVERTISEMENT = 135, 136
ALL_NODES, ALL_NODES_MAC = b"\xff\x02" + bytes(13) + b"\1", b"\x33\x33\0\0\0\1"
FIN_PSH = 0x09
CWR = 0x80


def ones_sum(octets):
    """The sum of the Internet checksum, not inverted."""
    octets = octets + b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def with_sum(octets, at, pseudo=b""):
    """These octets with the checksum at `at`."""
    out = bytearray(octets)
    out[at:at + 2] = b"\0\0"
    out[at:at + 2] = (0xFFFF - ones_sum(pseudo + bytes(out))).to_bytes(2, "big")
    return bytes(out)


def arp(to, operation, mac, address, their_mac, their_address):
    """A frame: 1 asks, 2 answers."""
    return (to + mac + ARP + struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation) + mac + address
            + their_mac + their_address)


def solicited_group(address):
    """The group in which the owner of an IPv6 address is asked."""
    return b"\xff\x02" + bytes(9) + b"\1\xff" + address[13:]


def solicited_mac(address):
    """The MAC of that group."""
    return b"\x33\x33\xff" + address[13:]


def icmp6(source, to, body):
    """An IPv6 packet of neighbour discovery, with its checksum."""
    pseudo = source + to + struct.pack("!II", len(body), ICMP6)
    head = struct.pack("!IHBB", 6 << 28, len(body), ICMP6, 255) + source + to
    return head + with_sum(body, 2, pseudo)


def neighbour_solicitation(source, address, mac):
    """Who has `address`? A probe if the source is unspecified."""
    option = b"\1\1" + mac if any(source) else b""
    return icmp6(source, solicited_group(address),
                 struct.pack("!BBHI", SOLICITATION, 0, 0, 0) + address + option)


def neighbour_advertisement(address, to, mac, solicited):
    """We have it."""
    flags = 0x2000_0000 | (0x4000_0000 if solicited else 0)
    return icmp6(address, to, struct.pack("!BBHI", ADVERTISEMENT, 0, 0, flags) + address
                 + b"\2\1" + mac)


def neighbour_message(frame, kind):
    """The target of a frame's neighbour message of this kind, or None."""
    is_one = frame[12:14] == IP6 and len(frame) >= 78 and frame[20] == ICMP6 and frame[54] == kind
    return frame[62:78] if is_one else None


def target_of_solicitation(frame):
    """The address that this frame asks for, or None."""
    return neighbour_message(frame, SOLICITATION)


def mac_in_advertisement(frame, address):
    """The MAC that a frame advertises for an address, or None."""
    return frame[6:12] if neighbour_message(frame, ADVERTISEMENT) == address else None


# --- segments ---


def whole(packet, head, padded):
    """The IP packets as they were, or would be, on the wire, of one that the kernel handed over.

    `head` is its virtio_net_hdr: a checksum that the NIC would add is added, and segments that are
    still, or again, joined are separated. `padded`: the frame may have padding.
    """
    flags, gso, _, size, _, _ = head
    length = length_of(packet)
    if padded and length is not None and 0 < length < len(packet):
        packet = packet[:length]
    if size and gso and transport_of(packet) is not None:
        return separated(packet, size)
    return [summed(packet)] if flags & NEEDS_SUM else [packet]


def length_of(packet):
    """The length that the IP header names; None if there is no header."""
    if len(packet) >= 20 and packet[0] >> 4 == 4:
        return int.from_bytes(packet[2:4], "big")
    if len(packet) >= 40 and packet[0] >> 4 == 6:
        return 40 + int.from_bytes(packet[4:6], "big")
    return None


def transport_of(packet):
    """Where the TCP header begins; None if there is none directly after the IP header."""
    if packet[0] >> 4 == 4:
        at, kind = (packet[0] & 15) * 4, packet[9]
    else:
        at, kind = 40, packet[6]
    return at if kind == TCP and len(packet) >= at + 20 else None


def summed(packet):
    """With the checksum of TCP."""
    at = transport_of(packet)
    if at is None:
        return packet
    addresses = packet[12:20] if packet[0] >> 4 == 4 else packet[8:40]
    segment = packet[at:]
    pseudo = addresses + struct.pack("!II", len(segment), TCP)
    return packet[:at] + with_sum(segment, 16, pseudo)


def separated(packet, size):
    """Segments of at most `size` octets of data."""
    at = transport_of(packet)
    behind = at + (packet[at + 12] >> 4) * 4
    data = packet[behind:]
    out = []
    for begin in range(0, len(data), size):
        piece = data[begin:begin + size]
        head = bytearray(packet[:behind])
        seq = int.from_bytes(head[at + 4:at + 8], "big") + begin
        head[at + 4:at + 8] = (seq % (1 << 32)).to_bytes(4, "big")
        if begin + size < len(data):
            head[at + 13] &= ~FIN_PSH & 0xFF
        if begin:
            head[at + 13] &= ~CWR & 0xFF
        out.append(summed(lengthened(head, piece, len(out))))
    return out


def lengthened(head, piece, number):
    """Header and data with the right length and, for IPv4, identification and checksum."""
    if head[0] >> 4 == 6:
        head[4:6] = (len(head) - 40 + len(piece)).to_bytes(2, "big")
        return bytes(head) + piece
    head[2:4] = (len(head) + len(piece)).to_bytes(2, "big")
    head[4:6] = ((int.from_bytes(head[4:6], "big") + number) % (1 << 16)).to_bytes(2, "big")
    ip = (head[0] & 15) * 4
    return with_sum(bytes(head[:ip]), 10) + bytes(head[ip:]) + piece
