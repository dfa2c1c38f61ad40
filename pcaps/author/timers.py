#!/usr/bin/env python3
# The retransmission timer of RFC 6298 and the user timeout of RFC 9293.
"""Writes the scenarios of timers."""
from lib import MSS, Scenario, main

TEXT = "authored from RFC 6298 section "


def scenario_backoff():
    s = Scenario("rfc6298-5-backoff", "Each expiry doubles the timer: 1, 2, 4 and 8 seconds",
                 ["6298:RTO-1", "6298:RTO-4", "6298:RTO-9", "6298:RTO-10", "6298:RTO-13",
                  "6298:RTO-14", "6298:RTO-15", "9293:P-RTO"], TEXT + "5", "active")
    s.open_and_connect()
    s.at(50)
    s.call("write", MSS)
    s.device("PA", MSS, lost=True)
    for wait in (1000, 2000, 4000, 8000):
        last = s.device("PA", MSS, after=wait, seq=1, lost=wait < 8000)
    s.peer("A")
    s.twin_lacks("9293:P-RTO", 5)
    s.twin("6298:RTO-9", packet=5, delay="-500ms")
    s.twin("6298:RTO-14", packet=last, delay="-6000ms")
    return s


def scenario_karn():
    s = Scenario("rfc6298-3-karn",
                 "A retransmitted segment gives no sample: the longer timer stays until one does",
                 ["6298:RTO-6", "6298:RTO-21", "9293:P-RTO-KEEP", "9293:MUST-18"], TEXT + "3",
                 "active")
    s.open_and_connect()
    for at, wait, note in ((50, 1000, "one second"), (3000, 2000, "still two, there was no sample"),
                           (8000, 0, "not lost: a sample at last"),
                           (9000, 1000, "one second again")):
        s.at(at)
        s.call("write", MSS)
        seq = s.dev.send_next
        s.device("PA", MSS, lost=wait > 0)
        if wait:
            s.device("PA", MSS, after=wait, seq=seq, note=note)
        s.peer("A", note="" if wait else note)
    s.twin("6298:RTO-9", packet=8, delay="-1000ms")
    s.twin_lacks("9293:P-RTO", 13)
    return s


def scenario_estimate():
    s = Scenario("rfc6298-2-estimate", "Round trips of 800 ms: the timer is 2.4 s, then 2 s",
                 ["6298:RTO-2", "6298:RTO-3", "6298:RTO-7", "6298:RTO-18"], TEXT + "2", "active",
                 rtt=800)
    s.open_and_connect()
    s.at(1000)
    s.call("write", MSS)
    s.device("PA", MSS, note="SRTT 800, RTTVAR 400, RTO 2400 ms")
    s.peer("A")
    s.at(3000)
    s.call("write", MSS)
    s.device("PA", MSS, lost=True, note="SRTT 800, RTTVAR 300, RTO 2000 ms")
    s.device("PA", MSS, after=2000, seq=1 + MSS)
    s.peer("A")
    s.twin("6298:RTO-9", packet=7, delay="-1000ms")
    s.twin_lacks("9293:P-RTO", 7)
    return s


def scenario_restarted():
    s = Scenario("rfc6298-5.3-timer-restarted",
                 "An ACK of new data restarts the timer for what is left",
                 ["6298:RTO-12", "6298:RTO-11", "6298:RTO-13", "9293:P-RTXQ-FULLACK"],
                 TEXT + "5", "active")
    s.open_and_connect()
    s.at(50)
    s.call("write", 2 * MSS)
    s.device("A", MSS)
    s.device("PA", MSS, lost=True)
    s.peer("A", after=550, ack=1 + MSS)
    s.at(1600)
    s.device("PA", MSS, seq=1 + MSS, note="one second after the ACK")
    s.peer("A", note="nothing is left, the timer stops")
    s.twin_lacks("9293:P-RTO", 7)
    s.twin("6298:RTO-9", packet=7, delay="-550ms")
    s.twin_adds("6298:RTO-11", 8, "PA", seq=1 + MSS, ack=1, bytes=MSS, delay="990ms")
    return s


def scenario_lost_syn_ack():
    s = Scenario("rfc6298-5-syn-ack-retransmitted",
                 "A SYN,ACK is retransmitted; then the window is one segment",
                 ["9293:P-CTL-ONCE", "9293:P-RTO", "6298:RTO-14", "6298:RTO-20", "5681:CC-5"],
                 TEXT + "5")
    s.call("listen")
    s.peer("S", after=0, mss=MSS)
    s.device("SA", mss=MSS, lost=True)
    s.device("SA", after=1000, seq=0, mss=MSS, lost=True)
    s.device("SA", after=2000, seq=0, mss=MSS)
    s.peer("A")
    s.at(3100)
    s.call("write", 3 * MSS)
    s.device("A", MSS)
    s.peer("A")
    s.device("A", MSS)
    s.device("PA", MSS)
    s.peer("A")
    s.twin_lacks("9293:P-RTO", 3)
    s.twin("6298:RTO-14", packet=4, delay="-1000ms")
    s.twin_adds("5681:CC-5", 6, "A", seq=1 + MSS, ack=1, bytes=MSS)
    return s


def scenario_unanswered_syn():
    s = Scenario("rfc9293-3.8.3-unanswered-syn",
                 "A SYN that nobody answers is repeated for minutes",
                 ["9293:MUST-22", "9293:SHLD-10", "6298:RTO-14", "6298:RTO-20"],
                 "authored from RFC 9293 section 3.8.3", "active")
    s.call("open")
    s.device("S", mss=MSS, lost=True)
    for wait in (1000, 2000, 4000, 8000, 16000, 32000):
        s.device("S", after=wait, seq=0, mss=MSS, lost=wait < 32000)
    s.peer("SA", mss=MSS)
    s.device("A")
    s.twin_lacks("9293:P-RTO", 5)
    s.twin("6298:RTO-14", packet=4, delay="-3000ms")
    s.twin("9293:P-SYNSENT-EST", packet=9, field="flags", value="R")
    return s


def scenario_keepalive():
    s = Scenario("rfc9293-3.8.4-keepalive",
                 "Keep-alive probes on an idle connection; one that is not answered is no end",
                 ["9293:MUST-26", "9293:MUST-27", "9293:MUST-29", "9293:P-KA-PROBE",
                  "9293:SHLD-12"],
                 "authored from RFC 9293 section 3.8.4", "active",
                 {"keepalive": True, "keepalive_idle": "10s", "keepalive_interval": "5s"})
    s.open_and_connect()
    s.at(10010)
    s.device("A", seq=0, note="<SEQ=SND.NXT-1>, no data: ten seconds without a word")
    s.peer("A")
    s.at(20020)
    s.device("A", seq=0)
    s.device("A", seq=0, after=5000, note="no answer to the first: once more")
    s.peer("A")
    s.twin_lacks("9293:P-KA-PROBE", 4)
    s.twin_shifts("9293:P-KA-PROBE", 6, "seq", 1)
    s.twin("9293:MUST-29", packet=7, field="flags", value="R")
    return s


def scenario_user_timeout():
    s = Scenario("rfc9293-3.10.8-user-timeout",
                 "Data unacknowledged for the user timeout ends the connection",
                 ["9293:P-USER-TIMEOUT", "9293:P-OPEN-TIMEOUT", "9293:MUST-20",
                  "9293:P-CLOSED-ACK"],
                 "authored from RFC 9293 section 3.10.8", "active", {"user_timeout": "5s"})
    s.open_and_connect()
    s.at(50)
    s.call("write", MSS)
    s.device("PA", MSS, lost=True)
    s.device("PA", MSS, after=1000, seq=1, lost=True)
    s.device("PA", MSS, after=2000, seq=1, lost=True)
    s.device_gone(after=5000, ack=1)
    s.twin_adds("9293:P-USER-TIMEOUT", 6, "PA", seq=1, ack=1, bytes=MSS, delay="4000ms")
    return s


if __name__ == "__main__":
    main()
