# The results of a sweep: a line a cell, written one at a time, and at the end in order.
"""While a sweep runs, OUT.part holds the lines in the order in which cells end. Each is one write
and reaches the disk before the next cell of its worker begins; what a crash tore off is cut away.
When all are there they are written to OUT in the cells' order, whole or not at all."""
import fcntl
import json
import os
import pathlib

from verbs.sweep.plan import Failure


def line_of(value):
    """JSON on one line, the same everywhere."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


class Results:
    """Of one sweep; whoever has it open is alone with the file."""

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
        """Takes over what is there of this very sweep."""
        for path in (self.path, self.part):
            data = path.read_bytes() if path.exists() else b""
            # Only the file that grows line by line can end in a line that was torn off.
            whole = data[:data.rfind(b"\n") + 1] if path == self.part else data
            if whole:
                self.read(path, whole)
            if len(whole) != len(data):
                os.ftruncate(self.descriptor, len(whole))
        if not self.part.stat().st_size:
            self.append(self.head)

    def read(self, path, data):
        """The lines of one file."""
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
        """One line, at once and to the disk."""
        data = line_of(value).encode()
        if os.write(self.descriptor, data) != len(data):
            raise Failure(3, f"{self.part}: disk full: free some space and run the sweep again")
        os.fsync(self.descriptor)

    def add(self, value):
        """A cell has ended."""
        self.append(value)
        self.lines[value["cell"]] = value

    def finish(self):
        """Writes the whole in order, in place of the parts."""
        draft = pathlib.Path(f"{self.path}.draft")
        with open(draft, "w", encoding="utf-8") as file:
            file.write(line_of(self.head))
            for cell in sorted(self.lines):
                file.write(line_of(self.lines[cell]))
            file.flush()
            os.fsync(file.fileno())
        draft.rename(self.path)
        self.part.unlink()

    def close(self):
        """A file without a result is removed: a description that was refused may be mended."""
        if not self.lines and self.part.exists():
            self.part.unlink()
        os.close(self.descriptor)
