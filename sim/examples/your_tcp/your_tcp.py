#!/usr/bin/env python3
# A small TCP as a device, in Python: it accepts connections and lets the peer end them; no data.
"""Replace it by yours: conformance/devices/README.md, "Test your own TCP", says how to run it."""
import ipaddress
import struct

from lockstep.testing import device_wire

FIN, SYN, RST, ACK = 1, 2, 4, 16
TCP, WINDOW, MSS_1460 = 6, 8192, b"\2\4\5\xb4"


def checksum(octets):
    """The Internet checksum (RFC 1071)."""
    octets += b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Connection:
    """The variables of RFC 9293 3.3.1 that this TCP has."""

    def __init__(self, ports, snd_nxt, rcv_nxt):
        self.ports, self.state, self.accepted = ports, "SYN-RECEIVED", False
        self.snd_nxt, self.rcv_nxt = snd_nxt, rcv_nxt


class YourTcp(device_wire.Device):
    """IPv4 without options, passive opens only, no timers."""

    name, stack, abilities = "your_tcp", "a TCP that opens and closes", "ipv4 deterministic"

    def __init__(self, *setup):
        super().__init__(*setup)
        self.addresses = b"".join(ipaddress.ip_address(each).packed for each in setup[:2])
        self.listeners, self.connections = [], []  # a handle is a place here, counted from 1

    def listen(self, port, backlog):
        """The program listens. Ignores the backlog."""
        self.listeners.append(port)
        return len(self.listeners)

    def accept(self, listener):
        """The program takes the next connection that is established."""
        for handle, one in enumerate(self.connections, 1):
            ready = one.state in ("ESTABLISHED", "CLOSE-WAIT") and not one.accepted
            if ready and one.ports[0] == self.listeners[listener - 1]:
                one.accepted = True
                return handle
        return device_wire.AGAIN

    def state(self, local_port, remote_port):
        """The state that a segment from that port to ours meets."""
        one = self.find((local_port, remote_port))
        return one.state if one else "LISTEN" if local_port in self.listeners else "CLOSED"

    def find(self, ports):
        """The connection of these ports (ours, the peer's), or None."""
        live = (one for one in self.connections if one.state != "CLOSED" and one.ports == ports)
        return next(live, None)

    def packet(self, octets):
        """An IP packet arrives. Checks neither checksums nor the lengths in the headers."""
        if len(octets) < 40 or octets[9] != TCP:
            return
        source, to, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", octets, 20)
        size = int.from_bytes(octets[2:4], "big") - 20 - (offset >> 4) * 4
        ports, one = (to, source), self.find((to, source))
        if one is not None:
            self.arrives(one, seq, ack, flags, size)
        elif flags & RST:
            return
        elif flags & ACK:
            self.send_segment(ports, ack, 0, RST)
        elif to not in self.listeners:
            length = size + bool(flags & SYN) + bool(flags & FIN)
            self.send_segment(ports, 0, seq + length, RST | ACK)
        elif flags & SYN:
            iss = (self.seed + self.now // 4000 + source * 2654435761) % 2**32
            self.connections.append(Connection(ports, (iss + 1) % 2**32, (seq + 1) % 2**32))
            self.send_segment(ports, iss, seq + 1, SYN | ACK, MSS_1460)

    def arrives(self, one, seq, ack, flags, size):
        """A segment of a connection arrives (RFC 9293 3.10.7.4). Takes no data."""
        if flags & RST:
            one.state = "CLOSED" if seq == one.rcv_nxt else one.state
        elif seq != one.rcv_nxt or flags & SYN:
            self.send_segment(one.ports, one.snd_nxt, one.rcv_nxt, ACK)
        elif one.state == "SYN-RECEIVED" and flags & ACK and ack != one.snd_nxt:
            self.send_segment(one.ports, ack, 0, RST)
        elif flags & ACK:
            one.state = "ESTABLISHED" if one.state == "SYN-RECEIVED" else one.state
            if flags & FIN and not size and one.state == "ESTABLISHED":
                one.state, one.rcv_nxt = "CLOSE-WAIT", (one.rcv_nxt + 1) % 2**32
            if flags & FIN or size:
                self.send_segment(one.ports, one.snd_nxt, one.rcv_nxt, ACK)

    def send_segment(self, ports, seq, ack, flags, options=b""):
        """Sends <SEQ=seq><ACK=ack><CTL=flags>."""
        offset, window = 5 + len(options) // 4 << 4, 0 if flags & RST else WINDOW
        tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack % 2**32, offset, flags, window, 0, 0)
        tcp += options
        total = checksum(self.addresses + struct.pack(">HH", TCP, len(tcp)) + tcp)
        tcp = tcp[:16] + struct.pack(">H", total) + tcp[18:]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, TCP, 0)
        ip += self.addresses
        self.packets.append(ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + tcp)


if __name__ == "__main__":
    device_wire.serve(YourTcp)
