# A server on each driver under everything that the gates do, in turn, and how much memory it has.
"""Called by tools/evidence soak. A round takes about a minute and a half; memory may grow while the
first rounds touch what the server has reserved, and by 5 % after them."""
import argparse
import contextlib
import json
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

from dev import namespace as ns
from proofs.wire import attack, gates, honest
from proofs.wire import test_gates as gate_tests
from proofs.wire.test_crowds import connect_all
from proofs.wire.test_hostile import hostile_clients

GROWTH_MAX = 0.05
WARM_ROUNDS = 2
SAMPLE_S = 2.0


def resident(pid):
    """Resident memory of the process, in KiB."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1])


class Memory:
    """Looks at a process's memory every two seconds; `most`: of each round."""

    def __init__(self, pid):
        self.pid, self.most, self.over = pid, [0], threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        """Until the end."""
        while not self.over.wait(SAMPLE_S):
            self.look()

    def look(self):
        """Once."""
        with contextlib.suppress(OSError, TypeError):
            self.most[-1] = max(self.most[-1], resident(self.pid))

    def next_round(self):
        """What follows is of the next round."""
        self.look()
        self.most.append(0)

    def end(self):
        """No more samples."""
        self.over.set()
        self.thread.join()


def requests(_server):
    """A connection a request."""
    done = subprocess.run(["ab", "-q", "-t", "10", "-n", "100000000", "-c", "16",
                           f"http://{ns.OURS}/bytes/1000"], check=True, capture_output=True,
                          text=True, timeout=60)
    assert gate_tests.count_of(done.stdout, "Failed requests") == 0, done.stdout


def beside(program, server, count, rate):
    """Honest clients are served while a program sends frames."""
    with attack.Attack(program, server.device(), count, rate, 5) as frames:
        frames.begin()
        with honest.clients() as came:
            frames.sent()
    honest.assert_served(came, program)


def flood(server):
    """SYNs from addresses that nobody has."""
    beside("spoof.py", server, 50_000, 10_000)


def broken(server):
    """Frames that no honest host sends."""
    beside("broken_frames.py", server, 50_000, 5_000)


def silent(_server):
    """More connections than there is room for."""
    sockets = connect_all(gate_tests.SILENT)
    gates.serves(2, "beside silent ones")
    for sock in sockets:
        sock.close()


def slow(_server):
    """Clients that are slow in three ways."""
    ways = list(gate_tests.PATIENCE)
    sockets = [(way, gate_tests.begin_slowly(way)) for way in ways for _ in range(gate_tests.SLOW)]
    with honest.clients() as came:
        for _ in range(20):
            for way, sock in sockets:
                gate_tests.go_on_slowly(way, sock)
            time.sleep(0.5)
    honest.assert_served(came, "beside slow ones")
    for _, sock in sockets:
        sock.close()


def hostile(_server):
    """Clients that send noise, abort, or never read."""
    with hostile_clients(1), honest.clients() as came:
        time.sleep(5)
    honest.assert_served(came, "beside hostile ones")


def changes(server):
    """Of link, MTU, the kernel's MAC and its address, and back."""
    for what in ("link", "mtu", "mac", "address"):
        gate_tests.change(server, what)
        assert honest.ask_once(), what
    for name in {ns.NAME, server.device()}:
        ns.run("ip", "link", "set", "dev", name, "mtu", "1500")
    ns.run("ip", "address", "del", f"{gate_tests.CHANGED_PEER}/24", "dev", server.device())


def stopped(server):
    """For two seconds, under downloads."""
    with gate_tests.downloading(4):
        gate_tests.until_octets_are_sent(server)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(2)
        server.process.send_signal(signal.SIGCONT)
        gate_tests.until_octets_are_sent(server)


PARTS = (requests, flood, broken, silent, slow, hostile, changes, stopped)


def soak(kind, seconds, folder):
    """Rounds of all parts for this time, at least one after the warm-up. Prints a row; returns
    whether memory was flat."""
    begin, rounds = time.monotonic(), 0
    with gates.place(kind):
        with ns.Server(folder, "--access-log", str(folder / "access.log"), kind=kind) as server:
            ns.connect().close()
            assert honest.ask_once()
            memory = Memory(server.process.pid)
            try:
                while rounds <= WARM_ROUNDS or time.monotonic() < begin + seconds:
                    for part in PARTS:
                        print(f"\r{kind}: round {rounds + 1}, {part.__name__:10}", end="",
                              file=sys.stderr, flush=True)
                        part(server)
                        assert honest.ask_once(), part.__name__
                    rounds += 1
                    memory.next_round()
            finally:
                memory.end()
                print(file=sys.stderr)
            code, summary, errors = server.end()
    assert code == 0, errors
    (folder / "access.log").unlink()
    warm = max(memory.most[:WARM_ROUNDS])
    after = max(memory.most[WARM_ROUNDS:])
    print(f"| {kind} | {(time.monotonic() - begin) / 60:.1f} | {rounds} | "
          f"{summary['requests']:,} | {warm / 1024:.1f} | {after / 1024:.1f} | "
          f"{100 * (after - warm) / warm:+.1f} % |", flush=True)
    return after <= (1 + GROWTH_MAX) * warm


def main():
    """0: memory was flat on each driver; 1: it was not; 2: usage; 3: not possible here."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: tools/evidence soak --minutes 60\n"
               "exit: 0 flat, 1 memory grew, or a client was not served, 2 bad usage, 3 not "
               "possible on this machine")
    parser.add_argument("--minutes", type=float, default=60.0, help="of all drivers (default: 60)")
    parser.add_argument("--kind", action="append", choices=gates.KINDS,
                        help="only this driver; may be repeated")
    parser.add_argument("--json", type=pathlib.Path, help="write the result to this file")
    said = parser.parse_args()
    kinds = said.kind or list(gates.KINDS)
    missing = ns.why_not() or gate_tests.missing_ab()
    if not missing and any(kind.startswith("xdp") for kind in kinds):
        missing = ns.why_no_xdp()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not missing and most < gate_tests.SILENT + 1_000:
        missing = f"{most} descriptors at most: ulimit -n {gate_tests.SILENT + 1_000}"
    if missing:
        print(f"soak: {missing}", file=sys.stderr)
        return 3
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print("| driver | minutes | rounds | requests | MiB in the first two rounds | MiB after them | "
          "growth |\n|---|---|---|---|---|---|---|", flush=True)
    flat = {}
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            try:
                flat[kind] = soak(kind, 60 * said.minutes / len(kinds), pathlib.Path(folder))
            except AssertionError as error:
                print(f"soak: {kind}: {error}", file=sys.stderr)
                flat[kind] = False
    if said.json:
        said.json.write_text(json.dumps({"flat": flat}) + "\n", encoding="utf-8")
    return 0 if all(flat.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
