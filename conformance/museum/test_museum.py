# The cases and the committed results fit together.
import json

import museum
import pytest


def test_cases_are_many_and_have_one_id_each():
    assert len(museum.cases()) >= 60


def test_committed_results_fit():
    results = json.loads(museum.DATA.read_text(encoding="utf-8"))
    assert museum.findings(museum.cases(), results) == []


@pytest.mark.parametrize("words", [{"title": "It ends."}, {"clause": " "}, {"id": "Upper"},
                                   {"sources": []}, {"sources": "one"}])
def test_a_case_without_its_words_is_refused(words):
    whole = {"id": "an-id", "title": "a", "sources": ["b"], "stimulus": "c", "clause": "d",
             "sound": "e", **words}
    with pytest.raises(ValueError, match="case"):
        museum.case(whole.pop("id"), whole.pop("title"), **whole)


def test_verdict_of_a_cell():
    assert museum.verdict(None) == "not judged"
    assert museum.verdict({"passed": 0, "failed": 0, "skipped": 2}) == "not judged"
    assert museum.verdict({"passed": 1, "failed": 0, "skipped": 2}) == "sound"
    assert museum.verdict({"passed": 1, "failed": 1, "skipped": 0}) == "defect"
