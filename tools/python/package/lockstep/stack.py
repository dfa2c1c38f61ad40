"""One stack alone: packets and calls go in, packets and events come out, in virtual time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Optional, Union

from lockstep import _core
from lockstep.errors import BadInput
from lockstep.inspection import Inspection
from lockstep.units import (NANOSECONDS_MAX, Address, BytesLike, Duration, as_address, as_bytes,
                            as_endpoint, as_number, as_port, as_text, nanoseconds)

NUMBER_MAX = 2**32 - 1


class Connection(NamedTuple):
    """Names a connection of one stack for its whole life; a stale one is refused."""

    slot: int
    generation: int


class Listener(NamedTuple):
    """Names a listener of one stack; a stale one is refused."""

    slot: int
    generation: int


class Sent(NamedTuple):
    """A packet that left, and when."""

    at: int  #: nanoseconds of the stack's clock
    packet: bytes  #: from its link header on; on link "ip" from its IP header on


class Event(NamedTuple):
    """What the stack tells the application about a connection."""

    at: int  #: nanoseconds of the stack's clock
    kind: str  #: accepted, connected, received, acknowledged, room, urgent, peer_finished,
    #: soft_error or closed, which is a connection's last
    cause: str  #: of closed and soft_error: finished, reset, refused, timed_out ...; else none
    connection: Connection
    listener: Optional[Listener]  #: of accepted
    bytes: int  #: of received: readable now; of acknowledged: since the last one; of urgent: ahead


def _id(value: object, kind: type) -> tuple[int, int]:
    if not isinstance(value, kind):
        raise BadInput(f"{value!r} was given, expected a {kind.__name__}")
    slot, generation = value  # type: ignore[misc]
    as_number(slot, "a slot", 0, NUMBER_MAX)
    as_number(generation, "a generation", 0, NUMBER_MAX)
    return value  # type: ignore[return-value]


def _config(config: Optional[Mapping[str, Union[bool, int, str]]]) -> dict[str, Union[int, str]]:
    out: dict[str, Union[int, str]] = {}
    if config is not None and not isinstance(config, Mapping):
        raise BadInput(f"config is {config!r}, expected a dict of fields")
    for name, value in (config or {}).items():
        as_text(name, "the name of a field")
        if isinstance(value, str):
            out[name] = value
        else:
            number = int(value) if isinstance(value, bool) else value
            out[name] = as_number(number, name, 0, NANOSECONDS_MAX)
    return out


class Stack:
    """A TCP/IP stack alone, a deterministic function of its arguments and of the calls made.

    The same calls give the same bytes, on any machine. Time is virtual: it moves by
    :meth:`advance` only. Nothing here opens a socket of the system or needs privileges.

    Args:
        profile: ``rfc`` (the RFCs' constants, no extensions), ``default``, ``linux``, ``freebsd``.
        seed: draws the secrets: initial sequence numbers, local ports, timestamps. 0 to 2**64-1.
        link: ``ip``: packets begin with the IP header and there are no neighbours; ``ethernet``.
        addresses: 1 to 8, like ``"10.0.0.1/24"`` or ``"fd00::1/64"``. Without a prefix all other
            addresses are on the link.
        mtu: of the link in bytes, IP header included, 68 to 65535. The MSS follows from it.
        config: fields of the configuration by name, as :func:`lockstep.config_fields` lists them:
            numbers, booleans, words, or text with a unit; times in nanoseconds or like ``"200ms"``.
            They come after the profile, whose pools are cut to what some 64 connections need.
        gateway: of IPv4's default route.
        mac: our own address on Ethernet.
        neighbours: Ethernet addresses that need not be asked for, by IP address.
        start: where the clock begins, in nanoseconds.

    Raises:
        BadInput: an argument is wrong; the message says which and what was expected.
    """

    __slots__ = ("_core", "_arguments")

    def __init__(self, profile: str = "rfc", *, seed: int = 0, link: str = "ip",
                 addresses: Iterable[Address] = ("10.0.0.1",), mtu: int = 1500,
                 config: Optional[Mapping[str, Union[bool, int, str]]] = None,
                 gateway: Optional[Address] = None, mac: str = "",
                 neighbours: Optional[Mapping[str, str]] = None,
                 start: Duration = "1000s") -> None:
        if isinstance(addresses, (str, bytes)) or not isinstance(addresses, Iterable):
            raise BadInput(f"addresses is {addresses!r}, expected a list of addresses")
        known = neighbours or {}
        if not isinstance(known, Mapping):
            raise BadInput(f"neighbours is {neighbours!r}, expected a dict of addresses")
        self._arguments = (
            as_text(profile, "profile"), as_number(seed, "seed", 0, NANOSECONDS_MAX),
            as_text(link, "link"), [as_address(each, "an address") for each in addresses],
            as_number(mtu, "mtu", 0, NUMBER_MAX), as_address(gateway, "gateway"),
            as_text(mac, "mac"),
            {as_address(key, "a neighbour"): as_text(value, "a neighbour's mac")
             for key, value in known.items()},
            _config(config), nanoseconds(start))
        self._core = _core.Stack(*self._arguments)

    # --- the world ---

    @property
    def now(self) -> int:
        """The virtual time in nanoseconds."""
        return self._core.now()

    def deadline(self) -> Optional[int]:
        """When something happens next though nobody does anything, in nanoseconds.

        None: only a packet or a call can wake the stack. It may be early, never late.
        """
        return self._core.deadline()

    def receive(self, packets: object) -> None:
        """Packets arrive now: one, or a list of them that arrive as one burst.

        A packet is bytes, or what can be made bytes (a packet of scapy). Nothing leaves until
        :meth:`transmit` or :meth:`advance`. A packet that is malformed is dropped and counted
        (:meth:`dropped`), as a peer's would be.

        Raises:
            BadInput: this is no packet, or it is longer than 65,553 bytes.
        """
        if type(packets) is bytes:
            self._core.receive_one(packets)
        elif isinstance(packets, (list, tuple)):
            self._core.receive([as_bytes(each, "a packet") for each in packets])
        else:
            self._core.receive_one(as_bytes(packets, "a packet"))

    def transmit(self) -> list[bytes]:
        """All packets that can leave now, in order. Timers that are due now have fired."""
        return self._core.transmit()

    def advance(self, duration: Duration) -> list[Sent]:
        """Lets time pass, from deadline to deadline, and gives what left on the way.

        What can leave now comes first. At most 1,000,000 packets (Error).
        """
        return self.advance_to(min(self.now + nanoseconds(duration), NANOSECONDS_MAX - 1))

    def advance_to(self, instant: int) -> list[Sent]:
        """The same, to an instant of this clock in nanoseconds, which is not in the past."""
        to = as_number(instant, "an instant", self.now, NANOSECONDS_MAX - 1)
        return [Sent(*each) for each in self._core.advance_to(to)]

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
        return Listener(*self._core.listen(
            as_address(address, "the address"), as_port(port),
            as_number(backlog, "backlog", 0, NUMBER_MAX),
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

    def write(self, connection: Connection, data: BytesLike, *, more: bool = False) -> int:
        """Queues bytes to send and gives how many were taken: 0 if there is no room now.

        `more`: others follow at once, so that no segment need be pushed (RFC 9293 3.9.1.2).
        Refused: stale_id, closing.
        """
        return self._core.write(_id(connection, Connection), as_bytes(data, "data"), bool(more))

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
        Refused: stale_id, bad_argument.
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

    def snapshot(self) -> bytes:
        """All of it: clock, connections, events that were not taken. For restore() only."""
        return self._core.snapshot()

    def restore(self, snapshot: BytesLike) -> None:
        """Goes back to a snapshot of this stack, or of one that was made with the same arguments.

        Refused: bad_snapshot; then nothing was changed.
        """
        self._core.restore(as_bytes(snapshot, "a snapshot"))

    def fork(self) -> "Stack":
        """Another stack in the same state, which goes its own way from here."""
        other = Stack.__new__(Stack)
        other._arguments = self._arguments
        other._core = _core.Stack(*self._arguments)
        other._core.restore(self._core.snapshot())
        return other

    def __repr__(self) -> str:
        profile, seed, link, addresses, *_ = self._arguments
        return f"<lockstep.Stack {profile} seed={seed} {link} {' '.join(addresses)} now={self.now}>"
