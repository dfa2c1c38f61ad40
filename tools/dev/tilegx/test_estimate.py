"""Counts by stages of a trace, bundles of a disassembly, and the estimate from both."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

from dev.tilegx import counting

HERE = pathlib.Path(__file__).resolve().parent

SYMBOLS = counting.Symbols("""\
0000000000001000 T main
0000000000002000 T lockstep::tools::benchmark::Bulk::run()
0000000000003000 W lockstep::Outcome lockstep::tools::benchmark::Pair::client_turn<X>(X&)
0000000000003800 W lockstep::Outcome lockstep::tools::benchmark::Pair::server_turn<Y>(Y&)
0000000000004000 T lockstep::Stack::receive(lockstep::Instant, std::span<int>)
0000000000005000 T lockstep::Stack::Body::process(lockstep::Parsed&)
0000000000006000 T lockstep::Stack::transmit(lockstep::Instant, std::span<int>)
0000000000007000 T lockstep::Stack::consume(lockstep::ConnectionId, lockstep::Bytes)
0000000000008000 T memcpy
""")


def trace(*addresses):
    return [f"Trace 0: 0x7fca [00000000/{address:016x}/0] name\n".encode() for address in addresses]


def steps(totals):
    return {state: total[0] for state, total in totals.items()}


def test_nothing_is_counted_before_the_workload_begins():
    lines = trace(0x1000, 0x3000, 0x4000, 0x8000)
    assert steps(counting.count(lines, SYMBOLS)) == {}


def test_each_stage_gets_its_steps_and_those_of_what_it_calls():
    lines = trace(0x2000, 0x3000, 0x4000, 0x8000, 0x5000, 0x8000, 0x8000, 0x4008, 0x3008,
                  0x7000, 0x8000, 0x3010, 0x6000, 0x8000, 0x3018, 0x3800, 0x6000, 0x2008)
    assert steps(counting.count(lines, SYMBOLS)) == {
        ("", "outside"): 1, ("client", "turn"): 4, ("client", "receive"): 3,
        ("client", "protocol"): 5, ("client", "send"): 2, ("server", "turn"): 1,
        ("server", "send"): 1, ("server", "outside"): 1}


def test_a_call_within_a_stage_does_not_end_it():
    # transmit() calls another function of the stack: that is still `send`.
    lines = trace(0x2000, 0x3000, 0x6000, 0x7000, 0x6008)
    assert steps(counting.count(lines, SYMBOLS))[("client", "send")] == 3


def test_bundles_hold_the_instructions_that_do_something():
    found = counting.operations("""
   10078:\t286a8ae0 \t{ addi r0, r1, 8 ; ld r2, r3 }
   10080:\t286a8ae0 \t{ nop ; add r1, r2, r3 ; fnop }
   10088:\t286a8ae0 \t{ jrp lr }
""")
    assert found == {0x10078: 2, 0x10080: 1, 0x10088: 1}
    lines = trace(0x2000, 0x3000)
    assert counting.count(lines, SYMBOLS, {0x3000: 3})[("client", "turn")] == [1, 3]


def test_a_missing_program_is_one_line():
    with pytest.raises(counting.Failure, match="no-such-nm is missing"):
        counting.output_of(["no-such-nm"])


def estimate_program():
    loader = importlib.machinery.SourceFileLoader("estimate", str(HERE / "estimate"))
    spec = importlib.util.spec_from_loader("estimate", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_twice_the_cycles_are_half_the_rate():
    program = estimate_program()
    side = dict.fromkeys(counting.STAGES, (250.0, 400.0))
    measured = {workload: {"TILE-Gx": {"client": side, "server": side}}
                for workload in ("lent", "copied", "transactions")}
    lines = program.estimate(measured)
    first = lines[0]
    # 126,000 octets are 86.3 segments of 1,000 bundles, plus one transaction.
    assert first["worker_gbit"] == pytest.approx(126_000 * 8 * 1.2 / (126_000 / 1460 + 1) / 1000)
    assert first["nic_gbit"] == pytest.approx(36 * first["worker_gbit"])
    last = lines[2]
    assert last["worker_gbit"] * last["cycles_a_bundle"] == pytest.approx(first["worker_gbit"])


def test_without_a_toolchain_it_says_where_it_looked(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("LOCKSTEP_TILEGX", str(tmp_path))
    assert estimate_program().main([]) == 3
    error = capsys.readouterr().err
    assert str(tmp_path) in error and "tools/dev/tilegx/build" in error
