#!/usr/bin/env python3
# Congestion control: RFC 5681 sections 3 and 4, RFC 6582, computed by the arithmetic of reno.py.
"""Writes the scenarios of congestion control and loss recovery."""
from lib import MSS, Scenario, main
from reno import Bulk

TEXT = "authored from RFC 5681 section "


def bulk(slug, title, shows, origin, segments, win=65535, **fields):
    """An active device that writes `segments` segments at 50 ms, and its arithmetic."""
    s = Scenario(slug, title, shows, origin, "active")
    s.open_and_connect(win=win)
    s.at(50)
    return s, Bulk(s, segments, **fields)


def beyond(s, b, clause="5681:CC-1"):
    """The twin of every window rule: one more segment directly after the first burst."""
    packet, segment, _ = b.sent[2]
    s.twin_adds(clause, packet, "A", seq=1 + segment * MSS, ack=1, bytes=MSS)


def scenario_slow_start():
    s, b = bulk("rfc5681-3.1-slow-start", "Slow start: three segments, then one more for each ACK",
                ["5681:CC-1", "5681:CC-2", "5681:CC-3", "5681:CC-4", "5681:CC-7", "5681:CC-8",
                 "5681:CC-33", "9293:MUST-19", "5681:CC-32"], TEXT + "3.1", 21)
    b.begin()
    b.run()
    beyond(s, b)
    s.twin_shifts("9293:P-SEND-EST", b.packet("new", 4), "seq", 1460)
    s.twin("9293:P-SEND-EST", packet=b.packet("new", 21), delay="500ms")
    return s


def scenario_divided_acks():
    s, b = bulk("rfc5681-3.1-divided-acks",
                "ACKs of single octets gain no more than the octets they acknowledge",
                ["5681:CC-33", "5681:CC-8", "9293:P-ACK-CUMUL", "9293:P-RTXQ-FULLACK"],
                TEXT + "3.1", 9)
    b.begin()
    b.acks.pop(0)
    for quarter in range(1, 5):
        s.peer("A", after=0.1 if quarter > 1 else None, ack=1 + quarter * MSS // 4)
        b.new_ack(1 + quarter * MSS // 4)
        b.push()
    b.run()
    packet = b.packet("new", 5)
    s.twin_adds("5681:CC-1", packet, "A", seq=1 + 5 * MSS, ack=1, bytes=MSS)
    s.twin_shifts("9293:P-SEND-EST", packet, "seq", 1460)
    return s


def scenario_receiver_window():
    s, b = bulk("rfc5681-2-receiver-window",
                "The smaller of cwnd and rwnd limits: here the receiver's window",
                ["5681:CC-1", "9293:P-WND-FIT", "9293:P-WIN-FIELD"], TEXT + "2", 8, win=2 * MSS)
    b.begin()
    b.run()
    packet = b.packet("new", 2)
    s.twin_adds("9293:P-WND-FIT", packet, "A", seq=1 + 2 * MSS, ack=1, bytes=MSS)
    s.twin_lacks("9293:P-SEND-EST", packet)
    return s


def scenario_congestion_avoidance():
    s, b = bulk("rfc5681-3.1-congestion-avoidance",
                "Congestion avoidance: one segment more for each round trip",
                ["5681:CC-9", "5681:CC-10", "5681:CC-11", "5681:CC-12", "5681:CC-39", "5681:CC-41",
                 "5681:CC-47", "9293:MUST-19"], TEXT + "3.1", 28, lost=(1, 2, 3))
    b.begin()
    b.run()
    beyond(s, b)
    s.twin_lacks("9293:P-RTO", b.packet("timeout"))
    packet = b.packet("timeout")
    s.twin_adds("5681:CC-12", packet, "A", seq=1 + MSS, ack=1, bytes=MSS)
    return s


def scenario_timeout():
    s, b = bulk("rfc5681-3.1-timeout-and-ssthresh",
                "A timeout: one segment, slow start to half the flight, then slowly",
                ["5681:CC-11", "5681:CC-12", "5681:CC-40", "5681:CC-41", "5681:CC-45", "9293:P-RTO",
                 "6298:RTO-13"], TEXT + "3.1", 24, lost=range(6, 14))
    b.begin()
    b.run()
    packet = b.packet("timeout")
    s.twin_lacks("9293:P-RTO", packet)
    s.twin_adds("5681:CC-12", packet, "A", seq=1 + 6 * MSS, ack=1, bytes=MSS)
    return s


def scenario_repeated_timeout():
    s, b = bulk("rfc5681-3.1-repeated-timeout",
                "ssthresh stays when the same segment times out again",
                ["5681:CC-13", "5681:CC-12", "6298:RTO-14", "6298:RTO-15", "5681:CC-31"],
                TEXT + "3.1", 24, lost=(1, 1, 2, 3))
    b.begin()
    b.run()
    s.twin("6298:RTO-14", packet=b.packet("timeout", 2), delay="-800ms")
    s.twin_lacks("9293:P-RTO", b.packet("timeout", 1))
    return s


def scenario_two_duplicates():
    s, b = bulk("rfc5681-3.2-two-duplicate-acks",
                "Two duplicate ACKs: limited transmit, no retransmission",
                ["5681:CC-17", "5681:CC-18", "5681:CC-42", "3042:LTX-1", "3042:LTX-2"],
                TEXT + "3.2", 8)
    b.begin()
    b.run(acks=1)
    b.acks.clear()
    for after in (10, 1):
        s.peer("A", after=after, ack=1 + MSS, note="duplicated: segments were reordered on the way")
        b.duplicate_ack()
    s.peer("A", after=1)
    b.acks.clear()
    b.new_ack(s.far.receive_next)
    b.push()
    s.peer("A")
    packet = b.packet("limited", 2)
    s.twin_adds("5681:CC-42", packet, "A", seq=1 + MSS, ack=1, bytes=MSS)
    return s


def scenario_fast_retransmit():
    s, b = bulk("rfc5681-3.2-fast-retransmit",
                "The third duplicate ACK: the lost segment is sent again at once",
                ["5681:CC-16", "5681:CC-20", "5681:CC-21", "5681:CC-24", "5681:CC-38", "5681:CC-42",
                 "6582:NR-1", "6582:NR-3"], TEXT + "3.2", 9, lost=(6,))
    b.begin()
    b.run()
    packet = b.packet("fast")
    s.twin_lacks("5681:CC-16", packet)
    s.twin("5681:CC-16", packet=packet, delay="500ms")
    s.twin_shifts("5681:CC-21", packet, "seq", 1460)
    return s


def scenario_fast_recovery():
    s, b = bulk("rfc5681-3.2-fast-recovery",
                "Fast recovery: duplicate ACKs inflate, the new ACK deflates",
                ["5681:CC-20", "5681:CC-21", "5681:CC-22", "5681:CC-23", "5681:CC-24", "5681:CC-29",
                 "5681:CC-30", "6582:NR-1", "6582:NR-3", "6582:NR-15"], TEXT + "3.2", 34, lost=(8,))
    b.begin()
    b.run()
    packet = b.packet("fast")
    s.twin_lacks("5681:CC-16", packet)
    s.twin_adds("5681:CC-1", packet, "A", seq=highest_before(b, packet) + 9 * MSS, ack=1, bytes=MSS)
    return s


def highest_before(b, packet):
    """The sequence number after all data sent up to `packet`."""
    return 1 + max(segment for number, segment, _ in b.sent if number <= packet) * MSS


def scenario_not_duplicates():
    s, b = bulk("rfc5681-2-not-duplicate-acks",
                "Data, a changed window: ACKs that are no duplicates",
                ["5681:CC-38", "5681:CC-42"], TEXT + "2", 3)
    b.begin()
    b.acks.clear()
    s.peer("PA", 10, ack=1, note="carries data")
    s.peer("A", after=1, ack=1, win=60000, note="another window")
    s.peer("A", after=1, ack=1, win=61000, note="another window")
    s.peer("A", after=1, ack=1, win=62000, note="another window")
    s.peer("A", after=50, note="all was reordered, nothing lost")
    s.device("A", after=200 - 53)
    packet = len(s.packets) - 2
    s.twin_adds("5681:CC-42", packet, "A", seq=1, ack=11, bytes=MSS)
    s.twin_lacks("9293:P-TEXT-ACK", packet + 2)
    return s


def scenario_restart_after_idle():
    s, b = bulk("rfc5681-4.1-restart-after-idle",
                "After an idle period of more than an RTO cwnd is the restart window",
                ["5681:CC-25", "5681:CC-3"], TEXT + "4.1", 15)
    b.begin()
    b.run()
    s.at(5000)
    b.cwnd = 3 * MSS  # RW = min(IW, cwnd)
    first = len(b.sent)
    b.add(12)
    b.run()
    packet, segment, _ = b.sent[first + 2]
    s.twin_adds("5681:CC-25", packet, "A", seq=1 + segment * MSS, ack=1, bytes=MSS)
    s.twin("9293:P-SEND-EST", packet=packet, delay="500ms")
    return s


def scenario_lost_syn():
    s = Scenario("rfc5681-3.1-lost-syn",
                 "After a lost SYN: one segment, and an RTO of three seconds",
                 ["5681:CC-5", "6298:RTO-1", "6298:RTO-14", "6298:RTO-16", "6298:RTO-20",
                  "9293:P-CTL-ONCE", "9293:MUST-22"], TEXT + "3.1 and RFC 6298 section 5.7",
                  "active")
    s.call("open")
    s.device("S", mss=MSS, lost=True)
    for wait in (1000, 2000):
        again = s.device("S", after=wait, seq=0, mss=MSS, lost=wait == 1000)
    s.peer("SA", mss=MSS)
    s.device("A")
    s.at(3100)
    b = Bulk(s, 7, lost=(1,), window=1, rto_ms=3000)
    b.begin()
    b.run()
    s.twin_lacks("9293:P-RTO", again - 1)
    s.twin("6298:RTO-14", packet=again, delay="-1000ms")
    s.twin_adds("5681:CC-5", b.sent[0][0], "A", seq=1 + MSS, ack=1, bytes=MSS)
    s.twin_lacks("9293:P-RTO", b.packet("timeout"))
    return s


def scenario_partial_ack():
    s, b = bulk("rfc6582-3.2-partial-acks",
                "Several losses in one window: each partial ACK sends the next one again",
                ["6582:NR-1", "6582:NR-2", "6582:NR-3", "6582:NR-4", "6582:NR-8", "6582:NR-15",
                 "5681:CC-44"], "authored from RFC 6582 section 3.2", 30, lost=(8, 10, 12))
    b.begin()
    b.run()
    s.twin_lacks("6582:NR-2", b.packet("partial"))
    s.twin_shifts("6582:NR-2", b.packet("partial", 2), "seq", 1460)
    s.twin_lacks("5681:CC-16", b.packet("fast"))
    return s


def scenario_no_second_recovery():
    s, b = bulk("rfc6582-3.2-duplicates-after-timeout",
                "Duplicate ACKs of what was sent before a timeout start nothing",
                ["6582:NR-1", "6582:NR-5", "6582:NR-7"], "authored from RFC 6582 section 3.2", 3,
                lost=(1, 2, 3))
    b.begin()
    b.run(acks=1)
    b.acks.clear()
    for count in range(4):
        s.peer("A", after=0.5 if count else None, ack=1 + MSS,
               note="does not cover more than recover")
    last = len(s.packets)
    s.twin_adds("6582:NR-7", last, "A", seq=1 + MSS, ack=1, bytes=MSS)
    s.peer("A")
    s.twin_lacks("9293:P-RTO", b.packet("timeout"))
    return s


if __name__ == "__main__":
    main()
