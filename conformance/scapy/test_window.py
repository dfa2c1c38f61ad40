# The peer's window: how much is sent, Nagle, silly window avoidance, shrinking and zero windows.
import pytest
from scapy.layers.inet import TCP


def numbers(tcp):
    """The first sequence numbers of the segments sent so far."""
    return [(packet[TCP].seq - tcp.device_iss) % (1 << 32) for packet in tcp.drain()]


def open_with(tcp, window, mss=1000):
    return tcp.established(window=window, options=[("MSS", mss)])


def sent(tcp):
    """How many octets of data were sent so far, in however many segments."""
    return sum(len(bytes(packet[TCP].payload)) for packet in tcp.drain())


def filled(tcp, window, octets):
    """A connection whose program has written more than the window, which is full."""
    open_with(tcp, window).write(octets)
    return tcp.check("filled", window, sent(tcp))


#= rfc9293#3.8.6
## 9293:P-WND-FIT no more than the window allows
#= rfc5681#2
## 5681:CC-1 not an octet beyond it
@pytest.mark.parametrize("window", [1000, 1500, 2000])
def test_not_beyond_the_window(tcp, window):
    open_with(tcp, window).write(5000)
    tcp.check("sent", True, window - 999 <= sent(tcp) <= window)
    tcp.expect_silence("900ms").ignore_rest()


#= rfc9293#3.7.4
## 9293:SHLD-7 while data is in flight a small segment waits
## 9293:P-NAGLE with or without PSH
def test_nagle(tcp):
    open_with(tcp, 65535).write(b"a").expect("PA", seq=1, payload=b"a")
    tcp.write(b"b").write(b"c").expect_silence("900ms")
    tcp.send("A", ack=2).expect("PA", seq=2, payload=b"bc")


#= rfc9293#3.7.4
## 9293:P-NAGLE but a full one is sent
#= rfc9293#3.9.1.2
## 9293:SHLD-28 segments are as large as possible
## 9293:SHLD-27 and earlier pushed data is one segment, pushed once
def test_nagle_full_segment(tcp):
    open_with(tcp, 65535).write(b"a").expect("PA", seq=1)
    for _ in range(10):
        tcp.write(100)
    tcp.expect(seq=2, length=1000)
    tcp.ignore_rest()


#= rfc9293#3.7.4
## 9293:MUST-17 the program turns Nagle off
def test_nagle_off(tcp):
    open_with(tcp, 65535)
    tcp.target.set(tcp.connection, "nagle", 0)
    for seq, text in ((1, b"a"), (2, b"b"), (3, b"c")):
        tcp.write(text).expect("PA", seq=seq, payload=text)
    tcp.ignore_rest()


#= rfc9293#3.9.1.2
## 9293:MUST-61 the segment that empties the queue has PSH
## 9293:MUST-60 and no data waits for a push
def test_push(tcp):
    open_with(tcp, 65535).write(2500)
    tcp.expect("A", seq=1, length=1000)
    tcp.expect("A", seq=1001, length=1000)
    if tcp.peek() is None:  # Nagle has delayed the rest
        tcp.expect_silence("100ms").send("A", ack=2001)
    tcp.expect("PA", seq=2001, length=500)
    tcp.ignore_rest()


#= rfc9293#3.8.6.2.1
## 9293:MUST-38 a window that opens a little is not used
## 9293:P-SWS-SEND-FRAC one of half the largest window is
@pytest.mark.parametrize("more,used", [(100, 0), (499, 0), (500, 500)])
def test_silly_window_of_the_sender(tcp, more, used):
    filled(tcp, 1000, 5000)
    tcp.send("A", ack=1001, window=more)
    tcp.check("sent", used, sent(tcp))
    tcp.ignore_rest()


#= rfc9293#3.8.6.2.1
## 9293:P-SWS-SEND-OVERRIDE after the override timeout it is used all the same
def test_override(tcp):
    filled(tcp, 1000, 5000)
    tcp.send("A", ack=1001, window=100)
    packet = tcp.expect(within="1s", seq=1001, length=100)
    del packet
    tcp.ignore_rest()


#= rfc9293#3.8.6.1
## 9293:MUST-36 a zero window is probed
## 9293:SHLD-29 first after one timeout
## 9293:SHLD-30 then after twice as long each time
## 9293:P-ZWP-SEND with an octet of data
#= rfc9293#3.8.6
## 9293:MUST-35 also if it was shrunk to zero
def test_probing(tcp):
    filled(tcp, 1000, 3000)
    tcp.send("A", ack=1001, window=0)
    for wait in (1, 2, 4, 8, 16, 32, 60, 60):
        packet = tcp.expect(at=f"{wait}s", seq=1001)
        tcp.check("octets", True, len(bytes(packet[TCP].payload)) <= 1)
        tcp.send("A", ack=1001, window=0)
    tcp.expect_state("ESTABLISHED").ignore_rest()


#= rfc9293#3.8.6.1
## 9293:MUST-37 for as long as the probes are answered
def test_probing_for_hours(tcp):
    filled(tcp, 1000, 3000)
    tcp.send("A", ack=1001, window=0)
    for _ in range(130):
        tcp.expect(within="61s", seq=1001)
        tcp.send("A", ack=1001, window=0)
    tcp.check("hours", True, tcp.target.now() - tcp.start > 2 * 3600 * 10**9)
    tcp.expect_state("ESTABLISHED").send("A", ack=1001, window=1000).expect(seq=1001)
    tcp.ignore_rest()


#= rfc9293#3.10.7.4
## 9293:P-WND-UPDATE a window that opens is used at once
def test_window_opens(tcp):
    filled(tcp, 1000, 2000)
    tcp.send("A", ack=1001, window=0).expect_silence("500ms")
    tcp.send("A", ack=1001, window=1000).check("filled", 1000, sent(tcp))
    tcp.ignore_rest()


#= rfc9293#3.10.7.4
## 9293:P-WND-UPDATE the window of an older segment is ignored
@pytest.mark.parametrize("seq,ack", [(1, 1), (2, 1), (1, 1001)])
def test_window_of_an_old_segment(tcp, seq, ack):
    open_with(tcp, 1000)
    tcp.send("PA", payload=b"xyz", window=1000).expect("A", within="499ms", ack=4)
    tcp.write(2000)
    tcp.check("filled", 1000, sent(tcp))
    tcp.send("PA", seq=4, ack=1001, window=0, payload=b"!").expect("A", within="499ms", ack=5)
    tcp.send("PA", seq=seq, ack=ack, window=65535, payload=b"xyz!"[seq - 1:])
    tcp.expect("A", ack=5, length=0)
    tcp.expect_silence("400ms").ignore_rest()


#= rfc9293#3.8.6
## 9293:MUST-34 a window that shrinks is tolerated
## 9293:SHLD-15 no new data is sent beyond it
## 9293:SHLD-16 data inside it is retransmitted normally
## 9293:SHLD-17 and data outside it does not end the connection
def test_window_shrinks(tcp):
    open_with(tcp, 4000).write(6000)
    for seq in (1, 1001, 2001):
        tcp.expect(seq=seq, length=1000)
    tcp.drain()
    tcp.send("A", ack=1001, window=1000)
    tcp.check("new", True, all(number < 4001 for number in numbers(tcp)))
    # The peer reads nothing for ten minutes, but answers the probes.
    for _ in range(60):
        tcp.advance("10s").drain()
        tcp.send("A", ack=1001, window=0)
    tcp.expect_state("ESTABLISHED")
    tcp.send("A", ack=1001, window=5000).advance("200s")
    tcp.check("again", True, 1001 in numbers(tcp))
    tcp.ignore_rest()


#= rfc9293#3.4
## 9293:P-ACK-ACCEPTABLE an ACK of data in flight advances SND.UNA
## 9293:P-ACK-CUMUL and acknowledges everything before it
@pytest.mark.parametrize("ack", [2, 500, 1001, 2001])
def test_ack_moves(tcp, ack):
    open_with(tcp, 65535).write(2000)
    tcp.drain()
    tcp.send("A", ack=ack)
    tcp.check("SND.UNA", ack, (tcp.info["snd_una"] - tcp.device_iss) % (1 << 32))
    tcp.ignore_rest()


#= rfc9293#3.8.5
## 9293:MUST-30 urgent data has URG and a pointer
## 9293:MUST-62 to the octet after it
#= rfc9293#3.10.2
## 9293:P-SEND-URG
def test_urgent_sent(tcp):
    open_with(tcp, 10)
    tcp.write(b"0123456789").expect("PA", seq=1)
    tcp.write(b"urgent")
    tcp.target.urgent(tcp.connection)
    tcp.send("A", ack=11, window=1000)
    packet = tcp.expect("PAU", seq=11, payload=b"urgent")
    tcp.check("pointer", 6, packet[TCP].urgptr)
    tcp.ignore_rest()


def held(tcp):
    """Two segments of 500 octets fill a window of 1,000; nothing else waits."""
    tcp.established(window=1000, options=[("MSS", 500)]).write(1000)
    tcp.expect(seq=1, length=500)
    tcp.expect(seq=501, length=500)
    return tcp


#= rfc9293#3.8.6
## 9293:MUST-34 data beyond an edge that has moved left is retransmitted when the window opens again
def test_shrunk_to_zero_and_opened(tcp):
    held(tcp).send("A", seq=1, ack=501, window=0).advance("500ms")
    tcp.drain()
    tcp.send("A", seq=1, ack=501, window=1000).advance("10m")
    again = [(packet[TCP].seq - tcp.device_iss) % (1 << 32) for packet in tcp.drain()]
    tcp.check("again", True, 501 in again).ignore_rest()


#= rfc9293#3.8.6
## 9293:MUST-35 a window that shrinks to zero is probed, with a segment that draws an answer
@pytest.mark.parametrize("ack", [1, 501])
def test_shrunk_to_zero_is_probed(tcp, ack):
    held(tcp).send("A", seq=1, ack=ack, window=0).advance("10s")
    octets = [len(bytes(packet[TCP].payload)) for packet in tcp.drain()]
    tcp.check("probes", True, any(octets)).ignore_rest()


#= rfc9293#3.10.7.4
## 9293:P-WND-UPDATE the window of an overtaken segment is ignored
def test_window_of_an_overtaken_segment(tcp):
    tcp.established(window=1000, options=[("MSS", 500)]).write(2000)
    tcp.drain()
    tcp.send("PA", seq=101, ack=1001, window=0, payload=100).expect("A", ack=1)
    tcp.send("PA", seq=1, ack=1001, window=1000, payload=100).advance("400ms")
    tcp.check("data", 0, sum(len(bytes(packet[TCP].payload)) for packet in tcp.drain()))
    tcp.ignore_rest()
