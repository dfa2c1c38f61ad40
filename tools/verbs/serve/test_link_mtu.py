# The MTU of an interface falls while a server runs on it.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import hashlib
import socket
import subprocess

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))

SIZE = 8_000_000


def set_mtu(mtu):
    """Sets the MTU of the server's interface, and of the kernel's at the other end."""
    for name in (ns.NAME, ns.PEER):
        subprocess.run(["ip", "link", "set", name, "mtu", str(mtu)], check=True)


@pytest.mark.parametrize("kind", ["packet", pytest.param("xdp", marks=pytest.mark.skipif(
    ns.why_no_xdp() is not None, reason=str(ns.why_no_xdp())))])
def test_a_download_goes_on(tmp_path, kind):
    journal = tmp_path / "journal"
    with ns.fresh_namespace():
        ns.make_pair()
        with ns.Server(tmp_path, "--record", str(journal), kind=kind) as server:
            with ns.connect() as sock:
                sock.settimeout(20)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)  # the rest must wait
                sock.sendall(ns.get(f"/bytes/{SIZE}", "Connection: close"))
                text = b""
                while len(text) < SIZE // 4:
                    text += sock.recv(4_000)
                set_mtu(1000)
                text += b"".join(iter(lambda: sock.recv(1 << 16), b""))
            body = text.split(b"\r\n\r\n", 1)[1]
            code, _, errors = server.end()
    assert code == 0, errors
    assert hashlib.sha256(body).hexdigest() == hashlib.sha256(ns.generated(SIZE)).hexdigest()
    code, text = ns.replay(journal, "--frames")
    assert code == 0, text[-1000:]
    assert text.count("the link's MTU is 1000") == 1
