"""Turns a script into one of profile linux that expects what Linux does.

A script of `conformance/script` gets the settings of profile linux that come nearest to its own, as
sysctls. Then Linux runs it (`lockstep pkt run --device linux`), and each expectation that differs
is replaced by what Linux has sent or returned, until all of it passes.
"""
import json
import pathlib
import re
import subprocess

# Settings of Config as sysctls; those without one are left to the profile.
SYSCTLS = {
    "dsack": "net.ipv4.tcp_dsack",
    "ecn": "net.ipv4.tcp_ecn",
    "fast_open_client": "net.ipv4.tcp_fastopen",
    "fast_open_server": "net.ipv4.tcp_fastopen",
    "keepalive_interval": "net.ipv4.tcp_keepalive_intvl",
    "keepalive_probes": "net.ipv4.tcp_keepalive_probes",
    "path_mtu_discovery": "net.ipv4.ip_no_pmtu_disc",
    "path_mtu_probing": "net.ipv4.tcp_mtu_probing",
    "rack": "net.ipv4.tcp_recovery",
    "rto_min": "net.ipv4.tcp_rto_min_us",
    "sack": "net.ipv4.tcp_sack",
    "syn_cookies": "net.ipv4.tcp_syncookies",
    "tail_probe": "net.ipv4.tcp_early_retrans",
    "time_wait_ignores_reset": "net.ipv4.tcp_rfc1337",
    "timestamps": "net.ipv4.tcp_timestamps",
    "ttl": "net.ipv4.ip_default_ttl",
    "window_scale": "net.ipv4.tcp_window_scaling",
}
WORDS = {
    "ecn": {"accept": "2", "on": "1", "off": "0"},
    "syn_cookies": {"always": "2", "on": "1", "off": "0"},
    "fast_open_client": {"true": "3"},
    "fast_open_server": {"true": "3"},
    "path_mtu_discovery": {"true": "0", "false": "1"},
    "tail_probe": {"true": "3", "false": "0"},
    "rto_min": {"1ms": "1000"},
    "keepalive_interval": {"5s": "5"},
}
TRUTH = {"true": "1", "false": "0"}
# Profile rfc has none of these.
PLAIN = {"net.ipv4.tcp_sack": "0", "net.ipv4.tcp_timestamps": "0",
         "net.ipv4.tcp_window_scaling": "0", "net.ipv4.tcp_ecn": "0"}
# The kernel's timers are later by an eighth and a tick.
TOLERANCE = ["--tolerance_usecs=2000", "--tolerance_percent=13"]
ROUNDS = 80


def for_linux(text):
    """The script `text` with the head of profile linux, and with sysctls for its settings."""
    head, body, sysctls, at_head = [], [], dict(PLAIN), True
    for line in text.splitlines():
        if at_head and (not line.strip() or line.startswith(("#", "//"))):
            continue
        if not at_head or not line.startswith("--"):
            at_head = False
            body.append(line)
            continue
        for word in line.split():
            setting = re.fullmatch(r"--config=(\w+)=(.*)", word)
            if setting and setting[1] in SYSCTLS:
                words = WORDS.get(setting[1], TRUTH)
                sysctls[SYSCTLS[setting[1]]] = words.get(setting[2], setting[2])
            elif not setting and not word.startswith(("--profile", "--tolerance")):
                head.append(word)
    shell = "`sysctl -q " + " ".join(f"{name}={value}" for name, value in sysctls.items()) + "`"
    return "\n".join(["--profile=linux", *TOLERANCE, *head, shell, *body]) + "\n"


def run(program, files, folder, *flags):
    """The results of `lockstep pkt run` on files, as its JSON has them."""
    out = pathlib.Path(folder) / "run.json"
    out.unlink(missing_ok=True)
    said = subprocess.run([program, "pkt", "run", *map(str, files), "--json", str(out), *flags],
                          capture_output=True, text=True, check=False, cwd=folder)
    if not out.exists():
        raise RuntimeError(said.stderr.strip() or said.stdout.strip())
    return json.loads(out.read_text(encoding="utf-8"))["results"]


def without_window(line):
    """An expected packet without its window, unless that is zero."""
    return re.sub(r" win (?!0\b)\d+", "", line) if re.match(r"\S+ > ", line) else line


def _mended_packet(line, fields, after):
    time = fields["time"]["actual"] if fields["time"]["differs"] else line.split()[0]
    packet = after.removeprefix("it is: ")
    return None if packet.startswith("> a packet") else without_window(f"{time} {packet}")


def _mended_assertion(line, what):
    asked = re.findall(r"tcpi_\w+ == \w+", line)
    seen = re.search(r"(tcpi_\w+) = (\d+)$", what)
    if len(asked) == 1 and seen and " and " not in line and f"{seen[1]} ==" in asked[0]:
        return line.replace(asked[0], f"{seen[1]} == {seen[2]}")
    return "// " + line


def mended(text, result):
    """`text` with what Linux did in place of what it did not meet; None: that is unknown."""
    lines = text.splitlines()
    at, what = result["line"] - 1, result["what"]
    line, fields = lines[at], {one["field"]: one for one in result.get("fields", [])}
    new = None
    if what == "the packet sent is not the one expected":
        new = _mended_packet(line, fields, result["next"])
    elif what.startswith("a packet that the script does not expect was sent at "):
        packet = fields["packet"]["actual"]
        if packet.startswith("> a packet"):
            return None
        lines.insert(at, without_window(f"{what.rsplit(' ', 1)[1]} {packet}"))
        return "\n".join(lines) + "\n"
    elif what.startswith("no packet was sent by "):
        new = "// " + line
    elif what.endswith(" returned another result") and "=" in line:
        new = line[:line.rindex("=")] + "= " + fields["result"]["actual"]
    elif what.startswith("assert "):
        new = _mended_assertion(line, what)
    elif re.match(r"getsockopt: the option is ", what):
        new = re.sub(r"\[\w+\], \[\d+\]\)", "..., ...)", line)
    if new is None or new == line:
        return None
    lines[at] = new
    return "\n".join(lines) + "\n"


def answered(program, files, folder, note):
    """Rewrites files until Linux passes them; returns those it passes, and why for the others."""
    todo, passing, others = list(files), [], {}
    for turn in range(ROUNDS):
        if not todo:
            break
        note(f"Linux, round {turn + 1}: {len(todo)} scripts")
        again = []
        for result in run(program, todo, folder, "--device", "linux", "--no-referee"):
            path = pathlib.Path(result["file"])
            if result["verdict"] == "passed":
                passing.append(path)
                continue
            text = path.read_text(encoding="utf-8")
            new = mended(text, result) if result["verdict"] == "failed" else None
            if new is None:
                others[path] = (result.get("what") or result.get("reason")
                                or result.get("error") or "unknown")
            else:
                path.write_text(new, encoding="utf-8")
                again.append(path)
        todo = again
    return sorted(passing), others | {path: "no end after 80 changes" for path in todo}
