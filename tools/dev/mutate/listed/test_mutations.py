#!/usr/bin/env python3
"""The parts of tools/mutants --listed: the sample, the changes, and parsing of programs' output."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOOLS))
sys.dont_write_bytecode = True

from dev.mutate import cited  # noqa: E402
from dev.mutate.listed import museum, patches, sample, trial  # noqa: E402

ROOT = TOOLS.parent
HALT = patches.Mutation("9293:MUST-1", "core/tcp/a.cpp", "halt();\n", "", "it goes on")


def small_tree(folder, citations):
    """A tree of one source that cites the ids, and lists with these ids and one more."""
    root = pathlib.Path(folder)
    (root / "core" / "tcp").mkdir(parents=True)
    lists = root / "conformance" / "requirements"
    lists.mkdir(parents=True)
    lines = "".join(f"//= rfc9293#3\n//# {one} words\n" for one in citations)
    (root / "core" / "tcp" / "a.cpp").write_text(lines)
    (root / "core" / "tcp" / "a_test.cpp").write_text("//= rfc9293#3\n//# 9293:MUST-9 a test\n")
    row = '{{ id = "9293:{}", section = "3", level = "{}", summary = "a" }},'
    rows = "".join(row.format(f"MUST-{i}", "MUST") for i in range(10)) + row.format("MAY-1", "MAY")
    (lists / "rfc9293.toml").write_text(f'rfc = 9293\ntitle = "TCP"\nrequirements = [{rows}]\n')
    for rfc in (5681, 6298, 6582):
        (lists / f"rfc{rfc}.toml").write_text(
            f'rfc = {rfc}\ntitle = "R"\nrequirements = []\n')
    (lists / "declined.toml").write_text("")
    return root


class Sample(unittest.TestCase):
    def test_only_binding_rows_that_code_cites(self):
        with tempfile.TemporaryDirectory() as folder:
            root = small_tree(folder, ["9293:MUST-1, 9293:MUST-2", "9293:MAY-1", "9293:MUST-3"])
            drawn = sample.draw(root, 1, 40)
        self.assertEqual(sorted(drawn), ["9293:MUST-1", "9293:MUST-2", "9293:MUST-3"])

    def test_one_more_citation_moves_one_id(self):
        names = [f"9293:MUST-{i}" for i in range(8)]
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            before = sample.draw(small_tree(one, names[:-1]), 7, 4)
            after = sample.draw(small_tree(two, names), 7, 4)
        self.assertLessEqual(len(set(after) - set(before)), 1)

    def test_tests_that_cite_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            root = small_tree(folder, [])
            (root / "core" / "tcp" / "a_test.cpp").write_text(
                "//= rfc9293#3\n//= type=test\n//# 9293:MUST-1 above\nTEST(A, Above) {\n}\n"
                "TEST_P(A, Within) {\n  //= rfc9293#3\n  //# 9293:MUST-1 within\n}\n"
                "TEST(A, Neither) {}\n")
            self.assertEqual(cited.tests_of_core(root)["9293:MUST-1"], ["A.Above", "A.Within"])

    def test_seeds_differ(self):
        self.assertNotEqual(sample.draw(ROOT, 1, 40), sample.draw(ROOT, 2, 40))
        self.assertEqual(sample.draw(ROOT, 1, 40), sample.draw(ROOT, 1, 40))


class Patches(unittest.TestCase):
    def test_the_text_must_stand_once(self):
        self.assertEqual(patches.mutated("go();\nhalt();\n", HALT), "go();\n")
        for text in ("go();\n", "halt();\nhalt();\n"):
            with self.assertRaisesRegex(patches.BadInput, "9293:MUST-1"):
                patches.mutated(text, HALT)

    def test_all_that_are_listed_apply(self):
        self.assertEqual(patches.check(ROOT, patches.load(ROOT).values()), [])

    def test_the_sample_of_seed_1_is_complete(self):
        missing = set(sample.draw(ROOT, 1, 40)) - set(patches.load(ROOT))
        self.assertEqual(missing, set(), "tools/mutants --listed needs a mutation for each")


CASE = '''
@case("land", "A title", sources=["here"])
@mark.parametrize("x", [1])
def test_land(tcp):
    pass


def test_no_case(tcp):
    pass
'''
ENTRY = '[[defect]]\ncase = "{}"\nfile = "a.cpp"\nfind = "{}"\nreplace = ""\nwhy = "w"\n'


def small_museum(folder, *entries):
    """A tree with one case, one source, and these entries as its defects."""
    root = pathlib.Path(folder)
    room = root / museum.ROOM
    room.mkdir(parents=True)
    (room / "test_a.py").write_text(CASE)
    (room / "defects.toml").write_text("".join(entries))
    (root / "a.cpp").write_text("go();\nhalt();\n")
    return root


class Museum(unittest.TestCase):
    def wrong(self, *entries):
        with tempfile.TemporaryDirectory() as folder:
            return museum.check(small_museum(folder, *entries))

    def test_a_case_is_found_without_an_import(self):
        with tempfile.TemporaryDirectory() as folder:
            found = museum.cases(small_museum(folder))
        self.assertEqual(list(found), ["land"])
        self.assertEqual(found["land"].node, "conformance/museum/test_a.py::test_land")

    def test_each_case_has_a_defect_that_applies(self):
        self.assertEqual(self.wrong(ENTRY.format("land", "halt();")), [])
        self.assertIn("land has no defect", self.wrong()[0])
        self.assertIn("occurs 0 times", self.wrong(ENTRY.format("land", "stop();"))[0])

    def test_a_defect_may_be_impossible_with_a_reason(self):
        self.assertEqual(self.wrong('[[defect]]\ncase = "land"\ncannot = "a reason"\n'), [])

    def test_a_defect_without_a_case(self):
        wrong = self.wrong(ENTRY.format("land", "halt();"), ENTRY.format("sea", "go();"))
        self.assertIn("sea is no case", wrong[0])

    def test_malformed_entries(self):
        for entries in (['[[defect]]\ncase = "land"\n'], [ENTRY.format("land", "go();")] * 2):
            with self.assertRaisesRegex(patches.BadInput, "land"):
                self.wrong(*entries)

    def test_all_cases_have_defects_that_apply(self):
        self.assertEqual(museum.check(ROOT), [])


class Output(unittest.TestCase):
    def test_a_failed_test_is_named(self):
        text = "[ RUN      ] A.B\n[  FAILED  ] A.B (0 ms)\n[  FAILED  ] 1 test, listed below:\n"
        self.assertEqual(trial.first_failure(text), "A.B")

    def test_so_is_the_one_that_its_program_died_in(self):
        text = "[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n[ RUN      ] A.C\n"
        self.assertEqual(trial.first_failure(text), "A.C")

    def test_the_nearest_floor_comes_first(self):
        self.assertEqual(trial.programs_for("core/tcp/rtt.cpp"),
                         ["tcp_test", "stack_test", "lockstep"])


class CommandLine(unittest.TestCase):
    def call(self, *arguments):
        return subprocess.run([sys.executable, TOOLS / "mutants", "--listed", *arguments],
                              text=True, capture_output=True, check=False)

    def test_an_id_without_a_mutation_is_named(self):
        done = self.call("--only", "9293:MUST-0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("9293:MUST-0", done.stderr)

    def test_bad_usage(self):
        self.assertEqual(self.call("--seed", "x").returncode, 2)
        self.assertEqual(self.call("--count", "0").returncode, 2)

    def test_an_unknown_case_is_named(self):
        done = self.call("--museum", "--only", "no-case")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no-case", done.stderr)

    def test_list_runs_nothing(self):
        done = self.call("--list", "--only", "9293:MUST-17")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("9293:MUST-17", done.stdout)


if __name__ == "__main__":
    unittest.main()
