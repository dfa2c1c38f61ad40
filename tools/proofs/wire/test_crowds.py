# Many connections, uploads after them, restarts under load, interfaces that go down and up.
"""Needs root; otherwise skipped, with the reason, and counted as skipped.

LOCKSTEP_WIRE=full: 10,000 connections, as in tools/evidence wire."""
import contextlib
import hashlib
import http.client
import resource
import selectors
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from proofs.wire import servers
from dev import namespace as ns
from proofs.wire import crossing, pairs, sink

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
CROWD = 10_000 if pairs.FULL else 500
CONNECTING_MAX = 200  # more SYNs at once than a queue holds would measure its losses
UPLOAD = ns.generated(4_000_000)
PORT = 8000


@pytest.fixture(name="kind", params=["tap", "packet", "xdp"])
def kind_fixture(request):
    """A driver; the limit of open files is raised to the hard limit."""
    if request.param == "xdp" and ns.why_no_xdp():
        pytest.skip(ns.why_no_xdp())
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < CROWD + 200:
        pytest.skip(f"{most} descriptors at most: ulimit -n {CROWD + 200}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return request.param


def connect_all(count):
    """This many kernel sockets, all connected, with few connecting at the same time."""
    chooser = selectors.DefaultSelector()
    connecting, done = 0, []
    for _ in range(count):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex((ns.OURS, 80))
        chooser.register(sock, selectors.EVENT_WRITE)
        connecting += 1
        while connecting > (CONNECTING_MAX if len(done) + connecting < count else 0):
            ready = chooser.select(timeout=30)
            assert ready, f"{connecting} do not connect"
            for key, _ in ready:
                chooser.unregister(key.fileobj)
                assert key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
                done.append(key.fileobj)
                connecting -= 1
    return done


def ask_all(sockets, size):
    """One request on each, all sent before the first answer is read; every body is hashed."""
    expected = hashlib.sha256(ns.generated(size)).hexdigest()
    for sock in sockets:
        sock.setblocking(True)
        sock.settimeout(60)
        sock.sendall(ns.get(f"/bytes/{size}"))
    for sock in sockets:
        answer = http.client.HTTPResponse(sock)
        answer.begin()
        assert hashlib.sha256(answer.read()).hexdigest() == expected


def put_some(count):
    """Uploads to our sink, one after the other."""
    expected = f"{len(UPLOAD)} {hashlib.sha256(UPLOAD).hexdigest()}\n".encode()
    for _ in range(count):
        connection = http.client.HTTPConnection(ns.OURS, timeout=60)
        connection.request("PUT", "/sink", UPLOAD)
        assert connection.getresponse().read() == expected
        connection.close()


def judge_journal(folder):
    """The journal replays, and its capture has no findings."""
    capture = folder / "run.pcapng"
    code, text = ns.replay(folder / "journal", "--pcapng", capture)
    assert (code, "octet by octet" in text) == (0, True), text
    crossing.judge(capture, shutil.which("tshark"))


def test_many_at_once_and_uploads_after_them(tmp_path, kind):
    """All are connected before the first request; afterwards the sink receives every octet."""
    with ns.fresh_namespace():
        if kind != "tap":
            ns.make_pair()
        with ns.Server(tmp_path, "--connections", str(CROWD + 100), "--record",
                       str(tmp_path / "journal"), kind=kind) as server:
            ns.connect().close()  # both sides have their neighbour entries
            sockets = connect_all(CROWD)
            ask_all(sockets, 1000)
            for sock in sockets:
                sock.close()
            put_some(5)
            code, summary, errors = server.end()
    assert code == 0, errors
    assert summary["answers"]["200"] == CROWD + 5, summary
    assert summary["ends"].get("reset", 0) == 0, summary
    judge_journal(tmp_path)


def test_a_load_of_many_at_once_and_uploads_after_it(tmp_path, kind):
    """Our load uses nginx on many connections, then uploads to the kernel's sink."""
    if servers.why_not("nginx"):
        pytest.skip(servers.why_not("nginx"))
    capture = tmp_path / "run.pcap"
    with crossing.Crossing(kind, crossing.Terms(queue_octets=1 << 30), capture) as world:
        def load(path, *words):
            with world.ours.inside():
                code, result, said = servers.run_load(tmp_path, f"http://{ns.KERNEL}:{path}",
                                                      *words, kind=kind, hosts=())
            assert code == 0 and not any(result["errors"].values()), said
            return result
        with world.kernels.inside(), servers.nginx(tmp_path, servers.make_site(tmp_path), PORT):
            # Connections with an answer wait, so that none sends a second request before all are
            # connected.
            result = load(f"{PORT}/bytes/1460", "--connections", CROWD, "--requests", CROWD,
                          "--think", "60s", "--timeout", "60s")
            assert (result["connections"], result["answered"]) == (CROWD, CROWD)
        with world.kernels.inside(), sink.listening(PORT + 1) as server:
            load(f"{PORT + 1}/sink", "--upload", 4_000_000, "--requests", 5, "--timeout",
                 "60s")
            assert len(server.taken) == 5
        world.end()
    crossing.judge(capture, shutil.which("tshark"))


@contextlib.contextmanager
def asking(path, patience):
    """Kernel clients that send requests continuously, whatever happens; yields counts by
    outcome."""
    came = {"right": 0, "wrong": 0, "failed": 0}
    stopped = threading.Event()
    expected = ns.hash_of_generated(100_000)

    def ask():
        while not stopped.is_set():
            connection = http.client.HTTPConnection(ns.OURS, timeout=patience)
            try:
                while not stopped.is_set():
                    connection.request("GET", path)
                    body = connection.getresponse().read()
                    came["right" if hashlib.sha256(body).hexdigest() == expected else "wrong"] += 1
            except (OSError, http.client.HTTPException):
                came["failed"] += 1
            connection.close()
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        yield came
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def until(true, patience=60):
    """Waits for a condition; fails after `patience` seconds."""
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.05)


def test_ours_is_killed_and_started_again(tmp_path, kind):
    """Clients with a request get a reset or time out, and are served again afterwards."""
    capture = tmp_path / "run.pcap"
    with crossing.Crossing(kind, crossing.Terms(), capture) as world:
        with world.kernels.inside(), asking("/bytes/100000", patience=2) as came:
            for _ in range(3):
                before = came["right"]
                # A TAP's link address is drawn from the seed. With a new address the kernel would
                # need half a minute to detect that its neighbour entry is stale.
                with world.server(tmp_path, "--seed", "1") as server:
                    until(lambda before=before: came["right"] > before + 20)
                    failed = came["failed"]
                    server.process.kill()
                    server.process.wait()
                until(lambda failed=failed: came["failed"] > failed)
        world.end()
    assert came["wrong"] == 0, came
    # After a restart the host contradicts its earlier segments, but checksums must be right.
    crossing.judge_checksums(capture, shutil.which("tshark"))


def test_theirs_is_killed_and_started_again(tmp_path, kind):
    """Our load counts failures by name, and continues."""
    if servers.why_not("nginx"):
        pytest.skip(servers.why_not("nginx"))
    site = servers.make_site(tmp_path)
    capture = tmp_path / "run.pcap"
    with crossing.Crossing(kind, crossing.Terms(), capture) as world, world.kernels.inside():
        with world.ours.inside():
            load = start_load(tmp_path, kind)
        try:
            for i in range(4):
                with servers.nginx(folder_of(tmp_path, i), site, PORT):
                    before = frames_in()
                    until(lambda before=before: frames_in() > before + 500)
                    if i == 3:
                        load.send_signal(signal.SIGINT)
                        said = "".join(load.communicate(timeout=60))
        finally:
            load.kill()
            load.wait()
        world.end()
    code, result = load.returncode, servers.load_result(tmp_path)
    failed = sum(result["errors"].values())
    assert code == 0, said
    assert result["asked"] == result["answered"] + failed, said
    assert result["answered"] > 100 and failed > 0, said
    assert result["errors"]["wrong_body"] == result["errors"]["malformed"] == 0, said
    crossing.judge(capture, shutil.which("tshark"))


def folder_of(folder, number):
    """A folder for each start of a server."""
    made = folder / f"start{number}"
    made.mkdir()
    return made


def frames_in():
    """The number of frames that the kernel received from the bus."""
    with open("/proc/thread-self/net/dev", encoding="ascii") as file:
        rows = {line.split(":")[0].strip(): line.split(":")[1].split() for line in file
                if ":" in line}
    return int(rows[crossing.FAR][1])


def start_load(folder, kind):
    """Our load as a process that runs until SIGINT, its address being that of OURS."""
    return subprocess.Popen(
        servers.load_command(
            folder, f"http://{ns.KERNEL}:{PORT}/bytes/1460", "--connections", 20, "--think", "20ms",
            "--duration", "10min", "--timeout", "1s", kind=kind,
            addresses=(f"{ns.OURS}/24", f"{ns.OURS6}/64")),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("end", ["near", "far"])
def test_an_interface_goes_down_and_up_under_an_upload(tmp_path, kind, end):
    """What was lost is retransmitted; the kernel's sink receives every octet."""
    capture = tmp_path / "run.pcap"
    size = 20_000_000
    terms = crossing.Terms(rate_bits=100_000_000)
    with crossing.Crossing(kind, terms, capture) as world:
        with world.kernels.inside(), sink.listening(PORT) as server:
            out = []

            def run():
                ns.enter(world.ours.descriptor)
                out.append(servers.run_load(
                    tmp_path, f"http://{ns.KERNEL}:{PORT}/sink", "--upload", size, "--requests", 1,
                    "--timeout", "60s", kind=kind, hosts=()))
            thread = threading.Thread(target=run)
            thread.start()
            before = frames_in()
            until(lambda: frames_in() > before + 1000)
            # Frames to the end that is down are lost: our data, or the kernel's ACKs.
            space, name, way = ((world.ours, crossing.NEAR, "back") if end == "near"
                                else (world.kernels, crossing.FAR, "forth"))
            with space.inside():
                ns.run("ip", "link", "set", "dev", name, "down")
                until(lambda: world.so_far()[way]["refused"] > 0)
                ns.run("ip", "link", "set", "dev", name, "up")
            thread.join()
        world.end()
    code, _, said = out[0]
    assert code == 0, said
    assert server.taken == [(size, ns.hash_of_generated(size))]
    crossing.judge(capture, shutil.which("tshark"))
