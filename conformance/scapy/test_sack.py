# RFC 2018 and 2883: which blocks are reported, in which order, and how received blocks are used.
import pytest
from scapy.layers.inet import TCP

pytestmark = pytest.mark.stack(sack=True)
SYN = [("MSS", 1000), ("SAckOK", b"")]


def blocks(tcp, packet):
    """The SACK blocks of an ACK, relative to the tester's SYN."""
    edges = dict(packet[TCP].options).get("SAck", ())
    relative = [(edge - tcp.peer_iss) % (1 << 32) for edge in edges]
    return list(zip(relative[::2], relative[1::2]))


def reporting(tcp, *ranges, ack=1, **fields):
    """An ACK with SACK blocks, relative to the target's SYN."""
    edges = tuple((tcp.device_iss + edge) % (1 << 32) for block in ranges for edge in block)
    options = [("NOP", None), ("NOP", None), ("SAck", edges)]
    return tcp.send("A", ack=ack, options=options, **fields)


def numbers(tcp):
    """The first sequence numbers of what was sent so far."""
    return [(packet[TCP].seq - tcp.device_iss) % (1 << 32) for packet in tcp.drain()]


#= rfc2018#2
## 2018:SACK-20 SACK-permitted is an option of two octets on a SYN
@pytest.mark.parametrize("active", [False, True])
def test_offered(tcp, active):
    if active:
        tcp.target.connect(tcp.port, tcp.peer_port)
        tcp.expect("S", options={"SAckOK": b""})
    else:
        tcp.listen().send("S", options=SYN)
        tcp.expect("SA", options={"SAckOK": b""})
    tcp.ignore_rest()


#= rfc2018#4
## 2018:SACK-2 if the peer does not permit it, no blocks are sent
#= rfc2018#2
## 2018:SACK-1 and SACK-permitted is not sent on later segments
@pytest.mark.parametrize("permitted", [False, True])
def test_only_if_permitted(tcp, permitted):
    tcp.established(options=SYN if permitted else SYN[:1])
    tcp.send("A", seq=101, payload=100)
    tcp.expect("A", ack=1, options={"SAck": ... if permitted else None, "SAckOK": None})


#= rfc2018#4
## 2018:SACK-5 the first block is that of the segment that has just arrived
## 2018:SACK-4 and each such segment is acknowledged
#= rfc2018#3
## 2018:SACK-13 from its first octet to the one after its last
## 2018:SACK-14 exactly the octets received
## 2018:SACK-21 and ACK keeps its meaning
@pytest.mark.parametrize("begin,length", [(2, 1), (101, 100), (1001, 1000), (60001, 1)])
def test_block_of_the_segment(tcp, begin, length):
    tcp.established(options=SYN).send("A", seq=begin, payload=length)
    packet = tcp.expect("A", seq=1, ack=1, length=0)
    tcp.check("blocks", [(begin, begin + length)], blocks(tcp, packet))


#= rfc2018#4
## 2018:SACK-6 then earlier reported blocks, the most recent first, as many as fit
## 2018:SACK-3, 2018:SACK-15 in every ACK while there is a gap
def test_order_of_blocks(tcp):
    tcp.established(options=SYN)
    held = []
    for begin in (201, 601, 401, 1001, 801, 1401):
        tcp.send("A", seq=begin, payload=100)
        held.insert(0, (begin, begin + 100))
        tcp.check("blocks", held[:4], blocks(tcp, tcp.expect("A", ack=1)))


#= rfc2018#3
## 2018:SACK-14 contiguous data is one block
#= rfc2018#4
## 2018:SACK-5 the first, after the segment that joined it
def test_blocks_join(tcp):
    tcp.established(options=SYN)
    for begin, expected in (
        (201, [(201, 301)]),
        (401, [(401, 501), (201, 301)]),
        (301, [(201, 501)]),
        (501, [(201, 601)]),
        (101, [(101, 601)]),
    ):
        tcp.send("A", seq=begin, payload=100)
        tcp.check("blocks", expected, blocks(tcp, tcp.expect("A", ack=1)))
    tcp.send("A", seq=1, payload=100)
    tcp.expect("A", ack=601, options={"SAck": None})


#= rfc2018#4
## 2018:SACK-5 a partly filled gap: the ACK advances, the rest is reported
def test_gap_filled_in_part(tcp):
    tcp.established(options=SYN).send("A", seq=301, payload=100)
    tcp.expect("A", ack=1)
    tcp.send("A", seq=1, payload=100)
    tcp.check("blocks", [(301, 401)], blocks(tcp, tcp.expect("A", ack=101)))


#= rfc2018#4
## 2018:SACK-3 data sent in the meantime carries the blocks too
def test_text_reports(tcp):
    tcp.established(options=SYN).send("A", seq=301, payload=100).expect("A", ack=1)
    packet = tcp.write(b"text").expect("PA", seq=1, ack=1)
    tcp.check("blocks", [(301, 401)], blocks(tcp, packet)).ignore_rest()


#= rfc2883#4
## 2883:DSACK-1 duplicate data is the first block
## 2883:DSACK-3 once
#= rfc2883#4.1
## 2883:DSACK-7 also below the ACK, without a gap
@pytest.mark.stack(sack=True, dsack=True)
@pytest.mark.parametrize("begin,length", [(1, 100), (1, 50), (51, 50), (100, 1)])
def test_duplicate_is_reported(tcp, begin, length):
    tcp.established(options=SYN).send("A", payload=100).expect("A", within="499ms", ack=101)
    tcp.send("A", seq=begin, payload=length)
    tcp.check("blocks", [(begin, begin + length)], blocks(tcp, tcp.expect("A", ack=101)))
    tcp.send("A", seq=201, payload=10)
    tcp.check("blocks", [(201, 211)], blocks(tcp, tcp.expect("A", ack=101)))


#= rfc2883#4
## 2883:DSACK-4 above a gap it is followed by the block that contains it
@pytest.mark.stack(sack=True, dsack=True)
def test_duplicate_above_a_gap(tcp):
    tcp.established(options=SYN)
    for begin in (201, 301):
        tcp.send("A", seq=begin, payload=100).expect("A", ack=1)
    tcp.send("A", seq=301, payload=100)
    tcp.check("blocks", [(301, 401), (201, 401)], blocks(tcp, tcp.expect("A", ack=1)))


def sending(tcp):
    """A connection with four segments of 1,000 octets in flight and as many queued."""
    tcp.established(options=SYN).write(8000)
    tcp.check("flight", [1, 1001, 2001, 3001], numbers(tcp))
    return tcp


#= rfc2018#5
## 2018:SACK-18 reported data is not retransmitted; the hole is
## 2018:SACK-7 because the reports are kept
#= rfc2018#5.1
## 2018:SACK-10 within the congestion window
def test_only_the_hole_again(tcp):
    sending(tcp)
    reporting(tcp, (1001, 2001))
    reporting(tcp, (1001, 3001))
    numbers(tcp)
    reporting(tcp, (1001, 4001))
    sent = numbers(tcp)
    tcp.check("again", 1, sent.count(1))
    tcp.check("reported", [], [n for n in sent if 1001 <= n < 4001]).ignore_rest()


#= rfc2018#5.1
## 2018:SACK-19 one report of out-of-order data starts no recovery
def test_one_report_is_no_loss(tcp):
    sending(tcp)
    reporting(tcp, (1001, 2001))
    tcp.check("again", False, 1 in numbers(tcp))
    tcp.check("recovery", False, tcp.info["fast_recovery"]).ignore_rest()


#= rfc2018#5
## 2018:SACK-8 after a timeout the reports are discarded
## 2018:SACK-9 the first segment is retransmitted, reported or not
#= rfc2018#5.1
## 2018:SACK-16 earlier reports do not affect what is retransmitted
#= rfc2018#8
## 2018:SACK-12 all data is still in the buffer
def test_after_a_timeout(tcp):
    sending(tcp)
    reporting(tcp, (1001, 3001)).drain()
    packet = tcp.expect(at="1s", seq=1, length=1000)
    first = bytes(packet[TCP].payload)
    again = {1}
    for ack in (1001, 2001, 3001):
        tcp.send("A", ack=ack)
        again |= set(numbers(tcp))
    tcp.check("again", True, {1, 1001, 2001, 3001} <= again)
    tcp.check("text", bytes(i % 251 for i in range(1000)), first).ignore_rest()


#= rfc2018#5
## 2018:SACK-7 invalid reports neither crash the stack nor count
@pytest.mark.parametrize(
    "block",
    [(2001, 1001), (1001, 1001), (100_001, 101_001), (-5000, -4000), (1, 500_000), (0, 0),
     (-1, 8001), (7001, 8002)],
)
def test_impossible_reports(tcp, block):
    sending(tcp)
    reporting(tcp, block)
    reporting(tcp, block, block, block)
    tcp.check("recovery", False, tcp.info["fast_recovery"])
    tcp.check("sacked", True, tcp.info["sacked"] < 4000)
    tcp.drain()
    tcp.send("A", ack=4001)
    tcp.expect_state("ESTABLISHED").ignore_rest()
