# Windows: zero windows and their probes, silly windows, windows that shrink, data beyond a window.
import pytest
from museum import case
from record_kit import (
    SECOND,
    at_least,
    at_most,
    data,
    flowing,
    furthest,
    lives,
    mark,
    resets,
    seen,
)

MSS = 1000


def stalled(tcp, written=3000):
    """A connection whose peer has taken one full window of data, and closes it."""
    flowing(tcp, written, window=MSS)
    tcp.check("sent", MSS + 1, furthest(tcp))
    return tcp.send("A", ack=MSS + 1, window=0)


def filled(tcp):
    """A connection whose program reads nothing, and whose peer has sent all that the window takes.

    Returns the number of octets.
    """
    tcp.established()
    while tcp.device_window and tcp.peer_nxt < 2_000_000:
        tcp.send("PA", payload=min(1400, tcp.device_window)).advance("500ms").drain()
    return tcp.peer_nxt - 1


@case("lost-window-update", "Both sides wait for ever after an ACK that opened the window is lost",
      sources=["RFC 9293 3.8.6.1, MUST-36", "RFC 1122 4.2.2.17"],
      stimulus="The peer closes its window and says no more, because its next ACK is lost",
      clause="RFC 9293 3.8.6.1, MUST-36",
      sound="Sends at least two probes within a minute; an open window in the answer is used")
def test_lost_window_update(tcp):
    stalled(tcp)
    begin = mark(tcp)
    tcp.advance("60s")
    probes = [one for one in seen(tcp, begin) if one.seq <= MSS + 1]
    at_least(tcp, "probes", 2, len(probes))
    begin = mark(tcp)
    end = max([MSS + 1, *(one.end for one in probes)])
    tcp.send("A", ack=end, window=5000).advance("10s")
    at_least(tcp, "sent", 2 * MSS, furthest(tcp, begin))
    tcp.ignore_rest()


@case("probes-give-up", "A connection ends because its peer's window stays closed",
      sources=["RFC 9293 3.8.6.1, MUST-37", "RFC 1122 4.2.2.17"],
      stimulus="The peer answers each probe, with a window of zero, for two hours",
      clause="RFC 9293 3.8.6.1, MUST-37",
      sound="Goes on probing; once the window opens the rest of the data leaves")
def test_probes_give_up(tcp):
    stalled(tcp)
    for _ in range(120):
        tcp.advance("60s").drain()
        tcp.send("A", ack=MSS + 1, window=0).drain()
    tcp.expect_state("ESTABLISHED")
    begin = mark(tcp)
    tcp.send("A", ack=MSS + 1, window=5000).advance("150s")
    at_least(tcp, "sent", 2 * MSS, furthest(tcp, begin))
    tcp.check("resets", [], resets(tcp))
    tcp.ignore_rest()


@case("probe-storm", "Probe and answer follow each other without a pause, or at a constant pace",
      sources=["RFC 9293 3.8.6.1, SHLD-29 and SHLD-30", "RFC 1122 4.2.2.17"],
      stimulus="The peer answers each probe at once, with a window of zero, for half an hour",
      clause="RFC 9293 3.8.6.1: the interval grows exponentially",
      sound="At most 60 probes; the last ones are at least 15 s apart")
def test_probe_storm(tcp):
    stalled(tcp)
    begin = mark(tcp)
    end = tcp.target.now() + 1800 * SECOND
    for _ in range(200):
        left = end - tcp.target.now()
        if left <= 0 or tcp.expect(within=f"{left}ns") is None:
            break
        tcp.send("A", ack=MSS + 1, window=0)
        tcp.drain()
        if tcp.target.now() - (end - 1800 * SECOND) > 1600 * SECOND:
            break
    probes = seen(tcp, begin)
    at_most(tcp, "probes", 60, len(probes))
    at_least(tcp, "interval", 15 * SECOND, probes[-1].at - probes[-2].at)
    tcp.ignore_rest()


@case("shrunk-window", "A window whose right edge moves left ends the connection, or stops it",
      sources=["RFC 9293 3.8.6, MUST-34 and SHLD-14 to SHLD-17", "RFC 1122 4.2.2.16"],
      stimulus="With four segments in flight the peer takes back all of the window for ten minutes,"
               " or two segments of it for a minute",
      clause="RFC 9293 3.8.6, MUST-34",
      sound="No new data leaves meanwhile, the connection stays, and all data arrives in the end")
@pytest.mark.parametrize("window,tens", [(0, 60), (1000, 6)])
def test_shrunk_window(tcp, window, tens):
    flight = flowing(tcp, 6000, window=4000)
    tcp.check("flight", True, 2000 <= flight <= 4000)
    begin = mark(tcp)
    tcp.send("A", ack=1001, window=window)
    for _ in range(tens):
        tcp.advance("10s").drain()
        tcp.send("A", ack=1001, window=window)
    at_most(tcp, "new data", max(flight + 2, 1002 + window), furthest(tcp, begin))  # or a probe
    begin, end = mark(tcp), 1001
    for _ in range(20):
        tcp.send("A", ack=end, window=8000).advance("60s")
        for one in sorted(data(tcp, begin), key=lambda one: one.seq):
            end = one.end if one.seq <= end < one.end else end
    tcp.check("arrived", 6001, end)
    lives(tcp)


@case("silly-sender", "A window that opens by a few octets at a time is filled by tiny segments",
      sources=["RFC 813", "RFC 9293 3.8.6.2.1, MUST-38", "CVE-2008-4609, its tiny windows"],
      stimulus="The window is full; then it opens by ten octets each 10 ms",
      clause="RFC 9293 3.8.6.2.1, MUST-38; the override timeout is 0.1 to 1 s",
      sound="At most 25 segments in two seconds, and they are not all tiny")
def test_silly_sender(tcp):
    flowing(tcp, 20_000, window=4 * MSS)
    end = furthest(tcp)
    tcp.send("A", ack=end, window=0).drain()
    begin = mark(tcp)
    for step in range(1, 200):
        tcp.advance("10ms").drain()
        tcp.send("A", ack=end, window=10 * step)
    at_most(tcp, "segments", 25, len(data(tcp, begin)))
    tcp.ignore_rest()


@case("silly-receiver", "Each octet that the program reads is offered to the peer at once",
      sources=["RFC 813", "RFC 9293 3.8.6.2.2, MUST-39"],
      stimulus="The receive window is full; the program reads a hundred single octets, and the peer"
               " probes after each tenth",
      clause="RFC 9293 3.8.6.2.2, MUST-39",
      sound="The right edge stays where it is, but for the octet of a probe")
def test_silly_receiver(tcp):
    full = filled(tcp)
    edges = set()
    for i in range(100):
        tcp.read(1)
        if i % 10 == 9:
            tcp.send("A", seq=full, payload=b"!").advance("1s")
        edges |= {one.ack + one.window for one in seen(tcp)[-1:]}
    at_most(tcp, "edge", full + 2, max(edges))
    tcp.ignore_rest()


@case("data-beyond-the-window", "Data beyond the window is stored, or taken for data inside it",
      sources=["RFC 9293 3.8.6 and 3.10.7.4, first", "RFC 793, page 69"],
      stimulus="The window is full; then a segment arrives at its edge, and one that begins far"
               " beyond it",
      clause="RFC 9293 3.10.7.4, first: outside of the window nothing is accepted",
      sound="Acknowledges at most one octet more, and the program reads what was inside")
def test_data_beyond_the_window(tcp):
    full = filled(tcp)
    expected = bytearray()
    while len(expected) < full:
        expected += bytes(i % 251 for i in range(1400))
    begin = mark(tcp)
    tcp.send("PA", seq=full + 1, payload=b"evil").advance("1s")
    tcp.send("PA", seq=full + 60_000, payload=b"evil").advance("1s")
    at_most(tcp, "acknowledged", full + 2, max([0, *(one.ack for one in seen(tcp, begin))]))
    got = bytearray()
    while piece := tcp.read():
        got += piece
    tcp.check("octets", True, full <= len(got) <= full + 1)
    tcp.check("first", bytes(range(251)), bytes(got[:251]))
    tcp.check("evil", False, b"evil" in got)
    tcp.ignore_rest()


@case("window-of-an-old-ack", "An ACK that was overtaken opens a window that is closed",
      sources=["RFC 9293 3.10.7.4, fifth: SND.WL1 and SND.WL2", "RFC 1122 4.2.2.20"],
      stimulus="An ACK of all data closes the window; then an older one with a large window comes",
      clause="RFC 9293 3.10.7.4, fifth: only a newer segment updates the window",
      sound="The window stays closed")
def test_window_of_an_old_ack(tcp):
    flowing(tcp, 3000, mss=500, window=MSS)
    tcp.check("sent", MSS + 1, furthest(tcp))
    tcp.send("A", ack=MSS + 1, window=0)
    begin = mark(tcp)
    tcp.send("A", ack=501, window=20_000).advance("100ms")
    tcp.check("data", [], [one.seq for one in data(tcp, begin)])
    tcp.ignore_rest()


@case("deaf-at-zero-window", "With its own window closed a TCP drops ACKs, so that it can not send",
      sources=["RFC 9293 3.4, MUST-66", "RFC 793, page 26"],
      stimulus="The receive window is full; the device sends, and the peer acknowledges",
      clause="RFC 9293 3.4, MUST-66: ACK and RST are processed at a zero window",
      sound="The ACKs count: all data leaves, once")
def test_deaf_at_zero_window(tcp):
    filled(tcp)
    begin, end = mark(tcp), 1
    tcp.write(10_000).advance("10ms")
    for _ in range(20):
        end = max(end, furthest(tcp, begin))
        tcp.send("A", ack=end).advance("10ms")
    tcp.check("sent", 10_001, end)
    at_most(tcp, "octets", 10_000, sum(len(one.payload) for one in data(tcp, begin)))
    tcp.ignore_rest()


@case("reset-at-zero-window", "With its window closed a TCP ignores resets, and keeps a dead peer",
      sources=["RFC 9293 3.4, MUST-66"],
      stimulus="The receive window is full; a reset at RCV.NXT arrives",
      clause="RFC 9293 3.4, MUST-66; 3.10.7.4, second",
      sound="The connection is CLOSED: further data of the peer is reset")
def test_reset_at_zero_window(tcp):
    full = filled(tcp)
    tcp.send("R", seq=full + 1).expect_state("CLOSED")
    begin = mark(tcp)
    tcp.send("PA", seq=full + 1, ack=1, payload=b"more").advance("1s")
    tcp.check("reset", True, [one.flags[:1] for one in seen(tcp, begin)] == ["R"])


@case("probe-unanswered", "A probe of a closed window gets no answer, and the peer gives up",
      sources=["RFC 9293 3.8.6.1", "RFC 1122 4.2.2.17"],
      stimulus="The receive window is full; the peer probes it by one octet three times",
      clause="RFC 9293 3.8.6.1: a probe is answered by an ACK with the window",
      sound="Answers each with an ACK of what it has; after the program has read all, the answer"
            " opens the window")
def test_probe_unanswered(tcp):
    full = filled(tcp)
    for _ in range(3):
        begin = mark(tcp)
        tcp.send("A", seq=full + 1, payload=b"!").advance("2s")
        acks = [one.ack for one in seen(tcp, begin)]
        tcp.check("ACK", True, acks in ([full + 1], [full + 2]))
    while tcp.read():
        pass
    tcp.send("A", seq=full + 1, payload=b"!").advance("2s")
    at_least(tcp, "window", 1000, seen(tcp)[-1].window)
    tcp.ignore_rest()


@case("sockstress", "A peer with a closed window holds a connection that the program can not end",
      sources=["CVE-2008-4609", "RFC 6429", "CPNI, Security Assessment of TCP (2009)"],
      stimulus="The window is zero from the handshake on, and each probe is answered; after an hour"
               " the program aborts",
      clause="RFC 9293 3.10.5; RFC 6429: persist does not keep a program from ending it",
      sound="The connection is CLOSED with a reset; nothing is sent any more")
def test_sockstress(tcp):
    tcp.established(window=0, options=[("MSS", MSS)]).write(3000)
    for _ in range(60):
        tcp.advance("60s").drain()
        tcp.send("A", ack=1, window=0).drain()
    tcp.expect_state("ESTABLISHED")
    begin = mark(tcp)
    tcp.abort().advance("1s").expect_state("CLOSED")
    tcp.check("resets", 1, len(resets(tcp, begin)))
    tcp.expect_silence("10m")


@case("small-windows", "A peer whose window never takes a full segment gets nothing",
      sources=["RFC 9293 3.8.6.2.1", "RFC 1122 4.2.3.4"],
      stimulus="A window of 100 octets, and an MSS of 1,000; each octet is acknowledged",
      clause="RFC 9293 3.8.6.2.1: half of the largest window is enough",
      sound="1,000 octets have left within 30 s")
def test_small_windows(tcp):
    flowing(tcp, 1000, window=100)
    for _ in range(30):
        tcp.send("A", ack=furthest(tcp), window=100).advance("1s")
    tcp.check("sent", 1001, furthest(tcp))
    tcp.ignore_rest()
