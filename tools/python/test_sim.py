"""lockstep.Sim: worlds by calls and from files, hosts that Python calls, faults, captures."""

import pathlib
import subprocess

import pytest

pytest.importorskip("nanobind")
import lockstep  # noqa: E402
from scapy.all import ARP, Ether, ICMP, IP, PcapNgReader  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "sim/examples/lossy_path.toml"


def pair(**arguments):
    sim = lockstep.Sim(**arguments)
    a = sim.host("a", "10.0.0.1/24")
    b = sim.host("b", "10.0.0.2/24", config={"nagle": 0, "delayed_ack": 20_000_000, "mss": 1000})
    link = sim.link(a, b, rate="10Mbit/s", delay="10ms", back={"delay": "20ms"})
    return sim, a, b, link


def joined(sim, a, b):
    b.listen(80)
    connection = a.connect(("10.0.0.2", 80))
    sim.advance("1s")
    (other,) = b.accepted()
    return connection, other


def test_two_hosts_talk():
    sim, a, b, _ = pair()
    mine, theirs = joined(sim, a, b)
    assert (a.state(mine), b.state(theirs)) == ("ESTABLISHED", "ESTABLISHED")
    assert a.inspect(mine)["snd_mss"] == 988  # timestamps take twelve
    assert a.write(mine, b"question") == 8
    b.write(theirs, b"answer")
    sim.advance("1s")
    assert (a.read(mine), b.read(theirs)) == (b"answer", b"question")
    a.finish(mine)
    sim.advance("100ms")
    assert (a.state(mine), b.state(theirs)) == ("FIN-WAIT-2", "CLOSE-WAIT")
    assert [each.kind for each in b.events()] == ["accepted", "received", "acknowledged",
                                                  "peer_finished"]
    assert sim.now == 2_100_000_000 == a.now


def test_a_seed_is_one_run_and_a_snapshot_goes_back():
    def run(seed):
        sim, a, b, link = pair(seed=seed, record=True)
        link.fault("loss", probability="20%", from_="1s")
        mine, theirs = joined(sim, a, b)
        kept = sim.snapshot()
        prints = []
        for _ in range(2):
            sim.restore(kept)
            a.write(mine, b"x" * 50_000)
            sim.advance("9s")
            text = b.read(theirs)
            assert text == b"x" * len(text)
            prints.append(sim.fingerprint())
        assert prints[0] == prints[1]
        return sim.frames()
    first = run(3)
    assert first == run(3)
    assert {"sent", "received", "lost"} == {each.what for each in first}
    assert first != run(4)


def test_a_world_from_a_file_runs_as_the_command_runs_it(tmp_path):
    program = ROOT / "build/release/lockstep"
    if not program.exists():
        pytest.skip("build/release/lockstep is not built")
    sim = lockstep.Sim.from_file(EXAMPLE, seed=7, settings=["*.sack=false"])
    assert sim.run() == "completed"
    done = subprocess.run([program, "sim", "run", EXAMPLE, "--seed", "7", "--set", "*.sack=false"],
                          capture_output=True, text=True, check=True, cwd=tmp_path)
    assert f"{sim.fingerprint():016x}" in done.stdout


def test_an_app_draws_from_the_seed():
    def run(seed):
        sim, *_ = pair(seed=seed, limit="60s")
        sim.app("bulk", "a", "b", flows=5, arrivals="poisson 20ms", bytes="exponential 20KiB",
                start="uniform 0s 1s")
        assert sim.run() == "completed"
        return sim.now

    assert run(1) == run(1) != run(2)


def test_a_world_that_was_built_is_a_file_as_well(tmp_path):
    def build():
        sim, a, b, link = pair(seed=5)
        link.reorder("10%")
        link.cut("1s", 2 * 10**9)
        sim.app("bulk", a, b, bytes="100KiB")
        return sim
    sim = build()
    file = tmp_path / "world.toml"
    file.write_text(sim.toml(), encoding="utf-8")
    other = lockstep.Sim.from_file(file, seed=5)
    assert sim.run() == other.run() == "completed"
    assert sim.fingerprint() == other.fingerprint()
    assert sorted(other.hosts) == ["a", "b"]


def test_web_pages_come_over_cards_as_over_the_plain_port():
    def run(**keys):
        sim = lockstep.Sim(seed=3)
        a = sim.host("a", "10.0.0.1/24", receive_ring=510, **keys)
        b = sim.host("b", "10.0.0.2/24", receive_ring=510, **keys)
        sim.link(a, b, rate="1Gbit/s", delay="1ms")
        sim.app("http", a, b, flows=2, rounds=3, reply_bytes="50KiB")
        assert sim.run() == "completed"
        return sim.fingerprint()
    assert run() == run(driver="mpipe")


def test_a_capture_has_comments(tmp_path):
    sim, a, b, _ = pair(trace=True)
    mine, _ = joined(sim, a, b)
    a.write(mine, b"z" * 100)
    sim.advance("1s")
    file = tmp_path / "world.pcapng"
    sim.save_pcapng(file)
    assert file.read_bytes() == sim.pcapng()
    with PcapNgReader(str(file)) as packets:
        # At both ends: an announcement by each host, an ARP request and its reply; and two
        # announcements that were sent and did not arrive. Three segments of the handshake, data,
        # ACK.
        kinds = [ARP in packet for packet in packets]
    assert (kinds.count(True), kinds.count(False)) == (2 * 4 + 2, 2 * 5)
    assert b"ESTABLISHED" in sim.pcapng()


def test_a_tap_speaks_frames():
    sim = lockstep.Sim()
    host = sim.host("a", "10.0.0.1/24", mac="02:00:00:00:00:01")
    tap = sim.tap("t", "10.0.0.66")
    sim.link(host, tap, delay="1ms")
    mac = "02:00:00:00:00:66"
    tap.send(Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") /
             ARP(op=1, hwsrc=mac, psrc="10.0.0.66", pdst="10.0.0.1"))
    sim.advance("1s")
    tap.send(Ether(src=mac, dst="02:00:00:00:00:01") / IP(src="10.0.0.66", dst="10.0.0.1") / ICMP())
    sim.advance("1s")
    announced, first, second = tap.arrived()
    assert Ether(announced.packet)[ARP].psrc == Ether(announced.packet)[ARP].pdst == "10.0.0.1"
    assert (first.at, Ether(first.packet)[ARP].hwsrc) == (2_000_000, "02:00:00:00:00:01")
    assert Ether(second.packet)[ICMP].type == 0
    assert tap.arrived() == []
    with pytest.raises(lockstep.BadInput, match="a frame has 1515 bytes, expected 1 to 1514"):
        tap.send(bytes(1515))


def test_steps_one_by_one():
    sim, a, b, _ = pair()
    mine, _ = joined(sim, a, b)
    before = sim.now
    a.write(mine, b"text")
    assert sim.next_at() == before
    count = 0
    while sim.next_at() is not None and sim.next_at() < before + 10**9:
        assert sim.step()
        count += 1
    assert count >= 4
    assert lockstep.Sim.from_file(EXAMPLE).next_at() == 0


WRONG = [
    (lambda s, a, b, k: s.host("a", "10.0.0.3/24"), "'a' is taken"),
    (lambda s, a, b, k: s.host("c", "10.0.0.3"), "expected an address with a prefix length"),
    (lambda s, a, b, k: s.host("c", "10.0.0.3/24", colour="red"), "colour"),
    (lambda s, a, b, k: s.host("c", "10.0.0.3/24", config={"mss": 1}), "expected 28 to 65495"),
    (lambda s, a, b, k: s.link(a, "z"), "there is no host, switch, router or random_peer 'z'"),
    (lambda s, a, b, k: s.link(a, b, rate="10"), "expected a rate"),
    (lambda s, a, b, k: k.loss("0.01.2"), "expected a probability"),
    (lambda s, a, b, k: k.fault("fire"), "expected one of: loss"),
    (lambda s, a, b, k: k.fault("loss", direction="up"), "expected both, forward or back"),
    (lambda s, a, b, k: s.app("bulky", a, b), "expected one of: bulk"),
    (lambda s, a, b, k: s.app("bulk", a, a), "expected another host"),
    (lambda s, a, b, k: s.add_fault("stall", host="z"), "'z'"),
    (lambda s, a, b, k: s.link(a, 5), "a node is 5, expected text"),
    (lambda s, a, b, k: s.link(a, b, delay=0.5), "delay is 0.5, expected text"),
    (lambda s, a, b, k: s.link(a, b, **{"x]\ny": 1}), "is not a key"),
    (lambda s, a, b, k: (s.start(), s.host("c", "10.0.0.3/24")), "added after the start"),
    (lambda s, a, b, k: s.frames(), "expected Sim(record=True)"),
    (lambda s, a, b, k: s.pcapng(), "expected Sim(trace=True)"),
    (lambda s, a, b, k: s.restore(pair()[0].snapshot()), "expected a snapshot of this Sim"),
    (lambda s, a, b, k: s.advance("soon"), "'soon' is not a duration"),
    (lambda s, a, b, k: lockstep.Sim.from_file("nowhere.toml"), "nowhere.toml: cannot be read"),
    (lambda s, a, b, k: lockstep.Sim.from_file(EXAMPLE, settings=["z.sack=false"]), "no host 'z'"),
    (lambda s, a, b, k: lockstep.Sim(seed=2**64), "seed is 18446744073709551616"),
]


@pytest.mark.parametrize("call,words", WRONG, ids=[words for _, words in WRONG])
def test_bad_input_is_one_line(call, words):
    with pytest.raises(lockstep.BadInput) as wrong:
        sim, a, b, link = pair()
        call(sim, a, b, link)
        sim.start()
    assert words in str(wrong.value) and "\n" not in str(wrong.value)
