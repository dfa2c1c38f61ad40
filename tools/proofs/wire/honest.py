# Clients that use our server like browsers while a test does something else to it.
"""For a namespace that a test has created; dev.namespace has the server and its address."""
import contextlib
import json
import socket
import subprocess
import threading

from dev import namespace as ns

BODY = 1024
ASKING = 4       # number of honest clients
PATIENCE = 3.0   # seconds that each request may take
SERVED = 0.9     # minimum share of requests that must be answered


def link_facts(interface):
    """(own link address, the server's), from the kernel's tables; the server must have sent
    frames."""
    links = subprocess.run(["ip", "-j", "link", "show", "dev", interface], check=True,
                           capture_output=True).stdout
    neighbours = subprocess.run(["ip", "-j", "neigh", "show", ns.OURS, "dev", interface],
                                check=True, capture_output=True).stdout
    return json.loads(links)[0]["address"], json.loads(neighbours)[0]["lladdr"]


def ask_once():
    """Connects, sends a request, and reads the answer; returns whether it was right and in time."""
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
    """Runs clients that send requests continuously during the block; yields [served, failed]."""
    came = [0, 0]
    over = threading.Event()
    here = open("/proc/thread-self/ns/net", "rb")

    def ask():
        ns.enter(here.fileno())
        while not over.is_set():
            came[0 if ask_once() else 1] += 1
            over.wait(0.02)  # service is measured, not speed
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
    """At least nine of ten requests were served, and there were requests."""
    served, failed = came
    assert served >= SERVED * (served + failed) and served > 0, (when, came)
