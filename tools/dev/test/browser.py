# A headless Chromium for tests of pages.
"""Controls a headless Chromium through a pipe: loads, measures and captures pages."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = "chromium is missing: tools/setup --with browser"
ANSWER_SECONDS = 60


class Browser:
    """One tab. A context manager: at the end the process and its folder are removed."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="lockstep-browser-")
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()

        def hand_over():
            # Chromium reads commands from descriptor 3 and writes answers to 4. The pipes are first
            # copied to numbers that dup2 cannot overwrite.
            reading, writing = os.dup(to_read), os.dup(to_write)
            high = [os.dup2(reading, 30), os.dup2(writing, 31)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=hand_over, close_fds=False)
        os.close(to_read)
        os.close(to_write)
        self.number = 0
        self.pending = b""
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(timeout=ANSWER_SECONDS)
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        """Sends a command and waits for its answer; events in between are added to `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + ANSWER_SECONDS
        while True:
            answer = self._message(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer.get("result", {})
            self.events.append(answer)

    def _message(self, end):
        while b"\0" not in self.pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.from_browser], [], [], left)[0]:
                raise TimeoutError(f"chromium has not answered within {ANSWER_SECONDS} s")
            piece = os.read(self.from_browser, 1 << 16)
            if not piece:
                raise RuntimeError(f"chromium has ended with code {self.process.poll()}")
            self.pending += piece
        whole, self.pending = self.pending.split(b"\0", 1)
        return json.loads(whole)

    def evaluate(self, expression):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def load(self, path, width, height=900, address=""):
        """Loads a file in a window of this size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self._go("about:blank")
        self.events.clear()
        self._go(Path(path).absolute().as_uri() + address)

    def _go(self, address):
        self.call("Page.navigate", url=address)
        end = time.monotonic() + ANSWER_SECONDS
        there = f"location.href === {json.dumps(address)} && document.readyState === 'complete'"
        while not self.evaluate(there):
            if time.monotonic() > end:
                raise TimeoutError(f"{address} was not loaded within {ANSWER_SECONDS} s")

    def requests(self):
        """The requests of the page since it was loaded, including its own."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def errors(self):
        """The exceptions of the page's scripts since it was loaded."""
        return [event["params"]["exceptionDetails"]["text"] for event in self.events
                if event.get("method") == "Runtime.exceptionThrown"]

    def picture(self, path):
        """Writes the contents of the window as PNG."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(base64.b64decode(data))
