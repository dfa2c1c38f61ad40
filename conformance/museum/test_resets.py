# Resets and blind attackers: RFC 5961, challenge ACKs, reset loops, TIME-WAIT, FINs out of place.
import pytest
from museum import case
from museum_kit import serves
from record_kit import at_most, data, limits_on, lives, mark, resets, seen


@case("blind-reset", "Any reset in the receive window ends the connection",
      sources=["CVE-2004-0230", "Watson, Slipping in the Window (2004)", "RFC 5961 3"],
      stimulus="A reset with a number inside the window but not at its left edge",
      clause="RFC 5961 3.2; RFC 9293 3.10.7.4, second",
      sound="Drops it, with or without a challenge ACK; the connection works")
@pytest.mark.parametrize("seq", [2, 1000, 30_000])
@pytest.mark.parametrize("flags", ["R", "RA"])
def test_blind_reset(tcp, flags, seq):
    tcp.established().send(flags, seq=seq)
    tcp.check("answers", True, [one.flags for one in seen(tcp)[1:]] in ([], ["A"]))
    lives(tcp)


@case("reset-out-of-window", "A reset is accepted whatever its sequence number",
      sources=["RFC 9293 3.5.3", "TLDK issue 11 (EmNetTest)"],
      stimulus="Resets just below the window, far below, at its right edge, and far above",
      clause="RFC 9293 3.5.3 and 3.10.7.4, first",
      sound="Drops them, in silence or with an ACK; the connection works")
@pytest.mark.parametrize("seq", [0, -1, -70_000, 65_536, 1 << 30, -(1 << 30)])
def test_reset_out_of_window(tcp, seq):
    tcp.established()
    begin = mark(tcp)
    tcp.send("R", seq=seq).advance("3s")
    tcp.check("answers", True, [one.flags for one in seen(tcp, begin)] in ([], ["A"]))
    lives(tcp)


@case("blind-syn", "A SYN in the window ends an established connection",
      sources=["RFC 5961 4", "RFC 793, page 71"],
      stimulus="SYNs and SYN-ACKs inside and outside the window of an established connection",
      clause="RFC 5961 4.2; RFC 9293 3.10.7.4, fourth",
      sound="Answers with an ACK of what it expects, or not at all; the connection works")
@pytest.mark.parametrize("seq", [1, 2, 30_000, 70_000, -1000])
@pytest.mark.parametrize("flags", ["S", "SA"])
def test_blind_syn(tcp, flags, seq):
    tcp.established()
    begin = mark(tcp)
    tcp.send(flags, seq=seq)
    answers = seen(tcp, begin)
    tcp.check("answers", True, [(one.flags, one.seq, one.ack) for one in answers]
              in ([], [("A", 1, 1)]))
    lives(tcp)


@case("challenge-answered", "After a peer has lost its state the connection can not be freed",
      sources=["RFC 9293 3.5.1, figure 9", "RFC 5961 4.2"],
      stimulus="The peer crashes and sends a new SYN; it resets the answer",
      clause="RFC 9293 3.5.1 and 3.10.7.4, second: a reset at RCV.NXT is valid",
      sound="Answers the SYN with an ACK, and is CLOSED by the reset of that ACK's number")
def test_challenge_answered(tcp):
    tcp.established().send("S", seq=7000)
    answers = seen(tcp)[1:]
    tcp.check("answers", [("A", 1, 1)], [(one.flags, one.seq, one.ack) for one in answers])
    tcp.send("R", seq=1).expect_state("CLOSED")
    begin = mark(tcp)
    tcp.send("PA", seq=1, ack=1, payload=b"new")
    tcp.check("no connection", True, all("R" in one.flags for one in seen(tcp, begin)))
    tcp.ignore_rest()


@case("reset-of-a-new-connection", "A reset that acknowledges nothing refuses a connection attempt",
      sources=["RFC 9293 3.10.7.3, second", "RFC 5961 3.2"],
      stimulus="Resets without ACK, and with an ACK of something else, arrive in SYN-SENT",
      clause="RFC 9293 3.10.7.3, first and second",
      sound="Ignores them, or repeats its SYN; the SYN-ACK that follows opens the connection")
@pytest.mark.parametrize("flags,ack", [("R", None), ("RA", 0), ("RA", 2), ("RA", -1)])
def test_reset_of_a_new_connection(tcp, flags, ack):
    tcp.syn_sent().send(flags, seq=0, ack=ack).advance("500ms").expect_state("SYN-SENT")
    tcp.check("SYNs only", {"S"}, {one.flags for one in seen(tcp)})
    tcp.send("SA", seq=0, ack=1).drain()
    lives(tcp)


@case("reset-of-a-half-open", "A reset without ACK does not free a half-open connection",
      sources=["Musuvathi and Engler, Model Checking Large Network Protocol Implementations (2004)",
               "RFC 9293 3.10.7.4, second"],
      stimulus="Resets at RCV.NXT, with and without ACK, and one outside the window, arrive in"
               " SYN-RECEIVED",
      clause="RFC 9293 3.10.7.4, second; MUST-11",
      sound="Those at RCV.NXT return to LISTEN in silence, the other one changes nothing")
@pytest.mark.parametrize("flags", ["R", "RA"])
def test_reset_of_a_half_open(tcp, flags):
    tcp.syn_received().send(flags, seq=-5000)
    tcp.expect_silence("100ms").expect_state("SYN-RECEIVED")
    tcp.send(flags, seq=1).expect_silence("10s").expect_state("LISTEN")
    tcp.send("A", seq=1, ack=1)
    tcp.check("reset", ["R"], [one.flags.rstrip("A") for one in seen(tcp)[1:]])
    serves(tcp)


@case("reset-loop", "Two hosts answer each other's resets for ever",
      sources=["RFC 9293 3.5.2 and 3.10.7.1", "RFC 793, page 36"],
      stimulus="A reset, with and without ACK and with data, arrives at a closed port",
      clause="RFC 9293 3.10.7.1: a reset is never answered",
      sound="Sends nothing")
@pytest.mark.parametrize("flags", ["R", "RA"])
@pytest.mark.parametrize("payload", [b"", b"no such port"])
def test_reset_loop(tcp, flags, payload):
    tcp.send(flags, seq=100, ack=200, payload=payload).expect_silence("3s")


@case("challenge-ack-side-channel", "A limit that all connections share tells whether one exists",
      sources=["CVE-2016-5696", "Cao and others, Off-Path TCP Exploits (2016)", "RFC 5961 10"],
      stimulus="200 resets in the window of one connection, then one in that of another, within a"
               " second",
      clause="RFC 5961 7 and 10",
      sound="The other connection still gets its challenge ACK; no connection is reset")
def test_challenge_ack_side_channel(tcp):
    limits_on(tcp).listen()
    for port in (6001, 6002):
        tcp.peer_port, tcp.peer_nxt = port, 0
        tcp.send("S", seq=0).expect("SA", ack=1)
        tcp.send("A", seq=1, ack=1).accept()
    tcp.advance("1s").drain()
    tcp.peer_port = 6001
    answered = 0
    for _ in range(200):
        tcp.send("R", seq=2000)
        answered += len(tcp.drain())
    tcp.peer_port = 6002
    tcp.send("R", seq=2000)
    tcp.check("challenge", True, len(tcp.drain()) == 1 or answered == 0)
    tcp.device_nxt = 1  # not that of the other connection
    lives(tcp)


@case("challenge-ack-flood", "Each forged reset draws an answer, so that an attacker makes traffic",
      sources=["RFC 5961 7", "CVE-2016-5696"],
      stimulus="2,000 resets in the window of one connection within a second",
      clause="RFC 5961 7: a system limits challenge ACKs",
      sound="Answers at most 1,000 of them; after a second it answers again, or it never does")
def test_challenge_ack_flood(tcp):
    limits_on(tcp).established()
    reset = bytes(tcp.segment("R", seq=2000))
    for _ in range(2000):
        tcp.inject(reset)
    at_most(tcp, "answers", 1000, len(tcp.drain()))
    tcp.advance("2s")
    lives(tcp)


@case("time-wait-missing", "The last ACK is lost, and the peer's FIN finds no connection any more",
      sources=["RFC 9293 3.6.1, MUST-13", "RFC 1122 4.2.2.13"],
      stimulus="After an active close the peer's FIN arrives again, at once and 5 s later",
      clause="RFC 9293 3.6.1, MUST-13; 3.10.7.4, eighth",
      sound="Acknowledges the FIN each time, and resets nothing")
@pytest.mark.parametrize("wait", ["0s", "5s"])
def test_time_wait_missing(tcp, wait):
    tcp.fin_wait_2()
    tcp.send("FA", seq=1, ack=2).expect("A", within="500ms", seq=2, ack=2)
    tcp.advance(wait).send("FA", seq=1, ack=2).expect("A", within="500ms", seq=2, ack=2)


@case("time-wait-assassination", "A reset that an old duplicate provokes ends TIME-WAIT",
      sources=["RFC 1337", "Braden, TIME-WAIT Assassination Hazards (1992)"],
      stimulus="An old data segment arrives in TIME-WAIT; the peer resets the answer; its FIN"
               " arrives once more",
      clause="RFC 1337 3, fix F1: resets are ignored in TIME-WAIT",
      sound="Stays in TIME-WAIT: the FIN is acknowledged and not reset")
@pytest.mark.stack(time_wait_ignores_reset=True)
def test_time_wait_assassination(tcp):
    tcp.time_wait()
    begin = mark(tcp)
    tcp.send("PA", seq=-100, ack=1, payload=b"old")
    tcp.send("R", seq=2).expect_state("TIME-WAIT")
    tcp.send("FA", seq=1, ack=2).advance("500ms")
    answers = seen(tcp, begin)
    tcp.check("resets", [], resets(tcp, begin))
    tcp.check("ACK", 2, answers[-1].ack if answers else None)


@case("time-wait-blind-reset", "TIME-WAIT ends by a reset that a blind attacker has guessed",
      sources=["RFC 5961 3", "RFC 1337"],
      stimulus="Resets inside and outside the window, but not at RCV.NXT, arrive in TIME-WAIT",
      clause="RFC 9293 3.10.7.4, first and second",
      sound="Stays in TIME-WAIT: the peer's FIN is acknowledged and not reset")
@pytest.mark.parametrize("seq", [1, 3, 1000, 70_000])
def test_time_wait_blind_reset(tcp, seq):
    tcp.time_wait()
    begin = mark(tcp)
    tcp.send("R", seq=seq).expect_state("TIME-WAIT")
    tcp.send("FA", seq=1, ack=2).advance("500ms")
    answers = seen(tcp, begin)
    tcp.check("resets", [], resets(tcp, begin))
    tcp.check("ACK", 2, answers[-1].ack if answers else None)


@case("time-wait-old-syn", "An old duplicate of a SYN reopens a connection in TIME-WAIT",
      sources=["RFC 9293 3.6.1, MAY-2 and SHLD-4", "RFC 1122 4.2.2.13", "RFC 6191"],
      stimulus="A SYN with a number that the old connection has used arrives in TIME-WAIT, and a"
               " program listens",
      clause="RFC 9293 3.6.1: the SYN must be beyond the last number of the old connection",
      sound="Opens nothing: no SYN-ACK; the peer's FIN is still acknowledged")
@pytest.mark.parametrize("seq", [0, 1, -100_000])
def test_time_wait_old_syn(tcp, seq):
    tcp.time_wait()
    tcp.target.listen(tcp.port)
    begin = mark(tcp)
    tcp.send("S", seq=seq)
    tcp.check("answers", True, [one.flags for one in seen(tcp, begin)] in ([], ["A"]))
    tcp.advance("2s").send("FA", seq=1, ack=2).advance("500ms")
    tcp.check("ACK", ("A", 2), [(one.flags, one.ack) for one in seen(tcp, begin)][-1])


@case("fin-out-of-order", "A FIN ends the stream before the data that precedes it has arrived",
      sources=["RFC 9293 3.10.7.4, eighth", "TLDK issues 7 and 22", "F-Stack issue 4 of EmNetTest"],
      stimulus="A FIN arrives before the data that it follows, then the data",
      clause="RFC 9293 3.10.7.4, first and eighth",
      sound="The connection stays ESTABLISHED until the data is there; the program reads all of it"
            " and then the end")
@pytest.mark.parametrize("flags,last", [("FA", b""), ("FPA", b"tail")])
def test_fin_out_of_order(tcp, flags, last):
    tcp.established().send(flags, seq=5, payload=last).advance("1s").expect_state("ESTABLISHED")
    tcp.check("read", b"", tcp.read())
    tcp.send("PA", seq=1, ack=1, payload=b"head").advance("1s")
    end = 5 + len(last)
    if seen(tcp)[-1].ack < end + 1:  # what is out of order may be dropped; it comes again
        tcp.send(flags, seq=5, ack=1, payload=last).advance("1s")
    tcp.check("ACK", end + 1, seen(tcp)[-1].ack)
    tcp.expect_read(b"head" + last).expect_state("CLOSE-WAIT").ignore_rest()


@case("data-after-fin", "Data behind a FIN is delivered, or ends the stream a second time",
      sources=["RFC 9293 3.10.7.4, seventh and eighth", "TLDK issue 27", "mTCP issue 11"],
      stimulus="After the FIN, data and another FIN with higher numbers arrive",
      clause="RFC 9293 3.10.7.4, seventh: this should not occur; the segment is ignored",
      sound="The program reads nothing more; nothing behind the FIN is acknowledged; it can still"
            " write")
@pytest.mark.parametrize("flags", ["PA", "FPA"])
def test_data_after_fin(tcp, flags):
    tcp.established().send("FPA", payload=b"all").advance("1s")
    tcp.send(flags, seq=5, ack=1, payload=b"evil").advance("1s")
    tcp.expect_read(b"all")
    at_most(tcp, "acknowledged", 5, max(one.ack for one in seen(tcp)))
    begin = mark(tcp)
    tcp.expect_state("CLOSE-WAIT").write(b"answer").advance("1s")
    tcp.check("data", b"answer", b"".join(one.payload for one in data(tcp, begin)[:1]))
    tcp.ignore_rest()
