"""What lockstep plot makes of the folder of `lockstep sim run --out`."""

import json
import subprocess
from pathlib import Path

import pytest

from tools.verbs.plot import figures, reading, sim_reading, style
from tools.verbs.plot.__main__ import main

ROOT = Path(__file__).resolve().parents[3]
FIGURES = {"cwnd", "rtt", "queue", "throughput", "retransmissions", "fairness"}


def write_run(folder: Path, flows: int = 2) -> Path:
    """Writes a run of two seconds: flow 0 gets twice what each other one gets, and each has a reply
    of a few octets."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = {"senders": [sim_reading.SENDERS], "rtt_samples": [sim_reading.SAMPLES],
            "readers": [sim_reading.READERS], "queues": [sim_reading.QUEUES]}
    for i in range(1, 201):
        at = i * 10_000_000
        for flow in range(flows):
            threshold = "" if i < 50 else 20_000
            rows["senders"].append(f"{at},{flow},opener,{10_000 + i},{threshold},9000,"
                                   f"40000000,200000000,{125_000 if flow == 0 else ''},{i // 50}")
            rows["rtt_samples"].append(f"{at},{flow},opener,{39_000_000 + i % 5 * 1_000_000}")
            rows["readers"].append(f"{at},{flow},acceptor,{i * (10_000 if flow == 0 else 5_000)}")
            rows["readers"].append(f"{at},{flow},opener,{i}")
        rows["queues"].append(f"{at},bottleneck,forward,{i % 10},{i // 100},0")
        rows["queues"].append(f"{at},bottleneck,back,{i % 2},0,0")
    for name, lines in rows.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    apps = ["up", "down"] if flows == 2 else ["many"] * flows
    (folder / "connections.csv").write_text(
        "connection,side,app\n" + "".join(f"{i},opener,{app}\n" for i, app in enumerate(apps)))
    (folder / "summary.json").write_text(json.dumps({"world": "w", "seed": 3}))
    return folder


def texts(figure) -> list:
    axes = figure.axes[0]
    return [axes.get_title(loc="left")] + [text.get_text() for text in axes.texts]


def test_every_figure_is_drawn_the_same_twice(tmp_path):
    first, second = (write_run(tmp_path / name) for name in ("a/run", "b/run"))
    assert main([str(first), "--format", "svg"]) == 0
    assert main([str(second / "senders.csv"), "--format", "svg"]) == 0
    assert {file.stem for file in first.glob("*.svg")} == FIGURES | {"pacing"}
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes(), file.name


def test_titles_say_what_came_out(tmp_path):
    run = reading.read(write_run(tmp_path))
    assert run.flows == ["up", "down"]  # the replies are too small
    assert texts(figures.throughput(run))[0] == \
        "w, seed 3: goodput: up 8.04 and down 4.02 Mbit/s"
    assert texts(figures.retransmissions(run))[0] == \
        "w, seed 3: retransmitted: up 4 and down 4 segments"
    assert texts(figures.pacing(run))[0] == "w, seed 3: mean pacing rate: up 1.00 Mbit/s"
    assert "least 39.0 ms" in texts(figures.rtt(run))[0]
    assert "dots: samples, lines: smoothed" in texts(figures.rtt(run))
    assert texts(figures.queue(run))[0].startswith("w, seed 3: mean queue of bottleneck: 4.5")
    assert "x: packets dropped" in texts(figures.queue(run))
    assert "dotted: slow-start threshold" in texts(figures.cwnd(run))
    assert "median of Jain's index over 2 flows is 0.900" in texts(figures.fairness(run))[0]


def test_samples_are_dots_and_drops_are_marked(tmp_path):
    run = reading.read(write_run(tmp_path))
    dots = [line for line in figures.rtt(run).axes[0].lines if line.get_marker() == "."]
    assert len(dots) == 2 and list(dots[0].get_ydata()[:5]) == pytest.approx([40, 41, 42, 43, 39])
    crosses = [line for line in figures.queue(run).axes[0].lines if line.get_marker() == "x"]
    assert [list(line.get_xdata()) for line in crosses] == [[1.0, 2.0]]


def test_a_flow_shorter_than_an_interval_is_drawn_where_it_was(tmp_path):
    run = write_run(tmp_path)
    with (run / "readers.csv").open("a") as file:
        file.write("2001000000,7,acceptor,700\n2002000000,7,acceptor,900\n")
    colour = style.look(2)["color"]  # the smallest of three
    drawn = [line.get_xdata() for line in figures.throughput(reading.read(run)).axes[0].lines
             if line.get_color() == colour]
    assert drawn and all(min(seconds) > 1.9 for seconds in drawn)


def test_of_many_flows_the_largest_are_drawn(tmp_path):
    run = reading.read(write_run(tmp_path, 30))
    figure = figures.throughput(run)
    assert "the 8 largest of 30 flows" in texts(figure) and "all flows" in texts(figure)
    assert len(figure.axes[0].lines) == 9
    assert len(figures.retransmissions(run).axes[0].lines) == 8
    assert "over 30 flows" in texts(figures.fairness(run))[0]


WRONG = [
    ("senders.csv", 1, "time,connection\n", "the columns are 'time,connection', expected 'time_ns"),
    ("readers.csv", 2, sim_reading.READERS + "\n1,0,opener\n", "3 columns, expected the 4 time"),
    ("readers.csv", 2, sim_reading.READERS + "\n1,0,middle,5\n", "'middle', expected opener or"),
    ("rtt_samples.csv", 2, sim_reading.SAMPLES + "\n1,0,opener,-5\n", "'-5' is not a whole number"),
    ("queues.csv", 3, sim_reading.QUEUES + "\n5,a,back,0,0,0\n4,a,back,1,0,0\n", "4 is before 5"),
    ("queues.csv", 2, sim_reading.QUEUES + "\n5,a,up,0,0,0\n", "'up', expected forward or back"),
    ("summary.json", 2, '{"world":\n nonsense}', "not a summary of lockstep sim run"),
    ("connections.csv", 1, "app\nx\n", "expected the columns connection and app"),
]


@pytest.mark.parametrize("name,line,text,words", WRONG)
def test_what_is_wrong_has_its_line(tmp_path, capsys, name, line, text, words):
    run = write_run(tmp_path)
    (run / name).write_text(text)
    assert main([str(run)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"lockstep plot: {run / name}:{line}: ") and words in error
    assert error.count("\n") == 1


def test_many_connections_are_named_at_once():
    apps = {i: f"app {i // 2}" for i in range(100_000)} | {100_000: "alone"}
    names = sim_reading.names_of([(0, "opener"), (100_000, "acceptor")], apps)
    assert names == ["app 0 0", "alone reply"]


@pytest.mark.parametrize("name", ["readers.csv", "summary.json", "connections.csv"])
def test_a_missing_table_is_named(tmp_path, capsys, name):
    run = write_run(tmp_path)
    (run / name).unlink()
    assert main([str(run)]) == 2
    assert capsys.readouterr().err == f"lockstep plot: {run / name}: No such file or directory\n"


def test_a_run_of_the_simulator_is_drawn(tmp_path, program):
    run = tmp_path / "run"
    subprocess.run([program, "sim", "run", ROOT / "sim/examples/queues.toml", "--out", run],
                   check=True, capture_output=True)
    assert main([str(run), "--format", "svg"]) == 0
    assert {file.stem for file in run.glob("*.svg")} == FIGURES
