"""Congestion controllers of one's own: in C with `--controller`, and in Python."""

import os
import pathlib
import re
import subprocess

import pytest

pytest.importorskip("nanobind")
import lockstep  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "sim/examples/controllers"
PROGRAM = pathlib.Path(os.environ.get("LOCKSTEP_PROGRAM", ROOT / "build/release/lockstep"))


def compiled(folder, source, name):
    """The shared object of a file, or of a text."""
    if isinstance(source, str):
        (folder / f"{name}.c").write_text(source)
        source = folder / f"{name}.c"
    out = folder / f"{name}.so"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
                    "-shared", "-fPIC", f"-I{ROOT}", str(source), "-o", str(out)], check=True)
    return out


def run(*words):
    return subprocess.run([PROGRAM, "sim", "run", EXAMPLES / "path.toml", "--checks", "off",
                           *words], capture_output=True, text=True, check=False)


def goodput(printed):
    return float(re.search(r"([\d.]+) Mbit/s", printed)[1])


def test_the_readme_leads_from_an_edit_to_a_plot(tmp_path):
    pytest.importorskip("matplotlib")
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    commands = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    for name in ("core", "sim"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build/release").mkdir(parents=True)
    (tmp_path / "build/release/lockstep").symlink_to(PROGRAM)
    (tmp_path / "build/venv").symlink_to(ROOT / "build/venv")
    done = subprocess.run(["bash", "-euc", commands], cwd=tmp_path, capture_output=True, text=True,
                          check=False)
    # stderr may have notes: of cc, or of matplotlib, which builds its font cache once.
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "build/controllers.png").stat().st_size > 10_000
    # CUBIC fills the queue of 100 packets; Vegas keeps two to four there.
    cubic, vegas = re.findall(r"ms +([\d.]+) ms +[\d.]+ ms +[\d,]+ +[\d.]+ s", done.stdout)
    assert float(cubic) > 80 and float(vegas) < 50


CONTROLLER = """
#include "core/tcp/congestion/controller.h"
static void on_ack(struct lockstep_connection *c, const struct lockstep_ack *a) {{
  (void)a;
  c->cwnd = {cwnd};
}}
static uint64_t reduced(struct lockstep_connection *c, enum lockstep_signal s) {{
  (void)s;
  return c->cwnd;
}}
static const struct lockstep_controller mine = {{.version = {version}, .state_words = {words},
  .name = "{name}", .on_ack = on_ack, .reduced = reduced}};
const struct lockstep_controller *lockstep_controller_of(void) {{ return &mine; }}
"""


@pytest.mark.parametrize("name, change, code, said", [
    ("version", {"version": 2}, 2, "another version of the interface"),
    ("large", {"words": 65}, 2, "state is too large: at most 64 words"),
    ("taken", {"name": "cubic"}, 2, "name is taken"),
    ("zero", {"cwnd": "0"}, 1, "controller mine of host a set cwnd to 0 at 0.102627200 s"),
    ("huge", {"cwnd": "1ull << 40"}, 1, "set cwnd to 1099511627776"),
])
def test_a_wrong_controller_gets_one_line(tmp_path, name, change, code, said):
    values = {"version": 1, "words": 2, "cwnd": "c->cwnd", "name": "mine", **change}
    file = compiled(tmp_path, CONTROLLER.format(**values), name)
    done = run("--controller", file, "--set", f"a.congestion={values['name']}")
    (line,) = done.stderr.splitlines()
    assert done.returncode == code
    assert line.startswith(f"lockstep: {file}: ") and said in line


def test_what_is_no_controller_gets_one_line(tmp_path):
    empty = compiled(tmp_path, "int nothing;", "empty")
    text = tmp_path / "text.so"
    text.write_text("no object")
    for file, said in ((empty, "exports no lockstep_controller_of()"), (text, "cannot be loaded"),
                       (tmp_path / "none.so", "there is no such file")):
        done = run("--controller", file)
        (line,) = done.stderr.splitlines()
        assert done.returncode == 2
        assert line.startswith(f"lockstep: {file}: ") and said in line
    done = run("--controller", compiled(tmp_path, EXAMPLES / "vegas.c", "vegas"))
    assert done.returncode == 0 and "no host uses this controller" in done.stderr


@pytest.mark.parametrize("name", ["bbr", "bbr3"])
def test_bbr_fills_a_lossy_path_and_keeps_its_queue_short(tmp_path, name):
    file = compiled(tmp_path, EXAMPLES / f"{name}.c", name)
    world = (EXAMPLES / "path.toml").read_text(encoding="utf-8").replace("16MB", "4MB")
    lossy = tmp_path / "lossy.toml"
    lossy.write_text(world + '[[fault]]\nname = "loss"\nkind = "loss"\nlink = "path"\n'
                             'direction = "forward"\nprobability = "0.5%"\n')
    words = [PROGRAM, "sim", "run", lossy, "--controller", file, "--set", f"a.congestion={name}"]
    printed = [subprocess.run(list(map(str, words)), capture_output=True, text=True,
                              check=True).stdout for _ in range(2)]
    assert printed[0] == printed[1]
    assert goodput(printed[0]) > 7.5
    rtt = re.search(r"ms +([\d.]+) ms +[\d.]+ ms", printed[0])[1]
    assert float(rtt) < 70  # the queue holds 120 ms


class Steady(lockstep.Controller):
    """Four segments more for each round trip, a quarter less for a loss."""

    name = "climbing"
    state = ("acked", "losses")

    def on_ack(self, connection, state, ack):
        state.acked += ack.newly
        if state.acked * 4 >= connection.cwnd:
            state.acked = 0
            connection.cwnd += connection.mss

    def reduced(self, connection, state, signal):
        state.losses += 1
        return connection.cwnd * 3 // 4


def world(name, **arguments):
    sim = lockstep.Sim(**arguments)
    a = sim.host("a", "10.0.0.1/24", config={"congestion": name})
    b = sim.host("b", "10.0.0.2/24")
    sim.link(a, b, rate="10Mbit/s", delay="20ms").loss("1%", direction="forward")
    sim.app("bulk", a, b, bytes="400kB")
    return sim


def test_a_class_is_a_controller_and_its_state_is_in_snapshots():
    assert lockstep.add_controller(Steady()) == "climbing"
    with pytest.raises(lockstep.BadInput, match="name is taken"):
        lockstep.add_controller(Steady())
    sim = world("climbing")
    sim.advance("300ms")
    kept = sim.snapshot()
    assert sim.run() == "completed"
    ended = sim.fingerprint()
    sim.restore(kept)
    assert sim.run() == "completed"
    assert sim.fingerprint() == ended


def test_what_a_method_raises_is_raised_by_the_run():
    class Broken(lockstep.Controller):
        """Divides by its state, which begins at 0."""

        name = "broken"
        state = ("nothing",)

        def on_ack(self, connection, state, ack):
            connection.cwnd //= state.nothing

    class Absurd(Broken):
        """Sets an impossible window."""

        name = "absurd"

        def on_ack(self, connection, state, ack):
            connection.cwnd = 0

    lockstep.add_controller(Broken())
    lockstep.add_controller(Absurd())
    with pytest.raises(ZeroDivisionError):
        world("broken").advance("300ms")
    with pytest.raises(lockstep.BadInput, match="controller absurd of host a set cwnd to 0"):
        world("absurd").advance("300ms")


@pytest.mark.parametrize("name, returned", [("none", None), ("float", 7000.0), ("minus", -1),
                                            ("text", "7000"), ("vast", 1 << 64)])
def test_what_reduced_returns_must_be_octets(name, returned):
    class Wrong(lockstep.Controller):
        """Returns no ssthresh."""

        def reduced(self, connection, state, signal):
            return returned

    Wrong.name = name
    lockstep.add_controller(Wrong())
    with pytest.raises(lockstep.BadInput, match=rf"'{name}': reduced\(\) returned {returned!r}, "):
        world(name).run()


def test_a_state_that_cannot_be_is_refused():
    class Large(Steady):
        """65 words."""

        name = "large"
        state = tuple(f"w{i}" for i in range(65))

    with pytest.raises(lockstep.BadInput, match="controller 'large': .* too large"):
        lockstep.add_controller(Large())
    with pytest.raises(lockstep.BadInput, match="there is no such file"):
        lockstep.add_controller("/nowhere/mine.so")
