# What a test reports if the program was not built.
import pathlib

import pytest

from dev.test import program


def test_without_the_program_a_test_fails_with_the_mend(tmp_path):
    with pytest.raises(pytest.fail.Exception, match="lockstep is missing: cmake --preset release"):
        program.find(tmp_path / "lockstep")


def test_tests_of_verbs_that_need_the_program_are_not_skipped():
    verbs = pathlib.Path(__file__).resolve().parents[2] / "verbs"
    files = [*verbs.glob("plot/test_*.py"), *verbs.glob("sweep/test_*.py")]
    assert len(files) > 4
    assert [file.name for file in files if "lockstep is" in file.read_text(encoding="utf-8")] == []
