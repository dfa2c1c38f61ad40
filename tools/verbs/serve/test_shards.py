# The server on several shards with the kernel's clients: every octet hashed, each journal replayed.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import hashlib
import shutil
import subprocess

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
SIZE = 30_000
EXPECTED = hashlib.sha256(ns.generated(SIZE)).hexdigest()


def read_to_end(sock):
    """Reads until the other side closes."""
    out = bytearray()
    while more := sock.recv(1 << 20):
        out += more
    return bytes(out)


def ask(address, count):
    """Opens this many connections in parallel, each for a body that is hashed."""
    sockets = [ns.connect(address) for _ in range(count)]
    for sock in sockets:
        sock.sendall(ns.get(f"/bytes/{SIZE}", "Connection: close"))
    for sock in sockets:
        body = read_to_end(sock).split(b"\r\n\r\n", 1)[1]
        assert hashlib.sha256(body).hexdigest() == EXPECTED
        sock.close()


needs_queues = pytest.mark.skipif(ns.why_not() is None and (ns.why_no_xdp() is not None
                                                            or shutil.which("ethtool") is None),
                                  reason="AF_XDP or ethtool cannot be had here")


@pytest.mark.parametrize("shards", [2, 5])
@pytest.mark.parametrize("kind", ["tap", "packet", pytest.param("xdp", marks=needs_queues)])
def test_shards(tmp_path, kind, shards):
    """Frames reach their shard by the kernel's steering or, from a queue of AF_XDP, by
    forwarding."""
    count = 40 * shards
    with ns.fresh_namespace():
        if kind != "tap":
            ns.make_pair(shards if kind == "xdp" else 1)
        journal = tmp_path / "journal"
        with ns.Server(tmp_path, "--shards", str(shards), "--record", str(journal),
                       kind=kind) as server:
            ask(ns.OURS, count)
            ask(ns.OURS6, count)
            code, summary, errors = server.end()
    assert code == 0, errors
    assert summary["ending"] == "stopped"
    assert summary["connections"] == 2 * count
    assert summary["requests"] == 2 * count
    assert summary["lost"]["wrong_shard"] == 0
    assert summary["ends"].get("reset", 0) == 0
    parts = summary["shards"]
    assert len(parts) == shards
    assert sum(part["connections"] for part in parts) == 2 * count
    assert all(part["connections"] > 0 for part in parts)
    forwarded = sum(part["forwarded"] for part in parts)
    if kind == "xdp":
        # The sender chose the queue by its own hash, so most flows arrived at another shard's
        # queue.
        assert forwarded > count, parts
        assert all(part["given"] > 0 for part in parts), parts
    else:
        # With the kernel's steering no frame of a flow is forwarded, only some ICMP.
        assert forwarded < count / 4, parts
    assert sum(part["announced"] for part in parts) > 0
    for i in range(shards):
        code, text = ns.replay(f"{journal}.{i}")
        assert code == 0, text
        assert "octet by octet" in text


@needs_queues
def test_a_queue_for_each_shard(tmp_path):
    """Any other number of queues is refused in one line with a fix; so is zero-copy, which veth
    lacks."""
    with ns.fresh_namespace():
        ns.make_pair(2)
        for words, said in [
                (["--driver", "xdp"], "2 queues, of which only 1 is used: `ethtool -L lock0 rx 1` "
                                      "(or --shards 2, one for each)"),
                (["--driver", "xdp", "--shards", "3"],
                 "2 queues, of which only 3 are used: `ethtool -L lock0 rx 3 tx 3`"),
                (["--shards", "2", "--driver", "xdp-zero-copy"],
                 "driver veth, which has no zero-copy: --driver xdp")]:
            done = subprocess.run([str(ns.PROGRAM), "serve", "http", "--iface", ns.NAME,
                                   "--address", f"{ns.OURS}/24", *words],
                                  capture_output=True, text=True, check=False, timeout=60)
            assert done.returncode == 3, done
            assert said in done.stderr
            assert done.stderr.count("\n") == 1
        ns.run("ethtool", "-L", ns.NAME, "tx", "1")
        done = subprocess.run([str(ns.PROGRAM), "serve", "http", "--iface", ns.NAME, "--address",
                               f"{ns.OURS}/24", "--shards", "2", "--driver", "xdp"],
                              capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 3, done
        assert "2 queues to receive and 1 to send" in done.stderr
        assert "`ethtool -L lock0 rx 2 tx 2`" in done.stderr
        ns.run("ethtool", "-L", ns.NAME, "tx", "2")
        # Nothing is left behind: the same interface can be used again at once.
        with ns.Server(tmp_path, "--shards", "2", kind="xdp") as server:
            ask(ns.OURS, 8)
            assert server.end()[0] == 0


def test_processors_are_named_one_by_one(tmp_path):
    with ns.fresh_namespace():
        for cpus, words in [("0", "1 processors for 2 shards"), ("0,999", "may not run"),
                            ("0;1", "is not a list of processors")]:
            done = subprocess.run([str(ns.PROGRAM), "serve", "http", "--tap", ns.NAME, "--address",
                                   f"{ns.OURS}/24", "--shards", "2", "--cpus", cpus],
                                  capture_output=True, text=True, check=False, timeout=60)
            assert done.returncode == 2
            assert words in done.stderr
            assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
