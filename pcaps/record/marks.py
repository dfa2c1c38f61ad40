# Recordings of ECN: how Linux echoes CE marks, and how it reacts to echoes.
"""Each function records one scenario with a Linux kernel as the device."""
from loss import lose
from plain import recorded
from recording import read, text

ON = {"tcp_ecn": 1}


def mark(side, numbers):
    """A fault: a router marks these data segments of host `side`, counted from 1."""
    count = [0]

    def fault(sender, segment):
        if sender != side or not segment.payload:
            return None
        count[0] += 1
        return "mark" if count[0] in numbers else None
    return fault


@recorded("rfc3168-6.1.3-linux-marks-received",
          "A segment to Linux is marked: it echoes that until the peer has slowed down",
          ["3168:ECN-1", "3168:ECN-10", "3168:ECN-28", "3168:ECN-11"], "passive", "server",
          fault=mark(2, {4}), sysctls=ON, features="ECN on", config={"ecn": "on"})
def record_marks_received(r):
    device, peer = r.connected()
    peer.sendall(text(30 * 1460, 7))
    device.read(30 * 1460)
    peer.close()
    device.read(1)
    r.pause()
    device.close()
    r.end()
    echo = r.nth(lambda s: "E" in s.flags and "S" not in s.flags)
    r.twin("3168:ECN-10", packet=echo, field="flags", value="A")
    r.twin("3168:ECN-28", packet=r.flags("A", -1), field="flags", value="AE")
    r.twin("3168:ECN-11", packet=echo, field="ecn", value=2)
    r.twin("3168:ECN-1", packet=r.flags("SAE"), field="flags", value="SA")


@recorded("rfc3168-6.1.2-linux-marks-on-data-sent",
          "What Linux sends is marked: it slows down once and says so",
          ["3168:ECN-6", "3168:ECN-9", "3168:ECN-17", "3168:ECN-21"], "passive", "server",
          fault=mark(1, {5}), sysctls=ON, features="ECN on", config={"ecn": "on"})
def record_marks_on_data(r):
    device, peer = r.connected(receive_buffer=60000)
    device.write(30 * 1460)
    read(peer, 30 * 1460)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    said = r.nth(lambda s: "C" in s.flags and "S" not in s.flags)
    r.twin("3168:ECN-21", packet=said, field="flags", value="A")
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 12), field="seq", add=1460)


@recorded("rfc3168-6.1.1-linux-client-asks", "Linux as client asks for ECN and has it",
          ["3168:ECN-1", "3168:ECN-4", "3168:ECN-6", "9293:P-SYNSENT-EST"], "active", "client",
          sysctls=ON, features="ECN on", config={"ecn": "on"})
def record_client_asks(r):
    server = r.peer_listen()
    device, _ = r.open()
    peer, _ = server.accept()
    device.write(3000)
    read(peer, 3000)
    peer.sendall(text(3000, 7))
    device.read(3000)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.twin("3168:ECN-4", packet=r.flags("SEC"), field="ecn", value=2)
    r.twin("3168:ECN-11", packet=r.flags("A"), field="ecn", value=2)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload), field="seq", add=1)


@recorded("rfc3168-6.1.1-linux-ecn-refused", "A peer asks for ECN and Linux, with it off, does not",
          ["3168:ECN-23", "3168:ECN-3", "3168:ECN-24"], "passive", "server",
          peer_settings={"tcp_ecn": 1}, config={"ecn": "off"})
def record_ecn_refused(r):
    device, peer = r.connected()
    device.write(5000)
    read(peer, 5000)
    peer.sendall(text(3000, 7))
    device.read(3000)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.twin("3168:ECN-3", packet=r.nth(lambda s: s.payload), field="ecn", value=2)
    r.twin("3168:ECN-23", packet=r.flags("SA"), field="flags", value="SAE")


@recorded("rfc3168-6.1.1-linux-ecn-unasked",
          "A peer does not ask for ECN and Linux does not use it",
          ["3168:ECN-2", "3168:ECN-3"], "passive", "server", sysctls=ON, features="ECN on",
          peer_settings={"tcp_ecn": 0}, config={"ecn": "on"})
def record_ecn_unasked(r):
    device, peer = r.connected()
    device.write(5000)
    read(peer, 5000)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.twin("3168:ECN-3", packet=r.nth(lambda s: s.payload), field="ecn", value=2)
    r.twin("3168:ECN-2", packet=r.flags("SA"), field="flags", value="SAE")


@recorded("rfc3168-6.1.5-linux-loss-with-ecn",
          "A segment is lost with ECN on: Linux sends it again without ECT, and new text with CWR",
          ["3168:ECN-12", "3168:ECN-19", "3168:ECN-26", "5681:CC-16"], "passive", "server",
          fault=lose(1, {5}), sysctls=ON, features="ECN on", config={"ecn": "on"})
def record_loss_with_ecn(r):
    device, peer = r.connected(receive_buffer=60000)
    device.write(24 * 1460)
    read(peer, 24 * 1460)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.twin("3168:ECN-12", packet=r.retransmission(), field="ecn", value=2)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
