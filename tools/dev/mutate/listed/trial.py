"""Builds a copy of the tree with one mutation in it, and runs tests until one fails."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml

from dev.mutate.cited import tests_of_core
from dev.mutate.listed.patches import mutated

# The layers, lowest first. Tests of a change's own layer and of higher ones can notice it.
LAYERS = ("units", "memory", "wire", "link", "internet", "tcp", "stack")
NOT_COPIED = (".ci/", ".git")
HANGS_AFTER_S = 600

FAILED = re.compile(r"^\[  FAILED  \] ([\w/.]+)", re.M)
RUNNING = re.compile(r"^\[ RUN      \] ([\w/.]+)", re.M)


class Unable(Exception):
    """Why no trial is possible."""


@dataclasses.dataclass
class Place:
    """The folders of the copy, its build and the reports; the jobs that a build may use."""
    root: pathlib.Path
    jobs: int

    @property
    def home(self):
        return self.root / "build" / "mutations"

    @property
    def tree(self):
        return self.home / "tree"

    @property
    def build(self):
        return self.home / "build"


def run(command, cwd, timeout=None):
    try:
        return subprocess.run([str(part) for part in command], cwd=cwd, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
                              check=False)
    except FileNotFoundError:
        raise Unable(f"{command[0]} is missing: run tools/setup") from None


def copy_tree(place):
    """Updates the copy. Unchanged files keep their times, so that only changed ones are rebuilt."""
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                 place.root)
    if listed.returncode != 0:
        raise Unable("git does not list the tree: run this in a clone of the repository")
    names = {name for name in listed.stdout.split("\0")
             if name and not name.startswith(NOT_COPIED) and (place.root / name).is_file()}
    place.tree.mkdir(parents=True, exist_ok=True)
    for path in [path for path in place.tree.rglob("*") if path.is_file()]:
        name = str(path.relative_to(place.tree))
        if name not in names and not name.startswith("build/"):
            path.unlink()
    for name in sorted(names):
        there = place.tree / name
        data = (place.root / name).read_bytes()
        if not there.exists() or there.read_bytes() != data:
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(data)
            shutil.copymode(place.root / name, there)


def configure(place, more=()):
    compilers = []
    if shutil.which("clang++-19"):
        compilers = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19"]
    done = run(["cmake", "-G", "Ninja", "-S", place.tree, "-B", place.build, *compilers,
                "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0",
                "-DLOCKSTEP_WERROR=OFF", *more], place.root)
    if done.returncode != 0:
        raise Unable("the copy cannot be configured:\n" + tail(done.stdout))


def tail(text, lines=15):
    return "\n".join(text.rstrip().splitlines()[-lines:])


def programs_for(file):
    """The programs that a change of `file` can make fail, the nearest first."""
    layer = pathlib.PurePath(file).parts[1]
    return [f"{name}_test" for name in LAYERS[LAYERS.index(layer):]] + ["lockstep"]


def build(place, program):
    target = f"program_{program}" if program == "lockstep" else program
    done = run(["cmake", "--build", place.build, "-j", place.jobs, "--target", target], place.root)
    return "" if done.returncode == 0 else tail(done.stdout, 40)


def first_failure(output):
    """The test that failed, or that was running when its program crashed."""
    failed = FAILED.search(output)
    running = RUNNING.findall(output)
    return failed.group(1) if failed else running[-1] if running else "the program's start"


def run_tests(place, program, only=()):
    """The name of the first test that fails, or None; `only` names those to run, all if empty."""
    command = [place.build / "tests" / program, "--gtest_fail_fast", "--gtest_color=no"]
    if only:
        command.append("--gtest_filter=" + ":".join(f"{name}:*/{name}/*" for name in only))
    try:
        done = run(command, place.tree, HANGS_AFTER_S)
    except subprocess.TimeoutExpired as late:
        output = late.stdout or ""
        output = output if isinstance(output, str) else output.decode(errors="replace")
        return f"{program}: {first_failure(output)} (it hangs)"
    return None if done.returncode == 0 else f"{program}: {first_failure(done.stdout)}"


def run_scenarios(place):
    """The first scenario that does not agree, or twin that does, or None."""
    junit = place.home / "conformance.xml"
    junit.unlink(missing_ok=True)
    command = [place.build / "lockstep", "conformance", "--junit", junit,
               "--json", place.home / "conformance.json"]
    try:
        done = run(command, place.tree, HANGS_AFTER_S)
    except subprocess.TimeoutExpired:
        return "lockstep conformance (it hangs)"
    if done.returncode == 0:
        return None
    if not junit.exists():
        return "lockstep conformance (it crashes)"
    for case in xml.parse(junit).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            return f"scenario {case.get('name')}"
    return "lockstep conformance"


def build_or_stop(place, program):
    trouble = build(place, program)
    if trouble:
        raise Unable(f"{program} cannot be built:\n{trouble}")


def notices(place, program):
    """The program's first test or scenario that fails in the copy as it is, or None."""
    build_or_stop(place, program)
    return run_scenarios(place) if program == "lockstep" else run_tests(place, program)


def notices_mutation(place, programs, mutation):
    """The same with the mutation in the copy, which is restored afterwards. Tests that cite the
    requirement run first, then all."""
    path = place.tree / mutation.file
    before = path.read_text(encoding="utf-8")
    citing = tests_of_core(place.tree).get(mutation.id, [])
    path.write_text(mutated(before, mutation), encoding="utf-8")
    try:
        for program in programs if citing and programs != ["lockstep"] else ():
            build_or_stop(place, program)
            caught = run_tests(place, program, citing)
            if caught:
                return f"{caught} (cites it)"
        return next(filter(None, (notices(place, program) for program in programs)), None)
    except Unable as error:
        raise Unable(f"{mutation.id}: with its mutation {error}") from None
    finally:
        path.write_text(before, encoding="utf-8")


def be_modest():
    """Lowers the priority, because the trials take long."""
    os.nice(max(0, 10 - os.nice(0)))
