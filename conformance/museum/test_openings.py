# Opening: SYNs with other flags, split handshakes, initial sequence numbers, data on SYNs.
import pytest
from museum import case
from museum_kit import serves
from record_kit import apart, at_least, data, lives, mark, resets, seen
from scapy.layers.inet import TCP

from lockstep.testing import Absolute


@case("syn-with-fin", "A FIN on a SYN closes a connection that was never open",
      sources=["RFC 9293 3.10.7.2", "CERT VU#464113, on unusual flags"],
      stimulus="A SYN with FIN arrives at a listener",
      clause="RFC 9293 3.10.7.2, third: other controls wait until SYN-RECEIVED is left",
      sound="Drops the segment, or answers <SYN,ACK> and keeps the FIN until the handshake is"
            " complete; the program gets no connection before, and the listener serves others")
def test_syn_with_fin(tcp):
    tcp.listen().send("SF", seq=0)
    tcp.expect_state("LISTEN", "SYN-RECEIVED")
    tcp.check("accepted", None, tcp.target.accept())
    for one in seen(tcp):
        tcp.check("answer", True, one.flags == "SA" and one.ack in (1, 2))
    tcp.ignore_rest()
    serves(tcp)


@case("syn-with-rst", "A segment with SYN and RST opens a connection",
      sources=["RFC 9293 3.10.7.2", "CERT VU#464113, on unusual flags"],
      stimulus="A SYN with RST, alone and with all other flags, arrives at a listener",
      clause="RFC 9293 3.10.7.2, first: a reset is ignored",
      sound="Sends nothing, stays in LISTEN, and serves the next client")
@pytest.mark.parametrize("flags", ["SR", "SRF", "FSRPAUEC"])
def test_syn_with_rst(tcp, flags):
    tcp.listen().send(flags, seq=0, ack=Absolute(0))
    tcp.expect_silence("3s").expect_state("LISTEN")
    serves(tcp)


@case("christmas-tree", "A segment without SYN makes a listener answer or change state",
      sources=["RFC 9293 3.10.7.2", "The scans FIN, NULL and Xmas of Nmap"],
      stimulus="No flags, FIN, or FIN with PSH and URG arrive at a listener",
      clause="RFC 9293 3.10.7.2, fourth: any other segment is dropped",
      sound="Sends nothing, stays in LISTEN, and serves the next client")
@pytest.mark.parametrize("flags", ["", "F", "PU", "FPU"])
def test_christmas_tree(tcp, flags):
    tcp.listen().send(flags, seq=0, urgent=1 * ("U" in flags), payload=b"x" * ("P" in flags))
    tcp.expect_silence("3s").expect_state("LISTEN")
    serves(tcp)


@case("syn-with-ecn-bits", "A SYN with ECN bits or reserved bits is not recognised as a SYN",
      sources=["gVisor issue 7075", "RFC 3360"],
      stimulus="A SYN with ECE and CWR, or with a reserved bit, arrives at a listener",
      clause="RFC 9293 3.1 and 3.10.7.2; RFC 3168 6.1.1",
      sound="Answers <SYN,ACK>, with or without ECE; the connection works")
@pytest.mark.parametrize("flags,reserved", [("SEC", 0), ("SE", 0), ("SC", 0), ("S", 4), ("SEC", 7)])
def test_syn_with_ecn_bits(tcp, flags, reserved):
    tcp.listen().send(flags, seq=0, reserved=reserved)
    answers = seen(tcp)
    tcp.check("answers", 1, len(answers))
    tcp.check("answer", True, answers[0].flags in ("SA", "SAE") and answers[0].ack == 1)
    tcp.send("A", seq=1, ack=1).accept()
    lives(tcp)


@case("split-handshake", "A client that gets a SYN for its own SYN believes that it is connected",
      sources=["Beardsley and Qian, The TCP Split Handshake (2010)", "RFC 9293 3.5, figure 7"],
      stimulus="The client's SYN is answered by a SYN without ACK, and later by <SYN,ACK> and an"
               " ACK",
      clause="RFC 9293 3.10.7.3, fourth; MUST-10",
      sound="Repeats its SYN with the same number, as <SYN,ACK>, or ignores the other SYN; sends no"
            " data before its own SYN is acknowledged; then the connection works")
def test_split_handshake(tcp):
    tcp.syn_sent()
    left = b"secret"
    left = left[tcp.offer(left):]  # before the handshake, if the program can
    begin = mark(tcp)
    tcp.send("S", seq=0).expect_state("SYN-SENT", "SYN-RECEIVED")
    left = left[tcp.offer(left):]
    tcp.advance("200ms")
    early = seen(tcp, begin)
    tcp.check("data", b"", b"".join(one.payload for one in early))
    tcp.check("SYNs", {0}, {one.seq for one in early if "S" in one.flags} | {0})
    tcp.send("SA", seq=0, ack=1).send("A", seq=1, ack=1)
    tcp.offer(left)
    tcp.advance("500ms")
    tcp.check("data", b"secret", b"".join(one.payload for one in data(tcp, begin)))
    tcp.send("A", seq=1, ack=7)
    lives(tcp)


@case("simultaneous-open", "Two SYNs that cross end in a reset, or in no connection",
      sources=["RFC 9293 3.5, MUST-10", "RFC 1122 4.2.2.10", "picotcp-ng issue 528"],
      stimulus="A SYN arrives in SYN-SENT; it arrives a second time; then our SYN is acknowledged"
               " by <SYN,ACK> or by a bare ACK",
      clause="RFC 9293 3.5, MUST-10 and MUST-11",
      sound="Answers each SYN with <SYN,ACK>, or the repeated one with an ACK, resets nothing, and"
            " is ESTABLISHED once its own SYN is acknowledged")
@pytest.mark.parametrize("last", ["SA", "A"])
def test_simultaneous_open(tcp, last):
    tcp.syn_sent().send("S", seq=0).expect("SA", within="1s", seq=0, ack=1)
    tcp.send("S", seq=0)
    tcp.check("resets", [], resets(tcp))
    tcp.send(last, seq=0 if last == "SA" else 1, ack=1)
    tcp.drain()
    lives(tcp)


@case("old-duplicate-syn", "An old SYN occupies the pair of ports, so that the real one is refused",
      sources=["RFC 9293 3.5, figure 8", "CMC model checking of the Linux TCP, bug 1 (Musuvathi)"],
      stimulus="An old SYN arrives at a listener, the peer resets the answer, a new SYN arrives",
      clause="RFC 9293 3.5, figure 8; MUST-11; 3.10.7.4, second",
      sound="Returns to LISTEN by the reset, which has no ACK; accepts the new SYN")
def test_old_duplicate_syn(tcp):
    tcp.listen().send("S", seq=-100).expect("SA", seq=0, ack=-99)
    tcp.send("R", seq=-99).expect_state("LISTEN")
    tcp.send("S", seq=0)
    answers = [one for one in seen(tcp) if one.flags == "SA"][1:]
    tcp.check("answered", True, [one.ack for one in answers] == [1])
    tcp.send("A", seq=1, ack=1).accept()
    lives(tcp)


def numbers_of(tcp, ports):
    """The initial sequence numbers by which a listener answers SYNs from these ports, all at once.

    Each attempt is reset before the next one.
    """
    tcp.listen()
    found = []
    for port in ports:
        tcp.peer_port = port
        tcp.send("S", seq=0)
        answers = [one for one in tcp.drain() if one[TCP].dport == port]
        tcp.check("answers", 1, len(answers))
        found.append(answers[0][TCP].seq)
        tcp.send("R", seq=1)
    return found


@case("isn-predictable", "The initial sequence number of one connection tells that of the next",
      sources=["NUMBER:JACK: CVE-2020-27213 and CVE-2020-27630 to CVE-2020-27636", "RFC 6528",
               "CVE-2023-45236 (EDK2)", "Morris, A Weakness in the 4.2BSD TCP/IP Software (1985)"],
      stimulus="48 SYNs from different ports at the same instant",
      clause="RFC 9293 3.4.1, MUST-9; RFC 6528 3",
      sound="All numbers differ, no distance between neighbours occurs twice, and they do not"
            " cluster: each quarter of the space has some")
def test_isn_predictable(tcp):
    numbers = numbers_of(tcp, range(6000, 6048))
    tcp.check("distinct", 48, len(set(numbers)))
    steps = [apart(a, b) for a, b in zip(numbers, numbers[1:])]
    tcp.check("distances", len(steps), len(set(steps)))
    tcp.check("quarters", 4, len({number >> 30 for number in numbers}))
    tcp.ignore_rest()


@case("isn-standing-still", "A new connection between the same ports begins where the last one did",
      sources=["RFC 9293 3.4.1, MUST-8", "RFC 6528 1", "NUMBER:JACK (2021)"],
      stimulus="Five connections between the same two ports, a second apart",
      clause="RFC 9293 3.4.1, MUST-8; RFC 6528 3",
      sound="Each begins at another number, not within the first megabyte of the one before")
def test_isn_standing_still(tcp):
    numbers = []
    for _ in range(5):
        tcp.connection = tcp.target.connect(tcp.port, tcp.peer_port)
        numbers.append(tcp.expect("S")[TCP].seq)
        tcp.send("RA", seq=0, ack=1).expect_state("CLOSED")
        tcp.advance("5s")
    for a, b in zip(numbers, numbers[1:]):
        at_least(tcp, "step", 1 << 20, apart(a, b))


@case("data-before-the-handshake", "Data on a SYN reaches the program before the peer is known",
      sources=["RFC 9293 3.5", "RFC 6247 4, on T/TCP",
               "de Vivo and others, Internet Vulnerabilities Related to TCP/IP and T/TCP (1999)"],
      stimulus="A SYN with data and PSH arrives from an address that never answers",
      clause="RFC 9293 3.5 and 3.10.7.2: the user gets data only in ESTABLISHED",
      sound="The program sees no connection and no data until the handshake is complete; data that"
            " the SYN-ACK acknowledges is delivered then, once")
def test_data_before_the_handshake(tcp):
    tcp.listen().send("SP", seq=0, payload=b"early")
    tcp.check("accepted", None, tcp.target.accept())
    answers = seen(tcp)
    tcp.check("answers", ["SA"], [one.flags for one in answers])
    tcp.check("ACK", True, answers[0].ack in (1, 6))
    tcp.send("A", seq=answers[0].ack, ack=1)
    if answers[0].ack == 1:
        tcp.send("PA", seq=1, ack=1, payload=b"early")
    tcp.accept().advance("1s").drain()
    tcp.expect_read(b"early")
    lives(tcp)
