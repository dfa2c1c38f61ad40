#!/usr/bin/env python3
# Closing a connection: figures 12 and 13 of RFC 9293, section 3.6, half-close and TIME-WAIT.
"""Writes the scenarios of closing."""
from lib import MSS, Scenario, main

FIGURE_12 = "authored from RFC 9293 figure 12"
MSL = {"msl": "1s"}


def scenario_normal_active():
    s = Scenario("rfc9293-3.6-normal-close-active",
                 "Normal close, the side that closes first (figure 12)",
                 ["9293:P-NORMCLOSE", "9293:P-CLOSE-QUEUED", "9293:P-FINWAIT1-ACK",
                  "9293:P-FINWAIT2-ACK", "9293:P-FIN-FW2", "9293:P-TW-TIMEOUT", "9293:MUST-13",
                  "9293:P-CLOSED-ACK"], FIGURE_12 + ", TCP Peer A", "active", MSL,
                 device_isn=99, peer_isn=299)
    s.open_and_connect()
    s.at(50)
    s.call("close")
    s.device("FA", note="figure 12, line 2: FIN-WAIT-1")
    s.peer("A", note="figure 12, line 3: FIN-WAIT-2")
    s.peer("FA", after=20, note="figure 12, line 4")
    s.device("A", note="figure 12, line 5: TIME-WAIT")
    s.device_gone(after=2500)
    s.twin_lacks("9293:P-CLOSE-QUEUED", 4)
    s.twin_lacks("9293:P-FIN", 7)
    s.twin_shifts("9293:P-FIN", 7, "ack", -1)
    return s


def scenario_normal_passive():
    s = Scenario("rfc9293-3.6-normal-close-passive",
                 "Normal close, the side that closes second (figure 12)",
                 ["9293:P-NORMCLOSE", "9293:P-FIN", "9293:P-FIN-EST", "9293:P-CLOSE-CLOSEWAIT",
                  "9293:P-LASTACK-ACK", "9293:P-CLOSE-NOAUTOFIN", "9293:P-ACK-ALWAYS"],
                 FIGURE_12 + ", TCP Peer B", device_isn=299, peer_isn=99)
    s.listen_and_accept()
    s.peer("FA", after=40, note="figure 12, line 2")
    s.device("A", note="figure 12, line 3: CLOSE-WAIT")
    s.wait(30)
    s.call("close")
    s.device("FA", note="figure 12, line 4: LAST-ACK")
    s.peer("A", note="figure 12, line 5")
    s.device_gone()
    s.twin_lacks("9293:P-FIN", 5)
    s.twin_shifts("9293:P-FIN", 5, "ack", -1)
    s.twin_lacks("9293:P-CLOSE-CLOSEWAIT", 6)
    s.twin("9293:P-CLOSE-NOAUTOFIN", packet=5, field="flags", value="FA")
    return s


def scenario_simultaneous():
    s = Scenario("rfc9293-3.6-simultaneous-close", "Simultaneous close (figure 13)",
                 ["9293:P-SIMCLOSE", "9293:P-FIN-FW1-CLOSING", "9293:P-CLOSING-ACK",
                  "9293:P-TIMEWAIT-ACK", "9293:P-TW-TIMEOUT"],
                 "authored from RFC 9293 figure 13", config=MSL, device_isn=99, peer_isn=299)
    s.listen_and_accept()
    s.at(50)
    s.call("close")
    s.device("FA", note="figure 13, line 2: FIN-WAIT-1")
    s.peer("FA", after=5, ack=1, note="figure 13, line 3: it has crossed ours")
    s.device("A", note="figure 13, line 4: CLOSING")
    s.peer("A", after=5, note="figure 13, line 5: TIME-WAIT")
    s.peer("FA", after=500, seq=1, note="a FIN again: the state is TIME-WAIT")
    s.device("A")
    s.device_gone(after=2500)
    s.twin_lacks("9293:P-FIN", 6)
    s.twin_shifts("9293:P-FIN", 6, "seq", -1)
    s.twin_lacks("9293:P-TIMEWAIT-ACK", 9)
    return s


def scenario_fin_acks_fin():
    s = Scenario("rfc9293-3.3.2-fin-acknowledges-fin",
                 "FIN-WAIT-1 goes straight to TIME-WAIT on a FIN that acknowledges ours",
                 ["9293:P-FIG5-NOTE2", "9293:P-FIN-FW1-TW", "9293:P-FINWAIT1-ACK"],
                 "authored from RFC 9293 figure 5, note 2", "active", MSL)
    s.open_and_connect()
    s.at(50)
    s.call("close")
    s.device("FA")
    s.peer("FA")
    s.device("A", note="TIME-WAIT")
    s.device_gone(after=2500)
    s.twin_lacks("9293:P-FIN", 6)
    return s


def scenario_time_wait_restart():
    s = Scenario("rfc9293-3.10.7.4-time-wait-restart",
                 "A retransmitted FIN is acknowledged in TIME-WAIT and restarts the 2 MSL timer",
                 ["9293:P-TIMEWAIT-ACK", "9293:P-FIN-TW", "9293:MUST-13", "9293:P-TW-TIMEOUT"],
                 "authored from RFC 9293 section 3.10.7.4", "active", MSL)
    s.open_and_connect()
    s.at(50)
    s.call("close")
    s.device("FA")
    s.peer("FA")
    s.device("A", note="TIME-WAIT, to 2060 ms if nothing comes")
    for at in (1560, 3060):
        s.at(at - 10)
        s.peer("FA", seq=1, note="its ACK was lost on the way to the peer")
        s.device("A", note=f"restarted: to {at + 2000} ms")
    s.device_gone(after=2500)
    s.twin_lacks("9293:P-TIMEWAIT-ACK", 8)
    s.twin("9293:P-TIMEWAIT-ACK", packet=10, field="flags", value="R")
    return s


def scenario_time_wait_reuse():
    s = Scenario("rfc9293-3.6.1-time-wait-reuse",
                 "A SYN beyond the old connection's numbers reopens it from TIME-WAIT",
                 ["9293:MAY-2", "9293:P-TW-REUSE-ISN", "9293:P-LISTEN-SYN"],
                 "authored from RFC 9293 section 3.6.1",
                 config={"msl": "30s", "time_wait_reuse": True})
    s.listen_and_accept()
    s.at(50)
    s.call("finish")
    s.device("FA")
    s.peer("FA")
    s.device("A", note="TIME-WAIT")
    s.restart_peer((s.far.isn + 5000) % 2**32)
    s.restart_device((s.dev.isn + 250000) % 2**32)
    s.peer("S", after=1000, mss=MSS)
    s.device("SA", mss=MSS, note="its number is larger than any that was used before")
    s.peer("A")
    s.peer("A", MSS)
    s.peer("PA", MSS, after=1)
    s.device("A")
    s.twin_lacks("9293:P-LISTEN-SYN", 8)
    s.twin_shifts("9293:P-LISTEN-SYN", 8, "ack", 1)
    s.twin_lacks("9293:P-TEXT-ACK", 12)
    return s


def scenario_half_close_receives():
    s = Scenario("rfc9293-3.6.1-half-close-receives", "Our half is closed, data still comes in",
                 ["9293:P-HALFCLOSED", "9293:P-CLOSE-SIMPLEX", "9293:P-TEXT-ACK",
                  "9293:P-TEXT-DELIVER"],
                 "authored from RFC 9293 section 3.6.1", "active", MSL)
    s.open_and_connect()
    s.at(50)
    s.call("finish")
    s.device("FA")
    s.peer("A", note="FIN-WAIT-2")
    for _ in range(2):
        s.peer("A", MSS)
        s.peer("PA", MSS, after=1)
        s.device("A")
    s.peer("FA")
    s.device("A")
    s.twin_shifts("9293:P-TEXT-ACK", 11, "ack", -1460)
    s.twin_lacks("9293:P-FIN", 13)
    return s


def scenario_half_close_sends():
    s = Scenario("rfc9293-3.6.1-half-close-sends", "The peer's half is closed, data still goes out",
                 ["9293:P-HALFCLOSED", "9293:P-CLOSE-NOAUTOFIN", "9293:P-SEND-EST",
                  "9293:P-CLOSEWAIT-ACK", "9293:P-CLOSE-CLOSEWAIT", "9293:P-LASTACK-ACK"],
                 "authored from RFC 9293 section 3.6.1")
    s.listen_and_accept()
    s.peer("FA")
    s.device("A", note="CLOSE-WAIT")
    s.at(100)
    s.call("write", 2 * MSS)
    s.device("A", MSS)
    s.device("PA", MSS)
    s.peer("A")
    s.at(200)
    s.call("write", 2 * MSS)
    s.call("finish")
    s.device("A", MSS)
    s.device("FPA", MSS, note="LAST-ACK: the FIN follows the last byte")
    s.peer("A")
    s.twin_shifts("9293:P-SEND-EST", 6, "seq", 1)
    s.twin("9293:P-CLOSE-CLOSEWAIT", packet=10, field="flags", value="PA")
    return s


def scenario_fin_after_data():
    s = Scenario("rfc9293-3.10.4-close-after-queued-data",
                 "The FIN of a CLOSE follows all that was sent before",
                 ["9293:P-CLOSE-QUEUED", "9293:P-CLOSE-DELIVER", "9293:P-SEGLEN"],
                 "authored from RFC 9293 section 3.10.4", "active")
    s.open_and_connect()
    s.at(50)
    s.call("write", 5 * MSS)
    s.call("finish")
    for _ in range(3):
        s.device("A", MSS)
    s.peer("A", ack=1 + 2 * MSS, note="slow start: two more, and the FIN on the last")
    s.device("A", MSS)
    s.device("FPA", MSS)
    s.peer("A", ack=1 + 4 * MSS)
    s.peer("A", after=1)
    s.twin("9293:P-CLOSE-QUEUED", packet=6, field="flags", value="FA")
    s.twin("9293:P-CLOSE-QUEUED", packet=9, field="flags", value="PA")
    return s


def scenario_fin_retransmitted():
    s = Scenario("rfc9293-3.4-fin-retransmitted", "A FIN is retransmitted until it is acknowledged",
                 ["9293:P-CTL-ONCE", "9293:P-CLOSE-DELIVER", "9293:P-RTO", "6298:RTO-14"],
                 "authored from RFC 9293 sections 3.4 and 3.6", "active", MSL)
    s.open_and_connect()
    s.at(50)
    s.call("close")
    s.device("FA", lost=True)
    s.device("FA", seq=1, after=1000, lost=True)
    s.device("FA", seq=1, after=2000)
    s.peer("A")
    s.peer("FA")
    s.device("A")
    s.twin_lacks("9293:P-RTO", 5)
    s.twin("6298:RTO-14", packet=6, delay="-1000ms")
    return s


def scenario_last_ack_retransmits():
    s = Scenario("rfc9293-3.10.7.4-last-ack-retransmits",
                 "LAST-ACK sends its FIN again and ends on the ACK",
                 ["9293:P-LASTACK-ACK", "9293:P-CTL-ONCE", "9293:P-RTO", "9293:P-FIN-REMAIN"],
                 "authored from RFC 9293 section 3.10.7.4")
    s.listen_and_accept()
    s.peer("FA")
    s.device("A")
    s.at(100)
    s.call("close")
    s.device("FA", lost=True)
    s.peer("FA", after=300, seq=1, ack=1, note="our ACK of it was lost as well")
    s.device("A", note="LAST-ACK stays, the FIN is acknowledged again")
    s.at(1100)
    s.device("FA", seq=1)
    s.peer("A")
    s.device_gone()
    s.twin_lacks("9293:P-ACCEPT-REPLY", 8)
    s.twin_lacks("9293:P-RTO", 9)
    return s


def scenario_close_wait_fin_again():
    s = Scenario("rfc9293-3.10.7.4-close-wait-fin-again",
                 "A retransmitted FIN in CLOSE-WAIT is acknowledged again",
                 ["9293:P-FIN-REMAIN", "9293:P-ACCEPT-REPLY", "9293:P-CLOSE-NOAUTOFIN"],
                 "authored from RFC 9293 section 3.10.7.4")
    s.listen_and_accept()
    s.peer("FA", 100)
    s.device("A", note="CLOSE-WAIT")
    for _ in range(2):
        s.peer("FA", 100, after=1000, seq=1)
        s.device("A")
    s.twin_shifts("9293:P-FIN", 5, "ack", -1)
    s.twin_lacks("9293:P-ACCEPT-REPLY", 7)
    return s


def scenario_close_unread():
    s = Scenario("rfc9293-3.6.1-close-with-unread-data", "CLOSE with data unread sends a reset",
                 ["9293:SHLD-3", "9293:MAY-1"], "authored from RFC 9293 section 3.6.1")
    s.listen_and_accept()
    s.call("hold")
    s.peer("PA", 100)
    s.device("A", after=200)
    s.wait(100)
    s.call("close")
    s.device("R", note="data was lost, the peer must know; without ACK bit or with it")
    s.device_gone()
    s.twin("9293:SHLD-3", packet=6, field="flags", value="FA")
    s.twin_lacks("9293:SHLD-3", 6)
    return s


def scenario_data_after_close():
    s = Scenario("rfc9293-3.6.1-data-after-close",
                 "Data that arrives after CLOSE is answered by a reset",
                 ["9293:SHLD-3", "9293:MAY-1"], "authored from RFC 9293 section 3.6.1")
    s.listen_and_accept()
    s.at(50)
    s.call("close")
    s.device("FA")
    s.peer("A", note="FIN-WAIT-2")
    s.peer("PA", 100)
    s.device("R", note="nobody will read it; without ACK bit or with it")
    s.device_gone()
    s.twin("9293:SHLD-3", packet=7, field="flags", value="A")
    s.twin_lacks("9293:SHLD-3", 7)
    return s


if __name__ == "__main__":
    main()
