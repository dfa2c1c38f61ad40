"""lockstep.scapy: bytes to packets of scapy and back."""

import pytest

pytest.importorskip("nanobind")
import lockstep  # noqa: E402
from lockstep import scapy as bridge  # noqa: E402
from scapy.all import ARP, Ether, IP, IPv6, TCP, UDP  # noqa: E402


def test_what_leaves_becomes_packets_with_their_times():
    stack = lockstep.Stack(addresses=["10.0.0.1", "fd00::1"])
    stack.connect(("10.0.0.2", 80))
    stack.connect(("fd00::2", 80))
    first, second, again, _ = bridge.packets(stack.advance("1s"))
    assert (first[IP].dst, first[TCP].flags, second[IPv6].dst) == ("10.0.0.2", "S", "fd00::2")
    assert (first.time, again.time) == (1000, 1001)
    assert bridge.wire(first) == bytes(first)


def test_a_packet_goes_in_as_it_is():
    stack = lockstep.Stack(addresses=["10.0.0.1"])
    stack.receive([IP(src="10.0.0.2", dst="10.0.0.1") / TCP(flags="S", dport=9)])
    (reset,) = bridge.packets(stack.transmit())
    assert reset[TCP].flags == "RA"


def test_ethernet():
    stack = lockstep.Stack(link="ethernet", addresses=["10.0.0.1/24"])
    stack.connect(("10.0.0.2", 80))
    (asked,) = bridge.packets(stack.transmit(), "ethernet")
    assert asked[Ether][ARP].pdst == "10.0.0.2"


@pytest.mark.parametrize("call,words", [
    (lambda: bridge.packet(b""), "version None, expected 4 or 6"),
    (lambda: bridge.packet(b"\x02" * 20), "version 0, expected 4 or 6: is it Ethernet?"),
    (lambda: bridge.packet(5), "a packet is int"),
    (lambda: bridge.packet(b"\x45", "token ring"), "expected ip or ethernet"),
    (lambda: bridge.wire(TCP()), "begins with TCP, expected IP, IPv6 or Ether"),
    (lambda: bridge.wire(b"bytes"), "expected a packet of scapy"),
    (lambda: lockstep.Stack().receive(IP(ttl=999)), "a packet cannot be made bytes"),
    (lambda: lockstep.Stack().receive(UDP()), "begins with UDP, expected IP or IPv6 on link ip"),
    (lambda: lockstep.Stack().receive([Ether() / IP()]), "begins with Ethernet, expected IP or"),
    (lambda: lockstep.Stack(link="ethernet").receive(IP()), "begins with IP, expected Ethernet"),
])
def test_bad_input_is_one_line(call, words):
    with pytest.raises(lockstep.BadInput) as wrong:
        call()
    assert words in str(wrong.value) and "\n" not in str(wrong.value)
