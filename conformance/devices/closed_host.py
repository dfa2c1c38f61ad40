#!/usr/bin/env python3
# The smallest device: a host on which nothing listens. It shows how a device is written in Python.
"""A host without a TCP program: each segment that is no reset draws one (RFC 9293 3.10.7.1).

    pytest conformance/scapy -k "CLOSED and ip4" --target device:conformance/devices/closed_host.py
"""
import ipaddress
import struct

from lockstep.testing import device_wire

FIN, SYN, RST, ACK = 1, 2, 4, 16
TCP = 6


def checksum(octets):
    """The Internet checksum (RFC 1071)."""
    octets += b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class ClosedHost(device_wire.Device):
    """IPv4, no timers, and no calls but state."""

    name = "closed_host"
    stack = "a host on which nothing listens"
    abilities = "ipv4 deterministic"

    def packet(self, octets):
        """Answers a segment with a reset, unless it is one, or is damaged."""
        header = (octets[0] & 15) * 4 if octets else 0
        whole = octets[:int.from_bytes(octets[2:4], "big")]
        segment = whole[header:]
        if header < 20 or whole[9] != TCP or len(segment) < 20 or checksum(whole[:header]):
            return
        pseudo = whole[12:20] + struct.pack(">HH", TCP, len(segment))
        offset = (segment[12] >> 4) * 4
        if checksum(pseudo + segment) or not 20 <= offset <= len(segment):
            return
        here, there = (ipaddress.ip_address(at).packed for at in (self.local, self.remote))
        if whole[12:16] != there or whole[16:20] != here:
            return
        source, to, seq, ack = struct.unpack_from(">HHII", segment)
        flags = segment[13]
        if flags & RST:
            return
        length = len(segment) - offset + bool(flags & SYN) + bool(flags & FIN)
        answer = (ack, 0, RST) if flags & ACK else (0, (seq + length) & 0xFFFF_FFFF, RST | ACK)
        self.reset(here + there, to, source, answer)

    def reset(self, addresses, source, to, answer):
        """Sends <SEQ=..><ACK=..><CTL=RST>."""
        seq, ack, flags = answer
        tcp = struct.pack(">HHIIBBHHH", source, to, seq, ack, 5 << 4, flags, 0, 0, 0)
        total = checksum(addresses + struct.pack(">HH", TCP, len(tcp)) + tcp)
        tcp = tcp[:16] + struct.pack(">H", total) + tcp[18:]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0x4000, 64, TCP, 0) + addresses
        self.packets.append(ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + tcp)

    def state(self, local_port, remote_port):
        """Always CLOSED."""
        del local_port, remote_port
        return b"CLOSED"


if __name__ == "__main__":
    device_wire.serve(ClosedHost)
