# Ports and initial numbers that are used again: reboots, TIME-WAIT, hosts behind one NAT.
"""Each sequence of connections is sound; the packets are those of ordinary TCPs."""
import random

from proofs.odd_tcps import wire
from proofs.odd_tcps.conversation import Conversation
from proofs.odd_tcps.wire import ACK, CYCLE, FIN, PSH, RST, SYN
from proofs.odd_tcps.world import Recorded

PAUSES = (.01, .3, .7, 3, 20, 65, 400)
ENDS = ("client-closes", "server-closes", "client-resets", "server-resets", "client-reboots",
        "client-reboots-old", "server-reboots", "time-wait", "time-wait-ack")


class Reboots(Conversation):
    """Connections on one pair of ports between devices that reboot, with equal or near ISNs."""

    def __init__(self, draw):
        super().__init__(draw, draw.choice([2000, 50000]), draw.choice([502, 8080]))
        self.stamps = draw.random() < .5
        scaled, sack = draw.random() < .5, draw.random() < .3
        options = wire.mss_option(1460) + (wire.permitted_option() if sack else b"")
        if scaled:
            options += wire.scale_option(2)
        self.options = {"a": options, "b": options}
        self.window = dict.fromkeys("ab", 2000 if scaled else 8000)
        self.booted = {side: self.now - draw.uniform(1, 5000) for side in "ab"}
        self.clock = {"a": lambda: self.ticks("a"), "b": lambda: self.ticks("b")}
        self.isn = {"a": draw.choice([6510, CYCLE - 30, draw.randrange(CYCLE)]),
                    "b": draw.choice([6512, CYCLE - 30, draw.randrange(CYCLE)])}

    def ticks(self, side):
        """Milliseconds since the boot of a side."""
        return int((self.now - self.booted[side]) * 1000) + 1

    def next_isn(self, side):
        """The next initial number: any that a simple device may choose."""
        draw, before = self.draw, self.isn[side]
        return draw.choice([before, before + draw.randrange(1, 60), draw.randrange(CYCLE),
                            before - draw.randrange(1, 100000),
                            self.seq[side] + draw.randrange(1, 300000)]) % CYCLE

    def connect(self):
        """A handshake; a SYN or a SYN,ACK may be sent twice."""
        draw, isn = self.draw, self.isn
        for turn in range(draw.choice([1, 1, 1, 2])):
            self.send("a", SYN, isn["a"], 0, gap=1.0 if turn else .001)
        for turn in range(draw.choice([1, 1, 1, 1, 2])):
            self.send("b", SYN | ACK, isn["b"], isn["a"] + 1, gap=1.0 if turn else .004)
        self.seq = {side: isn[side] + 1 for side in "ab"}
        self.say("a", ACK)

    def talk(self, least=0):
        """Requests and answers."""
        for _ in range(self.draw.randrange(least, 5)):
            asked, answered = self.draw.choice([12, 40, 700]), self.draw.choice([0, 30, 1400])
            self.say("a", PSH | ACK, self.data(asked), gap=self.draw.uniform(.001, .3))
            if answered:
                self.say("b", PSH | ACK, self.data(answered), gap=.004)
                self.say("a", ACK, gap=.04)
            else:
                self.say("b", ACK, gap=.05)

    def close(self, first, second):
        """Both sides close."""
        self.say(first, FIN | ACK, gap=.1)
        self.say(second, FIN | ACK, gap=.004)
        self.say(first, ACK)

    def answer_stray_syn(self, seq, echo, may_reset):
        """A SYN meets the old connection, which answers; the client resets it, or is reset."""
        a, b = self.seq["a"], self.seq["b"]
        self.send("a", SYN, seq, 0)
        if may_reset and (seq - a) % CYCLE < 8000:
            self.send("b", RST | ACK, b, seq + 1, gap=.002)
        else:
            self.send("b", ACK, b, a, gap=.002, echo=echo)
            self.send("a", RST, a, 0)

    def reopen(self, first):
        """A connection after a stray SYN, with one handshake."""
        isn = self.isn
        self.send("a", SYN, isn["a"], 0, gap=first)
        self.send("b", SYN | ACK, isn["b"], isn["a"] + 1, gap=.003)
        self.seq = {side: isn[side] + 1 for side in "ab"}
        self.say("a", ACK)

    def end(self, kind, pause):
        """How a connection ends, and what follows at once on the same ports."""
        draw, isn = self.draw, self.isn
        if kind == "client-closes":
            self.close("a", "b")
        elif kind in ("server-closes", "time-wait", "time-wait-ack"):
            self.close("b", "a")
        elif kind in ("client-resets", "server-resets"):
            self.say("a" if kind == "client-resets" else "b", RST | ACK, gap=.1)
        elif kind == "server-reboots":
            self.wait(pause)
            self.booted["b"] = self.now - 1.5
            self.say("a", PSH | ACK, b"hello?", gap=.1)
            self.send("b", RST, self.seq["b"], 0, gap=.002)
        if kind == "time-wait":        # a SYN beyond the old connection is accepted
            self.wait(min(pause, 20))
            isn["a"] = (self.seq["a"] + draw.randrange(1, 200000)) % CYCLE
            isn["b"] = (self.seq["b"] + 65537) % CYCLE
            self.last = {"a": 0, "b": 0}
            self.connect()
            self.talk()
            self.say("a", RST | ACK, gap=.05)
        elif kind == "time-wait-ack":  # a SYN below it is answered with the last ACK
            self.wait(min(pause, 20))
            self.after_stray((self.seq["a"] - draw.randrange(10, 300000)) % CYCLE, 1.0, False, 1.0)
            self.talk()
            self.say("b", RST | ACK, gap=.05)
        elif kind.startswith("client-reboots"):
            self.wait(pause)
            self.after_stray(self.next_isn("a"), 1.5, kind == "client-reboots-old",
                             draw.choice([.9, 3]) + .001)
            self.talk(1)
            self.say("a", RST | ACK, gap=.05)

    def after_stray(self, seq, since_boot, may_reset, pause):
        """The client, booted some seconds ago, meets the old connection and opens a new one."""
        if self.stamps:
            self.booted["a"] = self.now - since_boot
        self.answer_stray_syn(seq, self.last["b"], may_reset)
        self.isn = {"a": seq, "b": self.next_isn("b")}
        self.last = {"a": 0, "b": 0}
        self.reopen(pause)

    def run(self):
        """Two to four connections."""
        ends, draw = [], self.draw
        for number in range(draw.choice([2, 2, 3, 3, 4])):
            if number:
                self.isn = {side: self.next_isn(side) for side in "ab"}
            if draw.random() < .15:
                self.send("a", SYN, self.isn["a"], 0)
                self.send("b", RST | ACK, 0, self.isn["a"] + 1, gap=.003)
                self.wait(draw.choice([.1, 1, 30]))
                if draw.random() < .5:
                    self.isn["a"] = self.next_isn("a")
            self.last = {"a": 0, "b": 0}
            self.connect()
            self.talk()
            ends.append(draw.choice(ENDS))
            self.end(ends[-1], draw.choice(PAUSES))
            self.wait(draw.choice(PAUSES))
        return ", ".join(ends)


class Translated(Conversation):
    """Connections of several hosts that share an address and a port behind a NAT."""

    def __init__(self, draw):
        super().__init__(draw, 50000, 443)
        self.identification["a"] = draw.randrange(60000)

    def begin_connection(self, isn_b):
        """Draw the options, clocks and windows of one connection: its MSS and the window."""
        draw = self.draw
        self.stamps = draw.random() < .6
        scales = {"a": draw.choice([None, 0, 2, 7]), "b": draw.choice([None, 7])}
        scaled = None not in scales.values()
        sack, mss = draw.random() < .7, draw.choice([1460, 1400, 536])
        self.turned = draw.random() < .5
        window = draw.choice([4 * mss, 20000, 60000])
        begin, shifts = self.now, {}
        for side in "ab":
            options = wire.mss_option(mss if side == "a" else 1460)
            options += wire.permitted_option() if sack else b""
            self.options[side] = options + (wire.scale_option(scales[side]) if scaled else b"")
            shifts[side] = scales[side] if scaled else 0
            self.syn_window[side] = window
            self.window[side] = window >> shifts[side]
            start = draw.randrange(CYCLE)
            self.clock[side] = lambda start=start: int((self.now - begin) * 1000) + start
        self.last = {"a": 0, "b": 0}
        self.seq = {"a": draw.randrange(CYCLE), "b": isn_b}
        return mss - (12 if self.stamps else 0), self.window["a"] << shifts["a"]

    def answer(self, most, window):
        """A request, and an answer of some segments within the window."""
        draw, edge = self.draw, self.seq["b"] + window
        self.say("a", PSH | ACK, self.data(draw.choice([20, 300])), gap=.01)
        segments = draw.choice([0, 1, 2, 8, 14])
        for number in range(segments):
            length = min(most, edge - self.seq["b"])
            if length <= 0:
                break
            last = number == segments - 1
            self.say("b", PSH | ACK if last else ACK, self.data(length),
                     gap=.0001 if number else .02)
        if segments:
            self.say("a", ACK, gap=.0004)
        else:
            self.say("b", ACK, gap=.02)

    def end(self, kind):
        """How a connection ends."""
        if kind in ("client-closes", "server-closes"):
            first, second = "ab" if kind == "client-closes" else "ba"
            self.say(first, FIN | ACK, gap=.05)
            self.say(second, FIN | ACK, gap=.02 if second == "b" else .001)
            self.say(first, ACK, gap=.02 if first == "b" else .0005)
        elif kind == "server-closes-client-resets":
            self.say("b", FIN | ACK, gap=.05)
            self.say("a", ACK)
            self.say("a", RST | ACK, gap=.1)
        else:
            self.say("a" if kind == "client-resets" else "b", RST | ACK, gap=.05)

    def run(self):
        """Two or three connections."""
        draw, isn_b, ends = self.draw, self.draw.randrange(CYCLE), []
        for _ in range(draw.choice([2, 2, 3])):
            isn_b = draw.choice([draw.randrange(CYCLE), (isn_b + draw.randrange(1 << 27)) % CYCLE])
            most, window = self.begin_connection(isn_b)
            self.say("a", SYN, gap=.01)
            self.say("b", SYN | ACK, gap=.02)
            self.say("a", ACK)
            for _ in range(draw.randrange(1, 4)):
                self.answer(most, window)
            ends.append(draw.choice(["client-closes", "server-closes", "client-resets",
                                     "server-resets", "server-closes-client-resets"]))
            self.end(ends[-1])
            self.wait(draw.choice([.1, .4, 2, 15, 45, 80]))
        return ", ".join(ends)


def run(kind_name, seed):
    """The recording of a sequence of connections."""
    one = {"reboots": Reboots, "nat": Translated}[kind_name](random.Random(seed))
    about = one.run()
    return Recorded(one.records, [end[0] for end in one.ends.values()], about)
