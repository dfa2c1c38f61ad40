"""Purity and determinism: what core/ and sim/ may not use (laws 1 and 2)."""

import re

from dev.cxx.reader import Reader, Unread
from dev.tidy.source import Finding

CORE_HEADERS = set("""
algorithm array bit climits compare concepts cstddef cstdint cstring immintrin.h initializer_list
iterator limits new numeric optional span string_view tuple type_traits utility variant version
wmmintrin.h arm_neon.h
""".split())

CORE_REPLACEMENT = {
    "vector": "memory from the arena (core/memory)",
    "string": "std::string_view, or a fixed array",
    "map": "a table of core/memory",
    "unordered_map": "the keyed hash table (core/units/hash.hpp and a table of core/memory)",
    "random": "core/units/random.hpp",
    "chrono": "Instant and Duration of core/units/time.hpp, handed in as an argument",
    "functional": "a template parameter or a switch",
    "thread": "nothing: one Stack a CPU core, nothing shared",
    "atomic": "nothing: one Stack a CPU core, nothing shared",
    "cassert": "CHECK of core/units/check.hpp",
    "assert.h": "CHECK of core/units/check.hpp",
}

# Headers that sim/ may not use, with replacements; any other <x.h> is an OS header and also banned.
SIM_HEADERS = {
    **{name: "nothing: a run has one thread" for name in
       "thread mutex shared_mutex atomic condition_variable future semaphore barrier".split()},
    **{name: "a span of bytes that tools/ writes" for name in
       "iostream fstream sstream ostream istream iomanip iosfwd filesystem cstdio".split()},
    **{name: "std::vector and std::string_view; text is made in tools/" for name in
       "string locale regex charconv".split()},
    **{name: "a sorted std::vector: trees link a C++ library" for name in "map set".split()},
    **{name: "a sorted std::vector: hash order is no order" for name in
       "unordered_map unordered_set".split()},
    **{name: "an Instant, handed in as an argument" for name in "chrono ctime".split()},
    "random": "core/units/random.hpp",
    "cmath": "integers",
    "complex": "integers",
    "exception": "a Refusal or CHECK",
    "stdexcept": "a Refusal or CHECK",
    "typeinfo": "an enum",
    "cassert": "CHECK of core/units/check.hpp",
}

# (pattern, reason, replacement), for core/ and sim/, including tests.
DETERMINISM = [
    (r"\bunordered_(map|set|multimap|multiset)\b", "its order comes from hashes",
     "use a sorted vector or a table of core/memory"),
    (r"\bstd::hash\b", "its value differs between libraries", "use core/units/hash.hpp"),
    (r"\bstd::(shuffle|sample|random_device|mt19937\w*|minstd_rand0?|default_random_engine)\b|"
     r"\b\w+_distribution\b", "its draws differ between libraries", "use core/units/random.hpp"),
    (r"\b(srand|rand|random|drand48)\s*\(\s*\)", "it draws outside the seed",
     "use core/units/random.hpp"),
    (r"\bstd::chrono\b|\b(clock_gettime|gettimeofday|__rdtscp?|__builtin_ia32_rdtscp?)\b|"
     r"\bstd::time\s*\(", "time must come from the caller", "take an Instant as an argument"),
    (r"__(DATE|TIME|TIMESTAMP)__", "it differs by build", "leave it out"),
    (r"\b(std::)?getenv\s*\(", "a run may depend on its arguments only", "take it from Config"),
    (r"\bstd::(thread|jthread|mutex|atomic\w*|async)\b|\bthread_local\b", "a run has one thread",
     "leave it out"),
]

# Not in tests, which align their arenas.
ADDRESSES = [(r"\bu?intptr_t\b", "addresses differ by run", "use an index")]

# Not in tests, which may use what gtest needs.
INTEGERS = [
    (r"\b(float|double)\b|(?<![\w.])\d+\.\d+\w*", "floats round differently by machine",
     "use integers, with the unit in the name"),
    (r"\b(?<!::)long\b", "its width differs by machine", "use std::int64_t or std::uint64_t"),
    (r"\b(throw|try|catch)\b", "exceptions are off", "return a Refusal, or CHECK for our own bug"),
    (r"\b(dynamic_cast|typeid)\b", "type information is off", "use an enum or a variant"),
    (r"\bstd::(string|to_string|stringstream|ostream|cout|cerr)\b",
     "text is made in tools/", "use std::string_view"),
]

CORE_ONLY = [
    (r"\bvirtual\b", "core/ has no virtual calls", "use a template parameter or a switch"),
    (r"(?<!operator )\bnew\b(?!\s*\()|\bdelete\b(?!\s*[;,)])|"
     r"\b(malloc|calloc|realloc|free|make_unique|make_shared)\s*\(|\bstd::(unique|shared)_ptr\b",
     "nothing is allocated after construction", "take it from the arena (core/memory)"),
    (r"\bstd::(vector|deque|list|map|set|function|any|pmr)\b", "it allocates",
     "use a pool of core/memory, or std::array"),
    (r"\b(printf|fprintf|puts|fopen)\s*\(|(?<!\w)(std)?::(abort|exit)\s*\(",
     "core/ does no input or output", "CHECK of core/units/check.hpp"),
]

SIZE = re.compile(r"\b(size_t|ptrdiff_t)\b")
SIZE_FIELD = re.compile(r"(mutable )?(std :: )?(size_t|ptrdiff_t) (?!operator)\w+ [;={,[]")


def applies(source):
    """Whether the laws of core/ and sim/ apply to this file."""
    return (source.is_cpp and source.module in ("core", "sim")
            and not source.path.startswith(("sim/ns3/", "sim/examples/")))


def check_headers(source):
    for line, name, quoted in source.includes:
        if quoted or source.path.startswith("sim/runner/"):
            continue
        if source.is_test:
            if name in ("random", "thread", "chrono"):
                yield Finding("purity", source.path, line,
                              f"<{name}> in a test of {source.module}/",
                              f"use {CORE_REPLACEMENT[name]}")
        elif source.module == "core" and name not in CORE_HEADERS:
            yield Finding("purity", source.path, line, f"<{name}> is not for core/",
                          f"use {CORE_REPLACEMENT.get(name, 'what core/ offers, or move this up')}")
        elif source.module == "sim" and (name in SIM_HEADERS or
                                       (name.endswith(".h") and name not in CORE_HEADERS)):
            replacement = SIM_HEADERS.get(name, "what core/ offers, or move this to tools/")
            yield Finding("purity", source.path, line, f"<{name}> is not for sim/",
                          f"use {replacement}")


def check_words(source):
    rules = [("determinism", DETERMINISM)]
    if not source.is_test and not source.path.startswith("sim/runner/"):
        rules += [("determinism", ADDRESSES), ("purity", INTEGERS)]
        if source.module == "core":
            rules.append(("purity", CORE_ONLY))
    for number, line in enumerate(source.code_lines, 1):
        if line.lstrip().startswith("#"):
            continue
        for rule, patterns in rules:
            for pattern, reason, replacement in patterns:
                match = re.search(pattern, line)
                if match:
                    yield Finding(rule, source.path, number,
                                  f"'{match.group(0).strip()}': {reason}", replacement)


def check_members(source):
    """No std::size_t in stored state, because its width differs between machines."""
    if source.is_test or not SIZE.search(source.code):
        return
    try:
        read = Reader(source.text, source.path)
    except Unread as error:
        place, reason = str(error).split(": ", 1)
        yield Finding("determinism", source.path, int(place.split(":")[1]),
                      f"cannot look for size_t in stored state: {reason}",
                      "make it compile, or extend tools/dev/cxx")
        return
    for begin, end in read.fields:
        if SIZE_FIELD.match(" ".join(read.at(at) for at in range(begin, end + 1))):
            yield Finding("determinism", source.path, read.line(begin), "size_t in stored state",
                          "use std::uint32_t or std::uint64_t")


def check(source):
    if applies(source):
        yield from check_headers(source)
        yield from check_words(source)
        yield from check_members(source)
