"""What lockstep plot reads, draws and reports as errors, with small made-up runs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.verbs.plot import figures, reading, style
from tools.verbs.plot.__main__ import main

HEAD = "time_ns,who,name,value\n"
PNG = b"\x89PNG\r\n\x1a\n"
OF_NS3 = ("cwnd", "rtt", "queue", "throughput", "fairness")  # pacing etc. are not traced there


def write_run(folder: Path, lines: str = "", kinds=("ours", "cubic")) -> Path:
    """Writes a run with a queue and two flows, of which the second gets half as much as the
    first."""
    folder.mkdir(parents=True, exist_ok=True)
    if not lines:
        for i in range(1, 201):
            at = i * 10_000_000
            lines += f"{at},0,CongestionWindow,{10_000 + 100 * i}\n{at},1,CongestionWindow,9000\n"
            lines += f"{at},0,SlowStartThreshold,{2 ** 32 - 1 if i < 50 else 20_000}\n"
            lines += f"{at},0,RTT,{44_000_000 + i}\n{at},1,RTT,50000000\n"
            lines += f"{at},0,Received,{i * 10_000}\n{at},1,Received,{i * 5_000}\n"
            lines += f"{at},0,PacketsInQueue,{i % 10}\n"
    (folder / "traces.csv").write_text(HEAD + lines)
    (folder / "summary.json").write_text(
        json.dumps({"topology": "dumbbell", "flows": [{"tcp": kind} for kind in kinds]}))
    return folder


def said(words: list, capsys) -> tuple[int, str]:
    code = main([str(word) for word in words])
    return code, capsys.readouterr().err


def texts(figure) -> list:
    axes = figure.axes[0]
    return [axes.get_title(loc="left")] + [text.get_text() for text in axes.texts]


def test_every_figure_is_written_twice(tmp_path, capsys):
    run = write_run(tmp_path / "run")
    assert main([str(run)]) == 0
    names = {f"{name}.{end}" for name in OF_NS3 for end in ("png", "svg")}
    assert {file.name for file in run.iterdir()} == names | {"traces.csv", "summary.json"}
    for file in run.glob("*.png"):
        assert file.read_bytes().startswith(PNG)
    assert [Path(line).name for line in capsys.readouterr().out.splitlines()][:2] == \
        ["cwnd.png", "cwnd.svg"]


def test_a_flow_of_more_than_four_gibibytes_has_its_goodput(tmp_path):
    lines = "".join(f"{i * 1_000_000_000},0,Received,{i * 2 ** 30}\n" for i in range(1, 7))
    run = reading.read(write_run(tmp_path / "run", lines, ("ours",)))
    _, rates = figures.rates_of(run, 1.0)
    assert rates[0][1:] == [2 ** 33] * (len(rates[0]) - 1)


def test_the_same_traces_give_the_same_octets(tmp_path):
    first, second = (write_run(tmp_path / name) for name in ("a/run", "b/run"))
    assert main([str(first)]) == main([str(second)]) == 0
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes(), file.name


def test_titles_say_what_came_out(tmp_path):
    run = reading.read(write_run(tmp_path / "run"))
    assert texts(figures.throughput(run))[0] == \
        "dumbbell: goodput: ours 8.04 and cubic 4.02 Mbit/s"
    assert "median of Jain's index over 2 flows is 0.900" in texts(figures.fairness(run))[0]
    assert "at most 9" in texts(figures.queue(run))[0]
    assert "cubic 50.0 ms, least 44.0 ms" in texts(figures.rtt(run))[0]
    assert texts(figures.cwnd(run))[0].endswith("ours 20.0 and cubic 9.00 kB")


def test_every_axis_has_its_unit_and_every_line_its_name(tmp_path):
    run = reading.read(write_run(tmp_path / "run"))
    for name in OF_NS3:
        figure = figures.ALL[name](run)
        assert figure.axes[0].get_xlabel() == "time (s)"
        assert "(" in figure.axes[0].get_ylabel()
        if name in ("cwnd", "rtt", "throughput"):
            assert {"ours", "cubic"} <= set(texts(figure)), name


def test_flows_of_one_tcp_are_told_apart(tmp_path):
    run = reading.read(write_run(tmp_path / "run", kinds=("ours", "ours")))
    assert run.flows == ["ours (0)", "ours (1)"]
    assert len({(look["color"], look["linestyle"]) for look in map(style.look, range(16))}) == 16


def test_names_at_one_height_are_moved_apart():
    placed = style.spread([0.99, 0.99, 0.5, 0.5], 0.1)
    assert all(abs(a - b) > 0.0999 for i, a in enumerate(placed) for b in placed[:i])
    assert max(placed) <= 1 and placed[2] == 0.5


def test_a_thinned_line_keeps_its_peaks():
    seconds = [i / 1000 for i in range(100_000)]
    values = [0] * 100_000
    values[54_321] = 7
    fewer, kept = style.thinned(seconds, values, 100)
    assert len(fewer) <= 400 and max(kept) == 7 and fewer[kept.index(7)] == 54.321


def test_a_short_run_that_begins_late_fills_its_figures(tmp_path):
    late = "".join(f"{1_000_000_000 + i * 1_000_000},{flow},Received,{i * 100}\n"
                   for i in range(1, 101) for flow in (0, 1))
    run = reading.read(write_run(tmp_path / "run", late))
    for draw in (figures.throughput, figures.fairness):
        assert draw(run).axes[0].get_xlim() == (1.001, 1.1)
    assert texts(figures.throughput(run))[0].endswith("ours 0.808 and cubic 0.808 Mbit/s")


def test_a_lone_spike_does_not_flatten_the_rest(tmp_path):
    lines = "".join(f"{i * 1_000_000},0,RTT,{(25 if i == 500 else 1) * 1_000_000}\n"
                    for i in range(1, 1001))
    figure = figures.rtt(reading.read(write_run(tmp_path / "run", lines, kinds=("ours",))))
    assert figure.axes[0].get_ylim() == (0, 2)
    assert "not shown: a spike to 25.0 ms" in texts(figure)


@pytest.mark.parametrize("value,text", [
    (0.001, "0.001"), (0.476, "0.476"), (0.99999, "1.00"), (1, "1.00"), (9.5, "9.50"),
    (44, "44.0"), (100, "100"),
    (1234.5, "1234"), (0, "0")])
def test_numbers_have_three_digits_that_matter(value, text):
    assert figures.number(value) == text


def test_one_flow_has_no_fairness(tmp_path, capsys):
    run = write_run(tmp_path / "run", "1,0,Received,5\n2000000,0,Received,9\n", kinds=("ours",))
    code, error = said([run, "--only", "fairness"], capsys)
    assert code == 0 and error.strip().endswith("traces.csv has no traces for the figure fairness")


def test_a_lone_packet_on_the_wire_is_no_queue(tmp_path, capsys):
    lines = "".join(f"{i * 1_000_000},0,PacketsInQueue,{i % 2}\n" for i in range(1, 100))
    run = write_run(tmp_path / "run", lines, kinds=("ours",))
    code, error = said([run, "--only", "queue"], capsys)
    assert code == 0 and error.strip().endswith("traces.csv has no traces for the figure queue")


@pytest.mark.parametrize("text,line,words", [
    ("time,who,name,value\n", 1, "the columns are 'time,who,name,value', expected 'time_ns,"),
    (HEAD, 0, "no traces after the first line"),
    (HEAD + "1,0,RTT,5\n2,0,RTT\n", 3, "3 columns, expected the four time_ns,who,name,value"),
    (HEAD + "1,0,Window,5\n", 2, "column name: unknown trace 'Window', expected one of"),
    (HEAD + "1,0,RTT,-5\n", 2, "column value: '-5' is not a whole number"),
    (HEAD + "5,0,RTT,5\n4,0,RTT,5\n", 3, "column time_ns: 4 is before 5"),
])
def test_what_is_wrong_has_its_line(tmp_path, capsys, text, line, words):
    file = tmp_path / "traces.csv"
    file.write_text(text)
    code, error = said([file], capsys)
    assert code == 2
    assert error.startswith(f"lockstep plot: {file}:{line}: " if line else f"lockstep plot: {file}")
    assert words in error and error.count("\n") == 1


@pytest.mark.parametrize("make,words", [
    (lambda folder: folder / "none", "No such file or directory"),
    (lambda folder: folder, "no senders.csv or traces.csv in this folder"),
])
def test_a_missing_file_is_named(tmp_path, capsys, make, words):
    code, error = said([make(tmp_path)], capsys)
    assert code == 2 and words in error and str(tmp_path) in error and error.count("\n") == 1


def test_a_broken_summary_is_named(tmp_path, capsys):
    run = write_run(tmp_path / "run")
    (run / "summary.json").write_text('{"flows":\n nonsense}')
    code, error = said([run], capsys)
    assert code == 2 and f"{run / 'summary.json'}:2: not a summary" in error


def test_two_runs_do_not_write_over_each_other(tmp_path, capsys):
    runs = [write_run(tmp_path / name) for name in ("a/run", "b/run")]
    code, error = said([*runs, "--out", tmp_path / "out"], capsys)
    assert code == 2 and "give each its own folder" in error


def test_wrong_words_are_one_line(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["run", "--only", "colour"])
    error = capsys.readouterr().err
    assert ended.value.code == 2 and error.count("\n") == 1
    assert "'colour' is not one of cwnd, rtt, pacing, queue, throughput, retransmissions" in error


def test_the_verb_draws(tmp_path, program):
    run = write_run(tmp_path / "run")
    done = subprocess.run([program, "plot", run, "--only", "queue", "--format", "svg", "--json"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [str(run / "queue.svg")]
    assert "Example: lockstep sim run" in subprocess.run(
        [program, "plot", "--help"], capture_output=True, text=True, check=True).stdout


def test_the_verb_alone_is_a_line(tmp_path, program):
    alone = shutil.copy(program, tmp_path / "lockstep")
    done = subprocess.run([alone, "plot", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and done.stderr == (
        "lockstep: verbs/plot/__main__.py is not here: "
        "run the program where it was built or installed\n")


def test_without_matplotlib_setup_is_named(tmp_path):
    run = write_run(tmp_path / "run")
    hidden = ("import sys; sys.modules['matplotlib'] = None\n"
              "from tools.verbs.plot.__main__ import main\nsys.exit(main(sys.argv[1:]))")
    done = subprocess.run([sys.executable, "-c", hidden, str(run)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 3
    assert done.stderr == "lockstep plot: matplotlib is missing: run tools/setup\n"
