# Recordings of connections without loss: transfer, closing, resets, windows, timing.
"""Each function records one scenario with a Linux kernel as the device."""
import socket

from recording import Recording, mss_option, read, text


def recorded(slug, title, shows, role, what, **options):
    """Mark a function that records the scenario `slug`."""
    def wrap(body):
        def run(world):
            recording = Recording(world, slug, title, shows, role, what=what, **options)
            body(recording)
            return recording
        run.slug = slug
        return run
    return wrap


@recorded("rfc9293-3.5-linux-server", "Linux serves a request; the client closes first",
          ["9293:P-3WHS", "9293:P-LISTEN-SYN", "9293:P-SYNRCVD-EST", "9293:P-SEND-EST",
           "9293:P-FIN-EST", "9293:P-CLOSE-CLOSEWAIT", "9293:P-LASTACK-ACK"], "passive", "server")
def record_server(r):
    device, peer = r.connected()
    peer.sendall(text(100, 7))
    device.read(100)
    device.write(3000)
    read(peer, 3000)
    peer.shutdown(socket.SHUT_WR)
    device.read(1)
    r.pause()
    device.close()
    r.end()
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA"), field="ack", add=1)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload), field="seq", add=1)
    r.twin("9293:P-CLOSE-CLOSEWAIT", packet=r.flags("FA"), drop=True)


@recorded("rfc9293-3.6-linux-client-closes",
          "Linux as client asks, reads the answer and closes first",
          ["9293:P-3WHS", "9293:P-OPEN-CLOSED-ACTIVE", "9293:P-SYNSENT-EST", "9293:P-CLOSE-QUEUED",
           "9293:P-FINWAIT1-ACK", "9293:P-FIN-FW2", "9293:P-NORMCLOSE"], "active", "client")
def record_client(r):
    server = r.peer_listen()
    device, _ = r.open()
    peer, _ = server.accept()
    device.write(200)
    read(peer, 200)
    peer.sendall(text(4000, 7))
    device.read(4000)
    r.pause()
    device.finish()
    read(peer, 1)
    r.pause()
    peer.close()
    device.read(1)
    r.end()
    r.twin("9293:P-SYNSENT-EST", packet=r.flags("A"), field="ack", add=1)
    r.twin("9293:P-CLOSE-QUEUED", packet=r.flags("FA"), field="seq", add=-1)
    r.twin("9293:P-FIN", packet=r.flags("A", -1), drop=True)


@recorded("rfc9293-3.6-linux-simultaneous-close",
          "Both sides close at once, Linux goes through CLOSING",
          ["9293:P-SIMCLOSE", "9293:P-FIN-FW1-CLOSING", "9293:P-CLOSING-ACK"], "passive", "server",
          kernel_peer=False)
def record_simultaneous_close(r):
    device, peer = r.script()
    r.pause()
    device.finish()
    peer.expect("FA")
    peer.send("FA", ack=-1)
    peer.expect("A")
    peer.send("A")
    r.end()
    r.twin("9293:P-FIN", packet=r.flags("A"), drop=True)
    r.twin("9293:P-CLOSE-QUEUED", packet=r.flags("FA"), drop=True)


@recorded("rfc9293-3.10.7.4-linux-time-wait",
          "Linux in TIME-WAIT acknowledges the peer's FIN again",
          ["9293:P-TIMEWAIT-ACK", "9293:P-FIN-FW2", "9293:P-FINWAIT2-ACK"], "passive", "server",
          kernel_peer=False)
def record_time_wait(r):
    device, peer = r.script()
    device.finish()
    peer.expect("FA")
    peer.send("A")
    r.pause()
    peer.send("FA")
    peer.expect("A")
    r.pause(0.6)
    peer.send("FA", seq=1)
    peer.expect("A")
    r.end()
    r.twin("9293:P-TIMEWAIT-ACK", packet=r.flags("A", -1), drop=True)
    r.twin("9293:P-FIN", packet=r.flags("A", -2), field="ack", add=-1)


@recorded("rfc9293-3.6.1-linux-half-close", "Linux closes its half and goes on receiving",
          ["9293:P-HALFCLOSED", "9293:P-CLOSE-SIMPLEX", "9293:P-TEXT-ACK", "9293:P-FIN-FW2"],
          "active", "client")
def record_half_close(r):
    server = r.peer_listen()
    device, _ = r.open()
    peer, _ = server.accept()
    device.write(500)
    device.finish()
    read(peer, 1000)
    for _ in range(3):
        peer.sendall(text(4000, 7))
        device.read(4000)
        r.pause()
    peer.close()
    device.read(1)
    r.end()
    r.twin("9293:P-TEXT-ACK", packet=r.flags("A", 4), field="ack", add=-1)
    r.twin("9293:P-FIN", packet=r.flags("A", -1), drop=True)


@recorded("rfc9293-3.10.5-linux-abort", "Linux aborts (SO_LINGER 0)",
          ["9293:P-ABORT", "9293:P-ABORT-MODE", "9293:P-RST-USER"], "passive", "server")
def record_abort(r):
    device, peer = r.connected()
    peer.sendall(text(300, 7))
    device.read(300)
    r.pause()
    device.abort()
    r.end()
    reset = r.nth(lambda s: "R" in s.flags)
    r.twin("9293:P-ABORT", packet=reset, drop=True)
    r.twin("9293:P-ABORT", packet=reset, field="seq", add=100000)


@recorded("rfc9293-3.6.1-linux-close-unread", "Linux closes with data unread: a reset",
          ["9293:SHLD-3", "9293:MAY-1"], "passive", "server")
def record_close_unread(r):
    device, peer = r.connected()
    r.call("hold")
    peer.sendall(text(300, 7))
    r.pause(0.3)
    device.close()
    r.end()
    reset = r.nth(lambda s: "R" in s.flags)
    r.twin("9293:SHLD-3", packet=reset, drop=True)
    r.twin("9293:SHLD-3", packet=reset, field="flags", value="FA")


@recorded("rfc9293-3.10.7.4-linux-reset-received",
          "The peer resets a connection on which Linux sends",
          ["9293:P-RST-EST", "9293:P-RST-SYNC", "9293:P-LISTEN-ACK"], "passive", "server",
          kernel_peer=False)
def record_reset_received(r):
    device, peer = r.script()
    device.write(1000)
    peer.expect("A", 1000)
    peer.send("A")
    r.pause()
    peer.send("R")
    r.pause()
    peer.send("A")
    peer.expect("R")
    r.end()
    r.twin("9293:P-LISTEN-ACK", packet=r.flags("R"), drop=True)
    r.twin("9293:P-LISTEN-ACK", packet=r.flags("R"), field="seq", add=1)


@recorded("rfc9293-3.10.7.4-linux-challenges", "Linux answers resets and SYNs by RFC 5961",
          ["9293:P-RST-CHALLENGE", "9293:P-RST-OUT", "9293:P-SYN-INWIN", "5961:BLIND-1",
           "5961:BLIND-3", "5961:BLIND-5"], "passive", "server", kernel_peer=False)
def record_challenges(r):
    device, peer = r.script()
    device.write(100)
    peer.expect("A", 100)
    peer.send("A")
    r.pause(0.6)
    peer.send("R", seq=101)
    peer.expect("A")
    r.pause(0.6)
    peer.send("R", seq=-1000)
    r.pause(0.6)
    peer.send("S", seq=5, options=mss_option())
    peer.expect("A")
    r.pause(0.6)
    peer.send("R", seq=1)
    r.pause()
    peer.send("A")
    peer.expect("R")
    r.end()
    r.twin("9293:P-RST-CHALLENGE", packet=r.flags("A", 2), drop=True)
    r.twin("9293:P-SYN-INWIN", packet=r.flags("A", 3), drop=True)
    r.twin("9293:P-LISTEN-ACK", packet=r.flags("R"), field="seq", add=1)


@recorded("rfc9293-3.8.6.1-linux-zero-window-probes", "Linux probes a window that stays closed",
          ["9293:MUST-36", "9293:MUST-37", "9293:SHLD-30", "9293:P-WND-FIT", "9293:P-ZWP-SEND"],
          "passive", "server", kernel_peer=False)
def record_probes(r):
    device, peer = r.script()
    device.write(4000)
    peer.expect("A", 1460)
    peer.expect("A", 1460)
    peer.expect("A", 1080)
    peer.send("A", window=0)
    device.write(1000)
    data = peer.ack
    for _ in range(4):
        peer.expect("A", 0)
        peer.ack = data
        peer.send("A", window=0)
    r.pause()
    peer.send("A", window=60000)
    peer.expect("A", 1000)
    peer.send("A")
    r.end()
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, -1), drop=True)
    r.twin("9293:MUST-36", packet=r.nth(lambda s: not s.payload and s.flags == "A"), drop=True)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, -1), field="seq", add=10)


@recorded("rfc9293-3.8.6-linux-slow-reader",
          "Linux closes its window while nobody reads, and opens it again",
          ["9293:P-ZWP-REPLY", "9293:P-TEXT-RCVNXT", "9293:P-SWS-RCV", "9293:MUST-39",
           "9293:SHLD-14"], "passive", "server")
def record_slow_reader(r):
    device, peer = r.connected(device_buffer=8192)
    r.call("hold")
    peer.settimeout(0.5)
    data = text(20000, 7)
    sent = peer.send(data)
    r.pause(1.5)
    r.call("resume")
    peer.settimeout(10)
    device.sock.setblocking(True)
    taken = len(device.read(sent))
    assert taken == sent, f"{taken} of {sent} bytes"
    r.end()
    shut = r.nth(lambda s: s.window == 0)
    base = r.segments[0].seq + 1
    r.config["receive_buffer_bytes"] = (r.segments[shut - 1].ack - base) % 2**32
    r.twin("9293:P-ZWP-REPLY", packet=r.nth(lambda s: s.window == 0, 2), field="ack", add=1)
    opened = r.nth(lambda s: s.packet > shut and s.window > 0)
    r.twin("9293:P-SWS-RCV", packet=opened, drop=True)


@recorded("rfc5681-4.2-linux-delayed-ack",
          "Linux delays the ACKs of single segments (TCP_QUICKACK off)",
          ["5681:CC-26", "5681:CC-37", "9293:MUST-40", "9293:SHLD-18"], "passive", "server")
def record_delayed_ack(r):
    device, peer = r.connected()
    for _ in range(4):
        device.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        peer.sendall(text(200, 7))
        device.read(200)
        r.pause(0.3)
    r.end()
    last = r.flags("A", -1)
    r.twin("9293:P-TEXT-ACK", packet=last, drop=True)
    r.twin("9293:MUST-40", packet=last, delay="600ms")
    r.twin("9293:P-TEXT-ACK", packet=last, field="ack", add=-1)


@recorded("rfc9293-3.7.4-linux-nagle", "Linux holds small writes back while data is unacknowledged",
          ["9293:SHLD-7", "9293:P-NAGLE", "9293:P-NO-BOUNDARY"], "passive", "server", delay_ms=50)
def record_nagle(r):
    device, peer = r.connected()
    r.pause()
    for size in (50, 60, 70):
        device.write(size)
        r.pause(0.02)
    read(peer, 180)
    r.end()
    first = r.nth(lambda s: s.payload)
    r.twin("9293:P-NAGLE", after_packet=first,
           insert={"from": "device", "flags": "PA", "seq": 51, "ack": 1, "bytes": 60,
                   "delay": "20ms"})
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 2), drop=True)


@recorded("rfc9293-3.7.4-linux-nodelay", "Linux with TCP_NODELAY sends every write at once",
          ["9293:MUST-17", "9293:P-SEND-EST", "9293:MUST-61"], "passive", "server", delay_ms=50,
          config={"nagle": False})
def record_nodelay(r):
    device, peer = r.connected()
    device.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    r.pause()
    for size in (50, 60, 70):
        device.write(size)
        r.pause(0.02)
    read(peer, 180)
    r.end()
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 2), delay="500ms")
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 3), field="seq", add=1)


@recorded("rfc9293-3.8.5-linux-urgent-received", "Linux receives urgent data",
          ["9293:MUST-30", "9293:P-URG-EST", "9293:P-TEXT-ACK"], "passive", "server")
def record_urgent_received(r):
    device, peer = r.connected()
    peer.sendall(text(500, 7))
    peer.send(text(10, 9), socket.MSG_OOB)
    r.pause()
    peer.sendall(text(500, 7))
    device.sock.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
    device.read(1010)
    r.pause()
    peer.close()
    r.pause()
    device.close()
    r.end()
    r.twin("9293:P-TEXT-ACK", packet=r.nth(lambda s: s.flags == "A" and not s.payload, -2),
           field="ack", add=-1)
    r.twin("9293:P-CLOSE-CLOSEWAIT", packet=r.flags("FA"), drop=True)


@recorded("rfc9293-3.8.5-linux-urgent-sent", "Linux sends urgent data",
          ["9293:MUST-30", "9293:P-SEND-URG", "9293:P-URGPTR-FIELD", "9293:P-URG-DATA"],
          "passive", "server", kernel_peer=False)
def record_urgent_sent(r):
    device, peer = r.script()
    device.write(100)
    peer.expect("A", 100)
    peer.send("A")
    r.pause()
    device.urgent(5)
    peer.expect("UA", 5)
    peer.send("A")
    r.pause()
    device.write(100)
    peer.expect("A", 100)
    peer.send("A")
    r.end()
    r.twin("9293:MUST-30", packet=r.flags("UA"), field="flags", value="PA")


@recorded("rfc5681-3.1-linux-slow-start", "Linux sends 60 segments: ten at first, then slow start",
          ["5681:CC-1", "5681:CC-2", "5681:CC-8", "6928:IW-1", "9293:P-CLOSE-QUEUED"],
          "passive", "server")
def record_bulk(r):
    device, peer = r.connected(receive_buffer=60000)
    device.write(60 * 1460 // 2)
    device.close()
    read(peer, 60 * 1460 // 2)
    peer.close()
    r.end()
    first = r.nth(lambda s: s.payload)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 12), field="seq", add=1460)
    r.twin("9293:P-CLOSE-QUEUED", packet=first, field="flags", value="FPA")


@recorded("rfc9293-3.5-linux-default-server", "Linux with all its options serves 40000 bytes",
          ["9293:P-3WHS", "9293:P-LISTEN-SYN", "9293:P-SEND-EST", "9293:P-CLOSE-QUEUED"],
          "passive", "server", plain=False)
def record_default_server(r):
    device, peer = r.connected()
    peer.sendall(text(100, 7))
    device.read(100)
    device.write(40000)
    device.finish()
    read(peer, 50000)
    peer.close()
    r.end()
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA"), field="ack", add=1)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 5), field="seq", add=1)


@recorded("rfc9293-3.5-linux-default-client",
          "Linux with all its options sends a request and reads 20000 bytes",
          ["9293:P-3WHS", "9293:P-OPEN-CLOSED-ACTIVE", "9293:P-SYNSENT-EST", "9293:P-TEXT-ACK"],
          "active", "client", plain=False)
def record_default_client(r):
    server = r.peer_listen()
    device, _ = r.open()
    peer, _ = server.accept()
    device.write(300)
    read(peer, 300)
    peer.sendall(text(20000, 7))
    peer.close()
    device.read(30000)
    r.pause()
    device.close()
    r.end()
    r.twin("9293:P-SYNSENT-EST", packet=r.flags("A"), field="ack", add=1)
    r.twin("9293:P-CLOSE-CLOSEWAIT", packet=r.flags("FA"), drop=True)
