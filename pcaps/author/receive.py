#!/usr/bin/env python3
# Receiving: the acceptability test, reassembly of overlaps and gaps, acknowledgments, the window.
"""Writes the scenarios of the receiving side: RFC 9293 3.10.7.4, 3.8.6, RFC 5681 4.2."""
from lib import MSS, Scenario, main, pattern

TEXT = "authored from RFC 9293 section "
DELACK = {"delayed_ack": "200ms"}


def two_segments(s, base=None):
    """An established connection: two full segments arrive and are acknowledged at once."""
    s.peer("A", MSS, seq=base)
    s.peer("PA", MSS, after=1)
    return s.device("A")


def scenario_unacceptable():
    s = Scenario("rfc9293-3.10.7.4-unacceptable-segments",
                 "Segments outside the window draw an ACK and nothing else",
                 ["9293:P-ACCEPT-TEST", "9293:P-ACCEPT-L0WN", "9293:P-ACCEPT-LNWN",
                  "9293:P-ACCEPT-REPLY", "9293:P-RST-GRP3", "9293:P-WND-OVERRUN"],
                 TEXT + "3.10.7.4, first step")
    s.listen_and_accept()
    two_segments(s)
    for seq, data, what in ((1, MSS, "old data"), (2921 + 65535, MSS, "data beyond the window"),
                            (2921 + 70000, 0, "empty, beyond the window"),
                            (2920, 0, "empty, left of the window")):
        s.peer("A", data, after=1000, seq=seq, ignored=True, note=what)
        s.device("A", note="<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>")
    s.peer("RA", after=1000, seq=2920, note="the same with RST: silence")
    two_segments(s)
    s.twin_lacks("9293:P-ACCEPT-REPLY", 8)
    s.twin_shifts("9293:P-ACCEPT-REPLY", 10, "ack", 1460)
    s.twin_lacks("9293:P-ACCEPT-REPLY", 12)
    s.twin_adds("9293:P-RST-OUT", 15, "A", seq=1, ack=2921)
    return s


def scenario_zero_window_four_cases():
    s = Scenario("rfc9293-3.10.7.4-zero-window-receiver",
                 "Zero receive window: probes are answered, RST still counts",
                 ["9293:P-ACCEPT-LNW0", "9293:P-ACCEPT-L0W0", "9293:P-ZWP-REPLY",
                  "9293:P-ZEROWND-ACCEPT", "9293:MUST-66", "9293:P-ZEROWND-SEND"],
                 TEXT + "3.10.7.4 and 3.8.6.1", config={"receive_buffer_bytes": 2 * MSS})
    s.dev.window = 2 * MSS
    s.listen_and_accept()
    s.call("hold")
    s.peer("A", MSS)
    s.peer("PA", MSS, after=1)
    s.device("A", win=0)
    for after in (1000, 2000):
        s.peer("A", 1, after=after, seq=2921, ignored=True, note="a probe: not acceptable")
        s.device("A", note="acceptance refused, RCV.NXT and window 0")
    s.wait(100)
    s.call("write", MSS)
    s.device("PA", MSS, note="our own data still goes out")
    s.peer("A", note="acceptable: empty, at RCV.NXT")
    s.peer("R", seq=2921, note="a RST at RCV.NXT counts although the window is zero")
    s.device_gone()
    s.twin_lacks("9293:P-ZWP-REPLY", 8)
    s.twin_shifts("9293:P-ZWP-REPLY", 10, "ack", 1)
    return s


def scenario_trim_right():
    s = Scenario("rfc9293-3.10.7.4-trim-to-window",
                 "What lies beyond the window's right edge is cut off",
                 ["9293:P-ACCEPT-TRIM", "9293:P-WND-OVERRUN", "9293:P-ACCEPT-LNWN"],
                 TEXT + "3.10.7.4, first step", config={"receive_buffer_bytes": 2000, **DELACK})
    s.dev.window = 2000
    s.listen_and_accept()
    s.call("hold")
    s.peer("A", MSS)
    s.device("A", after=200, win=540)
    s.peer("PA", MSS, ignored=True, note="540 bytes fit")
    s.dev.take(1461, 540)
    s.device("A", after=200, win=0)
    s.twin_shifts("9293:P-ACCEPT-TRIM", 7, "ack", 920)
    s.twin_shifts("9293:P-TEXT-ACK", 5, "ack", 1)
    return s


def scenario_overlap_left():
    s = Scenario("rfc9293-3.10-overlap-left",
                 "A segment that begins before RCV.NXT gives only its new part",
                 ["9293:P-EV-OVERLAP", "9293:P-SEQ-ORDER", "9293:P-ACCEPT-TRIM"], TEXT + "3.10")
    s.listen_and_accept()
    s.peer("A", MSS)
    s.peer("A", MSS, after=1, seq=1 + MSS // 2,
           payload=b"!" * (MSS // 2) + pattern(1 + MSS, MSS // 2, 7),
           note="its first half differs from what came first and is not looked at")
    s.device("A", after=199, note="less than two full segments of new data: delayed")
    two_segments(s, 1 + MSS + MSS // 2)
    s.twin_shifts("9293:P-TEXT-ACK", 6, "ack", 730)
    s.twin_lacks("9293:P-TEXT-ACK", 9)
    return s


def scenario_overlap_queued():
    s = Scenario("rfc9293-3.10-overlap-queued",
                 "Overlapping segments above a gap are joined when it is filled",
                 ["9293:P-EV-OVERLAP", "9293:SHLD-31", "9293:P-DELACK-OOO", "5681:CC-14",
                  "5681:CC-15"],
                 TEXT + "3.10 and RFC 5681 section 4.2")
    s.listen_and_accept()
    for seq, size, note in ((2001, 1000, "above a gap"), (1501, 1000, "overlaps on the left"),
                            (1501, 1400, "inside what is there"), (2501, 1400, "on the right"),
                            (3001, 100, "nothing new")):
        s.peer("A", size, seq=seq, note=note)
        s.device("A", note="a duplicate ACK, at once")
    s.peer("A", 1000, seq=1, note="the gap is smaller")
    s.device("A", note="at once: part of a gap is filled")
    s.peer("PA", 700, seq=901, note="over both edges of the gap")
    s.device("A", note="all of it")
    s.twin_lacks("5681:CC-14", 5)
    s.twin_shifts("5681:CC-14", 7, "ack", 1000)
    s.twin_lacks("5681:CC-15", 15)
    s.twin_shifts("5681:CC-15", 17, "ack", -100)
    return s


def scenario_reordering():
    s = Scenario("rfc5681-4.2-reordering",
                 "Each segment out of order draws a duplicate ACK, the filled gap an ACK",
                 ["5681:CC-14", "5681:CC-15", "9293:SHLD-31", "9293:P-ACK-CUMUL", "5681:CC-28"],
                 "authored from RFC 5681 section 4.2")
    s.listen_and_accept()
    for index in (2, 4, 3):
        s.peer("A", MSS, after=1, seq=1 + (index - 1) * MSS)
        s.device("A", note="duplicate ACK")
    s.peer("A", MSS, after=1, seq=1)
    s.device("A", note="acknowledges all four")
    for index in (6, 5):
        s.peer("A", MSS, after=1, seq=1 + (index - 1) * MSS)
        s.device("A")
    s.twin_lacks("5681:CC-14", 5)
    s.twin_shifts("5681:CC-14", 9, "ack", 1460)
    s.twin_lacks("5681:CC-15", 11)
    s.twin_shifts("5681:CC-15", 11, "ack", -1460)
    return s


def scenario_early_fin():
    s = Scenario("rfc9293-3.10.7.4-fin-before-data",
                 "A FIN that overtakes data counts once the data is there",
                 ["9293:P-FIN", "9293:SHLD-31", "9293:P-CTL-ONCE", "5681:CC-14"], TEXT + "3.10.7.4")
    s.listen_and_accept()
    s.peer("FPA", 500, seq=1001)
    s.device("A", note="duplicate ACK: the FIN is above a gap")
    s.peer("A", 1000, seq=1)
    s.device("A", note="data and FIN, CLOSE-WAIT")
    s.wait(50)
    s.call("close")
    s.device("FA")
    s.peer("A")
    s.twin_shifts("5681:CC-14", 5, "ack", 1)
    s.twin_shifts("9293:P-FIN", 7, "ack", -1)
    s.twin_lacks("9293:P-CLOSE-CLOSEWAIT", 8)
    return s


def scenario_no_ack_bit():
    s = Scenario("rfc9293-3.10.7.4-no-ack-bit", "ESTABLISHED: a segment without ACK bit is dropped",
                 ["9293:P-ACK-OFF"], TEXT + "3.10.7.4, fifth step")
    s.listen_and_accept()
    s.peer("P", MSS, seq=1, ignored=True)
    s.peer("F", seq=1, ignored=True)
    two_segments(s, 1)
    s.twin_adds("9293:P-ACK-OFF", 4, "A", seq=1, ack=1461)
    s.twin_lacks("9293:P-TEXT-ACK", 8)
    return s


def scenario_ack_future():
    s = Scenario("rfc9293-3.10.7.4-ack-of-unsent-data",
                 "An ACK of what was never sent draws an ACK, its data is dropped",
                 ["9293:P-ACK-FUTURE", "9293:P-RST-GRP3", "9293:P-ACK-EST"],
                 TEXT + "3.10.7.4, fifth step")
    s.listen_and_accept()
    s.wait(40)
    s.call("write", MSS)
    s.device("PA", MSS)
    s.peer("A", ack=1 + 2 * MSS)
    s.device("A")
    s.peer("PA", 100, after=600, ack=5000, seq=1, ignored=True)
    s.device("A")
    s.peer("A", after=100)
    two_segments(s, 1)
    s.twin_lacks("9293:P-ACK-FUTURE", 6)
    s.twin_shifts("9293:P-ACK-FUTURE", 8, "ack", 100)
    return s


def scenario_ack_too_old():
    s = Scenario("rfc5961-5.2-ack-too-old",
                 "An ACK older than the largest window ever is answered and dropped",
                 ["9293:P-ACK-5961", "9293:MAY-12", "9293:P-ACK-MAXWND", "5961:BLIND-6",
                  "5961:BLIND-9"],
                 "authored from RFC 5961 section 5.2")
    s.far.window = 3000
    s.listen_and_accept(win=3000)
    s.peer("PA", 100, seq=1, ack=1 - 3001, ignored=True, note="SND.UNA - MAX.SND.WND - 1")
    s.device("A")
    two_segments(s, 1)
    s.twin_lacks("9293:P-ACK-5961", 5)
    s.twin_shifts("9293:P-ACK-5961", 5, "ack", 100)
    return s


def scenario_delayed_ack():
    s = Scenario("rfc5681-4.2-delayed-ack-timer",
                 "One segment is acknowledged by the delayed ACK timer",
                 ["9293:MUST-40", "9293:SHLD-18", "5681:CC-26", "5681:CC-37", "9293:P-TEXT-ACK"],
                 "authored from RFC 5681 section 4.2", config=DELACK)
    s.listen_and_accept()
    for size in (100, MSS):
        s.peer("PA", size, after=500)
        s.device("A", after=200)
    s.twin("9293:MUST-40", packet=5, delay="400ms")
    s.twin_lacks("9293:P-TEXT-ACK", 7)
    s.twin_shifts("9293:P-TEXT-ACK", 5, "ack", -1)
    return s


def scenario_second_segment():
    s = Scenario("rfc5681-4.2-every-second-segment",
                 "Every second full-sized segment is acknowledged at once",
                 ["5681:CC-27", "9293:SHLD-19", "5681:CC-43", "5681:CC-28", "5681:CC-26"],
                 "authored from RFC 5681 section 4.2", config=DELACK)
    s.listen_and_accept()
    for _ in range(4):
        s.peer("A", MSS, after=5)
        s.peer("A", MSS, after=5)
        s.device("A")
    s.peer("PA", 100, after=5)
    s.device("A", after=200, note="the rest waits for the timer")
    s.twin_lacks("5681:CC-27", 6)
    s.twin("5681:CC-27", packet=12, delay="100ms")
    s.twin_lacks("9293:P-TEXT-ACK", 17)
    return s


def scenario_piggyback():
    s = Scenario("rfc9293-3.10.7.4-ack-rides-on-data",
                 "An answer within the delay carries the acknowledgment",
                 ["9293:P-TEXT-PIGGY", "9293:P-ACK-ALWAYS", "9293:P-SEND-EST", "9293:SHLD-18"],
                 TEXT + "3.10.7.4", config=DELACK)
    s.listen_and_accept()
    for _ in range(3):
        s.peer("PA", 100)
        s.call("write", 300)
        s.device("PA", 300)
    s.peer("A")
    s.twin_shifts("9293:P-TEXT-ACK", 5, "ack", -1)
    s.twin_shifts("9293:P-SEND-EST", 7, "seq", 1)
    return s


def scenario_receiver_sws():
    s = Scenario("rfc9293-3.8.6.2.2-receiver-silly-window",
                 "The window opens only by a worthwhile amount",
                 ["9293:MUST-39", "9293:P-SWS-RCV", "9293:P-ZWP-REPLY"], TEXT + "3.8.6.2.2",
                 config={"receive_buffer_bytes": 3 * MSS, **DELACK})
    s.dev.window = 3 * MSS
    s.listen_and_accept()
    s.call("hold")
    s.peer("A", MSS)
    s.peer("A", MSS, after=1)
    s.device("A", win=MSS)
    s.peer("PA", MSS, after=1)
    s.device("A", after=200, win=0)
    s.wait(100)
    s.call("consume", 1000)
    s.peer("A", 1, after=900, seq=1 + 3 * MSS, ignored=True, note="a probe; 1000 bytes are too few")
    s.device("A")
    s.wait(100)
    s.call("consume", 1000)
    s.device("A", win=2000, note="2000 bytes: more than one segment, a window update")
    s.peer("PA", MSS)
    s.device("A", after=200, win=540)
    s.twin_adds("9293:MUST-39", 8, "A", seq=1, ack=1 + 3 * MSS, window=1000, delay="100ms")
    s.twin_shifts("9293:P-ZWP-REPLY", 10, "ack", 1)
    s.twin_lacks("9293:P-SWS-RCV", 11)
    return s


if __name__ == "__main__":
    main()
