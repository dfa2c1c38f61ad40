# Makes several worlds at a time and keeps the list of their flows.
"""Each world is a process, so its namespaces disappear with it."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

from proofs.calibrate import draw

TOOLS = pathlib.Path(__file__).resolve().parents[2]
AT_ONCE, TIME_OUT = 8, 400
LIST = "flows.jsonl"


class NotPossible(Exception):
    """This system cannot make namespaces, or lacks resources."""


def one_world(seed, number, flows, folder):
    """Make one world; returns its flows as drawn, each with its file."""
    words = [sys.executable, "-m", "proofs.calibrate.world", str(seed), str(number), str(flows),
             str(folder)]
    done = subprocess.run(words, cwd=TOOLS, capture_output=True, text=True, check=False,
                          timeout=TIME_OUT, env={**os.environ, "PYTHONPATH": str(TOOLS)})
    if done.returncode:
        raise NotPossible(f"world {number} of seed {seed}: {done.stderr.strip()[-400:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def make(seed, flows, folder, say=lambda text: None):
    """Make at least `flows` flows of a seed in a folder, and some odd worlds. Existing worlds are
    kept."""
    folder = pathlib.Path(folder)
    (folder / "whole").mkdir(parents=True, exist_ok=True)
    noted = folder / LIST
    known = read_list(folder) if noted.exists() else []
    done = {flow["world"] for flow in known}
    count = -(-flows // draw.FLOWS_IN_WORLD)
    odd = range(draw.ODD, draw.ODD + -(-count // draw.ODD_EVERY))
    wanted = [number for number in [*odd, *range(count)] if number not in done]
    size = min(flows, draw.FLOWS_IN_WORLD)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool, \
            open(noted, "a", encoding="utf-8") as out:
        waiting = {pool.submit(one_world, seed, number, size, folder): number
                   for number in wanted}
        for future in concurrent.futures.as_completed(waiting):
            made = future.result()
            for flow in made:
                flow["world"] = waiting[future]
                out.write(json.dumps(flow) + "\n")
            out.flush()
            known += made
            say(f"{len(known)} flows of seed {seed}")
    return read_list(folder)


def read_list(folder):
    """The notes of a folder's flows, sorted by file name."""
    text = (pathlib.Path(folder) / LIST).read_text(encoding="utf-8")
    return sorted((json.loads(line) for line in text.splitlines()), key=lambda one: one["file"])
