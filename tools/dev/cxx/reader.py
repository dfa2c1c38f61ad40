"""The functions and statements of a C++ file, and the fields of its classes."""

import dataclasses

from dev.cxx.lexer import Token, tokens_of

CLOSES = {"(": ")", "[": "]", "{": "}"}
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<="}


@dataclasses.dataclass(eq=False)
class Node:
    """A statement or a function: tokens `begin` up to `end`, which is after the last one."""
    kind: str
    begin: int
    parent: "Node" = None
    end: int = 0
    condition: tuple = None  # the tokens between its parentheses
    head: tuple = None       # of a function: the tokens before its body
    name: str = ""
    frozen: bool = False     # if constexpr: decided by the compiler
    below: list = dataclasses.field(default_factory=list)

    def everything(self):
        for node in self.below:
            yield node
            yield from node.everything()


class Unread(Exception):
    """A construct that this parser does not support, with its line."""


class Reader:
    """Builds the tree of one file. `nodes` are the functions; statements are below them. `fields`
    are the declarations in classes that are no functions: the tokens from the first up to ';'."""

    def __init__(self, text, path="?"):
        self.text, self.path = text, path
        self.tokens, self.comments = tokens_of(text)
        self.tokens.append(Token("end", "", len(text)))
        self.nodes, self.fields = [], []
        self.in_class = False
        try:
            self.outer(0, len(self.tokens) - 1)
        except IndexError:
            self.fail(len(self.tokens) - 1, "the file ends within a declaration")

    def at(self, index):
        return self.tokens[index].text

    def line(self, index):
        return self.text.count("\n", 0, self.tokens[index].begin) + 1

    def source(self, begin, end):
        """The text of tokens `begin` up to `end`, on one line."""
        return " ".join(self.text[self.tokens[begin].begin:self.tokens[end - 1].end].split())

    def fail(self, index, what):
        raise Unread(f"{self.path}:{self.line(index)}: {what} near '{self.at(index)}'")

    def close(self, index):
        """The index after the bracket that closes the one at `index`."""
        depth = []
        for at in range(index, len(self.tokens)):
            text = self.at(at)
            if text in CLOSES and self.tokens[at].kind == "sign":
                depth.append(CLOSES[text])
            elif depth and text == depth[-1]:
                depth.pop()
                if not depth:
                    return at + 1
        return self.fail(index, "a bracket that is not closed")

    def angles(self, index):
        """The index after the '>' of the template parameters at `index`."""
        depth = 0
        while True:
            depth += {"<": 1, ">": -1}.get(self.at(index), 0)
            index += 1
            if depth == 0:
                return index

    # Members of a file, a namespace or a class.

    def outer(self, index, end):
        while index < end:
            begin = index
            while self.at(index) in ("template", "typedef"):
                index = index + 1 if self.at(index) == "typedef" else self.angles(index + 1)
            word = self.at(index)
            if word in ("public", "private", "protected"):
                index += 2
            elif word in (";", "}"):
                index += 1
            elif word == "namespace" or (word == "extern" and self.at(index + 2) == "{"):
                while self.at(index) not in ("{", ";"):
                    index += 1
                index = self.scope(index, False)
            elif word in ("struct", "class", "union", "enum"):
                index = self.record(index, begin, word == "enum")
            else:
                index = self.member(index, begin)

    def scope(self, index, in_class):
        """Skips a pair of braces with members in it, or the ';' in its place."""
        if self.at(index) != "{":
            return index + 1
        end = self.close(index)
        around, self.in_class = self.in_class, in_class
        self.outer(index + 1, end - 1)
        self.in_class = around
        return end

    def record(self, index, begin, plain):
        """A class; `plain`: an enum, whose contents are skipped. A function may return one."""
        at = index + 1
        while self.at(at) == "alignas" or (self.at(at) == "[" and self.at(at + 1) == "["):
            at = self.close(at + 1 if self.at(at) == "alignas" else at)
        while self.at(at) not in ("{", ";", "(", "="):
            at += 1
        if self.at(at) in ("(", "="):
            return self.member(index, begin)
        return self.close(at) if plain and self.at(at) == "{" else self.scope(at, True)

    def member(self, index, begin):
        """A function, which is kept if it has a body, or any other declaration, which is
        skipped."""
        name, called, assigned, initialises = "", False, False, False
        while self.at(index) != ";":
            text, before = self.at(index), self.at(index - 1)
            if text == "operator":
                name = "operator" + self.at(index + 1)
                index += 2 if self.at(index + 1) != "(" else 3
                continue
            if text == "{":
                initialised = initialises and before not in (")", "}")
                if called and not assigned and not initialised:
                    return self.function(begin, index, name)
                index = self.close(index)
                continue
            if text == "(" and not assigned:
                name = name or (before if self.tokens[index - 1].kind == "name" else "")
                called = True
            assigned = assigned or (text == "=" and not called) or (
                text == "=" and self.at(index + 1) in ("default", "delete", "0"))
            initialises = initialises or (text == ":" and called)
            index = self.close(index) if text in CLOSES else index + 1
        if self.in_class:
            self.fields.append((begin, index))
        return index + 1

    def function(self, begin, body, name):
        node = Node("function", begin, head=(begin, body), name=name)
        self.nodes.append(node)
        node.end = self.block(body, node)
        return self.handlers(node.end, node)  # of a body that begins with `try`

    # Statements. Each function returns the index after what it parsed.

    def block(self, index, parent):
        end = self.close(index)
        index += 1
        while index < end - 1:
            index = self.statement(index, parent)
        return end

    def add(self, kind, begin, parent):
        node = Node(kind, begin, parent, name=parent.name)
        parent.below.append(node)
        return node

    def statement(self, index, parent):
        while self.at(index) == "[" and self.at(index + 1) == "[":  # [[likely]]
            index = self.close(index)
        word = self.at(index)
        if word == "{":
            node = self.add("block", index, parent)
            node.end = self.block(index, node)
            return node.end
        if word in ("if", "while", "for", "switch"):
            return self.compound(index, parent)
        if word == "do":
            return self.do(index, parent)
        if word == "try":
            node = self.add("try", index, parent)
            node.end = self.block(index + 1, node)
            return self.handlers(node.end, parent)
        if word in ("case", "default"):
            node = self.add("label", index, parent)
            while self.at(index) != ":":
                index += 1
            node.end = index + 1
            return node.end
        if word in ("struct", "class", "enum", "union"):
            while self.at(index) != ";":
                index = self.close(index) if self.at(index) == "{" else index + 1
            return index + 1
        return self.simple(index, parent)

    def compound(self, index, parent):
        node = self.add(self.at(index), index, parent)
        index += 1
        if self.at(index) == "constexpr":
            node.frozen = True
            index += 1
        close = self.close(index)
        parts = self.split(index + 1, close - 1, ";")
        if node.kind == "for":
            node.condition = parts[1] if len(parts) == 3 and parts[1][0] < parts[1][1] else None
        else:
            node.condition = parts[-1]
        index = self.statement(close, node)
        if node.kind == "if" and self.at(index) == "else":
            branch = self.add("else", index, node)
            index = branch.end = self.statement(index + 1, branch)
        node.end = index
        return index

    def do(self, index, parent):
        node = self.add("do", index, parent)
        index = self.statement(index + 1, node)
        close = self.close(index + 1)
        node.condition = (index + 2, close - 1)
        node.end = close + 1
        return node.end

    def handlers(self, index, parent):
        """The handlers of a `try`, if there are any."""
        while self.at(index) == "catch":
            node = self.add("catch", index, parent)
            index = node.end = self.block(self.close(index + 1), node)
        return index

    def split(self, begin, end, sign):
        """The tokens from `begin` to `end`, cut at each `sign` outside brackets."""
        parts, start, at = [], begin, begin
        while at < end:
            if self.at(at) == sign:
                parts.append((start, at))
                start = at + 1
            at = self.close(at) if self.at(at) in CLOSES else at + 1
        return parts + [(start, end)]

    def simple(self, index, parent):
        node = self.add("expression", index, parent)
        word = self.at(index)
        while self.at(index) != ";":
            if self.at(index) == "[" and self.opens_lambda(index):
                index = self.function_within(index, node)
            elif self.at(index) in CLOSES and not self.holds_lambda(index):
                index = self.close(index)
            else:
                index += 1
        node.end = index + 1
        if word in ("return", "break", "continue"):
            node.kind = word
        elif word in ("using", "static_assert", "typedef", "constexpr", "static"):
            node.kind = "constant"
        elif word == "CHECK":
            node.kind = "check"
        elif self.declares(node):
            node.kind = "declaration"
        return node.end

    def opens_lambda(self, index):
        before = self.tokens[index - 1]
        return before.text in ("(", ",", "=", "{", "return") and self.at(index + 1) != "["

    def holds_lambda(self, index):
        return any(self.at(at) == "[" and self.opens_lambda(at)
                   for at in range(index, self.close(index)))

    def function_within(self, index, parent):
        index = self.close(index)
        while self.at(index) != "{":
            index = self.close(index) if self.at(index) == "(" else index + 1
        return self.block(index, parent)

    def declares(self, node):
        """Whether two names follow each other before anything is called or assigned."""
        last = None
        for at in range(node.begin, node.end):
            token = self.tokens[at]
            if token.text in ("=", "(", "{", ";", "["):
                break
            last = at
        if last is None or last == node.begin or self.tokens[last].kind != "name":
            return self.at(node.begin) in ("auto", "const")
        before = self.tokens[last - 1]
        return before.kind == "name" or before.text in (">", "&", "*") and last - 1 > node.begin
