# Finds the program `lockstep` of the build; without it a test of a verb fails.
from pathlib import Path

import pytest

BUILT = Path(__file__).resolve().parents[3] / "build/release/lockstep"


def find(program=BUILT):
    """Its path. Fails the test that asks if it is not built: nothing of a verb would be tested."""
    if not program.exists():
        pytest.fail(f"{program} is missing: cmake --preset release &&"
                    " cmake --build --preset release --target program_lockstep", pytrace=False)
    return program
