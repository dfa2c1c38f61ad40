# Arriving data: ACKs and when they are sent, order, overlaps, the receive window, urgent data.
import pytest
from packet_kit import link_mss
from scapy.layers.inet import TCP

from lockstep.testing import Timing


#= rfc9293#3.8.6.3
## 9293:SHLD-18 an ACK is delayed
## 9293:MUST-40 by less than half a second
#= rfc5681#4.2
## 5681:CC-26, 5681:CC-37 but no longer than that
@pytest.mark.parametrize("length", [1, 100, 535])
def test_delayed_ack(tcp, length):
    tcp.established().send("PA", payload=length)
    due = {"at": "200ms", "timing": Timing.DELAYED_ACK}
    tcp.expect("A", **due, seq=1, ack=1 + length, length=0)
    tcp.expect_silence("10s")


#= rfc9293#3.8.6.3
## 9293:SHLD-19 every second full segment is acknowledged at once
#= rfc5681#4.2
## 5681:CC-27, 5681:CC-43
def test_every_second_segment(tcp):
    full = link_mss(tcp)
    tcp.established()
    for number in range(0, 6, 2):
        tcp.send("A", seq=1 + full * number, payload=full)
        held_back(tcp, "100ms")
        tcp.send("A", seq=1 + full * (number + 1), payload=full)
        tcp.expect("A", ack=1 + full * (number + 2))
    tcp.expect_silence("10s")


def held_back(tcp, duration):
    """Our stack delays the ACK by this much; sending it at once is also allowed."""
    if tcp.target.exact:
        tcp.expect_silence(duration)
    else:
        tcp.skip_bare_ack()


#= rfc5681#4.2
## 5681:CC-28 at most one ACK for each segment
def test_no_more_acks_than_segments(tcp):
    tcp.established()
    for number in range(8):
        tcp.send("PA", seq=1 + 100 * number, payload=100)
    tcp.advance("1s")
    tcp.check("ACKs", True, 1 <= len(tcp.drain()) <= 8)


#= rfc9293#3.10.7.4
## 9293:P-TEXT-PIGGY data written in the meantime carries the ACK
def test_ack_rides_on_text(tcp):
    tcp.established().send("PA", payload=b"question")
    held_back(tcp, "100ms")
    tcp.write(b"answer").expect("PA", seq=1, ack=9, payload=b"answer")
    tcp.send("A").expect_silence("10s")


#= rfc5681#3.2
## 5681:CC-14 data above a gap draws an ACK at once
#= rfc9293#3.8.6.3
## 9293:P-DELACK-OOO
#= rfc9293#3.10.7.4
## 9293:SHLD-31 and is queued
def test_above_a_gap(tcp):
    tcp.established()
    for number in (2, 3, 4):
        tcp.send("A", seq=1 + 100 * number, payload=pattern_at(100 * number, 100))
        tcp.expect("A", seq=1, ack=1, length=0)
    tcp.send("A", seq=1, payload=pattern_at(0, 200)).expect("A", seq=1, ack=501)
    tcp.expect_read(500).expect_silence("10s")


def pattern_at(begin, length):
    """A part of the pattern that expect_read() verifies."""
    return bytes((begin + i) % 251 for i in range(length))


#= rfc5681#3.2
## 5681:CC-15 a segment that fills a gap, or part of one, is acknowledged at once
@pytest.mark.parametrize("filled", [1, 50, 100])
def test_gap_is_filled(tcp, filled):
    tcp.established()
    tcp.send("A", seq=101, payload=pattern_at(100, 100)).expect("A", ack=1)
    tcp.send("A", seq=1, payload=pattern_at(0, filled))
    tcp.expect("A", ack=201 if filled == 100 else 1 + filled)


#= rfc9293#3.10.7.4
## 9293:P-ACCEPT-REPLY duplicate data draws an ACK at once
@pytest.mark.parametrize("again", [(1, 100), (51, 50), (100, 1)])
def test_text_again(tcp, again):
    begin, length = again
    tcp.established().send("A", payload=100).expect("A", within="499ms", ack=101)
    tcp.send("A", seq=begin, payload=length).expect("A", seq=1, ack=101, length=0)
    tcp.expect_read(100).expect_silence("10s")


#= rfc9293#3.10.7.4
## 9293:P-SEQ-ORDER of partly old data only the new part is accepted
#= rfc9293#3.10
## 9293:P-EV-OVERLAP the octets that arrived first stay
@pytest.mark.parametrize("begin", [1, 50, 100])
def test_old_and_new(tcp, begin):
    tcp.established().send("A", payload=100).expect("A", within="499ms", ack=101)
    other = b"\xff" * (101 - begin) + pattern_at(100, 50)
    tcp.send("A", seq=begin, payload=other).expect("A", within="499ms", ack=151)
    tcp.expect_read(150)


#= rfc9293#3.10
## 9293:P-EV-OVERLAP also above a gap
@pytest.mark.parametrize("shift", [-30, 0, 30])
def test_overlaps_above_a_gap(tcp, shift):
    tcp.established()
    tcp.send("A", seq=201, payload=pattern_at(200, 100)).expect("A", ack=1)
    tcp.send("A", seq=201 + shift, payload=pattern_at(200 + shift, 100)).expect("A", ack=1)
    tcp.send("A", seq=1, payload=pattern_at(0, 200))
    tcp.expect("A", ack=301 + max(shift, 0))
    tcp.expect_read(300 + max(shift, 0))


#= rfc9293#3.8.6
## 9293:P-WND-OVERRUN data beyond the window is not accepted
#= rfc9293#3.10.7.4
## 9293:P-ACCEPT-TRIM it is trimmed
@pytest.mark.stack(receive_buffer_bytes=1000)
@pytest.mark.parametrize("length", [1001, 1400])
def test_beyond_the_window(tcp, length):
    tcp.established(options=[("MSS", 1460)])
    tcp.send("PA", payload=length).expect("A", within="499ms", ack=1001, window=0)
    tcp.expect_read(1000).ignore_rest()


#= rfc9293#3.10.7.4
## 9293:P-TEXT-RCVNXT the window follows the free buffer; its right edge never moves left
#= rfc9293#3.8.6
## 9293:SHLD-14
@pytest.mark.stack(receive_buffer_bytes=4000)
def test_right_edge(tcp):
    tcp.established()
    edge = 0
    for number in range(6):
        tcp.send("A", seq=1 + 500 * number, payload=pattern_at(500 * number, 500))
        tcp.advance("300ms")
        for packet in tcp.drain():
            now = (packet[TCP].ack - tcp.peer_iss) + packet[TCP].window
            tcp.check("edge", True, now % (1 << 32) >= edge)
            edge = now % (1 << 32)
        if number == 3:
            tcp.expect_read(2000)


#= rfc9293#3.8.6.1
## 9293:P-ZWP-REPLY a zero-window probe draws an ACK with the window
## 9293:MAY-8 which may stay zero for as long as the program does not read
#= rfc9293#3.10.7.4
## 9293:P-ACCEPT-LNW0 the probe's octet is not accepted
@pytest.mark.stack(receive_buffer_bytes=1000)
def test_probed(tcp):
    tcp.established()
    tcp.send("PA", payload=1000).expect("A", within="499ms", ack=1001, window=0)
    for wait in ("1s", "10s", "60s", "1h"):
        tcp.expect_silence(wait)
        tcp.send("A", seq=1001, payload=b"?").expect("A", seq=1, ack=1001, window=0)
        tcp.peer_nxt = 1001
    tcp.expect_state("ESTABLISHED").expect_read(1000)
    tcp.expect("A", ack=1001, window=1000)


#= rfc9293#3.8.6.2.2
## 9293:MUST-39 a window that has opened a little is not advertised
## 9293:P-SWS-RCV one of half the buffer or one segment is
@pytest.mark.stack(receive_buffer_bytes=1000)
def test_silly_window_of_the_receiver(tcp):
    tcp.established(options=[("MSS", 536)])
    tcp.send("PA", payload=1000).expect("A", within="499ms", ack=1001, window=0)
    tcp.check("read", 400, len(tcp.read(400))).expect_silence("5s")
    tcp.check("read", 200, len(tcp.read(200)))
    packet = tcp.expect("A", ack=1001)
    tcp.check("window", True, packet[TCP].window >= 500)


#= rfc9293#3.8.5
## 9293:MUST-30 the program is notified of urgent data
## 9293:MUST-62 the pointer gives the octet after it
## 9293:MUST-31 at any distance
@pytest.mark.parametrize("pointer", [1, 4, 5, 65535])
def test_urgent(tcp, pointer):
    tcp.established().send("PUA", payload=b"text", urgent=pointer)
    tcp.expect("A", within="499ms", ack=5)
    tcp.expect_event("urgent")
    tcp.expect_read(b"text")


#= rfc9293#3.8.5
## 9293:MUST-32 each advance of the pointer is notified
#= rfc9293#3.10.7.4
## 9293:P-URG-NOREPEAT the same pointer is not notified twice
def test_urgent_advances(tcp):
    tcp.established()
    for urgent, times in ((10, 1), (6, 1), (20, 2)):
        at = tcp.peer_nxt
        tcp.send("UPA", payload=b"word", urgent=urgent, seq=at).advance("300ms").drain()
        tcp.check("events", times, tcp.events.count("urgent"))


#= rfc9293#3.4
## 9293:P-ZEROWND-SEND with a zero receive window we can send and process ACKs
@pytest.mark.stack(receive_buffer_bytes=1000)
def test_sending_with_a_closed_window(tcp):
    tcp.established().send("PA", payload=1000).expect("A", within="499ms", window=0)
    tcp.write(b"text").expect("PA", seq=1, payload=b"text", window=0)
    tcp.send("A").expect_silence("10s")


#= rfc9293#3.4
## 9293:P-SEQ-MOD all of this across 2^32
@pytest.mark.parametrize("before", [0, 1, 2, 100, 499])
def test_across_the_wrap(tcp, before):
    tcp.peer_iss = (1 << 32) - 1 - before
    tcp.established()
    for number in range(5):
        tcp.send("PA", seq=1 + 100 * number, payload=pattern_at(100 * number, 100))
    tcp.advance("500ms").drain()
    tcp.expect_read(500)


#= rfc9293#3.10.7.4
## 9293:P-ACK-OFF data without ACK is dropped
@pytest.mark.parametrize("flags", ["P", "F", "U"])
def test_text_without_ack(tcp, flags):
    tcp.established().send(flags, seq=1, payload=b"text").expect_silence("3s")
    tcp.check("read", b"", tcp.read()).expect_state("ESTABLISHED")


#= rfc9293#3.8
## 9293:P-ACK-ALWAYS every segment carries the current ACK
def test_ack_in_every_segment(tcp):
    tcp.established(options=[("MSS", 500)])
    tcp.send("PA", payload=b"12345").skip_bare_ack().write(1500)
    for number in range(3):
        tcp.expect(seq=1 + 500 * number, ack=6, length=500)
    tcp.finish().expect("FA", ack=6)
    tcp.ignore_rest()


#= rfc9293#3.10.7.4
## 9293:MAY-13 a segment in the window beyond RCV.NXT is answered by an ACK of RCV.NXT
## 9293:SHLD-31 and queued until the gap is filled
@pytest.mark.parametrize("gap", [1, 100, 60_000])
@pytest.mark.parametrize("flags", ["PA", "FA"])
def test_kept_above_a_gap(tcp, gap, flags):
    text = bytes(i % 251 for i in range(gap)) + b"late"
    tcp.established(options=[("MSS", 1460)])
    tcp.send(flags, seq=1 + gap, payload=b"late").expect("A", seq=1, ack=1, length=0)
    tcp.expect_state("ESTABLISHED").check("read", b"", tcp.read())
    for begin in range(0, gap, 1400):
        tcp.send("A", seq=1 + begin, payload=text[begin : min(begin + 1400, gap)])
    tcp.advance("500ms")
    last = tcp.drain()[-1]
    tcp.check("ack", 1 + len(text) + (flags == "FA"), (last[TCP].ack - tcp.peer_iss) % (1 << 32))
    tcp.expect_read(text).expect_state("CLOSE-WAIT" if flags == "FA" else "ESTABLISHED")
    tcp.ignore_rest()


#= rfc9293#3.10.7.4
## 9293:P-TEXT-ACK data that an ACK has overtaken on the way is accepted
def test_text_overtaken_by_an_ack(tcp):
    tcp.established().write(b"sent").expect("PA", seq=1)
    tcp.send("A", seq=1, ack=5)
    tcp.send("PA", seq=1, ack=1, payload=b"text").expect("A", within="499ms", ack=5)
    tcp.expect_read(b"text")
