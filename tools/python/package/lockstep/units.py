"""Converts arguments of Python callers to what the compiled part accepts."""

from __future__ import annotations

import ipaddress
from typing import Union

from lockstep import _core
from lockstep.errors import BadInput

NANOSECONDS_MAX = 2**64 - 1
NUMBER_MAX = 2**32 - 1

#: A time: nanoseconds as a number, or text with a unit: ``"200ms"``, ``"1.5s"``.
Duration = Union[int, str]

#: An IPv4 or IPv6 address: a string, or an object of :mod:`ipaddress`.
Address = Union[str, ipaddress.IPv4Address, ipaddress.IPv6Address]

#: The bytes of a packet or of data.
BytesLike = Union[bytes, bytearray, memoryview]


def nanoseconds(duration: Duration) -> int:
    """The nanoseconds of a duration: a number is taken as nanoseconds, a string needs a unit.

    Units are ns, us, ms, s, min and h. Raises BadInput for anything else.
    """
    if isinstance(duration, str):
        return _core.duration_ns(duration)
    return as_number(duration, "a time in nanoseconds", 0, NANOSECONDS_MAX)


def as_number(value: object, what: str, least: int, most: int) -> int:
    """`value` if it is a whole number from `least` to `most`; else raises BadInput."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise BadInput(f"{what} is {value!r}, expected a whole number")
    number = int(value.__index__())
    if not least <= number <= most:
        raise BadInput(f"{what} is {number}, expected {least} to {most}")
    return number


def as_text(value: object, what: str) -> str:
    """`value` if it is a str; else raises BadInput."""
    if not isinstance(value, str):
        raise BadInput(f"{what} is {value!r}, expected text")
    return value


def as_address(value: object, what: str) -> str:
    """The text of an address, "" for None. Raises BadInput for other types."""
    if value is None:
        return ""
    if isinstance(value, (ipaddress.IPv4Address, ipaddress.IPv6Address,
                          ipaddress.IPv4Interface, ipaddress.IPv6Interface)):
        return str(value)
    return as_text(value, what)


def as_port(value: object, what: str = "port") -> int:
    """`value` if it is a port, 0 to 65535; else raises BadInput."""
    return as_number(value, what, 0, 65_535)


def as_endpoint(value: object, what: str) -> tuple[str, int]:
    """``("10.0.0.1", 80)`` if it is such a pair; else raises BadInput."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise BadInput(f"{what} is {value!r}, expected an address and a port like "
                       "('10.0.0.1', 80)")
    return as_address(value[0], what), as_port(value[1], f"the port of {what}")


def as_bytes(value: object, what: str) -> bytes:
    """The bytes of a bytes-like object; anything else raises BadInput.

    An object with ``__bytes__``, such as a packet of scapy, is converted by it.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)) or hasattr(value, "__bytes__"):
        try:
            return bytes(value)  # type: ignore[arg-type]
        except Exception as error:
            words = " ".join(str(error).split())
            raise BadInput(f"{what} cannot be made bytes: {words}") from error
    raise BadInput(f"{what} is {type(value).__name__}, expected bytes or a packet of scapy")
