# Closing: figures 12 and 13 of RFC 9293, half-closed connections, lost FINs, TIME-WAIT.
import pytest
from scapy.layers.inet import TCP

MSL = 120


#= rfc9293#3.6
## 9293:P-NORMCLOSE figure 12, from the side that closes first
#= rfc9293#3.6.1
## 9293:MUST-13 which stays in TIME-WAIT for twice the MSL, to the nanosecond
#= rfc9293#3.10.8
## 9293:P-TW-TIMEOUT and then deletes the connection
def test_close_first(tcp):
    tcp.fin_wait_2().send("FA").expect("A", within="499ms", seq=2, ack=2)
    tcp.expect_state("TIME-WAIT").expect_silence(f"{2 * MSL}s")
    tcp.expect_state("CLOSED").expect_silence("10m")


#= rfc9293#3.6.1
## 9293:MUST-13 not a nanosecond earlier
def test_time_wait_lasts(tcp):
    tcp.time_wait().expect_silence("239999ms").expect_state("TIME-WAIT")
    tcp.expect_silence("1ms").expect_state("CLOSED")


#= rfc9293#3.6
## 9293:P-NORMCLOSE figure 12, from the other side
## 9293:P-CLOSE-NOAUTOFIN whose FIN waits until the program closes
def test_close_second(tcp):
    tcp.close_wait().expect_event("peer_finished").expect_silence("1h").expect_state("CLOSE-WAIT")
    tcp.finish().expect("FA", seq=1, ack=2)
    tcp.expect_state("LAST-ACK").send("A").expect_state("CLOSED").expect_event("closed:finished")


#= rfc9293#3.6
## 9293:P-SIMCLOSE figure 13: both close at once
def test_close_at_once(tcp):
    tcp.fin_wait_1().send("FA", ack=1).expect("A", within="499ms", seq=2, ack=2)
    tcp.expect_state("CLOSING").send("A").expect_state("TIME-WAIT").expect_silence("100s")


#= rfc9293#3.3.2
## 9293:P-FIG5-NOTE2 a FIN that acknowledges ours: TIME-WAIT at once
def test_fin_and_ack_of_fin(tcp):
    tcp.fin_wait_1().send("FA", ack=2).expect("A", within="499ms", seq=2, ack=2)
    tcp.expect_state("TIME-WAIT")


#= rfc9293#3.10.7.4
## 9293:P-TIMEWAIT-ACK a retransmitted FIN of the peer is acknowledged
## 9293:P-FIN-TW and restarts the 2 MSL timer
@pytest.mark.parametrize("after", ["1s", "100s", "239s"])
def test_fin_again_in_time_wait(tcp, after):
    tcp.time_wait().expect_silence(after)
    tcp.send("FA", seq=1, ack=2).expect("A", seq=2, ack=2)
    tcp.expect_silence("239999ms").expect_state("TIME-WAIT")
    tcp.expect_silence("1ms").expect_state("CLOSED")


#= rfc9293#3.10.7.4
## 9293:P-TIMEWAIT-ACK no other segment does
@pytest.mark.parametrize("flags", ["A", "PA", "FA"])
def test_nothing_else_restarts_time_wait(tcp, flags):
    tcp.time_wait().expect_silence("100s")
    tcp.send(flags, seq=2, ack=2, payload=b"x" * ("P" in flags)).expect_silence("140s")
    tcp.expect_state("CLOSED")


#= rfc9293#3.6.1
## 9293:MAY-2 a SYN beyond the old connection opens a new one
## 9293:P-TW-REUSE-ISN with an ISN beyond all the numbers that the old one used
#= rfc6191#2
## 6191:TW-6 and beyond the peer's FIN
@pytest.mark.parametrize("seq", [3, 1000, 1 << 30])
def test_time_wait_reopened(tcp, seq):
    tcp.time_wait()
    tcp.target.listen(tcp.port)
    old = tcp.device_iss + 2
    packet = tcp.send("S", seq=seq).expect("SA", ack=seq + 1)
    beyond = (packet[TCP].seq - old) % (1 << 32)
    tcp.check("ISN", True, 0 < beyond < 1 << 31)
    tcp.expect_state("SYN-RECEIVED").ignore_rest()


#= rfc6191#2
## 6191:TW-4 a SYN that is not beyond it opens nothing
@pytest.mark.parametrize("seq", [1, 0, -1000])
def test_time_wait_is_not_reopened(tcp, seq):
    tcp.time_wait()
    tcp.target.listen(tcp.port)
    tcp.send("S", seq=seq)
    said = [str(packet[TCP].flags) for packet in tcp.drain()]
    tcp.check("replies", True, said in ([], ["A"]))
    tcp.expect_state("TIME-WAIT")


#= rfc1337#3
## 1337:TW-5 if so configured, a reset does not end TIME-WAIT
## 1337:TW-8 not even the reset that our own ACK has drawn
@pytest.mark.stack(time_wait_ignores_reset=True)
def test_time_wait_not_assassinated(tcp):
    tcp.time_wait()
    tcp.send("PA", seq=-100, ack=1, payload=b"old").expect("A", seq=2, ack=2)
    tcp.send("R", seq=2).expect_silence("200s").expect_state("TIME-WAIT")


#= rfc9293#3.6
## 9293:P-CLOSE-SIMPLEX after our close we still receive
#= rfc9293#3.6.1
## 9293:P-HALFCLOSED and acknowledge what the peer sends
@pytest.mark.parametrize("state", ["fin_wait_1", "fin_wait_2"])
def test_half_closed_reads(tcp, state):
    getattr(tcp, state)()
    ack = tcp.device_nxt if state == "fin_wait_2" else 1
    tcp.send("PA", ack=ack, payload=b"more").expect("A", within="499ms", seq=2, ack=5)
    tcp.expect_read(b"more").ignore_rest()


#= rfc9293#3.6.1
## 9293:P-HALFCLOSED after the peer's close we can still send
#= rfc9293#3.10.2
## 9293:P-SEND-EST in CLOSE-WAIT
def test_half_closed_writes(tcp):
    tcp.close_wait().write(b"more").expect("PA", seq=1, ack=2, payload=b"more")
    tcp.send("A").finish().expect("FA", seq=5, ack=2)


#= rfc9293#3.10.4
## 9293:P-CLOSE-QUEUED the FIN follows the queued data
#= rfc9293#3.8
## 9293:P-CLOSE-PUSH which close() pushes
def test_fin_behind_text(tcp):
    tcp.established(window=1000, options=[("MSS", 500)])
    tcp.write(1200).expect("A", seq=1, length=500)
    tcp.expect("A", seq=501, length=500)
    tcp.finish().expect_silence("900ms").expect_state("FIN-WAIT-1", "ESTABLISHED")
    tcp.send("A", ack=1001).expect("FPA", seq=1001, length=200)
    tcp.expect_state("FIN-WAIT-1")


#= rfc9293#3.10.4
## 9293:P-CLOSE-QUEUED a window that ends within the last data: its first part has no FIN
@pytest.mark.parametrize("window", [1, 200, 499])
def test_fin_behind_divided_text(tcp, window):
    tcp.established(window=window, options=[("MSS", 536)])
    tcp.write(500).finish().advance("10s")
    ends = [(packet[TCP].seq - tcp.device_iss + len(packet[TCP].payload)) % (1 << 32)
            for packet in tcp.drain() if "F" in str(packet[TCP].flags)]
    tcp.check("ends of FINs", [], [end for end in ends if end < 501]).ignore_rest()


#= rfc9293#3.6
## 9293:P-CLOSE-DELIVER a FIN is retransmitted until it is acknowledged
#= rfc9293#3.4
## 9293:P-CTL-ONCE
#= rfc6298#5
## 6298:RTO-14 at intervals that double
@pytest.mark.parametrize("state", ["fin_wait_1", "closing", "last_ack"])
def test_fin_again(tcp, state):
    getattr(tcp, state)()
    ack = tcp.peer_nxt
    for wait in (1, 2, 4, 8):
        tcp.expect("FA", at=f"{wait}s", seq=1, ack=ack)
    tcp.send("A").expect_silence("60s")


#= rfc9293#3.6
## 9293:P-CLOSE-NOACK a FIN that is never acknowledged ends with the user timeout
@pytest.mark.parametrize("state", ["fin_wait_1", "last_ack"])
def test_fin_given_up(tcp, state):
    getattr(tcp, state)().advance("299s")
    tcp.check("gone", False, tcp.state == "CLOSED")
    tcp.advance("120s").drain()
    tcp.expect_state("CLOSED").expect_silence("10m")


#= rfc9293#3.6.1
## 9293:SHLD-3 closing with unread data sends a reset
## 9293:MAY-1 the half-duplex close
def test_close_with_unread_text(tcp):
    tcp.established().send("PA", payload=b"unread").expect("A", within="499ms", ack=7)
    tcp.close()
    packet = tcp.drain()[0]
    tcp.check("RST", True, "R" in str(packet[TCP].flags))
    tcp.expect_state("CLOSED").expect_silence("10m")


#= rfc9293#3.6.1
## 9293:SHLD-3 data that arrives after the close draws a reset
def test_text_after_close(tcp):
    tcp.established().close().expect("FA", seq=1, ack=1)
    tcp.send("PA", ack=2, payload=b"late")
    packet = tcp.drain()[0]
    tcp.check("RST", True, "R" in str(packet[TCP].flags))
    tcp.expect_state("CLOSED")


#= rfc9293#3.10.7.4
## 9293:P-FIN a FIN that arrives before earlier data waits for it
## 9293:SHLD-31 queued until the gap is filled
def test_fin_overtakes(tcp):
    tcp.established().send("FA", seq=5).expect("A", seq=1, ack=1)
    tcp.expect_state("ESTABLISHED")
    tcp.send("PA", seq=1, payload=b"text").expect("A", within="499ms", seq=1, ack=6)
    tcp.expect_state("CLOSE-WAIT").expect_read(b"text").expect_event("peer_finished")


#= rfc9293#3.10.7.4
## 9293:P-DATA-AFTER-FIN data beyond the FIN is ignored
@pytest.mark.parametrize("state", ["close_wait", "closing", "last_ack"])
def test_text_behind_the_fin(tcp, state):
    getattr(tcp, state)().send("PA", ack=1, payload=b"evil").expect_silence("900ms")
    tcp.check("read", b"", tcp.read()).ignore_rest()


#= rfc9293#3.4
## 9293:P-SEGLEN a FIN counts for the length of its segment
#= rfc9293#3.10.7.4
## 9293:P-ACCEPT-TRIM data that was received is trimmed off, and the FIN, which is new, is processed
def test_fin_behind_old_text(tcp):
    tcp.established().send("PA", ack=1, payload=b"text").expect("A", within="499ms", ack=5)
    tcp.send("FPA", seq=1, ack=1, payload=b"text").expect("A", within="499ms", ack=6)
    tcp.expect_state("CLOSE-WAIT").expect_read(b"text").expect_event("peer_finished")


#= rfc9293#3.6
## 9293:P-CLOSE-SIMPLEX a program that has closed goes on reading what was received
def test_text_is_read_after_time_wait(tcp):
    tcp.fin_wait_2()
    tcp.send("PA", ack=2, payload=b"text").expect("A", within="499ms", ack=5)
    tcp.send("FA", ack=2).expect("A", ack=6)
    tcp.expect_state("TIME-WAIT").advance("10m")
    tcp.check("read", b"text", tcp.read()).ignore_rest()


#= rfc9293#3.10.7.4
## 9293:P-URG-AFTERFIN so is urgent data
@pytest.mark.parametrize("state", ["close_wait", "closing", "last_ack"])
def test_urgent_behind_the_fin(tcp, state):
    getattr(tcp, state)().send("UA", ack=1, urgent=10).expect_silence("900ms")
    events = tcp.target.events(tcp.connection)
    tcp.check("urgent", False, events is not None and "urgent" in events)


#= rfc9293#3.10.4
## 9293:P-CLOSE-SYNRCVD closed before the handshake completes: the FIN follows it
def test_close_in_syn_received(tcp):
    tcp.syn_received(active=True).finish()
    fin = [packet for packet in tcp.drain() if "F" in str(packet[TCP].flags)]
    tcp.send("A", ack=1)
    fin += [packet for packet in tcp.drain() if "F" in str(packet[TCP].flags)]
    tcp.check("FIN", 1, len(fin)).expect_state("FIN-WAIT-1").ignore_rest()


#= rfc9293#3.10.4
## 9293:P-CLOSE-SYNSENT closed in SYN-SENT: deleted, and nothing is sent
def test_close_in_syn_sent(tcp):
    tcp.syn_sent().close().expect_state("CLOSED").expect_silence("10m")
    tcp.send("SA", seq=0, ack=1).expect("R", seq=1)


#= rfc9293#3.6
## 9293:P-CLOSE-SIGNAL the program is notified of the peer's close
## 9293:MUST-12 which it can tell from a reset
@pytest.mark.parametrize("how", ["FA", "R"])
def test_how_it_ended(tcp, how):
    tcp.established().send(how)
    tcp.advance("500ms").drain()
    tcp.expect_event("peer_finished" if how == "FA" else "closed:reset")


#= rfc9293#3.10.4
## 9293:P-CLOSE-SYNRCVD closed in SYN-RECEIVED: a SYN,ACK that was lost is sent again, then the FIN
def test_close_in_syn_received_again(tcp):
    tcp.syn_received(active=True).finish().advance("1500ms")
    again = tcp.drain()
    tcp.check("SYN", True, bool(again) and "S" in str(again[0][TCP].flags)).ignore_rest()
