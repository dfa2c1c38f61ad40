# The live targets: a few tests on each, and that each cleans up in all cases.
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lockstep.testing import Misuse, Unsupported, Wanted
from lockstep.testing.target import make

ROOT = Path(__file__).resolve().parents[2]
LIVE = ("linux", "tap:lockstep")
PATIENCE_SECONDS = 60


def target_or_skip(name, version=4, **settings):
    """The target, or a skip with the requirement that this machine does not meet."""
    try:
        return make(name, Wanted(version, 1, "rfc", settings))
    except Unsupported as why:
        pytest.skip(str(why))


def urgently():
    """Raises the priority over the machine's other load, if allowed."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))


@pytest.mark.parametrize("name", LIVE)
def test_the_suites_tests_run_on_it(name):
    target_or_skip(name).stop()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "conformance/scapy", "-p", "no:cacheprovider", "--target",
         name, "-k", "(test_three_ways_passive and ip4) or test_nagle_off or test_urgent_advances"
         " or (test_segment_arrives and ESTABLISHED-data-left) or test_syn_does_not_count"],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS * 3,
        preexec_fn=urgently)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize("name", LIVE)
def test_nothing_is_left_after_a_failure(name):
    target = target_or_skip(name)
    child = target._child
    assert Path(f"/proc/{child}").exists()
    assert not Path("/sys/class/net/tun0").exists() and not Path("/sys/class/net/lock0").exists()
    try:
        with pytest.raises(Misuse):
            target.call("no such call")
    finally:
        target.stop()
    assert not Path(f"/proc/{child}").exists()


@pytest.mark.parametrize("name", LIVE)
def test_nothing_is_left_after_the_tester_was_killed(name):
    target_or_skip(name).stop()
    program = ("import time; from lockstep.testing import Wanted; from lockstep.testing.target "
               "import make; import lockstep.testing.plugin;"
               f"made = make({name!r}, Wanted(4, 1, 'rfc', {{}}));"
               "print(made._child, flush=True); time.sleep(600)")
    path = os.pathsep.join(sys.path)
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}) as tester:
        child = int(tester.stdout.readline())
        tester.send_signal(signal.SIGKILL)
    end = time.monotonic() + PATIENCE_SECONDS
    while alive(child):
        assert time.monotonic() < end, f"process {child} is still there"
        time.sleep(0.05)


def alive(process):
    """True if it runs; false for a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("name", LIVE)
def test_what_a_target_cannot_do_is_said_in_a_line(name):
    target = target_or_skip(name)
    try:
        with pytest.raises(Unsupported, match="a wait of 60 s of real time"):
            target.receive(target.now() + 60_400_000_000)
        with pytest.raises(Unsupported, match="does not show"):
            target.inspect(target.connect(80, 5000))["no such variable"]
    finally:
        target.stop()


def test_bad_targets_are_refused():
    with pytest.raises(Misuse, match="only tap:lockstep is known"):
        make("tap:other", Wanted(4, 1, "rfc", {}))
    with pytest.raises(Unsupported, match="no way to set rto_max"):
        make("linux", Wanted(4, 1, "rfc", {"rto_max": "60s"}))
