"""A sample of tools/evidence reorder-linux: one path, and the choice of cells."""

import os
import pathlib

import pytest

from tools.dev.test import kernel
from tools.proofs.reorder_linux import __main__ as proof
from tools.proofs.reorder_linux import cells

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ.get("LOCKSTEP_PROGRAM", ROOT / "build/release/lockstep"))
LINUX = pathlib.Path(kernel.find())
MATRIX = ROOT / "tools/verbs/matrix/reorder_matrix.txt"


def test_the_sixth_is_that_of_the_matrix():
    chosen = [cell.name.split() for cell in cells.sixth()]
    rows = [line.split()[:5] for line in MATRIX.read_text(encoding="utf-8").splitlines()
            if line and not line.startswith("#")]
    assert len(chosen) == 57 and all(cell in rows for cell in chosen)
    assert chosen == [row for row in rows if row in chosen]
    table = proof.TABLE.read_text(encoding="utf-8").splitlines()
    assert [line.split()[:5] for line in table if not line.startswith("#")] == chosen


def test_each_end_is_the_tcp_that_is_named():
    dctcp = next(cell for cell in cells.sixth() if cell.controller == "dctcp")
    texts = {pair: dctcp.world(pair) for pair in cells.PAIRS}
    assert {pair: text.count('device = "linux"') for pair, text in texts.items()} == {
        "ours": 0, "sender": 1, "both": 2}
    assert all("mark_packets = 20" in text for text in texts.values())
    sender = texts["sender"]
    assert sender.index('device = "linux"') < sender.index('name = "b"')


def test_what_is_missing_gets_one_line(tmp_path, monkeypatch, capsys):
    words = ["--into", str(tmp_path), "--lockstep"]
    assert proof.main([*words, "/nowhere/lockstep"]) == 3
    assert "/nowhere/lockstep is missing: build it" in capsys.readouterr().err
    monkeypatch.setenv("LOCKSTEP_LINUX", "/nowhere/linux")
    assert proof.main([*words, __file__]) == 3
    assert "no Linux at /nowhere/linux: tools/setup --with linux" in capsys.readouterr().err


@pytest.mark.skipif(not LINUX.is_file(), reason="tools/setup --with linux builds the kernel")
def test_two_lines_are_those_of_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LOCKSTEP_LINUX", str(LINUX))
    words = ["--into", str(tmp_path), "--lockstep", str(PROGRAM), "--only"]
    assert proof.main([*words, "reno 10M 10ms 1%"]) == 0
    assert "0 of 1 lines differ" in capsys.readouterr().out
    assert proof.main([*words, "dctcp 3%"]) == 0
    assert "0 of 1 lines differ" in capsys.readouterr().out
    # Without the kernel of the table our own transfers are still compared.
    table = proof.TABLE.read_text(encoding="utf-8").splitlines()
    table[2] = "# Of the kernel with the SHA-256 000000000000."
    for own, differs in ((" 9999", 1), ("", 0)):
        changed = [line if line[0] == "#" or not own else line[:31] + own + line[36:]
                   for line in table]
        (tmp_path / "table").write_text("\n".join(changed) + "\n", encoding="utf-8")
        more = [*words, "reno 10M 10ms 1%", "--table", str(tmp_path / "table")]
        assert proof.main(more) == differs
        said = capsys.readouterr().out
        assert "another kernel" in said and f"{differs} of 1 lines differ" in said
    assert proof.main([*words, "vegas"]) == 2
    assert "no cell has the words 'vegas'" in capsys.readouterr().err
