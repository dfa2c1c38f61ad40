"""The copy of core/ with all mutants in it, and the programs that are linked with it."""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

from dev.cxx.command import without_forced_headers
from dev.mutate import sites

LAYERS = ("units", "memory", "wire", "link", "internet", "tcp", "stack")
TESTS = tuple(f"{layer}_test" for layer in LAYERS)
INPUTS = ("pcaps", "conformance/script")  # what the program lockstep reads
RUNTIME = pathlib.Path(__file__).resolve().parent / "runtime"
NO_SOURCE = re.compile(r"(_test|_fuzz|_main|/main)\.cpp$")  # as in lockstep_collect
OPTIMIZES = re.compile(r"-(O\w|g\w?|Werror)$")
ERROR = re.compile(r"(core/[\w/]+\.(?:cpp|hpp|h)):(\d+):\d+: (?:fatal )?error: (.*)")


class Unable(Exception):
    """Why no result is possible."""


@dataclasses.dataclass
class Place:
    """The folders and files in use."""
    root: pathlib.Path

    @property
    def home(self):
        return self.root / "build" / "mutants"

    @property
    def tree(self):
        return self.home / "tree"

    @property
    def release(self):
        return self.root / "build" / "release"

    def program(self, name):
        return self.home / "programs" / name


def run(command, cwd):
    try:
        return subprocess.run([str(part) for part in command], cwd=cwd, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except FileNotFoundError:
        raise Unable(f"{command[0]} is missing: run tools/setup") from None


def tail(text, lines=15):
    return "\n".join(text.rstrip().splitlines()[-lines:])


def find(root):
    """The files of core/, and all mutants, numbered from 2 in the order of the files."""
    files, mutants, number = sites.files_of(root), [], 2
    for file in files:
        for mutant in file.mutants():
            mutant.number = number
            number += 1
            mutants.append(mutant)
    return files, mutants


def contents(files):
    """The files of the copy: each name with its text."""
    made, number = {}, 2
    for file in files:
        mutants = len(file.mutants())
        made[file.path] = file.written(number) if mutants else file.text
        number += mutants
    made["core/units/mutant.hpp"] = (RUNTIME / "mutant.hpp.in").read_text(encoding="utf-8")
    source = (RUNTIME / "mutant.cpp.in").read_text(encoding="utf-8")
    made["core/units/mutant.cpp"] = source.replace("@COUNT@", str(number))
    made["core/units/teller.cpp"] = (RUNTIME / "teller.cpp.in").read_text(encoding="utf-8")
    return made


def write(place, made):
    """Updates the copy. Unchanged files keep their times, and are not rebuilt."""
    place.tree.mkdir(parents=True, exist_ok=True)
    for path in [path for path in place.tree.rglob("*") if path.is_file()]:
        if str(path.relative_to(place.tree)) not in made:
            path.unlink()
    for name, text in made.items():
        put(place.tree / name, text)


def put(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def build(place, jobs):
    """Builds the tests of all layers and the program, compiles the copy of core/, and links each of
    them with the copy instead of core/. Raises Unable with the reason if that fails."""
    for command in (["cmake", "--preset", "release"],
                    ["cmake", "--build", "--preset", "release", "-j", jobs,
                     *targets("--target")]):
        done = run(command, place.root)
        if done.returncode != 0:
            raise Unable("the unchanged tree cannot be built:\n" + tail(done.stdout, 40))
    done = run(["ninja", "-C", place.release, "-t", "commands", *targets()], place.root)
    put(place.home / "build.ninja", instructions(place, done.stdout.splitlines()))
    done = run(["ninja", "-C", place.home, "-j", jobs], place.root)
    if done.returncode != 0:
        wrong = [f"{file}:{line}: {what}" for file, line, what in ERROR.findall(done.stdout)]
        raise Unable("the copy cannot be built:\n" + ("\n".join(wrong) or tail(done.stdout, 40)))


def targets(option=None):
    names = (*TESTS, "program_lockstep")
    return [word for name in names for word in ((option, name) if option else (name,))]


def instructions(place, commands):
    """Ninja instructions, made from the commands that build the tree. The copy of core/ is linked
    whole and first, so that no object takes anything from the original core/, including inline
    functions that were not inlined."""
    lines = ["rule compile", "  command = $run -MD -MF $out.d -o $out -c $in", "  depfile = $out.d",
             "  deps = gcc", "rule archive", "  command = rm -f $out && ar qc $out $in",
             "rule link", "  command = $run"]
    # The commands of the build compile many files of a library at a time. All of core/ has the same
    # flags.
    flags = shlex.split(next(
        command for command in commands if "/lockstep_tcp.dir/" in command and " -c " in command))
    objects = [compiled(place, lines, flags, str(source.relative_to(place.root)))
               for source in sorted((place.root / "core").rglob("*.cpp"))
               if not NO_SOURCE.search(str(source))]
    objects.append(compiled(place, lines, flags, "core/units/mutant.cpp"))
    links = []
    for command in commands:
        words = shlex.split(command)
        if "-o" in words and words[words.index("-o") + 1].split("/")[-1] in (*TESTS, "lockstep"):
            links.append(words)
    compiled(place, lines, shlex.split(next(
        command for command in commands if " -c " in command and command.endswith("_test.cpp"))),
        "core/units/teller.cpp")
    lines.append(f"build core.a: archive {' '.join(objects)}")
    for words in links:
        linked(place, lines, words)
    return "\n".join(lines) + "\n"


def compiled(place, lines, words, name):
    """Adds the compilation of one source of the copy; returns its object."""
    kept = []
    for word in without_forced_headers(words[:words.index("-MD")]):
        if not OPTIMIZES.match(word):
            kept.append(f"-I{place.tree}" if word == f"-I{place.root}" else word)
    target = f"objects/{name}.o"
    lines += [f"build {target}: compile {place.tree / name}",
              f"  run = {shlex.join([*kept, '-O1', '-w'])}"]
    return target


def linked(place, lines, words):
    """Adds the link of one program: its original command with the copy first."""
    words = [word for word in words if word not in (":", "&&")]
    at = words.index("-o") + 1
    name = words[at].split("/")[-1]
    words[at] = str(place.program(name))
    taken = " ".join(str(place.release / word) for word in words if word.endswith((".o", ".a")))
    mutated = ["-Wl,--whole-archive", str(place.home / "core.a"), "-Wl,--no-whole-archive"]
    if name in TESTS:
        mutated.append(str(place.home / "objects/core/units/teller.cpp.o"))
    first = next(index for index, word in enumerate(words) if word.endswith(".o"))
    words[first:first] = mutated
    lines += [f"build programs/{name}: link core.a objects/core/units/teller.cpp.o | {taken}",
              f"  run = cd {place.release} && {shlex.join(words)}"]


def digest(place):
    """Digest of the programs that run, and of the files that they read."""
    total = hashlib.sha256()
    inputs = [path for folder in INPUTS for path in sorted((place.root / folder).rglob("*"))
              if path.is_file()]
    for path in [place.program(name) for name in (*TESTS, "lockstep")] + inputs:
        total.update(str(path).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def keep(path, value):
    """Writes JSON atomically: an interruption leaves the old file or the new one."""
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(value) + "\n", encoding="utf-8")
    scratch.replace(path)


def be_modest():
    """Lowers the priority, because a run takes long."""
    os.nice(max(0, 10 - os.nice(0)))
