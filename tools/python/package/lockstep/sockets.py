"""BSD sockets over a stack or a host, in virtual time; they never block.

The calls are those of tools/lib/sockets for C; constants are those of Python's module ``socket``.
Nothing happens until time passes (:meth:`lockstep.Sim.advance`) or the stack turns
(:meth:`lockstep.Stack.transmit`); a call that would block raises :class:`lockstep.WouldBlock`.
"""

from __future__ import annotations

import select
import struct
from collections.abc import Sequence
from typing import Union

from lockstep import _core
from lockstep.calls import Calls
from lockstep.errors import BadInput
from lockstep.units import (NUMBER_MAX, Address, BytesLike, as_bytes, as_endpoint, as_number,
                            as_text)

__all__ = ["Epoll", "Socket", "Sockets", "TCP_INFO_FIELDS"]

INT_MAX = 2**31 - 1
TEXT_MAX = 2**28
PARTS_MAX = 1024

_TCP_INFO = 11
_SHUT = {"read": 0, "write": 1, "both": 2}

#: The fields of Linux's struct tcp_info in order, each with its format of ``struct``; times are in
#: microseconds, ``last_*`` in milliseconds.
TCP_INFO_FIELDS: tuple[tuple[str, str], ...] = tuple(
    (name, letter) for letter, names in (
        ("B", "state ca_state retransmits probes backoff options wscale limits"),
        ("I", """rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent
              last_ack_sent last_data_recv last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh
              snd_cwnd advmss reordering rcv_rtt rcv_space total_retrans"""),
        ("Q", "pacing_rate max_pacing_rate bytes_acked bytes_received"),
        ("I", "segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out"),
        ("Q", "delivery_rate busy_time rwnd_limited sndbuf_limited"),
        ("I", "delivered delivered_ce"),
        ("Q", "bytes_sent bytes_retrans"),
        ("I", "dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash"),
        ("H", "total_rto total_rto_recoveries"),
        ("I", "total_rto_time"),
    ) for name in names.split())

_TCP_INFO_STRUCT = struct.Struct("=" + "".join(each for _, each in TCP_INFO_FIELDS))


class Socket:
    """A TCP socket. Made by :meth:`Sockets.socket` and :meth:`accept`; close() releases it.

    Every call raises SocketError with the ``errno`` of POSIX; tools/lib/sockets/sockets.h lists the
    errors of each call.
    """

    __slots__ = ("_core", "_fd", "_v6")

    def __init__(self, core: _core.Sockets, fd: int, v6: bool) -> None:
        self._core = core
        self._fd = fd
        self._v6 = v6

    def fileno(self) -> int:
        """Its number among the sockets of its stack; not a descriptor of the system."""
        return self._fd

    def bind(self, address: tuple[Address, int]) -> None:
        """Binds it to a local name; ``""`` is any address and port 0 draws one."""
        self._core.bind(self._fd, as_endpoint(address, "the name"), self._v6)

    def listen(self, backlog: int = 128) -> None:
        """Listens; up to `backlog` + 1 connections wait for accept()."""
        self._core.listen(self._fd, as_number(backlog, "backlog", -INT_MAX, INT_MAX))

    def accept(self) -> "Socket":
        """Accepts the first connection that waits. WouldBlock: none does."""
        return Socket(self._core, self._core.accept(self._fd), self._v6)

    def connect(self, address: tuple[Address, int]) -> bool:
        """Begins to connect: False (POSIX's EINPROGRESS); a call after success returns True.

        As time passes it becomes writable when the attempt ends; SO_ERROR is the reason of a
        failure.
        """
        return self._core.connect(self._fd, as_endpoint(address, "the name"), self._v6)

    def send(self, data: BytesLike, flags: int = 0) -> int:
        """Queues bytes and returns how many were accepted. WouldBlock: no room, or connecting."""
        return self._core.send(self._fd, as_bytes(data, "data"), as_number(flags, "flags", 0,
                                                                           INT_MAX))

    def recv(self, most: int, flags: int = 0) -> bytes:
        """Reads at most `most` bytes; b"" after the peer's FIN. WouldBlock: nothing to read."""
        return self._core.receive(self._fd, as_number(most, "most", 0, TEXT_MAX),
                                  as_number(flags, "flags", 0, INT_MAX))

    def writev(self, parts: Sequence[BytesLike]) -> int:
        """Queues the parts in order, at most 1024; returns the number of octets accepted."""
        as_number(len(parts), "the number of parts", 1, PARTS_MAX)
        return self._core.send_parts(self._fd, [as_bytes(part, "a part") for part in parts])

    def readv(self, sizes: Sequence[int]) -> list[bytes]:
        """Reads into parts of these sizes, at most 1024; the last may be short or empty."""
        as_number(len(sizes), "the number of sizes", 1, PARTS_MAX)
        return self._core.receive_parts(self._fd, [as_number(size, "a size", 0, TEXT_MAX)
                                                   for size in sizes])

    def fcntl(self, command: int, argument: int = 0) -> int:
        """F_GETFL, F_SETFL, F_GETFD, F_SETFD of Python's ``fcntl``, with their flags."""
        return self._core.control(self._fd, _int(command, "command"), _int(argument, "argument"))

    def shutdown(self, how: str) -> None:
        """Closes a direction: ``write`` sends a FIN after the queued data; ``read``; ``both``."""
        if as_text(how, "how") not in _SHUT:
            raise BadInput(f"how is {how!r}, expected read, write or both")
        self._core.shutdown(self._fd, _SHUT[how])

    def close(self) -> None:
        """Releases the descriptor; the connection closes in the background."""
        self._core.close(self._fd)

    def getsockname(self) -> tuple[str, int]:
        """The local address and port."""
        return self._core.local_name(self._fd)

    def getpeername(self) -> tuple[str, int]:
        """The peer's address and port."""
        return self._core.peer_name(self._fd)

    def setsockopt(self, level: int, name: int, value: Union[int, BytesLike]) -> None:
        """Sets an option: a whole number is a C int, bytes are passed unchanged."""
        if isinstance(value, int):
            octets = struct.pack("=i", as_number(int(value), "value", -INT_MAX - 1, INT_MAX))
        else:
            octets = as_bytes(value, "value")
        self._core.set_option(self._fd, _int(level, "level"), _int(name, "name"), octets)

    def getsockopt(self, level: int, name: int, size: int = 0) -> Union[int, bytes]:
        """Gets an option: a whole number, or with `size` (at most 4096) at most so many bytes."""
        most = as_number(size, "size", 0, 4096)
        got = self._core.get_option(self._fd, _int(level, "level"), _int(name, "name"), most or 4)
        return got if most else int(struct.unpack("=i", got.ljust(4, b"\0"))[0])

    def tcp_info(self) -> dict[str, int]:
        """TCP_INFO, by the names of Linux without ``tcpi_``; :data:`TCP_INFO_FIELDS` lists them."""
        got = self._core.get_option(self._fd, 6, _TCP_INFO, _TCP_INFO_STRUCT.size)
        values = _TCP_INFO_STRUCT.unpack(got)
        return {name: value for (name, _), value in zip(TCP_INFO_FIELDS, values)}

    def ioctl(self, request: int) -> int:
        """SIOCINQ (0x541B): bytes to read; SIOCOUTQ (0x5411): bytes queued and not acknowledged."""
        return self._core.query(self._fd, as_number(request, "request", 0, NUMBER_MAX))

    def poll(self, events: int = select.POLLIN | select.POLLOUT) -> int:
        """Which of these events are ready, by the flags of Python's ``select``; always also
        POLLERR, POLLHUP.
        """
        return self._core.poll(self._fd, as_number(events, "events", 0, 0x7fff))

    def __repr__(self) -> str:
        return f"<lockstep.sockets.Socket {self._fd}>"


class Epoll:
    """Watches sockets of one stack, as ``select.epoll``. Made by :meth:`Sockets.epoll`.

    Edge-triggered with ``select.EPOLLET``, once with ``select.EPOLLONESHOT``. It never waits:
    poll() returns what is ready now.
    """

    __slots__ = ("_core", "_fd")

    _ADD, _DEL, _MOD = 1, 2, 3

    def __init__(self, core: _core.Sockets) -> None:
        self._core = core
        self._fd = core.create_epoll()

    def _watch(self, operation: int, on: Socket, events: int) -> None:
        if not isinstance(on, Socket):
            raise BadInput(f"{on!r} was given, expected a Socket")
        self._core.watch(self._fd, operation, on.fileno(),
                         as_number(events, "events", 0, 2**32 - 1))

    def register(self, on: Socket, events: int = select.EPOLLIN | select.EPOLLOUT) -> None:
        """Watches a socket. SocketError: EEXIST, it is already watched."""
        self._watch(self._ADD, on, events)

    def modify(self, on: Socket, events: int) -> None:
        """Replaces the events of a socket. SocketError: ENOENT, it is not watched."""
        self._watch(self._MOD, on, events)

    def unregister(self, on: Socket) -> None:
        """Stops watching a socket. SocketError: ENOENT, it is not watched."""
        self._watch(self._DEL, on, 0)

    def poll(self, most: int = 64) -> list[tuple[int, int]]:
        """At most `most` ready sockets: fileno() of each, with its events."""
        return self._core.ready(self._fd, as_number(most, "most", 1, 65_536))

    def close(self) -> None:
        """Releases the descriptor."""
        self._core.close(self._fd)


class Sockets:
    """The sockets of one stack or host, which from now on receive its events.

    A stack with sockets takes no snapshots. BadInput: it already has sockets.
    """

    __slots__ = ("_core",)

    def __init__(self, on: Calls) -> None:
        if not isinstance(on, Calls):
            raise BadInput(f"{on!r} was given, expected a Stack or a Host")
        self._core = _core.Sockets(on._core)

    def socket(self, family: str = "inet") -> Socket:
        """Makes a TCP socket: ``inet``, or ``inet6``, which can use both families.

        SocketError: EMFILE, none is free.
        """
        if family not in ("inet", "inet6"):
            raise BadInput(f"family is {family!r}, expected inet or inet6")
        v6 = family == "inet6"
        return Socket(self._core, self._core.socket(v6), v6)

    def epoll(self) -> Epoll:
        """Makes an epoll. SocketError: EMFILE, none is free."""
        return Epoll(self._core)


def _int(value: object, what: str) -> int:
    return as_number(value, what, -INT_MAX - 1, INT_MAX)
