# Urgent pointers: zero, beyond the data, going back, on SYNs, without data, after the end.
import pytest
from museum import case
from museum_kit import alive, another_peer, raw_options, sent, serves
from scapy.layers.inet import TCP

URGENT_11 = "URGENT/11: CVE-2019-12255, -12260, -12261 and -12263 (VxWorks)"


def took(tcp, expected):
    """The connection lives, and the program reads exactly what was sent, in its order."""
    tcp.advance("1s")
    tcp.drain()
    tcp.check("acks", 1 + len(expected), acked(tcp))
    alive(tcp, unread=expected)


def acked(tcp):
    """What the device acknowledges."""
    tcp.send("A", seq=0)  # an old number, which it answers with its own
    answers = sent(tcp)
    ack = answers[-1][TCP].ack if answers else tcp.peer_iss + tcp.peer_nxt
    return (ack - tcp.peer_iss) % (1 << 32)


@case("urgent-pointer-zero", "An urgent pointer of 0 makes the length of the data negative",
      sources=[URGENT_11, "AMNESIA:33: CVE-2020-17437 (uIP)"],
      stimulus="Data with URG and a pointer of 0, and URG with 0 without data",
      clause="RFC 9293 3.8.5, MUST-31; 3.10.7.4, URG",
      sound="Takes the data as it is: nothing is lost, nothing is written")
@pytest.mark.parametrize("payload", [b"", b"x", b"data" * 25])
def test_urgent_pointer_zero(tcp, payload):
    tcp.established().send("PUA" if payload else "UA", payload=payload, urgent=0)
    tcp.send("PA", payload=b"more")
    took(tcp, payload + b"more")


@case("urgent-pointer-beyond-the-data",
      "An urgent pointer behind the data of its segment is an offset into it",
      sources=["AMNESIA:33: CVE-2020-17437 (uIP)", URGENT_11],
      stimulus="Data with URG and a pointer one, 1,000 or 65,535 octets beyond it; then more data",
      clause="RFC 9293 3.8.5, MUST-31: urgent data of any length",
      sound="Takes the data as it is; later data may be the urgent one")
@pytest.mark.parametrize("pointer", [5, 1000, 65535])
def test_urgent_pointer_beyond_the_data(tcp, pointer):
    tcp.established().send("PUA", payload=b"data", urgent=pointer)
    tcp.advance("500ms").drain()
    tcp.send("PA", payload=b"more").send("PUA", payload=b"last", urgent=pointer)
    took(tcp, b"datamorelast")


@case("urgent-pointer-inside-the-data",
      "Data behind the urgent pointer, or before it, is lost",
      sources=[URGENT_11, "RFC 6093 2 and 3"],
      stimulus="Data with URG whose pointer is inside it, at its first and at its last octet",
      clause="RFC 9293 3.8.5: urgent data is part of the stream",
      sound="Takes all of the data, in its order")
@pytest.mark.parametrize("pointer", [1, 2, 3, 4])
def test_urgent_pointer_inside_the_data(tcp, pointer):
    tcp.established().send("PUA", payload=b"data", urgent=pointer)
    took(tcp, b"data")


@case("urgent-pointers-changing",
      "Urgent pointers that go forward and back confuse the place of the urgent data",
      sources=[URGENT_11],
      stimulus="Five segments whose pointers go forward, back and to data that was read; then the"
               " same segments again",
      clause="RFC 9293 3.10.7.4: RCV.UP = max(RCV.UP, SEG.UP)",
      sound="Takes each octet once and in order; an old pointer is no news for the program")
def test_urgent_pointers_changing(tcp):
    tcp.established()
    pointers = (200, 3, 1, 90, 2)
    for at, pointer in enumerate(pointers):
        tcp.send("PUA", seq=1 + 4 * at, payload=b"data", urgent=pointer)
    for at, pointer in enumerate(pointers):
        tcp.send("PUA", seq=1 + 4 * at, payload=b"data", urgent=pointer)
    took(tcp, b"data" * 5)
    tcp.send("PA", payload=b"y" * 250).advance("1s")
    tcp.drain()
    tcp.read()
    events = tcp.target.events(tcp.connection) or []
    tcp.send("UA", urgent=0).send("UA", seq=20, urgent=1)
    later = tcp.target.events(tcp.connection) or []
    tcp.check("news", events.count("urgent"), later.count("urgent"))


@case("urgent-on-a-syn", "An urgent pointer on a SYN or SYN-ACK counts before there is a stream",
      sources=[URGENT_11 + ": a connection to a malicious host"],
      stimulus="A SYN or SYN-ACK with URG and a pointer of 0, 1 or 65,535; then data",
      clause="RFC 9293 3.10.7.2 and 3.10.7.3",
      sound="Opens the connection as without URG, and takes the data as it is")
@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("pointer", [0, 1, 65535])
def test_urgent_on_a_syn(tcp, active, pointer):
    if active:
        tcp.syn_sent().send("SUA", ack=1, urgent=pointer).expect("A", ack=1)
    else:
        tcp.listen().send("SU", urgent=pointer).expect("SA", ack=1)
        tcp.send("A").accept()
    tcp.send("PUA", payload=b"data", urgent=pointer)
    took(tcp, b"data")


@case("urgent-without-data",
      "URG without data, or with a pointer to data that never comes, counts as data",
      sources=["CVE-1999-0153 (WinNuke)", URGENT_11],
      stimulus="Bare segments with URG and pointers of 1, 100 and 65,535; then data; then a close",
      clause="RFC 9293 3.8.5, MUST-31 and MUST-32",
      sound="Acknowledges no octet that was not sent; the connection lives and closes as usual")
@pytest.mark.parametrize("pointer", [1, 100, 65535])
def test_urgent_without_data(tcp, pointer):
    tcp.established()
    for _ in range(3):
        tcp.send("UA", urgent=pointer)
    tcp.send("PA", payload=b"data")
    took(tcp, b"data")
    tcp.send("FA").advance("1s")
    tcp.drain()
    tcp.expect_state("CLOSE-WAIT")


@case("urgent-after-the-end", "URG after the peer's FIN points to data that cannot exist",
      sources=["RFC 9293 3.10.7.4", URGENT_11],
      stimulus="A FIN with URG and a pointer beyond it; then URG again",
      clause="RFC 9293 3.10.7.4, URG: after a FIN it is ignored",
      sound="Ignores it: the stream ends where the FIN was")
@pytest.mark.parametrize("together", [True, False])
def test_urgent_after_the_end(tcp, together):
    tcp.established()
    if together:
        tcp.send("FPUA", payload=b"data", urgent=500)
    else:
        tcp.send("PUA", payload=b"data", urgent=500).send("FA")
    tcp.advance("1s").drain()
    tcp.send("UA", urgent=9).send("UA", seq=6, urgent=65535).advance("1s")
    tcp.drain()
    tcp.check("read", b"data", tcp.read())
    tcp.expect_state("CLOSE-WAIT")
    tcp.ignore_rest().finish()
    answers = sent(tcp, "1s")
    tcp.check("FIN", True, any("F" in str(one[TCP].flags) for one in answers))


@case("urgent-across-the-wrap", "An urgent pointer across number 0 lies before the data",
      sources=["RFC 9293 3.4: arithmetic modulo 2^32"],
      stimulus="Data just below number 2^32 with a pointer beyond 0; the same far away from it",
      clause="RFC 9293 3.4 and 3.8.5, MUST-32",
      sound="Takes all of the data; a device that reports urgent data does so there, too")
def test_urgent_across_the_wrap(tcp):
    tells = []
    for iss in (0x1000_0000, 0xFFFF_FFF8):
        another_peer(tcp)
        tcp.peer_iss = iss
        tcp.listen().send("S").expect("SA", ack=1)
        tcp.send("A").accept().unlisten()
        tcp.send("PUA", payload=b"dat", urgent=10).advance("600ms")
        tcp.drain()
        tells.append("urgent" in (tcp.target.events(tcp.connection) or []))
        tcp.send("PA", payload=b"a" * 20)
        took(tcp, b"dat" + b"a" * 20)
    tcp.check("told", tells[0], tells[1])


@case("malformed-authentication-option",
      "A malformed authentication option on a half-open connection changes its state",
      sources=["URGENT/11: CVE-2019-12260 (VxWorks)"],
      stimulus="A SYN, an ACK and data with URG, whose option of kind 29 has 2, 3 or 4 octets,"
               " and on the SYN an MSS of 600 behind it",
      clause="RFC 9293 3.1, MUST-6 and MUST-7",
      sound="Drops the segments, or skips the option by its length, so that the MSS applies")
@pytest.mark.parametrize("raw", ["1d02", "1d03aa", "1d04aaaa"])
def test_malformed_authentication_option(tcp, raw):
    raw = bytes.fromhex(raw)
    mss = b"\2\4\2\x58"
    tcp.listen().inject(raw_options(tcp, "S", raw + mss))
    answers = [str(one[TCP].flags) for one in sent(tcp)]
    tcp.check("answers", True, answers in ([], ["SA"]))
    if not answers:
        serves(tcp)
        return
    tcp.inject(raw_options(tcp, "UA", raw, seq=1, urgent=1))
    tcp.send("A", seq=1).accept().write(700)
    sizes = [len(bytes(one[TCP].payload)) for one in sent(tcp)]
    tcp.check("MSS", True, 0 < max(sizes, default=0) <= 600)
    tcp.inject(raw_options(tcp, "PUA", raw, b"data", seq=1, urgent=3))
    tcp.peer_nxt = 1
    tcp.send("PA", seq=1, payload=b"data")
    alive(tcp, unread=b"data")
