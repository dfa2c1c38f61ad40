# Servers of other users and on other drivers, for tests of what a server may do.
"""Functions of test_confined.py and test_unit.py."""
import contextlib
import os
import pathlib
import pwd
import shutil
import tempfile

import pytest

from dev import namespace as ns


@contextlib.contextmanager
def folder_of_nobody():
    """A folder that every user can reach, which belongs to nobody, with the program: others may not
    reach the build."""
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        os.chown(name, nobody.pw_uid, nobody.pw_gid)
        shutil.copy(ns.PROGRAM, name)
        yield pathlib.Path(name)


def as_nobody(*capabilities):
    """The words that run a command as nobody, with these ambient capabilities, as systemd does."""
    rights = ",".join("+" + each.removeprefix("CAP_").lower() for each in capabilities)
    return ["setpriv", "--reuid", "nobody", "--clear-groups", "--inh-caps", rights,
            "--ambient-caps", rights]


def place(kind):
    """The words for an interface that is driven by `kind`; "cpus" is a packet socket and one
    processor."""
    if kind == "tap":
        return ["--tap", ns.NAME, "--address", f"{ns.OURS}/24", "--host", f"{ns.KERNEL}/24"]
    ns.make_pair()
    words = ["--iface", ns.NAME, "--address", f"{ns.OURS}/24"]
    if kind == "cpus":
        return [*words, "--cpus", str(min(os.sched_getaffinity(0)))]
    return [*words, "--driver", kind]


def skip_without(kind):
    """Skips a test of a driver that cannot be used here."""
    if kind == "xdp" and ns.why_no_xdp() is not None:
        pytest.skip(ns.why_no_xdp())
