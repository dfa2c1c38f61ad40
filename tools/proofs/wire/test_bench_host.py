# Our load against our servers and the kernel's on the pair that is used for measurements.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import json
import subprocess

import pytest

from proofs.wire import bench_host
from dev import namespace as ns

EPOLL = ns.ROOT / "build/release/bench_epoll"
pytestmark = pytest.mark.skipif(bench_host.why_not("ethtool") is not None,
                                reason=str(bench_host.why_not("ethtool")))
needs_epoll = pytest.mark.skipif(not EPOLL.exists(), reason=f"{EPOLL} is not built")
WORDS = {"http": ["--workload", "pages", "--connections", 20, "--requests", 60],
         "echo": ["--workload", "pingpong64", "--requests", 300],
         "memcached": ["--workload", "memcached", "--connections", 50, "--updates", 20, "--rate",
                       1000, "--duration", "500ms"]}


@pytest.fixture(name="wire", autouse=True)
def wire_fixture():
    """The pair, in a namespace."""
    with ns.fresh_namespace():
        bench_host.set_up_wire(1500, True)
        yield


def all_answered(served, folder, protocol, port=""):
    """A run in which nothing fails, and which costs the server processor time."""
    url = f"{protocol}://{bench_host.THERE}{port}"
    found = bench_host.measured(served, folder, url, WORDS[protocol])
    received = [bench_host.ran_ns(each) for each in bench_host.receivers(bench_host.SERVER)]
    assert sum(received) > 100_000, "the server's receiving thread received nothing"
    assert not any(found["errors"].values()), found
    assert found["asked"] == found["answered"] > 0
    assert found["server_ns"] > 0 and found["server_memory"] > 1_000_000
    return found


@pytest.mark.parametrize("kind", ["xdp", "packet"])
@pytest.mark.parametrize("protocol", WORDS)
def test_ours(tmp_path, kind, protocol):
    """Each of our servers, with each driver; echo and memcached write their counts as JSON."""
    summary = tmp_path / "summary.json"
    with bench_host.ours(kind, protocol, ["--json", summary]) as served:
        found = all_answered(served, tmp_path, protocol)
    counted = json.loads(summary.read_text(encoding="utf-8"))
    if protocol != "http":
        assert counted["frames_in"] >= found["answered"]
        assert counted["frames_out"] >= found["answered"]


@needs_epoll
@pytest.mark.parametrize("protocol", ["http", "echo"])
def test_epoll(tmp_path, protocol):
    """The reference server also sends every octet correctly."""
    command = [EPOLL, "--port", 8080, "--threads", 2]
    with bench_host.of_the_kernel([*command, *(["--echo"] if protocol == "echo" else [])],
                             8080) as served:
        all_answered(served, tmp_path, protocol, ":8080")


@pytest.mark.parametrize("window", [8192, 6_291_456])
def test_a_window(tmp_path, window):
    """--window sets the window at both ends; long messages pass in both directions."""
    with bench_host.ours("xdp", "echo", ["--window", window]) as served:
        found = bench_host.load(served, tmp_path, f"echo://{bench_host.THERE}",
                           ["--window", window, "--message", 100_000, "--requests", 20])
    assert found["answered"] == 20
    assert not any(found["errors"].values()), found


@pytest.mark.parametrize("words, code, said", [
    (["echo", "--iface", "nowhere", "--address", "10.9.0.9/24"], 2, "no interface nowhere"),
    (["memcached", "--iface", bench_host.SERVER, "--address", "10.9.0.9"], 2, "--address 10.9.0.9"),
    (["echo", "--iface", bench_host.SERVER, "--address", "127.0.0.1/8"], 2, "127.0.0.1")])
def test_bad_input(words, code, said):
    """One line with the fix."""
    done = subprocess.run([str(ns.PROGRAM), "serve", *words], capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == code, done
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
