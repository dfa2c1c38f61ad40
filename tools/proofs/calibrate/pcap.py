# Reads and writes captures, and TCP packets that can be edited with their checksums fixed.
"""Little-endian pcap with nanoseconds or microseconds; Ethernet, IPv4 without options, IPv6."""
import struct

from proofs.calibrate.relay import seal, where_tcp

NANO, MICRO = 0xA1B23C4D, 0xA1B2C3D4
FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = 1, 2, 4, 8, 16, 32, 64, 128
MSS, SCALE, PERMITTED, SACK, STAMPS = 2, 3, 4, 5, 8
CYCLE = 1 << 32
RENEWED = 20_011


def write(name, frames, snap=262_144):
    """Write frames, each (time_ns, octets) or (time_ns, octets, length on the wire)."""
    parts = [struct.pack("<IHHiIII", NANO, 2, 4, 0, 0, snap, 1)]
    for time_ns, octets, *wire in frames:
        length = wire[0] if wire else len(octets)
        kept = octets[:snap]
        parts.append(struct.pack("<IIII", *divmod(time_ns, 10 ** 9), len(kept), length) + kept)
    with open(name, "wb") as out:
        out.write(b"".join(parts))


def read(name):
    """[(time_ns, octets)] of a pcap file from write() or tcpdump."""
    with open(name, "rb") as file:
        octets = file.read()
    magic = struct.unpack_from("<I", octets)[0]
    if magic not in (NANO, MICRO):
        raise ValueError(f"{name} is no little-endian pcap")
    part = 1 if magic == NANO else 1000
    at, frames = 24, []
    while at + 16 <= len(octets):
        seconds, fraction, kept, _ = struct.unpack_from("<IIII", octets, at)
        frames.append((seconds * 10 ** 9 + fraction * part, octets[at + 16:at + 16 + kept]))
        at += 16 + kept
    return frames


def options_of(octets):
    """[(kind, value octets)] of an options field, up to the first bad length."""
    found, at = [], 0
    while at < len(octets):
        kind = octets[at]
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        if at + 1 >= len(octets) or not 2 <= octets[at + 1] <= len(octets) - at:
            break
        found.append((kind, octets[at + 2:at + octets[at + 1]]))
        at += octets[at + 1]
    return found


def options_field(options):
    """Encode a list of options, each aligned to 4 octets by NOPs before it."""
    out = b""
    for kind, value in options:
        one = bytes([kind, len(value) + 2]) + value
        out += b"\1" * (-len(one) % 4) + one
    return out


class Packet:
    """One segment of a capture; edit its fields, then call `frame()`."""

    def __init__(self, time_ns, frame):
        self.time = time_ns
        at, tcp, end = where_tcp(frame)
        self.link = frame[:at]
        self.ip = bytearray(frame[at:tcp])
        (self.sport, self.dport, self.seq, self.ack, offset, self.flags, self.window, _,
         self.urgent) = struct.unpack_from(">HHIIBBHHH", frame, tcp)
        self.reserved = offset & 15
        text_at = tcp + (offset >> 4) * 4
        self.options = options_of(frame[tcp + 20:text_at])
        self.text = bytes(frame[text_at:end])
        self.bad_sum = self.bad_ip_sum = False

    @property
    def is_v4(self):
        """Whether it is IPv4."""
        return self.ip[0] >> 4 == 4

    @property
    def addresses(self):
        """(source, destination) as octets."""
        return (bytes(self.ip[12:16]), bytes(self.ip[16:20])) if self.is_v4 else \
            (bytes(self.ip[8:24]), bytes(self.ip[24:40]))

    @property
    def source(self):
        """(address, port) of its sender."""
        return self.addresses[0], self.sport

    @property
    def length(self):
        """Its length in sequence space."""
        return len(self.text) + bool(self.flags & SYN) + bool(self.flags & FIN)

    @property
    def end(self):
        """The sequence number after its last octet."""
        return (self.seq + self.length) % CYCLE

    @property
    def ecn(self):
        """The ECN bits of the IP header."""
        return self.ip[1] & 3 if self.is_v4 else self.ip[1] >> 4 & 3

    @ecn.setter
    def ecn(self, value):
        if self.is_v4:
            self.ip[1] = self.ip[1] & 0xFC | value
        else:
            self.ip[1] = self.ip[1] & 0xCF | value << 4

    def option(self, kind):
        """The value of an option, or None."""
        return next((value for one, value in self.options if one == kind), None)

    def set_option(self, kind, value):
        """Replace an option's value, or append the option; None removes it."""
        found = False
        kept = []
        for one, before in self.options:
            if one == kind and not found:
                found = True
                if value is not None:
                    kept.append((one, value))
            elif one != kind:
                kept.append((one, before))
        if not found and value is not None:
            kept.append((kind, value))
        self.options = kept

    @property
    def stamps(self):
        """(TSval, TSecr), or None."""
        value = self.option(STAMPS)
        return struct.unpack(">II", value) if value is not None and len(value) == 8 else None

    @stamps.setter
    def stamps(self, both):
        self.set_option(STAMPS, None if both is None else
                        struct.pack(">II", both[0] % CYCLE, both[1] % CYCLE))

    @property
    def blocks(self):
        """SACK blocks as [(left, right)]."""
        value = self.option(SACK) or b""
        return list(struct.iter_unpack(">II", value[:len(value) // 8 * 8]))

    @blocks.setter
    def blocks(self, blocks):
        value = b"".join(struct.pack(">II", left % CYCLE, right % CYCLE) for left, right in blocks)
        self.set_option(SACK, value or None)

    def copy(self):
        """An independent copy."""
        other = Packet.__new__(Packet)
        other.__dict__.update(self.__dict__)
        other.ip = bytearray(self.ip)
        other.options = list(self.options)
        return other

    def renew(self):
        """Change IPv4's identification, so that it is not a duplicate of the original packet."""
        if self.is_v4:
            number = struct.unpack_from(">H", self.ip, 4)[0]
            struct.pack_into(">H", self.ip, 4, (number + RENEWED) & 0xFFFF)

    def frame(self):
        """Its octets, with right checksums unless bad_sum or bad_ip_sum is set."""
        field = options_field(self.options)
        if len(field) > 40:
            raise ValueError("more than 40 octets of options")
        header = struct.pack(">HHIIBBHHH", self.sport, self.dport, self.seq % CYCLE,
                             self.ack % CYCLE, (5 + len(field) // 4) << 4 | self.reserved,
                             self.flags, self.window, 0, self.urgent)
        at, tcp = len(self.link), len(self.link) + len(self.ip)
        out = bytearray(self.link + bytes(self.ip) + header + field + self.text)
        if self.is_v4:
            struct.pack_into(">H", out, at + 2, len(out) - at)
        else:
            struct.pack_into(">H", out, at + 4, len(out) - tcp)
        seal(out, at, tcp)
        if self.bad_sum:
            out[tcp + 16] ^= 0x5A
        if self.bad_ip_sum:
            out[at + 10] ^= 0x5A
        return bytes(out)


def packets(name):
    """All TCP segments of a capture."""
    return [Packet(time_ns, frame) for time_ns, frame in read(name) if where_tcp(frame)]


def save(name, flow):
    """Write packets with their current fields, in the given order."""
    write(name, [(packet.time, packet.frame()) for packet in flow])
