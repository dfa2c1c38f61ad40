# The options of pytest for a device on a wire, and what the run says of it.
import collections
import re
import sys

from . import target as targets
from .errors import Misuse

OPTIONS = ("--target-source", "--target-port", "--target-service", "--agent")


def port(text):
    """A port, for argparse."""
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise ValueError(text)
    return int(text)


port.__name__ = "port"


def add(group):
    """Adds them."""
    group.addoption(
        "--target-port", type=port, metavar="PORT",
        help="of --target INTERFACE:ADDRESS: the port where the device has a service, as 7 (echo),"
        " 9 (discard) or 80 (HTTP)")
    group.addoption(
        "--target-service", metavar="KIND",
        help="what that service is like: echo, discard or http (default: it is asked)")
    group.addoption(
        "--target-source", metavar="ADDRESS",
        help="the tester's address on that wire (default: a free one of the interface's network,"
        " from the highest down); with this machine's own, nftables silences the kernel")
    group.addoption(
        "--agent", metavar="ADDRESS:PORT",
        help="where lockstep_agent runs on the device, which makes the calls of the tests there")


def prepare(config):
    """Finds the device, if the target is one on a wire; notes a line for the summary."""
    name = config.getoption("--target")
    given = [option for option in OPTIONS if config.getoption(option) is not None]
    if name in targets.kinds or not targets.on_a_wire(name):
        if given:
            raise Misuse(f"{given[0]}: only for --target INTERFACE:ADDRESS, as eth0:10.0.0.5")
        return
    from . import wire_target

    asked = wire_target.Asked(
        source=config.getoption("--target-source"), port=config.getoption("--target-port"),
        service=config.getoption("--target-service"), helper=config.getoption("--agent"))
    if asked.helper is not None and getattr(config.option, "numprocesses", None):
        raise Misuse("--agent: it serves one tester at a time: leave -n out")
    words = wire_target.prepare(name, asked)
    if getattr(config.option, "numprocesses", None):  # the workers test, this one has only looked
        wire_target.give_back()
    config.pluginmanager.register(Said(f"target: {words}"), "lockstep-wire")


def give_back():
    """Gives back what prepare() took, if it was called."""
    found = sys.modules.get(f"{__package__}.wire_target")
    if found is not None:
        found.give_back()


class Said:
    """A pytest plugin: says what was tested, also with -q."""

    def __init__(self, words):
        self._words = words

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.write_line(self._words)


def left_out(name, reasons):
    """Lines for the summary: how many tests were left out, and why. Only for a device on a wire."""
    reasons = list(reasons)
    if not targets.on_a_wire(name) or not reasons:
        return []
    short = [re.sub(r"a wait of \d+ s", "a wait of more than 12 s",
                    reason.removeprefix(f"target {name}: ")) for reason in reasons]
    counts = collections.Counter(short)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return [f"left out: {len(reasons)} tests", *(f"{count:6}  {words}" for words, count in rows)]
