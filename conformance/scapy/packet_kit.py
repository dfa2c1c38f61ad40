# Helpers for several of these tests: raw options, checksums, sums over the packets sent.
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6


def with_options(tcp, flags, raw, text=b"", **fields):
    """A segment with the octets `raw` as its options, valid or not, padded by EOL to a word."""
    raw = raw + b"\0" * (-len(raw) % 4)
    return tcp.segment(flags, payload=raw + text, dataofs=5 + len(raw) // 4, **fields)


def checksums_of(packet):
    """(as sent, as computed) of the TCP checksum."""
    again = packet.copy()
    del again[TCP].chksum
    layer = IP if IP in again else IPv6
    return packet[TCP].chksum, layer(bytes(again))[TCP].chksum


def about(tcp, expected, actual, live):
    """Checks equality in virtual time; on a live target, a difference of at most `live`."""
    return abs(actual - expected) <= (0 if tcp.target.exact else live)


def lengths(packets):
    """The number of payload octets of each packet."""
    return [len(bytes(packet[TCP].payload)) for packet in packets]


def default_mss(tcp):
    """The default MSS that a peer without the option accepts: RFC 9293 3.7.1."""
    return 536 if tcp.target.ip_version == 4 else 1220


def link_mss(tcp):
    """The MSS that fits a link MTU of 1,500 octets."""
    return 1460 if tcp.target.ip_version == 4 else 1440
