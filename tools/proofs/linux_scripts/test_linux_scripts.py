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
    assert lines[:4] == ["--profile=linux", "--tolerance_usecs=2000", "--tolerance_percent=13",
                         "--mtu=1400"]
    assert lines[4] == ("`sysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_timestamps=1 "
                        "net.ipv4.tcp_window_scaling=0 net.ipv4.tcp_ecn=2`")
    assert lines[5].startswith("0 socket(") and len(lines) == 9


def test_an_expectation_becomes_what_linux_did():
    """By the kind of the finding."""
    text = "\n".join(rewriting.for_linux(SCRIPT).splitlines()[5:]) + "\n"
    packet = {"line": 2, "what": "the packet sent is not the one expected",
              "next": "it is: > P. 1:2(1) ack 9 win 7", "fields": [field("time", "0.3")]}
    assert rewriting.mended(text, packet).splitlines()[1] == "0.3 > P. 1:2(1) ack 9"
    extra = {"line": 2, "what": "a packet that the script does not expect was sent at 0.2",
             "fields": [field("packet", "> R 1:1(0) win 0")]}
    assert rewriting.mended(text, extra).splitlines()[1:3] == ["0.2 > R 1:1(0) win 0",
                                                               text.splitlines()[1]]
    missing = {"line": 2, "what": "no packet was sent by 0.3"}
    assert rewriting.mended(text, missing).splitlines()[1].startswith("// ")
    value = {"line": 3, "what": "assert tcpi_rto == 1000000 does not hold: tcpi_rto = 200000"}
    assert "tcpi_rto == 200000" in rewriting.mended(text, value)
    result = {"line": 4, "what": "write returned another result",
              "fields": [field("result", "-1 EPIPE")]}
    assert rewriting.mended(text, result).splitlines()[3] == "+0 write(3, ..., 10) = -1 EPIPE"
    unknown = {"line": 4, "what": "write returned at another time"}
    assert rewriting.mended(text, unknown) is None


def test_a_window_that_is_not_zero_is_not_compared():
    """Nor is one that arrives touched."""
    assert rewriting.without_window("+0 > . 1:1(0) ack 1 win 5") == "+0 > . 1:1(0) ack 1"
    assert rewriting.without_window("+0 > . 1:1(0) ack 1 win 0") == "+0 > . 1:1(0) ack 1 win 0"
    assert rewriting.without_window("+0 < . 1:1(0) ack 1 win 5") == "+0 < . 1:1(0) ack 1 win 5"
