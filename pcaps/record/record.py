# Records how a Linux kernel's TCP behaves: each function is one scenario.
"""Usage: pcaps/record/record --list | --all | NAME... [--device linux] [--into FOLDER]
       pcaps/record/record --device linux --compare [--json] --all | NAME...

Exit 0: written, or no finding; 1: the kernel did not do what the scenario waits for, or a finding;
2: usage; 3: environment.
"""
import argparse
import inspect
import os
import sys
import traceback
from pathlib import Path

import compare  # first: it puts pcaps/ on the path
import endurance
import fast_open
import guest
import late
import loss
import marks
import network
import opening
import plain
import selective
import six
import stamps
import virtual
from common import scenario_file

ROOM = scenario_file.ROOM
VIRTUAL_ROOM = ROOM.parent / "build" / "recordings"  # the committed ones are of real time


def scenarios():
    """Every scenario by its folder's name."""
    found = {}
    for module in (plain, opening, loss, late, selective, stamps, marks, endurance, six,
                   fast_open):
        for name, function in vars(module).items():
            if name.startswith("record_") and inspect.isfunction(function):
                found[function.slug] = function
    return found


def in_child(function, world, into, silent=False):
    """Record one scenario in its own process, with which its hosts end."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        network.LIBC.prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: nothing is left if the parent dies
        recording = function(world)
        recording.write(into)
        size = (into / recording.slug / "capture.pcapng").stat().st_size
        if not silent:
            print(f"{recording.slug}: {len(recording.wire.packets)} packets, {size} bytes")
        status = 0
    except (OSError, LookupError, AssertionError, guest.Ended) as error:
        print(f"pcaps/record: {function.slug}: {error}", file=sys.stderr)
        if os.environ.get("LOCKSTEP_TRACE"):
            traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def options():
    """The parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="pcaps/record/record", description="Record a Linux kernel's TCP.",
        epilog="exit: 0 written, or no finding; 1 not recorded, or a finding; 2 wrong usage; 3 not "
               "possible here. example: pcaps/record/record --device linux --all --into /tmp/made")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios, see --list")
    parser.add_argument("--all", action="store_true", help="record every scenario")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--device", choices=["linux"],
                        help="record Linux as a program in virtual time, which LOCKSTEP_LINUX "
                             "names, instead of this machine's kernel as root")
    parser.add_argument("--into", type=Path,
                        help="folder to write to (default: pcaps/, with --device "
                             "build/recordings)")
    parser.add_argument("--compare", action="store_true",
                        help="write nothing; compare with the committed recordings")
    parser.add_argument("--json", action="store_true", help="with --compare: print JSON")
    return parser


def main():
    """Record the scenarios given."""
    known = scenarios()
    wanted = options().parse_args()
    if wanted.list:
        print("\n".join(known))
        return 0
    unknown = [name for name in wanted.names if name not in known]
    if unknown or bool(wanted.names) == wanted.all:
        print(f"pcaps/record: {'unknown ' + unknown[0] if unknown else 'nothing named'}; "
              "give names that --list prints, or --all", file=sys.stderr)
        return 2
    if (wanted.compare and not wanted.device) or (wanted.json and not wanted.compare):
        print("pcaps/record: --compare needs --device linux, and --json needs --compare",
              file=sys.stderr)
        return 2
    world, missing, into = network.Wire, network.missing, ROOM
    if wanted.device:
        world, missing, into = virtual.Wire, guest.missing, VIRTUAL_ROOM
    missing = missing()
    if missing:
        print(f"pcaps/record: {missing}", file=sys.stderr)
        return 3
    chosen = known if wanted.all else wanted.names
    if not wanted.compare:
        return max(in_child(known[name], world, wanted.into or into) for name in chosen)
    try:
        return compare.run(chosen, known, ROOM,
                           lambda name, folder: in_child(known[name], world, folder, silent=True),
                           wanted.json)
    except compare.BadReasons as error:
        print(f"pcaps/record: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
