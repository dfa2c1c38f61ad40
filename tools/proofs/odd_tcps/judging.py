# Gives the captures of worlds to lint and replay, and counts verdicts and accusations.
"""Each world obeys the RFCs: a certain finding, a violation or `core differs` is wrong."""
import collections
import dataclasses
import pathlib
import shlex

from proofs.calibrate import judging
from proofs.odd_tcps import damage, habits, known, pcap, reuse
from proofs.odd_tcps.world import World

KINDS = (*habits.KINDS, "reboots", "nat")
DAMAGED = 3            # damaged recordings of each world
# What the tools may refuse: a damage can leave nothing of the host that --at names.
REFUSALS = ("cut short", "no TCP segment from")


@dataclasses.dataclass(frozen=True)
class Case:
    """One capture file. Damage number 0 is the undamaged recording."""
    kind: str
    seed: int
    number: int
    damage: str
    about: str
    places: tuple      # addresses for --at: where the order of the packets is exact
    file: pathlib.Path

    def command(self):
        """The command line that makes and judges this capture again."""
        return (f"tools/evidence odd-tcps --kind {self.kind} --seed {self.seed} --worlds 1"
                f" --damage {self.number}")


@dataclasses.dataclass(frozen=True)
class Accusation:
    """A finding that must not be, and the options with which it appeared."""
    case: Case
    words: tuple
    accusal: judging.Accusal

    def lines(self):
        """The accusation for people: what, the command lines, the world."""
        one = self.accusal
        command = shlex.join(["lockstep", one.tool, str(self.case.file), *self.words])
        return [f"{one.tool} {one.rule} {one.clause}: {one.who}, packet {one.packet}",
                f"  {self.case.command()}", f"  {command}",
                f"  {self.case.about}; damage: {self.case.damage or 'none'}"]


class Result:
    """Counts for each kind of world; `wrong`, `known` and `failures` are lists."""

    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)
        self.wrong, self.known, self.failures = [], [], []

    def add(self, case, words, accusals):
        """Sort accusations into wrong and known ones; each rule counts once for a run."""
        for accusal in {(one.tool, one.rule): one for one in reversed(accusals)}.values():
            accusation = Accusation(case, words, accusal)
            entry = known.known_for(accusation)
            self.counts[case.kind]["known" if entry else "wrong"] += 1
            if entry:
                self.known.append((entry, accusation))
            else:
                self.wrong.append(accusation)


def record(kind, seed, fault=""):
    """The undamaged recording of a world."""
    if kind in habits.KINDS:
        return World(kind, seed, fault).run()
    return reuse.run(kind, seed)


def cases(kind, seed, folder, only=None, fault=""):
    """Write the captures of a world, or `only` the one with this number of its damage."""
    recorded = record(kind, seed, fault)
    for number in range(DAMAGED + 1):
        if only not in (None, number) or not recorded.records:
            continue
        name, exact, records = "", True, recorded.records
        if number:
            name, exact, records = damage.damage(seed, number, records)
        if not records:
            continue
        file = pathlib.Path(folder) / f"{kind}-{seed}-{number}.pcap"
        pcap.write(file, records, fine=not number)
        yield Case(kind, seed, number, name, recorded.about,
                   tuple(recorded.places) if exact else (), file)


def runs_of(case):
    """The runs of a capture: (tool, options)."""
    places = [("--at", place) for place in case.places]
    runs = [("lint", words) for words in ((), *places)]
    if not case.number:
        runs += [("lint", ("--whole", *words)) for words in ((), *places)]
    return [*runs, ("replay", ())]


def accusals_of(tool, found):
    """What must not be found in a legal world."""
    if tool == "lint":
        return [one for one in judging.of_lint(found) if one.sure]
    wrong = list(judging.of_replay(found))
    for flow in found.get("flows", []):
        if flow.get("verdict", "").startswith("core"):
            wrong.append(judging.Accusal("replay", "core differs", "", True,
                                         flow.get("device", ""), int(flow.get("packet") or 0)))
    return wrong


def count(counts, tool, words, found):
    """Count lint's findings without options, and replay's verdicts."""
    if tool == "replay":
        counts.update(flow.get("verdict", "none") for flow in found.get("flows", []))
    elif not words:
        for grade in ("certain", "likely", "notes"):
            counts[grade] += int(found.get(grade) or 0)


def judge(case, result):
    """Judge one capture in all modes; whether it is accused."""
    before = len(result.wrong) + len(result.failures)
    counts = result.counts[case.kind]
    counts["captures"] += 1
    for tool, words in runs_of(case):
        found = judging.run(tool, case.file, case.file.parent, *words)
        counts["runs"] += 1
        if isinstance(found, str):
            if any(reason in found for reason in REFUSALS):
                counts["refused"] += 1
            else:
                result.failures.append(f"{case.command()}\n  {found}")
            continue
        count(counts, tool, words, found)
        result.add(case, words, accusals_of(tool, found))
    return len(result.wrong) + len(result.failures) > before


def judge_world(kind, seed, folder, result, only=None):
    """Judge all captures of a world; those that are not accused are removed."""
    result.counts[kind]["worlds"] += 1
    for case in cases(kind, seed, folder, only):
        if not judge(case, result):
            case.file.unlink()


COLUMNS = ("worlds", "captures", "runs", "refused", "certain", "likely", "notes", "agrees",
           "differs, allowed", "cannot tell", "violates", "known", "wrong")


def table(result):
    """The lines of the table: a row for each kind, and the sum."""
    rows = {kind: result.counts[kind] for kind in KINDS if kind in result.counts}
    rows["all"] = sum(rows.values(), collections.Counter())
    widths = [max(len(name), 7) for name in COLUMNS]
    lines = ["kind      " + "  ".join(name.rjust(width)
                                      for name, width in zip(COLUMNS, widths))]
    for kind, counts in rows.items():
        lines.append(f"{kind:<10}" + "  ".join(
            str(counts[name]).rjust(width) for name, width in zip(COLUMNS, widths)))
    return lines


def accused(result, wrong=0, failures=0):
    """The lines of accusations and failures behind the first ones that were printed."""
    lines = []
    for accusation in result.wrong[wrong:]:
        what, *more = accusation.lines()
        lines += ["wrong: " + what, *more]
    return lines + [f"failed: {failure}" for failure in result.failures[failures:]]


def summary(result):
    """The table, and how often each known limit appeared."""
    lines = table(result)
    for entry in known.KNOWN:
        times = sum(one is entry for one, _ in result.known)
        lines.append(f"known, {times} times: {entry.tool} {entry.rule}: {entry.reason}")
    return lines


def report(result):
    """The summary, accusations and failures."""
    return summary(result) + accused(result)
