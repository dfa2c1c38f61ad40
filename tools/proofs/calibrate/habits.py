# Behaviours of the two programs of a connection; each habit is a pair of coroutines.
"""A habit uses kernel sockets through an Ends; a connection that the peer aborts is no error."""
import asyncio
import socket
import struct

CHUNK = 65_536
REQUEST = b"G" * 200
PATTERN = bytes((number * 7 + number // 256) & 0xFF for number in range(1 << 20))
HABITS = {}


def habit(function):
    """Decorator: registers a habit under its name."""
    HABITS[function.__name__] = function
    return function


class Ends:
    """Both ends of one connection, and how to use them."""

    def __init__(self, lane, flow):
        self.lane, self.flow = lane, flow
        self.loop = asyncio.get_running_loop()
        self.address = flow["address"]
        self.listener = None

    def dress(self, sock, options):
        """Set socket options, each (level, name, value)."""
        for level, name, value in options:
            sock.setsockopt(level, name, value.encode() if isinstance(value, str) else value)

    def listen(self):
        """Open the server's listening socket, with its options set before any SYN arrives."""
        sock = self.lane.socket(1, self.flow["six"])
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.dress(sock, self.flow["server_options"])
        sock.bind((self.address[1], self.flow["server_port"]))
        sock.listen(8)
        self.listener = sock

    async def connect(self):
        """Open the client's socket and connect it."""
        sock = self.lane.socket(0, self.flow["six"])
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.dress(sock, self.flow["client_options"])
        sock.bind((self.address[0], self.flow["client_port"]))
        await self.loop.sock_connect(sock, (self.address[1], self.flow["server_port"]))
        return sock

    async def accept(self):
        """Accept the server's next connection."""
        sock, _ = await self.loop.sock_accept(self.listener)
        sock.setblocking(False)
        return sock

    async def send(self, sock, count):
        """Send `count` octets."""
        while count > 0:
            piece = PATTERN[:min(count, CHUNK)]
            await self.loop.sock_sendall(sock, piece)
            count -= len(piece)

    async def take(self, sock, count=None, pause=0.0, piece=CHUNK):
        """Read `count` octets, or to the end; returns how many arrived."""
        got = 0
        while count is None or got < count:
            part = await self.loop.sock_recv(sock, piece if count is None else
                                             min(piece, count - got))
            if not part:
                break
            got += len(part)
            if pause:
                await asyncio.sleep(pause)
        return got

    async def both(self, client, server):
        """Run the programs of both ends; a reset or timeout ends a program without an error."""
        async def quiet(program):
            try:
                await asyncio.wait_for(program, self.flow["patience"])
            except (OSError, asyncio.TimeoutError):
                pass
        await asyncio.gather(quiet(client), quiet(server))


def shut(sock):
    """Close the sending half."""
    try:
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def linger_off(sock):
    """Make close() send a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Kept:
    """Context manager: a socket that is always closed."""

    def __init__(self, getting):
        self.getting, self.sock = getting, None

    async def __aenter__(self):
        self.sock = await self.getting
        return self.sock

    async def __aexit__(self, *_):
        if self.sock is not None:
            self.sock.close()


async def answering(ends):
    """A server that replies to a request and closes."""
    async with Kept(ends.accept()) as sock:
        await ends.take(sock, len(REQUEST))
        await ends.send(sock, ends.flow["octets"])


async def reading(ends):
    """A server that reads to the end and then closes."""
    async with Kept(ends.accept()) as sock:
        await ends.take(sock)


@habit
async def download(ends):
    """A request, a reply, then the server closes."""
    async def client():
        async with Kept(ends.connect()) as sock:
            await ends.loop.sock_sendall(sock, REQUEST)
            await ends.take(sock)
    await ends.both(client(), answering(ends))


@habit
async def upload(ends):
    """Data from the client, a short reply, then the client closes."""
    async def client():
        async with Kept(ends.connect()) as sock:
            await ends.send(sock, ends.flow["octets"])
            await ends.take(sock, 100)

    async def server():
        async with Kept(ends.accept()) as sock:
            await ends.take(sock, ends.flow["octets"])
            await ends.send(sock, 100)
            await ends.take(sock)
    await ends.both(client(), server())


@habit
async def both_ways(ends):
    """Data in both directions at once."""
    async def end(getting):
        async with Kept(getting) as sock:
            async def out():
                await ends.send(sock, ends.flow["octets"])
                shut(sock)
            await asyncio.gather(out(), ends.take(sock))
    await ends.both(end(ends.connect()), end(ends.accept()))


@habit
async def ping_pong(ends):
    """Small requests and replies with pauses."""
    rounds, size, pause = ends.flow["rounds"], ends.flow["piece"], ends.flow["pause"]

    async def client():
        async with Kept(ends.connect()) as sock:
            for _ in range(rounds):
                await ends.send(sock, size)
                await ends.take(sock, size)
                await asyncio.sleep(pause)

    async def server():
        async with Kept(ends.accept()) as sock:
            for _ in range(rounds):
                if await ends.take(sock, size) < size:
                    return
                await ends.send(sock, size)
            await ends.take(sock)
    await ends.both(client(), server())


@habit
async def small_writes(ends):
    """Many small writes; Nagle, NODELAY or CORK decide when segments are sent."""
    rounds, size, pause = ends.flow["rounds"], ends.flow["piece"], ends.flow["pause"]

    async def client():
        async with Kept(ends.connect()) as sock:
            for _ in range(rounds):
                await ends.send(sock, size)
                if pause:
                    await asyncio.sleep(pause)
            shut(sock)
            await ends.take(sock)
    await ends.both(client(), reading(ends))


@habit
async def banner(ends):
    """The server sends first, the client replies, reads the rest and closes."""
    async def client():
        async with Kept(ends.connect()) as sock:
            await ends.take(sock, 80)
            await ends.send(sock, 300)
            await ends.take(sock, ends.flow["octets"])

    async def server():
        async with Kept(ends.accept()) as sock:
            await ends.send(sock, 80)
            await ends.take(sock, 300)
            await ends.send(sock, ends.flow["octets"])
            await ends.take(sock)
    await ends.both(client(), server())


@habit
async def slow_reader(ends):
    """The client waits until its window is closed, then reads in pieces."""
    async def client():
        async with Kept(ends.connect()) as sock:
            await ends.loop.sock_sendall(sock, REQUEST)
            await asyncio.sleep(ends.flow["stall"])
            await ends.take(sock, pause=ends.flow["pause"], piece=ends.flow["piece"])
    await ends.both(client(), answering(ends))


@habit
async def half_close(ends):
    """The client closes its sending half before the reply comes."""
    async def client():
        async with Kept(ends.connect()) as sock:
            await ends.loop.sock_sendall(sock, REQUEST)
            shut(sock)
            await ends.take(sock)

    async def server():
        async with Kept(ends.accept()) as sock:
            await ends.take(sock)
            await asyncio.sleep(ends.flow["pause"])
            await ends.send(sock, ends.flow["octets"])
    await ends.both(client(), server())


@habit
async def reset_midway(ends):
    """The client aborts while the server sends."""
    async def client():
        async with Kept(ends.connect()) as sock:
            await ends.loop.sock_sendall(sock, REQUEST)
            await ends.take(sock, ends.flow["octets"] // 3)
            linger_off(sock)
    await ends.both(client(), answering(ends))


@habit
async def close_unread(ends):
    """The server closes with data unread, which sends a reset."""
    async def client():
        async with Kept(ends.connect()) as sock:
            await ends.send(sock, ends.flow["octets"])
            await ends.take(sock)

    async def server():
        async with Kept(ends.accept()) as sock:
            await ends.take(sock, 10)
            await asyncio.sleep(ends.flow["pause"])
    await ends.both(client(), server())


@habit
async def close_early(ends):
    """The client closes early while the server goes on to send, which is answered by resets."""
    async def client():
        async with Kept(ends.connect()) as sock:
            await ends.loop.sock_sendall(sock, REQUEST)
            await asyncio.sleep(ends.flow["pause"])

    async def server():
        async with Kept(ends.accept()) as sock:
            await ends.take(sock, len(REQUEST))
            for _ in range(5):
                await ends.send(sock, 2000)
                await asyncio.sleep(ends.flow["pause"])
    await ends.both(client(), server())


@habit
async def refused(ends):
    """The client connects to a port without a listener."""
    async def client():
        async with Kept(ends.connect()):
            pass

    async def server():
        ends.listener.close()
    await ends.both(server(), client())


@habit
async def idle(ends):
    """Two exchanges with an idle time between them, with keep-alives or nothing."""
    async def client():
        async with Kept(ends.connect()) as sock:
            await ends.send(sock, 500)
            await asyncio.sleep(ends.flow["stall"])
            await ends.send(sock, 500)
            await ends.take(sock, 100)

    async def server():
        async with Kept(ends.accept()) as sock:
            await ends.take(sock, 1000)
            await ends.send(sock, 100)
            await ends.take(sock)
    await ends.both(client(), server())


@habit
async def bursts(ends):
    """Data with pauses longer than the RTO: congestion windows after idle."""
    async def client():
        async with Kept(ends.connect()) as sock:
            await ends.take(sock)

    async def server():
        async with Kept(ends.accept()) as sock:
            for _ in range(3):
                await ends.send(sock, ends.flow["octets"] // 3)
                await asyncio.sleep(ends.flow["stall"])
    await ends.both(client(), server())


@habit
async def port_again(ends):
    """Three connections one after the other on the same ports."""
    async def client():
        for _ in range(3):
            async with Kept(ends.connect()) as sock:
                await ends.loop.sock_sendall(sock, REQUEST)
                await ends.take(sock)
            await asyncio.sleep(0.4 + ends.flow["pause"])  # its last ACK must have arrived

    async def server():
        for _ in range(3):
            async with Kept(ends.accept()) as sock:
                await ends.take(sock, len(REQUEST))
                await ends.send(sock, ends.flow["octets"])
    await ends.both(client(), server())


@habit
async def both_close(ends):
    """Both sides close at the same time."""
    async def end(getting):
        async with Kept(getting) as sock:
            await ends.send(sock, 100)
            await ends.take(sock, 100)
            await asyncio.sleep(ends.flow["pause"])
    await ends.both(end(ends.connect()), end(ends.accept()))


@habit
async def urgent(ends):
    """Urgent data among other data."""
    async def client():
        async with Kept(ends.connect()) as sock:
            for _ in range(4):
                await ends.send(sock, 3000)
                sock.send(b"!", socket.MSG_OOB)
                await asyncio.sleep(ends.flow["pause"])
            shut(sock)
            await ends.take(sock)
    await ends.both(client(), reading(ends))


@habit
async def silent_death(ends):
    """The path fails; the sender retransmits until it gives up."""
    await download(ends)
