# Fragments: beyond 65,535 octets, overlapping, too many, too old, and parts of different datagrams.
import pytest
from museum import case
from museum_kit import (
    answers_echo,
    echo,
    four,
    ip_bytes,
    ip_of,
    is_echo_reply,
    sent,
    serves,
    taken,
)
from scapy.layers.inet6 import IPv6ExtHdrFragment

ICMP_OF = {4: 1, 6: 58}


def fragment(tcp, piece, offset, more, number, protocol=None):
    """A fragment: these octets at this offset of datagram `number`."""
    protocol = protocol or ICMP_OF[tcp.target.ip_version]
    if four(tcp):
        header = ip_of(tcp, id=number & 0xFFFF, flags="MF" if more else 0, frag=offset // 8,
                       proto=protocol)
        return bytes(header / piece)
    header = ip_of(tcp, nh=44) / IPv6ExtHdrFragment(nh=protocol, offset=offset // 8, m=more,
                                                    id=number)
    return bytes(header / piece)


def body(tcp, length):
    """An echo request with its header as the payload of a datagram, `length` octets in total."""
    return bytes(echo(tcp, bytes(at % 251 for at in range(length - 8))))[ip_bytes(tcp):]


def replies(tcp):
    """The echo replies since they were last taken: their data."""
    skip = ip_bytes(tcp) + 8
    return [bytes(one)[skip:] for one in taken(tcp) if is_echo_reply(tcp, one)]


def joins(tcp, number=900):
    """Whether the host joins fragments at all: an echo request in two of them is answered."""
    whole = body(tcp, 600)
    tcp.drain()
    tcp.inject(fragment(tcp, whole[:296], 0, True, number))
    tcp.inject(fragment(tcp, whole[296:], 296, False, number))
    return replies(tcp) == [whole[8:]]


def joins_two(tcp):
    """Whether the host joins two datagrams at a time."""
    parts = [(tcp, body(tcp, 600)[:296], 0, True), (tcp, body(tcp, 600)[296:], 296, False)]
    tcp.drain()
    for part in parts:
        for number in (902, 903):
            tcp.inject(fragment(*part, number))
    return len(replies(tcp)) == 2


def still_joins(tcp, able):
    """The host works: it answers echo requests at once, serves a peer, and joins fragments, if it
    could, when those that came before have timed out."""
    answers_echo(tcp)
    serves(tcp)
    taken(tcp, "150s")
    tcp.check("joins", able, joins(tcp, 901))


@case("ping-of-death", "A fragment that ends beyond 65,535 octets is written behind the buffer",
      sources=["CVE-1999-0128 (Ping of Death)", "CVE-2020-17438 (uIP)"],
      stimulus="Fragments that end at 4,344 and at 66,968 octets, while another datagram waits for"
               " its second half",
      clause="RFC 791 3.1, total length; RFC 8200 4.5",
      sound="Does not touch the other datagram, which is joined and answered as it was sent")
def test_ping_of_death(tcp):
    tcp.listen()
    able, two = joins(tcp), joins_two(tcp)
    whole, piece = body(tcp, 600), b"\xEE" * 1448
    tcp.inject(fragment(tcp, body(tcp, 1448), 0, True, 7))
    tcp.inject(fragment(tcp, whole[:296], 0, True, 8))
    for at in (1448, 2896, 65_520):
        tcp.inject(fragment(tcp, piece, at, at < 65_000, 7))
    taken(tcp)
    tcp.inject(fragment(tcp, whole[296:], 296, False, 8))
    tcp.check("other", [whole[8:]] * two, replies(tcp))
    still_joins(tcp, able)


@case("teardrop", "Overlapping fragments give a negative length, or hide a hole",
      sources=["CVE-1999-0015 (Teardrop)", "CVE-1999-0257 (Nestea)", "CVE-2018-5391 (Linux)"],
      stimulus="A fragment inside another one; and fragments whose lengths add up to the datagram,"
               " with an overlap and a hole of the same size",
      clause="RFC 791 3.2; RFC 8200 4.5; RFC 5722 4",
      sound="Does not complete the datagram with the hole; works as before")
@pytest.mark.parametrize("kind", ["inside", "hole-of-zeros", "hole-of-old-octets"])
def test_teardrop(tcp, kind):
    tcp.listen()
    able = joins(tcp)
    if kind == "inside":
        whole = body(tcp, 64)
        for piece, offset, more in ((whole[:40], 0, True), (whole[24:28], 24, False),
                                    (whole[32:36], 32, False)):
            tcp.inject(fragment(tcp, piece, offset, more, 7))
    else:
        # What joins() has left in memory is that of body().
        hole = b"\0" * 16 if kind == "hole-of-zeros" else body(tcp, 40)[24:]
        whole = bytes(echo(tcp, b"A" * 16 + hole + b"B" * 8))[ip_bytes(tcp):]
        for begin, end in ((0, 24), (8, 24), (40, 48)):
            tcp.inject(fragment(tcp, whole[begin:end], begin, end < 48, 7))
    tcp.check("replies", [], replies(tcp))
    still_joins(tcp, able)


@case("fragment-overlap", "A datagram with overlapping fragments is joined, past filters that saw"
      " other octets",
      sources=["RFC 5722", "CVE-2012-4444 (Linux)"],
      stimulus="An echo request over IPv6 in fragments, one of which overlaps with other octets",
      clause="RFC 5722 4; RFC 8200 4.5: the whole datagram is discarded",
      sound="Answers nothing, not even after the missing fragments have come again")
@pytest.mark.ip(6)
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_fragment_overlap(tcp, order):
    tcp.listen()
    able = joins(tcp)
    whole = body(tcp, 64)
    pieces = [(whole[:24], 0, True), (b"X" * 16, 16, True), (whole[32:], 32, False)]
    for at in order:
        tcp.inject(fragment(tcp, *pieces[at], 7))
    tcp.inject(fragment(tcp, whole[24:32], 24, True, 7))
    tcp.check("replies", [], replies(tcp))
    still_joins(tcp, able)


@case("fragment-flood", "Incomplete datagrams take all memory, or all time",
      sources=["CVE-2018-5391 (Linux, FragmentSmack)", "Rose attack (2003)"],
      stimulus="First fragments of 40 datagrams, or one datagram in pieces of 8 octets; then 150 s",
      clause="RFC 1122 3.3.2; RFC 8200 4.5: given up after 60 s",
      sound="Serves others at once; later joins fragments as before")
@pytest.mark.parametrize("kind", ["datagrams", "pieces"])
def test_fragment_flood(tcp, kind):
    tcp.listen()
    able = joins(tcp)
    if kind == "datagrams":
        for number in range(40):
            tcp.inject(fragment(tcp, body(tcp, 1000), 0, True, 1000 + number))
    else:
        whole = body(tcp, 1800)
        for at in range(0, 1792, 16):
            tcp.inject(fragment(tcp, whole[at:at + 8], at, True, 7))
    tcp.drain()
    serves(tcp)
    still_joins(tcp, able)


@case("fragment-stale", "A fragment waits for ever, and is joined with one of a later datagram",
      sources=["RFC 4963", "RFC 1122 3.3.2"],
      stimulus="The first half of an echo request; 150 s later the second half",
      clause="RFC 1122 3.3.2: 60 to 120 s; RFC 8200 4.5: 60 s",
      sound="Has given up the first half: no answer")
def test_fragment_stale(tcp):
    tcp.listen()
    able = joins(tcp)
    whole = body(tcp, 600)
    tcp.inject(fragment(tcp, whole[:296], 0, True, 7))
    taken(tcp, "150s")
    tcp.inject(fragment(tcp, whole[296:], 296, False, 7))
    tcp.check("replies", [], replies(tcp))
    still_joins(tcp, able)


@case("fragment-padding", "Octets behind a fragment, which pad its frame, become part of the whole",
      sources=["CVE-2020-11896 (Treck, of Ripple20)", "RFC 894"],
      stimulus="An echo request in two fragments, each followed by six octets of padding",
      clause="RFC 791 3.1, total length; RFC 8200 3, payload length",
      sound="Joins the fragments without the padding: the answer has the octets that were sent")
def test_fragment_padding(tcp):
    tcp.listen()
    able = joins(tcp)
    whole = body(tcp, 600)
    tcp.inject(fragment(tcp, whole[:296], 0, True, 7) + b"\xEE" * 6)
    tcp.inject(fragment(tcp, whole[296:], 296, False, 7) + b"\xEE" * 6)
    tcp.check("replies", [whole[8:]] * able, replies(tcp))
    still_joins(tcp, able)


@case("fragments-of-two-datagrams", "Fragments are joined by their identification alone",
      sources=["RFC 791 3.2", "RFC 4963"],
      stimulus="The first half of an echo request, and a last fragment of another protocol with the"
               " same identification",
      clause="RFC 791 3.2: identification, source, destination and protocol",
      sound="Does not join them; the right second half completes the datagram")
@pytest.mark.ip(4)
def test_fragments_of_two_datagrams(tcp):
    tcp.listen()
    able = joins(tcp)
    whole = body(tcp, 600)
    tcp.inject(fragment(tcp, whole[:296], 0, True, 7))
    tcp.inject(fragment(tcp, whole[296:], 296, False, 7, protocol=253))
    tcp.check("joined", [], replies(tcp))
    tcp.inject(fragment(tcp, whole[296:], 296, False, 7))
    tcp.check("replies", [whole[8:]] * able, replies(tcp))
    still_joins(tcp, able)


@case("atomic-fragment", "A fragment that is a whole packet waits, or is mixed with others",
      sources=["RFC 6946", "RFC 8021"],
      stimulus="A first fragment of something else, then a SYN with a fragment header of offset 0,"
               " no more fragments, and the same identification",
      clause="RFC 6946 4; RFC 8200 4.5",
      sound="Processes the SYN by itself: it answers")
@pytest.mark.ip(6)
def test_atomic_fragment(tcp):
    tcp.listen()
    able = joins(tcp)
    tcp.inject(fragment(tcp, b"\xEE" * 64, 0, True, 7, protocol=6))
    syn = bytes(tcp.segment("S", options=[("MSS", 1000), ("NOP", None)]))[ip_bytes(tcp):]
    tcp.inject(fragment(tcp, syn, 0, False, 7, protocol=6))
    tcp.check("answer", ["SA"], [str(one["TCP"].flags) for one in sent(tcp)])
    still_joins(tcp, able)


@case("first-fragment-without-header",
      "The TCP header is divided, so that no filter sees its flags in the first fragment",
      sources=["RFC 7112", "RFC 1858 (tiny fragments)"],
      stimulus="A SYN over IPv6 in fragments of 8 octets",
      clause="RFC 8200 4.5; RFC 7112 5",
      sound="Drops the first fragment; an ICMPv6 Parameter Problem may say so")
@pytest.mark.ip(6)
def test_first_fragment_without_header(tcp):
    tcp.listen()
    able = joins(tcp)
    syn = bytes(tcp.segment("S"))[ip_bytes(tcp):]
    for at in range(0, len(syn), 8):
        tcp.inject(fragment(tcp, syn[at:at + 8], at, at + 8 < len(syn), 7, protocol=6))
    tcp.check("answers", [], [str(one["TCP"].flags) for one in sent(tcp, "3s")])
    still_joins(tcp, able)
