# Headers of IPv4, IPv6 and TCP that lie: lengths, versions, checksums, addresses, options, chains.
import pytest
from museum import case
from museum_kit import (
    alive,
    answered_syn,
    ip_of,
    ip_summed,
    is_tcp,
    sent,
    serves,
    summed,
    taken,
    tcp_summed,
    with_ip_options,
    with_payload,
)
from scapy.layers.inet import ICMP, TCP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)

STATES = pytest.mark.parametrize("state", ["listen", "established"])


def refused(tcp, state, wait="3s"):
    """What was injected had no effect: no SYN-ACK, no data taken; and the device still works."""
    answers = sent(tcp, wait)
    tcp.check("SYN-ACK", [], [one for one in answers if "S" in str(one[TCP].flags)])
    if state == "listen":
        serves(tcp)
    else:
        alive(tcp, unread=b"")


def opening(tcp, state, payload=b""):
    """The segment that a sound header would make the device accept: a SYN, or data."""
    return tcp.segment("S", payload=payload) if state == "listen" else tcp.segment(
        "PA", payload=payload or b"data")


@case("data-offset-beyond-the-segment",
      "The data offset points beyond the segment, and the parser takes what lies there for options",
      sources=["CVE-2018-16524 (FreeRTOS+TCP)", "CVE-2021-21281 (Contiki-NG)",
               "EmNetTest: TLDK, finding 6"],
      stimulus="A SYN or data whose data offset is 6, 7 or 15 words, in a segment of 22 octets",
      clause="RFC 9293 3.1, data offset",
      sound="Drops the segment; listener and connection work as before")
@STATES
@pytest.mark.parametrize("words", [6, 7, 15])
def test_data_offset_beyond_the_segment(tcp, state, words):
    getattr(tcp, state)()
    flags = "S" if state == "listen" else "PA"
    tcp.inject(tcp.segment(flags, payload=b"\0\0", dataofs=words))  # an end of options
    refused(tcp, state)


@case("data-offset-below-five",
      "The data offset is less than a header, so the data begins inside it",
      sources=["CVE-2018-16524 (FreeRTOS+TCP)", "EmNetTest: TLDK, finding 6"],
      stimulus="A SYN or data whose data offset is 0, 1 or 4 words",
      clause="RFC 9293 3.1, data offset: five words at least",
      sound="Drops the segment; listener and connection work as before")
@STATES
@pytest.mark.parametrize("words", [0, 1, 4])
def test_data_offset_below_five(tcp, state, words):
    getattr(tcp, state)()
    flags = "S" if state == "listen" else "PA"
    tcp.inject(tcp.segment(flags, payload=b"ab" if flags == "PA" else b"", dataofs=words))
    refused(tcp, state)


@case("tcp-header-truncated",
      "A packet ends inside the TCP header, and its missing fields are read from behind it",
      sources=["CVE-2018-16603 (FreeRTOS+TCP)", "CVE-2020-24341 (picoTCP)"],
      stimulus="IP packets with 0 to 19 octets of TCP, whose checksum is right as far as it can be",
      clause="RFC 9293 3.1: the header has 20 octets",
      sound="Drops the packet; listener and connection work as before")
@STATES
@pytest.mark.parametrize("length", [0, 1, 8, 12, 19])
def test_tcp_header_truncated(tcp, state, length):
    getattr(tcp, state)()
    segment = bytes(opening(tcp, state)[TCP])[:length]
    if length >= 8:
        segment = tcp_summed(tcp, segment, 16 if length >= 18 else 6)
    tcp.inject(with_payload(tcp, segment))
    refused(tcp, state)


@case("ip-header-length-lies",
      "The header length of IPv4 is less than five words, or more than the packet has",
      sources=["CVE-2018-16601 (FreeRTOS+TCP)", "EmNetTest: mTCP, finding 14"],
      stimulus="Packets whose header length is 4 words, with TCP where that places it and with"
               " checksums that agree; and 15 words in a packet of ten",
      clause="RFC 791 3.1, IHL: five words at least",
      sound="Drops the packet in silence")
@pytest.mark.ip(4)
@pytest.mark.parametrize("words", [0, 4, 15])
def test_ip_header_length_lies(tcp, words):
    tcp.listen()
    packet = bytes(tcp.segment("S"))
    if words == 4:
        # TCP begins with the destination address: its ports are 2560 and 1.
        segment = packet[16:20] + b"\0\0\0\7" + b"\0" * 4 + b"\x50\x02\xff\xff" + b"\0" * 8
        packet = packet[:16] + tcp_summed(tcp, segment)
        packet = packet[:2] + len(packet).to_bytes(2, "big") + packet[4:]
    packet = bytes([0x40 | words]) + packet[1:]
    tcp.inject(ip_summed(packet, words * 4 or 20))
    tcp.expect_silence("3s")
    refused(tcp, "listen")


@case("ip-total-length-lies",
      "The length of the packet in its header is more or less than what arrived",
      sources=["CVE-2018-16601 (FreeRTOS+TCP)", "CVE-2020-11896 (Treck, of Ripple20)"],
      stimulus="A SYN whose IP header claims 1, 100 or 1,400 octets more than the link delivers, or"
               " fewer than its own header has",
      clause="RFC 791 3.1, total length; RFC 8200 3, payload length",
      sound="Drops the packet")
@pytest.mark.parametrize("claim", ["one-more", "more", "far-more", "less-than-tcp", "less-than-ip"])
def test_ip_total_length_lies(tcp, claim):
    tcp.listen()
    packet = bytes(tcp.segment("S"))
    header = 20 if packet[0] >> 4 == 4 else 40
    length = {"one-more": len(packet) + 1, "more": len(packet) + 100,
              "far-more": len(packet) + 1400, "less-than-tcp": header + 10,
              "less-than-ip": header - 1}[claim]
    if header == 20:
        packet = ip_summed(packet[:2] + length.to_bytes(2, "big") + packet[4:])
    else:
        packet = packet[:4] + max(length - 40, 0).to_bytes(2, "big") + packet[6:]
    tcp.inject(packet)
    refused(tcp, "listen")


@case("ip-version-not-checked",
      "The version of the IP header is not looked at",
      sources=["EmNetTest: TLDK, finding 5", "RFC 1122 3.2.1.1"],
      stimulus="A SYN that is right but for its IP version: 0, 3, 5 or 15",
      clause="RFC 1122 3.2.1.1: silently discarded",
      sound="Drops the packet in silence")
@pytest.mark.ip(4)
@pytest.mark.parametrize("version", [0, 3, 5, 15])
def test_ip_version_not_checked(tcp, version):
    tcp.listen()
    packet = bytes(tcp.segment("S"))
    tcp.inject(ip_summed(bytes([version << 4 | packet[0] & 15]) + packet[1:]))
    tcp.expect_silence("3s")
    refused(tcp, "listen")


@case("padding-taken-for-data",
      "Octets behind the IP packet, which pad a short frame, count as data",
      sources=["RFC 894: frames of Ethernet are padded", "CVE-2020-11896 (Treck, of Ripple20):"
               " lengths come from the buffer instead of the header"],
      stimulus="Bare ACKs and data, each followed by 4 or 6 octets of padding",
      clause="RFC 791 3.1, total length; RFC 9293 3.4, SEG.LEN",
      sound="Ignores the padding: only the data of the segment arrives")
@pytest.mark.parametrize("filler", [b"\0" * 6, b"\xff" * 4], ids=["zeros", "ones"])
def test_padding_taken_for_data(tcp, filler):
    tcp.established()
    tcp.inject(bytes(tcp.segment("A")) + filler)
    tcp.check("answers", [], sent(tcp, "1s"))
    tcp.inject(bytes(tcp.segment("PA", payload=b"ab")) + filler)
    alive(tcp, unread=b"ab")


@case("checksum-not-verified",
      "The checksum of TCP is not verified, or a checksum of zero counts as none",
      sources=["RFC 1122 4.2.2.7", "Stone, Partridge: When the CRC and TCP Checksum Disagree"],
      stimulus="A SYN or data with a wrong checksum, with one of zero, and with a right one over"
               " another pseudo-header",
      clause="RFC 9293 3.1, MUST-3; RFC 8200 8.1",
      sound="Drops the segment in silence")
@STATES
@pytest.mark.parametrize("wrong", ["one-bit", "zero", "addresses"])
def test_checksum_not_verified(tcp, state, wrong):
    getattr(tcp, state)()
    packet = opening(tcp, state)
    right = tcp_summed(tcp, bytes(packet[TCP]))
    value = int.from_bytes(right[16:18], "big")
    packet[TCP].chksum = {"one-bit": value ^ 0x0100, "zero": 0, "addresses": 0}[wrong]
    if wrong == "addresses":
        bare = ip_of(tcp) / packet[TCP].copy()
        bare.src = "10.0.0.77" if tcp.target.ip_version == 4 else "fd00::77"
        del bare[TCP].chksum
        packet[TCP].chksum = type(bare)(bytes(bare))[TCP].chksum
    tcp.inject(packet)
    tcp.expect_silence("3s")
    refused(tcp, state)


@case("ip-checksum-not-verified",
      "The checksum of the IPv4 header is not verified",
      sources=["RFC 1122 3.2.1.2"],
      stimulus="A SYN whose IPv4 header has a wrong checksum",
      clause="RFC 1122 3.2.1.2: every datagram, silently discarded",
      sound="Drops the packet in silence")
@pytest.mark.ip(4)
@pytest.mark.parametrize("bit", [0, 7, 15])
def test_ip_checksum_not_verified(tcp, bit):
    tcp.listen()
    packet = bytes(tcp.segment("S"))
    wrong = int.from_bytes(packet[10:12], "big") ^ 1 << bit
    tcp.inject(packet[:10] + wrong.to_bytes(2, "big") + packet[12:])
    tcp.expect_silence("3s")
    refused(tcp, "listen")


@case("land",
      "A SYN from the host's own address makes it answer itself, for ever",
      sources=["CVE-1999-0016 (Land)", "CVE-2005-0688 (Windows, Land again)"],
      stimulus="A SYN to a listener with source and destination address equal, with equal and"
               " different ports; then data of the same kind",
      clause="RFC 1122 3.2.1.3; RFC 9293 3.9.2.3, MUST-63",
      sound="Drops it in silence; the listener serves the next peer")
@pytest.mark.parametrize("flags", ["S", "SA", "A", "PA"])
@pytest.mark.parametrize("port", [80, 5000])
def test_land(tcp, flags, port):
    tcp.listen()
    packet = tcp.segment(flags, payload=b"x" * ("P" in flags))
    packet.src = packet.dst
    packet[TCP].sport = port
    tcp.inject(packet)
    tcp.expect_silence("10s")
    serves(tcp)


@case("source-that-is-no-host",
      "A SYN whose source is a group, a broadcast or no address is answered",
      sources=["RFC 1122 3.2.1.3", "smoltcp 0.13.1: a panic, by its list of changes"],
      stimulus="SYNs and echo requests from multicast, broadcast, unspecified and loopback"
               " addresses",
      clause="RFC 9293 3.9.2.3, MUST-63; RFC 4443 2.4",
      sound="Drops them in silence")
@pytest.mark.parametrize("which", range(4))
def test_source_that_is_no_host(tcp, which):
    tcp.listen()
    sources = (("224.0.0.9", "255.255.255.255", "0.0.0.0", "127.0.0.1"),
               ("ff02::9", "ff0e::1", "::", "::1"))
    packet = tcp.segment("S")
    packet.src = sources[tcp.target.ip_version == 6][which]
    tcp.inject(packet)
    tcp.expect_silence("3s")
    serves(tcp)


@case("segment-to-a-group",
      "A segment to a broadcast or multicast address is processed, so one packet reaches many",
      sources=["RFC 1122 4.2.3.10"],
      stimulus="A SYN to a broadcast or multicast address with a listener on the port, and an ACK",
      clause="RFC 9293 3.9.2.3, MUST-57",
      sound="Drops it in silence")
@pytest.mark.parametrize("flags", ["S", "A"])
@pytest.mark.parametrize("group", [0, 1])
def test_segment_to_a_group(tcp, flags, group):
    tcp.listen()
    groups = (("224.0.0.1", "255.255.255.255"), ("ff02::1", "ff02::1:ff00:1"))
    packet = tcp.segment(flags)
    packet.dst = groups[tcp.target.ip_version == 6][group]
    tcp.inject(packet)
    tcp.expect_silence("3s")
    serves(tcp)


@case("ip-option-length-zero",
      "An IPv4 option of length 0 or 1 keeps the parser in its place, or leads it astray",
      sources=["CVE-2019-12256 (VxWorks, of URGENT/11)", "CVE-2018-16526 (FreeRTOS+TCP)",
               "CVE-2005-0048 (Windows)"],
      stimulus="SYNs whose IP header has an option of length 0, 1 or 200, or a truncated one",
      clause="RFC 791 3.1, options: the length counts type and length",
      sound="Drops the packet or ignores its options; the listener serves the next peer")
@pytest.mark.ip(4)
@pytest.mark.parametrize("raw", ["aa000000", "07000000", "83000000", "44000000", "aa010101",
                                 "aac80101", "010101aa", "07ff0401", "4401ff00", "94" + "00" * 39])
def test_ip_option_length_zero(tcp, raw):
    tcp.listen()
    tcp.inject(with_ip_options(tcp.segment("S"), bytes.fromhex(raw)))
    tcp.check("answers", True, [str(one[TCP].flags) for one in sent(tcp)] in ([], ["SA"]))
    serves(tcp)


@case("source-route-followed",
      "A packet whose source route goes on to another host is accepted or forwarded",
      sources=["CVE-1999-0510", "CVE-1999-0909 (Windows, spoofed route pointer)"],
      stimulus="A SYN with a loose or strict source route that is not at its end",
      clause="RFC 791 3.1, source route; RFC 1122 3.3.5",
      sound="Drops it: neither forwards it nor opens a connection")
@pytest.mark.ip(4)
@pytest.mark.parametrize("kind", [0x83, 0x89])
@pytest.mark.parametrize("room", [1, 3])
def test_source_route_followed(tcp, kind, room):
    tcp.listen()
    hops = bytes([10, 0, 0, 99]) * room
    tcp.inject(with_ip_options(tcp.segment("S"), bytes([kind, 3 + len(hops), 4]) + hops + b"\0"))
    for one in taken(tcp):
        tcp.check("packet", True, ICMP in one)  # an error may say why
    tcp.expect_silence("3s")
    tcp.check("SYN-ACK", False, answered_syn(tcp))
    serves(tcp)


@case("ip-options-in-an-error",
      "An ICMP error about a packet with IP options overflows, or quotes the wrong octets",
      sources=["CVE-2019-12256 (VxWorks, of URGENT/11)"],
      stimulus="Packets of an unknown protocol with 4 to 40 octets of IP options, sound and not",
      clause="RFC 1122 3.2.2 and RFC 792: the header and eight octets",
      sound="An error, if one is sent, quotes the packet as it arrived; the host works as before")
@pytest.mark.ip(4)
@pytest.mark.parametrize("raw", ["01010100", "07" + "27" + "04" + "00" * 36 + "00",
                                 "83" + "27" + "04" + "0a000063" * 9 + "00", "44" + "28" + "0500"
                                 + "00" * 36, "83" + "ff" + "ff" + "00" * 37])
def test_ip_options_in_an_error(tcp, raw):
    tcp.listen()
    tcp.inject(with_ip_options(tcp.segment("R"), b"\1\1\1\0"))  # so an answer may have options
    packet = with_ip_options(with_payload(tcp, b"0123456789", 253), bytes.fromhex(raw))
    tcp.inject(packet)
    begin, header = len(tcp.record), (packet[0] & 15) * 4
    taken(tcp)
    for entry in tcp.record[begin:]:
        quote = entry.packet[(entry.packet[0] & 15) * 4 + 8:]
        # What a host has filled into an option, and so the checksum, may differ.
        tcp.check("header", packet[:10] + packet[12:20], quote[:10] + quote[12:20])
        tcp.check("data", packet[header:header + 8], quote[header:header + 8])
    serves(tcp)


def chained(tcp, *headers):
    """A SYN behind these extension headers."""
    packet = IPv6(src=tcp.target.remote, dst=tcp.target.local)
    for header in headers:
        packet = packet / header
    return packet / tcp.segment("S")[TCP]


@case("extension-option-beyond-its-header",
      "An option in an IPv6 extension header is longer than the header",
      sources=["CVE-2020-17442 and CVE-2020-17445 (picoTCP)", "CVE-2020-17468 (FNET)"],
      stimulus="SYNs behind a hop-by-hop or destination header of 8 octets, whose only option"
               " claims 5, 240 or 254",
      clause="RFC 8200 4.2",
      sound="Drops the packet; an ICMPv6 Parameter Problem may say so")
@pytest.mark.ip(6)
@pytest.mark.parametrize("layer", [IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt])
@pytest.mark.parametrize("claim", [5, 0xF0, 0xFE])
def test_extension_option_beyond_its_header(tcp, layer, claim):
    tcp.listen()
    option = PadN(otype=1, optlen=claim, optdata=b"\0\0\0\0")
    tcp.inject(chained(tcp, layer(len=0, options=[option], autopad=0)))
    refused(tcp, "listen")


@case("extension-header-length-wraps",
      "The length of an IPv6 extension header is computed in eight bits and wraps to zero",
      sources=["CVE-2020-17444 (picoTCP)"],
      stimulus="A destination header of 256 or 2,048 octets, whose octets would be a SYN if its"
               " length were 0, with a reset behind it; and one that claims octets which are not"
               " there",
      clause="RFC 8200 4.6, Hdr Ext Len",
      sound="Steps over the header or drops the packet: nothing is opened")
@pytest.mark.ip(6)
@pytest.mark.parametrize("claim", [0x1F, 0xFF])
@pytest.mark.parametrize("whole", [True, False])
def test_extension_header_length_wraps(tcp, claim, whole):
    tcp.port = 0x1E  # as an option's type: to be skipped if it is unknown
    tcp.listen()
    if not whole:
        header = IPv6ExtHdrDestOpt(len=claim, options=[PadN(optdata=b"\0" * 4)], autopad=0)
        tcp.inject(chained(tcp, header))
        refused(tcp, "listen")
        return
    # The ports, and then the length of the option, which begins the sequence number.
    header = bytes([6, claim, 0, tcp.port, 251, 0, 0, 1]) + b"\0" * 4 + b"\x50\x02\xff\xff"
    header = header.ljust(256, b"\0")
    while len(header) < (claim + 1) * 8:
        header += bytes([0x1E, 254]) + b"\0" * 254
    reset = bytes(ip_of(tcp) / tcp.segment("R")[TCP])[40:]
    tcp.inject(with_payload(tcp, tcp_summed(tcp, header + reset), 60))
    tcp.check("segments", [], [one for one in taken(tcp, "1s") if is_tcp(one)])
    serves(tcp)


@case("extension-header-chain",
      "A long chain of extension headers takes the parser's time or its stack",
      sources=["RFC 8504 5.3", "RFC 7045 2.2"],
      stimulus="A SYN behind 100 destination headers, and one behind two hop-by-hop headers",
      clause="RFC 8504 5.3; RFC 8200 4.1",
      sound="Accepts the SYN or drops it; the listener serves the next peer")
@pytest.mark.ip(6)
@pytest.mark.parametrize("chain", ["long", "mixed"])
def test_extension_header_chain(tcp, chain):
    tcp.listen()
    header = IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])
    middle = IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)])
    headers = [header.copy() for _ in range(100)] if chain == "long" else [
        middle, middle.copy(), header]
    tcp.inject(chained(tcp, *headers))
    tcp.check("answers", True, [str(one[TCP].flags) for one in sent(tcp)] in ([], ["SA"]))
    serves(tcp)


@case("routing-header-type-0",
      "A routing header of type 0 is followed, so packets go round between hosts",
      sources=["CVE-2007-2242", "RFC 5095"],
      stimulus="A SYN behind a routing header with segments left, of type 0 and of others",
      clause="RFC 5095 3; RFC 8200 4.4",
      sound="Forwards nothing and opens nothing; an ICMPv6 Parameter Problem may say so")
@pytest.mark.ip(6)
@pytest.mark.parametrize("kind", [0, 4, 77])
def test_routing_header_type_0(tcp, kind):
    tcp.listen()
    header = IPv6ExtHdrRouting(nh=6, type=kind, segleft=1, addresses=["fd00::99"])
    # As octets, so that the checksum is that of a packet which has arrived.
    tcp.inject(ip_of(tcp) / header / bytes(tcp.segment("S"))[40:])
    for one in taken(tcp):
        tcp.check("sent", (tcp.target.remote, False), (one.dst, is_tcp(one)))
    tcp.expect_silence("3s")
    serves(tcp)


@case("mapped-address-on-the-wire",
      "An IPv6 packet from an IPv4-mapped address counts as one of IPv4, and passes its filters",
      sources=["RFC 4942 2.2"],
      stimulus="A SYN over IPv6 from ::ffff:10.0.0.2, with the checksum of IPv6, or with the one"
               " that IPv4 would have between the last 32 bits of both addresses",
      clause="RFC 6890 2.2.3, table 20: neither a source nor a destination on the wire",
      sound="Drops it in silence")
@pytest.mark.ip(6)
@pytest.mark.parametrize("flags", ["S", "A"])
@pytest.mark.parametrize("family", [4, 6])
def test_mapped_address_on_the_wire(tcp, flags, family):
    tcp.listen()
    packet = tcp.segment(flags)
    packet.src = "::ffff:10.0.0.2"
    octets = bytes(packet)
    if family == 4:
        pseudo = octets[20:24] + octets[36:40] + b"\0\6" + octets[4:6]
        segment = octets[40:56] + b"\0\0" + octets[58:]
        octets = octets[:56] + summed(pseudo + segment).to_bytes(2, "big") + octets[58:]
    tcp.inject(octets)
    tcp.expect_silence("3s")
    serves(tcp)
