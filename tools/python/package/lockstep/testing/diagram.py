# Draws the record of a conversation as a sequence diagram in SVG, one row for each packet.
from xml.sax.saxutils import escape

from .units import seconds

ROW = 34
LEFT, RIGHT, WIDTH = 130, 690, 820
TOP = 92
STYLE = (
    "text{font-family:DejaVu Sans Mono,Consolas,monospace;font-size:13px;fill:#1b1b1b}"
    ".time{fill:#666;font-size:12px}.who{font-weight:bold;font-size:14px}"
    ".remark{fill:#666;font-style:italic}.bad{fill:#b00020;font-weight:bold}"
    "line{stroke:#1b1b1b;stroke-width:1.4}.life{stroke:#999;stroke-width:1}"
)


def text(x, y, words, kind="", anchor="start"):
    kind = f' class="{kind}"' if kind else ""
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" xml:space="preserve"{kind}>'
        f"{escape(words)}</text>"
    )


def cut(words, most):
    return words if len(words) <= most else words[: most - 1] + "…"


def svg(record, start, title, failure=()):
    """The diagram as text: the record, then the lines of the failure, if there is one."""
    rows = []
    y = TOP + ROW
    for entry in record:
        rows.append(text(LEFT - 14, y, seconds(entry.at - start), "time", "end"))
        if entry.packet:
            begin, end = (LEFT, RIGHT) if entry.inward else (RIGHT, LEFT)
            tip = end - 7 if entry.inward else end + 7
            rows.append(f'<line x1="{begin}" y1="{y - 4}" x2="{tip}" y2="{y + 4}"/>')
            back = end - 11 if entry.inward else end + 11
            rows.append(
                f'<path d="M{end} {y + 4.2} L{back} {y - 1} L{back} {y + 8} Z" fill="#1b1b1b"/>'
            )
            rows.append(text((LEFT + RIGHT) / 2, y - 9, cut(entry.text, 68), "", "middle"))
        else:
            rows.append(text(RIGHT + 10, y, cut(entry.remark, 15), "remark"))
        y += ROW
    bottom = y - ROW // 2
    for line in failure:
        y += 18
        rows.append(text(16, y, cut(line, 100), "bad"))
    height = y + 24
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
            f' viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(title)}</title><style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            text(16, 26, cut(title, 100), "who"),
            text(LEFT, 60, "tester", "who", "middle"),
            text(RIGHT, 60, "target", "who", "middle"),
            text(LEFT - 44, 60, "seconds", "time", "end"),
            f'<line class="life" x1="{LEFT}" y1="70" x2="{LEFT}" y2="{bottom}"/>',
            f'<line class="life" x1="{RIGHT}" y1="70" x2="{RIGHT}" y2="{bottom}"/>',
            *rows,
            "</svg>",
            "",
        ]
    )
