# The headers of received and sent packets: fields, lengths, checksums, addresses.
import ipaddress

import pytest
from packet_kit import checksums_of
from scapy.layers.inet import ICMP, IP, TCP, IPOption
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)

from lockstep.testing import Absolute

UDP = 17


#= rfc9293#3.1
## 9293:MUST-3 a segment with a wrong checksum is discarded
@pytest.mark.parametrize("flags", ["S", "R", "A", "PA", "FA"])
def test_wrong_checksum_is_dropped(tcp, flags):
    tcp.established()
    good = tcp.segment(flags, payload=b"x" * ("P" in flags))
    good[TCP].chksum = checksums_of(good.__class__(bytes(good)))[1] ^ 0x0101
    tcp.inject(good).expect_silence("3s").expect_state("ESTABLISHED")


#= rfc9293#3.1
## 9293:MUST-3 a checksum of zero is wrong: TCP's is not optional
def test_zero_checksum_is_dropped(tcp):
    tcp.listen()
    tcp.inject(tcp.segment("S", chksum=0)).expect_silence("1s").expect_state("LISTEN")


#= rfc9293#3.1
## 9293:MUST-2 every segment sent has a checksum
## 9293:P-CKSUM-V4 over the pseudo-header, header and data
## 9293:P-CKSUM-ODD an odd length too
#= rfc8200#8.1
## 8200:V6-25 also in IPv6
@pytest.mark.parametrize("length", [1, 2, 3, 101, 536])
def test_checksum_of_what_leaves(tcp, length):
    tcp.established()
    packet = tcp.write(length).expect("PA", seq=1, ack=1, payload=length)
    left, right = checksums_of(packet)
    tcp.check("checksum", hex(right), hex(left))
    tcp.ignore_rest()


#= rfc9293#3.1
## 9293:P-CKSUM-ODD an odd length is summed with a zero octet appended
@pytest.mark.parametrize("length", [1, 3, 1001])
def test_odd_text_arrives(tcp, length):
    tcp.established(options=[("MSS", 1460)]).send("PA", payload=length)
    tcp.expect("A", within="499ms", ack=1 + length)
    tcp.expect_read(length)


#= rfc9293#3.1
## 9293:P-DOFF a header of fewer than five words is invalid
@pytest.mark.parametrize("words", range(5))
def test_offset_too_small(tcp, words):
    tcp.listen()
    tcp.inject(tcp.segment("S", dataofs=words)).expect_silence("1s").expect_state("LISTEN")


#= rfc9293#3.1
## 9293:P-DOFF so is one longer than its segment
@pytest.mark.parametrize("words", [6, 7, 15])
def test_offset_beyond_the_segment(tcp, words):
    tcp.listen()
    tcp.inject(tcp.segment("S", dataofs=words)).expect_silence("1s").expect_state("LISTEN")


#= rfc9293#3.1
## 9293:P-DOFF a segment too short for a header is dropped
@pytest.mark.parametrize("octets", [0, 1, 8, 19])
def test_header_cut_off(tcp, octets):
    tcp.listen()
    whole = tcp.segment("S")
    header = whole.copy()
    header.remove_payload()
    if tcp.target.ip_version == 4:
        header.proto = 6
    else:
        header.nh = 6
    tcp.inject(header / bytes(whole[TCP])[:octets]).expect_silence("1s").expect_state("LISTEN")


#= rfc9293#3.1
## 9293:P-RSRVD reserved bits are ignored on receipt and sent as zero
def test_reserved_bits(tcp):
    tcp.listen().inject(tcp.segment("S", reserved=7))
    tcp.check("reserved", 0, tcp.expect("SA", ack=1)[TCP].reserved)
    tcp.inject(tcp.segment("A", reserved=5)).accept()
    tcp.inject(tcp.segment("PA", payload=b"text", reserved=7))
    tcp.check("reserved", 0, tcp.expect("A", within="499ms", ack=5)[TCP].reserved)
    tcp.expect_read(b"text")


#= rfc9293#3.1
## 9293:MUST-1 a window of more than 32,767 is unsigned
@pytest.mark.parametrize("window", [32768, 65535])
def test_window_is_unsigned(tcp, window):
    tcp.established(window=window, options=[("MSS", 1000)])
    tcp.write(2000)
    tcp.expect("A", seq=1, length=1000)
    tcp.expect("PA", seq=1001, length=1000)


#= rfc9293#3.1
## 9293:P-URGPTR-FIELD without URG the pointer is ignored
def test_urgent_pointer_without_urg(tcp):
    tcp.established().send("PA", payload=b"text", urgent=3)
    tcp.expect("A", within="499ms", ack=5)
    events = tcp.target.events(tcp.connection)
    tcp.check("urgent", False, events is not None and "urgent" in events)


#= rfc9293#3.4
## 9293:P-SEGLEN link padding after the IP packet is not data
def test_padding_of_the_link(tcp):
    tcp.established()
    tcp.inject(bytes(tcp.segment("A")) + b"\0" * 6).expect_silence("1s")
    tcp.inject(bytes(tcp.segment("PA", payload=b"ab")) + b"\0" * 4)
    tcp.expect("A", within="499ms", ack=3)
    tcp.expect_read(b"ab")


#= rfc9293#3.10.7.1
## 9293:P-CLOSED-SEG a port without a listener
#= rfc1122#3.3.4.2
## 1122:H-34 answered from the destination address and port
def test_other_port_and_source_of_the_reply(tcp):
    tcp.listen()
    packet = tcp.segment("S")
    packet[TCP].dport = 81
    reply = tcp.inject(packet).expect("RA", seq=Absolute(0), ack=1, port=81)
    layer = reply.getlayer(0)
    tcp.check("source", tcp.target.local, layer.src)
    tcp.check("destination", tcp.target.remote, layer.dst)


#= rfc1122#3.2.1.2
## 1122:H-17 an IPv4 header with a wrong checksum is discarded
#= rfc791#3.1
## 791:IP4-2 verified on receipt
@pytest.mark.ip(4)
def test_ip_checksum(tcp):
    tcp.listen()
    octets = bytearray(bytes(tcp.segment("S")))
    octets[10] ^= 0x40
    tcp.inject(bytes(octets)).expect_silence("1s").expect_state("LISTEN")


#= rfc1122#3.2.1.1
## 1122:H-16 a datagram of another IP version is silently discarded
@pytest.mark.parametrize("version", [0, 5, 7, 15])
def test_ip_version(tcp, version):
    tcp.listen()
    octets = bytearray(bytes(tcp.segment("S")))
    octets[0] = version << 4 | octets[0] & 15
    tcp.inject(bytes(octets)).expect_silence("1s").expect_state("LISTEN")


#= rfc791#3.1
## 791:IP4-1 a header of fewer than five words, or longer than the datagram, is invalid
@pytest.mark.ip(4)
@pytest.mark.parametrize("words", [0, 4, 15])
def test_ip_header_length(tcp, words):
    tcp.listen()
    packet = tcp.segment("S")
    packet.ihl = words
    tcp.inject(packet).expect_silence("1s").expect_state("LISTEN")


#= rfc791#3.1
## 791:IP4-1 a datagram shorter than its total length is dropped
#= rfc8200#3
## 8200:V6-1 so is an IPv6 packet
def test_ip_length_beyond_the_packet(tcp):
    tcp.listen()
    octets = bytes(tcp.segment("S", payload=b"0123456789"))
    tcp.inject(octets[:-1]).expect_silence("1s").expect_state("LISTEN")


#= rfc9293#3.9.2
## 9293:MUST-50 IP options unknown to TCP are ignored
#= rfc1122#3.2.1.8
## 1122:H-25 silently
@pytest.mark.ip(4)
@pytest.mark.parametrize(
    "raw", [b"\x01\x01\x01\x00", b"\x07\x07\x04\0\0\0\0\0", b"\x5e\x04\x12\x34", b"\x94\x04\0\0"]
)
def test_ip_options_are_stepped_over(tcp, raw):
    tcp.listen()
    packet = tcp.segment("S", options=[("MSS", 1000)])
    packet.options = [IPOption(raw)]
    tcp.inject(packet).expect("SA", ack=1)
    tcp.ignore_rest()


#= rfc1122#3.2.1.7
## 1122:H-23 a packet with a TTL below 2 is accepted
#= rfc8200#3
## 8200:V6-2 also in IPv6
@pytest.mark.parametrize("ttl", [0, 1])
def test_last_hop(tcp, ttl):
    tcp.listen()
    packet = tcp.segment("S")
    setattr(packet, "ttl" if tcp.target.ip_version == 4 else "hlim", ttl)
    tcp.inject(packet).expect("SA", ack=1)
    tcp.ignore_rest()


#= rfc1122#3.2.1.7
## 1122:H-22 nothing is sent with a TTL of 0
#= rfc9293#3.9.2
## 9293:MUST-49 the TTL is configurable
@pytest.mark.stack(ttl=17)
def test_ttl_of_what_leaves(tcp):
    packet = tcp.syn_received().record[-1].packet
    tcp.check("TTL", 17, packet[8] if tcp.target.ip_version == 4 else packet[7])


#= rfc1122#3.2.1.3
## 1122:H-19 packets for other addresses are silently discarded
def test_other_destination(tcp):
    tcp.listen()
    packet = tcp.segment("S")
    bits = 0x62 if tcp.target.ip_version == 4 else 0x98  # another host of the same network
    packet.dst = str(ipaddress.ip_address(int(ipaddress.ip_address(packet.dst)) ^ bits))
    tcp.inject(packet).expect_silence("1s").expect_state("LISTEN")


#= rfc9293#3.9.2.3
## 9293:MUST-57 a SYN to a multicast or broadcast address is silently discarded
@pytest.mark.parametrize("group", [0, 1])
def test_syn_to_a_group(tcp, group):
    tcp.listen()
    groups = (("224.0.0.1", "255.255.255.255"), ("ff02::1", "ff05::2"))
    packet = tcp.segment("S")
    packet.dst = groups[tcp.target.ip_version == 6][group]
    tcp.inject(packet).expect_silence("1s").expect_state("LISTEN")


#= rfc9293#3.9.2.3
## 9293:MUST-63 a SYN from an invalid source address is ignored
#= rfc1122#3.2.1.3
## 1122:H-1 silently
@pytest.mark.parametrize("source", [0, 1, 2])
def test_invalid_source(tcp, source):
    tcp.listen()
    sources = (("224.0.0.9", "255.255.255.255", "0.0.0.0"), ("ff02::9", "ff0e::1", "::"))
    packet = tcp.segment("S")
    packet.src = sources[tcp.target.ip_version == 6][source]
    tcp.inject(packet).expect_silence("1s").expect_state("LISTEN")


#= rfc9293#A.1.1
## 9293:P-PRECEDENCE the received Diffserv field has no effect
@pytest.mark.parametrize("tos", [0x20, 0xE0, 0xB8])
def test_precedence_is_not_compared(tcp, tos):
    tcp.established()
    packet = tcp.segment("PA", payload=b"text")
    setattr(packet, "tos" if tcp.target.ip_version == 4 else "tc", tos)
    tcp.inject(packet).expect("A", within="499ms", ack=5)
    tcp.expect_read(b"text")


#= rfc8200#4.1
## 8200:V6-6 extension headers are accepted
#= rfc8200#4.2
## 8200:V6-8 so is their padding
@pytest.mark.ip(6)
@pytest.mark.parametrize("headers", ["hop", "destination", "both", "twice"])
def test_extension_headers(tcp, headers):
    tcp.listen()
    segment = tcp.segment("S")[TCP]
    base = IPv6(src=tcp.target.remote, dst=tcp.target.local)
    hop = IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0\0\0\0")])
    other = IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0\0\0\0")])
    chain = {
        "hop": base / hop,
        "destination": base / other,
        "both": base / hop / other,
        "twice": base / other / other.copy(),
    }[headers]
    tcp.inject(chain / segment).expect("SA", ack=1)
    tcp.ignore_rest()


#= rfc8200#4.4
## 8200:V6-9 an unknown routing header with no segments left is skipped
@pytest.mark.ip(6)
def test_routing_header_without_segments(tcp):
    tcp.listen()
    base = IPv6(src=tcp.target.remote, dst=tcp.target.local)
    header = IPv6ExtHdrRouting(type=77, segleft=0)
    tcp.inject(base / header / tcp.segment("S")[TCP]).expect("SA", ack=1)
    tcp.ignore_rest()


#= rfc8200#4
## 8200:V6-4 an unknown next header: discarded, with a parameter problem that points to it
@pytest.mark.ip(6)
def test_unknown_next_header(tcp):
    packet = IPv6(src=tcp.target.remote, dst=tcp.target.local, nh=253) / b"01234567"
    answer = tcp.inject(packet).expect_icmp()
    layer = answer.getlayer(1)
    tcp.check("type", (4, 1, 6), (layer.type, layer.code, layer.ptr))


#= rfc1122#3.2.2.1
## 1122:H-L6 an unsupported protocol, such as UDP, draws code 2
#= rfc1122#3.2.2
## 1122:H-L9 and the error has TOS 0
## 1122:H-27 and quotes the header and at least eight octets as received
@pytest.mark.ip(4)
@pytest.mark.parametrize("protocol", [17, 99, 253])
def test_protocol_that_is_not_spoken(tcp, protocol):
    if protocol == UDP and tcp.target.speaks_udp:
        tcp.leave_out("it speaks UDP")
    packet = IP(src=tcp.target.remote, dst=tcp.target.local, tos=0x10, proto=protocol)
    octets = bytes(packet / b"01234567")
    answer = tcp.inject(octets).expect_icmp()
    tcp.check("code", (3, 2), (answer[ICMP].type, answer[ICMP].code))
    tcp.check("TOS", 0, answer.tos)
    tcp.check("quoted", octets[:28], bytes(answer[ICMP].payload)[:28])
