# Tests of a TCP in pytest: the fixture `tcp`, and helpers for the tests.
"""Tests of a TCP: `pytest -p lockstep.testing.plugin`, fixture `tcp`.

See tools/python/README.md, and `help(lockstep.testing.conversation.Conversation)`.

`pytest --target TARGET` selects the TCP under test. `--target device:./my_tcp.so` is a device: a
shared library with the interface of conformance/devices/device.h, or a program, such as one that
calls `device_wire.serve()`. To give a target a name, or to make one of a class of your own that is
derived from `Target`, write the hook `pytest_lockstep_targets` in the conftest.py beside your
tests, or in a module that `-p my_targets` loads:

    from lockstep.testing import Target

    class Board(Target):  # help(Target) lists the methods
        name = "board"
        def __init__(self, wanted): ...

    def pytest_lockstep_targets():
        return {"mine": "device:/path/of/my_tcp.so", "board": Board}

Then `--target mine` and `--target board` select them.
"""
import importlib

from .errors import Mismatch, Misuse, Unsupported
from .target import Departure, Target, Timing, Wanted, kinds

__all__ = [
    "Absolute",
    "Conversation",
    "Departure",
    "Mismatch",
    "Misuse",
    "Target",
    "Timing",
    "Unsupported",
    "Wanted",
    "kinds",
    "pattern",
]


def __getattr__(name):
    """Imports what needs scapy on first use, because pytest loads the plugin in every run."""
    if name not in ("Absolute", "Conversation", "pattern"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(".conversation", __name__), name)
