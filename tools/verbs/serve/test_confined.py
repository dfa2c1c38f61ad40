# What a running server may do: its user, its capabilities, and the system calls that it makes.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing: "
                                  "tools/setup --with capture")
UNCONFINED = "sanitizers make more system calls, so such a build is not confined"
LIST = ns.ROOT / "tools/base/process/served_calls.cpp"
# Allowed, although the runs below do not make them, or need not.
RESERVED = {
    # The C library's choice: how memory grows, threads start and wait.
    "brk", "madvise", "mremap", "sched_yield", "clone", "clock_nanosleep", "getrandom",
    "restart_syscall", "fstat", "writev",
    "gettid", "tgkill",  # a failed CHECK
    "sched_setaffinity", "sched_getaffinity",  # --cpus
    # What asks for MTU and routes when an interface changes.
    "bind", "getsockname", "setsockopt", "sendmsg", "recvmsg",
    # How a file gets its name at the end, by what the file system offers.
    "link", "renameat", "renameat2", "unlinkat"}


def can_confine():
    """Whether this build has the filter."""
    return b"__asan_init" not in ns.PROGRAM.read_bytes()


def listed():
    """The names in the list of the program."""
    return set(re.findall(r"LOCKSTEP_CALL\((\w+)\),", LIST.read_text(encoding="utf-8")))


def status_of_threads(pid):
    """Fields of /proc/PID/task/*/status, by thread."""
    out = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
            out.append(dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line))
    return out


@pytest.fixture
def folder_of_nobody():
    """A folder that every user can reach, which belongs to nobody."""
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        os.chown(name, nobody.pw_uid, nobody.pw_gid)
        yield pathlib.Path(name)


def calls_after_the_filter(trace):
    """(names, lines that were refused) of the calls that follow the call of seccomp(2)."""
    names, refused, on = set(), [], False
    for line in trace.read_text(encoding="utf-8", errors="replace").splitlines():
        found = re.match(r"\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)", line)
        if on and found:
            names.add(found[1])
            if "EPERM" in line:
                refused.append(line)
        # Other threads may be traced between its begin and its end.
        on = on or re.search(r"seccomp(?:\(| resumed).*= 0", line) is not None
    assert on, "no seccomp(2)"
    return names, refused


def test_other_threads_may_call_while_the_filter_is_set(tmp_path):
    """strace then shows the call in two lines."""
    trace = tmp_path / "trace"
    trace.write_text("7 seccomp(SECCOMP_SET_MODE_FILTER, 1, {len=9} <unfinished ...>\n"
                     "8 futex(0x5 <unfinished ...>\n"
                     "7 <... seccomp resumed>)            = 0\n"
                     "8 <... futex resumed>)              = 0\n"
                     "7 bind(3) = -1 EPERM (Operation not permitted)\n")
    assert calls_after_the_filter(trace) == ({"futex", "bind"}, [
        "7 bind(3) = -1 EPERM (Operation not permitted)"])


class Traced:
    """A server under strace."""

    def __init__(self, trace, words):
        self.process = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", str(trace), str(ns.PROGRAM), *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = self.process.stdout.readline()
        assert first.startswith("serving "), (first, self.process.communicate())

    def signal(self, number):
        """Sends a signal to the server, the only child of strace."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as file:
            os.kill(int(file.read().split()[0]), number)

    def end(self):
        """Stops it; the exit code must be 0."""
        self.signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, errors


def fetch(port=80, path="/bytes/100000"):
    """One request on a connection of its own."""
    with ns.connect(port=port) as sock:
        sock.sendall(ns.get(path, "Connection: close"))
        while sock.recv(65_536):
            pass


def place(kind):
    """The words for an interface that is driven by `kind`."""
    if kind == "tap":
        return ["--tap", ns.NAME, "--address", f"{ns.OURS}/24", "--host", f"{ns.KERNEL}/24"]
    ns.make_pair()
    return ["--iface", ns.NAME, "--driver", kind, "--address", f"{ns.OURS}/24"]


KINDS = ["tap", "packet"] + (["xdp"] if ns.why_not() is None and ns.why_no_xdp() is None else [])


@needs_strace
def test_the_list_is_what_servers_call(tmp_path):
    """No call of a server is refused, and none is allowed without need."""
    if not can_confine():
        pytest.skip(UNCONFINED)
    used, refused = set(), []

    def trace(name, words, work=lambda server: None):
        server = Traced(tmp_path / name, words)
        fetch()
        work(server)
        server.end()
        names, lines = calls_after_the_filter(tmp_path / name)
        used.update(names)
        refused.extend(lines)

    def look_around(server):
        fetch(port=9100, path="/metrics")
        done = subprocess.run([str(ns.PROGRAM), "ss", "--control", str(tmp_path / "control")],
                              check=False, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        server.signal(signal.SIGHUP)
        fetch()

    for kind in KINDS:
        with ns.fresh_namespace():
            trace(f"{kind}.trace", [
                "serve", "http", *place(kind), "--metrics", f"{ns.OURS}:9100", "--control",
                str(tmp_path / "control"), "--access-log", str(tmp_path / f"{kind}.log"),
                "--pcapng", str(tmp_path / f"{kind}.pcapng"), "--pcapng-size", "64KiB", "--json",
                str(tmp_path / f"{kind}.json")], look_around)
    with ns.fresh_namespace():
        trace("journal.trace", ["serve", "http", *place("tap"), "--shards", "2", "--record",
                                str(tmp_path / "journal"), "--control", "none"])
    assert not refused, refused[:5]
    assert not used - listed()
    assert not listed() - used - RESERVED, "allowed without need"


@pytest.mark.parametrize("seccomp", ["on", "off"])
def test_another_user(folder_of_nobody, seccomp):
    """With --user the server has no rights, and still writes its files."""
    nobody, home = pwd.getpwnam("nobody"), folder_of_nobody
    if seccomp == "on" and not can_confine():
        pytest.skip(UNCONFINED)
    with ns.fresh_namespace():
        with ns.Server(home, "--user", "nobody", "--seccomp", seccomp, "--access-log",
                       str(home / "access.log")) as server:
            for status in status_of_threads(server.process.pid):
                assert status["Uid"].split() == [str(nobody.pw_uid)] * 4
                assert status["Groups"].strip() == ""
                assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
                assert status["Seccomp"] == ("2" if seccomp == "on" else "0")
                assert status["NoNewPrivs"] == ("1" if seccomp == "on" else "0")
            fetch()
            code, summary, errors = server.end()
    assert (code, errors) == (0, "")
    assert summary["requests"] == 1
    assert "GET /bytes/100000" in (home / "access.log").read_text()


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is missing: util-linux")
def test_ambient_capabilities_are_given_up(folder_of_nobody):
    """As with the unit: no thread of a server of another user keeps what systemd gave it."""
    program = shutil.copy(ns.PROGRAM, folder_of_nobody)  # others may not reach the build
    with ns.fresh_namespace():
        with subprocess.Popen(
                ["setpriv", "--reuid", "nobody", "--clear-groups", "--inh-caps", "+net_raw",
                 "--ambient-caps", "+net_raw", program, "serve", "http", *place("packet"),
                 "--shards", "2", "--access-log", str(folder_of_nobody / "access.log"), "--pcapng",
                 str(folder_of_nobody / "run.pcapng"), "--control",
                 str(folder_of_nobody / "control")], stdout=subprocess.PIPE) as server:
            assert server.stdout.readline().startswith(b"serving ")
            threads = status_of_threads(server.pid)
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)
    assert server.returncode == 0
    assert len(threads) == 6  # shards, their starter, access log, capture, control
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert [int(each[name], 16) for each in threads] == [0] * len(threads), name


@pytest.mark.parametrize("user, said", [("no-such-user", "no such user"),
                                        ("nobody:no-such-group", "no such group"),
                                        ("root", "it is root")])
def test_wrong_user(user, said):
    done = subprocess.run([str(ns.PROGRAM), "serve", "http", "--tap", "x", "--address",
                           "10.0.0.1/24", "--user", user], capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr
