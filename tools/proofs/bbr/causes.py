"""Why the goodput of version 1 differs from Linux's by more than the limit, where it does."""

# For a path: the least and the most that the cause explains of Linux's goodput, in percent.
# With dsack = false at the receiver the difference is gone (13.7, 14.5 and 12.9 Mbit/s).
LATE_REPAIR = ("D-SACKs of late segments lengthen RACK's reordering window, more than in Linux; "
               "while the peer's window is full each later repair costs goodput")
CAUSES = {
    ("1G", "300ms", "3%", "ten"): (75, 90, LATE_REPAIR),
}


def cause_of(cell, ratio: int) -> str:
    """The cause for a cell, if it explains a ratio in tenths of a percent; "" if none is known."""
    least, most, cause = CAUSES.get((cell.rate, cell.rtt, cell.loss, cell.reordering), (1, 0, ""))
    return cause if 10 * least <= ratio <= 10 * most else ""
