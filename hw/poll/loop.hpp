// The loop of one shard: runs turn(), and sleeps when there is nothing to do.
#pragma once

#include <concepts>
#include <cstdint>

#include "core/stack/turn.hpp"
#include "hw/poll/stop.hpp"
#include "hw/poll/wait.hpp"

namespace lockstep::hw {

// descriptor(): readable when a frame has arrived, writable when there is room for one; -1: the
// device has none and is polled without sleeping, as a NIC on a dedicated core is. holds(): a
// committed frame has not left yet. more(): received frames wait in the driver itself. down(): the
// device may be deleted without notice, so it is checked once a second. gone(): the device has been
// deleted.
template <class D>
concept PolledDriver = Driver<D> && requires(const D driver) {
  { driver.descriptor() } -> std::same_as<int>;
  { driver.holds() } -> std::same_as<bool>;
  { driver.more() } -> std::same_as<bool>;
  { driver.down() } -> std::same_as<bool>;
  { driver.gone() } -> std::same_as<bool>;
};

// For a driver that receives frames from other threads. prepare_sleep(): asks them to ring from now
// on, and returns whether no frame waits yet, so that the loop may sleep. doorbell(): readable when
// they ring. quiesce(): this loop has nothing more to send of its own; returns whether that is true
// of all loops. Until then each loop continues, because it must forward frames for the others.
template <class D>
concept RestingDriver = requires(D driver, const D seen) {
  { driver.prepare_sleep() } -> std::same_as<bool>;
  { driver.quiesce() } -> std::same_as<bool>;
  { seen.doorbell() } -> std::same_as<int>;
};

// deadline(): when run() has something due by the clock; before that, and without an event, run()
//             changes nothing.
// stop():     begins to close what is open and accepts nothing new.
// done():     all of it is closed.
// abandon():  aborts what is left.
template <class A>
concept StoppableApplication =
    Application<A> && requires(A app, const A seen, Stack& stack, Instant now) {
      { seen.deadline() } -> std::same_as<Instant>;
      { app.stop(stack, now) } -> std::same_as<void>;
      { seen.done() } -> std::same_as<bool>;
      { app.abandon(stack, now) } -> std::same_as<void>;
    };

// due(): when look() must be called next. look() may inspect everything but must not change the
// stack. sleeping(): the loop is about to sleep.
template <class W>
concept Watcher = requires(W watch, Instant now) {
  { watch.due() } -> std::same_as<Instant>;
  { watch.look(now) } -> std::same_as<void>;
  { watch.sleeping() } -> std::same_as<void>;
};

struct LoopSettings {
  Duration spin = Duration::microseconds(50);  // turns without sleep after the last work
  Duration grace = Duration::seconds(5);       // from the first stop request to the abort
};

// stopped: everything was closed in time. abandoned: the grace period ended, or a second stop was
// requested. gone: the device was deleted.
enum class Ending : std::uint8_t { stopped, abandoned, gone };

// Turns, turns that did work, and sleeps.
struct LoopCounters {
  std::uint64_t turns = 0;
  std::uint64_t worked = 0;
  std::uint64_t slept = 0;
};

template <PolledDriver D, StoppableApplication App, Watcher Watch>
class Loop {
 public:
  Loop(Stack& stack, D& driver, App& app, Watch& watch, StopSeat& signals,
       const LoopSettings& settings)
      : stack_(stack),
        driver_(driver),
        app_(app),
        watch_(watch),
        signals_(signals),
        settings_(settings) {}

  // Runs turns until a stop was requested and everything open is closed.
  Ending run() {
    Instant worked_at;
    bool over = ended();
    while (!over) {
      Outcome const outcome = turn(stack_, driver_, app_);
      ++counters_.turns;
      Instant const now = driver_.now();
      bool const signalled = handle_signals(now);
      if (watch_.due() <= now) {
        watch_.look(now);
      }
      over = ended();
      if (outcome == Outcome::worked || driver_.more()) {
        ++counters_.worked;
        worked_at = now;
        room_was_false_ = false;
      } else if (bool const blocked = outcome == Outcome::transmit_blocked || driver_.holds();
                 !signalled && !over && driver_.descriptor() >= 0 &&
                 (blocked || now.since(worked_at) >= settings_.spin)) {
        // Do not sleep after a stop, because the next turn sends what the stop has queued; nor if
        // no descriptor would wake the loop.
        sleep(now, blocked);
      }
    }
    return ending_;
  }

  const LoopCounters& counters() const { return counters_; }

 private:
  // The time for the resets of aborted connections to leave, if the device is slow to accept them.
  static constexpr Duration abort_time = Duration::seconds(1);
  // If the descriptor reports room within `at_once` but there is none, it is polled after `pause`
  // instead.
  static constexpr Duration at_once = Duration::microseconds(20);
  static constexpr Duration pause = Duration::microseconds(100);

  // After a stop: whether everything to send has left, or the time for that is over.
  bool ended() {
    if (driver_.gone()) {
      ending_ = Ending::gone;
      return true;
    }
    if (!stopping_) {
      return false;
    }
    bool const sent = app_.done() && !stack_.wants_transmit() && !driver_.holds();
    return (sent && others_done()) || driver_.now() >= end_;
  }

  bool others_done() {
    if constexpr (RestingDriver<D>) {
      return driver_.quiesce();
    }
    return true;
  }

  // Returns whether the application was asked to stop, or to abandon what is open.
  bool handle_signals(Instant now) {
    std::uint32_t const asked = signals_.asked();
    bool const stops = asked != 0 && !stopping_;
    if (stops) {
      stopping_ = true;
      patience_ = now + settings_.grace;
      end_ = patience_ + abort_time;
      app_.stop(stack_, now);
    }
    bool const impatient = asked > 1 || (stopping_ && now >= patience_);
    bool const abandons = impatient && ending_ == Ending::stopped && !app_.done();
    if (abandons) {
      ending_ = Ending::abandoned;
      patience_ = Instant::never();
      end_ = now + abort_time;
      app_.abandon(stack_, now);
    }
    return stops || abandons;
  }

  void sleep(Instant now, bool blocked) {
    // A blocked turn continues only with room or a frame; timers are checked once a millisecond.
    // The descriptor may report room that is not there: AF_XDP's reports room in the ring, not in
    // the kernel's memory. Trusting it would make the loop spin.
    room_was_false_ = room_was_false_ && blocked;
    Duration const blocked_for = room_was_false_ ? pause : Duration::milliseconds(1);
    Instant until = blocked ? now + blocked_for : stack_.deadline();
    until = earlier(until, earlier(app_.deadline(), watch_.due()));
    if (driver_.down()) {
      until = earlier(until, now + Duration::seconds(1));
    }
    if (stopping_) {
      until = earlier(until, earlier(patience_, end_));
    }
    if (until <= now) {
      return;
    }
    int doorbell = -1;
    if constexpr (RestingDriver<D>) {
      if (!driver_.prepare_sleep()) {
        return;
      }
      doorbell = driver_.doorbell();
    }
    ++counters_.slept;
    watch_.sleeping();
    bool const for_room = blocked && !room_was_false_;
    wait_for({driver_.descriptor(), for_room, signals_.descriptor(), doorbell, now, until});
    room_was_false_ = room_was_false_ || (for_room && driver_.now().since(now) < at_once);
  }

  Stack& stack_;
  D& driver_;
  App& app_;
  Watch& watch_;
  StopSeat& signals_;
  LoopSettings settings_;
  LoopCounters counters_;
  Instant patience_ = Instant::never();
  Instant end_ = Instant::never();
  bool stopping_ = false;
  bool room_was_false_ = false;  // the descriptor reported room, and there was none
  Ending ending_ = Ending::stopped;
};

}  // namespace lockstep::hw
