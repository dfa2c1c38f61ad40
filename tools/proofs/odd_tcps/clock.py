# Virtual time: a queue of calls in the order of their times, and timers.
"""Times are seconds from the begin of the world."""
import heapq


class Clock:
    """Calls functions at their times; equal times keep the order in which they were asked for."""

    def __init__(self):
        self.now = 0.0
        self.calls = []
        self.count = 0

    def after(self, delay, call, *words):
        """Call `call(*words)` when `delay` seconds have passed."""
        self.count += 1
        heapq.heappush(self.calls, (self.now + delay, self.count, call, words))

    def run(self, calls_most, until):
        """Make the calls in order, at most `calls_most`, up to the first beyond `until`."""
        made = 0
        while self.calls and made < calls_most and self.now < until:
            self.now, _, call, words = heapq.heappop(self.calls)
            call(*words)
            made += 1


class Timer:
    """Calls one function when it expires, unless it was set again or stopped before."""

    def __init__(self, clock, call):
        self.clock = clock
        self.call = call
        self.turn = 0
        self.is_set = False

    def set(self, delay):
        """Expire in `delay` seconds."""
        self.turn += 1
        self.is_set = True
        self.clock.after(delay, self._expire, self.turn)

    def stop(self):
        """Do not expire."""
        self.turn += 1
        self.is_set = False

    def _expire(self, turn):
        """Call the function if this is still the last setting."""
        if turn == self.turn and self.is_set:
            self.is_set = False
            self.call()
