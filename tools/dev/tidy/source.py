"""One source file for the rules: its lines, and its C++ without comments and strings."""

import functools
import pathlib
import re
from dataclasses import dataclass

CPP = (".hpp", ".cpp", ".h", ".c")
TEXT = CPP + (".py", ".sh", ".cmake", ".toml", ".md", ".json", ".txt", ".yml")

# A comment, a raw string, a string or a character: what is blanked.
HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'',
    re.S)


@dataclass(frozen=True)
class Finding:
    """A finding: the line, the reason, and the replacement."""
    rule: str
    path: str
    line: int
    reason: str
    replacement: str

    def text(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.reason}; {self.replacement}"


@dataclass(frozen=True)
class Block:
    """A braced block of C++: kind is namespace, type, function or other; lines count from 1."""
    kind: str
    name: str
    first: int
    last: int


class Source:
    """A file, read once; path is relative to the root, with forward slashes."""

    def __init__(self, root, path):
        self.root = pathlib.Path(root)
        self.path = path
        self.text = (self.root / path).read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.split("\n")
        self.module = path.split("/")[0]
        self.layer = path.split("/")[1] if self.module == "core" and path.count("/") > 1 else ""

    @property
    def is_cpp(self):
        return self.path.endswith(CPP)

    @property
    def is_header(self):
        return self.path.endswith((".hpp", ".h"))

    @property
    def is_test(self):
        return self.path.endswith(
            ("_test.cpp", "_fuzz.cpp", "_kit.hpp", "_kit.cpp", "_testing.hpp"))

    @property
    def is_script(self):
        return self.path.endswith(".py") or self.text.startswith("#!")

    @functools.cached_property
    def code(self):
        """The C++ with comments and literals replaced by spaces; line numbers are unchanged."""
        def blank(match):
            return re.sub(r"[^\n]", " ", match.group(0))
        return HIDDEN.sub(blank, self.text)

    @functools.cached_property
    def code_lines(self):
        return self.code.split("\n")

    @functools.cached_property
    def includes(self):
        """(line, name, quoted) of each #include."""
        found = []
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if match:
                found.append((number, match.group(2), match.group(1) == '"'))
        return found

    @functools.cached_property
    def blocks(self):
        return list(scan_blocks(self.code))


def classify(head, inside):
    """The kind of block that a '{' opens, from the text since the last statement and the enclosing
    block."""
    words = head.strip()
    if re.search(r"\bnamespace\b", words) or re.search(r'\bextern\s*$', words):
        return "namespace"
    if inside in ("function", "other"):
        return "other"
    if re.search(r"\b(class|struct|union)\b", words) and not re.search(r"\benum\b|\)\s*$", words):
        return "type"
    if re.search(r"\)[^=]*$", words) and not re.search(r"=\s*$", words):
        return "function"
    return "other"


def scan_blocks(code):
    """The braced blocks of C++ text without directives, each reported when it closes."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group(0)),
                  code, flags=re.M)
    stack = []
    start = 0
    line = 1
    for index, character in enumerate(code):
        if character == "\n":
            line += 1
        if character == "{":
            head = code[start:index]
            inside = stack[-1][0] if stack else "namespace"
            kind = classify(head, inside)
            names = re.findall(r"([A-Za-z_]\w*)\s*(?:<[^<>()]*>)?\s*\(", head)
            first = line - head.lstrip().count("\n")
            stack.append((kind, names[0] if names else "", first))
        elif character == "}" and stack:
            kind, name, first = stack.pop()
            yield Block(kind, name, first, line)
        if character in "{};" or (character == ":" and re.search(
                r"\b(public|private|protected)\s*$", code[start:index])):
            start = index + 1
