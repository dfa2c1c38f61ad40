"""One source file for the rules: its lines, and its C++ without comments and strings."""

import functools
import pathlib
import re
from dataclasses import dataclass

from dev.cxx.lexer import blanked

CPP = (".hpp", ".cpp", ".h", ".c")
TEXT = CPP + (".py", ".sh", ".cmake", ".toml", ".md", ".json", ".txt", ".yml")

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
        return blanked(self.text)

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
