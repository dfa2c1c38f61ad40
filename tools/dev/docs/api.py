"""The API's pages: Doxygen for the installed headers, mkdocstrings for the Python package."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

from pages import Finding

HERE = Path(__file__).resolve().parent
# What tools/dev/cmake/lockstep_install.cmake installs.
INSTALLED = re.compile(r"(core|sim|hw|tools/lib/(sockets|pair|http|load|ns3_http))/.*\.(hpp|h)|"
                       r"tools/lib/host/host\.h")
NOT_INSTALLED = re.compile(r"_kit\.hpp|_testing\.hpp|/runner/|/examples/|^hw/mpipe/")
# The headers that a program includes first: each function and type in them has a comment.
DESCRIBED = re.compile(
    r"core/stack/(?!body\.hpp|core_access)[^/]*|core/units/.*|core/tcp/(config|interface)\.hpp|"
    r"tools/lib/host/host\.h|tools/lib/sockets/(pair\.h|sockets\.h|sockets\.hpp)")
WARNING = re.compile(r"(?P<file>[^:\s]+):(?P<line>\d+): (?:warning|error): (?P<what>.*)")
UNDESCRIBED = re.compile(r"(Compound .*|Member .*\(function\).*) is not documented\.")
ENTRIES = (
    ("lockstep::Stack", "core/stack/stack.hpp", "the stack itself"),
    ("lockstep::Config", "core/stack/config.hpp",
     "its configuration; `lockstep::tcp::Config` has TCP's part"),
    ("lockstep::turn", "core/stack/turn.hpp", "one turn, and the loop around it"),
    ("lockstep::Event", "core/tcp/interface.hpp", "events, opens, backlogs and settings"),
    ("lockstep::Driver", "core/stack/driver.hpp", "what a driver has"),
    ("lockstep::Duration", "core/units/time.hpp", "time"),
    ("lockstep_socket", "tools/lib/sockets/sockets.h", "BSD's calls, for C99 and C++"),
    ("lockstep_host_open", "tools/lib/host/host.h", "a stack on an interface, for C99 and C++"),
    ("lockstep::sim::Kernel", "sim/kernel/kernel.hpp", "the simulator"),
    ("lockstep::sim::World", "sim/kernel/world.hpp", "what a world is made of"),
)


MAINPAGE = """/** \\mainpage The C and C++ API
Every header that `cmake --install` installs. Begin with lockstep::Stack, lockstep::Config and
lockstep::sim::Kernel, or with host.h and sockets.h for a stack with BSD's calls in C.

<a href="../../index.html">What Lockstep is, and how to start</a> */
"""


def installed(tree):
    """The headers that an installation has."""
    return [name for name in tree.files
            if INSTALLED.fullmatch(name) and not NOT_INSTALLED.search(name)]


def run_doxygen(tree, out, program="doxygen"):
    """The C and C++ API as pages in `out`/cpp; returns the findings. What has not changed since the
    last run is not made again."""
    import comments  # pylint: disable=import-outside-toplevel
    headers = installed(tree)
    copies = out / "headers"
    shutil.rmtree(copies, ignore_errors=True)
    digest = hashlib.sha256()
    for name in headers:
        text = comments.Filter(tree.text(name)).printed()
        (copies / name).parent.mkdir(parents=True, exist_ok=True)
        (copies / name).write_text(text, encoding="utf-8")
        digest.update(f"{name}\n{text}".encode())
    (copies / "mainpage.dox").write_text(MAINPAGE, encoding="utf-8")
    lines = [(HERE / "Doxyfile").read_text(encoding="utf-8"),
             f"INPUT = {copies}", f"STRIP_FROM_PATH = {copies}", f"STRIP_FROM_INC_PATH = {copies}",
             "RECURSIVE = YES", f"OUTPUT_DIRECTORY = {out / 'cpp'}",
             f"WARN_LOGFILE = {out / 'doxygen.log'}", f"HTML_EXTRA_STYLESHEET = {HERE / 'cpp.css'}",
             f"PROJECT_NUMBER = {version(tree)}"]
    configuration = "\n".join(lines) + "\n"
    (out / "Doxyfile").write_text(configuration, encoding="utf-8")
    digest.update(configuration.encode() + (HERE / "cpp.css").read_bytes())
    stamp, log = out / "cpp.stamp", out / "doxygen.log"
    if not (stamp.exists() and stamp.read_text() == digest.hexdigest() and log.exists()):
        stamp.unlink(missing_ok=True)
        shutil.rmtree(out / "cpp", ignore_errors=True)
        (out / "cpp").mkdir()
        ran = subprocess.run([program, out / "Doxyfile"], capture_output=True, text=True,
                             check=False)
        if ran.returncode != 0:
            return [Finding("tools/dev/docs/Doxyfile", 1, f"doxygen: {ran.stderr.strip()[-300:]}")]
        mend(out / "cpp")
        stamp.write_text(digest.hexdigest())
    return warnings(tree, log.read_text(encoding="utf-8"), str(copies) + "/")


def mend(folder):
    """Takes the anchors out of links where Doxygen writes none: for hidden classes and for members
    beside a structure without a name."""
    texts = {path.name: path.read_text(encoding="utf-8", errors="replace")
             for path in folder.glob("*.html")}
    anchors = {name: set(re.findall(r'(?:id|name)="([^"]*)"', text))
               for name, text in texts.items()}
    for name, text in texts.items():
        def kept(link, own=name):
            page, anchor = link[1] or own, link[2]
            if page not in anchors or anchor in anchors[page]:
                return link[0]
            return f'href="{page}"'
        changed = re.sub(r'<a href="#nested-classes">[^<]*</a>(?:&#160;)?\s*(?:&#124;)?\s*',
                         lambda link, own=name: link[0] if "nested-classes" in anchors[own] else "",
                         text)
        changed = re.sub(r'href="([^"#:]*)#([^"]+)"', kept, changed)
        if changed != text:
            (folder / name).write_text(changed, encoding="utf-8")


def version(tree):
    """The version of the project, which CMake and the wheel read from the same header."""
    return re.search(r'version = "([^"]+)"', tree.text("tools/base/process/version.hpp"))[1]


def warnings(tree, log, prefix):
    """The findings in what Doxygen wrote: all warnings but those of what needs no words."""
    findings = []
    for line in log.splitlines():
        warning = WARNING.match(line)
        if not warning:
            if line.strip() and not line.startswith(" "):
                findings.append(Finding("tools/dev/docs/Doxyfile", 1, line.strip()))
            continue
        name, number = warning["file"].removeprefix(prefix), int(warning["line"])
        if " is not documented" in warning["what"] and not needs_words(tree, name, number, warning):
            continue
        finding = Finding(name, number, warning["what"])
        if finding not in findings:
            findings.append(finding)
    return findings


def needs_words(tree, name, number, warning):
    """Whether something undocumented needs a comment: a function or a type of a header that
    programs include, unless it is an operator or its body stands on its own line."""
    if not DESCRIBED.fullmatch(name) or not UNDESCRIBED.match(warning["what"]):
        return False
    line = tree.text(name).splitlines()[number - 1]
    whole = "{" in line and line.rstrip().endswith(("}", "};"))
    return not (whole or "operator" in line or "= delete" in line or "= default" in line)


def python_modules(tree):
    """The public modules of the Python package."""
    prefix = "tools/python/package/"
    found = [name.removeprefix(prefix).removesuffix(".py").removesuffix("/__init__")
             for name in tree.files if name.startswith(prefix) and name.endswith(".py")]
    return sorted(name.replace("/", ".") for name in found)


def write_pages(tree, folder):
    """Writes the API's pages; returns their navigation."""
    api = folder / "api"
    (api / "python").mkdir(parents=True, exist_ok=True)
    cpp = folder / "api/cpp"
    rows = "\n".join(f"| [`{what}`](cpp/{class_page(cpp, what, name)}) | "
                     f"[`{name}`](cpp/{page(cpp, name)}) | {words} |"
                     for what, name, words in ENTRIES)
    (api / "cpp.md").write_text(
        "# C and C++\n\nEvery header that `cmake --install` installs: "
        "[all classes](cpp/annotated.html), [all files](cpp/files.html), "
        "[all namespaces](cpp/namespaces.html).\n\n"
        f"| begin with | header | what |\n|---|---|---|\n{rows}\n", encoding="utf-8")
    modules = python_modules(tree)
    for module in modules:
        (api / "python" / f"{module}.md").write_text(f"::: {module}\n", encoding="utf-8")
    return {"API": [{"C and C++": "api/cpp.md"},
                    {"Python": [{module: f"api/python/{module}.md"} for module in modules]}]}


def page(folder, name):
    """Doxygen's page of a header. Folders are part of its name where two headers have one name."""
    def mangled(text):
        return text.replace("_", "__").replace(".", "_8").replace("/", "_2")

    parts = name.split("/")
    for first in range(len(parts) - 1, -1, -1):
        found = mangled("/".join(parts[first:])) + ".html"
        if (folder / found).exists():
            return found
    raise FileNotFoundError(f"Doxygen made no page of {name}")


def class_page(folder, what, name):
    """Doxygen's page of a class, or that of its header for anything else."""
    for kind in ("class", "struct", "concept"):
        found = kind + what.replace("_", "__").replace("::", "_1_1") + ".html"
        if (folder / found).exists():
            return found
    return page(folder, name)
