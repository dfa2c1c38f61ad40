"""The formulas in floating point, written from papers and RFCs, independent of core's code."""

from math import sqrt


def mathis(mss: float, rtt: float, p: float) -> float:
    """Mathis, Semke, Mahdavi and Ott 1997, periodic loss and an ACK for each segment: octets/s."""
    return mss / rtt * sqrt(1.5) / sqrt(p)


def mathis_with_recovery(mss: float, rtt: float, p: float) -> float:
    """The same with the RTT of fast recovery in each cycle, in which the window does not grow.

    A cycle delivers 1/p segments in W/2 round trips, W = sqrt(8/3p), plus one for recovery.
    """
    half = sqrt(8 / (3 * p)) / 2
    return mathis(mss, rtt, p) * half / (half + 1)


def pftk(mss: float, rtt: float, p: float, rto: float, window: float) -> float:
    """Padhye, Firoiu, Towsley and Kurose 1998, equation 32, an ACK for each segment: octets/s."""
    b = 1
    timeouts = min(1, 3 * sqrt(3 * b * p / 8)) * p * (1 + 32 * p * p)
    return min(window / rtt, mss / (rtt * sqrt(2 * b * p / 3) + rto * timeouts))


def cubic(t: float, k: float, w_max: float) -> float:
    """RFC 9438, figure 1, in segments."""
    return 0.4 * (t - k) ** 3 + w_max


def cubic_k(w_max: float, cwnd_epoch: float) -> float:
    """RFC 9438, figure 2, in seconds."""
    return ((w_max - cwnd_epoch) / 0.4) ** (1 / 3)


def cubic_mean_window(rtt: float, p: float) -> float:
    """RFC 9438 5.1: the mean window over periodic losses, in segments, C 0.4 and beta 0.7."""
    return (0.4 * (3 + 0.7) / (4 * (1 - 0.7))) ** 0.25 * (rtt / p) ** 0.75


def reno_alpha(beta: float = 0.7) -> float:
    """RFC 9438 section 4.3."""
    return 3 * (1 - beta) / (1 + beta)
