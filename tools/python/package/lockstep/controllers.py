"""Congestion controllers of one's own: a class with methods, or a shared object.

A controller in Python is for experiments: each ACK costs some microseconds more than in C
(``core/tcp/congestion/controller.h``). Both have the same interface, in octets, nanoseconds and
octets per second, and in integers alone::

    class Steady(lockstep.Controller):
        name = "steady"
        state = ("acked",)

        def on_ack(self, connection, state, ack):
            state.acked += ack.newly
            if state.acked * 4 >= connection.cwnd:
                state.acked = 0
                connection.cwnd += connection.mss

        def reduced(self, connection, state, signal):
            return connection.cwnd * 3 // 4

    lockstep.add_controller(Steady())
    a = sim.host("a", "10.0.0.1/24", config={"congestion": "steady"})
"""

from __future__ import annotations

import ctypes
import operator
import os
from typing import Any, Callable, Union

from lockstep import _core
from lockstep.errors import BadInput

_word = ctypes.c_uint64

#: The version of the interface.
VERSION = 1
#: The most words that the state of a controller has.
STATE_MAX = 64
#: The values of ControlledConnection.recovery.
OPEN, RECOVERY, AFTER_TIMEOUT = range(3)
#: The signals of Controller.reduced.
LOSS, MARK, TIMEOUT = range(3)


class ControlledConnection(ctypes.Structure):
    """A connection as its controller sees it, during a call; controller.h describes each field.

    A controller may change cwnd, ssthresh and pacing_rate.
    """

    _fields_ = [("_state", ctypes.POINTER(_word))] + [(name, _word) for name in (
        "cwnd", "ssthresh", "pacing_rate", "now", "mss", "in_flight", "srtt", "delivered", "lost",
        "entropy", "recovery")]


class Ack(ctypes.Structure):
    """An ACK that delivers data; controller.h describes each field."""

    _fields_ = [(name, _word) for name in (
        "newly", "delivered", "lost", "before", "sample_rtt", "sample_delivered",
        "sample_interval", "sample_prior", "sample_in_flight", "sample_lost", "sample_limited",
        "limited", "marked")]


_OnConnection = ctypes.CFUNCTYPE(None, ctypes.POINTER(ControlledConnection))
_OnAck = ctypes.CFUNCTYPE(None, ctypes.POINTER(ControlledConnection), ctypes.POINTER(Ack))
_Reduced = ctypes.CFUNCTYPE(_word, ctypes.POINTER(ControlledConnection), ctypes.c_int)


class _Table(ctypes.Structure):
    """The structure lockstep_controller."""

    _fields_ = [("version", ctypes.c_uint32), ("state_words", ctypes.c_uint32),
                ("flags", ctypes.c_uint32), ("name", ctypes.c_char_p), ("begin", _OnConnection),
                ("on_ack", _OnAck), ("reduced", _Reduced), ("on_resume", _OnConnection)]


class Controller:
    """A congestion controller in Python, to derive from.

    One object serves all connections. What a connection must remember is in `state`: an object
    with one attribute for each name that the class lists, unsigned integers of 64 bits that begin
    at 0. It is part of snapshots, forks and fingerprints. Attributes of `self` are not: if the
    methods change them, a run that is restored from a snapshot goes on differently.
    """

    #: Lower-case letters, digits, ``_`` and ``-``; at most 15.
    name: str = ""
    #: The names of its words of state, at most 64.
    state: tuple[str, ...] = ()
    #: Whether it sets cwnd after every ACK, in recovery and after timeouts, too.
    owns_window: bool = False
    #: Whether data leaves at the rate `connection.pacing_rate`.
    paces: bool = False

    def begin(self, connection: ControlledConnection, state: Any) -> None:
        """The handshake is complete."""

    def on_ack(self, connection: ControlledConnection, state: Any, ack: Ack) -> None:
        """An ACK delivers data. Without it cwnd stays."""

    def reduced(self, connection: ControlledConnection, state: Any, signal: int) -> int:
        """The network is congested (LOSS, MARK or TIMEOUT): returns the new ssthresh."""
        half: int = connection.cwnd // 2
        return half

    def on_resume(self, connection: ControlledConnection, state: Any) -> None:
        """Data is sent, and nothing was in flight before."""


# What C refers to, for the life of the process.
_kept: list[object] = []
_failed: list[BaseException] = []


def _guarded(method: Callable[..., Any], default: int) -> Callable[..., Any]:
    """Keeps the first exception for check(): C cannot pass it on."""

    def call(*arguments: Any) -> Any:
        if _failed:
            return default
        try:
            return method(*arguments)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            _failed.append(error)
            return default

    return call


def _octets(controller: Controller, returned: Any) -> int:
    """What reduced() returned, as an integer that C can have."""
    try:
        octets = operator.index(returned)
    except TypeError:
        octets = -1
    if not 0 <= octets < 1 << 64:
        raise BadInput(f"controller {controller.name!r}: reduced() returned {returned!r}, expected "
                       "the new ssthresh, an integer of octets")
    return octets


def _table_of(controller: Controller) -> _Table:
    words = tuple(controller.state)
    if not all(isinstance(word, str) and word.isidentifier() for word in words):
        raise BadInput(f"the state of controller {controller.name} is {words!r}, expected names")
    state = type("State", (ctypes.Structure,), {"_fields_": [(word, _word) for word in words],
                                                "__slots__": ()})
    pointer: Any = ctypes.POINTER(state)

    def with_state(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(at: Any, *more: Any) -> Any:
            connection = at.contents
            return method(connection, ctypes.cast(connection._state, pointer).contents, *more)
        return call

    on_ack = with_state(lambda connection, its, ack: controller.on_ack(connection, its,
                                                                        ack.contents))
    reduced = with_state(lambda connection, its, signal: _octets(
        controller, controller.reduced(connection, its, signal)))
    table = _Table(VERSION, len(words), int(controller.owns_window) | int(controller.paces) << 1,
                   controller.name.encode(),
                   _OnConnection(_guarded(with_state(controller.begin), 0)),
                   _OnAck(_guarded(on_ack, 0)),
                   _Reduced(_guarded(reduced, 0)),
                   _OnConnection(_guarded(with_state(controller.on_resume), 0)))
    _kept.append((controller, state, table))
    return table


def add_controller(controller: Union[Controller, str, "os.PathLike[str]"]) -> str:
    """Adds a congestion controller, for the life of the process; returns its name.

    `controller`: an object of a class derived from :class:`Controller`, or a shared object's path,
    as of ``lockstep sim run --controller``. From then on ``config={"congestion": NAME}`` names it.
    BadInput: it cannot be used, or the name is taken.
    """
    if not isinstance(controller, Controller):
        return _core.load_controller(os.fspath(controller))
    table = _table_of(controller)
    _core.add_controller(f"controller {controller.name!r}", ctypes.addressof(table))
    return controller.name


def check(core: "_core.Simulation") -> None:
    """After time has passed in a world: raises what went wrong in a controller."""
    if _failed:
        error = _failed[0]
        _failed.clear()
        raise error
    fault = core.controller_fault()
    if fault:
        raise BadInput(fault)
