"""The cells: a sixth of the paths of the reorder matrix, and one run of a cell."""

import functools
import hashlib
import json
import os
import subprocess
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median_low

FRAME_BITS = 1514 * 8
BYTES = 16_000_000
RATES = {"10M": 10_000_000, "1G": 1_000_000_000}
RTTS = {"200us": 200, "10ms": 10_000, "100ms": 100_000, "300ms": 300_000}
LOSSES = ("0", "0.01%", "0.1%", "1%", "3%")
REORDERINGS = ("none", "one", "ten", "quarter")
SENDERS = {
    "linux": 'device = "linux"\n[host.config]\ntcp_congestion_control = "bbr"\n',
    "bbr": 'profile = "linux"\n[host.config]\ncongestion = "bbr"\n',
    "bbr3": 'profile = "linux"\n[host.config]\ncongestion = "bbr3"\n',
}
# Of a sender of ours. A range of the scoreboard for each segment in flight; and as Linux's, the
# buffers hold 4 MB.
OURS = """send_buffer_bytes = "4MB"
send_buffer_max_bytes = "4MB"
blocks_max = 8192
sent_per_connection = 8192
sent_max = 16384
connections_max = 4
active_max = 4
time_wait_max = 4
"""
WORLD = """# {name}: {sender}
name = "bbr"
limit = "3600s"
invariants_every = 0

[[host]]
name = "a"
address = "10.0.0.1/24"
{host}{ours}
[[host]]
name = "b"
address = "10.0.0.2/24"
profile = "linux"
[host.config]
receive_buffer_bytes = "{window}B"
receive_buffer_max_bytes = "0B"
blocks_max = 8192
extents_per_connection = 1024

[[link]]
name = "path"
from = "a"
to = "b"
rate = "{rate}bit/s"
delay = "{delay}ns"

[[app]]
name = "up"
model = "bulk"
from = "a"
to = "b"
bytes = "{bytes}B"
{faults}"""
FAULT = """
[[fault]]
name = "{kind}"
kind = "{kind}"
link = "path"
direction = "forward"
{keys}
"""


class RunFailed(Exception):
    """One line: what could not be run, and why."""


@dataclass(frozen=True)
class Cell:
    """A path: its rate, round trip, loss and reordering, by their names in the matrix."""

    rate: str
    rtt: str
    loss: str
    reordering: str

    @property
    def name(self) -> str:
        return f"{self.rate:>3} {self.rtt:>5} {self.loss:>5} {self.reordering:<7}"

    @property
    def window(self) -> int:
        """The receiver's buffer, as in the matrix: twice what the path holds, 64 KiB to 2 MiB."""
        held = RATES[self.rate] // 8 * RTTS[self.rtt] // 1_000_000
        return min(max(2 * held, 65_536), 2_097_152)

    @property
    def hold_ns(self) -> int:
        """For how long one segment in a hundred is held, as in the matrix."""
        segment = FRAME_BITS * 1_000_000_000 // RATES[self.rate]
        one = segment + segment // 2
        small = RTTS[self.rtt] * 1000 // segment < 8
        held = {"none": 0, "one": one, "ten": one if small else segment * 10 + segment // 2,
                "quarter": one if small else RTTS[self.rtt] * 250}
        return held[self.reordering]

    def seeds(self, most: int) -> range:
        """Without random events all seeds are the same."""
        return range(1, 1 + (1 if (self.loss, self.reordering) == ("0", "none") else most))

    def world(self, sender: str) -> str:
        """The world's file."""
        faults = ""
        if self.loss != "0":
            faults += FAULT.format(kind="loss", keys=f'probability = "{self.loss}"')
        if self.reordering != "none":
            keys = f'probability = "1%"\nhold = "{self.hold_ns}ns"'
            faults += FAULT.format(kind="reorder", keys=keys)
        return WORLD.format(name=self.name.strip(), sender=sender, host=SENDERS[sender],
                            ours="" if sender == "linux" else OURS, window=self.window,
                            rate=RATES[self.rate], delay=RTTS[self.rtt] * 500, bytes=BYTES,
                            faults=faults)


def sixth() -> list:
    """A fixed sixth of the paths, as `lockstep matrix --sixth` chooses them."""
    out = []
    for (at_rate, rate), (at_rtt, rtt), (at_loss, loss), (at_order, order) in product(
            enumerate(RATES), enumerate(RTTS), enumerate(LOSSES), enumerate(REORDERINGS)):
        if (at_loss + at_order + at_rtt + 3 * at_rate) % 6 == 0:
            out.append(Cell(rate, rtt, loss, order))
    return out


def simulate(cell: Cell, sender: str, seed: int, program: Path, controllers: Path, kept: Path,
             *more) -> None:
    """Runs `lockstep sim run` on a cell's world, with further words."""
    world = kept / f"{'-'.join(cell.name.split())}-{sender}.toml"
    world.write_text(cell.world(sender), encoding="utf-8")
    words = [program, "sim", "run", world, "--seed", seed, "--checks", "off", *more]
    if sender != "linux":
        words += ["--controller", controllers / f"{sender}.so"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise RunFailed(f"{' '.join(map(str, words))} ended with {done.returncode}: "
                        f"{' '.join(said)}")


@functools.lru_cache
def digest_of(file: Path) -> str:
    """The hash of a file; empty if there is none."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def stamp(cell: Cell, sender: str, program: Path, controllers: Path) -> str:
    """Of all that a run consists of but its seed: another world, program, controller or kernel has
    another."""
    files = [program, controllers / f"{sender}.so"]
    if sender == "linux":
        files = [program, program.parent / "devices/linux.so",
                 Path(os.environ.get("LOCKSTEP_LINUX", ""))]
    parts = [cell.world(sender), *map(digest_of, files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def run(cell: Cell, sender: str, seed: int, program: Path, controllers: Path, kept: Path) -> dict:
    """The goodput, retransmissions and median RTT of one run; results in `kept` of the same run are
    not run again."""
    marked = stamp(cell, sender, program, controllers)
    result = kept / f"{'-'.join(cell.name.split())}-{sender}-{seed}-{marked}.json"
    if not result.exists():
        part = result.with_name(result.name + ".part")
        simulate(cell, sender, seed, program, controllers, kept, "--json", part)
        part.rename(result)
    (flow,) = json.loads(result.read_text(encoding="utf-8"))["connections"]
    return {"kbit": BYTES * 8_000_000 // flow["duration_ns"],
            "again": flow["opener"]["retransmissions"],
            "rtt_us": flow["opener"]["rtt_median_ns"] // 1000}


def measure(cell: Cell, sender: str, seeds: int, *place) -> dict:
    """The medians over the cell's seeds, at most that many."""
    runs = [run(cell, sender, seed, *place) for seed in cell.seeds(seeds)]
    return {key: median_low(each[key] for each in runs) for key in runs[0]}
