# The cases of transfers on the wire: every pair of levels of two factors occurs in a case.
"""Chosen by a greedy search without randomness, so the selection is the same everywhere."""
import collections
import itertools
import os

FACTORS = {
    "direction": ("download", "upload", "load-download", "load-upload"),
    "driver": ("tap", "packet", "xdp", "xdp-generic"),
    "network": ("v4-576", "v4-1500", "v4-9000", "v6-1280", "v6-1500", "v6-9000"),
    "size": (1, 1_461, 65_537, 1_048_574, 10_000_001, 100_000_000),
    "loss": ("none", "1 in 1000", "1 in 50"),
    "order": ("kept", "1 in 100 late", "1 in 10 late"),
    "rate": ("open", "200 Mbit/s", "30 Mbit/s"),
}
SMALL_OCTETS = 1_048_574  # larger cases are for tools/evidence wire
SMALL = {**FACTORS, "size": tuple(size for size in FACTORS["size"] if size <= SMALL_OCTETS)}
FULL = os.environ.get("LOCKSTEP_WIRE") == "full"


def may_be(pair):
    """AF_XDP has no room for a frame of 9000 octets on veth: refused, as test_serve.py checks."""
    (one, first), (other, second) = sorted(pair)
    return not (one == "driver" and other == "network" and first.startswith("xdp") and
                second.endswith("9000"))


def pairs_of(case):
    """Every pair of its levels."""
    return {frozenset(pair) for pair in itertools.combinations(case.items(), 2)}


def wanted(factors):
    """Every possible pair of levels."""
    out = set()
    for one, other in itertools.combinations(factors, 2):
        for first, second in itertools.product(factors[one], factors[other]):
            if may_be([(one, first), (other, second)]):
                out.add(frozenset([(one, first), (other, second)]))
    return out


def next_case(factors, left, used):
    """A case around the first pair that is left; each further level is the one that covers most
    pairs, and of several the one used least."""
    begin = min(left, key=lambda pair: sorted(map(str, pair)))
    case = dict(begin)
    for factor, levels in factors.items():
        if factor in case:
            continue
        fitting = [level for level in levels
                   if all(may_be([(factor, level), item]) for item in case.items())]
        case[factor] = max(fitting, key=lambda level: (
            len(pairs_of({**case, factor: level}) & left), -used[level], -levels.index(level)))
    return {factor: case[factor] for factor in factors}


def cases(factors=None):
    """The selection, in the order of the search; every test run takes those of SMALL."""
    factors = FACTORS if factors is None else factors
    left = wanted(factors)
    out = []
    used = collections.Counter()
    while left:
        out.append(next_case(factors, left, used))
        used.update(out[-1].values())
        left -= pairs_of(out[-1])
    return out


def giants():
    """1 GB in each direction, sent by each side."""
    plain = {"size": 1_000_000_000, "loss": "none", "order": "kept", "rate": "open"}
    return [{"direction": direction, "driver": driver, "network": "v4-1500", **plain}
            for direction, driver in zip(FACTORS["direction"], ("tap", "packet", "xdp", "tap"))]


def is_small(case):
    """Whether it is part of every test run."""
    return case["size"] <= SMALL_OCTETS


def name_of(case):
    """The name that pytest shows."""
    return " ".join(str(level) for level in case.values())
