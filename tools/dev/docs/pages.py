"""The READMEs as pages of the site: where each stands, and whether what they name exists."""

import fnmatch
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple, Optional

FRONT = "README.md"
START = "start.md"
CHANGELOG = "tools/dev/CHANGELOG.md"
# The sections of the front page that become the page of three ways to start.
START_SECTIONS = ("Three ways to start", "A short program", "Building and installing")
# The tabs of the site, and the folders whose READMEs each one holds: the first that fits.
TABS = (
    ("Core", ("core",)),
    ("Simulator", ("sim",)),
    ("Drivers", ("hw",)),
    ("Conformance", ("conformance", "pcaps")),
    ("Contributing", ("tools/dev",)),
    ("Tools", ("tools",)),
)
ORDER = ("Core", "Simulator", "Drivers", "Conformance", "Tools", "Contributing")
SUFFIXES = (".md", ".hpp", ".cpp", ".h", ".c", ".py", ".toml", ".cmake", ".pkt", ".txt", ".pcapng")
# What a build or a run makes, and headers of ns-3 and of the TILE-Gx kit.
ELSEWHERE = ("build/", "lockstep-report/", "ns3/", "gxio/", "tmc/", "arch/")
# A suffix alone, what `sweep` writes, and headers of ns-3.
OUTSIDE = re.compile(r"\.\w+|.*\.results\.jsonl|(ns3/)?[*\w-]*-[a-z]+\.h|singleton\.h")
FENCE = re.compile(r"\s*(```|~~~)")
SPAN = re.compile(r"`([^`]+)`")
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
PATH = re.compile(r"[A-Za-z0-9_.*{},-]+(/[A-Za-z0-9_.*{},-]+)*/?")
PLACEHOLDER = re.compile(r"(?<![A-Za-z])[A-Z]{2,}(?![A-Za-z])|NN|\bN\b")


class Finding(NamedTuple):
    """Something that is wrong with the documentation."""

    file: str
    line: int
    what: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.what}"


class Tree:
    """The files that the repository tracks, or that are new and not ignored."""

    def __init__(self, root):
        self.root = Path(root)
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root,
            capture_output=True, text=True, check=True)
        self.files = sorted(name for name in listed.stdout.splitlines()
                            if (self.root / name).is_file())
        self.known = set(self.files)
        for name in self.files:
            self.known.update(str(parent) for parent in Path(name).parents)
        self.stems = {name.rsplit(".", 1)[0] for name in self.files}
        self.names = {Path(name).name for name in self.files}
        self.tops = {name.split("/", 1)[0] for name in self.files if "/" in name}

    def readmes(self):
        return [name for name in self.files if Path(name).name == FRONT]

    def text(self, name):
        return (self.root / name).read_text(encoding="utf-8")

    def find(self, path, folder):
        """The file or folder that `path` names, read in `folder`: from there, from the root, or
        from a folder between the two. None: there is no such thing."""
        path = path.rstrip("/")
        bases = [""] + [str(each) for each in [Path(folder), *Path(folder).parents][:-1]]
        for base in reversed(bases):
            whole = os.path.normpath(f"{base}/{path}" if base else path)
            if whole in self.known or whole in self.stems:
                return whole
            if "*" in path and fnmatch.filter(self.known, whole):
                return whole
        return None

    def below(self, path, folders):
        """Whether `path` is the end of what lies below one of these folders; a name alone may be
        that of any file."""
        if path in self.names:
            return True
        for folder in folders:
            inside = f"{folder}/" if folder else ""
            pattern = f"{inside}*/{path.rstrip('/')}"
            if any(name.startswith(inside) and fnmatch.fnmatch(name, pattern)
                   for name in self.known):
                return True
        return False


def alternatives(path):
    """`a/{b,c}.hpp` as its two paths."""
    braces = re.search(r"\{([^{}]*)\}", path)
    if not braces:
        return [path]
    return [path[:braces.start()] + each + path[braces.end():] for each in braces[1].split(",")]


def named_path(span, tops):
    """The path that a span of code names, or None where it is something else."""
    word = span.split()[0] if span.split() else ""
    if word != span and not (word.startswith(("tools/", "pcaps/"))):
        return None  # a command with its arguments counts if it is a program of the tree
    word = word.split("#")[0]
    if not PATH.fullmatch(word) or PLACEHOLDER.search(word.replace("README", "").replace(
            "CHANGELOG", "").replace("CMakeLists", "")):
        return None
    if word.startswith(ELSEWHERE) or OUTSIDE.fullmatch(word):
        return None
    if word.split("/", 1)[0] in tops and "/" in word:
        return word
    return word if word.endswith(SUFFIXES) or (word.endswith("/") and len(word) > 1) else None


def prose(text):
    """The lines outside fenced code, with their numbers from 1."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def check(tree):
    """Every file and folder that a README names, as code or as a link, must exist."""
    findings = []
    for name in [*tree.readmes(), *(each for each in (CHANGELOG,) if each in tree.known)]:
        folder = str(Path(name).parent) if "/" in name else ""
        if name != CHANGELOG:
            findings += check_paths(tree, name, folder)
        for number, line in prose(tree.text(name)):
            for _, target in LINK.findall(SPAN.sub("", line)):
                if target_of(tree, target, folder) == "":
                    findings.append(Finding(name, number, f"the link to {target} is dead"))
    return findings


def check_paths(tree, name, folder):
    """The paths in code of one README: from its folder, or below a folder that the page names."""
    named = [(number, each) for number, line in prose(tree.text(name))
             for span in SPAN.findall(line)
             for each in alternatives(named_path(span, tree.tops) or "") if each]
    found = {each: tree.find(each, folder) for _, each in named}
    folders = {folder} if folder else set()
    for whole in found.values():
        folders.update([] if whole is None else [whole, str(Path(whole).parent)])
    return [Finding(name, number, f"`{each}` names nothing in the tree") for number, each in named
            if found[each] is None and not tree.below(each, folders - {"."})]


def target_of(tree, target, folder) -> Optional[str]:
    """The file of the tree that a link leads to; None: it leads elsewhere; "": it is dead."""
    if re.match(r"[a-z]+:|#", target):
        return None
    path = target.split("#")[0]
    whole = str((tree.root / folder / path).resolve())
    inside = whole.removeprefix(str(tree.root.resolve()) + "/")
    return inside if inside in tree.known else ""


def title_of(text):
    """The short title of a page: the name before the colon of its heading."""
    heading = text.splitlines()[0].removeprefix("# ") if text else ""
    short = heading.split(":")[0].replace("`", "").strip()
    return short.rsplit("/", 1)[-1] if re.fullmatch(r"[\w/]+", short) else short


def as_page(tree, name, text):
    """A README's text as a page: paths of other READMEs become links, and
    lists get their blank line."""
    folder = str(Path(name).parent) if "/" in name else ""
    depth = len(Path(name).parents) - 1
    out, fenced, before = [], False, ""
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            line = linked(tree, line, folder, "../" * depth)
            starts = re.match(r"(- |\* |\d+\. )", line)
            if starts and before.strip() and not re.match(r"(- |\* |\d+\. |\s)", before):
                out.append("")
            nested = re.match(r"( {2,3})(- |\* )", line)
            if nested:
                line = "    " + line.lstrip()
        out.append(line)
        before = line
    return "\n".join(out) + "\n"


def linked(tree, line, folder, up):
    """A line whose spans of code that name a page lead there."""
    if line.startswith("#"):
        return line

    def link(match):
        path = named_path(match[1], tree.tops)
        if not path or "*" in path or "{" in path or line[:match.start()].endswith("["):
            return match[0]
        found = tree.find(path, folder)
        page = found if found and Path(found).name == FRONT else f"{found}/{FRONT}"
        own = f"{folder}/{FRONT}" if folder else FRONT
        if found and page in tree.known and page != own:
            return f"[{match[0]}]({up}{page})"
        return match[0]

    return SPAN.sub(link, line)


def split_front(text):
    """The front page without the sections that become the page of starts, and that page; findings
    where such a section is missing."""
    parts = re.split(r"(?m)^(?=## )", text)
    named = {part.splitlines()[0].removeprefix("## "): part for part in parts if part[:3] == "## "}
    findings = [Finding(FRONT, 1, f"has no section '{each}', which the site needs")
                for each in START_SECTIONS if each not in named]
    start = "# Three ways to start\n\n"
    for each in START_SECTIONS:
        part = named.get(each, "")
        start += part.split("\n", 1)[1].lstrip() if each == START_SECTIONS[0] and part else part
    front = "".join(part for part in parts
                    if part[:3] != "## " or part.splitlines()[0][3:] not in START_SECTIONS)
    hint = ("Next: [three ways to start](start.md): test a TCP, simulate a network, deploy or "
            "embed the stack.\n\n## What it does")
    return front.replace("## What it does", hint, 1), start, findings


def tab_of(name):
    """The tab of a README, or None."""
    for tab, tops in TABS:
        if name.startswith(tuple(f"{top}/" for top in tops)):
            return tab
    return None


def write(tree, folder):
    """Writes the pages below `folder`; returns the navigation and the findings."""
    folder = Path(folder)
    findings = check(tree)
    groups = {tab: [] for tab, _ in TABS}
    for name in tree.readmes():
        text = tree.text(name)
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if name == FRONT:
            text, start, missing = split_front(text)
            findings += missing
            (folder / START).write_text(as_page(tree, START, start), encoding="utf-8")
        else:
            tab = tab_of(name)
            if tab is None:
                findings.append(Finding(name, 1, "has no place in the site: see TABS in pages.py"))
                continue
            groups[tab].append(name)
        place.write_text(as_page(tree, name, text), encoding="utf-8")
        copy_linked(tree, name, text, folder)
    if CHANGELOG in tree.known:
        (folder / CHANGELOG).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tree.root / CHANGELOG, folder / CHANGELOG)
        groups["Contributing"].insert(1, CHANGELOG)
    nav = [{"Lockstep": [{"What it is": FRONT}, {"Three ways to start": START}]}]
    for tab in ORDER:
        nav.append({tab: nested(tree, groups[tab])})
    return nav, findings


def nested(tree, names):
    """The pages of a tab: its first page, then groups by folder."""
    entries, groups = names[:1], {}
    for name in names[1:]:
        above = [each for each in names[1:] if Path(each).name == FRONT
                 and name.startswith(str(Path(each).parent) + "/")]
        groups.setdefault(above[0] if above else name, []).append(name)
    for top, inner in groups.items():
        title = title_of(tree.text(top))
        if len(inner) == 1:
            entries.append({title: top})
        else:
            titled = [{title_of(tree.text(each)): each} for each in inner[1:]]
            entries.append({title: [top, *titled]})
    return entries


def copy_linked(tree, name, text, folder):
    """Copies the pictures and files that a page links to."""
    own = str(Path(name).parent) if "/" in name else ""
    for _, line in prose(text):
        for _, target in LINK.findall(SPAN.sub("", line)):
            found = target_of(tree, target, own)
            if found and (tree.root / found).is_file() and not found.endswith(FRONT):
                (folder / found).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(tree.root / found, folder / found)
