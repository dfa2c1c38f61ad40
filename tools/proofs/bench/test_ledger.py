"""The ledger of instructions: profiles are read as callgrind writes them, stages by source."""
from proofs.bench import ledger

PROFILE = """positions: instr line
events: Ir
ob=/usr/lib/libc.so.6
fn=__memcpy_avx_unaligned_erms
0x10 0 7
fn=malloc
0x20 0 2
ob=/tmp/x/bench_pair
fn=main
0x100 0 5
calls=3 0x200 0
0x104 0 900
0x108 0 1
fn=turn
0x200 0 40
0x100 0 2
"""


def test_calls_are_counted_once():
    inside, outside = ledger.read_profile(PROFILE.splitlines(), "bench_pair")
    assert inside == {0x100: 7, 0x108: 1, 0x200: 40}
    assert outside == {"__memcpy_avx_unaligned_erms": 7, "malloc": 2}


def test_the_innermost_source_with_a_stage_counts():
    turn = ("/tree/core/stack/turn.hpp", "turn")
    units = ("/tree/core/units/sequence.hpp", "before")
    found = ledger.place_of([units, ("/tree/core/tcp/demux.cpp", "find"), turn])
    assert found == ("demultiplex", "demux.cpp find")
    assert ledger.place_of([units, turn]) == ("driver", "turn.hpp turn")
    assert ledger.place_of([("/tree/core/wire/tcp.cpp", "parse")])[0] == "parse"
    assert ledger.place_of([("/tree/core/wire/tcp.cpp", "write_whole")])[0] == "write"
    assert ledger.place_of([("/usr/include/x.h", "f")]) == (ledger.OTHER, "f")


def test_names_lose_scope_templates_and_parameters():
    assert ledger.short("a::b<int, c<d>>::parse<x>(std::span<int>)") == "parse"
    assert ledger.short("main") == "main"
    assert ledger.short("a::(anonymous namespace)::plan(int)") == "plan"


def test_the_table_has_all_stages_that_cost_something():
    columns = {"a": {("parse", "x"): 6.2, ("parse", "y"): 4.2, ("plan", "z"): 0.2},
               "b": {("plan", "z"): 1_000}}
    assert ledger.table(columns)[2:] == [
        "| parse | 10 | 0 |", "| plan | 0 | 1,000 |", "| **all** | 11 | 1,000 |"]
    assert ledger.table(columns, "parse")[2:] == [
        "| x | 6 | 0 |", "| y | 4 | 0 |", "| **all** | 10 | 0 |"]
