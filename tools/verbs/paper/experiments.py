"""The experiments by name, in the order of --list."""

from tools.verbs.paper import cubic, fall_floyd, prr

ALL = {each.NAME: each for each in (prr, cubic, fall_floyd)}

