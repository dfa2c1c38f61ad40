# The results of a sweep: one line per cell, written as cells end, and sorted when all have.
"""While a sweep runs, OUT.part holds the lines in the order in which cells end. Each line is one
write, which is on the disk before the next cell of its worker begins; a line that a crash truncated
is removed. When all are there, they are written to OUT in the order of the cells, atomically."""
import fcntl
import json
import os
import pathlib

from verbs.sweep.files import AtomicFile
from verbs.sweep.plan import Failure


def line_of(value):
    """A value as JSON on one line, the same on every machine."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


class Results:
    """The results of one sweep; opening them locks the file."""

    def __init__(self, path, plan, fresh=False):
        self.path = pathlib.Path(path)
        self.part = pathlib.Path(f"{path}.part")
        self.head = {"sweep": plan.identity(), "cells": len(plan.cells)}
        self.lines = {}
        self.descriptor = None
        if self.path.is_dir():
            raise Failure(2, f"{path}: is a folder: name a file as --out")
        try:
            self.descriptor = os.open(self.part, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Failure(3, f"{self.part}: in use by another sweep: wait for it, or name"
                             " another --out") from error
        except OSError as error:
            raise Failure(3, f"{self.part}: cannot be written ({error.strerror}): name another"
                             " --out") from error
        if fresh:
            os.ftruncate(self.descriptor, 0)
            self.path.unlink(missing_ok=True)
        try:
            self.resume()
        except Failure:
            if not self.part.stat().st_size:
                self.part.unlink()
            raise

    def resume(self):
        """Takes over existing results of the same sweep."""
        for path in (self.path, self.part):
            data = path.read_bytes() if path.exists() else b""
            # Only OUT.part, which grows line by line, can end in a truncated line.
            whole = data[:data.rfind(b"\n") + 1] if path == self.part else data
            if whole:
                self.read(path, whole)
            if len(whole) != len(data):
                os.ftruncate(self.descriptor, len(whole))
        if not self.part.stat().st_size:
            self.append(self.head)

    def read(self, path, data):
        """Reads the lines of one file."""
        try:
            values = [json.loads(line) for line in data.decode().splitlines()]
            if not isinstance(values[0], dict) or "sweep" not in values[0]:
                raise ValueError
            if values[0] != self.head:
                raise Failure(2, f"{path}: contains results of another sweep, program or world:"
                                 " discard them with --fresh, or name another --out")
            self.lines.update({value["cell"]: value for value in values[1:]})
        except (ValueError, KeyError, TypeError) as error:
            raise Failure(2, f"{path}: not a file of sweep results: name another --out"
                          ) from error

    def append(self, value):
        """Appends one line and syncs it to the disk."""
        data = line_of(value).encode()
        if os.write(self.descriptor, data) != len(data):
            raise Failure(3, f"{self.part}: disk full: free some space and run the sweep again")
        os.fsync(self.descriptor)

    def add(self, value):
        """Stores the result of a cell that has ended."""
        self.append(value)
        self.lines[value["cell"]] = value

    def finish(self):
        """Writes all results in order to OUT, and removes OUT.part."""
        cells = (self.lines[cell] for cell in sorted(self.lines))
        AtomicFile(self.path, "--out").keep("".join(map(line_of, [self.head, *cells])))
        self.part.unlink()

    def close(self):
        """Closes the files. A file without results is removed, so that a refused description can be
        corrected."""
        if not self.lines and self.part.exists():
            self.part.unlink()
        os.close(self.descriptor)
