# The server on a TAP, and on a veth pair with each driver, in a namespace: every octet hashed.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import fcntl
import hashlib
import http.client
import json
import re
import selectors
import shutil
import signal
import socket
import struct
import subprocess

import pytest

from dev import namespace as ns
from proofs.wire import crossing

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
needs_xdp = pytest.mark.skipif(ns.why_not() is None and ns.why_no_xdp() is not None,
                               reason="AF_XDP cannot be had here")
needs_ethtool = pytest.mark.skipif(shutil.which("ethtool") is None, reason="ethtool is missing: "
                                   "tools/setup --with capture")
SIZES = [0, 1, 2, 1447, 1448, 1449, 65_535, 65_536, 1_048_573, 1_048_574, 10_000_000]


@pytest.fixture(name="served", params=["tap", "packet", pytest.param("xdp", marks=needs_xdp),
                                       pytest.param("xdp-generic",
                                                    marks=[needs_xdp, needs_ethtool])])
def served_fixture(tmp_path, request):
    """A server with a journal, which is replayed at the end even if the test failed."""
    with ns.fresh_namespace():
        if request.param != "tap":
            ns.make_pair()
        if request.param == "xdp-generic":  # which cannot split merged frames
            ns.run("ethtool", "-K", ns.PEER, "tso", "off", "gso", "off")
        with ns.Server(tmp_path, "--record", str(tmp_path / "journal"),
                       kind=request.param) as server:
            server.journal = tmp_path / "journal"
            yield server


def finish(server):
    """Stops it: the exit code must be 0, and the journal replay octet by octet. Returns the
    summary."""
    code, summary, errors = server.end()
    assert code == 0, errors
    code, text = ns.replay(server.journal)
    assert code == 0, text
    assert "octet by octet" in text
    return summary


def sha(octets):
    """A hash to compare, so that a difference is one line."""
    return hashlib.sha256(octets).hexdigest()


def fetch(connection, path, headers=None, method="GET"):
    """(response, body) of one request on a persistent connection."""
    connection.request(method, path, headers=headers or {})
    response = connection.getresponse()
    return response, response.read()


def http_connection(address=ns.OURS):
    """A client of the standard library on an established connection."""
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.sock = ns.connect(address)
    return connection


@pytest.mark.parametrize("address", [ns.OURS, ns.OURS6])
def test_downloads(served, address):
    connection = http_connection(address)
    for size in SIZES:
        response, body = fetch(connection, f"/bytes/{size}")
        assert response.status == 200
        assert len(body) == size
        assert sha(body) == sha(ns.generated(size)), size
    connection.close()
    summary = finish(served)
    assert summary["connections"] == 1
    assert summary["requests"] == len(SIZES)
    assert summary["body_octets"] == sum(SIZES)
    assert summary["ends"]["finished"] == 1


def test_head_and_range(served):
    connection = http_connection()
    response, body = fetch(connection, "/bytes/12345", method="HEAD")
    assert (response.status, response.getheader("Content-Length"), body) == (200, "12345", b"")
    for begin, end in [(0, 0), (1, 1448), (1_048_570, 1_048_580), (1_999_999, 1_999_999)]:
        response, body = fetch(connection, "/bytes/2000000", {"Range": f"bytes={begin}-{end}"})
        assert response.status == 206
        assert response.getheader("Content-Range") == f"bytes {begin}-{end}/2000000"
        assert sha(body) == sha(ns.generated(end - begin + 1, begin))
    response, _ = fetch(connection, "/bytes/10", {"Range": "bytes=10-"})
    assert (response.status, response.getheader("Content-Range")) == (416, "bytes */10")
    connection.close()
    finish(served)


def test_conditions_and_folders(tmp_path):
    """A folder: validators, a redirect, hidden files; and the replay has the same dates."""
    site = tmp_path / "site"
    (site / "sub").mkdir(parents=True)
    (site / "sub" / "index.html").write_text("inside")
    (site / ".secret").write_text("secret")
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--record", str(tmp_path / "journal"), "--embed",
                       "--folder", str(site)) as server:
            server.journal = tmp_path / "journal"
            connection = http_connection()
            response, _ = fetch(connection, "/sub")
            assert (response.status, response.getheader("Location")) == (301, "/sub/")
            response, body = fetch(connection, "/sub/")
            assert (response.status, body) == (200, b"inside")
            assert response.getheader("Date").endswith(" GMT")
            for name, field in [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")]:
                again, body = fetch(connection, "/sub/", {name: response.getheader(field)})
                assert (again.status, body) == (304, b"")
            for path in ["/.secret", "/%2esecret", "/sub/%2e%2e/.secret", "/sub/index.html%00"]:
                assert fetch(connection, path)[0].status == 404
            connection.close()
            finish(server)


def read_all(sock, expected):
    """Reads this many octets, or to the end."""
    out = bytearray()
    while len(out) < expected:
        more = sock.recv(min(1 << 20, expected - len(out)))
        if not more:
            break
        out += more
    return bytes(out)


def test_pipelined(served):
    sizes = [i * 131 for i in range(300)]
    with ns.connect() as sock:
        sock.sendall(b"".join(ns.get(f"/bytes/{size}") for size in sizes[:-1])
                     + ns.get(f"/bytes/{sizes[-1]}", "Connection: close"))
        stream = sock.makefile("rb")
        for size in sizes:
            assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
            while stream.readline() != b"\r\n":
                pass
            assert sha(stream.read(size)) == sha(ns.generated(size))
        assert stream.read() == b""
        stream.close()
    assert finish(served)["requests"] == len(sizes)


def test_what_is_refused(served):
    for text, status in [(b"GET / HTTP/1.1\r\n\r\n", b"400"), (ns.get("/nothing"), b"404"),
                         (ns.get("/", method="DELETE"), b"405"),
                         (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", b"400"),
                         (b"GET /" + b"x" * 9000, b"414"),
                         (ns.get("/", "X: " + "y" * 20000), b"431"),
                         (b"GET / HTTP/2.0\r\nHost: h\r\n\r\n", b"505"),
                         (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n"
                          + b"z" * 300_000, b"413")]:
        with ns.connect() as sock:
            sock.sendall(text)
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock, 100_000).split(b" ")[1] == status
    assert finish(served)["ends"].get("reset", 0) == 0


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft is missing: "
                    "tools/setup")
@pytest.mark.parametrize("address", [ns.OURS, ns.OURS6])
def test_loss(served, address):
    connection = http_connection(address)
    ns.lose(1, served.device())
    for i in range(8):
        size = 1_000_000 + i
        _, body = fetch(connection, f"/bytes/{size}")
        assert sha(body) == sha(ns.generated(size))
    connection.close()
    gone = ns.lost()
    summary = finish(served)
    assert gone > 0
    assert summary["retransmissions"] > 0


def test_many_at_once(served):
    count, size = 200, 50_000
    expected = sha(ns.generated(size))
    chooser = selectors.DefaultSelector()
    heard = {}
    for _ in range(count):
        sock = ns.connect()
        sock.sendall(ns.get(f"/bytes/{size}", "Connection: close"))
        sock.setblocking(False)
        heard[sock] = bytearray()
        chooser.register(sock, selectors.EVENT_READ)
    open_sockets = count
    while open_sockets:
        ready = chooser.select(timeout=30)
        assert ready, "silence"
        for key, _ in ready:
            more = key.fileobj.recv(1 << 20)
            heard[key.fileobj] += more
            if not more:
                chooser.unregister(key.fileobj)
                open_sockets -= 1
    for sock, octets in heard.items():
        assert sha(octets.split(b"\r\n\r\n", 1)[1]) == expected
        sock.close()
    assert finish(served)["connections"] == count


def test_a_reset_in_the_middle(served):
    for _ in range(20):
        sock = ns.connect()
        sock.sendall(ns.get("/bytes/100000000"))
        read_all(sock, 100_000)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    _, body = fetch(http_connection(), "/bytes/1000")
    assert sha(body) == sha(ns.generated(1000))
    summary = finish(served)
    assert summary["ends"]["reset"] == 20
    assert summary["connections"] == 21


def test_stop_closes_what_is_open(served):
    idle, busy = ns.connect(), ns.connect()
    busy.sendall(ns.get("/bytes/20000000"))
    head = busy.recv(1000)
    served.process.send_signal(signal.SIGTERM)
    body = head + read_all(busy, 1 << 30)
    assert sha(body.split(b"\r\n\r\n", 1)[1]) == sha(ns.generated(20_000_000))
    assert idle.recv(1) == b""
    idle.close()
    busy.close()
    assert finish_stopped(served)["ending"] == "stopped"


def finish_stopped(server):
    """As finish, for a server that was already asked to stop."""
    server.process.send_signal = lambda number: None
    return finish(server)


def test_a_killed_server_leaves_its_journal(served):
    with ns.connect() as sock:
        sock.sendall(ns.get("/bytes/30000000"))
        read_all(sock, 20_000_000)
        code, _, _ = served.end(signal.SIGKILL)
        assert code == -signal.SIGKILL
    code, text = ns.replay(served.journal)
    assert code == 0, text
    assert "octet by octet" in text
    assert "the file is truncated" in text or "no end record" in text


def edited_replay(journal, folder, request):
    """(exit code, output) of a journal's replay after the last digit of the request was changed."""
    octets = bytearray(journal.read_bytes())
    at = octets.index(request) + len(request) - 1
    octets[at] = ord("7")
    edited = folder / "edited"
    edited.write_bytes(octets)
    return ns.replay(edited)


def test_an_edited_journal_is_caught(served, tmp_path):
    _, body = fetch(http_connection(), "/bytes/100000")
    assert len(body) == 100_000
    finish(served)
    code, text = edited_replay(served.journal, tmp_path, b"GET /bytes/100000")
    assert code == 1
    assert "edited: record " in text
    assert "first divergence: frame " in text


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft is missing: tools/setup")
def test_an_edited_journal_of_a_run_with_loss_is_caught(served, tmp_path):
    """Frames are lost in both directions; the journal replays, and does not with one octet
    changed."""
    connection = http_connection()
    ns.lose(3, served.device())
    ns.lose_sent(3, served.device())
    for size in (400_000, 400_001):
        assert sha(fetch(connection, f"/bytes/{size}")[1]) == sha(ns.generated(size))
    connection.close()
    assert ns.lost() > 0
    assert ns.lost("sent") > 0
    summary = finish(served)
    assert summary["retransmissions"] > 0
    code, text = edited_replay(served.journal, tmp_path, b"GET /bytes/400001")
    assert code == 1
    first = int(re.search(r"first divergence: frame ([\d,]+)", text)[1].replace(",", ""))
    # The first answer is as recorded, with its losses; the second one differs already in its head,
    # not only at its end.
    segments = 400_000 // 1448
    assert segments < first < 2 * segments, text


def test_the_interface_goes_down_and_up(served):
    with ns.connect() as sock:
        sock.sendall(ns.get("/bytes/50000000", "Connection: close"))
        begun = read_all(sock, 1_000_000)
        lost = ns.frames_lost()
        ns.run("ip", "link", "set", "dev", ns.NAME, "down")
        if served.kind == "tap":
            ns.until_frames_are_lost(lost)
        else:
            ns.until_spoken_to_nobody(served.journal)
        ns.run("ip", "link", "set", "dev", ns.NAME, "up")
        whole = begun + read_all(sock, 1 << 30)
    assert sha(whole.split(b"\r\n\r\n", 1)[1]) == sha(ns.generated(50_000_000))
    summary = finish(served)
    # What was passed to AF_XDP waits there; that may have been everything.
    assert summary["lost"]["port_link_down"] + summary["frames_blocked"] > 0


def xdp_programs():
    """The number of XDP programs attached to interfaces here."""
    text = subprocess.run(["ip", "-d", "link"], check=True, capture_output=True, text=True).stdout
    return text.count("lockstep_xdp")


@needs_xdp
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_program_is_left_behind(tmp_path, number):
    with ns.fresh_namespace():
        ns.make_pair()
        with ns.Server(tmp_path, kind="xdp") as server:
            assert xdp_programs() == 1
            assert fetch(http_connection(), "/bytes/1000")[1] == ns.generated(1000)
            server.end(number)
            assert xdp_programs() == 0
        with ns.Server(tmp_path, kind="xdp"):  # without a pause
            assert fetch(http_connection(), "/bytes/1000")[1] == ns.generated(1000)


@needs_xdp
def test_one_line_for_what_af_xdp_cannot(tmp_path):
    serve = [str(ns.PROGRAM), "serve", "http", "--iface", ns.NAME, "--address", "10.9.0.7/24",
             "--driver", "xdp", "--record", str(tmp_path / "refused")]
    with ns.fresh_namespace():
        def refused(*command):
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
            assert done.stderr.count("\n") == 1
            assert not (tmp_path / "refused").exists()
            return done.returncode, done.stderr
        code, text = refused(*serve)
        assert (code, "no interface lock0" in text) == (2, True)
        ns.make_pair()
        code, text = refused("setpriv", "--reuid", "65534", "--clear-groups", *serve)
        assert (code, "run as root, or with CAP_BPF" in text) == (3, True)
        code, text = refused("setpriv", "--bounding-set", "-bpf,-sys_admin",
                             "--inh-caps", "-bpf,-sys_admin", *serve)
        assert (code, "no right to make a map of sockets" in text) == (3, True)
        ns.run("ip", "link", "set", "dev", ns.NAME, "mtu", "9000")
        code, text = refused(*serve)
        assert (code, "an MTU of 3822 at most" in text) == (2, True)
        ns.run("ip", "link", "set", "dev", ns.NAME, "mtu", "1500")
        ns.run("ip", "link", "set", "dev", ns.NAME, "down")
        code, text = refused(*serve)
        assert (code, "ip link set dev lock0 up" in text) == (3, True)
        ns.run("ip", "link", "set", "dev", ns.NAME, "up")
        with ns.Server(tmp_path, kind="xdp"):
            code, text = refused(*serve)
            assert (code, "has an XDP program already" in text) == (3, True)
            assert fetch(http_connection(), "/bytes/1000")[1] == ns.generated(1000)
        assert xdp_programs() == 0


@needs_xdp
@needs_ethtool
def test_an_interface_of_many_queues_is_refused():
    with ns.fresh_namespace():
        ns.run("ip", "link", "add", "dev", ns.NAME, "numrxqueues", "2", "type", "veth",
               "peer", "name", ns.PEER)
        ns.run("ip", "link", "set", "dev", ns.NAME, "up")
        ns.run("ethtool", "-L", ns.NAME, "rx", "2")
        done = subprocess.run([str(ns.PROGRAM), "serve", "http", "--iface", ns.NAME, "--driver",
                               "xdp", "--address", "10.9.0.7/24"], capture_output=True, text=True,
                              check=False, timeout=30)
        assert (done.returncode, "`ethtool -L lock0 rx 1`" in done.stderr) == (3, True)


def test_a_deleted_interface_ends_it(served):
    ns.run("ip", "link", "delete", "dev", ns.NAME)
    _, errors = served.process.communicate(timeout=30)
    assert served.process.returncode == 3
    assert errors.decode().startswith(f"lockstep: {ns.NAME} was deleted")
    assert ns.replay(served.journal)[0] == 0


def test_an_interface_that_is_down_and_then_deleted_ends_it(served):
    fetch(http_connection(), "/bytes/1000")
    ns.run("ip", "link", "set", "dev", ns.NAME, "down")
    ns.run("ip", "link", "delete", "dev", ns.NAME)
    served.process.communicate(timeout=30)
    assert served.process.returncode == 3


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is missing")
def test_curl(served, tmp_path):
    out = tmp_path / "out"
    subprocess.run(["curl", "-s", "-o", str(out), f"http://{ns.OURS}/bytes/3000000"], check=True)
    assert sha(out.read_bytes()) == sha(ns.generated(3_000_000))
    finish(served)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is missing: "
                    "tools/setup --with capture")
def test_the_capture_has_good_checksums(served, tmp_path):
    fetch(http_connection(), "/bytes/100000")
    finish(served)
    capture = tmp_path / "out.pcapng"
    assert ns.replay(served.journal, "--pcapng", capture)[0] == 0
    crossing.judge_checksums(capture, "tshark")


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft is missing: tools/setup")
def test_the_capture_of_a_run_with_loss_is_clean(served, tmp_path):
    connection = http_connection()
    ns.lose(1, served.device())
    assert sha(fetch(connection, "/bytes/3000000")[1]) == sha(ns.generated(3_000_000))
    connection.close()
    assert ns.lost() > 0
    finish(served)
    capture = tmp_path / "out.pcapng"
    assert ns.replay(served.journal, "--pcapng", capture)[0] == 0
    done = subprocess.run([str(ns.PROGRAM), "lint", str(capture)], capture_output=True, text=True,
                          check=False, timeout=60)
    assert (done.returncode, "0 certain" in done.stdout) == (0, True), done.stdout


def what_the_kernel_has():
    """Everything of the TAP that a program could change: settings, addresses, offloads, header.
    Link-local addresses, which the kernel creates, are left out."""
    def said(*words):
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout
    link = json.loads(said("ip", "-j", "link", "show", "dev", ns.NAME))[0]
    addresses = said("ip", "-o", "address", "show", "dev", ns.NAME).splitlines()
    header = []
    with open("/dev/net/tun", "r+b", buffering=0) as tun:
        attach, iff_tap, iff_no_pi = 0x400454ca, 0x0002, 0x1000
        fcntl.ioctl(tun, attach, struct.pack("16sH22x", ns.NAME.encode(), iff_tap | iff_no_pi))
        for get in (0x800454d7, 0x800454dd):  # TUNGETVNETHDRSZ, TUNGETVNETLE
            header.append(struct.unpack("i", fcntl.ioctl(tun, get, bytes(4))))
    return (link["mtu"], "UP" in link["flags"], sorted(line[line.index(ns.NAME):]
                                                      for line in addresses
                                                      if "scope link" not in line),
            said("ethtool", "-k", ns.NAME).splitlines(), header)


@needs_ethtool
@pytest.mark.parametrize("state, mtu", [("down", 1500), ("up", 1500), ("up", 1000)])
def test_what_was_there_is_put_back(tmp_path, state, mtu):
    with ns.fresh_namespace():
        ns.run("ip", "tuntap", "add", "dev", ns.NAME, "mode", "tap")
        ns.run("ip", "link", "set", "dev", ns.NAME, "mtu", "1400", "addrgenmode", "none")
        for address in ("10.7.0.1/24", "10.7.0.9/24", "10.9.0.77/24", "2001:db8:7::1/64"):
            ns.run("ip", "address", "add", address, "dev", ns.NAME,
                   *(["nodad"] if ":" in address else []))
        ns.run("ethtool", "-K", ns.NAME, "gso", "off")
        ns.run("ip", "link", "set", "dev", ns.NAME, state)
        before = what_the_kernel_has()
        words = {} if mtu >= 1280 else {"addresses": [f"{ns.OURS}/24"],
                                        "hosts": [f"{ns.KERNEL}/24"]}
        with ns.Server(tmp_path, "--mtu", str(mtu), **words) as server:
            assert fetch(http_connection(), "/bytes/5")[1] == ns.generated(5)
            assert server.end()[0] == 0
        assert what_the_kernel_has() == before


def test_one_line_for_what_cannot_be(tmp_path):
    serve = [str(ns.PROGRAM), "serve", "http", "--tap", ns.NAME, "--address", "10.9.0.2/24"]
    with ns.fresh_namespace():
        def refused(command):
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
            assert done.stderr.count("\n") == 1
            return done.returncode, done.stderr
        code, text = refused(["setpriv", "--reuid", "65534", "--clear-groups", *serve])
        assert (code, "no right" in text) == (3, True)
        ns.run("ip", "address", "add", "10.9.0.2/24", "dev", "lo")
        code, text = refused(serve)
        assert (code, "kernel's own address on lo" in text) == (2, True)
        ns.run("ip", "address", "del", "10.9.0.2/24", "dev", "lo")
        ns.run("ip", "route", "add", "local", "10.9.0.0/24", "dev", "lo")
        code, text = refused(serve)
        assert (code, "local route 10.9.0.0/24 on lo" in text) == (2, True)
        ns.run("ip", "route", "del", "local", "10.9.0.0/24", "dev", "lo")
        code, text = refused(["sh", "-c", 'ulimit -v 1500000; exec "$@"', "sh", *serve,
                              "--shards", "2", "--connections", "1000000"])
        assert (code, "choose fewer --connections" in text) == (3, True)
        code, text = refused([*serve, "--record", "/proc/no/journal"])
        assert (code, "name a file that can be written" in text) == (3, True)
        code, text = refused([*serve[:4], "lo", *serve[5:]])
        assert (code, "not a TAP" in text) == (2, True)
        with ns.Server(tmp_path):
            code, text = refused([*serve[:-1], "10.9.0.3/24"])
            assert (code, "in use" in text) == (3, True)
        links = subprocess.run(["ip", "link"], check=True, capture_output=True, text=True).stdout
        assert ns.NAME not in links
