#!/usr/bin/env python3
# Connects two TAPs with loss, reordering and a rate, and accounts for each frame.
"""A separate program, which forwards while a test hashes. It captures at the first TAP."""
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import signal
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
FRAME_MAX = 65_536
PART = 1_000_000_000  # denominator of loss and reordering
TURN_FRAMES = 64      # frames read from one TAP before the other is polled


def enter(namespace):
    """Moves this thread to that network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, 0):
        raise OSError(ctypes.get_errno(), "setns")


def open_tap(name):
    """Opens a TAP of the present namespace; creates it if it does not exist."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


class Capture:
    """A pcap file of Ethernet with nanoseconds; without a name it writes nothing."""

    def __init__(self, name):
        self.file = open(name, "wb", buffering=1 << 20) if name else None
        if self.file:
            self.file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, FRAME_MAX, 1))

    def add(self, frame):
        """Adds a frame with the present time."""
        if self.file:
            seconds, part = divmod(time.time_ns(), PART)
            self.file.write(struct.pack("<IIII", seconds, part, len(frame), len(frame)) + frame)

    def close(self):
        """Completes the file."""
        if self.file:
            self.file.close()


class Way:
    """One direction: frames wait in it until they are due."""

    def __init__(self, out, terms, seed):
        self.out = out
        self.loss = int(terms["loss"])
        self.reorder = int(terms["reorder"])
        self.hold = terms["hold_us"] / 1e6
        self.rate = terms["rate_bits"]
        self.queue_max = terms["queue_octets"]
        self.random = random.Random(seed)
        self.waiting = []  # (due, order, frame)
        self.queued = 0    # octets in `waiting`
        self.line_free = 0.0
        self.counts = {"offered": 0, "delivered": 0, "loss": 0, "queue_full": 0, "refused": 0,
                       "reordered": 0}

    def take(self, frame, now, written):
        """Accepts a frame at one end."""
        counts = self.counts
        counts["offered"] += 1
        if self.loss and self.random.randrange(PART) < self.loss:
            counts["loss"] += 1
            return
        due = now
        if self.rate:
            if self.queued + len(frame) > self.queue_max:
                counts["queue_full"] += 1
                return
            due = self.line_free = max(now, self.line_free) + len(frame) * 8 / self.rate
        if self.reorder and self.random.randrange(PART) < self.reorder:
            counts["reordered"] += 1
            due += self.hold
        if due <= now and not self.waiting:
            self.put(frame, written)
            return
        heapq.heappush(self.waiting, (due, counts["offered"], frame))
        self.queued += len(frame)

    def put(self, frame, written):
        """Sends it at the other end, unless that is down."""
        try:
            os.write(self.out, frame)
        except OSError:
            self.counts["refused"] += 1
            return
        self.counts["delivered"] += 1
        written(frame)

    def release(self, now, written):
        """Sends the frames that are due; returns when the next one is."""
        while self.waiting and self.waiting[0][0] <= now:
            frame = heapq.heappop(self.waiting)[2]
            self.queued -= len(frame)
            self.put(frame, written)
        return self.waiting[0][0] if self.waiting else None


def read_some(tap, each):
    """Passes on available frames, up to a bound."""
    for _ in range(TURN_FRAMES):
        try:
            frame = os.read(tap, FRAME_MAX)
        except BlockingIOError:
            return
        except OSError:  # the interface is down
            return
        each(frame)


def forward(taps, ways, capture, stopped):
    """Runs until it is stopped and no frame waits."""
    poller = select.poll()
    for tap in taps:
        poller.register(tap, select.POLLIN)

    def from_first(frame):
        capture.add(frame)
        ways[0].take(frame, time.monotonic(), ignore)

    def from_second(frame):
        ways[1].take(frame, time.monotonic(), capture.add)

    def ignore(_):
        pass

    while not stopped or any(way.waiting for way in ways):
        now = time.monotonic()
        nexts = [ways[0].release(now, ignore), ways[1].release(now, capture.add)]
        nexts = [due for due in nexts if due is not None]
        patience = max(0.0, min(nexts) - time.monotonic()) * 1000 if nexts else 500
        for tap, _ in poller.poll(patience):
            if not stopped:
                read_some(tap, from_first if tap == taps[0] else from_second)


def give_account(ways):
    """Prints the counts of frames as one line: at the end, and on SIGUSR1."""
    print(json.dumps({"forth": ways[0].counts, "back": ways[1].counts}), flush=True)


def main():
    """Arguments: the terms as JSON, and two namespaces as descriptors. Prints the counts on
    stdout."""
    terms = json.loads(sys.argv[1])
    taps = []
    for end in terms["ends"]:
        enter(end["namespace"])
        taps.append(open_tap(end["name"]))
    capture = Capture(terms["capture"])
    ways = [Way(taps[1], terms, terms["seed"]), Way(taps[0], terms, terms["seed"] + 1)]
    stopped = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.append(True))
    signal.signal(signal.SIGUSR1, lambda *_: give_account(ways))
    print("ready", flush=True)
    sys.stdin.readline()  # both ends are configured
    forward(taps, ways, capture, stopped)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    capture.close()
    give_account(ways)
    return 0


if __name__ == "__main__":
    sys.exit(main())
