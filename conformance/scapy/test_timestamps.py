# RFC 7323: window scaling, timestamps, their uses, and PAWS.
import pytest
from packet_kit import about
from scapy.layers.inet import TCP

pytestmark = pytest.mark.stack(timestamps=True, window_scale=True)
STAMPS = [("MSS", 1000), ("Timestamp", (1000, None))]
SCALE = [("MSS", 1000), ("WScale", 7)]
MOD = 1 << 32


def stamped(tcp, stamp=1000, **more):
    """An ESTABLISHED connection with timestamps on both sides; the tester's clock stands still."""
    tcp.stamp = stamp
    tcp.established(options=[("MSS", 1000), ("Timestamp", (stamp, None))], **more)
    return tcp.check("timestamps", True, tcp.stamping)


def value_of(packet):
    return dict(packet[TCP].options)["Timestamp"]


def with_stamp(tcp, flags, stamp, echo=None, **fields):
    tail = [("NOP", None), ("NOP", None), ("Timestamp", (stamp, echo))]
    return tcp.send(flags, options=tail, **fields)


#= rfc7323#2.2
## 7323:TS-34 a SYN has the window scale option whatever our own shift is
#= rfc7323#3.2
## 7323:TS-28 and a timestamp with a zero echo
def test_syn_offers(tcp):
    tcp.target.connect(tcp.port, tcp.peer_port)
    packet = tcp.expect("S", options={"WScale": ..., "Timestamp": ...})
    tcp.check("echo", 0, value_of(packet)[1]).ignore_rest()


#= rfc7323#2.3
## 7323:TS-3 a SYN with a window scale is answered by one
#= rfc7323#3.2
## 7323:TS-11 and its timestamp is echoed
def test_syn_ack_answers(tcp):
    tcp.listen().send("S", options=[("WScale", 3), ("Timestamp", (77, 0))])
    packet = tcp.expect("SA", ack=1, options={"WScale": ..., "Timestamp": ...})
    tcp.check("echo", 77, value_of(packet)[1]).ignore_rest()


#= rfc7323#2.2
## 7323:TS-33 without a window scale in the SYN the answer has none
#= rfc7323#3.2
## 7323:TS-39 and no timestamp
@pytest.mark.parametrize("option", ["WScale", "Timestamp"])
def test_only_what_was_offered(tcp, option):
    offered = {"WScale": 3, "Timestamp": (77, 0)}
    tcp.listen().send("S", options=[(option, offered[option])])
    there = {name: ... if name == option else None for name in offered}
    tcp.expect("SA", ack=1, options=there)
    tcp.ignore_rest()


#= rfc7323#2.3
## 7323:TS-4 received windows are shifted left
#= rfc7323#2.2
## 7323:TS-2 but not that of a SYN
@pytest.mark.parametrize("shift", [0, 1, 7, 14])
def test_scale_of_the_peer(tcp, shift):
    tcp.syn_received(window=500, options=[("MSS", 1000), ("WScale", shift)])
    tcp.send("A", window=3).accept()
    tcp.check("SND.WND", 3 << shift, tcp.info["snd_wnd"])


#= rfc7323#2.2
## 7323:TS-2 the window of a SYN,ACK is not shifted
def test_window_of_a_syn_is_plain(tcp):
    tcp.syn_sent().send("SA", ack=1, window=1000, options=SCALE).expect("A", seq=1, ack=1)
    tcp.check("SND.WND", 1000, tcp.info["snd_wnd"])


#= rfc7323#2.3
## 7323:TS-5 a shift of more than 14 is treated as 14
@pytest.mark.parametrize("shift", [15, 64, 255])
def test_shift_too_large(tcp, shift):
    tcp.syn_received(options=[("WScale", shift)]).send("A", window=2).accept()
    tcp.check("SND.WND", 2 << 14, tcp.info["snd_wnd"])


#= rfc7323#2.2
## 7323:TS-1 only if both sides have sent the option
#= rfc7323#2.3
## 7323:TS-35 otherwise both shifts are 0
@pytest.mark.stack(window_scale=False)
def test_no_scale_by_one_alone(tcp):
    tcp.syn_received(options=SCALE).send("A", window=500).accept()
    tcp.check("SND.WND", 500, tcp.info["snd_wnd"])


#= rfc7323#2.2
## 7323:TS-24 in other segments the option is ignored
def test_scale_is_of_syns(tcp):
    tcp.syn_received(options=SCALE).send("A", window=10, options=[("WScale", 2)]).accept()
    tcp.check("SND.WND", 1280, tcp.info["snd_wnd"])


#= rfc7323#2.3
## 7323:TS-4 sent windows are shifted right
@pytest.mark.stack(window_scale=True, receive_buffer_bytes=1 << 20, blocks_max=4096)
def test_our_scale(tcp):
    tcp.listen().send("S", options=SCALE)
    packet = tcp.expect("SA", ack=1, window=65535)
    shift = dict(packet[TCP].options)["WScale"]
    tcp.check("shift", True, 65535 << shift >= 1 << 20)
    tcp.send("A").accept()
    tcp.send("PA", payload=b"x")
    window = tcp.expect("A", within="499ms", ack=2)[TCP].window << shift
    tcp.check("window", True, (1 << 20) - (2 << shift) <= window <= 1 << 20)


#= rfc7323#3.2
## 7323:TS-9 every segment has a timestamp
## 7323:TS-11 and echoes one
def test_in_every_segment(tcp):
    stamped(tcp).write(b"text")
    tcp.check("echo", 1000, value_of(tcp.expect("PA", options={"Timestamp": ...}))[1])
    tcp.stamp = 1005
    tcp.send("A").send("PA", payload=b"text")
    packet = tcp.expect("A", within="499ms", options={"Timestamp": ...})
    tcp.check("echo", 1005, value_of(packet)[1])
    tcp.finish().expect("FA", options={"Timestamp": ...})


#= rfc7323#5.2
## 7323:TS-43 a reset by the program has one
#= rfc7323#3.2
## 7323:TS-26 as resets should
def test_in_a_reset(tcp):
    stamped(tcp).abort()
    reset = tcp.drain()[0]
    tcp.check("timestamp", True, "Timestamp" in dict(reset[TCP].options))


#= rfc7323#5.2
## 7323:TS-19 a reset in answer echoes the timestamp; its own is zero
def test_in_the_reset_of_an_answer(tcp):
    tcp.send("A", ack=5, options=[("Timestamp", (4711, 1))])
    packet = tcp.expect("R", seq=5, options={"Timestamp": ...})
    tcp.check("values", (0, 4711), value_of(packet))


#= rfc7323#3.2
## 7323:TS-10 a segment without it is silently dropped
## 7323:TS-27 and ends nothing
@pytest.mark.parametrize("flags", ["A", "PA", "FA"])
def test_missing(tcp, flags):
    stamped(tcp).send(flags, options=[], payload=b"x" * ("P" in flags), seq=1)
    tcp.peer_nxt = 1
    tcp.expect_silence("3s").expect_state("ESTABLISHED")
    tcp.send("PA", payload=b"text").expect("A", within="499ms", ack=5)
    tcp.expect_read(b"text")


#= rfc7323#3.2
## 7323:TS-12 if it was not negotiated, it is ignored
def test_not_agreed(tcp):
    tcp.established()
    for stamp in (500, 1, 900):
        with_stamp(tcp, "PA", stamp, 0, payload=b"x")
        tcp.expect("A", within="499ms", options={"Timestamp": None})
    tcp.expect_read(b"xxx")


#= rfc7323#5.3
## 7323:TS-17 an older timestamp: an ACK, and the segment is dropped
## 7323:TS-32 whatever its sequence number
#= rfc7323#5.2
## 7323:TS-42 older by serial arithmetic, half of the number space
@pytest.mark.parametrize("age", [1, 100, 1 << 30, (1 << 31) - 1])
@pytest.mark.parametrize("recent", [1000, 5, 0xFFFF_FFFF, 1 << 31])
def test_paws(tcp, age, recent):
    stamped(tcp, recent)
    with_stamp(tcp, "PA", (recent - age) % MOD, None, seq=1, payload=b"evil")
    tcp.peer_nxt = 1
    tcp.expect("A", seq=1, ack=1, length=0)
    tcp.stamp = (recent + 1) % MOD
    tcp.send("PA", payload=b"good").expect("A", within="499ms", ack=5)
    tcp.expect_read(b"good")


#= rfc7323#5.3
## 7323:TS-46 the same timestamp or a later one is accepted
#= rfc7323#4.3
## 7323:TS-15 and is echoed from then on
@pytest.mark.parametrize("later", [0, 1, 1 << 30, (1 << 31) - 1])
def test_paws_lets_pass(tcp, later):
    stamped(tcp)
    tcp.stamp = (1000 + later) % MOD
    tcp.send("PA", payload=b"text")
    packet = tcp.expect("A", within="499ms", ack=5)
    tcp.check("echo", tcp.stamp, value_of(packet)[1])


#= rfc7323#5.2
## 7323:TS-18 a reset is not checked by its timestamp
@pytest.mark.parametrize("stamp", [1, 999, 1000, 5000])
def test_paws_and_reset(tcp, stamp):
    stamped(tcp)
    with_stamp(tcp, "R", stamp, 0).expect_state("CLOSED")


#= rfc7323#5.2
## 7323:TS-18 nor does it change the echo
def test_reset_leaves_the_stamp(tcp):
    stamped(tcp)
    with_stamp(tcp, "R", 9000, 0, seq=100)
    tcp.check("echo", 1000, value_of(tcp.expect("A", ack=1))[1])


#= rfc7323#4.3
## 7323:TS-16 a segment above a gap does not change it
## 7323:TS-31 one that fills the gap does
def test_stamp_above_a_gap(tcp):
    stamped(tcp)
    tcp.stamp = 2000
    tcp.send("A", seq=101, payload=100)
    tcp.check("echo", 1000, value_of(tcp.expect("A", ack=1))[1])
    tcp.stamp = 1500
    tcp.send("A", seq=1, payload=100)
    tcp.check("echo", 1500, value_of(tcp.expect("A", ack=201))[1])


#= rfc7323#4.3
## 7323:TS-30 a delayed ACK echoes the first of the segments that it acknowledges
def test_stamp_of_a_delayed_ack(tcp):
    stamped(tcp)
    tcp.stamp = 2000
    tcp.send("PA", payload=b"one")
    if tcp.peek() is not None:
        tcp.needs_virtual_time("it has acknowledged at once")
    tcp.expect_silence("100ms")
    tcp.stamp = 2100
    tcp.send("PA", payload=b"two")
    tcp.check("echo", 2000, value_of(tcp.expect("A", within="499ms", ack=7))[1])


#= rfc7323#4.1
## 7323:TS-13 the timestamp clock advances
#= rfc7323#5.4
## 7323:TS-20 a tick of one millisecond to one second
def test_clock(tcp):
    stamped(tcp)
    values = []
    for number in range(4):
        tcp.write(b"x")
        values.append(value_of(tcp.expect("PA", seq=1 + number))[0])
        tcp.send("A").advance("10s")
    steps = [(b - a) % MOD for a, b in zip(values, values[1:])]
    tcp.check("steps", True, about(tcp, min(steps), max(steps), live=200))
    tcp.check("ticks", True, 10 <= min(steps) <= (10_000 if tcp.target.exact else 10_200))


#= rfc7323#7.1
## 7323:TS-23 each connection starts at another value
def test_clock_of_another_connection(tcp):
    tcp.listen()
    values = set()
    for port in range(6000, 6008):
        tcp.peer_port = port
        tcp.send("S", seq=0, options=STAMPS)
        values.add(value_of(tcp.expect("SA"))[0])
    tcp.check("values", 8, len(values)).ignore_rest()


#= rfc7323#4.1
## 7323:TS-14 an echo measures the round trip
#= rfc6298#3
## 6298:RTO-23 of a retransmission, too
## 6298:RTO-6 because the echo identifies the transmission
def test_echo_measures_a_retransmission(tcp):
    tcp.stamp = 1000
    tcp.syn_received(options=STAMPS).advance("500ms").send("A").accept()
    rto = tcp.info["rto_ns"]
    tcp.check("RTO", True, about(tcp, 1_500_000_000, rto, live=200_000_000))
    tcp.write(b"x").expect("PA")
    tcp.expect("PA", at=f"{rto}ns")
    tcp.stamp = 3000
    tcp.advance("500ms").send("A")
    less = rto - (0 if tcp.target.exact else 100_000_000)
    tcp.check("RTO", True, 1_000_000_000 <= tcp.info["rto_ns"] < less)


#= rfc7323#3.2
## 7323:TS-29 without ACK an echo is invalid
def test_echo_without_ack(tcp):
    tcp.syn_sent()
    tcp.send("S", options=[("MSS", 1000), ("Timestamp", (5, 123456))])
    tcp.expect("SA", seq=0, ack=1)
    tcp.check("SRTT", 0, tcp.info["srtt_ns"]).ignore_rest()


#= rfc7323#5.5
## 7323:TS-21 after 24 idle days TS.Recent is invalid
## 7323:TS-49 so an older timestamp is accepted and recorded
@pytest.mark.parametrize("days,taken", [(23, False), (25, True)])
def test_paws_after_a_long_time(tcp, days, taken):
    stamped(tcp).expect_silence(f"{days * 24}h")
    with_stamp(tcp, "PA", 500, None, seq=1, payload=b"text")
    packet = tcp.expect("A", within="499ms", ack=5 if taken else 1)
    tcp.check("echo", 500 if taken else 1000, value_of(packet)[1])


#= rfc7323#3.2
## 7323:TS-9 twelve octets of each segment
#= rfc9293#3.7.1
## 9293:P-MSS-OPTSHRINK and the data is shorter by as many
def test_text_beside_timestamps(tcp):
    stamped(tcp).write(2000)
    tcp.expect(seq=1, length=988)
    tcp.expect(seq=989, length=988)
    tcp.ignore_rest()


#= rfc6191#2
## 6191:TW-1 a SYN with a later timestamp reopens a connection in TIME-WAIT, whatever its number
#= rfc9293#3.10.7.4
## 9293:P-TW-SYN-6191, 9293:P-SYN-TW
#= rfc9293#3.6.1
## 9293:SHLD-4
@pytest.mark.parametrize("stamp,opens", [(1001, True), (999, False)])
def test_time_wait_by_stamps(tcp, stamp, opens):
    tcp.stamp = 1000
    tcp.time_wait(options=STAMPS)
    tcp.target.listen(tcp.port)
    tcp.send("S", seq=1, options=[("Timestamp", (stamp, 0))])
    said = [str(packet[TCP].flags) for packet in tcp.drain()]
    tcp.check("opens", opens, said == ["SA"]).ignore_rest()


#= rfc7323#4.2
## 7323:TS-40 with a sample per ACK, alpha is divided as in appendix G:
## 7323:TS-40 by ceil(FlightSize / (2 SMSS))
def test_samples_of_one_round_trip(tcp):
    tcp.needs_virtual_time("samples that are equal to the nanosecond")
    tcp.stamp = 1000
    tcp.syn_received(options=STAMPS).advance("800ms").send("A").accept()
    srtt = 800_000_000
    tcp.check("SRTT", srtt, tcp.info["srtt_ns"])
    tcp.write(4 * 988)
    tcp.check("flight", 4, len(tcp.drain()))
    tcp.advance("100ms")
    for acknowledged in range(4):
        expected = -(-(4 - acknowledged) // 2)
        srtt -= (srtt - 100_000_000) // (8 * expected)
        tcp.send("A", ack=1 + 988 * (acknowledged + 1))
        tcp.check("SRTT", True, abs(tcp.info["srtt_ns"] - srtt) <= 8)
    tcp.ignore_rest()
