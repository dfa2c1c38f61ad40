"""Which modules and layers may include which."""

from dev.tidy.source import Finding

LAYERS = ["units", "memory", "wire", "link", "internet", "tcp", "stack"]
MODULES = ["core", "sim", "hw", "tools", "conformance"]

# What each module may include; tools and conformance may include all (wings.py has further rules).
MAY = {
    "core": ["core"],
    "sim": ["core", "sim"],
    "hw": ["core", "hw"],
    "tools": MODULES,
    "conformance": MODULES,
}

# Programs of users of an installed Lockstep, which may include all that is installed.
EXAMPLES = "sim/examples/"

# Libraries used both in simulations and on interfaces, so they may include neither sim/ nor hw/.
BOTH_WORLDS = ["sockets", "http", "load"]


def module_finding(source, line, name):
    """Why `source` may not include `name`, or None."""
    target = name.split("/")
    if source.path.startswith(EXAMPLES):
        return None
    if target[0] not in MAY.get(source.module, MODULES):
        return Finding("layer", source.path, line, f"{source.module}/ may not include {target[0]}/",
                       "pass what you need in through an interface of core/, or move this file")
    parts = source.path.split("/")
    if (parts[:2] == ["tools", "lib"] and parts[2] in BOTH_WORLDS and target[0] in ("sim", "hw")
            and not source.is_test):
        return Finding("layer", source.path, line,
                       f"tools/lib/{parts[2]} is used in simulations and on interfaces, and may "
                       f"not include {target[0]}/",
                       "use core/stack alone")
    if (source.layer in LAYERS and target[0] == "core" and len(target) > 2
            and target[1] in LAYERS and LAYERS.index(target[1]) > LAYERS.index(source.layer)):
        return Finding("layer", source.path, line,
                       f"core/{source.layer} is below core/{target[1]}",
                       "move the declaration down, or this code up")
    return None


def check(source):
    """Includes of higher layers, and paths that do not start at the root."""
    if not source.is_cpp or source.module not in MODULES:
        return
    if source.module == "core" and source.path.count("/") > 1 and source.layer not in LAYERS:
        yield Finding("layer", source.path, 1, f"core/{source.layer} is not a layer",
                      f"use one of {' '.join(LAYERS)}")
    for line, name, quoted in source.includes:
        if name.split("/")[0] in MODULES:
            finding = module_finding(source, line, name)
            if finding:
                yield finding
        elif quoted:
            yield Finding("include", source.path, line, f'"{name}" is not a path from the root',
                          'write #include "core/units/time.hpp", or <...> for another\'s header')
