# Gives the tests here the fixture `tcp`, from the module that the build has made.
from dev.test import module

# Without nanobind those tests are left out.
if module.is_there():
    pytest_plugins = ["lockstep.testing.plugin"]
else:
    collect_ignore = ["scapy"]

    def pytest_addoption(parser):
        module.refuse_without()
        for name in ("lockstep_artifacts", "lockstep_profiles"):
            parser.addini(name, "used by lockstep.testing.plugin, which is not there")
