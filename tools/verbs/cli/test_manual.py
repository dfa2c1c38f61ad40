"""The installed manual page and completions, as man(1) and the shells read them."""

import pathlib
import shutil
import subprocess

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "build/release/lockstep"


def printed_for(kind):
    ran = subprocess.run([PROGRAM, "--print-for", kind], capture_output=True, text=True, check=True)
    return ran.stdout


def needs(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def bash_offers(line):
    """The completions that bash offers for the last word of `line`."""
    asks = (f"COMP_WORDS=({line} ''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _lockstep;"
            ' printf "%s\\n" "${COMPREPLY[@]}"')
    ran = subprocess.run(["bash", "-c", printed_for("bash") + asks], capture_output=True,
                         text=True, check=True)
    assert ran.stderr == ""
    return ran.stdout.split()


def fish_offers(line):
    ran = subprocess.run(["fish", "-c", printed_for("fish") + f"complete -C 'lockstep {line}'"],
                         capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return [each.split("\t")[0] for each in ran.stdout.splitlines()]


def test_bash_offers_verbs_and_options():
    assert {"sim", "swarm", "replay", "--help"} <= set(bash_offers("lockstep"))
    assert {"run", "--help"} == set(bash_offers("lockstep sim")) - {"-h"}
    assert "--seed" in bash_offers("lockstep sim run")
    assert "--seed" in bash_offers("lockstep sim run world.toml --json out.json")
    assert "--print-for" not in bash_offers("lockstep")


def test_bash_offers_what_stands_in_a_group():
    assert {"--tap", "--iface", "--folder"} <= set(bash_offers("lockstep serve http"))


def test_fish_offers_verbs_and_options():
    needs("fish")
    assert "run" in fish_offers("sim ")
    assert fish_offers("sim run --see") == ["--seed"]
    assert "--tap" in fish_offers("serve http --")
    assert fish_offers("swa") == ["swarm"]


def test_zsh_reads_its_own(tmp_path):
    needs("zsh")
    (tmp_path / "_lockstep").write_text(printed_for("zsh"))
    asks = ("compadd() { shift; print -l -- $@ }; _files() { :; }; words=(lockstep sim run '');"
            "CURRENT=4; source ./_lockstep")
    ran = subprocess.run(["zsh", "-fc", asks], cwd=tmp_path, capture_output=True, text=True,
                         check=True)
    assert ran.stderr == "" and "--seed" in ran.stdout.split()


def test_the_page_has_every_verb_with_its_example():
    page = printed_for("man")
    assert page.startswith('.TH LOCKSTEP 1 "" "lockstep ')
    for verb in ("sim run", "replay", "lint", "serve http", "load"):
        assert f".SS lockstep {verb}\n" in page
    assert "Example: lockstep lint web.pcapng" in page


def test_man_reads_the_page(tmp_path):
    needs("groff")
    page = tmp_path / "lockstep.1"
    page.write_text(printed_for("man"))
    ran = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True,
                         check=True)
    assert ran.stderr == ""
    assert "lockstep sim run" in ran.stdout


def test_another_kind_is_refused_in_one_line():
    ran = subprocess.run([PROGRAM, "--print-for", "csh"], capture_output=True, text=True,
                         check=False)
    assert ran.returncode == 2 and ran.stdout == "" and ran.stderr.count("\n") == 1
