"""The calls on a stack, alone or in a world: the application's and the observer's."""

from __future__ import annotations

from typing import NamedTuple, Optional, Union, cast

from lockstep import _core
from lockstep.errors import BadInput
from lockstep.inspection import Inspection
from lockstep.units import (NANOSECONDS_MAX, NUMBER_MAX, Address, BytesLike, as_address, as_bytes,
                            as_endpoint, as_number, as_port, as_text)


class Connection(NamedTuple):
    """Identifies a connection of one stack; the id of one that is gone is refused."""

    slot: int
    generation: int


class Listener(NamedTuple):
    """Identifies a listener of one stack; an id of one that no longer exists is refused."""

    slot: int
    generation: int


class Event(NamedTuple):
    """An event of a connection."""

    at: int  #: nanoseconds of the stack's clock
    kind: str  #: accepted, connected, received, acknowledged, room, urgent, peer_finished,
    #: soft_error or closed, which is a connection's last
    #: of closed and soft_error: finished, reset, refused, timed_out, host_unreachable; else none
    cause: str
    connection: Connection
    listener: Optional[Listener]  #: of accepted
    bytes: int  #: of received: readable now; of acknowledged: newly so; of urgent: ahead of it


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
    """The application's and the observer's calls, shared by :class:`Stack` and :class:`Host`.

    They never block and take effect at the stack's next turn. The application's calls raise Refused
    with the name of the refusal, and have then changed nothing.
    """

    __slots__ = ("_core",)

    _core: _core.Calls

    # --- the application ---

    def listen(self, port: int, backlog: int = 128, *, address: Optional[Address] = None,
               fast_open: int = 0) -> Listener:
        """Listens on a port, 1 to 65535 (passive open, RFC 9293 3.10.1).

        Args:
            port: the local port.
            backlog: how many connections may wait to be accepted.
            address: which of our addresses; None: any.
            fast_open: how many may be opened by a SYN with data (RFC 7413), if Config allows it.

        Raises:
            Refused: exists, bad_local, no_room, bad_argument.
        """
        local = (as_address(address, "the address"), as_port(port))
        return Listener(*self._core.listen(
            local, as_number(backlog, "backlog", 0, NUMBER_MAX),
            as_number(fast_open, "fast_open", 0, NUMBER_MAX)))

    def unlisten(self, listener: Listener) -> None:
        """Ends listening. Accepted connections continue. Refused: stale_id."""
        self._core.unlisten(_id(listener, Listener))

    def accepted(self) -> list[Connection]:
        """The connections accepted since the last call, in order."""
        return [Connection(*each) for each in self._core.accepted()]

    def connect(self, remote: tuple[Address, int], *, local_port: int = 0,
                local_address: Optional[Address] = None, fast_open: bool = False) -> Connection:
        """Begins an active open (RFC 9293 3.10.1); its SYN leaves with the next transmit().

        Args:
            remote: address and port.
            local_port: 0: one is drawn (RFC 6056).
            local_address: None: selected by the route to the remote.
            fast_open: data written before the SYN leaves may be sent with it (RFC 7413).

        Raises:
            Refused: exists, bad_remote, bad_local, no_route, ports_exhausted, no_room, quiet_time.
        """
        local = (as_address(local_address, "local_address"), as_port(local_port, "local_port"))
        return Connection(*self._core.connect(as_endpoint(remote, "remote"), local,
                                              bool(fast_open)))

    def write(self, connection: Connection, data: BytesLike, *, more: bool = False,
              record: bool = False) -> int:
        """Queues bytes to send and returns how many were accepted: 0 if there is no room now.

        `more`: more data follows at once, so no PSH is needed (RFC 9293 3.9.1.2). `record`: the
        bytes end a record, if all were accepted: no segment, retransmitted or not, spans the end
        (MSG_EOR). Each end that is not acknowledged occupies one block of the send buffer. Refused:
        stale_id, closing.
        """
        return self._core.write(_id(connection, Connection), as_bytes(data, "data"), bool(more),
                                bool(record))

    def read(self, connection: Connection, most: int = NUMBER_MAX, *, peek: bool = False) -> bytes:
        """Reads at most `most` bytes that arrived in order; b"" if there are none now.

        `peek` leaves them unread. Refused: stale_id.
        """
        return self._core.read(_id(connection, Connection), as_number(most, "most", 0, NUMBER_MAX),
                               bool(peek))

    def unread(self, connection: Connection) -> int:
        """The number of bytes that read() would return; 0 for a connection that is over."""
        return self._core.unread(_id(connection, Connection))

    def writable(self, connection: Connection) -> int:
        """The number of bytes that write() would accept; 0 for a connection that is over."""
        return self._core.writable(_id(connection, Connection))

    def finish(self, connection: Connection) -> None:
        """Closes our half: a FIN follows the queued data; reading continues.

        Refused: stale_id, closing.
        """
        self._core.finish(_id(connection, Connection))

    def close(self, connection: Connection) -> None:
        """Closes our half and stops reading: unread or later data draws a reset.

        Refused: stale_id, closing.
        """
        self._core.close(_id(connection, Connection))

    def abort(self, connection: Connection) -> None:
        """Ends it at once, with a reset if the state requires one. Refused: stale_id."""
        self._core.abort(_id(connection, Connection))

    def urgent(self, connection: Connection) -> None:
        """Makes all queued data urgent (RFC 9293 3.8.5). Refused: stale_id, not_urgent."""
        self._core.urgent(_id(connection, Connection))

    def set(self, connection: Connection, name: str, value: Union[int, str]) -> None:
        """Changes a setting of one connection.

        nagle, delayed_ack, keepalive, soft_errors: 0 or 1. keepalive_idle_ms, user_timeout_ms:
        milliseconds. dscp: 0 to 63. ttl: 1 to 255. receive_buffer, send_buffer: bytes.
        keepalive_interval_ms, keepalive_probes (1 to 255), mss (64 to 65495 octets) and congestion
        (the name of a controller, or 0 reno, 1 cubic, 2 dctcp) need `accounts` in the
        configuration; a Stack has it on. Refused: stale_id, bad_argument, switched_off.
        """
        if name == "congestion" and isinstance(value, str):
            words = _core.congestion_words()
            if value not in words:
                raise BadInput(f"value is {value!r}, expected one of {', '.join(words)}")
            value = words.index(value)
        self._core.set(_id(connection, Connection), as_text(name, "the setting"),
                       as_number(value, "value", 0, NANOSECONDS_MAX))

    def events(self) -> list[Event]:
        """The events since the last call, in order; at most the newest 65,536."""
        return [Event(at, kind, cause, Connection(*connection),
                      None if listener is None else Listener(*listener), count)
                for at, kind, cause, connection, listener, count in self._core.events()]

    # --- the observer ---

    def state(self, connection: Connection) -> str:
        """The state by RFC 9293's names: ESTABLISHED, FIN-WAIT-1 ... TIME-WAIT, CLOSED.

        Works for a connection that is over too. Refused: stale_id, if it never existed.
        """
        return self._core.state(_id(connection, Connection))

    def state_of(self, local: tuple[Address, int], remote: tuple[Address, int]) -> str:
        """The state that a segment of these two ends meets: CLOSED, LISTEN, or a connection's."""
        return self._core.state_of(as_endpoint(local, "local"), as_endpoint(remote, "remote"))

    def inspect(self, connection: Connection) -> Inspection:
        """Every variable of a connection, as :class:`Inspection` lists them.

        Sequence numbers are those on the wire, 0 to 2**32-1; sizes are in bytes; times (``_ns``) in
        nanoseconds, None for a timer that is off. Refused: stale_id.
        """
        return self._core.inspect(_id(connection, Connection))  # type: ignore[return-value]

    def statistics(self) -> dict[str, int]:
        """The counters of the stack since it was made."""
        return self._core.statistics()

    def dropped(self) -> dict[str, int]:
        """How many packets were dropped, by reason; :func:`lockstep.drops` explains the reasons."""
        return self._core.dropped()

    def fingerprint(self) -> int:
        """64 bits over every field of the state: equal for equal states, to find a divergence."""
        return self._core.fingerprint()

    def canonical(self) -> int:
        """As fingerprint(), but ignoring slots, counters and the origin of time."""
        return self._core.canonical()

    def check_invariants(self) -> None:
        """Checks every invariant; a broken one is a bug of ours and ends the process."""
        self._core.check_invariants()
