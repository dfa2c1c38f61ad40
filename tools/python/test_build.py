"""How CMake finds the module's build requirements."""

import pathlib
import subprocess
import sys

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
