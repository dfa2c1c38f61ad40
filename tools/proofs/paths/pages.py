"""A newcomer's paths, and the commands of their pages."""

import re
from dataclasses import dataclass
from pathlib import Path

QUICKSTART = "tools/quickstart --lab"
RESULTS = Path(__file__).parent / "results.json"


@dataclass(frozen=True)
class Route:
    """A page, whose first block of commands makes a file in so many minutes."""

    page: str
    makes: str
    minutes: int


PATHS = {
    "plot": Route("sim/examples/grid/README.md", "build/own.png", 10),
    "controller": Route("sim/examples/controllers/README.md", "build/controllers.png", 20),
    "gallery": Route("tools/verbs/paper/README.md", "papers/dctcp.png", 5),
}


# What `tools/evidence fresh-root` prints after each command that succeeded.
ENDS = re.compile(r"^--- [^\0]*?: fine, (\d+) s since the beginning$", re.MULTILINE)


def steps_of(root: Path) -> dict:
    """What runs, by name: quickstart, and the commands of each page, which must make its file."""
    return {"quickstart": QUICKSTART,
            **{name: f"{commands_of(root / path.page)}\ntest -f {path.makes}"
               for name, path in PATHS.items()}}


def results_of(root: Path, seconds: dict, about: dict) -> dict:
    """Of each path that succeeded: its commands, and its minutes with quickstart's."""
    out = {}
    for name, path in PATHS.items():
        if name in seconds:
            minutes = (seconds["quickstart"] + seconds[name]) / 60
            out[name] = {"page": path.page, "makes": path.makes,
                         "commands": commands_of(root / path.page).split("\n"),
                         "limit_minutes": path.minutes, "minutes": round(minutes, 1),
                         "within": minutes <= path.minutes,
                         "quickstart_seconds": round(seconds["quickstart"], 1),
                         "own_seconds": round(seconds[name], 1), **about}
    return out


def commands_of(page: Path) -> str:
    """The first ```sh block of a page."""
    begin = "```sh\n"
    text = page.read_text(encoding="utf-8")
    at = text.index(begin) + len(begin)
    return text[at:text.index("\n```", at)]
