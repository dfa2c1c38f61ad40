# What the tests of devices share.
import pytest

from lockstep.testing import Unsupported, tap_target


@pytest.fixture(scope="module")
def program():
    """The program lockstep, or a skip."""
    try:
        return tap_target.program()
    except Unsupported as why:
        pytest.skip(str(why))
