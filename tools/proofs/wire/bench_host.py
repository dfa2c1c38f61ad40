# The place for measuring a load and a server: a veth pair whose ends have a processor each.
"""Our load on one end, a server of ours or of the kernel's on the other, in a namespace.

A kernel thread (threaded NAPI) receives each end's frames, and is pinned to that end's processor.
So the cost of a server is the run time of its process and of that thread: the kernel's TCP counts
for the kernel's server, as our TCP does for ours."""
import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import statistics
import subprocess
import time

from dev import namespace as ns

CLIENT, SERVER = "wire0", "wire1"
HERE, THERE = "10.9.0.2", "10.9.0.1"
SETTLE_PATIENCE = 60
# The nice value of what is measured: if it waited long for other work, rings would overflow, and
# retransmissions would be measured.
HASTE = int(os.environ.get("LOCKSTEP_NICE", "-15"))


class Refused(Exception):
    """One line for the user, and exit code 3."""


def why_not(*programs):
    """Why nothing can be measured here, or None."""
    for name in programs:
        if not (shutil.which(str(name)) or shutil.which(f"/usr/sbin/{name}")):
            return f"{name} is missing: tools/setup --with load,capture, and build preset release"
    return ns.why_not() or ns.why_no_xdp()


def sides():
    """(processors of the client, of the server): one each, if there are two."""
    allowed = sorted(os.sched_getaffinity(0))
    return {allowed[0]}, {allowed[-1]}


def start(command, cpus):
    """Starts a program in this namespace on these processors, with higher priority if permitted."""
    where = ",".join(str(each) for each in cpus)
    process = subprocess.Popen(["nice", "-n", str(HASTE), "taskset", "-c", where,
                                *(str(word) for word in command)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    if HASTE >= 0:
        return process
    with contextlib.suppress(OSError):  # fails if the kernel shares processors between sessions
        pathlib.Path(f"/proc/{process.pid}/autogroup").write_text(str(HASTE), encoding="ascii")
    return process


# Such threads of other pairs, which existed before ours or are about to end.
strangers = set()


def set_up_wire(mtu, offloads):
    """Brings the pair up, with receiving kernel threads. Offloads: of the server's end."""
    strangers.update(receivers(CLIENT) + receivers(SERVER))
    ns.run("ip", "link", "add", "dev", CLIENT, "mtu", str(mtu), "type", "veth", "peer", "name",
           SERVER, "mtu", str(mtu))
    for name in (CLIENT, SERVER):
        if mtu >= 1280:  # otherwise the interface has no IPv6
            ns.run("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
        ns.run("ethtool", "-K", name, "gro", "on")
        ns.run("ip", "link", "set", "dev", name, "up")
    # If an end can send merged frames, veth does not use the other end's thread.
    ns.run("ethtool", "-K", CLIENT, "tso", "off")
    if not offloads:
        ns.run("ethtool", "-K", SERVER, "tx", "off", "tso", "off", "gso", "off")
    # /sys shows the interfaces of the namespace in which it was mounted.
    ns.run("unshare", "--mount", "sh", "-c",
           f"mount -t sysfs none /sys && echo 1 >/sys/class/net/{CLIENT}/threaded && "
           f"echo 1 >/sys/class/net/{SERVER}/threaded")


def receivers(name):
    """The kernel threads that receive frames on the interface."""
    found = []
    for comm in pathlib.Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if comm.read_text(encoding="ascii").startswith(f"napi/{name}"):
                found.append(int(comm.parent.name))
    return [each for each in found if each not in strangers]


def ran_ns(process):
    """The run time of all threads of a process."""
    total = 0
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(OSError):
            total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return total


def memory_of(process):
    """The maximum resident memory of a process in octets; 0 for a kernel thread."""
    status = pathlib.Path(f"/proc/{process}/status").read_text(encoding="ascii")
    most = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(most[1]) * 1024 if most else 0


class Served:
    """A running server, and its cost so far."""

    def __init__(self, process, driver, port, end=SERVER):
        self.process = process
        self.driver = driver    # of the load that uses it
        self.port = port
        self.end = end          # the interface of the load if it is not the veth pair

    def processes(self):
        """The server and its children, and the thread that receives its frames."""
        out, seen = [], [self.process.pid]
        while seen:
            out.append(seen.pop())
            with contextlib.suppress(OSError):
                children = pathlib.Path(f"/proc/{out[-1]}/task/{out[-1]}/children")
                seen += [int(text) for text in children.read_text(encoding="ascii").split()]
        return out + receivers(SERVER)

    def cost_ns(self):
        """Processor time so far, including receiving in the kernel."""
        return sum(ran_ns(each) for each in self.processes())

    def memory(self):
        """The maximum memory of its processes, added up."""
        return sum(memory_of(each) for each in self.processes())


def hold_receivers():
    """Pins each end's receiving thread to the processor of that end."""
    for name, cpus in zip((CLIENT, SERVER), sides()):
        for each in receivers(name):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(each, cpus)
                os.setpriority(os.PRIO_PROCESS, each, min(0, HASTE))


def until_it_speaks(process, word):
    """Waits for the first line of a server of ours."""
    ready, _, _ = select.select([process.stdout], [], [], SETTLE_PATIENCE)
    first = process.stdout.readline() if ready else b""
    if not first.startswith(word):
        process.kill()
        _, errors = process.communicate()
        raise Refused(f"no server: {first.decode()}{errors.decode().strip()}")


@contextlib.contextmanager
def ended(process):
    """Stops it at the end of the block, by a signal and then by force."""
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@contextlib.contextmanager
def ours(kind, what="http", words=(), mtu=1500):
    """Runs `lockstep serve`: kind is xdp, packet or tap."""
    where = (["--tap", SERVER, "--mtu", mtu] if kind == "tap"
             else ["--iface", SERVER, "--driver", kind])
    command = [ns.PROGRAM, "serve", what, *where, "--address", f"{THERE}/24", *words]
    with ended(start(command, sides()[1])) as process:
        until_it_speaks(process, b"serving ")
        yield Served(process, "packet" if kind == "tap" else "xdp", None,
                     SERVER if kind == "tap" else CLIENT)


def until_port_is_taken(port):
    """Waits until a kernel socket listens there."""
    end = time.monotonic() + SETTLE_PATIENCE
    wanted = f":{port:04X} "
    while True:
        rows = pathlib.Path("/proc/thread-self/net/tcp").read_text(encoding="ascii").splitlines()
        if any(row.split()[3] == "0A" and wanted in row.split()[1] + " " for row in rows[1:]):
            return
        if time.monotonic() > end:
            raise Refused(f"nothing listens on port {port}")
        time.sleep(0.05)


@contextlib.contextmanager
def of_the_kernel(command, port, driver="xdp"):
    """Runs a program on the kernel's sockets at the server's end."""
    ns.run("ip", "address", "add", f"{THERE}/24", "dev", SERVER)
    with ended(start(command, sides()[1])) as process:
        until_port_is_taken(port)
        yield Served(process, driver, port, CLIENT)


def nginx_command(folder, port, site):
    """One worker, no log."""
    folder = pathlib.Path(folder) / "nginx"
    folder.mkdir(exist_ok=True)
    temporary = "".join(f"{name}_temp_path {folder}/{name};\n" for name in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    settings = folder / "nginx.conf"
    settings.write_text(f"""
daemon off; master_process off; worker_processes 1; pid {folder}/pid; user root;
error_log {folder}/error.log;
events {{ worker_connections 16384; }}
http {{ access_log off; keepalive_requests 100000000; sendfile on; tcp_nopush on;
open_file_cache max=2000 inactive=1h; open_file_cache_valid 1h; {temporary}
server {{ listen {port} backlog=16384 reuseport; root {site}; }} }}
""", encoding="ascii")
    return [shutil.which("nginx") or "/usr/sbin/nginx", "-p", folder, "-c", settings]


def load(served, folder, url, words, patience=300):
    """The JSON of one run from the client's end."""
    out = pathlib.Path(folder) / "load.json"
    out.unlink(missing_ok=True)
    addresses = [] if "--address" in words else ["--address", f"{HERE}/24"]
    command = [ns.PROGRAM, "load", url, *words, "--iface", served.end, "--driver", served.driver,
               *addresses, "--json", out]
    done = start(command, sides()[0])
    try:
        settled = time.monotonic() + 0.2
        while time.monotonic() < settled:  # its receiving thread is created with its socket
            hold_receivers()
            time.sleep(0.02)
        said, errors = done.communicate(timeout=patience)
    finally:
        done.kill()
        done.wait()
    if not out.exists():
        raise Refused(f"the load failed: {(said + errors).decode().strip()[-300:]}")
    return json.loads(out.read_text(encoding="utf-8"))


def measured(served, folder, url, words, patience=300):
    """A run, with `server_ns` and `server_memory`: the cost of the server in it."""
    hold_receivers()
    before = served.cost_ns()
    result = load(served, folder, url, words, patience)
    result["server_ns"] = served.cost_ns() - before
    result["server_memory"] = served.memory()
    return result


def per_processor_second(result):
    """Requests answered per second of the server's processor time."""
    return result["answered"] * 1_000_000_000 / max(1, result["server_ns"])


def spread(values):
    """(median, least, most)"""
    return statistics.median(values), min(values), max(values)
