"""Where results are kept by content: in the user's cache, for all checkouts."""

import os
import pathlib

BYTES_MAX = 16 << 20


def file(name):
    """The file of that name in the cache; one that has become too large is begun again."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    path = pathlib.Path(base) / "lockstep" / "tidy" / name
    if path.is_file() and path.stat().st_size > BYTES_MAX:
        path.unlink(missing_ok=True)
    return path
