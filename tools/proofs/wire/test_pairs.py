# A pairwise selection of small cases; with LOCKSTEP_WIRE=full of all sizes, and 1 GB each way.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import shutil

import pytest

from dev import namespace as ns
from proofs.wire import pairs, transfers

here = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
CASES = pairs.cases() + pairs.giants() if pairs.FULL else pairs.cases(pairs.SMALL)


@pytest.mark.parametrize("factors", [pairs.FACTORS, pairs.SMALL], ids=["all", "small"])
def test_every_pair_is_in_the_selection(factors):
    """Counted independently of the search, also for the part that every run takes."""
    chosen = pairs.cases(factors)
    assert all(set(case) == set(factors) for case in chosen)
    assert factors is pairs.FACTORS or all(pairs.is_small(case) for case in chosen)
    names = list(factors)
    seen = {(one, case[one], other, case[other])
            for case in chosen for one in names for other in names}
    for one in names:
        for other in names:
            for first in factors[one]:
                for second in factors[other]:
                    refused = pairs.may_be([(one, first), (other, second)])
                    there = (one, first, other, second) in seen
                    assert there == refused or one == other, (one, first, other, second)
    assert not any(case["driver"].startswith("xdp") and case["network"].endswith("9000")
                   for case in chosen)


def test_the_selection_is_always_the_same():
    """The search gives the same selection on every machine."""
    assert pairs.cases() == pairs.cases()
    assert (len(pairs.cases()), len(pairs.cases(pairs.SMALL))) == (39, 29)


@here
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is missing: tools/setup --with load")
@pytest.mark.parametrize("case", CASES, ids=pairs.name_of)
def test_transfers(tmp_path, case):
    """Byte for byte, and the capture has no findings."""
    if case["driver"].startswith("xdp") and ns.why_no_xdp():
        pytest.skip(ns.why_no_xdp())
    account = transfers.run(case, tmp_path, patience=120 if pairs.is_small(case) else 600)
    lost = account["forth"]["loss"] + account["back"]["loss"]
    assert case["loss"] != "none" or lost == 0
