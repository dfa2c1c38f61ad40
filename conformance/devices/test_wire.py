# A device on a wire: Linux in a namespace is judged as `--target linux` judges it; what is missing
# is said in a line; the kernel is heard again afterwards.
import functools
import signal
import subprocess
import time
from pathlib import Path

import pytest
import wire_kit
from dev import namespace
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6

from lockstep.testing import wire_frames

DEVICE = f"{wire_kit.PORT}:{wire_kit.DEVICE}"
DEVICE6 = f"{wire_kit.PORT}:[{wire_kit.DEVICE6}]"
#: Tests in which a service can be judged.
PASSIVE = ("(test_segment_arrives and (LISTEN or ESTABLISHED or SYN-RECEIVED) and SYN"
           " and not active) or test_reset_guessed or test_three_ways_passive or test_tiny_mss"
           " or test_old_duplicate_syn")
#: Tests with calls.
HELPED = ("(test_segment_arrives and (FIN-WAIT-1 or TIME-WAIT) and (SYN or RST) and not outside)"
          " or test_bad_ack_in_syn_sent or test_three_ways_active or test_nagle"
          " or test_window_scale or test_text_on_syn_ack or test_abort")
HELPER = wire_kit.ROOT / "build/release/lockstep_agent"
# All use one pair of namespaces, and real time.
pytestmark = pytest.mark.xdist_group("wire")
#: One test, for what is said before it.
ONE = "test_three_ways_passive and ip4"
USAGE, ENVIRONMENT = 4, 3


@pytest.fixture(name="wire", scope="module")
def wire_fixture():
    """A device on a wire, or a skip with the requirement that this machine does not meet."""
    why = namespace.why_no_namespace()
    if why:
        pytest.skip(f"A DEVICE ON A WIRE IS NOT TESTED: {why}")
    made = wire_kit.Wire()
    yield made
    made.close()


def compared(wire, tmp_path, words, chosen, together=True):
    """Runs the tests on the wire twice (`together`: at the same time) and on `--target linux`;
    compares each that was judged on both. Returns how many that are, and how many failed on both.
    """
    ways = [("a", words), ("b", words), ("l", ["--target", "linux"])]
    calls = [functools.partial(wire.run, "-k", chosen, *way, "--lockstep-results",
                               str(tmp_path / name)) for name, way in ways]
    first = calls[0]() if not together else None
    for _, said in filter(None, [first, *wire_kit.at_once(*calls[not together:])]):
        assert " passed" in said, said[-3000:]
    first, second, linux = (wire_kit.outcomes(tmp_path / name) for name, _ in ways)
    assert first == second
    both = [test for test in first if "skipped" not in (first[test], linux[test])]
    assert {test: first[test] for test in both} == {test: linux[test] for test in both}
    return len(both), sum(first[test] == "failed" for test in both)


@pytest.mark.parametrize("target,family", [(DEVICE, "ip4"), (DEVICE6, "ip6")])
def test_its_service_is_judged_as_linux_is(wire, tmp_path, target, family):
    words = ["--target", target, "--target-port", "9"]
    judged, failed = compared(wire, tmp_path, words, f"({PASSIVE}) and {family}")
    assert judged > 50 and failed > 0


@pytest.fixture(name="helped", scope="module")
def helped_fixture(wire):
    """Where lockstep_agent serves the tester on the device, or a skip."""
    if not HELPER.exists():
        pytest.skip(f"A DEVICE'S CALLS ARE NOT TESTED: {HELPER} is not built")
    made, said = wire.on_device([str(HELPER), "--allow", wire_kit.OURS, "--settings"])
    assert said == "lockstep_agent: it listens\n"
    yield f"{wire_kit.DEVICE}:7007"
    made.send_signal(signal.SIGTERM)
    rest, _ = made.communicate(timeout=wire_kit.PATIENCE_SECONDS)
    assert (made.returncode, rest) == (0, "")


@pytest.mark.parametrize("target,family", [(DEVICE, "ip4"), (DEVICE6, "ip6")])
def test_its_calls_are_judged_as_linux_is(wire, helped, tmp_path, target, family):
    before = wire.settings()
    words = ["--target", target, "--agent", helped]
    judged, failed = compared(wire, tmp_path, words, f"({HELPED}) and {family}", together=False)
    assert judged > 50 and failed > 5
    assert wire.settings() == before


def test_a_setting_needs_the_device_s_consent(wire, tmp_path):
    made, _ = wire.on_device([str(HELPER), "--allow", wire_kit.OURS, "--listen",
                              f"{wire_kit.DEVICE}:7008"])
    try:
        code, said = wire.run("-k", "test_paws and ip4 or test_three_ways_active and ip4",
                              "--target", DEVICE, "--agent", f"{wire_kit.DEVICE}:7008")
    finally:
        wire_kit.ended(made)
    assert code == 0 and "1 passed" in said, said
    assert "no way to set timestamps: lockstep_agent --settings may" in said


def test_strangers_are_refused(wire):
    # Another port: lockstep_agent of the other tests may still listen.
    place = f"{wire_kit.DEVICE}:7010"
    made, _ = wire.on_device([str(HELPER), "--listen", place])
    try:
        code, said = wire.run("-k", ONE, "--target", DEVICE, "--agent", place)
    finally:
        made.terminate()
        rest, _ = made.communicate(timeout=wire_kit.PATIENCE_SECONDS)
    assert code == ENVIRONMENT and f"start it with --allow {wire_kit.OURS}" in said, said
    assert f"{wire_kit.OURS} is refused: --allow it" in rest and made.returncode == 0


def test_where_nobody_makes_the_calls(wire):
    code, said = wire.run("-k", ONE, "--target", DEVICE, "--agent", f"{wire_kit.DEVICE}:7009")
    assert code == ENVIRONMENT and "cannot be reached" in said and "Traceback" not in said, said
    code, said = wire.run("-k", ONE, "--target", DEVICE, "--agent", wire_kit.DEVICE)
    assert code == USAGE and "expected ADDRESS:PORT" in said, said
    code, said = wire.run("-k", ONE, "--target", DEVICE, "--agent", "10.7.0.5:7007", "-n", "2")
    assert code == USAGE and "leave -n out" in said, said


@pytest.mark.parametrize("words,code,said", [
    (["--help"], 0, "example: lockstep_agent --allow 10.0.0.1 --settings"),
    (["--allow"], 2, "--allow: its value is missing"),
    (["--allow", "eth0"], 2, "eth0: expected an address"),
    (["--listen", "10.0.0.5"], 2, "10.0.0.5: expected ADDRESS:PORT"),
    (["--quiet"], 2, "--quiet: there is no such option"),
    (["--listen", "192.0.2.1:7007"], 3, "it cannot listen: Cannot assign requested address"),
])
def test_the_command_line_on_the_device(words, code, said):
    if not HELPER.exists():
        pytest.skip(f"{HELPER} is not built")
    done = subprocess.run([HELPER, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code and said in done.stdout + done.stderr


@pytest.mark.parametrize("port,service", [("7", "echo"), ("9", "discard"), ("80", "http")])
def test_a_service_is_recognised(wire, port, service):
    code, said = wire.run("-k", ONE, "--target", DEVICE, "--target-port", port)
    assert code == 0 and f"; {service}, port {port}" in said and "1 passed" in said, said
    assert f"on {wire_kit.PORT}, from 10.7.0.254;" in said


def test_what_is_left_out_is_counted(wire):
    code, said = wire.run("-k", "(test_three_ways_passive or test_fast_retransmit) and ip4",
                          "--target", DEVICE, "--target-port", "9")
    assert code == 0 and "1 passed" in said and "left out: " in said, said
    assert "no call write without lockstep_agent on it (--agent)" in said


def test_a_run_that_tests_nothing_fails(wire):
    code, said = wire.run("-k", "test_three_ways_active and ip4", "--target", DEVICE,
                          "--target-port", "9")
    assert code == 1 and "NOTHING WAS TESTED" in said


@pytest.mark.parametrize("code,words,said", [
    (USAGE, ["eth77:10.7.0.5", "9"], f"there is no interface eth77; there is lo, {wire_kit.PORT}"),
    (USAGE, ["lo:10.7.0.5", "9"], "lo is no Ethernet"),
    (USAGE, ["wire0:10.7.0.1", "9"], "10.7.0.1 is this machine's own address"),
    (USAGE, ["wire0:10.8.0.5", "9"], "10.8.0.5 is in no network of wire0 (it has 10.7.0.1/24)"),
    (USAGE, ["wire0:10.7.0.500", "9"], "INTERFACE:ADDRESS, as eth0:10.0.0.5"),
    (ENVIRONMENT, ["wire0:10.7.0.77", "9"], "no answer to ARP from 10.7.0.77 on wire0 in 2 s"),
    (ENVIRONMENT, ["wire0:[2001:db8:7::77]", "9"], "no answer to neighbour discovery from"),
    (ENVIRONMENT, ["wire0:10.7.0.5", "11"], "port 11 of 10.7.0.5 is closed"),
    (ENVIRONMENT, ["wire0:10.7.0.5", "19"], "has a service that is none of echo, discard, http"),
    (ENVIRONMENT, ["wire0:10.7.0.5", "9", "--target-source", "10.7.0.6"],
     "--target-source 10.7.0.6: "),
    (USAGE, ["wire0:10.7.0.5", "9", "--target-source", "fd00::1"], "take one of the same family"),
    (USAGE, ["wire0:10.7.0.5", "9", "--target-source", "x"], "--target-source x is no address"),
    (USAGE, ["wire0:10.7.0.5", "9", "--target-service", "ftp"], "--target-service ftp: expected"),
    (USAGE, ["linux", "9"], "--target-port: only for --target INTERFACE:ADDRESS"),
])
def test_what_is_wrong_is_said_in_a_line(wire, code, words, said):
    target, port, *more = words
    found, output = wire.run("-k", ONE, "--target", target, "--target-port", port, *more)
    assert found == code and said in output, output
    assert "Traceback" not in output and "passed" not in output


def test_a_service_or_a_program_of_ours_must_be_named(wire):
    code, said = wire.run("-k", ONE, "--target", DEVICE)
    assert code == USAGE and "or lockstep_agent on it with --agent" in said


def test_without_rights_it_says_how_to_get_them(wire):
    code, said = wire.run("-k", ONE, "--target", DEVICE, "--target-port", "9", raw=False)
    assert code == ENVIRONMENT and "sudo" in said and "`unshare -Urn`" in said


def test_an_interface_that_is_down(wire):
    with wire.ours.inside():
        namespace.run("ip", "link", "add", "down0", "type", "veth", "peer", "name", "down1")
    try:
        code, said = wire.run("-k", ONE, "--target", "down0:10.7.0.5", "--target-port", "9")
    finally:
        with wire.ours.inside():
            namespace.run("ip", "link", "delete", "down0")
    assert code == ENVIRONMENT and "ip link set down0 up" in said


# --- the kernel's voice ---

OWN = ["--target", DEVICE, "--target-port", "9", "--target-source", wire_kit.OURS]


def test_its_own_kernel_is_silenced_and_speaks_again(wire):
    code, said = wire.run("-k", ONE, *OWN)
    assert code == 0 and "1 passed" in said and "kernel silenced by table lockstep_" in said, said
    assert wire.tables() == ""


def test_a_kernel_that_forwards_is_silenced(wire):
    with wire.ours.inside():
        path = Path("/proc/sys/net/ipv4/conf/all/forwarding")
        path.write_text("1")
    try:
        code, said = wire.run("-k", ONE, "--target", DEVICE, "--target-port", "9")
    finally:
        with wire.ours.inside():
            path.write_text("0")
    assert code == 0 and "kernel silenced by table lockstep_" in said and wire.tables() == ""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_speaks_again_however_the_run_ends(wire, how):
    with wire.begin("-k", "test_segment_arrives and ESTABLISHED and ip4", *OWN) as made:
        await_that(lambda: "lockstep_" in wire.tables())
        made.send_signal(how)
        made.communicate(timeout=wire_kit.PATIENCE_SECONDS)
    await_that(lambda: wire.tables() == "")


def await_that(found):
    """Waits for something that another process does."""
    end = time.monotonic() + wire_kit.PATIENCE_SECONDS
    while not found():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_without_nftables_it_says_so(wire, tmp_path):
    (tmp_path / "ip").symlink_to("/usr/sbin/ip")
    code, said = wire.run("-k", ONE, *OWN, env={"PATH": str(tmp_path)})
    assert code == ENVIRONMENT and "apt install nftables" in said, said


# --- segments as they were on the wire ---


@pytest.mark.parametrize("layer", [IP(src="10.7.0.5", dst="10.7.0.1", id=65535),
                                   IPv6(src="fd00::5", dst="fd00::1")], ids=["ip4", "ip6"])
def test_joined_segments_are_separated(layer):
    data = bytes(range(250)) * 10
    made = layer / TCP(sport=9, dport=10_000, seq=0xFFFF_FF00, flags="PAC", window=77,
                       options=[("Timestamp", (1, 2))]) / data
    joined = bytes(made)
    sent = wire_frames.whole(joined, (wire_frames.NEEDS_SUM, 1, 0, 1_000, 0, 0), padded=False)
    found = [type(layer)(packet) for packet in sent]
    assert [len(bytes(each[TCP].payload)) for each in found] == [1_000, 1_000, 500]
    assert [each[TCP].seq for each in found] == [0xFFFF_FF00, 0x2E8, 0x6D0]
    assert [str(each[TCP].flags) for each in found] == ["AC", "A", "PA"]
    assert b"".join(bytes(each[TCP].payload) for each in found) == data
    if isinstance(layer, IP):
        assert [each.id for each in found] == [65535, 0, 1]
    for packet, each in zip(sent, found):
        again = each.copy()
        del again[TCP].chksum
        if isinstance(layer, IP):
            del again.chksum, again.len
        else:
            del again.plen
        assert bytes(again) == packet


def test_padding_is_removed_and_a_checksum_added():
    packet = bytes(IP(src="10.7.0.5", dst="10.7.0.1") / TCP(sport=9, dport=10_000, flags="A"))
    blank = packet[:36] + b"\0\0" + packet[38:]
    assert wire_frames.whole(blank + bytes(6), (1, 0, 0, 0, 0, 0), padded=True) == [packet]
    assert wire_frames.whole(packet + bytes(6), (0, 0, 0, 0, 0, 0), padded=False) == [
        packet + bytes(6)]
