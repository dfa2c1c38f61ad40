"""What a world measured: report, connections, time series, fields of its frames."""

import json
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("nanobind")
import lockstep  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "sim/examples/queues.toml"


@pytest.fixture(name="program")
def program_of_the_build():
    program = ROOT / "build/release/lockstep"
    if not program.exists():
        pytest.skip("build/release/lockstep is not built")
    return program


def short_world(**keys):
    sim = lockstep.Sim(seed=4, **keys)
    a, b = sim.host("a", "10.0.0.1/24"), sim.host("b", "10.0.0.2/24")
    sim.link(a, b, name="path", rate="10Mbit/s", delay="10ms", queue_packets=20)
    sim.app("bulk", a, b, name="up", bytes="200kB", flows=2)
    return sim


def test_the_report_is_that_of_the_command(tmp_path, program):
    sim = lockstep.Sim.from_file(EXAMPLE, seed=7)
    assert sim.report()["ending"] == "running"
    assert sim.report()["jain_index"] == 0
    sim.run()
    subprocess.run([program, "sim", "run", EXAMPLE, "--seed", "7", "--json", tmp_path / "it"],
                   capture_output=True, check=True)
    assert sim.report() == json.loads((tmp_path / "it").read_text(encoding="utf-8"))
    assert 0 < sim.report()["jain_index"] <= 1


def test_the_connections_of_apps_can_be_inspected():
    sim = short_world()
    sim.advance("100ms")
    ends = sim.connections()
    assert [(end.number, end.side, end.app, end.host) for end in ends] == [
        (0, "opener", "up", "a"), (0, "acceptor", "up", "b"),
        (1, "opener", "up", "a"), (1, "acceptor", "up", "b")]
    for end in ends:
        seen = sim.hosts[end.host].inspect(end.connection)
        assert seen["state"] == "ESTABLISHED"
        assert (seen["cwnd"] > 14480) == (end.side == "opener")
    sim.run()
    assert {end.connection for end in sim.connections()} == {None}


def test_connections_of_calls_are_in_the_report():
    sim = lockstep.Sim()
    a, b = sim.host("a", "10.0.0.1/24"), sim.host("b", "10.0.0.2/24")
    sim.link(a, b, delay="5ms")
    b.listen(80)
    mine = a.connect(("10.0.0.2", 80))
    gone = a.connect(("10.0.0.2", 81), local_port=5000)
    a.abort(gone)  # before any time has passed
    sim.advance("1s")
    (theirs,) = b.accepted()
    a.write(mine, bytes(5000))
    sim.advance("1s")
    assert sim.connections() == [(0, "opener", "calls", "a", mine),
                                 (0, "acceptor", "calls", "b", theirs)]
    (found,) = sim.report()["connections"]
    assert (found["opener"]["written"], found["acceptor"]["read"]) == (5000, 5000)
    a.close(mine)
    b.close(theirs)
    sim.advance("200s")
    assert {end.connection for end in sim.connections()} == {None}


def test_the_tables_are_those_of_the_command(tmp_path, program):
    pandas = pytest.importorskip("pandas")
    sim = lockstep.Sim.from_file(EXAMPLE, seed=7, series=True)
    sim.run()
    subprocess.run([program, "sim", "run", EXAMPLE, "--seed", "7", "--out", tmp_path / "run"],
                   capture_output=True, check=True)
    tables = sim.tables()
    files = sorted((tmp_path / "run").glob("*.csv"))
    assert sorted(tables) == [file.stem for file in files]
    for file in files:
        pandas.testing.assert_frame_equal(tables[file.stem], pandas.read_csv(file))


def test_series_are_tidy():
    pytest.importorskip("pandas")
    sim = short_world(series=True)
    sim.run()
    frame = sim.series()
    assert list(frame.columns) == ["time_ns", "connection", "app", "side", "link", "way",
                                   "variable", "value"]
    assert frame.time_ns.is_monotonic_increasing and frame.value.notna().all()
    samples = frame[frame.variable == "rtt_ns"]
    assert samples.value.min() > 20e6 and set(samples.connection) == {0, 1}
    assert set(samples.app) == {"up"}
    read = frame[(frame.variable == "read_bytes") & (frame.connection == 1)]
    assert read.value.iloc[-1] == 200_000 and set(read.side) == {"acceptor"}
    queue = frame[(frame.variable == "packets") & (frame.way == "forward")]
    assert queue.value.max() == 20 and set(queue.link) == {"path"}
    assert queue.connection.isna().all()


def test_series_go_back_with_the_world():
    pytest.importorskip("pandas")
    sim = short_world(series=True)
    sim.advance("100ms")
    kept = sim.snapshot()
    before = len(sim.series())
    sim.run()
    first = sim.series()
    sim.restore(kept)
    assert len(sim.series()) == before < len(first)
    assert sim.report()["ending"] == "running"
    sim.run()
    assert sim.series().equals(first)


def test_series_need_to_be_recorded():
    pytest.importorskip("pandas")
    with pytest.raises(lockstep.BadInput, match=r"expected Sim\(series=True\)"):
        short_world().series()


def test_without_pandas_its_extra_is_named():
    hidden = ("import sys; sys.modules['pandas'] = None\nimport lockstep\n"
              "try: lockstep.Sim(series=True).series()\n"
              "except ImportError as missing: print(missing)")
    package = pathlib.Path(lockstep.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True,
                          check=True, env={"PYTHONPATH": str(package)})
    assert done.stdout.strip().endswith("pip install lockstep[pandas]")


@pytest.mark.parametrize("link", ["ethernet", "ip"])
def test_fields_of_the_frames_of_a_world(link):
    pytest.importorskip("numpy")
    sim = lockstep.Sim(record=True)
    a = sim.host("a", "10.0.0.1/24", link=link)
    b = sim.host("b", "10.0.0.2/24", link=link)
    sim.link(a, b, delay="5ms")
    sim.app("bulk", a, b, bytes="10kB")
    sim.run()
    frames = sim.frames()
    fields = lockstep.fields_of(frames)
    assert len(fields) == len(frames)
    assert list(fields["at"]) == [frame.at for frame in frames]
    sent = fields[[frame.what == "sent" and frame.node == "a" for frame in frames]]
    assert sent["payload"].sum() == 10_000
    assert sent[sent["version"] == 4]["checksum_good"].all()
    assert (0 in fields["version"]) == (link == "ethernet")  # ARP


def test_fields_of_what_a_tap_received():
    pytest.importorskip("numpy")
    sim = lockstep.Sim()
    tap = sim.tap("t", "10.0.0.66")
    sim.link(sim.host("a", "10.0.0.1/24", vlan=5), tap)
    sim.advance("5s")
    assert list(lockstep.fields_of(tap.arrived())["version"]) == [0, 0]  # announcements by ARP
