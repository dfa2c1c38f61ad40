"""Runs a world with `lockstep sim run`, and reads the time series of each sender."""

import csv
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path


class RunFailed(Exception):
    """One line: the command, and its error."""


# The formulas describe NewReno without options; each world switches on what it is about.
PLAIN = {
    "congestion": '"reno"', "ecn": '"off"', "hystart": "false", "sack": "false",
    "window_scale": "false", "timestamps": "false", "receive_buffer_max_bytes": '"0B"',
    "send_buffer_max_bytes": '"0B"',
}


@dataclass
class World:
    """Two hosts and one link; values are in the notation of world files."""

    name: str
    mss: int = 1000
    delay: str = "50ms"
    rate: str = "1Gbit/s"
    queue_packets: int = 0
    mark_packets: int = 0
    size: str = "20MB"
    limit: str = "600s"
    config: str = ""
    mask: str = ""
    repeat: bool = False
    loss: str = ""

    def text(self) -> str:
        own = dict(line.split(" = ", 1) for line in self.config.splitlines())
        settings = {"mtu_bytes": f'"{self.mss + 40}B"', "send_buffer_bytes": '"1MiB"',
                    "delayed_acks": "false", **PLAIN, **own}
        host = "".join(f"{key} = {value}\n" for key, value in settings.items())
        link = "".join(
            f"{key} = {value}\n"
            for key, value in (("rate", f'"{self.rate}"' if self.rate else ""),
                               ("queue_packets", self.queue_packets or ""),
                               ("mark_packets", self.mark_packets or ""))
            if value != "")
        fault = ""
        if self.mask:
            fault = f'kind = "mask"\nmask = "{self.mask}"\nrepeat = {str(self.repeat).lower()}\n'
        if self.loss:
            fault = f'kind = "loss"\nprobability = "{self.loss}"\n'
        if fault:
            fault = f'[[fault]]\nname = "loss"\nlink = "ab"\ndirection = "forward"\n{fault}'
        hosts = "".join(
            f'[[host]]\nname = "{name}"\naddress = "10.0.0.{place}/24"\nlink = "ip"\n'
            f"[host.config]\n{host}\n"
            for place, name in ((1, "a"), (2, "b")))
        return (f'name = "{self.name}"\nlimit = "{self.limit}"\n{hosts}'
                f'[[link]]\nname = "ab"\nfrom = "a"\nto = "b"\ndelay = "{self.delay}"\n{link}'
                f'[[app]]\nname = "bulk"\nmodel = "bulk"\nfrom = "a"\nto = "b"\n'
                f'bytes = "{self.size}"\n{fault}')


@dataclass
class Trace:
    """The columns of `--series`, one list each, in seconds, octets and frames."""

    world: World
    seconds: list
    cwnd: list
    ssthresh: list
    flight: list
    acked: list
    srtt: list
    rtt: list
    retransmissions: list
    queue: list
    marked: list
    report: dict

    def rate(self, since: float, until: float) -> float:
        """Octets acknowledged per second between two instants."""
        inside = [i for i, at in enumerate(self.seconds) if since <= at <= until]
        first, last = inside[0], inside[-1]
        return (self.acked[last] - self.acked[first]) / (self.seconds[last] - self.seconds[first])


def run(world: World, folder: Path, lockstep: Path, seed: int = 1, until: str = "") -> Trace:
    """Runs a world; the files stay in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    base = folder / f"{world.name}-{seed}"
    file, report, series = (base.with_suffix(end) for end in (".toml", ".json", ".csv"))
    file.write_text(world.text())
    command = [str(lockstep), "sim", "run", str(file), "--seed", str(seed), "--json", str(report),
               "--series", str(series)]
    command += ["--until", until] if until else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RunFailed(f"{' '.join(command)} ended with {done.returncode}: {said[-1:] or ''}")
    with series.open() as rows:
        table = [row for row in csv.DictReader(rows) if row["flow"] == "0"]

    def column(name: str, scale: float = 1) -> list:
        return [int(row[name]) / scale if scale != 1 else int(row[name]) for row in table]

    return Trace(world, column("time_ns", 1e9), column("cwnd"), column("ssthresh"),
                 column("flight"), column("acked"), column("srtt_ns", 1e9),
                 column("rtt_ns", 1e9), column("retransmissions"), column("queue"),
                 column("marked"), json.loads(report.read_text()))
