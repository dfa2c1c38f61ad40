"""RFC 6937 section 3.1: what each ACK of the first round trip of a recovery sends."""

from tools.verbs.paper.result import Gate, Result

NAME = "prr"
TITLE = "Proportional rate reduction, packet by packet"
SOURCE = "RFC 6937 section 3.1, the four diagrams"
SECONDS = 0.1

SEGMENT = 1000  # octets
WINDOW = 20     # segments in flight when the first ACK arrives
TRIP = "10ms"
SWITCHES = {
    "RFC 6675": {},
    "PRR-CRB": {"prr": True, "prr_rfc6937": True, "prr_conservative": True},
    "PRR-SSRB": {"prr": True, "prr_rfc6937": True},
    "RFC 9937": {"prr": True},
}

# The rows as printed: pipe before an ACK sends anything, and what it sends. A digit is a number of
# retransmissions, "R" one, "N" new data, "-" nothing.
PRINTED = {
    ("RFC 6675", 1): ("19 19 18 18 17 16 15 14 13 12 11 10 10 10 10 10 10 10 10",
                      "N N R - - - - - - - - N N N N N N N N"),
    ("PRR-SSRB", 1): ("19 19 18 18 18 17 17 16 16 15 15 14 14 13 13 12 12 11 10",
                      "N N R - N - N - N - N - N - N - - N N"),
    ("RFC 6675", 15): ("19 19 4 10 10", "N N 7R R R"),
    ("PRR-CRB", 15): ("19 19 4 4 4", "N N R R R"),
    ("PRR-SSRB", 15): ("19 19 4 5 6", "N N 2R 2R 2R"),
}
PRINTED["PRR-CRB", 1] = PRINTED["PRR-SSRB", 1]  # "PRR with either of the bounds": one diagram
# The 18 at the fifth ACK is printed once too often, and the last 10 is missing: by the row of what
# is sent, pipe falls by one for each ACK and rises by one for each N or R before it.
MENDED = "19 19 18 18 17 17 16 16 15 15 14 14 13 13 12 12 11 10 10"


class Pair:
    """A sender and a receiver, two complete stacks, whose packets this program carries."""

    def __init__(self, lockstep, switches: dict) -> None:
        common = {"sack": True, "mtu_bytes": SEGMENT + 40, "mss": SEGMENT, "delayed_acks": False}
        sender = {"nagle": False, "send_buffer_bytes": 200 * SEGMENT, **common, **switches}
        self.a = lockstep.Stack("rfc", addresses=["10.0.0.1"], seed=1, config=sender)
        self.b = lockstep.Stack("rfc", addresses=["10.0.0.2"], seed=2, config=common)
        self.b.listen(80)
        self.connection = self.a.connect(("10.0.0.2", 80))
        self.deliver(self.a.transmit())
        self.answer(self.replies())
        self.deliver(self.a.transmit())

    def wait(self, time: str) -> None:
        """Time passes; nothing may be sent, because all that could be sent has been."""
        assert not self.a.advance(time) and not self.b.advance(time)

    def deliver(self, packets: list) -> None:
        self.wait(TRIP)
        for each in packets:
            self.b.receive(each)

    def replies(self) -> list:
        return self.b.transmit()

    def answer(self, packets: list) -> None:
        self.wait(TRIP)
        for each in packets:
            self.a.receive(each)

    def write(self, segments: int) -> None:
        assert self.a.write(self.connection, bytes(segments * SEGMENT)) == segments * SEGMENT

    def look(self, name: str) -> int:
        return self.a.inspect(self.connection)[name]

    def grow(self, segments: int) -> None:
        """Slow start, a segment at a time, to a cwnd of so many segments."""
        while self.look("cwnd") < segments * SEGMENT:
            self.write(1)
            self.deliver(self.a.transmit())
            self.answer(self.replies())


def text_of(again: int, new: int) -> str:
    parts = [f"{count if count > 1 else ''}{kind}" for count, kind in ((again, "R"), (new, "N"))
             if count]
    return "+".join(parts) or "-"


def kinds(packets: list, first: int) -> str:
    """What these packets are: "N", "7R", "-"."""
    from lockstep.fields import fields_of
    again = sum((int(seq) - first) % 2**32 < WINDOW * SEGMENT for seq in fields_of(packets)["seq"])
    return text_of(again, len(packets) - again)


def recovery(lockstep, switches: dict, lost: int, counted: bool) -> dict:
    """One round trip in which the first `lost` of 20 segments are lost: a value for each ACK.

    `counted`: the two segments of limited transmit are part of the flight that is halved.
    """
    pair = Pair(lockstep, switches)
    pair.grow(WINDOW + 2 if counted else WINDOW)
    first = pair.look("snd_nxt")
    pair.write(WINDOW)
    flight = pair.a.transmit()
    assert len(flight) == WINDOW
    acks = []
    pair.wait(TRIP)
    for packet in flight[lost:]:
        pair.b.receive(packet)
        acks += pair.replies()
    pair.wait(TRIP)
    rows: dict = {"pipe": [], "sent": []}
    # With room in cwnd for two more segments, they are written when the first two ACKs arrive.
    writes = [1, 1, 60] if counted else [60]
    for place, ack in enumerate(acks):
        pair.a.receive(ack)
        rows["pipe"].append(pair.look("pipe") // SEGMENT)
        pair.write(writes[place] if place < len(writes) else 0)
        rows["sent"].append(kinds(pair.a.transmit(), first))
        pair.wait("1ms")
    rows["ssthresh"] = pair.look("ssthresh") // SEGMENT
    return rows


def predicted(variant: str, lost: int, ssthresh: int, unit: int) -> dict:
    """The RFCs' formulas, independent of the stack's code, with a segment of `unit` octets.

    1: the formulas count segments, and CEIL rounds up to one, as in the diagrams. Otherwise they
    count octets, and only whole segments leave.
    """
    # RFC 9937 excludes what was SACKed before; RFC 6937 does not.
    flight = WINDOW if variant == "RFC 9937" else WINDOW + 2
    pipe, delivered, out, missing = WINDOW, 0, 0, lost
    rows: dict = {"pipe": [], "sent": [], "ssthresh": ssthresh}
    for ack in range(WINDOW - lost):
        pipe -= 1 + (lost if ack == 2 else 0)
        rows["pipe"].append(pipe)
        if ack < 2:
            rows["sent"].append("N")
            pipe += 1
            continue
        delivered += 1
        below, banked = max(0, ssthresh - pipe), max(0, delivered - out)
        if variant == "RFC 6675":
            count = below
        elif pipe > ssthresh:
            due = -(-delivered * unit * ssthresh // flight)
            count = max(0, due - out * unit) // unit
        elif variant == "PRR-CRB":
            count = min(below, banked)
        elif variant == "PRR-SSRB":
            count = min(below, max(banked, 1) + 1)
        else:  # RFC 9937: SND.UNA does not advance in this round trip
            count = min(below, max(banked, 1))
        count = max(count, 1 if ack == 2 else 0)  # the fast retransmit
        again = min(count, missing)
        rows["sent"].append(text_of(again, count - again))
        missing -= again
        pipe += count
        out += count
    return rows


def words(row: list) -> str:
    return " ".join(str(each) for each in row)


def printed_gates(variant: str, lost: int, rows: dict) -> list:
    """A diagram, and the row of our stack."""
    pipe, sent = PRINTED[variant, lost]
    what = f"{variant}, {lost} of 20 lost"
    in_segments = predicted(variant, lost, 11, 1)
    if (lost, "PRR" in variant) == (1, True):
        # RFC 6937 counts octets ("how many bytes should be sent"), its diagram segments.
        in_octets = predicted(variant, lost, 11, SEGMENT)
        return [
            Gate(f"{what}: the formulas in segments", sent, words(in_segments["sent"]), "equal",
                 (words(in_segments["sent"]), words(in_segments["pipe"])) == (sent, MENDED)),
            Gate(f"{what}: sent, in octets", words(in_octets["sent"]), words(rows["sent"]), "equal",
                 rows == in_octets),
            Gate(f"{what}: sent in all", str(count_of(sent)), str(count_of(words(rows["sent"]))),
                 "equal", count_of(sent) == count_of(words(rows["sent"]))),
        ]
    return [
        Gate(f"{what}: sent", sent, words(rows["sent"]), "equal", words(rows["sent"]) == sent),
        Gate(f"{what}: pipe", pipe, words(rows["pipe"]), "equal", words(rows["pipe"]) == pipe),
    ]


def count_of(sent: str) -> int:
    """The number of segments in a row."""
    return sum(int(each[:-1] or 1) for each in sent.split() if each != "-")


def measure(place) -> Result:
    """Runs every variant twice: as the diagrams count the flight, and as RFC 5681 counts it."""
    lockstep = place.module()
    result = Result()
    for variant, lost in PRINTED:
        rows = recovery(lockstep, SWITCHES[variant], lost, counted=True)
        result.data[f"{variant}, {lost} lost"] = rows
        result.gates += printed_gates(variant, lost, rows)
    for variant in SWITCHES:
        for lost in (1, 15):
            rows = recovery(lockstep, SWITCHES[variant], lost, counted=False)
            result.data[f"{variant}, {lost} lost, ssthresh 10"] = rows
            expected = predicted(variant, lost, 10, SEGMENT)
            result.gates.append(Gate(f"{variant}, {lost} lost, ssthresh 10: sent",
                                     words(expected["sent"]), words(rows["sent"]),
                                     "equal to the formulas", rows == expected))
    result.notes += [
        "The text says ssthresh 10; the diagrams use 11, half of the 20 segments and the two of "
        "limited transmit, which RFC 5681 does not count. Our stack does not count them either, so "
        "for the diagrams the application writes them within cwnd.",
        "PRR, one loss: RFC 6937 defines its variables in octets, and what is sent is at most "
        "sndcnt, so a segment leaves once a whole one is due. The diagram counts segments and "
        "rounds up: there each of them leaves one or two ACKs earlier.",
        "The printed row of pipe for PRR and one loss has an 18 too many and lacks the last 10: by "
        "its row of what is sent it is 19 19 18 18 17 17 ... 11 10 10.",
    ]
    return result


def draw(result: Result):
    """Pipe above, what is sent below, ACK by ACK; one loss on the left, 15 on the right."""
    from tools.verbs.plot import style
    figure, panels = style.pyplot.subplots(
        2, 2, figsize=(12, 6.4), constrained_layout=True, sharex="col", sharey="row",
        gridspec_kw={"width_ratios": (3, 1.2), "height_ratios": (3, 2)})
    names = ("RFC 6675", "PRR-CRB", "PRR-SSRB")
    for column, lost in enumerate((1, 15)):
        acks = list(range(lost, WINDOW))
        above, below = panels[0][column], panels[1][column]
        for i, name in enumerate(names):
            rows, (pipe, sent) = result.data[f"{name}, {lost} lost"], PRINTED[name, lost]
            pipe = MENDED if lost == 1 and i > 0 else pipe
            above.plot(acks, rows["pipe"], color=style.COLOURS[i], linestyle=style.DASHES[i],
                       label=f"{name}, our stack")
            above.plot(acks, [int(each) for each in pipe.split()], "osD"[i], markersize=6 + 2.5 * i,
                       color=style.COLOURS[i], markerfacecolor="none", label=f"{name}, RFC 6937")
            for row, line in enumerate((sent.split(), rows["sent"])):
                for ack, what in zip(acks, line):
                    below.text(ack, 2 * i + row, what.replace("-", ""), ha="center", va="center",
                               fontsize=10, color=style.COLOURS[i])
        above.set_title(f"{lost} of 20 segments lost")
        below.set_xlabel("ACK, by the segment that caused it")
        below.set_xlim(lost - 0.6, WINDOW - 0.4)
        below.set_xticks(acks)
    panels[0][0].set_ylabel("pipe before sending (segments)")
    panels[0][0].set_ylim(0, 21)
    panels[0][0].set_yticks(range(0, 21, 5))
    panels[0][0].legend(loc="lower left", frameon=False)
    panels[1][0].set_ylim(2 * len(names) - 0.4, -0.6)
    panels[1][0].set_yticks(range(2 * len(names)),
                            [f"{name}, {who}" for name in names for who in ("RFC", "ours")])
    panels[1][0].set_ylabel("sent: N new, R retransmitted")
    figure.suptitle("The first round trip of a recovery, ACK by ACK: RFC 6937 and our stack",
                    fontsize=13)
    return figure
