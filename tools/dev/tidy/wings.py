"""Which wing of tools/ may include which, and whether a folder links what its files include."""

import re

from dev.tidy.source import Finding

# Lowest first. tools/dev has no library.
WINGS = ["tools/base", "tools/lib", "conformance", "tools/python", "tools/verbs", "tools/proofs"]

# The declarations of all verbs; not a library.
VERBS = "tools/verbs/verbs.hpp"

# Folders whose headers belong to a library of another name, longest first.
OTHERS = {"sim/ns3": "lockstep_ns3", "sim": "lockstep_sim", "hw/mpipe": "lockstep_mpipe",
          "hw": "lockstep_hw"}


def wing_of(path):
    """The wing of a file or an include, or None."""
    return next((wing for wing in WINGS if path.startswith(wing + "/")), None)


def folder_of(path):
    """The folder whose files make one library, or None: tools/lib/http, conformance/replay."""
    wing = wing_of(path)
    depth = 2 if wing in ("conformance", "tools/python") else 3
    parts = path.split("/")
    return "/".join(parts[:depth]) if wing and len(parts) > depth else None


def library_of(path):
    """The library of the header `path`, or None if its folder has none."""
    folder = folder_of(path)
    if folder:
        name = folder.split("/")[-1]
        return f"lockstep_verb_{name}" if folder.startswith("tools/verbs/") else f"lockstep_{name}"
    return next((name for module, name in OTHERS.items() if path.startswith(module + "/")), None)


def check(source):
    """Includes of a higher wing."""
    wing = wing_of(source.path)
    if not source.is_cpp or not wing:
        return
    for line, name, _ in source.includes:
        target = "tools/dev" if name.startswith("tools/dev/") else wing_of(name)
        if target == "tools/dev" or (target and WINGS.index(target) > WINGS.index(wing)):
            yield Finding("wing", source.path, line, f"{wing}/ may not include {target}/",
                          "move the declaration to a lower wing, or this file to a higher one")


class Folder:
    """What the files of one folder include, and what its deps.cmake lists."""

    def __init__(self):
        self.includes = {"LIBS": {}, "TEST_LIBS": {}}  # library -> (source, line)
        self.kits = set()  # folders whose *_kit.hpp its tests include
        self.deps = None

    def add(self, own, source):
        """Adds the includes of a file."""
        kind = "TEST_LIBS" if source.is_test and not source.path.endswith("_fuzz.cpp") else "LIBS"
        for line, name, _ in source.includes:
            library = library_of(name)
            if library and library != own and name != VERBS:
                self.includes[kind].setdefault(library, (source, line))
                if name.endswith("_kit.hpp"):
                    self.kits.add(folder_of(name))

    def named(self, variable):
        """The libraries of ours that set(`variable` ...) of deps.cmake lists: name -> line."""
        match = self.deps and re.search(rf"(?<!\w)set\({variable}\s([^)]*)\)", self.deps.text)
        if not match:
            return {}
        return {word.group(): 1 + self.deps.text.count("\n", 0, match.start(1) + word.start())
                for word in re.finditer(r"(?<!\w)lockstep_\w+", match.group(1))}


def check_links(sources):
    """deps.cmake of a folder must list exactly the libraries of ours that its files include."""
    folders = {}
    for source in sources:
        folder = folder_of(source.path)
        if folder and (source.is_cpp or source.path == f"{folder}/deps.cmake"):
            kept = folders.setdefault(folder, Folder())
            if source.is_cpp:
                kept.add(library_of(source.path), source)
            else:
                kept.deps = source
    for name, folder in folders.items():
        for kit in folder.kits & folders.keys():
            for library, where in folders[kit].includes["TEST_LIBS"].items():
                if library != library_of(f"{name}/x"):
                    folder.includes["TEST_LIBS"].setdefault(library, where)
        yield from compare(name, folder)


def compare(name, folder):
    """What deps.cmake lacks, and what it lists needlessly."""
    own = folder.includes["LIBS"]
    tests = {lib: at for lib, at in folder.includes["TEST_LIBS"].items() if lib not in own}
    for variable, needed in (("LIBS", own), ("TEST_LIBS", tests)):
        named = folder.named(variable)
        for library in sorted(needed.keys() - named.keys()):
            source, line = needed[library]
            yield Finding("link", source.path, line,
                          f"{variable} of {name}/deps.cmake lacks {library}",
                          "add it there, or do not include it")
        for library in sorted(named.keys() - needed.keys()):
            yield Finding("link", folder.deps.path, named[library],
                          f"{variable} names {library}, which no file in the folder includes"
                          + (" except a test" if variable == "LIBS" and library in
                             folder.includes["TEST_LIBS"] else ""),
                          "leave it out" if variable == "TEST_LIBS" else
                          "leave it out, or list it as TEST_LIBS if a test includes it")
