# The requirements of RFC 9293 3.10.7 on an arriving segment, as rules in the order of its text.
"""The oracle of test_table.py, written from RFC 9293 3.10.7 and RFC 5961 alone.

The rules are evaluated in order. A rule that returns an Outcome decides; one that returns None
passes the segment on, and may have changed the state, as the steps of the RFC with "continue
processing" do. Numbers are relative to each side's SYN. The device has sent all its data,
implements RFC 5961's mitigations, and queues segments above a gap. No rule depends on the stack.
"""
import dataclasses

from lockstep.testing import Absolute, Timing

RULES = []
SYNCHRONIZED = ("ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT", "CLOSING", "LAST-ACK",
                "TIME-WAIT")
PEER_MAY_SEND = ("ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2")


@dataclasses.dataclass
class Situation:
    """The device's variables, by their names in the RFC."""

    state: str
    passive: bool
    rcv_nxt: int
    rcv_wnd: int
    snd_una: int
    snd_nxt: int


@dataclasses.dataclass(frozen=True)
class Segment:
    """An arriving segment; `number` is SEG.SEQ, `acknowledges` SEG.ACK."""

    flags: str
    number: int
    acknowledges: int
    text: int = 0

    syn = property(lambda self: "S" in self.flags)
    ack = property(lambda self: "A" in self.flags)
    rst = property(lambda self: "R" in self.flags)
    fin = property(lambda self: "F" in self.flags)

    @property
    def length(self):
        """SEG.LEN."""
        return self.text + self.syn + self.fin


@dataclasses.dataclass(frozen=True)
class Reply:
    """A segment that must be sent; `again`: what a rule allows in its place."""

    flags: str
    seq: int
    ack: int | None
    timing: Timing = Timing.AT_ONCE
    again: "Reply | None" = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The reply, the state after it, and the event of the program (one of these words)."""

    state: str
    reply: Reply | None = None
    events: tuple = ()


def rule(function):
    """Registers a rule after the previous ones."""
    RULES.append(function)
    return function


def judge(situation, segment):
    """(rule, Outcome) for an arriving segment. Changes `situation` as the rules do."""
    for each in RULES:
        outcome = each(situation, segment)
        if outcome is not None:
            return each, outcome
    raise AssertionError(f"no rule for {segment} in {situation}")


def acknowledgment(s, timing=Timing.AT_ONCE, of=0):
    """<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>, with RCV.NXT advanced by `of`."""
    return Reply("A", s.snd_nxt, s.rcv_nxt + of, timing)


#= rfc9293#3.10.7.4
## 9293:P-ACCEPT-L0W0 an empty segment, zero window: at RCV.NXT only
## 9293:P-ACCEPT-LNW0 data, SYN or FIN, zero window: never acceptable
## 9293:P-ACCEPT-L0WN an empty segment, nonzero window: from RCV.NXT to the right edge
## 9293:P-ACCEPT-LNWN otherwise its first or last sequence number is in the window
def acceptable(s, g):
    """Table 6."""
    if s.rcv_wnd == 0:
        return g.length == 0 and g.number == s.rcv_nxt
    edge = s.rcv_nxt + s.rcv_wnd
    first = s.rcv_nxt <= g.number < edge
    last = s.rcv_nxt <= g.number + g.length - 1 < edge
    return first or (g.length > 0 and last)


# --- 3.10.7.1: CLOSED ---------------------------------------------------------------------------
#= rfc9293#3.10.7.1
## 9293:P-CLOSED-RST a segment with RST is discarded
@rule
def reset_in_closed(s, g):
    if s.state == "CLOSED" and g.rst:
        return Outcome("CLOSED")


#= rfc9293#3.10.7.1
## 9293:P-CLOSED-ACK with ACK: <SEQ=SEG.ACK><CTL=RST>
@rule
def acknowledgment_in_closed(s, g):
    if s.state == "CLOSED" and g.ack:
        return Outcome("CLOSED", Reply("R", g.acknowledges, None))


#= rfc9293#3.10.7.1
## 9293:P-CLOSED-SEG without ACK: <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>
@rule
def anything_in_closed(s, g):
    if s.state == "CLOSED":
        return Outcome("CLOSED", Reply("RA", Absolute(0), g.number + g.length))


# --- 3.10.7.2: LISTEN ---------------------------------------------------------------------------
#= rfc9293#3.10.7.2
## 9293:P-LISTEN-RST first: a reset is ignored
@rule
def reset_in_listen(s, g):
    if s.state == "LISTEN" and g.rst:
        return Outcome("LISTEN")


#= rfc9293#3.10.7.2
## 9293:P-LISTEN-ACK second: any acknowledgment is bad: <SEQ=SEG.ACK><CTL=RST>
@rule
def acknowledgment_in_listen(s, g):
    if s.state == "LISTEN" and g.ack:
        return Outcome("LISTEN", Reply("R", g.acknowledges, None))


#= rfc9293#3.10.7.2
## 9293:P-LISTEN-SYN third: a SYN draws <SEQ=ISS><ACK=RCV.NXT><CTL=SYN,ACK>, SYN-RECEIVED
@rule
def syn_in_listen(s, g):
    if s.state == "LISTEN" and g.syn:
        return Outcome("SYN-RECEIVED", Reply("SA", 0, g.number + 1))


# --- 3.10.7.3: SYN-SENT -------------------------------------------------------------------------
#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-ACK first: SEG.ACK =< ISS or > SND.NXT: <SEQ=SEG.ACK><CTL=RST>, unless RST is set
#= rfc5961#3.2
## 5961:BLIND-4 a reset whose ACK does not acknowledge our SYN is dropped
@rule
def bad_acknowledgment_in_syn_sent(s, g):
    if s.state == "SYN-SENT" and g.ack and not s.snd_una < g.acknowledges <= s.snd_nxt:
        return Outcome("SYN-SENT", None if g.rst else Reply("R", g.acknowledges, None))


#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-RST second: a reset with an acceptable ACK ends the attempt
@rule
def reset_in_syn_sent(s, g):
    if s.state == "SYN-SENT" and g.rst and g.ack:
        return Outcome("CLOSED", events=("closed:refused", "closed:reset"))


#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-RST-NOACK a reset without ACK is dropped
@rule
def bare_reset_in_syn_sent(s, g):
    if s.state == "SYN-SENT" and g.rst:
        return Outcome("SYN-SENT")


#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-EST fourth: our SYN is acknowledged: <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>
@rule
def syn_ack_in_syn_sent(s, g):
    if s.state == "SYN-SENT" and g.syn and g.ack:
        return Outcome("ESTABLISHED", Reply("A", s.snd_nxt, g.number + 1), ("connected",))


#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-SIM otherwise <SEQ=ISS><ACK=RCV.NXT><CTL=SYN,ACK>, SYN-RECEIVED
@rule
def syn_in_syn_sent(s, g):
    if s.state == "SYN-SENT" and g.syn:
        return Outcome("SYN-RECEIVED", Reply("SA", 0, g.number + 1))


#= rfc9293#3.10.7.3
## 9293:P-SYNSENT-OTHER fifth: neither SYN nor RST: dropped
@rule
def other_in_syn_sent(s, g):
    del g
    if s.state == "SYN-SENT":
        return Outcome("SYN-SENT")


# --- 3.10.7.4: all other states -----------------------------------------------------------------
# The last segment of figure 7 starts at IRS, which table 6 does not accept; A.2 describes the case.
# The exchange in the figure has four segments, so there is no reply to it.
#= rfc9293#A.2
## 9293:P-SEQVAL-A2 the SYN,ACK of a simultaneous open is accepted
#= rfc9293#3.5
## 9293:MUST-10 and completes the open
@rule
def syn_ack_of_simultaneous_open(s, g):
    again = g.syn and g.ack and not g.rst and g.number == s.rcv_nxt - 1
    if s.state == "SYN-RECEIVED" and again and s.snd_una < g.acknowledges <= s.snd_nxt:
        return Outcome("ESTABLISHED")


#= rfc9293#3.10.7.4
## 9293:P-RST-OUT first and second: a reset outside the window is dropped
#= rfc5961#3.2
## 5961:BLIND-1 silently
@rule
def reset_outside(s, g):
    if g.rst and not acceptable(s, g):
        return Outcome(s.state)


# A retransmitted SYN of the peer while ours is unacknowledged: our retransmitted SYN,ACK is an
# acknowledgment too, and the only one that a peer in SYN-SENT that has not received it can use.
#= rfc9293#3.10.7.4
## 9293:P-ACCEPT-REPLY first: an unacceptable segment draws <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>
#= rfc9293#3.10.7.4
## 9293:P-SYN-OUTWIN also a SYN
@rule
def not_acceptable(s, g):
    if not acceptable(s, g):
        reply = acknowledgment(s)
        if s.state == "SYN-RECEIVED" and g.syn:
            reply = dataclasses.replace(reply, again=Reply("SA", 0, s.rcv_nxt))
        return Outcome(s.state, reply)


#= rfc9293#3.10.7.4
## 9293:P-RST-CHALLENGE second: a reset inside the window but not at its left edge: a challenge ACK
#= rfc5961#3.2
## 5961:BLIND-3 and nothing changes
@rule
def reset_inside(s, g):
    if g.rst and g.number != s.rcv_nxt:
        return Outcome(s.state, acknowledgment(s))


#= rfc9293#3.10.7.4
## 9293:P-RST-SYNRCVD a reset at RCV.NXT: back to LISTEN, or refused
#= rfc9293#3.5
## 9293:MUST-11 depending on whether the open was passive
@rule
def reset_in_syn_received(s, g):
    if s.state == "SYN-RECEIVED" and g.rst:
        return Outcome("LISTEN") if s.passive else Outcome("CLOSED", events=("closed:refused",))


#= rfc9293#3.10.7.4
## 9293:P-RST-EST the program is notified of the reset
#= rfc5961#3.2
## 5961:BLIND-2 exactly at RCV.NXT
@rule
def reset_at_edge(s, g):
    if g.rst and s.state in ("ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT"):
        return Outcome("CLOSED", events=("closed:reset",))


#= rfc9293#3.10.7.4
## 9293:P-RST-CLOSING in the last three states it ends the connection
@rule
def reset_at_the_end(s, g):
    if g.rst:
        return Outcome("CLOSED")


#= rfc9293#3.10.7.4
## 9293:P-SYN-SYNRCVD fourth: a SYN in the window of a passive open: LISTEN
@rule
def syn_in_syn_received(s, g):
    if s.state == "SYN-RECEIVED" and g.syn and s.passive:
        return Outcome("LISTEN")


#= rfc9293#3.10.7.4
## 9293:P-SYN-INWIN a SYN in any synchronized state: a challenge ACK
#= rfc5961#4.2
## 5961:BLIND-5 whatever its sequence number
@rule
def syn_in_window(s, g):
    if g.syn:
        return Outcome(s.state, acknowledgment(s))


#= rfc9293#3.10.7.4
## 9293:P-ACK-OFF fifth: a segment without ACK is dropped
@rule
def no_acknowledgment(s, g):
    if not g.ack:
        return Outcome(s.state)


#= rfc9293#3.10.7.4
## 9293:P-SYNRCVD-ACK an ACK that does not acknowledge our SYN: <SEQ=SEG.ACK><CTL=RST>
@rule
def bad_acknowledgment_in_syn_received(s, g):
    if s.state == "SYN-RECEIVED" and not s.snd_una < g.acknowledges <= s.snd_nxt:
        return Outcome(s.state, Reply("R", g.acknowledges, None))


#= rfc9293#3.10.7.4
## 9293:P-SYNRCVD-EST otherwise ESTABLISHED, and processing continues
@rule
def established(s, g):
    if s.state == "SYN-RECEIVED":
        s.state = "ESTABLISHED"
        s.snd_una = g.acknowledges


#= rfc9293#3.10.7.4
## 9293:P-ACK-FUTURE an ACK of data that was not sent: an ACK, and the segment is dropped
@rule
def acknowledgment_of_unsent(s, g):
    if g.acknowledges > s.snd_nxt:
        return Outcome(s.state, acknowledgment(s))


# MAX.SND.WND: the tester never advertises more than 65,535.
#= rfc9293#3.10.7.4
## 9293:P-ACK-5961 an ACK older than the largest window: an ACK, and the segment is dropped
#= rfc5961#5.2
## 5961:BLIND-9 dropped, and an ACK is sent
@rule
def acknowledgment_too_old(s, g):
    if g.acknowledges < s.snd_una - 65535:
        return Outcome(s.state, acknowledgment(s))


#= rfc9293#3.10.7.4
## 9293:P-FINWAIT1-ACK our FIN is acknowledged: FIN-WAIT-2, and processing continues
@rule
def fin_acknowledged(s, g):
    if s.state == "FIN-WAIT-1" and g.acknowledges == s.snd_nxt:
        s.state = "FIN-WAIT-2"


#= rfc9293#3.10.7.4
## 9293:P-CLOSING-ACK our FIN is acknowledged: TIME-WAIT; otherwise the segment is ignored
@rule
def fin_acknowledged_in_closing(s, g):
    if s.state == "CLOSING":
        return Outcome("TIME-WAIT" if g.acknowledges == s.snd_nxt else "CLOSING")


#= rfc9293#3.10.7.4
## 9293:P-LASTACK-ACK our FIN is acknowledged: CLOSED
@rule
def fin_acknowledged_in_last_ack(s, g):
    if s.state == "LAST-ACK" and g.acknowledges == s.snd_nxt:
        return Outcome("CLOSED", events=("closed:finished",))


# A segment at or above RCV.NXT is beyond the peer's FIN: it is invalid and restarts no timer. A
# retransmitted FIN, at RCV.NXT - 1, was answered in the first step.
#= rfc9293#3.10.7.4
## 9293:P-DATA-AFTER-FIN, 9293:P-FIN-REMAIN seventh and eighth: nothing beyond the FIN is accepted
#= rfc9293#3.4
## 9293:P-CTL-ONCE a FIN is processed once
@rule
def after_the_fin(s, g):
    del g
    if s.state not in PEER_MAY_SEND:
        return Outcome(s.state)


#= rfc9293#3.10.7.4
## 9293:P-ACK-EST an acceptable segment without data needs no reply
@rule
def empty(s, g):
    if g.length == 0:
        return Outcome(s.state)


#= rfc9293#3.10.7.4
## 9293:SHLD-31 seventh: data above RCV.NXT is queued; RCV.NXT and the state stay
## 9293:MAY-13 and is answered
#= rfc5681#3.2
## 5681:CC-14 at once, by a duplicate ACK
@rule
def above_a_gap(s, g):
    if g.number > s.rcv_nxt:
        return Outcome(s.state, acknowledgment(s))


#= rfc9293#3.10.7.4
## 9293:P-TEXT-ACK data in order is acknowledged
#= rfc9293#3.8.6.3
## 9293:MUST-40 in less than half a second
@rule
def text(s, g):
    if not g.fin:
        return Outcome(
            s.state, acknowledgment(s, Timing.DELAYED_ACK, of=g.number + g.text - s.rcv_nxt)
        )


#= rfc9293#3.10.7.4
## 9293:P-FIN-EST, 9293:P-FIN-FW2 eighth: CLOSE-WAIT, or TIME-WAIT
## 9293:P-FIN and the FIN is acknowledged
## 9293:P-FIN-FW1-CLOSING if our FIN is not acknowledged: CLOSING
@rule
def fin(s, g):
    after = {"ESTABLISHED": "CLOSE-WAIT", "FIN-WAIT-1": "CLOSING", "FIN-WAIT-2": "TIME-WAIT"}
    return Outcome(
        after[s.state],
        acknowledgment(s, Timing.DELAYED_ACK, of=g.number + g.length - s.rcv_nxt),
        ("peer_finished", "closed:finished"),
    )
