"""The mutants whose effect cannot be observed: listed by hand, each with its reason."""

import pathlib
import tomllib

FILE = pathlib.Path(__file__).resolve().parent / "equivalent.toml"
KEYS = {"id", "row", "code", "reason"}


class BadInput(Exception):
    """An error in the list."""


def load(mutants, path=FILE):
    """Each id with its reason. Raises BadInput if an entry has no mutant, or the mutant's code
    differs."""
    known = {mutant.id: mutant for mutant in mutants}
    reasons, wrong = {}, []
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path.name}: {error}") from None
    for number, entry in enumerate(entries, 1):
        wrong += [f"{path.name}: entry {number} {what}" for what in faults(entry, known, reasons)]
        reasons[entry.get("id")] = entry.get("reason")
    if wrong:
        raise BadInput("\n".join(wrong))
    return reasons


def faults(entry, known, before):
    if set(entry) != KEYS:
        yield f"has the keys {', '.join(sorted(entry))}: it needs {', '.join(sorted(KEYS))}"
        return
    mutant = known.get(entry["id"])
    if mutant is None:
        yield (f"({entry['code']}) is stale: there is no mutant {entry['id']}; review the "
               "present code (tools/mutants --list), or remove the entry")
    elif entry["code"] != mutant.code:
        yield f"says '{entry['code']}', {entry['id']} is '{mutant.code}': correct one of them"
    elif entry["row"] not in mutant.rows:
        yield f"names row {entry['row']}, {entry['id']} stands under {', '.join(mutant.rows)}"
    elif entry["id"] in before:
        yield f"names {entry['id']} a second time: remove one"
