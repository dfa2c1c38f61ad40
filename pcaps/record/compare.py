# Compares a recording in virtual time with the committed recording of the same scenario.
"""By relative numbers, one direction at a time: flags but PSH, sequence and acknowledgment numbers,
lengths, the kinds of the options, ECN, and roughly the window. Times are not compared, nor the
order of segments that cross on the wire.

differences.toml has the known reasons of differences. One that fits nothing is an error.
"""
import json
import re
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import wire  # noqa: F401  # first: it puts pcaps/ on the path
from common import frames, pcapng

REASONS = Path(__file__).resolve().parent / "differences.toml"
DEVICE = ("10.0.0.1", "2001:db8::1")


class BadReasons(Exception):
    """The file of reasons has an error; the text says which."""


@dataclass
class Difference:
    """The first difference of a scenario: the packets that differ, None for one that is not there,
    and the fields that do.
    """

    committed: int | None
    made: int | None
    text: str


def kinds(options):
    """The kinds of the options, without padding."""
    found, at = [], 0
    while at < len(options) and options[at] != 0:
        size = 1 if options[at] == 1 else max(2, options[at + 1] if at + 1 < len(options) else 2)
        found += [] if options[at] == 1 else [options[at]]
        at += size
    return tuple(found)


class Flow:
    """A capture as facts about each packet, by direction."""

    def __init__(self, path):
        self.sides = {"device": [], "peer": []}
        first, shifts = {}, {}
        for number, packet in enumerate(pcapng.decode(path.read_bytes()), 1):
            segment = frames.parse(number, packet)
            if segment is None:
                self.sides["peer"].append((number, {"ICMP": "too big"}))
                continue
            side = "device" if segment.source[0] in DEVICE else "peer"
            other = "peer" if side == "device" else "device"
            if "S" in segment.flags or side not in first:
                first[side] = segment.seq
            if "S" in segment.flags:
                shifts[side] = segment.option(3)
            scaled = "S" not in segment.flags and all(shifts.get(each) for each in self.sides)
            shift = shifts[side][0] if scaled else 0
            facts = {"flags": "".join(sorted(set(segment.flags) - {"P"})),
                     "seq": (segment.seq - first[side]) % 2**32,
                     "ack": ((segment.ack - first.get(other, segment.ack)) % 2**32
                             if "A" in segment.flags else 0),
                     "length": len(segment.payload), "options": kinds(segment.options),
                     "ecn": segment.ecn, "window": segment.window << shift}
            self.sides[side].append((number, facts))


def _text(facts):
    return " ".join(f"{key} {value}" for key, value in facts.items()
                    if key in ("flags", "seq", "ack", "length", "window"))


def _unequal(one, two):
    """The names of the facts in which two packets differ."""
    names = [key for key in one if key != "window" and one[key] != two.get(key)]
    if "window" in one and "window" in two:
        a, b = one["window"], two["window"]
        if (a == 0) != (b == 0) or abs(a.bit_length() - b.bit_length()) > 1:
            names.append("window")
    return names


def first_difference(committed, made):
    """The first Difference of two captures, by the committed packet; None: they are the same."""
    one, two, found = Flow(committed), Flow(made), []
    for side in ("device", "peer"):
        left, right = one.sides[side], two.sides[side]
        for (number, facts), (other, theirs) in zip(left, right):
            names = _unequal(facts, theirs)
            if names:
                found.append(Difference(number, other, f"{side}: {', '.join(names)}: committed "
                                        f"{_text(facts)}; now {_text(theirs)}"))
                break
        else:
            if len(left) > len(right):
                number, facts = left[len(right)]
                found.append(Difference(number, None, f"{side}: missing: {_text(facts)}"))
            elif len(right) > len(left):
                number, facts = right[len(left)]
                found.append(Difference(None, number, f"{side}: more: {_text(facts)}"))
    return min(found, key=lambda item: item.committed or 10**9, default=None)


def reasons(known, path=REASONS):
    """The entries of the file of reasons; raises BadReasons."""
    try:
        entries = tomllib.loads(path.read_text()).get("difference", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadReasons(f"{path.name}: {error}") from error
    for number, entry in enumerate(entries, 1):
        where = f"{path.name}: difference {number}"
        if set(entry) != {"scenarios", "text", "reason", "source"}:
            raise BadReasons(f"{where} has the keys {', '.join(sorted(entry))}; "
                             "expected scenarios, text, reason and source")
        for name in entry["scenarios"]:
            if name not in known:
                raise BadReasons(f"{where}: no scenario {name}; --list prints their names")
        try:
            re.compile(entry["text"])
        except re.error as error:
            raise BadReasons(f"{where}: text is no regular expression: {error}") from error
    return entries


def judge(name, difference, entries):
    """One row of the result: a scenario, its first difference, the reason, and findings."""
    listed = [(number, entry) for number, entry in enumerate(entries, 1)
              if name in entry["scenarios"]]
    fitting = [(number, entry) for number, entry in listed
               if difference and re.search(entry["text"], difference.text)]
    row = {"scenario": name, "verdict": "same", "findings": [
        f"{REASONS.name}: difference {number} fits nothing in {name}; remove the name"
        for number, entry in listed if (number, entry) not in fitting[:1]]}
    if difference:
        row.update(verdict="differs", packet=difference.committed, packet_now=difference.made,
                   difference=difference.text)
        if fitting:
            row.update(reason=fitting[0][1]["reason"], source=fitting[0][1]["source"])
        else:
            row["findings"].append("no known reason")
    return row


def _print(row):
    if row["verdict"] != "differs":
        print(f"{row['scenario']}: {row['verdict']}")
    else:
        at = f"packet {row['packet']}" if row["packet"] else f"packet {row['packet_now']} now"
        print(f"{row['scenario']}: differs at {at}: {row['difference']}")
    if "reason" in row:
        print(f"  reason: {' '.join(row['reason'].split())} ({row['source']})")
    for finding in row["findings"]:
        print(f"  finding: {finding}")


def run(names, known, room, record, as_json):
    """Make the recordings by `record(name, folder)` and compare them with those of `room`; 0, or 1
    if there are findings.
    """
    entries, rows, shown = reasons(known), [], sys.stderr.isatty()
    with tempfile.TemporaryDirectory() as folder:
        for done, name in enumerate(names):
            if shown:
                print(f"\r\x1b[K[{done}/{len(names)}] {name}", end="", file=sys.stderr, flush=True)
            if record(name, Path(folder)):
                row = {"scenario": name, "verdict": "failed", "findings": ["it was not recorded"]}
            elif not (room / name / "capture.pcapng").exists():
                row = {"scenario": name, "verdict": "new",
                       "findings": [f"{room / name} has no capture to compare with"]}
            else:
                pair = [where / name / "capture.pcapng" for where in (room, Path(folder))]
                row = judge(name, first_difference(*pair), entries)
            rows.append(row)
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    same = sum(row["verdict"] == "same" for row in rows)
    explained = sum("reason" in row for row in rows)
    findings = sum(len(row["findings"]) for row in rows)
    if as_json:
        print(json.dumps({"scenarios": rows, "same": same, "explained": explained,
                          "findings": findings}, indent=2))
    else:
        for row in rows:
            _print(row)
        print(f"{len(rows)} compared: {same} same, {explained} differ for a known reason, "
              f"{findings} findings")
    return 1 if findings else 0
