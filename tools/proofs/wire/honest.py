# Clients that ask our server as a browser would, while a test does something else to it.
"""For a namespace that a test has made; serve.namespace knows the server and its address."""
import contextlib
import json
import socket
import subprocess
import threading

from dev import namespace as ns

BODY = 1024
ASKING = 4       # honest clients
PATIENCE = 3.0   # seconds that each of them has for a request
SERVED = 0.9     # of what is asked, at least


def link_facts(interface):
    """(own link address, that of the server, which has spoken): by the kernel's tables."""
    links = subprocess.run(["ip", "-j", "link", "show", "dev", interface], check=True,
                           capture_output=True).stdout
    neighbours = subprocess.run(["ip", "-j", "neigh", "show", ns.OURS, "dev", interface],
                                check=True, capture_output=True).stdout
    return json.loads(links)[0]["address"], json.loads(neighbours)[0]["lladdr"]


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
def clients():
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
