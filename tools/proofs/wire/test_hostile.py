# Hostile clients and broken frames against our server with each driver, with honest clients.
"""Needs root; otherwise skipped, with the reason, and counted as skipped.

LOCKSTEP_WIRE=full: a minute of each, as in tools/evidence wire."""
import contextlib
import http.client
import random
import socket
import struct
import threading
import time

import pytest

from dev import namespace as ns
from proofs.wire import attack, gates, honest, pairs

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
LASTS = 60 if pairs.FULL else 3  # seconds
RATE = 5_000                     # broken frames per second
FRAMES = 500_000 if pairs.FULL else 15_000
HOSTS = 30                       # hostile clients of each kind
RESET_AT_CLOSE = struct.pack("ii", 1, 0)


def silent(_):
    """Connects and sends nothing."""
    return socket.create_connection((ns.OURS, 80), 3)


def half_a_request(_):
    """Sends a request head without an end."""
    made = silent(_)
    made.sendall(ns.get("/bytes/1000")[:-2] + b"X-More: ")
    return made


def deaf(_):
    """Requests a large body and never reads, with a small window."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    made.settimeout(3)
    made.connect((ns.OURS, 80))
    made.sendall(ns.get("/bytes/100000000"))
    return made


def noisy(draw):
    """Sends octets that are not a request."""
    made = silent(draw)
    made.sendall(draw.randbytes(draw.randrange(1, 20_000)))
    return made


def aborting(draw):
    """Sends a request, and resets the connection in the middle of the answer."""
    made = silent(draw)
    made.sendall(ns.get("/bytes/1000000"))
    made.recv(draw.randrange(1, 4096))
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
    made.close()
    return None


def half_closed(_):
    """Closes its direction before it sends a request."""
    made = silent(_)
    made.shutdown(socket.SHUT_WR)
    return made


WAYS = (silent, half_a_request, deaf, noisy, aborting, half_closed)


@contextlib.contextmanager
def hostile_clients(seed):
    """Keeps HOSTS clients of each kind connected; yields how often each kind connected."""
    came = dict.fromkeys((way.__name__ for way in WAYS), 0)
    over = threading.Event()
    here = open("/proc/thread-self/ns/net", "rb")

    def behave(way):
        ns.enter(here.fileno())
        draw, held = random.Random(f"{seed} {way.__name__}"), []
        while not over.is_set():
            with contextlib.suppress(OSError):
                made = way(draw)
                came[way.__name__] += 1
                held += [made] if made else []
            if len(held) >= HOSTS:
                held.pop(0).close()
            over.wait(0.01)
        for made in held:
            made.close()
    threads = [threading.Thread(target=behave, args=(way,)) for way in WAYS]
    for thread in threads:
        thread.start()
    try:
        yield came
    finally:
        over.set()
        for thread in threads:
            thread.join()
        here.close()


@pytest.mark.parametrize("kind", gates.DRIVERS)
def test_hostile_clients(tmp_path, kind):
    """All kinds at the same time, while honest clients send requests."""
    with gates.gate(tmp_path, kind), hostile_clients(1) as hostile:
        with honest.clients() as came:
            time.sleep(LASTS)
        honest.assert_served(came, "during")
        assert min(hostile.values()) > HOSTS, hostile


def ask_again(sock):
    """One more request on the same connection, and the whole answer."""
    sock.sendall(ns.get(f"/bytes/{honest.BODY}"))
    answer = http.client.HTTPResponse(sock)
    answer.begin()
    assert answer.read() == ns.generated(honest.BODY)


@pytest.mark.parametrize("kind", gates.DRIVERS)
def test_broken_frames(tmp_path, kind):
    """Any order of broken frames: the server keeps running, and open connections survive."""
    with gates.gate(tmp_path, kind) as server:
        steady = ns.connect()
        with attack.Attack("broken_frames.py", server.device(), FRAMES, RATE, 3) as frames:
            frames.begin()
            with honest.clients() as came:
                while not frames.is_over():
                    ask_again(steady)
                    time.sleep(0.2)
        assert frames.sent() > 0.9 * FRAMES
        honest.assert_served(came, "during")
        ask_again(steady)
        steady.close()
