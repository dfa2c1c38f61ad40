# Spoofed SYNs against our server over each driver, while honest clients ask.
"""Root's alone: elsewhere these are skipped, with the reason, and counted as skipped.

LOCKSTEP_WIRE=full: as long as it takes at 30 a second to fill whatever is kept of a SYN, as
tools/evidence wire has it; else the server is filled first, at 10,000 a second."""
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import threading
import time

import pytest

from serve import namespace as ns
from wire import pairs

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
SPOOF = pathlib.Path(__file__).resolve().parent / "spoof.py"
BODY = 1024
ASKING = 4       # honest clients
PATIENCE = 3.0   # seconds that each of them has for a request
SERVED = 0.9     # of what is asked, at least
FILL = 8_000     # SYNs: more than any pool of the server holds
FAST = 10_000    # a second
# SYNs a second: seconds of flood in a short run, and in a long one (an entry lives for 180 s).
RATES = {30: (3, 240), 500: (3, 60), FAST: (2, 20)}


@pytest.fixture(name="kind", params=["tap", "packet", "xdp"])
def kind_fixture(request):
    """A driver that can be had here."""
    if request.param == "xdp" and ns.why_no_xdp():
        pytest.skip(ns.why_no_xdp())
    return request.param


def link_facts(interface):
    """(own link address, that of the server, which has spoken): by the kernel's tables."""
    links = subprocess.run(["ip", "-j", "link", "show", "dev", interface], check=True,
                           capture_output=True).stdout
    neighbours = subprocess.run(["ip", "-j", "neigh", "show", ns.OURS, "dev", interface],
                                check=True, capture_output=True).stdout
    return json.loads(links)[0]["address"], json.loads(neighbours)[0]["lladdr"]


class Flood:
    """A number of spoofed SYNs, made when it is made, sent from `begin` on."""

    def __init__(self, interface, count, rate, seed):
        self.process = subprocess.Popen(
            [sys.executable, str(SPOOF), interface, *link_facts(interface), ns.OURS, "--count",
             str(count), "--rate", str(rate), "--seed", str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def begin(self):
        """From now on."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def sent(self):
        """Waits for its end: how many have left."""
        out, _ = self.process.communicate(timeout=600)
        assert self.process.returncode == 0
        return int(out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def ask_once():
    """A connection, a request, the whole answer: whether it was right and in time."""
    try:
        with socket.create_connection((ns.OURS, 80), PATIENCE) as sock:
            sock.sendall(ns.get(f"/bytes/{BODY}", "Connection: close"))
            answer = b""
            while part := sock.recv(65536):
                answer += part
    except OSError:
        return False
    return answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(ns.generated(BODY))


@contextlib.contextmanager
def honest():
    """Clients that ask as often as they are answered, from here to the end: [served, failed]."""
    came = [0, 0]
    over = threading.Event()
    here = open("/proc/thread-self/ns/net", "rb")

    def ask():
        ns.enter(here.fileno())
        while not over.is_set():
            came[0 if ask_once() else 1] += 1
            over.wait(0.02)  # what is measured is service, not speed
    threads = [threading.Thread(target=ask) for _ in range(ASKING)]
    for thread in threads:
        thread.start()
    try:
        yield came
    finally:
        over.set()
        for thread in threads:
            thread.join()
        here.close()


def assert_served(came, when):
    """Nine of ten at least, and that many were asked at all."""
    served, failed = came
    assert served >= SERVED * (served + failed) and served > 0, (when, came)


@pytest.mark.parametrize("rate", sorted(RATES))
def test_honest_clients_are_served_in_a_flood(tmp_path, kind, rate):
    """During it, and when it is over: what it has left in the tables is in nobody's way."""
    lasts = RATES[rate][1 if pairs.FULL else 0]
    with ns.fresh_namespace():
        if kind != "tap":
            ns.make_pair()
        with ns.Server(tmp_path, kind=kind) as server:
            ns.connect().close()  # the link is up, and the neighbours are known
            assert ask_once()
            if not pairs.FULL:
                with Flood(server.device(), FILL, FAST, 1) as first:
                    first.begin()
                    assert first.sent() > 0.9 * FILL
            with Flood(server.device(), rate * lasts, rate, 2) as flood:
                flood.begin()
                with honest() as came:
                    sent = flood.sent()
            assert sent > 0.9 * rate * lasts
            assert_served(came, "during")
            with honest() as came:
                time.sleep(10 if pairs.FULL else 1)
            assert_served(came, "after")
            code, summary, errors = server.end()
    assert code == 0, errors
    assert summary["lost"]["port_malformed"] == 0, summary
