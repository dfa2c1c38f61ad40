# Files of results, which are written whole or stay as they were.
import os
import pathlib

from verbs.sweep.plan import Failure


class AtomicFile:
    """A file that keep() writes. Opened before the work begins, so that a path at which nothing can
    be written is refused at once. A device or a pipe is written directly."""

    def __init__(self, path, option):
        self.path, self.option = path, option
        words = os.path.abspath(path)
        target = pathlib.Path(path)
        if target.is_symlink() and target.is_file() and not words.startswith(("/dev/", "/proc/")):
            target = target.resolve()
        stream = words.startswith(("/dev/", "/proc/")) and not words.startswith("/dev/shm/")
        self.target = target
        self.direct = target.exists() and (stream or not target.is_file())
        self.draft = target if self.direct else pathlib.Path(f"{target}.draft")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self.file = open(self.draft, "wb")
        except OSError as error:
            raise self.failure(error) from error

    def failure(self, error):
        """The error as one line."""
        return Failure(3, f"{self.path}: cannot be written ({error.strerror}): name another"
                          f" {self.option}")

    def keep(self, content):
        """Writes text or bytes, and gives the file its name."""
        try:
            with self.file as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                if not self.direct:
                    os.fsync(file.fileno())
            if not self.direct:
                self.draft.rename(self.target)
        except OSError as error:
            self.discard()
            raise self.failure(error) from error

    def discard(self):
        """Without keep(): what was there stays. Does nothing after it."""
        try:
            self.file.close()
        except OSError:
            pass
        if not self.direct:
            self.draft.unlink(missing_ok=True)
