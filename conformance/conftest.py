# Gives the tests here the fixture `tcp`, from the module that the build has made.
import importlib.util

# Without nanobind no build has the module, and CMake has said so: those tests are left out.
if importlib.util.find_spec("nanobind") is None:
    collect_ignore = ["scapy"]

    def pytest_addoption(parser):
        parser.addini("lockstep_artifacts", "used by lockstep.testing.plugin, which is not there")
else:
    pytest_plugins = ["lockstep.testing.plugin"]
