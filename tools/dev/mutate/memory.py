"""What was found before: a run that was interrupted goes on from there."""

import json
import threading


class Memory:
    """Who noticed each mutant, None for nobody. What was found of these programs, whose digest is
    `now`, holds; of others it says where to look first."""

    def __init__(self, file, now, fresh=False):
        self.file, self.now = file, now
        self.found, self.hints, self.lock = {}, {}, threading.Lock()
        if fresh:
            self.file.unlink(missing_ok=True)
        for line in self.file.read_text().splitlines() if self.file.exists() else ():
            try:
                then, one, caught = json.loads(line)
            except ValueError:
                continue  # the line that an interruption cut
            if then == now:
                self.found[one] = caught
            if caught:
                self.hints[one] = caught

    def put(self, one, caught):
        with self.lock:
            self.found[one] = caught
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([self.now, one, caught]) + "\n")
