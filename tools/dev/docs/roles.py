"""Gives Griffe what Sphinx reads in our docstrings: roles such as `:meth:` and comments `#:`."""

import re

import griffe

ROLE = re.compile(r":(?:class|meth|func|attr|data|exc|mod):`~?([\w.]+)`")
ABOVE = re.compile(r"\s*#: ?(.*)")
BEHIND = re.compile(r".*?#: ?(.*)")


class Roles(griffe.Extension):
    """Turns roles into links to what they name, and `#:` comments into docstrings."""

    def on_attribute_instance(self, *, attr, **_):
        """A field's comment, behind it or above it, describes it."""
        if attr.docstring is None and attr.lineno:
            text = comment_of(attr.filepath.read_text(encoding="utf-8").splitlines(), attr)
            if text:
                attr.docstring = griffe.Docstring(text, lineno=attr.lineno, parent=attr)

    def on_package(self, *, pkg, **_):
        """Every role of the package, once all of it is known."""
        names = {}
        for each in walk(pkg):
            parts = each.path.split(".")
            for first in range(len(parts)):
                names.setdefault(".".join(parts[first:]), []).append(each)
        for each in walk(pkg):
            if each.docstring is not None:
                each.docstring.value = ROLE.sub(lambda role, to=each: link(role[1], to, names),
                                                each.docstring.value)


def comment_of(lines, attr):
    """The text of `#:` comments behind an attribute's lines, or else above it."""
    behind = [BEHIND.match(line) for line in lines[attr.lineno - 1:attr.endlineno]]
    found = [match[1] for match in behind if match]
    if not found:
        at = attr.lineno - 2
        while at >= 0 and ABOVE.fullmatch(lines[at]):
            found.insert(0, ABOVE.fullmatch(lines[at])[1])
            at -= 1
    return " ".join(found)


def walk(thing):
    """Everything that is defined below `thing`, itself included."""
    yield thing
    for member in thing.members.values():
        if not member.is_alias:
            yield from walk(member)


def link(name, where, names):
    """A link to what a role names: the nearest to where it is said, or the name alone."""
    short = name.removeprefix("lockstep.")
    found = names.get(short, [])
    if not found:
        return f"`{name}`"

    def common(each):
        pairs = zip(each.path.split("."), where.path.split("."))
        return sum(1 for a, b in pairs if a == b)

    return f"[`{name}`][{max(found, key=common).path}]"
