# tools/bench wire: compares our servers with the kernel's on a veth pair, by processor time.
"""Rows of a table: for each workload, each server in turn, several times."""
import contextlib
import json
import pathlib
import re
import subprocess
import tempfile

from proofs.wire import bench_host
from dev import namespace as ns

GOAL = 1.5  # times the kernel's requests per second of processor; reported, never a limit
PORT = 8080
# The reference: the same work on the kernel's sockets, without a framework.
PEER = "epoll"
SERVERS = ["xdp", "packet", "tap", "nginx", PEER]


class Row:
    """One workload at one MTU."""

    def __init__(self, name, mtu, words, path="", offloads=True):
        self.name = name
        self.mtu = mtu
        self.words = words
        self.path = path
        self.offloads = offloads  # of the kernel's server: checksums left to offload

    def title(self):
        """The title in the table."""
        return (f"{self.name}, MTU {self.mtu}"
                + ("" if self.offloads else ", no offload"))

    def servers(self):
        """The servers that can run it: AF_XDP's frames must fit into a page."""
        return [name for name in SERVERS if self.mtu <= 3_000 or name != "xdp"]

    def driver(self):
        """The driver of the load. AF_XDP prevents merged frames, like a real wire."""
        return "xdp" if self.mtu <= 3_000 else "packet"


def rows(seconds):
    """The workloads: pages at several MTUs, and connections for 64 octets each."""
    pages = ["--workload", "pages", "--connections", "100", "--duration", f"{seconds}s"]
    small = ["--connections", "64", "--requests-per-connection", "1", "--close", "server",
             "--duration", f"{seconds}s"]
    lasting = ["--connections", "64", "--duration", f"{seconds}s"]
    return [Row("pages", 1500, pages), Row("pages", 1500, pages, offloads=False),
            Row("pages", 576, pages), Row("pages", 3000, pages),
            Row("pages", 9000, pages, offloads=False),
            Row("pingpong64", 1500, small, "/bytes/64"),
            Row("64 octets, lasting connections", 1500, lasting, "/bytes/64")]


@contextlib.contextmanager
def serving(name, row, folder, site, build):
    """Runs that server on the wire of this row."""
    with ns.fresh_namespace():
        if name != "tap":
            bench_host.set_up_wire(row.mtu, row.offloads or name in ("xdp", "packet"))
        if name in ("xdp", "packet", "tap"):
            with bench_host.ours(name, words=["--connections", 16_384], mtu=row.mtu) as served:
                yield served, f"http://{bench_host.THERE}"
            return
        command = (bench_host.nginx_command(folder, PORT, site) if name == "nginx"
                   else [build / "bench_epoll", "--port", PORT])
        with bench_host.of_the_kernel(command, PORT) as served:
            yield served, f"http://{bench_host.THERE}:{PORT}"


def run_once(name, row, folder, site, build, profile=None):
    """Runs one workload against one server; returns its figures."""
    with serving(name, row, folder, site, build) as (served, url):
        if name != "tap":
            served.driver = row.driver()
        with profiled(served, profile):
            found = bench_host.measured(served, folder, url + row.path, row.words)
    wrong = {kind: count for kind, count in found["errors"].items() if count}
    return {"per_processor_second": bench_host.per_processor_second(found),
            "per_second": found["requests_per_second"],
            "goodput": found["goodput_bits_per_second"],
            "bits_per_processor_second":
                found["body_octets"] * 8e9 / max(1, found["server_ns"]),
            "server_ns": found["server_ns"], "p99_ns": found["latency"]["p99_ns"],
            "errors": wrong}


@contextlib.contextmanager
def profiled(served, into):
    """Samples the server's processor time with perf during the block."""
    if into is None:
        yield
        return
    bench_host.hold_receivers()
    threads = ",".join(str(each) for each in served.processes())
    with subprocess.Popen(["perf", "record", "-q", "-F", "999", "-e", "cpu-clock", "-p", threads,
                           "-o", str(into)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.send_signal(2)
            process.wait()


# The part that a function belongs to, by its name; the first pattern that matches.
PARTS = [("driver", re.compile(r"lockstep::hw::|_ZNK?8lockstep2hw")),
         ("application", re.compile(r"lockstep::(http|tools|load|journal)::|http_parser|"
                                    r"_ZNK?8lockstep(4http|5tools|4load|7journal)")),
         ("core", re.compile(r"lockstep::|_ZNK?8lockstep"))]


def part_of(shared, symbol):
    """driver, core, application, kernel, or other parts of the process."""
    if shared.startswith("[kernel") or symbol.startswith("[k]"):
        return "kernel"
    for name, pattern in PARTS:
        if pattern.search(symbol):
            return name
    return "C library" if "libc" in shared else "application"


def parts_in(profile):
    """{part: share in percent} of perf's samples."""
    text = subprocess.run(["perf", "report", "-i", str(profile), "--stdio", "--no-children",
                           "--sort", "dso,symbol", "-t", "|", "-g", "none"], check=False,
                          capture_output=True, text=True).stdout
    out = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("#") or len(cells) < 3 or not cells[0].endswith("%"):
            continue
        part = part_of(cells[1], cells[2])
        out[part] = out.get(part, 0.0) + float(cells[0][:-1])
    return out


def spread_of(values, form):
    """'median (least to most)'"""
    middle, least, most = bench_host.spread(values)
    return f"{middle:{form}} ({least:{form}} to {most:{form}})"


def line_of(row, name, runs, peers):
    """One server's line of the table, with the kernel's result in the same rounds."""
    ratios = [each["per_processor_second"] / peer["per_processor_second"]
              for each, peer in zip(runs, peers)]
    errors = sum(count for each in runs for count in each["errors"].values())
    return {"workload": row.title(), "server": name,
            "requests_per_processor_second": [round(each["per_processor_second"])
                                              for each in runs],
            "ratio": [round(each, 3) for each in ratios],
            "requests_per_second": [each["per_second"] for each in runs],
            "bits_per_processor_second": [round(each["bits_per_processor_second"])
                                          for each in runs],
            "errors": errors}


def text_of(line):
    """The same as text."""
    return (f"| {line['workload']} | {line['server']} | "
            f"{spread_of(line['requests_per_processor_second'], ',.0f')} | "
            f"{bench_host.spread(line['bits_per_processor_second'])[0] / 1e9:.1f} | "
            f"{spread_of(line['ratio'], '.2f')} | "
            f"{bench_host.spread(line['requests_per_second'])[0]:,.0f} | {line['errors']} |")


HEAD = ("| workload | server | requests per processor second | Gbit of pages per processor second |"
        " times epoll's | requests per second | failed |\n|---|---|---|---|---|---|---|")


def make_site(folder):
    """Writes the files of the workload, for nginx."""
    site = pathlib.Path(folder) / "site"
    subprocess.run([str(ns.PROGRAM), "load", "http://10.0.0.1", "--workload", "pages",
                    "--make-site", str(site)], check=True, capture_output=True)
    (site / "bytes" / "64").write_bytes(ns.generated(64))
    return site


def profile_lines(folder, site, options):
    """Where each server spends its time with `pages`, and with short connections."""
    wanted = [row for row in rows(options.seconds)
              if row.mtu == 1500 and row.offloads and options.only in row.title()]
    for row in wanted:
        for name in row.servers():
            into = pathlib.Path(folder) / "perf.data"
            run_once(name, row, folder, site, options.build, into)
            parts = sorted(parts_in(into).items(), key=lambda each: -each[1])
            yield (f"{row.title()}, {name}: "
                   + (", ".join(f"{part} {share:.0f} %" for part, share in parts)
                      or "perf printed nothing"))


def check(options):
    """Prints the table; always returns 0."""
    reason = bench_host.why_not("nginx", "ethtool", options.build / "bench_epoll")
    if reason:
        raise bench_host.Refused(reason)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        site = make_site(folder)
        print(HEAD, flush=True)
        for row in rows(options.seconds):
            if options.only not in row.title():
                continue
            runs = {name: [] for name in row.servers()}
            for _ in range(options.repeat):
                for name, found in runs.items():
                    found.append(run_once(name, row, folder, site, options.build))
            for name, found in runs.items():
                lines.append(line_of(row, name, found, runs[PEER]))
                print(text_of(lines[-1]), flush=True)
        if options.profile:
            print("\nProcessor time of each server by part, with the kernel's receiving thread:")
            for text in profile_lines(folder, site, options):
                print(text, flush=True)
    if options.json:
        options.json.write_text(json.dumps(lines, indent=2) + "\n", encoding="utf-8")
    best = max((bench_host.spread(each["ratio"])[0] for each in lines
                if each["server"] in ("xdp", "tap") and each["workload"].startswith("pages")),
               default=None)
    if best is not None:
        print(f"\nOur best server with pages: {best:.2f} times epoll's; the goal is {GOAL}.")
    return 0
