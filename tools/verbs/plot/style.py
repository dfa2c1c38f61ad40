"""The style of all figures: colours that colour-blind readers can distinguish, axes, labels at
lines' ends."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)

# Okabe and Ito's colours, without yellow, which is hard to see on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", ":")
LABEL_HEIGHT = 0.052  # of the axes' height

matplotlib.rcParams.update({
    "font.size": 11, "axes.titlesize": 12, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "svg.fonttype": "none", "svg.hashsalt": "lockstep", "axes.axisbelow": True,
})


def look(index: int) -> dict:
    """The colour and dash pattern of the line with this index."""
    return {"color": COLOURS[index % len(COLOURS)],
            "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}


def sheet(title: str, x_label: str, y_label: str):
    """An empty figure and its axes."""
    figure, axes = pyplot.subplots(figsize=(9, 4.6), constrained_layout=True)
    axes.set_title(title, wrap=True)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return figure, axes


def thinned(seconds: list, values: list, most: int = 1500) -> tuple[list, list]:
    """Thins a line without changing its look: keeps the first, least, greatest and last value of
    each interval."""
    if len(seconds) <= 4 * most:
        return seconds, values
    slices: dict = {}
    width = (seconds[-1] - seconds[0]) / most or 1
    for i, at in enumerate(seconds):
        slices.setdefault(int((at - seconds[0]) / width), []).append(i)
    kept = sorted({pick for each in slices.values()
                   for pick in (each[0], min(each, key=values.__getitem__),
                                max(each, key=values.__getitem__), each[-1])})
    return [seconds[i] for i in kept], [values[i] for i in kept]


def spread(heights: list, step: float = LABEL_HEIGHT) -> list:
    """Moves heights in 0..1 apart, so that labels at these heights do not overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = list(heights)
    for before, at in zip(order, order[1:]):
        placed[at] = max(placed[at], placed[before] + step)
    over = max(placed, default=0) - 1
    if over > 0:
        ceiling = 1.0
        for at in reversed(order):
            placed[at] = min(placed[at], ceiling)
            ceiling = placed[at] - step
    return placed


def name_lines(axes, ends: list) -> None:
    """Writes each line's name to the right of its end: `ends` is (value, text, colour)."""
    low, high = axes.get_ylim()
    heights = spread([(min(max(value, low), high) - low) / (high - low) for value, _, _ in ends])
    for height, (value, text, colour) in zip(heights, ends):
        moved = abs((value - low) / (high - low) - height) > LABEL_HEIGHT / 2
        axes.annotate(text, (1, height), xycoords="axes fraction", xytext=(10 if moved else 6, 0),
                      textcoords="offset points", va="center", color=colour, annotation_clip=False)


def note(axes, words: str) -> None:
    """A small note above the axes' upper right corner, where no line is."""
    axes.text(0.995, 0.985, words, transform=axes.transAxes, ha="right", va="top", fontsize=9,
              color="#444444", bbox={"facecolor": "#ffffff", "alpha": 0.75, "linewidth": 0,
                                     "pad": 1.5})


def mark_end(axes, second: float, value: float, colour: str) -> None:
    """Marks the end of a line that ends before the figure does."""
    axes.plot([second], [value], marker="o", markersize=4, color=colour, clip_on=False)


def save(figure, base, formats) -> list:
    """Writes the figure in each format; the same traces give the same octets."""
    files = []
    for ending in formats:
        file = base.with_suffix(f".{ending}")
        metadata = {"Date": None} if ending == "svg" else {"Software": None}
        figure.savefig(file, dpi=130, metadata=metadata)
        files.append(file)
    pyplot.close(figure)
    return files
