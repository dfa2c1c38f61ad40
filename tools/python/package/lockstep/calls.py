"""What may be asked of a stack, wherever it runs: the application's calls and the observer's."""

from __future__ import annotations

from typing import NamedTuple, Optional, Union, cast

from lockstep import _core
from lockstep.errors import BadInput
from lockstep.inspection import Inspection
from lockstep.units import (NANOSECONDS_MAX, NUMBER_MAX, Address, BytesLike, as_address, as_bytes,
                            as_endpoint, as_number, as_port, as_text)


class Connection(NamedTuple):
    """Names a connection of one stack for its whole life; a stale one is refused."""

    slot: int
    generation: int


class Listener(NamedTuple):
    """Names a listener of one stack; a stale one is refused."""

    slot: int
    generation: int


class Event(NamedTuple):
    """What the stack tells the application about a connection."""

    at: int  #: nanoseconds of the stack's clock
    kind: str  #: accepted, connected, received, acknowledged, room, urgent, peer_finished,
    #: soft_error or closed, which is a connection's last
    #: of closed and soft_error: finished, reset, refused, timed_out, host_unreachable; else none
    cause: str
    connection: Connection
    listener: Optional[Listener]  #: of accepted
    bytes: int  #: of received: readable now; of acknowledged: since the last one; of urgent: ahead


def _id(value: object, kind: Union[type[Connection], type[Listener]]) -> tuple[int, int]:
    if not isinstance(value, kind):
        raise BadInput(f"{value!r} was given, expected a {kind.__name__}")
    slot, generation = cast(tuple[int, int], value)
    return (as_number(slot, "a slot", 0, NUMBER_MAX),
            as_number(generation, "a generation", 0, NUMBER_MAX))


def connection_id(value: object) -> tuple[int, int]:
    """The numbers of a connection; BadInput for anything else."""
    return _id(value, Connection)


class Calls:
    """The application's and the observer's calls, which :class:`Stack` and :class:`Host` share.

    They never block and take effect at the stack's next turn. Those of the application raise
    Refused, with the name of the refusal, and then have changed nothing.
    """

    __slots__ = ("_core",)

    _core: _core.Calls

    # --- the application ---

    def listen(self, port: int, backlog: int = 128, *, address: Optional[Address] = None,
               fast_open: int = 0) -> Listener:
        """Listens on a port, 1 to 65535 (passive open, RFC 9293 3.10.1).

        Args:
            port: the local port.
            backlog: how many connections may stand before they are accepted.
            address: which of our addresses; None: any.
            fast_open: how many may be opened by a SYN with text (RFC 7413), if Config allows it.

        Raises:
            Refused: exists, bad_local, no_room, bad_argument.
        """
        local = (as_address(address, "the address"), as_port(port))
        return Listener(*self._core.listen(
            local, as_number(backlog, "backlog", 0, NUMBER_MAX),
            as_number(fast_open, "fast_open", 0, NUMBER_MAX)))

    def unlisten(self, listener: Listener) -> None:
        """Ends listening. Its connections live on. Refused: stale_id."""
        self._core.unlisten(_id(listener, Listener))

    def accepted(self) -> list[Connection]:
        """The connections that were accepted since this was asked last, in order."""
        return [Connection(*each) for each in self._core.accepted()]

    def connect(self, remote: tuple[Address, int], *, local_port: int = 0,
                local_address: Optional[Address] = None, fast_open: bool = False) -> Connection:
        """Begins an active open (RFC 9293 3.10.1); its SYN leaves with the next transmit().

        Args:
            remote: address and port.
            local_port: 0: one is drawn (RFC 6056).
            local_address: None: the one that reaches the remote.
            fast_open: what is written before the SYN leaves may leave with it (RFC 7413).

        Raises:
            Refused: exists, bad_remote, bad_local, no_route, ports_exhausted, no_room, quiet_time.
        """
        local = (as_address(local_address, "local_address"), as_port(local_port, "local_port"))
        return Connection(*self._core.connect(as_endpoint(remote, "remote"), local,
                                              bool(fast_open)))

    def write(self, connection: Connection, data: BytesLike, *, more: bool = False,
              record: bool = False) -> int:
        """Queues bytes to send and gives how many were taken: 0 if there is no room now.

        `more`: others follow at once, so that no segment need be pushed (RFC 9293 3.9.1.2).
        `record`: they end a record, if all were taken: no segment has bytes from both sides of its
        end, sent first or again (MSG_EOR). Each end that is not acknowledged takes the room of a
        block in the send buffer. Refused: stale_id, closing.
        """
        return self._core.write(_id(connection, Connection), as_bytes(data, "data"), bool(more),
                                bool(record))

    def read(self, connection: Connection, most: int = NUMBER_MAX, *, peek: bool = False) -> bytes:
        """The bytes that came in order, `most` at most; b"" if there are none now.

        `peek` leaves them unread. Refused: stale_id.
        """
        return self._core.read(_id(connection, Connection), as_number(most, "most", 0, NUMBER_MAX),
                               bool(peek))

    def unread(self, connection: Connection) -> int:
        """How many bytes read() would give; 0 for a connection that is over."""
        return self._core.unread(_id(connection, Connection))

    def writable(self, connection: Connection) -> int:
        """How many bytes write() would take; 0 for a connection that is over."""
        return self._core.writable(_id(connection, Connection))

    def finish(self, connection: Connection) -> None:
        """Closes our half: a FIN follows what is queued; reading goes on.

        Refused: stale_id, closing.
        """
        self._core.finish(_id(connection, Connection))

    def close(self, connection: Connection) -> None:
        """Closes our half and reads no more: a reset answers unread or later text.

        Refused: stale_id, closing.
        """
        self._core.close(_id(connection, Connection))

    def abort(self, connection: Connection) -> None:
        """Ends it at once, with a reset where the state asks for one. Refused: stale_id."""
        self._core.abort(_id(connection, Connection))

    def urgent(self, connection: Connection) -> None:
        """All that is queued is urgent (RFC 9293 3.8.5). Refused: stale_id, not_urgent."""
        self._core.urgent(_id(connection, Connection))

    def set(self, connection: Connection, name: str, value: int) -> None:
        """Changes a setting of one connection.

        nagle, delayed_ack, keepalive, soft_errors: 0 or 1. keepalive_idle_ms, user_timeout_ms:
        milliseconds. dscp: 0 to 63. ttl: 1 to 255. receive_buffer, send_buffer: bytes.
        keepalive_interval_ms, keepalive_probes (1 to 255), mss (64 to 65495 octets), congestion
        (0 reno, 1 cubic, 2 dctcp): where the configuration has `accounts` on, as a Stack has.
        Refused: stale_id, bad_argument, switched_off.
        """
        self._core.set(_id(connection, Connection), as_text(name, "the setting"),
                       as_number(value, "value", 0, NANOSECONDS_MAX))

    def events(self) -> list[Event]:
        """What happened since this was asked last, in order; of more than 65,536 the newest."""
        return [Event(at, kind, cause, Connection(*connection),
                      None if listener is None else Listener(*listener), count)
                for at, kind, cause, connection, listener, count in self._core.events()]

    # --- the observer ---

    def state(self, connection: Connection) -> str:
        """Its state as RFC 9293 names it: ESTABLISHED, FIN-WAIT-1 ... TIME-WAIT, CLOSED.

        Works for one that is over as well. Refused: stale_id, if there never was such a one.
        """
        return self._core.state(_id(connection, Connection))

    def state_of(self, local: tuple[Address, int], remote: tuple[Address, int]) -> str:
        """What the wire finds for these two ends: CLOSED, LISTEN, or a connection's state."""
        return self._core.state_of(as_endpoint(local, "local"), as_endpoint(remote, "remote"))

    def inspect(self, connection: Connection) -> Inspection:
        """Every variable of a connection, as :class:`Inspection` lists them.

        Sequence numbers are those on the wire, 0 to 2**32-1; extents in bytes; times (``_ns``) in
        nanoseconds, None where a timer is off. Refused: stale_id.
        """
        return self._core.inspect(_id(connection, Connection))  # type: ignore[return-value]

    def statistics(self) -> dict[str, int]:
        """Counters of the stack since it began."""
        return self._core.statistics()

    def dropped(self) -> dict[str, int]:
        """How many packets died, by the name of the reason; :func:`lockstep.drops` explains."""
        return self._core.dropped()

    def fingerprint(self) -> int:
        """64 bits over every field of the state: equal for equal states, to find a divergence."""
        return self._core.fingerprint()

    def canonical(self) -> int:
        """The same for states that differ in slots, counters and the origin of time only."""
        return self._core.canonical()

    def check_invariants(self) -> None:
        """Checks every invariant; a broken one is a bug of ours and ends the process."""
        self._core.check_invariants()
