# Runs replay and lint over captures and collects their findings.
"""An accusal is (tool, rule or clause, certainty, accused endpoint, packet)."""
import concurrent.futures
import dataclasses
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "build/release/lockstep"
AT_ONCE, TIME_OUT = 2, 120


@dataclasses.dataclass(frozen=True)
class Accusal:
    """One finding of one tool."""
    tool: str
    rule: str     # of lint: the rule's name; of replay: the clause
    clause: str
    sure: bool    # lint: `certain`; replay: `violates`
    who: str
    packet: int   # 0: none is given


@dataclasses.dataclass
class Judged:
    """The output of both tools for one capture."""
    accusals: list
    verdicts: list   # of replay: (device, verdict, reason)
    failures: list   # sentences: tools that produced no result


def run(verb, file, folder, *words):
    """Run a tool: its JSON, or a sentence that says why there is none."""
    out = pathlib.Path(folder) / f"{verb}{len(words)}.json"
    try:
        done = subprocess.run([PROGRAM, verb, str(file), "--json", str(out), *words],
                              timeout=TIME_OUT, capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        return f"{verb} took more than {TIME_OUT} s"
    if done.returncode not in (0, 1) or not out.exists():
        return f"{verb} ended with {done.returncode}: {done.stderr.strip()[-200:]}"
    return json.loads(out.read_text(encoding="utf-8"))


def of_lint(found):
    """lint's findings as accusals."""
    for one in found.get("findings", []):
        yield Accusal("lint", one.get("rule", ""), one.get("clause", ""),
                      one.get("certainty") == "certain", one.get("speaker", ""),
                      int(one.get("packet") or 0))


def of_replay(found):
    """replay's violations as accusals: all that a flow lists, at least one."""
    for flow in found.get("flows", []):
        if flow.get("verdict") != "violates":
            continue
        who = flow.get("accused", flow.get("device", ""))
        listed = flow.get("violations") or [flow]
        for one in listed:
            clause = one.get("clause", "")
            yield Accusal("replay", clause, clause, True, one.get("accused", who),
                          int(one.get("packet") or 0))


def judge(file, place=None):
    """Run both tools on one capture, and lint a second time with --at if `place` is given."""
    judged = Judged([], [], [])
    runs = [("lint", of_lint, ()), ("replay", of_replay, ())]
    if place:
        runs.append(("lint", of_lint, ("--at", place)))
    with tempfile.TemporaryDirectory() as folder:
        for verb, reader, words in runs:
            found = run(verb, file, folder, *words)
            if isinstance(found, str):
                judged.failures.append(found)
                continue
            judged.accusals += reader(found)
            if verb == "replay":
                judged.verdicts = [(flow.get("device", ""), flow.get("verdict", ""),
                                    flow.get("reason", "")) for flow in found.get("flows", [])]
    return judged


def judge_all(files, places, say=lambda text: None):
    """A list of Judged in the order of the files; each place is an address or None."""
    out = []
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for number, judged in enumerate(pool.map(judge, files, places), 1):
            out.append(judged)
            if number % 500 == 0:
                say(f"{number} of {len(files)} captures judged")
    return out


def near(note, packet):
    """Whether a packet is near the planted edit; true if the tool names no packet."""
    if not packet or note["anywhere"]:
        return True
    first, last = min(note["marks"]), max(note["marks"])
    return first - 3 <= packet and (note["lasting"] or packet <= last + 10)


def names(note, who):
    """Whether `who` is the endpoint that should be accused."""
    if note["anywhere"]:
        return who.rpartition(":")[0] == note["accused"].rpartition(":")[0]
    return note["anyone"] or who == note["accused"]


def finders(note, kind, judged, before=None):
    """Accusals that match the planted violation in device, rule and place. Those that the tool also
    made for the capture before the edit do not count."""
    known = {(one.tool, one.rule, one.who) for one in finders(note, kind, before)} \
        if before else set()
    for one in judged.accusals:
        if (one.tool, one.rule, one.who) in known:
            continue
        fits = one.clause in kind.clauses or (one.tool == "lint" and one.rule in kind.rules)
        if fits and names(note, one.who) and near(note, one.packet):
            yield one
