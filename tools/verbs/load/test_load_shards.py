# The load on several shards, its journals and its metrics, in a network namespace.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import re
import shutil
import signal
import subprocess
import time

import pytest

from proofs.wire import servers
from dev import namespace as ns
from verbs.serve.test_metrics import PORT as METRICS
from verbs.serve.test_metrics import scrape, value

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
PORT = 8000

needs_queues = pytest.mark.skipif(ns.why_not() is None and (ns.why_no_xdp() is not None
                                                            or shutil.which("ethtool") is None),
                                  reason="AF_XDP or ethtool cannot be had here")
needs_nft = pytest.mark.skipif(shutil.which("nft") is None, reason="nft is missing: tools/setup")


def expect_replayed(journal):
    """Replays the journal, which must match octet by octet; returns the number of frames sent."""
    code, text = ns.replay(journal)
    assert code == 0, text
    assert "octet by octet" in text
    return int(re.search(r"([\d,]+) frames out", text)[1].replace(",", ""))


@pytest.mark.parametrize("shards", [1, 2, 5])
@pytest.mark.parametrize("kind", ["tap", "packet", pytest.param("xdp", marks=needs_queues)])
def test_shards(tmp_path, kind, shards):
    """Answers reach the shard that sent the request; each shard has its part, and a journal that
    replays."""
    with ns.fresh_namespace():
        if kind != "tap":
            ns.make_pair(shards if kind == "xdp" else 1)
        journal = tmp_path / "journal"
        with servers.python(tmp_path, servers.make_site(tmp_path), PORT):
            code, result, said = servers.run_load(
                tmp_path, f"http://{ns.KERNEL}:{PORT}/bytes/10000", "--requests", 40 * shards,
                "--requests-per-connection", 5, "--connections", 2 * shards, "--shards", shards,
                "--record", journal, kind=kind)
    assert code == 0, said
    assert result["asked"] == result["answered"] == 40 * shards
    assert result["connections"] >= 8 * shards
    assert not any(result["errors"].values())
    parts = result["shards"]
    assert [part["answered"] for part in parts] == [40] * shards
    for name in ("connections", "frames_in", "frames_out"):
        assert sum(part[name] for part in parts) == result[name]
    assert sum(part["ring_full"] for part in parts) == 0
    frames = 0
    for i in range(shards):
        path = journal if shards == 1 else f"{journal}.{i}"
        frames += expect_replayed(path)
    assert frames == result["frames_out"]


@needs_nft
def test_a_journal_with_loss_and_an_edited_one(tmp_path):
    journal = tmp_path / "journal"
    with ns.fresh_namespace():
        ns.make_pair()
        with servers.python(tmp_path, servers.make_site(tmp_path), PORT):
            ns.lose(2, ns.PEER)
            code, result, said = servers.run_load(
                tmp_path, f"http://{ns.KERNEL}:{PORT}/bytes/200000", "--requests", 40,
                "--connections", 4, "--record", journal, "--close", "client", kind="packet")
            assert ns.lost() > 0
    assert code == 0, said
    assert expect_replayed(journal) == result["frames_out"]
    octets = bytearray(journal.read_bytes())
    at = octets.index(b"HTTP/1.1 200 OK")  # in the first answer, which is made an error
    octets[at + 9] = ord("5")
    journal.write_bytes(octets)
    code, text = ns.replay(journal)
    assert code == 1, text
    assert re.search(r"edited: record \d+ was changed after it was written", text), text
    assert "first divergence: frame " in text


def test_killed(tmp_path):
    """The part of the journal that was written to the file replays."""
    journal = tmp_path / "journal"
    with ns.fresh_namespace():
        with servers.python(tmp_path, servers.make_site(tmp_path), PORT):
            command = [str(ns.PROGRAM), "load", f"http://{ns.KERNEL}:{PORT}/bytes/1460", "--tap",
                       ns.NAME, "--address", f"{ns.OURS}/24", "--host", f"{ns.KERNEL}/24",
                       "--duration", "10min", "--shards", "2", "--connections", "4", "--record",
                       str(journal)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                try:
                    servers.until_it_asks(process)
                finally:
                    process.send_signal(signal.SIGKILL)
    assert sum(expect_replayed(f"{journal}.{i}") for i in range(2)) > 50


@pytest.mark.parametrize("shards", [1, 2])
def test_metrics(tmp_path, shards):
    """Served by the load's own stack, while the load runs."""
    with ns.fresh_namespace():
        with servers.python(tmp_path, servers.make_site(tmp_path), PORT):
            command = [str(ns.PROGRAM), "load", f"http://{ns.KERNEL}:{PORT}/bytes/1460", "--tap",
                       ns.NAME, "--address", f"{ns.OURS}/24", "--host", f"{ns.KERNEL}/24",
                       "--duration", "10min", "--shards", str(shards), "--connections", "4",
                       "--metrics", f"{ns.OURS}:{METRICS}"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                try:
                    servers.until_it_asks(process)
                    end = time.monotonic() + 60
                    body = ""
                    while (value(body, "lockstep_answered_total") < 20
                           or value(body, "lockstep_connections_open") < 4):
                        assert time.monotonic() < end, body
                        _, body = scrape()
                    process.send_signal(signal.SIGINT)
                    text, _ = process.communicate(timeout=60)
                finally:
                    process.kill()
    assert process.returncode == 0, text
    assert value(body, "lockstep_connections_open") == 4
    assert value(body, "lockstep_faults_total") == 0
    assert len(re.findall(r"lockstep_asked_total\{", body)) == shards
    assert re.search(r'lockstep_latency_seconds\{quantile="0.99",shard="0"\} 0\.\d{9}\n', body)
    with_type = set(re.findall(r"^# TYPE (\S+) ", body, re.MULTILINE))
    assert with_type == set(re.findall(r"^# HELP (\S+) ", body, re.MULTILINE))


@pytest.mark.parametrize("scheme, shards", [("echo", 1), ("echo", 3), ("memcached", 1)])
def test_servers_without_files(tmp_path, scheme, shards):
    """A load and `serve echo` or `serve cache` on a pair, both recorded."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    parts = ["--shards", str(shards)] if scheme == "echo" else []
    with ns.fresh_namespace():
        ns.make_pair()
        ns.run("ip", "address", "flush", "dev", ns.PEER)
        name = {"echo": "echo", "memcached": "cache"}[scheme]
        command = [str(ns.PROGRAM), "serve", name, "--iface", ns.PEER, "--address",
                   "10.9.0.3/24", "--record", str(theirs), *parts]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout.readline().startswith(f"serving {scheme}://10.9.0.3")
                code, result, said = servers.run_load(
                    tmp_path, f"{scheme}://10.9.0.3", "--requests", 300, "--connections", 6,
                    "--record", ours, "--shards", 2, kind="packet",
                    addresses=(f"{ns.OURS}/24",))
                server.send_signal(signal.SIGINT)
                text, _ = server.communicate(timeout=60)
            finally:
                server.kill()
    assert code == 0, said
    assert result["answered"] == 300
    assert server.returncode == 0, text
    assert sum(expect_replayed(f"{ours}.{i}") for i in range(2)) == result["frames_out"]
    written = [f"{theirs}.{i}" for i in range(shards)] if shards > 1 else [theirs]
    assert sum(map(expect_replayed, written)) > 300  # a shard may have sent none


@pytest.mark.parametrize("words, said", [
    (["--shards", "3", "--connections", "2"], "shard 2 would be idle"),
    (["--shards", "2", "--rate", "1", "--connections", "2"], "shard 1 would be idle"),
    (["--metrics", "10.9.0.77:9100"], "not one of --address"),
    (["--metrics", f"{ns.OURS}:9100", "--record", "j"], "leave out --record"),
    (["--cpus", "0,1"], "2 processors for 1 shards")])
def test_bad_words(tmp_path, words, said):
    """One line, and nothing is left behind."""
    done = subprocess.run([str(ns.PROGRAM), "load", f"http://{ns.KERNEL}/", "--tap", ns.NAME,
                           "--address", f"{ns.OURS}/24", *words], capture_output=True, text=True,
                          check=False, timeout=60, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
