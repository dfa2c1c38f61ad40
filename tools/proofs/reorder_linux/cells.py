"""The sixth of the reorder matrix with Linux as one of the TCPs, or both: worlds and runs."""

import json
import os
import subprocess
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median_low

from tools.proofs.bbr import cells as paths

CONTROLLERS = ("reno", "cubic", "dctcp")
# Who sends, and who receives.
PAIRS = {"ours": ("ours", "ours"), "sender": ("linux", "ours"), "both": ("linux", "linux")}
BYTES = 2_000_000
WORLD = """# {name}: {sender} to {receiver}
name = "reorder"
limit = "3600s"
invariants_every = 0

[[host]]
name = "a"
address = "10.0.0.1/24"
{a}
[[host]]
name = "b"
address = "10.0.0.2/24"
{b}
[[link]]
name = "path"
from = "a"
to = "b"
rate = "{rate}bit/s"
delay = "{delay}ns"
{marks}
[[app]]
name = "up"
model = "bulk"
from = "a"
to = "b"
bytes = "{bytes}B"
{faults}"""
LINUX = """device = "linux"
[host.config]
tcp_congestion_control = "{controller}"
tcp_ecn = "{ecn}"
"""
OURS = """profile = "linux"
[host.config]
congestion = "{controller}"
ecn = "{ecn}"
send_buffer_bytes = "4MB"
send_buffer_max_bytes = "4MB"
blocks_max = 8192
sent_per_connection = 8192
sent_max = 16384
extents_per_connection = 1024
connections_max = 4
active_max = 4
time_wait_max = 4
"""
RECEIVER = """receive_buffer_bytes = "{window}B"
receive_buffer_max_bytes = "0B"
"""


@dataclass(frozen=True)
class Cell:
    """A cell of the matrix: a controller on a path."""

    controller: str
    path: paths.Cell

    @property
    def name(self) -> str:
        return f"{self.controller:<5} {self.path.name}"

    def host(self, tcp: str, receives: bool) -> str:
        """The lines of one of the hosts."""
        ecn = "on" if self.controller == "dctcp" else "off"
        text = (LINUX if tcp == "linux" else OURS).format(controller=self.controller, ecn=ecn)
        if receives and tcp == "ours":
            text += RECEIVER.format(window=self.path.window)
        return text

    def world(self, pair: str) -> str:
        """The world's file."""
        sender, receiver = PAIRS[pair]
        faults = ""
        if self.path.loss != "0":
            faults += paths.FAULT.format(kind="loss", keys=f'probability = "{self.path.loss}"')
        if self.path.reordering != "none":
            keys = f'probability = "1%"\nhold = "{self.path.hold_ns}ns"'
            faults += paths.FAULT.format(kind="reorder", keys=keys)
        return WORLD.format(
            name=self.name, sender=sender, receiver=receiver, a=self.host(sender, False),
            b=self.host(receiver, True), rate=paths.RATES[self.path.rate],
            delay=paths.RTTS[self.path.rtt] * 500, bytes=BYTES, faults=faults,
            marks="mark_packets = 20\n" if self.controller == "dctcp" else "")


def sixth() -> list:
    """The cells that `lockstep matrix --sixth` chooses, in its order."""
    out = []
    for (controller, at_cc), (rate, at_rate), (rtt, at_rtt), (loss, at_loss), (order, at_order) in (
            product(*(zip(names, range(len(names))) for names in
                      (CONTROLLERS, paths.RATES, paths.RTTS, paths.LOSSES, paths.REORDERINGS)))):
        sensible = controller != "dctcp" or (rtt, rate) == ("200us", "1G")
        if sensible and (at_loss + at_order + at_rtt + 3 * at_rate + 2 * at_cc) % 6 == 0:
            out.append(Cell(controller, paths.Cell(rate, rtt, loss, order)))
    return out


def run(cell: Cell, pair: str, seed: int, program: Path, kept: Path) -> dict:
    """What became of one connection; the result of the same run, if `kept` has it."""
    parts = [program, program.parent / "devices/linux.so",
             Path(os.environ.get("LOCKSTEP_LINUX", ""))]
    digest = paths.hashlib.sha256(
        "\n".join([cell.world(pair), *map(paths.digest_of, parts)]).encode()).hexdigest()[:12]
    stem = f"{'-'.join(cell.name.split())}-{pair}"
    result = kept / f"{stem}-{seed}-{digest}.json"
    if not result.exists():
        world, part = kept / f"{stem}.toml", result.with_suffix(".part")
        world.write_text(cell.world(pair), encoding="utf-8")
        words = [program, "sim", "run", world, "--seed", seed, "--checks", "off", "--json", part]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise paths.RunFailed(f"{' '.join(map(str, words))} ended with {done.returncode}: "
                                  f"{' '.join(said)}")
        part.rename(result)
    (flow,) = json.loads(result.read_text(encoding="utf-8"))["connections"]
    return {"kbit": BYTES * 8_000_000 // flow["duration_ns"],
            "again": flow["opener"]["retransmissions"]}


def measure(cell: Cell, pair: str, seeds: int, *place) -> dict:
    """The medians over the cell's seeds, at most that many."""
    runs = [run(cell, pair, seed, *place) for seed in cell.path.seeds(seeds)]
    return {key: median_low(each[key] for each in runs) for key in runs[0]}
