# Resets and the blind attacks of RFC 5961: what ends a connection, and what only draws an ACK.
import pytest
from scapy.layers.inet import TCP

STATES = ("established", "fin_wait_1", "fin_wait_2", "close_wait", "closing", "last_ack")


#= rfc9293#3.10.7.4
## 9293:P-RST-SYNC a reset at RCV.NXT is valid, with or without ACK
#= rfc5961#3.2
## 5961:BLIND-2, 5961:BLIND-8 and only there
@pytest.mark.parametrize("flags", ["R", "RA"])
@pytest.mark.parametrize("state", STATES)
def test_reset_at_the_edge(tcp, state, flags):
    getattr(tcp, state)().send(flags).expect_state("CLOSED").expect_silence("10m")


#= rfc9293#3.5.3
## 9293:SHLD-2 a reset may carry data
@pytest.mark.parametrize("state", STATES)
def test_reset_with_text(tcp, state):
    getattr(tcp, state)().send("R", payload=b"no such user")
    tcp.expect_state("CLOSED").expect_silence("10m")


#= rfc5961#3.2
## 5961:BLIND-3 inside the window: a challenge ACK
## 5961:BLIND-14 and nothing else: the next segment is processed normally
#= rfc5961#4.2
## 5961:BLIND-13 the reset that answers it is valid
@pytest.mark.parametrize("distance", [1, 2, 1000, "last"])
def test_reset_guessed(tcp, distance):
    tcp.established()
    last = tcp.device_window - 1
    distance = last if distance == "last" else distance
    tcp.send("R", seq=1 + distance).expect("A", seq=1, ack=1)
    tcp.expect_state("ESTABLISHED")
    tcp.send("PA", seq=1, payload=b"on").expect("A", within="499ms", ack=3)
    tcp.send("R", seq=1 + distance + 2 if distance < last - 1 else 2000).expect("A", seq=1, ack=3)
    tcp.send("R", seq=3).expect_state("CLOSED").expect_event("closed:reset")


#= rfc5961#3.2
## 5961:BLIND-1 outside of the window: silence
@pytest.mark.parametrize("seq", [0, -1, -70_000, 65536, 65537, 1 << 30, -(1 << 30)])
def test_reset_outside(tcp, seq):
    tcp.established().send("R", seq=seq).expect_silence("3s").expect_state("ESTABLISHED")


#= rfc5961#4.2
## 5961:BLIND-5 a SYN draws a challenge ACK, whatever its sequence number
## 5961:BLIND-11 instead of a reset
#= rfc9293#3.10.7.4
## 9293:P-SYN-INWIN SEQ is SND.NXT, ACK is RCV.NXT
@pytest.mark.parametrize("seq", [0, 1, 2, 30_000, 65535, 65536, -70_000, 1 << 30])
@pytest.mark.parametrize("flags", ["S", "SA", "SP", "SF"])
def test_syn_anywhere(tcp, flags, seq):
    tcp.established().write(b"sent").expect("PA", seq=1)
    tcp.send("A", ack=5)
    tcp.send(flags, seq=seq).expect("A", seq=5, ack=1, length=0)
    tcp.expect_state("ESTABLISHED").expect_silence("3s")


#= rfc5961#5.2
## 5961:BLIND-6 an ACK older than the largest window
## 5961:BLIND-9 is dropped with its data, and answered
#= rfc9293#3.10.7.4
## 9293:MAY-12 the stricter range
## 9293:P-ACK-MAXWND of the largest window ever advertised
@pytest.mark.parametrize("largest", [1000, 65535])
def test_text_with_an_old_ack(tcp, largest):
    tcp.established(window=largest)
    tcp.send("PA", ack=1 - largest, payload=b"good").expect("A", within="499ms", ack=5)
    tcp.send("PA", ack=1 - largest - 1, payload=b"evil").expect("A", seq=1, ack=5)
    tcp.expect_silence("1s").expect_read(b"good")


#= rfc9293#3.10.7.4
## 9293:P-ACK-FUTURE an ACK of data that was not sent: an ACK, and its data is dropped
@pytest.mark.parametrize("ahead", [1, 1000, 1 << 30])
@pytest.mark.parametrize("state", ["established", "fin_wait_2", "close_wait"])
def test_ack_of_unsent(tcp, state, ahead):
    getattr(tcp, state)()
    nxt, before = tcp.device_nxt, tcp.peer_nxt
    tcp.send("PA", ack=nxt + ahead, payload=b"evil").expect("A", seq=nxt, ack=before, length=0)
    tcp.expect_silence("3s")
    tcp.check("read", b"", tcp.read())


#= rfc5961#7
## 5961:BLIND-7 challenge ACKs are limited
## 5961:BLIND-12 to a configured number
## 5961:BLIND-15 per second
@pytest.mark.stack(challenges_per_second=10)
def test_challenges_are_limited(tcp):
    tcp.established()
    for _ in range(10):
        tcp.send("R", seq=100).expect("A", seq=1, ack=1)
    for _ in range(10):
        tcp.send("R", seq=100)
    tcp.expect_silence("999ms")
    tcp.advance("1s").send("R", seq=100).expect("A", seq=1, ack=1)
    tcp.send("R", seq=1).expect_state("CLOSED")


#= rfc9293#3.4
## 9293:MUST-66 with a zero window resets are processed
#= rfc9293#3.10.7.4
## 9293:P-ZEROWND-ACCEPT and so are ACKs
@pytest.mark.stack(receive_buffer_bytes=1000)
def test_reset_at_zero_window(tcp):
    tcp.established()
    tcp.send("PA", payload=1000).expect("A", within="499ms", ack=1001, window=0)
    tcp.write(b"sent").expect("PA", seq=1)
    tcp.send("A", ack=5).expect_silence("3s")
    tcp.send("R").expect_state("CLOSED")


#= rfc9293#3.10.7.4
## 9293:P-SYN-793 by RFC 793: a SYN in the window draws a reset and ends the connection
@pytest.mark.stack(reset_policy="rfc793")
def test_syn_of_rfc793(tcp):
    tcp.established().send("S", seq=100).expect("RA", ack=101)
    tcp.expect_state("CLOSED").expect_event("closed:reset")


#= rfc9293#3.10.7.4
## 9293:P-RST-EST by RFC 793: any reset in the window ends the connection
@pytest.mark.stack(reset_policy="rfc793")
@pytest.mark.parametrize("seq", [1, 2, 65535])
def test_reset_of_rfc793(tcp, seq):
    tcp.established().send("R", seq=seq).expect_state("CLOSED").expect_silence("3s")


#= rfc9293#3.10.5
## 9293:P-ABORT <SEQ=SND.NXT><CTL=RST>
## 9293:P-ABORT-FLUSH and nothing after it
@pytest.mark.parametrize(
    "state", ["syn_received_active", "established", "fin_wait_1", "fin_wait_2", "close_wait"]
)
def test_abort_says_so(tcp, state):
    if state == "syn_received_active":
        tcp.syn_received(active=True)
    else:
        getattr(tcp, state)()
    nxt = tcp.device_nxt
    reset = tcp.abort().drain()
    tcp.check("packets", 1, len(reset))
    tcp.check("RST", True, "R" in str(reset[0][TCP].flags))
    tcp.check("SEQ", nxt, (reset[0][TCP].seq - tcp.device_iss) % (1 << 32))
    tcp.expect_state("CLOSED").expect_silence("10m").expect_event("closed:aborted")


#= rfc9293#3.10.5
## 9293:P-ABORT-CLOSING in these states the connection is deleted and nothing is sent
## 9293:P-ABORT-SYNSENT also in SYN-SENT
@pytest.mark.parametrize("state", ["syn_sent", "closing", "last_ack"])
def test_abort_in_silence(tcp, state):
    getattr(tcp, state)().abort().expect_state("CLOSED").expect_silence("10m")


#= rfc9293#3.5.2
## 9293:P-RST-SEQ without a connection, every segment except a reset draws a reset
#= rfc9293#3.10.7.1
## 9293:P-CLOSED-RST and a reset draws none, so there is no loop
@pytest.mark.parametrize("flags", ["S", "A", "SA", "FA", "PA", "F", "P", "UA"])
def test_reset_of_a_reset(tcp, flags):
    reply = tcp.send(flags, seq=10, ack=20, payload=b"x" * ("P" in flags))
    packet = reply.drain()[0]
    tcp.check("RST", True, "R" in str(packet[TCP].flags))
    tcp.check("SEQ", (0x1000_0000 + 20) if "A" in flags else 0, packet[TCP].seq)
    back = tcp.segment("R", seq=11, ack=0)
    tcp.inject(back).expect_silence("3s")
