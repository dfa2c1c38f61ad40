# Journals of the seconds around events and of a killed server: each replays octet by octet.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import hashlib
import shutil
import signal
import struct
import socket
import subprocess
import time

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))


def check(text, size):
    """Checks that it is an answer with all octets of such a body."""
    body = text.split(b"\r\n\r\n", 1)[1]
    assert hashlib.sha256(body).hexdigest() == hashlib.sha256(ns.generated(size)).hexdigest()


def fetch(size):
    """Fetches one body on its own connection, hashed."""
    with ns.connect() as sock:
        sock.sendall(ns.get(f"/bytes/{size}", "Connection: close"))
        check(b"".join(iter(lambda: sock.recv(1 << 20), b"")), size)


def reset_one():
    """A connection that the peer resets in the middle of a body."""
    with ns.connect() as sock:
        sock.sendall(ns.get("/bytes/100000000"))
        sock.recv(10_000)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def wait_for(path, patience=90):
    """Waits until the file exists."""
    end = time.monotonic() + patience
    while not path.exists():
        assert time.monotonic() < end, f"no {path}"
        time.sleep(0.1)


@pytest.mark.parametrize("kind", ["tap", "packet"])
def test_the_seconds_around_a_reset(tmp_path, kind):
    journal = tmp_path / "trouble"
    second = tmp_path / "trouble-2"
    with ns.fresh_namespace():
        if kind == "packet":
            ns.make_pair()
        with ns.Server(tmp_path, "--record", str(journal), "--record-on", "reset",
                       kind=kind) as server:
            end = time.monotonic() + 7  # longer than a piece: the first seconds are discarded
            while time.monotonic() < end:
                fetch(200_000)
            kept = ns.connect()  # open during the snapshot, in the middle of a body
            kept.sendall(ns.get("/bytes/3000000"))
            kept.recv(1000)
            reset_one()
            fetch(1000)
            wait_for(journal)
            kept.close()
            fetch(1000)
            reset_one()
            code, summary, errors = server.end()
    assert code == 0, errors
    assert summary["ends"]["reset"] >= 2
    assert second.exists()  # the end of the run cut its five seconds short
    for path in (journal, second):
        code, text = ns.replay(path)
        assert code == 0, text
        assert "octet by octet" in text
        assert "begins with a snapshot" in text
    assert not (tmp_path / "trouble-3").exists()


def test_no_trouble_no_file(tmp_path):
    journal = tmp_path / "trouble"
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--record", str(journal), "--record-on",
                       "rto,reset,drop:tcp_checksum") as server:
            fetch(100_000)
            code, _, errors = server.end()
    assert code == 0, errors
    assert not journal.exists()


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft is missing: tools/setup")
def test_a_timeout(tmp_path):
    journal = tmp_path / "trouble"
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--record", str(journal), "--record-on", "rto") as server:
            with ns.connect() as sock:
                ns.lose(100, ns.NAME)  # until the server has timed out, and saved its seconds
                sock.sendall(ns.get("/bytes/300000", "Connection: close"))
                wait_for(journal)
                ns.lose_no_more()
                check(b"".join(iter(lambda: sock.recv(1 << 20), b"")), 300_000)
            code, summary, errors = server.end()
    assert code == 0, errors
    assert summary["timeouts"] > 0
    code, text = ns.replay(journal)
    assert code == 0, text


def test_killed(tmp_path):
    journal = tmp_path / "journal"
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--shards", "2", "--record", str(journal)) as server:
            for _ in range(20):
                fetch(50_000)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait(timeout=60)
    frames = 0
    for i in range(2):
        code, text = ns.replay(f"{journal}.{i}")
        assert code == 0, text
        assert "octet by octet" in text
        assert "did not end normally" in text or "is truncated" in text
        frames += ns.frames_sent(f"{journal}.{i}")
    assert frames > 20 * 35


@pytest.mark.parametrize("words, said", [
    (["--record-on", "rto"], "give --record"),
    (["--record", "j", "--record-on", "flood"], "is not a known trouble"),
    (["--record", "j", "--record-on", "drop:nothing"], "no drop reason is called 'nothing'"),
    (["--record", "j", "--record-on", "rto,"], "is not a known trouble"),
    (["--record", "j", "--record-on", "rto", "--connections", "1000000"], "choose fewer")])
def test_bad_troubles(tmp_path, words, said):
    done = subprocess.run([str(ns.PROGRAM), "serve", "http", "--tap", ns.NAME, "--address",
                           f"{ns.OURS}/24", *words], capture_output=True, text=True, check=False,
                          timeout=60, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
