# A program that sends hostile frames, which a test runs beside honest clients.
"""Frames are prepared before the program begins, so that preparing them does not slow it down."""
import pathlib
import subprocess
import sys

from dev import namespace as ns
from proofs.wire import honest

HERE = pathlib.Path(__file__).resolve().parent


class Attack:
    """Starts a program of this folder, which prepares its frames, and sends them from `begin`
    on."""

    def __init__(self, program, interface, count, rate, seed):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / program), interface, *honest.link_facts(interface), ns.OURS,
             "--count", str(count), "--rate", str(rate), "--seed", str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def begin(self):
        """Starts sending."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def is_over(self):
        """Whether all frames were sent."""
        return self.process.poll() is not None

    def sent(self):
        """Waits until it ends; returns the number of frames sent."""
        out, _ = self.process.communicate(timeout=600)
        assert self.process.returncode == 0
        return int(out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
