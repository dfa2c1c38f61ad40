# `lockstep sweep`: the same bytes with any pool, no cell run twice, killed workers replaced.
"""Needs build/release/lockstep. A cell's process kills itself or its Dask worker, so that nothing
depends on timing."""
import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from verbs.sweep.main import Progress
from verbs.sweep.plan import Failure, Plan
from verbs.sweep.pools import LocalPool
from verbs.sweep.results import Results

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "build/release/lockstep"
WORLD = ROOT / "sim/examples/lossy_path.toml"
EXAMPLE = f"""run = ["sim", "run", "{WORLD}"]
seeds = "1..4"
[set]
"*.sack" = [true, false]
"""

needs_program = pytest.mark.usefixtures("program")


def described(folder, text=EXAMPLE):
    """Writes the description to a file."""
    file = folder / "sweep.toml"
    file.write_text(text, encoding="utf-8")
    return file


def program_that(folder, act, seed):
    """A program that does `act` the first time it gets this seed, and otherwise runs lockstep."""
    program = folder / "lockstep"
    program.write_text(f"""#!/bin/sh
echo "$*" >> "{folder}/asked"
case "$*" in
  *"--seed {seed}"*"sack=true"* | *"sack=true"*"--seed {seed}"*)
    if mkdir "{folder}/happened" 2>/dev/null; then {act}; fi ;;
esac
exec "{PROGRAM}" "$@"
""", encoding="utf-8")
    program.chmod(0o755)
    return program


def sweep(file, *arguments, program=PROGRAM, code=0):
    """Runs the Python part; returns its output, parsed if it is JSON."""
    done = subprocess.run(
        [ROOT / "build/venv/bin/python", ROOT / "tools/verbs/sweep/main.py", program, file,
         *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr + done.stdout
    return json.loads(done.stdout) if "--json" in arguments else done.stdout + done.stderr


def results(folder):
    """The results of the sweep in the folder."""
    assert not (folder / "sweep.results.jsonl.part").exists()
    return (folder / "sweep.results.jsonl").read_bytes()


@needs_program
def test_the_bytes_are_the_same_for_any_number_of_processes(tmp_path):
    # The first cell waits until a fifth has begun, so at least two others end before it.
    begun = f'until [ "$(wc -l < {tmp_path}/asked)" -ge 5 ]; do :; done'
    program = program_that(tmp_path, begun, 1)
    found = []
    for jobs in ("3", "1"):
        summary = sweep(described(tmp_path), "--jobs", jobs, "--fresh", "--json", program=program)
        assert (summary["cells"], summary["ran"], summary["findings"]) == (8, 8, [])
        found.append(results(tmp_path))
    assert found[0] == found[1]
    lines = [json.loads(line) for line in found[0].splitlines()]
    assert [line["cell"] for line in lines[1:]] == list(range(8))
    assert lines[1]["set"] == {"*.sack": True} and lines[1]["seed"] == 1
    assert lines[8]["set"] == {"*.sack": False} and lines[8]["seed"] == 4
    assert lines[1]["result"]["seed"] == 1


def test_a_file_that_the_world_names_is_part_of_the_sweep(tmp_path):
    world = tmp_path / "world.toml"
    world.write_text(WORLD.read_text() + '[[app]]\nname = "x"\nmodel = "bulk"\nfrom = "a"\n'
                     'to = "b"\nbytes = "file sizes.txt"\n')
    found = []
    for size in ("1000", "2000"):
        (tmp_path / "sizes.txt").write_text(size + "\n")
        file = described(tmp_path, EXAMPLE.replace(str(WORLD), str(world)))
        plan = Plan(str(file), os.devnull)
        assert str(tmp_path / "sizes.txt") in plan.files
        found.append(plan.identity())
    assert found[0] != found[1]


@needs_program
def test_seeds_of_a_run_that_draws_nothing_are_refused(tmp_path):
    constant = EXAMPLE.replace("lossy_path", "two_hosts")
    out = sweep(described(tmp_path, constant), code=2)
    assert "it draws nothing from its seed, so 4 seeds are one measurement: remove `seeds`" in out
    summary = sweep(described(tmp_path, constant.replace("1..4", "1..1")), "--json")
    assert summary["ran"] == 2
    drawn = constant + '"upload.start" = ["uniform 0s 10ms"]\n'
    summary = sweep(described(tmp_path, drawn), "--fresh", "--json")
    assert (summary["ran"], summary["findings"]) == (8, [])


@needs_program
def test_a_second_run_does_only_what_is_missing(tmp_path):
    program = program_that(tmp_path, "exit 3", 3)  # the first run ends there
    file = described(tmp_path)
    out = sweep(file, "--jobs", "1", program=program, code=3)
    assert out.startswith("lockstep: cell 2 (sim run ")
    part = tmp_path / "sweep.results.jsonl.part"
    whole = part.read_bytes()
    assert whole.count(b"\n") == 3  # the head and two cells
    part.write_bytes(whole[:-20])  # as if a crash had truncated the second
    (tmp_path / "asked").unlink()
    summary = sweep(file, "--jobs", "2", "--json", program=program)
    assert (summary["kept"], summary["ran"]) == (1, 7)
    assert len((tmp_path / "asked").read_text().splitlines()) == 7
    first = results(tmp_path)
    summary = sweep(file, "--json", program=program)
    assert (summary["kept"], summary["ran"]) == (8, 0)
    assert results(tmp_path) == first
    sweep(file, "--fresh", program=program)
    assert results(tmp_path) == first


def test_a_line_that_was_torn_off_is_cut_away(tmp_path):
    plan = Plan(str(described(tmp_path)), os.devnull)
    for index in (0, 1, 2):
        kept = Results(tmp_path / "out", plan)
        assert sorted(kept.lines) == list(range(index))
        kept.add({"cell": index, "exit": 0})
        kept.close()
        with open(kept.part, "ab") as file:
            file.write(b'{"cell":7,"ex')


@needs_program
def test_a_killed_process_is_replaced(tmp_path):
    program = program_that(tmp_path, "kill -9 $$", 2)
    summary = sweep(described(tmp_path), "--jobs", "2", "--json", program=program)
    assert (summary["ran"], summary["again"], summary["lost"]) == (8, 1, [])
    killed = results(tmp_path)
    sweep(described(tmp_path), "--jobs", "2", "--fresh", program=program)
    assert results(tmp_path) == killed


@needs_program
def test_a_cell_that_is_always_killed_is_named(tmp_path):
    program = program_that(tmp_path, f"rmdir {tmp_path}/happened; kill -9 $$", 2)
    summary = sweep(described(tmp_path), "--jobs", "2", "--json", program=program, code=1)
    assert (summary["ran"], summary["again"], summary["lost"]) == (7, 2, [1])
    assert (tmp_path / "sweep.results.jsonl.part").exists()


@contextlib.contextmanager
def cluster(folder):
    """A scheduler and three workers on the loopback, as a user starts them; yields the address."""
    there = folder / "scheduler.json"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    started = []
    with open(folder / "cluster.log", "wb") as log:
        for words in (["scheduler", "--host", "127.0.0.1", "--port", "0"],
                      ["worker", "--nworkers", "3", "--nthreads", "1",
                       "--local-directory", str(folder)]):
            started.append(subprocess.Popen(
                [ROOT / "build/venv/bin/dask", *words, "--no-dashboard", "--scheduler-file", there],
                cwd=folder, stdout=log, stderr=log, env=environment, start_new_session=True))
    (folder / "scheduler").write_text(str(started[0].pid))
    try:
        limit = time.monotonic() + 120
        while not there.exists():
            assert started[0].poll() is None and time.monotonic() < limit, (
                (folder / "cluster.log").read_text())
            time.sleep(0.05)
        yield json.loads(there.read_text())["address"]
    finally:
        for process in reversed(started):
            os.killpg(process.pid, signal.SIGKILL)  # its own process group, with its workers
            process.wait()


@needs_program
def test_a_dask_worker_is_killed_on_the_way(tmp_path):
    pytest.importorskip("distributed", reason="tools/setup installs dask")
    # The parent of a cell's process is its worker.
    program = program_that(tmp_path, "kill -9 $PPID; exit 1", 2)
    file = described(tmp_path)
    with cluster(tmp_path) as address:
        summary = sweep(file, "--dask", address, "--json", program=program)
    assert (tmp_path / "happened").exists()
    assert (summary["ran"], summary["lost"]) == (8, [])
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) > 8  # the cells of the dead worker were repeated
    on_the_cluster = results(tmp_path)
    sweep(file, "--jobs", "2", "--fresh", program=program)
    assert results(tmp_path) == on_the_cluster


@needs_program
def test_a_scheduler_that_dies_leaves_what_has_ended(tmp_path):
    pytest.importorskip("distributed", reason="tools/setup installs dask")
    program = program_that(tmp_path, f"kill -9 $(cat {tmp_path}/scheduler)", 4)
    file = described(tmp_path)
    with cluster(tmp_path) as address:
        out = sweep(file, "--dask", address, program=program, code=3)
    assert out.splitlines()[-1].startswith("lockstep: the connection to the scheduler was lost")
    summary = sweep(file, "--json", program=program)
    assert summary["kept"] + summary["ran"] == 8


def test_a_cluster_that_is_not_there_is_one_line(tmp_path):
    pytest.importorskip("distributed", reason="tools/setup installs dask")
    out = sweep(described(tmp_path), "--dask", "tcp://127.0.0.1:1", program="/bin/true", code=3)
    assert out.splitlines()[-1].startswith("lockstep: --dask tcp://127.0.0.1:1: no scheduler")


@pytest.mark.skipif(not (PROGRAM.parent / "lockstep_ns3").exists(),
                    reason="build/release/lockstep_ns3 is missing: tools/setup --with ns3, build")
def test_a_grid_of_ns3_is_the_same_for_any_number_of_processes(tmp_path):
    file = described(tmp_path, """run = ["ns3", "run", "dumbbell", "--bytes", "100000"]
seeds = "1..2"
[options]
flows = ["ours", "newreno"]
ecn = [true, false]
""")
    found = []
    for jobs in ("1", "3"):
        summary = sweep(file, "--jobs", jobs, "--fresh", "--json")
        assert (summary["cells"], summary["ran"], summary["findings"]) == (8, 8, [])
        found.append(results(tmp_path))
    assert found[0] == found[1]
    line = json.loads(found[0].splitlines()[8])
    assert line["options"] == {"flows": "newreno", "ecn": False}
    assert line["seed"] == line["result"]["seed"] == 2
    assert line["result"]["flows"][0]["received_bytes"] == 100000


def test_the_bar_is_drawn_on_a_terminal_alone(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return self.terminal

    for terminal in (True, False):
        screen = Screen()
        screen.terminal = terminal
        monkeypatch.setattr(sys, "stderr", screen)
        progress = Progress(4)
        progress.due = 0  # as if two seconds had passed
        progress.draw(1, LocalPool(3))
        bar = "\r\x1b[K[#######                       ] 1 of 4 cells, 3 in parallel"
        assert screen.getvalue() == (bar if terminal else "")
        progress.clear()
        assert screen.getvalue() == (bar + "\r\x1b[K" if terminal else "")


@needs_program
def test_results_of_another_program_are_not_mixed_in(tmp_path):
    file = described(tmp_path, EXAMPLE.replace("1..4", "1..1"))
    sweep(file)
    program = program_that(tmp_path, "true", 9)
    out = sweep(file, program=program, code=2)
    assert "contains results of another sweep, program or world" in out
    assert not (tmp_path / "sweep.results.jsonl.part").exists()
    sweep(file, "--fresh", program=program)


@pytest.mark.parametrize("fill, complaint", [
    (lambda out: out.write_bytes(b"\x80\x81\n"), "not a file of sweep results"),
    (lambda out: out.write_bytes(b"a letter without an end of line"),
     "not a file of sweep results"),
    (lambda out: out.write_bytes(b'{"sweep"'), "not a file of sweep results"),
    (lambda out: out.write_bytes(b"[]\n"), "not a file of sweep results"),
    (lambda out: out.mkdir(), "is a folder: name a file"),
])
def test_what_is_no_file_of_results_is_left_alone(tmp_path, fill, complaint):
    out = tmp_path / "out"
    fill(out)
    before = out.read_bytes() if out.is_file() else None
    with pytest.raises(Failure) as caught:
        Results(out, Plan(str(described(tmp_path)), os.devnull))
    assert complaint in str(caught.value)
    assert caught.value.code == 2
    assert [entry.name for entry in sorted(tmp_path.iterdir())] == ["out", "sweep.toml"]
    assert before == (out.read_bytes() if out.is_file() else None)


def test_a_file_named_behind_an_equals_sign_is_one_that_a_cell_reads(tmp_path):
    table = tmp_path / "table.tsv"
    table.write_text("one\n", encoding="utf-8")
    text = f'run = ["matrix"]\n[options]\ntable = ["{table}"]\n'
    first = Plan(str(described(tmp_path, text)), os.devnull).identity()
    table.write_text("two\n", encoding="utf-8")
    second = Plan(str(described(tmp_path, text)), os.devnull).identity()
    table.unlink()
    third = Plan(str(described(tmp_path, text)), os.devnull).identity()
    assert len({first, second, third}) == 3


@needs_program
def test_the_verb_starts_it(tmp_path):
    file = described(tmp_path, EXAMPLE.replace("1..4", "5..6"))
    done = subprocess.run([PROGRAM, "sweep", file, "--jobs", "2"], cwd=ROOT, capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "4 cells: 0 had results, 4 ran, 0 were repeated because" in done.stdout


@needs_program
def test_a_cell_that_is_refused_ends_the_sweep_with_its_words(tmp_path):
    file = described(tmp_path, EXAMPLE.replace("[true, false]", '["perhaps"]'))
    out = sweep(file, code=2)
    assert "'sack' of host 'a': expected true or false" in out
    assert len(out.splitlines()) == 1
    described(tmp_path, EXAMPLE.replace("1..4", "1..1"))
    sweep(file)  # once corrected it is a new sweep, as no result exists


@pytest.mark.parametrize("text, complaint", [
    ('run = ["sim"]', "sweep.toml:1: 'run': expected one of the verbs sim run, ns3 run"),
    ('run = "sim"', "sweep.toml:1: 'run': expected a verb and its arguments"),
    ('run = ["sim", "run", "--json", "x"]', "sweep.toml:1: 'run': --json is set by the sweep"),
    ('run = ["sim", "run"]\n\nseeds = "9..1"', "sweep.toml:3: 'seeds': found \"9..1\""),
    ('run = ["sim", "run"]\nseeds = 7', "sweep.toml:2: 'seeds': found 7, expected a list"),
    ('run = ["matrix"]\nseeds = "1..2"', "sweep.toml:2: 'seeds': matrix has no seeds: remove"),
    ('run = ["sim", "run"]\nsets = 1', "sweep.toml:2: 'sets': unknown key, expected one of"),
    ('run = ["sim", "run"]\n[set]\n"a.b" = []', "sweep.toml:3: 'a.b': found []"),
    ('run = ["sim", "run"]\n[set]\n"a.b" = [1, 1]', "sweep.toml:3: 'a.b': 1 is listed twice"),
    ('run = ["sim", "run"]\n[options]\njson = ["x"]', "sweep.toml:3: 'json': expected the name"),
    ('run = ["sim", "run"]\nseeds = "0..999999"\n[set]\nx = [1, 2]',
     "sweep.toml:2: 'seeds': makes more than 1000000 cells"),
    ("run = [", "sweep.toml: not valid TOML: "),
])
def test_a_bad_description_is_one_line(tmp_path, text, complaint):
    with pytest.raises(Failure) as caught:
        Plan(str(described(tmp_path, text)), os.devnull)
    assert complaint in str(caught.value)
    assert caught.value.code == 2
