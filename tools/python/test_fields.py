"""lockstep.fields: packets to numpy arrays and back."""

import pytest

pytest.importorskip("nanobind")
import lockstep  # noqa: E402
from lockstep import fields  # noqa: E402
from scapy.all import IP, IPv6, TCP, ICMP, Raw  # noqa: E402


def test_each_field_is_read():
    options = [("MSS", 1460), ("SAckOK", b""), ("Timestamp", (7, 8)), ("WScale", 3)]
    syn = IP(src="10.0.0.2", dst="10.0.0.1", ttl=9, tos=4) / TCP(
        sport=5, dport=6, seq=2**32 - 1, ack=4, flags="SEC", window=77, options=options)
    sack = IPv6(src="fd00::2", dst="fd00::1") / TCP(
        flags="AU", urgptr=3, options=[("SAck", (10, 20, 30, 40))]) / Raw(b"abc")
    one, two = fields.fields_of([lockstep.Sent(12, bytes(syn)), sack])
    assert [one[name].item() for name in (
        "at", "version", "protocol", "ttl", "tos", "sport", "dport", "seq", "ack", "flags",
        "window", "mss", "window_scale",
        "sack_permitted", "ts_val", "ts_ecr", "ts_present", "payload",
        "checksum_good")] == [12, 4, 6, 9, 4, 5, 6, 2**32 - 1, 4, 0xc2, 77, 1460, 3, True, 7, 8,
                              True, 0, True]
    assert bytes(one["source"]) == bytes(10) + b"\xff\xff\x0a\x00\x00\x02"
    assert [two[name].item() for name in (
        "version", "urgent", "sack_count", "payload", "length", "window_scale", "mss")] == [
            6, 3, 2, 3, 40 + 40 + 3, -1, 0]
    assert two["sack"].tolist() == [[10, 20], [30, 40], [0, 0], [0, 0]]


def test_what_is_no_segment_has_no_fields_of_one():
    cut = bytes(IP() / TCP())[:30]
    spoilt = bytearray(bytes(IP() / TCP() / Raw(b"text")))
    spoilt[-1] ^= 1
    none, ping, bad = fields.fields_of([cut, IP(src="10.0.0.2") / ICMP(), spoilt])
    assert (none["version"], ping["version"], ping["protocol"], ping["sport"]) == (0, 4, 1, 0)
    assert (bad["payload"], bad["checksum_good"]) == (4, False)


def test_an_array_goes_in_and_what_comes_out_is_one():
    stack = lockstep.Stack(addresses=["10.0.0.1"])
    stack.listen(80)
    asked = fields.fields_of([IP(src="10.0.0.2", dst="10.0.0.1") / TCP(dport=80, flags="S")] * 5)
    asked["sport"] = range(1000, 1005)
    stack.receive(fields.packets_of(asked))
    answers = fields.fields_of(stack.transmit())
    assert answers["dport"].tolist() == list(range(1000, 1005))
    assert answers["flags"].tolist() == [0x12] * 5 and answers["checksum_good"].all()


def test_there_and_back_is_the_same():
    stack = lockstep.Stack("linux", addresses=["10.0.0.1", "fd00::1"])
    stack.connect(("10.0.0.2", 80))
    stack.connect(("fd00::2", 80))
    first = fields.fields_of(stack.advance("9s"))
    assert len(first) >= 6
    again = fields.fields_of(fields.packets_of(first))
    again["at"] = first["at"]
    assert (again == first).all()


def changed(name, value):
    array = fields.fields_of([IP(src="10.0.0.2") / TCP()])
    array[name] = value
    return array


@pytest.mark.parametrize("call,words", [
    (lambda: fields.fields_of([5]), "a packet is int"),
    (lambda: fields.fields_of([(-1, b"")]), "a time is -1"),
    (lambda: fields.packets_of([1]), "no array of lockstep.fields.DTYPE"),
    (lambda: fields.packets_of(changed("version", 5)), "version is 5"),
    (lambda: fields.packets_of(changed("version", 6)), "addresses are of another version"),
    (lambda: fields.packets_of(changed("protocol", 17)), "protocol is 17"),
    (lambda: fields.packets_of(changed("flags", 512)), "flags is 512, expected 0 to 511"),
    (lambda: fields.packets_of(changed("window_scale", 15)), "window_scale is out of range"),
    (lambda: fields.packets_of(changed("sack_count", 5)), "sack_count is too large"),
    (lambda: fields.packets_of(changed("payload", 2**31)), "payload is 2147483648"),
    (lambda: fields.packets_of(changed("payload", 65535)),
     "65535 bytes of payload, expected fewer"),
    (lambda: fields.packets_of(changed("ttl", 1), []), "there are 0 payloads, expected 1"),
])
def test_bad_input_is_one_line(call, words):
    with pytest.raises(lockstep.BadInput) as wrong:
        call()
    assert words in str(wrong.value) and "\n" not in str(wrong.value)
