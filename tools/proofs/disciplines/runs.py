"""One discipline in both simulators, with the same dumbbell, TCP, parameters and measurements."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

LIMIT = 0.05
SEGMENT = 1448  # octets of data in a full packet
BEGIN, END = 3, 9  # s; earlier packets do not count
# Each run has another delay of the bottleneck, in us. Four long flows through a queue are chaotic:
# one path shows one course, and the mean of several paths the discipline.
PATHS = (3500, 3000, 4000, 3250)
QUEUE = 300
RED = {"min": 30, "max": 90, "weight": 0.002, "probability": 0.1}

# The settings of our link, and the options of `lockstep ns3 run`.
DISCIPLINES = {
    # Ours counts the packet in transmission.
    "tail_drop": ({"queue_packets": QUEUE + 1}, "none", {}),
    "red": ({"discipline": "red", "max_packets": RED["max"], "min_packets": RED["min"],
             "max_probability": "10%", "weight": "0.2%"},
            "red1993", {"RedQueueDisc::MinTh": RED["min"], "RedQueueDisc::MaxTh": RED["max"],
                        "RedQueueDisc::LInterm": 10, "RedQueueDisc::QW": RED["weight"],
                        "RedQueueDisc::Gentle": "false", "RedQueueDisc::MeanPktSize": 1500,
                        "RedQueueDisc::Wait": "false"}),
    "codel": ({"discipline": "codel"}, "codel", {}),
    "fq_codel": ({"discipline": "fq_codel"}, "fqcodel", {}),
    "pie": ({"discipline": "pie"}, "pie", {}),
}


class RunFailed(Exception):
    """One line: the command, and how it ended."""


@dataclass
class Measured:
    """Of one run: Mbit/s of data, milliseconds in the queue."""

    throughput: float
    delay_mean: float
    delay_p95: float


@dataclass
class Row:
    what: str
    unit: str
    ours: float
    theirs: float

    @property
    def difference(self) -> float:
        return self.ours / self.theirs - 1

    def agrees(self) -> bool:
        return abs(self.difference) <= LIMIT


def base_ns(delay_us: int) -> int:
    """From the sender to the receiver without a queue: delays, and times of transmission."""
    return (delay_us + 2000) * 1000 + 1514 * 8 * 10**9 // 201_597_868 + 2 * 1211


def is_data(packet: bytes) -> bool:
    return len(packet) > 1000


def key_of(packet: bytes) -> bytes:
    """Addresses, ports, sequence number and timestamp, which routers do not change."""
    return packet[26:42] + packet[58:62]


def run_ours(lockstep, settings: dict, seconds: int, run: int) -> Measured:
    delay = PATHS[run % len(PATHS)]
    sim = lockstep.Sim.from_file(
        Path(__file__).parent / "dumbbell.toml", seed=run + 1, record=True,
        settings=[f"bottleneck.{key}={value}"
                  for key, value in {"delay": f"{delay}us", **settings}.items()])
    sent: dict = {}
    delays: list = []
    for _ in range(4 * seconds):
        sim.advance("250ms")
        for frame in sim.frames():
            if not is_data(frame.packet):
                continue
            if frame.what == "sent" and frame.node.startswith("l"):
                sent[key_of(frame.packet)] = frame.at
            elif frame.what == "received" and frame.node.startswith("r"):
                began = sent.pop(key_of(frame.packet), None)
                if began is not None and frame.at >= BEGIN * 10**9:
                    delays.append(frame.at - began - base_ns(delay))
    delays.sort()
    return Measured(len(delays) * SEGMENT * 8 / (seconds - BEGIN) / 1e6, mean(delays) / 1e6,
                    delays[len(delays) * 95 // 100] / 1e6)


def run_theirs(program: Path, disc: str, defaults: dict, seconds: int, run: int) -> Measured:
    command = [str(program), "run", "dumbbell", "--flows", "ours,ours,ours,ours", "--bytes",
               str(10**12), "--rate", "200Mbps", "--delay", f"{PATHS[run % len(PATHS)]}us",
               "--queue", str(QUEUE), "--disc", disc, "--no-pcap", "--stop", str(seconds),
               "--measure-from", str(BEGIN), "--run", str(run + 1), "--json"]
    command += [f"--default=ns3::{key}={value}" for key, value in defaults.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise RunFailed(f"{' '.join(command)} ended with {done.returncode}: {' '.join(said)}")
    result = json.loads(done.stdout)
    queue = result["queues"][0]
    return Measured(sum(flow["late_goodput_bit_s"] for flow in result["flows"]) / 1e6,
                    queue["delay_mean_ms"], queue["delay_p95_ms"])


def compare(name: str, program: Path, quick: bool) -> list:
    """The rows of a discipline: means over the runs."""
    try:
        import lockstep
    except ImportError as missing:
        raise RunFailed("the Python module lockstep is missing: build the preset release, and set "
                        "PYTHONPATH=build/release/python") from missing
    settings, disc, defaults = DISCIPLINES[name]
    numbers = range(1 if quick else len(PATHS))
    ours = [run_ours(lockstep, settings, END, number) for number in numbers]
    theirs = [run_theirs(program, disc, defaults, END, number) for number in numbers]
    return [Row(what, unit, mean(getattr(each, field) for each in ours),
                mean(getattr(each, field) for each in theirs))
            for what, unit, field in (("throughput", "Mbit/s", "throughput"),
                                      ("delay, mean", "ms", "delay_mean"),
                                      ("delay, 95th percentile", "ms", "delay_p95"))]
