# The scripts of findings/: each fails as its page says on the stack that it accuses, and passes on
# those that do what the clause says. And what happens where the machine refuses libslirp.
import collections
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import scripts
from dev.test import device


ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / "conformance/devices/findings"
#: Per page: the devices that it accuses, and per script where it fails there, and with what words.
TABLE = tomllib.loads((FINDINGS / "scripts.toml").read_text(encoding="utf-8"))
LIBSLIRP = TABLE["libslirp-4.7"]["scripts"]
NAMES = ["lockstep", "lwip", "lwip_head", "smoltcp", "gvisor", "libslirp", "linux"]
#: A process in a user namespace that may make no further one; the machine's own limits stay.
CAGE = ["unshare", "--user", "--map-root-user", "sh", "-c",
        "echo 0 > /proc/sys/user/max_user_namespaces && echo 0 > /proc/sys/user/max_net_namespaces"
        ' && exec "$@"', "cage"]
REFUSAL = ("unsupported: this machine allows no network namespace of its own: "
           "No space left on device")


@pytest.fixture(scope="module")
def names(program):
    """The devices that were built."""
    done = subprocess.run([program, "devices", "--json"], capture_output=True, text=True)
    return [row["name"] for row in json.loads(done.stdout)["devices"]]


def verdicts(program, name, folder, *before, page="libslirp-4.7"):
    """Runs the scripts of a page's findings on a device; script -> its row of the report."""
    report = folder / "report.json"
    done = subprocess.run([*before, program, "pkt", "run", FINDINGS / page, "--device", name,
                           "--json", report, "--captures", folder / "captures"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    rows = json.loads(report.read_text(encoding="utf-8"))["results"]
    return {Path(row["file"]).stem: row for row in rows}


def needs(name, names):
    """Skips if the device cannot run here."""
    if name not in names or (name == "linux" and not os.environ.get("LOCKSTEP_LINUX")):
        pytest.skip(f"device {name} is not there")
    if name == "libslirp" and (why := device.cannot_run(name)):
        pytest.skip(why)


@pytest.mark.parametrize(("page", "name"), [
    (page, name) for page, row in TABLE.items() for name in row["devices"]])
def test_a_device_still_does_what_its_page_says(program, names, tmp_path, page, name):
    needs(name, names)
    rows = verdicts(program, name, tmp_path, page=page)
    assert set(rows) == set(TABLE[page]["scripts"])
    for script, expected in TABLE[page]["scripts"].items():
        row = rows[script]
        assert (row["verdict"], row["line"]) == ("failed", expected["line"]), row
        assert re.match(expected["words"], row["what"]), row
    assert len(list((tmp_path / "captures").iterdir())) == len(rows)


@pytest.mark.parametrize(("page", "name"), [
    (page, name) for page, row in TABLE.items() for name in NAMES if name not in row["devices"]])
def test_others_do_what_the_clause_says(program, names, tmp_path, page, name):
    needs(name, names)
    rows = verdicts(program, name, tmp_path, page=page)
    assert set(rows) == set(TABLE[page]["scripts"])
    others = {script for script, row in TABLE[page]["scripts"].items()
              if name in row.get("not_passed", [])}
    assert {script for script, row in rows.items() if row["verdict"] != "passed"} == others


@pytest.mark.parametrize("page", TABLE)
def test_the_page_has_each_script_and_each_is_short(page):
    words = (FINDINGS / f"{page}.md").read_text(encoding="utf-8")
    paths = {path.stem: path for path in (FINDINGS / page).glob("*.pkt")}
    assert set(paths) == set(TABLE[page]["scripts"])
    for name, path in paths.items():
        assert f"`{name}.pkt`" in words, name
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 15, name


def caged():
    """The command that refuses namespaces to what it runs; a skip if it cannot be had."""
    done = subprocess.run([*CAGE, "true"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"this machine allows no user namespace: {done.stderr.strip()}")
    return CAGE


def test_scripts_are_left_out_where_namespaces_are_refused(program, names, tmp_path):
    if "libslirp" not in names:
        pytest.skip("device libslirp is not there")
    rows = verdicts(program, "libslirp", tmp_path, *caged())
    reasons = collections.Counter((row["verdict"], row["reason"]) for row in rows.values())
    assert reasons == {("left_out", REFUSAL): len(LIBSLIRP)}


def test_the_page_of_scripts_leaves_libslirp_out(program, names, tmp_path, capfd):
    if "libslirp" not in names:
        pytest.skip("device libslirp is not there")
    wrapper = tmp_path / "lockstep"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join([*caged(), program])} "$@"\n',
                       encoding="utf-8")
    wrapper.chmod(0o755)
    assert scripts.verdicts(wrapper, "libslirp") is None
    assert f"scripts: libslirp: all scripts: {REFUSAL}" in capfd.readouterr().err


def test_overlaps_leave_libslirp_out_where_namespaces_are_refused(program, names, tmp_path):
    if "libslirp" not in names:
        pytest.skip("device libslirp is not there")
    report = tmp_path / "overlaps.json"
    done = subprocess.run([*caged(), program, "overlaps", "--devices", "libslirp,lockstep",
                           "--chunks", "2", "--json", report], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "left out" in done.stdout
    rows = json.loads(report.read_text(encoding="utf-8"))["results"]
    assert [row.get("left_out", "") for row in rows if row["device"] == "libslirp"] == [REFUSAL] * 4
    assert not any("left_out" in row for row in rows if row["device"] == "lockstep")


def test_the_suite_skips_and_counts_where_namespaces_are_refused(names, tmp_path):
    if "libslirp" not in names:
        pytest.skip("device libslirp is not there")
    out = tmp_path / "results.jsonl"
    done = subprocess.run(
        [*caged(), sys.executable, "-m", "pytest", "conformance/scapy/test_reset.py", "--target",
         "device:libslirp", "-k", "test_reset_outside and ip4", "-p", "no:cacheprovider",
         "--lockstep-results", out, "-o", f"lockstep_artifacts={tmp_path / 'left'}"],
        cwd=ROOT, capture_output=True, text=True, timeout=120)
    # A run that tests nothing says so, and its exit code is 1.
    assert done.returncode == 1 and "failed" not in done.stdout, done.stdout + done.stderr
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert {(row["outcome"], row["words"]) for row in rows} == {
        ("skipped", f"target device:libslirp: {REFUSAL}")}
    assert f"NOTHING WAS TESTED, all {len(rows)} tests were skipped" in done.stdout
