# The page of two versions of Linux is what they do.
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def versions(**variables):
    """(exit code, standard output, standard error) of versions.py --check."""
    done = subprocess.run([sys.executable, Path(__file__).with_name("versions.py"), "--check"],
                          cwd=ROOT, env={**os.environ, **variables}, capture_output=True,
                          text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def test_two_versions_do_what_the_page_says():
    code, said, missing = versions()
    if code == 3:
        pytest.skip(missing.strip())
    assert code == 0, said + missing


def test_what_is_missing_is_one_line(tmp_path):
    code, said, missing = versions(LOCKSTEP_PROGRAM=str(tmp_path / "lockstep"))
    assert (code, said) == (3, "")
    assert missing == f"versions: {tmp_path}/lockstep: there is no program: build it\n"
