# What a device does on a port, seen from the wire alone: a closed port, and the kinds of services.
"""Used once, before the tests, over the same wire as they are."""
import select
import struct
import time

from .errors import Environment
from .packets import TCP, dissected, glance, payload_of
from .wire_frames import summed, with_sum

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
#: For an answer to a SYN, and for that of a service to a line.
ANSWER_SECONDS, SPEAK_SECONDS = 1.0, 1.5
ASKED = 3
#: What some services answer in their own way: echo repeats it, HTTP complains, discard is silent.
LINE = b"lockstep / test\r\n\r\n"
SERVICES = ("echo", "discard", "http")


def segment(link, ports, flags, seq, ack=0, data=b""):
    """An IP packet from the tester; `ports`: (tester's, device's)."""
    head = struct.pack("!HHIIBBHHH", *ports, seq % (1 << 32), ack % (1 << 32), 5 << 4, flags,
                       65535, 0, 0)
    length = len(head) + len(data)
    source, to = link.source.packed, link.device.packed
    if link.version == 4:
        front = with_sum(struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 1, 0, 64, 6, 0)
                         + source + to, 10)
    else:
        front = struct.pack("!IHBB", 6 << 28, length, 6, 64) + source + to
    return summed(front + head + data)


def ports_of(packet):
    """(source, destination) of a segment without extension headers."""
    at = 40 if packet[0] >> 4 == 6 else (packet[0] & 15) * 4
    return struct.unpack_from("!HH", packet, at)


class Probe:
    """One connection of the tester's to a port of the device."""

    def __init__(self, link, ours, port):
        self._link, self._ports = link, (ours, port)
        self._wire = link.open()
        self._seq, self.ack = 1_000, 0

    def _say(self, flags, data=b""):
        self._link.put(self._wire, segment(self._link, self._ports, flags, self._seq, self.ack,
                                           data))
        self._seq += len(data) + bool(flags & SYN)

    def _heard(self, seconds):
        """The next segment of the device on these ports, as (packet, Glance), or None."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._wire], [], [], left)[0]:
                return None
            for packet in self._link.get(self._wire):
                seen = glance(packet)
                if seen is not None and ports_of(packet) == self._ports[::-1]:
                    return packet, seen
        return None

    def knock(self):
        """'open', 'closed', or 'silent': what a SYN is answered with."""
        for _ in range(ASKED):
            self._seq = 1_000
            self._say(SYN)
            heard = self._heard(ANSWER_SECONDS)
            if heard is None:
                continue
            packet, seen = heard
            if seen.flags == "SA":
                self.ack = dissected(packet)[TCP].seq + 1
                return "open"
            return "closed"
        return "silent"

    def speak(self):
        """The service behind an open port: 'echo', 'discard', 'http', or None if it is another."""
        self._say(ACK)
        self._say(PSH | ACK, LINE)
        said, finished, end = b"", False, time.monotonic() + SPEAK_SECONDS
        while not finished and (left := end - time.monotonic()) > 0:
            heard = self._heard(left)
            if heard is None:
                break
            packet, seen = heard
            finished = "F" in seen.flags or "R" in seen.flags
            said += payload_of(dissected(packet))
            if said == LINE:
                return "echo"
        if said.startswith(b"HTTP/"):
            return "http"
        return None if said or finished else "discard"

    def close(self):
        """Ends the connection with a reset, and frees the socket."""
        try:
            while (heard := self._heard(0.05)) is not None:
                self.ack = max(self.ack, dissected(heard[0])[TCP].seq + heard[1].length)
            self._say(RST | ACK)
        except OSError:
            pass
        self._wire.close()


def closed_port(link, ours, ports):
    """The first of these ports that the device answers with a reset, or None."""
    for port in ports:
        probe = Probe(link, next(ours), port)
        try:
            if probe.knock() == "closed":
                return port
        finally:
            probe.close()
    return None


def service_on(link, ours, port, named):
    """The kind of the service on a port; Environment if nothing is there."""
    probe = Probe(link, next(ours), port)
    try:
        state = probe.knock()
        where = f"port {port} of {link.device}"
        if state == "closed":
            raise Environment(f"{where} is closed: start a service there, or name another port with"
                              " --target-port")
        if state == "silent":
            raise Environment(f"{where} does not answer a SYN from {link.source} in"
                              f" {ASKED * ANSWER_SECONDS:.0f} s: does a filter drop it?")
        found = named or probe.speak()
    finally:
        probe.close()
    if found is None:
        raise Environment(f"{where} has a service that is none of {', '.join(SERVICES)}: say which"
                          " it is like with --target-service (http: it closes when it does not"
                          " understand)")
    return found
