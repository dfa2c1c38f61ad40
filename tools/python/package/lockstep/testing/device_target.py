# The target `device:NAME`: any TCP behind conformance/devices/device.h, in virtual time.
"""Each test has a process of its own: `lockstep devices serve NAME`, or the program itself if the
name is the path of one. A device that crashes, hangs or breaks the interface fails its test.
"""
import collections
import copy
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from .device_calls import DeviceCalls
from .device_wire import UNSUPPORTED, Call, Fault, Peer
from .errors import Mismatch, Misuse, Unsupported
from .live import concerns
from .stack_target import ADDRESSES
from .tap_target import check_program, program
from .target import Departure, Target, Timing, Wanted, kinds

#: Where the clock of a device begins, as that of lockstep.Stack.
START = 1_000 * 10**9
#: A delayed ACK may be sent up to this much earlier (RFC 9293 3.8.6.3 sets an upper bound only).
ACK_DELAY_MAX = 500_000_000
#: How long a device may take to answer a call, in seconds of real time.
PATIENCE = 20.0
#: How many answers at one instant may bring nothing.
STILL_MAX = 1_000


def with_package(environment):
    """The environment of a device: a program in Python finds lockstep.testing."""
    package = str(Path(__file__).resolve().parents[2])
    known = environment.get("PYTHONPATH", "")
    return {**environment, "PYTHONPATH": package + os.pathsep * bool(known) + known}


def small_program():
    """The program lockstep_device that a wheel installs, beside Python or in PATH; or None."""
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return shutil.which("lockstep_device", path=os.pathsep.join(places))


class DeviceTarget(DeviceCalls, Target):
    """A device in a process of its own, whose clock the tester holds."""

    name = "device"
    virtual = True

    @classmethod
    def accepts(cls, more):
        if not more:
            raise Misuse(f"--target {cls.name}: name the device, as device:lwip; lockstep devices"
                         " lists them")
        if "/" not in more:
            check_program(f"device:{more}")
            if not cls.installed(more):
                raise Misuse(f"--target device:{more}: lockstep devices does not list it: choose"
                             " one of those, or write the path of a shared library or program")
        elif not os.path.isfile(more):
            raise Misuse(f"--target device:{more}: there is no such file: name a shared library,"
                         " a program, or a device of lockstep devices")
        elif more.endswith(".so"):
            check_program(f"device:{more}")
        elif not os.access(more, os.X_OK):
            raise Misuse(f"--target device:{more}: it is neither a shared library (.so) nor may it"
                         " be run: chmod +x")

    @classmethod
    def installed(cls, name):
        """Whether `lockstep devices` lists it."""
        folders = [Path(each) for each in os.environ.get("LOCKSTEP_DEVICES", "").split(":") if each]
        try:
            own = Path(program()).parent
        except Unsupported:
            return False
        folders += [own / "devices", own.parent / "lib/lockstep/devices"]
        return any((folder / f"{name}.so").is_file() or (folder / name / "device").is_file()
                   for folder in folders)

    def __init__(self, wanted: Wanted):
        self.ip_version = wanted.ip_version
        self.local, self.remote = ADDRESSES[wanted.ip_version]
        self.name = f"device:{wanted.more}"
        # What it prints may be long, and its children may hold it open.
        self._printed = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                self._words(wanted.more), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._printed, start_new_session=True, env=with_package(os.environ))
        except OSError as why:
            raise Misuse(f"target {self.name}: {wanted.more} cannot be run: {why.strerror}"
                         ) from None
        self._peer = Peer(self._process.stdin.fileno(), self._process.stdout.fileno(), PATIENCE)
        self._now = self._due = START
        self._left = collections.deque()
        self._still = 0
        try:
            self._about()
            self._create(wanted)
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def _words(more):
        if "/" in more and not more.endswith(".so"):
            return [more]
        try:
            return [program(), "devices", "serve", more]
        except Unsupported:
            small = small_program()
            if "/" not in more or small is None:
                raise
            return [small, more]

    def _about(self):
        """Takes what the device says of itself."""
        lines = self.ask(Call.ABOUT).text.splitlines()
        about = dict(line.split(" ", 1) for line in lines if " " in line)
        if about.get("version") != "3" or not about.get("timer_grain", "").isdecimal():
            self._wrong(Call.ABOUT, f"it says {' / '.join(lines)[:60]!r}, expected version 3 and a"
                                    " timer_grain")
        abilities = about.get("abilities", "").split()
        self.speaks_udp = "udp" in abilities
        self.stack = about.get("stack", "?")
        self._grain = int(about["timer_grain"])
        self._late = int(about.get("timer_late", "0"))
        self.exact = self._grain == 1 and not self._late
        self._can = set(about.get("calls", "").split())
        if f"ipv{self.ip_version}" not in abilities:
            raise Unsupported(f"target {self.name}: it has no IPv{self.ip_version}")

    def _create(self, wanted):
        settings = {"profile": wanted.profile, **wanted.settings}
        lines = [f"local={self.local}", f"remote={self.remote}",
                 f"mtu={settings.pop('mtu', 1500)}", f"seed={wanted.seed}", f"start={START}"]
        for name, value in settings.items():
            lines.append(f"{name}={str(value).lower() if isinstance(value, bool) else value}")
        answer = self.ask(Call.CREATE, octets="\n".join([*lines, ""]).encode())
        if answer.result == UNSUPPORTED:
            raise Unsupported(f"target {self.name}: {answer.text}")
        if answer.result < 0:
            raise Misuse(f"target {self.name}: {answer.text or 'it cannot be created'}")

    # --- calls ---

    def ask(self, call, first=0, second=0, octets=b""):
        """Makes a call; Mismatch if the device breaks the interface."""
        try:
            answer = self._peer.ask(call, first, second, octets)
        except Fault as why:
            self._wrong(call, str(why))
        if call > Call.CREATE:
            self._check(call, answer)
        self._now = max(self._now, answer.now)
        # After a call of the program it may have packets to send.
        self._due = answer.deadline if call in (Call.ADVANCE, Call.PACKET) else self._now
        for packet in answer.packets:
            if concerns(packet, self.remote):
                self._left.append(Departure(answer.now, packet))
        return answer

    def _check(self, call, answer):
        if answer.now < self._now:
            self._wrong(call, f"its time went back by {self._now - answer.now} ns")

    def _wrong(self, call, words):
        """The device broke the interface in this call."""
        if self._process and (words == "it has ended" or self._process.poll() is not None):
            words = "it has ended" + self._ending()
        raise Mismatch(f"device {self.name.removeprefix('device:')}: {call.name.lower()}: {words}")

    def _ending(self):
        """How the process ended."""
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return ": it closed its output"
        self._printed.seek(0)
        lines = self._printed.read().decode("utf-8", "replace").splitlines()
        last = f": {lines[-1][:200]}" if lines else ""
        if code < 0:
            return f" by {signal.Signals(-code).name}{last}"
        return f" with exit code {code}{last}"

    # --- the wire ---

    def now(self):
        return self._now

    def send(self, packet):
        self.ask(Call.PACKET, octets=packet)

    def receive(self, until):
        while True:
            if self._left:
                return self._left.popleft() if self._left[0].at <= until else None
            if self._now >= until and self._due > self._now:
                return None
            before = self._now
            answer = self.ask(Call.ADVANCE, max(until, self._now))
            if self._now > max(until, before):
                self._wrong(Call.ADVANCE, f"its time went {self._now - until} ns too far")
            if not answer.packets and self._now < until:
                self._wrong(Call.ADVANCE, f"it stopped after {self._now - before} ns of"
                                          f" {until - before} without a packet")
            self._still = self._still + 1 if self._now == before and not self._left else 0
            if self._still > STILL_MAX:
                self._wrong(Call.ADVANCE, f"its time stands still after {STILL_MAX} calls")

    def window(self, due, timing):
        if self.exact or timing is Timing.AT_ONCE:
            return due, due
        early = ACK_DELAY_MAX if timing is Timing.DELAYED_ACK else self._grain
        late = max(0, due - self._now) * self._late // 1_000
        return due - early, due + self._grain + late

    def quiet(self, until):
        return until if self.exact else max(self._now, until - self._grain)

    # --- the program ---

    def branch(self):
        """A second target, whose device is a copy of this one in its present state: both go on
        from here, each by itself. stop() of the first one ends both. Unsupported for a device that
        cannot be copied, as one in Go or Python.
        """
        try:
            answer, peer = self._peer.branch()
        except Fault as why:
            self._wrong(Call.BRANCH, str(why))
        if peer is None:
            why = f": {answer.text}" if answer.text else ""
            raise Unsupported(f"target {self.name} cannot be copied{why}")
        other = copy.copy(self)
        other._peer, other._process, other._left = peer, None, collections.deque(self._left)
        return other

    # --- the observer ---

    def state(self, local_port, remote_port):
        if "state" not in self._can:
            return None
        answer = self.ask(Call.STATE, local_port, remote_port)
        return None if answer.result == UNSUPPORTED else answer.text

    def events(self, connection):
        if "events" not in self._can:
            return None
        return self.ask(Call.EVENTS, connection).text.split()

    def dropped(self):
        """Not available: a device does not report dropped packets."""
        raise Unsupported(f"target {self.name} does not report dropped packets")

    def stop(self):
        if self._process is None:
            self._peer.close()
            return
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # its children, too
        except ProcessLookupError:
            pass
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._printed):
            try:
                pipe.close()
            except OSError:
                pass  # a request that was never read


kinds["device"] = DeviceTarget
