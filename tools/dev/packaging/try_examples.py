"""The programs of sim/examples/embed, built with an installed Lockstep, and tried against Linux."""

import contextlib
import hashlib
import http.client
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
from dev import namespace as ns  # noqa: E402  pylint: disable=wrong-import-position

EXAMPLES = ROOT / "sim/examples/embed"
OWN_LOOP = pathlib.Path(__file__).resolve().parent / "consumer_loop/main.c"
OCTETS = 1_000_000
DRIVER_SAYS = r"100000 octets arrived as sent in \d+ ms of virtual time, \d+ segments were .+\n"
PAGE = "<!DOCTYPE html><title>Lockstep</title><p>This page came from a stack in this program.\n"
TLS_PAGE = "<!DOCTYPE html><title>Lockstep</title><p>OpenSSL, on a stack in this program.\n"
ON_TAP = ("tap=lock0", f"host={ns.KERNEL}/24", f"host={ns.KERNEL6}/64", f"address={ns.OURS}/24",
          f"address={ns.OURS6}/64")


class Wrong(Exception):
    """What an example did wrong."""


def expect(fine, what):
    if not fine:
        raise Wrong(what)


def c_compiler_of(compiler):
    return compiler.replace("clang++", "clang").replace("g++", "gcc")


def build_by_pkg_config(folder, words_of, compiler, flags):
    """As the page of tools/lib/host does it, with the warnings that users switch on."""
    folder.mkdir()
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    for name, source in (("echo", EXAMPLES / "echo.c"), ("driver", EXAMPLES / "driver.c"),
                         ("own_loop", OWN_LOOP)):
        subprocess.run([c_compiler_of(compiler), *flags.split(), *warnings, "-std=gnu99", source,
                        *words_of("lockstep-host"), "-idirafter", ROOT, "-o", folder / name],
                       check=True)
    words = words_of("lockstep-hw", "lockstep-sockets")
    subprocess.run([compiler, *flags.split(), *warnings, EXAMPLES / "http.cpp", *words,
                    "-o", folder / "http"], check=True)


def try_driver(folder):
    """No root is needed, and each run is the same."""
    said = [subprocess.run([folder / "driver"], check=True, capture_output=True, text=True).stdout
            for _ in range(2)]
    expect(re.fullmatch(DRIVER_SAYS, said[0]) and said[0] == said[1], f"driver printed {said}")


def try_errors(folder):
    done = subprocess.run([folder / "echo", "tap=lock0", "address=10.9.0.2"], check=False,
                          capture_output=True, text=True)
    expect(done.returncode == 2 and done.stderr.startswith("echo: address=10.9.0.2: expected an "),
           f"echo with a wrong option: {done}")


class Running:
    """A server in the present namespace, which has printed its first line."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        self.first = self.process.stdout.readline() if ready else ""
        if not self.first:
            self.process.kill()
            raise Wrong(f"{command} did not begin: {self.process.communicate()}")

    def end(self):
        """Stops it by SIGINT; returns its last words."""
        self.process.send_signal(signal.SIGINT)
        out, errors = self.process.communicate(timeout=60)
        expect(self.process.returncode == 0 and not errors,
               f"{self.process.args}: {self.process.returncode} {errors}")
        return out

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def echoed(address):
    """What comes back of a million octets."""
    data = ns.generated(OCTETS)
    back = bytearray()
    with contextlib.closing(ns.connect(address, 7)) as sock:
        sender = threading.Thread(target=sock.sendall, args=(data,))
        sender.start()
        while len(back) < OCTETS:
            more = sock.recv(1 << 16)
            expect(more, f"the echo ended after {len(back)} octets")
            back += more
        sender.join()
    return bytes(back)


def try_echo(program, words, addresses):
    with Running(program, *words) as server:
        expect(server.first.startswith(f"echo on port 7 of {ns.OURS}/24"), server.first)
        for address in addresses:
            expect(hashlib.sha256(echoed(address)).hexdigest() == ns.hash_of_generated(OCTETS),
                   f"{words}: the echo differs from what was sent to {address}")
        count = len(addresses)
        last = server.end()
        expect(last == f"{count} connections, {count * OCTETS} octets\n", f"{words}: {last}")


def try_http(program):
    with Running(program, "lock0", ns.OURS, ns.KERNEL) as server:
        for path, status, body in (("/", 200, PAGE), ("/other", 404, "There is one page, /\n")):
            connection = http.client.HTTPConnection(ns.OURS, timeout=60)
            connection.sock = ns.connect()
            connection.request("GET", path)
            answer = connection.getresponse()
            found = answer.status, answer.read().decode()
            connection.close()
            expect(found == (status, body), f"http {path}: {found}")
        last = server.end()
        expect(last == "2 requests\n", f"http: {last}")


def why_no_tls(compiler):
    """Why the example over TLS cannot be tried, or None."""
    for program in ("openssl", "curl"):
        if shutil.which(program) is None:
            return f"{program} is missing: tools/setup --with tls"
    found = subprocess.run([compiler, "-x", "c", "-E", "-include", "openssl/ssl.h", "/dev/null"],
                           check=False, capture_output=True)
    return None if found.returncode == 0 else "libssl-dev is missing: tools/setup --with tls"


def try_https(folder, words_of, compiler, flags):
    """OpenSSL over the sockets; curl checks the certificate, and fetches the page twice."""
    program, cert, key = folder / "https", folder / "cert.pem", folder / "key.pem"
    subprocess.run([c_compiler_of(compiler), *flags.split(), "-std=gnu99", "-Wall", "-Wextra",
                    "-Wpedantic", "-Wconversion", "-Werror", EXAMPLES / "https.c",
                    *words_of("lockstep-host"), "-lssl", "-lcrypto", "-o", program], check=True)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=lockstep",
                    "-addext", f"subjectAltName=IP:{ns.OURS}", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    with ns.fresh_namespace(), Running(program, cert, key, *ON_TAP) as server:
        for version in ("--tlsv1.3", "--tls-max=1.2"):
            done = subprocess.run(["curl", "-sS", "--max-time", "60", *version.split("="),
                                   "--cacert", cert, f"https://{ns.OURS}/"], check=False,
                                  capture_output=True, text=True)
            expect(done.stdout == TLS_PAGE and done.returncode == 0, f"https {version}: {done}")
        refused = subprocess.run(["curl", "-sS", "--max-time", "60", f"https://{ns.OURS}/"],
                                 check=False, capture_output=True, text=True)
        expect(refused.returncode == 60, f"curl accepted an unknown certificate: {refused}")
        expect(server.end() == "2 requests\n", "https counted other requests")


def try_servers(folder):
    """On each kind of interface; returns what could not be tried, as texts."""
    why = ns.why_no_namespace()
    if why:
        return [f"SKIPPED, the example servers against Linux: {why}"]
    with ns.fresh_namespace():
        try_echo(folder / "echo", ON_TAP, (ns.OURS, ns.OURS6))
        try_echo(folder / "own_loop", ON_TAP, (ns.OURS, ns.OURS6))
        try_http(folder / "http")
    drivers = ["packet"]
    skipped = []
    if ns.why_no_xdp():
        skipped.append(f"SKIPPED, the echo server on AF_XDP: {ns.why_no_xdp()}")
    else:
        drivers.append("xdp")
    for driver in drivers:
        with ns.fresh_namespace():
            ns.make_pair()
            words = ("iface=lock0", f"driver={driver}", f"address={ns.OURS}/24")
            try_echo(folder / "echo", words, (ns.OURS,))
    return skipped


def try_all(folder, prefix, words_of, build_consumer, compiler, flags):
    """Builds with CMake and with pkg-config, and tries both. Raises Wrong; returns what was
    skipped."""
    build_consumer(EXAMPLES, folder / "cmake", prefix, compiler, flags)
    build_by_pkg_config(folder / "pkg_config", words_of, compiler, flags)
    skipped = []
    for built in (folder / "cmake", folder / "pkg_config"):
        try_driver(built)
        try_errors(built)
    skipped += try_servers(folder / "pkg_config")
    why = ns.why_no_namespace() or why_no_tls(c_compiler_of(compiler))
    if why:
        skipped.append(f"SKIPPED, the example over TLS: {why}")
    else:
        try_https(folder / "pkg_config", words_of, compiler, flags)
    return skipped
