"""The cells of the grid, the mixes of flows, and how a cell is run."""

import hashlib
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

LOSSES = ("0", "0.0001", "0.001", "0.01")
RTTS_MS = (10, 50, 200)
RATES = (10, 100)  # Mbit/s
DISCS = ("droptail", "codel")
SEGMENT = 1448     # octets of data
BUFFER = 8 * 2 ** 20
RANGES = 16384  # of our scoreboard, for RACK, which keeps segments sent at different times apart
BLOCKS = 4 * BUFFER // 2048  # of our store: a segment of 1,448 octets takes more than 2,048
# Simulated seconds: longer for longer RTTs, shorter for higher rates.
LENGTHS = {(10, 10): 11, (10, 50): 21, (10, 200): 41, (100, 10): 4, (100, 50): 9, (100, 200): 9}
SENDERS = {"reno": "newreno", "cubic": "cubic"}  # our `Congestion`: ns-3's counterpart
MIXES = (("ours", "ours"), ("newreno", "newreno"), ("cubic", "cubic"), ("ours", "newreno"),
         ("ours", "cubic"), ("ours", "ours", "cubic", "newreno"))


class RunFailed(Exception):
    """One line: the command, and how it ended."""


@dataclass(frozen=True)
class Cell:
    """One sender (or a mix of them) on one path."""

    flows: tuple
    congestion: str  # of our sender
    loss: str
    rtt_ms: int
    rate: int
    disc: str
    ecn: bool
    more: tuple = ()  # further words of the command

    @property
    def name(self) -> str:
        parts = ["+".join(self.flows), self.congestion, f"loss{self.loss}", f"{self.rtt_ms}ms",
                 f"{self.rate}M", self.disc, "ecn" if self.ecn else "plain"]
        if self.more:
            parts.append(hashlib.sha256(" ".join(self.more).encode()).hexdigest()[:8])
        return "-".join(parts)

    @property
    def path(self) -> str:
        """The cell without its senders."""
        return (f"loss {self.loss}, {self.rtt_ms} ms, {self.rate} Mbit/s, {self.disc}, "
                f"ECN {'on' if self.ecn else 'off'}")

    @property
    def queue(self) -> int:
        """Packets: one bandwidth-delay product, at least 20; CoDel may keep it shorter."""
        bdp = self.rate * 1000 * self.rtt_ms // (8 * 1500)
        return max(20, bdp) if self.disc == "droptail" else max(1000, 2 * bdp)

    @property
    def seconds(self) -> int:
        return LENGTHS[self.rate, self.rtt_ms]

    def words(self) -> list:
        """The options of `lockstep ns3 run dumbbell`."""
        ours = [f"--set={name}={value}" for name, value in (
            ("Congestion", self.congestion), ("ReceiveBufferBytes", BUFFER),
            ("ReceiveBufferMaxBytes", BUFFER), ("SendBufferBytes", BUFFER),
            ("SendBufferMaxBytes", BUFFER), ("BlocksMax", BLOCKS),
            ("SentPerConnection", RANGES), ("SentMax", 4 * RANGES))]
        theirs = [f"--default=ns3::TcpSocket::{name}={BUFFER}" for name in
                  ("SndBufSize", "RcvBufSize")]
        return ["--flows", ",".join(self.flows), "--receivers", "ours", "--bytes", str(10 ** 12),
                "--rate", f"{self.rate}Mbps", "--delay", f"{self.rtt_ms // 2 - 2}ms",
                "--queue", str(self.queue), "--loss", self.loss, "--no-pcap",
                "--disc", "none" if self.disc == "droptail" else "codel",
                *(["--ecn"] if self.ecn else []), *ours, *theirs, *self.more,
                "--stop", str(self.seconds), "--measure-from", str(1 + (self.seconds - 1) // 5)]


def paths() -> list:
    """Every path of the grid, the quick ones first.

    A drop-tail queue does not mark, so ECN makes no difference with it; the paths of 10 Mbit/s and
    10 ms show that, and elsewhere ECN is only run with CoDel.
    """
    return [(loss, rtt, rate, disc, ecn) for rate in RATES for rtt in RTTS_MS for loss in LOSSES
            for disc in DISCS for ecn in (False, True)
            if disc == "codel" or not ecn or (rate, rtt) == (10, 10)]


def grid() -> list:
    """Both senders of each congestion control on every path."""
    return [Cell((flow,), congestion, *path) for path in paths()
            for congestion, theirs in SENDERS.items() for flow in ("ours", theirs)]


def mixes() -> list:
    """Flows that share a bottleneck of 10 Mbit/s."""
    return [Cell(flows, "reno" if flows == ("ours", "newreno") else "cubic", "0", rtt, 10, disc,
                 False)
            for flows in MIXES for rtt in RTTS_MS for disc in DISCS]


def run(cell: Cell, program: Path, kept: Path) -> dict:
    """The result of a cell; results in `kept` are not run again."""
    file = kept / f"{cell.name}.json"
    if file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    command = [str(program), "run", "dumbbell", *cell.words(), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode < 0 and "ours" not in cell.flows:
        result = {"cell": asdict(cell), "died": -done.returncode}
    elif done.returncode not in (0, 1):
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise RunFailed(f"{' '.join(command)} ended with {done.returncode}: {' '.join(said)}")
    else:
        result = {"cell": asdict(cell), "result": json.loads(done.stdout)}
    part = file.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    part.rename(file)
    return result


def goodputs(result: dict) -> list:
    """Mbit/s of each flow after the first fifth of the run; 0 if ns-3 crashed."""
    if "died" in result:
        return [0.0] * len(result["cell"]["flows"])
    return [flow["late_goodput_bit_s"] / 1e6 for flow in result["result"]["flows"]]
