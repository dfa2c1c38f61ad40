#!/usr/bin/env python3
# Sending: the peer's window and its probes, silly windows, Nagle, MSS, PSH and urgent data.
"""Writes the scenarios of the sending side: RFC 9293 3.7, 3.8.5, 3.8.6 and 3.10.7.4."""
from lib import MSS, Scenario, main

TEXT = "authored from RFC 9293 section "


def scenario_zero_window_probes():
    s = Scenario("rfc9293-3.8.6.1-zero-window-probes",
                 "A closed window is probed after one RTO, then ever more rarely",
                 ["9293:MUST-36", "9293:MUST-37", "9293:SHLD-29", "9293:SHLD-30",
                  "9293:P-ZWP-SEND", "9293:P-WND-UPDATE", "9293:P-WND-FIT"], TEXT + "3.8.6.1",
                  "active")
    s.open_and_connect(win=MSS)
    s.at(50)
    s.call("write", 2 * MSS)
    s.device("A", MSS, note="all that fits into the window")
    s.peer("A", win=0)
    for wait in (1000, 1990, 3990, 7990):
        s.device("A", 1, after=wait, seq=1461, lost=True, note="a probe of one octet")
        s.peer("A", ack=1461, note="not taken, the window is still closed")
    s.peer("A", after=3000, ack=1461, win=65535, note="the window opens")
    s.device("PA", MSS, seq=1461)
    s.peer("A")
    s.twin_lacks("9293:MUST-36", 6)
    s.twin_shifts("9293:MUST-36", 6, "seq", 1)
    s.twin("9293:SHLD-30", packet=10, delay="-3000ms")
    s.twin_lacks("9293:P-SEND-EST", 15)
    return s


def scenario_shrunk_window():
    s = Scenario("rfc9293-3.8.6-shrunk-window",
                 "The peer takes its window back: no new data, no harm",
                 ["9293:MUST-34", "9293:SHLD-15", "9293:P-SWS-USABLE"], TEXT + "3.8.6", "active")
    s.open_and_connect(win=5 * MSS)
    s.at(50)
    s.call("write", 6 * MSS)
    for _ in range(3):
        s.device("A", MSS)
    s.peer("A", ack=1 + MSS, win=MSS, note="right edge moved left: usable window is negative")
    s.peer("A", after=200, win=8 * MSS)
    for _ in range(2):
        s.device("A", MSS)
    s.device("PA", MSS)
    s.peer("A")
    s.twin_adds("9293:SHLD-15", 7, "A", seq=1 + 3 * MSS, ack=1, bytes=MSS)
    s.twin_shifts("9293:P-SEND-EST", 9, "seq", 1460)
    return s


def scenario_old_window():
    s = Scenario("rfc9293-3.10.7.4-old-window-information",
                 "An old segment cannot change the window",
                 ["9293:P-WND-UPDATE", "9293:P-ACK-DUP-OLD", "9293:P-WND-HIGHACK"],
                 TEXT + "3.10.7.4, fifth step", "active")
    s.open_and_connect()
    s.at(50)
    s.call("write", 2 * MSS)
    s.device("A", MSS)
    s.device("PA", MSS)
    s.peer("A", ack=1 + 2 * MSS)
    s.peer("A", after=1, ack=1 + MSS, win=0, note="sent before the one above, overtaken by it")
    s.far.window = 65535
    s.wait(40)
    s.call("write", 2 * MSS)
    s.device("A", MSS)
    s.device("PA", MSS)
    s.peer("A")
    s.twin("9293:P-SEND-EST", packet=8, delay="1000ms")
    s.twin_shifts("9293:P-SEND-EST", 9, "seq", -1460)
    return s


def scenario_sender_sws():
    s = Scenario("rfc9293-3.8.6.2.1-sender-silly-window",
                 "A usable window below one segment is left alone",
                 ["9293:MUST-38", "9293:P-SWS-SEND-FULL", "9293:P-SWS-USABLE", "9293:SHLD-28"],
                 TEXT + "3.8.6.2.1", "active")
    s.open_and_connect(win=2000)
    s.at(50)
    s.call("write", 4 * MSS)
    s.device("A", MSS, note="540 octets more would fit: fewer than a segment or half a window")
    for _ in range(3):
        s.peer("A")
        s.device("PA" if s.dev.send_next > 3 * MSS else "A", MSS)
    s.peer("A")
    s.twin_adds("9293:MUST-38", 4, "A", seq=1461, ack=1, bytes=540)
    s.twin_shifts("9293:P-SEND-EST", 6, "seq", 1)
    return s


def scenario_half_window():
    s = Scenario("rfc9293-3.8.6.2.1-half-of-the-window",
                 "A peer whose window is below one segment is served by halves",
                 ["9293:P-SWS-SEND-FRAC", "9293:MUST-38", "9293:P-WND-FIT"], TEXT + "3.8.6.2.1",
                 "active")
    s.open_and_connect(win=1000)
    s.at(50)
    s.call("write", 1600)
    s.device("A", 1000)
    s.peer("A", win=300, note="less than half of the largest window: wait")
    s.peer("A", after=50, win=600, note="more than half")
    s.device("PA", 600)
    s.peer("A")
    s.twin_adds("9293:MUST-38", 5, "A", seq=1001, ack=1, bytes=300)
    s.twin_shifts("9293:P-WND-FIT", 4, "payload", 200)
    return s


def scenario_nagle():
    s = Scenario("rfc9293-3.7.4-nagle", "Small writes wait while anything is unacknowledged",
                 ["9293:SHLD-7", "9293:P-NAGLE", "9293:P-NO-BOUNDARY"], TEXT + "3.7.4", "active",
                 {"nagle": True}, rtt=100)
    s.open_and_connect()
    s.at(200)
    s.call("write", 100)
    s.device("PA", 100)
    s.wait(20)
    s.call("write", 60)
    s.wait(20)
    s.call("write", 70)
    s.peer("A", after=60)
    s.device("PA", 130, note="both together")
    s.peer("A")
    s.twin_adds("9293:P-NAGLE", 4, "PA", seq=101, ack=1, bytes=60, delay="20ms")
    s.twin_shifts("9293:P-SEND-EST", 6, "payload", -10)
    return s


def scenario_nagle_full():
    s = Scenario("rfc9293-3.7.4-nagle-full-segment",
                 "A full-sized segment does not wait, its remainder does",
                 ["9293:P-NAGLE", "9293:SHLD-7", "9293:SHLD-28"], TEXT + "3.7.4", "active",
                 {"nagle": True}, rtt=100)
    s.open_and_connect()
    s.at(200)
    s.call("write", 100)
    s.device("PA", 100)
    s.wait(20)
    s.call("write", MSS + 200)
    s.device("A", MSS, note="full-sized: at once")
    s.peer("A", after=80)
    s.device("PA", 200)
    s.peer("A")
    s.twin_adds("9293:P-NAGLE", 5, "PA", seq=101 + MSS, ack=1, bytes=200)
    s.twin("9293:P-SEND-EST", packet=5, delay="80ms")
    return s


def scenario_nagle_fin():
    s = Scenario("rfc9293-3.7.4-nagle-fin", "The last data before a FIN does not wait",
                 ["9293:P-CLOSE-PUSH", "9293:P-CLOSE-QUEUED", "9293:P-NAGLE"], TEXT + "3.10.4",
                 "active", {"nagle": True}, rtt=100)
    s.open_and_connect()
    s.at(200)
    s.call("write", MSS + 200)
    s.device("A", MSS, note="full-sized: at once; its remainder waits")
    s.wait(20)
    s.call("close")
    s.device("FPA", 200, note="no data can be added any more")
    s.peer("A", after=80)
    s.twin("9293:P-SEND-EST", packet=5, delay="80ms")
    return s


def scenario_nagle_off():
    s = Scenario("rfc9293-3.7.4-nagle-off", "With Nagle switched off every write leaves at once",
                 ["9293:MUST-17", "9293:P-SEND-EST", "9293:MUST-61"], TEXT + "3.7.4", "active",
                 {"nagle": False}, rtt=100)
    s.open_and_connect()
    for at in (200, 220, 240):
        s.at(at)
        s.call("write", 50)
        s.device("PA", 50)
    s.peer("A", after=60, ack=51)
    s.peer("A", after=20, ack=101)
    s.peer("A", after=20)
    s.twin("9293:P-SEND-EST", packet=5, delay="60ms")
    s.twin_shifts("9293:P-SEND-EST", 6, "seq", 50)
    return s


def scenario_no_mss():
    s = Scenario("rfc9293-3.7.1-mss-option-absent",
                 "Without an MSS option segments carry at most 536 octets",
                 ["9293:MUST-15", "5681:CC-3", "9293:MUST-16"], TEXT + "3.7.1", "active")
    s.open_and_connect(peer_mss=None)
    s.at(50)
    s.call("write", 4 * 536)
    for index in range(4):
        s.device("PA" if index == 3 else "A", 536)
    s.peer("A", ack=1 + 2 * 536)
    s.peer("A", after=1)
    s.twin_shifts("9293:MUST-15", 4, "payload", 100)
    s.twin_shifts("9293:P-SEND-EST", 6, "seq", 1)
    return s


def scenario_small_mss():
    s = Scenario("rfc9293-3.7.1-small-mss", "The peer's MSS option limits our segments",
                 ["9293:MUST-14", "9293:MUST-16", "5681:CC-3", "9293:MUST-67"], TEXT + "3.7.1")
    s.listen_and_accept(peer_mss=300)
    s.at(50)
    s.call("write", 1200)
    for index in range(4):
        s.device("PA" if index == 3 else "A", 300)
    s.peer("A", ack=601)
    s.peer("A", after=1)
    s.twin_shifts("9293:MUST-16", 5, "payload", 50)
    s.twin("9293:MUST-67", packet=2, field="mss", value=9000)
    return s


def scenario_options():
    s = Scenario("rfc9293-3.1-options",
                 "Unknown, unaligned and unlikely options, reserved bits, padded frames",
                 ["9293:MUST-4", "9293:MUST-5", "9293:MUST-6", "9293:MUST-64", "9293:P-EOL",
                  "9293:P-RSRVD", "9293:P-OPT-FORMAT", "9293:P-DOFF"], TEXT + "3.1")
    s.call("listen")
    s.peer("S", after=0, pad=60, options=[("NOP", None), (200, b"abcde"), ("MSS", 536),
                                          ("NOP", None)],
           note="an unknown option, the MSS after it and unaligned")
    s.device("SA", mss=MSS)
    s.peer("A", pad=60, reserved=4, note="a reserved bit is set, the frame is padded to 60 octets")
    s.peer("A", 1000, options=[("MSS", 100), ("EOL", None), (250, b"\0\0")],
           note="MSS has no meaning without SYN; nothing counts after the end of the list")
    s.device("A", after=200)
    s.peer("PA", 1000, options=[("NOP", None)] * 3 + [(254, b"\1\2\3")])
    s.device("A", after=200)
    s.wait(50)
    s.call("write", 2 * 536)
    s.device("A", 536)
    s.device("PA", 536)
    s.peer("A", pad=60)
    s.twin_lacks("9293:P-TEXT-ACK", 7)
    s.twin_shifts("9293:MUST-16", 8, "payload", 100)
    return s


def scenario_urgent_out():
    s = Scenario("rfc9293-3.8.5-urgent-sent", "Urgent data: the pointer names the octet after it",
                 ["9293:MUST-30", "9293:MUST-62", "9293:P-SEND-URG", "9293:P-URG-DATA",
                  "9293:P-URGPTR-FIELD"], TEXT + "3.8.5", "active")
    s.open_and_connect()
    s.at(50)
    s.call("write", 100)
    s.device("PA", 100)
    s.peer("A")
    s.wait(40)
    s.call("urgent", 5)
    s.device("UPA", 5, urg=5)
    s.peer("A")
    s.wait(40)
    s.call("write", 100)
    s.device("PA", 100, note="normal mode again")
    s.peer("A")
    s.twin("9293:MUST-30", packet=6, field="flags", value="PA")
    s.twin_shifts("9293:MUST-62", 6, "urgent", -1)
    return s


def scenario_urgent_long():
    s = Scenario("rfc9293-3.8.5-urgent-over-segments",
                 "Urgent data of several segments: each names the same end",
                 ["9293:MUST-31", "9293:MUST-62", "9293:P-URG-NORECEDE"], TEXT + "3.8.5", "active")
    s.open_and_connect()
    s.at(50)
    s.call("urgent", 3 * MSS)
    for index in range(3):
        s.device("UPA" if index == 2 else "UA", MSS, urg=(3 - index) * MSS)
    s.peer("A")
    s.twin_shifts("9293:MUST-62", 5, "urgent", -1460)
    s.twin("9293:MUST-30", packet=4, field="flags", value="A")
    return s


def scenario_urgent_in():
    s = Scenario("rfc9293-3.8.5-urgent-received",
                 "Urgent data comes in, is told of and acknowledged like any other",
                 ["9293:MUST-30", "9293:MUST-32", "9293:P-URG-EST", "9293:P-URG-MODE",
                  "9293:P-URG-AFTERFIN", "9293:P-TEXT-ACK"], TEXT + "3.8.5")
    s.listen_and_accept()
    s.peer("UA", MSS, urg=2000, note="the end of the urgent data is still to come")
    s.peer("UPA", MSS, after=1, urg=540)
    s.device("A")
    s.peer("UPA", 10, urg=1, note="the pointer moves on")
    s.device("A", after=200)
    s.peer("UFA", urg=1000, note="beyond the FIN: pointless, harmless")
    s.device("A")
    s.peer("UA", after=1000, urg=5, note="CLOSE-WAIT: URG is ignored")
    s.wait(50)
    s.call("close")
    s.device("FA")
    s.peer("A")
    s.twin_shifts("9293:P-TEXT-ACK", 6, "ack", -1)
    s.twin_lacks("9293:P-FIN", 10)
    return s


def scenario_urgent_zero_window():
    s = Scenario("rfc9293-3.8.5-urgent-at-zero-window",
                 "URG is taken in although the receive window is zero",
                 ["9293:MUST-66", "9293:P-ZEROWND-ACCEPT", "9293:MUST-32", "9293:P-ZWP-REPLY"],
                 TEXT + "3.8.5 and 3.4", config={"receive_buffer_bytes": 2 * MSS})
    s.dev.window = 2 * MSS
    s.listen_and_accept()
    s.call("hold")
    s.peer("A", MSS)
    s.peer("PA", MSS, after=1)
    s.device("A", win=0)
    s.peer("UA", after=500, urg=100, note="urgent data waits at the peer")
    s.wait(100)
    s.call("resume")
    s.device("A", win=2 * MSS, note="the window opens")
    s.peer("UPA", 1000, urg=100, note="less than half of the buffer: reading it opens nothing")
    s.device("A", after=200)
    s.twin_lacks("9293:P-SWS-RCV", 8)
    s.twin_lacks("9293:P-TEXT-ACK", 10)
    return s


if __name__ == "__main__":
    main()
