# The statistics of a sweep, against values calculated by hand.
import csv
import io
import json
import pathlib
import subprocess
import sys

import pytest

from verbs.sweep.table import (COLUMNS, csv_of, jain, measures_of, parquet_of, quantile,
                               rows_of)

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "build/release/lockstep"


def lines_of(values):
    """Cells of two arms with a seed for each pair of values."""
    out = {}
    for seed, pair in enumerate(values, 1):
        for arm, value in zip((True, False), pair):
            out[len(out)] = {"set": {"*.rack": arm}, "seed": seed, "result": {"time": value}}
    return out


def test_mean_median_and_interval_of_each_arm():
    rows = rows_of(lines_of([(1, 2), (2, 4), (6, 6)]))
    first = dict(zip(COLUMNS, rows[0]))
    assert (first["row"], first["arm"], first["measure"]) == ("arm", "*.rack=true", "time")
    assert (first["runs"], first["mean"], first["median"]) == (3, 3, 2)
    # 4.303 * sqrt(7) / sqrt(3) = 6.573
    assert float(first["low"]) == pytest.approx(3 - 6.57293, abs=1e-4)
    assert float(first["high"]) == pytest.approx(3 + 6.57293, abs=1e-4)


def test_differences_are_paired_by_seed():
    rows = rows_of(lines_of([(1, 2), (11, 12), (101, 102)]))
    assert [row[0] for row in rows] == ["arm", "arm", "difference"]
    difference = dict(zip(COLUMNS, rows[2]))
    assert difference["arm"] == "*.rack=false"
    assert (difference["mean"], difference["low"], difference["high"]) == (1, 1, 1)


def test_one_run_has_no_interval():
    rows = rows_of(lines_of([(1, 2)]))
    assert rows[0][-2:] == [None, None]


def test_a_cell_without_a_result_counts_nowhere():
    lines = lines_of([(1, 2), (3, 4)])
    del lines[3]["result"]
    assert [row[3] for row in rows_of(lines)] == [2, 1, 1]


def test_quantiles_and_fairness():
    assert (quantile(1), quantile(30), quantile(35), quantile(5000)) == (12.706, 2.042, 2.042,
                                                                         1.962)
    assert jain([1, 1]) == 1 and jain([1, 0]) == 0.5 and jain([0, 0]) == 1


def test_numbers_in_lists_of_other_verbs_are_averaged():
    found = measures_of({"seed": 3, "name": "x", "frames": 5, "well": True,
                         "flows": [{"rate": 1, "name": "a"}, {"rate": 3, "name": "b"}]})
    assert found == {"frames": 5, "flows.rate": 2}


@pytest.mark.usefixtures("program")
def test_a_sweep_writes_its_table(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text(f"""run = ["sim", "run", "{ROOT}/sim/examples/short_flows.toml"]
seeds = "1..3"
[set]
"path.discipline" = ["tail_drop", "codel"]
""", encoding="utf-8")
    table = tmp_path / "table.csv"

    def sweep(*words, code=0):
        done = subprocess.run([PROGRAM, "sweep", file, "--jobs", "2", *words], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    summary = json.loads(sweep("--json", "--csv", table))
    assert summary["csv"] == str(table) and summary["cells"] == 6
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    goodput = [row for row in rows if row["measure"] == "goodput_mbit_s"]
    assert [(row["row"], row["arm"]) for row in goodput] == [
        ("arm", "path.discipline=tail_drop"), ("arm", "path.discipline=codel"),
        ("difference", "path.discipline=codel")]
    for row in goodput:
        assert row["runs"] == "3" and float(row["low"]) < float(row["mean"]) < float(row["high"])
    before = table.read_bytes()
    sweep("--csv", table)
    assert table.read_bytes() == before
    out = sweep("--csv", file, code=2)
    assert f"--csv {file}: is another file of this sweep: name a new one" in out
    results = tmp_path / "other.results.jsonl"
    for name in ("csv", "parquet"):  # refused before a cell runs
        out = sweep(f"--{name}", file / "x", "--out", results, code=3)
        assert f"{file}/x: cannot be written (" in out and f"name another --{name}" in out
        assert not results.exists()
    link = tmp_path / "link.csv"
    link.symlink_to(table)  # the file behind it is written, and the link stays
    table.unlink()
    table.touch()
    sweep("--csv", link)
    assert link.is_symlink() and table.read_bytes() == before


def test_parquet_has_the_numbers_of_the_csv(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    lines = lines_of([(1, 2), (2, 4), (6, 7)])
    for name in ("one.parquet", "two.parquet"):
        (tmp_path / name).write_bytes(parquet_of(lines))
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    table = parquet.read_table(tmp_path / "one.parquet")
    assert table.column_names == COLUMNS
    assert str(table.schema.field("runs").type) == "int64"
    assert str(table.schema.field("mean").type) == "double"
    expected = list(csv.DictReader(io.StringIO(csv_of(lines))))
    assert len(expected) == 3
    for row, found in zip(expected, table.to_pylist()):
        assert [row["row"], row["arm"]] == [found["row"], found["arm"]]
        assert float(row["low"]) == pytest.approx(found["low"], rel=1e-8)


def test_parquet_of_one_run_has_no_interval_and_of_none_no_rows(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "one").write_bytes(parquet_of(lines_of([(1, 2)])))
    assert parquet.read_table(tmp_path / "one").to_pylist()[0]["low"] is None
    (tmp_path / "none").write_bytes(parquet_of({}))
    assert parquet.read_table(tmp_path / "none").num_rows == 0


def test_without_pyarrow_nothing_runs_and_it_is_named(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text('run = ["sim", "run", "none.toml"]\n', encoding="utf-8")
    hidden = ("import sys; sys.modules['pyarrow'] = None\n"
              f"sys.path.insert(0, {str(ROOT / 'tools')!r})\n"
              "from verbs.sweep.main import main\nsys.exit(main())")
    done = subprocess.run([sys.executable, "-c", hidden, "/bin/true", str(file), "--parquet", "t"],
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("lockstep: --parquet: pyarrow is missing")
    assert done.stderr.count("\n") == 1 and list(tmp_path.iterdir()) == [file]
