# Runs one cell of a sweep, here or on a worker of a cluster, which gets this file by value.
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Signals sent from outside. A program that died of another signal would die again.
KILLED_BY = (1, 2, 9, 15)


def changed_file(files):
    """The first file that is missing or differs from where the sweep was started; None: all are
    equal."""
    known = vars(sys).setdefault("_lockstep_sweep_files", {})
    for path, expected in files.items():
        try:
            facts = os.stat(path)
            key = (path, facts.st_mtime_ns, facts.st_size)
            if key not in known:
                known[key] = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
        except OSError:
            return path
        if known[key] != expected:
            return path
    return None


def run_cell(work):
    """{"exit", "result", "error"}; "killed" instead of a result, "stop" for an error of every
    cell."""
    changed = changed_file(work["files"])
    if changed is not None:
        return {"stop": f"{changed}: missing on this worker, or different from where the sweep was"
                        " started: give all workers the same files at the same paths", "exit": 3}
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        extra = {"file": ["--json", str(report)], "flag": ["--json"], "text": []}[work["report"]]
        try:
            done = subprocess.run([work["program"], *work["words"], *extra], cwd=work["folder"],
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except OSError as error:
            return {"stop": f"{work['program']}: cannot be started: {error.strerror}", "exit": 3}
        if -done.returncode in KILLED_BY:
            return {"killed": -done.returncode}
        error = done.stderr.decode(errors="replace").strip()
        if done.returncode in (2, 3):
            lines = error.splitlines() or ["no error message"]
            return {"stop": lines[-1].removeprefix("lockstep: "), "exit": done.returncode}
        text = done.stdout.decode(errors="replace")
        if work["report"] == "file" and report.exists():
            text = report.read_text(encoding="utf-8")
    out = {"exit": done.returncode}
    try:
        out["result"] = text.splitlines() if work["report"] == "text" else json.loads(text)
    except ValueError:
        out["result"] = None
    if error and done.returncode != 0:
        out["error"] = error
    return out
