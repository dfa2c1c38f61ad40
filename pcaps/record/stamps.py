# Recordings of window scaling and timestamps (RFC 7323), and of what depends on timestamps.
"""Each function records one scenario with a Linux kernel as the device."""

from loss import lose, send_all
from plain import recorded
from recording import PORT, Script, mss_option, read, text

STAMPS = {"tcp_timestamps": 1}
SCALE = {"tcp_window_scaling": 1}
LARGE = 300_000  # a buffer whose window needs scaling


@recorded("rfc7323-3.2-linux-timestamps", "Linux speaks timestamps and echoes those of the peer",
          ["7323:TS-9", "7323:TS-11", "7323:TS-15", "9293:P-3WHS", "9293:P-SEND-EST"], "passive",
          "server", sysctls=STAMPS, features="timestamps on")
def record_timestamps(r):
    device, peer = r.connected()
    for _ in range(3):
        peer.sendall(text(500, 7))
        device.read(500)
        device.write(2000)
        read(peer, 2000)
        r.pause(0.05)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    data = r.nth(lambda s: s.payload, 2)
    r.twin("7323:TS-15", packet=data, field="echo", add=1)
    r.twin("7323:TS-9", packet=data, field="stamp", value=0)
    r.twin("7323:TS-9", packet=r.flags("SA"), field="stamp", value=0)


@recorded("rfc7323-3.2-linux-timestamps-unasked",
          "A peer whose SYN has no timestamp: Linux speaks none",
          ["7323:TS-39", "7323:TS-33", "9293:P-3WHS"], "passive", "server",
          sysctls={**STAMPS, **SCALE}, features="timestamps and window scaling on",
          peer_settings={"tcp_timestamps": 0, "tcp_window_scaling": 0})
def record_timestamps_unasked(r):
    device, peer = r.connected()
    peer.sendall(text(500, 7))
    device.read(500)
    device.write(2000)
    read(peer, 2000)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA"), field="ack", add=1)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 2), field="seq", add=1)


@recorded("rfc7323-3.2-linux-client",
          "Linux as client asks for timestamps and scaling, and has both",
          ["7323:TS-9", "7323:TS-34", "7323:TS-4", "9293:P-SYNSENT-EST"], "active", "client",
          sysctls={**STAMPS, **SCALE}, features="timestamps and window scaling on")
def record_stamped_client(r):
    server = r.peer_listen()
    device, _ = r.open()
    peer, _ = server.accept()
    device.write(300)
    read(peer, 300)
    peer.sendall(text(8000, 7))
    device.read(8000)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.twin("7323:TS-15", packet=r.flags("A"), field="echo", add=7)
    r.twin("7323:TS-9", packet=r.nth(lambda s: s.payload), field="stamp", value=0)
    r.twin("9293:P-SYNSENT-EST", packet=r.flags("A"), field="ack", add=1)


@recorded("rfc7323-5.3-linux-old-timestamp",
          "A segment whose timestamp is too old: Linux acknowledges and drops it (PAWS)",
          ["7323:TS-17", "7323:TS-46", "7323:TS-15", "7323:TS-32"], "passive", "server",
          kernel_peer=False, sysctls=STAMPS, features="timestamps on")
def record_old_timestamp(r):
    device, peer = r.script(stamp=100_000)
    peer.send("PA", text(1000, 7))
    peer.expect("A", 0)
    r.pause(0.6)
    peer.stamp = 90_000  # as old as the one of an old duplicate
    peer.send("PA", text(1000, 9), seq=1001)
    peer.expect("A", 0)
    r.pause(0.6)
    peer.stamp = 100_300
    peer.send("PA", text(1000, 9), seq=1001)
    peer.expect("A", 0)
    device.read(2000)
    r.end()
    r.twin("7323:TS-17", packet=r.flags("A", 2), drop=True)
    r.twin("7323:TS-17", packet=r.flags("A", 2), field="ack", add=1000)
    r.twin("7323:TS-15", packet=r.flags("A", 2), field="echo", add=-10_000)
    r.twin("7323:TS-15", packet=r.flags("A", 3), field="echo", add=-150)


@recorded("rfc7323-5.3-linux-old-timestamp-unchecked",
          "The same segments without timestamps: Linux takes the first that fits",
          ["9293:P-TEXT-ACK", "9293:P-ACCEPT-REPLY"], "passive", "server", kernel_peer=False)
def record_unchecked(r):
    device, peer = r.script()
    for _ in range(2):
        peer.send("PA", text(1000, 7))
        peer.expect("A", 0)
        r.pause(0.6)
    peer.send("PA", text(1000, 9), seq=1001)
    peer.expect("A", 0)
    device.read(2000)
    r.end()
    r.twin("9293:P-TEXT-ACK", packet=r.flags("A", 2), drop=True)
    r.twin("9293:P-ACCEPT-REPLY", packet=r.flags("A", 3), drop=True)


@recorded("rfc7323-4.3-linux-echo-at-a-gap",
          "Above a gap Linux echoes the last timestamp in order, and then that of what fills it",
          ["7323:TS-16", "7323:TS-31", "7323:TS-15", "5681:CC-14", "5681:CC-15"], "passive",
          "server", kernel_peer=False, sysctls=STAMPS, features="timestamps on")
def record_echo_at_a_gap(r):
    device, peer = r.script(stamp=100_000)
    data = text(4000, 7)
    for piece, stamp in ((0, 100_010), (2, 100_020), (3, 100_030), (1, 100_040)):
        peer.stamp = stamp
        peer.send("A", data[piece * 1000 : piece * 1000 + 1000], seq=1 + piece * 1000)
        peer.expect("A", 0)
        r.pause(0.02)
    device.read(4000)
    r.end()
    r.twin("7323:TS-15", packet=r.flags("A", 2), field="echo", add=10)
    r.twin("7323:TS-15", packet=r.flags("A", 4), field="echo", add=-15)
    r.twin("5681:CC-14", packet=r.flags("A", 3), drop=True)


@recorded("rfc6191-2-linux-time-wait-reused",
          "A SYN with a later timestamp opens anew what Linux holds in TIME-WAIT",
          ["6191:TW-1", "9293:P-LISTEN-SYN", "9293:P-FIN-FW2"], "passive", "server",
          kernel_peer=False, sysctls=STAMPS, features="timestamps on")
def record_time_wait_reused(r):
    device, peer = r.script(stamp=100_000)
    device.finish()
    peer.expect("FA")
    peer.send("A")
    r.pause()
    peer.send("FA")
    peer.expect("A")
    r.pause(1.5)
    again = Script(r, PORT, isn=0x8000, stamp=102_000)  # below the timestamps of the old connection
    again.send("S", options=mss_option())
    again.expect("SA")
    again.send("A")
    r.end()
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA", 2), drop=True)
    r.twin("9293:P-FIN", packet=r.flags("A"), drop=True)


SENT = 90 * 1460


@recorded("rfc7323-2.3-linux-window-above-64k",
          "Linux offers more than 64 KB by window scaling, and the peer has as much in flight",
          ["7323:TS-4", "7323:TS-33", "7323:TS-35", "9293:P-TEXT-RCVNXT"], "passive", "server",
          sysctls=SCALE, features="window scaling on", delay_ms=40)
def record_large_window(r):
    device, peer = r.connected(device_buffer=LARGE)
    peer.sendall(text(SENT, 7))
    device.read(SENT)
    r.end()
    last = r.nth(lambda s: not s.payload and s.flags == "A", 20)
    r.twin("9293:P-TEXT-ACK", packet=last, field="ack", add=-1)
    r.twin("9293:P-LISTEN-SYN", packet=r.flags("SA"), field="ack", add=1)


@recorded("rfc7323-2.3-linux-flight-above-64k",
          "Linux has more than 64 KB in flight to a peer that scales its window",
          ["7323:TS-4", "7323:TS-1", "5681:CC-2", "9293:P-SEND-EST"], "passive", "server",
          sysctls=SCALE, features="window scaling on", delay_ms=40)
def record_large_flight(r):
    device, peer = r.connected(receive_buffer=LARGE)
    device.write(SENT)
    read(peer, SENT)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 80), field="seq", add=1460)
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 30), field="seq", add=1460)


@recorded("rfc7323-2.2-linux-flight-below-64k",
          "The same to a peer that does not scale: Linux stays below 64 KB",
          ["7323:TS-1", "9293:P-WND-FIT", "9293:P-SEND-EST"], "passive", "server",
          sysctls=SCALE, features="window scaling on", delay_ms=40,
          peer_settings={"tcp_window_scaling": 0})
def record_small_flight(r):
    device, peer = r.connected(receive_buffer=LARGE)
    device.write(SENT)
    read(peer, SENT)
    r.pause()
    device.close()
    read(peer, 1)
    peer.close()
    r.end()
    r.twin("9293:P-SEND-EST", packet=r.nth(lambda s: s.payload, 30), field="seq", add=1460)


@recorded("rfc7323-5.7-linux-loss-with-all",
          "Linux repairs a loss with SACK, timestamps and scaling",
          ["7323:TS-9", "2018:SACK-7", "5681:CC-16"], "passive", "server", fault=lose(1, {5}),
          sysctls={**STAMPS, **SCALE, "tcp_sack": 1, "tcp_comp_sack_nr": 0},
          features="SACK, timestamps and window scaling on",
          config={"sack": True, "dsack": True, "prr": True, "rack": True, "tail_probe": True,
                  "undo": True})
def record_loss_with_all(r):
    send_all(r, 20 * 1448)
    r.twin("5681:CC-16", packet=r.retransmission(), drop=True)
    r.twin("7323:TS-9", packet=r.retransmission(), field="stamp", value=0)
