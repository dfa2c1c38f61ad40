"""Sizes and first lines: 70 lines per function, 700 per file, 100 columns, a purpose at the top."""

import ast
import re

from dev.tidy.source import Finding

FUNCTION_LINES = 70
FILE_LINES = 700
COLUMNS = 100
TWINS = re.compile(r"[(,]\s*(?:const\s+)?((?:std::)?u?int(?:8|16|32|64)_t|(?:std::)?size_t)\s+\w+"
                   r"(?:\s*=\s*[\w']+)?\s*,\s*(?:const\s+)?\1\s+\w+")


def python_functions(source):
    """(name, first line, last line) of each Python function."""
    try:
        tree = ast.parse(source.text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def functions(source):
    if source.is_cpp:
        for block in source.blocks:
            if block.kind == "function":
                yield block.name, block.first, block.last
    elif source.path.endswith(".py") or source.lines[0].startswith("#!/usr/bin/env python3"):
        yield from python_functions(source)


def check_lengths(source):
    for name, first, last in functions(source):
        lines = last - first + 1
        if lines > FUNCTION_LINES:
            yield Finding("function-size", source.path, first,
                          f"{name} has {lines} lines, {FUNCTION_LINES} at most",
                          "move computations to other functions")
    if source.lines[-1] == "":
        count = len(source.lines) - 1
    else:
        count = len(source.lines)
    if count > FILE_LINES:
        yield Finding("file-size", source.path, FILE_LINES,
                      f"{count} lines, {FILE_LINES} at most", "split it by responsibility")
    for number, line in enumerate(source.lines, 1):
        if len(line) > COLUMNS:
            yield Finding("columns", source.path, number,
                          f"{len(line)} columns, {COLUMNS} at most", "break the line")


def says_something(line, mark):
    return line.startswith(mark + " ") and len(line) > len(mark) + 10


def check_first_line(source):
    lines = source.lines
    if source.is_cpp:
        good, mark = says_something(lines[0], "//"), "// ..."
    else:
        at = 1 if lines[0].startswith("#!") and len(lines) > 1 else 0
        good = says_something(lines[at], "#") or re.match(r'r?"""\S', lines[at]) is not None
        mark = '# ... (or a """docstring""")'
    if not good:
        yield Finding("first-line", source.path, 1,
                      "the first line does not say what the file is for", f"begin with {mark}")


def check_twins(source):
    """Two integers of one width side by side in a declaration: a call with swapped arguments
    compiles."""
    if source.module not in ("core", "sim") or not source.is_header \
            or source.is_test:
        return
    for match in TWINS.finditer(source.code):
        number = source.code[:match.start()].count("\n") + 1
        yield Finding("twins", source.path, number, f"two {match.group(1)} stand side by side",
                      "use the strong types of core/units, or a struct with named fields")


def check(source):
    cmake = source.path.endswith(".cmake") or source.path.endswith("CMakeLists.txt")
    if source.path.endswith("__init__.py") and not source.text.strip():
        return
    if source.is_cpp or source.is_script or cmake or source.path.endswith(".sh"):
        yield from check_lengths(source)
        yield from check_first_line(source)
        yield from check_twins(source)
