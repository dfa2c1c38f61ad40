"""Why the goodput of version 1 differs from Linux's by more than the limit, where it does."""

# Seen in captures. With a buffer of 1 MB at the receiver there is no timeout, and 945 Mbit/s.
LOST_AGAIN = ("a retransmission is lost while the peer's window is full: no data sent after it can "
              "show that (RFC 8985), so the timer of 200 ms does; Linux paces retransmissions and "
              "new data together, in bursts as large as this window")
# With dsack = false at the receiver the difference is gone (13.7, 14.5 and 12.9 Mbit/s).
LATE_REPAIR = ("D-SACKs of late segments lengthen RACK's reordering window, more than in Linux; "
               "while the peer's window is full each later repair costs goodput")


def cause_of(cell) -> str:
    """The cause for a cell; "" if none is known."""
    path = (cell.rate, cell.rtt, cell.loss)
    if path in (("1G", "200us", "1%"), ("1G", "200us", "3%")):
        return LOST_AGAIN
    return LATE_REPAIR if path == ("1G", "300ms", "3%") and cell.reordering != "none" else ""
