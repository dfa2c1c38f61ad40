# ACKs that lie: beyond SND.NXT, divided, optimistic, repeated; storms; round trips; SACK blocks.
import pytest
from museum import case
from record_kit import (
    SECOND,
    at_least,
    at_most,
    data,
    flowing,
    furthest,
    limits_on,
    lives,
    mark,
    seen,
)

from lockstep.testing.packets import MOD


@case("ack-of-the-unsent", "Data is accepted with an ACK of what was never sent",
      sources=["RFC 9293 3.10.7.4, fifth", "mTCP issue 6", "TLDK issues 8 and 12",
               "F-Stack issue 2 of EmNetTest"],
      stimulus="Data whose ACK is one, 1,000 and 2^30 octets beyond SND.NXT",
      clause="RFC 9293 3.10.7.4, fifth: send an ACK, drop the segment",
      sound="Drops the data, with an ACK of its own or in silence; the connection works")
@pytest.mark.parametrize("ahead", [1, 1000, 1 << 30])
def test_ack_of_the_unsent(tcp, ahead):
    tcp.established().send("PA", seq=1, ack=1 + ahead, payload=b"evil").advance("1s")
    tcp.check("read", b"", tcp.read())
    at_most(tcp, "acknowledged", 1, max(one.ack for one in seen(tcp)))
    lives(tcp, unread=b"")


@case("ancient-ack", "A blind attacker injects data, as any old acknowledgment number will do",
      sources=["RFC 5961 5", "RFC 793, page 72"],
      stimulus="Data whose ACK is older than the largest window that the attacker's victim offered",
      clause="RFC 5961 5.2, an option in RFC 9293 3.10.7.4, fifth (MAY-12)",
      sound="Drops the data, with or without an ACK; the connection works")
@pytest.mark.parametrize("behind", [70_000, 1 << 30, (1 << 31) - 10])
def test_ancient_ack(tcp, behind):
    tcp.established().send("PA", seq=1, ack=1 - behind, payload=b"evil").advance("1s")
    tcp.check("read", b"", tcp.read())
    lives(tcp, unread=b"")


@case("data-without-ack", "Data is accepted without the ACK flag, so that its number need not fit",
      sources=["RFC 9293 3.10.7.4, fifth", "TLDK issue 14"],
      stimulus="Data, with and without FIN and URG, without ACK on an established connection",
      clause="RFC 9293 3.10.7.4, fifth: if the ACK bit is off, drop the segment",
      sound="Drops it; nothing is acknowledged or read; the connection works")
@pytest.mark.parametrize("flags", ["", "P", "F", "FPU"])
def test_data_without_ack(tcp, flags):
    tcp.established().send(flags, seq=1, payload=b"evil", urgent=2 * ("U" in flags)).advance("1s")
    tcp.check("read", b"", tcp.read())
    at_most(tcp, "acknowledged", 1, max(one.ack for one in seen(tcp)))
    lives(tcp, unread=b"")


@case("ack-storm", "Two ends that do not agree on their numbers send ACKs to each other for ever",
      sources=["Joncheray, A Simple Active Attack Against TCP (1995)",
               "Abramov and Herzberg, TCP Ack Storm DoS Attacks (2011)", "RFC 5961 7"],
      stimulus="Each ACK of the device is answered by an empty segment outside its window, 2,000"
               " times within a second",
      clause="RFC 9293 3.10.7.4, first; RFC 5961 7: such ACKs are limited",
      sound="At most 1,000 answers in that second; then the connection works")
@pytest.mark.parametrize("seq,ack", [(200_000, 1), (1, 5000)])
def test_ack_storm(tcp, seq, ack):
    limits_on(tcp).established()
    empty = bytes(tcp.segment("A", seq=seq, ack=ack))
    for _ in range(2000):
        tcp.inject(empty)
    at_most(tcp, "answers", 1000, len(tcp.drain()))
    tcp.advance("2s")
    lives(tcp)


@case("ack-division", "One segment, acknowledged in many pieces, opens the congestion window far",
      sources=["Savage and others, TCP Congestion Control with a Misbehaving Receiver (1999)",
               "RFC 3465 1", "RFC 5681 3.1"],
      stimulus="The first segment of 1,000 octets is acknowledged ten octets at a time",
      clause="RFC 5681 3.1: cwnd grows by at most what was acknowledged",
      sound="No more octets in flight than before plus those that were acknowledged, and one"
            " segment")
def test_ack_division(tcp):
    flight = flowing(tcp, 100_000)
    for ack in range(11, 1002, 10):
        tcp.send("A", ack=ack)
    at_most(tcp, "in flight", flight + 1000 + 1000, furthest(tcp) - 1001)
    tcp.ignore_rest()


@case("duplicate-ack-spoofing", "Duplicate ACKs let more leave than one segment each",
      sources=["Savage and others (1999)", "RFC 5681 3.2 on the inflation of cwnd"],
      stimulus="20 duplicate ACKs of four segments or more in flight",
      clause="RFC 5681 3.2, steps 2 to 4: cwnd is halved, and grows by a segment for each",
      sound="In flight are at most three quarters of the first flight, or two segments, and 20")
def test_duplicate_ack_spoofing(tcp):
    flight = flowing(tcp, 120_000)
    for _ in range(20):
        tcp.send("A", ack=1)
    at_most(tcp, "in flight", max(flight * 3 // 4, 2000) + 20_000, furthest(tcp) - 1)
    tcp.ignore_rest()


@case("optimistic-ack", "ACKs of what has not left yet move the window",
      sources=["Savage and others (1999)", "CERT VU#102014", "RFC 9293 3.10.7.4, fifth"],
      stimulus="ACKs beyond SND.NXT, up to all that the program has written, while data is in"
               " flight",
      clause="RFC 9293 3.10.7.4, fifth: such a segment is dropped",
      sound="No octet more leaves, and what was not acknowledged is sent again after the timeout")
def test_optimistic_ack(tcp):
    flight = flowing(tcp, 60_000)
    begin = mark(tcp)
    for ack in range(flight + 2, 60_001, 1000):
        tcp.send("A", ack=ack)
    tcp.check("data", [], [one.seq for one in data(tcp, begin)])
    tcp.advance("5s")
    tcp.check("again", 1, data(tcp, begin)[0].seq)
    tcp.ignore_rest()


@case("no-duplicate", "An ACK that is no duplicate counts as a sign of loss",
      sources=["RFC 5681 2, the definition", "Paxson, Automated Packet Trace Analysis (1997)"],
      stimulus="Ten ACKs of the same number: with another window each, or each with data",
      clause="RFC 5681 2, duplicate acknowledgment, (b) and (e)",
      sound="Retransmits nothing before the timeout")
@pytest.mark.parametrize("kind", ["window", "data"])
def test_no_duplicate(tcp, kind):
    flowing(tcp, 4000, window=20_000)
    begin = mark(tcp)
    for i in range(10):
        if kind == "window":
            tcp.send("A", ack=1, window=30_000 + 2000 * i)
        else:
            tcp.send("PA", ack=1, window=20_000, payload=b"0123456789")
    tcp.check("again", [], [one.seq for one in data(tcp, begin)])
    tcp.ignore_rest()


@case("karn", "A segment that was sent twice is measured, so that the timeout collapses",
      sources=["Karn and Partridge, Improving Round-Trip Time Estimates (1987)",
               "RFC 6298 3", "RFC 9293 3.8.1"],
      stimulus="The second retransmission is acknowledged at once; new data is not acknowledged",
      clause="RFC 6298 3 and 5.5: no sample of a retransmission; the backed-off timeout stays",
      sound="The new data is retransmitted no earlier than after one and a half of the first"
            " timeout")
def test_karn(tcp):
    tcp.established(options=[("MSS", 1000)]).write(b"first")
    for _ in range(300):
        tcp.advance("100ms")
        if len(times := [one.at for one in data(tcp)]) > 2:
            break
    at_least(tcp, "transmissions", 3, len(times))
    tcp.advance("10ms").send("A", ack=6)
    begin = mark(tcp)
    tcp.write(b"second").advance("60s")
    again = [one.at for one in data(tcp, begin) if one.seq == 6]
    at_least(tcp, "retransmissions", 1, len(again) - 1)
    first = times[1] - times[0]
    at_least(tcp, "wait", round(first * 1.5 / SECOND, 2), round((again[1] - again[0]) / SECOND, 2))
    tcp.ignore_rest()


@case("echo-of-the-future", "A timestamp that was never sent is taken for a round trip",
      sources=["RFC 7323 4.1 and 7.1", "TLDK issues 18 to 20", "mTCP issues 3, 5 and 7"],
      stimulus="The ACK of a retransmission echoes zero, or a timestamp far ahead of the device's;"
               " then data is lost",
      clause="RFC 7323 3.2 and 4.1: an echo counts if it can be one",
      sound="The lost data is sent again within 15 seconds, and the connection works")
@pytest.mark.parametrize("ahead", [None, 1 << 20, 1 << 30, (1 << 31) - 1])
@pytest.mark.stack(timestamps=True)
def test_echo_of_the_future(tcp, ahead):
    tcp.established(options=[("MSS", 1000), ("Timestamp", (1, 0))]).write(b"twice").advance("4s")
    at_least(tcp, "transmissions", 2, len(data(tcp)))
    last = seen(tcp)[-1].options["Timestamp"][0]
    lie = ("Timestamp", (2, 0 if ahead is None else (last + ahead) % MOD))
    tcp.send("A", ack=6, options=[("NOP", None), ("NOP", None), lie])
    begin = mark(tcp)
    tcp.stamp = 3
    tcp.write(b"lost").advance("15s")
    at_least(tcp, "transmissions", 2, len(data(tcp, begin)))
    tcp.send("A", ack=10)
    lives(tcp)


SACKS = pytest.mark.stack(sack=True)
ALLOWED = [("SAckOK", b"")]


def sack(tcp, *blocks, ack=1):
    """An ACK with these blocks, relative to the SYN of the TCP under test."""
    edges = tuple((tcp.device_iss + edge) % MOD for block in blocks for edge in block)
    return tcp.send("A", ack=ack, options=[("NOP", None), ("NOP", None), ("SAck", edges)])


@case("sack-of-the-unsent", "SACK blocks of data that was never sent confuse the scoreboard",
      sources=["RFC 2018 5", "RFC 6675 4"],
      stimulus="Blocks of the future, of the past, and of more than all data, while four segments"
               " are in flight",
      clause="RFC 2018 4 and 8; RFC 9293 3.4",
      sound="Ignores them: all that was not acknowledged is sent again in the end, with the same"
            " octets")
@pytest.mark.parametrize("block", [(50_001, 60_001), (-5000, -1000), (1, 500_000), (3001, 90_001)])
@SACKS
def test_sack_of_the_unsent(tcp, block):
    flowing(tcp, 4000, options=ALLOWED)
    for _ in range(4):
        sack(tcp, block)
    complete(tcp, 4000)


@case("sack-inverted", "A SACK block that ends before it begins is taken for a very long one",
      sources=["RFC 2018 3", "RFC 6675 4"],
      stimulus="Blocks of negative and of no length while four segments are in flight",
      clause="RFC 2018 3: the right edge follows the last octet",
      sound="Ignores them: all that was not acknowledged is sent again in the end")
@pytest.mark.parametrize("block", [(3001, 1001), (1001, 1001), (2001, 2000), (4001, 1)])
@SACKS
def test_sack_inverted(tcp, block):
    flowing(tcp, 4000, options=ALLOWED)
    for _ in range(4):
        sack(tcp, block)
    complete(tcp, 4000)


@case("sack-reneging", "Data that was reported by SACK is freed, although the peer may drop it",
      sources=["RFC 2018 8", "Ekiz, Rahman and Amer, Misbehaviors in TCP SACK Generation (2011)"],
      stimulus="Blocks of all but the first segment; then the peer acknowledges segment by segment,"
               " as if it had dropped what it reported",
      clause="RFC 2018 8: data must be kept until it is acknowledged, and sent again after a"
             " timeout",
      sound="Sends each segment again, with the same octets")
@SACKS
def test_sack_reneging(tcp):
    flowing(tcp, 4000, options=ALLOWED)
    for end in (2001, 3001, 4001):
        sack(tcp, (1001, end))
    complete(tcp, 4000)


def complete(tcp, octets):
    """The peer has nothing yet, and acknowledges what then comes in order: the whole stream must.

    Then the connection works.
    """
    begin, got = mark(tcp), bytearray()
    for _ in range(40):
        tcp.advance("4s")
        for one in sorted(data(tcp, begin), key=lambda one: one.seq):
            if one.seq - 1 <= len(got) < one.end - 1:
                got += one.payload[len(got) - one.seq + 1:]
        begin = mark(tcp)
        tcp.send("A", ack=1 + len(got))
        if len(got) >= octets:
            break
    tcp.check("stream", bytes(i % 251 for i in range(octets)), bytes(got))
    lives(tcp)
