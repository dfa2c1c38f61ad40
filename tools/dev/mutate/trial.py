"""Tries one mutant: runs what reaches it, the likeliest first, until something notices."""

import collections
import re
import resource
import signal
import subprocess
import xml.etree.ElementTree as xml

from dev.mutate import reach
from dev.mutate.cited import tests_of_core
from dev.mutate.tree import LAYERS

FAILED = re.compile(r"^\[  FAILED  \] ([\w/.]+)", re.M)
RUNNING = re.compile(r"^\[ RUN      \] ([\w/.]+)", re.M)
SPECIFIC = 24  # this many tests that reach the fewest mutants run before the rest
SHORT_US = 20_000  # tests of the rest that are shorter than this run first
CHUNK = {"conformance": 16, "pkt": 48, "swarm": 1}
MEMORY_MAX = 4 << 30


def plain(name):
    """The name of a test as written in its file: without the prefix and number of an instance."""
    suite, _, test = name.partition(".")
    return f"{suite.split('/')[-1]}.{test.split('/')[0]}"


class Trials:
    """All units, and the order in which they try a mutant."""

    def __init__(self, place, units):
        self.place, self.units = place, units
        self.citing = tests_of_core(place.root)
        self.by_mutant = collections.defaultdict(list)
        for unit in units:
            for number in unit.reaches:
                self.by_mutant[number].append(unit)

    def batches(self, mutant):
        """Lists of units of one program each, the likeliest to notice first: tests that cite the
        requirement, tests that reach few mutants, the rest of its layer and of higher layers, then
        scenarios, scripts and seeds, and the long tests."""
        reaching = self.by_mutant.get(mutant.number, [])
        tests = sorted((unit for unit in reaching if unit.program.endswith("_test")),
                       key=lambda unit: len(unit.reaches))
        names = set().union(*(self.citing.get(row, ()) for row in mutant.rows))
        citing = [unit for unit in tests if plain(unit.name) in names]
        special = [unit for unit in tests if unit not in citing][:SPECIFIC]
        rest = [unit for unit in tests if unit not in citing and unit not in special]
        own = LAYERS.index(mutant.file.split("/")[1])
        near = [f"{layer}_test" for layer in LAYERS[own:] + LAYERS[:own]]
        short = [unit for unit in rest if unit.microseconds < SHORT_US]
        for part in (citing, special, short):
            yield from by_program(part, near)
        for program, size in CHUNK.items():
            units = sorted((unit for unit in reaching if unit.program == program),
                           key=lambda unit: len(unit.reaches))
            for first in range(0, len(units), size):
                yield units[first:first + size]
        yield from by_program([unit for unit in rest if unit not in short], near)

    def try_one(self, mutant, hint, scratch):
        """What notices, as (program, names), or None. `hint` noticed before, perhaps in another
        tree."""
        scratch.mkdir(parents=True, exist_ok=True)
        if hint:
            known = [unit for unit in self.by_mutant.get(mutant.number, ())
                     if [unit.program, unit.name] in hint]
            if known and self.notices(mutant, known, scratch):
                return [[unit.program, unit.name] for unit in known]
        for batch in self.batches(mutant):
            caught = self.notices(mutant, batch, scratch) if batch else None
            if caught:
                return caught
        return None

    def notices(self, mutant, batch, scratch):
        """The units of the batch that failed, all if the program does not say which; None if none
        did."""
        program = batch[0].program
        seconds = 2 + 20 * sum(unit.microseconds for unit in batch) // 1_000_000
        report = scratch / "report.xml"
        report.unlink(missing_ok=True)
        names = [unit.name for unit in batch]
        try:
            done = subprocess.run(
                reach.command(self.place, program, names, scratch), cwd=self.place.root, text=True,
                errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                env=reach.environment(LOCKSTEP_MUTANT=str(mutant.number)), timeout=60 * seconds,
                preexec_fn=lambda: bound(seconds))
        except subprocess.TimeoutExpired:
            return [[program, name] for name in names]
        if done.returncode == 0:
            return None
        if program.endswith("_test"):
            failed = FAILED.findall(done.stdout)[:1] or RUNNING.findall(done.stdout)[-1:]
        else:
            failed = failed_cases(report)
        return [[program, name] for name in names if name in failed] or [
            [program, name] for name in names]


def by_program(units, programs):
    for program in programs:
        yield [unit for unit in units if unit.program == program]


def bound(seconds):
    """Limits the processor time and memory of a run; disables core files."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)


def failed_cases(report):
    try:
        cases = xml.parse(report).getroot().iter("testcase")
        return [case.get("name") for case in cases
                if case.find("failure") is not None or case.find("error") is not None][:1]
    except (OSError, xml.ParseError):
        return []
