#!/usr/bin/env python3
"""The parts of tools/mutants: finding sites, writing mutants, and trying them."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOOLS))
sys.dont_write_bytecode = True

from dev.cxx.reader import Unread  # noqa: E402
from dev.mutate import equivalent, reach, sites, tree, trial  # noqa: E402
from dev.mutate.memory import Memory  # noqa: E402

ROOT = TOOLS.parent
CITED = "//= rfc9293#3\n//# 9293:MUST-1 some words\n"


def ids_in(text):
    """What lockstep coverage would find in the text: the ids of CITED, by line."""
    return {number: {"9293:MUST-1"} for number, line in enumerate(text.splitlines(), 1)
            if line.lstrip().startswith("//# 9293:MUST-1")}


def file_of(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "core" / "tcp" / "a.cpp"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        return sites.File(folder, "core/tcp/a.cpp", ids_in(text))


def found(text):
    """The mutants of a text, each as 'kind code'."""
    return [f"{mutant.kind} {mutant.code}" for mutant in file_of(text).mutants()]


def within(body, head="void f(int a)"):
    return found(f"{head} {{\n{body}\n}}\n")


def both(code):
    return [f"negated {code}", f"never {code}"]


class Found(unittest.TestCase):
    def test_the_condition_below_a_citation(self):
        for word in ("if", "while"):
            self.assertEqual(within(f"{CITED}{word} (a > g(1, 2)) {{ h(); }}"), both("a > g(1, 2)"))
        self.assertEqual(within(f"{CITED}for (int i = 0; i < a; ++i) h();"), both("i < a"))
        self.assertEqual(within(f"{CITED}do h(); while (a--);"), both("a--"))

    def test_what_has_no_citation_is_left(self):
        self.assertEqual(within("if (a) { h(); }\n// a plain comment\nif (a > 1) { h(); }"), [])

    def test_else_if(self):
        text = f"if (a) {{\n h();\n{CITED}}} else if (a > 1) {{ g(); }}"
        self.assertEqual(within(text), both("a > 1"))
        text = f"if (a) {{\n h();\n}} else {{\n{CITED} return;\n}}"
        self.assertEqual(within(text), ["skipped return;"])

    def test_a_choice(self):
        self.assertEqual(within(f"{CITED}int x = g(a) > 1 ? 2 : 3;"), both("g(a) > 1"))
        self.assertEqual(within(f"{CITED}h(1, a == 2 ? 2 : 3);"),
                         ["skipped h(1, a == 2 ? 2 : 3);", *both("a == 2")])

    def test_a_truth_that_is_declared_or_returned(self):
        self.assertEqual(within(f"{CITED}bool const x = a && h();"), both("a && h()"))
        self.assertEqual(within(f"{CITED}return a > 1;", "bool f(int a)"), both("a > 1"))

    def test_a_statement_and_a_body_are_left_out(self):
        self.assertEqual(within(f"{CITED}a = 2;"), ["skipped a = 2;"])
        self.assertEqual(found(f"{CITED}void f(int a) {{ h(a); }}\n"), ["skipped { ... }"])

    def test_all_branches_of_a_cited_function(self):
        text = f"{CITED}bool f(int a) {{\n if (a) {{ return true; }}\n return a > 1;\n}}\n"
        self.assertEqual(found(text), both("a") + both("a > 1"))

    def test_an_answer_below_a_citation_is_of_the_branch_around_it(self):
        text = f"if (a > 1) {{\n{CITED} return Drop::odd;\n}}\nreturn Drop::none;"
        self.assertEqual(within(text, "Drop f(int a)"), both("a > 1"))

    def test_a_declaration_is_of_what_follows(self):
        self.assertEqual(within(f"{CITED}int const x = g(a);\nif (x) {{ h(); }}"), both("x"))

    def test_within_a_lambda(self):
        self.assertEqual(within(f"each([&](int x) {{\n{CITED} if (x) {{ h(); }}\n}});"), both("x"))

    def test_what_has_no_branch_is_listed(self):
        self.assertEqual([why for _, _, why in file_of(f"{CITED}int f() {{ return 2; }}\n").left],
                         ["a computation"])
        self.assertEqual([why for _, _, why in file_of(f"{CITED}int x = 2;\n").left], ["data"])

    def test_ids_stay_when_lines_move_and_differ_between_twins(self):
        body = f"void f(int a) {{\n{CITED}if (a) h();\n{CITED}if (a) h();\n}}\n"
        ids = [mutant.id for mutant in file_of(body).mutants()]
        self.assertEqual(len(set(ids)), 4)
        self.assertEqual(ids, [mutant.id for mutant in file_of("int z;\n\n" + body).mutants()])

    def test_the_whole_core_is_read_and_hardly_anything_left(self):
        files, mutants = tree.find(ROOT)
        self.assertEqual(len({mutant.id for mutant in mutants}), len(mutants))
        self.assertGreater(len(mutants), 1000)
        self.assertLess(sum(len(file.left) for file in files), len(mutants) // 10)

    def test_what_is_not_read_is_named(self):
        with self.assertRaisesRegex(Unread, r"core/tcp/a.cpp:2: a bracket"):
            file_of("int x;\nvoid f() { if (a { } \n")


PROGRAM = f"""// A program with one place of each kind.
#include <cstdio>
{CITED}constexpr bool more(int a) {{ return a > 1; }}
static_assert(more(2));
int main(int count, char**) {{
{CITED}  if (int twice = count * 2) {{
    std::puts("if");
  }}
  bool said = false;
{CITED}  while (!said) {{
{CITED}    said = true;
    std::puts("while");
    if (said || true) break;
  }}
{CITED}  std::puts(more(count) ? "more" : "one");
}}
"""


class Written(unittest.TestCase):
    """Compiles what was written, and checks the effect of each number."""

    def outputs(self, folder):
        folder = pathlib.Path(folder)
        units = folder / "core" / "units"
        units.mkdir(parents=True)
        (folder / "core" / "a.cpp").write_text(PROGRAM)
        file = sites.File(folder, "core/a.cpp", ids_in(PROGRAM))
        (folder / "main.cpp").write_text(file.written(2))
        (units / "mutant.hpp").write_bytes((tree.RUNTIME / "mutant.hpp.in").read_bytes())
        source = (tree.RUNTIME / "mutant.cpp.in").read_text()
        (units / "mutant.cpp").write_text(source.replace("@COUNT@", "99"))
        compiler = shutil.which("clang++-19") or "g++"
        subprocess.run([compiler, "-std=c++20", "-I", folder, folder / "main.cpp",
                        units / "mutant.cpp", "-o", folder / "program"], check=True)
        for number, one in enumerate(file.mutants(), 2):
            done = subprocess.run([folder / "program"], stdout=subprocess.PIPE, text=True,
                                  env=reach.environment(LOCKSTEP_MUTANT=str(number)), check=True,
                                  timeout=60)
            yield f"{one.kind} {one.code}", done.stdout.split()
        record = folder / "record"
        subprocess.run([folder / "program"], stdout=subprocess.DEVNULL, check=True,
                       env=reach.environment(LOCKSTEP_REACHED=str(record)))
        self.reached = list(reach.lines_of(record))

    def test_each_number_breaks_one_place(self):
        plain = ["if", "while", "one"]
        with tempfile.TemporaryDirectory() as folder:
            record = dict(self.outputs(folder))
        self.assertEqual(record, {
            "negated a > 1": ["if", "while", "more"], "never a > 1": plain,
            "negated int twice = count * 2": ["while", "one"],
            "never int twice = count * 2": ["while", "one"],
            "negated !said": ["if", "one"], "never !said": ["if", "one"],
            "skipped said = true;": plain,
            "negated more(count)": ["if", "while", "more"], "never more(count)": plain,
            'skipped std::puts(more(count) ? "more" : "one");': ["if", "while"]})
        # A condition that is always false is unchanged by the mutant that makes it false.
        (_, name, numbers), = self.reached
        self.assertEqual(name, "all")
        self.assertEqual(numbers, {2, 4, 5, 6, 7, 8, 9, 10})


class Equivalent(unittest.TestCase):
    def load(self, **change):
        mutant = file_of(f"void f(int a) {{\n{CITED}if (a) h();\n}}\n").mutants()[0]
        entry = {"id": mutant.id, "row": "9293:MUST-1", "code": "a", "reason": "so", **change}
        lines = "".join(f'{key} = "{value}"\n' for key, value in entry.items())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "equivalent.toml"
            path.write_text("[[equivalent]]\n" + lines)
            return equivalent.load([mutant], path)

    def test_an_entry_that_holds(self):
        self.assertEqual(list(self.load().values()), ["so"])

    def test_an_entry_that_does_not(self):
        for change, what in (({"id": "none"}, "is stale"), ({"code": "b"}, "correct one"),
                             ({"row": "9293:MUST-2"}, "names row"), ({"why": "x"}, "has the keys")):
            with self.assertRaisesRegex(equivalent.BadInput, what):
                self.load(**change)

    def test_the_list_holds(self):
        equivalent.load(tree.find(ROOT)[1])


class Tried(unittest.TestCase):
    def test_those_that_cite_the_row_first_then_those_that_reach_little(self):
        mutant = sites.Mutant("core/tcp/a.cpp", 1, "f", "never", "a", ("9293:MUST-1",), 7)
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder) / "core" / "stack"
            root.mkdir(parents=True)
            (root / "a_test.cpp").write_text(f"{CITED}TEST_P(Wide, Cites) {{}}\n")
            lists = pathlib.Path(folder) / "conformance" / "requirements"
            lists.mkdir(parents=True)
            (lists / "declined.toml").write_text("")
            (lists / "rfc9293.toml").write_text(
                'rfc = 9293\ntitle = "TCP"\nrequirements = [{ id = "9293:MUST-1", section = "3", '
                'level = "MUST", summary = "a" }]\n')
            trials = trial.Trials(PlaceOf(pathlib.Path(folder)), [
                reach.Unit("swarm", "0..99", 1, frozenset({7})),
                reach.Unit("stack_test", "Some/Wide.Cites/0", 1, frozenset(range(90))),
                reach.Unit("stack_test", "Wide.Other", 1, frozenset({7, 8})),
                reach.Unit("tcp_test", "Near.Other", 1, frozenset({7, 8})),
                reach.Unit("tcp_test", "Far.Away", 1, frozenset({8}))])
        batches = [[unit.name for unit in batch] for batch in trials.batches(mutant) if batch]
        self.assertEqual(batches, [["Some/Wide.Cites/0"], ["Near.Other"], ["Wide.Other"],
                                   ["0..99"]])


class Kept(unittest.TestCase):
    def test_what_was_found_holds_until_a_program_changes_and_hints_then(self):
        caught = [["stack_test", "A.B"]]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "found.jsonl"
            first = Memory(file, "programs")
            first.put("1", caught)
            first.put("2", None)
            with file.open("a") as cut:
                cut.write('["programs", "3", nu')
            again, other = Memory(file, "programs"), Memory(file, "others")
            fresh = Memory(file, "programs", True)
        self.assertEqual((again.found, again.hints), ({"1": caught, "2": None}, {"1": caught}))
        self.assertEqual((other.found, other.hints), ({}, {"1": caught}))
        self.assertEqual((fresh.found, fresh.hints), ({}, {}))


class PlaceOf:
    def __init__(self, root):
        self.root = root


if __name__ == "__main__":
    unittest.main()
