# Rougher views: reused ports, both ends in one file, one direction late, several damages.
"""Each flow gets one besides its own view, drawn separately, so older seeds do not change."""
import random

from proofs.calibrate import views, views_reuse

MS = 1_000_000
KINDS = {"reused": 34, "merged": 22, "one_late": 14, "combined": 30}
BASES = {"end": 30, "reused": 25, "merged": 25, "one_late": 20}
# In the order in which they are applied; at most one of each row.
DAMAGES = (("late_start", "early_end"), ("missing",), ("edited", "edited_sums"),
           ("doubled", "hops"), ("swapped",), ("snapped",))
MERGED_APART = [0, 0, 50_000, 3 * MS, 15 * MS, 20 * MS, 60 * MS, 100 * MS, 300 * MS, 400 * MS]
LATE = [9 * MS, 12 * MS, 18 * MS, 20 * MS]
#: With these the packets are not in the order in which the host sent and received them.
DISORDERS = ("merged", "one_late", "doubled", "hops", "swapped", "edited_sums")


def by_time(frames):
    """Sort frames by time; the sort is stable."""
    return sorted(frames, key=lambda one: one[0])


def merged(draw, ends):
    """Both ends' captures in one file, with different clocks."""
    apart = draw.choice(MERGED_APART) * draw.choice([-1, 1])
    frames = by_time(list(ends[0]) + [(when + apart, frame) for when, frame in ends[1]])
    return views.missing(draw, frames) if draw.random() < 0.4 else frames


def one_late(draw, frames):
    """One direction is timestamped later, as by a recorder or queue of its own."""
    late, from_client = draw.choice(LATE), draw.random() < 0.5
    return by_time([(when + (late if views_reuse.Head(frame).from_client == from_client else 0),
                     frame) for when, frame in frames])


def damages_of(draw, base):
    """Draw damages, so that with the base the capture has at least two."""
    rows = draw.sample(range(len(DAMAGES)), draw.choice([1, 1, 2] if base != "end" else [2, 2, 3]))
    return [draw.choice(DAMAGES[row]) for row in sorted(rows)]


def one_view(draw, flow, ends, own, others, view):
    """(list of damages, frames), or None if the flow does not suit."""
    base = draw.choices(list(BASES), list(BASES.values()))[0] if view == "combined" else view
    befell = [base]
    if base == "reused":
        found = views_reuse.reused(draw, (flow["client_port"], flow["server_port"]), own, others())
        if found is None:
            return None
        ends, hole = found
        befell.append(hole)
        if view == "combined" and draw.random() < 0.3:
            befell.append("merged")
    frames = merged(draw, ends) if "merged" in befell else ends[flow["side"]]
    if base == "one_late":
        frames = one_late(draw, frames)
    if view == "combined":
        more = damages_of(draw, base)
        befell += more
        for name in more:
            frames = views.MAKERS[name](draw, frames)
    return befell, frames


def make(flow, number_of_ends):
    """The note and frames of a flow's rougher view, or None. `number_of_ends` is {server's port:
    (flow, both ends' frames)} of its world."""
    _, ends = number_of_ends[flow["server_port"]]
    draw = random.Random(f"rough/{flow['view_seed']}")
    view = draw.choices(list(KINDS), list(KINDS.values()))[0]
    own = views_reuse.lives(ends)

    def others():
        found = []
        for port, (other, theirs) in sorted(number_of_ends.items()):
            if port != flow["server_port"] and other["six"] == flow["six"]:
                found += [one for one in views_reuse.lives(theirs) if all(one)]
        return found
    made = one_view(draw, flow, ends, own, others, view)
    if made is None:  # the connection never ended, so none can follow on its ports
        view = "merged"
        made = one_view(draw, flow, ends, own, others, view)
    befell, frames = made
    placed = not set(befell) & set(DISORDERS)
    return {**flow, "view": view, "befell": befell, "placed": placed}, frames
