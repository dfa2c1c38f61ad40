# Recordings of SYN cookies, keep-alives and path MTUs: Linux under adverse conditions.
"""Each function records one scenario with a Linux kernel as the device."""
import socket

from plain import recorded
from recording import PORT, Script, mss_option, read, text
from wire import TooBig

COOKIES = {"tcp_syncookies": 2}  # always, not only when the backlog is full


@recorded("rfc4987-3.6-linux-cookie", "A handshake by SYN cookie, of which Linux keeps no record",
          ["4987:SYN-5", "9293:P-LISTEN-SYN", "9293:P-3WHS"], "passive", "server",
          kernel_peer=False, sysctls=COOKIES, features="SYN cookies always",
          config={"syn_cookies": "always"})
def record_cookie(r):
    device, peer = r.script()
    peer.send("PA", text(300, 7))
    peer.expect("A", 0)
    device.read(300)
    device.write(2000)
    peer.expect("A", 1460)
    peer.expect("A", 540)
    peer.send("A")
    r.pause()
    peer.send("FA")
    peer.expect("A", 0)
    r.pause()
    device.close()
    peer.expect("FA")
    peer.send("A")
    r.end()
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA"), field="ack", add=1)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload), field="seq", add=1)


@recorded("rfc4987-3.6-linux-cookie-forged",
          "An ACK that no cookie stands behind is reset, and the true one opens",
          ["4987:SYN-5", "9293:P-LISTEN-ACK", "9293:P-LISTEN-SYN"], "passive", "server",
          kernel_peer=False, sysctls=COOKIES, features="SYN cookies always",
          config={"syn_cookies": "always"})
def record_cookie_forged(r):
    r.listen()
    peer = Script(r, PORT)
    peer.send("S", options=mss_option())
    peer.expect("SA")
    right = peer.ack
    r.pause(0.02)
    peer.ack = (right + 2**31) % 2**32
    peer.send("A")
    peer.expect("R")
    r.pause(0.02)
    peer.ack = right
    peer.send("A")
    device = r.accept()
    peer.send("PA", text(100, 7))
    peer.expect("A", 0)
    device.read(100)
    r.end()
    r.twin("9293:P-LISTEN-ACK", packet=r.flags("R"), drop=True)
    r.twin("9293:P-LISTEN-ACK", packet=r.flags("R"), field="seq", add=1)
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA"), field="ack", add=1)


@recorded("rfc4987-3.6-linux-silent-until-asked",
          "Nobody answers the SYN,ACK of a cookie: Linux does not send it again",
          ["4987:SYN-5", "9293:P-LISTEN-SYN"], "passive", "server", kernel_peer=False,
          sysctls=COOKIES, features="SYN cookies always", config={"syn_cookies": "always"})
def record_cookie_silent(r):
    r.listen()
    peer = Script(r, PORT)
    for _ in range(2):
        peer.send("S", options=mss_option(), seq=0)
        peer.expect("SA")
        r.pause(2.5)
    r.end()
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA"), field="ack", add=1)
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA", 2), field="ack", add=1)


def keepalive(device, probes):
    """The application asks for keep-alive probes after a second, one each second."""
    for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1),
                          (socket.TCP_KEEPCNT, probes)):
        device.sock.setsockopt(socket.IPPROTO_TCP, option, value)
    device.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


PROBES = {"keepalive": True, "keepalive_idle": "1s", "keepalive_interval": "1s",
          "keepalive_probes": 3}


@recorded("rfc9293-3.8.4-linux-keepalive",
          "Linux asks a silent peer whether it is there, and it is",
          ["9293:P-KA-PROBE", "9293:MUST-24", "9293:MUST-25", "9293:MUST-26"], "passive", "server",
          kernel_peer=False, config=PROBES)
def record_keepalive(r):
    device, peer = r.script()
    keepalive(device, 3)
    peer.send("PA", text(100, 7))
    peer.expect("A", 0)
    device.read(100)
    data = peer.ack
    for _ in range(3):
        peer.expect("A", 0)
        peer.ack = data
        peer.send("A")
    r.pause(0.3)
    r.end()
    r.twin("9293:P-KA-PROBE", packet=r.flags("A", 2), drop=True)
    r.twin("9293:P-KA-PROBE", packet=r.flags("A", 3), field="seq", add=-50)


@recorded("rfc9293-3.8.4-linux-keepalive-unanswered",
          "Nobody answers three probes: Linux gives the connection up",
          ["9293:P-KA-PROBE", "9293:MUST-29", "9293:MUST-26"], "passive", "server",
          kernel_peer=False, config=PROBES)
def record_keepalive_unanswered(r):
    device, peer = r.script()
    keepalive(device, 3)
    peer.send("PA", text(100, 7))
    peer.expect("A", 0)
    device.read(100)
    for _ in range(3):
        peer.expect("A", 0)
    peer.expect("RA")
    r.end()
    r.twin("9293:P-KA-PROBE", packet=r.flags("A", 3), drop=True)
    r.twin("9293:P-KA-PROBE", packet=r.flags("A", 2), field="seq", add=-50)


@recorded("rfc9293-3.8.4-linux-keepalive-off",
          "Without keep-alives Linux says nothing to a silent peer",
          ["9293:MUST-24", "9293:MUST-25", "9293:P-TEXT-ACK"], "passive", "server",
          kernel_peer=False)
def record_keepalive_off(r):
    device, peer = r.script()
    peer.send("PA", text(100, 7))
    peer.expect("A", 0)
    device.read(100)
    r.pause(3.5)
    peer.send("PA", text(100, 9))
    peer.expect("A", 0)
    device.read(100)
    r.end()
    r.twin("9293:P-TEXT-ACK", packet=r.flags("A", 2), drop=True)
    r.twin("9293:P-TEXT-ACK", packet=r.flags("A", 1), field="ack", add=-1)


def narrow(octets, tells):
    """A fault: packets of the device above this size are dropped; with `tells` a router says so."""
    def fault(side, segment):
        header = 60 if ":" in segment.source[0] else 40
        large = side == 1 and len(segment.payload) + len(segment.options) + header > octets
        return None if not large else TooBig(octets) if tells else "drop"
    return fault


@recorded("rfc1191-3-linux-datagram-too-big",
          "A router says that packets are too big: Linux sends smaller ones",
          ["1191:PMTU-1", "1191:PMTU-5", "1191:PMTU-10", "9293:P-SEND-EST"], "passive", "server",
          fault=narrow(1200, True), config={"path_mtu_discovery": True})
def record_too_big(r):
    device, peer = r.connected(receive_buffer=60000)
    device.write(12 * 1460)
    read(peer, 12 * 1460)
    r.pause()
    device.write(4 * 1460)
    read(peer, 4 * 1460)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.larger(r.nth(lambda s: len(s.payload) == 1160, 2), "1191:PMTU-1", 1460)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, -3), field="seq", add=100)


@recorded("rfc4821-7.7-linux-black-hole",
          "Large packets vanish and nobody says so: Linux falls back to small ones",
          ["9293:P-RTO", "6298:RTO-14"], "passive", "server", fault=narrow(1200, False),
          sysctls={"tcp_mtu_probing": 1}, features="MTU probing after a black hole",
          config={"path_mtu_discovery": True, "path_mtu_probing": True})
def record_black_hole(r):
    device, peer = r.connected(receive_buffer=60000)
    device.write(4 * 1460)
    peer.settimeout(20)
    read(peer, 4 * 1460)
    r.pause()
    device.write(2 * 1460)
    read(peer, 2 * 1460)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.twin("9293:P-RTO", packet=r.retransmission(2), drop=True)
    r.twin("6298:RTO-9", packet=r.retransmission(), delay="-150ms")
