# Our stack and the kernel in a namespace each, connected by the bus.
"""Nothing has a name outside: namespaces and interfaces vanish with the last descriptor."""
import contextlib
import dataclasses
import json
import pathlib
import signal
import subprocess
import sys

from dev import namespace as ns

BUS = pathlib.Path(__file__).with_name("bus.py")
NEAR, FAR, BRIDGE = "bus0", "bus1", "bridge0"
PART = 1_000_000_000
LOSSES = {"none": 0, "1 in 1000": PART // 1000, "1 in 50": PART // 50}
ORDERS = {"kept": 0, "1 in 100 late": PART // 100, "1 in 10 late": PART // 10}
RATES = {"open": 0, "200 Mbit/s": 200_000_000, "30 Mbit/s": 30_000_000}


@dataclasses.dataclass
class Terms:
    """What happens to frames on the bus."""
    mtu: int = 1500
    loss: int = 0       # of PART
    reorder: int = 0    # of PART: held for hold_us
    hold_us: int = 1000
    rate_bits: int = 0  # per second; 0: no limit
    queue_octets: int = 256 * 1024
    seed: int = 1


def set_up(name, mtu):
    """Sets up an interface of the present namespace, so that it sends nothing by itself."""
    for setting, value in (("accept_dad", "0"), ("router_solicitations", "0")):
        path = pathlib.Path(f"/proc/sys/net/ipv6/conf/{name}/{setting}")
        if path.exists():  # absent below IPv6's minimum MTU
            path.write_text(value, encoding="ascii")
    ns.run("ip", "link", "set", "dev", name, "mtu", str(mtu))
    ns.run("ip", "link", "set", "dev", name, "up")


def make_near(kind, mtu):
    """The end for our program: its interface, bridged to the bus."""
    if kind == "tap":
        ns.run("ip", "tuntap", "add", "dev", ns.NAME, "mode", "tap")
        theirs = ns.NAME
    else:
        ns.run("ip", "link", "add", "dev", ns.NAME, "type", "veth", "peer", "name", ns.PEER)
        set_up(ns.NAME, mtu)
        theirs = ns.PEER
    ns.run("ip", "link", "add", "dev", BRIDGE, "type", "bridge", "mcast_snooping", "0")
    pathlib.Path(f"/proc/sys/net/ipv6/conf/{BRIDGE}/disable_ipv6").write_text("1",
                                                                             encoding="ascii")
    for name in (theirs, NEAR):
        ns.run("ip", "link", "set", "dev", name, "master", BRIDGE)
        set_up(name, mtu)
    set_up(BRIDGE, mtu)


def make_far(mtu):
    """The kernel's end, with its addresses."""
    set_up(FAR, mtu)
    ns.run("ip", "address", "add", f"{ns.KERNEL}/24", "dev", FAR)
    if mtu >= 1280:
        ns.run("ip", "address", "add", f"{ns.KERNEL6}/64", "dev", FAR)


class Crossing:
    """`ours` and `kernels` are namespaces; frames between them cross the bus."""

    def __init__(self, kind, terms, capture=None):
        self.kind, self.terms, self.capture = kind, terms, capture
        self.ours, self.kernels = ns.Namespace(), ns.Namespace()
        self.account = None
        ends = [{"namespace": self.ours.descriptor, "name": NEAR},
                {"namespace": self.kernels.descriptor, "name": FAR}]
        words = {**dataclasses.asdict(terms), "ends": ends,
                 "capture": str(capture) if capture else ""}
        self.bus = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, str(BUS), json.dumps(words)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, pass_fds=[end["namespace"] for end in ends])
        try:
            assert self.bus.stdout.readline() == "ready\n", "the bus has no TAPs"
            with self.ours.inside():
                make_near(kind, terms.mtu)
            with self.kernels.inside():
                make_far(terms.mtu)
            self.bus.stdin.write("go\n")
            self.bus.stdin.flush()
        except BaseException:
            self.close()
            raise

    def addresses(self):
        """Our addresses, as options."""
        both = [f"{ns.OURS}/24", f"{ns.OURS6}/64"]
        return both if self.terms.mtu >= 1280 else both[:1]

    @contextlib.contextmanager
    def server(self, folder, *words):
        """Runs `lockstep serve http` on our side."""
        with self.ours.inside():
            server = ns.Server(folder, "--mtu", str(self.terms.mtu), *words, kind=self.kind,
                               addresses=self.addresses(), hosts=())
        with server:
            yield server

    def so_far(self):
        """The counts of frames so far."""
        self.bus.send_signal(signal.SIGUSR1)
        return json.loads(self.bus.stdout.readline())

    def end(self):
        """Stops the bus; returns the counts of frames, which must balance."""
        self.bus.terminate()
        text, _ = self.bus.communicate(timeout=60)
        self.account = json.loads(text)
        for way in self.account.values():
            assert way["offered"] == sum(way[name] for name in (
                "delivered", "loss", "queue_full", "refused")), self.account
        return self.account

    def close(self):
        """Removes everything."""
        if self.bus.poll() is None:
            self.bus.kill()
        self.bus.communicate()
        for space in (self.ours, self.kernels):
            space.__exit__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def judge(capture, tshark):
    """`lockstep lint` reports no certain finding, and tshark no wrong checksum."""
    done = subprocess.run([str(ns.PROGRAM), "lint", str(capture)], capture_output=True, text=True,
                          check=False, timeout=600)
    assert done.returncode == 0 and "0 certain" in done.stdout, done.stdout + done.stderr
    judge_checksums(capture, tshark)


def judge_checksums(capture, tshark):
    """The capture has checksums, and all are right; not checked if tshark is missing.

    Linux writes a checksum of 0 as 0xffff, as in UDP. In ones' complement that is the same number,
    which every receiver accepts, but tshark does not. Bodies are not reassembled."""
    if tshark:
        said = subprocess.run(
            [tshark, "-r", str(capture), "-o", "tcp.check_checksum:TRUE", "-o",
             "tcp.desegment_tcp_streams:FALSE", "--disable-protocol", "http", "-Y", "tcp", "-T",
             "fields", "-e", "tcp.checksum.status", "-e", "tcp.checksum", "-e",
             "tcp.checksum_calculated", "-e", "ip.src", "-e", "ipv6.src"], check=True,
            capture_output=True, text=True)
        rows = {tuple(line.split("\t")) for line in said.stdout.splitlines()}
        wrong = {row for row in rows if row[0] != "1" and not (
            row[1:3] == ("0xffff", "0x0000") and row[3:] in ((ns.KERNEL, ""), ("", ns.KERNEL6)))}
        assert rows and not wrong, wrong
