# Tests of the odd TCPs: legal worlds are not accused, worlds that violate are.
"""The worlds of the tests are fixed by their kinds and seeds."""
import collections
import dataclasses
import struct

import pytest

from proofs.calibrate import judging as tools
from proofs.odd_tcps import conversation, damage, judging, known, offload, pcap, wire

needs_program = pytest.mark.skipif(not tools.PROGRAM.exists(), reason=f"no {tools.PROGRAM}")
WORLDS = 16            # of each kind
# Captures that were accused once: (kind, seed, number of the damage).
ACCUSED_ONCE = (("crossing", 356, 0), ("plain", 23, 3))
VIOLATING, ACCUSED_LEAST = 8, 3


def is_client(who):
    """Whether an accused end is the client, whose habits have the fault."""
    return who.rpartition(":")[0] in ("10.0.0.1", "[fd00::1]")


@needs_program
@pytest.mark.parametrize("kind", judging.KINDS)
def test_legal_worlds_are_not_accused(kind, tmp_path):
    """No certain finding of lint, no violation of replay, no failure."""
    result = judging.Result()
    for seed in range(WORLDS):
        judging.judge_world(kind, seed, tmp_path, result)
    text = "\n".join(judging.report(result))
    assert not result.wrong and not result.failures, text
    assert result.counts[kind]["captures"] > 3 * WORLDS, text
    assert result.counts[kind]["likely"] + result.counts[kind]["notes"], text


@needs_program
@pytest.mark.parametrize("kind, seed, number", ACCUSED_ONCE)
def test_what_was_accused_once_is_not_any_more(kind, seed, number, tmp_path):
    """A wrong accusation that was mended does not come back."""
    result = judging.Result()
    judging.judge_world(kind, seed, tmp_path, result, number)
    assert result.counts[kind]["captures"] == 1
    assert not (result.wrong or result.known or result.failures), \
        "\n".join(judging.report(result))


@needs_program
@pytest.mark.parametrize("fault, clause", [("acks-ahead", "ACK"), ("moves-edge", "SHLD-14")])
def test_worlds_that_violate_are_accused(fault, clause, tmp_path):
    """A client that violates is accused with certainty; a check that cannot fail shows nothing."""
    result = judging.Result()
    for seed in range(VIOLATING):
        for case in judging.cases("plain", seed, tmp_path, only=0, fault=fault):
            judging.judge(case, result)
    accused = {one.case.seed for one in result.wrong
               if clause in one.accusal.clause and is_client(one.accusal.who)}
    assert len(accused) >= ACCUSED_LEAST, "\n".join(judging.report(result))


@needs_program
def test_a_constant_timeout_is_likely_a_violation(tmp_path):
    """lint infers timers, so it never calls this certain."""
    accused = {"": set(), "constant-rto": set()}
    for fault, seeds in accused.items():
        for seed in range(VIOLATING):
            for case in judging.cases("plain", seed, tmp_path, only=0, fault=fault):
                found = tools.run("lint", case.file, tmp_path, "--whole")
                seeds.update(seed for one in tools.of_lint(found)
                             if one.clause == "6298:RTO-14" and is_client(one.who))
    assert len(accused["constant-rto"] - accused[""]) >= ACCUSED_LEAST, accused


@pytest.mark.parametrize("kind", judging.KINDS)
def test_a_seed_fixes_the_octets(kind):
    """The same world twice gives the same file, another seed another one."""
    files = [pcap.octets_of(judging.record(kind, seed).records) for seed in (5, 5, 6)]
    assert files[0] == files[1] != files[2]


@pytest.mark.parametrize("number", range(20))
def test_a_damage_is_fixed_by_its_number(number):
    """Damages are deterministic, and times do not become negative."""
    records = judging.record("plain", 3).records
    first = damage.damage(3, number, records)
    assert first == damage.damage(3, number, records)
    assert all(time_ns >= 0 for time_ns, _, _ in first[2])


def segment(seq, data, flags=wire.ACK):
    """A segment as an IPv4 packet."""
    return wire.packet(wire.Segment(("10.0.0.1", 1), ("10.0.0.2", 2), seq, 7, flags, 100,
                                    wire.stamps_option(1, 2), data))


def test_joined_segments_hold_the_data_of_all():
    """The checksum is the pseudo-header's in front of the own NIC, right behind that of a peer."""
    first, second = segment(10, b"abc"), segment(13, b"de", wire.ACK | wire.PSH)
    whole = segment(10, b"abcde", wire.ACK | wire.PSH)
    records = [(0, first), (0, second), (0, segment(99, b"f"))]
    arrived, joins = offload.join(records, "10.0.0.2")
    assert (joins, arrived[0][1]) == (1, whole)
    sent, joins = offload.join(records, "10.0.0.1")
    head = wire.pseudo_header(whole[12:16], whole[16:20], len(whole) - 20)
    total = struct.unpack_from(">H", sent[0][1], 36)[0]
    assert joins == 1 and total == wire.checksum(head) ^ 0xFFFF
    assert sent[0][1][:36] == whole[:36] and sent[0][1][38:] == whole[38:]


def test_a_conversation_continues_its_numbers():
    """A SYN and a FIN take one number, data its length."""
    talk = conversation.Conversation(None, 1, 2)
    talk.seq = {"a": wire.CYCLE - 1, "b": 0}
    talk.say("a", wire.SYN)
    talk.say("a", wire.ACK, b"abc")
    talk.say("a", wire.ACK | wire.FIN)
    assert talk.seq["a"] % wire.CYCLE == 4


def test_a_known_limit_covers_only_what_it_says():
    """Its tool, rule, option and damage must all be those of the accusation."""
    entry = known.Known("lint", "rule", "reason", option="--at", damage="twice", kind="plain",
                        seeds=(4,))
    accusal = tools.Accusal("lint", "rule", "1:A", True, "10.0.0.1:1", 3)
    case = judging.Case("plain", 4, 1, "twice+missing", "", (), "a.pcap")
    fits = judging.Accusation(case, ("--at", "10.0.0.1"), accusal)
    assert known.covers(entry, fits)
    result = judging.Result()
    result.add(case, (), [accusal, accusal])
    assert [one.accusal for one in result.wrong] == [accusal]
    assert result.counts == {"plain": collections.Counter(wrong=1)}
    other = tools.Accusal("replay", "rule", "1:A", True, "10.0.0.1:1", 3)
    at_client = dataclasses.replace(case, places=("10.0.0.1",))
    assert known.covers(entry, judging.Accusation(at_client, fits.words, accusal))
    far = dataclasses.replace(entry, peer=True)
    assert known.covers(far, fits)
    assert not known.covers(far, judging.Accusation(at_client, fits.words, accusal))
    for changed in (judging.Accusation(case, (), accusal),
                    judging.Accusation(case, fits.words, other)):
        assert not known.covers(entry, changed)
