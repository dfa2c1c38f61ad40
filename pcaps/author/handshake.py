#!/usr/bin/env python3
# Opening a connection: figures 6 to 11 of RFC 9293, section 3.5 (the same figures as in RFC 793).
"""Writes the scenarios of connection establishment."""
from lib import MSS, Scenario, main


def scenario_passive():
    s = Scenario("rfc9293-3.5-three-way-handshake-passive",
                 "Three-way handshake, passive side (figure 6)",
                 ["9293:P-3WHS", "9293:P-LISTEN-SYN", "9293:P-LISTEN-SYN-VARS",
                  "9293:P-SYNRCVD-EST", "9293:P-SYN-SEQ", "9293:SHLD-5", "9293:MUST-14"],
                 "authored from RFC 9293 figure 6, TCP Peer B", device_isn=300, peer_isn=100)
    s.listen_and_accept()
    s.peer("PA", 100, after=1, note="figure 6, line 5: data repeats the ACK's sequence number")
    s.device("A", after=200)
    s.twin_shifts("9293:P-LISTEN-SYN", 2, "ack", 1)
    s.twin("9293:P-LISTEN-SYN", packet=2, field="flags", value="A")
    return s


def scenario_active():
    s = Scenario("rfc9293-3.5-three-way-handshake-active",
                 "Three-way handshake, active side (figure 6)",
                 ["9293:P-3WHS", "9293:P-OPEN-CLOSED-ACTIVE", "9293:P-SYNSENT-SYN",
                  "9293:P-SYNSENT-EST", "9293:P-SYN-SEQ", "9293:SHLD-5", "9293:MUST-65"],
                 "authored from RFC 9293 figure 6, TCP Peer A", "active",
                 device_isn=100, peer_isn=300)
    s.open_and_connect()
    s.wait(10)
    s.call("write", 100)
    s.device("PA", 100, note="figure 6, line 5")
    s.peer("A")
    s.twin_shifts("9293:P-SYNSENT-EST", 3, "ack", 1)
    s.twin_lacks("9293:P-SYNSENT-EST", 3)
    s.twin_shifts("9293:P-SEND-EST", 4, "seq", 1)
    return s


def scenario_simultaneous_open():
    s = Scenario("rfc9293-3.5-simultaneous-open",
                 "Simultaneous connection synchronization (figure 7)",
                 ["9293:MUST-10", "9293:P-SIMOPEN-SEQ", "9293:P-SYNSENT-SIM",
                  "9293:P-SYNSENT-SIM-VARS", "9293:P-SYNRCVD-EST", "9293:P-SEQVAL-A2"],
                 "authored from RFC 9293 figure 7", "active", device_isn=100, peer_isn=300)
    s.call("open")
    s.device("S", mss=MSS)
    s.peer("S", after=5, mss=MSS, note="figure 7, line 3: the peer's SYN, sent before ours came")
    s.device("SA", seq=0, mss=MSS, note="figure 7, line 6: SYN-RECEIVED")
    s.peer("SA", after=5, seq=0, mss=MSS,
           note="figure 7, line 5: ESTABLISHED, four segments in all")
    s.peer("PA", MSS)
    s.peer("PA", MSS, after=1)
    s.device("A")
    s.wait(10)
    s.call("write", 3 * MSS)
    for flags in ("A", "A", "PA"):
        s.device(flags, MSS, note="nothing was lost: the initial window is three segments")
    s.peer("A")
    s.twin("9293:P-SYNSENT-SIM", packet=3, field="flags", value="A")
    s.twin_shifts("9293:P-SYNSENT-SIM", 3, "seq", 1)
    s.twin_lacks("9293:P-TEXT-ACK", 7)
    return s


def scenario_old_duplicate_syn_passive():
    s = Scenario("rfc9293-3.5-old-duplicate-syn-passive",
                 "Recovery from an old duplicate SYN, the side that listens (figure 8)",
                 ["9293:P-OLDDUP-SYN", "9293:P-RST-SYNRCVD", "9293:P-FIG5-NOTE1",
                  "9293:P-RSTPROC-STATE", "9293:MUST-11"],
                 "authored from RFC 9293 figure 8, TCP Peer B", device_isn=300, peer_isn=90)
    s.call("listen")
    s.peer("S", after=0, mss=MSS, note="figure 8, line 3: the old duplicate")
    s.device("SA", mss=MSS)
    s.peer("R", seq=1, note="figure 8, line 5: back to LISTEN")
    s.restart_peer(100)
    s.restart_device(400)
    s.peer("S", mss=MSS, note="figure 8, line 6: the real SYN")
    s.device("SA", mss=MSS)
    s.peer("A")
    s.twin_lacks("9293:P-LISTEN-SYN", 5)
    s.twin_shifts("9293:P-LISTEN-SYN", 5, "ack", 1)
    return s


def scenario_old_duplicate_syn_active():
    s = Scenario("rfc9293-3.5-old-duplicate-syn-active",
                 "Recovery from an old duplicate SYN, the side that opens (figure 8)",
                 ["9293:P-OLDDUP-SYN", "9293:P-SYNSENT-ACK", "9293:P-RST-GRP2"],
                 "authored from RFC 9293 figure 8, TCP Peer A", "active",
                 device_isn=100, peer_isn=300)
    s.call("open")
    s.device("S", mss=MSS, note="figure 8, line 2: delayed on its way")
    s.peer("SA", ack=-9, mss=MSS, ignored=True, note="figure 8, line 4: ACK=91 for the duplicate")
    s.device("R", seq=-9, note="figure 8, line 5")
    s.restart_peer(400)
    s.peer("SA", mss=MSS, note="figure 8, line 7")
    s.device("A")
    s.twin_lacks("9293:P-SYNSENT-ACK", 3)
    s.twin_shifts("9293:P-SYNSENT-ACK", 3, "seq", 1)
    return s


def scenario_half_open_active():
    s = Scenario("rfc9293-3.5.1-half-open-discovery-active",
                 "Half-open connection discovery, the side that crashed (figure 9)",
                 ["9293:P-HALFOPEN", "9293:P-HALFOPEN-RETRY", "9293:P-SYNSENT-ACK",
                  "6298:RTO-1"],
                 "authored from RFC 9293 figure 9, TCP Peer A", "active",
                 device_isn=400, peer_isn=200)
    s.call("open")
    s.device("S", mss=MSS, note="figure 9, line 3")
    s.peer("A", seq=100, ack=-300, ignored=True, note="figure 9, line 4: <SEQ=300><ACK=100>")
    s.device("R", seq=-300, note="figure 9, line 5: Abort!!")
    s.at(1000)
    s.device("S", seq=0, mss=MSS, note="figure 9, line 7: the SYN again after one RTO")
    s.restart_peer(5000)
    s.peer("SA", mss=MSS)
    s.device("A")
    s.twin_shifts("9293:P-SYNSENT-ACK", 3, "seq", 1)
    s.twin_lacks("9293:P-SYNSENT-ACK", 3)
    return s


def scenario_half_open_passive():
    s = Scenario("rfc9293-3.5.1-half-open-discovery-passive",
                 "Half-open connection discovery, the side that stayed up (figure 9)",
                 ["9293:P-HALFOPEN", "9293:P-SYN-INWIN", "9293:P-RST-SYNC", "9293:P-RST-EST",
                  "5961:BLIND-2", "5961:BLIND-5", "5961:BLIND-13"],
                 "authored from RFC 9293 figure 9, TCP Peer B, and RFC 5961 section 4.2",
                 device_isn=200, peer_isn=99)
    s.listen_and_accept()
    s.peer("S", after=1000, seq=301, mss=MSS, ignored=True, note="figure 9, line 3: SEQ=400")
    s.device("A", note="figure 9, line 4")
    s.peer("R", seq=1, note="figure 9, line 5: Abort!!")
    s.restart_peer(400)
    s.restart_device(9000)
    s.peer("S", after=1000, mss=MSS, note="figure 9, line 7")
    s.device("SA", mss=MSS)
    s.peer("A")
    s.twin_lacks("9293:P-SYN-INWIN", 5)
    s.twin_lacks("9293:P-LISTEN-SYN", 8)
    return s


def scenario_half_open_data_sender():
    s = Scenario("rfc9293-3.5.1-half-open-data-sender",
                 "The active side finds the half-open connection, its sender (figure 10)",
                 ["9293:P-HALFOPEN-DATA", "9293:P-RST-SYNC", "9293:P-RST-EST",
                  "9293:P-RST-SYNCSTATES"],
                 "authored from RFC 9293 figure 10, TCP Peer B", device_isn=300, peer_isn=100)
    s.listen_and_accept()
    s.wait(40)
    s.call("write", 10)
    s.device("PA", 10, note="figure 10, line 2")
    s.peer("R", note="figure 10, line 3: <SEQ=100><CTL=RST>")
    s.device_gone()
    s.twin_shifts("9293:P-SEND-EST", 4, "seq", 1)
    return s


def scenario_half_open_data_receiver():
    s = Scenario("rfc9293-3.5.1-half-open-data-receiver",
                 "The active side finds the half-open connection, the crashed one (figure 10)",
                 ["9293:P-HALFOPEN-DATA", "9293:P-CLOSED-ACK", "9293:P-RST-SEQ"],
                 "authored from RFC 9293 figure 10, TCP Peer A", "closed", device_isn=0, peer_isn=0)
    s.peer("PA", 10, after=0, seq=300, ack=100, ignored=True, note="figure 10, line 2")
    s.device("R", seq=100, note="figure 10, line 3: <SEQ=SEG.ACK><CTL=RST>")
    s.peer("A", after=500, seq=310, ack=150, ignored=True)
    s.device("R", seq=150)
    s.twin_shifts("9293:P-CLOSED-ACK", 2, "seq", 1)
    s.twin_lacks("9293:P-CLOSED-ACK", 4)
    return s


def scenario_half_open_listen():
    s = Scenario("rfc9293-3.5.1-syn-ack-at-listen",
                 "An old duplicate SYN reaches one of two passive sides (figure 11)",
                 ["9293:P-HALFOPEN-PASSIVE", "9293:P-LISTEN-ACK", "9293:P-RST-SEQ",
                  "9293:P-RST-GRP2"],
                 "authored from RFC 9293 figure 11, TCP Peer A")
    s.call("listen")
    s.peer("SA", after=0, seq=0, ack=91, mss=MSS, ignored=True, note="figure 11, line 3")
    s.device("R", seq=91, note="figure 11, line 4")
    s.restart_peer(777)
    s.peer("S", mss=MSS, note="the state is LISTEN as before")
    s.device("SA", mss=MSS)
    s.peer("A")
    s.twin_shifts("9293:P-LISTEN-ACK", 2, "seq", 1)
    s.twin_lacks("9293:P-LISTEN-ACK", 2)
    return s


def scenario_data_on_syn():
    s = Scenario("rfc9293-3.5-data-on-syn", "Data on the SYN waits until ESTABLISHED",
                 ["9293:P-SYNDATA-HOLD", "9293:P-LISTEN-SYN-QUEUE", "9293:P-SYNSENT-SYNDATA"],
                 "authored from RFC 9293 sections 3.5 and 3.10.7.2")
    s.call("listen")
    s.peer("S", 100, after=0, mss=MSS, payload=bytes(range(100)), ignored=True)
    s.device("SA", ack=1, mss=MSS, note="RCV.NXT is SEG.SEQ + 1, the text is queued")
    s.far.send_next, s.dev.receive_next = 101, 101
    s.peer("A", note="ESTABLISHED: now the text is processed")
    s.device("A", after=200)
    s.twin_shifts("9293:P-LISTEN-SYN", 2, "ack", 200)
    s.twin_lacks("9293:P-TEXT-ACK", 4)
    return s


if __name__ == "__main__":
    main()
