# Wrong accusations that are known and not mended yet, each with its reason.
"""The report says how often each entry was needed; one that never is can go."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Known:
    """A known limit; empty fields fit all."""
    tool: str
    rule: str          # of lint: the rule's name; of replay: the clause
    reason: str
    option: str = ""   # only with this option
    damage: str = ""   # only in recordings with this damage
    about: str = ""    # only in worlds whose description has these words
    peer: bool = False  # only against the side that is not at the recorder
    kind: str = ""
    seeds: tuple = ()  # only in these worlds


KNOWN = (
    Known("lint", "option-unoffered", option="--whole", about="simultaneous open", reason=(
        "the SYN,ACK of a simultaneous open from a port below 1024, whose SYN was lost in front of "
        "the recorder: lint presumes that nobody connects from the port of a service (crossing, "
        "seed 1031)")),
    Known("lint", "mss-exceeded", option="--whole", about="super-segments", peer=True, reason=(
        "hardware of the receiver joined segments of a small MSS to no more than 1,460 octets, and "
        "computed the checksum: nothing shows it, and --whole says that sizes are as on the wire "
        "(crossing, seed 2011)")),
)


def covers(entry, accusation):
    """Whether the entry lists the accusation."""
    case, one = accusation.case, accusation.accusal
    return (entry.tool == one.tool and entry.rule == one.rule
            and (not entry.option or entry.option in accusation.words)
            and (not entry.damage or entry.damage in case.damage.split("+"))
            and entry.about in case.about
            and not (entry.peer and one.who.rpartition(":")[0].strip("[]") in case.places)
            and entry.kind in ("", case.kind)
            and (not entry.seeds or case.seed in entry.seeds))


def known_for(accusation):
    """The entry that lists the accusation, or None."""
    return next((entry for entry in KNOWN if covers(entry, accusation)), None)
