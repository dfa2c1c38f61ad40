# The target INTERFACE:ADDRESS: a device on a wire, tested in real time from an address of our own.
"""`prepare()` finds the device once, before the tests; each test then has ports of its own.

Without lockstep_agent only a service of the device takes part: what a test asks of a program leaves
it out, with that reason.
"""
import dataclasses
import ipaddress
import itertools
import os
import time

from .errors import Environment, Misuse, Unsupported
from .live import RealTimeTarget
from .packets import TCP, dissected, glance, since
from .target import Wanted
from .wire_link import Interface, Link, text_of
from .wire_service import SERVICES, closed_port, ports_of, segment, service_on
from .wire_silence import Silence

#: The tester's ports, which Linux gives to nobody by itself.
PORTS = (10_000, 29_999)
#: So many a test may use.
PORTS_EACH = 16
#: Where lockstep_agent listens for the tests, unless a port is named.
HELPED_PORT = 61_100
#: Ports that are probably closed, one of which is looked for.
UNUSED = range(61_080, 61_090)
RST = 4
WITHOUT = "without lockstep_agent on it (--agent)"


def split(name):
    """(interface, address) of `eth0:10.0.0.5` or `eth0:[2001:db8::5]`; None if it is another."""
    interface, colon, rest = name.partition(":")
    if rest[:1] == "[" and rest[-1:] == "]":
        rest = rest[1:-1]
    try:
        return (interface, ipaddress.ip_address(rest)) if colon and interface else None
    except ValueError:
        return None


@dataclasses.dataclass(frozen=True)
class Asked:
    """The options of the command line."""

    source: str | None = None
    port: int | None = None
    service: str | None = None
    helper: str | None = None


class Wire:
    """The device, found: the link to it, and what it can be asked for."""

    def __init__(self, name, asked):
        self.name = name
        self.asked = asked
        interface, self.device = split(name)
        self.silence = self.link = None
        self._ports = itertools.cycle(range(*PORTS, PORTS_EACH))
        for _ in range(time.time_ns() // 10**8 % 1_000):
            next(self._ports)  # other ports than those of the last run
        try:
            self.link = Link(Interface(interface), self.device, self._source())
            self.silence = self._silenced()
            self._look()
        except BaseException:
            self.close()
            raise

    def _source(self):
        if self.asked.source is None:
            return None
        try:
            return ipaddress.ip_address(self.asked.source)
        except ValueError:
            raise Misuse(f"--target-source {self.asked.source} is no address: expected one as"
                         " 10.0.0.250 or 2001:db8::250") from None

    def _silenced(self):
        """Keeps our kernel out of it, if it would answer."""
        link, name = self.link, self.link.interface.name
        if link.is_kernels:
            why = f"{link.source} is this machine's own address, so its kernel would send resets"
        elif link.interface.forwards(link.version):
            why = f"this machine forwards packets of {name}, so its kernel would answer for others"
        else:
            return None
        return Silence(link.device, link.source, PORTS, why)

    def _look(self):
        """Finds lockstep_agent; or the service, and a port that is closed."""
        if self.asked.helper is not None:
            from .wire_helper import Control

            control = Control(self.asked.helper)
            try:
                self.about = control.about()
            finally:
                control.close()
            self.port = self.asked.port or HELPED_PORT
            self.service = f"lockstep_agent at {self.asked.helper} ({self.about['stack']})"
            return
        self.closed = closed_port(self.link, self._ports, UNUSED)
        self.port = self.asked.port
        self.service = service_on(self.link, self._ports, self.port, self.asked.service)

    def words(self):
        """What is tested, for the head of the run."""
        link = self.link
        silenced = f", kernel silenced by table {self.silence.table}" if self.silence else ""
        return (f"{self.device} ({text_of(link.mac)}) on {link.interface.name}, from"
                f" {link.source}{silenced}; {self.service}, port {self.port}")

    def ports(self):
        """The first of the tester's ports for one test."""
        return next(self._ports)

    def close(self):
        """Gives back what it has taken: the address, and the kernel's voice."""
        if self.silence is not None:
            self.silence.close()
        if self.link is not None:
            self.link.close()
        self.silence = self.link = None


#: The device of this run.
_found = []


def prepare(name, asked):
    """Finds the device that `--target` names; Environment or Misuse if it cannot be tested."""
    if asked.port is None and asked.helper is None:
        raise Misuse(f"--target {name}: name a port where the device has a service (echo, discard"
                     " or HTTP) with --target-port, or lockstep_agent on it with --agent")
    if asked.service is not None and asked.service not in SERVICES:
        raise Misuse(f"--target-service {asked.service}: expected {', '.join(SERVICES)}")
    try:
        _found.append(Wire(name, asked))
    except Misuse as why:
        raise Misuse(f"--target {name}: {why}") from None
    except Environment as why:
        raise Environment(f"target {name}: {why}") from None
    return _found[0].words()


def give_back():
    """Ends what prepare() began."""
    while _found:
        _found.pop().close()


class WireTarget(RealTimeTarget):
    """A service of a device on a wire."""

    name = "wire"
    speaks_udp = True
    keeps_listening = True

    def __new__(cls, wanted):
        if _found and _found[0].asked.helper is not None:
            from .wire_helper import HelpedTarget

            cls = HelpedTarget
        return super().__new__(cls)

    @classmethod
    def accepts(cls, more):
        """Each that split() understands."""

    def __init__(self, wanted: Wanted):
        if not _found:
            raise Misuse(f"target {wanted.more}: it was not looked for: name it with --target")
        self._found = found = _found[0]
        self._link = found.link
        self.name = found.name
        self.ip_version = self._link.version
        self.local, self.remote = str(self._link.device), str(self._link.source)
        super().__init__()
        if wanted.ip_version != self.ip_version:
            raise Unsupported(f"target {self.name}: it has no IPv{wanted.ip_version} address")
        self._set_up(wanted)
        self._waiting = []
        #: (port, tester's port) -> the number that the device expects next, and its window's end.
        self._seen = {}
        self.peer_port = found.ports()
        self._wire = self._link.open()
        self.wire = self._wire.fileno()

    def _set_up(self, wanted):
        for field in wanted.settings:
            raise Unsupported(f"target {self.name}: no way to set {field} {WITHOUT}")
        if self._found.closed is None:
            raise Unsupported(f"target {self.name}: no closed port was found: a filter drops SYNs")
        #: Until a test listens it meets a closed port.
        self.port = self._found.closed

    # --- the wire ---

    def _ready(self, seconds):
        return bool(self._waiting) or super()._ready(seconds)

    def _get(self):
        if not self._waiting:
            self._waiting = self._link.get(self._wire)
        if not self._waiting:
            return None
        packet = self._waiting.pop(0)
        self._note(packet)
        return packet

    def _put(self, packet):
        if len(packet) > self._link.interface.mtu:
            raise Unsupported(f"target {self.name}: a packet of {len(packet)} octets is longer than"
                              f" the MTU of {self._link.interface.name}")
        self._check(packet)
        self._link.put(self._wire, packet)

    def _note(self, packet):
        """Remembers what a segment of the device acknowledges."""
        seen = glance(packet)
        if seen is not None and "A" in seen.flags and "R" not in seen.flags:
            tcp = dissected(packet)[TCP]
            known = self._seen.get((tcp.sport, tcp.dport), (tcp.ack, tcp.ack))
            ack = max(known[0], tcp.ack, key=lambda number: since(number, known[0]))
            self._seen[tcp.sport, tcp.dport] = ack, (ack + max(seen.window, 1)) % (1 << 32)

    def _check(self, packet):
        """Leaves the test out if the service would answer what only a program should."""
        seen = glance(packet)
        if seen is None or not (seen.length or "F" in seen.flags) or set("SR") & set(seen.flags):
            return
        key = ports_of(packet)[::-1]
        if key not in self._seen:
            return
        next_one, edge = self._seen[key]
        room = since(edge, next_one)
        begin = since(seen.seq, next_one)
        taken = begin < room and begin + seen.length > 0
        if taken and "F" in seen.flags:
            raise Unsupported(f"target {self.name}: the service closes when its peer does")
        if taken and self._found.service != "discard":
            raise Unsupported(f"target {self.name}: the service ({self._found.service}) answers"
                              " data: test with discard")

    # --- the program ---

    def _none(self, call):
        raise Unsupported(f"target {self.name}: no call {call} {WITHOUT}")

    def listen(self, port):
        if port not in (self._found.closed, self._found.port):
            self._none(f"listen on port {port}")
        self.port = self._found.port

    def unlisten(self):
        self._none("unlisten")

    def connect(self, local_port, remote_port):
        self._none("connect")

    def accept(self):
        """The service has accepted each connection that was opened."""
        return 1 if any(port == self._found.port for port, _ in self._seen) else None

    def write(self, connection, data):
        self._none("write")

    def read(self, connection, most):
        self._none("read")

    def finish(self, connection):
        self._none("finish")

    def close(self, connection):
        self._none("close")

    def abort(self, connection):
        self._none("abort")

    def urgent(self, connection):
        self._none("urgent")

    def set(self, connection, name, value):
        self._none(f"set {name}")

    def inspect(self, connection):
        self._none("inspect")

    def stop(self):
        """Resets what the test has opened."""
        if self.wire is None:
            return
        try:
            while self._ready(0):
                self._get()
            for (port, ours), (ack, _) in self._seen.items():
                self._link.put(self._wire, segment(self._link, (ours, port), RST, ack))
        except OSError as why:
            raise Misuse(f"target {self.name}: {os.strerror(why.errno)}") from None
        finally:
            self._wire.close()
            self.wire = None

