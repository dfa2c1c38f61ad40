# What a deployer sees of a running server: its access log, events, captures and configuration.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import json
import os
import re
import select
import signal
import socket
import subprocess
import time

import pytest

from dev import namespace as ns
from proofs.wire import servers

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))


def exchange(octets):
    """What the server answers to these octets on a connection of its own."""
    with ns.connect() as sock:
        sock.sendall(octets)
        sock.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: sock.recv(65_536), b""))


def until(path, holds, patience=30):
    """Waits until the text of a file satisfies `holds`; returns it."""
    end = time.monotonic() + patience
    while True:
        text = path.read_text() if path.exists() else ""
        if holds(text):
            return text
        assert time.monotonic() < end, text
        time.sleep(0.05)


def test_access_log(tmp_path):
    """Lines in the combined format, hostile requests escaped, and SIGHUP after a rotation."""
    log = tmp_path / "access.log"
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--access-log", str(log), "--log", "json") as server:
            exchange(ns.get("/bytes/1000", "User-Agent: a\"b", "Referer: http://r/"))
            exchange(b"\x16\x03\x01\x00\x05nonsense\r\n\r\n")
            exchange(ns.get("/missing"))
            text = until(log, lambda text: text.count("\n") == 3)
            lines = text.splitlines()
            begin = rf'{ns.KERNEL} - - \[\d\d/[A-Z][a-z][a-z]/20\d\d:[\d:]{{8}} \+0000\] '
            assert re.fullmatch(begin + r'"GET /bytes/1000 HTTP/1.1" 200 1000 "http://r/" '
                                r'"a\\"b"', lines[0])
            assert re.fullmatch(begin + r'"\\x16\\x03\\x01\\x00\\x05nonsense" 400 \d+ "-" "-"',
                                lines[1])
            assert re.fullmatch(begin + r'"GET /missing HTTP/1.1" 404 \d+ "-" "-"', lines[2])
            log.rename(tmp_path / "access.log.1")
            server.process.send_signal(signal.SIGHUP)
            until(log, lambda text: log.exists())
            exchange(ns.get("/bytes/1"))
            until(log, lambda text: text.count("\n") == 1)
            code, summary, errors = server.end()
    assert code == 0, errors
    assert summary["requests"] == 4
    events = [json.loads(line) for line in errors.splitlines()]
    assert [each["event"] for each in events] == ["serving", "access_log_reopened", "ended"]
    assert all(each["level"] == "info" and each["time"].endswith("Z") for each in events)


def events_of(errors):
    """Names and fields of the lines of --log json."""
    events = [json.loads(line) for line in errors.splitlines()]
    return [each["event"] for each in events], events


@pytest.mark.parametrize("what, port", [("echo", 7), ("cache", 11_211)])
def test_events_of_plain_servers(what, port):
    """They say begin and end, as serve http does."""
    with ns.fresh_namespace():
        with subprocess.Popen(
                [str(ns.PROGRAM), "serve", what, "--tap", ns.NAME, "--address", f"{ns.OURS}/24",
                 "--host", f"{ns.KERNEL}/24", "--log", "json"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True) as server:
            assert server.stdout.readline().startswith("serving ")
            with ns.connect(port=port) as peer:
                peer.sendall(b"version\r\n")
                assert peer.recv(100)  # so the server has seen the connection
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate(timeout=60)
    names, events = events_of(errors)
    assert names == ["serving", "ended"]
    assert (events[0]["interface"], events[0]["port"]) == (ns.NAME, port)
    assert (events[1]["ending"], events[1]["connections"]) == ("stopped", 1)


def test_events_of_a_load():
    """Begin and end, although nobody answers."""
    with ns.fresh_namespace():
        done = subprocess.run(
            [str(ns.PROGRAM), "load", f"http://{ns.KERNEL}:9/", "--tap", ns.NAME, "--address",
             f"{ns.OURS}/24", "--host", f"{ns.KERNEL}/24", "--requests", "1", "--log", "json"],
            capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    names, events = events_of("\n".join(lines[:2]))
    assert names == ["loading", "ended"]
    assert (events[0]["interface"], events[0]["targets"]) == (ns.NAME, 1)
    assert (events[1]["answered"], events[1]["errors"]) == (0, 1)
    assert "connection refused" in lines[2]


def test_full_disk(tmp_path):
    """A full disk is said once, and the server goes on."""
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--access-log", "/dev/full") as server:
            for _ in range(20):
                assert exchange(ns.get("/bytes/10")).startswith(b"HTTP/1.1 200")
            server.process.send_signal(signal.SIGINT)
            said, errors = server.process.communicate(timeout=60)
    assert server.process.returncode == 3
    assert "access log       0 lines, 20 lost\n" in said.decode()
    summary = json.loads(server.summary.read_text(encoding="utf-8"))
    assert summary["access_log"] == {"lines": 0, "lost": 20}
    warning, failure = errors.decode().splitlines()
    assert "No space left on device: lines wait" in warning
    assert "No space left on device: 20 lines were lost" in failure


def test_lines_lost_in_a_burst(tmp_path):
    """A disk that is slow, but not full: here a pipe that nobody reads while lines arrive."""
    log, asked = tmp_path / "access.log", 1_000
    os.mkfifo(log)
    with ns.fresh_namespace(), open(os.open(log, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        with ns.Server(tmp_path, "--access-log", str(log)) as server:
            long = ns.get("/" + "x" * 500, "User-Agent: " + "é" * 80, "Referer: " + "é" * 80)
            for _ in range(asked // 50):  # 1.9 MB of lines: more than pipe and buffers hold
                assert exchange(long * 50).count(b"HTTP/1.1 404") == 50
            server.process.send_signal(signal.SIGINT)
            os.set_blocking(reader.fileno(), True)
            lines = reader.read().count(b"\n")
            _, errors = server.process.communicate(timeout=60)
    assert server.process.returncode == 3
    summary = json.loads(server.summary.read_text(encoding="utf-8"))
    lost = summary["access_log"]["lost"]
    assert 0 < lost < asked and lines == summary["access_log"]["lines"] == asked - lost
    assert errors.decode().splitlines() == [
        f"lockstep: --access-log {log}: {lost} lines were lost: they came faster than they could "
        "be written; choose a faster disk"]


def test_hangup_at_the_start(tmp_path):
    """A SIGHUP before the server has tested its addresses does not end it."""
    log = tmp_path / "access.log"
    with ns.fresh_namespace():
        begun = subprocess.Popen(
            [str(ns.PROGRAM), "serve", "http", "--tap", ns.NAME, "--address", f"{ns.OURS}/24",
             "--host", f"{ns.KERNEL}/24", "--access-log", str(log)], stdout=subprocess.PIPE)
        with begun:
            until(log, lambda text: log.exists())
            # It has not tested its addresses yet: that takes half a second.
            assert not select.select([begun.stdout], [], [], 0)[0]
            begun.send_signal(signal.SIGHUP)
            assert begun.stdout.readline().startswith(b"serving ")
            begun.send_signal(signal.SIGINT)
            begun.communicate(timeout=60)
    assert begun.returncode == 0


def capture_text(path):
    """The octets of a capture as text, with the comments in it."""
    return path.read_bytes().decode("latin-1")


@pytest.mark.parametrize("kind", ["tap", "packet"])
def test_capture(tmp_path, kind):
    """Every frame is in the files, drops have comments, the files are bounded."""
    run = tmp_path / "run.pcapng"
    with ns.fresh_namespace():
        if kind != "tap":
            ns.make_pair()
        with ns.Server(tmp_path, "--pcapng", str(run), "--pcapng-size", "256KiB", "--pcapng-files",
                       "2", kind=kind) as server:
            exchange(ns.get("/bytes/1000"))
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as closed:
                with pytest.raises(OSError):
                    closed.connect((ns.OURS, 9))
            first = tmp_path / "run-00001.pcapng"
            end = time.monotonic() + 30
            while not re.search("dropped[^:]*: [^;]*tcp_closed", capture_text(first)):
                assert time.monotonic() < end, re.findall("dropped[ -~]*", capture_text(first))
                time.sleep(0.05)
            exchange(ns.get("/bytes/3000000"))
            code, summary, errors = server.end()
    assert code == 0, errors
    names = sorted(each.name for each in tmp_path.glob("run-*.pcapng"))
    assert len(names) == 2
    assert names[-1] > "run-00005.pcapng"
    for name in names:
        done = subprocess.run([str(ns.PROGRAM), "lint", str(tmp_path / name)], check=False,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, 1), done.stderr
        assert os.path.getsize(tmp_path / name) < 1 << 19
    assert summary["requests"] == 2


@pytest.mark.parametrize("verb", ["serve", "load"])
def test_capture_on_a_full_disk(tmp_path, verb):
    """The summary is whole, the exit code is 3, and the last line says what is missing."""
    words = ["--pcapng", str(tmp_path / "run.pcapng"), "--force"]
    (tmp_path / "run-00001.pcapng").symlink_to("/dev/full")
    with ns.fresh_namespace():
        if verb == "serve":
            with ns.Server(tmp_path, *words) as server:
                assert exchange(ns.get("/bytes/10")).startswith(b"HTTP/1.1 200")
                server.process.send_signal(signal.SIGINT)
                said, errors = server.process.communicate(timeout=60)
                code = server.process.returncode
        else:
            with servers.python(tmp_path, servers.make_site(tmp_path), 8000):
                done = subprocess.run(
                    [str(ns.PROGRAM), "load", f"http://{ns.KERNEL}:8000/bytes/64", "--tap", ns.NAME,
                     "--address", f"{ns.OURS}/24", "--host", f"{ns.KERNEL}/24", "--requests", "4",
                     *words], capture_output=True, check=False, timeout=60)
            code, said, errors = done.returncode, done.stdout, done.stderr
    assert code == 3
    left_out = re.search(r"captured +0 frames, up to \S+; (\d+) left out\n", said.decode())[1]
    warning, failure = errors.decode().splitlines()
    assert "No space left on device: frames are not captured" in warning
    assert failure == (f"lockstep: --pcapng {tmp_path}/run.pcapng: No space left on device: "
                       f"{left_out} frames are not in the capture; free space on the disk")


def test_config(tmp_path):
    """A configuration that was printed serves as the command line did."""
    words = ["serve", "http", "--tap", ns.NAME, "--address", f"{ns.OURS}/24", "--host",
             f"{ns.KERNEL}/24", "--port", "8080", "--json", str(tmp_path / "s.json")]
    file = tmp_path / "serve.toml"
    printed = subprocess.run([str(ns.PROGRAM), *words, "--print-config"], check=True,
                             capture_output=True, text=True, timeout=60).stdout
    file.write_text(printed)
    again = subprocess.run([str(ns.PROGRAM), "serve", "http", "--config", str(file),
                            "--print-config"], check=True, capture_output=True, text=True,
                           timeout=60).stdout
    assert again == printed
    with ns.fresh_namespace():
        with subprocess.Popen([str(ns.PROGRAM), "serve", "http", "--config", str(file)],
                              stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout.readline().startswith(f"serving http://{ns.OURS}:8080/")
            with ns.connect(port=8080) as sock:
                sock.sendall(ns.get("/bytes/10"))
                assert sock.recv(100).startswith(b"HTTP/1.1 200")
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)
        assert server.returncode == 0


@pytest.mark.parametrize("verb, text, said", [
    (["serve", "http"], "prot = 80\n", ":1: lockstep serve http has no option 'prot' (did you "
                                       "mean 'port'?)"),
    (["serve", "http"], "tap = 'x'\naddress = '10.0.0.1/24'\n\nport = 70000\n", ":4: --port: "),
    (["serve", "http"], "tap = 'x'\naddress = '10.0.0.1'\n", ":2: --address 10.0.0.1: expected"),
    (["load"], "url = 'http://10.0.0.1/'\nconections = 5\n", "did you mean 'connections'"),
    (["testbed"], "box = 'ruter'\n", ":1: --box: ruter not in"),
    (["serve", "echo"], "tap = 'x'\nport = = 7\n", "not TOML")])
def test_wrong_config(tmp_path, verb, text, said):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    done = subprocess.run([str(ns.PROGRAM), *verb, "--config", str(file)], capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert str(file) + (said if said.startswith(":") else ":2: ") in done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
