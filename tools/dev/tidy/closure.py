"""Which files of ours a file includes, directly or not, and a digest of them all."""

import hashlib
import pathlib
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


class Closure:
    """Reads each file once."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.read = {}

    def of_file(self, path):
        """The digest of a file's content, and the paths that it includes with quotes."""
        if path not in self.read:
            file = self.root / path
            content = file.read_bytes() if file.is_file() else b""
            self.read[path] = (hashlib.sha256(content).hexdigest(),
                               INCLUDE.findall(content.decode("utf-8", "replace")))
        return self.read[path]

    def files(self, path):
        """The file itself and what it includes."""
        seen, waiting = set(), [path]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += self.of_file(name)[1]
        return seen

    def digest(self, path, *more):
        """A digest of the contents of all these files, and of the texts `more`."""
        made = hashlib.sha256(repr(more).encode())
        for name in sorted(self.files(path)):
            made.update(f"{name} {self.of_file(name)[0]}\n".encode())
        return made.hexdigest()
