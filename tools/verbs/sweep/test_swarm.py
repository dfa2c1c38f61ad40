# A swarm in parts, on processes and on a Dask cluster, against one process.
import argparse
import errno
import io
import json
import pathlib
import subprocess

import pytest

from verbs.sweep import files, swarm
from verbs.sweep.plan import Failure
from verbs.sweep.pools import LocalPool
from verbs.sweep.swarm import merged, parts_of, run_parts
from verbs.sweep.test_sweep import PROGRAM, cluster

pytestmark = pytest.mark.usefixtures("program")


def whole(tmp_path, seeds):
    """The JSON of one process."""
    subprocess.run([PROGRAM, "swarm", "--seeds", seeds, "--json", tmp_path / "one"], check=True,
                   capture_output=True)
    return (tmp_path / "one").read_bytes()


def test_the_parts_cover_the_seeds():
    assert parts_of(3, 3) == [(3, 3)]
    assert parts_of(0, 600) == [(0, 249), (250, 499), (500, 600)]


def test_parts_add_up_to_one_process(tmp_path):
    parts = [(0, 29), (30, 30), (31, 89)]
    pool = LocalPool(2)
    try:
        results = run_parts(parts, pool, str(PROGRAM), [])
    finally:
        pool.close()
    assert merged(0, 89, results) == json.loads(whole(tmp_path, "0..89"))


def part(count, what=()):
    return {"unreachable": ["odd"], "fingerprint": "ffffffffffffffff", "failed": len(what),
            "frames": 1, "connections": 1, "bytes_read": 1, "virtual_ms": 1, "coverage": [],
            "failures": [{"seed": 7, "what": each} for each in what],
            "fired": {"timer": {"odd": count, "even": 0}}}


def test_rows_of_nothing_are_judged_for_all_seeds():
    assert merged(0, 4998, [part(0), part(0)])["coverage"] == []
    assert merged(0, 4999, [part(0), part(0)])["coverage"] == ["timer even was never reached"]
    found = merged(0, 9, [part(0, ["x"]), part(3, ["y"])])
    assert found["coverage"] == ["timer odd was reached, but is listed as unreachable"]
    assert [each["what"] for each in found["failures"]] == ["x", "y"]
    assert found["fingerprint"] == "fffffffffffffffe"


class DyingPool:
    """Every process is killed."""
    size = 1

    def __init__(self):
        self.started = []

    def start(self, index, work):
        self.started.append(index)
        assert work["words"][:3] == ["swarm", "--seeds", "0..9"]

    def next(self):
        return self.started[-1], {"killed": 9}


def test_a_part_that_is_killed_is_tried_three_times():
    pool = DyingPool()
    with pytest.raises(Failure, match="seeds 0..9: the process or its worker ended 3 times"):
        run_parts([(0, 9)], pool, str(PROGRAM), [])
    assert pool.started == [0, 0, 0]


class NoPool:
    """A cluster on which nothing may run."""

    def __init__(self, _):
        raise AssertionError("the work began")


def words_of(path):
    return argparse.Namespace(first=0, last=9, dask="here", program=str(PROGRAM), options=[],
                              json=str(path))


def test_a_path_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(swarm, "DaskPool", NoPool)
    with pytest.raises(Failure, match="cannot be written .*: name another --json"):
        swarm.run(words_of(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(Failure, match="cannot be written .*: name another --json"):
        swarm.run(words_of(tmp_path / "file/all.json"))


def test_the_results_replace_earlier_ones_whole_or_not_at_all(tmp_path, monkeypatch):
    out = tmp_path / "new/all.json"
    monkeypatch.setattr(swarm, "DaskPool", lambda _: io.StringIO())
    monkeypatch.setattr(swarm, "run_parts", lambda *_: [part(0)])
    assert swarm.run(words_of(out)) == 0
    before = out.read_bytes()
    assert json.loads(before)["seeds"] == {"first": 0, "last": 9}

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(Failure, match="all.json: cannot be written .No space left on device"):
        swarm.run(words_of(out))

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(swarm, "run_parts", killed)
    with pytest.raises(KeyboardInterrupt):
        swarm.run(words_of(out))
    assert out.read_bytes() == before and list(out.parent.iterdir()) == [out]


def test_a_cluster_gives_the_same_bytes(tmp_path):
    pytest.importorskip("distributed", reason="tools/setup installs dask")
    with cluster(tmp_path) as address:
        done = subprocess.run(
            [PROGRAM, "swarm", "--seeds", "0..299", "--dask", address, "--json", tmp_path / "all"],
            capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert pathlib.Path(tmp_path / "all").read_bytes() == whole(tmp_path, "0..299")
    assert done.stdout.splitlines()[-1].startswith("300 seeds, 0 failed; ")
