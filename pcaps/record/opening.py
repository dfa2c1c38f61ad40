# Recordings of connection attempts that do not go smoothly.
"""Each function records one scenario with a Linux kernel as the device."""
from plain import recorded
from recording import PEER_PORT, PORT, Script, mss_option, read, text


def drop_first(side, count=1, test=lambda segment: True):
    """A fault: the first `count` frames of host `side` that pass `test` are lost."""
    left = [count]

    def fault(sender, segment):
        if sender == side and left[0] and test(segment):
            left[0] -= 1
            return "drop"
        return None
    return fault


@recorded("rfc9293-3.5-linux-simultaneous-open",
          "Both sides open at once: Linux answers a SYN with SYN,ACK",
          ["9293:MUST-10", "9293:P-SIMOPEN-SEQ", "9293:P-SYNSENT-SIM", "9293:P-SYNRCVD-EST"],
          "active", "client", kernel_peer=False)
def record_simultaneous_open(r):
    peer = Script(r, PEER_PORT, port=PORT)
    device, _ = r.open(wait=False)
    peer.expect("S")
    peer.send("S", options=mss_option())
    peer.expect("SA")
    peer.send("SA", seq=0, options=mss_option())
    r.pause(0.3)
    peer.send("PA", text(500, 7))
    device.read(500)
    device.write(500)
    peer.expect("A", 500)
    peer.send("A")
    r.end()
    r.twin("9293:P-SYNSENT-SIM", packet=r.flags("SA"), field="flags", value="A")
    r.twin("9293:P-SYNSENT-SIM", packet=r.flags("SA"), drop=True)


@recorded("rfc9293-3.10.7.1-linux-closed-port", "A SYN meets a port on which Linux does not listen",
          ["9293:P-CLOSED-SEG", "9293:P-CLOSED-ACK", "9293:P-RST-SEQ"], "closed",
          "host without a listener", kernel_peer=False)
def record_closed_port(r):
    peer = Script(r, PORT)
    peer.send("S", options=mss_option())
    peer.expect("RA")
    peer.ack = 777777
    peer.send("A")
    peer.expect("R")
    peer.send("FA")
    peer.expect("R")
    peer.send("R")
    r.end()
    r.twin("9293:P-CLOSED-SEG", packet=r.flags("RA"), field="ack", add=1)
    r.twin("9293:P-CLOSED-ACK", packet=r.flags("R"), drop=True)
    r.twin("9293:P-CLOSED-ACK", packet=r.flags("R", 2), field="seq", add=1)


@recorded("rfc9293-3.10.7.3-linux-refused", "Linux tries to connect and is refused",
          ["9293:P-SYNSENT-RST", "9293:P-SYN-FAIL", "9293:P-OPEN-CLOSED-ACTIVE", "5961:BLIND-4",
           "9293:P-CLOSED-ACK"], "active", "client", kernel_peer=False)
def record_refused(r):
    peer = Script(r, PEER_PORT, port=PORT)
    r.open(wait=False)
    peer.expect("S")
    peer.send("RA", seq=0, ack=5)
    r.pause()
    peer.send("RA", seq=0)
    r.pause()
    peer.send("SA", seq=0, options=mss_option())
    peer.expect("R")
    r.end()
    r.twin("9293:P-CLOSED-ACK", packet=r.flags("R"), drop=True)
    r.twin("9293:P-CLOSED-ACK", packet=r.flags("R"), field="seq", add=1)


@recorded("rfc9293-3.4-linux-syn-lost", "Linux repeats a SYN that was lost twice",
          ["9293:P-CTL-ONCE", "9293:MUST-22", "6298:RTO-1", "9293:P-RTO", "9293:P-SYNSENT-EST"],
          "active", "client", fault=drop_first(1, 2))
def record_syn_lost(r):
    server = r.peer_listen()
    device, _ = r.open()
    peer, _ = server.accept()
    r.pause()
    device.write(1000)
    read(peer, 1000)
    r.pause()
    device.close()
    r.pause()
    peer.close()
    r.end()
    r.twin("9293:P-RTO", packet=r.flags("S", 2), drop=True)
    r.twin("9293:P-SYNSENT-EST", packet=r.flags("A"), field="ack", add=1)


@recorded("rfc9293-3.4-linux-syn-ack-lost", "Linux repeats a SYN,ACK that was lost",
          ["9293:P-CTL-ONCE", "9293:P-RTO", "9293:P-LISTEN-SYN", "9293:P-SYNRCVD-EST"],
          "passive", "server", kernel_peer=False)
def record_syn_ack_lost(r):
    r.listen()
    peer = Script(r, PORT)
    peer.send("S", options=mss_option())
    peer.expect("SA")
    peer.expect("SA")
    peer.send("A")
    device = r.accept()
    device.write(1000)
    peer.expect("A", 1000)
    peer.send("A")
    r.end()
    r.twin("9293:P-RTO", packet=r.flags("SA", 2), drop=True)
    r.twin("9293:P-RTO", packet=r.flags("SA", 2), field="seq", add=1)


@recorded("rfc9293-3.10.7.2-linux-listen",
          "Linux at LISTEN: RST and bare data ignored, ACK reset, SYN served",
          ["9293:P-LISTEN-RST", "9293:P-LISTEN-ACK", "9293:P-LISTEN-OTHER", "9293:P-LISTEN-SYN",
           "9293:P-HALFOPEN-PASSIVE"], "passive", "server", kernel_peer=False)
def record_listen(r):
    r.listen()
    peer = Script(r, PORT, isn=0)
    peer.send("R", seq=5)
    peer.ack = 91
    peer.send("A", seq=5)
    peer.expect("R")
    peer.ack = 91
    peer.send("SA", seq=5, options=mss_option())
    peer.expect("R")
    peer.send("", text(10), seq=5)
    r.pause()
    peer.send("S", options=mss_option())
    peer.expect("SA")
    peer.send("A")
    r.end()
    r.twin("9293:P-LISTEN-ACK", packet=r.flags("R"), drop=True)
    r.twin("9293:P-LISTEN-ACK", packet=r.flags("R", 2), field="seq", add=1)
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA"), field="ack", add=1)
