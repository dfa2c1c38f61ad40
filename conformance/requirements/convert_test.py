#!/usr/bin/env python3
# Tests of convert.py: its output, its errors, and that it never writes only some of the files.
import contextlib
import io
import os
import tempfile
import tomllib
import unittest

import convert

HEADER = "id\trfc\tsection\tlevel\tsummary\n"
ROWS = '791:A\t791\t3.1\tMUST\tSays "a" \\ b\n792:B\t792\tEcho\ttext\tb\n791:C\t791\t3.2\tMAY\tc\n'


class Convert(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.corrections("")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def corrections(self, text):
        self.write("corrections.toml", text)

    def run_convert(self, table, *more):
        """Returns the exit code and the lines printed."""
        self.write("table.tsv", table)
        printed = io.StringIO()
        arguments = [self.path("table.tsv"), "--out", self.folder.name]
        arguments += ["--corrections", self.path("corrections.toml"), *more]
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = convert.main(arguments)
        return code, printed.getvalue()

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return tomllib.load(file)

    def refuses(self, table, message):
        code, printed = self.run_convert(table)
        self.assertEqual(code, 2)
        self.assertIn(message, printed)
        self.assertEqual(printed.count("\n"), 1)
        self.assertFalse(os.path.exists(self.path("rfc791.toml")))

    def test_writes_one_file_an_rfc_in_order(self):
        self.assertEqual(self.run_convert(HEADER + ROWS)[0], 0)
        document = self.read("rfc791.toml")
        self.assertEqual(document["rfc"], 791)
        self.assertEqual(document["title"], "Internet Protocol")
        self.assertEqual([row["id"] for row in document["requirements"]], ["791:A", "791:C"])
        row = {"id": "791:A", "section": "3.1", "level": "MUST", "summary": 'Says "a" \\ b'}
        self.assertEqual(document["requirements"][0], row)
        self.assertEqual(self.read("rfc792.toml")["requirements"][0]["section"], "Echo")

    def test_corrections_and_additions_apply(self):
        self.corrections(
            '[[correction]]\nid = "791:C"\nfield = "level"\nwas = "MAY"\nis = "MUST"\nwhy = "x"\n'
            '[[addition]]\nid = "791:D"\nsection = "9"\nlevel = "text"\nsummary = "d"\nwhy = "x"\n'
        )
        self.assertEqual(self.run_convert(HEADER + ROWS)[0], 0)
        rows = self.read("rfc791.toml")["requirements"]
        self.assertEqual([row["id"] for row in rows], ["791:A", "791:C", "791:D"])
        self.assertEqual(rows[1]["level"], "MUST")

    def test_a_correction_of_other_text_is_refused(self):
        self.corrections(
            '[[correction]]\nid = "791:C"\nfield = "level"\nwas = "text"\nis = "MUST"\nwhy = "x"\n'
        )
        self.refuses(HEADER + ROWS, "791:C: level is 'MAY', not 'text'")

    def test_bad_tables_are_refused(self):
        self.refuses("id\trfc\n", "table.tsv:1: expected the columns")
        self.refuses(HEADER + "791:A\t791\t3.1\tMUST\n", "table.tsv:2: 4 cells; expected 5")
        self.refuses(HEADER + ROWS + ROWS, "table.tsv:5: id 791:A is a duplicate")
        self.refuses(HEADER + "791:A\t792\t3\tMUST\ta\n", "does not begin with 792:")
        self.refuses(HEADER + "791:A\t791\t3\tmust\ta\n", "level 'must'")
        self.refuses(HEADER + "1:A\t1\t3\tMUST\ta\n", "RFC 1 has no title")
        self.refuses(HEADER + "791:A\t791\t\tMUST\ta\n", "lacks its section")
        self.corrections("correction = ")
        self.refuses(HEADER + ROWS, "corrections.toml: ")
        self.corrections('[[correction]]\nid = "791:A"\n')
        self.refuses(HEADER + ROWS, "lacks the key 'field'")

    def test_check_compares_and_writes_nothing(self):
        self.assertEqual(self.run_convert(HEADER + ROWS, "--check")[0], 1)
        self.assertFalse(os.path.exists(self.path("rfc791.toml")))
        self.run_convert(HEADER + ROWS)
        self.assertEqual(self.run_convert(HEADER + ROWS, "--check")[0], 0)
        self.write("rfc791.toml", "rfc = 791\n")
        code, printed = self.run_convert(HEADER + ROWS, "--check")
        self.assertEqual((code, printed.startswith("rfc791.toml: differs")), (1, True))

    @unittest.skipUnless("LOCKSTEP_REQUIREMENTS" in os.environ, "no table of requirements named")
    def test_the_committed_files_are_the_tables(self):
        here = os.path.dirname(os.path.abspath(__file__))
        table = os.environ["LOCKSTEP_REQUIREMENTS"]
        self.assertEqual(convert.main(["--check", table, "--out", here]), 0)


if __name__ == "__main__":
    unittest.main()
