# Recordings of loss, reordering and retransmission, on the sending and on the receiving side.
"""Each function records one scenario with a Linux kernel as the device."""
import socket

from opening import drop_first
from plain import recorded
from recording import read, text


def lose(side, numbers, late=None):
    """A fault: these data segments of host `side`, counted from 1, are lost when first sent.

    Those in `late` are overtaken instead by the number of others given there.
    """
    seen, count = set(), [0]

    def fault(sender, segment):
        if sender != side or not segment.payload or segment.seq in seen:
            return None
        seen.add(segment.seq)
        count[0] += 1
        return "drop" if count[0] in numbers else (late or {}).get(count[0])
    return fault


def send_all(r, size, send_buffer=None):
    """The device writes `size` bytes to a peer that reads them."""
    device, peer = r.connected(receive_buffer=60000)
    if send_buffer:
        device.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
    device.write(size)
    read(peer, size)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()


@recorded("rfc5681-3.2-linux-fast-retransmit", "Linux repeats a lost segment on duplicate ACKs",
          ["5681:CC-16", "5681:CC-42", "5681:CC-20", "9293:P-SEND-EST"], "passive", "server",
          fault=lose(1, {5}))
def record_fast_retransmit(r):
    send_all(r, 20 * 1460)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
    r.twin("5681:CC-21", packet=r.retransmission(), field="seq", add=1460)


@recorded("rfc6582-3.2-linux-two-losses", "Linux repairs two losses in one window on partial ACKs",
          ["6582:NR-2", "5681:CC-16", "5681:CC-44"], "passive", "server", fault=lose(1, {4, 7}))
def record_two_losses(r):
    send_all(r, 24 * 1460)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
    r.twin("6582:NR-2", packet=r.retransmission(2), drop=True)


@recorded("rfc6298-5-linux-tail-loss", "The last segment is lost: Linux waits for its timer",
          ["6298:RTO-13", "6298:RTO-10", "9293:P-RTO", "5681:CC-12"], "passive", "server",
          fault=lose(1, {3}))
def record_tail_loss(r):
    send_all(r, 3 * 1460)
    r.twin("9293:P-RTO", packet=r.retransmission(), drop=True)
    r.twin("6298:RTO-9", packet=r.retransmission(), delay="-150ms")


@recorded("rfc6298-5-linux-backoff", "Nothing is acknowledged: Linux doubles its timer",
          ["6298:RTO-14", "6298:RTO-15", "9293:P-RTO", "9293:P-RTO-KEEP"], "passive", "server",
          kernel_peer=False)
def record_backoff(r):
    device, peer = r.script()
    device.write(1000)
    for _ in range(5):
        peer.expect("A", 1000)
    peer.send("A")
    r.end()
    r.twin("9293:P-RTO", packet=r.retransmission(2), drop=True)
    r.twin("6298:RTO-14", packet=r.retransmission(4), delay="-1200ms")


@recorded("rfc9293-3.4-linux-fin-lost", "The FIN of Linux is lost and sent again",
          ["9293:P-CTL-ONCE", "9293:P-CLOSE-DELIVER", "9293:P-RTO", "9293:P-CLOSE-CLOSEWAIT"],
          "active", "client", fault=drop_first(1, 1, lambda segment: "F" in segment.flags))
def record_fin_lost(r):
    server = r.peer_listen()
    device, _ = r.open()
    peer, _ = server.accept()
    device.write(100)
    read(peer, 100)
    r.pause()
    device.finish()
    read(peer, 1)
    peer.close()
    device.read(1)
    r.end()
    r.twin("9293:P-RTO", packet=r.flags("FA", 2), drop=True)
    r.twin("9293:P-FIN", packet=r.flags("A", -1), drop=True)


def receive_all(r, size):
    """The peer writes `size` bytes to a device that reads them."""
    device, peer = r.connected()
    peer.sendall(text(size, 7))
    device.read(size)
    peer.close()
    device.read(1)
    r.pause()
    device.close()
    r.end()
    segments = [s for s in r.segments if s.source[0] == r.near and s.flags == "A"]
    pairs = zip(segments, segments[1:])
    return next(second.packet for first, second in pairs if first.ack == second.ack)


@recorded("rfc5681-4.2-linux-loss-received",
          "A segment to Linux is lost: duplicate ACKs, then the gap is filled",
          ["5681:CC-14", "5681:CC-15", "9293:SHLD-31", "9293:P-TEXT-ACK"], "passive", "server",
          fault=lose(2, {4}))
def record_loss_received(r):
    duplicate = receive_all(r, 10 * 1460)
    r.twin("5681:CC-14", packet=duplicate, drop=True)
    r.twin("5681:CC-14", packet=duplicate, field="ack", add=1460)


@recorded("rfc5681-4.2-linux-reordering-received", "Segments to Linux arrive in another order",
          ["5681:CC-14", "5681:CC-15", "9293:SHLD-31", "9293:P-ACK-CUMUL"], "passive", "server",
          fault=lose(2, set(), {3: 1, 7: 2}))
def record_reordering_received(r):
    duplicate = receive_all(r, 10 * 1460)
    r.twin("5681:CC-14", packet=duplicate, drop=True)
    r.twin("5681:CC-14", packet=duplicate, field="ack", add=2920)


@recorded("rfc9293-3.10-linux-overlap-received",
          "Overlapping segments reach Linux, above a gap and over it",
          ["9293:P-EV-OVERLAP", "9293:SHLD-31", "5681:CC-14", "5681:CC-15", "9293:P-ACCEPT-REPLY"],
          "passive", "server", kernel_peer=False)
def record_overlap_received(r):
    device, peer = r.script()
    data = text(3000, 7)
    for begin, end in ((1000, 2000), (500, 1500), (1500, 2500), (0, 700)):
        peer.send("A", data[begin:end], seq=1 + begin)
        peer.expect("A", 0)
        r.pause(0.02)
    peer.send("A", data[100:600], seq=101)
    peer.expect("A", 0)
    peer.send("PA", data[2000:3000], seq=2001)
    device.read(3000)
    r.end()
    r.twin("5681:CC-14", packet=r.flags("A", 1), drop=True)
    r.twin("5681:CC-15", packet=r.flags("A", 4), field="ack", add=-1)
    r.twin("9293:P-ACCEPT-REPLY", packet=r.flags("A", 5), drop=True)


@recorded("rfc5681-3.2-linux-default-fast-retransmit",
          "Linux with all its options repairs two losses by SACK",
          ["9293:P-SEND-EST", "5681:CC-16", "5681:CC-44"], "passive", "server", plain=False,
          fault=lose(1, {5, 8}))
def record_default_fast_retransmit(r):
    send_all(r, 24 * 1448)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 12), field="seq", add=100)


@recorded("rfc5681-4.2-linux-default-loss-received",
          "Linux with all its options receives with two losses",
          ["5681:CC-14", "5681:CC-15", "9293:SHLD-31", "9293:P-TEXT-ACK"], "passive", "server",
          plain=False, fault=lose(2, {4, 6}))
def record_default_loss_received(r):
    duplicate = receive_all(r, 12 * 1448)
    r.twin("5681:CC-14", packet=duplicate, drop=True)
    r.twin("5681:CC-14", packet=duplicate, field="ack", add=1448)
