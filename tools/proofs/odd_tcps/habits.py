# What an odd TCP does where the RFCs leave it open, drawn from a seed.
"""A kind of worlds says which clocks, options and paths are drawn."""
import dataclasses

from proofs.odd_tcps.wire import CYCLE


@dataclasses.dataclass(frozen=True)
class Kind:
    """The choices that differ between kinds of worlds; a value is drawn from each list."""
    ticks: tuple              # seconds of a tick of the timestamp clock
    stamps: float             # share of endpoints with timestamps
    losses: tuple
    delays: tuple             # seconds, one way
    crossing: float           # share of simultaneous opens
    probes: tuple = ("data", "data", "bare", "seg")
    plain_syns: tuple = ()    # after this number of SYNs come those without options


COARSE = (1e-6, 1e-3, 1e-3, 4e-3, 1e-2, .1, .5)
KINDS = {
    "plain": Kind(COARSE, .6, (0, 0, .02, .05, .15, .3), (.00005, .001, .01, .05, .2), .07),
    "crossing": Kind(COARSE, .6, (0, .15, .3, .5), (.00005, .001, .01, .05, .2), 1.0,
                     plain_syns=(9, 9, 9, 2, 3)),
    "fine": Kind((1e-6, 1e-6, 1e-7), .95, (0, 0, .02, .05, .15, .3), (.001, .01, .05, .2), .07),
}


@dataclasses.dataclass
class Habits:
    """One endpoint's habits. Times are seconds, sizes octets."""
    tick: float               # of the timestamp clock
    isn: int
    mss: int
    says_mss: bool
    scale: int | None         # None: no window scale option
    sack: bool
    stamps: bool
    stamp_start: int          # the timestamp at the begin of the world
    ecn: bool
    buffer: int               # of the receiver
    avoids_silly: bool        # opens the window only by a segment or half a buffer (RFC 9293)
    rounds_up: bool           # rounds the scaled window up if its edge would move left
    cwnd_first: int           # in segments
    rto_first: float
    rto_least: float
    ack_delay: float
    ack_every: int            # acknowledges at the latest every so many segments
    goes_back: bool           # go-back-N after a timeout
    uses_blocks: bool         # retransmits only what no SACK block covers
    odd_sizes: bool           # segments of any size, cut otherwise when retransmitted
    sends_small: bool         # sends what the window leaves, even if it is little
    nagle: bool
    acks_at_next: bool        # pure ACKs have the sequence number of the next data to send
    retransmits_fast: bool
    probe: str                # of a closed window: an octet of data, none, or a whole segment
    keeps_garbage: bool       # a keep-alive has an octet
    keep_alive: float         # 0: none
    dsack: bool
    drops_early: bool         # keeps no data behind a gap
    keeps_early_fin: bool     # keeps a FIN behind a gap
    drops: float              # share of data dropped for want of memory
    stamps_resets: bool
    resets_ack: bool          # its RST has an ACK
    resets_at_most: bool      # its RST is behind all that was sent, not at the next data
    answers_dead: bool        # answers with RST where there is no connection
    identification: str       # inc, zero or rand
    hops: int
    ack_with_data: bool       # the handshake's last ACK has data
    ignores_second_syn: bool
    takes_old_acks: bool      # processes the ACK of a segment that is not acceptable
    fin_beyond: bool          # sends a FIN although the window is full
    takes_early_data: bool    # accepts the data of a SYN (Fast Open)
    early_data: int           # octets in its SYN
    spare: int                # its segments are so much smaller than they may be
    plain_after: int          # after so many SYNs, the next have no options
    fault: str = ""           # a violation, see FAULTS


# What a world can be asked to violate, to show that the judges and this program notice.
FAULTS = {
    "constant-rto": "the retransmission timeout is never doubled",
    "acks-ahead": "acknowledges data that was not sent",
    "moves-edge": "takes back half of the window that it offered",
}


def draw_habits(draw, kind):
    """The habits of one endpoint."""
    choice, chance = draw.choice, draw.random
    return Habits(
        tick=choice(kind.ticks),
        isn=choice([0, 1, draw.randrange(CYCLE), CYCLE - draw.randrange(1, 3000),
                    draw.randrange(CYCLE), 0x7fffffff - draw.randrange(2000)]),
        mss=choice([1460, 1460, 536, 256, 88, 1220, 1440, 4000, 8960]),
        says_mss=chance() < .92, scale=choice([None, 0, 1, 2, 7, 8, 14]),
        sack=chance() < .6, stamps=chance() < kind.stamps,
        stamp_start=choice([0, 0, 1, draw.randrange(CYCLE), CYCLE - draw.randrange(1, 5000),
                            0x7fffffff]),
        ecn=chance() < .3,
        buffer=choice([300, 1024, 2920, 5840, 16384, 65535, 131072, 400000]),
        avoids_silly=chance() < .7, rounds_up=chance() < .5, cwnd_first=choice([1, 2, 4, 10]),
        rto_first=choice([1, 1, 3, .3]), rto_least=choice([1, 1, .2, .4]),
        ack_delay=choice([.04, .1, .2, .45]), ack_every=choice([1, 2, 2, 2, 4]),
        goes_back=chance() < .4, uses_blocks=chance() < .7, odd_sizes=chance() < .25,
        sends_small=chance() < .3, nagle=chance() < .5, acks_at_next=chance() < .4,
        retransmits_fast=chance() < .8, probe=choice(kind.probes), keeps_garbage=chance() < .5,
        keep_alive=choice([0, 0, 0, .7, 2, 30]), dsack=chance() < .5, drops_early=chance() < .25,
        keeps_early_fin=chance() < .5, drops=choice([0, 0, 0, .02, .1]),
        stamps_resets=chance() < .3, resets_ack=chance() < .5, resets_at_most=chance() < .7,
        answers_dead=chance() < .8, identification=choice(["inc", "inc", "zero", "rand"]),
        hops=choice([64, 128, 255, 60]), ack_with_data=chance() < .4,
        ignores_second_syn=chance() < .3, takes_old_acks=chance() < .5, fin_beyond=chance() < .4,
        takes_early_data=chance() < .7, early_data=choice([0, 0, 0, 1, 100, 400]),
        spare=choice([0, 0, 0, 4, 20]),
        plain_after=choice(kind.plain_syns) if kind.plain_syns else 9)
