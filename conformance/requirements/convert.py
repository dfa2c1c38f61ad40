#!/usr/bin/env python3
# Converts the table of requirements (tab separated) to one rfcNNNN.toml for each RFC.
"""Converts requirements.tsv to conformance/requirements/rfcNNNN.toml.

Input: a tab separated table whose first line is `id rfc section level summary`.
Checks every row (known level, unique id, the id begins with its RFC's number), applies
corrections.toml from this script's folder, and writes the files.
A correction names the text that it replaces, so it fails if that text has changed in the table.

    conformance/requirements/convert.py requirements.tsv            write the files
    conformance/requirements/convert.py --check requirements.tsv    only compare with the files

Exit code: 0 fine; 1 with --check, if a file differs; 2 for bad input, and nothing is written.
"""

import argparse
import os
import sys
import tomllib

HEADER = ["id", "rfc", "section", "level", "summary"]
FIELDS = ["section", "level", "summary"]
LEVELS = [
    "MUST",
    "MUST NOT",
    "SHOULD",
    "SHOULD NOT",
    "RECOMMENDED",
    "MAY",
    "text",
    "informational",
]
TITLES = {
    "791": "Internet Protocol",
    "792": "Internet Control Message Protocol",
    "826": "An Ethernet Address Resolution Protocol",
    "1122": "Requirements for Internet Hosts -- Communication Layers",
    "1191": "Path MTU Discovery",
    "1337": "TIME-WAIT Assassination Hazards in TCP",
    "1624": "Computation of the Internet Checksum via Incremental Update",
    "2018": "TCP Selective Acknowledgment Options",
    "2883": "An Extension to the Selective Acknowledgement (SACK) Option for TCP",
    "3042": "Enhancing TCP's Loss Recovery Using Limited Transmit",
    "3168": "The Addition of Explicit Congestion Notification (ECN) to IP",
    "3390": "Increasing TCP's Initial Window",
    "3522": "The Eifel Detection Algorithm for TCP",
    "4015": "The Eifel Response Algorithm for TCP",
    "4443": "Internet Control Message Protocol (ICMPv6) for the IPv6 Specification",
    "4821": "Packetization Layer Path MTU Discovery",
    "4861": "Neighbor Discovery for IP version 6 (IPv6)",
    "4862": "IPv6 Stateless Address Autoconfiguration",
    "4987": "TCP SYN Flooding Attacks and Common Mitigations",
    "5227": "IPv4 Address Conflict Detection",
    "5482": "TCP User Timeout Option",
    "5681": "TCP Congestion Control",
    "5682": "Forward RTO-Recovery (F-RTO)",
    "5722": "Handling of Overlapping IPv6 Fragments",
    "5927": "ICMP Attacks against TCP",
    "5961": "Improving TCP's Robustness to Blind In-Window Attacks",
    "6056": "Recommendations for Transport-Protocol Port Randomization",
    "6191": "Reducing the TIME-WAIT State Using TCP Timestamps",
    "6298": "Computing TCP's Retransmission Timer",
    "6528": "Defending against Sequence Number Attacks",
    "6582": "The NewReno Modification to TCP's Fast Recovery Algorithm",
    "6633": "Deprecation of ICMP Source Quench Messages",
    "6675": "A Conservative Loss Recovery Algorithm Based on SACK for TCP",
    "6691": "TCP Options and Maximum Segment Size (MSS)",
    "6864": "Updated Specification of the IPv4 ID Field",
    "6928": "Increasing TCP's Initial Window",
    "6937": "Proportional Rate Reduction for TCP",
    "6946": "Processing of IPv6 \"Atomic\" Fragments",
    "6980": "Security Implications of IPv6 Fragmentation with IPv6 Neighbor Discovery",
    "6994": "Shared Use of Experimental TCP Options",
    "7323": "TCP Extensions for High Performance",
    "7413": "TCP Fast Open",
    "7414": "A Roadmap for Transmission Control Protocol (TCP) Specification Documents",
    "8200": "Internet Protocol, Version 6 (IPv6) Specification",
    "8201": "Path MTU Discovery for IP version 6",
    "8257": "Data Center TCP (DCTCP): TCP Congestion Control for Data Centers",
    "8985": "The RACK-TLP Loss Detection Algorithm for TCP",
    "9110": "HTTP Semantics",
    "9112": "HTTP/1.1",
    "9293": "Transmission Control Protocol (TCP)",
    "9406": "HyStart++: Modified Slow Start for TCP",
    "9438": "CUBIC for Fast and Long-Distance Networks",
    "9937": "Proportional Rate Reduction (PRR)",
}


class BadInput(Exception):
    """An error in the input; the message is the one line that the user sees."""


def read_table(path):
    """Reads the table and returns its rows as dictionaries, in the order of the file."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{path}: cannot be read ({error}); name the table of requirements") from error
    if lines[0].split("\t") != HEADER:
        raise BadInput(f"{path}:1: expected the columns {' '.join(HEADER)}, tab separated")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if line == "":
            continue
        cells = line.split("\t")
        if len(cells) != len(HEADER):
            raise BadInput(f"{path}:{number}: {len(cells)} cells; expected {len(HEADER)}")
        rows.append(dict(zip(HEADER, cells)) | {"where": f"{path}:{number}"})
    return rows


def check_rows(rows):
    """Raises for a row whose id, RFC or level is invalid."""
    seen = set()
    for row in rows:
        if not row["id"].startswith(row["rfc"] + ":"):
            raise BadInput(f"{row['where']}: id {row['id']} does not begin with {row['rfc']}:")
        if row["id"] in seen:
            raise BadInput(f"{row['where']}: id {row['id']} is a duplicate; keep one row")
        if row["level"] not in LEVELS:
            raise BadInput(f"{row['where']}: level {row['level']!r}; expected {LEVELS}")
        if row["rfc"] not in TITLES:
            raise BadInput(f"{row['where']}: RFC {row['rfc']} has no title in convert.py")
        if not row["section"] or not row["summary"]:
            raise BadInput(f"{row['where']}: {row['id']} lacks its section or its summary")
        seen.add(row["id"])


def apply_corrections(rows, corrections, path):
    """Replaces the fields that the corrections name and appends the added rows."""
    known = {row["id"]: row for row in rows}
    for entry in corrections.get("correction", []):
        row = known.get(entry["id"])
        if row is None:
            raise BadInput(f"{path}: correction of {entry['id']}, but no row has this id")
        if entry["field"] not in FIELDS:
            raise BadInput(f"{path}: {entry['id']}: field {entry['field']!r}; expected {FIELDS}")
        if row[entry["field"]] != entry["was"]:
            raise BadInput(
                f"{path}: {entry['id']}: {entry['field']} is {row[entry['field']]!r}, "
                f"not {entry['was']!r}; check the correction against the table again"
            )
        row[entry["field"]] = entry["is"]
    for entry in corrections.get("addition", []):
        row = {name: entry[name] for name in ["id", *FIELDS]}
        row |= {"rfc": entry["id"].split(":")[0], "where": path}
        last = max((i for i, r in enumerate(rows) if r["rfc"] == row["rfc"]), default=len(rows) - 1)
        rows.insert(last + 1, row)


def quoted(text):
    """A TOML basic string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def toml_of(rfc, rows):
    """The contents of rfcNNNN.toml: one row per line, so that grep prints whole rows."""
    lines = [
        f"# The requirements of RFC {rfc}, one row per binding sentence. Written by convert.py:",
        "# correct a row in corrections.toml, not here.",
        f"rfc = {rfc}",
        f"title = {quoted(TITLES[rfc])}",
        "requirements = [",
    ]
    for row in rows:
        cells = ", ".join(f"{name} = {quoted(row[name])}" for name in ["id", *FIELDS])
        lines.append(f"  {{ {cells} }},")
    return "\n".join([*lines, "]", ""])


def convert(table, corrections_path):
    """Returns {file name: text} for every RFC of the table."""
    rows = read_table(table)
    check_rows(rows)
    try:
        with open(corrections_path, "rb") as file:
            corrections = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{corrections_path}: {error}") from error
    try:
        apply_corrections(rows, corrections, corrections_path)
    except KeyError as error:
        raise BadInput(f"{corrections_path}: an entry lacks the key {error}") from error
    check_rows(rows)
    by_rfc = {}
    for row in rows:
        by_rfc.setdefault(row["rfc"], []).append(row)
    return {f"rfc{rfc}.toml": toml_of(rfc, group) for rfc, group in by_rfc.items()}


def differing(files, folder):
    """The names of the files that differ from the converted text."""
    names = []
    for name, text in files.items():
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            names.append(name)
            continue
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                names.append(name)
    return names


def main(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="Converts the table of requirements to TOML.")
    parser.add_argument("table", help="requirements.tsv")
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    parser.add_argument("--out", default=here, help="folder of the rfcNNNN.toml files")
    parser.add_argument("--corrections", default=os.path.join(here, "corrections.toml"))
    options = parser.parse_args(arguments)
    try:
        files = convert(options.table, options.corrections)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    if options.check:
        names = differing(files, options.out)
        for name in names:
            print(f"{name}: differs from the converted table; rerun convert.py")
        return 1 if names else 0
    for name, text in files.items():
        with open(os.path.join(options.out, name), "w", encoding="utf-8") as file:
            file.write(text)
    rows = sum(text.count("\n  {") for text in files.values())
    print(f"{rows} requirements of {len(files)} RFCs written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
