# Every state and kind of segment at each place of the window, over IPv4 and IPv6: the reply, the
# next state, the events of the program, and silence.
import pytest
from arrival_rules import RULES, Segment, Situation, judge

from lockstep.testing import Timing
from lockstep.testing.plugin import cited

TEXT = b"text"

#: kind -> flags, octets of data.
KINDS = {
    "SYN": ("S", 0),
    "SYN-ACK": ("SA", 0),
    "ACK": ("A", 0),
    "RST": ("R", 0),
    "RST-ACK": ("RA", 0),
    "FIN": ("FA", 0),
    "data": ("PA", len(TEXT)),
}

#: Events that may occur without a rule: data arrived, and our data was acknowledged.
HARMLESS = {"received", "acknowledged", "connected"}

PLACES = ("old", "left", "inside", "right", "outside")

#: place -> how to reach the state, and SND.UNA, SND.NXT and RCV.NXT there.
STATES = {
    "CLOSED": (lambda tcp: tcp.closed(), 0, 0, 0),
    "LISTEN": (lambda tcp: tcp.listen(), 0, 0, 0),
    "SYN-SENT": (lambda tcp: tcp.syn_sent(), 0, 1, 0),
    "SYN-RECEIVED": (lambda tcp: tcp.syn_received(), 0, 1, 1),
    "SYN-RECEIVED-active": (lambda tcp: tcp.syn_received(active=True), 0, 1, 1),
    "ESTABLISHED": (lambda tcp: tcp.established(), 1, 1, 1),
    "FIN-WAIT-1": (lambda tcp: tcp.fin_wait_1(), 1, 2, 1),
    "FIN-WAIT-2": (lambda tcp: tcp.fin_wait_2(), 2, 2, 1),
    "CLOSE-WAIT": (lambda tcp: tcp.close_wait(), 1, 1, 2),
    "CLOSING": (lambda tcp: tcp.closing(), 1, 2, 2),
    "LAST-ACK": (lambda tcp: tcp.last_ack(), 1, 2, 2),
    "TIME-WAIT": (lambda tcp: tcp.time_wait(), 2, 2, 2),
}


def number_at(place, situation, length):
    """SEG.SEQ of a segment of this length at a place of the receive window."""
    edge = situation.rcv_nxt + situation.rcv_wnd
    return {
        "old": situation.rcv_nxt - max(length, 1),
        "left": situation.rcv_nxt,
        "inside": situation.rcv_nxt + 1000,
        "right": edge - 1,
        "outside": edge,
    }[place]


def acknowledgment_at(place, situation):
    """SEG.ACK: everything sent. SYN-SENT has no window, so there the places are values of ACK."""
    if situation.state != "SYN-SENT":
        return situation.snd_nxt
    return {"old": -1, "left": 0, "inside": 1, "right": 1, "outside": 2}[place]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", STATES)
def test_segment_arrives(tcp, state, kind, place):
    reach, snd_una, snd_nxt, rcv_nxt = STATES[state]
    reach(tcp)
    # The target's last segment has set the edge; before the first one there is none.
    window = tcp.device_window or 65535
    name, passive = state.removesuffix("-active"), not state.endswith("-active")
    arrive(tcp, kind, place, Situation(name, passive, rcv_nxt, window, snd_una, snd_nxt))


# A listener under load keeps less state for an attempt; on the wire nothing differs.
@pytest.mark.stack(syn_cache_max=64, syn_cache_after_percent=0)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_segment_arrives_in_the_syn_cache(tcp, kind, place):
    tcp.syn_received()
    arrive(tcp, kind, place, Situation("SYN-RECEIVED", True, 1, tcp.device_window, 0, 1))


@pytest.mark.stack(receive_buffer_bytes=1000)
@pytest.mark.parametrize("place", ["old", "left", "inside"])
@pytest.mark.parametrize("kind", KINDS)
def test_segment_arrives_at_a_closed_window(tcp, kind, place):
    tcp.established().send("PA", payload=1000)
    tcp.expect("A", within="499ms", ack=1001, window=0)
    arrive(tcp, kind, place, Situation("ESTABLISHED", True, 1001, 0, 1, 1))


def arrive(tcp, kind, place, situation):
    """Injects a segment, and compares everything that follows with the rules."""
    flags, octets = KINDS[kind]
    ack = acknowledgment_at(place, situation) if "A" in flags else 0
    length = octets + ("S" in flags) + ("F" in flags)
    segment = Segment(flags, number_at(place, situation, length), ack, octets)

    rule, outcome = judge(situation, segment)
    tcp.clauses = cited(rule)
    extra = {"ack": ack} if "A" in flags else {}
    before = events_of(tcp)
    tcp.send(flags, seq=segment.number, payload=TEXT[:octets], **extra)
    if outcome.reply is not None:
        expect_reply(tcp, outcome.reply)
    tcp.expect_state(outcome.state)
    tcp.expect_silence("900ms")  # less than the retransmission timeout of a SYN or FIN
    tcp.expect_state(outcome.state)
    if outcome.events and tcp.connection is not None:
        tcp.expect_event(*outcome.events)
    if not outcome.events:
        over = outcome.state in ("CLOSED", "TIME-WAIT")  # then it gets the event of the end
        tcp.check("events", [], [word for word in events_of(tcp)[len(before):]
                               if word not in HARMLESS and not (over and "closed" in word)])


def events_of(tcp):
    """The events of the program so far; empty if the target cannot report them."""
    return tcp.connection is not None and tcp.target.events(tcp.connection) or []


def expect_reply(tcp, reply):
    fields = {"seq": reply.seq, "length": 0}
    if reply.ack is not None:
        fields["ack"] = reply.ack
    if reply.timing is Timing.DELAYED_ACK:
        fields["within"] = "499ms"
    flags = reply.flags
    if reply.again is not None and tcp.peek() == reply.again.flags:
        flags, fields["seq"], fields["ack"] = (
            reply.again.flags, reply.again.seq, reply.again.ack)
    tcp.expect(flags, **fields)


def cells():
    """(situation, segment) of each cell of the table, with a window of 65,535."""
    for state, (_, snd_una, snd_nxt, rcv_nxt) in STATES.items():
        name, passive = state.removesuffix("-active"), not state.endswith("-active")
        for flags, octets in KINDS.values():
            for place in PLACES:
                situation = Situation(name, passive, rcv_nxt, 65535, snd_una, snd_nxt)
                ack = acknowledgment_at(place, situation) if "A" in flags else 0
                length = octets + ("S" in flags) + ("F" in flags)
                yield situation, Segment(flags, number_at(place, situation, length), ack, octets)


# The table has no cell for these, because its segments have a valid ACK: test_reset.py,
# test_handshake.py and test_data.py test them.
ELSEWHERE = {
    "no_acknowledgment",
    "bad_acknowledgment_in_syn_received",
    "acknowledgment_of_unsent",
    "acknowledgment_too_old",
}


def test_each_rule_decides_something():
    deciding = {judge(situation, segment)[0].__name__ for situation, segment in cells()}
    passing = {"established", "fin_acknowledged"}  # these change the state and pass the segment on
    assert {each.__name__ for each in RULES} - deciding - passing == ELSEWHERE
