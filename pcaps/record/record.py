# Records how a Linux kernel's TCP behaves: each function is one scenario, recorded in real time.
"""Usage: pcaps/record/record --list | --all | NAME... [--into FOLDER]   (as root)

Exit 0: written; 1: the kernel did not do what the scenario waits for; 2: usage; 3: environment.
"""
import argparse
import inspect
import os
import platform
import sys
import traceback
from pathlib import Path

from network import LIBC  # first: it puts pcaps/ on the path

import endurance
import fast_open
import late
import loss
import marks
import opening
import plain
import selective
import six
import stamps
from common import scenario_file

ROOM = scenario_file.ROOM
NEEDED = "run it as root on Linux with /dev/net/tun and ip(8) (Debian package iproute2)"


def scenarios():
    """Every scenario by its folder's name."""
    found = {}
    for module in (plain, opening, loss, late, selective, stamps, marks, endurance, six,
                   fast_open):
        for name, function in vars(module).items():
            if name.startswith("record_") and inspect.isfunction(function):
                found[function.slug] = function
    return found


def missing():
    """What this machine lacks for recording, or an empty string."""
    if os.geteuid() != 0:
        return "not root"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun is not there"
    if not any(Path(folder, "ip").exists() for folder in os.environ.get("PATH", "").split(":")):
        return "ip(8) is not there"
    return ""


def in_child(function, into):
    """Record one scenario in its own process, with which its namespaces end."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        LIBC.prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: nothing is left if the parent dies
        recording = function()
        recording.write(into, platform.release().split("-")[0])
        size = (into / recording.slug / "capture.pcapng").stat().st_size
        print(f"{recording.slug}: {len(recording.wire.packets)} packets, {size} bytes", flush=True)
        status = 0
    except (OSError, LookupError) as error:
        print(f"pcaps/record: {function.slug}: {error}", file=sys.stderr)
        if os.environ.get("LOCKSTEP_TRACE"):
            traceback.print_exc()
    finally:
        os._exit(status)


def main():
    """Record the scenarios given."""
    known = scenarios()
    parser = argparse.ArgumentParser(description="Record a Linux kernel's TCP.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios, see --list")
    parser.add_argument("--all", action="store_true", help="record every scenario")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--into", type=Path, default=ROOM, help="folder to write to")
    wanted = parser.parse_args()
    if wanted.list:
        print("\n".join(known))
        return 0
    unknown = [name for name in wanted.names if name not in known]
    if unknown or bool(wanted.names) == wanted.all:
        print(f"pcaps/record: {'unknown ' + unknown[0] if unknown else 'nothing named'}; "
              "give names that --list prints, or --all", file=sys.stderr)
        return 2
    if missing():
        print(f"pcaps/record: {missing()}; {NEEDED}", file=sys.stderr)
        return 3
    chosen = known if wanted.all else wanted.names
    return max(in_child(known[name], wanted.into) for name in chosen)


if __name__ == "__main__":
    sys.exit(main())
