# RFC 5681: initial window, slow start, congestion avoidance, fast retransmit, timeouts, idle
# restart.
import pytest
from scapy.layers.inet import TCP

MSS = 1000


def begun(tcp, mss=MSS, window=65535):
    """A connection with a full send buffer; no packet is read from the wire yet."""
    tcp.established(window=window, options=[("MSS", mss)])
    tcp.offer(bytes(131072))
    return tcp


def firsts(tcp):
    """The first sequence numbers of the segments sent so far."""
    return [(p[TCP].seq - tcp.device_iss) % (1 << 32) for p in tcp.drain()]


def round_trip(tcp, una, count, mss=MSS):
    """Acknowledges `count` segments one by one after 100 ms; returns SND.UNA and what was sent."""
    tcp.advance("100ms")
    for _ in range(count):
        una += mss
        tcp.send("A", ack=una)
    return una, firsts(tcp)


#= rfc5681#3.1
## 5681:CC-3 four segments of up to 1,095 octets, three of larger ones
@pytest.mark.parametrize("mss,segments", [(500, 4), (1000, 4), (1095, 4), (1096, 3), (1200, 3)])
def test_initial_window(tcp, mss, segments):
    sent = firsts(begun(tcp, mss=mss))
    tcp.check("segments", [1 + mss * n for n in range(segments)], sent).ignore_rest()


#= rfc5681#3.1
## 5681:CC-4 the ACKs of the handshake do not increase cwnd
@pytest.mark.parametrize("active", [False, True])
def test_syn_does_not_count(tcp, active):
    tcp.established(active=active, options=[("MSS", MSS)])
    tcp.check("cwnd", 4000, tcp.info["cwnd"]).ignore_rest()


#= rfc5681#3.1
## 5681:CC-5 one segment after a lost SYN
def test_initial_window_after_a_lost_syn(tcp):
    tcp.syn_received(options=[("MSS", MSS)]).expect("SA", at="1s")
    tcp.send("A").accept()
    tcp.write(10_000)
    tcp.check("segments", [1], firsts(tcp)).ignore_rest()


#= rfc5681#3.1
## 5681:CC-8 slow start: one more segment for each segment acknowledged
## 5681:CC-7 ssthresh starts high
## 5681:CC-39 slow start while cwnd is below ssthresh
#= rfc9293#3.8.2
## 9293:MUST-19
def test_slow_start(tcp):
    una, flight = 1, len(firsts(begun(tcp)))
    for expected in (8, 16, 32):
        una, sent = round_trip(tcp, una, flight)
        flight = len(sent)
        tcp.check("flight", expected, flight)
    tcp.ignore_rest()


#= rfc5681#3.1
## 5681:CC-33 by the octets that an ACK acknowledges, so that ACK division gains nothing
def test_ack_division(tcp):
    firsts(begun(tcp))
    for ack in range(101, 1002, 100):
        tcp.send("A", ack=ack)
    tcp.check("cwnd", True, tcp.info["cwnd"] <= 5000).ignore_rest()


#= rfc5681#3.1
## 5681:CC-8 by at most one segment for an ACK of many
def test_stretched_ack(tcp):
    firsts(begun(tcp))
    tcp.send("A", ack=4001)
    tcp.check("cwnd", 5000, tcp.info["cwnd"]).ignore_rest()


#= rfc5681#3.2
## 5681:CC-17 two duplicate ACKs allow two new segments
## 5681:CC-18 without an increase of cwnd
#= rfc3042#2
## 3042:LTX-1, 3042:LTX-2
def test_limited_transmit(tcp):
    firsts(begun(tcp))
    cwnd = tcp.info["cwnd"]
    tcp.send("A", ack=1)
    tcp.check("first", [4001], firsts(tcp))
    tcp.send("A", ack=1)
    tcp.check("second", [5001], firsts(tcp))
    tcp.check("cwnd", cwnd, tcp.info["cwnd"]).ignore_rest()


def lost(tcp, rounds=2):
    """A connection in slow start whose next segment is lost; returns (SND.UNA, flight)."""
    una, flight = 1, len(firsts(begun(tcp)))
    for _ in range(rounds):
        una, sent = round_trip(tcp, una, flight)
        flight = len(sent)
    return una, flight


#= rfc5681#3.2
## 5681:CC-16 the third duplicate ACK: the segment is retransmitted at once
## 5681:CC-42 without waiting for the timer
## 5681:CC-20 ssthresh is half of FlightSize
## 5681:CC-21 cwnd is ssthresh plus three segments
#= rfc5681#3.1
## 5681:CC-40 half of FlightSize, not of cwnd
#= rfc5681#4.3
## 5681:CC-29
def test_fast_retransmit(tcp):
    una, flight = lost(tcp)
    tcp.check("flight", 16, flight)
    for _ in range(2):
        tcp.send("A", ack=una)
    firsts(tcp)
    tcp.send("A", ack=una)
    tcp.check("again", una, firsts(tcp)[0])
    tcp.check("ssthresh", flight * MSS // 2, tcp.info["ssthresh"])
    tcp.check("cwnd", flight * MSS // 2 + 3 * MSS, tcp.info["cwnd"]).ignore_rest()


#= rfc5681#3.2
## 5681:CC-22 each further duplicate ACK increases cwnd by a segment
## 5681:CC-23 which may allow new data
## 5681:CC-24 the ACK of new data sets cwnd to ssthresh
#= rfc5681#4.3
## 5681:CC-30 then congestion avoidance follows
def test_fast_recovery(tcp):
    una, flight = lost(tcp)
    for _ in range(3):
        tcp.send("A", ack=una)
    before = tcp.info["cwnd"]
    sent = firsts(tcp)
    for number in range(1, 11):
        tcp.send("A", ack=una)
        sent += firsts(tcp)
        tcp.check("cwnd", before + number * MSS, tcp.info["cwnd"])
    tcp.check("new", True, max(sent) > una + flight * MSS - MSS)
    tcp.send("A", ack=max(sent) + MSS)
    tcp.check("cwnd", True, tcp.info["cwnd"] <= flight * MSS // 2 + MSS)
    tcp.check("over", False, tcp.info["fast_recovery"]).ignore_rest()


#= rfc5681#2
## 5681:CC-38 an ACK with data, another window or a FIN is not a duplicate
@pytest.mark.parametrize("what", ["text", "window"])
def test_no_duplicates(tcp, what):
    una, _ = lost(tcp)
    for number in range(1, 6):
        if what == "text":
            tcp.send("A", ack=una, payload=b"x")
        else:
            tcp.send("A", ack=una, window=65535 - number)
    tcp.check("recovery", False, tcp.info["fast_recovery"])
    tcp.check("again", False, una in firsts(tcp)).ignore_rest()


#= rfc5681#3.2
## 5681:CC-42 an ACK of new data in between restarts the count
def test_duplicates_are_consecutive(tcp):
    una, _ = lost(tcp)
    tcp.send("A", ack=una).send("A", ack=una).send("A", ack=una + MSS).send("A", ack=una + MSS)
    tcp.check("again", False, una + MSS in firsts(tcp))
    tcp.send("A", ack=una + MSS).send("A", ack=una + MSS)
    tcp.check("again", True, una + MSS in firsts(tcp)).ignore_rest()


#= rfc6582#3.2
## 6582:NR-2 a partial ACK retransmits the next hole
## 6582:NR-8 and recovery continues
## 6582:NR-3 until everything up to recover is acknowledged
def test_partial_ack(tcp):
    una, _ = lost(tcp)
    for _ in range(3):
        tcp.send("A", ack=una)
    firsts(tcp)
    hole = una + 3 * MSS
    tcp.send("A", ack=hole)
    tcp.check("again", hole, firsts(tcp)[0])
    tcp.check("recovery", True, tcp.info["fast_recovery"])
    tcp.send("A")  # acknowledges everything sent
    tcp.check("over", False, tcp.info["fast_recovery"]).ignore_rest()


#= rfc6582#3.2
## 6582:NR-7 duplicate ACKs of data sent before the recovery start no other one
def test_no_second_recovery(tcp):
    una, flight = lost(tcp)
    for _ in range(3):
        tcp.send("A", ack=una)
    tcp.advance("3s").drain()
    threshold = tcp.info["ssthresh"]
    for _ in range(4):
        tcp.send("A", ack=una)
    tcp.check("ssthresh", threshold, tcp.info["ssthresh"])
    tcp.check("recovery", False, tcp.info["fast_recovery"]).ignore_rest()


#= rfc5681#3.1
## 5681:CC-11 after a timeout ssthresh is half of FlightSize
## 5681:CC-12 and cwnd is one segment
## 5681:CC-41 slow start up to ssthresh
## 5681:CC-2, 5681:CC-47
def test_timeout(tcp):
    una, flight = lost(tcp)
    tcp.expect(within="2s", seq=una)
    tcp.check("ssthresh", flight * MSS // 2, tcp.info["ssthresh"])
    tcp.check("cwnd", MSS, tcp.info["cwnd"])
    tcp.send("A", ack=una + MSS)
    tcp.check("cwnd", 2 * MSS, tcp.info["cwnd"]).ignore_rest()


#= rfc5681#3.1
## 5681:CC-13 further timeouts of the same segment do not change ssthresh
def test_timeout_again(tcp):
    una, flight = lost(tcp)
    for _ in range(4):
        tcp.expect(within="20s", seq=una)
        tcp.check("ssthresh", flight * MSS // 2, tcp.info["ssthresh"])
        tcp.check("cwnd", MSS, tcp.info["cwnd"])
    tcp.ignore_rest()


#= rfc5681#3.1
## 5681:CC-9 congestion avoidance: at most one segment per round trip
## 5681:CC-10 by the octets acknowledged
## 5681:CC-34, 5681:CC-36 but at least by one octet
def test_congestion_avoidance(tcp):
    una, flight = lost(tcp)
    for _ in range(3):
        tcp.send("A", ack=una)
    sent = firsts(tcp)
    end = max([una + (flight - 1) * MSS, *sent]) + MSS
    tcp.send("A", ack=end)
    una, left = end, len(firsts(tcp))
    begun_at = at = None
    for _ in range(12):
        tcp.offer(bytes(left * MSS))
        una, sent = round_trip(tcp, una, left)
        left, now = len(sent), tcp.info["cwnd"]
        if at is not None:
            tcp.check("growth", True, 0 <= now - at <= MSS)
        elif now >= tcp.info["ssthresh"]:
            begun_at = now
        at = now if begun_at else None
    tcp.check("grown", True, begun_at is not None and at > begun_at).ignore_rest()


#= rfc5681#4.1
## 5681:CC-25 after idle time longer than the RTO, the restart window
@pytest.mark.parametrize("idle,limited", [("500ms", False), ("2s", True)])
def test_idle(tcp, idle, limited):
    tcp.established(options=[("MSS", MSS)]).write(64_000)
    una, flight = 1, len(firsts(tcp))
    while flight:
        una, sent = round_trip(tcp, una, flight)
        flight = len(sent)
    tcp.check("cwnd", True, tcp.info["cwnd"] > 10 * MSS)
    tcp.advance(idle).write(30_000)
    sent = len(firsts(tcp))
    tcp.check("burst", True, sent == 4 if limited else sent > 10).ignore_rest()


#= rfc5681#2
## 5681:CC-1, 5681:CC-32 never more than the smaller of cwnd and window
@pytest.mark.parametrize("window", [2000, 3000, 65535])
def test_smaller_of_both(tcp, window):
    una, flight = 1, len(firsts(begun(tcp, window=window)))
    tcp.check("flight", min(4, window // MSS), flight)
    for _ in range(4):
        tcp.advance("100ms")
        for _ in range(flight):
            una += MSS
            tcp.send("A", ack=una, window=window)
        sent = firsts(tcp)
        flight = len(sent)
        tcp.check("flight", True, flight * MSS <= window)
    tcp.ignore_rest()


#= rfc5681#3.1
## 5681:CC-3 no more than four segments, also of a small MSS (RFC 6928: ten)
@pytest.mark.parametrize("mss", [64, 100])
def test_initial_window_of_a_small_mss(tcp, mss):
    tcp.established(options=[("MSS", mss)]).offer(bytes(20_000))
    tcp.check("segments", True, len(tcp.drain()) <= 4).ignore_rest()
