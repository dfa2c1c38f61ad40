"""Sizes and first lines: 70 lines per Python function, 700 per file, 100 columns, a purpose at the
top."""

import ast
import re

from dev.tidy.source import Finding

FUNCTION_LINES = 70
FILE_LINES = 700
COLUMNS = 100


def python_functions(source):
    """(name, first line, last line) of each function. clang-tidy measures those of C++."""
    if not (source.path.endswith(".py") or source.lines[0].startswith("#!/usr/bin/env python3")):
        return
    try:
        tree = ast.parse(source.text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def check_lengths(source):
    for name, first, last in python_functions(source):
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


def check(source):
    cmake = source.path.endswith(".cmake") or source.path.endswith("CMakeLists.txt")
    if source.path.endswith("__init__.py") and not source.text.strip():
        return
    if source.is_cpp or source.is_script or cmake or source.path.endswith(".sh"):
        yield from check_lengths(source)
        yield from check_first_line(source)
