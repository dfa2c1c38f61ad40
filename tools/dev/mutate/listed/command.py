"""tools/mutants --listed: applies listed changes to core/, one by one; shows what detects each."""

import argparse
import hashlib
import json
import os
import pathlib
import sys
import time

from dev.mutate.cited import Unreadable
from dev.mutate.listed import museum, patches, sample, trial

ROOT = pathlib.Path(__file__).resolve().parents[4]
EPILOG = """
The sample is drawn by seed from the requirements (MUST, MUST NOT or text) of RFCs 9293, 5681, 6298
and 6582 that code of core/ cites. conformance/requirements/mutations.toml has a change for each.
The tree is copied to build/mutations/tree and built there; the working tree is not changed. Tests
that cite the requirement run first, then all tests, then the scenarios. Results are kept, so an
interrupted run resumes as long as the tree has not changed.
--museum puts the defects of conformance/museum/defects.toml into core/ instead, builds the Python
module with each, and runs the tests of its case, one of which must fail.

examples: tools/mutants --listed --seed 1
          tools/mutants --listed --only 9293:MUST-17 --json build/mutations/nagle.json
          tools/mutants --listed --museum --only land

exit: 0 every mutation was noticed, 1 some survived, 2 bad usage, or a mutation that is missing or
      does not apply, 3 not possible (the unchanged tree fails, a tool is missing)
"""


def parse_arguments(words):
    parser = argparse.ArgumentParser(
        prog="tools/mutants --listed", description=__doc__, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.add_argument("--count", type=int, default=40, help="size of the sample (default: 40)")
    parser.add_argument("--only", metavar="ID", action="append", default=[],
                        help="try this id instead of the sample; may be repeated")
    parser.add_argument("--museum", action="store_true",
                        help="try the defects of conformance/museum; --only names cases")
    parser.add_argument("--list", action="store_true",
                        help="only print the sample and its mutations")
    parser.add_argument("--check", action="store_true",
                        help="only check that every mutation and every defect still applies, and"
                        " that each case of the museum has a defect")
    parser.add_argument("--json", metavar="FILE", help="also write the table to FILE")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("LOCKSTEP_JOBS", 2)),
                        help="parallel jobs (default: LOCKSTEP_JOBS, or 2)")
    parser.add_argument("--fresh", action="store_true", help="discard results of earlier runs")
    arguments = parser.parse_args(words)
    if arguments.count < 1 or arguments.jobs < 1:
        parser.error("--count and --jobs need a number from 1 up")
    return arguments


def choose(arguments, known):
    """The mutations to try. Raises BadInput with all ids that have none."""
    ids = arguments.only or sample.draw(ROOT, arguments.seed, arguments.count)
    missing = [one for one in ids if one not in known]
    if missing:
        raise patches.BadInput(
            f"no mutation in {patches.FILE} for {', '.join(missing)}: add one for each")
    return [known[one] for one in ids]


def digest_of_tree(place):
    total = hashlib.sha256()
    for path in sorted(place.tree.rglob("*")):
        if path.is_file() and "build" not in path.relative_to(place.tree).parts:
            total.update(str(path.relative_to(place.tree)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


class Memory:
    """The results of earlier runs with the same tree, by mutation."""

    def __init__(self, place, fresh):
        self.file = place.home / "found.json"
        self.tree = digest_of_tree(place)
        kept = json.loads(self.file.read_text()) if self.file.exists() and not fresh else {}
        self.found = kept.get("found", {}) if kept.get("tree") == self.tree else {}

    def get(self, key):
        return self.found.get(key)

    def put(self, key, caught):
        self.found[key] = caught
        scratch = self.file.with_suffix(".new")
        scratch.write_text(json.dumps({"tree": self.tree, "found": self.found}, indent=1))
        scratch.replace(self.file)


def make_sure(place, program, memory):
    """Raises Unable if the program fails without any mutation."""
    if memory.get(program) is None:
        caught = trial.notices(place, program)
        if caught:
            raise trial.Unable(f"the unchanged tree fails: {caught}")
        memory.put(program, "passes unchanged")


def try_one(place, mutation, memory):
    """What notices the mutation, or None: the tests of its layer and above, then the scenarios."""
    key = f"{mutation.id} {mutation.file} {mutation.find} -> {mutation.replace}"
    caught = memory.get(key)
    *tests, scenarios = trial.programs_for(mutation.file)
    for programs in (tests, [scenarios]) if caught is None else ():
        for program in programs:
            make_sure(place, program, memory)
        caught = trial.notices_mutation(place, programs, mutation)
        if caught:
            memory.put(key, caught)
            break
    return caught


def report(arguments, rows, began):
    survivors = [mutation.id for mutation, caught in rows if not caught]
    print(f"\n{len(rows)} mutations, {len(rows) - len(survivors)} noticed, {len(survivors)} "
          f"survived; {time.monotonic() - began:.0f} s")
    if survivors:
        print(f"survived: {', '.join(survivors)}")
    if arguments.json:
        table = [{"id": mutation.id, "file": mutation.file, "mutation": mutation.why,
                  "caught_by": caught} for mutation, caught in rows]
        path = pathlib.Path(arguments.json)
        path.parent.mkdir(parents=True, exist_ok=True)
        seed = None if arguments.only else arguments.seed
        path.write_text(json.dumps({"seed": seed, "mutations": table}, indent=2) + "\n")
    return 1 if survivors else 0


def run(arguments):
    known = patches.load(ROOT)
    if arguments.check:
        wrong = patches.check(ROOT, known.values()) + museum.check(ROOT)
        print("\n".join(wrong) or f"{len(known)} mutations apply, and the defects of "
              f"{len(museum.load(ROOT))} cases")
        return 2 if wrong else 0
    if arguments.museum:
        return museum.run(ROOT, arguments)
    chosen = choose(arguments, known)
    if arguments.list:
        for mutation in chosen:
            print(f"{mutation.id:25} {mutation.file:34} {mutation.why}")
        return 0
    wrong = patches.check(ROOT, chosen)
    if wrong:
        raise patches.BadInput("\n".join(wrong))
    place = trial.Place(ROOT, arguments.jobs)
    trial.be_modest()
    began = time.monotonic()
    trial.copy_tree(place)
    trial.configure(place)
    rows = []
    print(f"{'id':25} {'mutation':70} noticed by", flush=True)
    memory = Memory(place, arguments.fresh)
    for mutation in chosen:
        caught = try_one(place, mutation, memory)
        rows.append((mutation, caught))
        print(f"{mutation.id:25} {mutation.why:70} {caught or 'NOTHING'}", flush=True)
    return report(arguments, rows, began)


def main(words):
    """Runs what the command line `words` requests; returns the exit code."""
    arguments = parse_arguments(words)
    try:
        return run(arguments)
    except patches.BadInput as error:
        print(f"tools/mutants --listed: {error}", file=sys.stderr)
        return 2
    except (trial.Unable, Unreadable, OSError) as error:
        print(f"tools/mutants --listed: {error}", file=sys.stderr)
        return 3

