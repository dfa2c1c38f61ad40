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
# A fixed key of Fast Open cookies, and what stands for the cookie of a script's profile under it.
COOKIE_KEY = "net.ipv4.tcp_fastopen_key", "a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4"
COOKIES = {"b35475fbe31c30b5": "3021b9d889017eeb"}
# A tick of the kernel's clock.
TOLERANCE = ["--tolerance_usecs=1000"]
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
    if any(re.search(r"<.*\bFO\b", line) for line in body):
        sysctls.setdefault(*COOKIE_KEY)
        for own, cookie in COOKIES.items():
            body = [line.replace(own, cookie) for line in body]
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


def _sent_later(lines, at, following):
    """The expected packet at the time of the next one, if that has the same octets, flags and ACK,
    and what follows it in the script comes later. None: it has not."""
    found = re.match(r"the next one is sent at ([\d.]+): (> .*)", following)
    packet = lines[at].split(" ", 1)[-1]
    begins = times(lines)
    if not found or begins[at] is None:
        return None
    heads = [re.search(r"> (\S+ \d+:\d+\(\d+\)(?: ack \d+)?)", text) for text in (packet, found[2])]
    same = all(heads) and heads[0][1] == heads[1][1]
    next_begin = next((begin for begin in begins[at + 1:] if begin is not None), None)
    if not same or (next_begin is not None and next_begin < float(found[1])):
        return None
    return without_window(f"{found[1]} {found[2]}")


def _mended_assertion(line, what):
    """The assertion with the values that were seen; a comment if they do not say what holds."""
    new = line
    for name, value in re.findall(r"(tcpi_\w+) = (\d+)", what.split(" does not hold: ")[-1]):
        new = re.sub(rf"\b{name} (==|!=|<=|>=|<|>) \w+", f"{name} == {value}", new)
    return new if new != line else "// " + line


def times(lines):
    """When the event of each line begins, in seconds; None: no event, or its time is open."""
    out, base = [], 0.0
    for line in lines:
        word = line.split(" ", 1)[0]
        begin = re.fullmatch(r"(\+?)(\d*\.?\d+)(\.\.\.\S+)?", word)
        if begin and (not begin[1] or base is not None):
            base = float(begin[2]) + (base if begin[1] else 0.0)
            out.append(base)
        else:
            base = None if word == "*" or "~" in word else base
            out.append(None)
    return out


def _fixed(lines, at):
    """The line with its own time in place of one that is relative to the line before; no line
    behind the last."""
    begin = times(lines)[at] if at < len(lines) else None
    word = lines[at].split(" ", 1)[0] if at < len(lines) else ""
    if begin is None or not word.startswith("+") or "..." in word:
        return lines[at:at + 1]
    return [re.sub(r"^\S+", f"{begin:.9f}".rstrip("0").rstrip("."), lines[at], count=1)]


def _with_packet(lines, at, when, packet):
    """`lines` with a packet in front of the event `at` and of what comes later than it, or behind
    the event if that has caused it."""
    begins = [*times(lines), None]
    if begins[at] is not None and begins[at] <= float(when):
        return [*lines[:at + 1], f"{when} {packet}", *_fixed(lines, at + 1), *lines[at + 2:]]
    while at > 0 and begins[at - 1] is not None and begins[at - 1] > float(when):
        at -= 1
    return [*lines[:at], f"{when} {packet}", *_fixed(lines, at), *lines[at + 1:]]


def mended(text, result):
    """`text` with what Linux did in place of what it did not meet; None: that is unknown."""
    lines = text.splitlines()
    at, what = result["line"] - 1, result["what"]
    line, fields = lines[at], {one["field"]: one for one in result.get("fields", [])}
    new = None
    if what == "the packet sent is not the one expected":
        new = _mended_packet(line, fields, result["next"])
        when = fields["time"]["actual"]
        begins = [begin for begin in times(lines)[:at] if begin is not None]
        if new and begins and fields["time"]["differs"] and float(when) < begins[-1]:
            lines = [*lines[:at], *_fixed(lines, at + 1), *lines[at + 2:]]
            return "\n".join(_with_packet(lines, at, when, new.split(" ", 1)[1])) + "\n"
    elif what.startswith("a packet that the script does not expect was sent at "):
        packet = fields["packet"]["actual"]
        if packet.startswith("> a packet"):
            return None
        when = what.rsplit(" ", 1)[1]
        lines = _with_packet(lines, at, when, without_window(f"{when} {packet}").split(" ", 1)[1])
        return "\n".join(lines) + "\n"
    elif what.startswith("it is already "):
        # A late timer came first; the event follows it.
        new = re.sub(r"^\S+", re.search(r"[\d.]+\d", what)[0], line, count=1)
    elif what.startswith("no packet was sent by "):
        new = _sent_later(lines, at, result.get("next", "")) or "// " + line
        if new.startswith("//"):
            lines[at + 1:at + 2] = _fixed(lines, at + 1)
    elif what.endswith(" returned at another time"):
        begin = times(lines)[at]
        new = (None if begin is None or "..." not in line.split(" ", 1)[0] else
               re.sub(r"^\S+", f"{begin:.9f}...{fields['time']['actual']}", line, count=1))
    elif what.startswith("ioctl: it is "):
        new = re.sub(r"\[\d+\]\)", f"[{re.search(r'-?[0-9]+', what)[0]}])", line)
    elif what.startswith("poll: revents is "):
        seen = int(re.search(r"0x\w+", what)[0], 16)
        new = re.sub(r"revents=[\w|]+", f"revents={seen}", line) if "},{" not in line else None
    elif what.endswith(" returned another result") and "=" in line:
        new = line[:line.rindex("=")] + "= " + fields["result"]["actual"]
    elif what.startswith("assert "):
        new = _mended_assertion(line, what)
    elif re.match(r"getsockopt: the option is ", what):
        seen = re.search(r"the option is (-?\d+), not", what)
        new = re.sub(r"\[\w+\], \[\d+\]\)", f"[{seen[1]}], [4])", line) if seen else None
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
        for result in run(program, todo, folder, "--device", "linux", "--exact-times",
                          "--no-referee"):
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
