"""Which room and floor may include which."""

from dev.tidy.source import Finding

FLOORS = ["units", "memory", "wire", "link", "internet", "tcp", "seam"]
ROOMS = ["core", "sim", "hw", "tools", "conformance"]

# What each room may include; tools and conformance join everything (wings.py has more on them).
MAY = {
    "core": ["core"],
    "sim": ["core", "sim"],
    "hw": ["core", "hw"],
    "tools": ROOMS,
    "conformance": ROOMS,
}

# Libraries that both worlds use, so that they stand on neither.
BOTH_WORLDS = ["sockets", "http", "load"]


def room_finding(source, line, name):
    """Why `source` may not include `name`, or None."""
    target = name.split("/")
    if target[0] not in MAY.get(source.room, ROOMS):
        return Finding("floor", source.path, line, f"{source.room}/ may not include {target[0]}/",
                       "pass what you need in through an interface of core/, or move this file")
    parts = source.path.split("/")
    if (parts[:2] == ["tools", "lib"] and parts[2] in BOTH_WORLDS and target[0] in ("sim", "hw")
            and not source.is_test):
        return Finding("floor", source.path, line,
                       f"tools/lib/{parts[2]} serves both worlds and may not include {target[0]}/",
                       "use core/seam alone")
    if (source.floor in FLOORS and target[0] == "core" and len(target) > 2
            and target[1] in FLOORS and FLOORS.index(target[1]) > FLOORS.index(source.floor)):
        return Finding("floor", source.path, line,
                       f"core/{source.floor} is below core/{target[1]}",
                       "move the declaration down, or this code up")
    return None


def check(source):
    """Upward includes, and includes that do not start at the root."""
    if not source.is_cpp or source.room not in ROOMS:
        return
    if source.room == "core" and source.path.count("/") > 1 and source.floor not in FLOORS:
        yield Finding("floor", source.path, 1, f"core/{source.floor} is no floor",
                      f"use one of {' '.join(FLOORS)}")
    for line, name, quoted in source.includes:
        if name.split("/")[0] in ROOMS:
            finding = room_finding(source, line, name)
            if finding:
                yield finding
        elif quoted:
            yield Finding("include", source.path, line, f'"{name}" is not a path from the root',
                          'write #include "core/units/time.hpp", or <...> for another\'s header')
