# Finds Linux as a program: the one that LOCKSTEP_LINUX names, else the one that was built.
import os
from pathlib import Path

BUILT = Path(__file__).resolve().parents[3] / "build/linux/linux-6.12"


def find():
    """Sets LOCKSTEP_LINUX to the kernel of `tools/setup --with linux`, unless it is set or there is
    none. Returns the program's path, or an empty string.
    """
    if BUILT.exists():
        os.environ.setdefault("LOCKSTEP_LINUX", str(BUILT))
    return os.environ.get("LOCKSTEP_LINUX", "")
