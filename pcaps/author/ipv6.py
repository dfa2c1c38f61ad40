#!/usr/bin/env python3
# The basics over IPv6: opening, data, closing and resets, with the sizes and checksums of RFC 8200
# 8.
"""Writes the scenarios of TCP over IPv6."""
from lib import MSS6, Scenario, main

ORIGIN = "authored from RFC 9293 and RFC 8200, section 8"


def scenario_passive():
    s = Scenario("rfc8200-8.3-handshake-passive",
                 "A handshake over IPv6, the MSS is the MTU less 60",
                 ["8200:V6-27", "8200:V6-25", "9293:P-CKSUM-V6", "9293:P-3WHS"], ORIGIN, ipv6=True)
    s.listen_and_accept()
    s.peer("PA", 100, after=1)
    s.device("A", after=200)
    s.twin("9293:MUST-67", packet=2, field="mss", value=1460)
    s.twin_shifts("9293:P-LISTEN-SYN", 2, "ack", 1)
    return s


def scenario_data():
    s = Scenario("rfc8200-8.3-text-both-ways", "Full segments over IPv6, both ways",
                 ["8200:V6-27", "8200:V6-25", "9293:MUST-16"], ORIGIN, "active", ipv6=True)
    s.open_and_connect()
    s.at(50)
    s.call("write", 3 * MSS6)
    for flags in ("A", "A", "PA"):
        last = s.device(flags, MSS6)
    s.peer("A")
    s.peer("A", MSS6)
    s.peer("PA", MSS6, after=1)
    ack = s.device("A")
    s.twin_shifts("9293:P-TEXT-ACK", ack, "ack", 1)
    s.twin_shifts("9293:P-SEND-EST", last, "seq", 1)
    return s


def scenario_close():
    s = Scenario("rfc8200-8.1-normal-close", "A normal close over IPv6 (figure 12 of RFC 9293)",
                 ["8200:V6-25", "9293:P-NORMCLOSE", "9293:P-FIN-FW2"], ORIGIN, "active",
                 {"msl": "1s"}, ipv6=True)
    s.open_and_connect()
    s.at(50)
    s.call("close")
    s.device("FA")
    s.peer("A")
    s.peer("FA", after=20)
    s.device("A")
    s.device_gone(after=2500)
    s.twin_lacks("9293:P-CLOSE-QUEUED", 4)
    s.twin_lacks("9293:P-FIN", 7)
    return s


def scenario_reset():
    s = Scenario("rfc8200-8.1-reset-ends-a-connection", "A reset over IPv6 ends a connection",
                 ["8200:V6-25", "9293:P-RST-GRP3"], ORIGIN, ipv6=True)
    s.listen_and_accept()
    s.peer("R", after=40)
    s.device_gone()
    return s


if __name__ == "__main__":
    main()
