# curl, wrk, ab and httperf against our server; our load against nginx and lighttpd.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import hashlib
import re
import shutil
import subprocess

import pytest

from proofs.wire import servers
from dev import namespace as ns
from proofs.wire import crossing

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
KINDS = ["tap", "packet", "xdp"]
PORT = 8000


def needs(*names):
    """Skips if one of these programs is missing."""
    for name in names:
        if not shutil.which(name):
            pytest.skip(f"{name} is missing: tools/setup --with load")


def may_be(kind):
    """Skips if that driver is not available."""
    if kind == "xdp" and ns.why_no_xdp():
        pytest.skip(ns.why_no_xdp())


@pytest.fixture(name="served", params=KINDS)
def served_fixture(tmp_path, request):
    """A server with a journal; at the end it replays, and its capture has no findings."""
    may_be(request.param)
    with ns.fresh_namespace():
        if request.param != "tap":
            ns.make_pair()
        journal = tmp_path / "journal"
        with ns.Server(tmp_path, "--record", str(journal), kind=request.param) as server:
            with ns.connect():
                pass  # the link is up, and neighbour entries exist
            expect(server, 0)
            yield server
            code, summary, errors = server.end()
            assert code == 0, errors
            assert server.requests <= summary["answers"]["200"], summary
            assert summary["ends"].get("reset", 0) <= server.resets, summary
            capture = tmp_path / "run.pcapng"
            code, text = ns.replay(journal, "--pcapng", capture)
            assert (code, "octet by octet" in text) == (0, True), text
            crossing.judge(capture, shutil.which("tshark"))


def said_by(*words, code=0):
    """Runs a system program, which must end with this code; returns its output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, timeout=120)
    assert done.returncode == code, done
    return done.stdout + done.stderr


def expect(server, requests, resets=0):
    """At least this many requests were answered; at most this many connections were reset."""
    server.requests, server.resets = requests, resets


def test_curl(served, tmp_path):
    """Both families, ranges, resumption, HTTP/1.0, uploads with and without Expect, errors."""
    needs("curl")
    out = tmp_path / "out"
    quiet = ["curl", "-sS", "--globoff"]
    for address in (ns.OURS, f"[{ns.OURS6}]"):
        said_by(*quiet, "--fail", "-o", out, f"http://{address}/bytes/3000000")
        assert out.read_bytes() == ns.generated(3_000_000)
    said_by(*quiet, "-0", "-o", out, f"http://{ns.OURS}/bytes/1461")
    assert out.read_bytes() == ns.generated(1461)
    said_by(*quiet, "-r", "1000-1999", "-o", out, f"http://{ns.OURS}/bytes/3000")
    assert out.read_bytes() == ns.generated(1000, 1000)
    said_by(*quiet, "-C", "-", "-o", out, f"http://{ns.OURS}/bytes/70000")  # the rest of the file
    body = tmp_path / "body"
    body.write_bytes(ns.generated(2_000_000))
    expected = f"2000000 {hashlib.sha256(body.read_bytes()).hexdigest()}\n"
    for words in (["-T", body], ["-T", body, "-H", "Expect:"], ["--data-binary", f"@{body}"],
                  ["-T", body, "-H", "Transfer-Encoding: chunked"]):
        assert said_by(*quiet, "--fail", *words, f"http://{ns.OURS}/sink") == expected, words
    small = tmp_path / "small"
    small.write_bytes(b"x")
    for words, status in ((["-T", body], "413"), (["-T", small], "405"), (["-X", "DELETE"], "405"),
                          ([], "404")):
        assert said_by(*quiet, "-o", "/dev/null", "-w", "%{http_code}", *words,
                       f"http://{ns.OURS}/nothing") == status
    assert "Content-Length: 12345" in said_by(*quiet, "-I", f"http://{ns.OURS}/bytes/12345")
    expect(served, 8)


def test_wrk(served):
    """As fast as it can for a second: nothing fails."""
    needs("wrk")
    text = said_by("wrk", "-t", 1, "-c", 16, "-d", "1s", f"http://{ns.OURS}/bytes/1000")
    assert "Socket errors" not in text and "Non-2xx" not in text, text
    # It closes connections when its time is over, even with requests in progress.
    expect(served, int(re.search(r"(\d+) requests in", text)[1]), resets=16)


@pytest.mark.parametrize("keep", [[], ["-k"]], ids=["closing", "kept"])
def test_ab(served, keep):
    """Connections of one request each, and persistent ones."""
    needs("ab")
    text = said_by("ab", "-q", *keep, "-n", 1000, "-c", 20, f"http://{ns.OURS}/bytes/10000")
    assert re.search(r"Complete requests:\s+1000\n", text), text
    assert re.search(r"Failed requests:\s+0\n", text), text
    assert re.search(r"HTML transferred:\s+10000000 bytes\n", text), text
    expect(served, 1000, resets=1000 if not keep else 20)


def test_httperf(served):
    """At a fixed rate, ten calls per connection."""
    needs("httperf")
    text = said_by("httperf", "--hog", "--server", ns.OURS, "--port", 80, "--uri", "/bytes/1461",
                   "--num-conns", 200, "--num-calls", 10, "--rate", 400)
    assert "replies 2000 " in text, text
    assert re.search(r"Errors: total 0 ", text), text
    expect(served, 2000, resets=200)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["nginx", "lighttpd"])
def test_load(tmp_path, name, kind):
    """Our load uses another server over the bus, which loses one frame in a thousand; all octets
    compared."""
    if servers.why_not(name):
        pytest.skip(servers.why_not(name))
    may_be(kind)
    capture = tmp_path / "run.pcap"
    server = {"nginx": servers.nginx, "lighttpd": servers.lighttpd}[name]
    terms = crossing.Terms(loss=crossing.PART // 1000)
    with crossing.Crossing(kind, terms, capture) as world:
        with world.kernels.inside(), server(tmp_path, servers.make_site(tmp_path), PORT):
            for address in (ns.KERNEL, f"[{ns.KERNEL6}]")[:1 if name == "lighttpd" else 2]:
                with world.ours.inside():
                    code, result, said = servers.run_load(
                        tmp_path, f"http://{address}:{PORT}/bytes/10000", "--requests", 300,
                        "--connections", 10, "--requests-per-connection", 10, kind=kind, hosts=())
                assert code == 0, said
                assert result["answered"] == 300 and result["body_octets"] == 3_000_000, said
        world.end()
    crossing.judge(capture, shutil.which("tshark"))
