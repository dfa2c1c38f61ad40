"""The experiments by name, in the order of --list."""

from tools.verbs.paper import (cubic, dctcp, fall_floyd, hystart, incast, prr, shrew,
                               window_size)

ALL = {each.NAME: each for each in (prr, cubic, fall_floyd, incast, dctcp, shrew, hystart,
                                      window_size)}

