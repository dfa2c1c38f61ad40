# Writes one scenario's folder: capture.pcapng and scenario.toml, in a fixed order of keys.
"""The format is described in pcaps/README.md; the checker is pcaps/check."""
import json
from pathlib import Path

from common import pcapng

ROOM = Path(__file__).resolve().parent.parent


def time_text(nanoseconds):
    """A duration as a string with its unit, exact to the nanosecond: 1500000 gives "1.5ms"."""
    whole, rest = divmod(nanoseconds, 1_000_000)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + "ms"


def _value(value):
    if isinstance(value, dict):
        inside = ", ".join(f"{key} = {_value(item)}" for key, item in value.items())
        return "{ " + inside + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return json.dumps(value)  # strings, booleans and integers are the same in TOML


def _table(name, table):
    return [name] + [f"{key} = {_value(value)}" for key, value in table.items()]


def toml(head, device, config, calls, twins):
    """Return the text of a scenario.toml."""
    lines = [f"{key} = {_value(value)}" for key, value in head.items()]
    lines += ["", *_table("[device]", device)]
    if config:
        lines += ["", *_table("[device.config]", config)]
    for call in calls:
        lines += ["", *_table("[[call]]", call)]
    for twin in twins:
        lines += ["", *_table("[[twin]]", twin)]
    return "\n".join(lines) + "\n"


def write(folder, text, packets):
    """Write both files of a scenario into `folder`, which is created if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(text)
    (folder / "capture.pcapng").write_bytes(pcapng.encode(packets))
