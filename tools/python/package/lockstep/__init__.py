"""Lockstep: a TCP/IP stack in virtual time.

A :class:`Stack` is a single stack that takes packets and calls and returns packets and events; a
:class:`Sim` is a world of hosts, links and faults. Everything is a deterministic function of the
arguments: the same program prints the same bytes on any machine.
Times are nanoseconds, or text with a unit like ``"200ms"``. Errors are :class:`Error` and its
subclasses :class:`BadInput` and :class:`Refused`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Union

from lockstep import _core
from lockstep.calls import Calls, Connection, Event, Listener
from lockstep.controllers import Ack, ControlledConnection, Controller, add_controller
from lockstep.errors import BadInput, Error, Refused, SocketError, WouldBlock
from lockstep.inspection import Inspection
from lockstep.sim import AppConnection, Arrival, Frame, Host, Link, Sim, SimSnapshot, Tap, Value
from lockstep.stack import Region, Sent, Stack, Wrong
from lockstep.units import Address, BytesLike, Duration, as_text, nanoseconds

__all__ = [
    "Ack", "Address", "AppConnection", "Arrival", "BadInput", "BytesLike", "Calls", "ConfigField",
    "Connection", "ControlledConnection", "Controller", "Duration", "Error", "Event", "Frame",
    "Host", "Inspection", "Link", "Listener", "Refused", "Region", "STATES", "Sent", "Sim",
    "SimSnapshot", "SocketError", "Stack", "Tap", "Value", "WouldBlock", "Wrong", "add_controller",
    "config_fields", "drops", "fields_of", "nanoseconds",
]

#: The version of Lockstep.
__version__: str = _core.version

#: The states of a connection, as RFC 9293 names them.
STATES: tuple[str, ...] = tuple(_core.states())


class ConfigField(NamedTuple):
    """A field of a stack's configuration."""

    unit: str  #: count, bytes, duration (nanoseconds), boolean, octet, sequence, port, word
    least: int
    most: int
    words: tuple[str, ...]  #: of unit word: the valid words
    value: Union[int, str]  #: in the profile


def config_fields(profile: str = "default") -> dict[str, ConfigField]:
    """The fields that ``Stack(config={...})`` accepts, with their ranges and a profile's values.

    BadInput: there is no such profile.
    """
    out = {}
    for name, unit, least, most, words, value in _core.fields(as_text(profile, "profile")):
        out[name] = ConfigField(unit, least, most, tuple(words), words[value] if words else value)
    return out


def drops() -> dict[str, str]:
    """Every reason for dropping a packet, by name, with a description."""
    return _core.drops()


def fields_of(sent: Iterable[object]) -> Any:
    """A numpy array with a record of the header's fields for each packet.

    :func:`lockstep.fields.fields_of`, which takes packets, ``sim.frames()`` and ``tap.arrived()``.
    ImportError: numpy is not installed.
    """
    from lockstep import fields
    return fields.fields_of(sent)
