"""The site's checks: each one is seen to find something once."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))

import api  # noqa: E402
import comments  # noqa: E402
import links  # noqa: E402
import pages  # noqa: E402


def tree_of(tmp_path, files):
    """A repository with these files."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return pages.Tree(tmp_path)


def filtered(text):
    return comments.Filter(text).printed()


def test_no_readme_names_what_does_not_exist():
    assert [str(each) for each in pages.check(pages.Tree(ROOT))] == []


@pytest.mark.parametrize("named", ["`core/gone.hpp`", "`core/gone/`", "`gone.toml`",
                                   "`gone/README.md`", "`core/{stack,gone}.hpp`",
                                   "[page](core/gone.md)"])
def test_a_path_that_names_nothing_is_found(tmp_path, named):
    tree = tree_of(tmp_path, {"README.md": f"# A\n\nSee {named}.\n", "core/stack.hpp": ""})
    (finding,) = pages.check(tree)
    assert (finding.file, finding.line) == ("README.md", 3) and "gone" in finding.what


@pytest.mark.parametrize("named", ["`core/stack.hpp`", "`core/stack`", "`core/`", "`core/*.hpp`",
                                   "`stack.hpp`", "`build/x.hpp`", "`pcaps/NAME/a.toml`", "`a/b`",
                                   "`10.9.0.2/24`", "[page](core/stack.hpp)", "[rfc](https://a.b)"])
def test_other_words_are_left_alone(tmp_path, named):
    tree = tree_of(tmp_path, {"README.md": f"# A\n\nSee {named}.\n", "core/stack.hpp": ""})
    assert pages.check(tree) == []


def test_a_readme_beside_the_tabs_and_a_front_page_without_its_sections_are_found(tmp_path):
    tree = tree_of(tmp_path, {"README.md": "# A\n", "extra/README.md": "# B\n"})
    _, findings = pages.write(tree, tmp_path / "out")
    assert [each.file for each in findings].count("extra/README.md") == 1
    assert sum("has no section" in each.what for each in findings) == len(pages.START_SECTIONS)


def test_paths_of_pages_become_links(tmp_path):
    tree = tree_of(tmp_path, {"README.md": "# A\n", "core/README.md": "# B\n",
                              "sim/README.md": "# C\n"})
    text = "See `core/README.md`\n```\n`core/README.md`\n```\n"
    page = pages.as_page(tree, "sim/README.md", text)
    assert page == "See [`core/README.md`](../core/README.md)\n```\n`core/README.md`\n```\n"


def test_a_dead_link_an_anchor_and_what_is_fetched_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="gone.html">3</a>'
        '<a href="https://example.org/">4</a><script src="https://example.org/a.js"></script>')
    (tmp_path / "b.html").write_text('<p id="there">')
    count, findings = links.check(tmp_path)
    assert count == 5
    assert [each.what for each in findings] == [
        "the link to b.html#gone is dead: the page has no such anchor",
        "the link to gone.html is dead",
        "https://example.org/a.js is fetched from elsewhere"]


def test_comments_become_doxygens_line_by_line():
    text = ("// What it is for.\n#pragma once\n\n// Alone.\n\n// Above.\nstruct A {\n"
            "  int x = 0;  // behind <it>\n"
            "  //= rfc9293#3.4\n  //# 9293:MUST-1 to count\n"
            "  void f() {\n    // inside\n  }\n};\n")
    assert filtered(text) == (
        "/// What it is for.\n/// \\file\n\n// Alone.\n\n/// Above.\nstruct A {\n"
        "  int x = 0;  ///< behind \\<it\\>\n"
        "  /// RFC 9293, section 3.4:\n  /// to count.\n"
        "  void f() {\n    // inside\n  }\n};\n")


def test_doxygens_own_comments_and_those_of_c_are_read():
    assert "\n/// Above.\nint f();\n" in filtered("// A.\n#pragma once\n/// Above.\nint f();\n")
    in_c = filtered("// A.\n#pragma once\n/* Above. */\nint f(void);\n")
    assert "\n/** Above. */\nint f(void);\n" in in_c


def test_the_filter_keeps_the_lines_of_every_header():
    tree = pages.Tree(ROOT)
    for name in api.installed(tree):
        text = tree.text(name)
        assert filtered(text).count("\n") == text.count("\n"), name


def test_warnings_are_findings_and_self_evident_functions_are_not(tmp_path):
    tree = tree_of(tmp_path, {
        "core/stack/a.hpp": "void f();\nint g() { return 1; }\nbool operator==(A, B);\n"})

    def found(line, what):
        log = f"/x/core/stack/a.hpp:{line}: warning: {what}\n"
        return [each.line for each in api.warnings(tree, log, "/x/")]

    assert found(1, "Member f() (function) of file a.hpp is not documented.") == [1]
    assert found(1, "Compound A is not documented.") == [1]
    assert found(1, "Member x (variable) of struct A is not documented.") == []
    assert found(2, "Member g() (function) of file a.hpp is not documented.") == []
    assert found(3, "Member operator==(A, B) (function) of file a.hpp is not documented.") == []
    assert found(1, "explicit link request to 'x' could not be resolved") == [1]


def test_wrong_usage_is_refused():
    program = HERE / "build"
    assert subprocess.run([program, "--nothing"], capture_output=True, check=False).returncode == 2
    ran = subprocess.run([program, "--root", "/"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert "example:" in subprocess.run([program, "--help"], capture_output=True, text=True,
                                        check=True).stdout


def test_the_check_alone_ends_in_the_code_of_a_finding(tmp_path):
    tree_of(tmp_path, {"README.md": "# A\n\n`core/gone.hpp`\n", "CMakeLists.txt": "",
                       "core/a.hpp": ""})
    ran = subprocess.run([HERE / "build", "--check", "--root", tmp_path], capture_output=True,
                         text=True, check=False)
    assert ran.returncode == 1
    assert ran.stdout == "README.md:3: `core/gone.hpp` names nothing in the tree\n1 findings\n"
