# Provides the fixture `tcp` to these tests, from the built module.
from dev.test import kernel, module

kernel.find()

# Without nanobind those tests are skipped.
if module.is_there():
    pytest_plugins = ["lockstep.testing.plugin"]
else:
    collect_ignore = ["scapy"]

    def pytest_addoption(parser):
        module.refuse_without()
        for name in ("lockstep_artifacts", "lockstep_profiles"):
            parser.addini(name, "used by lockstep.testing.plugin, which is not there")
