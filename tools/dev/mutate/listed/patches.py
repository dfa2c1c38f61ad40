"""The mutations listed in the repository, and how one changes a file's text."""

import dataclasses
import pathlib
import tomllib

FILE = "conformance/requirements/mutations.toml"
KEYS = ("id", "file", "find", "replace", "why")


class BadInput(Exception):
    """An error in a mutation, with its file."""


@dataclasses.dataclass(frozen=True)
class Mutation:
    id: str
    file: str
    find: str
    replace: str
    why: str


def load(root):
    """All mutations by id. Raises BadInput for a malformed entry, and for an id listed twice."""
    path = pathlib.Path(root) / FILE
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("mutation", [])
    except FileNotFoundError:
        raise BadInput(f"{FILE} is missing: run this in the repository") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{FILE}: not TOML: {error}") from None
    found = {}
    for number, entry in enumerate(entries, 1):
        name = entry.get("id", f"entry {number}")
        if sorted(entry) != sorted(KEYS) or not all(isinstance(v, str) for v in entry.values()):
            raise BadInput(f"{FILE}: {name}: expected the strings {', '.join(KEYS)}")
        if name in found:
            raise BadInput(f"{FILE}: {name} is listed twice: keep one")
        found[name] = Mutation(**entry)
    return found


def mutated(text, mutation):
    """`text` with the mutation's change. Raises BadInput unless `find` occurs exactly once."""
    count = text.count(mutation.find) if mutation.find else 0
    if count != 1:
        raise BadInput(f"{FILE}: {mutation.id}: its text occurs {count} times in {mutation.file}, "
                       "expected once: take it from the code as it is now")
    if mutation.find == mutation.replace:
        raise BadInput(f"{FILE}: {mutation.id}: it changes nothing")
    return text.replace(mutation.find, mutation.replace)


def check(root, mutations):
    """One line for each mutation that cannot be applied to the tree under `root`."""
    wrong = []
    for mutation in mutations:
        path = pathlib.Path(root) / mutation.file
        try:
            mutated(path.read_text(encoding="utf-8"), mutation)
        except OSError:
            wrong.append(f"{FILE}: {mutation.id}: there is no file {mutation.file}")
        except BadInput as error:
            wrong.append(str(error))
    return wrong
