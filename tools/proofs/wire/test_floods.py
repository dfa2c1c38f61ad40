# Spoofed SYNs against our server with each driver, while honest clients use it.
"""Needs root; otherwise skipped, with the reason, and counted as skipped.

LOCKSTEP_WIRE=full: as long as 30 SYNs per second take to fill all tables for SYNs, as in
tools/evidence wire; otherwise the tables are first filled at 10,000 per second."""
import time

import pytest

from dev import namespace as ns
from proofs.wire import attack, honest, pairs

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
FILL = 8_000     # SYNs: more than any pool of the server holds
FAST = 10_000    # SYNs per second
# SYNs per second: seconds of flood in a short run, and in a long one (an entry lives for 180 s).
RATES = {30: (3, 240), 500: (3, 60), FAST: (2, 20)}


@pytest.fixture(name="kind", params=["tap", "packet", "xdp"])
def kind_fixture(request):
    """A driver that is available here."""
    if request.param == "xdp" and ns.why_no_xdp():
        pytest.skip(ns.why_no_xdp())
    return request.param


@pytest.mark.parametrize("rate", sorted(RATES))
def test_honest_clients_are_served_in_a_flood(tmp_path, kind, rate):
    """During the flood and after it: entries left in the tables must not disturb."""
    lasts = RATES[rate][1 if pairs.FULL else 0]
    with ns.fresh_namespace():
        if kind != "tap":
            ns.make_pair()
        with ns.Server(tmp_path, kind=kind) as server:
            ns.connect().close()  # the link is up, and neighbour entries exist
            assert honest.ask_once()
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
            with honest.clients() as came:
                time.sleep(10 if pairs.FULL else 1)
            honest.assert_served(came, "after")
            code, summary, errors = server.end()
    assert code == 0, errors
    assert summary["lost"]["port_malformed"] == 0, summary
