"""Each rule of tools/tidy finds a planted violation, names its line, and accepts clean code."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tidy"
loader = importlib.machinery.SourceFileLoader("tidy_program", str(TOOL))
tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy_program", loader))
loader.exec_module(tidy)

TOP = "// A file that a test of tidy has planted.\n"
CMAKE_TOP = "# A file that a test of tidy has planted.\n"


class Planted(unittest.TestCase):
    """A new tree for each test."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        cache = mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.root / "build/cache"))
        cache.start()
        self.addCleanup(cache.stop)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def findings(self, rules=("layer", "wing", "link", "include", "purity", "determinism",
                              "draw-order", "function-size", "file-size", "columns",
                              "first-line", "machine-path", "registry", "unfinished",
                              "origin")):
        return tidy.examine(self.root, self.root / "build/tidy/headers.json", list(rules))

    def expect(self, rule, path, line):
        found = [(f.rule, f.path, f.line) for f in self.findings()]
        self.assertIn((rule, path, line), found)
        for finding in self.findings():
            self.assertTrue(finding.reason and finding.replacement)

    def expect_clean(self):
        self.assertEqual([f.text() for f in self.findings()], [])


class Floors(Planted):
    def test_upward_include(self):
        self.write("core/wire/a.hpp", TOP + '#include "core/tcp/state.hpp"\n')
        self.expect("layer", "core/wire/a.hpp", 2)

    def test_downward_include_passes(self):
        self.write("core/tcp/a.hpp", TOP + '#include "core/wire/tcp.hpp"\n')
        self.expect_clean()

    def test_core_includes_sim(self):
        self.write("core/stack/a.hpp", TOP + '#include "sim/bus/link.hpp"\n')
        self.expect("layer", "core/stack/a.hpp", 2)

    def test_sim_includes_hw(self):
        self.write("sim/bus/a.hpp", TOP + '\n#include "hw/poll/loop.hpp"\n')
        self.expect("layer", "sim/bus/a.hpp", 3)

    def test_example_includes_what_is_installed(self):
        self.write("sim/examples/embed/a.c", TOP + '#include "tools/lib/host/host.h"\n')
        self.write("sim/examples/embed/b.cpp", TOP + '#include "hw/poll/loop.hpp"\n')
        self.expect_clean()

    def test_hw_includes_sim(self):
        self.write("hw/tap/a.hpp", TOP + '#include "sim/bus/link.hpp"\n')
        self.expect("layer", "hw/tap/a.hpp", 2)

    def test_library_of_both_worlds(self):
        self.write("tools/lib/http/a.hpp", TOP + '#include "sim/bus/link.hpp"\n')
        self.expect("layer", "tools/lib/http/a.hpp", 2)

    def test_unknown_floor(self):
        self.write("core/extras/a.hpp", TOP)
        self.expect("layer", "core/extras/a.hpp", 1)

    def test_include_beside_the_file(self):
        self.write("sim/bus/a.hpp", TOP + '#include "link.hpp"\n')
        self.expect("include", "sim/bus/a.hpp", 2)


class Wings(Planted):
    def test_higher_wing(self):
        for folder, name in (("tools/base/text", "tools/lib/http/site.hpp"),
                             ("tools/lib/http", "conformance/replay/flow.hpp"),
                             ("conformance/replay", "tools/verbs/verbs.hpp"),
                             ("tools/verbs/lint", "tools/proofs/bench/bulk.hpp"),
                             ("tools/proofs/bench", "tools/dev/tilegx/runtime/x.hpp")):
            with self.subTest(folder):
                self.write(f"{folder}/a.hpp", TOP + f'#include "{name}"\n')
                self.expect("wing", f"{folder}/a.hpp", 2)

    def test_include_that_is_not_linked(self):
        self.write("tools/lib/http/a.cpp", TOP + '#include "tools/base/text/units.hpp"\n')
        self.expect("link", "tools/lib/http/a.cpp", 2)

    def test_link_that_is_not_included(self):
        self.write("tools/lib/http/a.cpp", TOP)
        self.write("tools/lib/http/deps.cmake", CMAKE_TOP + "set(LIBS z\n  lockstep_text)\n")
        self.expect("link", "tools/lib/http/deps.cmake", 3)

    def test_library_of_tests_alone(self):
        self.write("tools/lib/http/a_test.cpp", TOP + '#include "sim/kernel/kernel.hpp"\n')
        self.write("tools/lib/http/deps.cmake", CMAKE_TOP + "set(LIBS lockstep_sim)\n")
        self.expect("link", "tools/lib/http/deps.cmake", 2)
        self.expect("link", "tools/lib/http/a_test.cpp", 2)

    def test_all_is_linked(self):
        self.write("tools/verbs/lint/a.cpp", TOP + '#include "tools/verbs/verbs.hpp"\n'
                   '#include "tools/verbs/sim/run.hpp"\n#include "hw/mpipe/port.hpp"\n')
        self.write("tools/verbs/lint/a_test.cpp", TOP + '#include "tools/lib/http/http_kit.hpp"\n')
        self.write("tools/lib/http/http_kit.hpp", TOP + '#include "tools/lib/pair/pair.hpp"\n')
        self.write("tools/lib/http/deps.cmake", CMAKE_TOP + "set(TEST_LIBS lockstep_pair)\n")
        self.write("tools/verbs/lint/deps.cmake", CMAKE_TOP +
                   "set(LIBS lockstep_mpipe lockstep_verb_sim)\n"
                   "set(TEST_LIBS lockstep_http lockstep_pair)\n")
        self.expect_clean()


class Bans(Planted):
    def plant(self, module, line):
        self.write(f"{module}/a.cpp", TOP + line + "\n")
        return f"{module}/a.cpp"

    def test_core(self):
        for line in ("#include <vector>", "#include <unistd.h>", "virtual void f();",
                     "int* p = new int;", "void* p = malloc(3);", "std::function<void()> f;",
                     "throw 1;", "double rate;", "auto r = 0.5;", "long count;",
                     "auto* d = dynamic_cast<D*>(b);", "std::vector<int> v;"):
            with self.subTest(line):
                self.expect("purity", self.plant("core/tcp", line), 2)

    def test_sim(self):
        for line in ("#include <string>", "#include <fstream>", "#include <map>",
                     "#include <sys/socket.h>", "std::string name;", "float share;", "try {}"):
            with self.subTest(line):
                self.expect("purity", self.plant("sim/bus", line), 2)

    def test_chance_clocks_and_addresses(self):
        for line in ("std::unordered_map<int, int> m;", "std::mt19937 g;", "std::shuffle(a, b, g);",
                     "auto t = std::chrono::steady_clock::now();", "auto t = std::time(nullptr);",
                     "auto i = reinterpret_cast<std::uintptr_t>(p);", "auto h = std::hash<int>{};",
                     "thread_local int i;", "std::atomic<int> i;", "int r = rand();",
                     "const char* d = __DATE__;", "auto home = getenv(name);"):
            for module in ("core/tcp", "sim/bus"):
                with self.subTest(line=line, module=module):
                    self.expect("determinism", self.plant(module, line), 2)

    def test_size_in_stored_state(self):
        self.write("sim/bus/a.hpp", TOP + "struct Queue {\n  std::size_t used_ = 0;\n};\n")
        self.expect("determinism", "sim/bus/a.hpp", 3)

    def test_file_that_cannot_be_read(self):
        self.write("sim/bus/a.hpp", TOP + "struct A {\n  std::size_t f(;\n};\n")
        self.expect("determinism", "sim/bus/a.hpp", 2)

    def test_size_in_a_function_passes(self):
        self.write("sim/bus/a.hpp",
                   TOP + "inline int f() {\n  std::size_t i = 0;\n  return i;\n}\n"
                   "struct A {\n  std::size_t size() const;\n"
                   "  int g() {\n    std::size_t i;\n  }\n};\n"
                   "template <class T>\nT h() {\n  std::size_t i = 0;\n  return i;\n}\n")
        self.expect_clean()

    def test_comments_strings_and_tools_pass(self):
        self.write("core/tcp/a.cpp", TOP + "// a new virtual double\nauto s = \"malloc(1.5)\";\n")
        self.write("core/tcp/b.cpp", TOP + "auto* p = new (place) Thing;\nA(const A&) = delete;\n")
        self.write("tools/verbs/coverage/a.cpp",
                   TOP + "#include <string>\nstd::unordered_set<int> m;\n")
        self.expect_clean()


class Order(Planted):
    def test_two_draws_in_one_expression(self):
        for line in ("auto x = f(random.below(2), random.below(3));",
                     "auto x = random.below(2) * draw(random, 1, 500);",
                     "auto x = app_of(one_of(random, models), draw(random, 1, 2));"):
            with self.subTest(line):
                self.write("sim/worlds/a.cpp", TOP + line + "\n")
                self.expect("draw-order", "sim/worlds/a.cpp", 2)

    def test_draws_in_order_pass(self):
        self.write("sim/worlds/a.cpp", TOP + "Loss loss{random.below(2), random.below(3)};\n"
                   "auto x = random.below(2) == 0 ? random.below(3) : random.below(4);\n")
        self.expect_clean()


class Sizes(Planted):
    def test_long_python_function(self):
        self.write("tools/x/a.py", '"""A planted script."""\ndef f():\n' + "    g()\n" * 70)
        self.expect("function-size", "tools/x/a.py", 2)

    def test_long_file(self):
        self.write("tools/x/a.cpp", TOP + "\n" * 700)
        self.expect("file-size", "tools/x/a.cpp", 700)

    def test_wide_line(self):
        self.write("tools/x/a.cpp", TOP + "//" + "-" * 99 + "\n")
        self.expect("columns", "tools/x/a.cpp", 2)

    def test_first_line(self):
        self.write("tools/x/a.cpp", "#include <vector>\n")
        self.expect("first-line", "tools/x/a.cpp", 1)
        self.write("tools/x/run", "#!/usr/bin/env bash\nset -e\n")
        self.expect("first-line", "tools/x/run", 1)


class Python(Planted):
    SETTINGS = '[tool.ruff.lint]\nselect = ["F"]\n'

    def found(self):
        return [(f.rule, f.path, f.line, f.reason.split(":")[0])
                for f in tidy.examine(self.root, self.root / "build/tidy/headers.json", ["python"])]

    def test_what_ruff_finds(self):
        self.write("pyproject.toml", self.SETTINGS)
        self.write("tools/x/a.py", '"""A file."""\nimport os\n')
        self.write("tools/x/run", "#!/usr/bin/env python3\nprint(nobody)\n")
        self.assertEqual(self.found(), [("python", "tools/x/a.py", 2, "F401"),
                                        ("python", "tools/x/run", 2, "F821")])

    def test_what_is_fine_passes(self):
        self.write("pyproject.toml", self.SETTINGS)
        self.write("tools/x/a.py", '"""A file."""\nimport os\nprint(os.name)\n')
        self.assertEqual(self.found(), [])

    def test_settings_that_ruff_does_not_know(self):
        self.write("pyproject.toml", "[tool.ruff]\nsuch = 1\n")
        self.write("tools/x/a.py", '"""A file."""\n')
        with self.assertRaisesRegex(OSError, "pyproject.toml"):
            self.found()


class Format(Planted):
    STYLE = "BasedOnStyle: Google\n"

    def found(self):
        return [(f.rule, f.path, f.line)
                for f in tidy.examine(self.root, self.root / "build/tidy/headers.json", ["format"])]

    def test_what_clang_format_writes_otherwise(self):
        self.write(".clang-format", self.STYLE)
        self.write("core/units/a.hpp", "// A file.\n#pragma once\nint  a;\nint  b;\n")
        self.write("core/units/b.hpp", "// A file.\n#pragma once\nint a;\n")
        self.assertEqual(self.found(), [("format", "core/units/a.hpp", 3)])

    def test_fix_rewrites_it(self):
        self.write(".clang-format", self.STYLE)
        self.write("core/units/a.hpp", "// A file.\n#pragma once\nint  a;\n")
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(
                tidy.main(["--root", str(self.root), "--fix", "--rule", "format"]), 0)
        self.assertEqual(self.found(), [])

    def test_a_tree_without_settings_passes(self):
        self.write("core/units/a.hpp", "// A file.\n#pragma once\nint  a;\n")
        self.assertEqual(self.found(), [])


class Words(Planted):
    def test_words(self):
        for rule, text in (("machine-path", "/wo" "rk/main/x"), ("registry", "py" "pi.org"),
                           ("unfinished", "TO" "DO: later"),
                           ("unfinished", "not imple" "mented"), ("origin", "the C" "EO said")):
            with self.subTest(text):
                self.write("tools/x/a.cpp", TOP + f"// see {text}\n")
                self.expect(rule, "tools/x/a.cpp", 2)

    def test_an_option_is_no_such_word(self):
        self.write("tools/x/a.cpp", TOP + "// --ag" "ent names a program on a device\n")
        self.expect_clean()


class Headers(Planted):
    def test_header_that_needs_another(self):
        self.write("tools/x/a.hpp", TOP + "#pragma once\ninline std::uint8_t f() { return 1; }\n")
        self.write("tools/x/b.hpp", TOP + "#pragma once\n#include <cstdint>\n"
                   "inline std::uint8_t g() { return 1; }\n")
        found = self.findings(["self-contained"])
        self.assertEqual([(f.rule, f.path) for f in found], [("self-contained", "tools/x/a.hpp")])

    def test_first_include_of_its_own_file_is_left_to_the_build(self):
        self.write("tools/x/a.hpp", TOP + "#pragma once\ninline std::uint8_t f() { return 1; }\n")
        self.write("tools/x/a.cpp", TOP + '#include "tools/x/a.hpp"\n')
        self.assertEqual(self.findings(["self-contained"]), [])
        self.write("tools/x/a.cpp", TOP + '#include <cstdint>\n#include "tools/x/a.hpp"\n')
        self.assertEqual([f.path for f in self.findings(["self-contained"])], ["tools/x/a.hpp"])

    def test_kept_result_is_dropped_when_an_include_changes(self):
        self.write("tools/x/a.hpp", TOP + '#pragma once\n#include "tools/x/b.hpp"\nThing f();\n')
        self.write("tools/x/b.hpp", TOP + "#pragma once\nstruct Thing {};\n")
        self.assertEqual(self.findings(["self-contained"]), [])
        self.write("tools/x/b.hpp", TOP + "#pragma once\nstruct Other {};\n")
        self.assertEqual([f.path for f in self.findings(["self-contained"])], ["tools/x/a.hpp"])


class Exceptions(Planted):
    ENTRY = '[[exception]]\nrule = "columns"\npath = "tools/x/*.cpp"\nreason = "planted"\n'

    def run_tool(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = tidy.main(["--root", str(self.root), *arguments])
        return code, out.getvalue(), err.getvalue()

    def test_excused(self):
        self.write("tools/x/a.cpp", TOP + "//" + "-" * 99 + "\n")
        self.write("tools/dev/tidy/exceptions.toml", self.ENTRY)
        self.assertEqual(self.run_tool()[0], 0)

    def test_exception_that_excuses_nothing(self):
        self.write("tools/dev/tidy/exceptions.toml", "# none\n" + self.ENTRY)
        code, out, _ = self.run_tool("--json")
        self.assertEqual(code, 1)
        self.assertEqual([(f["rule"], f["line"]) for f in json.loads(out)], [("exception", 2)])

    def test_list_that_cannot_be_read(self):
        for text in ("[[exception]\n", '[[exception]]\nrule = "columns"\npath = "a"\n',
                     self.ENTRY + 'why = "no"\n'):
            with self.subTest(text):
                self.write("tools/dev/tidy/exceptions.toml", text)
                code, _, err = self.run_tool()
                self.assertEqual(code, 2)
                self.assertIn("tools/dev/tidy/exceptions.toml", err)

    def test_no_such_tree(self):
        self.assertEqual(tidy.main(["--root", str(self.root / "none")]), 3)


if __name__ == "__main__":
    unittest.main()
