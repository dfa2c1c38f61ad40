"""Incast: a client waits for all of the servers over which a block is striped."""

from tools.verbs.paper.result import Gate, Result

NAME = "incast"
TITLE = "Goodput of striped reads: the minimum of the retransmission timeout"
SOURCE = ("Phanishayee and others, FAST 2008; Vasudevan and others, SIGCOMM 2009 (1 Gbit/s, blocks "
          "of 1 MB, 64 KB a port)")
SECONDS = 60

BLOCK = 1_000_000  # octets
PORT = 80
LOOK_NS = 20_000   # how often the application looks for data
SERVERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 47)
QUICK = (1, 2, 3, 4, 8, 16, 47)
ARMS = {
    "200 ms": ["*.rto_min=200ms"],
    "200 us": ["*.rto_min=200us"],
    "200 ms, RACK and TLP": ["*.rto_min=200ms", "*.rack=true", "*.tail_probe=true"],
    "200 ms, window of 1 MiB": ["*.rto_min=200ms", "h1.receive_buffer_bytes=1MiB",
                                "h1.receive_buffer_max_bytes=1MiB"],
}


def goodput(lockstep, world: str, servers: int, settings: list, blocks: int) -> dict:
    """Reads blocks, one after the other, each from all servers at once."""
    sim = lockstep.Sim.from_file(world, settings=settings)
    client, hosts = sim.hosts["h1"], [sim.hosts[f"h{i + 2}"] for i in range(servers)]
    for host in hosts:
        host.listen(PORT)
    mine = [client.connect((f"10.6.{i + 2}.1", PORT)) for i in range(servers)]
    sim.advance("100ms")
    theirs = [host.accepted()[0] for host in hosts]
    part = bytes(BLOCK // servers)
    began = sim.now
    for _ in range(blocks):
        for connection in mine:
            client.write(connection, b"request")
        asked, missing = set(range(servers)), {i: len(part) for i in range(servers)}
        while missing:
            sim.advance(max(LOOK_NS, (sim.next_at() or 0) - sim.now))
            for i in [i for i in asked if hosts[i].unread(theirs[i])]:
                hosts[i].read(theirs[i])
                hosts[i].write(theirs[i], part)
                asked.discard(i)
            for i in [i for i in missing if client.unread(mine[i])]:
                missing[i] -= len(client.read(mine[i]))
                if missing[i] == 0:
                    del missing[i]
    rate = len(part) * servers * blocks * 8e3 / (sim.now - began)
    counts = [host.statistics() for host in hosts]
    return {"mbit_s": round(rate, 1), "timeouts": sum(each["timeouts"] for each in counts),
            "retransmissions": sum(each["retransmissions"] for each in counts)}


def knee_of(rows: dict) -> int:
    """The fewest servers with half the goodput of one, or less."""
    return min((n for n in rows if rows[n]["mbit_s"] <= rows[1]["mbit_s"] / 2), default=0)


def measure(place) -> Result:
    lockstep = place.module()
    result = Result()
    wanted = [(arm, n) for arm in ARMS for n in (QUICK if place.quick else SERVERS)]
    for i, (arm, n) in enumerate(wanted):
        place.progress(i / len(wanted), f"{arm}, {n} servers")
        result.data.setdefault(arm, {})[n] = goodput(
            lockstep, place.world("incast.toml"), n, ARMS[arm], 40 if place.quick else 100)
    coarse, fine = result.data["200 ms"], result.data["200 us"]
    best = coarse[1]["mbit_s"]
    knee, wide = knee_of(coarse), result.data["200 ms, window of 1 MiB"]
    worst = min(coarse.values(), key=lambda each: each["mbit_s"])["mbit_s"]
    least = min(fine.values(), key=lambda each: each["mbit_s"])["mbit_s"]
    result.gates += [
        Gate("one server, 200 ms", "the link, less headers", f"{best} Mbit/s", ">= 900",
             best >= 900),
        Gate("200 ms: half the goodput is lost from", "few servers, 4 to 16", f"{knee} servers",
             "4 to 16", 4 <= knee <= 16),
        Gate("200 ms: worst loss of goodput", "up to 90 %", f"{1 - worst / best:.0%}", ">= 80 %",
             worst <= 0.2 * best),
        Gate("200 us: worst goodput of all", "no collapse to 47 servers",
             f"{least} Mbit/s, {least / best:.1%}", ">= 90 %", least >= 0.9 * best),
    ]
    result.notes += [
        "With 200 us the rest is lost to timers that double: from about 15 servers on the first "
        "windows alone, three segments of each, overflow the port's 43 packets. RTO is then near "
        "1.5 ms, since the port's queue adds up to 0.5 ms to a round trip, and a block waits for a "
        "server that lost the same segment two or three times.",
        "The window decides where the knee is: of 20 segments, ns-2's default, those of "
        f"{knee} servers overflow the port. With a window of 1 MiB those of {knee_of(wide)} do, "
        f"which lose {1 - wide[knee_of(wide)]['mbit_s'] / best:.0%}; from {knee} servers on the "
        "curves are alike.",
        "The third curve is not published: tail loss probes help up to six servers. From then on "
        "whole windows are lost, probes included, and only the timer remains.",
    ]
    return result


def draw(result: Result):
    from tools.verbs.plot import style
    figure, axes = style.sheet("Incast: goodput of a client that reads 1 MB striped over N servers",
                               "servers", "goodput (Mbit/s)")
    for i, (arm, marker) in enumerate(zip(ARMS, "os^v")):
        rows = result.data[arm]
        axes.plot(list(rows), [each["mbit_s"] for each in rows.values()],
                  marker + style.DASHES[i % 3], color=style.COLOURS[i], label=f"minimum RTO {arm}")
    best = result.data["200 ms"][1]["mbit_s"]
    for share, above, words in ((0.1, 14, "published: a collapse by up to 90 %"),
                                (0.9, -38, "gate for 200 us: 90 %")):
        axes.axhline(share * best, color="grey", linewidth=1, linestyle="-.")
        axes.text(47.5, share * best + above, words, ha="right", color="dimgrey", fontsize=10)
    axes.set_xlim(0, 48)
    axes.set_ylim(0, 1000)
    axes.legend(loc="center right", frameon=False, bbox_to_anchor=(1, 0.5))
    return figure
