# Another host has the server's address, before or after the server begins (RFC 5227).
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import socket
import subprocess

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))

OTHER = bytes.fromhex("020000000099")


def arp(operation, sender, target):
    """An ARP packet of another host on the wire, broadcast."""
    head = bytes.fromhex("0806" "0001" "0800" "0604") + operation.to_bytes(2, "big")
    return (b"\xff" * 6 + OTHER + head + OTHER + socket.inet_aton(sender) + bytes(6)
            + socket.inet_aton(target))


def wire_of_peer():
    """The other end of the pair, for ARP."""
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
    wire.bind((ns.PEER, 0x0806))
    wire.settimeout(30)
    return wire


def test_the_address_is_taken():
    with ns.fresh_namespace():
        ns.make_pair()
        with wire_of_peer() as wire, subprocess.Popen(
                [str(ns.PROGRAM), "serve", "http", "--iface", ns.NAME, "--driver", "packet",
                 "--address", f"{ns.OURS}/24"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            probe = wire.recv(2048)
            assert probe[28:32] == bytes(4), "its first packet is no probe"
            wire.send(arp(2, ns.OURS, "0.0.0.0"))
            out, errors = server.communicate(timeout=60)
    assert server.returncode == 3, errors
    assert f"--address {ns.OURS}: the host 02:00:00:00:00:99 has this address already" in errors
    assert "serving" not in out


def test_another_host_takes_it_later(tmp_path):
    with ns.fresh_namespace():
        ns.make_pair()
        with ns.Server(tmp_path, kind="packet") as server:
            with wire_of_peer() as wire:
                wire.send(arp(1, ns.OURS, ns.OURS))
                # It defends its address, by one announcement.
                while True:
                    frame = wire.recv(2048)
                    if frame[6:12] != OTHER and frame[28:32] == socket.inet_aton(ns.OURS):
                        break
            with ns.connect() as sock:
                sock.sendall(ns.get("/bytes/1000", "Connection: close"))
                assert b"".join(iter(lambda: sock.recv(4096), b"")).endswith(ns.generated(1000))
            code, _, errors = server.end()
    assert code == 0, errors
    assert f"{ns.OURS}: the host 02:00:00:00:00:99 uses this address, too" in errors
