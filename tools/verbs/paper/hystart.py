"""What slow start loses when it overruns a queue, with and without HyStart++."""

from tools.verbs.paper.result import Gate, Result

NAME = "hystart"
TITLE = "Packets lost by the first slow start, with and without HyStart++"
SOURCE = "RFC 9406 (slow start 'can overshoot the ideal send rate'; it prints no numbers)"
SECONDS = 10

PATH = 412  # packets that fill the path: 50 Mbit/s, 80 ms
QUEUES = (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4)  # of PATH
QUICK = (0.25, 1, 2, 4)
ARMS = {
    "slow start": {"a.hystart": "false"},
    "HyStart++": {"a.hystart": "true"},
    "HyStart++, paced": {"a.hystart": "true", "a.pacing": "true"},
}
SHOWN = 2  # the queue of the time sequence


def run(place, settings: dict, queue: float) -> dict:
    """Packets that the queue dropped in the first three seconds, and the course of cwnd."""
    report, rows = place.run("hystart.toml", {
        **settings, "a.congestion": "reno", "path.queue_packets": round(PATH * queue)},
        until="3s", series=True)
    lost = sum(lane["drops"].get("queue_full", 0) for lane in report["lanes"])
    course, at = [], -1
    for row in rows:
        if row["time_ns"] >= at + 5_000_000 and row["time_ns"] < 2_000_000_000:
            at = row["time_ns"]
            course.append([at / 1e9, round(row["cwnd"] / 1448, 1)])
    return {"lost": lost, "peak": max(row["cwnd"] for row in rows) // 1448, "course": course}


def measure(place) -> Result:
    result = Result()
    wanted = [(arm, queue) for arm in ARMS for queue in (QUICK if place.quick else QUEUES)]
    for i, (arm, queue) in enumerate(wanted):
        place.progress(i / len(wanted), f"{arm}, queue {queue}")
        found = run(place, ARMS[arm], queue)
        if queue != SHOWN:
            del found["course"]
        result.data.setdefault(arm, {})[queue] = found
    without = result.data["slow start"]
    for queue in (1, 2, 4):
        most = round(PATH * (1 + queue))
        lost = without[queue]["lost"]
        result.gates.append(Gate(
            f"slow start, queue {queue} BDP: lost, of {most}", "up to a window", str(lost),
            ">= half", lost >= most / 2))
    for arm in list(ARMS)[1:]:
        for queue in (2, 4):
            lost = result.data[arm][queue]["lost"]
            share = lost / without[queue]["lost"]
            result.gates.append(Gate(f"{arm}, queue {queue} BDP: lost", "less overshoot",
                                     f"{lost}, {share:.0%} of the above", "<= 50 %", share <= 0.5))
    worst = max(rows["lost"] / max(1, without[queue]["lost"])
                for queue, rows in result.data["HyStart++"].items())
    result.gates.append(Gate("HyStart++, any queue: lost", "not more than slow start",
                             f"{worst:.0%}", "<= 100 %", worst <= 1))
    result.notes += [
        "HyStart++ sees the least round trip time of each round. Without pacing a round begins "
        "with packets that find a short queue, so a queue below the threshold of 10 ms (an eighth "
        "of the round trip, 41 packets) is not seen, and one of half a BDP overflows before.",
        "cwnd falls to a segment at 1.3 s: the retransmission timer fires in the recovery. A round "
        "trip through the full queue takes 240 ms, and SRTT is still near 90 ms: with a sample for "
        "each ACK it follows as slowly as with one for each round trip (RFC 7323 appendix G).",
    ]
    return result


def draw(result: Result):
    from tools.verbs.plot import style
    figure, (left, right) = style.pyplot.subplots(1, 2, figsize=(12, 4.8), constrained_layout=True)
    for i, (arm, rows) in enumerate(result.data.items()):
        look = {"color": style.COLOURS[i], "linestyle": style.DASHES[i]}
        left.plot(list(rows), [each["lost"] for each in rows.values()], marker="os^"[i], label=arm,
                  **look)
        course = rows[SHOWN]["course"]
        right.plot([at for at, _ in course], [window for _, window in course], label=arm, **look)
    queues = list(result.data["slow start"])
    left.plot(queues, [PATH * (1 + queue) for queue in queues], color="grey", linestyle="-.",
              linewidth=1, label="window that fits: path and queue")
    left.set_xlabel("queue (of the path's 412 packets)")
    left.set_ylabel("packets lost in the first 3 s")
    left.set_ylim(bottom=0)
    left.set_title("Loss of the first slow start")
    left.legend(frameon=False)
    right.axhline(PATH * (1 + SHOWN), color="grey", linestyle="-.", linewidth=1)
    right.text(1.98, PATH * (1 + SHOWN) + 30, "path and queue", ha="right", color="dimgrey")
    right.set_xlim(0, 2)
    right.set_ylim(bottom=0)
    right.set_xlabel("time (s)")
    right.set_ylabel("cwnd (packets)")
    right.set_title("cwnd with a queue of two BDP")
    return figure
