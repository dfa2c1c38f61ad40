"""Arbitrary arguments and packets: only errors of the module, no crash; same calls, same bytes."""

import pytest

pytest.importorskip("nanobind")
pytest.importorskip("hypothesis")
import lockstep  # noqa: E402
from hypothesis import HealthCheck, given, settings, strategies as st  # noqa: E402
from scapy.all import IP, TCP, raw  # noqa: E402

US, THEM = "10.0.0.1", "10.0.0.2"
MODEST = settings(max_examples=100, deadline=None, derandomize=True, database=None,
                  suppress_health_check=list(HealthCheck))

numbers = st.integers(-2, 70_000) | st.integers(-2**70, 2**70)
junk = st.none() | st.booleans() | numbers | st.floats() | st.text(max_size=9) | st.binary(
    max_size=80) | st.tuples(st.text(max_size=9), numbers) | st.lists(st.binary(max_size=9),
                                                                      max_size=3)
ids = st.builds(lockstep.Connection, st.integers(0, 3), st.integers(0, 3)) | st.builds(
    lockstep.Listener, st.integers(0, 3), st.integers(0, 3))
anything = junk | ids

CALLS = ["receive", "listen", "unlisten", "connect", "write", "read", "unread", "writable",
         "finish", "close", "abort", "urgent", "set", "state", "state_of", "inspect", "restore",
         "advance_to"]


@st.composite
def segments(draw):
    """Segments that belong to the connection below, and variants of them."""
    near = st.integers(95, 400) | st.integers(0, 2**32 - 1)
    tcp = TCP(sport=1000, dport=80, flags=draw(st.integers(0, 255)), seq=draw(near),
              ack=draw(near), window=draw(st.integers(0, 65_535)))
    packet = bytearray(raw(IP(src=THEM, dst=US) / tcp / draw(st.binary(max_size=60))))
    if draw(st.booleans()):
        packet[draw(st.integers(0, len(packet) - 1))] ^= 1 << draw(st.integers(0, 7))
    return bytes(packet[:draw(st.integers(len(packet) - 3, len(packet)))])


steps = st.lists(
    st.tuples(st.just("receive"), segments()) | st.tuples(st.just("receive"), st.lists(segments()))
    | st.tuples(st.just("advance"), st.integers(0, 3 * 10**9))
    | st.tuples(st.just("write"), st.binary(max_size=2000))
    | st.tuples(st.sampled_from(["finish", "close", "abort", "read", "fork"]), st.none()),
    max_size=12)


def act(stack, connection, step):
    """Executes one step; returns its result, a refusal included."""
    name, argument = step
    try:
        if name == "fork":
            assert stack.fork().fingerprint() == stack.fingerprint()
            return None
        if name in ("receive", "advance"):
            return getattr(stack, name)(argument)
        arguments = (connection,) if argument is None else (connection, argument)
        return getattr(stack, name)(*arguments)
    except lockstep.Refused as refused:
        return refused.name


def play(plan):
    stack = lockstep.Stack("default", addresses=[US], seed=5)
    stack.listen(80)
    stack.receive(raw(IP(src=THEM, dst=US) / TCP(sport=1000, dport=80, flags="S", seq=99)))
    answer = IP(stack.transmit()[0])
    stack.receive(raw(IP(src=THEM, dst=US) / TCP(sport=1000, dport=80, flags="A", seq=100,
                                                 ack=answer[TCP].seq + 1)))
    (connection,) = stack.accepted()
    seen = [act(stack, connection, step) for step in plan] + [stack.advance("2s"), stack.events()]
    stack.check_invariants()
    return seen, stack.fingerprint()


@MODEST
@given(steps)
def test_the_same_calls_give_the_same_bytes(plan):
    assert play(plan) == play(plan)


@MODEST
@given(st.sampled_from(CALLS), st.lists(anything, max_size=3))
def test_arguments_of_any_kind_are_refused_by_an_exception(name, arguments):
    stack = lockstep.Stack(addresses=[US])
    try:
        getattr(stack, name)(*arguments)
    except (lockstep.Error, TypeError) as error:
        # Python itself raises TypeError for too many or too few arguments.
        assert isinstance(error, lockstep.Error) or "argument" in str(error)
    stack.advance("1s")
    stack.check_invariants()


@MODEST
@given(st.dictionaries(st.sampled_from(sorted(lockstep.config_fields())) | st.text(max_size=9),
                       anything, max_size=4), anything, anything)
def test_settings_of_any_kind(config, seed, mtu):
    try:
        stack = lockstep.Stack(config=config, seed=seed, mtu=mtu)
    except lockstep.Error:
        return
    stack.connect((THEM, 80))
    stack.advance("1s")


@MODEST
@given(st.binary(max_size=200), st.integers(0, 2**20), st.integers(0, 7))
def test_a_snapshot_that_was_changed_is_refused(octets, at, bit):
    stack = lockstep.Stack(addresses=[US])
    whole = bytearray(stack.snapshot())
    whole[at % len(whole)] ^= 1 << bit
    for bad in (octets, bytes(whole)):
        with pytest.raises(lockstep.Refused, match="bad_snapshot"):
            stack.restore(bad)


KEYS = ["rate", "delay", "queue", "mtu", "mark_packets", "probability", "name", "from_", "kind"]


@MODEST
@given(st.sampled_from(["host", "link", "app", "add_fault", "switch", "tap"]),
       st.lists(anything, max_size=3), st.dictionaries(st.sampled_from(KEYS), anything, max_size=3))
def test_worlds_of_any_kind(name, arguments, keys):
    sim = lockstep.Sim()
    sim.link(sim.host("a", "10.0.0.1/24"), sim.host("b", "10.0.0.2/24"))
    try:
        getattr(sim, name)(*arguments, **keys)
        sim.advance("1ms")
    except (lockstep.Error, TypeError) as error:
        assert isinstance(error, lockstep.Error) or "argument" in str(error)
