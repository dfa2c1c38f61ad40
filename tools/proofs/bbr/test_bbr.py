"""A sample of tools/evidence bbr: one cell, and the choice of cells."""

import json
import os
import pathlib
import subprocess

import pytest

from tools.dev.test import kernel
from tools.proofs.bbr import __main__ as proof
from tools.proofs.bbr import cells

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ.get("LOCKSTEP_PROGRAM", ROOT / "build/release/lockstep"))
LINUX = pathlib.Path(kernel.find())


def test_the_sixth():
    chosen = cells.sixth()
    assert len(chosen) == len(set(chosen)) and 26 <= len(chosen) <= 27
    for values, which in ((cells.RATES, "rate"), (cells.RTTS, "rtt"), (cells.LOSSES, "loss"),
                          (cells.REORDERINGS, "reordering")):
        assert {getattr(cell, which) for cell in chosen} == set(values)


def test_what_is_missing_gets_one_line(tmp_path, monkeypatch, capsys):
    words = ["--into", str(tmp_path / "into"), "--lockstep"]
    assert proof.main([*words, "/nowhere/lockstep"]) == 3
    assert "/nowhere/lockstep is missing: build it" in capsys.readouterr().err
    monkeypatch.setenv("LOCKSTEP_LINUX", "/nowhere/linux")
    assert proof.main([*words, __file__]) == 3
    assert "no Linux at /nowhere/linux: tools/setup --with linux" in capsys.readouterr().err
    monkeypatch.delenv("LOCKSTEP_LINUX")
    monkeypatch.setattr(kernel, "BUILT", tmp_path / "none")
    assert proof.main([*words, __file__]) == 3
    assert "no Linux: tools/setup --with linux" in capsys.readouterr().err


def test_the_help_has_its_percent_sign(capsys):
    with pytest.raises(SystemExit):
        proof.main(["--help"])
    assert "within 10 % of Linux" in capsys.readouterr().out


def test_without_its_environment_the_job_names_the_mend(tmp_path):
    job = ROOT / "tools/proofs/jobs/bbr"
    done = subprocess.run([job], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={**os.environ, "EVIDENCE_DIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (
        3, "bbr: build/venv/bin/python is missing: run tools/setup\n")


def line_of(cell, ours):
    found = {name: {"kbit": 1000, "rtt_us": 1, "again": 0} for name in cells.SENDERS}
    found["bbr"]["kbit"] = ours
    return proof.line_of(cell, found)


def test_more_than_a_tenth_differs():
    cell = cells.Cell("1G", "300ms", "3%", "ten")
    for ours, good, word in ((900, True, "holds"), (899, False, "DIFFERS"), (1100, True, "holds"),
                             (1101, False, "DIFFERS")):
        line, well = line_of(cell, ours)
        assert well == good and line.endswith(word)


def test_only_results_of_the_same_run_are_used_again(tmp_path, monkeypatch):
    kept, kernel = tmp_path / "kept", tmp_path / "kernel"
    kept.mkdir()
    ran = []

    def simulate(_cell, sender, seed, _program, _controllers, _kept, _option, result):
        ran.append((sender, seed))
        flow = {"duration_ns": 10**9, "opener": {"retransmissions": 1, "rtt_median_ns": 5000}}
        result.write_text(json.dumps({"connections": [flow]}))

    monkeypatch.setattr(cells, "simulate", simulate)
    monkeypatch.setenv("LOCKSTEP_LINUX", str(kernel))
    program, controller = tmp_path / "lockstep", tmp_path / "bbr.so"
    cell = cells.Cell("10M", "10ms", "1%", "none")

    def runs():
        cells.digest_of.cache_clear()
        before = len(ran)
        for sender in ("linux", "bbr"):
            found = cells.run(cell, sender, 1, program, tmp_path, kept)
            assert found == {"kbit": cells.BYTES * 8 // 1000, "again": 1, "rtt_us": 5}
        return [sender for sender, _ in ran[before:]]

    assert runs() == ["linux", "bbr"]
    assert runs() == []
    program.write_text("another")
    assert runs() == ["linux", "bbr"]
    controller.write_text("another")
    assert runs() == ["bbr"]
    kernel.write_text("another")
    assert runs() == ["linux"]
    monkeypatch.setitem(cells.RTTS, "10ms", 10_001)
    assert runs() == ["linux", "bbr"]


@pytest.mark.skipif(not LINUX.is_file(), reason="tools/setup --with linux builds the kernel")
def test_version_1_is_as_fast_as_linux(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCKSTEP_LINUX", str(LINUX))
    monkeypatch.setattr(cells, "BYTES", 1_000_000)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{ROOT}",
                    str(ROOT / "sim/examples/controllers/bbr.c"), "-o", str(tmp_path / "bbr.so")],
                   check=True)
    cell = cells.Cell("10M", "10ms", "1%", "none")
    linux, ours = (cells.run(cell, sender, 1, PROGRAM, tmp_path, tmp_path)["kbit"]
                   for sender in ("linux", "bbr"))
    assert abs(ours - linux) * 100 <= 10 * linux
