"""How CMake finds the module's build requirements."""

import os
import pathlib
import re
import subprocess
import sys

import lockstep
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(finds LANGUAGES CXX)
include("{root}/tools/dev/cmake/python.cmake")
lockstep_find_nanobind()
lockstep_why_no_module(why)
message(STATUS "why not: '${{why}}'")
"""


def test_a_build_configured_before_setup_finds_nanobind_after_it(tmp_path):
    """A build folder that was configured without nanobind remembers that it found none."""
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT))
    (tmp_path / "build").mkdir()
    (tmp_path / "build/venv").symlink_to(sys.prefix)
    ran = subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "out", "-Dnanobind_DIR=nanobind_DIR-NOTFOUND"],
        capture_output=True, text=True, check=True)
    assert "why not: ''" in ran.stdout


def test_what_a_wheel_contains_tests_a_tcp_without_a_checkout(tmp_path):
    """Installs what the wheel contains, and runs its tests on a device in C, in another folder."""
    build = pathlib.Path(lockstep._core.__file__).resolve().parents[2]
    if not (build / "cmake_install.cmake").exists():
        pytest.skip("this is no build of the tree")
    if not (build / "lockstep_device").exists():
        pytest.skip("there is no program lockstep_device: cmake --build --preset release")
    packages, mine = tmp_path / "packages", tmp_path / "mine"
    subprocess.run(["cmake", "--install", build, "--component", "python", "--prefix", packages],
                   check=True, capture_output=True)
    mine.mkdir()
    (mine / "my_tcp.c").write_text(
        (ROOT / "sim/examples/your_tcp/your_tcp.c").read_text(encoding="utf-8"))
    (packages / "bin").mkdir()
    (packages / "bin/lockstep_device").symlink_to(build / "lockstep_device")
    path = f"{packages / 'bin'}:/usr/bin:/bin"  # there is no program lockstep
    environment = {**os.environ, "PYTHONPATH": str(packages), "PATH": path,
                   "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("LOCKSTEP_PROGRAM", None)

    def run(*words):
        return subprocess.run(words, cwd=mine, env=environment, capture_output=True, text=True)

    include = run(sys.executable, "-m", "lockstep.testing", "--include").stdout.strip()
    assert include.startswith(str(packages))
    made = run("cc", "-shared", "-fPIC", "-I", include, "my_tcp.c", "-o", "my_tcp.so")
    assert (made.returncode, made.stderr) == (0, "")
    done = run(sys.executable, "-m", "pytest", "-p", "lockstep.testing.plugin", "-p",
               "no:cacheprovider", "--pyargs", "lockstep_conformance", "-k",
               "ip4 and (test_syn_ack_again or test_three_ways_passive)",
               "--target", "device:./my_tcp.so")
    assert re.search(r"1 failed, 1 passed", done.stdout), done.stdout + done.stderr
    assert "lockstep-report/clauses.html" in done.stdout
    assert (mine / "lockstep-report/clauses.html").exists()
    repro = re.search(r"repro +(.*)", done.stdout)[1]
    assert run("sh", "-c", repro).stdout.count("1 failed") == 1


@pytest.mark.parametrize("words, code, said", [
    ([], 2, "Usage: lockstep_device LIBRARY"),
    (["--more"], 2, "Usage: lockstep_device LIBRARY"),
    (["--help"], 0, "Example: lockstep_device ./my_tcp.so"),
    (["/nowhere.so"], 2, "lockstep_device: /nowhere.so: it cannot be loaded"),
])
def test_the_small_program_says_what_is_wrong(words, code, said):
    program = pathlib.Path(lockstep._core.__file__).resolve().parents[2] / "lockstep_device"
    if not program.exists():
        pytest.skip("there is no program lockstep_device: cmake --build --preset release")
    done = subprocess.run([program, *words], capture_output=True, text=True, input="")
    assert done.returncode == code and said in (done.stderr if code else done.stdout)
