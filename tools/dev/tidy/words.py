"""Words that no file may contain: paths of one machine, hosts of registries, open tasks."""

import re

from dev.tidy.source import Finding

# Composed from pieces, so that this file does not contain what it searches for.
REGISTRIES = (r"\b(?:py" r"pi|python" r"hosted|cra" r"tes|npm" r"js|ma" r"ven|deb" r"ian|"
              r"ubu" r"ntu|go" r"lang)\.(?:org|io|com|net)\b")
WORDS = [
    ("machine-path", re.compile(r"(?<![\w.])/(?:wo" r"rk|ro" r"ot|ho" r"me/\w+)/\w"),
     "this path is specific to one machine", "take it from an argument or from LOCKSTEP_*"),
    ("registry", re.compile(REGISTRIES, re.I), "hosts of registries are configured on each machine",
     "use the ordinary client, which knows it"),
    ("unfinished", re.compile(r"\b(?:TO" r"DO|FIX" r"ME|not (?:yet )?imple" r"mented|unimple"
                              r"mented)\b"),
     "something is unfinished", "do it, or leave it out and say so in README"),
    # Not the option of pytest that names a program on a device.
    ("origin", re.compile(r"\bC" r"EO\b|(?<!--)\b(?:sub-?)?ag" r"ents?\b(?! of)"
                          r"|co-auth" r"ored-by", re.I),
     "the origin of the text is not part of it", "leave it out"),
]
# A citation's lines describe an RFC's requirement, and may use its words.
QUOTED = re.compile(r"^\s*(?://#|##) ")


def check(source):
    for number, line in enumerate(source.lines, 1):
        for rule, pattern, reason, replacement in WORDS:
            match = pattern.search(line)
            if match and not (rule == "unfinished" and QUOTED.match(line)):
                yield Finding(rule, source.path, number, f"'{match.group(0)}': {reason}",
                              replacement)
