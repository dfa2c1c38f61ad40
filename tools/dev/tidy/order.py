"""Two random draws in one expression: C++ leaves their order open, so worlds could differ."""

import re

from dev.tidy.source import Finding

DRAW = (r"\b(?:(?:\w*random_?|\w*dice_?|stream|shape)\.(?:next|below|below32|within|chance|percent|"
        r"pick|magnitude|word)|draw\w*|one_of)\s*(?:<[\w:]+>)?\(")
ONE = re.compile(DRAW)
JOINED = re.compile(DRAW + r"(?:[^()]|\([^()]*\))*\)\s*[-+*/%^|&]\s*(?:\w+\s*\(\s*)?" + DRAW)


def arguments_of(inside):
    """The arguments of a call, split at the commas of its own depth."""
    depth, parts = 0, [""]
    for character in inside:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def calls_with_two_draws(code):
    """The start of each call with draws in two of its arguments; braces have a defined order."""
    opened = []
    for index, character in enumerate(code):
        if character in "({":
            opened.append((character, index))
        elif character in ")}" and opened:
            kind, start = opened.pop()
            inside = code[start + 1:index]
            if kind == "(" and character == ")" and ";" not in inside:
                drawing = [part for part in arguments_of(inside) if ONE.search(part)]
                if len(drawing) > 1:
                    yield start


def check(source):
    if not source.is_cpp or source.module not in ("core", "sim"):
        return
    places = set(calls_with_two_draws(source.code))
    places.update(match.start() for match in JOINED.finditer(source.code))
    for line in sorted({source.code[:place].count("\n") + 1 for place in places}):
        yield Finding("draw-order", source.path, line,
                      "two draws in one expression, whose order the compiler chooses",
                      "give each draw its own statement, or the braces of an aggregate")
