# An interface with a device on its wire: frames, ARP, neighbour discovery, an address of our own.
"""The tester's address is one that the kernel does not own, so the kernel does not answer for it;
the frames bear the MAC of the interface.
"""
import ipaddress
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import threading
import time

from .errors import Environment, Misuse
from .wire_frames import (
    ALL_NODES, ALL_NODES_MAC, ARP, IP4, IP6, VNET, VNET_EMPTY, arp, mac_in_advertisement,
    neighbour_advertisement, neighbour_solicitation, solicited_mac, target_of_solicitation, whole)

SOL_PACKET, PACKET_VNET_HDR, PACKET_ADD_MEMBERSHIP = 263, 15, 1
PACKET_MR_MULTICAST = 0
ETH_P_ALL, OUTGOING = 0x0003, 4
BROADCAST = b"\xff" * 6
#: How often, and for how many seconds each time, the wire is asked who has an address.
ASKED, ASKED_SECONDS = 4, 0.5
#: An address that nobody answers for in this time is free.
PROBED, PROBED_SECONDS = 2, 0.25
#: How many addresses are tried.
CANDIDATES = 16


def text_of(mac):
    """A MAC as people write it."""
    return ":".join(f"{octet:02x}" for octet in mac)


def raw_socket(kind, name=""):
    """A packet socket; Environment if this process may not have one."""
    try:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(kind))
    except PermissionError:
        raise Environment("raw packets are for root: begin the command with sudo, or run it in a"
                          " namespace of its own with `unshare -Urn`") from None
    if name:
        made.bind((name, kind))
    return made


class Interface:
    """What the kernel says of an interface."""

    def __init__(self, name):
        if shutil.which("ip") is None:
            raise Environment("ip is missing: apt install iproute2")
        shown = subprocess.run(["ip", "-j", "address", "show"], capture_output=True, text=True,
                               check=True)
        rows = {row["ifname"]: row for row in json.loads(shown.stdout) if "ifname" in row}
        if name not in rows:
            raise Misuse(f"there is no interface {name}; there is {', '.join(sorted(rows))}")
        row = rows[name]
        if row.get("link_type") != "ether":
            raise Misuse(f"{name} is no Ethernet ({row.get('link_type')}): the tester sends frames")
        if "UP" not in row["flags"] or row.get("operstate") in ("DOWN", "LOWERLAYERDOWN"):
            raise Environment(f"{name} is down: ip link set {name} up, and look at the cable")
        self.name, self.mac = name, bytes.fromhex(row["address"].replace(":", ""))
        self.mtu = row["mtu"]
        self.networks = [ipaddress.ip_interface(f"{each['local']}/{each['prefixlen']}")
                         for each in row["addr_info"] if "local" in each]
        self.owned = {ipaddress.ip_address(each["local"]) for other in rows.values()
                      for each in other["addr_info"] if "local" in each}

    def forwards(self, version):
        """Whether the kernel forwards packets that arrive on it."""
        path = f"/proc/sys/net/ipv{version}/conf/{self.name}/forwarding"
        try:
            with open(path, encoding="ascii") as file:
                return file.read().strip() != "0"
        except OSError:
            return False


class Link:
    """The wire between an address of ours and the device."""

    def __init__(self, interface, device, source=None):
        """`source`: the address of ours, or None to choose one."""
        self.interface = interface
        self.device = device
        self.version = device.version
        self._socket = raw_socket(ETH_P_ALL, interface.name)
        self._responder = self._lock = None
        try:
            if device in interface.owned:
                raise Misuse(f"{device} is this machine's own address: name the device's")
            self.source = source if source is not None else self._chosen()
            self.is_kernels = self.source in interface.owned
            self._check(source)
            if not self.is_kernels:
                self._responder = Responder(interface, self.source)
            self.mac = self._asked(device, self.source, ASKED, ASKED_SECONDS)
            if self.mac is None:
                kind = "ARP" if self.version == 4 else "neighbour discovery"
                raise Environment(
                    f"no answer to {kind} from {device} on {interface.name} in"
                    f" {ASKED * ASKED_SECONDS:.0f} s, asked by {self.source}: is the device on, is"
                    " it on this wire, and is that its address?")
        except BaseException:
            self.close()
            raise

    def _check(self, source):
        if self.source.version != self.version:
            raise Misuse(f"--target-source {self.source}: the device has an IPv{self.version}"
                         " address, take one of the same family")
        if self.source == self.device:
            raise Misuse(f"--target-source {self.source} is the device's own address")
        if source is not None and not self._locked(source):
            raise Environment(f"--target-source {source}: another run uses this address now")
        if source is not None and not self.is_kernels:
            there = self._asked(source, None, PROBED, PROBED_SECONDS)
            if there is not None:
                raise Environment(f"--target-source {source}: {text_of(there)} on"
                                  f" {self.interface.name} has this address: choose a free one")

    def _chosen(self):
        """A free address of the network that the interface and the device share."""
        shared = [each for each in self.interface.networks
                  if each.version == self.version and self.device in each.network]
        if not shared:
            has = ", ".join(str(each) for each in self.interface.networks
                            if each.version == self.version) or f"no IPv{self.version} address"
            raise Misuse(f"{self.device} is in no network of {self.interface.name} (it has {has}):"
                         " name a free address of the device's network with --target-source")
        network = shared[0].network
        for candidate in candidates(network):
            if candidate in self.interface.owned or candidate == self.device:
                continue
            if not self._locked(candidate):
                continue
            if self._asked(candidate, None, PROBED, PROBED_SECONDS) is None:
                return candidate
        raise Environment(f"no free address found in {network}: name one with --target-source")

    def _locked(self, address):
        """Takes an address for this run; false if another run on this machine has it. The kernel
        gives it back when this process ends.
        """
        if self._lock is not None:
            self._lock.close()
        self._lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._lock.bind(f"\0lockstep-{self.interface.name}-{address}")
        except OSError:
            return False
        return True

    def _asked(self, address, asker, times, seconds):
        """The MAC of an address, or None. `asker`: for whom, or None for a probe."""
        question = self._question(address, asker)
        for _ in range(times):
            self._socket.send(question)
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0:
                if not select.select([self._socket], [], [], left)[0]:
                    break
                frame, sender = self._socket.recvfrom(1 << 16)
                found = self._answer_in(frame, address) if sender[2] != OUTGOING else None
                if found is not None:
                    return found
        return None

    def _question(self, address, asker):
        mac = self.interface.mac
        if self.version == 4:
            ours = asker.packed if asker is not None else bytes(4)
            return arp(BROADCAST, 1, mac, ours, bytes(6), address.packed)
        ours = asker.packed if asker is not None else bytes(16)
        packet = neighbour_solicitation(ours, address.packed, mac)
        return solicited_mac(address.packed) + mac + IP6 + packet

    def _answer_in(self, frame, address):
        if self.version == 6:
            return mac_in_advertisement(frame, address.packed)
        is_answer = frame[12:14] == ARP and frame[28:32] == address.packed
        return frame[22:28] if is_answer and len(frame) >= 42 else None

    # --- packets ---

    def open(self):
        """A socket for the packets of one test."""
        made = raw_socket(ETH_P_ALL)
        made.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        made.bind((self.interface.name, ETH_P_ALL))
        return made

    def put(self, to, packet):
        """Sends an IP packet to the device."""
        kind = IP4 if self.version == 4 else IP6
        to.send(VNET_EMPTY + self.mac + self.interface.mac + kind + packet)

    def get(self, source):
        """The IP packets of the device in the next frame, as they were on the wire."""
        frame, sender = source.recvfrom(1 << 17)
        head, frame = VNET.unpack_from(frame), frame[VNET.size:]
        kind = IP4 if self.version == 4 else IP6
        if sender[2] == OUTGOING or frame[12:14] != kind or frame[6:12] != self.mac:
            return []
        at = 14 + (16 if self.version == 4 else 24)
        if frame[at:at + len(self.source.packed)] != self.source.packed:
            return []  # to this machine's kernel, or to another run
        return whole(frame[14:], head, padded=len(frame) <= 60)

    def close(self):
        """Stops answering for our address."""
        if self._responder is not None:
            self._responder.close()
        if self._lock is not None:
            self._lock.close()
        self._socket.close()


def candidates(network):
    """Addresses of a network that are seldom used: the highest ones."""
    if network.version == 6:
        first = int(network.network_address) + 0x1057_5E9
        step = 1
    else:
        first, step = int(network.broadcast_address) - 1, -1
    kind = type(network.network_address)
    for count in range(CANDIDATES):
        number = first + step * count
        if int(network.network_address) < number < int(network.broadcast_address):
            yield kind(number)


class Responder(threading.Thread):
    """Answers ARP and neighbour solicitations for an address, also between the tests."""

    def __init__(self, interface, address):
        super().__init__(daemon=True, name="lockstep-responder")
        self._mac, self._address = interface.mac, address.packed
        self._ended, self._ender = os.pipe()
        kind = 0x0806 if address.version == 4 else 0x86DD
        self._socket = raw_socket(kind, interface.name)
        if address.version == 6:
            group = solicited_mac(self._address)
            member = struct.pack("iHH8s", socket.if_nametoindex(interface.name),
                                 PACKET_MR_MULTICAST, 6, group)
            self._socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, member)
        self.start()

    def run(self):
        while True:
            ready = select.select([self._socket, self._ended], [], [])[0]
            if self._ended in ready:
                return
            try:
                answer = self.answer(self._socket.recv(1 << 16))
                if answer:
                    self._socket.send(answer)
            except OSError:
                pass  # the interface went down: the test says so

    def answer(self, frame):
        """The answer to a frame, or None."""
        if len(self._address) == 4:
            asks = frame[12:14] == ARP and frame[20:22] == b"\0\1" and len(frame) >= 42
            if not asks or frame[38:42] != self._address:
                return None
            return arp(frame[6:12], 2, self._mac, self._address, frame[22:28], frame[28:32])
        if target_of_solicitation(frame) != self._address:
            return None
        to, mac, is_probe = frame[22:38], frame[6:12], not any(frame[22:38])
        if is_probe:  # of somebody who wants the address: all nodes are told
            to, mac = ALL_NODES, ALL_NODES_MAC
        packet = neighbour_advertisement(self._address, to, self._mac, solicited=not is_probe)
        return mac + self._mac + IP6 + packet

    def close(self):
        """Ends the thread."""
        os.write(self._ender, b"x")
        self.join()
        self._socket.close()
        os.close(self._ended)
        os.close(self._ender)
