# Options of TCP: lengths that lie, an MSS of nothing, SACK Panic, scales, poisoned timestamps.
import pytest
from museum import case
from museum_kit import (
    MOD,
    alive,
    arrived,
    collect,
    number,
    octets,
    raw_options,
    sent,
    serves,
    text,
)
from scapy.layers.inet import TCP

from lockstep.testing import pattern

PERMITTED = [("MSS", 1000), ("SAckOK", b"")]


def with_option(tcp, where, raw):
    """A segment with these options: a SYN to a listener, a SYN-ACK, or data; then the device must
    still work."""
    if where == "SYN":
        tcp.listen().inject(raw_options(tcp, "S", raw))
        answers = [str(one[TCP].flags) for one in sent(tcp)]
        tcp.check("answers", True, answers in ([], ["SA"], ["RA"], ["R"]))
        serves(tcp)
    elif where == "SYN-ACK":
        tcp.syn_sent().inject(raw_options(tcp, "SA", raw, ack=1))
        answers = [str(one[TCP].flags) for one in sent(tcp)]
        tcp.check("answers", True, answers in ([], ["A"], ["R"], ["RA"]))
        if answers and "R" in answers[0]:
            return  # it refuses such a peer
        if not answers:
            tcp.send("SA", seq=0, ack=1)
            tcp.check("answer", ["A"], [str(one[TCP].flags) for one in sent(tcp)])
        alive(tcp)
    else:
        tcp.established().inject(raw_options(tcp, "PA", raw, b"data", seq=1))
        answers = {str(one[TCP].flags) for one in sent(tcp, "1s")}
        tcp.check("answers", True, answers <= {"A"})
        tcp.peer_nxt = 1
        tcp.send("PA", seq=1, payload=b"data")
        alive(tcp, unread=b"data")


WHERE = pytest.mark.parametrize("where", ["SYN", "SYN-ACK", "data"])


@case("option-length-zero", "An option of length 0 keeps the parser in its place for ever",
      sources=["CVE-2020-24337 (picoTCP)", "EmNetTest: TLDK, finding 17"],
      stimulus="A SYN, a SYN-ACK or data with an option of length 0 or 1, known and unknown, alone"
               " and behind NOPs",
      clause="RFC 9293 3.1, MUST-7",
      sound="Drops the segment, or ignores the options from there on; the connection lives")
@WHERE
@pytest.mark.parametrize("raw", ["01010d00", "02000000", "fd000000", "05000000", "08010000",
                                 "fd010000", "1d00" + "00" * 38])
def test_option_length_zero(tcp, where, raw):
    with_option(tcp, where, bytes.fromhex(raw))


@case("option-beyond-the-header",
      "An option is longer than the header, and the parser reads the data or what lies behind it",
      sources=["CVE-2018-16524 (FreeRTOS+TCP)", "RFC 9293 3.1"],
      stimulus="A SYN, a SYN-ACK or data whose last option claims more octets than are left",
      clause="RFC 9293 3.1, MUST-7 and MUST-68",
      sound="Drops the segment, or ignores that option; the connection lives")
@WHERE
@pytest.mark.parametrize("raw", ["01010204", "fd280000", "fdff0000", "01010102", "010101fd",
                                 "080a0000", "01010522", "ff" * 40])
def test_option_beyond_the_header(tcp, where, raw):
    if (where, raw) != ("SYN", "01010204"):
        with_option(tcp, where, bytes.fromhex(raw))
        return
    # Read beyond the header, the data of the SYN is an MSS of 64.
    tcp.listen().inject(raw_options(tcp, "S", bytes.fromhex(raw), b"\0\x40"))
    answers = sent(tcp)
    if not answers:
        serves(tcp)
        return
    tcp.peer_nxt = (answers[0][TCP].ack - tcp.peer_iss) % MOD
    tcp.send("A").accept()
    packets = collect(tcp, 1000, piece=1000)
    tcp.check("segments", True, len(packets) <= 5)
    alive(tcp)


@case("option-of-wrong-length",
      "The length of a known option is not compared with its kind",
      sources=["EmNetTest: Contiki-NG, finding C1", "EmNetTest: TLDK, finding 23"],
      stimulus="MSS, window scale, SACK-permitted, SACK and timestamps, each shorter and longer"
               " than it can be",
      clause="RFC 9293 3.1, MUST-7; 3.2, MSS; RFC 7323 2.2 and 3.2; RFC 2018 2 and 3",
      sound="Drops the segment, or ignores that option; the connection lives")
@WHERE
@pytest.mark.parametrize("raw", ["02020101", "02030501", "020505b400010101", "03020101", "0303aa00",
                                 "03040707", "04030001", "05030001", "0509" + "00" * 7 + "010101",
                                 "050b" + "00" * 9 + "01", "0809" + "00" * 7 + "010101",
                                 "08020101", "080b" + "00" * 9 + "01"])
def test_option_of_wrong_length(tcp, where, raw):
    with_option(tcp, where, bytes.fromhex(raw))


@case("options-behind-the-end",
      "Octets behind the end of the option list are still taken for options",
      sources=["RFC 9293 3.2, end of option list"],
      stimulus="A SYN with an end of list, and behind it an MSS of 8",
      clause="RFC 9293 3.2, end of option list; 3.7.1, MUST-15",
      sound="Ignores them: segments are as large as without an MSS")
def test_options_behind_the_end(tcp):
    tcp.listen().inject(raw_options(tcp, "S", b"\0\2\4\0\x08"))
    tcp.expect("SA", ack=1)
    tcp.send("A").accept().write(1000)
    packets = collect(tcp, 1000)
    arrived(tcp, 1000, packets)
    tcp.check("segments", True, len(packets) < 10)
    alive(tcp)


@case("unknown-option-refused",
      "A segment with an unknown option is dropped, so no new option can be introduced",
      sources=["RFC 1122 4.2.2.5"],
      stimulus="A SYN and data with options of unknown kinds and right lengths, and an MSS behind"
               " them",
      clause="RFC 9293 3.1, MUST-6",
      sound="Skips them; the other options of the segment apply")
@pytest.mark.parametrize("raw", ["fd02", "fe05414243", "c80c30313233343536373839",
                                 "fd12" + "73" * 16, "fc10" + "61" * 14])
def test_unknown_option_refused(tcp, raw):
    raw = bytes.fromhex(raw)
    tcp.listen().inject(raw_options(tcp, "S", raw + b"\2\4\2\x58"))
    tcp.expect("SA", ack=1)
    tcp.send("A").accept()
    tcp.inject(raw_options(tcp, "PA", raw, b"data", seq=1))
    tcp.write(700)
    sizes = [len(octets(one)) for one in collect(tcp, 700)]
    tcp.check("MSS", True, max(sizes, default=0) <= 600)
    alive(tcp, unread=b"data")


@case("mss-zero", "An MSS of 0 is divided by, or makes segments without data for ever",
      sources=["CVE-2018-16523 (FreeRTOS+TCP)", "EmNetTest: picoTCP, findings P1 and P2"],
      stimulus="A SYN or SYN-ACK with an MSS of 0; the program writes",
      clause="RFC 9293 3.1, MUST-7; 3.7.1",
      sound="Uses a least or default size: each segment has data, and all of it arrives")
@pytest.mark.parametrize("active", [False, True])
def test_mss_zero(tcp, active):
    tcp.established(active=active, options=[("MSS", 0)])
    packets = collect(tcp, 300, piece=100)
    arrived(tcp, 300, packets)
    tcp.check("empty", 0, sum(not octets(one) for one in packets))
    alive(tcp)


@case("mss-tiny", "A tiny MSS multiplies the packets, and the work for each octet",
      sources=["CVE-2019-11479 (Linux)"],
      stimulus="A SYN with an MSS of 1 or 8; the program writes 2,048 octets, all acknowledged",
      clause="RFC 791 3.1: every host accepts 576 octets, so a larger size does no harm",
      sound="Raises the size to a least one: 16 octets a segment or more")
@pytest.mark.parametrize("mss", [1, 8])
def test_mss_tiny(tcp, mss):
    tcp.established(options=[("MSS", mss)])
    packets = collect(tcp, 2048, piece=128)
    arrived(tcp, 2048, packets)
    tcp.check("segments", True, len(packets) <= 2048 // 16)
    alive(tcp)


@case("mss-late", "An MSS option on a later segment changes the size of segments",
      sources=["EmNetTest: picoTCP, findings P1 and P2", "RFC 1122 4.2.2.6"],
      stimulus="Data with an MSS of 0, 1 or 65,535 on a connection whose SYN named 1,000",
      clause="RFC 9293 3.2, MUST-65",
      sound="Ignores it: full segments have 1,000 octets, as before")
@pytest.mark.parametrize("mss", [0, 1, 65535])
def test_mss_late(tcp, mss):
    tcp.established(options=[("MSS", 1000)])
    tcp.send("PA", payload=b"data", options=[("MSS", mss)]).advance("1s")
    tcp.drain()
    tcp.write(2000)
    sizes = [len(octets(one)) for one in collect(tcp, 2000)]
    tcp.check("sizes", [1000, 1000], sizes)
    alive(tcp, unread=b"data")


def sack(tcp, ack, *ranges):
    """A duplicate ACK with SACK blocks, relative to the device's SYN, at most four."""
    edges = tuple((tcp.device_iss + edge) % MOD for block in ranges for edge in block)
    tcp.send("A", ack=ack, options=[("NOP", None), ("NOP", None), ("SAck", edges)])


def grown(tcp):
    """A connection with MSS 48 whose window was grown by acknowledging half of what the program
    wrote. Returns all segments, how many octets were written, and the ranges in flight."""
    tcp.established(options=[("MSS", 48), ("SAckOK", b"")])
    total = tcp.offer(pattern(30_000))
    packets = sent(tcp)
    fresh, end = packets, 1
    for _ in range(100):
        for one in fresh:  # an ACK for each, so that slow start doubles the window
            if number(tcp, one) == end <= total // 2:
                end += len(octets(one))
                tcp.send("A", ack=end)
        if end > total // 2:
            break
        fresh = sent(tcp, "20ms") or sent(tcp, "1s")
        packets += fresh
    packets += sent(tcp)
    first = tcp.device_nxt if not packets else acked_last(tcp)
    ranges = sorted({(number(tcp, one), number(tcp, one) + len(octets(one))) for one in packets
                     if octets(one) and number(tcp, one) >= first})
    tcp.check("flight", True, len(ranges) >= 8)
    return packets, total, ranges


def acked_last(tcp):
    """What the tester has acknowledged last."""
    begin = 20 if tcp.target.ip_version == 4 else 40
    acks = [entry.packet[begin + 8:begin + 12] for entry in tcp.record
            if entry.packet and entry.inward]
    return (int.from_bytes(acks[-1], "big") - tcp.device_iss) % MOD


@case("sack-panic", "Ranges that SACK joins overflow a counter of 16 bits",
      sources=["CVE-2019-11477 (Linux, SACK Panic)"],
      stimulus="MSS 48 and a large flight; SACKs of every second segment, then of those between,"
               " but never of the first",
      clause="RFC 2018 5; RFC 6675 5",
      sound="Repeats what is missing; all data arrives; the connection lives")
@pytest.mark.stack(sack=True)
def test_sack_panic(tcp):
    packets, total, ranges = grown(tcp)
    for block in ranges[1::2]:
        sack(tcp, ranges[0][0], block)
    for block in ranges[2::2]:
        sack(tcp, ranges[0][0], (ranges[1][0], block[1]))
    packets = collect(tcp, total, packets + sent(tcp))
    arrived(tcp, total, packets)
    alive(tcp)


@case("sack-slowness", "A retransmission queue that SACK splits makes each ACK more expensive",
      sources=["CVE-2019-11478 (Linux)", "CVE-2019-5599 (FreeBSD)"],
      stimulus="MSS 48 and a large flight; three times SACKs of every second segment, one after the"
               " other",
      clause="RFC 6675 5: what was repeated is not sent again without a reason",
      sound="Repeats each hole once; all data arrives; the connection lives")
@pytest.mark.stack(sack=True)
def test_sack_slowness(tcp):
    packets, total, ranges = grown(tcp)
    again = []
    for block in ranges[1::2] * 3:
        sack(tcp, ranges[0][0], block)
        again += sent(tcp, "1ms")
    repeated = [one for one in again if octets(one) and number(tcp, one) < ranges[-1][1]]
    tcp.check("repeated", True, len(repeated) <= len(ranges))
    packets = collect(tcp, total, packets + again)
    arrived(tcp, total, packets)
    alive(tcp)


@case("sack-without-permission",
      "SACK blocks are sent or used although the SYN did not permit SACK",
      sources=["RFC 2018 2"],
      stimulus="A connection without SACK-permitted: data out of order, and ACKs with blocks",
      clause="RFC 2018 2 and 4",
      sound="Sends no blocks, and repeats what the blocks claim as received")
@pytest.mark.stack(sack=True)
def test_sack_without_permission(tcp):
    tcp.established(options=[("MSS", 1000)])
    tcp.send("PA", seq=5, payload=b"late")
    for one in sent(tcp):
        tcp.check("blocks", False, "SAck" in dict(one[TCP].options))
    tcp.send("PA", seq=1, payload=b"data").advance("1s")
    tcp.drain()
    tcp.peer_nxt = 9
    tcp.write(2000)
    sent(tcp, "200ms")
    for _ in range(4):
        sack(tcp, 1, (1001, 2001))
    packets = collect(tcp, 2000, sent(tcp))  # the first transmissions are lost
    arrived(tcp, 2000, packets)
    alive(tcp, unread=b"datalate")


@case("window-scale-above-14", "A window scale above 14 shifts the window out of its word",
      sources=["RFC 7323 2.3", "EmNetTest: FreeRTOS+TCP, window scale"],
      stimulus="A SYN with a window scale of 15, 31, 32 or 255; then a window of 1",
      clause="RFC 7323 2.3: a larger shift is used as 14",
      sound="At most 16,384 octets are in flight; all data arrives")
@pytest.mark.stack(window_scale=True)
@pytest.mark.parametrize("scale", [15, 31, 32, 255])
def test_window_scale_above_14(tcp, scale):
    tcp.established(options=[("MSS", 1460), ("WScale", scale)])
    total = tcp.offer(pattern(120_000))
    packets, end, most = [], 1, 0
    for _ in range(200):
        fresh = sent(tcp) or sent(tcp, "1s")
        packets += fresh
        highest = max([end, *(number(tcp, one) + len(octets(one)) for one in fresh)])
        most = max(most, highest - end)
        end = 1 + len(text(tcp, packets))
        if end > total:
            break
        tcp.send("A", ack=end, window=1)
    arrived(tcp, total, packets)
    tcp.check("in flight", True, most <= 16384)
    tcp.send("A", ack=end)
    alive(tcp)


@case("window-scale-late", "A window scale on a later segment changes the window",
      sources=["EmNetTest: FreeRTOS+TCP, window scale", "RFC 7323 2.2"],
      stimulus="Data with a window scale of 7 on a connection without scaling, and a window of 100",
      clause="RFC 7323 2.2",
      sound="Ignores it: at most 100 octets are in flight")
@pytest.mark.stack(window_scale=True)
def test_window_scale_late(tcp):
    tcp.established(options=[("MSS", 1460)])
    tcp.send("PA", payload=b"data")
    tcp.send("PA", payload=b"more", window=100, options=[("WScale", 7), ("NOP", None)])
    tcp.advance("1s")
    tcp.drain()
    tcp.write(3000)
    packets = sent(tcp, "4s")
    tcp.check("in flight", True, len(text(tcp, packets)) <= 100)
    tcp.send("A", ack=1 + len(text(tcp, packets)))
    packets = collect(tcp, 3000, packets)
    arrived(tcp, 3000, packets)
    alive(tcp, unread=b"datamore")


def stamped(tcp, value=1000):
    """A connection with timestamps, whose peer has sent this one."""
    tcp.stamp = value
    tcp.established(options=[("MSS", 1460), ("NOP", None), ("NOP", None),
                             ("Timestamp", (value, 0))])
    return tcp


def carrying(tcp, value):
    """The option of a segment with this TSval."""
    return [("NOP", None), ("NOP", None), ("Timestamp", (value % MOD, tcp.echo))]


@case("paws-poisoned", "A forged timestamp of the future makes all later ones look old",
      sources=["CVE-2005-0356 (several systems)", "RFC 7323 7.1"],
      stimulus="Segments far outside the window, and data above a gap, whose TSval is 2^30 ahead",
      clause="RFC 7323 4.3 and 5.3: recorded only from an acceptable segment at the left edge",
      sound="Keeps its record: segments with the peer's own timestamps are accepted as before")
@pytest.mark.stack(timestamps=True)
@pytest.mark.parametrize("seq", [5000, 1 << 30, -(1 << 20)])
@pytest.mark.parametrize("flags", ["A", "PA"])
def test_paws_poisoned(tcp, seq, flags):
    stamped(tcp)
    tcp.send(flags, seq=seq, payload=b"forged" * ("P" in flags),
             options=carrying(tcp, 1000 + (1 << 30)))
    tcp.advance("1s")
    tcp.drain()
    tcp.stamp = 2000
    alive(tcp, unread=b"")


@case("paws-after-25-days", "After an idle time of 25 days each timestamp of the peer looks old",
      sources=["RFC 7323 5.5"],
      stimulus="A connection is idle for 600 hours; the clock of the peer has passed 2^31",
      clause="RFC 7323 5.5: the recorded timestamp is not valid any more",
      sound="Accepts the peer's segments")
@pytest.mark.stack(timestamps=True)
def test_paws_after_25_days(tcp):
    stamped(tcp)
    tcp.advance("600h")
    tcp.drain()
    tcp.stamp = (1000 + 600 * 3_600_000) % MOD
    alive(tcp, unread=b"")


@case("timestamps-without-agreement",
      "Timestamps count although the SYNs did not have both",
      sources=["EmNetTest: TLDK, findings 13 and 18 to 20", "RFC 7323 3.2"],
      stimulus="Data with timestamps on a connection whose SYN had none, the second one older than"
               " the first",
      clause="RFC 7323 3.2",
      sound="Ignores them: sends none, and accepts the data")
@pytest.mark.stack(timestamps=True)
@pytest.mark.parametrize("first", [5, 0x9000_0000])
def test_timestamps_without_agreement(tcp, first):
    tcp.established(options=[("MSS", 1460), ("NOP", None)])  # nothing is added elsewhere
    for at, value in enumerate((first, first - 1, 0x8000_0001)):
        option = [("NOP", None), ("NOP", None), ("Timestamp", (value % MOD, 7))]
        tcp.send("PA", seq=1 + 4 * at, payload=b"data", options=option).advance("600ms")
    for one in tcp.drain():
        tcp.check("option", False, "Timestamp" in dict(one[TCP].options))
    alive(tcp, unread=b"data" * 3)
