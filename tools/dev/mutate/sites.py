"""Finds the mutants below each citation, and writes the file that contains them."""

import collections
import dataclasses
import hashlib
import pathlib
import re

from dev.cxx.reader import ASSIGNS, CLOSES, Reader
from dev.mutate import cited as citing

BRANCHES = ("if", "while", "for", "do")
LEFT = ASSIGNS | {"return", ",", "?", ":", "<<", ";"}
INCLUDED = re.compile(r'^#include "([^"]+)"', re.M)
INCLUDE = '#include "core/units/mutant.hpp"\n'


@dataclasses.dataclass
class Mutant:
    """One way to break one place. `id` stays the same as long as the surrounding code of its
    function does."""
    file: str
    line: int
    function: str
    kind: str  # negated, never, skipped
    code: str  # the code that is changed, on one line
    rows: tuple
    number: int = 0
    id: str = ""


@dataclasses.dataclass
class Site:
    """Tokens from `begin` up to `end`: a condition, or a statement or body that can be skipped."""
    begin: int
    end: int
    line: int
    function: str
    skips: str = ""  # text to insert before a statement or into a body; empty: a condition
    name: str = ""   # the variable that the condition declares
    rows: set = dataclasses.field(default_factory=set)


class File:
    """The sites of one file of core/. `ids` are the ids that it cites, by line; `left` becomes the
    citations above what has no branch."""

    def __init__(self, root, path, ids):
        self.path, self.ids = path, ids
        self.text = (pathlib.Path(root) / path).read_text(encoding="utf-8")
        self.reader = Reader(self.text, path)
        self.sites, self.left = {}, []
        cited = self.citations()
        functions = {node.begin: node for node in self.reader.nodes}
        statements = {}
        for function in self.reader.nodes:
            for node in function.everything():
                statements.setdefault(node.begin, node)
        for at, (rows, line) in cited.items():
            if at in functions:
                found = self.in_function(functions[at], cited)
            else:
                found = self.in_statement_at(at, statements)
            if isinstance(found, str):
                self.left.append((line, sorted(rows), found))
                continue
            for site in found:
                self.sites.setdefault((site.begin, site.end), site).rows |= rows

    def citations(self):
        """Each token that stands under citations: their ids, and the line of the first."""
        cited = {}
        for follows, comment in self.reader.comments:
            line = self.text.count("\n", 0, comment.begin) + 1
            if line in self.ids:
                cited.setdefault(follows, (set(), line))[0].update(self.ids[line])
        return cited

    # Finding sites.

    def site(self, begin, end, node, **more):
        return Site(begin, end, self.reader.line(begin), node.name, **more)

    def in_function(self, function, cited):
        """The branches of a function that have no citation of their own; if there are none and it
        returns nothing, its body; else the reason why there is no site."""
        sites = []
        for node in function.everything():
            if node.begin not in cited:
                sites += self.condition(node) or self.choices(node)
                if node.kind == "return" and not self.choices(node) and self.answers(function):
                    sites += self.answer(node)
        if sites:
            return sites
        if self.returns(function) != "void":
            return "a computation"
        return [self.site(function.head[1], function.end, function, skips="return;")]

    def in_statement_at(self, at, statements):
        """The same for the statement that begins at this token or contains it."""
        read = self.reader
        if read.at(at) == "}" and read.at(at + 1) == "else":
            node = statements[at + 2]
            return self.around(node) if node.kind == "block" else self.in_statement(node)
        node = statements.get(at) or innermost(statements.values(), at)
        return self.in_statement(node) if node and read.at(at) != "}" else "data"

    def in_statement(self, node):
        """The sites of one statement, or the reason why it has none."""
        while node.kind in ("declaration", "check", "label", "constant", "block"):
            found = self.choices(node) or self.truth(node)
            if found:
                return found
            after = following(node)
            if after is None:
                return "a computation"
            node = after
        found = self.condition(node)
        if found:
            return found
        if node.kind == "return":
            return self.in_return(node)
        found = self.choices(node) if node.kind == "expression" else []
        if node.kind in ("switch", "if"):
            return "a computation"
        return found + [self.site(node.begin, node.end, node, skips="statement")]

    def in_return(self, node):
        function = top(node)
        if node.end == node.begin + 2:
            return [self.site(node.begin, node.end, node, skips="statement")]
        found = self.choices(node)
        if not found and self.answers(function) and not self.constant(node):
            found = self.answer(node)
        if found:
            return found
        return self.around(node)

    def around(self, node):
        """The branch that contains a statement without a branch of its own."""
        above = node.parent
        while above.kind in ("block", "else"):
            above = above.parent
        return self.condition(above) or "a computation"

    def condition(self, node):
        if node.kind not in BRANCHES or node.condition is None or node.frozen:
            return []
        begin, end = node.condition
        named = ""
        for at in range(begin, end):
            if self.reader.at(at) == "=":
                named = self.reader.at(at - 1)
        return [self.site(begin, end, node, name=named)]

    def choices(self, node):
        """The condition of each '?' in a simple statement."""
        if node.kind not in ("return", "expression", "declaration"):
            return []
        sites, read = [], self.reader
        for at in range(node.begin, node.end):
            if read.at(at) == "?":
                begin = at
                while begin > node.begin and not self.bounds(begin - 1):
                    begin = self.opens(begin - 1)
                sites.append(self.site(begin, at, node))
        return sites

    def bounds(self, at):
        text = self.reader.at(at)
        return text in LEFT or text in CLOSES

    def opens(self, at):
        """The bracket that the one at `at` closes, or `at` if it closes none."""
        depth = 0
        while True:
            text = self.reader.at(at)
            depth += (text in CLOSES.values()) - (text in CLOSES)
            if depth == 0:
                return at
            at -= 1

    def truth(self, node):
        """The initializer of a bool declaration, unless it is a constant."""
        read = self.reader
        texts = [read.at(at) for at in range(node.begin, node.end)]
        if node.kind != "declaration" or "bool" not in texts[:2] or "=" not in texts:
            return []
        begin = node.begin + texts.index("=") + 1
        constant = node.end - 1 - begin == 1 and read.at(begin) in ("true", "false")
        return [] if constant else [self.site(begin, node.end - 1, node)]

    def answer(self, node):
        if self.constant(node):
            return []
        return [self.site(node.begin + 1, node.end - 1, node)]

    def constant(self, node):
        return self.reader.at(node.begin + 1) in ("true", "false") and node.end == node.begin + 3

    def returns(self, function):
        words = []
        for at in range(*function.head):
            if self.reader.at(at) == "(":
                break
            words.append(self.reader.at(at))
        if "&" in words or "*" in words:
            return "?"
        return next((word for word in words if word in ("void", "bool")), "?")

    def answers(self, function):
        return self.returns(function) == "bool"

    # Writing.

    def mutants(self):
        """All mutants of the file, in the order of their places, numbered from 0."""
        seen, made = collections.Counter(), []
        for _, site in sorted(self.sites.items()):
            code = self.reader.source(site.begin, site.end)
            if site.skips == "return;":
                code = "{ ... }"
            for kind in ("skipped",) if site.skips else ("negated", "never"):
                key = (self.path, site.function, kind, code)
                digest = hashlib.sha256("\0".join(key).encode()).hexdigest()[:8]
                seen[key] += 1
                again = f"-{seen[key]}" if seen[key] > 1 else ""
                made.append(Mutant(self.path, site.line, site.function, kind, code,
                                   tuple(sorted(site.rows)), len(made), digest + again))
        return made

    def written(self, first):
        """The file's text with its mutants in it, numbered from `first`."""
        number, inserts = first, []
        tokens = self.reader.tokens
        for _, site in sorted(self.sites.items()):
            begin, end = tokens[site.begin].begin, tokens[site.end - 1].end
            if site.skips == "return;":
                inserts.append((begin + 1, 0, f" if (!lockstep::mutants::kept({number})) return;"))
            elif site.skips:
                inserts.append((begin, 0, f"{{ if (lockstep::mutants::kept({number})) "))
                inserts.append((end, 1, " }"))
            else:
                opens = f"lockstep::mutants::branch({number}, static_cast<bool>("
                if site.name:
                    inserts.append((end, 1, f"; {opens}{site.name}))"))
                else:
                    inserts.append((begin, 0, opens))
                    inserts.append((end, 1, "))"))
            number += 1 if site.skips else 2
        text = self.text
        order = sorted(range(len(inserts)), key=lambda i: (inserts[i][0], -inserts[i][1], i))
        for i in reversed(order):
            at, _, what = inserts[i]
            text = text[:at] + what + text[at:]
        head = text.index("#include") if "#include" in text else text.index("\n") + 1
        return text[:head] + INCLUDE + text[head:]


def top(node):
    while node.parent:
        node = node.parent
    return node


def following(node):
    """The statement after a node in the same block, or None."""
    beside = node.parent.below
    index = beside.index(node) + 1
    return beside[index] if index < len(beside) else None


def innermost(nodes, at):
    around = [node for node in nodes if node.begin < at < node.end]
    return min(around, key=lambda node: node.end - node.begin, default=None)


def files_of(root):
    """The sources of core/ except tests, fuzzers and their kits. Templates in headers that core/
    itself does not instantiate are in no object of core/ and are skipped."""
    root = pathlib.Path(root)
    ids = citing.read(root).code
    paths = {str(path.relative_to(root)): path for path in sorted((root / "core").rglob("*"))}
    files = [File(root, name, ids.get(name, {})) for name, path in paths.items()
             if path.suffix in (".cpp", ".hpp", ".h")
             and not path.stem.endswith(("_test", "_fuzz", "_kit", "fuzz_input"))]
    included = set(INCLUDED.findall("".join(file.text for file in files)))
    for file in files:
        if file.path.endswith((".hpp", ".h")) and file.path not in included:
            file.left += [(site.line, sorted(site.rows), "nothing in core/ includes it")
                          for site in file.sites.values()]
            file.sites = {}
    return files
