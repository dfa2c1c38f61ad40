# A network namespace for a test, a server in it, and clients on the kernel's sockets.
"""Only the calling thread enters it and returns. The namespace ends with its last process."""
import contextlib
import ctypes
import hashlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build/release/lockstep"
CLONE_NEWNET = 0x40000000
AF_XDP = 44
CAP_SYS_ADMIN, CAP_BPF = 21, 39
LIBC = ctypes.CDLL(None, use_errno=True)
NAME, PEER = "lock0", "lock1"
OURS, KERNEL = "10.9.0.2", "10.9.0.1"
OURS6, KERNEL6 = "2001:db8:9::2", "2001:db8:9::1"
PATTERN_OCTETS = 1_048_573
MASK = (1 << 64) - 1


def why_not():
    """Why such tests cannot run here, or None."""
    return why_no_namespace() if PROGRAM.exists() else f"{PROGRAM} is not built"


def why_no_namespace():
    """Why a network namespace with a TAP cannot be made here, or None."""
    if os.geteuid() != 0:
        return "only root may make a network namespace"
    if not os.path.exists("/dev/net/tun"):
        return "/dev/net/tun is missing: modprobe tun"
    if shutil.which("ip") is None:
        return "ip is missing: tools/setup"
    return None


def why_no_xdp():
    """Why no XDP program can be attached here, or None."""
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW).close()
    except OSError as error:
        return f"no AF_XDP: {error.strerror}"
    with open("/proc/self/status", encoding="ascii") as status:
        rights = int(re.search(r"CapEff:\s*(\w+)", status.read())[1], 16)
    return None if rights & (1 << CAP_BPF | 1 << CAP_SYS_ADMIN) else "AF_XDP needs CAP_BPF"


@contextlib.contextmanager
def back_afterwards():
    """Returns this thread to its present namespace at the end."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        yield
    finally:
        enter(before)
        os.close(before)


def enter(descriptor):
    """Moves this thread to that namespace."""
    if LIBC.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def fresh_namespace():
    """Inside the block, sockets and children of this thread are in a new namespace that has only
    lo."""
    with back_afterwards():
        if LIBC.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        run("ip", "link", "set", "dev", "lo", "up")
        yield


class Namespace:
    """A namespace that exists until it is closed, even without processes."""

    def __init__(self):
        with fresh_namespace():
            self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)

    @contextlib.contextmanager
    def inside(self):
        """Inside the block, sockets and children of this thread are in it."""
        with back_afterwards():
            enter(self.descriptor)
            yield

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)


def run(*words):
    """Runs a system command."""
    subprocess.run(words, check=True, capture_output=True)


def make_pair(queues=1):
    """Creates a veth pair: one end for the server, the other for the kernel, with its addresses.

    Offloads stay as the kernel sets them: it offloads checksums, and passes data in frames of many
    segments. With several queues the kernel spreads what it sends by its own hash."""
    many = ["numrxqueues", str(queues), "numtxqueues", str(queues)]
    run("ip", "link", "add", "dev", NAME, *many, "type", "veth", "peer", "name", PEER, *many)
    if queues > 1:
        for name in (NAME, PEER):
            run("ethtool", "-L", name, "rx", str(queues), "tx", str(queues))
    for name in (NAME, PEER):
        with open(f"/proc/sys/net/ipv6/conf/{name}/accept_dad", "w", encoding="ascii") as setting:
            setting.write("0")
        run("ip", "link", "set", "dev", name, "up")
    run("ip", "address", "add", f"{KERNEL}/24", "dev", PEER)
    run("ip", "address", "add", f"{KERNEL6}/64", "dev", PEER)


def until_up(*names, patience=30):
    """Waits until the interfaces are up, which the kernel reports with a delay."""
    end = time.monotonic() + patience
    for name in names:
        while "state UP" not in subprocess.run(["ip", "link", "show", "dev", name], check=True,
                                               capture_output=True, text=True).stdout:
            assert time.monotonic() < end, f"{name} is not up"
            time.sleep(0.02)


def frames_lost():
    """The number of frames from the server that the kernel refused at the TAP."""
    shown = subprocess.run(["ip", "-s", "-j", "link", "show", "dev", NAME], check=True,
                           capture_output=True).stdout
    return json.loads(shown)[0]["stats64"]["rx"]["dropped"]


def until_frames_are_lost(before, patience=30):
    """Waits until more than `before` are lost; fails after `patience` seconds."""
    end = time.monotonic() + patience
    while frames_lost() <= before:
        assert time.monotonic() < end, f"no frame was lost on {NAME} in {patience} s"


def frames_sent(journal):
    """The number of sent frames in the journal of a running server."""
    return int(re.search(r"([\d,]+) frames out", replay(journal)[1])[1].replace(",", ""))


def until_spoken_to_nobody(journal, patience=30):
    """Waits until a server that receives nothing more has sent another frame on a timer."""
    end, size = time.monotonic() + patience, -1
    while size != journal.stat().st_size:  # everything that had arrived is processed
        size = journal.stat().st_size
        time.sleep(0.1)
    before = frames_sent(journal)
    while frames_sent(journal) <= before:
        assert time.monotonic() < end, f"nothing left in {patience} s"


def lose(percent, device):
    """From now on the kernel drops this share of the frames it receives from the device."""
    chance = "" if percent == 100 else f"numgen random mod 100 < {percent} "
    run("nft", f"add table netdev t; "
               f"add chain netdev t c {{ type filter hook ingress device {device} priority 0; }}; "
               f"add rule netdev t c {chance}counter drop")


def lose_no_more():
    """Removes the rule of lose()."""
    run("nft", "delete table netdev t")


def lose_sent(percent, device):
    """From now on this share of what the kernel's TCP sends to the device is dropped."""
    run("nft", f"add table inet sent; "
               f"add chain inet sent c {{ type filter hook postrouting priority 0; }}; "
               f"add rule inet sent c oifname {device} meta l4proto tcp "
               f"numgen random mod 100 < {percent} counter drop")


def lost(way="t"):
    """The number of frames dropped by the rule of lose(), or with "sent" of lose_sent()."""
    family = "inet" if way == "sent" else "netdev"
    text = subprocess.run(["nft", "-j", "list", "table", family, way], check=True,
                          capture_output=True, text=True).stdout
    for item in json.loads(text)["nftables"]:
        for part in item.get("rule", {}).get("expr", []):
            if "counter" in part:
                return part["counter"]["packets"]
    return 0


def make_pattern():
    """The content that /bytes/N repeats: SplitMix64 from seed 1, least significant octet first."""
    out, state = bytearray(), 1
    while len(out) < PATTERN_OCTETS:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out += (z ^ (z >> 31)).to_bytes(8, "little")
    return bytes(out[:PATTERN_OCTETS])


PATTERN = make_pattern()


def hash_of_generated(size):
    """SHA-256 of a generated body, which need not fit into memory."""
    whole = hashlib.sha256()
    for _ in range(size // PATTERN_OCTETS):
        whole.update(PATTERN)
    whole.update(PATTERN[:size % PATTERN_OCTETS])
    return whole.hexdigest()


def generated(size, begin=0):
    """Octets [begin, begin + size) of a generated body."""
    begin %= PATTERN_OCTETS
    whole = PATTERN * ((begin + size) // PATTERN_OCTETS + 1)
    return whole[begin:begin + size]


class Server:
    """`lockstep serve http` in the present namespace."""

    def __init__(self, folder, *words, kind="tap", addresses=(f"{OURS}/24", f"{OURS6}/64"),
                 hosts=(f"{KERNEL}/24", f"{KERNEL6}/64")):
        self.summary = folder / "summary.json"
        self.kind = kind
        where = ["--tap", NAME] if kind == "tap" else ["--iface", NAME, "--driver", kind]
        self.command = [str(PROGRAM), "serve", "http", *where, "--json", str(self.summary), *words]
        for address in addresses:
            self.command += ["--address", address]
        for host in hosts if kind == "tap" else ():
            self.command += ["--host", host]
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        ready, _, _ = select.select([self.process.stdout], [], [], 30)
        first = self.process.stdout.readline() if ready else b""
        if not first.startswith(b"serving http://"):
            self.process.kill()
            raise AssertionError(f"no server: {first} {self.process.communicate()}")

    def device(self):
        """The interface on which the kernel receives the server's frames."""
        return NAME if self.kind == "tap" else PEER

    def end(self, number=signal.SIGINT):
        """Stops it by a signal; returns (exit code, summary or None, stderr)."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        summary = None
        if self.summary.exists():
            summary = json.loads(self.summary.read_text(encoding="utf-8"))
        return self.process.returncode, summary, errors.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()


def connect(address=OURS, port=80):
    """A connected kernel socket; waits while our IPv6 addresses are tested for duplicates."""
    end = time.monotonic() + 20
    while True:
        try:
            made = socket.create_connection((address, port), timeout=3)
            made.settimeout(60)
            return made
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def get(path, *fields, method="GET"):
    """A request as octets."""
    lines = [f"{method} {path} HTTP/1.1", "Host: lockstep", *fields, "", ""]
    return "\r\n".join(lines).encode()


def replay(journal, *words):
    """(exit code, output) of a replay of the journal."""
    done = subprocess.run([str(PROGRAM), "replay", "--journal", str(journal), *map(str, words)],
                          capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout + done.stderr
