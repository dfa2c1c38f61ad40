"""What lockstep raises: one hierarchy, each error with one line."""


class Error(Exception):
    """The base of all errors of lockstep. Raised itself where a bound was passed on the way."""


class BadInput(Error, ValueError):
    """An argument is of the wrong type, out of its range, or does not fit the others.

    The message says what was found and what was expected. Nothing was changed.
    """


class Refused(Error):
    """The stack refused a call; ``name`` is its Refusal, like ``stale_id`` or ``no_route``.

    Nothing was changed by the call.
    """

    name: str = ""


class SocketError(Error, OSError):
    """A call of a socket failed; ``errno`` is POSIX's, as for any OSError."""


class WouldBlock(SocketError, BlockingIOError):
    """EAGAIN: the call can do nothing now, and waiting is the caller's: let time pass first."""
