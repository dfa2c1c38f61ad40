# Two hosts on a wire for test_wire.py: a tester's and a device's namespace, joined by a veth pair.
import contextlib
import ctypes
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from dev import namespace
from lockstep.testing.linux_target import PLAIN

ROOT = Path(__file__).resolve().parents[2]
PORT, OTHER = "wire0", "wire1"
#: Addresses of the tester's kernel and of the device; the device has a second one.
OURS, DEVICE, SECOND = "10.7.0.1", "10.7.0.5", "10.7.0.6"
OURS6, DEVICE6 = "2001:db8:7::1", "2001:db8:7::5"
PR_CAPBSET_DROP, CAP_NET_RAW = 24, 13
PATIENCE_SECONDS = 300

SERVICES = """
import socket, sys, threading
def answered(kind, data):
    if kind == "http":
        return b"HTTP/1.0 400 Bad Request\\r\\n\\r\\n"
    return {"echo": data, "chargen": b"!" * 70}.get(kind, b"")
def serve(client, kind):
    with client:
        try:
            while data := client.recv(65536):
                client.sendall(answered(kind, data))
                if kind == "http":
                    return
        except OSError:
            pass
def listen(door, kind):
    while True:
        threading.Thread(target=serve, args=(door.accept()[0], kind), daemon=True).start()
for port, kind in ((7, "echo"), (9, "discard"), (80, "http"), (19, "chargen")):
    door = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True,
                                backlog=64)
    threading.Thread(target=listen, args=(door, kind), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


class Wire:
    """Both namespaces, and the services of the device: echo, discard, HTTP and chargen."""

    def __init__(self):
        self._left = contextlib.ExitStack()
        try:
            self._make()
        except BaseException:
            self._left.close()
            raise

    def _make(self):
        self.ours = self._left.enter_context(namespace.Namespace())
        self.theirs = self._left.enter_context(namespace.Namespace())
        with self.ours.inside():
            namespace.run("ip", "link", "add", PORT, "type", "veth", "peer", "name", OTHER)
            path = f"/proc/{os.getpid()}/fd/{self.theirs.descriptor}"
            namespace.run("ip", "link", "set", OTHER, "netns", path)
            self._address(PORT, OURS, OURS6)
            Path("/proc/sys/net/ipv4/conf/all/forwarding").write_text("0")
        with self.theirs.inside():
            for name, value in PLAIN.items():
                with contextlib.suppress(FileNotFoundError):
                    Path("/proc/sys/net/ipv4", name).write_text(str(value))
            self._address(OTHER, DEVICE, DEVICE6)
            namespace.run("ip", "address", "add", f"{SECOND}/24", "dev", OTHER)
            # As --target linux does: RFC 5681's initial window.
            namespace.run("ip", "route", "change", "10.7.0.0/24", "dev", OTHER, "src", DEVICE,
                          "initcwnd", "4")
            self._start(SERVICES)

    @staticmethod
    def _address(name, four, six):
        namespace.run("ip", "address", "add", f"{four}/24", "dev", name)
        namespace.run("ip", "address", "add", f"{six}/64", "dev", name, "nodad")
        namespace.run("ip", "link", "set", name, "up")

    def _start(self, program, *words):
        """A program in Python on the device, which says that it is ready."""
        made = subprocess.Popen([sys.executable, "-c", program, *words], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        self._left.callback(ended, made)
        assert made.stdout.readline() == "ready\n"
        return made

    def on_device(self, words):
        """A program on the device, whose first line of output is awaited."""
        with self.theirs.inside():
            made = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
        return made, made.stdout.readline()

    def begin(self, *words, raw=True, **more):
        """pytest of conformance/scapy in the tester's namespace; `raw`: it may send raw packets."""
        with self.ours.inside():
            return subprocess.Popen(
                [sys.executable, "-m", "pytest", "conformance/scapy", "-p", "no:cacheprovider",
                 "--ignore=conformance/scapy/test_live.py",
                 "--ignore=conformance/scapy/test_targets.py", *words],
                cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                preexec_fn=urgently if raw else without_raw, **more)

    def run(self, *words, **more):
        """(exit code, output) of the same."""
        with self.begin(*words, **more) as made:
            said, _ = made.communicate(timeout=PATIENCE_SECONDS)
        return made.returncode, said

    def tables(self):
        """The tables of nftables in the tester's namespace."""
        with self.ours.inside():
            return subprocess.run(["nft", "list", "tables"], capture_output=True, text=True,
                                  check=True).stdout

    def settings(self):
        """The settings of the device that the tests may change."""
        with self.theirs.inside():
            folder = Path("/proc/sys/net/ipv4")
            return {name: (folder / name).read_text() for name in PLAIN if (folder / name).exists()}

    def close(self):
        """Ends the programs; the namespaces end with them, and the pair with these."""
        self._left.close()


def ended(process):
    """Ends a program of ours."""
    process.kill()
    process.communicate()


def urgently():
    """Raises the priority over the machine's other load, if allowed."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))


def without_raw():
    """Gives up the right to raw packets."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_NET_RAW)


def outcomes(path):
    """test -> outcome, of a file of --lockstep-results."""
    out = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if out.get(row["test"]) != "failed":
            out[row["test"]] = row["outcome"]
    return out


def at_once(*calls):
    """The results of several calls, made at the same time."""
    found = [None] * len(calls)

    def make(at):
        found[at] = calls[at]()

    threads = [threading.Thread(target=make, args=(at,)) for at in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
