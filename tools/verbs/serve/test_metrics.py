# The metrics over the stack itself, scraped through the kernel's sockets, in a namespace.
"""Needs root; otherwise skipped, with the reason, and counted as skipped."""
import json
import re
import shutil
import subprocess
import time

import pytest

from dev import namespace as ns

pytestmark = pytest.mark.skipif(ns.why_not() is not None, reason=str(ns.why_not()))
PORT = 9100


def scrape(path="/metrics", address=ns.OURS):
    """(head, body) of one scrape."""
    with ns.connect(address, PORT) as sock:
        sock.sendall(ns.get(path))
        text = b"".join(iter(lambda: sock.recv(65_536), b""))
    head, body = text.split(b"\r\n\r\n", 1)
    return head.decode(), body.decode()


def value(body, name, **labels):
    """The sum over all lines of that name that have these labels."""
    total = 0
    for line in body.splitlines():
        if line.startswith(name + "{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
            total += int(line.rsplit(" ", 1)[1])
    return total


@pytest.mark.parametrize("shards", [1, 3])
def test_metrics(tmp_path, shards):
    count = 30
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--shards", str(shards), "--metrics",
                       f"{ns.OURS}:{PORT}") as server:
            for _ in range(count):
                with ns.connect() as sock:
                    sock.sendall(ns.get("/bytes/1000", "Connection: close"))
                    while sock.recv(65_536):
                        pass
            end = time.monotonic() + 60
            body = ""
            while value(body, "lockstep_requests_total", status=200) < count:
                assert time.monotonic() < end, body
                head, body = scrape()
            assert head.startswith("HTTP/1.1 200 OK")
            assert "Content-Type: text/plain; version=0.0.4" in head
            assert f"Content-Length: {len(body)}" in head
            assert value(body, "lockstep_connections_total") == count
            assert value(body, "lockstep_body_bytes_total") == 1000 * count
            assert len(re.findall(r"lockstep_frames_in_total\{", body)) == shards
            head, _ = scrape("/else")
            assert head.startswith("HTTP/1.1 404")
            dashboard = json.loads((ns.ROOT / "tools/verbs/serve/grafana.json")
                                   .read_text(encoding="utf-8"))
            asked = {name.removesuffix("_bucket") for panel in dashboard["panels"]
                     for target in panel["targets"]
                     for name in re.findall(r"(?:lockstep|process)_[a-z_]+", target["expr"])}
            assert asked == set(re.findall(r"^# TYPE ([a-z_]+) ", body, re.MULTILINE))
            assert value(body, "lockstep_request_latency_seconds_count") == count
            assert value(body, "lockstep_connection_rtt_seconds_count") == count
            assert value(body, "lockstep_answer_bytes_total", status=200) > 1000 * count
            assert re.search(r"^process_resident_memory_bytes [1-9]\d+$", body, re.MULTILINE)
            code, summary, errors = server.end()
    assert code == 0, errors
    assert summary["requests"] == count


@pytest.mark.skipif(shutil.which("promtool") is None,
                    reason="promtool is missing: apt-get install prometheus")
def test_promtool_reads_the_page(tmp_path):
    with ns.fresh_namespace():
        with ns.Server(tmp_path, "--metrics", f"{ns.OURS}:{PORT}") as server:
            _, body = scrape()
            code, _, errors = server.end()
    assert code == 0, errors
    checked = subprocess.run(["promtool", "check", "metrics"], input=body, text=True,
                             capture_output=True, check=False, timeout=60)
    assert checked.returncode == 0, checked.stderr + checked.stdout


@pytest.mark.parametrize("words, said", [
    (["--metrics", "10.9.0.77:9100"], "not one of --address"),
    (["--metrics", f"{ns.OURS}:80"], "--port uses this port"),
    (["--metrics", "nonsense"], "expected an address of ours and a port"),
    (["--metrics", f"{ns.OURS}:9100", "--record", "j"], "leave out --record")])
def test_bad_places(tmp_path, words, said):
    done = subprocess.run([str(ns.PROGRAM), "serve", "http", "--tap", ns.NAME, "--address",
                           f"{ns.OURS}/24", *words], capture_output=True, text=True, check=False,
                          timeout=60, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
