#!/usr/bin/env python3
# The effect of resets, and what draws one, in every state: RFC 9293 3.5.2, 3.5.3 and 3.10.7, RFC
# 5961.
"""Writes the scenarios of resets, state by state."""
from lib import MSS, Scenario, main

TEXT = "authored from RFC 9293 section "
CHALLENGE = ["9293:P-RST-CHALLENGE", "9293:P-RST-SYNC", "9293:P-RST-OUT", "5961:BLIND-1",
             "5961:BLIND-2", "5961:BLIND-3", "5961:BLIND-14"]


def scenario_closed_no_ack():
    s = Scenario("rfc9293-3.10.7.1-closed-without-ack",
                 "CLOSED: what has no ACK is reset at its end",
                 ["9293:P-CLOSED-SEG", "9293:P-CLOSED-RST", "9293:P-RST-SEQ", "9293:P-SEGLEN"],
                 TEXT + "3.10.7.1", "closed", device_isn=0, peer_isn=0)
    for flags, data, end in (("S", 0, 1), ("S", 10, 11), ("", 50, 50), ("F", 0, 1), ("F", 20, 21)):
        s.peer(flags, data, seq=0, ignored=True)
        s.device("RA", seq=0, ack=end, note="<SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>")
    s.peer("R", seq=0, note="a RST is never answered")
    s.twin_shifts("9293:P-CLOSED-SEG", 2, "ack", -1)
    s.twin_shifts("9293:P-CLOSED-SEG", 4, "seq", 1)
    s.twin_lacks("9293:P-CLOSED-SEG", 10)
    s.twin_adds("9293:P-CLOSED-RST", 11, "RA", seq=0, ack=0)
    return s


def scenario_closed_ack():
    s = Scenario("rfc9293-3.10.7.1-closed-with-ack", "CLOSED: what has an ACK is reset at that ACK",
                 ["9293:P-CLOSED-ACK", "9293:P-CLOSED-RST", "9293:P-RST-SEQ"],
                 TEXT + "3.10.7.1", "closed", device_isn=0, peer_isn=0)
    for flags, data, ack in (("A", 0, 5000), ("PA", 100, 6000), ("SA", 0, 7000), ("FA", 0, 8000)):
        s.peer(flags, data, seq=77, ack=ack, ignored=True)
        s.device("R", seq=ack, note="<SEQ=SEG.ACK><CTL=RST>")
    s.peer("RA", seq=77, ack=9000, note="a RST is never answered")
    s.twin_shifts("9293:P-CLOSED-ACK", 2, "seq", 1)
    s.twin_lacks("9293:P-CLOSED-ACK", 6)
    s.twin_adds("9293:P-CLOSED-RST", 9, "R", seq=9000, ack=0)
    return s


def scenario_listen():
    s = Scenario("rfc9293-3.10.7.2-listen-rules",
                 "LISTEN: RST ignored, ACK reset, the rest dropped, SYN served",
                 ["9293:P-LISTEN-RST", "9293:P-LISTEN-ACK", "9293:P-LISTEN-OTHER",
                  "9293:P-LISTEN-SYN", "9293:P-FIN-PRESYNC", "9293:P-RST-GRP2"],
                 TEXT + "3.10.7.2", device_isn=0, peer_isn=0)
    s.call("listen")
    s.peer("R", after=0, seq=5, note="step 1: ignored")
    s.peer("RA", seq=5, ack=7, note="step 1 comes before step 2")
    s.peer("A", seq=5, ack=7, ignored=True, note="step 2")
    s.device("R", seq=7)
    s.peer("PA", 10, seq=5, ack=900, ignored=True, note="step 2, whatever else is in it")
    s.device("R", seq=900)
    s.peer("", 10, seq=5, ignored=True, note="step 4: dropped")
    s.peer("F", seq=5, ignored=True, note="step 4: dropped")
    s.peer("S", mss=MSS, note="step 3")
    s.device("SA", mss=MSS)
    s.peer("A")
    s.twin_shifts("9293:P-LISTEN-ACK", 4, "seq", 1)
    s.twin_lacks("9293:P-LISTEN-ACK", 6)
    s.twin_adds("9293:P-LISTEN-RST", 1, "R", seq=5, ack=0)
    s.twin_adds("9293:P-LISTEN-OTHER", 7, "RA", seq=0, ack=15)
    return s


def scenario_syn_sent():
    s = Scenario("rfc9293-3.10.7.3-syn-sent-rules",
                 "SYN-SENT: wrong ACKs, resets and strangers, then the answer",
                 ["9293:P-SYNSENT-ACK", "9293:P-SYNSENT-RST-NOACK", "9293:P-SYNSENT-OTHER",
                  "9293:P-FIN-PRESYNC", "5961:BLIND-4", "9293:P-SYNSENT-EST"],
                 TEXT + "3.10.7.3", "active")
    s.call("open")
    s.device("S", mss=MSS)
    s.peer("SA", ack=0, mss=MSS, ignored=True, note="step 1: SEG.ACK =< ISS")
    s.device("R", seq=0)
    s.peer("A", seq=9, ack=2, ignored=True, note="step 1: SEG.ACK > SND.NXT")
    s.device("R", seq=2)
    s.peer("RA", seq=9, ack=2, note="step 1: a RST draws no RST")
    s.peer("R", seq=0, note="step 2: a RST without ACK is dropped")
    s.peer("A", seq=9, ack=1, ignored=True, note="step 5: neither SYN nor RST")
    s.peer("F", seq=9, ignored=True, note="step 5")
    s.peer("SA", mss=MSS)
    s.device("A")
    s.twin_lacks("9293:P-SYNSENT-ACK", 3)
    s.twin_shifts("9293:P-SYNSENT-ACK", 5, "seq", 1)
    s.twin("9293:P-SYNSENT-EST", packet=11, field="flags", value="R")
    s.twin_adds("9293:P-SYNSENT-ACK", 6, "R", seq=2, ack=0)
    return s


def scenario_syn_sent_refused():
    s = Scenario("rfc9293-3.10.7.3-connection-refused",
                 "SYN-SENT: a RST that acknowledges the SYN ends the attempt",
                 ["9293:P-SYNSENT-RST", "5961:BLIND-4", "9293:P-SYN-FAIL", "9293:P-RSTPROC-VALID"],
                 TEXT + "3.10.7.3", "active")
    s.call("open")
    s.device("S", mss=MSS)
    s.peer("RA", seq=-s.far.isn, note="<SEQ=0><ACK=ISS+1><CTL=RST,ACK>")
    s.peer("SA", after=100, mss=MSS, ignored=True, note="too late: CLOSED")
    reset = s.device("R", seq=1)
    s.twin("9293:P-CLOSED-ACK", packet=reset, field="flags", value="A")
    s.twin_lacks("9293:P-CLOSED-ACK", reset)
    s.twin_adds("9293:P-SYNSENT-RST", 2, "S", seq=0, ack=0, delay="1000ms")
    return s


def scenario_syn_received_passive():
    s = Scenario("rfc9293-3.10.7.4-syn-received-rst-passive",
                 "SYN-RECEIVED by passive open: a RST leads back to LISTEN",
                 ["9293:P-RST-SYNRCVD", "9293:P-FIG5-NOTE1", "9293:MUST-11"], TEXT + "3.10.7.4")
    s.call("listen")
    s.peer("S", after=0, mss=MSS)
    s.device("SA", mss=MSS)
    s.peer("R", seq=1)
    s.device_gone()
    s.restart_peer(0x11111111)
    s.restart_device(0x22222222)
    s.peer("S", mss=MSS)
    s.device("SA", mss=MSS)
    s.peer("A")
    s.twin_lacks("9293:P-LISTEN-SYN", 7)
    return s


def scenario_syn_received_active():
    s = Scenario("rfc9293-3.10.7.4-syn-received-rst-active",
                 "SYN-RECEIVED by active open: a RST means refused",
                 ["9293:P-RST-SYNRCVD", "9293:MUST-11", "9293:P-SYNSENT-SIM"],
                 TEXT + "3.10.7.4", "active")
    s.call("open")
    s.device("S", mss=MSS)
    s.peer("S", after=5, mss=MSS)
    s.device("SA", seq=0, mss=MSS)
    s.peer("R", seq=1)
    s.device_gone()
    s.twin_lacks("9293:P-SYNSENT-SIM", 3)
    return s


def scenario_syn_received_bad_ack():
    s = Scenario("rfc9293-3.10.7.4-syn-received-bad-ack",
                 "SYN-RECEIVED: a wrong ACK is reset, the state stays",
                 ["9293:P-SYNRCVD-ACK", "9293:P-SYNRCVD-EST", "9293:P-RST-GRP2", "9293:P-ACK-OFF"],
                 TEXT + "3.10.7.4")
    s.call("listen")
    s.peer("S", after=0, mss=MSS)
    s.device("SA", mss=MSS)
    s.peer("A", ack=0, note="SEG.ACK =< SND.UNA")
    s.device("R", seq=0)
    s.peer("A", ack=2, note="SEG.ACK > SND.NXT")
    s.device("R", seq=2)
    s.peer("", 10, ignored=True, note="no ACK bit: dropped")
    s.peer("A")
    s.peer("A", MSS)
    s.peer("PA", MSS, after=1)
    s.device("A")
    s.twin_lacks("9293:P-SYNRCVD-ACK", 4)
    s.twin_shifts("9293:P-SYNRCVD-ACK", 6, "seq", 1)
    s.twin_lacks("9293:P-TEXT-ACK", 11)
    return s


def scenario_syn_received_old_syn():
    s = Scenario("rfc9293-3.10.7.4-syn-received-in-window-syn",
                 "SYN-RECEIVED by passive open: a SYN in the window leads back to LISTEN",
                 ["9293:P-SYN-SYNRCVD", "9293:MUST-11"], TEXT + "3.10.7.4")
    s.call("listen")
    s.peer("S", after=0, mss=MSS)
    s.device("SA", mss=MSS)
    s.peer("S", seq=100, mss=MSS, ignored=True, note="another SYN, inside the window")
    s.device_gone()
    s.restart_peer(0x11111111)
    s.restart_device(0x22222222)
    s.peer("S", mss=MSS)
    s.device("SA", mss=MSS)
    s.peer("A")
    s.twin_lacks("9293:P-LISTEN-SYN", 7)
    return s


def into(s, state):
    """Bring a passive device into `state`; return its SND.NXT and RCV.NXT."""
    s.listen_and_accept()
    s.wait(40)
    if state in ("close-wait", "last-ack"):
        s.peer("FA")
        s.device("A")
        s.wait(20)
    if state not in ("established", "close-wait"):
        s.call("finish")
        s.device("FA")
    if state in ("fin-wait-2", "time-wait"):
        s.peer("A")
    if state == "time-wait":
        s.peer("FA")
        s.device("A")
    if state == "closing":
        s.peer("FA", ack=1)
        s.device("A")


def reset_scenario(state, rule, policy="rfc5961"):
    """One state under one policy: RST outside, inside and exactly at the window's left edge."""
    name = f"rfc9293-3.10.7.4-{state}-rst" + ("" if policy == "rfc5961" else "-793")
    shows = (CHALLENGE if policy == "rfc5961" else ["9293:P-RSTPROC-VALID"]) + [rule]
    config = {"reset_policy": policy}
    if state == "time-wait":
        config |= {"msl": "30s", "time_wait_ignores_reset": False}
    s = Scenario(name, f"{state.upper()}: resets outside, inside and at the edge of the window "
                 f"({'RFC 5961' if policy == 'rfc5961' else 'RFC 793'})", shows,
                 TEXT + "3.10.7.4, second step", config=config)
    into(s, state)
    edge = s.dev.receive_next
    acked = s.far.receive_next if state != "last-ack" and state != "closing" else 1
    s.peer("R", seq=edge - 1, note="left of the window: dropped silently")
    last = s.peer("R", seq=edge + 70000, note="right of the window: dropped silently")
    s.twin_adds("9293:P-RST-OUT", last, "A", seq=s.dev.send_next, ack=edge)
    if policy == "rfc5961":
        s.peer("R", seq=edge + 1, note="in the window, not at its edge")
        challenge = s.device("A", note="challenge ACK, the state stays")
        s.twin_lacks("9293:P-RST-CHALLENGE", challenge)
        s.twin_shifts("9293:P-RST-CHALLENGE", challenge, "ack", 1)
        s.peer("R", seq=edge, note="exactly RCV.NXT: reset")
    else:
        s.peer("R", seq=edge + 1000, note="in the window: reset")
    s.device_gone(ack=acked)
    return s


def scenario_states():
    established = "9293:P-RST-EST"
    rules = [("established", established), ("fin-wait-1", established),
             ("fin-wait-2", established), ("close-wait", established),
             ("closing", "9293:P-RST-CLOSING"), ("last-ack", "9293:P-RST-CLOSING"),
             ("time-wait", "9293:P-RST-CLOSING")]
    return ([reset_scenario(state, rule) for state, rule in rules]
            + [reset_scenario(state, rule, "rfc793") for state, rule in rules[:1]])


def scenario_syn_challenge():
    s = Scenario("rfc9293-3.10.7.4-established-syn",
                 "ESTABLISHED: any SYN draws a challenge ACK (RFC 5961)",
                 ["9293:P-SYN-INWIN", "9293:P-RST-GRP3", "5961:BLIND-5"],
                 TEXT + "3.10.7.4, fourth step", config={"reset_policy": "rfc5961"})
    s.listen_and_accept()
    for seq, where in ((1, "at"), (500, "inside"), (0, "left of"), (100000, "right of")):
        s.peer("S", after=1000, seq=seq, mss=MSS, ignored=True, note=f"{where} the window")
        s.device("A")
    s.peer("A", MSS, note="the connection lives")
    s.peer("PA", MSS, after=1)
    s.device("A")
    s.twin_lacks("9293:P-SYN-INWIN", 5)
    s.twin("9293:P-SYN-INWIN", packet=7, field="flags", value="R")
    s.twin_shifts("9293:P-SYN-INWIN", 11, "ack", 1)
    s.twin_lacks("9293:P-TEXT-ACK", 14)
    return s


def scenario_syn_793():
    s = Scenario("rfc9293-3.10.7.4-established-syn-793",
                 "ESTABLISHED: a SYN in the window resets (RFC 793)",
                 ["9293:P-SYN-793", "9293:P-SYN-OUTWIN"],
                 TEXT + "3.10.7.4, fourth step, without RFC 5961",
                 config={"reset_policy": "rfc793"})
    s.listen_and_accept()
    s.peer("SA", seq=0, ignored=True, note="left of the window: an ACK, in step 1")
    s.device("A")
    s.peer("SA", seq=500, ignored=True, note="inside the window: an error")
    s.device("R", note="<SEQ=SEG.ACK><CTL=RST>")
    s.device_gone()
    s.twin_lacks("9293:P-ACCEPT-REPLY", 5)
    s.twin_lacks("9293:P-SYN-793", 7)
    return s


def abort_scenario(state):
    """The application aborts in `state`: a reset is sent and the connection is deleted."""
    s = Scenario(f"rfc9293-3.10.5-abort-{state}",
                 f"ABORT in {state.upper()} sends a reset at SND.NXT",
                 ["9293:P-ABORT", "9293:P-ABORT-MODE", "9293:P-ABORT-API", "9293:P-RST-USER"],
                 TEXT + "3.10.5")
    into(s, state)
    s.wait(50)
    s.call("abort")
    reset = s.device("R", note="<SEQ=SND.NXT><CTL=RST>")
    s.device_gone()
    s.twin_lacks("9293:P-ABORT", reset)
    s.twin_shifts("9293:P-ABORT", reset, "seq", 100000)
    s.twin("9293:P-ABORT", packet=reset, field="flags", value="FA")
    return s


def scenario_aborts():
    return [abort_scenario(state) for state in ("established", "fin-wait-2", "close-wait")]


def scenario_abort_syn_sent():
    s = Scenario("rfc9293-3.10.5-abort-syn-sent", "ABORT in SYN-SENT sends nothing",
                 ["9293:P-ABORT-SYNSENT", "9293:P-CLOSED-ACK"], TEXT + "3.10.5", "active")
    s.call("open")
    s.device("S", mss=MSS)
    s.wait(5)
    s.call("abort")
    s.peer("SA", after=5, mss=MSS, ignored=True, note="CLOSED: the answer to the SYN is a stranger")
    s.device("R", seq=1)
    s.twin("9293:P-CLOSED-ACK", packet=3, field="flags", value="A")
    s.twin_adds("9293:P-ABORT-SYNSENT", 1, "R", seq=1, ack=0, delay="5ms")
    return s


if __name__ == "__main__":
    main()
