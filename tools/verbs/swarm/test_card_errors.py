"""Worlds in which a card loses frames, and all connections are to be served."""

import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "build/release/lockstep"


# In 779 and 1412 a FIN comes after the other side's TIME-WAIT; in 942 what proves a cookie is lost.
@pytest.mark.parametrize("seed", [779, 942, 1412])
def test_seeds_that_failed(seed):
    ran = subprocess.run([PROGRAM, "swarm", "--driver", "mpipe-errs", "--seeds", f"{seed}..{seed}",
                          "--shrink", "0"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "1 seeds, 0 failed" in ran.stdout, ran.stdout + ran.stderr
