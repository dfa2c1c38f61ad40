# Measures in which runs with a feature on and off differ, in addition to those of pcaps/common.
"""Each measure takes (the host's segments, all segments) and gives an integer."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "pcaps"))

from common import measures as recorded  # noqa: E402

MILLISECOND = 1_000_000


def _texts(sent):
    return [segment for segment in sent if segment.payload]


def _most_within(segments, span_ns):
    most, first = 0, 0
    for last, segment in enumerate(segments):
        while segment.time_ns - segments[first].time_ns > span_ns:
            first += 1
        most = max(most, last - first + 1)
    return most


def burst(sent, _):
    """The most data segments within a millisecond."""
    return _most_within(_texts(sent), MILLISECOND)


def first_flight(sent, everything):
    """Data segments before the first ACK of data."""
    texts = _texts(sent)
    for segment in everything:
        covers = (segment.ack - texts[0].seq) % 2**32
        if segment.source != texts[0].source and segment.time_ns > texts[0].time_ns and covers:
            return sum(text.time_ns < segment.time_ns for text in texts)
    return len(texts)


def flight_after_silence(sent, _):
    """Data segments within 30 ms after the host's longest silence."""
    texts = _texts(sent)
    gaps = [(late.time_ns - early.time_ns, late.time_ns) for early, late in zip(texts, texts[1:])]
    _, begin = max(gaps)
    return sum(begin <= text.time_ns < begin + 30 * MILLISECOND for text in texts)


def texts(sent, _):
    """Data segments."""
    return len(_texts(sent))


def usual_text(sent, _):
    """The median size of the data segments, in octets."""
    sizes = sorted(len(segment.payload) for segment in _texts(sent))
    return sizes[len(sizes) // 2]


def bare_acks(sent, _):
    """ACKs without data, except the handshake's."""
    return sum(segment.flags == "A" and not segment.payload for segment in sent)


def offered(sent, _):
    """The largest advertised window, in octets."""
    syn = next(segment for segment in sent if "S" in segment.flags)
    shift = (syn.option(3) or b"\0")[0]
    return max(s.window << (0 if "S" in s.flags else shift) for s in sent)


def scales(sent, _):
    """SYNs with a window scale."""
    return sum("S" in s.flags and s.option(3) is not None for s in sent)


def user_timeouts(sent, _):
    """Segments with a user timeout."""
    return sum(segment.option(28) is not None for segment in sent)


def _first_again(sent):
    """The time of the first retransmission of data."""
    seen = set()
    for segment in _texts(sent):
        if segment.seq in seen:
            return segment.time_ns
        seen.add(segment.seq)
    raise ValueError("nothing is retransmitted")


def _flight_between(sent, everything, begin, end):
    some = [s for s in everything if begin <= s.time_ns < end]
    return recorded.flight([s for s in some if s.source == sent[0].source], some)


def cut_flight(sent, everything):
    """The most octets in flight later than half a second after the first retransmission."""
    return _flight_between(sent, everything, _first_again(sent) + 500 * MILLISECOND, 2**63)


def flight_soon(sent, everything):
    """The most octets in flight 110 to 150 ms after the first retransmission."""
    begin = _first_again(sent)
    return _flight_between(sent, everything, begin + 110 * MILLISECOND, begin + 150 * MILLISECOND)


def least_late_flight(sent, everything):
    """The fewest octets in flight after an ACK in the third quarter of the time."""
    begin, end = sent[0].time_ns, sent[-1].time_ns
    early, late = begin + (end - begin) // 2, begin + (end - begin) * 3 // 4
    high, least = 0, 2**32
    for segment in everything:
        if segment.source == sent[0].source:
            high = (segment.seq + segment.length) % 2**32
        elif early <= segment.time_ns < late:
            least = min(least, (high - segment.ack) % 2**32)
    return least


def pause_in_recovery(sent, _):
    """The longest pause in the 100 ms after the first retransmission, in whole milliseconds."""
    begin = _first_again(sent)
    times = [s.time_ns for s in sent if begin <= s.time_ns < begin + 100 * MILLISECOND]
    return max(late - early for early, late in zip(times, times[1:])) // MILLISECOND


def finished_ms(sent, _):
    """The time of the host's last data, in whole 10 ms since its first segment."""
    return (_texts(sent)[-1].time_ns - sent[0].time_ns) // (10 * MILLISECOND) * 10


OWN = (burst, first_flight, flight_after_silence, texts, usual_text, bare_acks, offered, scales,
       user_timeouts, cut_flight, flight_soon, least_late_flight, pause_in_recovery, finished_ms)
ALL = recorded.ALL | {one.__name__: one for one in OWN}
