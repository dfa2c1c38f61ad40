# ICMP and ICMPv6: which errors end an attempt, which only inform, and which messages are answered.
import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoRequest,
    ICMPv6PacketTooBig,
    ICMPv6ParamProblem,
    ICMPv6TimeExceeded,
    IPv6,
)


def quoted(tcp):
    """The last packet sent."""
    out = [entry.packet for entry in tcp.record if entry.packet and not entry.inward]
    return out[-1]


def error(tcp, kind, code, about=None, octets=None, **fields):
    """An error about a packet of the target: IPv4's type and code, or IPv6's."""
    about = quoted(tcp) if about is None else about
    if tcp.target.ip_version == 4:
        head = IP(src=tcp.target.remote, dst=tcp.target.local)
        return head / ICMP(type=kind, code=code, **fields) / about[: octets or 28]
    layers = {1: ICMPv6DestUnreach, 2: ICMPv6PacketTooBig, 3: ICMPv6TimeExceeded,
              4: ICMPv6ParamProblem}
    head = IPv6(src=tcp.target.remote, dst=tcp.target.local)
    return head / layers[kind](code=code, **fields) / about[: octets or 1000]


SOFT = {4: [(3, 0), (3, 1), (3, 5), (11, 0), (11, 1), (12, 0)],
        6: [(1, 0), (1, 3), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2)]}
HARD = {4: [(3, 2), (3, 3)], 6: [(1, 1), (1, 4)]}


#= rfc9293#3.9.2.2
## 9293:MUST-56 soft errors end no attempt
## 9293:MUST-54 although they are matched to it by what they quote
## 9293:SHLD-25 and the program is notified
#= rfc1122#3.2.2.1
## 1122:H-30 an unreachable error is only a hint
@pytest.mark.parametrize("state", ["syn_sent", "established"])
@pytest.mark.parametrize("which", range(7))
def test_soft_errors(tcp, state, which):
    kinds = SOFT[tcp.target.ip_version]
    kind, code = kinds[which % len(kinds)]
    getattr(tcp, state)()
    if state == "established":
        tcp.write(b"text").expect("PA")
    before = tcp.state
    tcp.inject(error(tcp, kind, code)).expect_silence("900ms").expect_state(before)
    events = tcp.target.events(tcp.connection)
    tcp.check("events", True, events is None or any(w.startswith("soft_error:") for w in events))
    tcp.ignore_rest()


#= rfc9293#3.9.2.2
## 9293:SHLD-26 hard errors end an attempt
#= rfc9293#3.8.3
## 9293:P-SYN-FAIL so connecting can fail
#= rfc1122#3.2.2.1
## 1122:H-29 port unreachable among them
@pytest.mark.parametrize("which", [0, 1])
def test_hard_error_in_syn_sent(tcp, which):
    tcp.syn_sent()
    tcp.inject(error(tcp, *HARD[tcp.target.ip_version][which])).expect_state("CLOSED")
    # A closed port refuses the connection, as a reset does.
    nothing = "protocol_unreachable" if tcp.target.ip_version == 4 else "prohibited"
    tcp.expect_silence("10m").expect_event(f"closed:{[nothing, 'refused'][which]}")


#= rfc5927#5.2
## 5927:ICMP-3 in a synchronized state they are soft errors
@pytest.mark.parametrize("which", [0, 1])
def test_hard_error_in_established(tcp, which):
    tcp.established().write(b"text").expect("PA")
    tcp.inject(error(tcp, *HARD[tcp.target.ip_version][which])).expect_silence("900ms")
    tcp.expect_state("ESTABLISHED").send("A").expect_silence("10m")


#= rfc5927#4.1
## 5927:ICMP-1 an error that quotes data not in flight is ignored
@pytest.mark.parametrize("shift", [-1, 1, 1 << 20, -(1 << 20)])
def test_error_about_something_else(tcp, shift):
    tcp.syn_sent()
    about = bytearray(quoted(tcp))
    at = (20 if tcp.target.ip_version == 4 else 40) + 4
    number = (int.from_bytes(about[at : at + 4], "big") + shift) % (1 << 32)
    about[at : at + 4] = number.to_bytes(4, "big")
    tcp.inject(error(tcp, *HARD[tcp.target.ip_version][1], about=bytes(about)))
    tcp.expect_silence("900ms").expect_state("SYN-SENT")


#= rfc9293#3.9.2.2
## 9293:MUST-54 so is one about another connection
@pytest.mark.parametrize("octet", [0, 1, 2, 3])
def test_error_about_another_connection(tcp, octet):
    tcp.syn_sent()
    about = bytearray(quoted(tcp))
    about[(20 if tcp.target.ip_version == 4 else 40) + octet] ^= 1
    tcp.inject(error(tcp, *HARD[tcp.target.ip_version][1], about=bytes(about)))
    tcp.expect_silence("900ms").expect_state("SYN-SENT")


#= rfc1122#3.2.2
## 1122:H-26 a truncated message, or one of unknown type, is silently discarded
@pytest.mark.parametrize("octets", [1, 8, 20, 27])
def test_error_cut_off(tcp, octets):
    tcp.syn_sent()
    kind = HARD[tcp.target.ip_version][1]
    tcp.inject(error(tcp, *kind, octets=octets)).expect_silence("900ms").expect_state("SYN-SENT")


#= rfc1122#3.2.2
## 1122:H-26 unknown types
#= rfc4443#2.4
## 4443:ICMP6-4 also informational messages
def test_unknown_type(tcp):
    tcp.syn_sent()
    if tcp.target.ip_version == 4:
        packet = IP(src=tcp.target.remote, dst=tcp.target.local) / ICMP(type=44) / quoted(tcp)
    else:
        packet = IPv6(src=tcp.target.remote, dst=tcp.target.local) / ICMPv6EchoRequest(type=200)
    tcp.inject(packet).expect_silence("900ms").expect_state("SYN-SENT")


#= rfc9293#3.9.2.2
## 9293:MUST-55 source quench is discarded
@pytest.mark.ip(4)
@pytest.mark.parametrize("state", ["syn_sent", "established"])
def test_source_quench(tcp, state):
    getattr(tcp, state)()
    if state == "established":
        tcp.write(b"text").expect("PA")
    before, cwnd = tcp.state, tcp.info["cwnd"]
    tcp.inject(error(tcp, 4, 0)).expect_silence("900ms").expect_state(before)
    tcp.check("cwnd", cwnd, tcp.info["cwnd"])
    tcp.check("events", False, any("error" in w for w in tcp.target.events(tcp.connection) or ()))
    tcp.ignore_rest()


#= rfc792#Dest-Unreachable
## 792:ICMP4-5 an error with a wrong checksum is ignored
#= rfc4443#2.3
## 4443:ICMP6-1
def test_error_with_a_wrong_checksum(tcp):
    tcp.syn_sent()
    packet = bytearray(bytes(error(tcp, *HARD[tcp.target.ip_version][1])))
    packet[-1] ^= 0x55
    tcp.inject(bytes(packet)).expect_silence("900ms").expect_state("SYN-SENT")


#= rfc9293#3.7.2
## 9293:P-PMTUD packet too big: smaller segments follow at once
#= rfc1122#3.3.3
## 1122:H-13 so that nothing is fragmented
@pytest.mark.stack(path_mtu_discovery=True)
@pytest.mark.parametrize("mtu", [1400, 1300, 1280])
def test_packet_too_big(tcp, mtu):
    tcp.established(options=[("MSS", 1460)]).write(1400)
    about = tcp.expect(seq=1)
    too_big = (3, 4, {"nexthopmtu": mtu}) if tcp.target.ip_version == 4 else (2, 0, {"mtu": mtu})
    kind, code, fields = too_big
    tcp.inject(error(tcp, kind, code, about=bytes(about), **fields))
    if len(bytes(about)) > mtu:
        again = tcp.expect(seq=1)
        tcp.check("octets", True, len(bytes(again)) <= mtu)
    tcp.expect_state("ESTABLISHED").ignore_rest()


#= rfc9293#3.9.2.2
## 9293:SHLD-26 without path MTU discovery it changes nothing and ends nothing
def test_packet_too_big_unheeded(tcp):
    tcp.established(options=[("MSS", 1460)]).write(1000)
    about = tcp.expect("PA", seq=1, length=1000)
    too_big = (3, 4, {"nexthopmtu": 600}) if tcp.target.ip_version == 4 else (2, 0, {"mtu": 600})
    kind, code, fields = too_big
    tcp.inject(error(tcp, kind, code, about=bytes(about), **fields)).expect_silence("900ms")
    tcp.expect_state("ESTABLISHED").ignore_rest()


#= rfc792#Echo
## 792:ICMP4-1 an echo request is answered with its identifier, sequence number and data
#= rfc1122#3.2.2.6
## 1122:H-33 from its destination address
#= rfc4443#4.2
## 4443:ICMP6-14, 4443:ICMP6-15
@pytest.mark.parametrize("length", [0, 1, 56, 999])
def test_echo(tcp, length):
    data = bytes(i % 251 for i in range(length))
    if tcp.target.ip_version == 4:
        ask = IP(src=tcp.target.remote, dst=tcp.target.local) / ICMP(type=8, id=7, seq=9) / data
    else:
        ask = IPv6(src=tcp.target.remote, dst=tcp.target.local)
        ask = ask / ICMPv6EchoRequest(id=7, seq=9, data=data)
    answer = tcp.inject(ask).expect_icmp()
    tcp.check("source", tcp.target.local, answer.src)
    tcp.check("type", 0 if tcp.target.ip_version == 4 else 129, answer.getlayer(1).type)
    tcp.check("number", (7, 9), (answer.getlayer(1).id, answer.getlayer(1).seq))
    tcp.check("data", data, bytes(answer)[-length:] if length else b"")


#= rfc1122#3.2.2
## 1122:H-7 an ICMP error draws no error
#= rfc4443#2.4
## 4443:ICMP6-6
def test_no_error_about_an_error(tcp):
    four = tcp.target.ip_version == 4
    kind, code = (3, 13) if four else (1, 1)
    about = bytes(tcp.segment("A"))
    tcp.inject(error(tcp, kind, code, about=about)).expect_silence("3s")
