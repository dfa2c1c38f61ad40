"""Long-lived slow clients: what a server holds for each, and what one that reads gets."""

import tomllib
from pathlib import Path

from tools.verbs.paper.result import Gate, Result

NAME = "window-size"
TITLE = "Long-lived slow clients: the window, memory of a server, and goodput"
SOURCE = ("Study of ejabberd under Tsung (50 new clients per second: 20 % inactive, 60 % idle, "
          "20 % active; windows of 8,192 and 6,291,456 B)")
SECONDS = 20

PORT = 80
WINDOWS = tuple(2**power for power in range(13, 23)) + (6_291_456,)
STUDIED = (8_192, 6_291_456)  # the study's; it publishes no number for them
QUICK = (8_192, 65_536, 524_288, 6_291_456)
TICK = "100ms"      # clients arrive, read and are written to at its multiples
PER_SECOND = 10
NEW = 5             # clients in a tick
READS = {"inactive": 0, "idle": 64, "active": 1024}  # octets per second
KINDS = ("inactive", "idle", "idle", "idle", "active")
FIRST = 4_096       # octets that a client needs within a second to count as served
CHUNK = bytes(65_536)


def buffers(side: str, host: str, window: int) -> list:
    return [f"{host}.{side}_buffer_bytes={window}B", f"{host}.{side}_buffer_max_bytes={window}B"]


def fill(server, connections: list) -> None:
    """Writes until each connection, or the pool, is full."""
    for connection in connections:
        while server.writable(connection) and server.write(connection, CHUNK):
            pass


def attend(sim, accepted: list, clients: list, got: list, tick: int) -> None:
    """Writes to all; some clients read what they read in a second."""
    fill(sim.hosts["server"], accepted)
    for i, client in enumerate(clients):
        due = READS[KINDS[i % len(KINDS)]]
        if due and (tick + i) % PER_SECOND == 0:
            got[i] += len(sim.hosts["clients"].read(client, due))


def population(sim, seconds: int) -> dict:
    """Clients arrive, stay, and read slowly: how many are served, and what the server holds."""
    server, host = sim.hosts["server"], sim.hosts["clients"]
    clients, accepted, got, served = [], [], [], 0
    for tick in range(seconds * PER_SECOND):
        clients += [host.connect(("10.0.0.1", PORT)) for _ in range(NEW)]
        got += [0] * NEW
        sim.advance(TICK)
        accepted += server.accepted()
        attend(sim, accepted, clients, got, tick)
        second = range(max(0, NEW * (tick - PER_SECOND)), max(0, NEW * (tick + 1 - PER_SECOND)))
        served += sum(got[i] + host.unread(clients[i]) >= FIRST for i in second)
    held = sum(server.inspect(each)["queued"] for each in accepted)
    return {"clients": len(clients) - NEW * PER_SECOND, "served": served,
            "held": held, "each": round(held / len(accepted))}


def reader(sim) -> float:
    """Mbit/s of one that reads all, in the third and fourth second."""
    server, host = sim.hosts["server"], sim.hosts["reader"]
    mine, theirs, octets = host.connect(("10.0.0.1", PORT)), [], 0
    for step in range(4000):
        sim.advance("1ms")
        theirs += server.accepted()
        fill(server, theirs)
        octets += len(host.read(mine)) * (step >= 2000)
    return round(octets * 8 / 2e6, 3)


def run(lockstep, world: str, window: int, seconds: int) -> dict:
    sim = lockstep.Sim.from_file(world, settings=[
        *buffers("send", "server", window), *buffers("receive", "reader", window)])
    sim.hosts["server"].listen(PORT)
    found = population(sim, seconds) if seconds else {}
    return {**found, "mbit_s": reader(sim)}


def number(words: str, unit: str) -> int:
    """A quantity of the world's file, in the unit that it has there."""
    assert words.endswith(unit), words
    return int(words.removesuffix(unit))


class World:
    """What is expected of the server and the path of the world's file."""

    def __init__(self, file: str) -> None:
        world = tomllib.loads(Path(file).read_text(encoding="utf-8"))
        config, path = world["host"][0]["config"], world["link"][0]
        self.most = config["connections_max"]
        self.block = number(config["block_bytes"], "KiB") * 1024
        self.buffers = config["blocks_max"] * self.block
        self.rate = number(path["rate"], "Mbit/s")
        self.trip = 2 * number(path["delay"], "ms") / 1000

    def limit(self, window: int) -> float:
        """Mbit/s: a window in each round trip, at most the link's rate."""
        return min(self.rate, window * 8 / self.trip / 1e6)

    def store(self, clients: int) -> int:
        """Octets of data to send that the server may hold for so many clients: a quarter of its
        buffers is kept for reading, and a block for each connection that may still come."""
        return self.buffers * 3 // 4 - (self.most - clients) * self.block


def measure(place) -> Result:
    lockstep, file = place.module(), place.world("window_size.toml")
    world, result = World(file), Result()
    windows, seconds = (QUICK, 10) if place.quick else (WINDOWS, 40)
    for i, window in enumerate(windows):
        place.progress(i / len(windows), f"{window:,} octets")
        result.data.setdefault("alone", {})[window] = run(lockstep, file, window, 0)
        result.data.setdefault("among", {})[window] = run(lockstep, file, window, seconds)
    alone, among = result.data["alone"], result.data["among"]
    small, large = windows[0], windows[-1]
    clients = seconds * PER_SECOND * NEW
    for window in (small, large):
        rows = among[window]
        result.gates.append(Gate(
            f"{window:,} B: clients that get {FIRST:,} B in a second", "all",
            f"{rows['served']} of {rows['clients']}", "equal", rows["served"] == rows["clients"]))
    result.gates += [
        Gate(f"{small:,} B: held for each client", "a window", f"{among[small]['each']:,} B",
             "equal", among[small]["each"] == small),
        Gate(f"{large:,} B: held for all clients", f"the memory, {world.store(clients):,} B",
             f"{among[large]['held']:,} B", "95 to 100 %",
             0.95 <= among[large]["held"] / world.store(clients) <= 1),
    ]
    for window in windows:
        rate, limit = alone[window]["mbit_s"], world.limit(window)
        result.data.setdefault("limit", {})[window] = limit
        result.gates.append(Gate(
            f"{window:,} B: a reader alone", f"{limit:.3f} Mbit/s", f"{rate:.3f} Mbit/s",
            "10 %", abs(rate / limit - 1) <= 0.1))
    for window, holds, words in ((small, lambda share: share >= 0.95, ">= 95 %"),
                                 (large, lambda share: share <= 0.05, "<= 5 %")):
        share = among[window]["mbit_s"] / alone[window]["mbit_s"]
        result.gates.append(Gate(
            f"{window:,} B: a reader among slow clients, of alone",
            "memory for all" if window == small else "memory used up", f"{share:.1%}", words,
            holds(share)))
    result.data["store"] = world.store(clients)
    result.notes += [
        "Of the study only the load and the two windows are known, no result: what is expected is "
        "that a connection gets a window in each round trip (RFC 7323 section 1.1), and that a "
        "client that does not read costs the server a window of memory.",
        f"The server has {world.buffers // 2**20} MiB of buffers; a quarter is kept for reading, "
        f"and a first block of {world.block // 1024} KiB for each connection that may still come. "
        f"Clients arrive for {seconds} s and read {READS['idle']} or {READS['active']} B/s, or "
        "nothing. Their own buffers are 16 KiB at each window, so that the server's memory is the "
        "limit and not the link, over which larger ones would still be filling.",
        "With these blocks no client is refused when the memory is used up. But one that reads "
        "then gets a block in each round trip.",
    ]
    return result


def draw(result: Result):
    from tools.verbs.plot import style
    figure, (left, right) = style.pyplot.subplots(1, 2, figsize=(12, 5), constrained_layout=True)
    alone, among = result.data["alone"], result.data["among"]
    windows = list(alone)
    clients = among[windows[0]]["clients"] + NEW * PER_SECOND  # the last second is not judged
    left.plot(windows, [result.data["limit"][window] for window in windows], color="grey",
              linestyle="-.", label="expected: a window a round trip, at most the link")
    left.plot(windows, [alone[window]["mbit_s"] for window in windows], "o", markersize=9,
              markerfacecolor="none", color=style.COLOURS[0], label="a reader alone")
    left.plot(windows, [among[window]["mbit_s"] for window in windows], "s--",
              color=style.COLOURS[1], label=f"a reader among {clients:,} slow clients")
    left.set_yscale("log")
    left.set_ylabel("goodput (Mbit/s)")
    left.set_title("What a client that reads gets")
    left.set_ylim(0.05, 1000)
    left.legend(loc="upper left", frameon=False)
    right.plot(windows, [window / 1024 for window in windows], color="grey", linestyle="-.",
               label="expected: a window")
    right.plot(windows, [among[window]["each"] / 1024 for window in windows], "s--",
               color=style.COLOURS[1], label=f"held for each of {clients:,} slow clients")
    right.axhline(result.data["store"] / clients / 1024, color="black", linestyle=":",
                  label=f"the server's memory, divided by {clients:,}")
    right.set_yscale("log")
    right.set_ylabel("held by the server (KiB a client)")
    right.set_title("What a slow client costs")
    right.legend(loc="upper left", frameon=False)
    for panel in (left, right):
        panel.set_xscale("log", base=2)
        panel.set_xticks([2**power for power in range(13, 24, 2)],
                         [f"{2**power // 1024:,}" for power in range(13, 24, 2)])
        panel.set_xlabel("window (KiB)")
        for window in STUDIED:
            panel.axvline(window, color=style.COLOURS[6], linewidth=1, alpha=0.4)
            panel.text(window, panel.get_ylim()[0] * 1.15, f" the study: {window:,} B ",
                       ha="left" if window == STUDIED[0] else "right", fontsize=9,
                       color="dimgrey")
    return figure
