# TCP options of RFC 9293: sent options, received options, and malformed ones.
import pytest
from packet_kit import default_mss, link_mss, with_options
from scapy.layers.inet import TCP

from lockstep.testing import Absolute

#: Malformed options, by what is wrong with them.
MALFORMED = {
    "length-0": b"\x02\x00\x05\xb4",
    "length-1": b"\x02\x01\x05\xb4",
    "unknown-length-0": b"\xfd\x00\x00\x00",
    "unknown-length-1": b"\xfd\x01\x00\x00",
    "mss-length-2": b"\x02\x02\x01\x01",
    "mss-length-3": b"\x02\x03\x05\x01",
    "mss-length-5": b"\x02\x05\x05\xb4\x00\x01\x01\x01",
    "mss-beyond-the-end": b"\x01\x01\x02\x04",
    "unknown-beyond-the-end": b"\xfd\x28\x00\x00",
    "length-255": b"\xfd\xff\x00\x00",
    "kind-at-the-end": b"\x01\x01\x01\x02",
    "unknown-kind-at-the-end": b"\x01\x01\x01\xfd",
    "scale-length-2": b"\x03\x02\x01\x01",
    "scale-length-4": b"\x03\x04\x07\x07",
    "sack-permitted-length-3": b"\x04\x03\x00\x01",
    "sack-length-3": b"\x05\x03\x00\x01",
    "sack-length-9": b"\x05\x09" + b"\0" * 7 + b"\x01\x01\x01",
    "sack-length-11": b"\x05\x0b" + b"\0" * 9 + b"\x01",
    "timestamps-length-9": b"\x08\x09" + b"\0" * 7 + b"\x01\x01\x01",
    "timestamps-length-11": b"\x08\x0b" + b"\0" * 9 + b"\x01",
    "timestamps-length-2": b"\x08\x02\x01\x01",
    "fast-open-length-1": b"\x22\x01\x00\x00",
    "fast-open-length-3": b"\x22\x03\x00\x00",
    "user-timeout-length-3": b"\x1c\x03\x00\x00",
    "all-of-one-octet": b"\xff" * 40,
}


#= rfc9293#3.1
## 9293:MUST-7 an illegal length neither crashes nor hangs: the next peer is served
## 9293:MUST-68 each option but EOL and NOP has a length
@pytest.mark.parametrize("wrong", MALFORMED)
def test_malformed_on_syn(tcp, wrong):
    tcp.listen()
    tcp.inject(with_options(tcp, "S", MALFORMED[wrong]))
    said = [str(packet[TCP].flags) for packet in tcp.drain()]
    tcp.check("replies", True, said in ([], ["SA"], ["RA"], ["R"]))
    tcp.peer_port += 1
    tcp.peer_nxt = 0
    tcp.send("S").expect("SA", ack=1)
    tcp.ignore_rest()


#= rfc9293#3.1
## 9293:MUST-7 nor on an open connection, which continues
## 9293:MUST-5 an option may be in any segment
@pytest.mark.parametrize("wrong", MALFORMED)
def test_malformed_on_text(tcp, wrong):
    tcp.established()
    tcp.inject(with_options(tcp, "PA", MALFORMED[wrong], b"text", seq=1))
    tcp.advance("500ms")
    said = [str(packet[TCP].flags) for packet in tcp.drain()]
    tcp.check("replies", True, said in ([], ["A"]))
    tcp.expect_state("ESTABLISHED")
    # A sender without an answer retransmits it, well-formed.
    if not said:
        tcp.send("PA", seq=1, payload=b"text")
    else:
        tcp.send("PA", seq=1, payload=b"text").expect("A", ack=5)
    tcp.advance("500ms").drain()
    tcp.expect_read(b"text")


#= rfc9293#3.1
## 9293:MUST-6 an unknown option is skipped, and the others apply
#= rfc9293#3.2
## 9293:MUST-64 at any alignment
#= rfc9293#3.1
## 9293:MUST-4 including NOP
@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"\x01",
        b"\x01\x01",
        b"\x01\x01\x01",
        b"\xfd\x02",
        b"\xfd\x03\xaa",
        b"\xfd\x06\x01\x02\x03\x04",
        b"\xfe\x05abc\x01",
        b"\x1e\x0c0123456789",
        b"\x13\x12" + b"s" * 16,
    ],
    ids=lambda raw: raw.hex() or "none",
)
def test_mss_behind_others(tcp, before):
    tcp.listen()
    tcp.inject(with_options(tcp, "S", before + b"\x02\x04\x02\x58")).expect("SA", ack=1)
    tcp.send("A").accept()
    tcp.write(700).expect("A", seq=1, length=600)
    tcp.ignore_rest()


#= rfc9293#3.2
## 9293:P-EOL octets after end-of-list are padding
#= rfc9293#3.1
## 9293:MUST-4 end-of-list is understood
def test_end_of_list(tcp):
    tcp.listen()
    tcp.inject(with_options(tcp, "S", b"\x01\x00\x02\x04\x02\x58\x01\x01")).expect("SA", ack=1)
    tcp.send("A").accept()
    tcp.write(2000).expect("A", seq=1, length=default_mss(tcp))
    tcp.ignore_rest()


#= rfc9293#3.7.1
## 9293:MUST-14 the peer's MSS is obeyed
## 9293:MUST-16 no segment is larger
#= rfc9293#3.2
## 9293:P-MSS-FORMAT kind 2, length 4
@pytest.mark.parametrize("mss", [64, 100, 536, 1000, 1220])
@pytest.mark.parametrize("active", [False, True])
def test_mss_of_the_peer(tcp, mss, active):
    tcp.established(active=active, options=[("MSS", mss)])
    tcp.write(mss * 2).expect("A", seq=1, length=mss)
    tcp.expect("PA", seq=1 + mss, length=mss)
    tcp.ignore_rest()


#= rfc9293#3.7.1
## 9293:MUST-15 the default without the option: 536, or 1,220 for IPv6
@pytest.mark.parametrize("active", [False, True])
def test_no_mss(tcp, active):
    mss = default_mss(tcp)
    tcp.established(active=active)
    tcp.write(mss * 2).expect("A", seq=1, length=mss)
    tcp.expect("PA", seq=1 + mss, length=mss)
    tcp.ignore_rest()


#= rfc9293#3.7.1
## 9293:MUST-16 nor larger than our own link carries
#= rfc1122#3.3.3
## 1122:H-13 nothing is sent that would need fragmentation
@pytest.mark.stack(mtu=1280, mss=1240)
def test_mss_beyond_the_link(tcp):
    tcp.established(options=[("MSS", 65535)])
    room = 1240 if tcp.target.ip_version == 4 else 1220
    tcp.write(3000).expect("A", seq=1, length=room)
    tcp.ignore_rest()


#= rfc9293#3.7.1
## 9293:SHLD-5 each SYN that we send has an MSS
## 9293:MUST-14 with the size that we can receive
## 9293:MUST-67 which is the MTU less the headers
#= rfc8200#8.3
## 8200:V6-27 60 octets for IPv6
@pytest.mark.parametrize("active", [False, True])
def test_our_mss(tcp, active):
    if active:
        tcp.target.connect(tcp.port, tcp.peer_port)
        tcp.expect("S", options={"MSS": link_mss(tcp)})
    else:
        tcp.listen().send("S", options=[("MSS", 536)])
        tcp.expect("SA", options={"MSS": link_mss(tcp)})
    tcp.ignore_rest()


#= rfc9293#3.2
## 9293:MUST-65 MSS is only sent on SYNs
def test_mss_on_syn_only(tcp):
    tcp.established(options=[("MSS", 1000)])
    tcp.write(2000).expect("A", options={"MSS": None})
    tcp.expect("PA", options={"MSS": None})
    tcp.send("PA", ack=2001, payload=b"x").expect("A", within="499ms", options={"MSS": None})
    tcp.finish().expect("FA", options={"MSS": None})


#= rfc9293#3.2
## 9293:MUST-65 and ignored on later segments
def test_mss_on_text_is_nothing(tcp):
    tcp.established(options=[("MSS", 1000)])
    tcp.send("PA", payload=b"x", options=[("MSS", 100)]).expect("A", within="499ms", ack=2)
    tcp.write(1000).expect("PA", seq=1, length=1000)
    tcp.ignore_rest()


#= rfc9293#3.1
## 9293:MUST-7 a very small MSS does not stop the connection
@pytest.mark.parametrize("mss", [0, 1, 27])
def test_tiny_mss(tcp, mss):
    tcp.established(options=[("MSS", mss)])
    packet = tcp.write(100).expect("A", seq=1)
    tcp.check("text", True, 1 <= len(bytes(packet[TCP].payload)) <= 64)
    tcp.ignore_rest()


#= rfc9293#3.1
## 9293:MUST-69 the octets after end-of-list are zero
## 9293:P-OPT-FORMAT and options fill whole words
@pytest.mark.stack(profile="default")
def test_padding_of_our_options(tcp):
    tcp.listen()
    tcp.send("S", options=[("MSS", 1460), ("SAckOK", b""), ("Timestamp", (1, 0)), ("WScale", 7)])
    octets = bytes(tcp.expect("SA", ack=1)[TCP])
    header = octets[: (octets[12] >> 4) * 4]
    at = 20
    while at < len(header) and header[at] != 0:
        at += 1 if header[at] == 1 else header[at + 1]
    tcp.check("padding", b"\0" * (len(header) - at), header[at:])
    tcp.ignore_rest()


#= rfc2018#2
## 2018:SACK-20 no option is sent that the peer's SYN did not have
#= rfc7323#2.2
## 7323:TS-33 no window scale
#= rfc7323#3.2
## 7323:TS-39 no timestamps
@pytest.mark.stack(profile="default")
def test_answer_to_a_bare_syn(tcp):
    tcp.listen().send("S")
    tcp.expect("SA", ack=1, options={"SAckOK": None, "WScale": None, "Timestamp": None})
    tcp.ignore_rest()


#= rfc9293#3.5.2
## 9293:P-RST-WHEN a reset in answer to malformed options is valid
@pytest.mark.parametrize("wrong", ["length-0", "length-255", "all-of-one-octet"])
def test_malformed_in_closed(tcp, wrong):
    tcp.inject(with_options(tcp, "S", MALFORMED[wrong]))
    for packet in tcp.drain():
        tcp.check("flags", "RA", str(packet[TCP].flags))
        tcp.check("number", 0, packet[TCP].seq)
    tcp.peer_port += 1
    tcp.send("S", seq=0).expect("RA", seq=Absolute(0), ack=1)
