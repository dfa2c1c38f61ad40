"""What can notice a mutant: tests, scenarios, scripts, seeds; and the mutants that each reaches."""

import concurrent.futures
import dataclasses
import json
import os
import subprocess

from dev.mutate.tree import TESTS, Unable, keep, tail

SWARM_SEEDS = 1000
SEEDS_A_UNIT = 100


@dataclasses.dataclass
class Unit:
    """One thing that can be run alone, with the mutants that it reaches and its processor time."""
    program: str  # stack_test, conformance, pkt, swarm
    name: str
    microseconds: int = 0
    reaches: frozenset = frozenset()


def environment(**more):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("LOCKSTEP_", "GTEST_"))}
    return {**kept, **more}


def command(place, program, names, scratch):
    """Runs these units of one program; stops at the first failure if the program can."""
    lockstep = str(place.program("lockstep"))
    if program == "conformance":
        return [lockstep, program, *names, "--json", str(scratch / "report.json"),
                "--junit", str(scratch / "report.xml")]
    if program == "pkt":
        return [lockstep, program, "run", *names, "--failed", "--pcapng", str(scratch / "failed"),
                "--junit", str(scratch / "report.xml")]
    if program == "swarm":
        return [lockstep, program, "--seeds", names[0], "--shrink", "0"]
    chosen = [] if names is None else ["--gtest_filter=" + ":".join(names)]
    return [str(place.program(program)), "--gtest_fail_fast", "--gtest_color=no", *chosen]


def scripts_and_more(place):
    """The units that are not tests: scenarios, scripts, seeds."""
    for path in sorted((place.root / "pcaps").glob("*/scenario.toml")):
        yield Unit("conformance", path.parent.name)
    for path in sorted((place.root / "conformance" / "script").rglob("*.pkt")):
        yield Unit("pkt", str(path.relative_to(place.root)))
    for first in range(0, SWARM_SEEDS, SEEDS_A_UNIT):
        yield Unit("swarm", f"{first}..{first + SEEDS_A_UNIT - 1}")


def lines_of(path):
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        microseconds, name, *numbers = line.split(" ")
        yield int(microseconds), name, frozenset(map(int, numbers))


def run_unit(place, program, names, label):
    """Runs without a mutant. Returns the lines of what was reached; raises Unable if the run
    fails."""
    scratch = place.home / "reach" / label
    scratch.mkdir(parents=True, exist_ok=True)
    record = scratch / "reached"
    record.unlink(missing_ok=True)
    done = subprocess.run(command(place, program, names, scratch), cwd=place.root, text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment(LOCKSTEP_REACHED=str(record)), check=False)
    if done.returncode != 0:
        raise Unable(f"{program} {' '.join(names or ())} fails without a mutant:\n"
                     + tail(done.stdout))
    return list(lines_of(record))


def measure(place, jobs):
    """All units, each with the mutants that it reaches."""
    units = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tests = [(program, pool.submit(run_unit, place, program, None, program))
                 for program in TESTS]
        others = list(scripts_and_more(place))
        runs = [pool.submit(run_unit, place, unit.program, [unit.name], f"{unit.program}-{index}")
                for index, unit in enumerate(others)]
        for program, lines in tests:
            units += [Unit(program, name, time, reaches) for time, name, reaches in lines.result()]
        for unit, lines in zip(others, runs):
            unit.microseconds, _, unit.reaches = lines.result()[-1]
    return units + others


def units_of(place, jobs, now):
    """The same, kept as long as `now`, the digest of programs and inputs, does not change."""
    path = place.home / "reach.json"
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["programs"] == now:
            return [Unit(program, name, time, frozenset(reaches))
                    for program, name, time, reaches in kept["units"]]
    units = measure(place, jobs)
    keep(path, {"programs": now, "units": [[unit.program, unit.name, unit.microseconds,
                                            sorted(unit.reaches)] for unit in units]})
    return units
