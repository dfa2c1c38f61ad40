# What several of these tests write alike: raw options, checksums, sums of what has left.
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6


def with_options(tcp, flags, raw, text=b"", **fields):
    """A segment whose octets of options are `raw`, however wrong, padded by EOL to a word."""
    raw = raw + b"\0" * (-len(raw) % 4)
    return tcp.segment(flags, payload=raw + text, dataofs=5 + len(raw) // 4, **fields)


def checksums_of(packet):
    """(as it left, as it has to be) of the TCP checksum."""
    again = packet.copy()
    del again[TCP].chksum
    layer = IP if IP in again else IPv6
    return packet[TCP].chksum, layer(bytes(again))[TCP].chksum


def about(tcp, expected, actual, live):
    """Equal in virtual time; on a live target no further apart than `live`."""
    return abs(actual - expected) <= (0 if tcp.target.exact else live)


def lengths(packets):
    """The octets of text of each packet."""
    return [len(bytes(packet[TCP].payload)) for packet in packets]


def default_mss(tcp):
    """What a peer takes that has not said: RFC 9293 3.7.1."""
    return 536 if tcp.target.ip_version == 4 else 1220


def link_mss(tcp):
    """What a link of 1,500 octets leaves."""
    return 1460 if tcp.target.ip_version == 4 else 1440
