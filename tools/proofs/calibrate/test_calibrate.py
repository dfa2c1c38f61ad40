# Tests of the parts of calibrate, and a run over 200 connections of real Linux.
"""Tests that need namespaces require root; otherwise they are skipped with the reason."""
import random
import struct

import pytest

from proofs.calibrate import (
    draw, judging, lane, making, pcap, planting, relay, tables, talk, views, views_mixed,
    views_reuse)

WHY_NOT = lane.why_not() or (None if judging.PROGRAM.exists() else f"no {judging.PROGRAM}")
live = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
FLOWS, EACH = 200, 3
CERTAIN_MOST, VIOLATES_MOST = 1, 1       # of FLOWS
FOUND_LEAST, LINT_LEAST = 0.9, 0.85     # of what was planted
UNTOLD_MOST = 0.1                       # of whole flows


def segment(text=b"abc", six=False, flags=pcap.ACK, **words):
    """A packet with right checksums."""
    link = bytes(12) + (b"\x86\xdd" if six else b"\x08\x00")
    head = bytes([0x60]) + bytes(5) + bytes([6, 64]) + bytes(32) if six else \
        bytes([0x45]) + bytes(7) + bytes([64, 6]) + bytes(10)
    tcp = struct.pack(">HHIIBBHHH", 30000, 5000, 1000, 2000, 0x50, flags, 500, 0, 0) + text
    size = struct.pack(">H", len(tcp) + (0 if six else 20))
    head = head[:4] + size + head[6:] if six else head[:2] + size + head[4:]
    one = pcap.Packet(5, link + head + tcp)
    for name, value in words.items():
        setattr(one, name, value)
    return one


@pytest.mark.parametrize("six", [False, True])
def test_a_packet_is_the_same_after_reading(six):
    """A packet that is not edited does not change."""
    one = segment(six=six, stamps=(7, 9))
    one.set_option(pcap.SACK, struct.pack(">II", 1, 2))
    one.set_option(pcap.SCALE, b"\7")
    frame = one.frame()
    again = pcap.Packet(5, frame)
    assert again.frame() == frame
    assert (again.stamps, again.blocks, again.text) == ((7, 9), [(1, 2)], b"abc")
    at, tcp, _ = relay.where_tcp(frame)
    sealed = bytearray(frame)
    relay.seal(sealed, at, tcp)
    assert bytes(sealed) == frame


def test_a_file_is_read_as_it_was_written(tmp_path):
    """Times are kept to the nanosecond."""
    frames = [(1_700_000_000_123_456_789, b"x" * 60), (1_700_000_001_000_000_001, b"y" * 70)]
    pcap.write(tmp_path / "a.pcap", frames)
    assert pcap.read(tmp_path / "a.pcap") == frames


@pytest.mark.parametrize("six", [False, True])
def test_a_frame_that_was_left_whole_is_cut_up_as_a_card_would(six):
    """Sequence numbers continue; only the last segment has FIN and PSH, only the first CWR."""
    flags = pcap.ACK | pcap.PSH | pcap.FIN | pcap.CWR
    whole = segment(bytes(range(250)), six, flags).frame()
    kind = (relay.GSO_TCP6 if six else relay.GSO_TCP4) | relay.GSO_ECN
    header = struct.pack("<BBHHHH", relay.NEEDS_CSUM, kind, 54, 100, 34, 16)
    cut = [pcap.Packet(0, frame) for frame in relay.resegment(whole, header)]
    assert [(one.seq, len(one.text)) for one in cut] == [(1000, 100), (1100, 100), (1200, 50)]
    assert b"".join(one.text for one in cut) == bytes(range(250))
    assert [one.flags & (pcap.PSH | pcap.FIN) for one in cut] == [0, 0, pcap.PSH | pcap.FIN]
    assert [one.flags & pcap.CWR for one in cut] == [pcap.CWR, 0, 0]


@pytest.mark.parametrize("six", [False, True])
def test_a_mark_is_put_only_where_the_sender_is_capable(six):
    """IPv4's checksum stays right."""
    plain = segment(six=six).frame()
    assert relay.mark(plain) == plain
    for capable in (1, 2):
        one = segment(six=six)
        one.ecn = capable
        marked = pcap.Packet(0, relay.mark(one.frame()))
        assert marked.ecn == 3 and marked.frame() == relay.mark(one.frame())


def test_a_seed_decides_what_a_path_does():
    """Equal for one seed, different for another."""
    def fates(seed):
        way = relay.Way(relay.Terms(loss=0.3, duplicate=0.2, reorder=0.2, seed=seed), True)
        return [way.dues(1000, number * 0.1) for number in range(100)]
    assert fates(1) == fates(1) != fates(2)
    assert {len(one) for one in fates(1)} == {0, 1, 2}
    assert draw.world("a", 3) == draw.world("a", 3) != draw.world("b", 3)


def test_views_spoil_what_they_say():
    """Each view makes its kind of damage."""
    frames = [(number * 1000, segment(bytes([number]) * 300).frame()) for number in range(50)]
    generator = random.Random(1)
    assert len(views.missing(random.Random(5), frames)) < 50
    assert sorted(views.swapped(generator, frames), key=lambda one: one[1]) != frames
    assert len(views.doubled(generator, frames)) == len(views.hops(generator, frames)) == 100
    assert all(len(one[1]) <= 200 and one[2] == 354 for one in views.snapped(generator, frames))
    for maker in (views.edited, views.edited_sums):
        changed = pcap.Packet(0, maker(generator, frames)[0][1])
        assert changed.frame() != maker(generator, frames)[0][1]  # the checksum is wrong


def said(when, from_client, flags, seq, ack, text=b""):
    """A frame of a connection on the ports 30000 and 5000."""
    ports = {"sport": 30000, "dport": 5000} if from_client else {"sport": 5000, "dport": 30000}
    one = segment(text, flags=flags, seq=seq % pcap.CYCLE, ack=ack % pcap.CYCLE, **ports)
    return when, one.frame()


def life(begin, client, server):
    """Both ends' frames of a connection that opens, sends 10 octets and closes."""
    both = pcap.SYN | pcap.ACK
    frames = [said(begin, True, pcap.SYN, client, 0),
              said(begin + 1000, False, both, server, client + 1),
              said(begin + 2000, True, pcap.ACK, client + 1, server + 1, b"0123456789"),
              said(begin + 3000, True, pcap.ACK | pcap.FIN, client + 11, server + 1),
              said(begin + 4000, False, pcap.ACK | pcap.FIN, server + 1, client + 12),
              said(begin + 5000, True, pcap.ACK, client + 12, server + 2)]
    return [frames, frames]


def test_numbers_are_moved_and_sums_stay_as_they_were():
    """Checksums stay right, wrong, or left to the NIC."""
    plain = segment(b"abc", seq=5, ack=9, sport=30000, dport=5000)
    plain.blocks = [(20, 30)]
    made = views_reuse.renumbered(plain.frame(), (31000, 6000), (100, pcap.CYCLE - 10))
    one = pcap.Packet(5, made)
    assert (one.sport, one.dport, one.seq, one.ack) == (31000, 6000, 105, pcap.CYCLE - 1)
    assert one.blocks == [(10, 20)] and one.frame() == made
    plain.bad_sum = True
    bad = views_reuse.renumbered(plain.frame(), (31000, 6000), (100, pcap.CYCLE - 10))
    assert pcap.Packet(5, bad).frame() == made != bad
    left = views.pseudo_only(plain)
    assert views_reuse.renumbered(left, (31000, 6000), (1, 1))[50:52] == left[50:52]


def test_ports_are_used_again_only_behind_what_both_ends_saw_end():
    """Each hole removes the packets that its name says."""
    first, second = life(0, 1000, 2000), life(9000, 70_000, 80_000)
    assert views_reuse.is_over(first) == "closed"
    assert views_reuse.is_over([first[0], first[1][:-2]]) is None
    both = [one + other for one, other in zip(first, second)]
    assert views_reuse.lives(both) == [first, second]
    for seed in range(40):
        made, hole = views_reuse.reused(random.Random(seed), (30000, 5000), [first], [second])
        heads = [views_reuse.Head(frame) for _, frame in made[0]]
        syns = [one.flags & 18 for one in heads if one.flags & pcap.SYN]
        assert made[0][-1][0] - made[0][0][0] >= views_reuse.TIME_WAIT
        assert syns == {"none": [2, 18, 2, 18], "syn": [2, 18, 18], "syn_ack": [2, 18, 2],
                        "former_end": [2, 18, 2, 18]}.get(hole, [2, 18])
        assert len([one for one in heads if one.flags & pcap.FIN]) == \
            (2 if hole in ("former_end", "both") else 4)
        assert all(pcap.Packet(*one).frame() == one[1] for one in made[0])


def test_rougher_views_say_what_befell_them():
    """They depend on the flow's seed alone, and are in time order unless swapped or doubled."""
    ends = life(0, 1000, 2000)
    seen = set()
    for seed in range(200):
        flow = {"view_seed": seed, "server_port": 5000, "client_port": 30000, "side": seed % 2,
                "six": False, "view": "plain"}
        other = {**flow, "server_port": 5001}
        world = {5000: (flow, ends), 5001: (other, life(50, 7, 9))}
        note, frames = views_mixed.make(flow, world)
        assert (note, frames) == views_mixed.make(flow, world)
        seen |= {note["view"], *note["befell"]}
        assert note["placed"] != bool(set(note["befell"]) & set(views_mixed.DISORDERS))
        if not set(note["befell"]) & {"doubled", "swapped"}:
            assert [one[0] for one in frames] == sorted(one[0] for one in frames)
    assert seen >= {*views_mixed.KINDS, *(one for row in views_mixed.DAMAGES for one in row)}


def test_what_came_together_is_joined():
    """Only arriving segments are joined; the checksum is that of the pseudo-header alone."""
    frames = [(number * 1000, segment(b"x" * 100, seq=1000 + 100 * number).frame())
              for number in range(3)]
    whole = views.coalesced(None, frames, (bytes(4), 5000))
    assert [len(pcap.Packet(*one).text) for one in whole] == [300]
    assert pcap.Packet(*whole[0]).frame() != whole[0][1]
    assert views.coalesced(None, frames, (bytes(4), 30000)) == frames


def test_an_interval_is_wilsons():
    """Computed by hand: 0 of 1,000 is below 0.38 %, 1 of 10 within 1.8 and 40.4 %."""
    assert tables.wilson(0, 1000) == pytest.approx((0, 0.00383), abs=1e-5)
    assert tables.wilson(1, 10) == pytest.approx((0.0179, 0.4042), abs=1e-4)


def accusal(**words):
    """An accusal by lint, by default."""
    known = {"tool": "lint", "rule": "edge-moved-left", "clause": "9293:SHLD-14", "sure": True,
             "who": "10.77.0.1:30000", "packet": 7}
    return judging.Accusal(**{**known, **words})


def calibration(accusals, entry=None, verdict="agrees"):
    """A calibration of one whole flow."""
    flow = {"view": "plain", "six": False, "side": 0, "file": "a.pcap", "habit": "idle"}
    judged = judging.Judged(accusals, [("10.77.0.1:30000", verdict, "why")], [])
    out = tables.Calibration([flow], [judged])
    out.reviewed = [entry] if entry else []
    return out


def test_what_is_sure_and_not_reviewed_is_wrong():
    """`likely` is not wrong; a reviewed entry applies only to the flows in its `where`."""
    rule = ("lint", "edge-moved-left")
    assert rule in calibration([accusal()]).wrong()[0]
    assert rule not in calibration([accusal(sure=False)]).wrong()[0]
    entry = {"tool": "lint", "rule": rule[1], "where": {"habit": ["idle"]}}
    assert rule not in calibration([accusal()], entry).wrong()[0]
    entry["where"] = {"habit": ["upload"]}
    assert rule in calibration([accusal()], entry).wrong()[0]
    assert calibration([]).untold()[0] == 0
    assert calibration([], verdict="cannot tell").untold()[:2] == (1, 1)


def test_only_the_right_device_rule_and_place_count_as_found():
    """Other accusals do not count."""
    kind = talk.KINDS["window-shrunk"]
    note = {"kind": kind.name, "accused": "10.77.0.1:30000", "marks": [7], "lasting": False,
            "anyone": False, "anywhere": False}

    def found(**words):
        return bool(list(judging.finders(note, kind,
                                         judging.Judged([accusal(**words)], [], []))))
    assert found() and found(sure=False) and found(tool="replay", rule="9293:SHLD-14")
    assert not found(who="10.77.0.2:5000")
    assert not found(rule="nagle", clause="9293:P-NAGLE")
    assert not found(tool="replay", clause="9293:P-RTO")
    assert not found(packet=18) and not found(packet=3)
    same = judging.Judged([accusal()], [], [])
    assert not list(judging.finders(note, kind, same, same))  # known before planting


def test_no_kinds_are_no_goal():
    """Without planted flows the goal is not met."""
    assert not list(tables.goals(calibration([])))[3][1]


def test_there_are_kinds_enough():
    """The goal requires 40 kinds."""
    assert len(talk.KINDS) >= tables.KINDS_OF
    assert all(kind.rules and kind.clauses for kind in talk.KINDS.values())


@live
def test_200_flows_of_linux_and_what_is_planted_into_them(tmp_path):
    """Few flows are accused, most planted violations are found, and no tool fails."""
    flows = making.make("ci", FLOWS, tmp_path)
    assert len(flows) >= FLOWS - 5
    notes = planting.plant_all(tmp_path, tmp_path / "planted", "ci", each=EACH)
    result = tables.judge_folder(tmp_path, flows, notes)
    text = "\n".join(tables.report(result)[0])
    assert not list(result.failures()), text
    found, _ = result.wrong()
    for tool, most in (("lint", CERTAIN_MOST), ("replay", VIOLATES_MOST)):
        wrong = {flow["file"] for key, them in found.items() if key[0] == tool for flow in them}
        assert len(wrong) <= most, text
    rows = result.found().values()
    planted = sum(row[0] for row in rows)
    assert planted >= 2 * len(talk.KINDS), text
    assert sum(row[1] for row in rows) >= FOUND_LEAST * planted, text
    assert sum(row[2] for row in rows) >= LINT_LEAST * planted, text
    untold, whole, _ = result.untold()
    assert untold <= UNTOLD_MOST * whole, text
