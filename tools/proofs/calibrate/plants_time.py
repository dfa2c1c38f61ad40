# Planted violations of time and amount: ACKs, timers, windows, missing replies.
"""Each function is a kind; it raises ValueError if a flow does not suit."""
from proofs.calibrate import pcap
from proofs.calibrate.pcap import ACK, CYCLE, FIN, PSH, RST, SYN
from proofs.calibrate.talk import MS, SECOND, less, need, pick, plant

RTO = "9293:P-RTO 6298:RTO-9 6298:RTO-4 6298:RTO-11 6298:RTO-14 6298:RTO-15"
ACKS = "5681:CC-27 5681:CC-26 9293:P-TEXT-ACK 5681:CC-28 9293:MUST-40 9293:MUST-58 " \
       "9293:P-ACK-ALWAYS"


def round_trip(talk):
    """The round trip time of the handshake, at least 2 ms."""
    return max(2 * MS, talk.packets[talk.established()].time - talk.packets[0].time)


def quiet_place(talk, least):
    """The index of a packet after an idle time of `least`, with nothing unacknowledged."""
    for at in range(talk.established() + 2, len(talk.packets)):
        if talk.packets[at].flags & (RST | SYN | FIN) or talk.packets[at - 1].flags & (RST | FIN):
            continue
        settled = all(talk.acked_of(one, at) == talk.next_of(other, at) for one, other in
                      ((talk.device, talk.peer), (talk.peer, talk.device)))
        if settled and talk.packets[at].time - talk.packets[at - 1].time >= least:
            return at
    raise ValueError("never quiet")


def made_quiet(talk, draw):
    """Insert two or three seconds of silence; returns the index of the packet after it."""
    need(talk.single)
    at = quiet_place(talk, min(5 * MS, round_trip(talk) // 2))
    talk.delay(at, draw.choice([2, 3]) * SECOND)
    return at


@plant("timeout-too-soon", RTO)
def timeout_too_soon(talk, draw):
    """A retransmission after a few milliseconds, with nothing received in between."""
    need(talk.single and (talk.packets[0].is_v4 or talk.agreed(pcap.STAMPS)))
    found = []
    for at in talk.text_by(talk.device):
        one = talk.packets[at]
        gap = (talk.packets[at + 1].time if at + 1 < len(talk.packets) else one.time) - one.time
        first = one.seq == talk.acked_of(talk.peer, at)
        if gap > 8 * MS and one.seq == talk.next_of(talk.device, at) and first:
            found.append((at, gap))
    at, gap = pick(draw, found)
    wait = min(gap // 2, 30 * MS)
    one = talk.insert(at + 1, talk.like(talk.packets[at], wait, ecn=0))
    if one.stamps:
        one.stamps = one.stamps[0] + wait // MS, one.stamps[1]
    return talk.planted(one)


@plant("dup-acks-ignored duplicate-acks-ignored fast-retransmit-missing retransmission-missing "
       "loss-unheeded retransmission-too-late", RTO + " 5681:CC-16 5681:CC-21 6582:NR-2 5681:CC-17")
def duplicate_acks_ignored(talk, _):
    """Nothing is retransmitted for seconds after three duplicate ACKs, although it replies."""
    need(talk.single)
    base, count, last = None, 0, None
    for at, one in enumerate(talk.packets):
        if talk.ours(one) or one.flags & (SYN | RST | FIN) or one.text:
            continue
        if one.ack == base and less(base, talk.next_of(talk.device, at)):
            count, last = count + 1, at
            if count == 3:
                break
        else:
            base, count = one.ack, 0
    need(count == 3)
    kept = talk.packets[:last + 1]
    del talk.packets[last + 1:]
    end = talk.packets[-1]
    flight = [one for one in kept if talk.ours(one) and one.text]
    need(flight)
    for number, wait in enumerate((5, 5, 6, 1200, 1500, 1800)):
        probe = talk.like(end, wait * MS)
        if number >= 3:  # the peer sends a keep-alive probe, and the device replies
            probe.seq = (talk.next_of(talk.peer, len(talk.packets)) - 1) % CYCLE
            probe.blocks = []
        talk.packets.append(probe)
        end = probe
        if number >= 3:
            answer = talk.bare(talk.device, len(talk.packets), MS // 4)
            talk.packets.append(answer)
            end = talk.like(probe, MS // 2)
    return talk.planted(kept[-1], lasting=True)


@plant("retransmission-missing timeout-missing dup-acks-ignored retransmission-too-late "
       "loss-unheeded", RTO + " 5681:CC-16 9293:P-SEND-EST")
def never_sent_again(talk, draw):
    """Data is not acknowledged for ten seconds, and the device replies but does not retransmit."""
    need(talk.single)
    found = [at for at in talk.text_by(talk.device)
             if talk.packets[at].seq == talk.next_of(talk.device, at)]
    at = pick(draw, found)
    mark = talk.packets[at]
    del talk.packets[at + 1:]
    acked = talk.acked_of(talk.peer, at)
    for wait in (400, 2000, 3000, 5000):
        probe = talk.bare(talk.peer, len(talk.packets), wait * MS)
        probe.seq, probe.ack = (probe.seq - 1) % CYCLE, acked
        talk.packets.append(probe)
        talk.packets.append(talk.bare(talk.device, len(talk.packets), MS // 4))
    return talk.planted(mark, lasting=True)


@plant("too-few-acks acks-too-few ack-every-second second-segment-unacked ack-too-rare", ACKS)
def ack_for_every_tenth(talk, draw):
    """One ACK for ten or more full segments."""
    need(talk.single)
    texts = talk.text_by(talk.peer)
    acks = [at for at in talk.pure_acks(talk.device) if texts and at > texts[0]
            and not talk.packets[at].blocks]
    need(len(texts) > 40 and len(acks) > 15)
    size = max(len(talk.packets[at].text) for at in texts)
    need(size > 500 and draw)
    kept, waiting, marks = [], 0, []
    for at, one in enumerate(talk.packets):
        full = not talk.ours(one) and len(one.text) == size
        waiting += full
        if at in acks and waiting and waiting < 10 and acks[0] < at < acks[-1]:
            if waiting > 3:
                marks.append(one)
            continue
        if talk.ours(one):
            waiting = 0
        kept.append(one)
    need(len(marks) >= 2)
    talk.packets = kept
    place = next(one for one in kept if one.time > marks[0].time)
    return talk.planted(place, lasting=True)


@plant("ack-delayed-too-long delayed-ack-too-late ack-too-late", ACKS)
def ack_after_more_than_half_a_second(talk, draw):
    """The ACK of a single segment is delayed by more than 0.6 s."""
    need(talk.single)
    found = []
    for at in talk.text_by(talk.peer):
        if at + 1 >= len(talk.packets):
            continue
        answer = talk.packets[at + 1]
        if talk.ours(answer) and answer.flags & ACK and not answer.flags & (SYN | RST) \
                and answer.ack == talk.packets[at].end and not answer.blocks:
            found.append(at + 1)
    at = pick(draw, found)
    talk.wait(at, draw.choice([650, 800, 950]) * MS)
    return talk.planted(talk.packets[at])


@plant("too-many-acks ack-storm", ACKS + " 9293:P-ACCEPT-REPLY 9293:P-ACK-EST")
def ack_storm(talk, draw):
    """Three hundred equal ACKs within 0.1 s."""
    need(talk.single)
    at = pick(draw, [at for at in talk.pure_acks(talk.device) if at > talk.established()])
    many = [talk.packets[at]]
    # Each has an identification of its own, unlike copies that a recorder makes.
    for _ in range(300):
        many.append(talk.like(many[-1], 300_000))
    del many[0]
    talk.packets += many
    talk.packets.sort(key=lambda each: each.time)
    return talk.planted(many[0], lasting=True)


@plant("duplicate-ack-missing", "5681:CC-14 5681:CC-15 9293:P-TEXT-ACK 5681:CC-27 9293:MUST-58")
def duplicate_ack_missing(talk, draw):
    """Data above a gap causes no ACK until the gap is filled."""
    need(talk.single)
    top, gone, marks = None, set(), []
    for at, one in enumerate(talk.packets):
        if talk.ours(one) or one.flags & (SYN | RST):
            if talk.ours(one) and top is not None and one.flags & ACK and not one.text \
                    and not one.flags & (SYN | FIN | RST) and less(one.ack, top) \
                    and talk.acked_of(talk.device, at) == one.ack and marks:
                gone.add(id(one))
            continue
        if one.text and talk.acked_of(talk.device, at) != one.seq \
                and less(talk.acked_of(talk.device, at), one.seq) \
                and (top is None or one.seq != top or marks):
            marks.append(one)
        if one.text:
            top = one.end if top is None or less(top, one.end) else top
    need(len(gone) >= 3 and draw)
    talk.packets = [one for one in talk.packets if id(one) not in gone]
    return talk.planted(marks[0], lasting=True)


@plant("initial-window", "5681:CC-3 5681:CC-1 5681:CC-4 5681:CC-5")
def initial_burst(talk, draw):
    """Far more than the largest initial window before any ACK."""
    need(talk.single)
    texts = [at for at in talk.text_by(talk.device)
             if talk.packets[at].seq == talk.next_of(talk.device, at)]
    need(len(texts) > 30)
    first = texts[0]
    full = max(len(talk.packets[at].text) for at in texts)
    many = [talk.packets[at] for at in texts[:draw.randrange(22, 30)]]
    need(sum(len(one.text) for one in many) > 1.5 * max(14_600, 10 * talk.asked_mss))
    need(len(many[0].text) == full and all(len(one.text) == full for one in many))
    need(not less(talk.edge_of(talk.peer, first), many[-1].end))
    moved = {id(one) for one in many[1:]}
    rest = [one for one in talk.packets if id(one) not in moved]
    at = rest.index(many[0])
    for number, one in enumerate(many[1:], 1):
        one.time = many[0].time + number * 10_000
        one.ack = many[0].ack
        if one.stamps:
            one.stamps = many[0].stamps
    talk.packets = rest[:at + 1] + many[1:] + rest[at + 1:]
    talk.packets.sort(key=lambda one: one.time)
    return talk.planted(*many[10:], lasting=True)


@plant("more-than-loss-window", "5681:CC-12 6298:RTO-11 5681:CC-1 5681:CC-7 9293:P-RTO")
def burst_after_timeout(talk, draw):
    """After a timeout all data in flight is retransmitted at once."""
    need(talk.single)
    found = []
    for at in talk.text_by(talk.device):
        acked = talk.acked_of(talk.peer, at)
        out = [one for one in talk.packets[:at + 1] if talk.ours(one) and one.text
               and not less(one.seq, acked)]
        if len({one.seq for one in out}) == len(out) and len(out) >= 7 \
                and talk.packets[at].seq == out[-1].seq and out[0].seq == acked:
            found.append((at, out))
    at, out = pick(draw, [(at, out) for at, out in found
                          if sum(len(one.text) for one in out) > 3 * talk.asked_mss])
    del talk.packets[at + 1:]
    again = [talk.like(one, 0) for one in out]
    for number, one in enumerate(again):
        one.time = talk.packets[at].time + 1500 * MS + number * 20_000
        if one.stamps:
            one.stamps = out[-1].stamps[0] + 1500, out[-1].stamps[1]
        one.ecn = 0
    talk.packets += again
    answer = talk.bare(talk.peer, len(talk.packets), round_trip(talk))
    answer.ack = again[-1].end
    talk.packets.append(answer)
    return talk.planted(*again[1:])


@plant("timeout-not-doubled", RTO)
def no_backoff(talk, draw):
    """A segment is retransmitted six times at equal intervals."""
    need(talk.single)
    found = []
    for at in talk.text_by(talk.device):
        one = talk.packets[at]
        if one.seq == talk.next_of(talk.device, at) == talk.acked_of(talk.peer, at):
            found.append(at)
    at = pick(draw, found)
    del talk.packets[at + 1:]
    wait = draw.choice([1100, 1500, 2500])
    again = []
    for number in range(1, 7):
        one = talk.like(talk.packets[at], number * wait * MS)
        if one.stamps:
            one.stamps = one.stamps[0] + number * wait, one.stamps[1]
        again.append(one)
    talk.packets += again
    return talk.planted(*again[1:])


@plant("sacked-sent-again", "2018:SACK-18 6298:RTO-11 9293:P-RTO")
def sacked_sent_again(talk, draw):
    """Data that the peer has SACKed is retransmitted."""
    need(talk.single)
    found = []
    for at, one in enumerate(talk.packets):
        if talk.ours(one) or not one.blocks:
            continue
        when = one.time + 2 * round_trip(talk)
        behind = next((place for place in range(at, len(talk.packets))
                       if talk.packets[place].time > when), len(talk.packets))
        acked = talk.acked_of(talk.peer, behind)
        found += [(behind, when, other) for left, right in one.blocks
                  for other in talk.packets[:at] if talk.ours(other) and len(other.text) > 1
                  and not less(other.seq, left) and not less(right, other.end)
                  and less(acked, other.seq)]
    at, when, before = pick(draw, found)
    one = talk.insert(at, talk.like(before, time=when, ecn=0))
    if one.stamps:
        one.stamps = talk.last_by(talk.device, at).stamps
    return talk.planted(one)


@plant("probe-missing zero-window-probe-missing", "9293:MUST-36 9293:SHLD-29 9293:SHLD-30 "
       "9293:P-RTO")
def zero_window_unprobed(talk, draw):
    """The peer's window is closed for ten seconds without a probe."""
    need(talk.single and draw)
    shut = next((at for at in talk.where(lambda one: not talk.ours(one)) if at > 2
                 and not talk.packets[at].window and not talk.packets[at].flags & (RST | FIN)),
                None)
    need(shut is not None)
    need(talk.acked_of(talk.peer, shut + 1) == talk.next_of(talk.device, shut + 1))
    opened = next((at for at in range(shut + 1, len(talk.packets))
                   if not talk.ours(talk.packets[at]) and talk.packets[at].window), None)
    need(opened is not None and not talk.packets[opened].flags & RST)
    need([at for at in talk.text_by(talk.device) if at > opened])
    mark = talk.packets[shut]
    held = [one for one in talk.packets[shut + 1:opened] if talk.ours(one) and one.text
            and len(one.text) > 1]
    need(not held)
    del talk.packets[shut + 1:opened]
    talk.delay(shut + 1, 10 * SECOND)
    return talk.planted(mark, lasting=True)


@plant("keepalive-beyond keep-alive-beyond sent-with-gap beyond-fin keepalive-ahead",
       "9293:P-KA-PROBE 9293:P-SEND-EST 9293:MUST-26 9293:MUST-27 9293:MUST-28")
def keep_alive_beyond_next(talk, draw):
    """A keep-alive with a sequence number that was never reached."""
    need(talk.single)
    found = [at for at in talk.pure_acks(talk.device)
             if at > talk.established()
             and talk.packets[at].seq == (talk.next_of(talk.device, at) - 1) % CYCLE]
    at = pick(draw, found)
    talk.packets[at].seq = (talk.packets[at].seq + 1 + draw.choice([1, 500])) % CYCLE
    return talk.planted(talk.packets[at])


@plant("silly-receiver", "9293:MUST-39 9293:P-SWS-RCV 9293:SHLD-15")
def silly_window(talk, draw):
    """A closed window is opened by one unit of the window field."""
    need(talk.single)
    found = []
    for at in talk.pure_acks(talk.device):
        if at > 3 and talk.packets[at].window:
            before = [one for one in talk.packets[:at] if talk.ours(one)][-1]
            if not before.window:
                found.append(at)
    at = pick(draw, found)
    early = talk.like(talk.packets[at], 0, window=1)
    early.time -= min(2 * MS, (early.time - talk.packets[at - 1].time) // 2)
    talk.insert(at, early)
    return talk.planted(early)


@plant("syn-unanswered challenge-missing unacceptable-unanswered",
       "9293:P-SYN-INWIN 9293:P-ACCEPT-REPLY 9293:P-RST-CHALLENGE 9293:P-SYN-793")
def syn_in_window_ignored(talk, draw):
    """A SYN within the window causes no challenge ACK."""
    at = made_quiet(talk, draw)
    one = talk.bare(talk.peer, at, 500 * MS)
    one.flags, one.options = SYN, list(talk.syn_of(talk.peer).options)
    one.seq = (one.seq + 100) % CYCLE
    one.ack = 0
    one.stamps = talk.last_by(talk.peer, at).stamps
    talk.insert(at, one)
    return talk.planted(one, talk.packets[at + 1])


@plant("unacceptable-unanswered challenge-missing",
       "9293:P-ACCEPT-REPLY 9293:P-ZWP-REPLY 9293:P-TEXT-ACK 9293:P-ACCEPT-TRIM")
def old_segment_unanswered(talk, draw):
    """Old data before the window causes no ACK."""
    at = made_quiet(talk, draw)
    one = talk.bare(talk.peer, at, 500 * MS)
    one.seq = (one.seq - 100) % CYCLE
    need(less(talk.syn_of(talk.peer).seq, one.seq))
    one.text, one.flags = b"o" * 50, ACK | PSH
    earlier = [other for other in talk.packets[:at] if not talk.ours(other)
               and other.text and not less(one.seq, other.seq) and not less(other.end, one.end)]
    need(earlier)
    start = (one.seq - earlier[-1].seq) % CYCLE
    one.text = earlier[-1].text[start:start + 50]
    talk.insert(at, one)
    return talk.planted(one, talk.packets[at + 1])


@plant("unacceptable-unanswered challenge-missing future-ack-unanswered",
       "9293:P-ACK-FUTURE 9293:P-ACCEPT-REPLY 9293:P-ACK-5961")
def future_ack_unanswered(talk, draw):
    """An ACK of octets that were never sent causes no ACK."""
    at = made_quiet(talk, draw)
    one = talk.bare(talk.peer, at, 500 * MS)
    one.ack = (one.ack + 10_000) % CYCLE
    one.text, one.flags = b"", ACK
    talk.insert(at, one)
    return talk.planted(one, talk.packets[at + 1])


@plant("ack-frozen fin-unacknowledged ack-delayed-too-long text-unacknowledged ack-too-late "
       "unacceptable-unanswered",
       ACKS + " 9293:P-FIN 9293:P-CLOSE-CLOSEWAIT 9293:P-TIMEWAIT-ACK")
def fin_unacknowledged(talk, draw):
    """The peer's FIN is retransmitted several times and never acknowledged."""
    need(talk.single and draw)
    found = talk.where(lambda one: not talk.ours(one) and one.flags & FIN)
    need(found)
    at = found[0]
    fin = talk.packets[at]
    need(talk.next_of(talk.peer, at) == (fin.end - 1 - len(fin.text)) % CYCLE)
    need(talk.acked_of(talk.device, at) == fin.seq and not fin.text)
    del talk.packets[at + 1:]
    for wait in (300, 600, 1200, 2400, 4800):
        talk.packets.append(talk.like(talk.packets[-1], wait * MS))
    return talk.planted(fin, lasting=True)
