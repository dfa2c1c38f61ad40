# Plants each kind of violation into whole captures and notes the edits.
"""Captures come from making.make; those of worlds with offloads are left out."""
import json
import pathlib
import random
import socket

from proofs.calibrate import (
    draw, making, pcap, plants_lives, plants_octets, plants_options, plants_time, talk)

EACH = 20
MODULES = (plants_octets, plants_options, plants_time, plants_lives)
FRAMES_MAX = 2500


def bases(folder):
    """Yield (file, whether it was taken at the client) of every whole capture without offloads."""
    folder = pathlib.Path(folder)
    for flow in making.read_list(folder):
        if flow["offloads"] or flow["frames"] > FRAMES_MAX or flow["world"] >= draw.ODD:
            continue
        if flow["view"] == "plain":
            yield folder / flow["file"], flow["side"] == 0
        for side in (0, 1):
            name = folder / "whole" / f"{side}-{flow['file']}"
            if name.exists() and not (flow["view"] == "plain" and side == flow["side"]):
                yield name, side == 0


def name_of(end):
    """address:port, as replay and lint print it."""
    address, port = end
    if len(address) == 4:
        return f"{socket.inet_ntoa(address)}:{port}"
    return f"[{socket.inet_ntop(socket.AF_INET6, address)}]:{port}"


def place_of(packets, at_client):
    """The address of the host where it was captured."""
    source, target = packets[0].addresses
    return socket.inet_ntop(socket.AF_INET if len(source) == 4 else socket.AF_INET6,
                            source if at_client else target)


def try_to_plant(kind, packets, at_client, seed):
    """Plant a kind into one flow: (Planted, frames), or None if the flow does not suit."""
    try:
        conversation = talk.Talk([one.copy() for one in packets], at_client)
        done = kind.plant(conversation, random.Random(seed))
        frames = [(one.time, one.frame()) for one in done.packets]
    except (ValueError, StopIteration, IndexError, AttributeError):
        return None
    return done, frames


def note_of(kind, done, name, source, place):
    """The note about a planted violation that judging needs."""
    numbers = {id(one): at for at, one in enumerate(done.packets, 1)}
    return {"kind": kind.name, "file": name, "source": source, "place": place,
            "accused": name_of(done.accused), "lasting": done.lasting, "anyone": done.anyone,
            "anywhere": done.anywhere,
            "marks": sorted(numbers[id(one)] for one in done.marks), "packets": len(done.packets)}


def plant_all(folder, out, seed, each=EACH, say=lambda text: None):
    """Plant each kind into `each` flows; returns the notes and writes them to out/planted.jsonl."""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    sources = list(bases(folder))
    random.Random(f"plant/{seed}").shuffle(sources)
    left = dict.fromkeys(talk.KINDS, each)
    notes = []
    for number, (source, at_client) in enumerate(sources):
        if not any(left.values()):
            break
        packets = pcap.packets(source)
        for name, kind in talk.KINDS.items():
            made = try_to_plant(kind, packets, at_client, f"{seed}/{number}/{name}") \
                if left[name] else None
            if made is None:
                continue
            left[name] -= 1
            target = out / name / f"{each - left[name] - 1:02}.pcap"
            target.parent.mkdir(parents=True, exist_ok=True)
            pcap.write(target, made[1])
            notes.append(note_of(kind, made[0], f"{name}/{target.name}",
                                 str(source.relative_to(folder)),
                                 place_of(packets, at_client)))
    (out / "planted.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes),
                                       encoding="utf-8")
    for name, count in left.items():
        if count:
            say(f"{name}: {each - count} of {each} flows only")
    return notes


def read_notes(out):
    """The notes that plant_all() wrote."""
    text = (pathlib.Path(out) / "planted.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
