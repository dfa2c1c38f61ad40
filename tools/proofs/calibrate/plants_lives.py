# Planted violations at a connection's start and end, and across connections.
"""Each function is a kind; it raises ValueError if a flow does not suit."""
from proofs.calibrate import pcap
from proofs.calibrate.pcap import ACK, CYCLE, FIN, RST, SYN
from proofs.calibrate.talk import MS, SECOND, less, need, plant

PORTS_FREE = "9293:P-CLOSED-ACK 9293:P-CLOSED-SEG 9293:SHLD-3 9293:P-RST-WHEN"


@plant("reset-missing no-reset-in-syn-sent syn-sent-unreset",
       "9293:P-SYNSENT-ACK 9293:P-SYNSENT-EST")
def no_reset_in_syn_sent(talk, draw):
    """A SYN-ACK with a wrong acknowledgment number causes no reset from the client."""
    need(talk.single and talk.device == talk.client)
    at = talk.packets.index(talk.synack)
    wait = draw.choice([20, 100]) * MS
    talk.delay(at, wait)
    bad = talk.like(talk.synack, -wait // 2, seq=(talk.synack.seq + 77_777_777) % CYCLE,
                    ack=(talk.synack.ack + draw.choice([1, 40_000])) % CYCLE)
    talk.insert(at, bad)
    return talk.planted(bad, talk.packets[at + 1])


@plant("reset-missing closed-unanswered half-open-unanswered", PORTS_FREE)
def no_reset_when_closed(talk, _):
    """Retransmitted data to a closed end causes no reset."""
    need(talk.single)
    resets = talk.where(lambda one: talk.ours(one) and one.flags & RST)
    fins = talk.where(lambda one: talk.ours(one) and one.flags & FIN)
    need(resets and fins and fins[0] < resets[0])
    text = [at for at in talk.text_by(talk.peer) if at < resets[0]]
    need(text and text[-1] > fins[0])
    mark = talk.packets[text[-1]]
    talk.packets = [one for one in talk.packets if not (talk.ours(one) and one.flags & RST)]
    at = talk.packets.index(mark)
    del talk.packets[at + 1:]
    for wait in (300, 600, 1200, 2400, 4800):
        again = talk.like(talk.packets[-1], wait * MS)
        if again.stamps:
            again.stamps = again.stamps[0] + wait, again.stamps[1]
        talk.packets.append(again)
    return talk.planted(mark, lasting=True)


def lives(talk):
    """Indices of the first SYN of each connection on the same ports; at least two."""
    found = []
    for at, one in enumerate(talk.packets):
        if one.flags & (SYN | ACK) == SYN and (
                not found or talk.packets[found[-1]].seq != one.seq):
            found.append(at)
    need(len(found) >= 2)
    return found


@plant("isn-reused isn-again isn-repeated", "9293:MUST-8 9293:P-ISN 6528:ISN-1 9293:P-LISTEN-SYN "
       "9293:SHLD-1 9293:P-OPEN-CLOSED-ACTIVE 9293:P-OPEN-CLOSED-PASSIVE")
def isn_used_again(talk, _):
    """The next connection on the same ports has the same ISN."""
    begin = lives(talk)[1]
    first = next(one for one in talk.packets if talk.ours(one) and one.flags & SYN)
    second = next(one for one in talk.packets[begin:] if talk.ours(one) and one.flags & SYN)
    early = {id(one) for one in talk.packets[:begin]}
    by = (first.seq - second.seq) % CYCLE
    talk.renumber(talk.device, by, lambda one: id(one) not in early)
    return talk.planted(second, lasting=True)


@plant("isn-predictable isn-guessable isn-constant-step isn-reused", "9293:MUST-8 9293:SHLD-1 "
       "6528:ISN-1 6528:ISN-2 9293:P-ISN")
def isn_predictable(talk, draw):
    """Ten successive connections, each ISN a constant above the previous one."""
    need(talk.single and len(talk.packets) < 80)
    need(not any(one.flags & RST for one in talk.packets))
    step, span = draw.choice([64_000, 1, 128_000]), talk.packets[-1].time - talk.syn.time + SECOND
    pattern, all_of_them = [one.copy() for one in talk.packets], []
    for number in range(10):
        talk.packets = [talk.like(one, number * span) for one in pattern]
        talk.renumber(talk.device, number * step)
        talk.renumber(talk.peer, draw.randrange(CYCLE))
        for one in talk.packets:
            if one.source == talk.client:
                one.sport += number * 37
            else:
                one.dport += number * 37
            if one.stamps:
                mine, echo = (value + number * span // MS for value in one.stamps)
                one.stamps = mine, echo if one.flags & ACK else 0
        all_of_them += talk.packets
    talk.packets = all_of_them
    second = [one for one in all_of_them if one.flags & SYN and one.addresses[0] ==
              talk.device[0]][-1]
    return talk.planted(second, anywhere=True)


@plant("time-wait-lower-isn isn-below time-wait-old-isn old-isn-accepted isn-reused isn-lower",
       "9293:P-LISTEN-SYN 9293:P-TIMEWAIT-ACK 9293:MAY-2 9293:P-SYN-INWIN 9293:MUST-8 6191:TW-1 "
       "1122:TIME-WAIT 9293:SHLD-1")
def lower_isn_in_time_wait(talk, draw):
    """A SYN below the previous connection's numbers opens a connection from TIME-WAIT."""
    begins = lives(talk)
    need(talk.device == talk.server)
    begin = begins[1]
    closes = [one for one in talk.packets[:begin] if one.flags & FIN]
    need(closes and closes[0].source == talk.server)
    need(any(one.flags & FIN and one.source == talk.client for one in closes))
    need(not any(one.flags & RST for one in talk.packets[:begin]))
    last = talk.next_of(talk.client, begin)
    second = talk.packets[begin]
    early = {id(one) for one in talk.packets[:begin]}
    talk.strip(pcap.STAMPS)
    by = (last - draw.choice([500, 50_000, 5_000_000]) - second.seq) % CYCLE
    talk.renumber(talk.client, by, lambda one: id(one) not in early)
    answer = next(one for one in talk.packets[begin:] if talk.ours(one) and one.flags & SYN)
    need(answer.flags & ACK)
    return talk.planted(second, answer, anyone=True)


@plant("window-grown-too-fast more-than-loss-window", "5681:CC-32 5681:CC-1 5681:CC-5 5681:CC-42 "
       "9293:P-WND-FIT 5681:CC-3")
def grown_too_fast(talk, draw):
    """After the first ACKs, several times what slow start allows is in flight."""
    need(talk.single)
    texts = [at for at in talk.text_by(talk.device)
             if talk.packets[at].seq == talk.next_of(talk.device, at)]
    need(len(texts) > 45)
    first = talk.packets[texts[0]]
    answer = next((at for at in range(texts[0], len(talk.packets))
                   if not talk.ours(talk.packets[at])
                   and less(first.seq, talk.packets[at].ack)), None)
    need(answer is not None)
    rest = [talk.packets[at] for at in texts if at > answer]
    many = rest[:draw.randrange(32, 45)]
    need(len(many) >= 32)
    need(sum(len(one.text) for one in many) > 26 * talk.asked_mss)
    edge = talk.edge_of(talk.peer, answer + 1)
    need(not less(edge, many[-1].end))
    acked = talk.packets[answer].ack
    allowed = max(14_600, 10 * talk.asked_mss) + (acked - first.seq) % CYCLE
    for number, one in enumerate(many, 1):
        one.time = talk.packets[answer].time + number * 10_000
        one.ack = talk.packets[answer].seq if one.ack == many[0].ack else one.ack
        one.ack = many[0].ack
        if one.stamps:
            one.stamps = many[0].stamps
    talk.in_order()
    beyond = [one for one in many if (one.end - acked) % CYCLE > allowed]
    need(len(beyond) > 10)
    return talk.planted(*beyond, lasting=True)


@plant("reset-missing acceptable-reset-ignored data-after-reset reset-ignored",
       "9293:P-RST-EST 9293:P-RST-CLOSING 9293:P-RST-WHEN 9293:P-CLOSED-RST 9293:P-RST-CHALLENGE")
def reset_ignored(talk, draw):
    """A valid reset arrives, and the device continues to send."""
    need(talk.single)
    texts = talk.text_by(talk.device)
    need(len(texts) > 12)
    at = texts[draw.randrange(4, len(texts) - 7)]
    one = talk.bare(talk.peer, at, 1000)
    one.flags = RST | ACK
    one.seq = talk.acked_of(talk.device, at)
    one.stamps = None
    talk.insert(at, one)
    talk.delay(at + 1, SECOND)
    kept = [each for each in talk.packets[at + 1:] if talk.ours(each)]
    talk.packets[at + 1:] = kept
    need(len(kept) > 4)
    return talk.planted(*kept[:5], lasting=True)
