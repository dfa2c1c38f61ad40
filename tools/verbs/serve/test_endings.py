# How a server ends, and what its journal does with files that exist, change, or have no room.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import http.client
import os
import select
import signal
import subprocess

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))


def fetch(path="/bytes/1000"):
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection(ns.OURS, timeout=60)
    connection.sock = ns.connect()
    connection.request("GET", path)
    body = connection.getresponse().read()
    connection.close()
    return body


def test_a_hangup_ends_it_with_its_summary(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup(1) it is ignored
    try:
        with ns.fresh_namespace(), ns.Server(tmp_path) as server:
            fetch()
            code, summary, errors = server.end(signal.SIGHUP)
            assert code == 0, errors
            assert summary["requests"] == 1
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_ignored_hangup_stays_ignored(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ns.fresh_namespace(), ns.Server(tmp_path) as server:
            server.process.send_signal(signal.SIGHUP)
            assert len(fetch()) == 1000
            assert server.end(signal.SIGTERM)[0] == 0
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is missing")
def test_a_full_disk_is_reported_at_once(tmp_path):
    with ns.fresh_namespace(), ns.Server(tmp_path, "--record", "/dev/full") as server:
        fetch()
        ready, _, _ = select.select([server.process.stderr], [], [], 30)
        assert ready, "nothing on stderr"
        line = server.process.stderr.readline().decode()
        assert line.startswith("lockstep: warning: /dev/full: No space left on device"), line
        assert len(fetch()) == 1000  # it goes on
        code, summary, errors = server.end()
        assert code == 3
        assert summary["requests"] == 2
        assert "free space" in errors


@pytest.mark.parametrize("words, name", [([], "j"), (["--record-on", "rto"], "j-3")])
def test_an_existing_journal_is_kept(tmp_path, words, name):
    (tmp_path / name).write_text("precious")
    journal = str(tmp_path / "j")
    with ns.fresh_namespace():
        done = subprocess.run([str(ns.PROGRAM), "serve", "http", "--tap", ns.NAME, "--address",
                               f"{ns.OURS}/24", "--record", journal, *words],
                              capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        assert f"{tmp_path / name}: it exists" in done.stderr
        assert (tmp_path / name).read_text() == "precious"
        with ns.Server(tmp_path, "--record", journal, "--force", *words) as server:
            fetch()
            assert server.end()[0] == 0


def test_a_journal_by_hash(tmp_path):
    site = tmp_path / "site"
    (site / "sub").mkdir(parents=True)
    (site / "sub" / "index.html").write_text("these words are not in the journal")
    (site / "a").write_text("")
    journal = tmp_path / "journal"
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--folder", str(site), "--record", str(journal)) as server:
            assert fetch("/sub/") == b"these words are not in the journal"
            assert server.end()[0] == 0
    assert b'"content_sha256"' in journal.read_bytes()
    command = [str(ns.PROGRAM), "replay", "--journal", str(journal)]

    def replayed(*words):
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    code, text = replayed("--folder", str(site))
    assert code == 0, text
    assert "octet by octet" in text
    assert replayed()[0] == 2
    assert "give their --folder" in replayed()[1]
    (site / "sub" / "index.html").write_text("these words are not in the Journal")
    assert "have changed since" in replayed("--folder", str(site))[1]
    (site / "sub" / "index.html").write_text("shorter")
    assert "is not the file that was served" in replayed("--folder", str(site))[1]


def test_the_kernels_router_is_named(tmp_path):
    with ns.fresh_namespace():
        ns.make_pair()
        ns.run("ip", "address", "add", "10.9.0.9/24", "dev", ns.NAME)
        ns.run("ip", "route", "add", "default", "via", "10.9.0.254", "dev", ns.NAME)
        for words, said in [((), True), (("--gateway", "10.9.0.254"), False)]:
            with ns.Server(tmp_path, *words, kind="packet") as server:
                server.process.send_signal(signal.SIGTERM)
                out = server.process.stdout.read()
                line = (b"no --gateway: clients outside of 10.9.0.2/24 get no answer; "
                        b"the kernel's router on lock0 is 10.9.0.254\n")
                assert (line in out) == said, out
