"""LOCKSTEP_VERBS: the verbs of the program, and what CMake makes of it."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]


def configured(folder, *words):
    """Configures a build folder: the exit code, and what CMake said in one line."""
    ran = subprocess.run(["cmake", "--preset", "release", "-B", folder, *words], cwd=ROOT,
                         capture_output=True, text=True, check=False)
    return ran.returncode, " ".join((ran.stdout + ran.stderr).split())


def test_verbs_are_left_out_and_a_preset_brings_them_back(tmp_path):
    made = tmp_path / "left_out_verbs.cpp"
    joined = tmp_path / "joined/lockstep_verb_cli_0.cpp"
    assert configured(tmp_path, "-DLOCKSTEP_VERBS=sim;paper")[0] == 0
    text = made.read_text()
    assert 'void register_serve(CLI::App& app, int&) { leave_out(app, "serve"); }' in text
    assert "register_sim(" not in text and "register_paper(" not in text
    assert str(made) in joined.read_text()
    assert configured(tmp_path)[0] == 0
    assert str(made) not in joined.read_text()


def test_a_verb_that_does_not_exist_is_named(tmp_path):
    code, said = configured(tmp_path, "-DLOCKSTEP_VERBS=sim;sweap")
    assert code != 0
    assert "LOCKSTEP_VERBS: there is no verb 'sweap': choose among anonymise, clause" in said


def test_quickstart_refuses_words_behind_lab():
    ran = subprocess.run([ROOT / "tools/quickstart", "--lab", "more"], capture_output=True,
                         text=True, check=False)
    assert (ran.returncode, ran.stderr) == (
        2, "tools/quickstart: --lab takes no argument: 'more'\n")
