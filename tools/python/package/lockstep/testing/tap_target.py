# The target `tap:lockstep`: our own stack on a TAP, in real time, in a namespace of the test's own.
"""The stack is `lockstep serve calls`. The tester writes and reads frames at the kernel's end of
the TAP through a packet socket; the kernel has no address there and does not reply.
"""
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

from .errors import Misuse, Unsupported
from .live import LiveTarget, own_namespace
from .stack_target import ADDRESSES
from .target import Wanted, kinds

DEVICE = "lock0"
OUR_MAC, TESTERS_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
ETH_P_ALL, OUTGOING = 0x0003, 4
SOL_PACKET, PACKET_QDISC_BYPASS = 263, 20
KINDS = {4: b"\x08\x00", 6: b"\x86\xdd"}


class TapTarget(LiveTarget):
    """Our stack, run by hw/tap and turn() as for real clients."""

    name = "tap:lockstep"

    @classmethod
    def accepts(cls, more):
        if more != "lockstep":
            raise Misuse(f"--target tap{':' * bool(more)}{more}: only tap:lockstep is known")
        check_program("tap:lockstep")

    def __init__(self, wanted: Wanted):
        self.local, self.remote = ADDRESSES[wanted.ip_version]
        mac = bytes.fromhex((OUR_MAC + TESTERS_MAC).replace(":", ""))
        self._header = mac + KINDS[wanted.ip_version]
        super().__init__(wanted, serve)
        self._socket = socket.socket(fileno=self.wire)

    def _get(self):
        frame, sender = self._socket.recvfrom(1 << 17)
        ours = sender[2] != OUTGOING and frame[12:14] == self._header[12:14]
        return frame[14:] if ours else None

    def _put(self, packet):
        self._socket.send(self._header + packet)

    def events(self, connection):
        return self.call("events", connection)

    def stop(self):
        if getattr(self, "_socket", None) is not None:
            self._socket.close()
            self._socket = self.wire = None
        super().stop()


def check_program(target):
    """Misuse if LOCKSTEP_PROGRAM names what is no program."""
    named = os.environ.get("LOCKSTEP_PROGRAM")
    if named and not (os.path.isfile(named) and os.access(named, os.X_OK)):
        raise Misuse(f"--target {target}: LOCKSTEP_PROGRAM names {named}, which is no program:"
                     " build it, or unset the variable")


def program():
    """The program `lockstep`: LOCKSTEP_PROGRAM, or build/release/lockstep, or the one in PATH."""
    named = os.environ.get("LOCKSTEP_PROGRAM")
    built = Path("build/release/lockstep").resolve()
    found = named or (str(built) if built.exists() else shutil.which("lockstep"))
    if found is None:
        raise Unsupported("target tap: there is no program lockstep: build it, or name it in"
                          " LOCKSTEP_PROGRAM")
    return found


def serve(channel, wanted):
    """In the child: makes the namespace and the TAP, then execs the stack."""
    path = program()
    if shutil.which("ip") is None:
        raise Unsupported("target tap: ip is missing: tools/setup")
    own_namespace("tap")
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    mtu = wanted.settings.get("mtu", 1500)
    subprocess.run(["ip", "-batch", "-"], text=True, check=True, capture_output=True,
                   input=f"tuntap add dev {DEVICE} mode tap vnet_hdr\n"
                         f"link set dev {DEVICE} mtu {mtu} up\n")
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    wire.bind((DEVICE, 0))
    # Until a kernel worker has seen the carrier, the queue drops frames; this bypasses it.
    wire.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    socket.send_fds(channel, [json.dumps({"program": path}).encode()], [wire.fileno()])
    local, remote = ADDRESSES[wanted.ip_version]
    words = [path, "serve", "calls", "--tap", DEVICE, "--mtu", str(mtu), "--mac", OUR_MAC,
             "--address", f"{local}/{24 if wanted.ip_version == 4 else 64}",
             "--neighbour", f"{remote}={TESTERS_MAC}", "--profile", wanted.profile,
             "--seed", str(wanted.seed)]
    # No duplicate address detection, because the tester and the stack are alone.
    for name, value in {"duplicate_tests": 0, **wanted.settings}.items():
        if name != "mtu":
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            words += ["--set", f"{name}={shown}"]
    os.dup2(channel.fileno(), 0)
    os.dup2(channel.fileno(), 1)
    os.execv(path, words)


kinds["tap"] = TapTarget
