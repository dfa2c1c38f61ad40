"""The lexer and the reader of C++, on small texts and on the whole tree."""

import pathlib
import unittest

from dev.cxx.command import without_forced_headers
from dev.cxx.lexer import blanked, tokens_of
from dev.cxx.reader import Reader, Unread

ROOT = pathlib.Path(__file__).resolve().parents[3]
WINGS = ("core", "sim", "hw", "conformance", "tools")


def texts(text):
    return [token.text for token in tokens_of(text)[0]]


def functions(text):
    return [node.name for node in Reader(text).nodes]


def fields(text):
    read = Reader(text)
    return [read.source(begin, end) for begin, end in read.fields]


def kinds(body):
    """The statements of a function with this body, each with its depth."""
    found = []

    def walk(nodes, depth):
        for node in nodes:
            found.append((depth, node.kind))
            walk(node.below, depth + 1)

    walk(Reader(f"void f() {{ {body} }}").nodes[0].below, 0)
    return found


class Lexed(unittest.TestCase):
    def test_literals_are_one_token(self):
        self.assertEqual(texts(r'''a "b \" c" '\'' 1'000.5 x'''),
                         ["a", r'"b \" c"', r"'\''", "1'000.5", "x"])
        self.assertEqual(texts('f(R"(a " b)", u8R"x(c )" d)x")'),
                         ["f", "(", 'R"(a " b)"', ",", 'u8R"x(c )" d)x"', ")"])

    def test_comments_belong_to_the_next_token_and_directives_are_left_out(self):
        tokens, comments = tokens_of("a // one\n#define X \\\n  {\n/* two\n*/ b")
        self.assertEqual([token.text for token in tokens], ["a", "b"])
        self.assertEqual([(at, token.text) for at, token in comments],
                         [(1, "// one"), (1, "/* two\n*/")])

    def test_blanked(self):
        for text, expected in ((r'a = "b\"c"; // d', "a =       ;     "),
                               ("x(1'000, 'y', u8'z')", "x(1'000,    , u8   )"),
                               ('R"(a\n")" + b', "    \n    + b"),
                               ('#include "a.hpp"', "#include        "),
                               ("/* a\nb */ c", "    \n     c")):
            with self.subTest(text):
                self.assertEqual(blanked(text), expected)


class Read(unittest.TestCase):
    def test_functions(self):
        text = """namespace a { template <class T> struct B { B() : x_{1} {} int f() const; };
          bool B::f() { return true; } constexpr int table[] = {1, 2}; enum class E { one };
          bool operator==(E a, E b) { return true; } }"""
        self.assertEqual(functions(text), ["B", "f", "operator=="])

    def test_fields_of_classes_alone(self):
        text = """int global; struct A { int a; std::size_t b = 0; void f() { int local; }
          enum { x }; class B { int c[4]{}; }; static int d; }; int f() { struct L { int no; }; }"""
        self.assertEqual(fields(text), ["int a", "std::size_t b = 0", "int c[4]{}", "static int d"])

    def test_classes_with_attributes_and_typedefs(self):
        self.assertEqual(fields("struct alignas(8) A { int a; };"), ["int a"])
        self.assertEqual(fields("class [[nodiscard]] A { int a; };"), ["int a"])
        self.assertEqual(fields("typedef struct { int a; } A;"), ["int a"])
        self.assertEqual(functions("typedef int (*Call)(int); void f() {}"), ["f"])

    def test_statements(self):
        self.assertEqual(kinds("if (a) { b(); } else return; int c = 2;"),
                         [(0, "if"), (1, "block"), (2, "expression"), (1, "else"), (2, "return"),
                          (0, "declaration")])

    def test_handlers(self):
        self.assertEqual(kinds("try { a(); } catch (const B& b) { return; } catch (...) {} c();"),
                         [(0, "try"), (1, "expression"), (0, "catch"), (1, "return"), (0, "catch"),
                          (0, "expression")])
        self.assertEqual(functions("int main() try { a(); } catch (...) { b(); }\nvoid f() {}"),
                         ["main", "f"])

    def test_what_cannot_be_read_is_named_with_its_line(self):
        for text, line in (("int x;\nvoid f() { if (a { } \n", 2), ("int x;\nint f(", 2),
                           ("int\n\nx", 3), ("void f() {\n a(); } }", 2)):
            with self.subTest(text):
                if text.endswith("} }"):
                    self.assertEqual(functions(text), ["f"])  # a brace too many is left
                else:
                    with self.assertRaisesRegex(Unread, rf"^a\.cpp:{line}: "):
                        Reader(text, "a.cpp")

    def test_the_whole_tree_is_read(self):
        paths = [path for wing in WINGS for path in sorted((ROOT / wing).rglob("*.[ch]pp"))]
        self.assertGreater(len(paths), 1000)
        for path in paths:
            Reader(path.read_text(encoding="utf-8"), str(path))


if __name__ == "__main__":
    unittest.main()


def test_headers_before_the_source_are_left_out_of_a_command():
    words = ["c++", "-Xclang", "-include-pch", "-Xclang", "a.pch", "-Wall", "-include", "a.hpp",
             "-Winvalid-pch", "-c", "a.cpp"]
    assert without_forced_headers(words) == ["c++", "-Wall", "-c", "a.cpp"]
