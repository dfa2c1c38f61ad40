# The doctor on a pair of interfaces: creates each fault, then applies the suggested fix.
"""Needs root, like the tests of serve; skipped otherwise, with the reason."""
import concurrent.futures
import json
import shutil
import socket
import subprocess

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
needs_xdp = pytest.mark.skipif(ns.why_not() is None and ns.why_no_xdp() is not None,
                               reason="AF_XDP cannot be had here")
needs_ethtool = pytest.mark.skipif(shutil.which("ethtool") is None, reason="ethtool is missing: "
                                   "tools/setup --with capture")


@pytest.fixture(name="pair", autouse=True)
def pair_fixture():
    """Two interfaces that are up, in their own namespace."""
    with ns.fresh_namespace():
        ns.make_pair()
        yield


def doctor(*words, before=()):
    """(exit code, the checks by name)"""
    done = subprocess.run([*before, str(ns.PROGRAM), "doctor", "--iface", ns.NAME, "--json",
                           *words], capture_output=True, text=True, check=False, timeout=30)
    assert done.stderr == ""
    said = json.loads(done.stdout)
    assert (said["breaks"] != 0) == (done.returncode == 1)
    return done.returncode, {check["check"]: check for check in said["checks"]}


def broken(checks):
    """The names of the checks that failed."""
    return [name for name, check in checks.items() if check["severity"] == "breaks"]


def mend(check):
    """Runs the suggested command."""
    subprocess.run(check["mend"].split(", if")[0], shell=True, check=True, capture_output=True)


@needs_xdp
@pytest.mark.parametrize("driver", ["packet", "xdp", "xdp-native"])
def test_a_pair_as_the_kernel_makes_it_is_fine(driver):
    code, checks = doctor("--driver", driver, "--address", f"{ns.OURS}/24")
    assert (code, broken(checks)) == (0, [])
    assert checks["interface"]["found"] == "veth, up"


@needs_xdp
@needs_ethtool
def test_offloads_that_break_are_mended():
    code, checks = doctor("--driver", "xdp-generic")
    assert (code, broken(checks)) == (1, ["long frames"])
    assert "tso gso on at lock1" in checks["long frames"]["found"]
    mend(checks["long frames"])
    code, checks = doctor("--driver", "xdp-generic")
    assert (code, broken(checks)) == (0, [])
    assert "lock1 offloads them" in checks["checksums"]["found"]
    ns.run("ethtool", "-K", ns.PEER, "tx", "off")
    assert doctor("--driver", "xdp")[1]["checksums"]["found"] == "the other end computes them"


def test_address_and_neighbours():
    ns.run("ip", "address", "add", f"{ns.OURS}/24", "dev", "lo")
    ns.run("ip", "neighbour", "add", ns.OURS, "lladdr", "02:00:00:00:00:09", "dev", ns.PEER)
    code, checks = doctor("--address", f"{ns.OURS}/24")
    assert (code, broken(checks)) == (1, ["address", "neighbours"])
    mend(checks["address"])
    mend(checks["neighbours"])
    assert doctor("--address", f"{ns.OURS}/24")[0] == 0
    ns.run("ip", "address", "add", f"{ns.OURS6}/64", "dev", ns.PEER)
    code, checks = doctor("--address", f"{ns.OURS6}/64")
    assert (code, broken(checks)) == (1, ["address"])
    mend(checks["address"])
    assert doctor("--address", f"{ns.OURS6}/64")[0] == 0
    # The kernel has our address with another prefix length, and by a route alone.
    for words in (("address", "add", f"{ns.OURS}/32"), ("route", "add", "local", "10.9.0.0/29"),
                  ("route", "add", "local", f"{ns.OURS}/32")):
        ns.run("ip", *words, "dev", "lo")
        code, checks = doctor("--address", f"{ns.OURS}/24")
        assert (code, broken(checks)) == (1, ["address"])
        mend(checks["address"])
        assert doctor("--address", f"{ns.OURS}/24")[0] == 0


def test_down_mtu_and_forwarding():
    ns.run("ip", "link", "set", "dev", ns.PEER, "down")
    _, checks = doctor()
    assert broken(checks) == ["interface"]
    mend(checks["interface"])
    ns.run("ip", "link", "set", "dev", ns.NAME, "down")
    mend(doctor()[1]["interface"])
    with open(f"/proc/sys/net/ipv4/conf/{ns.NAME}/forwarding", "w", encoding="ascii") as setting:
        setting.write("1")
    _, checks = doctor()
    assert broken(checks) == ["forwarding"]
    with open(f"/proc/sys/net/ipv4/conf/{ns.NAME}/forwarding", "w", encoding="ascii") as setting:
        setting.write("0")
    ns.run("ip", "link", "set", "dev", ns.NAME, "mtu", "9000")
    assert doctor()[0] == 0
    _, checks = doctor("--driver", "xdp")
    assert "MTU" in broken(checks)
    mend(checks["MTU"])
    assert doctor()[0] == 0


@needs_xdp
def test_a_program_that_is_there_already(tmp_path):
    with ns.Server(tmp_path, kind="xdp"):
        code, checks = doctor("--driver", "xdp")
        assert (code, broken(checks)) == (1, ["XDP program"])
        assert doctor("--driver", "packet")[0] == 0
    assert doctor("--driver", "xdp")[0] == 0


@needs_xdp
@needs_ethtool
def test_queues():
    ns.run("ip", "link", "delete", "dev", ns.NAME)
    ns.run("ip", "link", "add", "dev", ns.NAME, "numrxqueues", "2", "type", "veth",
           "peer", "name", ns.PEER)
    for name in (ns.NAME, ns.PEER):
        ns.run("ip", "link", "set", "dev", name, "up")
    ns.run("ethtool", "-L", ns.NAME, "rx", "2")
    _, checks = doctor("--driver", "xdp")
    assert broken(checks) == ["queues and RSS"]
    mend(checks["queues and RSS"])
    assert doctor("--driver", "xdp")[0] == 0


@needs_xdp
@needs_ethtool
def test_queues_that_cannot_send():
    ns.run("ip", "link", "delete", "dev", ns.NAME)
    ns.make_pair(2)
    ns.run("ethtool", "-L", ns.NAME, "tx", "1")
    _, checks = doctor("--driver", "xdp", "--shards", "2")
    assert broken(checks) == ["queues and RSS"]
    mend(checks["queues and RSS"])
    assert doctor("--driver", "xdp", "--shards", "2")[0] == 0


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is missing")
def test_without_rights():
    nobody = ["setpriv", "--reuid", "65534", "--clear-groups"]
    for driver in ("packet", "xdp"):
        code, checks = doctor("--driver", driver, before=nobody)
        assert (code, broken(checks)) == (1, ["rights"])
        assert "setcap cap_net_raw" in checks["rights"]["mend"]
    # Root of a user namespace may open packet sockets but not load programs.
    if subprocess.run(["unshare", "-Ur", "true"], check=False, capture_output=True).returncode == 0:
        inside = ["unshare", "-Urn", "sh", "-c", "ip link add dev lock0 type veth peer name lock1 "
                  "&& ip link set dev lock0 up && ip link set dev lock1 up && exec \"$@\"", "sh"]
        assert doctor("--driver", "packet", before=inside)[0] == 0
        code, checks = doctor("--driver", "xdp", before=inside)
        assert (code, broken(checks)) == (1, ["rights"])
        assert "outside of this user namespace" in checks["rights"]["mend"]


def test_one_line_for_what_cannot_be():
    for words in (["--iface", "nope0"], ["--iface", ns.NAME, "--address", "10.9.0.2"],
                  ["--iface", ns.NAME, "--driver", "carrier-pigeon"]):
        done = subprocess.run([str(ns.PROGRAM), "doctor", *words], capture_output=True, text=True,
                              check=False, timeout=30)
        assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")


def test_another_host_on_the_wire_has_the_address():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806)) as wire:
        wire.bind((ns.PEER, 0x0806))
        wire.settimeout(30)
        ours = bytes.fromhex("020000000099")

        def answer():
            probe = wire.recv(2048)
            wire.send(probe[6:12] + ours + probe[12:20] + b"\x00\x02" + ours + probe[38:42]
                      + probe[22:28] + bytes(4))

        with concurrent.futures.ThreadPoolExecutor() as pool:
            told = pool.submit(answer)
            code, checks = doctor("--address", "10.9.0.77/24")
            told.result()
    assert (code, broken(checks)) == (1, ["address"])
    assert checks["address"]["found"] == "the host 02:00:00:00:00:99 on this wire has 10.9.0.77"
