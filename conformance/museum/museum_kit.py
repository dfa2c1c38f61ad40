# Helpers for the cases: raw packets, what a device has sent, and whether it still works.
import socket

from scapy.layers.inet import ICMP, IP, TCP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoRequest,
    ICMPv6PacketTooBig,
    ICMPv6ParamProblem,
    ICMPv6TimeExceeded,
    IPv6,
)

from lockstep.testing import Mismatch, pattern

MOD = 1 << 32
ERRORS_OF_IPV6 = {1: ICMPv6DestUnreach, 2: ICMPv6PacketTooBig, 3: ICMPv6TimeExceeded,
                  4: ICMPv6ParamProblem}


def four(tcp):
    """True over IPv4."""
    return tcp.target.ip_version == 4


def ip_of(tcp, **fields):
    """An IP header from the tester to the device."""
    layer = IP if four(tcp) else IPv6
    return layer(src=tcp.target.remote, dst=tcp.target.local, **fields)


def ip_bytes(tcp):
    """The length of an IP header without options."""
    return 20 if four(tcp) else 40


def raw_options(tcp, flags, raw, payload=b"", **fields):
    """A segment with the octets `raw` as its options, valid or not, padded with zeros to a word."""
    raw = raw + b"\0" * (-len(raw) % 4)
    return tcp.segment(flags, payload=raw + payload, dataofs=5 + len(raw) // 4, **fields)


def summed(octets):
    """The Internet checksum over these octets."""
    octets = octets + b"\0" * (len(octets) % 2)
    total = int.from_bytes(octets, "big") % 0xFFFF
    return 0xFFFF - total if any(octets) else 0xFFFF


def tcp_summed(tcp, segment, at=16):
    """The octets `segment` of TCP, with the two octets at `at` set so that its checksum is right
    for a packet from the tester to the device."""
    ends = [socket.inet_pton(socket.AF_INET if four(tcp) else socket.AF_INET6, address)
            for address in (tcp.target.remote, tcp.target.local)]
    pseudo = b"".join(ends) + b"\0\0\0\x06" + len(segment).to_bytes(4, "big")
    segment = segment[:at] + b"\0\0" + segment[at + 2:]
    return segment[:at] + summed(pseudo + segment).to_bytes(2, "big") + segment[at + 2:]


def ip_summed(packet, length=None):
    """An IPv4 packet whose header checksum is right, over `length` octets of it."""
    length = (packet[0] & 15) * 4 if length is None else length
    packet = packet[:10] + b"\0\0" + packet[12:]
    return packet[:10] + summed(packet[:length]).to_bytes(2, "big") + packet[12:]


def with_ip_options(packet, raw):
    """An IPv4 packet with the octets `raw` as its options, valid or not, a multiple of four."""
    packet = bytes(packet)
    length = len(packet) + len(raw)
    packet = bytes([0x45 + len(raw) // 4, packet[1]]) + length.to_bytes(2, "big") + packet[4:]
    return ip_summed(packet[:20] + raw + packet[20:])


def with_payload(tcp, payload, protocol=6):
    """An IP packet from the tester with these octets as its payload."""
    field = {"proto": protocol} if four(tcp) else {"nh": protocol}
    return bytes(ip_of(tcp, **field) / payload)


# --- what the device has sent -------------------------------------------------------------------


def sent(tcp, wait="0s"):
    """The segments that the device has sent to the tester's port since they were last taken."""
    return [packet for packet in taken(tcp, wait)
            if is_tcp(packet) and packet[TCP].dport == tcp.peer_port]


def taken(tcp, wait="0s"):
    """All packets that the device has sent since they were last taken. Left out are ICMP errors
    whose quotation is wrong, because few cases are about that.
    """
    while True:
        try:
            if wait != "0s":
                tcp.advance(wait)
            return tcp.drain()
        except Mismatch as why:
            if [row[0] for row in why.rows if row[3]] != ["quotes"]:
                raise
            wait = "0s"


def is_tcp(packet):
    """Whether this packet is a segment, and not an error that quotes one."""
    return (packet.proto if IP in packet.layers()[:1] else packet.nh) == 6


def letters(packet):
    """The flags of a segment in a fixed order, without PSH: 'SA', 'A', 'FA'."""
    return "".join(one for one in "FSRAUEC" if one in str(packet[TCP].flags))


def octets(packet):
    """The data of a segment."""
    tcp = packet[TCP]
    total = packet.len - packet.ihl * 4 if IP in packet else packet.plen
    return bytes(tcp.payload)[:max(0, total - tcp.dataofs * 4)]


def number(tcp, packet):
    """The sequence number of a segment of the device, relative to its SYN."""
    return (packet[TCP].seq - tcp.device_iss + MOD // 2) % MOD - MOD // 2


def ack_number(tcp, packet):
    """What a segment of the device acknowledges, relative to the tester's SYN."""
    return (packet[TCP].ack - tcp.peer_iss + MOD // 2) % MOD - MOD // 2


def stream(tcp, packets):
    """{relative number: octet} of the data in these segments, each octet as it was first sent."""
    found = {}
    for packet in packets:
        for at, octet in enumerate(octets(packet), number(tcp, packet)):
            found.setdefault(at, octet)
    return found


def collect(tcp, total, packets=(), patience=70, piece=0):
    """Acknowledges in order what the device sends, until the octets 1 to `total` of its stream have
    arrived, or nothing comes for `patience` seconds. Returns all segments, `packets` first.

    `piece`: the program writes meanwhile, so many octets at once, as long as they are accepted.
    """
    packets = list(packets)
    have = stream(tcp, packets)
    end, said, idle = 1, None, 0
    written = 0 if piece else total
    while idle <= patience:
        while written < total:
            accepted = tcp.offer(pattern(total)[written:written + piece])
            written += accepted
            if accepted == 0:
                break
        while end in have:
            end += 1
        if end > total:
            break
        if end != said:
            tcp.send("A", ack=end)
            said = end
        fresh = sent(tcp) or sent(tcp, "1s")
        idle = 0 if fresh else idle + 1
        for at, octet in stream(tcp, fresh).items():
            have.setdefault(at, octet)
        packets += fresh
    tcp.send("A", ack=end)
    return packets


def text(tcp, packets, begin=1):
    """The octets of these segments in order from number `begin` on, up to the first gap."""
    found = stream(tcp, packets)
    end = begin
    while end in found:
        end += 1
    return bytes(found[at] for at in range(begin, end))


def arrived(tcp, total, packets):
    """The first `total` octets of the pattern that the program wrote have arrived, and no more."""
    got = text(tcp, packets)
    tcp.check("octets", total, len(got))
    tcp.check("pattern", True, got == pattern(total))


def segments_sent(tcp):
    """The octets of TCP of each segment that the device has sent to the tester's port so far."""
    port = tcp.peer_port.to_bytes(2, "big")
    begin = ip_bytes(tcp)
    for entry in tcp.record:
        octets = entry.packet
        if octets and not entry.inward and octets[9 if four(tcp) else 6] == 6:
            segment = octets[begin:] if octets[0] & 15 == 5 or begin == 40 else (
                octets[(octets[0] & 15) * 4:])
            if segment[2:4] == port:
                yield segment


def acknowledged(tcp):
    """The highest number of the tester that the device has acknowledged so far on this connection,
    relative; 0 if there is none."""
    best = 0
    for segment in segments_sent(tcp):
        if segment[13] & 0x14 == 0x10:  # ACK without RST
            ack = int.from_bytes(segment[8:12], "big")
            best = max(best, (ack - tcp.peer_iss + MOD // 2) % MOD - MOD // 2)
    return best


# --- whether it still works ---------------------------------------------------------------------


def alive(tcp, say=b"still here", hear=b"so am I", unread=None):
    """The connection still carries data both ways. Returns all that the program has read.

    What the device has not acknowledged of the tester's earlier segments counts as never sent.
    `unread`: what the program must read before `hear`; None: anything.
    """
    tcp.ignore_rest()
    tcp.advance("1s")
    tcp.drain()
    tcp.peer_nxt = acknowledged(tcp)
    tcp.send("A").drain()
    begin = tcp.device_nxt
    tcp.write(say)
    found = stream(tcp, sent(tcp, "7s"))
    got = bytes(found[at] for at in sorted(found) if at >= begin)
    tcp.check("it sends", say, got)
    tcp.send("A").drain()
    end = tcp.peer_nxt + len(hear)
    tcp.send("PA", payload=hear)
    tcp.advance("1s")
    tcp.drain()
    tcp.check("it acks", end, acknowledged(tcp))
    read = tcp.read()
    if unread is None:
        tcp.check("it reads", hear, read[len(read) - len(hear):])
    else:
        tcp.check("it reads", unread + hear, read)
    return read


def answered_syn(tcp):
    """Whether the device has answered a SYN from the tester's current port with a SYN-ACK."""
    return any(segment[13] & 0x12 == 0x12 for segment in segments_sent(tcp))


def another_peer(tcp):
    """From here on the tester is another peer, with the next port."""
    tcp.peer_port += 1
    tcp.peer_nxt = tcp.device_nxt = 0
    tcp.stamping = False


def serves(tcp, **syn):
    """The listener serves the next peer: a handshake from another port, then data both ways."""
    tcp.ignore_rest()
    tcp.drain()
    if answered_syn(tcp):
        tcp.send("R", seq=1).drain()
    another_peer(tcp)
    tcp.send("S", **syn)
    answers = sent(tcp)
    tcp.check("SYN-ACK", ["SA"], [letters(packet) for packet in answers])
    if not answers:
        return b""  # in a profile that is not judged
    tcp.check("its ack", 1, ack_number(tcp, answers[0]))
    tcp.send("A").accept()
    return alive(tcp)


def silent(tcp, wait="3s"):
    """The device sends nothing to the tester's port for this long."""
    tcp.check("answers", [], [letters(packet) for packet in sent(tcp, wait)])


# --- ICMP ---------------------------------------------------------------------------------------


def quoted(tcp):
    """The last packet that the device has sent."""
    return [entry.packet for entry in tcp.record if entry.packet and not entry.inward][-1]


def error(tcp, kind, code, about=None, length=None, **fields):
    """An ICMP error about a packet of the device: IPv4's type and code, or IPv6's."""
    about = quoted(tcp) if about is None else about
    if four(tcp):
        return ip_of(tcp) / ICMP(type=kind, code=code, **fields) / about[:length or 28]
    return ip_of(tcp) / ERRORS_OF_IPV6[kind](code=code, **fields) / about[:length or 1000]


def echo(tcp, data=b"museum", number=1):
    """An echo request."""
    if four(tcp):
        return ip_of(tcp) / ICMP(type=8, id=77, seq=number) / data
    return ip_of(tcp) / ICMPv6EchoRequest(id=77, seq=number, data=data)


def is_echo_reply(tcp, packet):
    """Whether this packet is an echo reply."""
    if four(tcp):
        return ICMP in packet and packet[ICMP].type == 0
    return "ICMPv6 Echo Reply" in packet


def answers_echo(tcp, data=b"museum"):
    """The host still answers an echo request."""
    tcp.drain()
    tcp.inject(echo(tcp, data))
    replies = [packet for packet in tcp.drain() if is_echo_reply(tcp, packet)]
    tcp.check("replies", 1, len(replies))
    for packet in replies:
        tcp.check("echoed", data, bytes(packet)[-len(data):])
