"""Checks that each header compiles alone. Results are cached by content.

A header that is the first include of its own .cpp file is compiled alone by every build, so only
the others are compiled here.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

from dev.tidy.closure import Closure
from dev.tidy.source import Finding

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
         "-Wno-pragma-once-outside-header", "-Wno-unused-const-variable", "-xc++-header"]
KEPT_MAX = 10_000
BARE = ["-fno-exceptions", "-fno-rtti"]


def proven_by_build(sources):
    """The headers that their own .cpp file includes before anything else."""
    proven = set()
    for source in sources:
        if source.path.endswith(".cpp") and source.includes:
            first = source.includes[0][1]
            stem = source.path.removesuffix(".cpp").removesuffix("_test")
            if first == stem + ".hpp":
                proven.add(first)
    return proven


def find_compiler():
    for name in ("clang++-19", "clang++", "g++"):
        path = shutil.which(name)
        if path:
            return path
    return None


def compile_alone(compiler, root, path):
    """None, or the compiler's first error."""
    inside_ns3 = path.startswith("sim/ns3/")  # uses ns-3's types, so it needs ns-3
    flags = FLAGS + (BARE if path.startswith(("core/", "sim/")) and not inside_ns3 else [])
    if "clang" not in compiler:
        flags = [flag for flag in flags if "outside-header" not in flag]
    done = subprocess.run([compiler, *flags, f"-I{root}", str(pathlib.Path(root) / path)],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0 or inside_ns3 and re.search("ns3/.*(file not found|No such file)",
                                                        done.stderr):
        return None
    errors = [line for line in done.stderr.split("\n") if "error:" in line]
    return errors[0].split("error:", 1)[1].strip() if errors else done.stderr[:200]


def load_cache(file):
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def check(root, sources, cache_file):
    """Compiles every header that changed since the last run."""
    proven = proven_by_build(sources)
    headers = [s.path for s in sources
               if s.is_header and "/" in s.path and s.path not in proven]
    compiler = find_compiler()
    if not headers or compiler is None:
        return
    cache, kept, closure, waiting = load_cache(cache_file), {}, Closure(root), []
    identity = hashlib.sha256(json.dumps([compiler, FLAGS, BARE]).encode()).hexdigest()[:12]
    for path in headers:
        key = f"{identity} {path} {closure.digest(path)}"
        if key in cache:
            kept[key] = None
        else:
            waiting.append((path, key))
    with concurrent.futures.ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool:
        errors = list(pool.map(lambda each: compile_alone(compiler, root, each[0]), waiting))
    for (path, key), error in zip(waiting, errors):
        if error is None:
            kept[key] = None
        else:
            yield Finding("self-contained", path, 1, f"does not compile alone: {error}",
                          "include what it uses")
    if len(cache) < KEPT_MAX:  # other checkouts have other headers
        kept = {**cache, **kept}
    cache_file.parent.mkdir(parents=True, exist_ok=True)
    temporary = cache_file.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(kept, sort_keys=True), encoding="utf-8")
    temporary.replace(cache_file)
