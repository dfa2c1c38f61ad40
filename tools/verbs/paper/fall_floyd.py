"""Fall and Floyd 1996: one to four packets of a window are lost; how each variant repairs them."""

from tools.verbs.paper.result import Gate, Result

NAME = "fall-floyd"
TITLE = "One to four losses in a window: Tahoe, Reno, NewReno and SACK"
SOURCE = ("Fall and Floyd, Simulation-based Comparisons of Tahoe, Reno, and SACK TCP, 1996, "
          "figures 2 to 5")
SECONDS = 1

SEGMENT = 946  # with headers 1,000 octets
TRIP = 0.2116  # s, of an empty path
DROPS = ((14,), (14, 28), (14, 26, 28), (14, 24, 26, 28))
VARIANTS = {
    "Tahoe": ["s.fast_recovery=tahoe"],
    "Reno": ["s.fast_recovery=reno"],
    "NewReno": [],
    "SACK (RFC 6675)": ["*.sack=true"],
    "SACK, RACK, PRR": ["*.sack=true", "s.prr=true", "s.rack=true", "s.tail_probe=true"],
}
SYN = 2  # of the flags of lockstep.fields


def mask_of(drops: tuple) -> str:
    """Frames on the way to the router: a SYN, which is lost, a SYN, and the data, from 0."""
    return "1" + "".join("1" if n in drops else "0" for n in range(-1, max(drops) + 1))


def transfer(lockstep, world: str, drops: tuple, settings: list) -> dict:
    """Packets sent and lost, as [seconds since the first data, number]; timeouts but the SYN's."""
    from lockstep.fields import fields_of
    sim = lockstep.Sim.from_file(world, settings=[f'drops.mask="{mask_of(drops)}"', *settings],
                                 record=True)
    assert sim.run() == "completed"
    isn, begin, seen = 0, None, set()
    rows: dict = {"sent": [], "again": [], "lost": []}
    for frame in sim.frames():
        is_sent = frame.node == "s" and frame.what == "sent"
        if not is_sent and frame.what not in ("masked", "queue_full"):
            continue
        packet = fields_of([frame.packet[14:]])[0]
        if packet["flags"] & SYN:
            isn = int(packet["seq"])
        if not packet["payload"]:
            continue
        begin = frame.at if begin is None else begin
        number = (int(packet["seq"]) - isn - 1) % 2**32 // SEGMENT
        kind = "lost" if not is_sent else "again" if number in seen else "sent"
        seen.add(number)
        rows[kind].append([round((frame.at - begin) / 1e9, 6), number])
    counts = sim.hosts["s"].statistics()
    rows["timeouts"] = counts["timeouts"] - 1
    rows["fast_retransmits"] = counts["fast_retransmits"]
    return rows


def trips_of(rows: dict) -> float:
    """Round trips from the first retransmission to the last."""
    return (rows["again"][-1][0] - rows["again"][0][0]) / TRIP


def gate_of_trips(variant: str, what: str, losses: int, rows: dict) -> Gate:
    """How long the repair takes; of Reno, which may wait for its timer, how often it halves."""
    trips, name = trips_of(rows), f"{what}: first to last retransmission"
    if variant == "NewReno":
        return Gate(name, f"{losses - 1} RTT", f"{trips:.2f} RTT", "0.05 RTT",
                    abs(trips - losses + 1) <= 0.05)
    if variant == "Tahoe":
        return Gate(name, "a slow start", f"{trips:.2f} RTT", f"at most {losses - 1}.05",
                    trips <= losses - 0.95)
    if variant == "Reno":
        found = rows["fast_retransmits"]
        return Gate(f"{what}: fast retransmits", str(min(losses, 2)), str(found), "equal",
                    found == min(losses, 2))
    return Gate(name, "one round trip", f"{trips:.2f} RTT", "at most 1.5", trips <= 1.5)


def measure(place) -> Result:
    lockstep = place.module()
    result = Result()
    for variant, settings in VARIANTS.items():
        for drops in DROPS:
            rows = transfer(lockstep, place.world("fall_floyd.toml"), drops, settings)
            result.data[f"{variant} {len(drops)}"] = rows
            what = f"{variant}, {len(drops)} lost"
            lost = [number for _, number in rows["lost"]]
            result.gates.append(Gate(f"{what}: packets", " ".join(map(str, drops)),
                                     " ".join(map(str, lost)), "equal", lost == list(drops)))
            expected = 1 if variant == "Reno" and len(drops) > 2 else 0
            result.gates.append(Gate(f"{what}: timeouts", str(expected), str(rows["timeouts"]),
                                     "equal", rows["timeouts"] == expected))
            result.gates.append(gate_of_trips(variant, what, len(drops), rows))
    result.notes += [
        "The published numbers, and the four drops of figure 5, are from memory of the paper: "
        "Tahoe starts slowly each time; Reno halves its window for each of two losses, and waits "
        "for the timer after three; NewReno needs a round trip for each loss, SACK one for all.",
        "Tahoe sends again what had arrived: of three losses packet 27, of four 25 and 27, as it "
        "begins from the first loss anew and doubles its window.",
        "SACK: 28 is the last packet before the first duplicate ACK, so its loss shows only when "
        "three later packets are SACKed: 1.4 round trips after the first retransmission.",
    ]
    return result


def draw(result: Result):
    """Time and packet number, as in the paper: a row for each variant, a column for each list."""
    from tools.verbs.plot import style
    figure, panels = style.pyplot.subplots(len(VARIANTS), len(DROPS), figsize=(13, 12), sharex=True,
                                           sharey=True, constrained_layout=True)
    for row, variant in enumerate(VARIANTS):
        for column, drops in enumerate(DROPS):
            panel = panels[row][column]
            rows = result.data[f"{variant} {len(drops)}"]
            for kind, marker, colour, size, label in (
                    ("sent", ".", style.COLOURS[0], 4, "sent"),
                    ("again", "^", style.COLOURS[1], 7, "retransmitted"),
                    ("lost", "x", style.COLOURS[6], 8, "lost")):
                panel.plot([at for at, _ in rows[kind]], [number for _, number in rows[kind]],
                           marker, color=colour, markersize=size, label=label,
                           markeredgewidth=2 if kind == "lost" else 1)
            panel.text(0.97, 0.05, f"{trips_of(rows):.1f} RTT, {rows['timeouts']} timeouts",
                       ha="right", transform=panel.transAxes, fontsize=10)
            if row == 0:
                panel.set_title(f"lost: {', '.join(map(str, drops))}")
            if column == 0:
                panel.set_ylabel(f"{variant}\npacket number")
            if row == len(VARIANTS) - 1:
                panel.set_xlabel("time (s)")
    panels[0][0].set_xlim(0, 3.3)
    panels[0][0].set_ylim(0, 75)
    panels[0][0].legend(loc="upper left", frameon=False)
    figure.suptitle("RTT: from the first retransmission to the last; published: Tahoe a slow "
                    "start; Reno a timeout\nafter three or more losses; NewReno 0, 1, 2, 3 for "
                    "one to four losses, SACK one for all", fontsize=12)
    return figure
