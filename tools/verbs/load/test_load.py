# The load on a TAP and on a veth pair against other servers, in a network namespace.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import os
import shutil
import signal
import subprocess

import pytest

from proofs.wire import servers
from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
PORT = 8000
SERVERS = {"nginx": servers.nginx, "lighttpd": servers.lighttpd, "python": servers.python}


@pytest.fixture(name="kind", params=["tap", "packet"])
def kind_fixture(request):
    """A namespace with an interface for the load."""
    with ns.fresh_namespace():
        if request.param == "packet":
            ns.make_pair()
        yield request.param


@pytest.fixture(name="alone")
def alone_fixture():
    """An empty namespace."""
    with ns.fresh_namespace():
        yield


def load(folder, path, *words, kind="tap", port=PORT):
    """Runs a load from the kernel's end, which must succeed; returns its JSON."""
    code, result, said = servers.run_load(folder, f"http://{ns.KERNEL}:{port}{path}", *words,
                                          kind=kind)
    assert code == 0, said
    assert not any(result["errors"].values()), said
    assert result["asked"] == result["answered"], said
    return result


@pytest.mark.parametrize("name", SERVERS)
def test_every_octet_of_a_server(tmp_path, kind, name):
    """Bodies of all sizes, on long-lived connections and with one request per connection."""
    if servers.why_not(name):
        pytest.skip(servers.why_not(name))
    site = servers.make_site(tmp_path)
    with SERVERS[name](tmp_path, site, PORT):
        for size in (1, 64, 1460, 10_000, 200_000, 1_500_000):
            result = load(tmp_path, f"/bytes/{size}", "--requests", 20, "--connections", 4,
                          kind=kind)
            assert result["body_octets"] == 20 * size
            assert result["connections"] == 4
        result = load(tmp_path, "/bytes/10000", "--requests", 50, "--connections", 5,
                      "--requests-per-connection", 1, kind=kind)
        assert result["connections"] == 50
        result = load(tmp_path, "/bytes/64", "--rate", 200, "--duration", "1s", "--connections",
                      10, kind=kind)
        assert result["asked"] == 200


@pytest.mark.parametrize("name", ["nginx", "lighttpd"])
def test_pipelined(tmp_path, alone, name):
    """Sixteen requests wait for answers on each connection."""
    if servers.why_not(name):
        pytest.skip(servers.why_not(name))
    with SERVERS[name](tmp_path, servers.make_site(tmp_path), PORT):
        result = load(tmp_path, "/bytes/1460", "--requests", 2000, "--connections", 4,
                      "--pipeline", 16)
        assert result["connections"] == 4


@pytest.mark.skipif(servers.why_not("nginx") is not None, reason=str(servers.why_not("nginx")))
def test_a_run_after_a_run(tmp_path, alone):
    """The server closes first and keeps each connection in TIME-WAIT for a minute. More connections
    than there are ports: the runs use the same ones, which their timestamps let the server take."""
    ns.make_pair()
    with servers.nginx(tmp_path, servers.make_site(tmp_path), PORT):
        for _ in range(2):
            result = load(tmp_path, "/bytes/64", "--requests", 66_000, "--connections", 32,
                          "--requests-per-connection", 1, kind="packet")
            assert result["connections"] == 66_000


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft is missing: tools/setup")
def test_a_run_that_cannot_connect_says_so_first(tmp_path, alone):
    """The kernel drops all SYNs but the first two."""
    ns.make_pair()
    with servers.python(tmp_path, servers.make_site(tmp_path), PORT):
        ns.run("nft", "add table ip t; add chain ip t in { type filter hook input priority 0; }; "
               "add rule ip t in tcp flags syn limit rate over 1/hour burst 2 packets drop")
        code, result, said = servers.run_load(
            tmp_path, f"http://{ns.KERNEL}:{PORT}/bytes/64", "--requests", 20, "--connections", 8,
            "--requests-per-connection", 1, "--timeout", "1s", kind="packet")
    assert code == 1, said
    assert said.startswith("could not connect: "), said
    assert result["connections"] < result["errors"]["no_connect"]


def test_memcached(tmp_path, kind):
    """A real memcached: every key is set, then read, and every octet compared."""
    if servers.why_not("memcached"):
        pytest.skip(servers.why_not("memcached"))
    with servers.memcached(11211):
        code, result, said = servers.run_load(
            tmp_path, f"memcached://{ns.KERNEL}", "--workload", "memcached", "--connections", 200,
            "--rate", 1000, "--duration", "2s", "--updates", 10, kind=kind)
    assert code == 0, said
    assert not any(result["errors"].values()), said
    assert result["asked"] == result["answered"] == 2000, said
    assert result["misses"] == 0
    assert result["updates"] > 100


def test_a_site_for_servers_of_others(tmp_path, alone):
    """Writes a workload's files, and runs the workload against a server that serves them."""
    site = tmp_path / "site"
    done = subprocess.run([str(ns.PROGRAM), "load", "http://10.0.0.1", "--workload", "zipf-files",
                           "--make-site", str(site)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done
    assert len(list((site / "bytes").iterdir())) == 36
    assert (site / "bytes" / "5120").read_bytes() == ns.generated(5120)
    with servers.python(tmp_path, site, PORT):
        code, result, said = servers.run_load(
            tmp_path, f"http://{ns.KERNEL}:{PORT}", "--workload", "zipf-files", "--rate", 50,
            "--requests", 100, "--connections", 20)
    assert code == 0, said
    assert result["answered"] == 100, said


def test_errors_have_their_names(tmp_path, alone):
    """Errors of the server do not end the load, and are counted."""
    with servers.python(tmp_path, servers.make_site(tmp_path), PORT):
        code, result, said = servers.run_load(
            tmp_path, f"http://{ns.KERNEL}:{PORT}/nothing", "--requests", 10)
        assert code == 1, said
        assert result["errors"]["status"] == 10
        (tmp_path / "site" / "bytes" / "5").write_bytes(b"hello")
        code, result, said = servers.run_load(
            tmp_path, f"http://{ns.KERNEL}:{PORT}/bytes/5", "--requests", 10)
        assert code == 1, said
        assert result["errors"]["wrong_body"] == 10
        code, result, said = servers.run_load(
            tmp_path, f"http://{ns.KERNEL}:{PORT}/bytes/64", "--requests", 10, "--fail-if",
            "most>1ns")
        assert code == 1, said
        assert "--fail-if most>1ns: it is " in said


def test_who_cannot_be_reached(tmp_path, alone):
    """One line and the exit code for each; the namespace is left unchanged."""
    where = ["--tap", ns.NAME, "--address", f"{ns.OURS}/24", "--host", f"{ns.KERNEL}/24"]
    for words, code, said in [
            ([f"http://{ns.KERNEL}:9", *where], 3, "connection refused"),
            (["http://10.9.0.77:9", "--timeout", "1s", *where], 3, "no connection was established"),
            (["http://192.0.2.1/", *where], 2, "not in the network of an --address"),
            ([f"http://{ns.KERNEL}/", "--iface", "eth7", "--address", f"{ns.OURS}/24"], 2, "eth7"),
            (["http://127.0.0.1/", "--tap", ns.NAME, "--address", "127.0.0.1/8"], 2, "127.0.0.1"),
            ([f"http://{ns.KERNEL}/", "--tap", ns.NAME], 2, "--address is missing"),
            ([f"http://{ns.KERNEL}/", "--rate", "0", *where], 2, "--rate")]:
        done = subprocess.run([str(ns.PROGRAM), "load", *words], capture_output=True, text=True,
                              check=False, timeout=60)
        assert done.returncode == code, done
        assert said in done.stderr, done
        assert done.stdout == ""
        assert done.stderr.startswith("lockstep: ") and done.stderr.count("\n") == 1, done
    shown = subprocess.run(["ip", "-br", "link"], check=True, capture_output=True, text=True)
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["lo"]


def test_an_interrupt_ends_it_with_its_report(tmp_path, alone):
    """SIGINT closes open connections; the report covers the load so far."""
    with servers.python(tmp_path, servers.make_site(tmp_path), PORT):
        command = [str(ns.PROGRAM), "load", f"http://{ns.KERNEL}:{PORT}/bytes/64", "--tap",
                   ns.NAME, "--address", f"{ns.OURS}/24", "--host", f"{ns.KERNEL}/24",
                   "--duration", "10min", "--json", str(tmp_path / "load.json")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                servers.until_it_asks(process)
                process.send_signal(signal.SIGINT)
                text, _ = process.communicate(timeout=60)
            finally:
                process.kill()
        assert process.returncode == 0, text
        assert "requests" in text


def test_a_terminal_shows_a_row_a_second(tmp_path, alone):
    """The live table appears on terminals only."""
    with servers.python(tmp_path, servers.make_site(tmp_path), PORT):
        ours, theirs = os.openpty()
        try:
            command = [str(ns.PROGRAM), "load", f"http://{ns.KERNEL}:{PORT}/bytes/64", "--tap",
                       ns.NAME, "--address", f"{ns.OURS}/24", "--host", f"{ns.KERNEL}/24",
                       "--duration", "3s"]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=False,
                                  timeout=60)
            shown = os.read(ours, 65_536).decode()
        finally:
            os.close(ours)
            os.close(theirs)
    assert done.returncode == 0, done
    lines = shown.splitlines()
    assert "connect" in lines[0] and "latency" in lines[1], shown  # rows of two lines
    assert len(lines) >= 8 and all(len(line) <= 80 for line in lines), shown
    assert lines[4].split()[0] == "1", shown
    assert len(lines[5].split()) == 6, shown
