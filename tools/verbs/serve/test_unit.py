# The unit for systemd: a server needs the rights that it names, and no others.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import os
import re
import shutil
import signal
import subprocess

import pytest

from dev import namespace as ns
from verbs.serve.server_kit import as_nobody, folder_of_nobody, place, skip_without

FOLDER = ns.ROOT / "tools/verbs/serve/systemd"
needs_root = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze is missing: apt-get install systemd")
needs_strace = pytest.mark.skipif(
    not all(map(shutil.which, ("strace", "setpriv"))),
    reason="strace or setpriv is missing: tools/setup --with capture")
CALL = re.compile(r"^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)")


def lines_of(kind):
    """The settings of the unit and of the file of this name, as (name, value)."""
    texts = [(FOLDER / name).read_text(encoding="utf-8")
             for name in ("lockstep.service", f"{kind}.conf") if (FOLDER / name).exists()]
    text = re.sub(r"\\\n\s*", "", "\n".join(texts))
    return re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)


def words_of(kind, wanted):
    """The words of a setting that is a list; an empty value begins anew."""
    words = []
    for name, value in lines_of(kind):
        if name == wanted:
            words = words + value.split() if value else []
    return words


def sets_of_calls():
    """systemd's sets of system calls, by name."""
    shown = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager"], check=True,
                           capture_output=True, text=True, timeout=60).stdout
    direct = {}
    for block in re.split(r"\n(?=@)", re.sub(r"\x1b\[[\d;]*m", "", shown)):
        name, *words = [line.strip() for line in block.splitlines()
                        if line.strip() and not line.strip().startswith("#")] or [""]
        direct[name] = words

    def whole(name):
        return {call for word in direct[name]
                for call in (whole(word) if word.startswith("@") else {word})}

    return {name: whole(name) for name in direct if name.startswith("@")}


def allowed_calls(kind):
    """The system calls that SystemCallFilter= allows."""
    sets, allowed = sets_of_calls(), set()
    for name, value in lines_of(kind):
        if name == "SystemCallFilter":
            words = value.removeprefix("~").split()
            calls = set().union(*(sets[word] if word.startswith("@") else {word}
                                  for word in words))
            allowed = allowed - calls if value.startswith("~") else allowed | calls
    return allowed | sets["@default"]


@needs_root
@needs_systemd
@needs_strace
@pytest.mark.parametrize("kind", ["packet", "cpus", "tap", "xdp"])
def test_a_server_needs_no_more_than_the_unit_gives(kind):
    """A user with the unit's capabilities runs it; strace sees calls and families of sockets."""
    skip_without(kind)
    rights = words_of(kind, "AmbientCapabilities")
    assert rights == words_of(kind, "CapabilityBoundingSet")
    # As in most systems, every user may open /dev/net/tun; but not in most containers.
    devices = ("mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && "
               if kind == "tap" else "")
    assert not devices or words_of(kind, "DeviceAllow") == ["/dev/net/tun", "rw"]
    with ns.fresh_namespace(), folder_of_nobody() as home:
        trace = home / "trace"
        words = ["unshare", "--mount", "sh", "-c", devices + 'exec "$@"', "sh",
                 *as_nobody(*rights), str(home / "lockstep"), "serve", "http", *place(kind),
                 "--control", str(home / "control"), "--access-log", str(home / "access.log"),
                 "--log", "json"]
        with subprocess.Popen(["strace", "-f", "-qq", "-o", str(trace), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            first = server.stdout.readline()
            if not first.startswith("serving "):
                pytest.fail(first + server.communicate(timeout=60)[1])
            with ns.connect() as sock:
                sock.sendall(ns.get("/bytes/1000", "Connection: close"))
                while sock.recv(65_536):
                    pass
            with open(f"/proc/{server.pid}/task/{server.pid}/children", encoding="ascii") as file:
                os.kill(int(file.read().split()[0]), signal.SIGINT)
            server.communicate(timeout=60)
        text = trace.read_text(encoding="utf-8", errors="replace")
    assert server.returncode == 0
    text = text[text.rindex(f'execve("{home}/lockstep"'):]
    calls = {found[1] for line in text.splitlines() if (found := CALL.match(line))}
    assert not calls - allowed_calls(kind)
    families = set(re.findall(r"socket\((AF_\w+)", text))
    assert not families - set(words_of(kind, "RestrictAddressFamilies"))
    # ProcSubset=pid hides /proc/sys. Without accept_dad an IPv6 address waits for a second.
    assert not re.findall(r'openat\(.*"/proc/sys/(?!net/ipv6/conf/\w+/accept_dad).*= \d', text)


def test_the_runtime_directory_is_its_own():
    """systemd removes it at the end: it must not be that of all servers' sockets."""
    unit = dict(lines_of("packet"))
    folder = "/run/" + unit["RuntimeDirectory"]
    assert folder != "/run/lockstep"
    assert re.search(r"--control (\S+)/", unit["ExecStart"])[1] == folder


@needs_systemd
def test_the_unit_is_tight():
    """README.md says how tight."""
    unit = FOLDER / "lockstep.service"
    # At most 1.6, which systemd counts in tenths.
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=16",
                           "--no-pager", str(unit)], capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    said = re.search(r"exposure level for lockstep.service: ([\d.]+)", done.stdout)[1]
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    assert f"systemd/lockstep.service`: {said})" in readme
