"""lockstep.Stack: packets in and out, calls, refusals, time, snapshots."""

import gc
import os
import pathlib
import signal
import subprocess
import sys

import pytest

pytest.importorskip("nanobind")
import lockstep  # noqa: E402
from scapy.all import IP, TCP, Raw, IPv6, fragment, raw  # noqa: E402

US, THEM = "10.0.0.1", "10.0.0.2"


def segment(flags, seq=100, ack=0, text=b"", **fields):
    tcp = TCP(sport=1000, dport=80, flags=flags, seq=seq & 0xffff_ffff, ack=ack & 0xffff_ffff,
              window=5000, **fields)
    packet = IP(src=THEM, dst=US) / tcp
    return packet / Raw(text) if text else packet


def established(**arguments):
    stack = lockstep.Stack(addresses=[US], **arguments)
    stack.listen(80)
    stack.receive(segment("S"))
    (answer,) = stack.transmit()
    stack.receive(segment("A", 101, IP(answer)[TCP].seq + 1))
    assert stack.transmit() == []
    (connection,) = stack.accepted()
    return stack, connection


def test_a_handshake_is_answered_and_told():
    stack, connection = established()
    assert stack.state(connection) == "ESTABLISHED"
    assert [(each.kind, each.connection) for each in stack.events()] == [("accepted", connection)]
    seen = stack.inspect(connection)
    assert (seen["rcv_nxt"], seen["irs"], seen["remote"]) == (101, 100, (THEM, 1000))
    assert seen["snd_una"] == seen["snd_nxt"] == (seen["iss"] + 1) % 2**32


def test_text_crosses_both_ways():
    stack, connection = established()
    seen = stack.inspect(connection)
    stack.receive(segment("PA", 101, seen["snd_nxt"], b"question"))
    assert stack.unread(connection) == 8
    assert stack.read(connection, 5, peek=True) == b"quest"
    assert stack.read(connection, 5) == b"quest"
    assert stack.read(connection) == b"ion"
    assert stack.write(connection, bytearray(b"answer")) == 6
    (sent,) = [IP(each) for each in stack.transmit()]
    assert (bytes(sent[TCP].payload), sent[TCP].ack) == (b"answer", 109)


def test_no_segment_has_two_records():
    stack, connection = established()
    region = stack.bind(b"onetwo")
    assert stack.write(connection, b"head", record=True, more=True) == 4
    assert stack.lend(connection, region, 0, 3, record=True) == 3
    assert stack.lend(connection, region, 3, record=True) == 3
    stack.set(connection, "nagle", 0)
    sent = [IP(each)[TCP] for each in stack.transmit()]
    assert [bytes(each.payload) for each in sent] == [b"head", b"one", b"two"]
    assert all(each.flags.P for each in sent)


def test_a_controller_is_set_by_its_name_or_number():
    def fingerprint_with(value):
        stack, connection = established()
        stack.set(connection, "congestion", value)
        return stack.fingerprint()

    assert fingerprint_with("dctcp") == fingerprint_with(2) != fingerprint_with("cubic")
    assert fingerprint_with("cubic") == fingerprint_with(1)


def test_a_referee_finds_nothing_in_a_conversation_and_an_ack_of_what_it_has_not_seen():
    stack = lockstep.Stack("default", addresses=[US])
    assert stack.wrongs() == []
    stack.judge()
    stack.listen(80)
    stack.receive(segment("S"))
    (answer,) = stack.transmit()
    ours = IP(answer)[TCP].seq + 1
    stack.receive([segment("A", 101, ours), segment("PA", 101, ours, b"whole")])
    stack.advance("1s")
    assert stack.wrongs() == []
    # The checker does not reassemble fragments, so it takes the ACK for one of data never sent.
    stack.receive(fragment(IP(raw(segment("PA", 106, ours, bytes(64)))), 32))
    stack.advance("1s")
    (wrong,) = stack.wrongs()
    assert (wrong.rule, wrong.found - wrong.expected) == ("ack-of-unheard", 64)
    assert wrong.at <= stack.now and "an ACK of data" in wrong.words


def test_time_moves_from_deadline_to_deadline():
    stack, connection = established()
    stack.write(connection, b"lost")
    begin = stack.now
    assert len(stack.transmit()) == 1
    assert stack.deadline() <= begin + 10**9
    sent = stack.advance("3s")
    assert [each.at - begin for each in sent] == [10**9, 3 * 10**9]
    assert stack.now == begin + 3 * 10**9
    assert stack.advance(5) == [] and stack.now == begin + 3 * 10**9 + 5


def test_a_list_is_one_burst():
    stack, connection = established()
    ack = stack.inspect(connection)["snd_nxt"]
    stack.receive([segment("A", 101, ack, b"x" * 100), bytes(segment("A", 201, ack, b"y" * 100))])
    answers = stack.transmit() + [each.packet for each in stack.advance("1s")]
    assert [IP(each)[TCP].ack for each in answers] == [301]


def test_more_than_a_burst_is_taken():
    stack, connection = established()
    ack = stack.inspect(connection)["snd_nxt"]
    stack.receive([segment("A", 101 + at, ack, b"z") for at in range(300)])
    assert stack.read(connection) == b"z" * 300


def test_states_outlive_the_connection():
    stack, connection = established()
    stack.finish(connection)
    (fin,) = stack.transmit()
    assert stack.state(connection) == "FIN-WAIT-1"
    stack.receive(segment("FA", 101, IP(fin)[TCP].seq + 1))
    assert len(stack.transmit()) == 1
    assert stack.state(connection) == "TIME-WAIT"
    assert stack.state_of((US, 80), (THEM, 1000)) == "TIME-WAIT"
    with pytest.raises(lockstep.Refused) as refused:
        stack.inspect(connection)
    assert refused.value.name == "stale_id"
    assert str(refused.value) == "inspect was refused: stale_id"
    stack.advance("10min")
    assert stack.state(connection) == "CLOSED"
    assert stack.state_of((US, 80), (THEM, 1000)) == "LISTEN"


def test_an_active_open():
    stack = lockstep.Stack(addresses=["fd00::1/64"])
    connection = stack.connect(("fd00::2", 80), local_port=7)
    (syn,) = stack.transmit()
    assert (IPv6(syn)[TCP].flags, IPv6(syn)[TCP].sport) == ("S", 7)
    assert stack.state(connection) == "SYN-SENT"
    stack.abort(connection)
    stack.transmit()
    assert [(each.kind, each.cause) for each in stack.events()] == [("closed", "aborted")]


def test_ethernet_asks_for_its_neighbours():
    stack = lockstep.Stack(link="ethernet", addresses=["10.0.0.1/24"], mac="02:00:00:00:00:09")
    stack.connect((THEM, 80))
    (request,) = stack.transmit()
    assert request[:6] == b"\xff" * 6 and request[6:12].hex() == "020000000009"
    known = lockstep.Stack(link="ethernet", addresses=["10.0.0.1/24"],
                           neighbours={THEM: "02:00:00:00:00:02"})
    known.connect((THEM, 80))
    (syn,) = known.transmit()
    assert syn[:6].hex() == "020000000002"


def test_a_seed_draws_the_secrets():
    def first(seed):
        stack = lockstep.Stack(addresses=[US], seed=seed)
        stack.connect((THEM, 80))
        return IP(stack.transmit()[0])[TCP]
    assert first(1).seq == first(1).seq and first(1).sport == first(1).sport
    assert (first(1).seq, first(1).sport) != (first(2).seq, first(2).sport)


def test_fields_of_config_are_set():
    stack, _ = established(config={"mss": 1000, "delayed_ack": "20ms", "nagle": False,
                                   "congestion": "cubic"})
    stack.receive(IP(src=THEM, dst=US) / TCP(sport=9, dport=80, flags="S"))
    (answer,) = stack.transmit()
    assert dict(IP(answer)[TCP].options)["MSS"] == 1000
    fields = lockstep.config_fields("rfc")
    assert fields["nagle"].unit == "boolean" and fields["congestion"].words[0] == "reno"
    assert fields["delayed_ack"].unit == "duration"


def test_a_fork_goes_its_own_way_and_a_snapshot_comes_back():
    stack, connection = established()
    kept = stack.snapshot()
    before = stack.fingerprint()
    other = stack.fork()
    other.write(connection, b"other")
    assert len(other.transmit()) == 1 and stack.transmit() == []
    assert stack.fingerprint() == before != other.fingerprint()
    stack.write(connection, b"lost")
    first = stack.advance("9s")
    stack.restore(kept)
    assert (stack.fingerprint(), stack.now) == (before, 1000 * 10**9)
    assert [each.kind for each in stack.events()] == ["accepted"]
    stack.write(connection, b"lost")
    assert stack.advance("9s") == first
    stack.check_invariants()


def test_a_snapshot_is_refused_when_it_is_another_or_spoilt():
    stack, _ = established()
    kept = stack.snapshot()
    spoilt = kept[:-1] + bytes([kept[-1] ^ 1])
    for bad in (b"", b"x" * 100, kept[:-1], spoilt, kept[:40]):
        with pytest.raises(lockstep.Refused, match="bad_snapshot"):
            stack.restore(bad)
    with pytest.raises(lockstep.Refused, match="bad_snapshot"):
        lockstep.Stack(addresses=[US], seed=1).restore(kept)
    assert stack.snapshot() == kept


def test_what_dies_is_counted_by_its_reason():
    stack = lockstep.Stack(addresses=[US])
    stack.receive([b"", b"\x45", raw(segment("S"))[:-1], raw(segment("S", dataofs=3))])
    assert sum(stack.dropped().values()) == 4
    assert set(stack.dropped()) <= set(lockstep.drops())
    assert stack.transmit() == []
    assert stack.statistics()["frames_received"] == 4


WRONG = [
    (lambda s, c: lockstep.Stack("rcf"), "profile is 'rcf', expected default, rfc"),
    (lambda s, c: lockstep.Stack(seed=-1), "seed is -1, expected 0 to"),
    (lambda s, c: lockstep.Stack(seed=1.5), "seed is 1.5, expected a whole number"),
    (lambda s, c: lockstep.Stack(link="token ring"), "expected ip or ethernet"),
    (lambda s, c: lockstep.Stack(addresses="10.0.0.1"), "expected a list of addresses"),
    (lambda s, c: lockstep.Stack(addresses=[]), "there are 0 addresses"),
    (lambda s, c: lockstep.Stack(addresses=["10.0.0.256"]), "expected an IPv4 or IPv6 address"),
    (lambda s, c: lockstep.Stack(addresses=["10.0.0.1"] * 9), "there are 9 addresses"),
    (lambda s, c: lockstep.Stack(mtu=67), "mtu is 67, expected 68 to 65535"),
    (lambda s, c: lockstep.Stack(config={"msss": 1}), "has no field 'msss'"),
    (lambda s, c: lockstep.Stack(config={"mss": 1}), "mss is 1, expected 28 to 65495"),
    (lambda s, c: lockstep.Stack(config={"mss": None}), "mss is None, expected a whole"),
    (lambda s, c: lockstep.Stack(config={"congestion": "bbr"}), "expected one of reno, cubic"),
    (lambda s, c: lockstep.Stack(config=[("mss", 1)]), "expected a dict of fields"),
    (lambda s, c: lockstep.Stack(config={"port_first": 9, "port_last": 8}), "do not fit together"),
    (lambda s, c: lockstep.Stack(config={"blocks_max": 16_000_000}), "expected 4294967296 at most"),
    (lambda s, c: lockstep.Stack(mac="02:00"), "expected six octets"),
    (lambda s, c: s.receive("text"), "a packet is str, expected bytes"),
    (lambda s, c: s.receive([b"", 5]), "a packet is int, expected bytes"),
    (lambda s, c: s.receive(bytes(65554)), "a packet has 65554 bytes"),
    (lambda s, c: s.advance("soon"), "'soon' is not a duration"),
    (lambda s, c: s.advance(-1), "expected 0 to"),
    (lambda s, c: s.advance_to(0), "an instant is 0, expected"),
    (lambda s, c: s.listen(65536), "port is 65536, expected 0 to 65535"),
    (lambda s, c: s.connect("10.0.0.2:80"), "expected an address and a port"),
    (lambda s, c: s.write((0, 1), b"x"), "expected a Connection"),
    (lambda s, c: s.write(lockstep.Connection(-1, 0), b"x"), "a slot is -1"),
    (lambda s, c: s.unlisten(c), "expected a Listener"),
    (lambda s, c: s.write(c, "text"), "data is str, expected bytes"),
    (lambda s, c: s.read(c, -1), "most is -1, expected 0 to"),
    (lambda s, c: s.set(c, "nagel", 1), "the setting is 'nagel', expected one of nagle"),
    (lambda s, c: s.set(c, "congestion", "cubik"), "'cubik', expected one of reno, cubic, dctcp"),
    (lambda s, c: s.set(c, "nagle", "reno"), "value is 'reno', expected a whole number"),
]


@pytest.mark.parametrize("call,words", WRONG, ids=[words for _, words in WRONG])
def test_bad_input_is_one_line(call, words):
    stack, connection = established()
    before = stack.fingerprint()
    with pytest.raises(lockstep.BadInput) as wrong:
        call(stack, connection)
    assert words in str(wrong.value) and "\n" not in str(wrong.value)
    assert isinstance(wrong.value, lockstep.Error) and isinstance(wrong.value, ValueError)
    assert stack.fingerprint() == before


REFUSED = [
    (lambda s, c: s.listen(80), "exists"),
    (lambda s, c: s.listen(81, address="10.9.9.9"), "bad_local"),
    (lambda s, c: s.unlisten(lockstep.Listener(9, 9)), "stale_id"),
    (lambda s, c: s.connect(("0.0.0.0", 80)), "bad_remote"),
    (lambda s, c: s.connect((THEM, 1000), local_port=80), "exists"),
    (lambda s, c: s.write(lockstep.Connection(0, 99), b"x"), "stale_id"),
    (lambda s, c: s.read(lockstep.Connection(4_000_000_000, 1)), "stale_id"),
    (lambda s, c: s.abort(lockstep.Connection(4_000_000_000, 1)), "stale_id"),
    (lambda s, c: s.state(lockstep.Connection(7, 1)), "stale_id"),
    (lambda s, c: s.set(c, "ttl", 256), "bad_argument"),
    (lambda s, c: s.urgent(c), "not_urgent"),
]


@pytest.mark.parametrize("call,name", REFUSED, ids=[str(at) + each[1]
                                                    for at, each in enumerate(REFUSED)])
def test_a_refusal_has_its_name(call, name):
    stack, connection = established()
    with pytest.raises(lockstep.Refused) as refused:
        call(stack, connection)
    assert refused.value.name == name and isinstance(refused.value, lockstep.Error)


CONTENT = bytes(i % 251 for i in range(5000))


def texts(sent):
    return [bytes(IP(each)[TCP].payload) for each in sent]


def test_what_is_lent_goes_out_in_order_with_what_is_written():
    stack, connection = established()
    region = stack.bind(CONTENT)
    assert stack.write(connection, b"head", more=True) == 4
    assert stack.lend(connection, region, 17, 100, more=True) == 100
    assert stack.lend(connection, region, 4990) == 10
    assert stack.write(connection, b"tail") == 4
    assert b"".join(texts(stack.transmit())) == b"head" + CONTENT[17:117] + CONTENT[4990:] + b"tail"


def test_what_is_lent_is_read_again_when_it_is_sent_again():
    stack, connection = established()
    content = bytes(CONTENT)
    region = stack.bind(content)
    assert stack.lend(connection, region, 3, 500) == 500
    first = texts(stack.transmit())
    assert first == texts(each.packet for each in stack.advance("1s")) == [CONTENT[3:503]]


def test_the_stack_keeps_what_is_bound_as_long_as_it_lives():
    stack, connection = established()
    content = bytearray(CONTENT)
    content = bytes(content)  # an object without another reference
    before = sys.getrefcount(content)
    region = stack.bind(content)
    assert sys.getrefcount(content) > before
    stack.lend(connection, region, 0, 100)
    kept = sys.getrefcount(content)
    other = stack.fork()
    assert sys.getrefcount(content) > kept
    del other, stack
    gc.collect()
    assert sys.getrefcount(content) == before


def test_a_loan_ends_with_acknowledged():
    stack, connection = established()
    stack.events()
    stack.lend(connection, stack.bind(CONTENT), 0, 300)
    stack.transmit()
    stack.receive(segment("A", 101, stack.inspect(connection)["snd_una"] + 300))
    assert [(each.kind, each.bytes) for each in stack.events()] == [("acknowledged", 300)]


def test_less_may_be_taken_of_what_is_lent():
    stack, connection = established(config={"send_buffer_bytes": 1000})
    region = stack.bind(CONTENT)
    assert stack.lend(connection, region) == 1000
    assert stack.lend(connection, region, 1000) == 0


def test_a_fork_and_a_restored_stack_send_what_was_lent():
    stack, connection = established()
    region = stack.bind(CONTENT)
    stack.lend(connection, region, 0, 400)
    snapshot = stack.snapshot()
    other = stack.fork()
    assert texts(stack.transmit()) == texts(other.transmit()) == [CONTENT[:400]]
    stack.restore(snapshot)
    assert texts(stack.transmit()) == [CONTENT[:400]]
    bare = lockstep.Stack(addresses=[US])
    for content in (None, b"other", bytes(len(CONTENT))):
        if content is not None:
            bare = lockstep.Stack(addresses=[US])
            bare.bind(content)
        with pytest.raises(lockstep.Refused) as refused:
            bare.restore(snapshot)
        assert refused.value.name == "bad_snapshot"
    again = lockstep.Stack(addresses=[US])
    again.bind(CONTENT)
    again.restore(snapshot)
    assert texts(again.transmit()) == [CONTENT[:400]]


def test_loans_that_cannot_be():
    stack, connection = established()
    region = stack.bind(CONTENT)
    for name, call in (
        ("bad_region", lambda: stack.lend(connection, region, 4990, 11)),
        ("bad_region", lambda: stack.lend(connection, region, 5001, 0)),
        ("bad_region", lambda: stack.lend(connection, region, 2**64 - 1, 2)),
        ("bad_region", lambda: stack.lend(connection, lockstep.Region(7, 10))),
        ("bad_region", lambda: stack.lend(connection, lockstep.Region(99, 10))),
        ("stale_id", lambda: stack.lend(connection._replace(generation=99), region)),
        ("no_room", lambda: [stack.bind(b"x") for _ in range(16)]),
    ):
        with pytest.raises(lockstep.Refused) as refused:
            call()
        assert refused.value.name == name
    for words, call in (
        ("is bytearray, expected bytes", lambda: stack.bind(bytearray(b"x"))),
        ("expected a Region", lambda: stack.lend(connection, 0)),
        ("expected a Connection", lambda: stack.lend(0, region)),
        ("length", lambda: stack.lend(connection, region, 0, -1)),
        ("offset", lambda: stack.lend(connection, region, "0")),
    ):
        with pytest.raises(lockstep.BadInput, match=words):
            call()


BROKEN = """
import lockstep
{before}
lockstep._core.break_down()
"""


@pytest.mark.parametrize("before,words", [
    ("stack = lockstep.Stack(seed=7); stack.advance('2s')",
     "the single stack that was used last: seed 7, instant 1002000000000 ns"),
    ("sim = lockstep.Sim(seed=9); a = sim.host('a', '10.0.0.1/24');"
     "b = sim.host('b', '10.0.0.2/24'); sim.link(a, b); sim.advance('3s')",
     "seed 9, instant 3000000000 ns"),
    ("", "seed 0"),
])
def test_a_bug_of_ours_is_told_before_the_process_ends(before, words):
    home = pathlib.Path(lockstep.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", BROKEN.format(before=before)], text=True,
                          capture_output=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(home)})
    assert done.returncode == -signal.SIGILL
    line = done.stderr.splitlines()[0]
    assert line.startswith("lockstep: internal error: CHECK(!asked_for_it) failed at ")
    assert "module.cpp:" in line and words in line
