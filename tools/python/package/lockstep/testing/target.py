# What a test talks to: a TCP that is handed packets, asked for its own, and called by a program.
import abc
import dataclasses
import enum

from .errors import Misuse, Unsupported


class Timing(enum.Enum):
    """Why a packet comes when it comes. A live target has a tolerance for each class."""

    AT_ONCE = "at once"
    DELAYED_ACK = "delayed ACK"
    TIMER = "timer"


@dataclasses.dataclass(frozen=True)
class Departure:
    """A packet that left the target: the IP packet, and when, in nanoseconds."""

    at: int
    packet: bytes


class Target(abc.ABC):
    """One host with a TCP, and the link to it, which carries IP packets without a link header.

    Time is in nanoseconds from an origin of the target's own. A target lives for one test. Handles
    of connections are opaque. What a target cannot do raises Unsupported: the test is skipped.
    """

    name = "?"
    #: True where time is virtual: what is due at an instant happens then and no other.
    exact = True
    ip_version = 4
    #: True where UDP is spoken beside TCP.
    speaks_udp = False
    #: The address of the TCP under test and that of the tester, as text.
    local = ""
    remote = ""

    @classmethod
    def accepts(cls, more):
        """Misuse if the target cannot be: `more` is what stands behind the colon of --target."""
        if more:
            raise Misuse(f"--target {cls.name}:{more}: {cls.name} takes nothing behind a colon")

    # --- the wire ---

    @abc.abstractmethod
    def now(self):
        """The instant, in nanoseconds. Moves in receive() alone, or by itself on a live target."""

    @abc.abstractmethod
    def send(self, packet):
        """Hands over an IP packet (bytes), which arrives now."""

    @abc.abstractmethod
    def receive(self, until):
        """The next packet that left, as a Departure; None at the instant `until` if there was none.

        Time goes on to that departure or to `until`, never beyond. With `until` in the past only
        what has left already is returned.
        """

    def window(self, due, timing):
        """(earliest, latest) at which a packet due at `due` for the reason `timing` is in time."""
        del timing
        return due, due

    def settled(self):
        """Until when the line is listened to for what leaves at once; a live target stays a bit."""
        return self.now()

    def quiet(self, until):
        """Until when a silence up to `until` is listened to; a live target stops a bit before."""
        return until

    # --- the program on the host ---

    @abc.abstractmethod
    def listen(self, port):
        """Begins to listen on a port."""

    @abc.abstractmethod
    def unlisten(self):
        """Ends listening; accepted connections go on."""

    @abc.abstractmethod
    def connect(self, local_port, remote_port):
        """Begins an active open to the tester; returns the connection."""

    @abc.abstractmethod
    def accept(self):
        """The next accepted connection, or None if there is none now."""

    @abc.abstractmethod
    def write(self, connection, data):
        """Queues bytes to be sent; returns how many were taken."""

    @abc.abstractmethod
    def read(self, connection, most):
        """Up to `most` bytes that have arrived in order; b'' if there are none now."""

    @abc.abstractmethod
    def finish(self, connection):
        """Closes our half: a FIN follows what is queued. Reading goes on (shutdown for writing)."""

    @abc.abstractmethod
    def close(self, connection):
        """Closes our half, and reads no more."""

    @abc.abstractmethod
    def abort(self, connection):
        """Ends it at once, with a reset where the state asks for one."""

    @abc.abstractmethod
    def urgent(self, connection):
        """What was written last is urgent, to its end."""

    @abc.abstractmethod
    def set(self, connection, name, value):
        """Changes a setting of the connection, as Stack.set names them."""

    # --- the observer ---

    def state(self, local_port, remote_port):
        """The RFC's name of the state, as 'SYN-RECEIVED'; None where it cannot be known."""
        del local_port, remote_port
        return None

    def events(self, connection):
        """What the program was told of it, oldest first, as words: 'peer_finished', 'closed:reset'.

        None where it cannot be known.
        """
        del connection
        return None

    def inspect(self, connection):
        """The variables of a connection by name; a target that cannot show them is Unsupported."""
        del connection
        raise Unsupported(f"target {self.name} does not show a connection's variables")

    def settled_down(self, judged=True):
        """What no TCP may do, as lines: judged of all that has left, and of a silence at the end.

        The program goes, the peer is silent; what is open has to end by its timers. `judged`: the
        tester has said nothing that a referee could not read.
        """
        del judged
        return []

    def stop(self):
        """The test is over."""


#: Name of a kind of target -> function of a Wanted. `--target NAME[:MORE]` chooses one.
kinds = {}


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a test wants of its target."""

    ip_version: int
    seed: int
    profile: str
    #: Fields of Config that the test sets, by name; a live target refuses what it cannot set.
    settings: dict
    #: What stands behind the colon of --target.
    more: str = ""


def known(name):
    """(kind, what stands behind the colon) of `--target`; Misuse if there is no such target."""
    kind, colon, more = name.partition(":")
    if kind not in kinds:
        raise Misuse(f"--target {name}: no such target; there is {', '.join(sorted(kinds))}")
    if colon and not more:
        raise Misuse(f"--target {name}: nothing stands behind the colon")
    getattr(kinds[kind], "accepts", lambda more: None)(more)
    return kinds[kind], more


def make(name, wanted):
    """The target that `--target` names; Misuse if there is none."""
    kind, more = known(name)
    return kind(dataclasses.replace(wanted, more=more))
