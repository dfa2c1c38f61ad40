"""RFC 8312 tables 1 and 2 (kept by RFC 9438): the mean window over periodic losses."""

from tools.verbs.paper.result import Gate, Result

NAME = "cubic"
TITLE = "CUBIC's mean window by loss rate and round trip time"
SOURCE = "RFC 8312 section 5.1, tables 1 and 2, C = 0.4"
SECONDS = 100

# Losses per packet as powers of ten: the mean window in segments, by controller and RTT in ms.
PUBLISHED = {
    ("cubic", 100): {2: 12, 3: 38, 4: 187, 5: 1054, 6: 5926},
    ("cubic", 10): {2: 12, 3: 38, 4: 120, 5: 379, 6: 1200},
    ("reno", 100): {2: 12, 3: 38, 4: 120, 5: 379, 6: 1200},
}
# Losses before the measurement begins, and at its end.
CYCLES = {2: (20, 200), 3: (15, 60), 4: (6, 20), 5: (3, 8), 6: (2, 5)}
QUICK = {2: (20, 100), 3: (10, 30), 4: (4, 8), 5: (2, 4)}
QUICK_MOST = {("cubic", 100): 5, ("cubic", 10): 4, ("reno", 100): 3}
SERVER = ("10.0.0.2", 80)
START = 0.94  # of the published W_max; see the notes
PACKET_NS = 240 * 8  # at 1 Gbit/s
CHUNK = bytes(1 << 22)


def first_loss(mean: float, rtt_ms: int) -> int:
    """When slow start should lose its first packet, in ns, with cwnd a little below W_max then.

    CUBIC's mean is (3 + 0.7) / 4 of W_max. Round n sends 10 * 2**n packets, back to back; when the
    loss of packet m is found, the ACKs before it have increased cwnd by m segments.
    """
    window, rounds = START * mean / 0.925, 0
    while 10 * 2 ** (rounds + 1) <= window:
        rounds += 1
    packet = max(0, window - 10 * 2**rounds)
    return 1_000_000_000 + rounds * rtt_ms * 1_000_000 + round(packet * PACKET_NS)


def mean_window(lockstep, world: str, controller: str, rtt_ms: int, power: int, cycles: tuple
                ) -> float:
    """Segments delivered per round trip, over whole cycles from one loss to another."""
    sim = lockstep.Sim.from_file(world, settings=[
        f"a.congestion={controller}", f"path.delay={rtt_ms * 500}us",
        f"losses.period={10 ** power}",
        f"losses.from={first_loss(PUBLISHED[controller, rtt_ms][power], rtt_ms)}ns"])
    a, b = sim.hosts["a"], sim.hosts["b"]
    b.listen(SERVER[1])
    mine = a.connect(SERVER)
    sim.advance("1s")
    (theirs,) = b.accepted()
    rounds, octets, lost, last, segment = 0, 0, 0, None, 0
    while lost < cycles[1]:
        a.write(mine, CHUNK[:a.writable(mine)])
        sim.advance(f"{rtt_ms}ms")
        b.read(theirs)
        now = a.inspect(mine)
        lost = now["retransmissions"]
        if lost < cycles[0]:
            continue
        if last is not None:
            rounds += 1
            octets += (now["snd_una"] - last) % 2**32
        last, segment = now["snd_una"], now["snd_mss"]
    return octets / segment / rounds


def measure(place) -> Result:
    lockstep = place.module()
    result = Result()
    wanted = [(key, power, window) for key, row in PUBLISHED.items() for power, window in
              row.items() if not place.quick or power <= QUICK_MOST[key]]
    cost = [10 ** power * (QUICK if place.quick else CYCLES)[power][1] for _, power, _ in wanted]
    for i, ((controller, rtt), power, window) in enumerate(wanted):
        place.progress(sum(cost[:i]) / sum(cost), f"{controller}, {rtt} ms, p = 1e-{power}")
        found = mean_window(lockstep, place.world("cubic.toml"), controller, rtt, power,
                            (QUICK if place.quick else CYCLES)[power])
        result.data.setdefault(f"{controller} {rtt} ms", {})[power] = round(found, 2)
        share = 0.25 if power == 2 else 0.1
        name = "CUBIC" if controller == "cubic" else "AIMD (NewReno)"
        result.gates.append(Gate(
            f"{name}, RTT {rtt / 1000:g} s, p = 1e-{power}", f"{window:,}",
            f"{found:,.1f} ({found / window - 1:+.1%})", f"{share:.0%}",
            abs(found - window) <= share * window))
    result.notes += [
        "Windows are segments delivered per round trip, over whole cycles from one loss to the "
        "other. Each recovery costs about one round trip, which the RFC's formula leaves out; at "
        "p = 1e-2 that is a tenth of the time.",
        "With equal periods CUBIC keeps nearly any window: the curve is flat around W_max, where a "
        "loss one second later changes W_max by less than a segment. But a loss at the published "
        "W_max itself arrives a fraction of a segment too early, and fast convergence (RFC 9438 "
        "4.7, not in the tables' formula) then reduces W_max by 15 %. So slow start ends at 94 % "
        "of it, which the stack keeps.",
    ]
    return result


def draw(result: Result):
    from tools.verbs.plot import style
    figure, axes = style.sheet("Mean window over periodic losses: RFC 8312's tables and our stack",
                               "loss rate p (packets lost of packets sent)",
                               "mean window (segments)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(2e-2, 5e-7)
    looks = (("cubic 100 ms", "CUBIC, RTT 0.1 s", "o"), ("cubic 10 ms", "CUBIC, RTT 0.01 s", "s"),
             ("reno 100 ms", "AIMD, RTT 0.1 s", "^"))
    for i, (key, label, marker) in enumerate(looks):
        measured = result.data[key]
        controller, rtt = key.split()[0], int(key.split()[1])
        colour = style.COLOURS[i]
        dash = style.DASHES[i]
        axes.plot([10.0 ** -power for power in measured], list(measured.values()), color=colour,
                  linestyle=dash, label=f"{label}, measured")
        published = PUBLISHED[controller, rtt]
        axes.plot([10.0 ** -power for power in published], list(published.values()), marker,
                  color=colour, markerfacecolor="none", markersize=9, markeredgewidth=1.6,
                  label=f"{label}, published")
    axes.legend(loc="upper left", frameon=False)
    return figure
