"""The rules judged on each packet: one field at a time is changed, and reported."""

import pytest

pytest.importorskip("nanobind")
pytest.importorskip("scapy")
from lockstep.testing import stack_target  # noqa: E402
from lockstep.testing.conversation import Conversation  # noqa: E402
from lockstep.testing.errors import Mismatch  # noqa: E402
from lockstep.testing.packets import dissected  # noqa: E402
from lockstep.testing.target import Departure, Wanted  # noqa: E402
from scapy.layers.inet import ICMP, IP, TCP, in4_chksum  # noqa: E402
from scapy.layers.inet6 import ICMPv6ParamProblem, IPv6, in6_chksum  # noqa: E402
from scapy.utils import checksum  # noqa: E402

STAMPS = [("Timestamp", (1, 0))]
FULL = [("MSS", 1000), ("SAckOK", b""), ("Timestamp", (1, 0)), ("WScale", 2)]


class Bent(stack_target.StackTarget):
    """The stack, with some of its packets changed on their way."""

    bend = staticmethod(lambda octets: octets)

    def receive(self, until):
        departure = super().receive(until)
        return departure and Departure(departure.at, self.bend(departure.packet))


def conversation(version, bend, **settings):
    target = Bent(Wanted(version, 1, "rfc", settings))
    target.bend = bend
    return Conversation(target)


# --- what is sent ---


def exchange(tcp):
    """Data in both directions, a FIN each."""
    tcp.established(options=[("MSS", 1000)]).send("PA", payload=b"text")
    tcp.expect(within="499ms")
    tcp.write(b"answer").expect(seq=1)
    tcp.send("A", ack=7).finish().expect()
    tcp.send("FA", ack=8).expect(within="499ms")


def exchange_with_options(tcp):
    """A gap, so that there are SACK blocks; then time, so that timestamps increase."""
    tcp.established(options=FULL).send("PA", payload=b"text")
    tcp.expect(within="499ms")
    tcp.advance("2s").stamp = 9
    tcp.send("PA", seq=101, payload=b"text")
    tcp.expect()
    tcp.write(b"answer").expect()


def reset(tcp):
    tcp.send("S").expect()
    tcp.send("A", ack=77).expect()


def torn(tcp):
    tcp.established(window=4, options=[("MSS", 1000)]).write(b"answer").expect(seq=1)
    tcp.advance("5s").drain()
    tcp.ignore_rest().end()


def strange(tcp):
    """A packet that draws an ICMP error."""
    target = tcp.target
    if target.ip_version == 4:
        packet = IP(src=target.remote, dst=target.local, proto=99) / b"01234567"
    else:
        packet = IPv6(src=target.remote, dst=target.local, nh=253) / b"01234567"
    tcp.inject(packet).expect_icmp()


# --- how a packet is changed ---


def rebuilt(packet):
    """The octets with matching lengths and checksums."""
    if TCP in packet:
        del packet[TCP].chksum
    if IP in packet:
        del packet[IP].chksum, packet[IP].len
    else:
        del packet[IPv6].plen
    return bytes(packet)


def bender(change, where):
    """Changes the packets that `where` selects by `change`, and corrects their checksums."""

    def bend(octets):
        packet = dissected(octets)
        if not where(packet):
            return octets
        changed = change(packet)
        return changed if isinstance(changed, bytes) else rebuilt(packet)

    return bend


def has(flags, payload=False):
    """Selects segments with these flags, and with a payload if `payload`."""
    def where(packet):
        return TCP in packet and flags in str(packet[TCP].flags) and (
            not payload or len(bytes(packet[TCP].payload)) > 0)
    return where


def syn(packet):
    return has("S")(packet)


def plain(packet):
    return TCP in packet and not syn(packet)


def with_payload(packet):
    return has("A", payload=True)(packet)


def rst(packet):
    return has("R")(packet)


def blocked(packet):
    return TCP in packet and any(name == "SAck" for name, _ in packet[TCP].options)


def put(field, value):
    """Sets a field of TCP, or adds to it if the value is (n,)."""
    def change(packet):
        tcp = packet[TCP]
        added = isinstance(value, tuple)
        setattr(tcp, field, (getattr(tcp, field) + value[0]) % (1 << 32) if added else value)
    return change


def put_ip(four, six, value):
    """Sets a field of IP or IPv6."""
    def change(packet):
        setattr(packet, four if IP in packet else six, value)
    return change


def address(field):
    def change(packet):
        setattr(packet, field, "10.0.0.7" if IP in packet else "fd00::7")
    return change


def octet(at, flipped):
    """Flips bits of one octet and corrects no checksum. `at`: its offset with IPv4, with IPv6."""
    def change(packet):
        out = bytearray(bytes(packet))
        out[at[IP not in packet]] ^= flipped
        return bytes(out)
    return change


def of_tcp(at, flipped):
    return octet((20 + at, 40 + at), flipped)


def options(*more, without=None):
    """Adds options, or takes one away."""
    def change(packet):
        tcp = packet[TCP]
        kept = [each for each in tcp.options if each[0] not in ("NOP", "EOL", without)]
        tcp.options = [*kept, *more]
        del tcp.dataofs
    return change


def raw_options(word):
    """Adds a word of options to a segment that had none."""
    def change(packet):
        head = 20 if IP in packet else 40
        octets = bytearray(bytes(packet))
        octets[head + 20 : head + 20] = word
        octets[head + 12] += 0x10
        octets[3 if IP in packet else 5] += len(word)
        octets[head + 16 : head + 18] = b"\0\0"
        if IP in packet:
            octets[10:12] = b"\0\0"
            octets[10:12] = checksum(bytes(octets[:20])).to_bytes(2, "big")
        sum_over = in4_chksum if IP in packet else in6_chksum
        right = sum_over(6, dissected(bytes(octets)), bytes(octets[head:]))
        octets[head + 16 : head + 18] = right.to_bytes(2, "big")
        return bytes(octets)
    return change


def value(name, index, step):
    """Changes one number of an option."""
    def change(packet):
        tcp = packet[TCP]
        moved = []
        for each, old in tcp.options:
            if each == name:
                old = list(old) if isinstance(old, tuple) else [old]
                old[index] = (old[index] + step) % (1 << 32)
                old = tuple(old) if len(old) > 1 else old[0]
            moved.append((each, old))
        tcp.options = moved
    return change


def replace_payload(new):
    def change(packet):
        packet[TCP].remove_payload()
        packet[TCP].add_payload(new)
    return change


def longer(packet):
    return bytes(packet) + b"\0"


def header_of_six_words(packet):
    octets = bytes(packet)
    made = IP(bytes([0x46]) + octets[1:20] + b"\1\1\1\0" + octets[20:])
    del made.len, made.chksum
    return bytes(made)


def either(packet):
    return True


#: name -> what is sent, which packets, how they change, the row that must differ, IP versions.
BOTH, FOUR, SIX = (4, 6), (4,), (6,)
CASES = {
    "version": (exchange, plain, octet((0, 0), 0x20), "version", BOTH),
    "length": (exchange, plain, longer, "IP length", BOTH),
    "IP options": (exchange, plain, header_of_six_words, "IP header", FOUR),
    "IP sum": (exchange, plain, octet((10, 10), 0x01), "IP sum", FOUR),
    "IP reserved bit": (exchange, plain, put_ip("flags", "", 4), "IP flags", FOUR),
    "fragment": (exchange, plain, put_ip("flags", "", 1), "fragment", FOUR),
    "source": (exchange, plain, address("src"), "source", BOTH),
    "destination": (exchange, plain, address("dst"), "to", BOTH),
    "TTL": (exchange, plain, put_ip("ttl", "hlim", 0), "TTL", BOTH),
    "protocol": (exchange, plain, put_ip("proto", "nh", 17), "protocol", BOTH),
    "ECN": (exchange, plain, put_ip("tos", "tc", 2), "ECN", BOTH),
    "port": (exchange, plain, put("sport", 81), "ports", BOTH),
    "other port": (exchange, plain, put("dport", 5001), "ports", BOTH),
    "checksum": (exchange, plain, of_tcp(16, 0x01), "checksum", BOTH),
    "window without a sum": (exchange, plain, of_tcp(15, 0x01), "checksum", BOTH),
    "offset too small": (exchange, plain, put("dataofs", 4), "header", BOTH),
    "offset too large": (exchange, plain, put("dataofs", 15), "header", BOTH),
    "reserved bits": (exchange, plain, put("reserved", 4), "reserved", BOTH),
    "SYN and FIN": (exchange, syn, put("flags", "SFA"), "flags", BOTH),
    "no flags": (exchange, plain, put("flags", 0), "flags", BOTH),
    "ECE": (exchange, plain, put("flags", "AE"), "flags", BOTH),
    "RST with payload": (reset, rst, replace_payload(b"x"), "payload", BOTH),
    "ack without ACK": (reset, lambda p: rst(p) and "A" not in str(p[TCP].flags),
                        put("ack", 5), "ack", BOTH),
    "number of a reset": (reset, rst, put("seq", (1,)), "seq", BOTH),
    "ack of a reset": (reset, has("RA"), put("ack", (1,)), "ack", BOTH),
    "urgent": (exchange, plain, put("urgptr", 3), "urgent", BOTH),
    "seq further on": (exchange, plain, put("seq", (1,)), "seq", BOTH),
    "ack of data not sent": (exchange, plain, put("ack", (1,)), "ack", BOTH),
    "ack of a SYN": (exchange, syn, put("ack", (1,)), "ack", BOTH),
    "ack further back": (exchange, with_payload, put("ack", (-4,)), "ack", BOTH),
    "window that shrinks": (exchange, with_payload, put("window", (-1,)), "window", BOTH),
    "scaled window that shrinks": (exchange_with_options, with_payload, put("window", (-1,)),
                                   "window", BOTH),
    "payload": (exchange, with_payload, replace_payload(b"answes"), "payload", BOTH),
    "payload not written": (exchange, with_payload, replace_payload(b"answer."), "payload", BOTH),
    "payload beyond the window": (torn, with_payload, replace_payload(b"answer"), "window", BOTH),
    "no MSS": (exchange, syn, options(without="MSS"), "MSS", BOTH),
    "MSS on no SYN": (exchange, plain, options(("MSS", 1000)), "MSS", BOTH),
    "two of one kind": (exchange, syn, options(("MSS", 1000)), "option", BOTH),
    "an unknown kind": (exchange, plain, options((77, b"ab")), "option", BOTH),
    "an option of no length": (exchange, plain, raw_options(b"\x05\0\0\0"), "options", BOTH),
    "octets behind the end": (exchange, plain, raw_options(b"\0\0\0\1"), "options", BOTH),
    "a scale unasked": (exchange, syn, options(("WScale", 1)), "option", BOTH),
    "stamps unasked": (exchange, syn, options(*STAMPS), "option", BOTH),
    "stamps that were not agreed on": (exchange, plain, options(*STAMPS), "timestamps", BOTH),
    "stamps left out": (exchange_with_options, plain, options(without="Timestamp"), "timestamps",
                        BOTH),
    "a stamp that goes back": (exchange_with_options, plain, value("Timestamp", 0, -10_000),
                               "TSval", BOTH),
    "an echo of nothing": (exchange_with_options, plain, value("Timestamp", 1, 1), "TSecr", BOTH),
    "a scale too large": (exchange_with_options, syn, value("WScale", 0, 15), "WScale", BOTH),
    "a block of nothing": (exchange_with_options, blocked, value("SAck", 1, 1), "SACK", BOTH),
    "a block unasked": (exchange, plain, options(("SAck", (1, 2))), "SACK", BOTH),
    "sum of ICMP": (strange, either, octet((22, 42), 0x01), "ICMP sum", BOTH),
    "what is quoted": (strange, either, lambda packet: quoting_another(packet), "quotes", BOTH),
}


def quoting_another(packet):
    octets = bytearray(bytes(packet))
    octets[28 + 4 if IP in packet else 48 + 1] ^= 1
    made = dissected(bytes(octets))
    if IP in made:
        del made[ICMP].chksum
    else:
        del made[ICMPv6ParamProblem].cksum
    return bytes(made)


SETTINGS = {"sack": True, "timestamps": True, "window_scale": True}


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("scene", sorted({case[0] for case in CASES.values()},
                                         key=lambda scene: scene.__name__))
def test_what_is_right_passes(scene, version):
    scene(conversation(version, Bent.bend, **SETTINGS))


@pytest.mark.parametrize("name,version", [(name, version) for name, case in CASES.items()
                                          for version in case[4]])
def test_what_is_bent_is_seen(name, version):
    scene, where, change, row, _ = CASES[name]
    with pytest.raises(Mismatch) as seen:
        scene(conversation(version, bender(change, where), **SETTINGS))
    assert row in {each[0] for each in seen.value.rows if each[3]}, str(seen.value)
