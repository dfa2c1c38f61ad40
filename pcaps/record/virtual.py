# Two kernels as programs in virtual time, joined by the wire, and their sockets.
"""The virtual world. A recording is made without root and is the same, octet by octet, every time.

Time passes only while a script waits: in a pause, or in a call of a socket that blocks. It then
goes from event to event: a timer of a kernel, or a frame that arrives. What happens at one instant
has a fixed order: the timers of the device, those of its peer, then the frames.
"""
import errno
import os
import socket
import struct

import guest
import wire

# Every recording begins when its kernels have run for so long: in the first second after its start
# a kernel takes no timestamp for recent.
START_NS = 3_000_000_000
CABLE_NS = 1_000  # from where frames are captured to the device, so that its reply is later
SCRIPT_NS = 100_000  # before each segment of a scripted peer, about as in real time
FRAME_NS = 30_000  # from frame to frame of a burst, about as in real time
EPOCH_NS = guest.START_SECONDS * 10**9  # when a kernel starts, by its calendar
# What a kernel with more memory has by itself.
BUFFERS = {"tcp_rmem": "4096 131072 6291456", "tcp_wmem": "4096 16384 4194304"}
READABLE, WRITABLE, BROKEN = 0x1, 0x4, 0x8 | 0x10  # as poll(2) has them
PIECE = 60_000  # the largest read, and the largest write that fits a message
FASTOPEN_CONNECT, SO_ERROR_BYTES, CONGESTION_BYTES = 30, 4, 16
MESSAGE_MORE = 0x8000


def name_of(address, port):
    """The octets of a sockaddr."""
    if ":" in address:
        return (struct.pack("<H", socket.AF_INET6) + struct.pack(">HI", port, 0)
                + socket.inet_pton(socket.AF_INET6, address) + bytes(4))
    return (struct.pack("<H", socket.AF_INET) + struct.pack(">H", port)
            + socket.inet_aton(address) + bytes(8))


class Host:
    """A kernel with one interface. Its packets are IP, so it adds and takes Ethernet headers."""

    def __init__(self, number, settings, ipv6=False):
        self.number = number
        net, bits = ("2001:db8::", 64) if ipv6 else ("10.0.0.", 24)
        self.guest = guest.Guest(os.environ["LOCKSTEP_LINUX"], seed=number)
        guest.configure(self.guest, f"{net}{number}", bits)
        for name, value in {**BUFFERS, **settings}.items():
            self.guest.sysctl(f"net/ipv4/{name}", value)
        self.congestion_control = self._congestion_control()
        macs = wire.mac_of(3 - number) + wire.mac_of(number)
        self._macs = bytes.fromhex(macs.replace(":", ""))
        while self.guest.now < START_NS:
            self.guest.run(START_NS)
            self.guest.sent.clear()

    def _congestion_control(self):
        number = self.guest.call(guest.SOCKET, socket.AF_INET, socket.SOCK_STREAM)[0]
        octets = self.guest.call(guest.GET, number, socket.IPPROTO_TCP, socket.TCP_CONGESTION,
                                 octets=bytes(CONGESTION_BYTES))[1]
        self.guest.call(guest.CLOSE, number)
        return octets.rstrip(b"\0").decode()

    def take(self):
        """The next frame that it has sent; None: there is none."""
        if not self.guest.sent:
            return None
        packet = self.guest.sent.popleft()
        return self._macs + (b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00") + packet


class Wire(wire.Wire):
    """Both hosts and the clock."""

    virtual = True
    frame_ns = FRAME_NS

    def __init__(self, settings, kernel_peer=True, delay_ms=10, fault=None, ipv6=False,
                 peer_settings=None):
        super().__init__(delay_ms, fault)
        self.device = Host(1, settings, ipv6)
        other = {**settings, **(peer_settings or {})}
        self.peer = Host(2, other, ipv6) if kernel_peer else None
        self.hosts = [self.device, *([self.peer] if kernel_peer else [])]
        self.time, self.here, self.running = START_NS, self.device, True
        self.arriving = []  # (due, frame): captured, and not at the device yet
        self.version = self.device.guest.version()

    def now_ns(self):
        """The time by the calendar of the kernels."""
        return EPOCH_NS + self.time

    def clock_ns(self):
        """The virtual time: how long the kernels have run."""
        return self.time

    def as_device(self):
        """Make further sockets on the device."""
        self.here = self.device

    def as_peer(self):
        """Make further sockets on the peer."""
        self.here = self.peer

    def socket(self, ipv6):
        """A TCP socket of the current host."""
        return Socket(self, self.here, ipv6)

    def kernel(self):
        """The version of the kernel."""
        return self.version

    def stop(self):
        """End the kernels."""
        self.running = False
        for host in self.hosts:
            host.guest.end()

    def put(self, host, frame):
        """A frame arrives at a host; at the device, where frames are captured, a little later."""
        if host is self.device:
            self.arriving.append((self.time + CABLE_NS, frame))
            return
        host.guest.packet(frame[14:], self.time)
        self.drain(host)

    def inject(self, frame):
        """A scripted peer sends a frame, which reaches the device at once."""
        self.pause(SCRIPT_NS / 1e9)
        self.capture(frame)
        self.put(self.device, frame)
        self.pause(CABLE_NS / 1e9)

    def drain(self, host):
        """Forward everything that a host has sent."""
        while (frame := host.take()) is not None:
            self.arrived(host.number, frame)

    def call(self, host, which, *numbers, octets=b""):
        """Make a call on a host now."""
        result = host.guest.call(which, *numbers, octets=octets, at=self.time)
        self.drain(host)
        while self.time < host.guest.now:  # the call itself took time
            self.step(host.guest.now)
        return result

    def step(self, limit):
        """Let time pass to the next event, or to `limit` if there is none before."""
        events = [host.guest.next for host in self.hosts]
        events += [pair[0] for pair in [*self.arriving[:1], self.next_arrival()] if pair]
        self.time = max(self.time, min(limit, *events))
        for host in self.hosts:
            while host.guest.next <= self.time:
                host.guest.run(self.time)
                self.drain(host)
        while self.arriving and self.arriving[0][0] <= self.time:
            self.device.guest.packet(self.arriving.pop(0)[1][14:], self.time)
            self.drain(self.device)
        while self.deliver():
            pass

    def until(self, test, seconds):
        """Let time pass until `test` returns something; return that, or None when it is over."""
        end = self.time + round(seconds * 1e9)
        while (found := test()) is None and self.time < end:
            self.step(end)
        return found

    def pause(self, seconds):
        """Let time pass."""
        self.until(lambda: None, seconds)


class Socket:
    """A TCP socket of a host, with the methods of socket.socket that the scripts use.

    As there, a call that blocks waits until the kernel reports the socket as ready, and then makes
    the call once; and a socket to which nothing refers is closed.
    """

    def __init__(self, path, host, ipv6, number=None):
        self.path, self.host, self.ipv6, self.timeout, self.number = path, host, ipv6, None, None
        family = socket.AF_INET6 if ipv6 else socket.AF_INET
        self.number = (self._call(guest.SOCKET, family, socket.SOCK_STREAM, on=())
                       if number is None else number)

    def __del__(self):
        if self.path.running:
            self.close()

    def _try(self, which, *numbers, octets=b"", on=None):
        first = (self.number,) if on is None else on
        return self.path.call(self.host, which, *first, *numbers, octets=octets)

    def _call(self, which, *numbers, octets=b"", on=None):
        """The result of a call; raises the OSError that it names."""
        result = self._try(which, *numbers, octets=octets, on=on)[0]
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return result

    def _ready(self, events):
        """Wait until one of these events; raises TimeoutError as a socket does."""
        if self.timeout == 0:
            return
        def test():
            return self._try(guest.POLL)[0] & (events | BROKEN) or None
        if self.path.until(test, 3600 if self.timeout is None else self.timeout) is None:
            raise TimeoutError("timed out")

    def settimeout(self, seconds):
        """How long a call may wait; None: an hour, 0: not at all."""
        self.timeout = seconds

    def setblocking(self, flag):
        """Whether calls wait."""
        self.timeout = None if flag else 0

    def setsockopt(self, level, option, value):
        """Set an option to an integer or to octets."""
        octets = struct.pack("<i", value) if isinstance(value, int) else value
        self._call(guest.SET, level, option, octets=octets)

    def getsockopt(self, level, option, size=None):
        """An option as an integer, or as `size` octets at most."""
        result, octets = self._try(guest.GET, level, option, octets=bytes(size or SO_ERROR_BYTES))
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return octets if size else struct.unpack("<i", octets)[0]

    def bind(self, address):
        """Take a local address and port."""
        self._call(guest.BIND, octets=name_of(*address))

    def listen(self, backlog=128):
        """Accept connections."""
        self._call(guest.LISTEN, backlog)

    def accept(self):
        """The next connection: (its socket, None)."""
        self._ready(READABLE)
        number = self._call(guest.ACCEPT)
        return Socket(self.path, self.host, self.ipv6, number), None

    def connect_ex(self, address):
        """Connect: 0, or the number of the error."""
        error = -self._try(guest.CONNECT, octets=name_of(*address))[0]
        if error == errno.EINPROGRESS and self.timeout != 0:
            self._ready(WRITABLE)
            error = self.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return error

    def connect(self, address):
        """Connect."""
        error = self.connect_ex(address)
        if error:
            raise OSError(error, os.strerror(error))

    def send(self, data, flags=0):
        """Write what fits; how much that was. One write for the kernel, whatever its size."""
        self._ready(WRITABLE)
        taken = 0
        while True:
            piece = data[taken : taken + PIECE]
            more = MESSAGE_MORE if taken + len(piece) < len(data) else 0
            result = self._try(guest.SEND, flags | more, octets=piece)[0]
            if result < 0 and not taken:
                raise OSError(-result, os.strerror(-result))
            taken += max(0, result)
            if result < len(piece) or taken == len(data):
                return taken

    def sendall(self, data):
        """Write everything."""
        while data:
            data = data[self.send(data) :]

    def sendto(self, data, flags, address):
        """Connect and write at once (MSG_FASTOPEN)."""
        if flags != socket.MSG_FASTOPEN:
            raise ValueError("only MSG_FASTOPEN is implemented")
        self.setsockopt(socket.IPPROTO_TCP, FASTOPEN_CONNECT, 1)
        self.connect(address)
        return self.send(data)

    def recv(self, size):
        """Read what is there, `size` octets at most; none: the end."""
        self._ready(READABLE)
        result, octets = self._try(guest.RECEIVE, 0, min(size, PIECE))
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return octets

    def shutdown(self, how):
        """Close one half."""
        self._call(guest.SHUTDOWN, how)

    def close(self):
        """Close."""
        if self.number is not None:
            number, self.number = self.number, None
            self.path.call(self.host, guest.CLOSE, number)
