"""The exceptions of lockstep: one hierarchy, each with a one-line message."""


class Error(Exception):
    """The base of all errors of lockstep. Raised directly if a limit was exceeded during a call."""


class BadInput(Error, ValueError):
    """An argument is of the wrong type, out of its range, or does not fit the others.

    The message tells what was found and what was expected. Nothing was changed.
    """


class Refused(Error):
    """The stack refused a call; ``name`` is its Refusal, like ``stale_id`` or ``no_route``.

    The call changed nothing.
    """

    name: str = ""


class SocketError(Error, OSError):
    """A call of a socket failed; ``errno`` is POSIX's, as for any OSError."""


class WouldBlock(SocketError, BlockingIOError):
    """EAGAIN: the call can do nothing now; advance the time and retry."""
