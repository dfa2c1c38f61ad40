# Tests of a TCP in pytest: the fixture `tcp`, and helpers for the tests.
"""Tests of a TCP: `pytest -p lockstep.testing.plugin`, fixture `tcp`.

See tools/python/README.md, and `help(lockstep.testing.conversation.Conversation)`.
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
