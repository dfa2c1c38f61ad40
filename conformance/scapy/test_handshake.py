# Opening: the figures of RFC 9293 3.5, lost SYNs, data and FIN on SYNs, and sequence numbers.
import pytest
from scapy.layers.inet import TCP

from lockstep.testing import Absolute


#= rfc9293#3.5
## 9293:P-3WHS figure 6, from the passive side
def test_three_ways_passive(tcp):
    tcp.listen()
    tcp.send("S").expect("SA", seq=0, ack=1)
    tcp.send("A").expect_state("ESTABLISHED").expect_silence("3s")
    tcp.accept()


#= rfc9293#3.5
## 9293:P-3WHS figure 6, from the active side
#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-EST which sends its ACK at once
def test_three_ways_active(tcp):
    tcp.syn_sent().send("SA", ack=1)
    tcp.expect("A", seq=1, ack=1)
    tcp.expect_state("ESTABLISHED").expect_silence("3s").expect_event("connected")


#= rfc9293#3.5
## 9293:MUST-10 figure 7: simultaneous open
## 9293:P-SIMOPEN-SEQ in four segments
@pytest.mark.parametrize("text", [b"", b"hello"])
def test_simultaneous_open(tcp, text):
    tcp.syn_sent().send("S").expect("SA", seq=0, ack=1)
    tcp.expect_state("SYN-RECEIVED")
    tcp.send("SA", seq=0, ack=1).expect_state("ESTABLISHED")
    if text:
        tcp.send("PA", seq=1, payload=text).expect("A", within="499ms", seq=1, ack=1 + len(text))
        tcp.expect_read(text)
    tcp.expect_silence("3s").expect_event("connected")


#= rfc9293#3.5
## 9293:P-OLDDUP-SYN figure 8: an old duplicate SYN is reset by the peer and does no harm
def test_old_duplicate_syn(tcp):
    tcp.listen().send("S", seq=-100).expect("SA", seq=0, ack=-99)
    tcp.send("R", seq=-99).expect_state("LISTEN").expect_silence("3s")
    tcp.send("S", seq=0).expect("SA", seq=0, ack=1)
    tcp.send("A").expect_state("ESTABLISHED")


#= rfc9293#3.5.1
## 9293:P-HALFOPEN-DATA figures 9 and 10: a host without the connection resets its segments
def test_half_open_text(tcp):
    tcp.send("PA", seq=300, ack=100, payload=b"text").expect("R", seq=100, length=0)


#= rfc9293#3.5.1
## 9293:P-HALFOPEN-PASSIVE figure 11: a SYN,ACK for a LISTEN draws a reset; the state stays
def test_half_open_passive(tcp):
    tcp.listen().send("SA", ack=100).expect("R", seq=100)
    tcp.expect_state("LISTEN")


#= rfc9293#3.5.1
## 9293:P-HALFOPEN-DATA figure 9: the SYN of a peer that has crashed; its reset frees the connection
#= rfc5961#4.2
## 5961:BLIND-13 by way of a challenge ACK
def test_half_open_recovered(tcp):
    tcp.established()
    tcp.send("S", seq=7000).expect("A", seq=1, ack=1)
    tcp.send("R", seq=1).expect_state("CLOSED").expect_event("closed:reset")


#= rfc9293#3.10.7.2
## 9293:P-LISTEN-SYN-QUEUE data on a SYN is queued
#= rfc9293#3.5
## 9293:P-SYNDATA-HOLD and reaches the program only in ESTABLISHED
def test_text_on_syn(tcp):
    tcp.listen()
    tcp.send("S", seq=0, payload=b"early")
    ack = tcp.expect("SA", seq=0)[TCP].ack
    acknowledged = (ack - tcp.peer_iss) % (1 << 32)
    tcp.check("ACK", True, acknowledged in (1, 6))  # of the SYN alone, or of its data as well
    tcp.send("A", seq=acknowledged, ack=1)
    if acknowledged == 1:
        tcp.send("PA", seq=1, payload=b"early")
    tcp.accept().advance("500ms").drain()
    tcp.expect_read(b"early")


#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-EST-CONT data on a SYN,ACK is accepted
## 9293:P-SYNSENT-SYNDATA where it is legal
def test_text_on_syn_ack(tcp):
    tcp.syn_sent().send("SA", ack=1, payload=b"early")
    tcp.expect("A", seq=1, ack=6)
    tcp.expect_read(b"early").expect_silence("1s")


#= rfc9293#3.10.7.4
## 9293:P-SYNRCVD-EST the ACK of our SYN may carry data
def test_text_on_the_third(tcp):
    tcp.syn_received().send("PA", payload=b"text").accept()
    tcp.expect("A", within="499ms", seq=1, ack=5)
    tcp.expect_read(b"text")


#= rfc9293#3.10.7.4
## 9293:P-FIN-EST or a FIN
def test_fin_on_the_third(tcp):
    tcp.syn_received().send("FA").accept()
    tcp.expect("A", within="499ms", seq=1, ack=2)
    tcp.expect_state("CLOSE-WAIT").expect_event("peer_finished")


#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-EST-CONT a FIN on a SYN,ACK
def test_fin_on_syn_ack(tcp):
    tcp.syn_sent().send("SFA", seq=0, ack=1)
    tcp.expect("A", seq=1, ack=2)
    tcp.expect_state("CLOSE-WAIT")


#= rfc9293#3.10.7.4
## 9293:P-FIN-PRESYNC a FIN alone neither opens nor closes anything
@pytest.mark.parametrize("state", ["closed", "listen", "syn_sent"])
def test_fin_before_it_can_be(tcp, state):
    getattr(tcp, state)()
    before = tcp.state
    tcp.send("F", seq=100)
    if state == "closed":
        tcp.expect("RA", seq=Absolute(0), ack=101)
    tcp.expect_silence("900ms").expect_state(before)


#= rfc9293#3.8.1
## 9293:MUST-18 a SYN is retransmitted after one second, then two, then four
#= rfc6298#2.1
## 6298:RTO-1 initially one second
## 6298:RTO-20 doubled each time
#= rfc6298#5
## 6298:RTO-14 and again
def test_syn_again(tcp):
    tcp.syn_sent()
    for wait in (1, 2, 4, 8, 16, 32):
        tcp.expect("S", at=f"{wait}s", seq=0, ack=Absolute(0))


#= rfc6298#5
## 6298:RTO-13 so is a SYN,ACK
## 6298:RTO-15 the timer restarts each time
def test_syn_ack_again(tcp):
    tcp.syn_received()
    for wait in (1, 2, 4, 8, 16, 32):
        tcp.expect("SA", at=f"{wait}s", seq=0, ack=1)


#= rfc9293#3.8.3
## 9293:MUST-23 a SYN is retransmitted for at least three minutes
## 9293:MUST-22 then the program is notified
## 9293:MUST-20 at R2
#= rfc9293#3.10.8
## 9293:P-USER-TIMEOUT and the connection is deleted
def test_syn_given_up(tcp):
    tcp.syn_sent().advance("179s").expect_state("SYN-SENT")
    tcp.advance("121s").drain()
    tcp.expect_state("CLOSED").expect_event("closed:timed_out")
    tcp.expect_silence("10m")


#= rfc9293#3.4.1
## 9293:MUST-8 a later connection starts at a later number
## 9293:SHLD-1 by the clock, for the same pair of endpoints
#= rfc6528#3
## 6528:ISN-1 one step per four microseconds
def test_initial_numbers_grow(tcp):
    syns = []
    for _ in range(5):
        tcp.connection = tcp.target.connect(tcp.port, tcp.peer_port)
        syns.append(tcp.expect("S"))
        tcp.send("RA", seq=0, ack=1).expect_state("CLOSED")
        tcp.advance("1s")
    tolerance = 0 if tcp.target.exact else 12_500  # 50 ms of clock steps
    for a, b in zip(syns, syns[1:]):
        due = round((b.time - a.time) * 1_000_000) // 4
        step = (b[TCP].seq - a[TCP].seq) % (1 << 32)
        tcp.check("step", due, due if abs(step - due) <= tolerance else step)


#= rfc9293#3.4.1
## 9293:MUST-9 numbers of other connections do not reveal it
def test_initial_numbers_of_others(tcp):
    tcp.listen()
    numbers = set()
    for port in range(6000, 6032):
        tcp.peer_port = port
        tcp.send("S", seq=0)
        numbers.add(tcp.expect("SA")[TCP].seq)
    ordered = sorted(numbers)
    near = sum((b - a) < 100_000 for a, b in zip(ordered, ordered[1:]))
    tcp.check("distinct", 32, len(numbers))
    tcp.check("neighbours", True, near <= 2)
    tcp.ignore_rest()


#= rfc9293#3.10.7.4
## 9293:P-SYNRCVD-ACK in SYN-RECEIVED an ACK of data that was not sent draws <SEQ=SEG.ACK><CTL=RST>
#= rfc9293#3.5.2
## 9293:P-RST-GRP2 and the state stays
@pytest.mark.parametrize("ack", [0, 2, -1, 100_000])
@pytest.mark.parametrize("active", [False, True])
def test_bad_ack_in_syn_received(tcp, ack, active):
    tcp.syn_received(active=active).send("A", ack=ack).expect("R", seq=ack)
    tcp.expect_state("SYN-RECEIVED").expect_silence("900ms")
    tcp.send("A", ack=1).expect_state("ESTABLISHED")


#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-ACK in SYN-SENT an unacceptable ACK draws a reset, and the attempt continues
@pytest.mark.parametrize("flags", ["A", "SA", "PA", "FA"])
@pytest.mark.parametrize("ack", [0, -1, 2, 70_000])
def test_bad_ack_in_syn_sent(tcp, flags, ack):
    tcp.syn_sent().send(flags, seq=100, ack=ack).expect("R", seq=ack, length=0)
    tcp.expect_state("SYN-SENT").expect_silence("900ms")
    tcp.send("SA", seq=0, ack=1).expect("A", seq=1, ack=1)


#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-RST a reset with an acceptable ACK: refused
def test_refused(tcp):
    tcp.syn_sent().send("RA", seq=0, ack=1)
    tcp.expect_state("CLOSED").expect_silence("3s").expect_event("closed:refused")


#= rfc9293#3.10.2
## 9293:P-SEND-PRE data written before ESTABLISHED waits
def test_write_before_established(tcp):
    tcp.syn_sent().write(b"early").expect_silence("900ms")
    tcp.send("SA", ack=1).skip_bare_ack()
    tcp.expect("PA", seq=1, ack=1, payload=b"early")
    tcp.ignore_rest()


#= rfc1122#4.2.2.20
## 1122:H-37 the window of a SYN,ACK applies at once
@pytest.mark.parametrize("window", [100, 250])
def test_window_of_syn_ack(tcp, window):
    tcp.established(active=True, window=window, options=[("MSS", 1000)])
    tcp.write(window).expect("PA", seq=1, length=window)
    tcp.write(1).expect_silence("900ms")
    tcp.ignore_rest()


#= rfc9293#3.9.1.1
## 9293:MUST-42 while other connections are in progress, one can listen
def test_many_at_once(tcp):
    tcp.listen()
    for port in (6001, 6002, 6003):
        tcp.peer_port, tcp.peer_nxt, tcp.device_nxt = port, 0, 0
        tcp.send("S").expect("SA", seq=0, ack=1)
        tcp.send("A").expect_state("ESTABLISHED")
