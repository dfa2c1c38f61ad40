#!/usr/bin/env python3
"""Draws README's picture: one core, one turn, and the environments that run it."""

import pathlib
import sys
from xml.sax.saxutils import escape

TARGET = pathlib.Path(__file__).resolve().parent / "overview.svg"
WIDTH, HEIGHT = 920, 376
INK, PAPER = "#1d2733", "#ffffff"
SIM, CORE, HARD = "#e8f1fb", "#fdf3dc", "#e9f5ea"


def box(x, y, width, height, fill):
    return (f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" '
            f'stroke="{INK}"/>')


def text(x, y, words, size=14, weight="normal", anchor="middle"):
    return (f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" '
            f'text-anchor="{anchor}">{escape(words)}</text>')


def arrow(x1, y1, x2, y2):
    return (f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{INK}" stroke-width="1.5" '
            'marker-end="url(#head)"/>')


def column(x, title, fill, rows):
    """One environment: its title, and a box for each of its parts."""
    parts = [box(x, 16, 240, 320, fill), text(x + 120, 42, title, 15, "bold")]
    for index, (name, words) in enumerate(rows):
        top = 60 + index * 54
        parts += [box(x + 16, top, 208, 44, PAPER), text(x + 120, top + 19, name, 13, "bold"),
                  text(x + 120, top + 35, words, 11)]
    return parts


def draw():
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" fill="{INK}">',
        '<defs><marker id="head" markerWidth="9" markerHeight="8" refX="8" refY="4" '
        f'orient="auto"><path d="M0,0 L9,4 L0,8 z" fill="{INK}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>',
    ]
    parts += column(20, "sim: virtual time", SIM, [
        ("schedule and clock", "instant, rank, number"), ("bus", "rate, delay, queues, switches"),
        ("faults", "loss, reorder, corrupt, partition"),
        ("checkers", "stream, RFC, liveness, counts"), ("seed", "draws all of the world")])
    parts += column(340, "core: pure", CORE, [
        ("turn()", "frames in, events, frames out"),
        ("Stack", "one shard, one arena, no clock"),
        ("tcp", "RFC 9293, 5681, 6582, 6298"),
        ("internet, link, wire", "IPv4, ICMP, ARP, Ethernet"),
        ("memory, units", "arena, timer wheel, strong types")])
    parts += column(660, "conformance: captures", HARD, [
        ("pcaps", "Linux recorded, RFCs authored"), ("replay", "the peer, reactively"),
        ("obligations", "compared, not packets"), ("twins", "mutated: each must violate"),
        ("requirements", "49 RFCs, cited in code and tests")])
    parts += [arrow(262, 76, 338, 76), arrow(338, 90, 262, 90),
              arrow(658, 76, 582, 76), arrow(582, 90, 658, 90),
              text(300, 69, "frames, time", 10), text(300, 104, "frames", 10),
              text(620, 69, "frames, time", 10), text(620, 104, "frames", 10),
              text(WIDTH / 2, 362, "The same object files run in every world.", 13)]
    return "\n".join(parts + ["</svg>"]) + "\n"


def main():
    TARGET.write_text(draw(), encoding="utf-8")
    print(f"wrote {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
