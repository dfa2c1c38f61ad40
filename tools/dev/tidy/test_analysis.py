"""What tools/tidy makes of clang-tidy: findings, the files that it checks, and kept results."""

import contextlib
import io
import json
import pathlib
import shutil
import subprocess
import unittest
from unittest import mock

from dev.tidy import analysis, changed, kept
from dev.tidy.test_tidy import TOP, Planted, tidy

ROOT = pathlib.Path(__file__).resolve().parents[3]
RULES = ("function-size", "twins", "clang-tidy")
MOVED = """struct Owner {
  Owner() = default;
  Owner(Owner&&);
  int size() const;
};
namespace std {
template <class T>
T&& move(T& from) { return static_cast<T&&>(from); }
}
inline int used() {
  Owner a;
  Owner b = std::move(a);
  return a.size();
}
"""
INTEGERS = "namespace std { using uint32_t = unsigned; using uint8_t = unsigned char; }\n"


class Configured(Planted):
    """A tree with the settings of this one and a compilation database."""

    def setUp(self):
        super().setUp()
        self.root = self.root.resolve()
        self.write(".clang-tidy", (ROOT / ".clang-tidy").read_text(encoding="utf-8"))
        self.configure()

    def configure(self, without=(), more=""):
        units = [str(path.relative_to(self.root)) for path in sorted(self.root.rglob("*.cpp"))]
        self.write("build/tidy/apart/compile_commands.json", json.dumps(
            [{"directory": str(self.root), "file": str(self.root / unit),
              "command": f"clang++-19 -std=c++20 -I{self.root} {more} -c {self.root / unit}"}
             for unit in units if unit not in without]))

    def plant(self, **texts):
        """Writes files; in their names `__` stands for `/` and the last `_` for a dot."""
        for name, text in texts.items():
            self.write(".".join(name.replace("__", "/").rsplit("_", 1)), TOP + text)
        self.configure()

    def examine(self, everything=True):
        self.tally = analysis.Tally()
        return tidy.examine(self.root, self.root / "build/tidy/headers.json", RULES, everything,
                            self.tally)

    def found(self, everything=True):
        return [(f.rule, f.path, f.line) for f in self.examine(everything)]


class Findings(Configured):
    def test_function_of_71_lines(self):
        self.plant(hw__x__a_cpp="void g();\nvoid f() {\n" + "  g();\n" * 69 + "}\n")
        finding, = self.examine()
        self.assertEqual(finding.text(), "hw/x/a.cpp:3: function-size: f: 71 lines, 70 at most; "
                         "move computations to other functions")

    def test_function_of_70_lines_passes(self):
        self.plant(hw__x__a_cpp="void g();\nvoid f() {\n" + "  g();\n" * 68 + "}\n")
        self.assertEqual(self.found(), [])

    def test_long_member_of_a_header_is_found_once(self):
        self.plant(hw__x__a_hpp="#pragma once\nvoid g();\nstruct A {\n  void f() {\n" +
                   "    g();\n" * 70 + "  }\n};\n", hw__x__a_cpp='#include "hw/x/a.hpp"\n',
                   hw__x__b_cpp='#include "hw/x/a.hpp"\n')
        self.assertEqual(self.found(), [("function-size", "hw/x/a.hpp", 5)])

    def test_integers_side_by_side(self):
        body = INTEGERS + "int f(std::uint32_t bw, std::uint32_t gain) { return int(bw + gain); }\n"
        for wing in ("core/tcp", "sim/bus"):
            self.write(f"{wing}/a.cpp", TOP + body)
        self.configure()
        self.assertEqual(self.found(), [("twins", "core/tcp/a.cpp", 3),
                                        ("twins", "sim/bus/a.cpp", 3)])
        self.assertIn("2 std::uint32_t stand side by side in the parameters of f",
                      self.examine()[0].text())

    def test_what_is_not_a_pair_of_integers_passes(self):
        pair = "(std::uint32_t bw, std::uint32_t gain) { return int(bw + gain); }\n"
        self.plant(core__tcp__a_cpp=INTEGERS + "struct Bytes { int n; };\n"
                   "int f(Bytes a, Bytes b) { return a.n + b.n; }\n"
                   "int g(std::uint32_t a, std::uint8_t b) { return int(a + b); }\n",
                   hw__x__b_cpp=INTEGERS + "int f" + pair)
        self.assertEqual(self.found(), [])

    def test_use_after_move(self):
        self.plant(hw__x__a_cpp=MOVED)
        finding, = self.examine()
        self.assertEqual((finding.rule, finding.line), ("clang-tidy", 14))
        self.assertIn("bugprone-use-after-move", finding.reason)

    def test_what_does_not_compile(self):
        self.plant(hw__x__a_cpp="int f() { return nothing; }\n",
                   hw__x__b_cpp="#include <nowhere.h>\n")
        self.assertEqual(self.found(), [("clang-tidy", "hw/x/a.cpp", 2),
                                        ("clang-tidy", "hw/x/b.cpp", 2)])
        self.examine()
        self.assertEqual(self.tally.ran, 2)  # not kept: a missing file may appear


    def test_precompiled_headers_are_not_needed(self):
        self.plant(hw__x__a_cpp=MOVED)
        self.configure(more="-Winvalid-pch -include none.hpp -Xclang -include-pch -Xclang none.pch "
                       "-Xclang -include -Xclang none.hpp")
        self.assertEqual(self.found(), [("clang-tidy", "hw/x/a.cpp", 14)])


class Kept(Configured):
    def counts(self):
        return self.found(), self.tally.ran, self.tally.known

    def test_a_result_is_kept_until_a_file_or_the_settings_change(self):
        self.plant(hw__x__a_hpp=MOVED, hw__x__a_cpp='#include "hw/x/a.hpp"\n',
                   hw__x__b_cpp="int b;\n")
        finding = ("clang-tidy", "hw/x/a.hpp", 14)
        self.assertEqual(self.counts(), ([finding], 2, 0))
        self.assertEqual(self.counts(), ([finding], 0, 2))
        self.plant(hw__x__a_hpp=MOVED.replace("return a.size()", "return b.size()"))
        self.assertEqual(self.counts(), ([], 1, 1))
        with (self.root / ".clang-tidy").open("a") as settings:
            settings.write("# another\n")
        self.assertEqual(self.counts(), ([], 2, 0))

    def test_another_checkout_knows_it(self):
        self.plant(hw__x__a_cpp="int a;\n")
        self.assertEqual(self.counts(), ([], 1, 0))
        other = self.root / "build" / "other"
        shutil.copytree(self.root / "hw", other / "hw")
        shutil.copy(self.root / ".clang-tidy", other)
        self.root = other
        self.configure()
        self.assertEqual(self.counts(), ([], 0, 1))

    def test_half_a_line_is_left(self):
        self.plant(hw__x__a_cpp="int a;\n")
        self.found()
        with kept.file(analysis.KEPT).open("a") as file:
            file.write('["0123", [["cut')
        self.assertEqual(self.counts(), ([], 0, 1))


class Chosen(Configured):
    def git(self, *arguments):
        subprocess.run(["git", "-C", str(self.root), "-c", "user.name=a", "-c", "user.email=a@b",
                        *arguments], check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a: b")

    def setUp(self):
        super().setUp()
        self.write(".gitignore", "build/\n")
        self.git("init", "-q", "-b", "main")
        self.plant(tools__x__a_hpp="#pragma once\n", tools__x__a_cpp='#include "tools/x/a.hpp"\n',
                   tools__x__b_cpp='#include "tools/x/a.hpp"\n', tools__x__a_test_cpp="int a;\n")
        self.commit()

    def ran(self, everything=False):
        with mock.patch.object(analysis, "run", lambda root, path: [["x", path, 1, "ran"]]):
            kept.file(analysis.KEPT).unlink(missing_ok=True)
            return [f.path for f in self.examine(everything)]

    def test_the_last_commit_of_main_and_what_is_not_committed(self):
        self.plant(tools__x__b_cpp="int b;\n")
        self.commit()
        self.assertEqual(self.ran(), ["tools/x/b.cpp"])
        self.plant(tools__x__c_cpp="int c;\n", tools__x__a_test_cpp="int d;\n")
        self.assertEqual(self.ran(), ["tools/x/a_test.cpp", "tools/x/b.cpp", "tools/x/c.cpp"])

    def test_all_of_a_branch(self):
        self.git("checkout", "-q", "-b", "mine")
        self.plant(tools__x__b_cpp="int b;\n")
        self.commit()
        self.plant(tools__x__c_cpp="int c;\n")
        self.commit()
        self.assertEqual(self.ran(), ["tools/x/b.cpp", "tools/x/c.cpp"])

    def test_a_header_through_one_file_that_includes_it(self):
        self.commit_header("tools/x/a.hpp")
        self.assertEqual(self.ran(), ["tools/x/a.cpp"])
        self.write("tools/x/a.cpp", TOP)
        self.commit()
        self.commit_header("tools/x/a.hpp")
        self.assertEqual(self.ran(), ["tools/x/b.cpp"])

    def commit_header(self, path):
        self.write(path, TOP + f"#pragma once\n// {len((self.root / path).read_text())}\n")
        self.commit()

    def test_everything_is_what_changed_and_four_folders_without_tests(self):
        self.plant(core__x__a_cpp="int a;\n", core__x__a_test_cpp="int a;\n", hw__x_cpp="int a;\n")
        self.commit()
        self.plant(tools__x__b_cpp="int b;\n")
        self.commit()
        self.assertEqual(self.ran(True), ["core/x/a.cpp", "hw/x.cpp", "tools/x/b.cpp"])

    def test_files_without_flags_are_counted(self):
        self.plant(tools__x__b_cpp="int b;\n", tools__x__c_hpp="#pragma once\n")
        self.configure(without=["tools/x/b.cpp"])
        self.assertEqual(self.ran(), [])
        self.assertEqual(self.tally.absent, 2)

    def test_without_git(self):
        self.assertIsNone(changed.files(self.root / "tools"))


class Excepted(Configured):
    def test_an_exception_is_judged_where_its_files_were_checked(self):
        self.write("tools/dev/tidy/exceptions.toml", "# A planted list.\n" + "".join(
            f'[[exception]]\nrule = "clang-tidy"\npath = "hw/x/{name}.hpp"\nreason = "b"\n'
            for name in ("a", "b", "c", "[bc]")))
        self.plant(hw__x__a_hpp=MOVED, hw__x__a_cpp='#include "hw/x/a.hpp"\n'
                   '#include "hw/x/b.hpp"\n', hw__x__b_hpp="int b();\n",
                   hw__x__c_hpp="int c();\n", hw__x__c_cpp='#include "hw/x/c.hpp"\n')
        self.configure(without=["hw/x/c.cpp"])
        found = tidy.examine(self.root, self.root / "build/tidy/headers.json", (), True)
        self.assertEqual([(f.rule, f.line) for f in found], [("exception", 6)])


class Refused(Configured):
    def run_tool(self):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = tidy.main(["--root", str(self.root), "--all", "--rule", "clang-tidy"])
        return code, err.getvalue()

    def test_missing_program(self):
        self.plant(hw__x__a_cpp="int a;\n")
        with mock.patch.object(analysis, "PROGRAM", "clang-tidy-none"):
            self.assertEqual(self.run_tool(), (
                3, "tools/tidy: clang-tidy-none is missing: run tools/setup\n"))

    def test_tree_that_is_not_configured(self):
        (self.root / "build/tidy/apart/compile_commands.json").unlink()
        self.assertEqual(self.run_tool(), (
            3, "tools/tidy: build/tidy/apart has no compile_commands.json: "
               "remove build/tidy/apart\n"))


if __name__ == "__main__":
    unittest.main()
