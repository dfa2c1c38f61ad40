# Thousands of connections that say nothing, beside clients that ask.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import socket
import subprocess

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))


def body_of(path="/bytes/100"):
    """One request on a connection of its own."""
    with ns.connect() as sock:
        sock.sendall(ns.get(path, "Connection: close"))
        out = b""
        while more := sock.recv(65536):
            out += more
    return out.partition(b"\r\n\r\n")[2]


def test_silent_ones_give_way(tmp_path):
    """Three times as many silent connections as there is room for; every request is answered."""
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--connections", "256", "--grace", "50ms",
                       "--record", str(tmp_path / "journal")) as server:
            silent = []
            for _ in range(12):
                for _ in range(64):
                    silent.append(ns.connect())
                assert body_of() == ns.generated(100)
            code, summary, errors = server.end()
            assert code == 0, errors
            assert summary["answers"]["200"] == 12
            assert summary["ends"]["gave_way_silent"] > 0
            for sock in silent:
                sock.close()
        code, text = ns.replay(tmp_path / "journal")
        assert code == 0, text


def test_a_limit_for_each_client(tmp_path):
    with ns.fresh_namespace(), ns.Server(tmp_path, "--per-client", "3") as server:
        kept = [ns.connect() for _ in range(3)]
        with pytest.raises(ConnectionResetError):
            with socket.create_connection((ns.OURS, 80), timeout=30) as fourth:
                fourth.recv(1)
        kept[0].sendall(ns.get("/bytes/1", "Connection: close"))
        assert kept[0].recv(15) == b"HTTP/1.1 200 OK"
        assert server.end()[1]["ends"]["over_client_limit"] == 1
        for sock in kept:
            sock.close()


def test_an_idle_time(tmp_path):
    with ns.fresh_namespace(), ns.Server(tmp_path, "--idle", "200ms") as server:
        with ns.connect() as sock:
            assert sock.recv(1) == b""
        assert server.end()[1]["ends"]["idle"] == 1


@pytest.mark.parametrize("words, said", [
    (["--idle", "0s"], "--idle 0s: expected a time with a unit"),
    (["--grace", "soon"], "--grace soon: expected a time with a unit"),
    (["--shards", "4", "--per-client", "2"], "less than one for each of 4 shards")])
def test_bad_limits(words, said):
    done = subprocess.run([str(ns.PROGRAM), "serve", "http", "--tap", ns.NAME, "--address",
                           f"{ns.OURS}/24", *words], capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode == 2
    assert said in done.stderr
