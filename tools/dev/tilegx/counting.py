"""Counts instructions per stage of turn() in the trace of a program from user-mode QEMU."""

import bisect
import collections
import re
import subprocess

# The stages of one host's turn. `turn` is the loop itself, its port in memory and the application.
STAGES = ("receive", "protocol", "send", "turn")
SIDES = ("client", "server")

BENCHMARK = "lockstep::tools::benchmark::"
STACK = "lockstep::Stack::"


class Failure(Exception):
    """One line for the user, and exit code 3."""


def role_of(function):
    """The stage that begins when the program enters this function, or None: the stage does not
    change."""
    name = function.split("(")[0]
    for side in SIDES:
        if f"{BENCHMARK}Pair::{side}_turn" in name:
            return side
    if name == STACK + "receive":
        return "receive"
    if name == STACK + "Body::process":
        return "process"
    if name in (STACK + "transmit", STACK + "wants_transmit"):
        return "send"
    if name.startswith(STACK) and not name.startswith(STACK + "Body"):
        return "call"
    if name in (BENCHMARK + "Bulk::run", BENCHMARK + "Transactions::run"):
        return "begin"
    outside = ("Bulk::", "Transactions::", "Pair::step", "Pair::skip_idle_time")
    if name == "main" or name.startswith(tuple(BENCHMARK + part for part in outside)):
        return "outside"
    return None


def next_state(state, role):
    """(side, stage) after a function of this role. Parsing a burst is `receive`; processing a
    segment in its connection, events, calls and timers are `protocol`; writing frames is `send`."""
    side, stage = state
    if role in SIDES:
        return role, "turn"
    if role in ("outside", "begin"):
        return side, "outside"
    if role == "receive" and stage in ("turn", "receive", "protocol"):
        return side, "receive"
    if role == "process" and stage == "receive":
        return side, "protocol"
    if stage == "turn":
        return side, {"send": "send", "call": "protocol"}.get(role, stage)
    return state


class Symbols:
    """Maps addresses to functions, from the output of nm."""

    def __init__(self, text):
        found = {}
        for line in text.splitlines():
            match = re.match(r"([0-9a-f]+) [TtWw] (.+)", line)
            if match:
                found.setdefault(int(match.group(1), 16), match.group(2))
        self.addresses = sorted(found)
        self.names = [found[address] for address in self.addresses]

    def function(self, address):
        index = bisect.bisect_right(self.addresses, address) - 1
        return self.names[index] if index >= 0 else ""


def operations(disassembly):
    """The number of instructions in the bundle at each address, without nops."""
    found = {}
    for line in disassembly.splitlines():
        match = re.match(r"\s*([0-9a-f]+):\s.*\{ (.*) \}", line)
        if match:
            parts = [part.strip() for part in match.group(2).split(" ; ")]
            found[int(match.group(1), 16)] = sum(part not in ("nop", "fnop") for part in parts)
    return found


def count(lines, symbols, each=None):
    """{(side, stage): [steps, instructions]} of a trace of single steps, from the start of the
    workload, after start-up and warm-up. `each` gives the number of instructions of a step at an
    address; default one."""
    totals = collections.defaultdict(lambda: [0, 0])
    known = {}
    state = ("", "outside")
    total = [0, 0]
    begun = False
    for line in lines:
        parts = line.split(b"/", 2)
        if len(parts) < 3:
            continue
        entry = known.get(parts[1])
        if entry is None:
            address = int(parts[1], 16)
            entry = (role_of(symbols.function(address)), each.get(address, 1) if each else 1)
            known[parts[1]] = entry
        role, amount = entry
        if role is not None:
            begun = begun or role == "begin"
            state = next_state(state, role)
            if begun:
                total = totals[state]
        total[0] += 1
        total[1] += amount
    return totals


def output_of(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Failure(f"{command[0]} is missing") from None
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit {done.returncode}: "
                      f"{done.stderr.strip()[:300]}")
    return done.stdout


class Machine:
    """An emulator with the program that it runs."""

    def __init__(self, name, emulator, program, binutils=""):
        self.name = name
        self.command = [emulator, program]
        self.symbols = Symbols(output_of([f"{binutils}nm", "-C", program]))
        bundled = binutils != ""
        self.each = None
        if bundled:
            self.each = operations(output_of([f"{binutils}objdump", "-d", program]))

    def run(self, *arguments):
        """The numbers that the program prints: {name: number}."""
        words = output_of([*self.command, *map(str, arguments)]).split()
        return {name: int(value) for name, value in zip(words[::2], words[1::2])}

    def traced(self, *arguments):
        command = [self.command[0], "-singlestep", "-d", "exec,nochain", "-D", "/dev/stderr",
                   self.command[1], *map(str, arguments)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              bufsize=1 << 20) as process:
            totals = count(process.stderr, self.symbols, self.each)
        if process.returncode != 0:
            raise Failure(f"{' '.join(map(str, command))}: exit {process.returncode}")
        return totals

    def measure(self, workload, size):
        """{side: {stage: (steps, instructions)}} per unit."""
        totals = self.traced(workload, size)
        units = self.run(workload, size)["units"]
        return {side: {stage: tuple(number / units for number in totals[side, stage])
                       for stage in STAGES}
                for side in SIDES}
