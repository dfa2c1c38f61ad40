# The page of `lockstep conformance --html` in Chromium: it loads, filters, and nothing overflows.
"""Run by pytest; needs build/release/lockstep and chromium (tools/setup --with browser)."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from dev.test import browser

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/lockstep"
PICTURES = ROOT / "build/report"
WIDTHS = [1280, 390]

pytestmark = [
    pytest.mark.skipif(not PROGRAM.exists(), reason="build/release/lockstep is missing: build it"),
    pytest.mark.skipif(browser.PROGRAM is None, reason=browser.MISSING),
]


def write_page(folder, *arguments):
    """The page and the exit code."""
    page = folder / "page.html"
    done = subprocess.run(
        [PROGRAM, "conformance", "--html", page, "--json", folder / "c.json", "--junit",
         folder / "c.xml", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert page.exists(), done.stderr
    return page, done.returncode


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The page of the whole repository."""
    page, code = write_page(tmp_path_factory.mktemp("whole"))
    assert code == 0
    return page


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """The page of two scenarios, one of which requires a packet that we correctly do not send."""
    folder = tmp_path_factory.mktemp("broken")
    room = folder / "pcaps"
    for name in ("rfc9293-3.5-three-way-handshake-active", "rfc6298-5-backoff"):
        shutil.copytree(ROOT / "pcaps" / name, room / name)
    scenario = room / "rfc6298-5-backoff" / "scenario.toml"
    text = scenario.read_text()
    assert text.count("bytes = ") >= 1
    scenario.write_text(text.replace("bytes = ", "bytes = 1", 1))
    page, code = write_page(folder, "--pcaps", room)
    assert code == 1
    return page


@pytest.fixture(scope="module")
def tab():
    """A browser for all tests of this file."""
    with browser.Browser() as opened:
        yield opened


def shown(tab, section):
    """The number of visible rows of a list."""
    return tab.evaluate(f"[...document.querySelectorAll('#{section} .row')]"
                        ".filter(row => row.offsetHeight > 0).length")


def pick(tab, section, name, value):
    """Selects an option as a reader does."""
    tab.evaluate(f"(() => {{ const field = document.querySelector('#{section} [name={name}]');"
                 f"field.value = {json.dumps(value)};"
                 "field.dispatchEvent(new Event('input', {bubbles: true})); })()")


def assert_fits(tab, width):
    """No element is wider than the window."""
    assert tab.evaluate("innerWidth") == width
    assert tab.evaluate("document.documentElement.scrollWidth") <= width, tab.evaluate(
        "[...document.querySelectorAll('body *')].filter(one => !one.closest('.scroll') && "
        "one.getBoundingClientRect().right > innerWidth).slice(0, 5).map(one => one.outerHTML"
        ".slice(0, 200))")


@pytest.mark.parametrize("width", WIDTHS)
def test_loads_alone_and_fits(tab, whole, width):
    tab.load(whole, width)
    assert tab.requests() == [whole.as_uri()]
    assert tab.errors() == []
    assert "conformance" in tab.evaluate("document.title")
    assert_fits(tab, width)
    tab.picture(PICTURES / f"conformance-{width}.png")
    tab.evaluate("document.querySelectorAll('details').forEach(row => { row.open = true; })")
    assert_fits(tab, width)
    tab.evaluate("document.querySelector('#requirements .filters').scrollIntoView()")
    tab.picture(PICTURES / f"conformance-{width}-open.png")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_failure_has_its_packets_and_its_diagram(tab, broken, width):
    tab.load(broken, width)
    assert tab.errors() == []
    failures = "document.querySelectorAll('#failures .failure')"
    assert tab.evaluate(f"{failures}.length") >= 1
    assert "rfc6298-5-backoff" in tab.evaluate(f"{failures}[0].textContent")
    assert tab.evaluate(f"{failures}[0].querySelectorAll('.diff .marked').length") >= 1
    assert tab.evaluate(f"{failures}[0].querySelectorAll('svg .arrow').length") >= 4
    assert tab.evaluate(f"{failures}[0].querySelectorAll('svg .arrow.marked').length") >= 1
    assert_fits(tab, width)
    tab.evaluate("document.querySelector('#failures').scrollIntoView()")
    tab.picture(PICTURES / f"conformance-{width}-failure.png")
    assert tab.evaluate("document.querySelectorAll('#requirements .row[data-lockstep=bad]')"
                        ".length") >= 1


def test_filters_leave_what_they_name(tab, whole):
    tab.load(whole, 1280)
    rows = shown(tab, "requirements")
    assert rows > 900
    pick(tab, "requirements", "rfc", "9293")
    of_one = shown(tab, "requirements")
    assert 0 < of_one < rows
    assert tab.evaluate("[...document.querySelectorAll('#requirements .row:not([hidden])')]"
                        ".every(row => row.dataset.rfc === '9293')")
    pick(tab, "requirements", "level", "SHOULD NOT")
    assert 0 < shown(tab, "requirements") < of_one
    assert tab.evaluate("location.hash") == "#requirements.rfc=9293&requirements.level=SHOULD+NOT"
    pick(tab, "requirements", "level", "")
    tab.evaluate("document.querySelector('#requirements [name=find]').focus()")
    tab.call("Input.insertText", text="challenge")
    found = shown(tab, "requirements")
    assert 0 < found < of_one
    assert tab.evaluate("document.querySelector('#requirements output').textContent") == (
        f"{found} of {rows}")
    tab.call("Input.insertText", text=" of nothing at all")
    assert shown(tab, "requirements") == 0
    assert tab.evaluate("document.querySelector('#requirements .none').offsetHeight") > 0


def test_verdicts_of_linux_stand_beside_ours(tab, whole):
    tab.load(whole, 1280)
    pick(tab, "requirements", "linux", "good")
    beside = shown(tab, "requirements")
    assert beside > 40
    pick(tab, "requirements", "linux", "")
    pick(tab, "requirements", "live", "good")
    assert shown(tab, "requirements") > 200
    pick(tab, "requirements", "live", "bad")
    assert 20 < shown(tab, "requirements") < 200
    assert tab.evaluate("document.querySelector('#requirements .row[data-live=bad] .more')"
                        ".textContent").count("test_") >= 1
    pick(tab, "runs", "kind", "linux")
    captures = shown(tab, "runs")
    assert captures > 50
    pick(tab, "runs", "kind", "script")
    assert 0 < shown(tab, "runs") != captures


def test_an_address_opens_what_was_chosen(tab, whole):
    tab.load(whole, 1280, address="#requirements.rfc=6298&runs.kind=authored")
    assert tab.evaluate("document.querySelector('#requirements [name=rfc]').value") == "6298"
    assert tab.evaluate("[...document.querySelectorAll('#runs .row:not([hidden])')]"
                        ".every(row => row.dataset.kind === 'authored')")
    tab.evaluate("document.querySelector('.sums a[href*=\"rfc=5681\"]').click()")
    end = "document.querySelector('#requirements [name=rfc]').value"
    assert tab.evaluate(f"new Promise(done => setTimeout(() => done({end}), 0))") is not None
    assert tab.evaluate(end) == "5681"
