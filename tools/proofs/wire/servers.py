# Servers of others in the present namespace, and a load of ours that uses them.
"""All configuration is in a folder of the test."""
import contextlib
import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import threading
import time

from dev import namespace as ns


def run_load(folder, *words, kind="tap", patience=120,
             addresses=(f"{ns.OURS}/24", f"{ns.OURS6}/64"),
             hosts=(f"{ns.KERNEL}/24", f"{ns.KERNEL6}/64")):
    """(exit code, the JSON or None, the output) of a load from OURS."""
    command = load_command(folder, *words, kind=kind, addresses=addresses, hosts=hosts)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience)
    return done.returncode, load_result(folder), done.stdout + done.stderr


def load_result(folder):
    """The JSON of the folder's last load, or None."""
    out = folder / "load.json"
    return json.loads(out.read_text(encoding="utf-8")) if out.exists() else None


def load_command(folder, *words, kind="tap", addresses=(), hosts=()):
    """The command of a load from OURS, whose JSON will be in the folder."""
    out = folder / "load.json"
    out.unlink(missing_ok=True)
    where = ["--tap", ns.NAME] if kind == "tap" else ["--iface", ns.NAME, "--driver", kind]
    for address in addresses:
        where += ["--address", address]
    for host in hosts if kind == "tap" else ():
        where += ["--host", host]
    return [str(ns.PROGRAM), "load", *map(str, words), *where, "--json", str(out)]


def until_it_listens(port, patience=30):
    """Waits until the kernel accepts connections there."""
    end = time.monotonic() + patience
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            assert time.monotonic() < end, f"nothing listens on port {port}"
            time.sleep(0.05)


def until_it_asks(process, patience=30):
    """Waits until a load has its TAP, and the kernel has received frames from it."""
    heard = pathlib.Path("/proc/thread-self/net/dev")
    end = time.monotonic() + patience
    while True:
        rows = [line.split() for line in heard.read_text(encoding="ascii").splitlines()]
        if any(row[0] == f"{ns.NAME}:" and int(row[2]) > 100 for row in rows):
            return
        assert process.poll() is None and time.monotonic() < end, rows
        time.sleep(0.05)


@contextlib.contextmanager
def program(port, *words):
    """A server that runs until the end of the block."""
    with subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as process:
        try:
            until_it_listens(port)
            yield process
        finally:
            process.kill()


def make_site(folder):
    """Files like /bytes/N: the pattern's first N octets."""
    site = folder / "site" / "bytes"
    site.mkdir(parents=True)
    for size in (0, 1, 64, 1460, 10_000, 200_000, 1_500_000):
        (site / str(size)).write_bytes(ns.generated(size))
    return site.parent


@contextlib.contextmanager
def nginx(folder, site, port):
    """One worker, no log."""
    (folder / "nginx").mkdir()
    settings = folder / "nginx.conf"
    temporary = "".join(f"{name}_temp_path {folder}/nginx/{name};\n" for name in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    settings.write_text(f"""
daemon off; master_process off; worker_processes 1; pid {folder}/nginx/pid;
error_log {folder}/nginx/error.log;
events {{ worker_connections 16384; }}
http {{ access_log off; keepalive_requests 1000000; {temporary}
server {{ listen {port} backlog=4096; listen [::]:{port} backlog=4096; root {site}; }} }}
""", encoding="ascii")
    with program(port, shutil.which("nginx") or "/usr/sbin/nginx", "-p", folder, "-c",
                 settings) as process:
        yield process


@contextlib.contextmanager
def lighttpd(folder, site, port):
    """One process, no module."""
    settings = folder / "lighttpd.conf"
    settings.write_text(f"""
server.document-root = "{site}"
server.port = {port}
server.max-keep-alive-requests = 1000000
server.max-fds = 16384
server.listen-backlog = 4096
""", encoding="ascii")
    with program(port, shutil.which("lighttpd") or "/usr/sbin/lighttpd", "-D", "-f",
                 settings) as process:
        yield process


@contextlib.contextmanager
def memcached(port):
    """With its default configuration, and room for many connections."""
    with program(port, shutil.which("memcached"), "-u", "root", "-l", "0.0.0.0", "-p", port, "-c",
                 16384) as process:
        yield process


@contextlib.contextmanager
def python(_folder, site, port):
    """The standard library's server: a thread per connection."""
    class Handler(http.server.SimpleHTTPRequestHandler):
        """Logs nothing, and keeps connections open."""
        protocol_version = "HTTP/1.1"

        def __init__(self, *words):
            super().__init__(*words, directory=str(site))

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("0.0.0.0", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def why_not(name):
    """Why that server cannot be tested, or None."""
    known = name == "python" or shutil.which(name) or shutil.which(f"/usr/sbin/{name}")
    return None if known else f"{name} is missing: tools/setup --with load"
