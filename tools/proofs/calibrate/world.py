#!/usr/bin/env python3
# Makes the connections of one world of a seed, and writes captures and notes of each.
"""python -m proofs.calibrate.world SEED NUMBER FLOWS FOLDER; prints a JSON line per capture."""
import asyncio
import gc
import json
import pathlib
import struct
import sys
import time

from proofs.calibrate import draw, habits, lane, pcap, relay, views, views_mixed

DRAIN_EVERY, LAST_WORDS = 0.05, 1.5
WHOLE = "whole"
RARE = ("port_again", "silent_death", "idle", "slow_reader", "close_early", "reset_midway")


class World:
    """A lane with its relay and flows."""

    def __init__(self, terms):
        self.terms = terms
        self.lane = lane.Lane(terms["mtu"], terms["offloads"], terms["sides"])
        self.relay = self.lane.relay({one["server_port"]: draw.terms_of(one)
                                      for one in terms["flows"]})
        self.timer = None

    def pull(self, loop, side):
        """A TAP is readable: relay its frames."""
        self.relay.pull(side)
        self.release(loop)

    def release(self, loop):
        """Deliver the frames that are due, and set a timer for the next one."""
        due = self.relay.release()
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if due is not None:
            self.timer = loop.call_later(max(0.0, due - time.monotonic()), self.release, loop)

    async def drain(self):
        """Empty the recorders' buffers at intervals."""
        while True:
            for recorder in self.lane.recorders:
                recorder.drain()
            await asyncio.sleep(DRAIN_EVERY)

    async def play(self, flow):
        """Run one flow at its start time."""
        ends = habits.Ends(self.lane, flow)
        ends.listen()
        await asyncio.sleep(flow["begin"])
        try:
            await habits.HABITS[flow["habit"]](ends)
        finally:
            ends.listener.close()

    async def run(self):
        """Run all flows, then wait for the last segments."""
        loop = asyncio.get_running_loop()
        for side in (0, 1):
            loop.add_reader(self.lane.taps[side], self.pull, loop, side)
        drain = asyncio.create_task(self.drain())
        await asyncio.gather(*(self.play(flow) for flow in self.terms["flows"]))
        await asyncio.sleep(LAST_WORDS)
        drain.cancel()
        for recorder in self.lane.recorders:
            recorder.drain()
            if recorder.lost():
                raise RuntimeError("the recorder had no room: its captures are not whole")


def by_flow(frames):
    """{server's port: [(time, frame)]} of TCP frames, in order."""
    flows = {}
    for when, frame in frames:
        place = relay.where_tcp(frame)
        if place is not None:
            port = min(struct.unpack_from(">HH", frame, place[1]))
            flows.setdefault(port, []).append((when, frame))
    return flows


def whole_sides(flow):
    """The ends whose undamaged captures are kept as well, for planting."""
    if flow["habit"] in RARE:
        return (0, 1)
    return () if flow["view"] == "plain" else (flow["side"],)


def write_captures(world, folder):
    """Write two files and two notes for each flow: its own view and a rougher one."""
    ends = [by_flow(recorder.frames) for recorder in world.lane.recorders]
    middle = by_flow(world.lane.middle)
    terms = world.terms
    both = {flow["server_port"]: (flow, [end.get(flow["server_port"], []) for end in ends])
            for flow in terms["flows"]}
    for flow in terms["flows"]:
        port = flow["server_port"]
        frames = views.make({**flow, "offloads": terms["offloads"]}, both[port][1],
                            middle.get(port, []))
        if not frames:
            continue
        name = write_one(terms, flow, frames, folder)
        for side in whole_sides(flow):
            pcap.write(pathlib.Path(folder) / WHOLE / f"{side}-{name}", both[port][1][side])
        rough, frames = views_mixed.make(flow, both)
        if frames:
            write_one(terms, rough, frames, folder)


def write_one(terms, flow, frames, folder):
    """Write a flow's file and print its note; returns the file's name."""
    name = f"{terms['seed']}-{terms['number']:03}-{flow['number']:02}-{flow['habit']}-" \
           f"{flow['path']}-{flow['view']}.pcap"
    pcap.write(pathlib.Path(folder) / name, frames)
    print(json.dumps({"file": name, "frames": len(frames), "mtu": terms["mtu"],
                      "offloads": terms["offloads"], "sides": terms["sides"], **flow}))
    return name


def main():
    """Exit code: 0 made, 3 not possible on this system."""
    seed, number, flows, folder = sys.argv[1:5]
    reason = lane.why_not()
    if reason:
        print(f"calibrate: {reason}", file=sys.stderr)
        return 3
    world = World(draw.world(seed, int(number), int(flows)))
    gc.freeze()
    gc.disable()  # its pauses would appear as round trips of hundreds of milliseconds
    asyncio.run(world.run())
    write_captures(world, folder)
    world.lane.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
