# The interface of a target: a TCP that receives and sends packets, and calls of its program.
import abc
import dataclasses
import enum
import importlib
import ipaddress

from .errors import Misuse, Unsupported


class Timing(enum.Enum):
    """The reason for a packet's time. A live target has a tolerance for each reason."""

    AT_ONCE = "at once"
    DELAYED_ACK = "delayed ACK"
    TIMER = "timer"


@dataclasses.dataclass(frozen=True)
class Departure:
    """A packet that the target sent: the IP packet, and when, in nanoseconds."""

    at: int
    packet: bytes


class Target(abc.ABC):
    """One host with a TCP, and the link to it, which carries IP packets without a link header.

    Time is in nanoseconds from an origin of the target's own. A target is used for one test.
    Handles of connections are opaque. An operation that a target does not support raises
    Unsupported: the test is skipped.
    """

    name = "?"
    #: True if time is virtual: what is due at an instant happens exactly then.
    exact = True
    #: True if no real time passes: a wait costs nothing.
    virtual = True
    ip_version = 4
    #: True if the host also has UDP.
    speaks_udp = False
    #: The ports of the host and of the tester with which a test begins.
    port = 80
    peer_port = 5000
    #: True if the host listens by itself, on `port` from listen() on, and does not stop.
    keeps_listening = False
    #: The addresses of the TCP under test and of the tester, as strings.
    local = ""
    remote = ""

    @classmethod
    def accepts(cls, more):
        """Raises Misuse if the target does not exist; `more` follows the colon of --target."""
        if more:
            raise Misuse(f"--target {cls.name}:{more}: {cls.name} takes no colon")

    # --- the wire ---

    @abc.abstractmethod
    def now(self):
        """The time in nanoseconds. Advances only in receive(), or by itself on a live target."""

    @abc.abstractmethod
    def send(self, packet):
        """Delivers an IP packet (bytes), which arrives now."""

    @abc.abstractmethod
    def receive(self, until):
        """The next packet sent, as a Departure; None at the instant `until` if there was none.

        Time advances to that departure or to `until`, never beyond. With `until` in the past it
        returns only packets already sent.
        """

    def window(self, due, timing):
        """(earliest, latest): when a packet due at `due` for the reason `timing` is in time."""
        del timing
        return due, due

    def settled(self):
        """Until when to wait for packets due at once; on a live target a little later than now."""
        return self.now()

    def quiet(self, until):
        """Until when to check a silence up to `until`; on a live target a little earlier."""
        return until

    # --- the program on the host ---

    @abc.abstractmethod
    def listen(self, port):
        """Listens on a port."""

    @abc.abstractmethod
    def unlisten(self):
        """Stops listening; accepted connections continue."""

    @abc.abstractmethod
    def connect(self, local_port, remote_port):
        """Begins an active open to the tester; returns the connection."""

    @abc.abstractmethod
    def accept(self):
        """The next accepted connection, or None if there is none now."""

    @abc.abstractmethod
    def write(self, connection, data):
        """Queues bytes to be sent; returns how many were accepted."""

    @abc.abstractmethod
    def read(self, connection, most):
        """Up to `most` bytes that arrived in order; b'' if there are none now."""

    @abc.abstractmethod
    def finish(self, connection):
        """Closes our half: a FIN follows the queued data. Reading continues."""

    @abc.abstractmethod
    def close(self, connection):
        """Closes our half and stops reading."""

    @abc.abstractmethod
    def abort(self, connection):
        """Ends it at once, with a reset if the state requires one."""

    @abc.abstractmethod
    def urgent(self, connection):
        """Makes all data written so far urgent."""

    @abc.abstractmethod
    def set(self, connection, name, value):
        """Changes a setting of the connection, as Stack.set names them."""

    # --- the observer ---

    def state(self, local_port, remote_port):
        """The state by the RFC's name, as 'SYN-RECEIVED'; None if it cannot be observed."""
        del local_port, remote_port
        return None

    def events(self, connection):
        """The events of the connection, oldest first, as words: 'peer_finished', 'closed:reset'.

        None if they cannot be observed.
        """
        del connection
        return None

    def inspect(self, connection):
        """The variables of a connection by name; Unsupported if the target cannot show them."""
        del connection
        raise Unsupported(f"target {self.name} does not show a connection's variables")

    def settled_down(self, judged=True):
        """Violations, one line each: of all packets sent, and of a final silence.

        The program closes, the peer is silent, and every connection must end by its timers.
        `judged`: all packets of the tester could be parsed by the checker.
        """
        del judged
        return []

    def stop(self):
        """Ends the test."""


#: Name of a kind of target -> function of a Wanted, or the target that it stands for, as text.
#: `--target NAME[:MORE]` selects one.
kinds = {}


def register(found):
    """Adds what the hook pytest_lockstep_targets returned; returns the names. Misuse if it is not
    a dictionary of names to targets, or if a name is taken.
    """
    hook = "pytest_lockstep_targets"
    if not isinstance(found, dict):
        raise Misuse(f"{hook} returned {type(found).__name__}, expected a dictionary of names to"
                     " targets")
    for name, target in found.items():
        if not isinstance(name, str) or not name or ":" in name or "/" in name:
            raise Misuse(f"{hook}: {name!r} is no name: expected text without a colon or a slash")
        if name in kinds:
            raise Misuse(f"{hook}: there is already a target {name}: choose another name")
        if not isinstance(target, str) and not callable(target):
            raise Misuse(f"{hook}: {name} is {target!r}, expected a class derived from Target, or"
                         " text such as 'device:./my_tcp.so'")
    kinds.update(found)
    return list(found)


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The target that a test asks for."""

    ip_version: int
    seed: int
    profile: str
    #: Fields of Config that the test sets, by name; a live target refuses those that it cannot set.
    settings: dict
    #: The part after the colon of --target.
    more: str = ""


def known(name):
    """(kind, part after the colon) of `--target`; Misuse if there is no such target."""
    kind, more = looked_up(name)
    names = [name]
    while isinstance(kind, str):
        if kind in names:
            raise Misuse(f"--target {name}: {' stands for '.join([*names, kind])}: let"
                         f" {names[-1]} stand for a target, as 'device:./my_tcp.so'")
        names.append(kind)
        kind, more = looked_up(kind)
    getattr(kind, "accepts", lambda more: None)(more)
    return kind, more


def looked_up(name):
    """As known(), but the kind may be the text for which the name stands."""
    if name not in kinds and on_a_wire(name):
        return wire_kind(), name
    kind, colon, more = name.partition(":")
    if kind not in kinds:
        # A device that is installed may be named without its kind.
        if not colon and kinds["device"].installed(name):
            return kinds["device"], name
        known_ones = ", ".join(sorted(kinds))
        raise Misuse(f"--target {name}: no such target; there is {known_ones}, each device of"
                     " `lockstep devices`, and INTERFACE:ADDRESS, as eth0:10.0.0.5")
    if colon and not more:
        raise Misuse(f"--target {name}: nothing follows the colon")
    if colon and isinstance(kinds[kind], str):
        raise Misuse(f"--target {name}: {kind} stands for {kinds[kind]}, and takes no colon")
    return kinds[kind], more


def on_a_wire(name):
    """Whether this is INTERFACE:ADDRESS."""
    _, colon, rest = name.partition(":")
    try:
        return bool(colon) and bool(ipaddress.ip_address(rest.removeprefix("[").removesuffix("]")))
    except ValueError:
        return False


def wire_kind():
    """The target of a device on a wire; it needs scapy, so it is imported only now."""
    try:
        return importlib.import_module(".wire_target", __package__).WireTarget
    except ModuleNotFoundError as why:
        raise Misuse(f"--target INTERFACE:ADDRESS: {why.name} is missing: pip install {why.name}"
                     ) from None


def make(name, wanted):
    """Makes the target that `--target` names; Misuse if there is none."""
    kind, more = known(name)
    return kind(dataclasses.replace(wanted, more=more))
