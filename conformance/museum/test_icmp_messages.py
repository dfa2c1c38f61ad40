# ICMP: forged errors, errors that are cut off, tiny path MTUs, echoes to all, leaks in quotations.
import pytest
from museum import case
from museum_kit import (
    alive,
    answers_echo,
    arrived,
    collect,
    echo,
    error,
    four,
    ip_bytes,
    ip_of,
    octets,
    quoted,
    sent,
    serves,
    summed,
    taken,
    with_payload,
)
from scapy.layers.inet import ICMP, TCP
from scapy.layers.inet6 import ICMPv6DestUnreach, IPv6, IPv6ExtHdrDestOpt, PadN

HARD = {4: [(3, 2), (3, 3), (3, 4)], 6: [(1, 1), (1, 4)]}
#: Port unreachable.
CLOSED = {4: (3, 3), 6: (1, 4)}


def hard(tcp, about=None, **fields):
    """Port unreachable, about the last packet of the device or another one."""
    return error(tcp, *CLOSED[tcp.target.ip_version], about=about, **fields)


def changed(packet, at, bits=1):
    """The packet with these bits of one octet changed."""
    return packet[:at] + bytes([packet[at] ^ bits]) + packet[at + 1:]


def goes_on(tcp):
    """The attempt to connect has not ended: a SYN-ACK completes it."""
    tcp.ignore_rest().advance("500ms")
    tcp.drain()
    tcp.expect_state("SYN-SENT")
    tcp.send("SA", seq=0, ack=1)
    tcp.check("answer", ["A"], [str(one[TCP].flags) for one in sent(tcp)])
    alive(tcp)


@case("icmp-blind-reset", "A forged ICMP error ends an established connection",
      sources=["CVE-2004-0790 (several systems)", "RFC 5927 5"],
      stimulus="Protocol and port unreachable that quote data in flight",
      clause="RFC 5927 5.2; RFC 1122 4.2.3.9 as RFC 9293 3.9.2.2 has it",
      sound="Treats it as a soft error: data is repeated, and the connection lives")
@pytest.mark.parametrize("which", range(3))
def test_icmp_blind_reset(tcp, which):
    tcp.established(options=[("MSS", 1000)]).write(100)
    packets = sent(tcp)
    kinds = HARD[tcp.target.ip_version]
    kind, code = kinds[which % len(kinds)]
    for _ in range(3):
        tcp.inject(error(tcp, kind, code))
    tcp.advance("500ms")
    tcp.expect_state("ESTABLISHED").ignore_rest()
    arrived(tcp, 100, collect(tcp, 100, packets + sent(tcp)))
    alive(tcp)


@case("icmp-quote-not-checked",
      "An ICMP error is believed although it quotes a number that is not in flight",
      sources=["RFC 5927 4.1", "CVE-2004-0790 (several systems)"],
      stimulus="Port unreachable about a SYN with another number, or of another connection",
      clause="RFC 5927 4.1; RFC 9293 3.9.2.2, MUST-54",
      sound="Ignores it: the attempt to connect goes on")
@pytest.mark.parametrize("what", ["below", "above", "far", "ports", "address"])
def test_icmp_quote_not_checked(tcp, what):
    tcp.syn_sent()
    about, begin = quoted(tcp), ip_bytes(tcp)
    if what == "ports":
        about = changed(about, begin + 1)
    elif what == "address":
        about = changed(about, begin - 1)
    else:
        shift = {"below": -1, "above": 2, "far": 1 << 30}[what]
        number = (int.from_bytes(about[begin + 4:begin + 8], "big") + shift) % (1 << 32)
        about = about[:begin + 4] + number.to_bytes(4, "big") + about[begin + 8:]
    tcp.inject(hard(tcp, about))
    goes_on(tcp)


@case("source-quench", "A forged source quench slows a connection down, or ends it",
      sources=["CVE-2004-0791 (several systems)", "RFC 6633"],
      stimulus="Source quenches that quote a SYN, and others that quote data in flight",
      clause="RFC 6633 3; RFC 9293 3.9.2.2, MUST-55",
      sound="Discards them: the connection opens, and all data in flight was sent before")
@pytest.mark.ip(4)
@pytest.mark.parametrize("state", ["syn_sent", "established"])
def test_source_quench(tcp, state):
    if state == "syn_sent":
        tcp.syn_sent()
        for _ in range(3):
            tcp.inject(error(tcp, 4, 0))
        goes_on(tcp)
        return
    tcp.established(options=[("MSS", 100)]).write(2000)
    packets = sent(tcp)
    for _ in range(10):
        tcp.inject(error(tcp, 4, 0))
    begin = len(packets)
    tcp.send("A", ack=1 + sum(len(octets(one)) for one in packets))
    fresh = sent(tcp)
    tcp.check("window", True, len(fresh) >= min(begin, 20 - begin))
    arrived(tcp, 2000, collect(tcp, 2000, packets + fresh))
    alive(tcp)


@case("path-mtu-tiny", "A forged path MTU makes the segments tiny, or their size negative",
      sources=["CVE-2004-1060 (several systems)", "RFC 5927 7", "RFC 8021"],
      stimulus="Fragmentation needed with an MTU of 0, 1, 20, 68 or 296; over IPv6 packet too big"
               " with 0, 1, 68 or 1,279",
      clause="RFC 1191 3: not below 68; RFC 8201 4: below 1,280 is ignored",
      sound="No packet with more data to follow is below 68 octets, over IPv6 below 1,280; all data"
            " arrives")
@pytest.mark.stack(path_mtu_discovery=True)
@pytest.mark.parametrize("mtu", [0, 1, 20, 68, 296, 1279])
def test_path_mtu_tiny(tcp, mtu):
    tcp.established(options=[("MSS", 1460)]).write(4000)
    packets = sent(tcp)
    kind, code, field = (3, 4, "nexthopmtu") if four(tcp) else (2, 0, "mtu")
    about = bytes(packets[0])
    for _ in range(3):
        tcp.inject(error(tcp, kind, code, about=about, **{field: mtu}))
    packets = collect(tcp, 4000, packets)
    arrived(tcp, 4000, packets)
    sizes = [len(bytes(one)) for one in packets if octets(one)]
    least = 68 if four(tcp) else 1280
    tcp.check("small", True, sum(size < least for size in sizes) <= 3)
    alive(tcp)


@case("path-mtu-not-in-flight", "A path MTU is believed although its quotation is forged",
      sources=["RFC 5927 4.1 and 7", "CVE-2004-1060 (several systems)"],
      stimulus="Packet too big with an MTU of 1,300 that quotes numbers not in flight, or another"
               " port",
      clause="RFC 5927 4.1; RFC 8201 4",
      sound="Ignores it: segments stay as large as before")
@pytest.mark.stack(path_mtu_discovery=True)
@pytest.mark.parametrize("what", ["acked", "unsent", "port"])
def test_path_mtu_not_in_flight(tcp, what):
    tcp.established(options=[("MSS", 1400)]).write(1400)
    packets = collect(tcp, 1400) if what == "acked" else sent(tcp)
    about, begin = bytes(packets[0]), ip_bytes(tcp)
    if what == "unsent":
        about = changed(about, begin + 4, 0x40)
    elif what == "port":
        about = changed(about, begin + 1)
    kind, code, field = (3, 4, "nexthopmtu") if four(tcp) else (2, 0, "mtu")
    tcp.inject(error(tcp, kind, code, about=about, **{field: 1300}))
    tcp.write(1400)
    packets = sent(tcp, "5s")  # the second one, and what is repeated
    tcp.check("sizes", {1400}, {len(octets(one)) for one in packets})
    tcp.send("A")
    alive(tcp)


@case("icmp-quote-cut-off", "The quotation of an error is read beyond the end of the message",
      sources=["RFC 5927 4.1", "RFC 1122 3.2.2"],
      stimulus="Errors about a SYN that end 1 to 28 octets too early; the octets that are missing"
               " follow as padding of the frame, behind the IP packet",
      clause="RFC 792; RFC 1122 3.2.2: the quotation has the header and eight octets",
      sound="Ignores them: the attempt to connect goes on")
@pytest.mark.parametrize("missing", [1, 4, 8, 20, 28])
def test_icmp_quote_cut_off(tcp, missing):
    tcp.syn_sent()
    about = quoted(tcp)[:ip_bytes(tcp) + 8]
    whole = bytes(hard(tcp, about))
    short = bytes(hard(tcp, about[:len(about) - missing]))
    tcp.inject(short + whole[len(short):])
    goes_on(tcp)


@case("icmp-quote-header-lies", "The header length in a quotation leads out of the message",
      sources=["RFC 5927 4.1", "RFC 792"],
      stimulus="Errors about a SYN whose quoted IP header claims 0, 4, 6 or 15 words",
      clause="RFC 792: the quotation has the header and eight octets",
      sound="Ignores them: the attempt to connect goes on")
@pytest.mark.ip(4)
@pytest.mark.parametrize("first", [0x40, 0x44, 0x46, 0x4F])
def test_icmp_quote_header_lies(tcp, first):
    tcp.syn_sent()
    about = quoted(tcp)[:28]
    packet = hard(tcp, bytes([first]) + about[1:])
    # Behind the message lie ports and number, where a longer header would place them.
    tcp.inject(bytes(packet) + about[20:28] * 5)
    goes_on(tcp)


@case("icmp-checksum-not-verified", "The checksum of an ICMP error is not verified",
      sources=["RFC 1122 3.2.2", "RFC 4443 2.3"],
      stimulus="Port unreachable about a SYN, with a wrong checksum and with one of zero",
      clause="RFC 792; RFC 4443 2.3",
      sound="Ignores it: the attempt to connect goes on")
@pytest.mark.parametrize("wrong", ["bit", "zero"])
def test_icmp_checksum_not_verified(tcp, wrong):
    tcp.syn_sent()
    packet, at = bytes(hard(tcp)), ip_bytes(tcp) + 2
    value = changed(packet[at:at + 2], 0) if wrong == "bit" else b"\0\0"
    tcp.inject(packet[:at] + value + packet[at + 2:])
    goes_on(tcp)


@case("redirect-taken-for-an-error", "A redirect locks the host up, or ends a connection",
      sources=["CVE-1999-0265"],
      stimulus="Redirects that quote a SYN, from a host that is no router, to itself and to others",
      clause="RFC 1122 3.2.2.2; RFC 4861 8.1",
      sound="Ignores them: the attempt to connect goes on to the same peer")
@pytest.mark.ip(4)
@pytest.mark.parametrize("code", [0, 1, 2, 3])
@pytest.mark.parametrize("gateway", ["10.0.0.1", "10.0.0.99", "192.0.2.1"])
def test_redirect_taken_for_an_error(tcp, code, gateway):
    tcp.syn_sent()
    tcp.inject(ip_of(tcp) / ICMP(type=5, code=code, gw=gateway) / quoted(tcp)[:28])
    goes_on(tcp)


@case("echo-too-short", "An echo request that ends inside its header is answered with memory",
      sources=["CVE-2020-17443 (picoTCP)"],
      stimulus="Echo requests of 0, 1, 4 and 7 octets, whose checksum is right",
      clause="RFC 792; RFC 4443 4.1: the header has eight octets",
      sound="Drops them: no answer")
@pytest.mark.parametrize("length", [0, 1, 4, 7])
def test_echo_too_short(tcp, length):
    tcp.listen()
    message = bytes([8 if four(tcp) else 128, 0, 0, 0, 0, 77, 0])[:length]
    if length >= 4:
        pseudo = b""
        if not four(tcp):
            addresses = bytes(ip_of(tcp))[8:40]
            pseudo = addresses + length.to_bytes(4, "big") + b"\0\0\0\x3a"
        message = message[:2] + summed(pseudo + message).to_bytes(2, "big") + message[4:]
    tcp.inject(with_payload(tcp, message, 1 if four(tcp) else 58))
    tcp.expect_silence("1s")
    answers_echo(tcp)
    serves(tcp)


@case("echo-to-everybody", "An echo request to all hosts is answered by all, to a forged source",
      sources=["CVE-1999-0513 (Smurf)", "RFC 2644"],
      stimulus="Echo requests to the broadcast address of the network and of everybody, and to a"
               " multicast address",
      clause="RFC 1122 3.2.2.6; 3.2.1.3: a source address is never a broadcast",
      sound="Discards it, or answers once from its own address")
@pytest.mark.ip(4)
@pytest.mark.parametrize("to", ["255.255.255.255", "10.0.0.255", "224.0.0.1"])
def test_echo_to_everybody(tcp, to):
    tcp.listen()
    packet = echo(tcp)
    packet.dst = to
    tcp.inject(packet)
    answers = tcp.drain()
    tcp.check("answers", True, len(answers) <= 1)
    for one in answers:
        tcp.check("source", tcp.target.local, one.src)
    answers_echo(tcp)
    serves(tcp)


@case("error-about-an-error", "An ICMP error draws an error, so two hosts never stop",
      sources=["RFC 1122 3.2.2", "RFC 4443 2.4"],
      stimulus="ICMPv6 errors behind a destination option that demands an error, and an unknown"
               " option behind a quotation; the same with an echo request, which may be answered",
      clause="RFC 4443 2.4 (e.1)",
      sound="Sends nothing about an error")
@pytest.mark.ip(6)
@pytest.mark.parametrize("kind", [1, 3, 100, 127])
@pytest.mark.parametrize("option", [0x80, 0xC0])
def test_error_about_an_error(tcp, kind, option):
    tcp.listen()
    header = IPv6ExtHdrDestOpt(options=[PadN(otype=option, optdata=b"\0" * 4)])
    head = IPv6(src=tcp.target.remote, dst=tcp.target.local)
    about = bytes(tcp.segment("A"))
    message = ICMPv6DestUnreach(type=kind) / about
    tcp.inject(head / header / message)
    tcp.expect_silence("3s")
    answers_echo(tcp)
    serves(tcp)


@case("error-quotes-more-than-it-got",
      "The error about a short packet quotes what lies behind it in memory",
      sources=["CVE-2020-22283 (lwIP)", "CVE-2003-0001 (Etherleak, a leak of the same kind)"],
      stimulus="Packets of an unknown protocol with 0 to 8 octets of payload, behind a long one",
      clause="RFC 4443 2.4 (c); RFC 1122 3.2.2",
      sound="An error, if one is sent, quotes the packet and nothing more")
@pytest.mark.parametrize("length", [0, 1, 3, 7, 8])
def test_error_quotes_more_than_it_got(tcp, length):
    tcp.listen()
    answers_echo(tcp, b"SECRET" * 100)
    packet = with_payload(tcp, b"12345678"[:length], 253)
    tcp.inject(packet)
    begin = len(tcp.record)
    taken(tcp)
    for entry in tcp.record[begin:]:
        most = ip_bytes(tcp) + 8 + len(packet)
        tcp.check("length", True, len(entry.packet) <= most)
        tcp.check("leaked", False, b"SECRET" in entry.packet)
    serves(tcp)
