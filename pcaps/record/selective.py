# Recordings of selective acknowledgment and of the loss recovery that is built on it.
"""Each function records one scenario with a Linux kernel as the device.

loss.py and late.py have the same scenarios without SACK. `tcp_comp_sack_nr` 0 makes Linux
acknowledge each segment above a gap, as the RFCs require; otherwise it waits for up to 44 of them.
Since Linux 6.17 SACK always includes RACK.
"""
from late import late_flight, stall
from loss import lose, receive_all, send_all
from plain import recorded
from recording import SACK_PERMITTED, read, sack_option, text

ON = {"tcp_sack": 1, "tcp_comp_sack_nr": 0}
UNPROBED = {**ON, "tcp_early_retrans": 0}  # no tail loss probes
BARE = {"sack": True, "dsack": True, "rack": False, "tail_probe": False}
ALL = {"sack": True, "dsack": True, "prr": True, "rack": True, "tail_probe": True, "undo": True}


@recorded("rfc2018-4-linux-gap-reported", "Linux reports by SACK what came above a gap",
          ["2018:SACK-3", "2018:SACK-5", "2018:SACK-4", "2018:SACK-21", "5681:CC-14", "5681:CC-15"],
          "passive", "server", fault=lose(2, {4}), sysctls=ON, features="SACK on", config=BARE)
def record_gap_reported(r):
    duplicate = receive_all(r, 10 * 1460)
    r.twin("2018:SACK-5", packet=duplicate, field="sack", add=1460)
    r.twin("2018:SACK-3", packet=duplicate, field="sack", value=0)
    r.twin("5681:CC-14", packet=duplicate, drop=True)


@recorded("rfc2018-4-linux-three-gaps-reported", "Linux reports three gaps, the newest block first",
          ["2018:SACK-5", "2018:SACK-6", "2018:SACK-13", "2018:SACK-14"], "passive", "server",
          kernel_peer=False, sysctls=ON, features="SACK on", config=BARE)
def record_three_gaps(r):
    device, peer = r.script(SACK_PERMITTED)
    data = text(7000, 7)
    for piece in (0, 2, 4, 6, 1, 3, 5):
        begin = piece * 1000
        peer.send("A", data[begin : begin + 1000], seq=1 + begin)
        peer.expect("A", 0)
        r.pause(0.02)
    device.read(7000)
    r.end()
    r.twin("2018:SACK-5", packet=r.flags("A", 4), field="sack", add=-2000)
    r.twin("2018:SACK-3", packet=r.flags("A", 3), field="sack", value=0)
    r.twin("5681:CC-15", packet=r.flags("A", 5), field="ack", add=1000)


@recorded("rfc2018-2-linux-not-permitted", "The peer permits no SACK: Linux sends none",
          ["2018:SACK-2", "5681:CC-14", "5681:CC-15"], "passive", "server", kernel_peer=False,
          sysctls=ON, features="SACK on", config=BARE)
def record_not_permitted(r):
    device, peer = r.script()
    data = text(4000, 7)
    for piece in (0, 2, 3, 1):
        begin = piece * 1000
        peer.send("A", data[begin : begin + 1000], seq=1 + begin)
        peer.expect("A", 0)
        r.pause(0.02)
    device.read(4000)
    r.end()
    r.twin("5681:CC-14", packet=r.flags("A", 2), drop=True)
    r.twin("5681:CC-15", packet=r.flags("A", 4), field="ack", add=-1000)


def repeat_segments(r):
    """The peer sends duplicates: below the cumulative ACK, partly below it, above a gap."""
    device, peer = r.script(SACK_PERMITTED)
    data = text(5000, 7)
    for begin, end in ((0, 1000), (0, 1000), (500, 1500), (2500, 3500), (2500, 3500), (1500, 2500)):
        peer.send("A", data[begin:end], seq=1 + begin)
        peer.expect("A", 0)
        r.pause(0.02)
    device.read(3500)
    r.end()


@recorded("rfc2883-4-linux-duplicates-reported", "Linux reports by D-SACK what came twice",
          ["2883:DSACK-1", "2883:DSACK-3", "2883:DSACK-4", "2883:DSACK-7", "9293:P-ACCEPT-REPLY"],
          "passive", "server", kernel_peer=False, sysctls=ON, features="SACK on", config=BARE)
def record_duplicates_reported(r):
    repeat_segments(r)
    r.twin("2883:DSACK-7", packet=r.flags("A", 2), field="sack", value=0)
    r.twin("2883:DSACK-1", packet=r.flags("A", 2), field="sack", add=100)
    r.twin("2883:DSACK-1", packet=r.flags("A", 5), field="sack", value=0)
    r.twin("9293:P-ACCEPT-REPLY", packet=r.flags("A", 2), drop=True)


@recorded("rfc2883-4-linux-duplicates-unreported", "Linux with D-SACK off does not say what it had",
          ["2018:SACK-5", "9293:P-ACCEPT-REPLY"], "passive", "server", kernel_peer=False,
          sysctls={**ON, "tcp_dsack": 0}, features="SACK on without D-SACK",
          config={**BARE, "dsack": False})
def record_duplicates_unreported(r):
    repeat_segments(r)
    r.twin("9293:P-ACCEPT-REPLY", packet=r.flags("A", 2), drop=True)
    r.twin("2018:SACK-3", packet=r.flags("A", 4), field="sack", value=0)


@recorded("rfc6675-5-linux-three-losses", "Linux repairs three losses in one window by SACK",
          ["2018:SACK-7", "2018:SACK-18", "5681:CC-16", "6675:S6675-4"], "passive", "server",
          fault=lose(1, {4, 6, 9}), sysctls=UNPROBED, features="SACK on, TLP off",
          config={**BARE, "prr": True})
def record_three_losses(r):
    send_all(r, 24 * 1460)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
    r.twin("9293:P-SEND-EST", packet=r.retransmission(2), field="seq", add=100)
    r.twin("2018:SACK-18", after_packet=r.retransmission(),
           insert={"from": "device", "flags": "A", "seq": 1 + 4 * 1460, "ack": 1, "bytes": 1460,
                   "delay": "1ms"})


@recorded("rfc6675-5-linux-one-loss", "Linux repairs one loss on the third duplicate, by SACK",
          ["2018:SACK-7", "2018:SACK-19", "5681:CC-16", "3042:LTX-1"], "passive", "server",
          fault=lose(1, {5}), sysctls=UNPROBED, features="SACK on, TLP off",
          config={**BARE, "prr": True})
def record_one_loss(r):
    send_all(r, 20 * 1460)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
    r.twin("2018:SACK-18", after_packet=r.retransmission(),
           insert={"from": "device", "flags": "A", "seq": 1 + 5 * 1460, "ack": 1, "bytes": 1460,
                   "delay": "1ms"})


@recorded("rfc3042-2-linux-limited-transmit",
          "Two duplicate ACKs with SACK: Linux sends new data on each",
          ["3042:LTX-1", "3042:LTX-4", "2018:SACK-19"], "passive", "server", kernel_peer=False,
          sysctls=UNPROBED, features="SACK on, TLP off", config={**BARE, "prr": True})
def record_limited_transmit(r):
    device, peer = r.script(SACK_PERMITTED)
    device.write(14 * 1460)
    first = peer.expect("A", 1460)
    for _ in range(9):
        peer.expect("A", 1460)
    begin, end = first.seq, (first.seq + 10 * 1460) % 2**32
    r.pause(0.02)
    for piece in (1, 2):
        peer.ack = begin
        peer.send("A", options=sack_option((begin + 1460, begin + 1460 + piece * 1460)))
        peer.expect("A", 1460)
        r.pause(0.02)
    peer.ack = end
    peer.send("A")
    for _ in range(2):
        peer.expect("A", 1460)
    peer.ack = (begin + 14 * 1460) % 2**32
    r.pause(0.02)
    peer.send("A")
    r.end()
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 11), field="seq", add=100)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 14), field="seq", add=100)


@recorded("rfc8985-6.2-linux-two-losses", "Linux finds two losses by time (RACK) and repairs them",
          ["8985:RACK-1", "8985:RACK-7", "2018:SACK-18", "5681:CC-16"], "passive", "server",
          fault=lose(1, {5, 8}), sysctls=ON, features="SACK on, with RACK and TLP", config=ALL)
def record_rack(r):
    send_all(r, 24 * 1460)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
    r.twin("2018:SACK-18", after_packet=r.retransmission(),
           insert={"from": "device", "flags": "A", "seq": 1 + 5 * 1460, "ack": 1, "bytes": 1460,
                   "delay": "1ms"})


@recorded("rfc8985-7.3-linux-tail-probe", "The last two are lost: Linux probes before its timer",
          ["8985:TLP-1", "8985:TLP-4", "8985:TLP-3"], "passive", "server", fault=lose(1, {4, 5}),
          sysctls=ON, features="SACK on, with RACK and TLP", config=ALL)
def record_tail_probe(r):
    send_all(r, 5 * 1460)
    r.twin("8985:TLP-4", packet=r.retransmission(), drop=True)
    r.twin("8985:TLP-4", packet=r.retransmission(), field="seq", add=100)


@recorded("rfc2883-5-linux-needless-retransmission",
          "Six overtake a segment: Linux repeats it, and D-SACK says that it need not have",
          ["2883:DSACK-8", "2883:DSACK-2", "5681:CC-16"], "passive", "server",
          fault=lose(1, set(), {5: 6}), sysctls=ON, features="SACK on, with RACK and TLP",
          config=ALL)
def record_needless(r):
    send_all(r, 30 * 1460)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 16), field="seq", add=100)


LATE = {"sysctls": {**UNPROBED, "tcp_frto": 2}, "features": "SACK and F-RTO on, TLP off",
        "config": {**BARE, "frto": True, "undo": True}}


@recorded("rfc5682-3.1-linux-spurious-timeout",
          "A flight is held up: new text after the timeout shows that nothing was lost (F-RTO)",
          ["5682:FRTO-4", "5682:FRTO-10", "5682:FRTO-13", "9293:P-RTO"], "passive", "server",
          fault=stall(11, 240), **LATE)
def record_spurious_timeout(r):
    late_flight(r)
    resent = r.retransmission()
    seq = next(s.seq for s in r.segments if s.packet == resent)
    base = next(s.seq for s in r.segments if s.source[0] == r.near and "S" in s.flags)
    answer = next(s.packet for s in r.segments
                  if s.packet > resent and s.source[0] == r.far and (s.ack - seq) % 2**32 < 2**31
                  and s.ack != seq)
    r.twin("5682:FRTO-4", after_packet=answer,
           insert={"from": "device", "flags": "A", "seq": (seq + 1460 - base) % 2**32, "ack": 1,
                   "bytes": 1460, "delay": "0ms"})


@recorded("rfc5682-3.1-linux-nothing-new",
          "A flight is held up and there is nothing new to send: F-RTO cannot tell",
          ["5682:FRTO-1", "5682:FRTO-5", "9293:P-RTO"], "passive", "server",
          fault=stall(11, 240), **LATE)
def record_nothing_new(r):
    send_all(r, 30 * 1460)
    r.twin("9293:P-RTO", packet=r.retransmission(), drop=True)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 6), field="seq", add=1460)


@recorded("rfc5682-3.1-linux-spurious-timeout-unseen",
          "The same with F-RTO off: Linux sends again what was only late",
          ["5681:CC-12", "9293:P-RTO"], "passive", "server",
          fault=stall(11, 240),
          sysctls={**UNPROBED, "tcp_frto": 0}, features="SACK on, F-RTO and TLP off",
          config={**BARE, "frto": False})
def record_spurious_unseen(r):
    late_flight(r)


@recorded("rfc8985-7.3-linux-tail-unprobed", "The last two are lost, and Linux without TLP waits",
          ["6298:RTO-13", "9293:P-RTO", "2018:SACK-7"], "passive", "server", fault=lose(1, {4, 5}),
          sysctls=UNPROBED, features="SACK on, TLP off", config=BARE)
def record_tail_unprobed(r):
    send_all(r, 5 * 1460)
    r.twin("9293:P-RTO", packet=r.retransmission(), drop=True)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 2), field="seq", add=100)


TWICE = {5: 2, 20: 6}  # two segments overtake one, and six another


@recorded("rfc8985-6.2-linux-reordering-learnt",
          "Six overtake a segment after two did another: Linux waits, and repeats nothing (RACK)",
          ["8985:RACK-5", "8985:RACK-6", "8985:RACK-17", "2018:SACK-7"], "passive", "server",
          fault=lose(1, set(), TWICE), sysctls=ON, features="SACK on, with RACK and TLP",
          config=ALL)
def record_reordering_learnt(r):
    send_all(r, 40 * 1460)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 35), field="seq", add=100)


@recorded("rfc2018-5-linux-both-ways", "Data both ways, a loss in each direction, with SACK",
          ["2018:SACK-5", "2018:SACK-7", "5681:CC-14", "5681:CC-15"], "active", "client",
          fault=(lambda one, two: lambda side, segment: one(side, segment) or two(side, segment))(
              lose(1, {5}), lose(2, {4})),
          sysctls=UNPROBED, features="SACK on, TLP off", config={**BARE, "prr": True})
def record_both_ways(r):
    server = r.peer_listen()
    device, _ = r.open()
    peer, _ = server.accept()
    device.write(12 * 1460)
    read(peer, 12 * 1460)
    r.pause()
    peer.sendall(text(10 * 1460, 7))
    device.read(10 * 1460)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    reports = r.nth(lambda s: s.option(5) and not s.payload)
    r.twin("2018:SACK-5", packet=reports, field="sack", add=1460)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
