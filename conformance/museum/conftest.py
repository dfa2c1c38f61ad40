# Settings of our own stack for the cases; without the built module the cases are left out.
from pathlib import Path

import pytest
from dev.test import module

collect_ignore_glob = [] if module.is_there() else ["test_*.py"]
OURS = ("stack", "lockstep", "device:lockstep")


def pytest_collection_modifyitems(config, items):
    """The cases of fragments need reassembly, which profile rfc leaves out."""
    for item in items if config.getoption("--target", "stack") in OURS else ():
        if item.path == Path(__file__).parent / "test_fragments.py":
            item.add_marker(pytest.mark.stack(reassembly_datagrams=64))
