# Reads the description of a sweep and lists its cells: the command line of each, in order.
"""A description is a TOML file:

    run = ["sim", "run", "sim/examples/lossy_path.toml"]
    seeds = "1..20"                     # the verb's option for it; innermost
    [set]                               # --set KEY=VALUE
    "*.sack" = [true, false]
    [options]                           # --KEY=VALUE, which flags understand too
    until = ["10s", "20s"]

The values of an axis are a list or "FIRST..LAST". The cells are all combinations, in the order of
the file.
"""
import hashlib
import itertools
import pathlib
import re
import tomllib

CELLS_MAX = 1_000_000
RANGE = re.compile(r"(\d+)\.\.(\d+)")

# For each verb: how it reports ("file": --json FILE, "flag": --json prints it, "text": its output),
# and its option for seeds.
VERBS = {
    ("sim", "run"): ("file", "--seed"),
    ("ns3", "run"): ("flag", "--seed"),
    ("hostile",): ("file", "--seed"),
    ("swarm",): ("file", "--seeds"),
    ("matrix",): ("text", None),
}
# Options that the sweep itself sets, or that name a file which all cells would write.
RESERVED = ("json", "jobs", "write", "out", "csv", "pcapng", "series", "save")


class Failure(Exception):
    """One line for the user, and the exit code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Description:
    """The parsed file, with the line of each key for error messages."""

    def __init__(self, path):
        self.path = path
        try:
            self.text = pathlib.Path(path).read_text(encoding="utf-8")
            self.table = tomllib.loads(self.text)
        except OSError as error:
            raise Failure(2, f"{path}: cannot be read ({error.strerror}): name a description of a"
                             " sweep, see 'lockstep sweep --help'") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise Failure(2, f"{path}: not valid TOML: {error}: correct it") from error

    def wrong(self, key, what):
        """A Failure that names the line of the key."""
        pattern = re.compile(rf"""\s*\[?["']?{re.escape(key)}["']?\s*(=|\])""")
        lines = enumerate(self.text.splitlines(), 1)
        line = next((number for number, text in lines if pattern.match(text)), 1)
        return Failure(2, f"{self.path}:{line}: '{key}': {what}")


def word_of(value):
    """A value as written on the command line."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def values_of(description, key, values):
    """The values of an axis."""
    if isinstance(values, str) and (match := RANGE.fullmatch(values)):
        first, last = int(match[1]), int(match[2])
        if first > last or last - first >= CELLS_MAX:
            raise description.wrong(key, f'found "{values}", expected "FIRST..LAST" with FIRST not'
                                         f" above LAST and at most {CELLS_MAX} values")
        return list(range(first, last + 1))
    plain = (str, int, float, bool)
    if not isinstance(values, list) or not values or not all(isinstance(v, plain) for v in values):
        raise description.wrong(key, f"found {values!r}, expected a list of values, or a range"
                                     ' like "1..20"')
    words = [word_of(value) for value in values]
    twice = next((word for word in words if words.count(word) > 1), None)
    if twice is not None:
        raise description.wrong(key, f"{twice} is listed twice: remove one")
    return values


def verb_of(description):
    """The words of `run`, its verb, how it reports, and its option for seeds."""
    words = description.table.get("run")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise description.wrong("run", 'expected a verb and its arguments, like run = ["sim",'
                                       ' "run", "world.toml"]')
    for verb, (report, seeds) in VERBS.items():
        if tuple(words[:len(verb)]) == verb:
            taken = next((word for word in words
                          if word.startswith("--") and word[2:].split("=")[0] in RESERVED), None)
            if taken is not None:
                raise description.wrong("run", f"{taken} is set by the sweep itself: remove it")
            return words, verb, report, seeds
    known = ", ".join(" ".join(verb) for verb in VERBS)
    raise description.wrong("run", f"expected one of the verbs {known}: choose one")


def axes_of(description, verb, seeds_option):
    """(kind, key, values) of each axis, the innermost last."""
    axes = []
    unknown = next((key for key in description.table
                    if key not in ("run", "seeds", "set", "options")), None)
    if unknown is not None:
        raise description.wrong(unknown, "unknown key, expected one of: run, seeds, set, options")
    for kind in ("options", "set"):
        table = description.table.get(kind, {})
        if not isinstance(table, dict):
            raise description.wrong(kind, f"expected a table: [{kind}]")
        for key, values in table.items():
            if kind == "options" and (key.startswith("-") or key in RESERVED):
                raise description.wrong(key, "expected the name of an option without its dashes,"
                                             " and not one that the sweep itself sets")
            axes.append((kind, key, values_of(description, key, values)))
    if "seeds" in description.table:
        if seeds_option is None:
            raise description.wrong("seeds", f"{' '.join(verb)} has no seeds: remove it")
        axes.append(("seed", "seeds", values_of(description, "seeds",
                                                description.table["seeds"])))
    return axes


def words_of(axis, value, seeds_option):
    """The words that an axis adds to the command line."""
    kind, key, _ = axis
    if kind == "set":
        return ["--set", f"{key}={word_of(value)}"]
    return [f"--{key}={word_of(value)}"] if kind == "options" else [seeds_option, word_of(value)]


def digest(path):
    """The SHA-256 of a file."""
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def named_in(path):
    """The files that a world names: "file sizes.txt", beside it."""
    text = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    names = re.findall(r'"file +([^ "]+)"', text) + re.findall(r'trace *= *"([^"]+)"', text)
    return [str(pathlib.Path(path).parent / name) for name in names]


class Plan:
    """The cells of a sweep, each with the words of its command line and its name."""

    def __init__(self, path, program):
        description = Description(path)
        self.run, verb, self.report, seeds_option = verb_of(description)
        self.axes = axes_of(description, verb, seeds_option)
        count = 1
        for _, key, values in self.axes:
            count *= len(values)
            if count > CELLS_MAX:
                raise description.wrong(key, f"makes more than {CELLS_MAX} cells: use fewer values")
        self.cells = []
        for values in itertools.product(*(axis[2] for axis in self.axes)):
            extra = [words_of(axis, value, seeds_option)
                     for axis, value in zip(self.axes, values)]
            self.cells.append((self.run + [word for words in extra for word in words],
                               self.name_of(values)))
        self.files = self.read_files(program, verb)

    def name_of(self, values):
        """{"options": {...}, "set": {...}, "seed": n}, without empty members."""
        name = {}
        for (kind, key, _), value in zip(self.axes, values):
            if kind == "seed":
                name["seed"] = value
            else:
                name.setdefault(kind, {})[key] = value
        return name

    def read_files(self, program, verb):
        """Digests of all that determines a cell's result: the program, and the files it is
        given."""
        paths = [program]
        if verb == ("ns3", "run"):
            paths.append(str(pathlib.Path(program).parent / "lockstep_ns3"))
        words = {word for cell, _ in self.cells for word in cell}
        words |= {word.partition("=")[2] for word in words}  # --OPTION=FILE
        paths += sorted(word for word in words if word and pathlib.Path(word).is_file())
        paths += [named for path in paths if path.endswith(".toml") for named in named_in(path)]
        return {path: digest(path) for path in paths if pathlib.Path(path).is_file()}

    def identity(self):
        """A hash; equal if all cells would give the same results."""
        text = repr((self.run, self.axes, sorted(self.files.values())))
        return hashlib.sha256(text.encode()).hexdigest()
