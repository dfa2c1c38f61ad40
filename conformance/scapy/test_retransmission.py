# RFC 6298 and RFC 9293 3.8.1 to 3.8.4: the timeout and its estimate, giving up, keep-alive.
import pytest
from scapy.layers.inet import TCP

from lockstep.testing import Timing


def measured(tcp, *trips):
    """A handshake, then segments of one octet, each acknowledged after the given milliseconds."""
    tcp.syn_received().advance(f"{trips[0]}ms").send("A").accept()
    for number, trip in enumerate(trips[1:]):
        tcp.write(b"x").expect("PA", seq=1 + number)
        tcp.advance(f"{trip}ms").send("A", ack=2 + number)
    return tcp


def timeout_of(*trips, least=1_000_000_000, granularity=1_000_000):
    """RTO in nanoseconds after samples in milliseconds: RFC 6298 2.2 to 2.4, in exact fractions."""
    from fractions import Fraction

    srtt = var = None
    for trip in trips:
        sample = Fraction(trip * 1_000_000)
        if srtt is None:
            srtt, var = sample, sample / 2
        else:
            var = var * 3 / 4 + abs(srtt - sample) / 4
            srtt = srtt * 7 / 8 + sample / 8
    return max(srtt + max(granularity, 4 * var), least)


#= rfc6298#2.1
## 6298:RTO-1 one second before the first measurement
#= rfc6298#5
## 6298:RTO-13 the earliest segment is retransmitted
## 6298:RTO-14 after twice as long each time
## 6298:RTO-15 and the timer restarts
#= rfc6298#5.1
## 6298:RTO-22 the retransmission starts the timer if it was not running
#= rfc9293#3.10.8
## 9293:P-RTO
def test_backing_off(tcp):
    tcp.established().write(b"text").expect("PA", seq=1, payload=b"text")
    for wait in (1, 2, 4, 8, 16, 32, 64):
        tcp.expect("PA", at=f"{wait}s", seq=1, ack=1, payload=b"text")
    tcp.send("A").expect_silence("10m")


#= rfc6298#2.2
## 6298:RTO-2 the first sample: SRTT + 4 * R/2
@pytest.mark.parametrize("trip", [334, 400, 500, 999])
def test_first_sample(tcp, trip):
    if trip > 900:
        tcp.needs_virtual_time("an answer a millisecond before a timeout")
    measured(tcp, trip).write(b"y").expect("PA", seq=1)
    tcp.expect("PA", at=f"{max(3 * trip, 1000)}ms", seq=1)
    tcp.ignore_rest()


#= rfc6298#2.3
## 6298:RTO-3 later samples: RTTVAR first, then SRTT
## 6298:RTO-18 with gains of a quarter and an eighth
@pytest.mark.parametrize(
    "trips", [(800, 800), (800, 400), (900, 1600, 800), (900, 2000, 3000, 100)]
)
def test_later_samples(tcp, trips):
    measured(tcp, *trips).write(b"y").expect("PA")
    due = timeout_of(*trips)
    sent = tcp.record[-1].at
    tcp.expect("PA", within="20s")
    # The stack rounds to nanoseconds; the rule has exact fractions.
    least, most = tcp.target.window(sent + round(due), Timing.TIMER)
    tcp.check("RTO", True, least - 8 <= tcp.record[-1].at <= most + 8)
    tcp.ignore_rest()


#= rfc6298#2.4
## 6298:RTO-4 never less than one second
#= rfc6298#4
## 6298:RTO-8 however steady the path is
@pytest.mark.parametrize("trip", [1, 10, 100, 333])
def test_least_timeout(tcp, trip):
    measured(tcp, *[trip] * 8).write(b"y").expect("PA")
    tcp.expect("PA", at="1s")
    tcp.ignore_rest()


#= rfc6298#4
## 6298:RTO-8 where RTTVAR is below the clock granularity G, G replaces it
def test_granularity(tcp):
    tcp.needs_virtual_time("samples that are equal to the nanosecond")
    tcp = measured(tcp, 900, *[2000] * 120)
    tcp.write(b"y").expect("PA")
    tcp.expect_silence("2000ms").expect("PA", within="1ms")
    tcp.ignore_rest()


#= rfc6298#3
## 6298:RTO-6 retransmitted segments are not measured
#= rfc9293#3.8.1
## 9293:MUST-18 Karn's rule
#= rfc9293#3.8.2
## 9293:P-RTO-KEEP and the timeout stays backed off until new data is acknowledged
#= rfc6298#5
## 6298:RTO-21 then it is recomputed
def test_karn(tcp):
    tcp.established().write(b"1").expect("PA", seq=1)
    tcp.expect("PA", at="1s", seq=1)
    tcp.advance("1500ms").send("A", ack=2)
    tcp.write(b"2").expect("PA", seq=2)
    tcp.expect_silence("1999ms").expect("PA", at="1ms", seq=2)
    tcp.send("A", ack=3)
    tcp.write(b"3").expect("PA", seq=3)
    tcp.advance("500ms").send("A", ack=4)
    tcp.write(b"4").expect("PA", seq=4)
    # The RTT of the handshake was 0: after this sample SRTT is 62.5 ms and RTTVAR 125 ms, so the
    # minimum applies.
    tcp.expect("PA", at="1s", seq=4)
    tcp.ignore_rest()


#= rfc6298#5
## 6298:RTO-16 after a lost SYN the timeout is three seconds when data begins
@pytest.mark.parametrize("active", [False, True])
def test_after_a_lost_syn(tcp, active):
    if active:
        tcp.syn_sent().expect("S", at="1s")
        tcp.send("SA", ack=1).expect("A", seq=1)
    else:
        tcp.syn_received().expect("SA", at="1s")
        tcp.send("A").accept()
    tcp.write(b"text").expect("PA", seq=1)
    tcp.expect("PA", at="3s", seq=1)
    tcp.ignore_rest()


#= rfc6298#5
## 6298:RTO-10 the timer runs from the first segment
## 6298:RTO-12 and restarts at each ACK of new data
## 6298:RTO-9 so nothing is retransmitted too early
def test_timer_restarts(tcp):
    tcp.established(options=[("MSS", 100)]).write(300)
    for seq in (1, 101):
        tcp.expect("A", seq=seq)
    tcp.expect("PA", seq=201)
    tcp.advance("700ms").send("A", ack=101)
    tcp.advance("700ms").send("A", ack=201)
    rto = tcp.info["rto_ns"]
    tcp.expect("PA", at=f"{rto}ns", seq=201, length=100)
    tcp.ignore_rest()


#= rfc6298#5
## 6298:RTO-11 with nothing in flight the timer is off
def test_timer_stops(tcp):
    tcp.established().write(b"text").expect("PA")
    tcp.advance("999ms").send("A").expect_silence("24h")


#= rfc6298#2.5
## 6298:RTO-5 the timeout has a maximum of at least a minute
#= rfc9293#3.8.3
## 9293:MUST-20 and retransmission ends at R2
## 9293:SHLD-11 which is at least a hundred seconds
@pytest.mark.stack(rto_max="60s")
def test_giving_up(tcp):
    tcp.established().write(b"text").expect("PA")
    for wait in (1, 2, 4, 8, 16, 32, 60, 60, 60):
        tcp.expect("PA", at=f"{wait}s", seq=1)
    tcp.advance("120s").drain()
    tcp.expect_state("CLOSED").expect_event("closed:timed_out").expect_silence("1h")


#= rfc9293#3.8.3
## 9293:SHLD-11 R2 for data is at least a hundred seconds
def test_not_given_up_early(tcp):
    tcp.established().write(b"text").advance("100s").drain()
    tcp.expect_state("ESTABLISHED").send("A", ack=5).expect_silence("10m")


#= rfc9293#3.8.3
## 9293:SHLD-9 the program is notified earlier, from R1 on
## 9293:SHLD-10 after at least three retransmissions
def test_told_before(tcp):
    tcp.established().write(b"text").expect("PA")
    tcp.advance("3s").drain()
    events = tcp.target.events(tcp.connection)
    tcp.check("early", False, events is not None and "soft_error:retransmitting" in events)
    tcp.advance("30s").drain()
    tcp.expect_event("soft_error:retransmitting").expect_state("ESTABLISHED").ignore_rest()


#= rfc9293#3.8.3
## 9293:MUST-21 the program sets R2
def test_user_timeout_of_the_program(tcp):
    tcp.established()
    tcp.target.set(tcp.connection, "user_timeout_ms", 150_000)
    tcp.write(b"text").advance("149s").drain()
    tcp.expect_state("ESTABLISHED").advance("120s").drain()
    tcp.expect_state("CLOSED").expect_event("closed:timed_out")


#= rfc9293#3.4
## 9293:P-RTXQ-FULLACK a partly acknowledged segment is retransmitted in part or as a whole
## 9293:P-ACK-CUMUL
@pytest.mark.parametrize("taken", [1, 50, 99])
def test_acknowledged_in_part(tcp, taken):
    tcp.established(options=[("MSS", 100)]).write(100).expect("PA", seq=1, length=100)
    tcp.send("A", ack=1 + taken)
    packet = tcp.expect("PA", within="3s")
    first = (packet[TCP].seq - tcp.device_iss) % (1 << 32)
    tcp.check("ends at", 101, first + len(bytes(packet[TCP].payload)))
    tcp.send("A", ack=101).expect_silence("60s")


#= rfc9293#3.8.4
## 9293:MUST-25 off by default
def test_no_keepalive(tcp):
    tcp.established().expect_silence("200h").expect_state("ESTABLISHED")


#= rfc9293#3.8.4
## 9293:MUST-24 the program turns it on
## 9293:MUST-28 after two hours
## 9293:P-KA-PROBE a probe has SEQ = SND.NXT - 1
## 9293:SHLD-12 and no data
def test_keepalive(tcp):
    tcp.established()
    tcp.target.set(tcp.connection, "keepalive", 1)
    for _ in range(3):
        tcp.expect_silence("7199s").expect("A", at="1s", seq=0, ack=1, length=0)
        tcp.send("A", ack=1)
    tcp.expect_state("ESTABLISHED")


#= rfc9293#3.8.4
## 9293:MUST-29 no single unanswered probe ends the connection
## 9293:MUST-26 a received segment restarts the interval
def test_keepalive_probes_lost(tcp):
    tcp.established()
    tcp.target.set(tcp.connection, "keepalive", 1)
    tcp.expect("A", at="7200s", seq=0)
    for _ in range(4):
        tcp.expect("A", at="75s", seq=0, ack=1)
    tcp.send("A", ack=1).expect_state("ESTABLISHED").expect_silence("7199s")
    tcp.ignore_rest()


#= rfc9293#3.8.4
## 9293:MUST-26 there are no probes while data is outstanding
## 9293:MUST-27 the interval is configurable
@pytest.mark.stack(
    keepalive=True, keepalive_idle="10s", keepalive_interval="5s", keepalive_probes=3
)
def test_keepalive_gives_up(tcp):
    tcp.established().expect("A", at="10s", seq=0)
    tcp.expect("A", at="5s", seq=0)
    tcp.expect("A", at="5s", seq=0)
    tcp.advance("20s").drain()
    tcp.expect_state("CLOSED").expect_event("closed:keepalive_timed_out")


#= rfc9293#3.8.4
## 9293:MAY-6 with an octet of garbage for peers that require one
@pytest.mark.stack(keepalive=True, keepalive_garbage=True, keepalive_idle="10s")
def test_keepalive_with_an_octet(tcp):
    tcp.established().expect("A", at="10s", seq=0, length=1)
    tcp.send("A", ack=1).expect_state("ESTABLISHED")
