"""A sample of tools/evidence bbr: one cell, and the choice of cells."""

import os
import pathlib
import subprocess

import pytest

from tools.proofs.bbr import cells

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ.get("LOCKSTEP_PROGRAM", ROOT / "build/release/lockstep"))
LINUX = pathlib.Path(os.environ.get("LOCKSTEP_LINUX", ROOT / "build/linux/linux-6.12"))


def test_the_sixth():
    chosen = cells.sixth()
    assert len(chosen) == len(set(chosen)) and 26 <= len(chosen) <= 27
    for values, which in ((cells.RATES, "rate"), (cells.RTTS, "rtt"), (cells.LOSSES, "loss"),
                          (cells.REORDERINGS, "reordering")):
        assert {getattr(cell, which) for cell in chosen} == set(values)


@pytest.mark.skipif(not LINUX.exists(), reason="tools/setup --with linux builds the kernel")
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
