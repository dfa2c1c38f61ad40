# Tests of a TCP in pytest: the fixture `tcp`, and what a test of its own may use beside it.
"""Tests of a TCP: `pytest -p lockstep.testing.plugin`, fixture `tcp`.

See tools/python/README.md, and `help(lockstep.testing.conversation.Conversation)`.
"""
from .conversation import Absolute, Conversation, pattern
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
