# Damages a recording as recorders do: packets missing, late, in another order, twice, cut.
"""A damage is drawn from a seed; a recording is a list of (time_ns, octets, length)."""
import random

from proofs.odd_tcps.wire import source_of

DAMAGES = ("missing", "missing", "skewed", "begun-late", "ended-early", "gap", "one-way",
           "twice", "swapped", "snapped", "missing+skewed", "begun-late+missing",
           "twice+missing")
MOVES_NS = (300_000, 2_000_000, 8_000_000, 15_000_000)
SWAP_NS = 60_000


def missing(draw, records):
    """Some packets are missing."""
    share = draw.choice([.01, .05, .15, .4])
    return [one for one in records if draw.random() > share]


def one_way(draw, records):
    """Some packets of one direction are missing."""
    share, side = draw.choice([.05, .3]), source_of(records[0][1])
    return [one for one in records if source_of(one[1]) != side or draw.random() > share]


def skewed(draw, records):
    """The times of one direction are wrong by a constant."""
    move, side = draw.choice([-1, 1]) * draw.choice(MOVES_NS), source_of(records[0][1])
    moved = [(time_ns + (move if source_of(octets) == side else 0), octets, length)
             for time_ns, octets, length in records]
    return in_order(moved)


def begun_late(draw, records):
    """The recording begins in the middle."""
    return records[draw.randrange(max(1, len(records) * 2 // 3)):]


def ended_early(draw, records):
    """The recording ends in the middle."""
    return records[:draw.randrange(1, len(records) + 1)]


def gap(draw, records):
    """A run of packets is missing."""
    at = draw.randrange(len(records))
    return records[:at] + records[at + draw.choice([1, 2, 5, 30]):]


def twice(draw, records):
    """Each packet is recorded again a little later, as on two interfaces."""
    later = draw.choice([2_000, 50_000, 300_000])
    return in_order(records + [(time_ns + later, octets, length)
                               for time_ns, octets, length in records])


def swapped(draw, records):
    """Neighbours have changed places."""
    out = list(records)
    for at in range(len(out) - 1):
        if 0 <= out[at + 1][0] - out[at][0] < SWAP_NS and draw.random() < .5:
            out[at], out[at + 1] = out[at + 1], out[at]
    return out


def snapped(draw, records):
    """Packets are cut at a snap length."""
    most = draw.choice([66, 96, 128])
    return [(time_ns, octets[:most], length) for time_ns, octets, length in records]


def in_order(records):
    """The records in the order of their times, none before the begin."""
    least = min(0, min((one[0] for one in records), default=0))
    return sorted(((time_ns - least, *rest) for time_ns, *rest in records),
                  key=lambda one: one[0])


STEPS = {"missing": missing, "one-way": one_way, "skewed": skewed, "begun-late": begun_late,
         "ended-early": ended_early, "gap": gap, "twice": twice, "swapped": swapped,
         "snapped": snapped}


def damage(seed, number, records):
    """(name, whether the order is still exact, records) of the damage `number` of a world."""
    draw = random.Random(f"{seed}/{number}")
    name = draw.choice(DAMAGES)
    for step in name.split("+"):
        if records:
            records = STEPS[step](draw, records)
    return name, not ("skewed" in name or "swapped" in name), records
