# `python -m lockstep.testing`: where the files are that a device in C needs.
"""Prints the folder that a compiler needs to find a device's headers.

Example: cc -shared -fPIC -I "$(python -m lockstep.testing --include)" my_tcp.c -o my_tcp.so
"""
import argparse
from pathlib import Path


def main():
    """Prints what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m lockstep.testing", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", action="store_true", required=True,
                        help="print the folder with conformance/devices/device.h")
    parser.parse_args()
    print(Path(__file__).resolve().parents[1] / "include")


if __name__ == "__main__":
    main()
