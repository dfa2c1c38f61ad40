# Errors of a test of a TCP, each with one clear line for the test's author.


class Misuse(Exception):
    """The test asks for something impossible: a packet of another layer, a wait without an end."""


class Environment(Exception):
    """Something is missing around the tests: a permission, a program, a device. No test runs."""


class Unsupported(Exception):
    """The target cannot do what the test asks for; the test is skipped with this reason."""


class Elsewhere(Exception):
    """In a profile that the test does not name it cannot continue as written: it ends here."""


class Mismatch(Exception):
    """The target did not do what the test expects.

    `rows` are (field, expected, actual, differs); `headline` states what was expected.
    """

    def __init__(self, headline, rows=()):
        super().__init__(headline)
        self.headline = headline
        self.rows = list(rows)

    def __str__(self):
        return "\n".join([self.headline, *self.table()])

    def table(self):
        """The two columns, as lines."""
        if not self.rows:
            return []
        wide = max(len("expected"), *(len(row[1]) for row in self.rows))
        lines = [f"    {'':10}  {'expected':{wide}}  actual"]
        for field, expected, actual, differs in self.rows:
            mark = "!" if differs else " "
            lines.append(f"  {mark} {field:10}  {expected:{wide}}  {actual}")
        return lines
