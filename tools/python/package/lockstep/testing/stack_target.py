# The target `stack`: our own TCP without a world, in virtual time, exact to the nanosecond.
import collections

import lockstep

from .errors import Misuse
from .target import Departure, Target, Wanted, kinds

PROFILES = ("rfc", "default", "linux", "freebsd")
#: Instants with an event between two packets; more is an endless loop, which is reported.
STEPS_MAX = 1_000_000
#: How long the peer is silent at the end, in nanoseconds: longer than every timeout of a profile.
SILENCE = 6 * 3600 * 10**9
#: The packets that a connection may send in that time: retransmissions, probes, keep-alives,
#: resets.
LAST_WORDS_MAX = 60
ADDRESSES = {
    4: ("10.0.0.1", "10.0.0.2"),
    6: ("fd00::1", "fd00::2"),
}


class StackTarget(Target):
    """A `lockstep.Stack` whose link carries IP packets, and the program on it."""

    name = "stack"
    exact = True

    def __init__(self, wanted: Wanted):
        self.ip_version = wanted.ip_version
        self.local, self.remote = ADDRESSES[wanted.ip_version]
        try:
            settings = dict(wanted.settings)
            self.stack = lockstep.Stack(
                wanted.profile,
                seed=wanted.seed,
                addresses=[self.local],
                mtu=settings.pop("mtu", 1500),
                config=settings,
            )
        except lockstep.BadInput as error:
            raise Misuse(f"marker stack: {error}") from None
        self.stack.judge()
        self._left = collections.deque()
        self._opened = set()
        self._listener = None
        self._accepted = collections.deque()
        self._told = {}

    def now(self):
        return self.stack.now

    def send(self, packet):
        self.stack.receive(packet)
        self.stack.check_invariants()
        self._pull()

    def receive(self, until):
        self._pull()
        for _ in range(STEPS_MAX):
            if self._left:
                return self._left.popleft() if self._left[0].at <= until else None
            now, deadline = self.stack.now, self.stack.deadline()
            if deadline is None or deadline > until:
                if until > now:
                    self._step(until)
                    continue
                return None
            self._step(max(deadline, now))
        raise Misuse(f"nothing left for {STEPS_MAX} timers: the wait has no end")

    def _step(self, to):
        for at, packet in self.stack.advance_to(to):
            self._left.append(Departure(at, packet))
        self._pull()

    def _pull(self):
        for packet in self.stack.transmit():
            self._left.append(Departure(self.stack.now, packet))
        for event in self.stack.events():
            words = event.kind if event.kind != "closed" else f"closed:{event.cause}"
            if event.kind == "soft_error":
                words = f"soft_error:{event.cause}"
            self._told.setdefault(event.connection, []).append(words)
        self._accepted.extend(self.stack.accepted())
        self.stack.check_invariants()

    def settled_down(self, judged=True):
        self._pull()
        self.unlisten()
        for connection in {*self._opened, *self._accepted}:
            try:
                self.stack.close(connection)
            except lockstep.Refused:
                pass  # it is over
        self._left.clear()
        self._step(self.stack.now + SILENCE)
        seen = self.stack.statistics()
        opened, closed = seen["connections_opened"], seen["connections_closed"]
        words = LAST_WORDS_MAX * max(opened, 1)
        out = [f"{len(self._left)} packets left to a silent peer, expected fewer than {words}"
               ] * (len(self._left) >= words)
        if opened != closed:
            out.append(f"of {opened} connections {closed} have ended, though the program has closed"
                       f" them all and the peer was silent for {SILENCE // 10**9} s")
        for wrong in self.stack.wrongs() if judged else []:
            out.append(f"the referee: {wrong.rule}: {wrong.words}: expected {wrong.expected},"
                       f" found {wrong.found}")
        return out

    # --- the program ---

    def listen(self, port):
        self._listener = self.stack.listen(port)

    def unlisten(self):
        if self._listener is not None:
            self.stack.unlisten(self._listener)
            self._listener = None
            self._pull()

    def connect(self, local_port, remote_port):
        connection = self.stack.connect((self.remote, remote_port), local_port=local_port)
        self._opened.add(connection)
        return connection

    def accept(self):
        self._pull()
        if not self._accepted:
            return None
        connection = self._accepted.popleft()
        self._opened.add(connection)
        return connection

    def write(self, connection, data):
        return self.stack.write(connection, data)

    def read(self, connection, most):
        try:
            return self.stack.read(connection, most)
        except lockstep.Refused:
            return b""  # it is over, and everything was read

    def finish(self, connection):
        self.stack.finish(connection)

    def close(self, connection):
        self.stack.close(connection)

    def abort(self, connection):
        self.stack.abort(connection)

    def urgent(self, connection):
        self.stack.urgent(connection)

    def set(self, connection, name, value):
        self.stack.set(connection, name, value)

    # --- the observer ---

    def state(self, local_port, remote_port):
        return self.stack.state_of((self.local, local_port), (self.remote, remote_port))

    def events(self, connection):
        self._pull()
        return list(self._told.get(connection, []))

    def inspect(self, connection):
        return self.stack.inspect(connection)

    def dropped(self):
        """Dropped packets by reason, with their numbers."""
        return self.stack.dropped()


kinds["stack"] = StackTarget
