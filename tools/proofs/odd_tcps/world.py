# A world: two odd TCPs, a path and two applications, all drawn from a seed.
"""The same kind and seed give the same packets."""
import dataclasses
import random

from proofs.odd_tcps import habits, offload
from proofs.odd_tcps.clock import Clock
from proofs.odd_tcps.endpoint import Endpoint
from proofs.odd_tcps.path import Path, Terms

CALLS_MOST, SECONDS_MOST = 6000, 150
DARK_FROM = .3           # of the fault constant-rto: from then on the client's data is lost
TALKS = ("up", "down", "echo", "both", "slow", "half", "abort", "chat")


@dataclasses.dataclass
class Recorded:
    """What was recorded, and where: `places` are the addresses for --at."""
    records: list      # (time_ns, octets, length on the wire)
    places: list
    about: str         # a few words for people


def draw_terms(draw, kind):
    """The path of a world."""
    loss = draw.choice(kind.losses)
    doubled = draw.choice([0, 0, .02])
    delay = draw.choice(kind.delays)
    jitter = draw.choice([0, 0, .1, 1, 3]) * delay
    place = draw.choice(["client", "server", "middle"])
    return Terms(loss, doubled, delay, jitter, place, draw.choice([0, .05, .3]))


class World:
    """Builds the endpoints and the applications, runs them, and keeps the records."""

    def __init__(self, kind_name, seed, fault=""):
        kind = habits.KINDS[kind_name]
        self.draw = draw = random.Random(seed)
        self.clock = Clock()
        six = draw.random() < .4
        both = [habits.draw_habits(draw, kind) for _ in range(2)]
        for one in both if six else ():
            one.identification = "zero"
        self.terms = draw_terms(draw, kind)
        draw.random()
        both[0].fault = fault
        if fault == "constant-rto":
            self.terms.dark_from = DARK_FROM
        addresses = ("fd00::1", "fd00::2") if six else ("10.0.0.1", "10.0.0.2")
        self.addresses = dict(zip(("client", "server"), addresses))
        self.path = Path(self.clock, draw, self.terms)
        ends = []
        for one, address, ports in zip(both, addresses, ((40000, 1025, 2000), (80, 502, 5001))):
            place = (address, draw.choice(ports))
            ends.append(Endpoint(self.clock, draw, one, place, self.path.emit))
        self.client, self.server = self.path.ends = ends
        self.server.state, self.server.early_data = "listen", 0
        self.crossing = kind.crossing >= 1 or draw.random() < kind.crossing
        self.talk = draw.choice(TALKS)
        self.prepare_talk(both)

    def octets(self, length):
        """Random data."""
        return bytes(self.draw.getrandbits(8) for _ in range(length))

    def prepare_talk(self, both):
        """Set how the applications read, and when they begin."""
        draw, after = self.draw, self.clock.after
        for end in self.path.ends:
            pace = draw.choice(["fast", "fast", "fast", "slow", "late"])
            if pace == "fast":
                end.on_data = lambda octets, end=end: after(
                    draw.choice([0, 0, .001, .02]), end.read, octets)
            elif pace == "slow":
                after(.1, self.read_slowly, end, draw.choice([50, 500, 3000]))
            else:
                after(draw.choice([2, 5, 12]), self.read_slowly, end, draw.choice([2000, 100000]))
        length = draw.choice([1, 10, 600, 3000, 20000, 60000])
        if min(both[0].mss, both[1].mss, both[0].buffer, both[1].buffer) < 400:
            length = min(length, 6000)
        if both[0].early_data:
            self.client.buffer += self.octets(draw.choice([50, 300, 700]))
        if self.talk == "echo":
            read = self.server.on_data

            def echo(octets):
                read(octets)
                after(draw.choice([0, .001, .3]), self.server.write, bytes(octets))

            self.server.on_data = echo
        self.server.on_open = lambda: self.begin_talk(length)
        for end, share in ((self.server, .3), (self.client, .1)):
            if draw.random() < share:
                end.on_peer_fin = lambda end=end: after(0, end.close)
        after(.01, self.client.connect, self.server.place)
        if self.crossing:
            self.server.state = "closed"
            after(.01 + draw.random() * self.terms.delay * 1.5, self.server.connect,
                  self.client.place)
            self.client.early_data = 0

    def read_slowly(self, end, octets):
        """Read some octets each 50 ms."""
        end.read(octets)
        if not end.dead and self.clock.now < 60:
            self.clock.after(.05, self.read_slowly, end, octets)

    def begin_talk(self, length):
        """The applications begin when the server's side is open."""
        draw, after, client, server = self.draw, self.clock.after, self.client, self.server
        if self.talk in ("up", "both", "half", "abort", "slow"):
            client.write(self.octets(length))
        if self.talk in ("down", "both", "half"):
            server.write(self.octets(length))
        for turn in range(draw.randrange(2, 12) if self.talk in ("chat", "echo") else 0):
            end = client if turn % 2 == 0 or self.talk == "echo" else server
            after(turn * draw.choice([.05, .3, 1]), end.write,
                  self.octets(draw.choice([1, 20, 700, 3000])), draw.random() < .15)
        if self.talk == "abort":
            after(draw.choice([.1, .5, 3]), draw.choice([client, server]).abort)
        if self.talk == "half":
            after(.01, client.close)
            after(draw.choice([.5, 4]), server.write, self.octets(length // 2 + 1))
            after(6, server.close)
        else:
            after(draw.choice([.2, 2, 8]), client.close)
            after(draw.choice([.2, 2, 8]), server.close)

    def run(self):
        """Run the world: what was recorded."""
        self.clock.run(CALLS_MOST, SECONDS_MOST)
        records = self.path.records
        address = self.addresses.get(self.terms.place)
        joined = 0
        if self.draw.random() < .5 and address:
            records, joined = offload.join(records, address)
        about = f"{self.talk}, recorded at the {self.terms.place}"
        if self.crossing:
            about += ", simultaneous open"
        if joined:
            about += ", super-segments"
        return Recorded([(time_ns, octets, len(octets)) for time_ns, octets in records],
                        [address] if address else [], about)
