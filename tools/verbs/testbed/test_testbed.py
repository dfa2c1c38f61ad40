# A middlebox between two ends: its losses are accounted for, and nothing is left behind.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from dev import namespace as ns

needs_nft = pytest.mark.skipif(shutil.which("nft") is None, reason="nft is missing: tools/setup")
here = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
pytestmark = [here, needs_nft]
SHORT = ["--connections", "4", "--size", "20000", "--duration", "1s"]
PAIR = ["--box", "pair", "--iface", "left", "--iface", "right", "--client", "10.5.0.2/24",
        "--server", "10.5.0.9/24"]


def try_box(folder, *words):
    """(exit code, the result or None, the output)"""
    out = folder / "result.json"
    out.unlink(missing_ok=True)
    done = subprocess.run([str(ns.PROGRAM), "testbed", *words, "--json", str(out)],
                          capture_output=True, text=True, check=False, timeout=120)
    result = json.loads(out.read_text(encoding="utf-8")) if out.exists() else None
    return done.returncode, result, done.stdout + done.stderr


def check_sums(result):
    """offered + injected = delivered + lost, per flow and per direction (the sum of its flows)."""
    rows = result["directions"] + result["flows"]
    for row in rows:
        assert row["offered"] + row["injected"] == row["delivered"] + row["lost"], row
    for direction in result["directions"]:
        assert direction["offered"] > 100 and direction["delivered"] > 100, direction
        for what in ("offered", "injected", "delivered", "lost"):
            assert direction[what] == sum(flow[what] for flow in result["flows"]
                                    if flow["direction"] == direction["direction"])
    for flow in result["flows"]:
        known = sum(cause["frames"] for cause in flow["lost_by"])
        assert flow["lost"] == known + flow["lost_otherwise"], flow
    for load in result["loads"].values():
        assert load["result"]["answered"] > 0, load


def causes_of(result):
    """Dropped frames by the name of the counter."""
    return {cause["cause"]: cause["frames"] for cause in result["causes"]}


@pytest.mark.parametrize("box", ["router", "bridge"])
def test_a_box_that_loses_nothing(tmp_path, box):
    """Without loss everything that is sent arrives, for each flow in both directions."""
    code, result, said = try_box(tmp_path, "--box", box, *SHORT)
    assert code == 0, said
    check_sums(result)
    assert result["lost"] == 0 and not result["causes"], said
    assert len(result["flows"]) == 16  # four connections for each of two loads, in both directions


@pytest.mark.parametrize("box", ["router", "bridge"])
def test_what_is_lost_on_purpose_is_known_of_each_flow(tmp_path, box):
    """Each flow has lost exactly the frames that the rule dropped."""
    code, result, said = try_box(tmp_path, "--box", box, "--lose", "2%", *SHORT)
    assert code == 0, said
    check_sums(result)
    assert causes_of(result) == {"dropped by --lose": result["lost"]}, said
    assert result["lost"] > 0
    assert all(flow["lost_otherwise"] == 0 for flow in result["flows"])


@pytest.mark.parametrize("box,family", [("router", "inet"), ("bridge", "bridge")])
def test_rules_of_the_user(tmp_path, box, family):
    """Drops of a rule are attributed to it if it has a counter; without one it is a finding."""
    rules = tmp_path / "rules"

    def run(counter):
        rules.write_text(f"table {family} box {{ chain forward {{ type filter hook forward "
                         f"priority 0; meta l4proto tcp numgen random mod 100 < 2 {counter} drop "
                         f"comment \"two percent\"; }}; }}\n", encoding="utf-8")
        return try_box(tmp_path, "--box", box, "--rules", str(rules), *SHORT)
    code, result, said = run("counter")
    assert code == 0, said
    check_sums(result)
    assert causes_of(result) == {f"rule of {family} box forward: two percent": result["lost"]}
    code, result, said = run("")
    assert code == 1, said
    assert result["unexplained"] == result["lost"] > 0 and "add a counter to each" in said
    check_sums(result)


def test_a_queue_that_is_full(tmp_path):
    """The queue of --rate is the cause."""
    code, result, said = try_box(tmp_path, "--rate", "20Mbit/s", "--connections", "32", "--size",
                                 "200000", "--duration", "2s")
    assert code == 0, said
    check_sums(result)
    assert result["lost"] > 0
    assert sum(frames for name, frames in causes_of(result).items()
               if name.startswith("queue tbf of box")) == result["lost"], said


def test_a_box_that_forwards_nothing(tmp_path):
    """A finding, with the counter that shows where frames were dropped."""
    rules = tmp_path / "rules"
    rules.write_text("table inet box { chain forward { type filter hook forward priority 0; "
                     "counter drop comment \"closed\"; }; }\n", encoding="utf-8")
    code, result, said = try_box(tmp_path, "--rules", str(rules), "--timeout", "1s", *SHORT)
    assert code == 1, said
    assert "no connection was established" in said
    assert causes_of(result) == {"rule of inet box forward: closed": result["lost"]}, said


def make_users_box():
    """A user's network: two interfaces, and a lossy bridge between their far ends."""
    for near, far in (("left", "far0"), ("right", "far1")):
        ns.run("ip", "link", "add", "dev", near, "type", "veth", "peer", "name", far)
    ns.run("ip", "link", "add", "dev", "users", "type", "bridge", "mcast_snooping", "0")
    for name in ("far0", "far1"):
        ns.run("ip", "link", "set", "dev", name, "master", "users")
    for name in ("left", "right", "far0", "far1", "users"):
        # Automatic IPv6 addresses would appear during the test.
        with open(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6", "w", encoding="ascii") as file:
            file.write("1")
        ns.run("ip", "link", "set", "dev", name, "up")
    ns.until_up("left", "right", "far0", "far1", "users")
    ns.run("nft", "add table bridge t; add chain bridge t c { type filter hook forward priority 0; "
                  "}; add rule bridge t c meta l4proto tcp numgen random mod 100 < 1 drop")


def state():
    """State that a run might change: links, offloads, addresses, rules, queues."""
    out = []
    for words in (["ip", "link"], ["ip", "address"], ["nft", "list", "ruleset"],
                  ["tc", "qdisc"]):
        out.append(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return out


def test_a_pair_of_the_users(tmp_path):
    """Counted in place; nothing in the user's namespace is changed."""
    with ns.fresh_namespace():
        make_users_box()
        before = state()
        code, result, said = try_box(tmp_path, *PAIR, *SHORT)
        assert code == 0, said
        check_sums(result)
        assert causes_of(result) == {"between left and right": result["lost"]}
        assert result["lost"] > 0
        assert state() == before


@pytest.mark.skipif(shutil.which("ethtool") is None, reason="ethtool is missing: tools/setup")
@pytest.mark.parametrize("end", ["left", "right"])
def test_a_pair_that_puts_frames_together(tmp_path, end):
    """Refused with the command that fixes it, which does; the refusal leaves nothing behind."""
    with ns.fresh_namespace():
        make_users_box()
        ns.run("ethtool", "-K", end, "gro", "on")
        before = state()
        code, result, said = try_box(tmp_path, *PAIR, *SHORT)
        assert (code, result) == (3, None), said
        mend = ["ethtool", "-K", end, "gro", "off", "lro", "off"]
        assert said.count("\n") == 1 and f"`{' '.join(mend)}`" in said, said
        assert state() == before
        ns.run(*mend)
        code, result, said = try_box(tmp_path, *PAIR, *SHORT)
        assert code == 0, said
        check_sums(result)


def children(pid):
    """Its child processes, and theirs."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def octets_of(name):
    """Octets received on an interface."""
    shown = subprocess.run(["ip", "-s", "-j", "link", "show", "dev", name], check=True,
                           capture_output=True).stdout
    return json.loads(shown)[0]["stats64"]["rx"]["bytes"]


def until(true):
    """Waits for a condition, at most half a minute."""
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end, "it did not become so"
        time.sleep(0.05)


@pytest.mark.parametrize("number,code", [(signal.SIGINT, 0), (signal.SIGTERM, 0),
                                         (signal.SIGKILL, -9)])
def test_nothing_is_left_however_it_ends(number, code):
    """No process and no table is left; an interrupted run prints its counts."""
    with ns.fresh_namespace():
        make_users_box()
        before = state()
        words = [str(ns.PROGRAM), "testbed", *PAIR, *SHORT[:4], "--duration", "10min"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            until(lambda: len(children(process.pid)) == 4)  # cleanup, server, two loads
            # Both loads have had several answers: neither sends so much in one request.
            until(lambda: min(octets_of("left"), octets_of("right")) > 1_000_000)
            started = children(process.pid)
            process.send_signal(number)
            said, errors = process.communicate(timeout=60)
        assert process.returncode == code, said.decode() + errors.decode()
        assert (b"reconciled" in said) == (code == 0), said
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in started))
        assert state() == before


def test_one_line_for_what_cannot_be(tmp_path):
    """The fix, the exit code, and nothing left behind."""
    rules = tmp_path / "rules"
    rules.write_text("table inet box { chain\n", encoding="utf-8")
    nobody = ["setpriv", "--reuid", "65534", "--clear-groups"]
    with ns.fresh_namespace():
        make_users_box()
        before = state()
        cases = [
            (["--box", "toaster"], 2, "--box"), (["--mtu", "100"], 2, "--mtu"),
            (["--rate", "1bit/s"], 2, "--rate 1bit/s: expected"),
            (["--rate", "fast"], 2, "--rate fast: expected"),
            (["--lose", "101%"], 2, "--lose 101%: expected"),
            (["--duration", "soon"], 2, "--duration soon: expected"),
            (["--timeout", "soon"], 2, "soon"),
            (["--rules", str(tmp_path / "no")], 2, "name a file that can be read"),
            (["--rules", str(rules)], 2, "syntax error"),
            (["--iface", "left"], 2, "they apply to --box pair only"),
            (["--box", "pair"], 2, "give --iface twice"),
            (["--box", "pair", "--iface", "left", "--iface", "left", *PAIR[6:]], 2, "both ends"),
            ([*PAIR[:-1], "10.5.0.2/24"], 2, "choose another"),
            ([*PAIR[:-1], "10.5.0.3/16"], 2, "choose another"),
            ([*PAIR, "--lose", "1%"], 2, "they do not apply to --box pair"),
            (["--box", "pair", "--iface", "left", "--iface", "nope", *PAIR[6:]], 2, "nope"),
            ([*PAIR[:6], "--client", "10.5.0.2", *PAIR[8:]], 2, "its prefix"),
            ([*PAIR[:8], "--server", "2001:db8::1/64"], 2, "IPv4"),
            ([*PAIR[:8], "--server", "10.6.0.9/24"], 2, "not in the network of an --address")]
        for words, code, said in cases:
            done = subprocess.run([str(ns.PROGRAM), "testbed", *words], capture_output=True,
                                  text=True, check=False, timeout=60)
            assert done.returncode == code, (words, done)
            assert said in done.stderr and done.stderr.count("\n") == 1, (words, done)
            assert done.stdout == "" and done.stderr.startswith("lockstep: "), (words, done)
        done = subprocess.run([*nobody, str(ns.PROGRAM), "testbed"], capture_output=True, text=True,
                              check=False, timeout=60)
        assert (done.returncode, done.stderr.count("\n")) == (3, 1)
        assert "run it as root" in done.stderr
        assert state() == before
