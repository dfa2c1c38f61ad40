# The command that repeats a test, and the folder in which a failing test leaves its files.
import os
import shlex
import shutil
import sys
from pathlib import Path

#: Where a failing test leaves its files, in the current folder, if nothing else is configured.
FOLDER = "lockstep-report"
#: Options of pytest that decide how a test runs, and not which tests run or what is printed. They
#: are repeated as they were given.
VALUES = ("-p", "-c", "--config-file", "-o", "--override-ini", "-W", "--pythonwarnings",
          "--rootdir", "--confcutdir", "--import-mode", "--basetemp", "--target-port",
          "--target-service", "--target-source", "--agent")
FLAGS = ("--noconftest", "--strict-markers", "--strict-config", "--disable-plugin-autoload")
#: Other options with a value, which may look like an option.
TAKEN = ("-k", "-m", "-r", "-n", "--deselect", "--ignore", "--ignore-glob")
#: Options of the plugin that are repeated even if they were not given.
ALWAYS = ("--lockstep-seed", "--lockstep-profile", "--target")


def command(item, profiles):
    """The line that runs this test again, alone, in the folder where pytest was started.
    `profiles`: what --lockstep-profiles is.
    """
    config = item.config
    parts = [interpreter(config), "-m", "pytest", node(item)]
    for option in ALWAYS:
        parts += [option, str(config.getoption(option))]
    if profiles != "named":
        parts += ["--lockstep-profiles", profiles]
    return shlex.join(parts + given(config.invocation_params.args))


def given(arguments):
    """Those of these arguments that decide how a test runs, in their order."""
    found = []
    words = iter([str(each) for each in arguments])
    for word in words:
        if word.startswith("--"):
            name, sign, value = word.partition("=")
        elif word.startswith("-"):
            name, sign, value = short(word)
        else:
            continue
        if name in FLAGS:
            found.append(name)
        elif name in VALUES or name in TAKEN:
            value = value if sign else next(words, "")
            found += [name, value] if name in VALUES else []
    return found


def short(word):
    """The last option of a word such as -xpname: (name, its value if it is in the word, value)."""
    for at, letter in enumerate(word[1:], 2):
        if f"-{letter}" in VALUES or f"-{letter}" in TAKEN:
            return f"-{letter}", word[at:], word[at:]
    return word, "", ""


def interpreter(config):
    """Python as it is called here: by its name, by its path below the current folder, or whole."""
    if Path(shutil.which("python") or "") == Path(sys.executable):
        return "python"
    return shortest(config, sys.executable)


def node(item):
    """The test by its file as seen from the current folder, where pytest's own id may not be."""
    file, colons, rest = item.nodeid.partition("::")
    below = shortest(item.config, item.path)
    return below + colons + rest if file.endswith(".py") else item.nodeid


def shortest(config, path):
    """Relative to the current folder if it lies below it, otherwise absolute."""
    start = config.invocation_params.dir
    return os.path.relpath(path, start) if Path(path).is_relative_to(start) else str(path)


def folder(config):
    """Where a failing test leaves its files: the folder that the ini option names, seen from the
    root of the tests, or FOLDER in the current folder.
    """
    named = config.getini("lockstep_artifacts")
    return Path(config.rootpath, named) if named else Path(config.invocation_params.dir, FOLDER)


def made(config):
    """That folder, made; git ignores it if it is FOLDER."""
    path = folder(config)
    path.mkdir(parents=True, exist_ok=True)
    ignore = path / ".gitignore"
    if not config.getini("lockstep_artifacts") and not ignore.exists():
        ignore.write_text("# Made by lockstep.testing.\n*\n", encoding="utf-8")
    return path
