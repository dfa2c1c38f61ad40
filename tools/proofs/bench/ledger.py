"""Where instructions go: a callgrind profile of each instruction, by stage of a segment's way."""
import collections
import json
import pathlib
import re
import subprocess
import tempfile

# The stages in the order of a segment's way, with the sources (and, where a source has several,
# the functions) that belong to each. An instruction belongs to the innermost inlined function whose
# source stands here; sources that many stages use (units, lists, pools) do not.
STAGES = {
    "driver": [r"core/stack/(turn|driver)\.hpp", r"tools/proofs/bench/pinned"],
    "application": [r"tools/proofs/bench/", r"tools/lib/pair/"],
    "checksum and copy": [r"core/wire/checksum",
                          r"core/memory/(byte_store|send_store|receive_store)"],
    "parse": [r"core/wire/.*::(parse|read)", r"core/internet/.*_input", r"core/link/ethernet_input",
              r"core/stack/(ingress|reassembly|ipv6)", r"core/internet/(addresses|fragments)"],
    "write": [r"core/wire/", r"core/stack/egress", r"core/internet/", r"core/link/",
              r"core/tcp/(emit|segment_options|replies|transmit)"],
    "demultiplex": [r"core/tcp/demux", r"core/stack/shard", r"core/units/hash"],
    "open": [r"core/tcp/opening/", r"core/tcp/arrives_(listen|syn_sent|closed)",
             r"core/tcp/(backlog|window_scale|settings)"],
    "close": [r"core/tcp/time_wait"],
    "lifecycle": [r"core/tcp/lifecycle"],
    "judge": [r"core/tcp/(arrives|acceptable|judge|challenge|act|timestamps|state)"],
    "acknowledge": [r"core/tcp/(acknowledgement|accounts|account|rtt|ecn|send_queue)",
                    r"core/tcp/(recovery|congestion)/"],
    "reassemble": [r"core/tcp/(reassembly|gaps|autotune|sack_report|pending_ack)"],
    "events": [r"core/tcp/(events|record_ends)", r"core/stack/event"],
    "calls": [r"core/tcp/(calls|interface|inspect)"],
    "plan": [r"core/tcp/(output|path|path_probe|resources)"],
    "timers": [r"core/memory/timer_wheel", r"core/tcp/(expiry|user_timeout)"],
    "stack": [r"core/stack/"],
    "tcp, shared": [r"core/tcp/"],
}
_RULES = [(stage, re.compile(rule)) for stage, rules in STAGES.items() for rule in rules]
OTHER = "elsewhere"
# The C library's copies and comparisons, by name: they have no sources here.
_COPIES = re.compile(r"mem(cpy|move|set|cmp)")


def place_of(frames):
    """(stage, function) of an instruction; `frames`: (source, function), innermost first."""
    for source, function in frames:
        named = f"{source}::{function}"
        for stage, rule in _RULES:
            if rule.search(named):
                return stage, f"{pathlib.Path(source).name} {function}"
    return OTHER, frames[-1][1] if frames else "?"


def read_profile(lines, program):
    """Instructions executed: (by address in `program`, by function outside of it).

    `lines`: callgrind's output with --dump-instr=yes and without compression."""
    inside, outside = collections.Counter(), collections.Counter()
    here, function, inclusive = False, "", False
    for line in lines:
        if line.startswith("0x"):
            if inclusive:  # the cost of a call, which the callee has already
                inclusive = False
                continue
            words = line.split()
            if here:
                inside[int(words[0], 16)] += int(words[2])
            else:
                outside[function] += int(words[2])
        elif line.startswith("ob="):
            here = pathlib.Path(line[3:].strip()).name == program
        elif line.startswith("fn="):
            function = line[3:].strip()
        elif line.startswith("calls="):
            inclusive = True
    return inside, outside


def frames_of(program, addresses):
    """For each address (source, function) of the inlined calls there, innermost first."""
    asked = "\n".join(map(hex, addresses))
    done = subprocess.run(["llvm-symbolizer-19", f"--obj={program}", "--inlines",
                           "--output-style=JSON"], input=asked, capture_output=True, text=True,
                          check=True)
    out = []
    for line in done.stdout.splitlines():
        symbols = json.loads(line).get("Symbol", [])
        out.append([(each["FileName"], short(each["FunctionName"])) for each in symbols])
    return out


def short(function):
    """The function's own name, without its scope, template arguments and parameters."""
    plain = function.replace("(anonymous namespace)::", "").split("(")[0]
    name = re.sub(r"<[^<>]*>", "", plain)
    return name.rsplit("::", 1)[-1]


def without_debug(program, folder):
    """A copy in `folder` that valgrind can load: it cannot read the debug information of clang
    19."""
    bare = folder / program.name
    subprocess.run(["llvm-strip-19", "--strip-debug", "-o", str(bare), str(program)], check=True)
    return bare


def profile(program, arguments):
    """(instructions by stage and function, units of the workload) of one run of a program with
    debug lines."""
    with tempfile.TemporaryDirectory() as folder:
        bare = without_debug(program, pathlib.Path(folder))
        out = pathlib.Path(folder) / "profile"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-instr=yes",
             "--compress-pos=no", "--compress-strings=no", str(bare), *arguments],
            capture_output=True, text=True, check=True)
        with out.open(encoding="utf-8", errors="replace") as lines:
            inside, outside = read_profile(lines, program.name)
    addresses = list(inside)
    places = collections.Counter()
    for address, frames in zip(addresses, frames_of(program, addresses), strict=True):
        places[place_of(frames)] += inside[address]
    for function, count in outside.items():
        stage = "checksum and copy" if _COPIES.search(function) else OTHER
        places[(stage, function.lstrip("_"))] += count
    return places, json.loads(done.stdout)["units"]


def slope(program, arguments, sizes):
    """Instructions per unit by stage and function, from two sizes, so that start-up cancels out."""
    (few, few_units), (many, many_units) = (
        profile(program, [*arguments, "--count", str(size)]) for size in sizes)
    units = many_units - few_units
    return {place: (many[place] - few[place]) / units for place in many | few}


def table(columns, stage=None):
    """Lines of a Markdown table: a line a stage, or a line a function of `stage`.

    `columns`: name of a workload to its instructions by stage and function."""
    rows = collections.defaultdict(lambda: [0.0] * len(columns))
    for column, each in enumerate(columns.values()):
        for (its_stage, function), count in each.items():
            if stage is None or its_stage == stage:
                rows[its_stage if stage is None else function][column] += count
    if stage is None:
        order = [name for name in [*STAGES, OTHER] if name in rows]
    else:
        order = sorted(rows, key=lambda name: (-sum(rows[name]), name))
    lines = [f"| {'stage' if stage is None else stage} | " + " | ".join(columns) + " |",
             "|---" * (len(columns) + 1) + "|"]
    for name in order:
        cells = [round(cell) for cell in rows[name]]
        if any(cells):
            lines.append(f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    totals = [round(sum(column)) for column in zip(*rows.values(), strict=True)]
    lines.append("| **all** | " + " | ".join(f"{total:,}" for total in totals) + " |")
    return lines
