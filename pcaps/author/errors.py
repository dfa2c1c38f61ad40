#!/usr/bin/env python3
# ICMP errors that routers send about the device's segments: RFC 9293 section 3.9.2.2.
"""Writes the scenarios of ICMP errors."""
from lib import MSS, Scenario, main

ORIGIN = "authored from RFC 9293 section 3.9.2.2"


def scenario_soft_opening():
    s = Scenario("rfc9293-3.9.2.2-soft-errors-syn-sent",
                 "Soft ICMP errors do not end an attempt to connect",
                 ["9293:MUST-54", "9293:MUST-56", "9293:P-CTL-ONCE"], ORIGIN, "active")
    s.call("open")
    s.device("S", mss=MSS, lost=True)
    for code in (0, 1, 5):
        s.icmp(3, code, 1, note="destination unreachable: soft")
    s.icmp(11, 0, 1, note="time exceeded: soft")
    s.at(1000)
    s.device("S", seq=0, mss=MSS)
    s.peer("SA", mss=MSS)
    s.device("A")
    s.twin_lacks("9293:P-RTO", 6)
    s.twin("9293:P-SYNSENT-EST", packet=8, field="flags", value="R")
    return s


def scenario_soft_established():
    s = Scenario("rfc9293-3.9.2.2-soft-errors-established",
                 "Soft ICMP errors do not end a connection",
                 ["9293:MUST-54", "9293:MUST-56", "9293:P-RTO"], ORIGIN, "active")
    s.open_and_connect()
    s.at(50)
    s.call("write", MSS)
    lost = s.device("PA", MSS, lost=True)
    for kind, code in ((3, 0), (3, 1), (3, 5), (11, 0), (11, 1), (12, 0)):
        s.icmp(kind, code, lost)
    s.at(1050)
    again = s.device("PA", MSS, seq=1)
    s.peer("A")
    s.twin_lacks("9293:P-RTO", again)
    s.twin_adds("9293:MUST-56", lost, "R", seq=1 + MSS, ack=0, delay="10ms")
    return s


def scenario_hard_opening():
    s = Scenario("rfc9293-3.9.2.2-port-unreachable-syn-sent",
                 "A hard ICMP error ends an attempt to connect",
                 ["9293:MUST-54", "9293:SHLD-26", "9293:P-SYN-FAIL", "9293:P-CLOSED-ACK"], ORIGIN,
                 "active")
    s.call("open")
    s.device("S", mss=MSS)
    s.icmp(3, 3, 1, note="port unreachable: hard")
    s.peer("SA", after=3000, mss=MSS, ignored=True, note="no SYN was repeated; the attempt is over")
    s.device("R", seq=1)
    s.twin_adds("9293:SHLD-26", 1, "S", seq=0, ack=0, delay="1000ms")
    s.twin("9293:P-CLOSED-ACK", packet=4, field="flags", value="A")
    return s


def scenario_source_quench():
    s = Scenario("rfc9293-3.9.2.2-source-quench", "Source Quench changes nothing",
                 ["9293:MUST-55"], ORIGIN, "active")
    s.open_and_connect()
    s.at(50)
    s.call("write", 8 * MSS)
    for _ in range(3):
        s.device("A", MSS)
    s.icmp(4, 0, 4, after=1, note="source quench: discarded")
    s.peer("A", ack=1 + 3 * MSS)
    for flags in ("A", "A", "A", "A"):
        s.device(flags, MSS, note="slow start goes on: four segments")
    s.peer("A")
    s.device("PA", MSS)
    s.peer("A")
    s.twin("9293:P-SEND-EST", packet=12, delay="1000ms")
    s.twin_shifts("9293:P-SEND-EST", 9, "seq", 1460)
    return s


if __name__ == "__main__":
    main()
