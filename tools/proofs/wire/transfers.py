# One transfer of a case of pairs.py, every octet hashed, and its capture judged.
"""Used by the part that every test run takes, and by tools/evidence wire."""
import hashlib
import shutil
import subprocess

from proofs.wire import servers
from dev import namespace as ns
from proofs.wire import crossing, sink

PORT = 8000
PIECE = 1 << 20


def terms_of(case):
    """The case's terms for the bus."""
    return crossing.Terms(
        mtu=int(case["network"].split("-")[1]), loss=crossing.LOSSES[case["loss"]],
        reorder=crossing.ORDERS[case["order"]], rate_bits=crossing.RATES[case["rate"]])


def address_of(case, v4, v6):
    """One of two addresses, in the notation of URLs."""
    return v4 if case["network"].startswith("v4") else f"[{v6}]"


def curl(path, *words, patience):
    """(SHA-256 of what curl read, its length); fails if curl fails."""
    command = ["curl", "-sS", "--fail", "--globoff", "--retry", "5", "--retry-connrefused",
               *words, path]
    digest, length = hashlib.sha256(), 0
    with subprocess.Popen(["timeout", str(patience), *command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        while piece := process.stdout.read1(PIECE):
            digest.update(piece)
            length += len(piece)
        said = process.stderr.read().decode()
        assert process.wait() == 0, (command, process.returncode, said)
    return digest.hexdigest(), length


def download(world, case, folder, patience):
    """The kernel downloads from our server."""
    size = case["size"]
    with world.server(folder) as server:
        with world.kernels.inside():
            path = f"http://{address_of(case, ns.OURS, ns.OURS6)}/bytes/{size}"
            assert curl(path, patience=patience) == (ns.hash_of_generated(size), size)
        stop(server, requests=1)


def upload(world, case, folder, patience):
    """The kernel uploads to our server's sink."""
    size = case["size"]
    body = folder / "body"
    with open(body, "wb") as file:
        for begin in range(0, size, ns.PATTERN_OCTETS):
            file.write(ns.PATTERN[:min(ns.PATTERN_OCTETS, size - begin)])
    said = f"{size} {ns.hash_of_generated(size)}\n".encode()
    with world.server(folder) as server:
        with world.kernels.inside():
            path = f"http://{address_of(case, ns.OURS, ns.OURS6)}/sink"
            expected = hashlib.sha256(said).hexdigest(), len(said)
            assert curl(path, "-T", str(body), patience=patience) == expected
        summary = stop(server, requests=1)
    assert summary["upload_octets"] == size
    body.unlink()


def stop(server, requests):
    """Stops the server, which must have answered this many requests; returns its summary."""
    code, summary, errors = server.end()
    assert code == 0, errors
    assert summary["answers"]["200"] == requests, summary
    return summary


def load(world, case, folder, patience, path, *words):
    """Runs our load once against the kernel; returns its result."""
    with world.ours.inside():
        code, result, said = servers.run_load(
            folder, f"http://{address_of(case, ns.KERNEL, ns.KERNEL6)}:{PORT}{path}", "--requests",
            1, "--timeout", f"{patience}s", "--mtu", world.terms.mtu, *words, kind=world.kind,
            patience=patience, addresses=world.addresses(), hosts=())
    assert code == 0, said
    assert result["answered"] == 1 and not any(result["errors"].values()), said
    return result


def load_download(world, case, folder, patience):
    """Our load downloads from the kernel, and compares each octet itself."""
    with world.kernels.inside(), sink.listening(PORT):
        result = load(world, case, folder, patience, f"/bytes/{case['size']}")
    assert result["body_octets"] == case["size"]


def load_upload(world, case, folder, patience):
    """Our load uploads to the kernel; both must have the same hash."""
    size = case["size"]
    with world.kernels.inside(), sink.listening(PORT) as server:
        load(world, case, folder, patience, "/sink", "--upload", size)
    assert server.taken == [(size, ns.hash_of_generated(size))]


DIRECTIONS = {"download": download, "upload": upload, "load-download": load_download,
              "load-upload": load_upload}


def run(case, folder, patience=120, captured=True):
    """Runs the case; returns the counts of frames, or fails with an explanation."""
    capture = folder / "run.pcap" if captured else None
    with crossing.Crossing(case["driver"], terms_of(case), capture) as world:
        DIRECTIONS[case["direction"]](world, case, folder, patience)
        account = world.end()
    if captured:
        crossing.judge(capture, shutil.which("tshark"))
        capture.unlink()
    return account
