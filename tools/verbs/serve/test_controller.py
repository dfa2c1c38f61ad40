# `--controller FILE.so`: the stack of a server, and of a load, uses the controller of the file.
"""The first test needs root; otherwise skipped, with the reason, and counted as skipped."""
import json
import re
import subprocess

import pytest

from dev import namespace as ns
from proofs.wire import servers

SEGMENT = """
#include "core/tcp/congestion/controller.h"
static void on_ack(struct lockstep_connection *c, const struct lockstep_ack *ack) {
  (void)ack;
  c->cwnd = c->mss;
}
static uint64_t reduced(struct lockstep_connection *c, enum lockstep_signal s) {
  (void)s;
  return c->mss;
}
static const struct lockstep_controller segment = {.version = LOCKSTEP_CONTROLLER_VERSION,
  .flags = LOCKSTEP_CONTROLLER_OWNS_WINDOW, .name = "segment", .on_ack = on_ack,
  .reduced = reduced};
const struct lockstep_controller *lockstep_controller_of(void) { return &segment; }
"""
WORLD = ns.ROOT / "tools/verbs/load/worlds/wire.toml"


needs_root = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))


def compiled(folder, name, text):
    source, out = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{ns.ROOT}", source, "-o", out], check=True)
    return out


@pytest.fixture(name="file")
def file_fixture(tmp_path):
    """A controller whose window is always one segment."""
    return compiled(tmp_path, "segment", SEGMENT)


@pytest.fixture(name="shut")
def shut_fixture(tmp_path):
    """A controller that sets a window of 0 at the first ACK, which none may."""
    return compiled(tmp_path, "shut", SEGMENT.replace("c->cwnd = c->mss", "c->cwnd = 0")
                    .replace('"segment"', '"shut"'))


def expect_fault(code, said, where):
    """One line names the file, whose stack it is, and the window; the exit code is 1."""
    (line,) = [line for line in said.splitlines() if line.startswith("lockstep: ")]
    assert re.fullmatch(rf"lockstep: .*shut\.so: controller shut {where} set cwnd to 0 at \d+\.\d+ "
                        r"s of its clock: 1 to \d+ octets are possible", line), line
    assert code == 1


@needs_root
def test_a_server_uses_it(tmp_path, file):
    control = tmp_path / "control"
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--controller", str(file), "--control", str(control)) as server:
            with ns.connect() as sock:
                sock.sendall(ns.get("/bytes/1000000"))
                for _ in range(20):
                    assert sock.recv(1_000)
                done = subprocess.run([str(ns.PROGRAM), "ss", "--control", str(control), "--json"],
                                      capture_output=True, text=True, check=True)
            code, _, errors = server.end()
    assert code == 0, errors
    assert set(re.findall(r'"cwnd": ?(\d+)', done.stdout)) == {"1448"}


def load(*words):
    return subprocess.run([str(ns.PROGRAM), "load", "echo://10.0.0.2", "--requests", "100",
                           "--message", "20000", *map(str, words)],
                          capture_output=True, text=True, check=False)


def test_a_load_in_a_world_may_name_it(tmp_path, file):
    took = {}
    for name in ("cubic", "segment"):
        report = tmp_path / f"{name}.json"
        words = ["--controller", file] if name == "segment" else []
        done = load("--sim", WORLD, *words, "--set", f"*.congestion={name}", "--json", report)
        assert done.returncode == 0, done.stderr
        took[name] = json.loads(report.read_text())["measured_ns"]
    assert took["segment"] > 2 * took["cubic"]
    done = load("--sim", WORLD, "--set", "*.congestion=segment")
    assert done.returncode == 2 and "segment" in done.stderr


def test_a_load_in_a_world_must_name_it(file):
    done = load("--sim", WORLD, "--controller", file)
    assert done.returncode == 2
    assert done.stderr == (f"lockstep: --controller {file}: no host of {WORLD} has congestion = "
                           "\"segment\": add --set HOST.congestion=segment\n")


def test_its_fault_in_a_world_is_a_finding(tmp_path, shut):
    report = tmp_path / "report.json"
    done = load("--sim", WORLD, "--controller", shut, "--set", "server.congestion=shut", "--json",
                report)
    expect_fault(done.returncode, done.stderr, "of host server")
    assert json.loads(report.read_text())["answered"] == 100


@needs_root
@pytest.mark.parametrize("role", ["http", "echo"])
def test_its_fault_in_a_server_is_a_finding(shut, role):
    with ns.fresh_namespace():
        words = [str(ns.PROGRAM), "serve", role, "--port", "80", "--tap", ns.NAME, "--address",
                 f"{ns.OURS}/24", "--host", f"{ns.KERNEL}/24", "--controller", str(shut)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as server:
            assert server.stdout.readline().startswith("serving ")
            with ns.connect() as sock:
                sock.sendall(ns.get("/bytes/1000"))
                assert sock.recv(1_000)
                sock.sendall(ns.get("/bytes/1000"))
                assert sock.recv(1_000)
            server.terminate()
            _, said = server.communicate(timeout=60)
    expect_fault(server.returncode, said, f"on {ns.NAME}")


@needs_root
@pytest.mark.parametrize("shards", [1, 2])
def test_its_fault_in_a_load_is_a_finding(tmp_path, shut, shards):
    with ns.fresh_namespace(), servers.python(tmp_path, servers.make_site(tmp_path), 8000):
        code, result, said = servers.run_load(
            tmp_path, f"http://{ns.KERNEL}:8000/bytes/64", "--requests", 8, "--connections", 2,
            "--shards", shards, "--controller", shut)
    expect_fault(code, said, f"on {ns.NAME}")
    assert result["answered"] == 8


@pytest.mark.parametrize("verb", [("serve", "http"), ("load", "http://10.9.0.1/")])
def test_what_cannot_be_used_gets_one_line(tmp_path, file, verb):
    def refused(*words):
        done = subprocess.run([str(ns.PROGRAM), *verb, "--tap", "lock0", "--address",
                               "10.9.0.2/24", *map(str, words)], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        return line

    assert "there is no such file" in refused("--controller", tmp_path / "none.so")
    assert "leave out --record" in refused("--controller", file, "--record", tmp_path / "journal")
