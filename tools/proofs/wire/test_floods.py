# Spoofed SYNs against our server with each driver, while honest clients use it.
"""Needs root; otherwise skipped, with the reason, and counted as skipped.

LOCKSTEP_WIRE=full: as long as 30 SYNs per second take to fill all tables for SYNs, as in
tools/evidence wire; otherwise the tables are first filled at 10,000 per second."""
import pytest

from dev import namespace as ns
from proofs.wire import attack, gates, honest, pairs

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
FILL = 8_000     # SYNs: more than any pool of the server holds
FAST = 10_000    # SYNs per second
# SYNs per second: seconds of flood in a short run, and in a long one (an entry lives for 180 s).
RATES = {30: (3, 240), 500: (3, 60), FAST: (2, 60)}


@pytest.mark.parametrize("kind", gates.DRIVERS)
@pytest.mark.parametrize("rate", sorted(RATES))
def test_honest_clients_are_served_in_a_flood(tmp_path, kind, rate):
    """During the flood and after it: entries left in the tables must not disturb."""
    lasts = RATES[rate][1 if pairs.FULL else 0]
    with gates.gate(tmp_path, kind) as server:
        if not pairs.FULL:
            with attack.Attack("spoof.py", server.device(), FILL, FAST, 1) as first:
                first.begin()
                assert first.sent() > 0.9 * FILL
        with attack.Attack("spoof.py", server.device(), rate * lasts, rate, 2) as flood:
            flood.begin()
            with honest.clients() as came:
                sent = flood.sent()
        assert sent > 0.9 * rate * lasts
        honest.assert_served(came, "during")
        gates.serves(10 if pairs.FULL else 1, "after")
    assert server.result["lost"]["port_malformed"] == 0, server.result
