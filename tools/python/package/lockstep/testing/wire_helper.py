# The target of a device on a wire on which lockstep_agent makes the calls.
"""The requests and answers are those of conformance/devices/program.h, over a TCP connection for
each test; it may use another interface.
"""
import socket
import time

from .device_calls import DeviceCalls
from .device_wire import UNSUPPORTED, Call, Fault, Peer
from .errors import Environment, Misuse, Unsupported
from .linux_target import OPTIONS, PLAIN, SYSCTLS
from .live import MS, PROMPT
from .units import nanoseconds
from .wire_target import WireTarget

CONNECT_SECONDS, PATIENCE = 5, 20.0
#: What a packet may take to the device and through it, before a call asks for what it has done.
ON_THE_WAY = 15 * MS


def place(text):
    """(address, port) of ADDRESS:PORT; brackets may be around the address."""
    address, colon, port = text.rpartition(":")
    if not colon or not address or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise Misuse(f"--agent {text}: expected ADDRESS:PORT, as 10.0.0.5:7007")
    return address.removeprefix("[").removesuffix("]"), int(port)


class Control:
    """The connection for one test."""

    def __init__(self, named):
        self.named = named
        try:
            self._socket = socket.create_connection(place(named), CONNECT_SECONDS)
        except OSError as why:
            raise Environment(f"lockstep_agent at {named} cannot be reached: {why}: is it started"
                              " on the device, and with this --listen?") from None
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ours = self._socket.getsockname()[0].removeprefix("::ffff:")
        descriptor = self._socket.fileno()
        self._peer = Peer(descriptor, descriptor, PATIENCE)

    def about(self):
        """What it says of itself: name -> words."""
        try:
            lines = self._peer.ask(Call.ABOUT).text.splitlines()
        except (Fault, OSError) as why:
            raise Environment(f"lockstep_agent at {self.named}: {why}: start it with --allow"
                              f" {self._ours}, and let one tester at a time use it") from None
        about = dict(line.split(" ", 1) for line in lines if " " in line)
        if about.get("version") != "3":
            raise Environment(f"what listens at {self.named} is not this version's lockstep_agent")
        return about

    def ask(self, *words):
        """Makes a call; returns its Answer."""
        try:
            return self._peer.ask(*words)
        except (Fault, OSError) as why:
            raise Misuse(f"lockstep_agent at {self.named}: {words[0].name.lower()}: {why}"
                         ) from None

    def close(self):
        """Ends the test there."""
        self._socket.close()


def options_of(wanted, may_set):
    """The lines that make the device like the profile, as far as it can be; Unsupported for a
    setting that it cannot have.
    """
    values = {}
    if may_set and wanted.profile == "rfc":
        values |= {f"system.ipv4/{name}": value for name, value in PLAIN.items()}
    for field, value in wanted.settings.items():
        if field in OPTIONS:
            values[field] = (nanoseconds(value) // 10**9 if isinstance(value, str)
                             else int(value))
        elif field == "path_mtu_discovery":
            values[field] = int(value)
        elif field in SYSCTLS and not (field == "ttl" and wanted.ip_version == 6):
            if not may_set:
                raise Unsupported(f"no way to set {field}: lockstep_agent --settings may")
            values |= {f"system.{name}": int(value) for name in SYSCTLS[field]
                       if name.startswith("ipv4/")}
        else:
            raise Unsupported(f"no way to set {field}")
    return {"path_mtu_discovery": 0, **values}


class HelpedTarget(DeviceCalls, WireTarget):
    """A device on which lockstep_agent makes the calls."""

    keeps_listening = False

    def _set_up(self, wanted):
        self.port = self._found.port
        self._spoke = 0
        about = self._found.about
        if f"ipv{self.ip_version}" not in about["abilities"].split():
            raise Unsupported(f"target {self.name}: it has no IPv{self.ip_version}")
        if wanted.profile not in ("rfc", "default", "linux"):
            raise Unsupported(f"target {self.name}: it cannot be set to profile {wanted.profile}")
        try:
            options = options_of(wanted, "settings" in about["abilities"].split())
        except Unsupported as why:
            raise Unsupported(f"target {self.name}: {why}") from None
        lines = [f"local={self.local}", f"remote={self.remote}",
                 f"mtu={self._link.interface.mtu}", f"seed={wanted.seed}", "start=0",
                 f"profile={wanted.profile}"]
        lines += [f"{name}={value}" for name, value in options.items()]
        self._control = Control(self._found.asked.helper)
        answer = self._control.ask(Call.CREATE, 0, 0, "\n".join([*lines, ""]).encode())
        if answer.result < 0:
            self._control.close()
            kind = Unsupported if answer.result == UNSUPPORTED else Misuse
            raise kind(f"target {self.name}: {answer.text}")

    # --- the wire ---

    def _put(self, packet):
        super()._put(packet)
        self._spoke = self.now()

    def _check(self, packet):
        """A program that is asked can be tested in all."""

    # --- the program ---

    def ask(self, call, first=0, second=0, octets=b""):
        left = self._spoke + ON_THE_WAY - self.now()
        if left > 0:
            time.sleep(left / 1e9)
        return self._control.ask(call, first, second, octets)

    def accept(self):
        end = self.now() + PROMPT
        while True:
            found = super().accept()
            if found is not None or self.now() > end:
                return found
            time.sleep(0.005)

    def state(self, local_port, remote_port):
        answer = self.ask(Call.STATE, local_port, remote_port)
        return None if answer.result == UNSUPPORTED else answer.text

    def events(self, connection):
        return None

    def stop(self):
        if getattr(self, "_control", None) is not None:
            self._control.close()
            self._control = None
        super().stop()
