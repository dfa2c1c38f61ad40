"""DCTCP's queue beside that of TCP without ECN, at a port of 1 Gbit/s."""

from tools.verbs.paper.result import Gate, Result

NAME = "dctcp"
TITLE = "The queue of long flows: DCTCP and CUBIC"
SOURCE = "Alizadeh and others, Data Center TCP, SIGCOMM 2010, figures 1 and 13 (1 Gbit/s, K = 20)"
SECONDS = 10

K = 20         # packets
FRAME = 1538   # octets of a full frame on Ethernet, with preamble and gap
DATA = 1448    # octets of data in it
BEGIN = 0.1    # s; before that the flows start
ARMS = {"DCTCP": {}, "CUBIC": {"*.congestion": "cubic", "*.ecn": "off", "port.mark_packets": 0}}


def run(place, settings: dict, flows: int) -> dict:
    """The queue at each ACK, and how much of the link is used."""
    seconds = 0.3 if place.quick else 1.1
    settings = {**settings, "first.flows": flows // 2, "second.flows": flows // 2}
    _, rows = place.run("dctcp.toml", settings, until=f"{seconds * 1000:.0f}ms", series=True)
    first: dict = {}
    last: dict = {}
    queue = []
    for row in rows:
        if row["time_ns"] < BEGIN * 1e9:
            continue
        first.setdefault(row["flow"], row["acked"])
        last[row["flow"]] = row["acked"]
        queue.append((row["time_ns"] / 1e9 - BEGIN, row["queue"]))
    acked = sum(last[flow] - first[flow] for flow in last)
    lengths = sorted(length for _, length in queue)
    return {
        "used": round(acked * FRAME / DATA * 8 / 1e9 / (seconds - BEGIN), 4),
        "p5": lengths[len(lengths) // 20], "median": lengths[len(lengths) // 2],
        "p95": lengths[len(lengths) * 19 // 20], "most": lengths[-1],
        "shares": [lengths[len(lengths) * i // 200] for i in range(200)] + [lengths[-1]],
        "course": [[round(at, 6), length] for at, length in queue if at < 0.02],
    }


def measure(place) -> Result:
    result = Result()
    wanted = [(arm, flows) for arm in ARMS for flows in (2, 20)]
    for i, (arm, flows) in enumerate(wanted):
        place.progress(i / len(wanted), f"{arm}, {flows} flows")
        found = run(place, ARMS[arm], flows)
        result.data[f"{arm} {flows}"] = found
        what = f"{arm}, {flows} flows"
        if arm == "DCTCP":
            most = K + flows + 5
            result.gates.append(Gate(f"{what}: queue, 95th percentile", "about 20 + n packets",
                                     str(found["p95"]), f"<= {most}", found["p95"] <= most))
            result.gates.append(Gate(f"{what}: queue, median", "about 20 packets",
                                     str(found["median"]), "15 to 25",
                                     15 <= found["median"] <= 25))
        else:
            least = 100_000 / 1514
            result.gates.append(Gate(f"{what}: queue, median", "hundreds of kB",
                                     f"{found['median']} ({found['median'] * 1514 // 1000} kB)",
                                     ">= 100 kB", found["median"] >= least))
        result.gates.append(Gate(f"{what}: the link is used", "full throughput",
                                 f"{found['used']:.1%}", ">= 95 %", found["used"] >= 0.95))
    result.notes.append("The queue is that at the arrival of each ACK, in packets, with the one in "
                        "transmission. Without ECN the limit of 700 kB is the only one.")
    return result


def draw(result: Result):
    from tools.verbs.plot import style
    figure, (left, right) = style.pyplot.subplots(1, 2, figsize=(12, 4.8), constrained_layout=True)
    for i, (name, found) in enumerate(result.data.items()):
        arm, flows = name.split()
        look = {"color": style.COLOURS[i], "linestyle": style.DASHES[i % 2]}
        left.plot(found["shares"], [share / 200 for share in range(201)],
                  label=f"{arm}, {flows} flows", **look)
        right.plot([at * 1000 for at, _ in found["course"]],
                   [length for _, length in found["course"]], linewidth=1, **look)
    left.axvline(K, color="grey", linewidth=1, linestyle="-.")
    left.text(K * 1.08, 0.02, "K = 20", color="dimgrey")
    left.axvspan(100_000 / 1514, 700_000 / 1514, color="grey", alpha=0.12)
    left.text(72, 0.2, "published for TCP:\nhundreds of kB", color="dimgrey")
    left.set_xscale("log")
    left.set_xlim(5, 600)
    left.set_xticks([5, 10, 20, 50, 100, 200, 500], ["5", "10", "20", "50", "100", "200", "500"])
    left.set_xlabel("queue (packets of 1,514 octets)")
    left.set_ylabel("share of ACKs that find at most this queue")
    left.set_ylim(0, 1.02)
    left.legend(loc="upper right", frameon=False, bbox_to_anchor=(0.87, 0.98))
    left.set_title("Queue: distribution")
    right.set_yscale("log")
    right.set_ylim(5, 600)
    right.set_yticks([5, 10, 20, 50, 100, 200, 500], ["5", "10", "20", "50", "100", "200", "500"])
    right.axhline(K, color="grey", linewidth=1, linestyle="-.")
    right.set_xlim(0, 20)
    right.set_xlabel("time (ms)")
    right.set_ylabel("queue (packets)")
    right.set_title("Queue: 20 ms of it")
    return figure
