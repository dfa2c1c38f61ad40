# A tenth of the tests on each foreign stack: they fail where the committed results have a defect.
import json
import os
import subprocess
import sys

import museum
import pytest
from dev.test import device

from lockstep.testing import Unsupported, tap_target

SHARE = "3/10"


def listed():
    """The names of the devices that are there; a skip without the program."""
    try:
        program = tap_target.program()
    except Unsupported as why:
        pytest.skip(str(why))
    done = subprocess.run([program, "devices", "--json"], capture_output=True, text=True)
    return {row["name"] for row in json.loads(done.stdout)["devices"]}


@pytest.mark.parametrize("name", ["lwip", "lwip_head", "smoltcp", "gvisor", "libslirp", "linux"])
def test_a_foreign_stack_fails_where_the_results_say(tmp_path, name):
    if name not in listed() or (name == "linux" and not os.environ.get("LOCKSTEP_LINUX")):
        pytest.skip(f"device {name} is not there")
    if why := device.cannot_run(name):
        pytest.skip(why)
    out = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", museum.ROOM, *museum.DEVICES[name][1],
         "--lockstep-profiles", "named", "--lockstep-results", out, "--lockstep-share", SHARE,
         "-p", "no:cacheprovider", "-o", f"lockstep_artifacts={tmp_path / 'left'}",
         "--ignore", museum.ROOM / "test_verdicts.py"],
        cwd=museum.ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-2000:]
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    found = museum.judged(rows, museum.cases())
    wanted = json.loads(museum.DATA.read_text(encoding="utf-8"))[name]
    assert sum(cell["passed"] + cell["failed"] for cell in found.values()) >= 30
    failed = {id for id, cell in found.items() if cell["failed"]}
    assert failed <= {id for id, cell in wanted.items() if cell["failed"]}
    # ... and what always fails there fails here.
    always = {id for id, cell in wanted.items() if cell["failed"] and not cell["passed"]}
    assert {id for id in always if id in found and found[id]["skipped"] == 0} <= failed
