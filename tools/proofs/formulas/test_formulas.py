"""The formulas give the values printed in their papers and RFCs, and worlds are written
correctly."""

from math import isclose

from tools.proofs.formulas import formulas
from tools.proofs.formulas.runs import World


def test_mathis():
    # A cycle of W = sqrt(8/3p) = 40: 1/p = 600 segments in 20 round trips.
    assert isclose(formulas.mathis(1, 1, 1 / 600), 30)
    assert isclose(formulas.mathis_with_recovery(1, 1, 1 / 600), 30 * 20 / 21)


def test_pftk_is_mathis_where_losses_are_rare():
    assert isclose(formulas.pftk(1, 1, 1e-9, 1, 1e9), formulas.mathis(1, 1, 1e-9), rel_tol=1e-3)
    assert formulas.pftk(1, 1, 1e-9, 1, 10) == 10


def test_cubic_comes_back_to_its_plateau():
    k = formulas.cubic_k(100, 70)
    assert isclose(formulas.cubic(0, k, 100), 70)
    assert isclose(formulas.cubic(k, k, 100), 100)
    assert isclose(formulas.reno_alpha(), 9 / 17)


def test_world_text():
    text = World("w", mask="001", repeat=True, queue_packets=5).text()
    assert 'mask = "001"\nrepeat = true' in text
    assert "queue_packets = 5" in text and "mark_packets" not in text
