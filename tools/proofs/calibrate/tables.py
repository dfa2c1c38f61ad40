# Computes the figures: wrong accusals by rule, found violations by planted kind.
"""Shares have a Wilson interval of 95 %. A flow counts once, even if accused several times."""
import collections
import math
import pathlib
import tomllib

from proofs.calibrate import draw, judging, lane, talk

REVIEWED = pathlib.Path(__file__).with_name("reviewed.toml")
WRONG_MOST, CANNOT_TELL_MOST, FOUND_LEAST = 0.001, 0.10, 0.80
KINDS_LEAST, KINDS_OF, LINT_LEAST, FLOWS_LEAST = 38, 40, 30, 20


def wilson(hits, of):
    """The 95 % Wilson interval of a share."""
    if not of:
        return 0.0, 1.0
    z, share = 1.96, hits / of
    middle = share + z * z / (2 * of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def percent(hits, of):
    """Format a share as "12 of 480: 2.50 % (1.44 to 4.32)"."""
    low, high = wilson(hits, of)
    share = hits / of if of else 0.0
    return f"{hits} of {of}: {100 * share:.2f} % ({100 * low:.2f} to {100 * high:.2f})"


def place_of(flow):
    """The address where a capture was taken if it is whole or in the host's order, else None."""
    if flow["view"] not in draw.WHOLE and not flow.get("placed"):
        return None
    return (lane.V6 if flow["six"] else lane.V4)[flow["side"]]


def judge_folder(folder, flows, notes, say=lambda text: None):
    """Run both tools on all captures of a folder."""
    folder = pathlib.Path(folder)

    def judge(names, places):
        return judging.judge_all([folder / name for name in names], places, say)

    judged = judge([flow["file"] for flow in flows], [place_of(flow) for flow in flows])
    planted = judge([f"planted/{note['file']}" for note in notes],
                    [note["place"] for note in notes])
    places = {note["source"]: note["place"] for note in notes}
    sources = {flow["file"]: one for flow, one in zip(flows, judged) if place_of(flow)}
    more = sorted(set(places) - set(sources))
    sources.update(zip(more, judge(more, [places[name] for name in more])))
    return Calibration(flows, judged, notes, planted, sources)


def read_reviewed():
    """The reviewed findings where Linux does deviate."""
    return tomllib.loads(REVIEWED.read_text(encoding="utf-8")).get("deviation", [])


def facts(flow):
    """The fields that an entry's `where` may test: those of the flow's note, and derived ones."""
    return {**flow, "unscaled": any(side.get("tcp_window_scaling") == "0"
                                    for side in flow.get("sides", []))}


def excused(flow, accusal, reviewed):
    """The reviewed entry by which this finding is right, or None."""
    flow = facts(flow)
    for entry in reviewed:
        where = entry.get("where", {})
        if entry["tool"] == accusal.tool and entry["rule"] == accusal.rule and \
                all(flow.get(word) in values for word, values in where.items()):
            return entry
    return None


class Calibration:
    """The judged captures, and the figures computed from them."""

    def __init__(self, flows, judged, notes=(), planted=(), sources=None):
        self.flows, self.judged, self.notes, self.planted = flows, judged, notes, planted
        self.sources = sources or {}  # results for the captures before planting, by file name
        self.reviewed = read_reviewed()

    def wrong(self):
        """Two {(tool, rule): [flow]} of sure accusals: those not reviewed, and those reviewed."""
        found, right = collections.defaultdict(list), collections.defaultdict(list)
        for flow, judged in zip(self.flows, self.judged):
            for tool, rule in sorted({(one.tool, one.rule) for one in judged.accusals
                                      if one.sure}):
                one = next(each for each in judged.accusals
                           if each.sure and (each.tool, each.rule) == (tool, rule))
                (right if excused(flow, one, self.reviewed) else found)[tool, rule].append(flow)
        return found, right

    def likely(self):
        """{rule: number of flows} of lint's likely findings."""
        count = collections.Counter()
        for judged in self.judged:
            count.update({one.rule for one in judged.accusals if not one.sure})
        return count

    def untold(self, near=True):
        """(flows with `cannot tell`, whole flows, their reasons) for the end where the capture was
        taken (`near`), or for the far end."""
        reasons, whole = collections.Counter(), 0
        for flow, judged in zip(self.flows, self.judged):
            if flow["view"] not in draw.WHOLE:
                continue
            ends = lane.V6 if flow["six"] else lane.V4
            device = ends[flow["side"] if near else 1 - flow["side"]]
            there = [one for one in judged.verdicts if device in one[0]]
            if not there and near:
                there = judged.verdicts
            if not there and not near:
                continue
            whole += 1
            bad = [one[2] for one in there if one[1] == "cannot tell"]
            if bad or not there:
                reasons[" ".join((bad or ["no flow"])[0].split()[:9])] += 1
        return sum(reasons.values()), whole, reasons

    def core_differs(self):
        """Flows with replay's verdict `core differs`: our own TCP is wrong."""
        return [flow["file"] for flow, judged in zip(self.flows, self.judged)
                if any(verdict == "core differs" for _, verdict, _ in judged.verdicts)]

    def found(self):
        """{kind: (flows, found, found by lint, with a certain finding of lint, by replay)}."""
        rows = {name: [0] * 5 for name in talk.KINDS}
        for note, judged in zip(self.notes, self.planted):
            hits = list(judging.finders(note, talk.KINDS[note["kind"]], judged,
                                        self.sources.get(note["source"])))
            lint = [one for one in hits if one.tool == "lint"]
            row = rows[note["kind"]]
            for at, hit in enumerate((True, hits, lint, [one for one in lint if one.sure],
                                      [one for one in hits if one.tool == "replay"])):
                row[at] += bool(hit)
        return rows

    def failures(self):
        """Yield the captures for which a tool produced no result."""
        for row, judged in zip([*self.flows, *self.notes], [*self.judged, *self.planted]):
            for text in judged.failures:
                yield f"{row['file']}: {text}"


def wrong_table(calibration):
    """Yield the table of wrong accusals by rule."""
    found, right = calibration.wrong()
    of = len(calibration.flows)
    yield "| tool | rule | wrong in flows | reviewed and right | first |"
    yield "|---|---|---|---|---|"
    for key in sorted(set(found) | set(right)):
        first = found[key][0]["file"] if found[key] else ""
        yield f"| {key[0]} | `{key[1]}` | {percent(len(found[key]), of)} | {len(right[key])} | " \
              f"{first} |"


def views_table(calibration):
    """Yield the table of wrong captures by view; each damage of a capture is counted."""
    found, _ = calibration.wrong()
    wrong = {tool: {flow["file"] for key, flows in found.items() if key[0] == tool
                    for flow in flows} for tool in ("lint", "replay")}
    rows = collections.defaultdict(list)
    for flow in calibration.flows:
        for name in {flow["view"], *flow.get("befell", ())}:
            rows[name].append(flow["file"])
    yield "| view or damage | captures | `certain` wrong | `violates` wrong |"
    yield "|---|---|---|---|"
    for name, files in sorted(rows.items()):
        counts = (sum(one in wrong[tool] for one in files) for tool in wrong)
        yield f"| {name} | {len(files)} | {' | '.join(map(str, counts))} |"


def found_table(rows):
    """Yield the table of found violations by kind."""
    yield "| planted | flows | found | by lint | certain | by replay |"
    yield "|---|---|---|---|---|---|"
    for name, (of, found, lint, certain, replay) in rows.items():
        yield f"| {name} | {of} | {percent(found, of)} | {lint} | {certain} | {replay} |"


def goals(calibration):
    """Yield (sentence, whether it is met) for each goal."""
    found, _ = calibration.wrong()
    of = len(calibration.flows)
    for tool, word in (("lint", "certain"), ("replay", "violates")):
        wrong = {flow["file"] for key, flows in found.items() if key[0] == tool for flow in flows}
        yield (f"`{word}` of {tool} is wrong in {percent(len(wrong), of)} flows, at most 0.1 %",
               len(wrong) <= WRONG_MOST * of)
    untold, whole, _ = calibration.untold()
    yield (f"replay cannot tell {percent(untold, whole)} of whole flows, at most 10 %",
           untold <= CANNOT_TELL_MOST * whole)
    rows = [row for row in calibration.found().values() if row[0] >= FLOWS_LEAST]
    by_any = sum(1 for row in rows if row[1] >= FOUND_LEAST * row[0])
    by_lint = sum(1 for row in rows if row[2] >= FOUND_LEAST * row[0])
    least, lint_least = (math.ceil(len(rows) * share / KINDS_OF)
                         for share in (KINDS_LEAST, LINT_LEAST))
    yield (f"{by_any} of {len(rows)} kinds with 20 flows are found in 80 % of them, "
           f"at least {least} of at least {KINDS_OF}",
           by_any >= least and len(rows) >= KINDS_OF)
    yield (f"{by_lint} of them by lint alone, at least {lint_least}", by_lint >= lint_least)


def report(calibration):
    """The report as lines of Markdown, and whether every goal is met and no tool failed."""
    lines = [f"## {len(calibration.flows)} flows of real Linux, "
             f"{len(calibration.notes)} with a violation planted", ""]
    met = True
    for sentence, good in goals(calibration):
        met = met and good
        lines.append(f"- {'met' if good else 'NOT MET'}: {sentence}")
    failures = list(calibration.failures())
    lines += ["", f"{len(failures)} captures without an answer"] + failures[:5]
    lines += ["", "### Accused wrongly", "", *wrong_table(calibration)]
    lines += ["", "### By view", "", *views_table(calibration)]
    lines += ["", "lint suspected (`likely`), in flows: " + ", ".join(
        f"{rule} {count}" for rule, count in calibration.likely().most_common())]
    own = calibration.core_differs()
    lines += ["", "`core differs`, which is a fault of ours: "
              + percent(len(own), len(calibration.flows)) + (f", {own[0]} first" if own else "")]
    _, _, reasons = calibration.untold()
    far, judged_far, _ = calibration.untold(near=False)
    lines += ["", "### Cannot be told, of whole flows", "",
              f"Of the end where it was not captured: {percent(far, judged_far)}", ""]
    lines += [f"- {count}: {reason}" for reason, count in reasons.most_common()]
    lines += ["", "### Planted", "", *found_table(calibration.found())]
    return lines, met and not failures
