# Checks that pytest can import the Python module `lockstep`, and says how to build it.
import importlib.util

import pytest

MEND = ("the Python module lockstep is not built: cmake --preset release &&"
        " cmake --build --preset release --target python_core python_stub")


def is_there():
    """True if it can be imported. Without nanobind no build contains it, as CMake has reported."""
    return (importlib.util.find_spec("nanobind") is not None
            and importlib.util.find_spec("lockstep") is not None)


def refuse_without():
    """One line instead of a traceback if a build could have made the module but has not."""
    if importlib.util.find_spec("nanobind") is not None and not is_there():
        raise pytest.UsageError(MEND)
