# Provides the fixture `tcp` to the tests here, as conformance/conftest.py does, and `program`.
import pytest

from dev.test import module
from dev.test import program as program_of_tests

if module.is_there():
    pytest_plugins = ["lockstep.testing.plugin"]
else:

    def pytest_addoption(parser):
        module.refuse_without()


@pytest.fixture(name="program")
def built_program():
    """The path of build/release/lockstep."""
    return program_of_tests.find()
