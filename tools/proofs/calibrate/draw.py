# Draws worlds and their connections from a seed.
"""A world has kernel settings (of its namespaces); a flow has socket, path and capture settings."""
import dataclasses
import random
import socket

from proofs.calibrate import lane
from proofs.calibrate.relay import Terms

FLOWS_IN_WORLD = 40
ODD, ODD_EVERY = 10_000, 5  # worlds from this number on are odd, one for five of the others
TCP = socket.IPPROTO_TCP
NODELAY, CORK, QUICKACK, CONGESTION, USER_TIMEOUT = 1, 3, 12, 13, 18
KEEPIDLE, KEEPINTVL, KEEPCNT, MAXSEG = 4, 5, 6, 2
# Program behaviours and their weights.
HABITS = {"download": 20, "upload": 12, "both_ways": 6, "ping_pong": 8, "small_writes": 9,
          "banner": 5, "slow_reader": 8, "half_close": 4, "reset_midway": 4, "close_unread": 3,
          "close_early": 3, "refused": 2, "idle": 4, "bursts": 3, "port_again": 4, "both_close": 3,
          "urgent": 1, "silent_death": 2}
PATHS = {"clean": 22, "loss": 14, "heavy": 5, "burst": 5, "reorder": 9, "jitter": 8, "duplicate": 7,
         "mark": 7, "corrupt": 4, "narrow": 9, "dark": 5, "mixed": 8, "named": 6}
# Where the capture is taken and how it is damaged; views in WHOLE lack no packet.
VIEWS = {"plain": 50, "middle": 8, "behind": 6, "missing": 6, "swapped": 6, "edited": 5,
         "edited_sums": 3, "snapped": 4, "doubled": 4, "hops": 2, "late_start": 2, "early_end": 4,
         "coalesced": 5}
WHOLE = ("plain",)


#: (probability, sysctl, value) of settings that differ from the default.
SETTINGS = ((0.2, "tcp_timestamps", "0"), (0.2, "tcp_sack", "0"), (0.08, "tcp_window_scaling", "0"),
            (0.4, "tcp_ecn", "1"), (0.3, "tcp_no_metrics_save", "1"),
            (0.1, "tcp_slow_start_after_idle", "0"), (0.1, "tcp_recovery", "0"))


def choose(draw, weights):
    """Draw a key of a table of weights."""
    return draw.choices(list(weights), list(weights.values()))[0]


def world_settings(draw):
    """Settings of both namespaces, the MTU, and whether offloads (TSO) are on."""
    common = {name: value for share, name, value in SETTINGS if draw.random() < share}
    sides = [dict(common), dict(common)]
    if draw.random() < 0.3:  # the two sides differ in one setting
        side = draw.choice(sides)
        side[draw.choice(["tcp_timestamps", "tcp_sack", "tcp_window_scaling"])] = "0"
    mtu = draw.choices([1500, 1280, 576, 9000], [80, 8, 5, 7])[0]
    return {"mtu": mtu, "sides": sides, "offloads": draw.random() < 0.35}


def path(draw, kind, seed):
    """The relay terms of one connection's path."""
    delay = draw.choice([0.001, 0.003, 0.01, 0.01, 0.02, 0.04, 0.08])
    out = {"delay": delay, "seed": seed}
    mixed = ("loss", "reorder", "jitter", "duplicate", "mark", "narrow")
    for one in draw.sample(mixed, 3) if kind == "mixed" else (kind,):
        out.update({
            "clean": dict,
            "loss": lambda: {"loss": draw.choice([0.002, 0.005, 0.01, 0.03])},
            "heavy": lambda: {"loss": draw.choice([0.08, 0.15, 0.25])},
            "burst": lambda: {"loss": 0.01, "burst": draw.choice([3, 8])},
            "reorder": lambda: {"reorder": draw.choice([0.01, 0.05, 0.2]),
                                "hold": draw.choice([0.001, 0.004, 0.02])},
            "jitter": lambda: {"jitter": draw.choice([0.002, 0.01, 0.05, 0.2])},
            "duplicate": lambda: {"duplicate": draw.choice([0.01, 0.05])},
            "mark": lambda: {"mark": draw.choice([0.005, 0.03])},
            "corrupt": lambda: {"corrupt": 0.01},
            "narrow": lambda: {"rate": draw.choice([500_000, 2_000_000, 10_000_000]),
                               "queue": draw.choice([8, 20, 60, 200]) * 1500},
            "dark": lambda: {"dark_from": draw.randrange(1, 40),
                             "dark_for": draw.choice([0.4, 1.2, 3.0]),
                             "dark_back_only": draw.random() < 0.3},
            "named": lambda: {"drop_forth": tuple(draw.sample(range(6), draw.randrange(3))),
                              "drop_back": tuple(draw.sample(range(6), draw.randrange(1, 3)))},
        }[one]())
    return out


def socket_options(draw, habit, side):
    """Socket options that one end sets before it connects or listens."""
    options = []
    if draw.random() < 0.6:
        options.append((TCP, CONGESTION, draw.choice(["cubic", "reno", "bbr"])))
    if draw.random() < 0.15:
        options.append((socket.SOL_SOCKET, socket.SO_RCVBUF,
                        draw.choice([2304, 4096, 8192, 16384, 65536])))
    if draw.random() < 0.12:
        options.append((socket.SOL_SOCKET, socket.SO_SNDBUF, draw.choice([4608, 16384, 65536])))
    if draw.random() < (0.5 if habit in ("small_writes", "ping_pong") else 0.15):
        options.append((TCP, NODELAY, 1))
    elif draw.random() < 0.1:
        options.append((TCP, CORK, 1))
    if draw.random() < 0.05:
        options.append((TCP, MAXSEG, draw.choice([536, 1000, 1200])))
    if habit == "slow_reader" and side == 0:
        options.append((socket.SOL_SOCKET, socket.SO_RCVBUF, draw.choice([4096, 16384, 65536])))
    if habit == "idle":
        options += [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (TCP, KEEPIDLE, 1),
                    (TCP, KEEPINTVL, 1), (TCP, KEEPCNT, 4)]
    if habit == "silent_death":
        options.append((TCP, USER_TIMEOUT, 8000))
    return options


def amounts(draw, habit):
    """Draw sizes, repetitions and pauses."""
    sizes = [100, 1460, 5000, 20_000, 60_000, 200_000, 600_000]
    weights = [8, 8, 16, 22, 22, 18, 6]
    rounds = draw.choice([4, 12, 40])
    return {"octets": draw.choices(sizes, weights)[0] + draw.randrange(100)
            + (30_000 if habit in ("reset_midway", "slow_reader") else 0),
            "rounds": rounds, "piece": draw.choice([1, 10, 100, 700, 2000]),
            "pause": draw.choice([0.0, 0.001, 0.03, 0.15] if rounds > 20 else
                                 [0.0, 0.002, 0.05, 0.25, 0.6]),
            "stall": draw.choice([0.3, 0.8, 2.0, 4.0])}


def flow(draw, number, seed, mtu):
    """Draw one connection of a world; its ports identify it."""
    habit, kind = choose(draw, HABITS), choose(draw, PATHS)
    terms = path(draw, kind, seed)
    more = amounts(draw, habit)
    if habit in ("slow_reader", "download") and more["piece"] < 700:
        more["piece"] = 4000
    if habit == "silent_death":
        terms.update(dark_from=draw.randrange(3, 30), dark_for=0.0)
    six = mtu >= 1280 and draw.random() < 0.3
    view = choose(draw, VIEWS)
    if view == "behind":
        terms["behind"] = 0.02
    return {"number": number, "habit": habit, "path": kind, "terms": terms, "view": view,
            "side": draw.randrange(2), "six": six,
            "address": lane.V6 if six else lane.V4,
            "client_port": 30_000 + number, "server_port": 5_000 + number,
            "client_options": socket_options(draw, habit, 0),
            "server_options": socket_options(draw, habit, 1),
            "begin": draw.random() * 3, "patience": 25.0, "view_seed": seed, **more}


def make_odd(draw, one):
    """Give a flow rare settings: an MSS from 88 octets on, BBR, small buffers."""
    for options in (one["client_options"], one["server_options"]):
        if draw.random() < 0.4:
            options.append((TCP, MAXSEG, draw.choice([88, 100, 150, 216, 300, 536])))
        if draw.random() < 0.5:
            options.append((TCP, CONGESTION, "bbr"))
        if draw.random() < 0.4:
            options.append((socket.SOL_SOCKET, socket.SO_RCVBUF,
                            draw.choice([2304, 3000, 5000, 9000, 20_000])))
    if draw.random() < 0.2:
        one["habit"] = "port_again"
    one["octets"] = min(one["octets"], 200_000)


def world(seed, number, flows=FLOWS_IN_WORLD):
    """World `number` of a seed; from ODD on most have no SACK, and their flows are odd."""
    draw = random.Random(f"{seed}/{number}")
    settings = world_settings(draw)
    made = [flow(draw, one, draw.randrange(1 << 40), settings["mtu"]) for one in range(flows)]
    if number >= ODD:
        if draw.random() < 0.7:
            for side in settings["sides"]:
                side["tcp_sack"] = "0"
        for one in made:
            make_odd(draw, one)
    return {"number": number, "seed": seed, **settings, "flows": made}


def terms_of(one):
    """The relay's terms of a flow."""
    known = {field.name for field in dataclasses.fields(Terms)}
    assert set(one["terms"]) <= known
    return Terms(**{word: tuple(value) if isinstance(value, list) else value
                    for word, value in one["terms"].items()})
