# One recording: the device's application with its calls noted, the peer, the twins, the files.
"""The vocabulary of the scenario functions."""
import socket
import struct

from wire import PLAIN, mac_of  # first: it puts pcaps/ on the path

from common import frames, scenario_file

PORT, PEER_PORT = 5000, 6000
FOUR, SIX = ("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")
NEAR_NS = 5_000_000  # a call this soon after a packet of the peer is taken for a reaction to it


def text(size, salt=0):
    """Bytes in which any shift or exchange is detectable."""
    return bytes((position * 31 + position // 256 + salt) % 251 for position in range(size))


def mss_option(value=1460):
    """The octets of an MSS option."""
    return struct.pack(">BBH", 2, 4, value)


SACK_PERMITTED = b"\x01\x01\x04\x02"


def scale_option(shift):
    """The window scale option, after a NOP."""
    return struct.pack(">BBBB", 1, 3, 3, shift)


def stamp_option(value, echo):
    """The timestamps option, after two NOPs."""
    return struct.pack(">HBBII", 0x0101, 8, 10, value, echo)


def sack_option(*edges):
    """The SACK option of (left, right) pairs, after two NOPs."""
    blocks = b"".join(struct.pack(">II", left % 2**32, right % 2**32) for left, right in edges)
    return struct.pack(">HBB", 0x0101, 5, 2 + len(blocks)) + blocks


class Application:
    """The device's end of a connection; each call is recorded with its time."""

    def __init__(self, recording, sock):
        self.recording, self.sock = recording, sock
        sock.settimeout(10)

    def write(self, size):
        """Write `size` bytes."""
        self.recording.call("write", size)
        self.sock.sendall(text(size))

    def urgent(self, size):
        """Write `size` bytes, the last of them urgent."""
        self.recording.call("urgent", size)
        self.sock.send(text(size), socket.MSG_OOB)

    def finish(self):
        """Close our half."""
        self.recording.call("finish")
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        """Close."""
        self.recording.call("close")
        self.sock.close()

    def abort(self):
        """Close with a reset."""
        self.recording.call("abort")
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def read(self, size):
        """Read exactly `size` bytes; a call that follows counts as a reaction to them."""
        taken = read(self.sock, size)
        self.recording.timed = False
        return taken


def read(sock, size):
    """Read exactly `size` bytes, or what arrives until the end."""
    taken = b""
    while len(taken) < size:
        piece = sock.recv(size - len(taken))
        if not piece:
            break
        taken += piece
    return taken


class Script:
    """A scripted peer, without a kernel.

    `stamp` is the TSval of what it sends from now on, with the device's latest as TSecr; None: no
    timestamps.
    """

    def __init__(self, recording, device_port, port=PEER_PORT, isn=0xFFFFFF00, stamp=None):
        self.wire, self.isn, self.next, self.ack = recording.wire, isn, isn, 0
        self.here, self.there = (recording.far, port), (recording.near, device_port)
        self.stamp, self.echo = stamp, 0

    def send(self, flags, payload=b"", seq=None, ack=None, window=65535, urgent=0, options=b"",
             ecn=0):
        """Send one segment; `seq` is relative to our ISN, `ack` to the next number expected."""
        at = self.next if seq is None else (self.isn + seq) % 2**32
        number = (self.ack + (ack or 0)) % 2**32 if "A" in flags else 0
        macs = (mac_of(2), mac_of(1))
        if self.stamp is not None:
            options += stamp_option(self.stamp, self.echo if "A" in flags else 0)
        self.wire.inject(frames.build(self.here, self.there, macs, flags, at, number, window,
                                      urgent, options, payload, ecn))
        if seq is None and "R" not in flags:
            self.next = (self.next + len(payload) + ("S" in flags) + ("F" in flags)) % 2**32

    def expect(self, flags, size=None, seconds=5):
        """Wait for a segment of the device with these flags (PSH aside) and record its numbers."""
        def taken():
            while self.wire.inbox:
                segment = self.wire.inbox.pop(0)
                if (set(segment.flags) - {"P"} == set(flags)
                        and size in (None, len(segment.payload))):
                    return segment
            return None

        segment = self.wire.until(taken, seconds)
        if segment is None:
            raise TimeoutError(f"the device sent no segment with flags {flags} within {seconds} s")
        self.ack = (segment.seq + segment.length) % 2**32
        stamps = segment.option(8)
        self.echo = struct.unpack(">I", stamps[:4])[0] if stamps else 0
        return segment


class Recording:
    """A scenario being recorded in `world`: network.Wire, or virtual.Wire."""

    def __init__(self, world, slug, title, shows, role, plain=True, what="", config=None,
                 features="", sysctls=None, **wire):
        self.slug, self.title, self.shows, self.role = slug, title, shows, role
        self.what, self.config, self.plain = what, dict(config or {}), plain
        self.features = features  # the features that are on beyond `plain`, in words
        self.ipv6 = wire.get("ipv6", False)
        self.near, self.far = SIX if self.ipv6 else FOUR
        self.wire = world({**(PLAIN if plain else {}), **(sysctls or {})}, **wire)
        self.calls, self.twins, self.segments, self.listener = [], [], [], None
        self.port = PORT
        self.timed = False  # the next call happens at a time, not in reaction to a packet

    # The device's application.
    def call(self, do, size=None):
        """Record a call at the current time, with the number of packets before it."""
        self.calls.append((self.wire.now_ns(), len(self.wire.packets), do, size, self.timed))

    def forget(self):
        """Begin the capture anew; the calls until now stand before its first packet."""
        self.wire.packets.clear()
        self.calls = [(at, 0, do, size, timed) for at, _, do, size, timed in self.calls]

    def socket(self):
        """A TCP socket of the recording's family, on the current host."""
        return self.wire.socket(self.ipv6)

    def listen(self, receive_buffer=None):
        """The device listens."""
        self.wire.as_device()
        self.call("listen")
        self.listener = self.socket()
        if receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.listener.bind((self.near, PORT))
        self.listener.listen()
        self.listener.settimeout(10)

    def accept(self):
        """The device's application accepts the connection."""
        return Application(self, self.listener.accept()[0])

    def open(self, port=PORT, wait=True):
        """The device connects; its own port is fixed so that captures look alike."""
        self.wire.as_device()
        sock = self.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((self.near, PEER_PORT))
        self.port = PEER_PORT
        self.call("open")
        application = Application(self, sock)
        sock.setblocking(wait)
        if wait:
            sock.settimeout(10)
        error = sock.connect_ex((self.far, port))
        sock.setblocking(True)
        sock.settimeout(10)
        return application, error

    # The peer, when it is a kernel.
    def peer_listen(self, receive_buffer=None):
        """The peer listens."""
        self.wire.as_peer()
        sock = self.socket()
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.bind((self.far, PORT))
        sock.listen()
        sock.settimeout(10)
        return sock

    def peer_connect(self, receive_buffer=None):
        """The peer connects to the device."""
        self.wire.as_peer()
        sock = self.socket()
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.bind((self.far, PEER_PORT))
        sock.settimeout(10)
        sock.connect((self.near, PORT))
        return sock

    def connected(self, **options):
        """A connection from the peer to the device: (application, the peer's socket)."""
        self.listen(options.pop("device_buffer", None))
        peer = self.peer_connect(**options)
        return self.accept(), peer

    def script(self, syn=b"", flags="S", answer="SA", **options):
        """A scripted peer, connected to the listening device: (application, script).

        `syn` holds its SYN's options besides the MSS, `flags` and `answer` the flags of both SYNs.
        """
        self.listen()
        peer = Script(self, PORT, **options)
        peer.send(flags, options=mss_option(1440 if self.ipv6 else 1460) + syn)
        peer.expect(answer)
        peer.send("A")
        return self.accept(), peer

    def pause(self, seconds=0.1):
        """Let time pass; the next call is then not a reaction to a packet."""
        self.wire.pause(seconds)
        self.timed = True

    # Afterwards.
    def end(self, seconds=0.2):
        """Stop capturing after a last pause and parse the packets."""
        self.wire.pause(seconds)
        self.wire.stop()
        self.segments = [frames.parse(number, packet)
                         for number, packet in enumerate(self.wire.packets, 1)]
        self.segments = [segment for segment in self.segments if segment]

    def nth(self, test, count=1):
        """The number of the device's count-th packet that passes `test`."""
        found = [segment.packet for segment in self.segments
                 if segment.source[0] == self.near and test(segment)]
        if len(found) < abs(count):
            raise LookupError(f"{self.slug}: {len(found)} packets of the capture fit a twin, "
                              f"expected {abs(count)}; record it again")
        return found[count - 1 if count > 0 else count]

    def flags(self, wanted, count=1):
        """The number of the device's count-th packet with these flags, PSH aside."""
        return self.nth(lambda segment: set(segment.flags) - {"P"} == set(wanted), count)

    def retransmission(self, count=1):
        """The number of the device's count-th retransmission."""
        seen, numbers = 0, []
        for segment in self.segments:
            if segment.source[0] != self.near or not segment.length:
                continue
            end = (segment.seq + segment.length) % 2**32
            if seen and (end - seen) % 2**32 > 2**31 or end == seen:
                numbers.append(segment.packet)
            else:
                seen = end
        if len(numbers) < count:
            raise LookupError(f"{self.slug}: {len(numbers)} retransmissions, expected {count}; "
                              "record it again")
        return numbers[count - 1]

    def larger(self, packet, clause, octets):
        """A twin: directly after this packet of the device, its next `octets` of data in one
        segment.
        """
        segment = next(item for item in self.segments if item.packet == packet)
        base = next(item for item in self.segments
                    if item.source == segment.source and "S" in item.flags)
        far = next(item for item in self.segments
                   if item.source == segment.target and "S" in item.flags)
        self.twin(clause, after_packet=packet, insert={
            "from": "device", "flags": "A", "bytes": octets, "delay": "0ms",
            "seq": (segment.seq + len(segment.payload) - base.seq) % 2**32,
            "ack": (segment.ack - far.seq) % 2**32})

    def twin(self, clause, **edit):
        """An edit that must be judged to violate `clause`."""
        self.twins.append({"clause": clause, "edit": edit})

    def _call_entry(self, at_ns, count, do, size, timed):
        """Place a call after the peer's packet that it follows closely, otherwise at its time."""
        first = self.wire.packets[0].time_ns
        before = [segment for segment in self.segments if segment.packet <= count]
        peers = [segment for segment in before if segment.source[0] != self.near]
        if not before:
            entry = {"after_packet": 0}
        elif peers and not timed and at_ns - peers[-1].time_ns < NEAR_NS:
            entry = {"after_packet": peers[-1].packet}
        else:
            entry = {"at": scenario_file.time_text((at_ns - first) // 1000 * 1000)}
        return {**entry, "do": do, **({"bytes": size} if size is not None else {})}

    def write(self, room):
        """Write the scenario's folder."""
        control = self.wire.device.congestion_control
        options = (f"SACK, timestamps, window scaling and ECN off, {control}" if self.plain
                   else f"all at its defaults ({control})")
        options = f"{options}, but {self.features}" if self.features else options
        peer = "another kernel" if self.wire.peer else "a script"
        kernel, option = f"Linux {self.wire.kernel()}", ""
        if self.wire.virtual:
            kernel, option = f"{kernel} in virtual time", "--device linux "
        origin = f"recorded: {kernel} as {self.what}, {options}; peer: {peer}"
        head = {"title": self.title, "shows": self.shows, "origin": origin,
                "made_by": f"pcaps/record/record.py {option}{self.slug}"}
        device = {"address": self.near, "port": self.port, "role": self.role, "profile": "linux"}
        # Linux's default congestion control is the profile's.
        chosen = {} if control == "cubic" else {"congestion": control}
        calls = [self._call_entry(*call) for call in self.calls]
        content = scenario_file.toml(head, device, {**chosen, **self.config}, calls, self.twins)
        scenario_file.write(room / self.slug, content, self.wire.packets)
