# Gives the tests here the fixture `tcp`, as conformance/conftest.py does.
import importlib.util

if importlib.util.find_spec("nanobind") is not None:
    pytest_plugins = ["lockstep.testing.plugin"]
