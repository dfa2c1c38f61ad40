"""Where the layout differs from clang-format's with the settings of .clang-format."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

from dev.tidy.source import Finding

PROGRAM = "clang-format-19"  # other versions break lines elsewhere
WARNING = re.compile(r"^(.*?):(\d+):\d+: warning: ", re.M)
AT_ONCE = 40


class Missing(Exception):
    """clang-format of that version is not installed."""


def run(root, arguments, files):
    """Runs clang-format over `files`; returns what it wrote to standard error."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise Missing

    def some(names):
        return subprocess.run([program, *arguments, *names], cwd=root, capture_output=True,
                              text=True, check=False)

    chunks = [files[at:at + AT_ONCE] for at in range(0, len(files), AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ran = list(pool.map(some, chunks))
    for one in ran:
        if one.returncode not in (0, 1) or (one.returncode and not WARNING.search(one.stderr)):
            raise OSError(f"{PROGRAM}: {one.stderr.strip()}")
    return "\n".join(one.stderr for one in ran)


def formatted_files(root, sources):
    """The files that the rule applies to."""
    if not (pathlib.Path(root) / ".clang-format").is_file():
        return []
    return [source.path for source in sources if source.is_cpp]


def check(root, sources):
    """Findings of the rule 'format': one per file, at its first line that differs."""
    files = formatted_files(root, sources)
    if not files:
        return
    first = {}
    for path, line in WARNING.findall(run(root, ["--dry-run"], files)):
        first.setdefault(path, int(line))
    for path, line in sorted(first.items()):
        yield Finding("format", path, line, "clang-format's layout differs",
                      "run tools/tidy --fix")


def fix(root, sources):
    """Reformats the files that have findings."""
    files = formatted_files(root, sources)
    if files:
        run(root, ["-i"], files)
