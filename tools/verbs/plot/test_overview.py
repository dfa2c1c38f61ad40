"""README's picture is the one that its script draws."""

import importlib.util
import pathlib
import xml.etree.ElementTree

SCRIPT = pathlib.Path(__file__).resolve().parent / "draw_overview.py"


def test_picture_is_current_and_well_formed():
    spec = importlib.util.spec_from_file_location("draw_overview", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.TARGET.read_text(encoding="utf-8") == module.draw()
    xml.etree.ElementTree.fromstring(module.draw())


def test_words_stay_in_their_boxes():
    """The second line of a box has at most 34 letters, which fit in any sans-serif font."""
    for line in SCRIPT.parent.joinpath("overview.svg").read_text(encoding="utf-8").splitlines():
        if line.startswith("<text"):
            element = xml.etree.ElementTree.fromstring(line)
            size = int(element.get("font-size"))
            if size == 11:
                assert len(element.text) <= 34, element.text
