# `lockstep ss` against a running server, and clients that misuse its socket, in a namespace.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import json
import socket
import stat
import subprocess

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))


def ss(*words):
    """(exit code, output, errors) of `lockstep ss`."""
    done = subprocess.run([str(ns.PROGRAM), "ss", *map(str, words)], capture_output=True,
                          text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def rows(path, *words):
    """The connections that `ss --json` lists."""
    code, out, errors = ss("--control", path, "--json", *words)
    assert code == 0, errors
    (program,) = json.loads(out)
    assert program["role"] == "serve http"
    return program["connections"]


def raw(path, octets):
    """A connected Unix socket on which these octets were sent."""
    made = socket.socket(socket.AF_UNIX)
    made.connect(str(path))  # waits while the backlog is full
    made.settimeout(60)
    made.sendall(octets)
    return made


@pytest.mark.parametrize("shards", [1, 2])
def test_list(tmp_path, shards):
    """Each connection is listed once, filters pick some, and clients that stall do no harm."""
    path = tmp_path / "control"
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--control", str(path), "--shards", str(shards)) as server:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            stalled = [raw(path, b"lis") for _ in range(20)] + [raw(path, b"list\n")]
            stalled.append(raw(path, b"\x00\xff" * 100))
            held = [ns.connect() for _ in range(5)]
            for each in held:
                each.sendall(ns.get("/bytes/1000"))
                assert each.recv(100)
            ports = {each.getsockname()[1] for each in held}
            found = rows(path, "state", "established", "and", "dst", ns.KERNEL)
            assert {row["remote_port"] for row in found} == ports
            assert len(found) == len(held)
            assert all(row["local_port"] == 80 and row["srtt_ns"] > 0 and row["cwnd"] > 0
                       for row in found)
            some = min(ports)
            (only,) = rows(path, f"dport = :{some}")
            assert only["remote_port"] == some
            assert len(rows(path, "state", "listening")) == shards
            code, table, _ = ss("--control", path, "sport", "=", ":80")
            assert code == 0
            assert "ESTABLISHED" in table
            for each in held + stalled:
                each.close()
            code, summary, errors = server.end()
        assert (code, errors) == (0, "")
        assert summary["connections"] == len(held)
        assert not path.exists()


def test_default_place(tmp_path):
    """Without --control all running programs are listed; `--control none` makes no socket."""
    with ns.fresh_namespace():
        with ns.Server(tmp_path) as server:
            code, out, errors = ss("--json", "state", "listening")
            assert code == 0, errors
            assert server.process.pid in {each["pid"] for each in json.loads(out)}
            server.end()
        with ns.Server(tmp_path, "--control", "none") as server:
            _, out, _ = ss("--json")
            assert f'"pid": {server.process.pid},' not in out
            server.end()


@pytest.mark.parametrize("words, code, said", [
    (["--control", "missing"], 3, "No such file"),
    (["--control", "missing", "stat", "x"], 2, "did you mean 'state'"),
    (["--control", "missing", "sport", "=", ":x"], 2, "expected a port")])
def test_mistakes(words, code, said):
    got, _, errors = ss(*words)
    assert got == code
    assert said in errors
    assert errors.count("\n") == 1
