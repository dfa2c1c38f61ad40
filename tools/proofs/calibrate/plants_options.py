# Planted violations in options, timestamps and ECN: each edits a Talk of real Linux.
"""Each function is a kind; it raises ValueError if a flow does not suit."""
from proofs.calibrate import pcap
from proofs.calibrate.pcap import ACK, CWR, ECE, FIN, RST, SYN
from proofs.calibrate.talk import MS, less, need, pick, plant

ECT0, CE = 2, 3


def after_handshake(talk):
    """Indices of the device's packets after the handshake, without SYNs and RSTs."""
    first = talk.established()
    return [at for at in talk.where(talk.ours)
            if at > first and not talk.packets[at].flags & (SYN | RST)]


@plant("stamp-unnegotiated", "7323:TS-33 7323:TS-1 9293:P-LISTEN-SYN 9293:P-3WHS 7323:TS-39 "
       "9293:P-OPEN-CLOSED-PASSIVE")
def option_never_offered(talk, _):
    """The SYN-ACK has timestamps that the SYN did not offer."""
    need(talk.single and talk.device == talk.server and talk.agreed(pcap.STAMPS))
    talk.strip(pcap.STAMPS, lambda one: not one.flags & SYN or one.source == talk.client)
    return talk.planted(talk.synack)


@plant("stamp-unnegotiated option-unoffered", "7323:TS-39 7323:TS-9 7323:TS-15 7323:TS-1")
def stamps_never_agreed(talk, _):
    """Timestamps on segments although the peer's SYN had none."""
    need(talk.single and talk.agreed(pcap.STAMPS))
    talk.strip(pcap.STAMPS, lambda one: not talk.ours(one))
    talk.syn_of(talk.device).set_option(pcap.STAMPS, None)
    for one in talk.packets:
        if one.stamps:
            one.stamps = one.stamps[0], 0
    found = after_handshake(talk)
    need(found)
    return talk.planted(talk.packets[found[0]], lasting=True)


@plant("stamp-missing", "7323:TS-9 7323:TS-15")
def stamp_missing(talk, draw):
    """One segment without a timestamp although both SYNs had one."""
    need(talk.single and talk.agreed(pcap.STAMPS))
    one = talk.packets[pick(draw, after_handshake(talk))]
    one.stamps = None
    return talk.planted(one)


@plant("stamp-backward", "7323:TS-13 7323:TS-15 7323:TS-17")
def stamp_backward(talk, draw):
    """A pure ACK has an older timestamp (with data, the peer would have had to drop it)."""
    need(talk.single and talk.agreed(pcap.STAMPS))
    first = talk.established()
    one = talk.packets[pick(draw, [at for at in talk.pure_acks(talk.device) if at > first])]
    one.stamps = one.stamps[0] - draw.choice([3000, 60_000]), one.stamps[1]
    return talk.planted(one)


@plant("echo-unheard", "7323:TS-11 7323:TS-15 7323:TS-7")
def echo_never_sent(talk, draw):
    """TSecr is a TSval that the peer never sent."""
    need(talk.single and talk.agreed(pcap.STAMPS))
    one = talk.packets[pick(draw, after_handshake(talk))]
    one.stamps = one.stamps[0], one.stamps[1] + draw.choice([10_000, 1_000_000])
    return talk.planted(one)


@plant("old-stamp-accepted", "7323:TS-17 9293:P-TEXT-ACK 7323:TS-13")
def old_stamp_accepted(talk, draw):
    """The device acknowledges data whose timestamp is a minute old."""
    need(talk.single and talk.agreed(pcap.STAMPS))
    found = []
    for at in talk.text_by(talk.peer)[3:]:
        one = talk.packets[at]
        nexts = [other for other in talk.packets[at + 1:at + 4] if talk.ours(other)
                 and other.flags & ACK and other.ack == one.end]
        once = sum(1 for other in talk.packets if not talk.ours(other) and other.text
                   and other.seq == one.seq) == 1
        if nexts and once:
            found.append((one, nexts[0]))
    one, answer = pick(draw, found)
    one.stamps = one.stamps[0] - 60_000, one.stamps[1]
    return talk.planted(one, answer)


@plant("scale-too-large", "7323:TS-5 9293:P-3WHS 9293:P-LISTEN-SYN")
def scale_of_fifteen(talk, draw):
    """A window scale shift above 14."""
    one = talk.syn_of(talk.device)
    need(talk.single and one.option(pcap.SCALE))
    one.set_option(pcap.SCALE, bytes([draw.choice([15, 20, 200])]))
    return talk.planted(one, lasting=True)


@plant("scale-outside-syn", "7323:TS-24 9293:MUST-65")
def scale_outside_syn(talk, draw):
    """A window scale on a segment without SYN."""
    need(talk.single)
    one = talk.packets[pick(draw, [at for at in after_handshake(talk)
                                   if not talk.packets[at].blocks])]
    one.set_option(pcap.SCALE, bytes([7]))
    return talk.planted(one)


@plant("mss-outside-syn", "9293:MUST-65 9293:P-OPT-FORMAT")
def mss_outside_syn(talk, draw):
    """MSS on a segment without SYN."""
    need(talk.single)
    one = talk.packets[pick(draw, [at for at in after_handshake(talk)
                                   if not talk.packets[at].blocks])]
    one.set_option(pcap.MSS, (1460).to_bytes(2, "big"))
    return talk.planted(one)


@plant("option-malformed header-length", "9293:P-OPT-FORMAT 9293:MUST-68 9293:MUST-7 9293:P-DOFF")
def option_of_wrong_length(talk, draw):
    """A timestamp option with a wrong length."""
    need(talk.single)
    one = talk.packets[pick(draw, [at for at in after_handshake(talk)
                                   if not talk.packets[at].blocks])]
    one.set_option(pcap.STAMPS, b"\1" * draw.choice([7, 9, 4]))
    return talk.planted(one)


@plant("ece-unheeded", "3168:ECN-21 3168:ECN-26 3168:ECN-17 3168:ECN-18 3168:ECN-19")
def ece_unheeded(talk, _):
    """ECE for many round trips, and no CWR."""
    need(talk.single and talk.ecn and len(talk.text_by(talk.device)) > 25)
    need(not any(one.flags & CWR for one in talk.packets[3:]))
    begin = talk.text_by(talk.device)[3]
    for one in talk.packets[begin:]:
        if not talk.ours(one) and not one.flags & RST:
            one.flags |= ECE
    echoed = next((one for one in talk.packets[begin:] if one.flags & ECE), None)
    need(echoed is not None)
    span = talk.packets[talk.text_by(talk.device)[-1]].time - echoed.time
    first = talk.packets[0].time
    trip = talk.packets[talk.established()].time - first
    need(span > 4 * max(trip, 5 * MS))
    return talk.planted(echoed, lasting=True)


@plant("ece-unheeded", "3168:ECN-21 3168:ECN-26 3168:ECN-17 3168:ECN-18 3168:ECN-19")
def cwr_never_sent(talk, _):
    """The device never sends CWR, so the peer continues to send ECE."""
    need(talk.single and talk.ecn)
    answers = [at for at in talk.where(talk.ours) if at > 2 and talk.packets[at].flags & CWR]
    need(answers and len([at for at in talk.text_by(talk.device) if at > answers[0]]) > 12)
    for one in talk.packets[answers[0]:]:
        if talk.ours(one):
            one.flags &= ~CWR
        elif not one.flags & RST:
            one.flags |= ECE
    return talk.planted(talk.packets[answers[0]], lasting=True)


@plant("ece-missing ece-not-echoed mark-unechoed mark-not-echoed",
       "3168:ECN-10 3168:ECN-13 3168:ECN-14 3168:ECN-15")
def mark_not_echoed(talk, draw):
    """CE arrives, and the device never sends ECE."""
    need(talk.single and talk.ecn)
    need(not any(one.flags & ECE for one in talk.packets[3:]))
    able = [at for at in talk.text_by(talk.peer) if talk.packets[at].ecn in (1, 2)]
    need(len(able) > 6)
    chosen = able[draw.randrange(1, len(able) // 2):][:4]
    for at in chosen:
        talk.packets[at].ecn = CE
    need([at for at in talk.pure_acks(talk.device) if at > chosen[-1]])
    return talk.planted(*(talk.packets[at] for at in chosen), lasting=True)


@plant("ect-on-retransmission", "3168:ECN-12")
def ect_on_retransmission(talk, draw):
    """A retransmission has ECT."""
    need(talk.single and talk.ecn)
    seen, found = None, []
    for at in talk.text_by(talk.device):
        one = talk.packets[at]
        if seen is not None and not less(seen, one.end) and len(one.text) > 1:
            found.append(one)
        seen = one.end if seen is None or less(seen, one.end) else seen
    one = pick(draw, found)
    one.ecn = ECT0
    return talk.planted(one)


@plant("ect-on-pure-ack", "3168:ECN-11 3168:ECN-3")
def ect_on_pure_ack(talk, draw):
    """A pure ACK has ECT."""
    need(talk.single and talk.ecn)
    one = talk.packets[pick(draw, talk.pure_acks(talk.device))]
    one.ecn = ECT0
    return talk.planted(one)


@plant("ect-on-syn", "3168:ECN-4")
def ect_on_syn(talk, _):
    """A SYN has ECT."""
    need(talk.single)
    one = talk.syn_of(talk.device)
    one.ecn = ECT0
    return talk.planted(one)


@plant("ect-unnegotiated", "3168:ECN-3")
def ect_never_agreed(talk, _):
    """Data has ECT although the SYNs did not agree on ECN."""
    need(talk.single and not talk.ecn and talk.text_by(talk.device))
    for at in talk.text_by(talk.device):
        talk.packets[at].ecn = ECT0
    return talk.planted(talk.packets[talk.text_by(talk.device)[0]], lasting=True)


@plant("ecn-unasked", "3168:ECN-2 3168:ECN-1 3168:ECN-23 9293:P-LISTEN-SYN")
def ecn_never_asked(talk, _):
    """The SYN-ACK agrees to ECN that the SYN did not request."""
    need(talk.single and talk.device == talk.server and not talk.syn.flags & (ECE | CWR))
    for one in talk.packets:
        if one.flags & SYN and talk.ours(one):
            one.flags |= ECE
    return talk.planted(talk.synack, lasting=True)


@plant("ip-checksum", "791:IP4-2 1122:MUST-IP 9293:MUST-2")
def bad_sum_of_ip(talk, draw):
    """The IPv4 header checksum is wrong."""
    need(talk.single and talk.packets[0].is_v4)
    one = talk.packets[pick(draw, [at for at in talk.where(talk.ours)
                                   if not talk.packets[at].flags & (SYN | FIN)])]
    one.bad_ip_sum = True
    return talk.planted(one)
