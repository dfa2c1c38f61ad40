"""Tests of tools/dev/test/fuzz in a tree with programs that stand for libFuzzer's."""
import pathlib
import shutil
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).with_name("fuzz")


@pytest.fixture
def tree(tmp_path):
    """A tree with the script, core/good_fuzz.cpp and core/bad_fuzz.cpp, and their programs."""
    script = tmp_path / "tools/dev/test/fuzz"
    programs = tmp_path / "build/fuzz/fuzz"
    rooms = [tmp_path / name for name in ("core", "sim", "conformance")]
    for folder in (script.parent, programs, *rooms):
        folder.mkdir(parents=True)
    shutil.copy(SCRIPT, script)
    for name, text in (("good_fuzz", "echo stat::number_of_executed_units: 7"),
                       ("bad_fuzz", "echo ERROR: a finding; exit 1")):
        (tmp_path / "core" / f"{name}.cpp").touch()
        program = programs / name
        program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        program.chmod(0o755)
    return tmp_path


def run(tree, *names):
    """Runs the script of the tree for one second a program."""
    return subprocess.run([tree / "tools/dev/test/fuzz", "1", "1", *names], capture_output=True,
                          text=True, check=False)


def test_runs_every_program_that_has_a_source(tree):
    done = run(tree)
    assert done.returncode == 1
    assert "good_fuzz" in done.stdout and "7 inputs, no finding" in done.stdout
    assert "bad_fuzz         a finding:\nERROR: a finding" in done.stdout


def test_a_finding_of_another_program_does_not_fail_a_named_one(tree):
    done = run(tree, "good_fuzz")
    assert (done.returncode, done.stdout.count("fuzz")) == (0, 1)


def test_refuses_a_name_that_no_program_has(tree):
    done = run(tree, "good_fuzz", "nosuch")
    assert done.returncode == 2
    assert done.stderr == "tools/dev/test/fuzz: no fuzz program is called nosuch\n"


def test_fails_in_a_tree_without_sources(tree):
    for source in (tree / "core").iterdir():
        source.unlink()
    done = run(tree)
    assert done.returncode == 3
    assert "holds no *_fuzz.cpp" in done.stderr


def test_fails_where_a_program_is_missing(tree):
    (tree / "build/fuzz/fuzz/good_fuzz").unlink()
    assert run(tree, "good_fuzz").returncode == 1
