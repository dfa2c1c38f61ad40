# Provides the fixture `tcp` to these tests, from the built module.
import os
from pathlib import Path

from dev.test import module

# The kernel that `tools/setup --with linux` has built, unless another is named.
BUILT = Path(__file__).resolve().parents[1] / "build/linux/linux-6.12"
if BUILT.exists():
    os.environ.setdefault("LOCKSTEP_LINUX", str(BUILT))

# Without nanobind those tests are skipped.
if module.is_there():
    pytest_plugins = ["lockstep.testing.plugin"]
else:
    collect_ignore = ["scapy"]

    def pytest_addoption(parser):
        module.refuse_without()
        for name in ("lockstep_artifacts", "lockstep_profiles"):
            parser.addini(name, "used by lockstep.testing.plugin, which is not there")
