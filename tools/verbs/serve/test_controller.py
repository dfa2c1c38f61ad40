# `--controller FILE.so`: the stack of a server, and of a load, uses the controller of the file.
"""The first test needs root; otherwise skipped, with the reason, and counted as skipped."""
import json
import re
import subprocess

import pytest

from dev import namespace as ns

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


@pytest.fixture(name="file")
def compiled(tmp_path):
    """A controller whose window is always one segment."""
    source, out = tmp_path / "segment.c", tmp_path / "segment.so"
    source.write_text(SEGMENT)
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{ns.ROOT}", source, "-o", out], check=True)
    return out


@pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
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
        done = load("--sim", WORLD, "--controller", file, "--set", f"*.congestion={name}", "--json",
                    report)
        assert done.returncode == 0, done.stderr
        took[name] = json.loads(report.read_text())["measured_ns"]
    assert took["segment"] > 2 * took["cubic"]
    done = load("--sim", WORLD, "--set", "*.congestion=segment")
    assert done.returncode == 2 and "segment" in done.stderr


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
