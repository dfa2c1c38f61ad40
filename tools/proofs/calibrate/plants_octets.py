# Planted violations in sequence numbers, octets and windows: each edits a Talk of real Linux.
"""Each function is a kind; it raises ValueError if a flow does not suit."""
from proofs.calibrate import pcap
from proofs.calibrate.pcap import ACK, CYCLE, FIN, PSH, RST, SYN, URG
from proofs.calibrate.talk import MS, less, need, pick, plant


@plant("ack-of-unheard", "9293:P-ACK-CUMUL 9293:P-ACK-EST 9293:P-ACK-ALWAYS 9293:P-TEXT-ACK "
       "9293:P-ACK-FUTURE")
def ack_of_unsent(talk, draw):
    """An ACK of octets that the peer never sent."""
    need(talk.single)
    at = pick(draw, [at for at in talk.pure_acks(talk.device) if at > talk.established()])
    one = talk.packets[at]
    one.ack = (talk.next_of(talk.peer, len(talk.packets)) + 5000) % CYCLE
    return talk.planted(one)


@plant("beyond-window", "9293:P-WND-FIT 5681:CC-1")
def beyond_window(talk, draw):
    """Data beyond the right edge: the peer's windows are reduced to a part of the real ones."""
    need(talk.single and talk.shift_of(talk.peer) in range(15))
    flights = []
    for at in talk.text_by(talk.device):
        edge, acked = talk.edge_of(talk.peer, at), talk.acked_of(talk.peer, at)
        flights.append(((talk.packets[at].end - acked) % CYCLE, (edge - acked) % CYCLE))
    need(flights)
    flight, _ = max(flights)
    need(flight > 4000)
    part = draw.choice([0.4, 0.6, 0.75])
    syn = talk.syn_of(talk.peer)
    for one in talk.packets:
        if one.source == talk.peer and not one.flags & RST:
            limit = int(flight * part) >> (0 if one is syn else talk.shift_of(talk.peer))
            one.window = min(one.window, max(1, limit))
    for at in talk.text_by(talk.device):
        if less(talk.edge_of(talk.peer, at), talk.packets[at].end):
            return talk.planted(talk.packets[at], lasting=True)
    raise ValueError("nothing is beyond")


@plant("mss-exceeded", "9293:MUST-16 9293:P-SEND-EST 9293:MUST-14 9293:MUST-15")
def mss_exceeded(talk, draw):
    """Segments exceed the MSS of the peer's SYN, which is reduced."""
    need(talk.single)
    syn = talk.syn_of(talk.peer)
    sizes = [len(talk.packets[at].text) for at in talk.text_by(talk.device)]
    need(sizes and max(sizes) > 500 and syn.option(pcap.MSS))
    syn.set_option(pcap.MSS, int(max(sizes) * draw.choice([0.5, 0.7, 0.85])).to_bytes(2, "big"))
    return talk.planted(talk.packets[next(
        at for at in talk.text_by(talk.device) if len(talk.packets[at].text) == max(sizes))],
        lasting=True)


@plant("edge-moved-left", "9293:SHLD-14 9293:SHLD-15 9293:P-SWS-RCV 9293:MUST-39")
def window_shrunk(talk, draw):
    """The right edge moves left by thousands of octets."""
    need(talk.single)
    found = [at for at in talk.pure_acks(talk.device) if at > talk.established()
             and talk.packets[at].window << talk.shift_of(talk.device) > 12_000]
    one = talk.packets[pick(draw, found)]
    one.window //= 4
    return talk.planted(one)


@plant("edge-moved-left", "9293:SHLD-14 9293:SHLD-15 9293:P-SWS-RCV 9293:MUST-39")
def scale_forgotten(talk, draw):
    """From some packet on, the device uses a smaller window scale than negotiated."""
    need(talk.single and talk.shift_of(talk.device) >= 4)
    found = [at for at in talk.where(talk.ours) if at > talk.established() + 1
             and not talk.packets[at].flags & RST
             and talk.packets[at].window << talk.shift_of(talk.device) > 20_000]
    at = pick(draw, found)
    for one in talk.packets[at:]:
        if talk.ours(one):
            one.window >>= 3
    return talk.planted(talk.packets[at], lasting=True)


@plant("sack-of-unheard", "2018:SACK-14 2018:SACK-5 2018:SACK-3 2883:DSACK-1 2883:DSACK-3")
def sack_of_unsent(talk, draw):
    """A SACK block of octets that the peer never sent."""
    need(talk.single and talk.agreed(pcap.PERMITTED))
    found = [at for at in talk.pure_acks(talk.device) if at > talk.established()
             and not talk.packets[at].blocks]
    one = talk.packets[pick(draw, found)]
    last = talk.next_of(talk.peer, len(talk.packets))
    one.blocks = [(last + 2000, last + 4000)]
    return talk.planted(one)


@plant("sack-unpermitted", "2018:SACK-2")
def sack_without_permission(talk, draw):
    """SACK blocks although the peer's SYN did not permit SACK."""
    need(talk.single and talk.agreed(pcap.PERMITTED))
    found = [one for one in talk.packets if talk.ours(one) and one.blocks]
    need(found or len(talk.text_by(talk.peer)) > 3)
    talk.syn_of(talk.peer).set_option(pcap.PERMITTED, None)
    if talk.peer == talk.client:  # then the SYN-ACK must not have it either
        talk.synack.set_option(pcap.PERMITTED, None)
    if not found:
        at = pick(draw, talk.text_by(talk.peer)[2:])
        before = talk.packets[at]
        one = talk.bare(talk.device, at + 1, 1000)
        one.blocks = [(before.seq, before.end)]
        found = [talk.insert(at + 1, one)]
    for one in talk.packets:
        if not talk.ours(one):
            one.blocks = []
    return talk.planted(found[0], lasting=True)


@plant("text-changed", "9293:P-RTO 9293:P-SEND-EST 9293:P-TEXT-DELIVER")
def text_changed(talk, draw):
    """A retransmission with other octets."""
    need(talk.single)
    seen, found = set(), []
    for at in talk.text_by(talk.device):
        one = talk.packets[at]
        if (one.seq, len(one.text)) in seen and len(one.text) > 1:
            found.append(one)
        seen.add((one.seq, len(one.text)))
    one = pick(draw, found)
    one.text = bytes(octet ^ 0x55 for octet in one.text)
    return talk.planted(one)


@plant("beyond-fin", "9293:P-CLOSE-QUEUED 9293:P-CLOSE-CLOSEWAIT 9293:P-FIN 9293:P-SEND-EST")
def data_after_fin(talk, draw):
    """New data after the FIN."""
    need(talk.single)
    at = pick(draw, talk.where(lambda one: talk.ours(one) and one.flags & FIN)[:1])
    fin = talk.packets[at]
    one = talk.like(fin, draw.randrange(20, 300) * 1000, flags=ACK | PSH, seq=fin.end,
                    text=b"more" * 50)
    talk.packets.append(one)
    talk.in_order()
    return talk.planted(one)


@plant("sent-with-gap beyond-fin", "9293:P-CLOSE-QUEUED 9293:P-CLOSE-CLOSEWAIT 9293:P-FIN "
       "9293:P-SEND-EST")
def fin_moved(talk, draw):
    """The FIN's sequence number does not follow the last octet."""
    need(talk.single)
    at = pick(draw, talk.where(lambda one: talk.ours(one) and one.flags & FIN)[:1])
    by, end = draw.choice([1, 700, 3000]), talk.packets[at].end
    for one in talk.packets[at:]:
        if talk.ours(one) and one.flags & FIN:
            one.seq = (one.seq + by) % CYCLE
        elif not talk.ours(one) and one.ack == end:  # the peer lacks the data before the FIN
            one.ack = (end - 1) % CYCLE
    return talk.planted(talk.packets[at], lasting=True)


@plant("sent-with-gap", "9293:P-SEND-EST 9293:P-SEND-FIFO 9293:P-RTO")
def sent_with_gap(talk, draw):
    """The device skips octets, which it sends only later."""
    need(talk.single)
    found = talk.text_by(talk.device)
    found = [at for place, at in enumerate(found[2:-1], 2)
             if not less(talk.packets[at].seq, talk.next_of(talk.device, at))
             and talk.next_of(talk.device, at) == talk.packets[at].seq
             and talk.packets[found[place + 1]].seq == talk.packets[at].end]
    at = pick(draw, found)
    left_out = talk.packets.pop(at)
    mark = next(one for one in talk.packets[at:] if talk.ours(one) and one.text)
    left_out.time = talk.packets[-1].time + 20 * MS
    for one in talk.packets[at:]:  # the peer acknowledges only the data before the gap
        if not talk.ours(one) and one.flags & ACK and less(left_out.seq, one.ack):
            one.ack = left_out.seq
    talk.packets.append(left_out)
    return talk.planted(mark, lasting=True)


@plant("reset-outside", "9293:P-RST-SEQ 9293:P-RST-EST 9293:P-RST-WHEN 9293:P-ABORT "
       "9293:P-RST-OUT")
def reset_of_far_number(talk, draw):
    """A RST with a sequence number that the device never reached."""
    need(talk.single)
    found = [at for at in talk.where(lambda one: True) if at > talk.established() + 1]
    at = pick(draw, found)
    one = talk.bare(talk.device, at, 2000)
    one.flags = RST | ACK
    one.seq = (one.seq + draw.choice([70_000, 1_000_000, CYCLE - 900_000])) % CYCLE
    talk.insert(at, one)
    return talk.planted(one)


@plant("reset-answers-reset", "9293:P-CLOSED-RST 9293:P-RST-OUT 9293:P-RST-EST 9293:P-LISTEN-RST "
       "9293:P-RST-WHEN 9293:P-RST-CLOSING")
def reset_answers_reset(talk, draw):
    """A RST in reply to a RST."""
    need(talk.single)
    at = pick(draw, talk.where(lambda one: not talk.ours(one) and one.flags & RST)[:1])
    last = talk.packets[at]
    one = talk.bare(talk.device, at + 1, 30_000)
    one.flags = RST
    one.seq, one.ack = last.ack if last.flags & ACK else one.seq, 0
    one.options = []
    talk.insert(at + 1, one)
    return talk.planted(one)


@plant("ack-of-unheard", "9293:P-LISTEN-SYN 9293:P-3WHS 9293:P-SYNSENT-EST 9293:P-ACK-CUMUL "
       "9293:P-OPEN-CLOSED-PASSIVE")
def syn_ack_of_other_number(talk, draw):
    """The SYN-ACK does not acknowledge the SYN's number."""
    need(talk.single and talk.device == talk.server)
    by = draw.choice([2, 1000, 100_000])
    for one in talk.packets:
        if one.flags & SYN and talk.ours(one):
            one.ack = (one.ack + by) % CYCLE
    return talk.planted(talk.synack, lasting=True)


@plant("urgent-zero", "9293:P-URGPTR-FIELD 9293:MUST-62 9293:MUST-30 9293:P-URG-DATA")
def urgent_to_nothing(talk, draw):
    """URG with a pointer of zero."""
    need(talk.single)
    one = talk.packets[pick(draw, talk.text_by(talk.device))]
    one.flags |= URG
    one.urgent = 0
    return talk.planted(one)


@plant("urgent-empty", "9293:P-URG-DATA 9293:MUST-30 9293:MUST-62 9293:P-URGPTR-FIELD")
def urgent_without_text(talk, draw):
    """URG on a pure ACK."""
    need(talk.single)
    one = talk.packets[pick(draw, talk.pure_acks(talk.device)[1:])]
    one.flags |= URG
    one.urgent = draw.randrange(1, 500)
    return talk.planted(one)


@plant("tcp-checksum", "9293:MUST-2 9293:MUST-3")
def bad_checksum(talk, draw):
    """A segment that was lost was sent with a wrong checksum."""
    need(talk.single)
    found = []
    for at in talk.text_by(talk.device):
        one = talk.packets[at]
        again = [other for other in talk.packets[at + 1:] if talk.ours(other)
                 and other.seq == one.seq and other.text]
        heard = any(not talk.ours(other) and other.flags & ACK and less(one.seq, other.ack)
                    for other in talk.packets[at:talk.packets.index(again[0])]) if again else True
        sacked = any(left == one.seq for other in talk.packets for left, _ in other.blocks)
        if again and not heard and not sacked:
            found.append(one)
    one = pick(draw, found)
    one.bad_sum = True
    return talk.planted(one)


@plant("reserved-bits", "9293:P-RSRVD")
def reserved_bits(talk, draw):
    """A reserved header bit is set."""
    found = [at for at in talk.where(talk.ours) if at > 2]
    one = talk.packets[pick(draw, found)]
    one.reserved = draw.choice([2, 4, 8])
    return talk.planted(one)


@plant("ack-missing", "9293:P-ACK-ALWAYS 9293:P-ACK-OFF")
def without_ack_bit(talk, draw):
    """Data without the ACK flag."""
    need(talk.single)
    one = talk.packets[pick(draw, talk.text_by(talk.device))]
    one.flags &= ~ACK
    one.ack = 0
    return talk.planted(one)


@plant("syn-with-fin-or-reset", "9293:P-CTL-ONCE 9293:P-3WHS 9293:P-OPEN-CLOSED-ACTIVE "
       "9293:P-LISTEN-SYN")
def syn_with_fin(talk, _):
    """The SYN has FIN."""
    need(talk.single)
    one = talk.syn_of(talk.device)
    one.flags |= FIN
    return talk.planted(one)
