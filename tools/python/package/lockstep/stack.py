"""One stack alone: packets and calls go in, packets and events come out, in virtual time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Optional, Union

from lockstep import _core
from lockstep.calls import Calls, Connection, connection_id
from lockstep.errors import BadInput
from lockstep.units import (NANOSECONDS_MAX, NUMBER_MAX, Address, BytesLike, Duration, as_address,
                            as_bytes, as_number, as_text, nanoseconds)


class Sent(NamedTuple):
    """A packet that left, and when."""

    at: int  #: nanoseconds of the stack's clock
    packet: bytes  #: from its link header on; on link "ip" from its IP header on


class Wrong(NamedTuple):
    """What a referee is certain that no TCP may do."""

    at: int  #: nanoseconds of the stack's clock
    rule: str  #: its name, as ``lockstep lint --help`` has it
    words: str
    expected: int  #: two numbers that disagree; what they mean follows from the rule
    found: int


class Region(NamedTuple):
    """Names bytes that a stack may send without a copy of its own, as long as it lives."""

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
        """When something happens next though nobody does anything, in nanoseconds.

        None: only a packet or a call can wake the stack. It may be early, never late.
        """
        return self._core.deadline()

    def receive(self, packets: object) -> None:
        """Packets arrive now: one, or a list of them that arrive as one burst.

        A packet is bytes, or a packet of scapy. Nothing leaves until :meth:`transmit` or
        :meth:`advance`. Bytes that are malformed are dropped and counted (:meth:`dropped`), as a
        peer's would be.

        Raises:
            BadInput: this is no packet, it is longer than 65,553 bytes, or a packet of scapy that
                begins with another layer than the link carries (Raw will do).
        """
        if type(packets) is bytes:
            self._core.receive_one(packets)
        elif isinstance(packets, (list, tuple)):
            self._core.receive([self._packet(each) for each in packets])
        else:
            self._core.receive_one(self._packet(packets))

    def _packet(self, packet: object) -> bytes:
        """Its bytes. A packet of scapy must begin with the layer that the link carries."""
        if hasattr(packet, "layers") and hasattr(packet, "name"):
            link = self._arguments[2]
            wanted = ("IP", "IPv6") if link == "ip" else ("Ethernet", "802.3")
            if packet.name not in wanted and packet.name != "Raw":
                raise BadInput(f"a packet of scapy begins with {packet.name}, expected "
                               f"{' or '.join(wanted)} on link {link}")
        return as_bytes(packet, "a packet")

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

    def judge(self) -> None:
        """From now on a referee sees each packet, and finds what RFCs forbid whoever the peer is.

        To be called before the first packet: it takes what it has not seen for something that
        was never there.
        """
        self._core.judge()

    def wrongs(self) -> list[Wrong]:
        """What the referee of :meth:`judge` is certain of so far, in order."""
        return [Wrong(*each) for each in self._core.wrongs()]

    def bind(self, content: bytes) -> Region:
        """Makes bytes known to the stack, so that :meth:`lend` can send of them.

        They are read once, for their checksums, and never copied: the stack keeps the object, and
        reads it each time a segment is sent or sent again, as long as it lives itself. So they are
        ``bytes``, which cannot change; nothing unbinds them. ``config={"regions_max": n}`` allows
        more than 16.

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
        """Queues bytes of a region to send, without a copy; gives how many were taken.

        A loan ends when the peer has acknowledged the bytes (an event ``acknowledged``), when
        :meth:`abort` returns, or with the event ``closed``. What write() queues stands in order
        with it.

        Args:
            connection: who sends them.
            region: of bind() of this stack.
            offset: where in the region they begin.
            length: how many bytes; None: all up to its end. Fewer may be taken: 0 if there is no
                room now, and ``acknowledged`` or ``room`` tells when there is.
            more: others follow at once, so that no segment need be pushed (RFC 9293 3.9.1.2).
            record: they end a record, as write() says.

        Raises:
            BadInput: region is none, or a number is not whole.
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
        """All of it: clock, connections, events that were not taken. For restore() only."""
        return self._core.snapshot()

    def restore(self, snapshot: BytesLike) -> None:
        """Goes back to a snapshot of this stack, or of one that was made with the same arguments.

        What was bound by then must be bound here too, in the same order. Refused: bad_snapshot;
        then nothing was changed.
        """
        self._core.restore(as_bytes(snapshot, "a snapshot"))

    def fork(self) -> "Stack":
        """Another stack in the same state, which goes its own way from here."""
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
