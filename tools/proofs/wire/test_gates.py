# What a server meets in its first week, on each driver, and a journal of each.
"""Needs root; otherwise skipped, with the reason, and counted as skipped.

A normal run takes a fixed sixth of the cases, with short times (proofs/wire/gates.py)."""
import contextlib
import hashlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from dev import namespace as ns
from proofs.wire import gates, honest, pairs, servers
from proofs.wire.test_crowds import connect_all

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
SILENT = 4_200          # more than a server's connections
SLOW = 200              # slow clients of one kind
CHANGED_PEER = "10.9.0.77"
PORT = 8000
# How long the client may be at it (the first time counts from when something was sent), and what
# the server counts at the end.
PATIENCE = {"head": (10, "request_too_slow"), "body": (20, "request_too_slow"),
            "answer": (30, "reader_too_slow")}


def missing_ab():
    """Why ab cannot be used, or None."""
    return None if shutil.which("ab") else "ab is missing: tools/setup --with load"


def count_of(text, name):
    """The number behind this name in what ab prints."""
    return int(re.search(rf"{name}: +(\d+)", text)[1])


@pytest.mark.parametrize("kind, at_once", gates.chosen((1, 4, 16, 64)))
def test_a_connection_a_request(tmp_path, kind, at_once):
    """No request fails, and none waits for a retransmitted SYN."""
    if missing_ab():
        pytest.skip(missing_ab())
    lasts = ["-t", "60", "-n", "100000000"] if pairs.FULL else ["-n", "1000"]
    with gates.gate(tmp_path, kind) as server:
        done = subprocess.run(["ab", "-q", *lasts, "-c", str(at_once),
                               f"http://{ns.OURS}/bytes/1000"], check=False, capture_output=True,
                              text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = count_of(done.stdout, "Complete requests")
    assert asked >= 1000
    assert count_of(done.stdout, "Failed requests") == 0, done.stdout
    assert "Non-2xx" not in done.stdout
    assert server.result["answers"]["200"] >= asked


@pytest.mark.parametrize("kind", [kind for kind, in gates.chosen()])
def test_silent_connections_keep_nobody_out(tmp_path, kind):
    """More than a server has room for."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < SILENT + 200:
        pytest.skip(f"{most} descriptors at most: ulimit -n {SILENT + 200}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with gates.gate(tmp_path, kind) as server:
        silent = connect_all(SILENT)
        gates.serves(10 if pairs.FULL else 2, "beside silent ones")
        for sock in silent:
            sock.close()
    assert server.result["ends"]["gave_way_silent"] > 0


def begin_slowly(way):
    """A client that has begun a request of this kind, and the octets that it goes on with."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(5)
    sock.connect((ns.OURS, 80))
    if way == "head":
        sock.sendall(ns.get("/bytes/1")[:-2])
    elif way == "body":
        sock.sendall(ns.get("/sink", "Content-Length: 1000000", method="PUT"))
    else:
        sock.sendall(ns.get("/bytes/10000000"))
    sock.setblocking(False)
    return sock


def go_on_slowly(way, sock):
    """A little of it; False: the server has ended the connection."""
    try:
        if way == "answer":
            return sock.recv(100) != b""
        sock.send(b"X: y\r\n" if way == "head" else b"z")
        return sock.recv(1 << 16, socket.MSG_PEEK) != b"" and way != "head"
    except BlockingIOError:
        return True
    except OSError:
        return False


@pytest.mark.parametrize("kind, way", gates.chosen(PATIENCE))
def test_slow_clients(tmp_path, kind, way):
    """A head, a body, or reading an answer without end: each is ended in its time, and others are
    served meanwhile."""
    patience, counted = PATIENCE[way]
    with gates.gate(tmp_path, kind) as server:
        slow = [begin_slowly(way) for _ in range(SLOW)]
        begin = time.monotonic()
        with honest.clients() as came:
            while any(slow) and time.monotonic() < begin + (2.5 * patience if pairs.FULL else 2):
                for i, sock in enumerate(slow):
                    if sock and not go_on_slowly(way, sock):
                        sock.close()
                        slow[i] = None
                time.sleep(0.5)
        honest.assert_served(came, "beside slow ones")
        assert not pairs.FULL or not any(slow), f"{sum(map(bool, slow))} are left"
        for sock in filter(None, slow):
            sock.close()
    assert not pairs.FULL or server.result["ends"][counted] == SLOW, server.result["ends"]


def ask_again(sock, size):
    """One more request on the same connection; the whole answer is right."""
    sock.sendall(ns.get(f"/bytes/{size}"))
    text = b""
    while b"\r\n\r\n" not in text:
        text += sock.recv(1 << 16)
    body = text.split(b"\r\n\r\n", 1)[1]
    while len(body) < size:
        part = sock.recv(1 << 16)
        assert part, "the connection has ended"
        body += part
    assert hashlib.sha256(body).hexdigest() == ns.hash_of_generated(size)


def change(server, what):
    """Changes the link between server and kernel, or the kernel's end of it."""
    device = server.device()
    if what == "link":
        ns.run("ip", "link", "set", "dev", device, "down")
        time.sleep(0.5)
        ns.run("ip", "link", "set", "dev", device, "up")
    elif what == "mtu":
        for name in {ns.NAME, device}:
            ns.run("ip", "link", "set", "dev", name, "mtu", "1000")
    elif what == "mac":
        # As after a failover: the new owner of the address announces it.
        with open(f"/proc/sys/net/ipv4/conf/{device}/arp_notify", "w", encoding="ascii") as file:
            file.write("1")
        ns.run("ip", "link", "set", "dev", device, "address", "02:00:00:00:99:01")
    else:
        ns.run("ip", "address", "add", f"{CHANGED_PEER}/24", "dev", device)


@pytest.mark.parametrize("kind, what", gates.chosen(("link", "mtu", "mac", "address")))
def test_a_change_of_the_network(tmp_path, kind, what):
    """A connection goes on, and new ones are answered at once."""
    with gates.gate(tmp_path, kind) as server:
        with ns.connect() as steady:
            ask_again(steady, 100_000)
            change(server, what)
            ask_again(steady, 1_000_000)
        if what == "address":
            ns.run("ip", "address", "del", f"{ns.KERNEL}/24", "dev", server.device())
            ns.run("ip", "address", "replace", f"{CHANGED_PEER}/24", "dev", server.device())
        assert honest.ask_once()


@contextlib.contextmanager
def downloading(count):
    """Clients that download without end during the block."""
    over, here = threading.Event(), open("/proc/thread-self/ns/net", "rb")

    def download():
        ns.enter(here.fileno())
        with contextlib.suppress(ConnectionError), ns.connect() as sock:
            sock.sendall(ns.get("/bytes/100000000000"))
            sock.settimeout(0.2)
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    if not sock.recv(1 << 16):
                        break
    threads = [threading.Thread(target=download) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
        here.close()


def until_octets_are_sent(server):
    """Waits until the kernel has received frames of the downloads."""
    def received():
        with open("/proc/thread-self/net/dev", encoding="ascii") as file:
            (row,) = [line.split() for line in file if line.strip().startswith(server.device())]
        return int(row[1])
    begin, end = received(), time.monotonic() + 30
    while received() < begin + 1_000_000:
        assert time.monotonic() < end, "nothing is sent"
        time.sleep(0.05)


@pytest.mark.parametrize("kind, what", gates.chosen(("stop", "term", "hup", "deletion")))
def test_how_it_is_stopped(tmp_path, kind, what):
    """Under downloads: it goes on, or ends with its summary; a deleted interface is named."""
    with gates.gate(tmp_path, kind) as server:
        with downloading(4):
            until_octets_are_sent(server)
            if what == "stop":
                server.process.send_signal(signal.SIGSTOP)
                time.sleep(5 if pairs.FULL else 1)
                server.process.send_signal(signal.SIGCONT)
                until_octets_are_sent(server)
            elif what == "deletion":
                ns.run("ip", "link", "del", "dev", ns.NAME)
                _, errors = server.process.communicate(timeout=30)
                assert server.process.returncode == 3
                assert f"{ns.NAME} was deleted while in use" in errors.decode()
            else:
                number = signal.SIGTERM if what == "term" else signal.SIGHUP
                code, summary, errors = server.end(number)
                assert code == 0, errors
                assert summary["connections"] >= 4


@pytest.mark.parametrize("kind", [kind for kind, in gates.chosen()])
def test_a_load_three_times_in_a_row(tmp_path, kind):
    """From the same address, a connection a request: every request is answered each time. Each run
    is replayed from its journal."""
    if servers.why_not("nginx"):
        pytest.skip(servers.why_not("nginx"))
    count = 66_000 if pairs.FULL else 2_000  # more than there are ports
    site = servers.make_site(tmp_path)
    with gates.place(kind), servers.nginx(tmp_path, site, PORT):
        for number in range(3):
            journal = tmp_path / f"journal{number}"
            code, result, said = servers.run_load(
                tmp_path, f"http://{ns.KERNEL}:{PORT}/bytes/64", "--requests", count,
                "--connections", 32, "--requests-per-connection", 1, "--record", journal, kind=kind)
            assert code == 0 and not any(result["errors"].values()), said
            assert result["connections"] == result["answered"] == count
            code, text = ns.replay(journal)
            assert (code, "octet by octet" in text) == (0, True), text
            journal.unlink()
