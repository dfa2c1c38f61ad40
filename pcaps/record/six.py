# Recordings of the basics over IPv6, and of its path MTU discovery.
"""Each function records one scenario with a Linux kernel as the device."""
import socket

from endurance import narrow
from loss import lose, send_all
from plain import recorded
from recording import PEER_PORT, PORT, Script, mss_option, read, text


@recorded("rfc8200-8.3-linux-server", "Linux serves a request over IPv6; the client closes first",
          ["8200:V6-25", "8200:V6-27", "9293:P-3WHS", "9293:P-SEND-EST",
           "9293:P-CLOSE-CLOSEWAIT"], "passive", "server", ipv6=True)
def record_server6(r):
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


@recorded("rfc8200-8.3-linux-client", "Linux as client over IPv6 asks, reads and closes first",
          ["8200:V6-25", "8200:V6-27", "9293:P-SYNSENT-EST", "9293:P-CLOSE-QUEUED",
           "9293:P-FIN-FW2"], "active", "client", ipv6=True)
def record_client6(r):
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


@recorded("rfc8200-8.1-linux-closed-port",
          "A SYN over IPv6 meets a port on which Linux does not listen",
          ["8200:V6-25", "9293:P-CLOSED-SEG", "9293:P-CLOSED-ACK"], "closed",
          "host without a listener", kernel_peer=False, ipv6=True)
def record_closed_port6(r):
    peer = Script(r, PORT)
    peer.send("S", options=mss_option(1440))
    peer.expect("RA")
    peer.ack = 777777
    peer.send("A")
    peer.expect("R")
    r.end()
    r.twin("9293:P-CLOSED-SEG", packet=r.flags("RA"), field="ack", add=1)
    r.twin("9293:P-CLOSED-ACK", packet=r.flags("R"), drop=True)


@recorded("rfc8200-8.1-linux-refused", "Linux tries to connect over IPv6 and is refused",
          ["8200:V6-25", "9293:P-SYNSENT-RST", "9293:P-SYN-FAIL", "9293:P-CLOSED-ACK"], "active",
          "client", kernel_peer=False, ipv6=True)
def record_refused6(r):
    peer = Script(r, PEER_PORT, port=PORT)
    r.open(wait=False)
    peer.expect("S")
    peer.send("RA", seq=0)
    r.pause()
    peer.send("SA", seq=0, options=mss_option(1440))
    peer.expect("R")
    r.end()
    r.twin("9293:P-CLOSED-ACK", packet=r.flags("R"), drop=True)
    r.twin("9293:P-CLOSED-ACK", packet=r.flags("R"), field="seq", add=1)


@recorded("rfc8200-8.3-linux-loss",
          "A segment over IPv6 is lost: Linux repeats it on duplicate ACKs",
          ["8200:V6-25", "5681:CC-16", "5681:CC-42"], "passive", "server", fault=lose(1, {5}),
          ipv6=True)
def record_loss6(r):
    send_all(r, 20 * 1440)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
    r.twin("5681:CC-21", packet=r.retransmission(), field="seq", add=1440)


@recorded("rfc8200-8.3-linux-all-options",
          "Over IPv6 with SACK, timestamps, scaling and ECN: two losses to Linux",
          ["8200:V6-25", "2018:SACK-5", "7323:TS-9", "5681:CC-14", "5681:CC-15"], "passive",
          "server", fault=lose(2, {4, 6}), ipv6=True,
          sysctls={"tcp_sack": 1, "tcp_comp_sack_nr": 0, "tcp_timestamps": 1,
                   "tcp_window_scaling": 1, "tcp_ecn": 1},
          features="SACK, timestamps, window scaling and ECN on",
          config={"sack": True, "dsack": True, "ecn": "on"})
def record_all6(r):
    device, peer = r.connected()
    peer.sendall(text(12 * 1428, 7))
    device.read(12 * 1428)
    peer.close()
    device.read(1)
    r.pause()
    device.close()
    r.end()
    report = r.nth(lambda s: s.option(5))
    r.twin("2018:SACK-5", packet=report, field="sack", add=1428)
    r.twin("5681:CC-14", packet=report, drop=True)
    r.twin("7323:TS-9", packet=report, field="stamp", value=0)


@recorded("rfc8201-4-linux-packet-too-big",
          "A router says that packets of IPv6 are too big: Linux sends smaller ones",
          ["8201:PMTU-3", "8201:PMTU-7", "9293:P-SEND-EST"], "passive", "server",
          fault=narrow(1320, True), ipv6=True, config={"path_mtu_discovery": True})
def record_too_big6(r):
    device, peer = r.connected(receive_buffer=60000)
    device.write(12 * 1440)
    read(peer, 12 * 1440)
    r.pause()
    device.write(4 * 1440)
    read(peer, 4 * 1440)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.larger(r.nth(lambda s: len(s.payload) == 1260, 2), "8201:PMTU-3", 1440)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, -1), field="seq", add=100)
