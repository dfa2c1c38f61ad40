# Impossible options: one line with the fix, the exit code, and an unchanged machine.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import contextlib
import http.server
import shutil
import subprocess
import threading

import pytest

from dev import namespace as ns

pytestmark = [
    pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not())),
    pytest.mark.skipif(shutil.which("ethtool") is None, reason="ethtool is missing: tools/setup "
                       "--with capture")]
ADDRESS = ["--address", f"{ns.OURS}/24"]
URL = f"http://{ns.KERNEL}:8000/"
NOBODY = ["setpriv", "--reuid", "65534", "--clear-groups"]
# The options that put our programs on an interface: each driver of each verb.
TAP = ["--tap", "lock7", *ADDRESS]
DRIVERS = {"packet": ["--iface", ns.NAME, "--driver", "packet", *ADDRESS],
           "xdp": ["--iface", ns.NAME, "--driver", "xdp", *ADDRESS], "tap": TAP}
VERBS = {"serve": ["serve", "http"], "load": ["load", URL, "--timeout", "1s"]}


def state():
    """State that could be left behind: interfaces, programs on them, offloads, addresses, rules."""
    def shown(*words):
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        # Link-local addresses appear with a delay, and so do the results of duplicate address
        # detection.
        return [line.replace(" tentative", "") for line in done.stdout.splitlines()
                if "valid_lft" not in line and "inet6 fe80:" not in line]
    return (shown("ip", "-d", "link"), shown("ip", "address"), shown("ethtool", "-k", ns.NAME),
            shown("ethtool", "-k", ns.PEER), shown("nft", "list", "ruleset"), shown("tc", "qdisc"))


@pytest.fixture(name="pair")
def pair_fixture():
    """A veth pair in a namespace, whose state must be unchanged after the test."""
    with ns.fresh_namespace():
        ns.make_pair()
        ns.until_up(ns.NAME, ns.PEER)
        before = state()
        yield
        assert state() == before


def refused(code, said, *words, before=()):
    """It ends with this code and exactly one line, which contains this."""
    done = subprocess.run([*before, str(ns.PROGRAM), *map(str, words)], capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == code, (words, done)
    assert said in done.stderr and done.stderr.count("\n") == 1, (words, done)
    assert done.stderr.startswith("lockstep: ") and done.stdout == "", (words, done)


def may_be(driver):
    """Skips if that driver is not available."""
    if driver == "xdp" and ns.why_no_xdp():
        pytest.skip(ns.why_no_xdp())


@pytest.mark.parametrize("driver", ["packet", "xdp"])
@pytest.mark.parametrize("verb", VERBS)
def test_no_such_interface(pair, verb, driver):
    refused(2, "no interface nope0", *VERBS[verb], "--iface", "nope0", "--driver", driver, *ADDRESS)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is missing")
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("verb", VERBS)
def test_no_rights(pair, verb, driver):
    may_be(driver)
    refused(3, "right" if driver != "xdp" else "run as root", *VERBS[verb], *DRIVERS[driver],
            before=NOBODY)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("verb", VERBS)
def test_the_kernel_has_the_address(pair, verb, driver):
    ns.run("ip", "address", "add", f"{ns.OURS}/32", "dev", "lo")
    refused(2, "kernel's own address on lo", *VERBS[verb], *DRIVERS[driver])
    ns.run("ip", "address", "del", f"{ns.OURS}/32", "dev", "lo")


@pytest.mark.parametrize("verb", VERBS)
def test_the_place_is_taken(pair, tmp_path, verb):
    """A TAP, or an interface's queue, that another process uses."""
    with ns.Server(tmp_path, kind="packet"):
        pass
    ns.run("ip", "tuntap", "add", "dev", "lock7", "mode", "tap")
    command = [str(ns.PROGRAM), "serve", "http", *TAP]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline().startswith(b"serving")
        refused(3, "in use", *VERBS[verb], "--tap", "lock7", "--address", "10.9.0.3/24")
        holder.kill()
    ns.run("ip", "link", "del", "dev", "lock7")
    if not ns.why_no_xdp():
        with ns.Server(tmp_path, kind="xdp"):
            refused(3, "has an XDP program already", *VERBS[verb], *DRIVERS["xdp"])


def test_the_port_is_taken(pair):
    """The server's own port is used by the metrics; the kernel's ports are on other addresses."""
    refused(2, "--port uses this port", "serve", "http", *DRIVERS["packet"], "--metrics",
            f"{ns.OURS}:80")
    for port in ("0", "65536", "http"):
        refused(2, "--port", "serve", "http", *DRIVERS["packet"], "--port", port)


def test_the_folder(pair, tmp_path):
    """A folder that does not exist, is not a folder, or contains an unreadable file."""
    serve = ["serve", "http", *DRIVERS["packet"]]
    refused(2, "nothing", *serve, "--folder", tmp_path / "nothing")
    site = tmp_path / "site"
    site.mkdir()
    (site / "page").write_text("x", encoding="ascii")
    # Root can read everything, except without these capabilities.
    without = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps",
               "-dac_override,-dac_read_search"]
    for path, said in ((site / "page", "page: cannot be read"), (site, "that can be read")):
        path.chmod(0)
        ns.run("chown", "65534", str(path))
        refused(2, said, *serve, "--folder", site, before=without)


@pytest.mark.parametrize("words", [
    ["--rate", "0"], ["--rate", "10000001"], ["--rate", "fast"], ["--connect-rate", "0"],
    ["--duration", "soon"], ["--connections", "0"], ["--upload", "-1"]], ids=" ".join)
def test_a_rate_that_cannot_be(pair, words):
    refused(2, words[0], "load", URL, *DRIVERS["packet"], *words)


def test_a_rate_that_cannot_be_kept(pair):
    """Requests that the target cannot keep up with are counted as unsent, in a report."""
    class Slow(http.server.BaseHTTPRequestHandler):
        """Serves one connection at a time."""
        def log_message(self, *_):
            pass

        def do_GET(self):  # pylint: disable=invalid-name
            """Sends a correct empty answer."""
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
    with http.server.HTTPServer((ns.KERNEL, 8000), Slow) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            done = subprocess.run(
                [str(ns.PROGRAM), "load", URL, *DRIVERS["packet"], "--rate", "100000",
                 "--duration", "1s", "--timeout", "1s", "--fail-if", "errors>0"],
                capture_output=True, text=True, check=False, timeout=60)
        finally:
            server.shutdown()
            thread.join()
    assert done.returncode == 1 and "unsent" in done.stdout, done


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_silent_target(pair, driver):
    """An unused address; a host that does not answer; a host that refuses."""
    may_be(driver)
    how = ["--timeout", "1s", *DRIVERS[driver]]
    refused(3, "no connection was established", "load", *how, "http://10.9.0.77/")
    if driver != "tap":
        refused(3, "connection refused", "load", URL, *how)
        with dropping():
            refused(3, "no connection was established", "load", URL, *how)


@contextlib.contextmanager
def dropping():
    """The kernel drops all that arrives, without an answer."""
    ns.run("nft", "add table inet t; add chain inet t c { type filter hook input priority 0; }; "
                  "add rule inet t c meta l4proto tcp drop")
    yield
    ns.run("nft", "delete table inet t")
