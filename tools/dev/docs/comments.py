#!/usr/bin/env python3
"""Doxygen's input filter: prints a header with its plain comments as Doxygen's.

A comment above a declaration becomes `///`, one behind it `///<`, and the first of a file describes
the file. A citation becomes a sentence with the RFC's section. A comment inside a function body, or
one with a blank line after it, stays as it is. The number of lines does not change, so Doxygen's
warnings name the lines of the source.
"""

import re
import sys

SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
LEFT_OUT = re.compile(r"\btemplate\s*<[^{;]*?>\s*(?=class|struct|union)|alignas\([^)]*\)|"
                      r"\"[^\"]*\"")
COMMENT = re.compile(r"(\s*)//(.*)")
CITED = re.compile(r"= rfc(\d+)#(\S+)")
REQUIRED = re.compile(r"# \S+ ?(.*)")
SECTION = re.compile(r"-+ (.*?)\.? -+")
BLOCK = re.compile(r"(\s*)/\*(?!\*)(.*)")
CODE_SPAN = re.compile(r"(`[^`]*`)")
FORWARD = re.compile(r"\s*(struct|class|namespace|using namespace)\b[^{(=]*[;{]\s*$")


def escaped(text):
    """`text` without what Doxygen would take for a command, a tag or a link."""
    parts = CODE_SPAN.split(text)
    return "".join(part if part.startswith("`") else
                   re.sub(r"([\\@<>&#%$\"]|(?<!\w)::)", r"\\\1", part) for part in parts)


def split(line):
    """The code of a line and its comment, or None where it has none."""
    quoted = ""
    for place, letter in enumerate(line):
        if quoted:
            if letter == quoted and line[place - 1] != "\\":
                quoted = ""
        elif letter == '"' or (letter == "'" and not line[place - 1:place].isalnum()):
            quoted = letter
        elif line.startswith("//", place):
            return line[:place], line[place + 2:]
    return line, None


class Scopes:
    """Which braces are open: whether a line stands among declarations or in a body."""

    def __init__(self):
        self.open = []
        self.statement = ""
        self.groups = []

    def declares(self):
        return all(self.open)

    def read(self, code):
        """Takes the code of a line; returns how many groups end with it."""
        ended = 0
        for letter in LEFT_OUT.sub("", code):
            if letter == "{":
                head = re.sub(r"template\s*<.*>", "", self.statement)
                self.open.append(bool(SCOPE.search(head)) and "(" not in head and "=" not in head)
                self.statement = ""
            elif letter == "}":
                if self.open:
                    self.open.pop()
                while self.groups and self.groups[-1] > len(self.open):
                    self.groups.pop()
                    ended += 1
                self.statement = ""
            elif letter == ";":
                self.statement = ""
            else:
                self.statement += letter
        return ended


def sentence(comment):
    """A comment's text for Doxygen, a citation as words."""
    cited = CITED.match(comment)
    if cited:
        return f" RFC {cited[1]}, section {cited[2]}:"
    required = REQUIRED.match(comment)
    return " " + escaped(required[1]) + "." if required else escaped(comment)


def is_attached(lines, at):
    """Whether a declaration follows the comment at line `at` directly."""
    while at < len(lines) and COMMENT.fullmatch(lines[at]):
        at += 1
    return at < len(lines) and lines[at].strip() not in ("", "}", "};")


def pictures(lines):
    """The lines of comments that are drawn, indented further than words: as (first, last)."""
    found, first = [], None
    for at, line in enumerate(lines + [""]):
        drawn = re.match(r"\s*//(   |\s*[|+*-] ?[^-\s]*  )", line) is not None
        if drawn and first is None:
            first = at
        elif not drawn and first is not None:
            found.append((first, at - 1))
            first = None
    return found


class Filter:
    """One header, line by line."""

    def __init__(self, text):
        self.lines = text.splitlines()
        self.scopes = Scopes()
        self.behind = None  # the column of the comment behind the last declaration
        self.starts = {first for first, _ in pictures(self.lines)}
        self.ends = {last for _, last in pictures(self.lines)}
        self.drawn = False
        self.block = ""  # of a comment between /* and */: "kept" or "read"

    def printed(self):
        out = [self.line(at, line) for at, line in enumerate(self.lines)]
        return "\n".join(self.first(out)) + "\n"

    def first(self, out):
        """The first comment describes the file: its \\file stands where the include guard was."""
        at = next((at for at, line in enumerate(self.lines) if not line.startswith("//")), 0)
        if not self.lines or not self.lines[at].startswith(("#pragma once", "#ifndef")):
            return out
        head = ["///" + escaped(each[2:]) for each in self.lines[:at]] + ["/// \\file"]
        if self.lines[at].startswith("#ifndef"):
            return head + [""] + out[at + 2:-1] + [""]
        return head + out[at + 1:]

    def line(self, at, line):
        if self.block or BLOCK.fullmatch(line):
            return self.of_block(at, line)
        line = re.sub(r"///+<?", "//", line, count=1)  # some are Doxygen's already
        alone = COMMENT.fullmatch(line)
        if alone:
            return self.comment(at, line, alone)
        code, comment = split(line)
        among = self.scopes.declares()
        ended = 0 if code.lstrip().startswith("#") else self.scopes.read(code)
        self.behind = None
        code = "/**@}*/" * ended + code
        if comment is None or not code.strip():
            return code if comment is None else line
        described = among and self.scopes.declares() and not code.lstrip().startswith("#")
        if described and not FORWARD.match(code):
            self.behind = len(line) - len(comment) - 2
            return f"{code}///< {escaped(comment.strip())}"
        return code.rstrip()

    def of_block(self, at, line):
        """A line of a comment of C."""
        begins = BLOCK.fullmatch(line) if not self.block else None
        text = line
        if begins:
            last = next(last for last in range(at, len(self.lines)) if "*/" in self.lines[last])
            follows = self.lines[last + 1:last + 2]
            section = SECTION.fullmatch(begins[2].replace("*/", "").strip())
            if section and last == at:
                return self.section(begins[1], section[1])
            read = self.scopes.declares() and follows and follows[0].strip()
            self.block = "read" if read and not follows[0].startswith("#") else "kept"
        if self.block == "read":
            text = escaped(line.replace("*/", "")) + ("*/" if "*/" in line else "")
            text = text.replace("/*", "/**", 1) if begins else text
        if "*/" in line:
            self.block = ""
        return text

    def comment(self, at, line, alone):
        indent, text = alone[1], alone[2]
        if not self.scopes.declares():
            return line
        if self.behind is not None and len(indent) == self.behind:
            return f"{indent}///< {escaped(text.strip())}"
        self.behind = None
        section = SECTION.fullmatch(text.strip())
        if section:
            return self.section(indent, section[1])
        if not is_attached(self.lines, at):
            return line
        if at in self.starts:
            self.drawn = True
        if self.drawn:
            text = f" \\verbatim {text}" if at in self.starts else text
            if at in self.ends:
                self.drawn = False
                text += " \\endverbatim"
            return f"{indent}///{text}"
        return f"{indent}///{sentence(text)}"

    def section(self, indent, title):
        """`// --- title ---` begins a group of members; the one before ends."""
        depth = len(self.scopes.open)
        title = escaped(title.replace("`", ""))  # Doxygen reads no code here
        ends = ""
        if depth in self.scopes.groups:
            ends = "/**@}*/ "
        else:
            self.scopes.groups.append(depth)
        return f"{indent}{ends}/** \\name {title} */ /**@{{*/"


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("--help", "-h"):
        print("usage: comments.py HEADER\n\n" + __doc__)
        print("example: comments.py core/stack/stack.hpp")
        return 0 if sys.argv[1:] in (["--help"], ["-h"]) else 2
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(Filter(file.read()).printed())
    return 0


if __name__ == "__main__":
    sys.exit(main())
