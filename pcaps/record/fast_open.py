# Recordings of Fast Open (RFC 7413): cookies requested, used and refused, on either side.
"""Each function records one scenario with a Linux kernel as the device.

The earlier exchange in which the hosts obtain a cookie is not in the capture.
"""
import socket

from plain import recorded
from recording import PEER_PORT, PORT, Application, Script, mss_option, text

SERVER = {"sysctls": {"tcp_fastopen": 3}, "features": "Fast Open on"}
CLIENT = {"sysctls": {"tcp_fastopen": 1}, "features": "Fast Open on"}


def cookie_option(cookie=b""):
    """The option with a cookie, or the request for one; padded to whole words."""
    return bytes([34, 2 + len(cookie)]) + cookie + b"\x01" * (-(2 + len(cookie)) % 4)


def allow(r):
    """Let the device's listener accept data on SYNs."""
    r.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)


def ask(r, port=PEER_PORT + 1):
    """Obtain a cookie of the device by an attempt that is not captured."""
    peer = Script(r, PORT, port=port)
    peer.send("S", options=mss_option() + cookie_option())
    cookie = peer.expect("SA").option(34)
    peer.send("R")
    r.pause()
    r.forget()
    return cookie


@recorded("rfc7413-4.1.2-linux-cookie-asked", "A client asks for a cookie and Linux gives one",
          ["7413:TFO-3", "7413:TFO-4", "9293:P-3WHS"], "passive", "server", kernel_peer=False,
          config={"fast_open_server": True}, **SERVER)
def record_cookie_asked(r):
    r.listen()
    allow(r)
    peer = Script(r, PORT)
    peer.send("S", options=mss_option() + cookie_option())
    peer.expect("SA")
    peer.send("A")
    device = r.accept()
    peer.send("PA", text(300, 7))
    peer.expect("A", 0)
    device.read(300)
    r.end()
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA"), field="ack", add=1)
    r.twin("9293:P-TEXT-ACK", packet=r.flags("A"), drop=True)


@recorded("rfc7413-4.2.2-linux-text-on-syn",
          "A SYN brings a good cookie and text: Linux takes both and answers at once",
          ["7413:TFO-13", "7413:TFO-15", "7413:TFO-16"], "passive", "server", kernel_peer=False,
          config={"fast_open_server": True}, **SERVER)
def record_text_on_syn(r):
    r.listen()
    allow(r)
    cookie = ask(r)
    peer = Script(r, PORT)
    peer.send("S", text(500, 7), options=mss_option() + cookie_option(cookie))
    peer.expect("SA")
    device = r.accept()
    device.read(500)
    device.write(1000)
    peer.expect("A", 1000)
    peer.send("A")
    r.pause()
    peer.send("FA")
    peer.expect("A", 0)
    device.read(1)
    r.pause()
    device.close()
    peer.expect("FA")
    peer.send("A")
    r.end()
    r.twin("7413:TFO-13", packet=r.flags("SA"), field="ack", add=-500)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload), field="seq", add=1)


@recorded("rfc7413-4.2.2-linux-bad-cookie",
          "A SYN brings text and a cookie that is none: Linux takes the SYN alone",
          ["7413:TFO-14", "9293:P-TEXT-ACK"], "passive", "server", kernel_peer=False,
          config={"fast_open_server": True}, **SERVER)
def record_bad_cookie(r):
    r.listen()
    allow(r)
    peer = Script(r, PORT)
    peer.send("S", text(500, 7), options=mss_option() + cookie_option(b"\x55" * 8))
    peer.expect("SA")
    peer.next = (peer.isn + 1) % 2**32
    peer.send("A")
    device = r.accept()
    r.pause(0.05)
    peer.send("PA", text(500, 7))
    peer.expect("A", 0)
    device.read(500)
    device.write(1000)
    peer.expect("A", 1000)
    peer.send("A")
    r.end()
    r.twin("7413:TFO-14", packet=r.flags("SA"), field="ack", add=500)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload), field="seq", add=1)


@recorded("rfc7413-4.2-linux-cookie-not-given",
          "A client asks for a cookie and the listener has not asked for Fast Open: none",
          ["7413:TFO-2", "9293:P-3WHS"], "passive", "server", kernel_peer=False, **SERVER)
def record_cookie_not_given(r):
    r.listen()
    peer = Script(r, PORT)
    peer.send("S", options=mss_option() + cookie_option())
    peer.expect("SA")
    peer.send("A")
    device = r.accept()
    peer.send("PA", text(300, 7))
    peer.expect("A", 0)
    device.read(300)
    r.end()
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA"), field="ack", add=1)
    r.twin("9293:P-TEXT-ACK", packet=r.flags("A"), drop=True)


def connect(r, size):
    """The device connects and writes at once; the SYN carries as much of it as possible."""
    r.wire.as_device()
    sock = r.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((r.near, PEER_PORT))
    sock.setblocking(False)
    r.port = PEER_PORT
    r.call("open")
    r.call("write", size)
    device = Application(r, sock)
    sock.setblocking(False)
    try:
        sock.sendto(text(size), socket.MSG_FASTOPEN, (r.far, PORT))
    except BlockingIOError:
        pass  # without a cookie the application keeps the data for later
    sock.settimeout(10)
    return device


def learn(r):
    """Let the device obtain the peer's cookie on a connection that is not captured."""
    r.wire.as_device()
    peer = Script(r, PEER_PORT + 1, port=PORT)
    sock = r.socket()
    sock.bind((r.near, PEER_PORT + 1))
    sock.setblocking(False)
    try:
        sock.sendto(b"x", socket.MSG_FASTOPEN, (r.far, PORT))
    except BlockingIOError:
        pass
    peer.expect("S")
    peer.send("SA", options=mss_option() + cookie_option(b"\x11" * 8))
    peer.expect("A")
    peer.send("R")
    sock.close()
    r.pause()
    r.forget()


@recorded("rfc7413-4.2.2-linux-client-shows-cookie",
          "Linux as client has a cookie: its SYN brings text, and the server takes it",
          ["7413:TFO-5", "7413:TFO-6", "7413:TFO-11"], "active", "client", kernel_peer=False,
          config={"fast_open_client": True}, **CLIENT)
def record_client_shows(r):
    learn(r)
    peer = Script(r, PEER_PORT, port=PORT)
    device = connect(r, 500)
    peer.expect("S", 500)
    peer.send("SA", options=mss_option())
    peer.expect("A", 0)
    peer.send("PA", text(300, 7))
    peer.expect("A", 0)
    device.read(300)
    r.end()
    r.twin("9293:P-SYNSENT-EST", packet=r.flags("A"), field="ack", add=1)
    r.twin("9293:P-TEXT-ACK", packet=r.flags("A", 2), drop=True)


@recorded("rfc7413-4.2.2-linux-client-not-heard",
          "The server takes the SYN alone: Linux sends its text again with the first ACK",
          ["7413:TFO-11", "7413:TFO-18", "9293:P-SYNSENT-EST"], "active", "client",
          kernel_peer=False, config={"fast_open_client": True}, **CLIENT)
def record_client_not_heard(r):
    learn(r)
    peer = Script(r, PEER_PORT, port=PORT)
    device = connect(r, 500)
    peer.expect("S", 500)
    peer.send("SA", options=mss_option(), ack=-500)
    peer.expect("A", 500)
    peer.send("A")
    r.pause()
    peer.send("PA", text(300, 7))
    peer.expect("A", 0)
    device.read(300)
    r.end()
    r.twin("9293:P-RTO", packet=r.nth(lambda s: s.payload, 2), drop=True)
    r.twin("9293:P-TEXT-ACK", packet=r.flags("A", -1), drop=True)
