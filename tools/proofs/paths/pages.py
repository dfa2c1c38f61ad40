"""A newcomer's paths, and the commands of their pages."""

from dataclasses import dataclass
from pathlib import Path

QUICKSTART = "tools/quickstart"


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


def commands_of(page: Path) -> str:
    """The first ```sh block of a page."""
    begin = "```sh\n"
    text = page.read_text(encoding="utf-8")
    at = text.index(begin) + len(begin)
    return text[at:text.index("\n```", at)]
