# Durations as a test writes them, and instants for people.
import re

from .errors import Misuse

SECOND = 1_000_000_000
UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}
LONGEST = 30 * 24 * 3600 * SECOND


def nanoseconds(text, what="a duration"):
    """'200ms' -> 200_000_000. Whole nanoseconds, computed without floating point, at most 30 days.
    """
    pattern = r"(\d+)(?:\.(\d+))?(ns|us|ms|s|m|h)"
    match = re.fullmatch(pattern, text) if isinstance(text, str) else None
    if match is None:
        raise Misuse(f"{what} is {text!r}: write a number with a unit, as '200ms', '1.5s', '4m'")
    unit = UNITS[match[3]]
    fraction = match[2] or ""
    part, rest = divmod(int(fraction or 0) * unit, 10 ** len(fraction))
    value = int(match[1]) * unit + part
    if rest:
        raise Misuse(f"{what} is {text!r}: finer than a nanosecond")
    if value > LONGEST:
        raise Misuse(f"{what} is {text!r}: every wait ends, after 30 days at the latest")
    return value


def seconds(ns):
    """1_200_000_000 -> '1.200000': to the microsecond, with nanoseconds if they are not 0."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    whole, rest = divmod(ns, SECOND)
    text = f"{rest:09}"
    return f"{sign}{whole}.{text[:6] if text.endswith('000') else text}"
