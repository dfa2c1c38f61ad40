# What a running server may do: its user, its capabilities, and the system calls that it makes.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import os
import pwd
import re
import shutil
import signal
import subprocess

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing: "
                                  "tools/setup --with capture")
LIST = ns.ROOT / "tools/base/process/served_calls.cpp"
# Allowed, although the runs below need not make them.
RESERVED = {
    "brk", "mremap", "madvise", "munmap", "mprotect", "futex", "sched_yield", "clone", "clone3",
    "clock_gettime", "clock_nanosleep", "getrandom", "restart_syscall",  # the C library's choice
    "gettid", "tgkill", "getpid",  # a failed CHECK
    "sched_setaffinity", "sched_getaffinity",  # --cpus
    "recvmsg", "recvmmsg", "sendmmsg", "sendmsg",  # drivers, by what the kernel offers
    "renameat", "renameat2", "rename", "link", "unlink", "unlinkat", "linkat", "lseek",
    "ftruncate", "fcntl",  # files, by what the file system offers
    "poll", "ppoll", "exit", "setsockopt", "getsockopt", "getsockname", "bind", "eventfd2",
    "newfstatat", "fstat", "getdents64", "prlimit64", "writev", "rt_sigprocmask",
    "set_robust_list", "rseq"}


def listed():
    """The names in the list of the program."""
    return set(re.findall(r"LOCKSTEP_CALL\((\w+)\),", LIST.read_text(encoding="utf-8")))


def status_of(pid):
    """Fields of /proc/PID/status."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def calls_after_the_filter(trace):
    """(names, lines that were refused) of the calls that follow the call of seccomp(2)."""
    names, refused, on = set(), [], False
    for line in trace.read_text(encoding="utf-8", errors="replace").splitlines():
        found = re.match(r"\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)", line)
        if on and found:
            names.add(found[1])
            if "EPERM" in line:
                refused.append(line)
        on = on or ("seccomp(" in line and "= 0" in line)
    assert on, "no seccomp(2)"
    return names, refused


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
def test_another_user(tmp_path, seccomp):
    """With --user the server has no rights, and still writes its files."""
    nobody = pwd.getpwnam("nobody")
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to("/tmp") and folder != folder.parent and str(folder) != "/tmp":
            folder.chmod(folder.stat().st_mode | 0o011)
    with ns.fresh_namespace():
        with ns.Server(home, "--user", "nobody", "--seccomp", seccomp, "--access-log",
                       str(home / "access.log")) as server:
            status = status_of(server.process.pid)
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


@pytest.mark.parametrize("user, said", [("no-such-user", "no such user"),
                                        ("nobody:no-such-group", "no such group"),
                                        ("root", "it is root")])
def test_wrong_user(user, said):
    done = subprocess.run([str(ns.PROGRAM), "serve", "http", "--tap", "x", "--address",
                           "10.0.0.1/24", "--user", user], capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing")
def test_the_unit_is_tight():
    unit = ns.ROOT / "tools/verbs/serve/systemd/lockstep.service"
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20",
                           "--no-pager", str(unit)], capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
