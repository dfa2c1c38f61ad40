"""A page of plots: cwnd, RTT, queue and retransmissions over time, one column per run."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)

TITLES = {
    "reno-growth": "NewReno, one loss",
    "mathis-250": "NewReno, every 250th lost",
    "cubic-far": "CUBIC, one loss",
    "ecn-off": "NewReno, a queue that drops",
    "ecn-reno": "NewReno, ECN",
    "ecn-cubic": "CUBIC, ECN",
    "ecn-dctcp": "DCTCP, marks from 10 frames",
    "pacing-false": "unpaced, 10 Mbit/s",
    "pacing-true": "paced, 10 Mbit/s",
}
SPAN = {"mathis-250": 60, "ecn-off": 8, "ecn-reno": 8, "ecn-cubic": 8, "ecn-dctcp": 8,
        "pacing-false": 3, "pacing-true": 3}


def thinned(values: list, most: int = 4000) -> list:
    return values[:: max(1, len(values) // most)]


def draw(traces: list, into: Path) -> list[Path]:
    """Writes formulas.png and formulas.svg."""
    columns = 3
    blocks = (len(traces) + columns - 1) // columns
    figure, axes = pyplot.subplots(4 * blocks, columns, figsize=(6 * columns, 9.5 * blocks),
                                   squeeze=False, constrained_layout=True)
    for place, trace in enumerate(traces):
        block, column = divmod(place, columns)
        until = SPAN.get(trace.world.name, trace.seconds[-1])
        kept = [i for i, at in enumerate(trace.seconds) if at <= until]
        kept = thinned(kept)
        seconds = [trace.seconds[i] for i in kept]
        mss = trace.world.mss
        panels = (
            ("cwnd (segments)", [trace.cwnd[i] / mss for i in kept]),
            ("SRTT (ms)", [trace.srtt[i] * 1000 for i in kept]),
            ("queue (frames)", [trace.queue[i] for i in kept]),
            ("retransmissions (count)", [trace.retransmissions[i] for i in kept]),
        )
        for row, (label, values) in enumerate(panels):
            on = axes[4 * block + row][column]
            on.plot(seconds, values, drawstyle="steps-post", linewidth=1.2, color=f"C{row}")
            on.set_ylabel(label)
            on.set_ylim(bottom=0, top=max(values) * 1.08 or 1)
            on.set_xlim(0, until)
            on.grid(alpha=0.3)
            if row == 0:
                ends = [min(s, 2 ** 25) / mss for s in (trace.ssthresh[i] for i in kept)]
                shown = [s if s < 5 * max(values) else float("nan") for s in ends]
                on.plot(seconds, shown, linewidth=1, linestyle="--", color="grey",
                        label="ssthresh")
                on.set_title(TITLES.get(trace.world.name, trace.world.name))
                on.legend(loc="lower right", fontsize="small")
            if row == 3:
                on.set_xlabel("time (s)")
    for place in range(len(traces), blocks * columns):
        block, column = divmod(place, columns)
        for row in range(4):
            axes[4 * block + row][column].axis("off")
    files = [into / "formulas.png", into / "formulas.svg"]
    for file in files:
        figure.savefig(file, dpi=80)
    return files
