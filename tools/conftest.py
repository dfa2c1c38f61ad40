# Provides the fixture `tcp` to the tests here, as conformance/conftest.py does.
from dev.test import module

if module.is_there():
    pytest_plugins = ["lockstep.testing.plugin"]
else:

    def pytest_addoption(parser):
        module.refuse_without()
