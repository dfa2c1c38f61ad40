# Whether the Python module `lockstep` is there for pytest, and what mends it if not.
import importlib.util

import pytest

MEND = ("the Python module lockstep is not built: cmake --preset release &&"
        " cmake --build --preset release --target python_core python_stub")


def is_there():
    """True if it can be imported. Without nanobind no build has it, and CMake has said so."""
    return (importlib.util.find_spec("nanobind") is not None
            and importlib.util.find_spec("lockstep") is not None)


def refuse_without():
    """One line in place of a trace, where a build could have made it and has not."""
    if importlib.util.find_spec("nanobind") is not None and not is_there():
        raise pytest.UsageError(MEND)
