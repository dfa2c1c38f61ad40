// The loop sleeps until the next deadline, handles signals, and ends.
#include "hw/poll/loop.hpp"
#include "core/stack/testing/test_keys.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "hw/poll/clock.hpp"
#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {
namespace {

/// A driver without frames and with its own time: each call of now() takes a microsecond.
struct Silent {
  mutable Instant time = Instant{} + Duration::seconds(1);
  int frames = -1;
  bool lost = false;
  std::uint32_t held = 0;  // holds() is true for this many more turns
  bool waiting = false;

  Instant now() const {
    time = time + Duration::microseconds(1);
    return time;
  }
  std::span<const Ingress> receive() {
    held -= held != 0 ? 1 : 0;
    return {};
  }
  std::span<std::byte> claim() { return {}; }
  void commit(const Egress&) {}
  void reclaim() {}
  void flush() {}
  int descriptor() const { return frames; }
  bool holds() const { return held != 0; }
  bool more() const { return waiting; }
  bool down() const { return false; }
  bool gone() const { return lost; }
};

/// One of several shards; the others have frames to send until quiesce() was called often enough.
struct OneOfSeveral : Silent {
  std::uint32_t asked = 0;
  bool prepare_sleep() { return true; }
  int doorbell() const { return -1; }
  bool quiesce() { return ++asked == 4; }
};

/// A driver whose link's MTU falls after its second turn, and rises after its fourth.
struct Changing : Silent {
  std::uint32_t asked = 0;
  Bytes link_mtu() {
    ++asked;
    return Bytes{asked > 2 && asked <= 4 ? 1000u : 1500u};
  }
};

/// Needs this many turns after stop() to close everything, unless it is abandoned.
struct App {
  std::uint32_t runs = 0;
  std::uint32_t left = 3;
  bool never_done = false;
  bool stopped = false;
  bool abandoned = false;
  bool idle = false;
  std::uint32_t raise_at = 5;
  std::uint32_t raise_again_at = 0;

  void on_event(Stack&, const Event&) {}
  void run(Stack&, Instant) {
    ++runs;
    if (runs == raise_at || runs == raise_again_at) {
      raise(SIGTERM);
    }
    left -= stopped && left != 0 ? 1 : 0;
  }
  // Always due, so that the loop never sleeps.
  Instant deadline() const { return idle && (!stopped || done()) ? Instant::never() : Instant{}; }
  void stop(Stack&, Instant) { stopped = true; }
  bool done() const { return abandoned || (!never_done && left == 0); }
  void abandon(Stack&, Instant) { abandoned = true; }
};

struct Watch {
  std::uint32_t looks = 0;
  std::uint32_t sleeps = 0;
  Instant next = Instant::never();
  Instant due() const { return next; }
  void look(Instant now) {
    ++looks;
    next = now + Duration::milliseconds(1);
  }
  void sleeping() { ++sleeps; }
};

class Looped : public testing::Test {
 protected:
  Looped() {
    config.link = LinkType::ip;
    config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
    config.address_count = Count{1};
    memory.resize(Stack::arena_bytes(config) / sizeof(Line) + 1);
    stack = std::make_unique<Stack>(test_keys(config), std::as_writable_bytes(std::span(memory)));
    EXPECT_FALSE(signals.open());
    // The read end of a pipe into which nothing is written: never readable, never writable.
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    silence = Descriptor(ends[0]);
    writer = Descriptor(ends[1]);
    driver.frames = silence.number();
  }
  Ending run(const LoopSettings& settings = {}) {
    Loop loop(*stack, driver, app, watch, signals, settings);
    Ending const ending = loop.run();
    counters = loop.counters();
    return ending;
  }

  struct Line {
    alignas(64) std::array<std::byte, 64> bytes;
  };
  Config config;
  std::vector<Line> memory;
  std::unique_ptr<Stack> stack;
  Descriptor silence, writer;
  Silent driver;
  App app;
  Watch watch;
  StopSignals signals;
  LoopCounters counters;
};

TEST_F(Looped, ASignalStopsAndOpenConnectionsAreClosed) {
  EXPECT_EQ(run(), Ending::stopped);
  EXPECT_EQ(app.runs, 8u);
  EXPECT_FALSE(app.abandoned);
}

TEST_F(Looped, AStopWithNothingOpenEndsTheLoopAtOnce) {
  app.idle = true;
  app.left = 0;
  app.raise_at = 1;
  EXPECT_EQ(run({.spin = Duration{}, .grace = Duration::milliseconds(20)}), Ending::stopped);
  EXPECT_EQ(counters.slept, 0u);
  EXPECT_EQ(counters.turns, 1u);
}

TEST_F(Looped, TheLoopEndsWithoutSleepOnceTheLastIsClosed) {
  // No frame arrives or leaves in the turn after which everything is closed.
  app.idle = true;
  app.left = 1;
  app.raise_at = 1;
  EXPECT_EQ(run({.spin = Duration{}, .grace = Duration::milliseconds(20)}), Ending::stopped);
  EXPECT_EQ(counters.slept, 0u);
  EXPECT_EQ(counters.turns, 2u);
}

TEST_F(Looped, ItContinuesWhileAnotherShardHasFramesToSend) {
  OneOfSeveral several;
  Loop loop(*stack, several, app, watch, signals, {});
  EXPECT_EQ(loop.run(), Ending::stopped);
  EXPECT_EQ(several.asked, 4u);
  EXPECT_EQ(app.runs, 11u);  // three more turns than a single shard
}

TEST_F(Looped, ItContinuesNoLongerThanGraceAndAbortTime) {
  OneOfSeveral several;
  several.asked = 4;
  Loop loop(*stack, several, app, watch, signals, {.grace = Duration::milliseconds(1)});
  EXPECT_EQ(loop.run(), Ending::stopped);
  EXPECT_FALSE(app.abandoned);
}

TEST_F(Looped, GraceEnds) {
  app.never_done = true;
  EXPECT_EQ(run({.grace = Duration::milliseconds(1)}), Ending::abandoned);
  EXPECT_TRUE(app.abandoned);
}

TEST_F(Looped, TheSecondSignalAborts) {
  app.never_done = true;
  app.raise_again_at = 9;
  EXPECT_EQ(run({.grace = Duration::seconds(1000)}), Ending::abandoned);
  EXPECT_EQ(app.runs, 9u);
}

TEST_F(Looped, ADeletedDeviceEndsTheLoop) {
  driver.lost = true;
  EXPECT_EQ(run(), Ending::gone);
  EXPECT_EQ(app.runs, 0u);
}

TEST_F(Looped, TheWatcherIsCalledWhenItIsDue) {
  watch.next = Instant{};
  app.raise_at = 5000;
  EXPECT_EQ(run(), Ending::stopped);
  EXPECT_GT(watch.looks, 5u);
  EXPECT_LT(watch.looks, 50u);
  EXPECT_EQ(watch.sleeps, 0u);
}

/// Woken by another thread: then look() ends the run.
struct Woken : Watch {
  Descriptor event{eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)};
  bool is_due = false;
  Instant due() const { return is_due ? Instant{} : Instant::never(); }
  void look(Instant) { raise(SIGTERM); }
  void sleeping() { is_due = true; }
  int descriptor() const { return event.number(); }
};

TEST_F(Looped, AWatcherIsWokenFromSleep) {
  Woken woken;
  app.idle = true;
  app.left = 0;
  app.raise_at = 0;
  Loop loop(*stack, driver, app, woken, signals, {.spin = Duration{}});
  EXPECT_EQ(loop.run(), Ending::stopped);
}

TEST_F(Looped, HeldFramesAreSentBeforeTheEnd) {
  driver.held = 20;
  EXPECT_EQ(run(), Ending::stopped);
  EXPECT_EQ(app.runs, 20u);
}

TEST_F(Looped, HeldFramesKeepTheLoopAwake) {
  // Nothing is due, so a loop that ignored the signal would sleep for ever.
  app.idle = true;
  driver.held = 3;
  app.raise_at = 3;
  EXPECT_EQ(run({.spin = Duration{}}), Ending::stopped);
  EXPECT_EQ(counters.slept, 2u);
}

TEST_F(Looped, ADescriptorThatFalselyReportsRoomIsPolled) {
  Descriptor const always_room(eventfd(0, EFD_CLOEXEC));
  driver.frames = always_room.number();
  app.idle = true;
  driver.held = 12;
  app.raise_at = 12;
  MonotonicClock const clock;
  Instant const begun = clock.now();
  EXPECT_EQ(run({.spin = Duration{}}), Ending::stopped);
  EXPECT_EQ(counters.slept, 11u);
  // All sleeps but the first took their time.
  EXPECT_GE(clock.now().since(begun), Duration::microseconds(10 * 100));
}

TEST_F(Looped, FramesInTheDriverKeepTheLoopAwake) {
  app.idle = true;
  driver.waiting = true;
  app.raise_at = 4;
  EXPECT_EQ(run({.spin = Duration{}}), Ending::stopped);
  EXPECT_EQ(counters.slept, 0u);
}

TEST_F(Looped, ADeviceWithoutADescriptorIsPolledWithoutSleep) {
  app.idle = true;
  driver.frames = -1;
  driver.held = 4;
  app.raise_at = 100;
  EXPECT_EQ(run({.spin = Duration{}}), Ending::stopped);
  EXPECT_EQ(counters.slept, 0u);
  EXPECT_GE(counters.turns, 100u);
}

/// Waited for by a function of its own, in which its time passes.
struct OwnWait : Silent {
  std::vector<Instant> until;
  bool can_wait = true;
  bool waits() const { return can_wait; }
  void wait(const WaitFor& what) {
    until.push_back(what.until);
    time = later(time, what.until.is_never() ? time : what.until);
  }
};

TEST_F(Looped, ADriverMayWaitByAFunctionOfItsOwn) {
  OwnWait own;
  app.idle = true;
  app.left = 0;
  app.raise_at = 3;
  Loop loop(*stack, own, app, watch, signals, {.spin = Duration{}});
  EXPECT_EQ(loop.run(), Ending::stopped);
  EXPECT_EQ(own.until.size(), 2u);
}

TEST_F(Looped, ADriverThatCannotWaitIsPolled) {
  OwnWait own;
  own.can_wait = false;
  app.idle = true;
  app.left = 0;
  app.raise_at = 3;
  Loop loop(*stack, own, app, watch, signals, {.spin = Duration{}});
  EXPECT_EQ(loop.run(), Ending::stopped);
  EXPECT_TRUE(own.until.empty());
}

TEST_F(Looped, AStepReportsWhatToWaitFor) {
  app.idle = true;
  Loop loop(*stack, driver, app, watch, signals, {});
  while (loop.step() == Step::worked) {
  }
  WaitFor const what = loop.awaited();
  EXPECT_EQ(what.frames, driver.frames);
  EXPECT_EQ(what.stop, signals.descriptor());
  EXPECT_FALSE(what.room);
  EXPECT_TRUE(what.until.is_never());
  app.idle = false;  // due now
  EXPECT_EQ(loop.awaited().until, Instant{});
}

bool is_readable(int descriptor) {
  pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) == 1;
}

TEST(Stop, ARequestThatIsSeenBetweenItsStepsIsReadLater) {
  Descriptor const event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::atomic<std::uint32_t> times = 0;
  std::uint32_t taken = 0;
  std::uint64_t const one = 1;
  EXPECT_EQ(take_requests(times, event.number(), taken), 0u);
  times = 1;  // counted, not written yet
  EXPECT_EQ(take_requests(times, event.number(), taken), 1u);
  ASSERT_EQ(write(event.number(), &one, sizeof one), ssize_t{sizeof one});
  EXPECT_TRUE(is_readable(event.number()));
  EXPECT_EQ(take_requests(times, event.number(), taken), 1u);
  EXPECT_FALSE(is_readable(event.number()));
  times = 3;  // two at once
  ASSERT_EQ(write(event.number(), &one, sizeof one), ssize_t{sizeof one});
  EXPECT_EQ(take_requests(times, event.number(), taken), 3u);
  ASSERT_EQ(write(event.number(), &one, sizeof one), ssize_t{sizeof one});
  EXPECT_EQ(take_requests(times, event.number(), taken), 3u);
  EXPECT_FALSE(is_readable(event.number()));
}

TEST(Stop, EachSeatIsWokenByAThreadAndByASignal) {
  StopSignals signals;
  ASSERT_FALSE(signals.open(Count{2}));
  for (std::uint32_t times = 1; times <= 2; ++times) {
    if (times == 1) {
      std::thread([&] { signals.ask(); }).join();
    } else {
      raise(SIGINT);
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      StopSeat& seat = signals.seat(i);
      EXPECT_TRUE(is_readable(seat.descriptor()));
      EXPECT_EQ(seat.asked(), times);
      EXPECT_FALSE(is_readable(seat.descriptor()));
    }
  }
}

std::atomic<int> hangups{0};

TEST(Stop, AHangupThatIsHandledKeepsItsHandler) {
  struct sigaction mine{};
  mine.sa_handler = [](int) { hangups = hangups + 1; };
  struct sigaction before{};
  ASSERT_EQ(sigaction(SIGHUP, &mine, &before), 0);
  StopSignals signals;
  ASSERT_FALSE(signals.open(Count{1}));
  raise(SIGHUP);
  EXPECT_EQ(hangups, 1);
  EXPECT_EQ(signals.asked(), 0u);
  ASSERT_EQ(sigaction(SIGHUP, &before, nullptr), 0);
}

TEST(Wait, EndsWithEachEventThatItWaitsFor) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  Descriptor const out(ends[0]);
  Descriptor const in(ends[1]);
  MonotonicClock const clock;
  // Nothing there: sleeps until the instant, soon; then without a limit, until a frame arrives.
  Instant const begun = clock.now();
  wait_for({.frames = out.number(), .now = begun, .until = begun + Duration::milliseconds(2)});
  EXPECT_GE(clock.now().since(begun), Duration::milliseconds(2));
  ASSERT_EQ(write(in.number(), "x", 1), 1);
  wait_for({.frames = out.number(), .now = begun});
  wait_for({.stop = out.number(), .now = begun});
  wait_for({.now = begun, .watcher = out.number()});
  wait_for({.frames = in.number(), .room = true, .now = begun});
}

TEST_F(Looped, TheStackFollowsTheLinksMtu) {
  Changing changing;
  Loop loop(*stack, changing, app, watch, signals, {});
  std::vector<std::uint32_t> seen;
  for (int i = 0; i != 6; ++i) {
    loop.step();
    seen.push_back(stack->link_mtu().count);
  }
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{1500, 1500, 1000, 1000, 1500, 1500}));
}

}  // namespace
}  // namespace lockstep::hw
