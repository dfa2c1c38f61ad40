"""Our nodes and ns-3's own on one dumbbell: host frames per second, events per frame, ratios.

0: ours are at least as fast, with no more events. 1: not so. 3: cannot run.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path("build/release/lockstep_ns3")
TOPOLOGY = ["dumbbell", "--rate", "100Mbps", "--bytes", "20000000", "--no-pcap"]
KINDS = {"ours": ["--flows", "ours,ours", "--receivers", "ours"],
         "ns-3": ["--flows", "newreno,newreno", "--receivers", "ns3"]}


@dataclass(frozen=True)
class Speed:
    """One run: frames of hosts, events of the scheduler, seconds of processor time."""

    frames: int
    events: int
    seconds: float

    @property
    def rate(self) -> float:
        """Frames per second."""
        return self.frames / self.seconds

    @property
    def events_a_frame(self) -> float:
        """Events of all nodes per frame of the hosts."""
        return self.events / self.frames


def run(program: Path, kind: str) -> Speed:
    """Runs it once. Seconds are processor time, so other load on the machine does not count."""
    words = [str(program), "run", *TOPOLOGY, *KINDS[kind], "--speed", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"ns3-speed: {' '.join(words)} ended with {process.returncode}")
    result = json.loads(text)
    return Speed(result["host_frames"], result["events"], usage.ru_utime + usage.ru_stime)


def line_of(kind: str, speed: Speed) -> str:
    return (f"{kind}  {speed.frames:7} frames  {speed.seconds:6.3f} s  {speed.rate:8.0f} frames/s  "
            f"{speed.events_a_frame:5.2f} events a frame")


def judge(best: dict) -> int:
    """Prints the ratios, and compares them with 1."""
    ours, theirs = best["ours"], best["ns-3"]
    faster = ours.rate / theirs.rate
    events = ours.events_a_frame / theirs.events_a_frame
    print(f"ratio: {faster:.2f} times the frames a second, {events:.2f} of the events a frame")
    return 0 if faster >= 1 and events <= 1 else 1


def main(words: list) -> int:
    parser = argparse.ArgumentParser(prog="tools/evidence ns3-speed", description=__doc__)
    parser.add_argument("--program", type=Path, default=PROGRAM, help="lockstep_ns3 (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each; the best is printed")
    options = parser.parse_args(words)
    if not options.program.exists():
        print(f"ns3-speed: {options.program} is missing: tools/setup --with ns3, then build the "
              "preset release", file=sys.stderr)
        return 3
    best: dict = {}
    for _ in range(options.rounds):
        for kind in KINDS:
            speed = run(options.program, kind)
            best[kind] = max(best.get(kind, speed), speed, key=lambda each: each.rate)
    for kind, speed in best.items():
        print(line_of(kind, speed))
    return judge(best)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
