"""The tokens of C++, and its text without comments and literals."""

import dataclasses
import re

COMMENT = r"//[^\n]*|/\*.*?\*/"
RAW = r'(?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"'
QUOTED = r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
NUMBER = r"\d[\w.']*"  # an apostrophe between digits begins no character

TOKEN = re.compile(rf"""
    (?P<space>\s+)
  | (?P<comment>{COMMENT})
  | (?P<directive>^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)
  | (?P<text>{RAW}|{QUOTED})
  | (?P<number>{NUMBER})
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>::|->|\+\+|--|&&|\|\||[=!<>+\-*/%&|^]=|<<=|<<|.)
""", re.X | re.M | re.S)
HIDDEN = re.compile(rf"(?P<hidden>{COMMENT}|(?<!\w){RAW}|{QUOTED})|(?<!\w){NUMBER}", re.S)


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    begin: int

    @property
    def end(self):
        return self.begin + len(self.text)


def tokens_of(text):
    """All tokens except spaces and directives; comments separately, each with the number of the
    token that follows it."""
    tokens, comments = [], []
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "comment":
            comments.append((len(tokens), Token(kind, match.group(), match.start())))
        elif kind not in ("space", "directive"):
            tokens.append(Token(kind, match.group(), match.start()))
    return tokens, comments


def blanked(text):
    """The text with comments and literals replaced by spaces; line numbers are unchanged."""
    def blank(match):
        found = match.group()
        return found if match["hidden"] is None else re.sub(r"[^\n]", " ", found)
    return HIDDEN.sub(blank, text)
