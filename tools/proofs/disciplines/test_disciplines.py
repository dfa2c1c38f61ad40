"""The comparison of queue disciplines: what agrees, what is refused, and one short run of both."""

import pytest

from tools.proofs.disciplines import __main__ as proof
from tools.proofs.disciplines import runs

PROGRAM = proof.options_of([]).lockstep

needs_ns3 = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is missing: build it")


def test_five_per_cent_agree_and_more_do_not():
    assert runs.Row("", "ms", 1.049, 1).agrees() and runs.Row("", "ms", 0.951, 1).agrees()
    assert not runs.Row("", "ms", 1.051, 1).agrees()
    assert not runs.Row("", "ms", 0.949, 1).agrees()


def test_a_difference_is_a_finding(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(proof.runs, "compare",
                        lambda *_: [runs.Row("delay, mean", "ms", 4.0, 5.0)])
    code = proof.main(["codel", "--into", str(tmp_path), "--lockstep", __file__])
    assert code == 1 and "-20.0%  DIFFERS" in capsys.readouterr().out
    assert '"difference": -0.19' in (tmp_path / "disciplines.json").read_text()


def test_what_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        proof.options_of(["blue"])
    assert stop.value.code == 2 and "expected one of tail_drop" in capsys.readouterr().err
    assert proof.main(["--lockstep", "/nonexistent"]) == 3


@needs_ns3
def test_tail_drop_agrees_in_a_short_run(tmp_path):
    assert proof.main(["tail_drop", "--quick", "--into", str(tmp_path)]) == 0
