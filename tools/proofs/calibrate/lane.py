# Two namespaces with a TAP and a recorder each, in which real Linux makes connections.
"""Everything disappears with the process that made it; nothing is visible outside."""
import fcntl
import os
import pathlib
import socket
import struct
import time

from dev import namespace as ns

from proofs.calibrate import relay

TUNSETIFF, TUNSETOFFLOAD, TUNSETVNETHDRSZ = 0x400454CA, 0x400454D0, 0x400454D8
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
OFFLOADS = 1 | 2 | 4 | 8  # checksums, TSO for IPv4 and IPv6, TSO with ECN
SO_TIMESTAMPNS = 35
ALL, RECORD_OCTETS = 3, 256 << 20
SOL_PACKET, PACKET_AUXDATA = 263, 8
NAMES = ("client0", "server0")
V4 = ("10.77.0.1", "10.77.0.2")
V6 = ("fd77::1", "fd77::2")
DEFAULTS = {"tcp_timestamps": "1", "tcp_sack": "1", "tcp_window_scaling": "1", "tcp_ecn": "2"}


def why_not():
    """The reason why no connection can be made on this system, or None."""
    if os.geteuid() != 0:
        return "only root may make a network namespace"
    if not os.path.exists("/dev/net/tun"):
        return "/dev/net/tun is missing: modprobe tun"
    try:
        ns.run("ip", "-V")
    except OSError:
        return "ip is missing: tools/setup"
    return None


def open_tap(name, offloads):
    """Open a TAP in the current namespace whose frames have a virtio_net_hdr."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(),
                                            IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    fcntl.ioctl(tap, TUNSETVNETHDRSZ, struct.pack("i", relay.VNET_OCTETS))
    fcntl.ioctl(tap, TUNSETOFFLOAD, OFFLOADS if offloads else 0)
    return tap


def address_mac(side):
    """The MAC address of a side's interface."""
    return f"02:00:00:00:77:{side + 1:02x}"


def set_settings(settings):
    """Set TCP sysctls of the current namespace."""
    for word, value in settings.items():
        pathlib.Path(f"/proc/sys/net/ipv4/{word}").write_text(value, encoding="ascii")


def set_up(side, mtu):
    """Set addresses and neighbours in the current namespace."""
    name, other = NAMES[side], 1 - side
    ip6 = pathlib.Path(f"/proc/sys/net/ipv6/conf/{name}")
    if ip6.exists():
        for word in ("accept_dad", "router_solicitations"):
            (ip6 / word).write_text("0", encoding="ascii")
    ns.run("ip", "link", "set", "dev", name, "address", address_mac(side), "mtu", str(mtu), "up")
    ns.run("ip", "link", "set", "dev", name, "txqueuelen", "10000")
    ns.run("ip", "address", "add", f"{V4[side]}/24", "dev", name)
    ns.run("ip", "neighbour", "add", V4[other], "lladdr", address_mac(other), "dev", name)
    if ip6.exists() and mtu >= 1280:
        ns.run("ip", "address", "add", f"{V6[side]}/64", "dev", name, "nodad")
        ns.run("ip", "neighbour", "add", V6[other], "lladdr", address_mac(other), "dev", name)


class Recorder:
    """Records the frames of an interface in the kernel's order with its timestamps."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, 33, RECORD_OCTETS)  # SO_RCVBUFFORCE
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.bind((name, ALL))
        self.socket.setblocking(False)
        self.frames = []  # (time_ns, octets)

    def drain(self):
        """Read all frames that the kernel has buffered."""
        room = socket.CMSG_SPACE(16)
        while True:
            try:
                frame, extra, _, _ = self.socket.recvmsg(relay.FRAME_MAX, room)
            except BlockingIOError:
                return
            for _, kind, value in extra:
                if kind == SO_TIMESTAMPNS:
                    seconds, part = struct.unpack("qq", value)
                    self.frames.append((seconds * 10 ** 9 + part, frame))

    def lost(self):
        """How many frames the kernel has dropped since the last call."""
        return struct.unpack("II", self.socket.getsockopt(SOL_PACKET, 6, 8))[1]


class Lane:
    """The two namespaces in which the connections of one world run."""

    def __init__(self, mtu, offloads, settings):
        self.spaces = (ns.Namespace(), ns.Namespace())
        self.taps, self.recorders = [], []
        for side, space in enumerate(self.spaces):
            with space.inside():
                ns.run("ip", "link", "set", "dev", "lo", "up")
                self.taps.append(open_tap(NAMES[side], offloads))
                set_up(side, mtu)
                set_settings({**DEFAULTS, **settings[side]})
                self.recorders.append(Recorder(NAMES[side]))
        self.middle = []

    def socket(self, side, six):
        """A TCP socket of a side."""
        with self.spaces[side].inside():
            sock = socket.socket(socket.AF_INET6 if six else socket.AF_INET)
        sock.setblocking(False)
        return sock

    def relay(self, terms_of):
        """The relay that carries frames between the two TAPs."""
        return relay.Relay(self.taps, terms_of,
                           lambda when, frame: self.middle.append((when, frame)))

    def settle(self):
        """Wait until the links of both TAPs are up."""
        end = time.monotonic() + 10
        for side, space in enumerate(self.spaces):
            with space.inside():
                state = pathlib.Path(f"/proc/net/dev_snmp6/{NAMES[side]}")
                while not state.exists() and time.monotonic() < end:
                    time.sleep(0.01)

    def close(self):
        """Close recorders, TAPs and namespaces."""
        for recorder in self.recorders:
            recorder.socket.close()
        for tap in self.taps:
            os.close(tap)
        for space in self.spaces:
            os.close(space.descriptor)
