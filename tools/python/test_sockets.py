"""lockstep.sockets: the calls over a world's hosts and over a single stack."""

import errno
import fcntl
import os
import select
import socket as posix

import pytest

pytest.importorskip("nanobind")
import lockstep  # noqa: E402
from lockstep.sockets import Socket, Sockets, TCP_INFO_FIELDS  # noqa: E402


def world():
    sim = lockstep.Sim()
    config = {"accounts": True}
    a = sim.host("a", "10.0.0.1/24", profile="linux", config=config)
    b = sim.host("b", "10.0.0.2/24", profile="linux", config=config)
    sim.link(a, b, delay="5ms")
    return sim, Sockets(a), Sockets(b)


def joined():
    sim, ours, theirs = world()
    door = theirs.socket()
    door.bind(("", 80))
    door.listen(5)
    mine = ours.socket()
    assert mine.connect(("10.0.0.2", 80)) is False
    sim.advance("100ms")
    assert mine.poll() == select.POLLOUT and door.poll() == select.POLLIN
    assert mine.connect(("10.0.0.2", 80)) is True
    return sim, mine, door.accept(), door


def test_an_echo():
    sim, mine, other, door = joined()
    assert mine.send(b"hello") == 5
    sim.advance("100ms")
    assert other.recv(100, posix.MSG_PEEK) == b"hello" and other.ioctl(0x541B) == 5
    assert other.send(other.recv(100)) == 5
    sim.advance("100ms")
    assert mine.recv(3) == b"hel" and mine.recv(100) == b"lo"
    with pytest.raises(BlockingIOError):
        mine.recv(1)
    mine.shutdown("write")
    sim.advance("100ms")
    assert other.recv(1) == b""
    assert other.getpeername() == mine.getsockname() == ("10.0.0.1", mine.getsockname()[1])
    assert other.getsockname() == ("10.0.0.2", 80)
    for each in (mine, other, door):
        each.close()
    with pytest.raises(lockstep.SocketError) as closed:
        mine.send(b"x")
    assert (closed.value.errno, str(closed.value)) == (
        errno.EBADF, "[Errno 9] send: Bad file descriptor")


def test_vectors():
    sim, mine, other, _ = joined()
    assert mine.writev([b"one", b"", b"three"]) == 8
    sim.advance("100ms")
    assert other.readv([2, 0, 4, 10, 10]) == [b"on", b"", b"ethr", b"ee", b""]
    with pytest.raises(BlockingIOError):
        other.readv([1])
    with pytest.raises(lockstep.BadInput, match="a part"):
        mine.writev(["text"])


def test_fcntl():
    _, mine, _, _ = joined()
    assert mine.fcntl(fcntl.F_SETFL, os.O_NONBLOCK) == 0
    assert mine.fcntl(fcntl.F_GETFL) & os.O_NONBLOCK
    assert mine.fcntl(fcntl.F_SETFD, fcntl.FD_CLOEXEC) == 0
    assert mine.fcntl(fcntl.F_GETFD) == fcntl.FD_CLOEXEC
    with pytest.raises(lockstep.SocketError) as unknown:
        mine.fcntl(9999)
    assert unknown.value.errno == errno.EINVAL


def test_epoll():
    sim, ours, theirs = world()
    door = theirs.socket()
    door.bind(("", 80))
    door.listen(5)
    watcher = theirs.epoll()
    watcher.register(door, select.EPOLLIN)
    with pytest.raises(lockstep.SocketError) as twice:
        watcher.register(door)
    assert twice.value.errno == errno.EEXIST
    assert watcher.poll() == []
    mine = ours.socket()
    mine.connect(("10.0.0.2", 80))
    sim.advance("100ms")
    assert watcher.poll() == [(door.fileno(), select.EPOLLIN)]
    other = door.accept()
    watcher.register(other, select.EPOLLIN | select.EPOLLET)
    mine.send(b"hello")
    sim.advance("100ms")
    assert watcher.poll() == [(other.fileno(), select.EPOLLIN)]
    assert watcher.poll() == []  # its edge was reported
    watcher.modify(other, select.EPOLLIN)
    assert watcher.poll() == [(other.fileno(), select.EPOLLIN)]
    watcher.unregister(other)
    assert watcher.poll() == []
    with pytest.raises(lockstep.SocketError) as gone:
        watcher.modify(other, select.EPOLLIN)
    assert gone.value.errno == errno.ENOENT
    watcher.close()
    with pytest.raises(lockstep.SocketError):
        watcher.poll()


def test_what_is_chosen_for_one_connection():
    sim, mine, other, _ = joined()
    mine.setsockopt(posix.IPPROTO_TCP, posix.TCP_CONGESTION, b"reno")
    assert mine.getsockopt(posix.IPPROTO_TCP, posix.TCP_CONGESTION, 16).rstrip(b"\0") == b"reno"
    mine.setsockopt(posix.IPPROTO_TCP, posix.TCP_KEEPCNT, 3)
    assert mine.getsockopt(posix.IPPROTO_TCP, posix.TCP_KEEPCNT) == 3
    mine.send(b"x" * 4000)
    sim.advance("100ms")
    assert mine.tcp_info()["data_segs_out"] == other.tcp_info()["data_segs_in"] == 3


def test_options_and_tcp_info():
    sim, mine, _, _ = joined()
    mine.setsockopt(posix.IPPROTO_TCP, posix.TCP_NODELAY, 1)
    assert mine.getsockopt(posix.IPPROTO_TCP, posix.TCP_NODELAY) == 1
    assert mine.getsockopt(posix.IPPROTO_TCP, posix.TCP_CONGESTION, 16).rstrip(b"\0") == b"cubic"
    mine.send(b"x" * 1000)
    sim.advance("1s")
    info = mine.tcp_info()
    assert list(info) == [name for name, _ in TCP_INFO_FIELDS]
    assert (info["state"], info["snd_mss"], info["bytes_acked"]) == (1, 1448, 1000)
    assert 10_000 <= info["rtt"] < 60_000
    with pytest.raises(lockstep.SocketError) as unknown:
        mine.getsockopt(posix.IPPROTO_TCP, 9999)
    assert unknown.value.errno == errno.ENOPROTOOPT


def test_a_refused_connection_says_so():
    sim, ours, _ = world()
    mine = ours.socket()
    mine.connect(("10.0.0.2", 81))
    sim.advance("1s")
    assert mine.getsockopt(posix.SOL_SOCKET, posix.SO_ERROR) == errno.ECONNREFUSED


def test_sockets_over_a_stack_alone():
    stack = lockstep.Stack(addresses=["10.0.0.1", "fd00::1"])
    sockets = Sockets(stack)
    mine = sockets.socket("inet6")
    mine.connect(("fd00::2", 80))
    (syn,) = stack.transmit()
    assert syn[0] >> 4 == 6
    with pytest.raises(lockstep.WouldBlock):
        mine.send(b"x")
    with pytest.raises(lockstep.BadInput, match="has sockets already"):
        Sockets(stack)
    with pytest.raises(lockstep.BadInput, match="cannot hold sockets"):
        stack.snapshot()
    del mine, sockets
    assert isinstance(Sockets(stack).socket(), Socket)


@pytest.mark.parametrize("call,words", [
    (lambda on: Sockets(5), "expected a Stack or a Host"),
    (lambda on: on.socket("unix"), "expected inet or inet6"),
    (lambda on: on.socket().bind("here"), "expected an address and a port"),
    (lambda on: on.socket().bind(("nowhere", 1)), "expected an IPv4 or IPv6 address"),
    (lambda on: on.socket().send("text"), "data is str"),
    (lambda on: on.socket().recv(-1), "most is -1"),
    (lambda on: on.socket().recv(2**40), "expected 0 to 268435456"),
    (lambda on: on.socket().shutdown("now"), "expected read, write or both"),
    (lambda on: on.socket().setsockopt(6, 1, 2**40), "value is 1099511627776"),
])
def test_bad_input_is_one_line(call, words):
    with pytest.raises(lockstep.BadInput) as wrong:
        call(Sockets(lockstep.Stack()))
    assert words in str(wrong.value) and "\n" not in str(wrong.value)


def test_another_family_is_posix_error():
    with pytest.raises(lockstep.SocketError) as other:
        Sockets(lockstep.Stack()).socket().connect(("fd00::1", 80))
    assert other.value.errno == errno.EAFNOSUPPORT
