"""The experiments by name, in the order of --list."""

from tools.verbs.paper import cubic, dctcp, fall_floyd, hystart, incast, prr, shrew

ALL = {each.NAME: each for each in (prr, cubic, fall_floyd, incast, dctcp, shrew, hystart)}

