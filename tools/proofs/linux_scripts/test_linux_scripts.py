"""The rewriting of scripts: heads, and each kind of answer."""
from proofs.linux_scripts import rewriting

# The citation is written so that it is not one of this file.
SCRIPT = f"""// A comment.
#{'='} rfc9293#3.5
--profile=rfc --mtu=1400
--config=timestamps=true --config=ecn=accept --config=persist_max=60s

0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 > . 1:1(0) ack 1 win 100
+0 %{{ assert tcpi_rto == 1000000 }}%
+0 write(3, ..., 10) = 10
"""


def field(name, actual, differs=True):
    """A row of a finding."""
    return {"field": name, "expected": "", "actual": actual, "differs": differs}


def test_settings_become_sysctls():
    """What has no sysctl is left to the profile."""
    lines = rewriting.for_linux(SCRIPT).splitlines()
    assert lines[:3] == ["--profile=linux", "--tolerance_usecs=1000", "--mtu=1400"]
    assert lines[3] == ("`sysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_timestamps=1 "
                        "net.ipv4.tcp_window_scaling=0 net.ipv4.tcp_ecn=2`")
    assert lines[4].startswith("0 socket(") and len(lines) == 8


def test_cookies_are_those_of_a_fixed_key():
    """Only in scripts that show Fast Open's option."""
    lines = rewriting.for_linux(SCRIPT + "+0 < S 0:9(9) win 9 <FO b35475fbe31c30b5>\n").splitlines()
    assert "net.ipv4.tcp_fastopen_key=a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4" in lines[3]
    assert lines[-1] == "+0 < S 0:9(9) win 9 <FO 3021b9d889017eeb>"
    assert "fastopen_key" not in rewriting.for_linux(SCRIPT)


def test_an_expectation_becomes_what_linux_did():
    """By the kind of the finding."""
    text = "\n".join(rewriting.for_linux(SCRIPT).splitlines()[4:]) + "\n"
    packet = {"line": 2, "what": "the packet sent is not the one expected",
              "next": "it is: > P. 1:2(1) ack 9 win 7", "fields": [field("time", "0.3")]}
    assert rewriting.mended(text, packet).splitlines()[1] == "0.3 > P. 1:2(1) ack 9"
    extra = {"line": 2, "what": "a packet that the script does not expect was sent at 0.2",
             "fields": [field("packet", "> R 1:1(0) win 0")]}
    assert rewriting.mended(text, extra).splitlines()[1:3] == [text.splitlines()[1],
                                                               "0.2 > R 1:1(0) win 0"]
    missing = {"line": 2, "what": "no packet was sent by 0.3"}
    assert rewriting.mended(text, missing).splitlines()[1].startswith("// ")
    value = {"line": 3, "what": "assert tcpi_rto == 1000000 does not hold: tcpi_rto = 200000"}
    assert "tcpi_rto == 200000" in rewriting.mended(text, value)
    both = "assert tcpi_rto == 1000000 and tcpi_unacked >= 2"
    value = {"line": 3, "what": f"{both} does not hold: tcpi_rto = 200000, tcpi_unacked = 1"}
    two = text.replace("tcpi_rto == 1000000", "tcpi_rto == 1000000 and tcpi_unacked >= 2")
    assert "tcpi_rto == 200000 and tcpi_unacked == 1" in rewriting.mended(two, value)
    option = {"line": 1, "what": "getsockopt: the option is -3, not 7"}
    assert rewriting.mended("+0 getsockopt(3, SOL_SOCKET, SO_ERROR, [7], [4]) = 0\n", option) == (
        "+0 getsockopt(3, SOL_SOCKET, SO_ERROR, [-3], [4]) = 0\n")
    result = {"line": 4, "what": "write returned another result",
              "fields": [field("result", "-1 EPIPE")]}
    assert rewriting.mended(text, result).splitlines()[3] == "+0 write(3, ..., 10) = -1 EPIPE"
    unknown = {"line": 4, "what": "write returned at another time"}
    assert rewriting.mended(text, unknown) is None


def test_an_added_packet_stands_at_its_time():
    """What comes later keeps the time that it had."""
    text = ("0 read(3) = 1\n+.5 < . 1:1(0) ack 1 win 9\n+19.5 read(3) = 0\n+.3 read(3) = 2\n"
            "+.2 close(3) = 0\n")
    extra = {"line": 4, "what": "a packet that the script does not expect was sent at 19.2",
             "fields": [field("packet", "> . 1:1(0) ack 1 win 7")]}
    assert rewriting.mended(text, extra).splitlines()[2:] == [
        "19.2 > . 1:1(0) ack 1", "20 read(3) = 0", "+.3 read(3) = 2", "+.2 close(3) = 0"]
    late = {"line": 2, "what": "it is already 0.9; this should happen at 0.5"}
    text = "0.4 > . 1:1(0) ack 1\n0.5 read(3) = 1\n+.1 read(3) = 2\n"
    assert rewriting.mended(text, late).splitlines() == [
        "0.4 > . 1:1(0) ack 1", "0.9 read(3) = 1", "+.1 read(3) = 2"]
    early = {"line": 3, "what": "the packet sent is not the one expected",
             "next": "it is: > . 5:5(0) ack 1 win 7", "fields": [field("time", "0.4")]}
    text = "0.3 read(3) = 1\n0.7 read(3) = 1\n+0 > . 1:1(0) ack 1\n+0 read(3) = 2\n"
    assert rewriting.mended(text, early).splitlines() == [
        "0.3 read(3) = 1", "0.4 > . 5:5(0) ack 1", "0.7 read(3) = 1", "0.7 read(3) = 2"]


def test_a_packet_that_is_missing_leaves_the_times_of_what_follows():
    """The line after it counted from it."""
    text = "0 read(3) = 1\n+.2 > . 1:1(0) ack 1\n+.1 read(3) = 2\n+.1 read(3) = 2\n"
    missing = {"line": 2, "what": "no packet was sent by 0.2"}
    assert rewriting.mended(text, missing).splitlines()[1:] == [
        "// +.2 > . 1:1(0) ack 1", "0.3 read(3) = 2", "+.1 read(3) = 2"]


def test_a_packet_that_is_only_late_has_its_own_time():
    """That of the kernel, if the packet has the same octets, flags and ACK."""
    text = "0 read(3) = 1\n+5 > R. 1:1(0) ack 1\n+.4 read(3) = 2\n"
    late = {"line": 2, "what": "no packet was sent by 5.1",
            "next": "the next one is sent at 5.3: > R. 1:1(0) ack 1 win 9"}
    assert rewriting.mended(text, late).splitlines()[1:] == [
        "5.3 > R. 1:1(0) ack 1", "+.4 read(3) = 2"]
    for other in ("the next one is sent at 5.5: > R. 1:1(0) ack 1 win 0",
                  "the next one is sent at 5.3: > R 1:1(0) win 0",
                  "the next one is sent at 5.3: > R. 1:1(0) ack 2 win 0",
                  "the next one is sent at 5.3: > R. 2:2(0) ack 1 win 0"):
        assert rewriting.mended(text, late | {"next": other}).splitlines()[1].startswith("//")


def test_calls_that_wait_and_poll():
    """Their times, and their events."""
    text = "0 read(3) = 1\n+.2...0.4 write(4, ..., 9) = 9\n"
    waits = {"line": 2, "what": "write returned at another time",
             "fields": [field("time", "0.7")]}
    assert "0.200000000...0.7 write(" in rewriting.mended(text, waits)
    text = "+0 poll([{fd=4, events=POLLPRI, revents=POLLPRI}], 1, 0) = 1\n"
    events = {"line": 1, "what": "poll: revents is 0x0, not 0x2"}
    assert "revents=0}" in rewriting.mended(text, events)
    text = "+0 ioctl(4, SIOCOUTQ, [1500]) = 0\n"
    queued = {"line": 1, "what": "ioctl: it is 0, not 1500"}
    assert "SIOCOUTQ, [0])" in rewriting.mended(text, queued)


def test_a_window_that_is_not_zero_is_not_compared():
    """Nor is one that arrives touched."""
    assert rewriting.without_window("+0 > . 1:1(0) ack 1 win 5") == "+0 > . 1:1(0) ack 1"
    assert rewriting.without_window("+0 > . 1:1(0) ack 1 win 0") == "+0 > . 1:1(0) ack 1 win 0"
    assert rewriting.without_window("+0 < . 1:1(0) ack 1 win 5") == "+0 < . 1:1(0) ack 1 win 5"
