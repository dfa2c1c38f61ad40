# The eighteen problems of RFC 2525, Known TCP Implementation Problems (1999), in its order.
import pytest
from museum import case
from record_kit import (
    SECOND,
    at_least,
    at_most,
    confirmed,
    data,
    flowing,
    furthest,
    lives,
    mark,
    resets,
    seen,
)

from lockstep.testing.conversation import pattern

MSS = 1000


def round_trips(tcp, count):
    """The peer acknowledges segment by segment what is in flight, a round trip of 10 ms each.

    Returns the flights: how many octets of new data left in answer to each round.
    """
    flights, end = [], confirmed(tcp)
    for _ in range(count):
        top = furthest(tcp)
        tcp.offer(pattern(40_000))
        tcp.advance("10ms").drain()
        while end < top:
            end = min(end + MSS, top)
            tcp.send("A", ack=end)
        flights.append(furthest(tcp) - top)
    return flights


@case("no-initial-slow-start", "The first flight fills the peer's window",
      sources=["RFC 2525 2.1"],
      stimulus="A program writes 100,000 octets to a peer with a window of 65,535",
      clause="RFC 5681 3.1 and RFC 6928 2: ten segments at most",
      sound="The first flight is at most ten segments, and grows as ACKs arrive")
@pytest.mark.parametrize("active", [False, True])
def test_no_initial_slow_start(tcp, active):
    tcp.established(active=active, options=[("MSS", MSS)]).write(60_000)
    first = furthest(tcp) - 1
    at_most(tcp, "first flight", 10 * MSS, first)
    tcp.send("A", ack=1 + first).advance("10ms")
    at_least(tcp, "second", first, furthest(tcp) - 1 - first)
    tcp.ignore_rest()


@case("no-slow-start-after-timeout", "After a timeout all that was lost leaves in one burst",
      sources=["RFC 2525 2.2"],
      stimulus="A whole flight is lost; after the timeout the first segment is acknowledged",
      clause="RFC 5681 3.1, equation 4; RFC 9293 3.8.2, MUST-19",
      sound="One segment leaves by the timeout, and at most three after its ACK")
def test_no_slow_start_after_timeout(tcp):
    flowing(tcp, 60_000)
    round_trips(tcp, 2)
    begin = mark(tcp)
    tcp.advance("9s")
    again = data(tcp, begin)
    at_least(tcp, "timeouts", 1, len(again))
    tcp.check("one number", {again[0].seq}, {one.seq for one in again})
    begin = mark(tcp)
    tcp.send("A", ack=again[0].end).advance("10ms")
    at_most(tcp, "after it", 3, len(data(tcp, begin)))
    tcp.ignore_rest()


@case("uninitialized-cwnd", "Without an MSS option on the peer's SYN there is no congestion window",
      sources=["RFC 2525 2.3"],
      stimulus="The peer's SYN or SYN-ACK has no MSS option; the program writes 60,000 octets",
      clause="RFC 5681 3.1, RFC 6928 2; RFC 9293 3.7.1, MUST-15",
      sound="The first flight is at most ten segments of the default size")
@pytest.mark.parametrize("active", [False, True])
def test_uninitialized_cwnd(tcp, active):
    tcp.established(active=active).write(60_000)
    at_most(tcp, "first flight", 10 * (536 if tcp.target.ip_version == 4 else 1220),
            furthest(tcp) - 1)
    tcp.ignore_rest()


@case("inconsistent-retransmission", "A retransmission has other octets than the first time",
      sources=["RFC 2525 2.4"],
      stimulus="Writes of different sizes, and a flight that is lost",
      clause="RFC 9293 3.10.2 and 3.8.1: the same octets have the same numbers",
      sound="Each octet is the one that the program has written at its place")
def test_inconsistent_retransmission(tcp):
    tcp.established(options=[("MSS", MSS)])
    written = b""
    for length in (700, 1, 999, 1000, 3, 1500, 20):
        piece = bytes((len(written) + i) * 7 % 253 for i in range(length))
        tcp.write(piece)
        written += piece
    end = 1
    for _ in range(30):
        tcp.advance("4s")
        for one in data(tcp):
            tcp.check("octets", written[one.seq - 1:one.end - 1], one.payload)
        end = min(end + 700, furthest(tcp))
        tcp.send("A", ack=end)
    tcp.check("all", len(written) + 1, end)
    lives(tcp)


@case("above-sequence-data", "Data above a gap is never kept",
      sources=["RFC 2525 2.5"],
      stimulus="Segments 2 and 3 arrive, then segment 1",
      clause="RFC 9293 3.10.7.4, SHLD-31; RFC 1122 4.2.2.20",
      sound="The ACK of segment 1 covers all three, and the program reads them in order")
def test_above_sequence_data(tcp):
    tcp.established()
    for seq in (501, 1001, 1):
        tcp.send("PA", seq=seq, ack=1, payload=bytes([seq % 251]) * 500).advance("500ms")
    tcp.check("ACK", 1501, seen(tcp)[-1].ack)
    tcp.expect_read(b"\x01" * 500 + bytes([501 % 251]) * 500 + bytes([1001 % 251]) * 500)


@case("extra-additive-constant", "In congestion avoidance each ACK adds a part of a segment more",
      sources=["RFC 2525 2.6", "RFC 5681 3.1"],
      stimulus="After a timeout, fourteen round trips of 10 ms without loss",
      clause="RFC 5681 3.1, equation 3: a segment in a round trip",
      sound="In the last eight of them the flight grows by at most nine segments")
def test_extra_additive_constant(tcp):
    flight = flowing(tcp, 120_000)
    tcp.advance("4s").drain()
    tcp.send("A", ack=1 + flight)
    flights = round_trips(tcp, 14)
    at_least(tcp, "flights", 1, min(flights))
    at_most(tcp, "growth", 9 * MSS, flights[-1] - flights[-9])
    tcp.ignore_rest()


@case("low-initial-timeout", "The first timeout is shorter than the round trip of a slow path",
      sources=["RFC 2525 2.7"],
      stimulus="A SYN that is not answered",
      clause="RFC 6298 2.1: one second, until there is a sample",
      sound="The SYN is not sent again within one second, and is within ten")
def test_low_initial_timeout(tcp):
    tcp.syn_sent().advance("10s")
    times = [one.at for one in seen(tcp) if one.flags == "S"]
    at_least(tcp, "retransmissions", 1, len(times) - 1)
    at_least(tcp, "timeout", round(0.99 * SECOND), times[1] - times[0])
    tcp.ignore_rest()


@case("no-window-deflation", "After fast recovery the inflated window stays",
      sources=["RFC 2525 2.8"],
      stimulus="One of ten or more segments is lost: a duplicate ACK for each other one, and then"
               " an ACK of all",
      clause="RFC 5681 3.2, step 6",
      sound="After that ACK no more is in flight than at the loss")
def test_no_window_deflation(tcp):
    flowing(tcp, 120_000)
    round_trips(tcp, 2)
    flight = round_trips(tcp, 1)[0]
    begin, top = mark(tcp), furthest(tcp)
    first = top - flight
    for _ in range(flight // MSS - 1):
        tcp.send("A", ack=first)
    tcp.check("fast retransmit", True, first in [one.seq for one in data(tcp, begin)])
    tcp.offer(pattern(60_000))
    top = furthest(tcp)
    tcp.send("A", ack=top)
    at_most(tcp, "in flight", flight, furthest(tcp) - top)
    tcp.ignore_rest()


@case("short-keepalive-timeout", "Keep-alive gives an idle connection up after a few seconds",
      sources=["RFC 2525 2.9"],
      stimulus="Keep-alive is on; the peer is away for 150 s when the first probe comes",
      clause="RFC 9293 3.8.4, MUST-29",
      sound="The connection is there after that time, and works")
def test_short_keepalive_timeout(tcp):
    tcp.established()
    tcp.target.set(tcp.connection, "keepalive", 1)
    begin = mark(tcp)
    tcp.advance("7150s")
    for _ in range(100):
        if seen(tcp, begin):
            break
        tcp.advance("10s")
    at_least(tcp, "probes", 1, len(seen(tcp, begin)))
    tcp.advance("150s").drain()
    tcp.expect_state("ESTABLISHED").send("A")
    lives(tcp)


@case("no-backoff", "The timeout stays the same, however often it expires",
      sources=["RFC 2525 2.10"],
      stimulus="Data that is never acknowledged",
      clause="RFC 6298 5.5; RFC 9293 3.8.1",
      sound="Of the first five intervals each is at least one and a half times the one before")
def test_no_backoff(tcp):
    tcp.established(options=[("MSS", MSS)]).write(b"lost").advance("200s")
    times = [one.at for one in data(tcp)]
    waits = [b - a for a, b in zip(times, times[1:])]
    at_least(tcp, "timeouts", 5, len(waits))
    for shorter, longer in zip(waits[:4], waits[1:5]):
        at_least(tcp, "factor", 1.5, round(longer / shorter, 2))
    tcp.ignore_rest()


@case("short-keepalive-interval", "Keep-alive probes leave every few minutes",
      sources=["RFC 2525 2.11"],
      stimulus="Keep-alive is on, with its default interval; both sides are silent",
      clause="RFC 9293 3.8.4, MUST-28: two hours or more",
      sound="No probe within 7,190 s")
def test_short_keepalive_interval(tcp):
    tcp.established()
    tcp.target.set(tcp.connection, "keepalive", 1)
    tcp.expect_silence("7190s").ignore_rest()


@case("window-probe-deadlock", "A probe makes the window negative, and all ACKs are dropped",
      sources=["RFC 2525 2.12"],
      stimulus="The window is full; the program reads one octet; the peer probes by one octet; then"
               " the device sends and the peer acknowledges",
      clause="RFC 9293 3.10.7.4, first; 3.4, MUST-66",
      sound="The ACKs count, and all data leaves")
def test_window_probe_deadlock(tcp):
    tcp.established(options=[("MSS", MSS)])
    while tcp.device_window and tcp.peer_nxt < 2_000_000:
        tcp.send("PA", payload=min(1400, tcp.device_window)).advance("500ms").drain()
    tcp.read(1)
    probe = tcp.peer_nxt
    for _ in range(2):
        tcp.send("A", seq=probe, payload=b"!").advance("1s")
    begin, end, seq = mark(tcp), 1, seen(tcp)[-1].ack
    tcp.write(8000).advance("10ms")
    for _ in range(30):
        end = max(end, furthest(tcp, begin))
        tcp.send("A", seq=seq, ack=end).advance("100ms")
    tcp.check("sent", 8001, end)
    at_most(tcp, "octets", 8000, sum(len(one.payload) for one in data(tcp, begin)))
    tcp.ignore_rest()


@case("stretch-ack", "Many full-sized segments are acknowledged at once",
      sources=["RFC 2525 2.13"],
      stimulus="Ten full-sized segments in order, 1 ms apart",
      clause="RFC 9293 3.8.6.3, SHLD-19; RFC 5681 4.2",
      sound="At least one ACK for every second segment, and all is acknowledged within 500 ms")
def test_stretch_ack(tcp):
    tcp.established()
    full = 1460 if tcp.target.ip_version == 4 else 1440
    begin = mark(tcp)
    for _ in range(10):
        tcp.send("A", payload=full).advance("1ms")
    at_least(tcp, "ACKs", 5, len({one.ack for one in seen(tcp, begin)}))
    tcp.advance("500ms")
    tcp.check("ACK", 1 + 10 * full, seen(tcp)[-1].ack)


@case("retransmission-of-several", "A timeout, or a fast retransmit, sends several segments",
      sources=["RFC 2525 2.14"],
      stimulus="A flight of full-sized segments is lost, without and with timestamps",
      clause="RFC 5681 3.1 and 3.2; RFC 6298 5.4: the earliest segment",
      sound="Each timeout sends one segment, the first one, as long as it was")
def test_retransmission_of_several(tcp):
    flowing(tcp, 20_000)
    sent = data(tcp)
    begin = mark(tcp)
    tcp.advance("20s")
    again = data(tcp, begin)
    at_least(tcp, "timeouts", 2, len(again))
    tcp.check("first", {(1, len(sent[0].payload))}, {(one.seq, len(one.payload)) for one in again})
    tcp.check("one each", len(again), len({one.at for one in again}))
    tcp.ignore_rest()


@case("late-fin", "The FIN waits until all data is acknowledged",
      sources=["RFC 2525 2.15"],
      stimulus="The program writes one segment and closes while that is in flight",
      clause="RFC 9293 3.10.4; RFC 1122 4.2.2.2",
      sound="The FIN leaves at once, before the data is acknowledged")
def test_late_fin(tcp):
    tcp.established(options=[("MSS", MSS)]).write(500)
    tcp.check("sent", 501, furthest(tcp))
    tcp.finish().advance("500ms")
    tcp.check("FIN", True, any("F" in one.flags and one.end == 501 for one in seen(tcp)))
    tcp.ignore_rest()


@case("no-reset-after-close", "Data that no program can read is acknowledged, or is ignored",
      sources=["RFC 2525 2.16"],
      stimulus="The program has closed and reads no more; then data arrives",
      clause="RFC 9293 3.6.1, SHLD-3; RFC 1122 4.2.2.13",
      sound="Sends a reset")
def test_no_reset_after_close(tcp):
    tcp.established().close().advance("100ms")
    tcp.send("PA", seq=1, ack=2, payload=b"late").advance("1s")
    at_least(tcp, "resets", 1, len(resets(tcp)))


@case("no-reset-with-data-pending", "A close discards unread data as if all had been delivered",
      sources=["RFC 2525 2.17"],
      stimulus="The program closes although it has not read what has arrived",
      clause="RFC 9293 3.6.1, SHLD-3; RFC 1122 4.2.2.13",
      sound="Sends a reset")
def test_no_reset_with_data_pending(tcp):
    tcp.established().send("PA", payload=b"unread").advance("1s")
    tcp.close().advance("1s")
    at_least(tcp, "resets", 1, len(resets(tcp)))
    tcp.ignore_rest()


@case("options-in-mss", "A segment is as long as the MSS, and its options come on top",
      sources=["RFC 2525 2.18"],
      stimulus="Timestamps are negotiated, and the peer's MSS is 1,000; the program writes 5,000"
               " octets",
      clause="RFC 9293 3.7.1, MUST-16; RFC 6691",
      sound="No segment has more than 988 octets of data, nor has a retransmission")
@pytest.mark.stack(timestamps=True)
def test_options_in_mss(tcp):
    tcp.established(options=[("MSS", MSS), ("Timestamp", (1, 0))]).write(5000).advance("5s")
    lengths = {len(one.payload) for one in data(tcp)}
    tcp.check("timestamps", True, all("Timestamp" in one.options for one in data(tcp)))
    at_most(tcp, "length", MSS - 12, max(lengths))
    tcp.ignore_rest()
