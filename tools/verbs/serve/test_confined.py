# What a running server may do: its user, its capabilities, and the system calls that it makes.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import functools
import os
import pwd
import re
import shutil
import signal
import subprocess

import pytest

from dev import namespace as ns
from verbs.serve.server_kit import as_nobody, folder_of_nobody, place, skip_without

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
    octets = ns.PROGRAM.read_bytes()
    return b"__asan_init" not in octets and b"__tsan_init" not in octets


needs_filter = pytest.mark.skipif(ns.PROGRAM.exists() and not can_confine(), reason=UNCONFINED)


def listed():
    """The names in the list of the program."""
    return set(re.findall(r"LOCKSTEP_CALL\((\w+)\),", LIST.read_text(encoding="utf-8")))


def status_of_threads(pid):
    """Fields of /proc/PID/task/*/status, by thread, the oldest first."""
    out = []
    for task in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
            out.append(dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line))
    return out


@pytest.fixture(name="home")
def home_of_nobody():
    with folder_of_nobody() as folder:
        yield folder


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


def serve_all(folder, kind):
    """The calls of a server with all that writes or answers: (names, lines that were refused)."""
    trace, control = folder / f"{kind}.trace", folder / f"{kind}.control"
    with ns.fresh_namespace():
        server = Traced(trace, [
            "serve", "http", *place(kind), "--metrics", f"{ns.OURS}:9100", "--control",
            str(control), "--access-log", str(folder / f"{kind}.log"), "--pcapng",
            str(folder / f"{kind}.pcapng"), "--pcapng-size", "64KiB", "--json",
            str(folder / f"{kind}.json")])
        fetch()
        fetch(port=9100, path="/metrics")
        done = subprocess.run([str(ns.PROGRAM), "ss", "--control", str(control)], check=False,
                              capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        server.signal(signal.SIGHUP)
        fetch()
        server.end()
    return calls_after_the_filter(trace)


def record(folder):
    """The calls of a server that records a journal with two shards."""
    with ns.fresh_namespace():
        server = Traced(folder / "trace", ["serve", "http", *place("tap"), "--shards", "2",
                                           "--record", str(folder / "journal"), "--control",
                                           "none"])
        fetch()
        server.end()
    return calls_after_the_filter(folder / "trace")


@pytest.fixture(name="calls_of", scope="module")
def calls_of_servers(tmp_path_factory):
    """The calls of a server on a driver of this kind, or of one with a "journal"."""
    @functools.cache
    def of(kind):
        folder = tmp_path_factory.mktemp(kind)
        return record(folder) if kind == "journal" else serve_all(folder, kind)
    return of


@needs_strace
@needs_filter
@pytest.mark.parametrize("kind", ["tap", "packet", "xdp", "journal"])
def test_no_call_of_a_server_is_refused(calls_of, kind):
    skip_without(kind)
    used, refused = calls_of(kind)
    assert not refused, refused[:5]
    assert not used - listed()


@needs_strace
@needs_filter
def test_no_call_is_allowed_without_need(calls_of):
    used = set().union(*(calls_of(kind)[0] for kind in ("tap", "packet", "journal")))
    assert not listed() - used - RESERVED


@pytest.mark.parametrize("seccomp", ["on", "off"])
def test_another_user(home, seccomp):
    """With --user the server has no rights, and still writes its files."""
    nobody = pwd.getpwnam("nobody")
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
def test_ambient_capabilities_are_given_up(home):
    """As with the unit: no thread of a server of another user keeps what systemd gave it."""
    with ns.fresh_namespace():
        with subprocess.Popen(
                [*as_nobody("CAP_NET_RAW"), home / "lockstep", "serve", "http", *place("packet"),
                 "--shards", "2", "--access-log", str(home / "access.log"), "--pcapng",
                 str(home / "run.pcapng"), "--control", str(home / "control")],
                stdout=subprocess.PIPE) as server:
            assert server.stdout.readline().startswith(b"serving ")
            threads = status_of_threads(server.pid)
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)
    assert server.returncode == 0
    if b"__tsan_init" in ns.PROGRAM.read_bytes():
        del threads[1]  # of the sanitizer, which starts it before main()
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
