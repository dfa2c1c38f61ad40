"""Worlds: hosts, links, faults and applications in one virtual time."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Optional, Union

from lockstep import _core
from lockstep.calls import Calls, Connection
from lockstep.controllers import check
from lockstep.errors import BadInput
from lockstep.units import (NANOSECONDS_MAX, Address, Duration, as_address, as_bytes,
                            as_number, as_text, nanoseconds)

#: A value of a world's file: text with a unit, a number or a boolean.
Value = Union[str, int, bool]


class Frame(NamedTuple):
    """A frame at one point of its path through a world."""

    at: int  #: nanoseconds of the world's clock
    node: str  #: sent, received: by this node; otherwise: the node it was going to
    what: str  #: sent, received, or the reason for its drop: lost, queue_full, masked ...
    packet: bytes  #: from its link header on
    link: str = "ethernet"  #: or ip: there is no link header


class AppConnection(NamedTuple):
    """One end of a connection of a world, as :meth:`Sim.connections` lists them."""

    number: int  #: of the connection, the same at both ends and in :meth:`Sim.tables`
    side: str  #: opener or acceptor
    app: str  #: its name in the world; "calls" if Python opened or accepted it
    host: str  #: the name of the host
    connection: Optional[Connection]  #: for calls of the host; None: it has closed, or a device's


class Arrival(NamedTuple):
    """A frame that arrived at a tap."""

    at: int  #: nanoseconds of the world's clock
    packet: bytes  #: from its Ethernet header on


class Host(Calls):
    """A host of a world: a complete stack, with Python as one of its applications.

    Made by :meth:`Sim.host`. Its calls are those of :class:`Stack`; they take effect when time
    passes in the world (:meth:`Sim.advance`). The first call on any host starts the world.
    """

    __slots__ = ("_sim", "_name", "_made")

    def __init__(self, sim: "Sim", name: str) -> None:
        self._sim = sim
        self._name = name
        self._made: Optional[_core.Host] = None

    @property
    def name(self) -> str:
        """Its name in the world."""
        return self._name

    @property
    def now(self) -> int:
        """The time of its own clock in nanoseconds; ``clock_skew_ppb`` changes its rate."""
        return self._core.now()

    @property
    def _core(self) -> _core.Host:  # type: ignore[override]
        if self._made is None:
            self._made = _core.Host(self._sim.start(), self._name)
        return self._made

    def __repr__(self) -> str:
        return f"<lockstep.Host {self._name}>"


class Tap:
    """A node on an Ethernet that sends frames made by Python. Made by :meth:`Sim.tap`."""

    __slots__ = ("_sim", "_name")

    def __init__(self, sim: "Sim", name: str) -> None:
        self._sim = sim
        self._name = name

    @property
    def name(self) -> str:
        """Its name in the world."""
        return self._name

    def send(self, frame: object) -> None:
        """Sends a frame now: bytes or a packet of scapy, from its Ethernet header on.

        BadInput: it is empty, or longer than the largest MTU of a host plus 14.
        """
        core = self._sim.start()
        core.send(core.tap(self._name), as_bytes(frame, "a frame"))

    def arrived(self) -> list[Arrival]:
        """The frames that arrived since the last call; at most the newest 1,000,000."""
        core = self._sim.start()
        return [Arrival(*each) for each in core.arrived(core.tap(self._name))]

    def __repr__(self) -> str:
        return f"<lockstep.Tap {self._name}>"


class Link:
    """A link of a world, to which faults can be added. Made by :meth:`Sim.link`."""

    __slots__ = ("_sim", "_name")

    def __init__(self, sim: "Sim", name: str) -> None:
        self._sim = sim
        self._name = name

    @property
    def name(self) -> str:
        """Its name in the world."""
        return self._name

    def fault(self, kind: str, *, direction: str = "both", **keys: Value) -> None:
        """Adds a fault to the link; sim/README.md lists the kinds with their keys.

        loss, burst_loss, mask, duplicate, reorder, corrupt, substitute, delay, partition. Keys of
        all: ``from_`` and ``until`` (when it is active), ``every`` and ``lasting``. Probabilities
        are text, like ``"0.01"`` or ``"1%"``. `direction`: both, forward or back.
        """
        self._sim.add_fault(kind, link=self._name, direction=direction, **keys)

    def loss(self, probability: str, *, direction: str = "both") -> None:
        """Loses each frame independently with this probability, like ``"1%"``."""
        self.fault("loss", direction=direction, probability=probability)

    def mask(self, bits: str, *, direction: str = "both", repeat: bool = False) -> None:
        """Loses exactly the frames at a 1: ``"00100"`` loses the third."""
        self.fault("mask", direction=direction, mask=bits, repeat=repeat)

    def reorder(self, probability: str, hold: str = "10ms", *, direction: str = "both") -> None:
        """Delays a frame by `hold` with this probability."""
        self.fault("reorder", direction=direction, probability=probability, hold=hold)

    def duplicate(self, probability: str, *, direction: str = "both") -> None:
        """Duplicates a frame with this probability."""
        self.fault("duplicate", direction=direction, probability=probability)

    def corrupt(self, probability: str, *, direction: str = "both") -> None:
        """Flips one bit of a frame with this probability."""
        self.fault("corrupt", direction=direction, probability=probability)

    def cut(self, from_: Duration, until: Duration) -> None:
        """Loses all frames between two times of the world."""
        self.fault("partition", from_=_time(from_), until=_time(until))

    def __repr__(self) -> str:
        return f"<lockstep.Link {self._name}>"


class SimSnapshot:
    """The state of a running world. Made by :meth:`Sim.snapshot`, for its restore() only."""

    __slots__ = ("_of", "_all")

    def __init__(self, of: _core.Simulation, all_of_it: _core.SimulationSnapshot) -> None:
        self._of = of
        self._all = all_of_it


class Sim:
    """A world: hosts with complete stacks, links with faults, and one virtual time.

    It is built by calls, or read from a file (:meth:`from_file`), and starts when time passes, a
    host is called or :meth:`start` is called. A seed determines the run: the same frames, byte for
    byte, as ``lockstep sim run`` with the same world.

    Args:
        seed: seeds the faults and models. 0 to 2**64-1.
        name: of the world.
        limit: the latest end of run().
        record: store every frame, for :meth:`frames` (the newest 1,000,000).
        trace: write a capture with comments, for :meth:`pcapng`.
        series: record time series, for :meth:`series` and :meth:`tables`.

    An error in a world is one BadInput, raised when it starts; its line number is that of
    :meth:`toml`.
    """

    __slots__ = ("_seed", "_record", "_trace", "_series", "_tables", "_file", "_settings", "_taps",
                 "_core", "_hosts", "_faults", "_links")

    def __init__(self, *, seed: int = 1, name: str = "world", limit: Duration = "600s",
                 record: bool = False, trace: bool = False, series: bool = False) -> None:
        self._seed = as_number(seed, "seed", 0, NANOSECONDS_MAX)
        self._record = bool(record)
        self._trace = bool(trace)
        self._series = bool(series)
        self._tables = _lines({"name": as_text(name, "name"), "limit": _time(limit)})
        self._file: Optional[str] = None
        self._settings: list[str] = []
        self._taps: list[str] = []
        self._core: Optional[_core.Simulation] = None
        self._hosts: dict[str, Host] = {}
        self._faults = 0
        self._links = 0

    @classmethod
    def from_file(cls, path: Union[str, "os.PathLike[str]"], *, seed: int = 1,
                  settings: Iterable[str] = (), record: bool = False,
                  trace: bool = False, series: bool = False) -> "Sim":
        """A world from a TOML file, as sim/README.md describes it; it has started.

        `settings`: strings like ``"a.sack=false"`` or ``"*.nagle=false"``, which set fields of
        hosts. BadInput: file and line, what was found, what was expected.
        """
        made = cls(seed=seed, record=record, trace=trace, series=series)
        made._file = os.fspath(path)
        if isinstance(settings, str):
            raise BadInput(f"settings is {settings!r}, expected a list of strings")
        made._settings = [as_text(each, "a setting") for each in settings]
        made.start()
        return made

    # --- to build ---

    def host(self, name: str, address: Address, *, profile: str = "default",
             link: str = "ethernet", config: Optional[Mapping[str, Value]] = None,
             **keys: Value) -> Host:
        """Adds a host with an address and its prefix, like ``"10.0.0.1/24"``.

        `config`: fields as :func:`lockstep.config_fields` lists them. Further keys: gateway, mac,
        vlan, clock_origin, clock_skew_ppb, poll, transmit_ring, receive_ring.
        """
        self._table("host", {"name": as_text(name, "name"), "profile": profile, "link": link,
                             "address": as_address(address, "address"), **keys})
        if config:
            self._tables += "[host.config]\n" + _lines(_config(config))
        self._hosts[name] = Host(self, name)
        return self._hosts[name]

    def switch(self, name: str, **keys: Value) -> str:
        """Adds a learning switch. Key: addresses_max. Returns its name, for link()."""
        self._table("switch", {"name": as_text(name, "name"), **keys})
        return name

    def tap(self, name: str, address: Address = "192.0.2.66") -> Tap:
        """Adds a node on an Ethernet that sends your frames. It replies to nothing by itself."""
        self._table("random_peer", {"name": as_text(name, "name"), "acts": 0,
                                  "address": as_address(address, "address")})
        self._taps.append(name)
        return Tap(self, name)

    def link(self, a: Union[Host, Tap, str], b: Union[Host, Tap, str], *, name: str = "",
             back: Optional[Mapping[str, Value]] = None, **keys: Value) -> Link:
        """Joins two nodes.

        Keys: rate ("10Mbit/s"), delay ("10ms"), queue ("64KiB"), queue_packets, mark_packets, mtu,
        overhead, answers_too_big, discipline ("codel") with its keys, shape, trace.
        `back`: the keys that differ in the direction from `b` to `a`.
        """
        self._links += 1
        name = name or f"link{self._links}"
        self._table("link", {"name": as_text(name, "name"), "from": _name_of(a), "to": _name_of(b),
                             **keys})
        if back:
            self._tables += "[link.back]\n" + _lines(back)
        return Link(self, name)

    def app(self, model: str, a: Union[Host, str], b: Union[Host, str], *, name: str = "",
            **keys: Value) -> None:
        """Adds one of the simulator's applications, with a client on `a` and its server on `b`.

        Models: bulk, echo, chatter, half_close, slow_reader, mutual, http; sim/README.md lists the
        keys, like bytes ("1MiB"), flows, start ("1s"). What a seed draws is text, too:
        start="uniform 0s 1s", bytes="exponential 64KiB", arrivals="poisson 20ms".
        """
        self._table("app", {"name": name or f"app{self._tables.count('[[app]]') + 1}",
                            "model": as_text(model, "model"), "from": _name_of(a),
                            "to": _name_of(b), **keys})

    def add_fault(self, kind: str, **keys: Value) -> None:
        """Adds a fault: of a host (ring_full and stall, with ``host="a"``), or of a link."""
        self._faults += 1
        known = {key.rstrip("_"): value for key, value in keys.items()}
        self._table("fault", {"name": f"fault{self._faults}", "kind": as_text(kind, "kind"),
                              **known})

    def toml(self) -> str:
        """The world as a file for ``lockstep sim run``; "" if it was read from a file."""
        return "" if self._file else self._tables

    def start(self) -> _core.Simulation:
        """Starts the world, if it has not started; then nothing can be added. BadInput: it is
        invalid.
        """
        if self._core is None:
            self._core = _core.Simulation(self._tables, self._file or "world",
                                          self._file is not None, self._settings, self._seed,
                                          self._taps, self._record, self._trace,
                                          self._series)
            for name in self._core.hosts():
                self._hosts.setdefault(name, Host(self, name))
        return self._core

    # --- to run ---

    @property
    def hosts(self) -> dict[str, Host]:
        """The hosts by name."""
        return dict(self._hosts)

    @property
    def now(self) -> int:
        """The world's time in nanoseconds; it begins at 0."""
        return self.start().now()

    def step(self) -> bool:
        """Executes the next event: a frame arrives, or a host turns. False: there is none."""
        more = self.start().step()
        check(self.start())
        return more

    def next_at(self) -> Optional[int]:
        """The time of the next step, in nanoseconds; None: there is none."""
        return self.start().next_at()

    def advance(self, duration: Duration) -> None:
        """Advances the time and executes every event due meanwhile."""
        core = self.start()
        core.advance_to(min(core.now() + nanoseconds(duration), NANOSECONDS_MAX - 1))
        check(core)

    def run(self) -> str:
        """Runs until the models are done: ``completed``; or ``limit_reached`` or ``deadlocked``.

        Only the applications of :meth:`app` count; calls on hosts do not keep it running.
        """
        ending = self.start().run()
        check(self.start())
        return ending

    # --- to look ---

    def frames(self) -> list[Frame]:
        """The frames seen since the last call. BadInput without `record`."""
        return [Frame(*each) for each in self.start().frames()]

    def pcapng(self) -> bytes:
        """A capture of all nodes so far, with comments for Wireshark. BadInput without `trace`."""
        return self.start().pcapng()

    def save_pcapng(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes pcapng() into a file. OSError: it cannot be written."""
        capture = self.pcapng()
        with open(path, "wb") as file:
            file.write(capture)

    def report(self) -> dict[str, Any]:
        """What ``lockstep sim run --json`` writes, so far.

        Keys: ``ending`` ("running" before the end of :meth:`run`), ``virtual_ns``,
        ``goodput_bits_per_second`` of all connections together, ``jain_index`` of their goodputs (0
        without connections), ``connections`` with their two ends, ``lanes`` (the directions of the
        links) and others.
        """
        found: dict[str, Any] = json.loads(self.start().report())
        return found

    def connections(self) -> list[AppConnection]:
        """Both ends of every connection so far, of apps and of Python's calls, in order.

        ``sim.hosts[end.host].inspect(end.connection)`` has the variables of an end that is open.
        """
        return [AppConnection(number, side, app, host, None if id is None else Connection(*id))
                for number, side, app, host, id in self.start().connections()]

    def tables(self) -> dict[str, Any]:
        """The tables that ``lockstep sim run --out`` writes, so far, as DataFrames of pandas.

        Keys: connections, senders, rtt_samples, readers, queues; sim/README.md describes the
        columns, whose names end in their units. What is empty there is NaN here.

        Raises:
            BadInput: the world was made without `series`.
            ImportError: pandas is not installed.
        """
        pandas = _pandas()
        return {name.removesuffix(".csv"): pandas.read_csv(io.StringIO(text))
                for name, text in self.start().tables().items()}

    def series(self) -> Any:
        """All time series so far as one DataFrame of pandas in tidy form: a row for each value.

        Columns: ``time_ns``; ``connection``, ``app`` and ``side`` of a value of a connection;
        ``link`` and ``way`` of a value of a queue; ``variable``, whose name ends in its unit
        (cwnd_bytes, rtt_ns, packets ...); ``value``, a float. Rows are in the order of time.
        ``frame[frame.variable == "cwnd_bytes"]`` selects one variable. A value holds until the
        next one, except rtt_ns, which are single samples. Errors are those of :meth:`tables`.
        """
        pandas = _pandas()
        tables = self.tables()
        apps = tables.pop("connections").drop_duplicates("connection").set_index("connection").app
        keys = ["time_ns", "connection", "app", "side", "link", "way"]
        parts = []
        for table in tables.values():
            whole = table.reindex(columns=[*keys, *table.columns.difference(keys, sort=False)])
            whole["connection"] = whole["connection"].astype("Int64")
            whole["app"] = whole["connection"].map(apps)
            for key in keys[2:]:
                whole[key] = whole[key].astype("object")
            long = whole.melt(id_vars=keys, var_name="variable", value_name="value")
            long["value"] = long["value"].astype("float64")
            parts.append(long.dropna(subset=["value"]))
        return pandas.concat(parts).sort_values("time_ns", kind="stable", ignore_index=True)

    def fingerprint(self) -> int:
        """64 bits over every frame so far, every stack and the time."""
        return self.start().fingerprint()

    def snapshot(self) -> SimSnapshot:
        """The state of the running world, with its time series, to go back to. Recorded frames and
        the capture are not part of it.
        """
        core = self.start()
        return SimSnapshot(core, core.snapshot())

    def restore(self, snapshot: SimSnapshot) -> None:
        """Goes back to a snapshot of this world. BadInput: it is another world's."""
        if not isinstance(snapshot, SimSnapshot) or snapshot._of is not self.start():
            raise BadInput(f"{snapshot!r} was given, expected a snapshot of this Sim")
        self.start().restore(snapshot._all)

    def _table(self, kind: str, keys: Mapping[str, Value]) -> None:
        if self._core is not None:
            raise BadInput(f"a {kind} was added after the start, expected it before: the world "
                           "does not change while it runs")
        self._tables += f"[[{kind}]]\n" + _lines(keys)

    def __repr__(self) -> str:
        return f"<lockstep.Sim seed={self._seed} {' '.join(self._hosts)}>"


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("time series need pandas, which is not installed: "
                          "pip install lockstep[pandas]") from missing
    return pandas


def _time(duration: Duration) -> str:
    return duration if isinstance(duration, str) else f"{nanoseconds(duration)}ns"


def _name_of(node: object) -> str:
    return node.name if isinstance(node, (Host, Tap)) else as_text(node, "a node")


def _config(config: Mapping[str, Value]) -> dict[str, Value]:
    """Adds the units that a world's file requires to numbers."""
    if not isinstance(config, Mapping):
        raise BadInput(f"config is {config!r}, expected a dict of fields")
    units = {name: unit for name, unit, *_ in _core.fields("default")}
    suffix = {"duration": "ns", "bytes": "B"}
    out: dict[str, Value] = {}
    for name, value in config.items():
        unit = units.get(name)
        if unit == "boolean" and value in (0, 1):
            out[name] = bool(value)
        elif unit in suffix and not isinstance(value, (str, bool)):
            out[name] = f"{as_number(value, name, 0, NANOSECONDS_MAX)}{suffix[unit]}"
        else:
            out[name] = value
    return out


def _lines(keys: Mapping[str, Value]) -> str:
    """Lines of TOML; strings as JSON writes them."""
    if not isinstance(keys, Mapping):
        raise BadInput(f"{keys!r} was given, expected a dict of keys")
    out = ""
    for key, value in keys.items():
        if not isinstance(value, (str, int)):
            raise BadInput(f"{key} is {value!r}, expected text, a number or a boolean")
        if not key.replace("_", "").isalnum() or not key.isascii():
            raise BadInput(f"{key!r} is not a key")
        shown = json.dumps(value) if isinstance(value, str) else str(value).lower()
        out += f"{key} = {shown}\n"
    return out
