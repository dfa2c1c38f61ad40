# Recordings of a flight that is late but not lost, to a peer without SACK.
"""Each function records one scenario with a Linux kernel as the device; selective.py has SACK."""
from loss import send_all
from plain import recorded
from wire import Late


def stall(number, ms, retransmissions_max=None):
    """A fault: from data segment `number` of the device on, its frames are held until `ms` later.

    At most `retransmissions_max` retransmissions arrive, so that few duplicates are acknowledged.
    """
    seen, since, again = set(), [], []

    def fault(side, segment):
        if side != 1 or not segment.payload:
            return None
        if segment.seq in seen:
            again.append(segment.seq)
        if (retransmissions_max is not None and len(again) > retransmissions_max
                and segment.seq in seen):
            return "drop"
        seen.add(segment.seq)
        if len(seen) == number and not since:
            since.append(segment.time_ns)
        left = ms * 1_000_000 - (segment.time_ns - since[0]) if since else 0
        return Late(left) if left > 0 else None
    return fault


def late_flight(r):
    """A flight of the device is late, and more data is queued."""
    send_all(r, 60 * 1460, send_buffer=300000)
    r.twin("9293:P-RTO", packet=r.retransmission(), drop=True)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 6), field="seq", add=1460)


@recorded("rfc5682-2.1-linux-spurious-timeout",
          "A flight is held up, without SACK: new text shows that nothing was lost (F-RTO)",
          ["5682:FRTO-1", "5682:FRTO-4", "5682:FRTO-7", "9293:P-RTO"], "passive", "server",
          fault=stall(11, 240, retransmissions_max=1), sysctls={"tcp_frto": 2}, features="F-RTO on",
          config={"frto": True, "undo": True})
def record_spurious_timeout(r):
    late_flight(r)


@recorded("rfc3522-3.2-linux-spurious-timeout",
          "A flight is held up: by its timestamp the first ACK answers the original (Eifel)",
          ["3522:EIFD-4", "3522:EIFD-6", "4015:EIFR-3", "9293:P-RTO"], "passive", "server",
          fault=stall(11, 240, retransmissions_max=1), sysctls={"tcp_timestamps": 1},
          features="timestamps on",
          config={"timestamps": True, "frto": False, "undo_by_timestamps": True})
def record_eifel(r):
    late_flight(r)


@recorded("rfc5682-2.1-linux-spurious-timeout-unseen",
          "The same without F-RTO and timestamps: Linux sends again what was only late",
          ["5681:CC-12", "9293:P-RTO"], "passive", "server",
          fault=stall(11, 240, retransmissions_max=1), config={"frto": False})
def record_spurious_unseen(r):
    late_flight(r)
