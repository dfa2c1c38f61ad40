"""Results that are kept between runs, so that an interrupted run can resume."""

import json
import threading


class Memory:
    """What noticed each mutant, None if nothing did. Results with the same programs, whose digest
    is `now`, are final; results with others only tell what to try first."""

    def __init__(self, file, now, fresh=False):
        self.file, self.now = file, now
        self.found, self.hints, self.lock = {}, {}, threading.Lock()
        if fresh:
            self.file.unlink(missing_ok=True)
        for line in self.file.read_text().splitlines() if self.file.exists() else ():
            try:
                then, one, caught = json.loads(line)
            except ValueError:
                continue  # a line truncated by an interruption
            if then == now:
                self.found[one] = caught
            if caught:
                self.hints[one] = caught

    def put(self, one, caught):
        with self.lock:
            self.found[one] = caught
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([self.now, one, caught]) + "\n")
