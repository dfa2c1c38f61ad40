# A server on each driver that is attacked or disturbed, and what must hold afterwards.
"""Of the cases of a gate a normal test run takes a fixed sixth; LOCKSTEP_WIRE=full takes all, as
tools/evidence wire does."""
import contextlib
import itertools
import time

import pytest

from dev import namespace as ns
from proofs.wire import honest, pairs

KINDS = ("tap", "packet", "xdp-generic", "xdp-native")
GATES = itertools.count()


def chosen(*ways):
    """The cases (driver, *way) of the next gate, for parametrize. The sixth has at least one of each
    gate, and the drivers take turns."""
    first = next(GATES) % len(KINDS)
    kinds = KINDS[first:] + KINDS[:first]
    cases = [(kind, *way) for way in itertools.product(*ways) for kind in kinds]
    return cases if pairs.FULL else cases[::6]


# For gates of which a normal run takes all cases, with short times.
DRIVERS = KINDS if pairs.FULL else ("tap", "packet", "xdp")


def skip_without(kind):
    """Skips a test of a driver that cannot be used here."""
    if kind.startswith("xdp") and ns.why_no_xdp():
        pytest.skip(ns.why_no_xdp())


@contextlib.contextmanager
def place(kind):
    """A namespace with an interface for the driver."""
    skip_without(kind)
    with ns.fresh_namespace():
        if kind != "tap":
            ns.make_pair()
        yield


@contextlib.contextmanager
def gate(folder, kind, *words):
    """A server that records a journal. After the block it must serve honest clients and end with 0,
    unless the block ended it; its journal must replay octet by octet. `result`: its summary."""
    journal = folder / "journal"
    with place(kind):
        with ns.Server(folder, "--record", str(journal), *words, kind=kind) as server:
            ns.connect().close()  # the link is up, and neighbour entries exist
            assert honest.ask_once()
            yield server
            if server.process.poll() is None:
                serves(1, "after")
                code, server.result, errors = server.end()
                assert code == 0, errors
    code, text = ns.replay(journal)
    assert (code, "octet by octet" in text) == (0, True), text
    journal.unlink()


def serves(seconds, when):
    """Honest clients are served for this time."""
    with honest.clients() as came:
        time.sleep(seconds)
    honest.assert_served(came, when)
