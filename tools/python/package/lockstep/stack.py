"""A single stack: packets and calls go in, packets and events come out, in virtual time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Optional, Union

from lockstep import _core
from lockstep.calls import Calls, Connection, connection_id
from lockstep.errors import BadInput
from lockstep.units import (NANOSECONDS_MAX, NUMBER_MAX, Address, BytesLike, Duration, as_address,
                            as_bytes, as_number, as_text, nanoseconds)


class Sent(NamedTuple):
    """A packet that was sent, and when."""

    at: int  #: nanoseconds of the stack's clock
    packet: bytes  #: from its link header on; on link "ip" from its IP header on


class Wrong(NamedTuple):
    """A violation found by judge(): something that no TCP may do."""

    at: int  #: nanoseconds of the stack's clock
    rule: str  #: its name, as ``lockstep lint --help`` has it
    words: str
    expected: int  #: expected, actual: two numbers whose meaning depends on the rule
    found: int


class Region(NamedTuple):
    """Identifies bytes that a stack may send without copying them, valid as long as the stack."""

    number: int
    length: int  #: bytes


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


class Stack(Calls):
    """A single TCP/IP stack, a deterministic function of its arguments and of the calls made.

    The same calls give the same bytes, on any machine. Time is virtual and moves only by
    :meth:`advance`. Nothing opens a socket of the system or needs privileges.

    Args:
        profile: ``rfc`` (the RFCs' constants, no extensions), ``default``, ``linux``, ``freebsd``.
        seed: seeds the secrets: initial sequence numbers, local ports, timestamps. 0 to 2**64-1.
        link: ``ip``: packets begin with the IP header and there are no neighbours; ``ethernet``.
        addresses: 1 to 8, like ``"10.0.0.1/24"`` or ``"fd00::1/64"``. Without a prefix length every
            other address is on link.
        mtu: of the link in bytes, IP header included, 68 to 65535. The MSS follows from it.
        config: fields of the configuration by name, as :func:`lockstep.config_fields` lists them:
            numbers, booleans, words, or text with a unit; times in nanoseconds or like ``"200ms"``.
            They override the profile, whose pools are reduced to about 64 connections.
        gateway: of IPv4's default route.
        mac: our own address on Ethernet.
        neighbours: Ethernet addresses by IP address, which then need no resolution.
        start: where the clock begins, in nanoseconds.

    Raises:
        BadInput: an argument is invalid; the message tells which and what was expected.
    """

    __slots__ = ("_arguments", "_bound")

    _core: _core.Stack

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
        self._bound: list[bytes] = []

    @property
    def now(self) -> int:
        """The virtual time in nanoseconds."""
        return self._core.now()

    def deadline(self) -> Optional[int]:
        """When the next timer is due, in nanoseconds.

        None: only a packet or a call can change the stack. It may be early, never late.
        """
        return self._core.deadline()

    def receive(self, packets: object) -> None:
        """Delivers packets now: one, or a list that arrives as one burst.

        A packet is bytes, or a packet of scapy. Nothing is sent until :meth:`transmit` or
        :meth:`advance`. Malformed bytes are dropped and counted (:meth:`dropped`), as from a real
        peer.

        Raises:
            BadInput: not a packet, longer than 65,553 bytes, or a packet of scapy whose first layer
                is not the link's (Raw is accepted).
        """
        if type(packets) is bytes:
            self._core.receive_one(packets)
        elif isinstance(packets, (list, tuple)):
            self._core.receive([self._packet(each) for each in packets])
        else:
            self._core.receive_one(self._packet(packets))

    def _packet(self, packet: object) -> bytes:
        """The packet's bytes. A packet of scapy must begin with the link's layer."""
        if hasattr(packet, "layers") and hasattr(packet, "name"):
            link = self._arguments[2]
            wanted = ("IP", "IPv6") if link == "ip" else ("Ethernet", "802.3")
            if packet.name not in wanted and packet.name != "Raw":
                raise BadInput(f"a packet of scapy begins with {packet.name}, expected "
                               f"{' or '.join(wanted)} on link {link}")
        return as_bytes(packet, "a packet")

    def transmit(self) -> list[bytes]:
        """Sends all packets that can leave now, in order. Timers that are due now expire first."""
        return self._core.transmit()

    def advance(self, duration: Duration) -> list[Sent]:
        """Advances the time from deadline to deadline, and returns the packets sent meanwhile.

        Packets that can leave now are sent first. At most 1,000,000 packets (Error).
        """
        return self.advance_to(min(self.now + nanoseconds(duration), NANOSECONDS_MAX - 1))

    def advance_to(self, instant: int) -> list[Sent]:
        """As advance(), to an instant of this clock in nanoseconds that is not in the past."""
        to = as_number(instant, "an instant", self.now, NANOSECONDS_MAX - 1)
        return [Sent(*each) for each in self._core.advance_to(to)]

    def judge(self) -> None:
        """Starts a checker of every packet for what RFCs forbid, whatever the peer does.

        Call it before the first packet, because it assumes that nothing happened before.
        """
        self._core.judge()

    def wrongs(self) -> list[Wrong]:
        """The violations found by :meth:`judge` so far, in order."""
        return [Wrong(*each) for each in self._core.wrongs()]

    def bind(self, content: bytes) -> Region:
        """Binds bytes to the stack, so that :meth:`lend` can send them.

        They are read once for their checksums and never copied: the stack keeps the object, and
        reads it whenever a segment is sent or retransmitted, for the stack's whole life. Therefore
        they must be ``bytes``, which cannot change; nothing unbinds them.
        ``config={"regions_max": n}`` allows more than 16.

        Raises:
            BadInput: they are not ``bytes``.
            Refused: no_room.
        """
        if not isinstance(content, bytes):
            raise BadInput(f"what is bound is {type(content).__name__}, expected bytes, which"
                           " cannot change: bytes(...) makes some")
        region = Region(self._core.bind(content), len(content))
        self._bound.append(content)
        return region

    def lend(self, connection: Connection, region: Region, offset: int = 0,
             length: Optional[int] = None, *, more: bool = False,
             record: bool = False) -> int:
        """Queues bytes of a region to send, without copying them; returns how many were accepted.

        A loan ends when the peer has acknowledged the bytes (an event ``acknowledged``), when
        :meth:`abort` returns, or with the event ``closed``. Data of write() and lend() is sent in
        the order of the calls.

        Args:
            connection: the connection that sends them.
            region: of bind() of this stack.
            offset: where in the region they begin.
            length: how many bytes; None: all up to its end. Fewer may be accepted: 0 if there is no
                room now; an event ``acknowledged`` or ``room`` reports when there is.
            more: more data follows at once, so no PSH is needed (RFC 9293 3.9.1.2).
            record: they end a record, as for write().

        Raises:
            BadInput: not a region, or a number is not whole.
            Refused: stale_id, closing, bad_region (not of this stack, or beyond its end).
        """
        if not isinstance(region, Region):
            raise BadInput(f"{region!r} was given, expected a Region, as bind() gives")
        begin = as_number(offset, "offset", 0, NANOSECONDS_MAX)
        rest = min(max(region.length - begin, 0), NUMBER_MAX) if length is None else length
        return self._core.lend(connection_id(connection),
                               as_number(region.number, "a region", 0, NUMBER_MAX), begin,
                               as_number(rest, "length", 0, NUMBER_MAX), bool(more),
                               bool(record))

    def snapshot(self) -> bytes:
        """The whole state: clock, connections, events not yet taken. For restore() only."""
        return self._core.snapshot()

    def restore(self, snapshot: BytesLike) -> None:
        """Goes back to a snapshot of this stack, or of one made with the same arguments.

        The regions bound then must be bound here too, in the same order. Refused: bad_snapshot;
        then nothing was changed.
        """
        self._core.restore(as_bytes(snapshot, "a snapshot"))

    def fork(self) -> "Stack":
        """Makes another stack in the same state, independent from now on."""
        other = Stack.__new__(Stack)
        other._arguments = self._arguments
        other._core = _core.Stack(*self._arguments)
        other._bound = []
        for content in self._bound:
            other.bind(content)
        other._core.restore(self._core.snapshot())
        return other

    def __repr__(self) -> str:
        profile, seed, link, addresses, *_ = self._arguments
        return f"<lockstep.Stack {profile} seed={seed} {link} {' '.join(addresses)} now={self.now}>"
