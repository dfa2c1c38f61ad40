# The pytest plugin: options, the fixture `tcp`, and the output of a failing test.
import functools
import hashlib
import inspect
import json
import linecache
import pathlib
import re

import pytest

import lockstep

from . import (  # noqa: F401  (they register their targets)
    again, device_target, hooks, linux_target, stack_target, tap_target, wire_options)
from . import target as targets
from .capture import pcapng
from .clause_report import ClauseReport, LeftOut
from .clauses import slug
from .diagram import svg
from .errors import Elsewhere, Environment, Mismatch, Misuse, Unsupported

CONVERSATION = pytest.StashKey()
#: The names of targets that the hook pytest_lockstep_targets added.
ADDED = pytest.StashKey()
#: The files that a failing test left.
FILES = pytest.StashKey()
MODES = ("named", "drawn", "all")
#: The exit code if something around the tests is missing, as in tools/README.md.
ENVIRONMENT = 3
#: How a test ends that cannot continue as written in a profile other than its own.
ENDS_THERE = (Elsewhere, AssertionError, LookupError, TypeError, ValueError, AttributeError,
              lockstep.Refused)
#: Packets on the wire that --lockstep-results shows for a failure.
SEEN_MAX = 12


def pytest_addoption(parser):
    group = parser.getgroup("lockstep", "TCP under test (fixture tcp)")
    group.addoption(
        "--lockstep-seed", type=whole, default=1, metavar="N",
        help="draws the keys of the stack and the tester's first sequence number (default: 1);"
        " example: pytest conformance/scapy --lockstep-seed 7",
    )
    group.addoption(
        "--lockstep-profile", default="rfc", metavar="NAME",
        help="configuration of the stack: rfc, default, linux or freebsd (default: rfc)",
    )
    group.addoption(
        "--target", default="stack", metavar="NAME",
        help="what is tested: stack, ours in virtual time (the default); linux, this machine's"
        " kernel in a namespace of the test's own, in real time, as root; tap:lockstep, ours on a"
        " TAP there; device:NAME, a device in virtual time, as lockstep devices lists them, or the"
        " path of its shared library or program; INTERFACE:ADDRESS, as eth0:10.0.0.5, a device on a"
        " wire, in real time, as root",
    )
    wire_options.add(group)
    group.addoption(
        "--lockstep-results", metavar="FILE",
        help="adds a line of JSON a test to FILE: test, target, outcome, clauses, words, and of a"
        " failure the last packets",
    )
    group.addoption(
        "--lockstep-html", metavar="FILE",
        help="writes the verdict on each requirement that a test cites to FILE, as a page, and"
        " beside it as JSON (default with another --target than stack: clauses.html beside the"
        " captures)",
    )
    group.addoption(
        "--lockstep-profiles", choices=MODES, default=None, metavar="WHICH",
        help="named: each test in the profile that it names; drawn: also in another one, drawn by"
        " its name; all: in all others too. There memory, invariants, liveness, the rules of the"
        " wire and the referee are judged, and not what the test expects (default: named, or"
        " lockstep_profiles of the ini file)",
    )
    group.addoption(
        "--lockstep-share", default="0/1", metavar="K/N",
        help="run only every N-th test, from the K-th on: several processes share the work",
    )
    parser.addini(
        "lockstep_artifacts", "where a failing test leaves its capture and its diagram (default:"
        f" {again.FOLDER} in the current folder)", default="",
    )
    parser.addini("lockstep_profiles", "what --lockstep-profiles is if it is not given",
                  default="named")


def whole(text):
    """A number of 0 to 2^64 - 1, for argparse."""
    if not text.isdecimal() or int(text) >= 1 << 64:
        raise ValueError(text)
    return int(text)


whole.__name__ = "number of 0 to 2^64 - 1"


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "clause(where, ids): what a test shows, as 'rfc9293#3.5', '9293:MUST-10'"
    )
    config.addinivalue_line(
        "markers", "stack(**fields): fields of Config that the test sets, and profile="
    )
    config.addinivalue_line("markers", "ip(version): the test is of one family only, 4 or 6")
    config.stash[ADDED] = []
    try:
        for found in config.hook.pytest_lockstep_targets(config=config):
            config.stash[ADDED] += targets.register(found)
        targets.known(config.getoption("--target"))
        wire_options.prepare(config)
    except Misuse as why:
        raise pytest.UsageError(str(why)) from None
    except Environment as why:
        pytest.exit(str(why), returncode=ENVIRONMENT)
    mode_of(config)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Tally(config), "lockstep-tally")
        if wants_clauses(config):
            config.pluginmanager.register(ClauseReport(config, ids_of_item), "lockstep-clauses")
    elif wants_clauses(config):
        config.pluginmanager.register(LeftOut(config, ids_of_item), "lockstep-left-out")
    profile = config.getoption("--lockstep-profile")
    if profile not in stack_target.PROFILES:
        raise pytest.UsageError(
            f"--lockstep-profile {profile}: no such profile; there is"
            f" {', '.join(stack_target.PROFILES)}"
        )


def pytest_addhooks(pluginmanager):
    pluginmanager.add_hookspecs(hooks)


def pytest_unconfigure(config):
    wire_options.give_back()
    for name in config.stash.get(ADDED, ()):
        targets.kinds.pop(name, None)


def wants_clauses(config):
    """Whether the run writes the verdict on each requirement."""
    return bool(config.getoption("--lockstep-html")) or config.getoption("--target") != "stack"


class Tally:
    """Counts the tests that ran: a run with a named target that tested nothing fails."""

    def __init__(self, config):
        self._target = config.getoption("--target")
        words = [str(word) for word in config.invocation_params.args]
        self._named = any(word.partition("=")[0] == "--target" for word in words)
        self._asked = 0
        self._skipped = {}

    def pytest_runtest_logreport(self, report):
        if not dict(report.user_properties).get("lockstep"):
            return
        if report.outcome == "skipped":
            words = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self._skipped[report.nodeid] = words.removeprefix("Skipped: ")
        self._asked += report.when == "setup"

    @property
    def _nothing(self):
        return self._named and self._asked > 0 and len(self._skipped) == self._asked

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        if self._nothing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        for line in wire_options.left_out(self._target, self._skipped.values()):
            terminalreporter.write_line(line)
        if self._nothing:
            terminalreporter.write_line(
                f"--target {self._target}: NOTHING WAS TESTED, all {self._asked} tests were"
                f" skipped: {next(iter(self._skipped.values()))}", red=True, bold=True)


def pytest_generate_tests(metafunc):
    if "ip_version" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("ip")
    versions = marker.args if marker else (4, 6)
    if any(version not in (4, 6) for version in versions):
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: marker ip takes 4 or 6")
    if "elsewhere" not in metafunc.fixturenames:
        ids = [f"ip{v}" for v in versions]
        metafunc.parametrize("ip_version", versions, ids=ids, scope="function")
        return
    runs = [(version, other) for version in versions for other in others(metafunc)]
    ids = [f"ip{version}" + f"-{other}" * bool(other) for version, other in runs]
    metafunc.parametrize("ip_version,elsewhere", runs, ids=ids, scope="function")


def mode_of(config):
    """The profiles in which a test runs. A live target has no profiles."""
    mode = config.getoption("--lockstep-profiles") or config.getini("lockstep_profiles")
    if mode not in MODES:
        raise pytest.UsageError(f"lockstep_profiles {mode}: expected one of {', '.join(MODES)}")
    return mode if config.getoption("--target") == "stack" else "named"


def others(metafunc):
    """For one test: "" for the profile that it names, and the others in which it runs."""
    mode = mode_of(metafunc.config)
    if mode == "all":
        marker = metafunc.definition.get_closest_marker("stack")
        named = profile_named(metafunc.config, marker)
        return ["", *(f"in-{name}" for name in stack_target.PROFILES if name != named)]
    return ["", "elsewhere"] if mode == "drawn" else [""]


def profile_named(config, marker):
    """The profile whose behaviour the test expects."""
    default = config.getoption("--lockstep-profile")
    return marker.kwargs.get("profile", default) if marker else default


def profile_elsewhere(elsewhere, named, name):
    """The other profile of a test: drawn by the test's name unless `elsewhere` selects it."""
    if elsewhere.startswith("in-"):
        return elsewhere.removeprefix("in-")
    rest = [profile for profile in stack_target.PROFILES if profile != named]
    return rest[hashlib.sha256(name.encode()).digest()[0] % len(rest)] if elsewhere else ""


def pytest_collection_modifyitems(config, items):
    first, _, of = config.getoption("--lockstep-share").partition("/")
    if not (first.isdecimal() and of.isdecimal() and int(first) < int(of)):
        raise pytest.UsageError("--lockstep-share takes K/N with K below N, as 0/4")
    items[:] = items[int(first)::int(of)]
    for item in items:
        if "tcp" in getattr(item, "fixturenames", ()):
            item.user_properties.append(("lockstep", True))


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """In a profile that the test does not name it may end where it cannot continue."""
    outcome = yield
    conversation = pyfuncitem.stash.get(CONVERSATION, None)
    if conversation is None or not conversation.elsewhere or outcome.excinfo is None:
        return
    if isinstance(outcome.excinfo[1], ENDS_THERE):
        outcome.force_result(True)


@pytest.fixture
def tcp(request, ip_version, elsewhere):
    """A conversation with the TCP under test; see lockstep.testing.conversation.Conversation."""
    try:
        from .conversation import Conversation
    except ModuleNotFoundError as error:
        raise Misuse(f"fixture tcp: {error.name} is missing: pip install scapy") from None
    config = request.config
    seed = config.getoption("--lockstep-seed")
    marker = request.node.get_closest_marker("stack")
    settings = dict(marker.kwargs) if marker else {}
    settings.pop("profile", None)
    named = profile_named(config, marker)
    other = profile_elsewhere(elsewhere, named, request.node.nodeid)
    try:
        target = targets.make(
            config.getoption("--target"),
            targets.Wanted(ip_version, seed, other or named, settings)
        )
    except Unsupported as why:
        pytest.skip(str(why))
    conversation = Conversation(target, first_number(seed, request.node.nodeid), other)
    request.node.stash[CONVERSATION] = conversation
    yield conversation
    try:
        report = getattr(request.node, "lockstep_call", None)
        if report is not None and report.passed:
            conversation.end()
    finally:
        target.stop()


def first_number(seed, name):
    """The tester's ISS: near 2^32 for half of the tests, anywhere for the others."""
    drawn = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    number = int.from_bytes(drawn[:4], "little")
    return number if drawn[4] & 1 else 0x1_0000_0000 - 1 - number % 64


def clauses_of(item, conversation):
    """(where, ids) of a test: named by obeying(), by marker, or by the comment lines above it."""
    if conversation.clauses:
        return conversation.clauses
    marked = [marker.args for marker in item.iter_markers("clause") if len(marker.args) == 2]
    return marked or cited(item.obj)


def ids_in(clauses):
    """The ids in the result of clauses_of()."""
    return sorted(set(re.findall(r"\b\d+:[A-Z][A-Z0-9-]*", " ".join(ids for _, ids in clauses))))


def ids_of_item(item):
    """The ids that a test cites, whether it ran or not; none if it does not use a target."""
    if "tcp" not in getattr(item, "fixturenames", ()):
        return []
    return ids_in([mark.args for mark in item.iter_markers("clause") if len(mark.args) == 2]
                  or cited(item.obj))


@functools.lru_cache(maxsize=None)
def cited(function):
    """The citations in lines `#= rfc...` and `## id ...` directly above a function, or in it."""
    path = inspect.getsourcefile(function)
    lines, first = inspect.getsourcelines(function)
    above = []
    for number in range(first - 1, 0, -1):
        line = linecache.getline(path, number).strip()
        if not line.startswith("#"):
            break
        above.insert(0, line)
    out = []
    for line in [*above, *(line.strip() for line in lines)]:
        if line.startswith("#= rfc"):
            out.append([line[3:], ""])
        elif line.startswith("## ") and out:
            out[-1][1] = f"{out[-1][1]}; {line[3:]}".lstrip("; ")
    return [tuple(pair) for pair in out]


def leave(item, conversation, lines):
    """Writes the capture and the diagram; returns their paths as printed, and notes them."""
    config = item.config
    name = slug(item.nodeid.rpartition("/")[2])
    out = []
    item.stash[FILES] = []
    try:
        folder = again.made(config)
        for suffix, content in (
            (".pcapng", pcapng(conversation.record, item.nodeid)),
            (".svg", svg(conversation.record, conversation.start, item.nodeid, lines).encode()),
        ):
            path = folder / (name + suffix)
            path.write_bytes(content)
            item.stash[FILES].append(str(path))
            out.append(again.shortest(config, path))
    except OSError as error:
        out.append(f"not written: {error}")
    return out


def place(item, excinfo):
    """file:line of the failing line of the test."""
    for entry in reversed(excinfo.traceback):
        path = pathlib.Path(str(entry.path))
        if path.parent != pathlib.Path(__file__).parent:
            return f"{again.shortest(item.config, path)}:{entry.lineno + 1}"
    return item.nodeid


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if call.when == "call":
        item.lockstep_call = report
    conversation = item.stash.get(CONVERSATION, None)
    if call.when == "teardown" and conversation is not None:
        del item.stash[CONVERSATION]  # keeping a stack for each test would take too much memory
    if call.excinfo is None:
        if call.when == "call":
            note_result(item, conversation, report, "")
        return
    error = call.excinfo.value
    if isinstance(error, Unsupported):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1], f"Skipped: {error}")
    elif isinstance(error, Misuse):
        report.longrepr = f"{place(item, call.excinfo)}: {error}"
    elif isinstance(error, Mismatch) and conversation is not None:
        report.longrepr = mismatch_report(item, call, conversation, error)
    elif isinstance(error, Mismatch):  # of a target that could not be made
        report.longrepr = f"{item.nodeid}: {error}"
    note_result(item, conversation, report, in_a_line(error))


def in_a_line(error):
    """The first line of an error; for a mismatch also the rows that differ."""
    if not isinstance(error, Mismatch):
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    differing = [f"{field} {actual or 'nothing'} in place of {expected or 'nothing'}"
                 for field, expected, actual, differs in error.rows if differs]
    return "; ".join([error.headline, *differing])


def note_result(item, conversation, report, words):
    """Notes the result of a test that uses a target: in the report, and for --lockstep-results."""
    path = item.config.getoption("--lockstep-results")
    wanted = path is not None or wants_clauses(item.config)
    if not wanted or "tcp" not in getattr(item, "fixturenames", ()):
        return
    clauses = clauses_of(item, conversation) if conversation else cited(item.obj)
    line = {"test": item.nodeid, "target": item.config.getoption("--target"),
            "outcome": report.outcome, "clauses": ids_in(clauses), "words": words}
    if conversation is not None:
        line["wire"] = conversation.digest()
    if report.outcome == "failed" and conversation is not None:
        line["seen"] = conversation.wire_lines()[-SEEN_MAX:]
    report.lockstep_row = {**line, "files": item.stash.get(FILES, []),
                           "command": again.command(item, mode_of(item.config))}
    if path is not None:
        with open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")


def mismatch_report(item, call, conversation, error):
    """The report of a mismatch: headline, expected and actual, clause, repro, files."""
    lines = [error.headline, *error.table()]
    where = f" in profile {conversation.elsewhere}" if conversation.elsewhere else ""
    out = [f"{place(item, call.excinfo)}: {error.headline}{where}", *error.table(), ""]
    for where, ids in clauses_of(item, conversation):
        out.append(f"  clause   {where}  {ids}")
    out.append(f"  repro    {again.command(item, mode_of(item.config))}")
    for path in leave(item, conversation, lines):
        out.append(f"  left     {path}")
    return "\n".join(out)
