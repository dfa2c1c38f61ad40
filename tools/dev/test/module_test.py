# Without the built module pytest reports that in one line, with the fix.
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest
from dev.test import module

ROOT = Path(__file__).resolve().parents[3]


def is_installed():
    """True if a wheel is installed in this environment, in which case the module is never
    missing."""
    try:
        importlib.metadata.version("lockstep")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(is_installed(), reason="lockstep is installed here, so it cannot be missing")
@pytest.mark.parametrize("asked", [["conformance/scapy", "--target", "linux"], ["tools/python"]])
def test_a_module_that_is_not_built_is_said_in_a_line(asked):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "pythonpath=tools",
         *asked],
        cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert done.stderr.strip() == f"ERROR: {module.MEND}"
