# Tests of the tools in pcaps/: the formats read what they write, and check finds errors.
"""Run by pytest on copies of committed scenarios, each with one defect."""
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOM = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOM))

from common import frames, pcapng, scenario_file  # noqa: E402

EXAMPLE = ROOM / "rfc9293-3.5-three-way-handshake-passive"
ENDS = ("10.0.0.2", 6000), ("10.0.0.1", 80)
ENDS6 = ("2001:db8::2", 6000), ("2001:db8::1", 80)
MACS = ("02:00:00:00:00:02", "02:00:00:00:00:01")


def run(program, *words):
    """Run a program of pcaps/; return its exit code and output."""
    done = subprocess.run([ROOM / program, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_room_is_right():
    code, text = run("check")
    assert code == 0, text


def test_authored_captures_are_reproduced():
    code, text = run("author/check")
    assert code == 0, text


def test_pcapng_reads_what_it_writes():
    packets = [pcapng.Packet(2**40 + 7, b"x" * size) for size in (54, 55, 56, 57)]
    assert pcapng.decode(pcapng.encode(packets)) == packets


@pytest.mark.parametrize("ends", [ENDS, ENDS6])
@pytest.mark.parametrize("size", [0, 1, 2, 1459])
def test_frame_reads_what_it_builds(ends, size):
    frame = frames.build(*ends, MACS, "PA", 2**32 - 1, 5, 1000, 3, b"\2\4\5\xb4", b"z" * size)
    segment = frames.parse(1, pcapng.Packet(9, frame))
    assert (segment.source, segment.target) == ends
    assert (segment.seq, segment.ack, segment.flags) == (2**32 - 1, 5, "PA")
    assert (segment.window, segment.urgent, segment.length) == (1000, 3, size)
    assert segment.options == b"\2\4\5\xb4"
    assert segment.option(2) == b"\5\xb4" and segment.option(3) is None


@pytest.mark.parametrize("at", [24, 26, 38, 50, 60])
def test_changed_octet_is_noticed(at):
    frame = bytearray(frames.build(*ENDS, MACS, "A", 1, 1, payload=b"text" * 4))
    frame[at] ^= 1
    with pytest.raises(frames.BadFrame):
        frames.parse(1, pcapng.Packet(0, bytes(frame)))


@pytest.mark.parametrize("ends", [ENDS, ENDS6])
@pytest.mark.parametrize("ecn, marked", [(0, 0), (1, 3), (2, 3), (3, 3)])
def test_router_marks_what_speaks_ecn(ends, ecn, marked):
    frame = frames.build(*ends, MACS, "A", 1, 1, ecn=ecn)
    assert frames.parse(1, pcapng.Packet(0, frame)).ecn == ecn
    assert frames.parse(1, pcapng.Packet(0, frames.marked(frame))).ecn == marked


@pytest.mark.parametrize("ends, router", [(ENDS, "10.0.0.254"), (ENDS6, "2001:db8::fe")])
def test_router_says_what_is_too_big(ends, router):
    frame = frames.build(*ends, MACS, "A", 1, 1, payload=b"x" * 1300)
    message = frames.too_big(frame, router, MACS, 1280)
    assert frames.parse(1, pcapng.Packet(0, message)) is None  # ICMP with a correct checksum
    assert message.endswith(frame[14:42]) or frame[14:1246] in message


@pytest.mark.parametrize("nanoseconds, text", [(0, "0ms"), (1_500_000, "1.5ms"), (10**9, "1000ms"),
                                               (1, "0.000001ms")])
def test_durations_are_exact(nanoseconds, text):
    assert scenario_file.time_text(nanoseconds) == text


SPOILED = [
    ('role = "passive"', 'role = "server"', "role 'server', expected active, passive, closed"),
    ('profile = "rfc"', 'profil = "rfc"', "unknown key 'profil'"),
    ('"9293:P-3WHS"', '"9293:P-4WHS"', "requirement 9293:P-4WHS is not in"),
    ("packet = 2", "packet = 1", "packet 1 is the peer's"),
    ("packet = 2", "packet = 99", "packet 99 does not exist"),
    ('do = "listen"', 'do = "write"', "'write' needs 'bytes'"),
    ("after_packet = 0", 'at = "5 minutes"', "is no duration"),
    ('field = "ack"', 'field = "ttl"', "field 'ttl', expected one of"),
    ("handshake.py", "nothing.py", "which is not there"),
    ("port = 80", "port = 81", "neither from nor to the device"),
]


@pytest.mark.parametrize("old, new, expected", SPOILED)
def test_spoiled_scenario_is_found(tmp_path, old, new, expected):
    folder = tmp_path / "spoiled"
    shutil.copytree(EXAMPLE, folder)
    text = (folder / "scenario.toml").read_text()
    assert old in text
    (folder / "scenario.toml").write_text(text.replace(old, new))
    code, output = run("check", folder)
    assert code == 1
    assert expected in output


PAIR = {"feature": "D-SACK", "measure": "duplicate_blocks",
        "on": {"scenario": "rfc2883-4-linux-duplicates-reported", "is": 3},
        "off": {"scenario": "rfc2883-4-linux-duplicates-unreported", "is": 0}}
WRONG_PAIRS = [
    ({}, []),
    ({"measure": "beauty"}, ["measure 'beauty', expected one of"]),
    ({"on": {**PAIR["on"], "is": 4}}, ["on: duplicate_blocks is 3, not 4"]),
    ({"on": PAIR["off"]}, ["on and off do not differ"]),
    ({"off": {"scenario": "nowhere", "is": 0}}, ["off: there is no scenario 'nowhere'"]),
]


@pytest.mark.parametrize("change, expected", WRONG_PAIRS)
def test_wrong_pair_is_found(change, expected):
    check = runpy.run_path(str(ROOM / "check"))
    lines = check["check_pairs"]([{**PAIR, **change}])
    assert len(lines) == len(expected)
    assert all(text in line for text, line in zip(expected, lines))


@pytest.mark.parametrize("cut", [0, 3, 40, 300])
def test_cut_capture_is_found(tmp_path, cut):
    folder = tmp_path / "cut"
    shutil.copytree(EXAMPLE, folder)
    whole = (folder / "capture.pcapng").read_bytes()
    (folder / "capture.pcapng").write_bytes(whole[:cut])
    code, output = run("check", folder)
    assert code == 1
    assert "capture.pcapng: " in output and "Traceback" not in output


def test_missing_folder_is_one_line():
    code, output = run("check", "/nowhere")
    assert code == 2 and output.count("\n") == 1


def test_unknown_recording_is_one_line():
    code, output = run("record/record", "unknown")
    assert code == 2 and output.count("\n") == 1
