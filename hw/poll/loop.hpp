// The loop of one shard: turn(), and what to do when there is nothing to do.
#pragma once

#include <concepts>
#include <cstdint>

#include "core/stack/turn.hpp"
#include "hw/poll/stop.hpp"
#include "hw/poll/wait.hpp"

namespace lockstep::hw {

// descriptor(): becomes readable when a frame has arrived, writable when there is room for one; -1:
// the device has none and is looked at all the time, as a NIC on a core of its own is.
// holds(): a frame that was committed has not left yet. more(): frames that have arrived wait in
// the driver itself. down(): the device may vanish without a word: it is looked at once a second.
// gone(): the device is no more.
template <class D>
concept PolledDriver = Driver<D> && requires(const D driver) {
  { driver.descriptor() } -> std::same_as<int>;
  { driver.holds() } -> std::same_as<bool>;
  { driver.more() } -> std::same_as<bool>;
  { driver.down() } -> std::same_as<bool>;
  { driver.gone() } -> std::same_as<bool>;
};

// Of a driver that is given frames by other threads: prepare_sleep(): from here on they ring, and
// whether nothing is there yet, so that the loop may sleep; doorbell(): readable when they do.
// quiesce(): from here on this loop has nothing to say of its own, and whether none has: until then
// each goes on, as what comes to one for another has to be handed on.
template <class D>
concept RestingDriver = requires(D driver, const D seen) {
  { driver.prepare_sleep() } -> std::same_as<bool>;
  { driver.quiesce() } -> std::same_as<bool>;
  { seen.doorbell() } -> std::same_as<int>;
};

// deadline(): when run() has something to do by the clock; before, and without an event, run()
//             changes nothing.
// stop():     begin to close what is open, take nothing new. done(): all of it is closed.
// abandon():  abort what is left.
template <class A>
concept StoppableApplication =
    Application<A> && requires(A app, const A seen, Stack& stack, Instant now) {
      { seen.deadline() } -> std::same_as<Instant>;
      { app.stop(stack, now) } -> std::same_as<void>;
      { seen.done() } -> std::same_as<bool>;
      { app.abandon(stack, now) } -> std::same_as<void>;
    };

// due(): when look() is wanted next. It may look at everything and changes nothing of the stack.
// sleeping(): the loop is about to sleep.
template <class W>
concept Watcher = requires(W watch, Instant now) {
  { watch.due() } -> std::same_as<Instant>;
  { watch.look(now) } -> std::same_as<void>;
  { watch.sleeping() } -> std::same_as<void>;
};

struct LoopSettings {
  Duration spin = Duration::microseconds(50);  // turns without sleep after the last that worked
  Duration grace = Duration::seconds(5);       // from the first stop until what is open is aborted
};

// stopped: everything was closed in time. abandoned: the grace was over, or a second stop came.
// gone: the device is no more.
enum class Ending : std::uint8_t { stopped, abandoned, gone };

// How often the loop turned, worked and slept.
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

  // Turns until a stop has been asked for and what was open is closed.
  Ending run() {
    Instant worked_at;
    bool over = ended();
    while (!over) {
      Outcome const outcome = turn(stack_, driver_, app_);
      ++counters_.turns;
      Instant const now = driver_.now();
      bool const told = heed_signals(now);
      if (watch_.due() <= now) {
        watch_.look(now);
      }
      over = ended();
      if (outcome == Outcome::worked || driver_.more()) {
        ++counters_.worked;
        worked_at = now;
        in_vain_ = false;
      } else if (bool const blocked = outcome == Outcome::transmit_blocked || driver_.holds();
                 !told && !over && driver_.descriptor() >= 0 &&
                 (blocked || now.since(worked_at) >= settings_.spin)) {
        // Not after a stop: what that leaves to say is said by the next turn. Nor where nothing
        // would wake it.
        sleep(now, blocked);
      }
    }
    return ending_;
  }

  const LoopCounters& counters() const { return counters_; }

 private:
  // For the resets of what was aborted, should the device not take them.
  static constexpr Duration last_words = Duration::seconds(1);
  // Who says within `at_once` that there is room, and still has none, is asked again after `pause`.
  static constexpr Duration at_once = Duration::microseconds(20);
  static constexpr Duration pause = Duration::microseconds(100);

  // Of a stop: what was asked for last has been said to the wire, or no longer can be.
  bool ended() {
    if (driver_.gone()) {
      ending_ = Ending::gone;
      return true;
    }
    if (!stopping_) {
      return false;
    }
    bool const said = app_.done() && !stack_.wants_transmit() && !driver_.holds();
    return (said && others_too()) || driver_.now() >= end_;
  }

  bool others_too() {
    if constexpr (RestingDriver<D>) {
      return driver_.quiesce();
    }
    return true;
  }

  // Whether the application was told to stop, or to abandon what is open.
  bool heed_signals(Instant now) {
    std::uint32_t const asked = signals_.asked();
    bool const stops = asked != 0 && !stopping_;
    if (stops) {
      stopping_ = true;
      patience_ = now + settings_.grace;
      end_ = patience_ + last_words;
      app_.stop(stack_, now);
    }
    bool const impatient = asked > 1 || (stopping_ && now >= patience_);
    bool const abandons = impatient && ending_ == Ending::stopped && !app_.done();
    if (abandons) {
      ending_ = Ending::abandoned;
      patience_ = Instant::never();
      end_ = now + last_words;
      app_.abandon(stack_, now);
    }
    return stops || abandons;
  }

  void sleep(Instant now, bool blocked) {
    // What is blocked goes on only with room, or a frame. Timers are heeded once a millisecond. A
    // descriptor that speaks of room and means another thing (AF_XDP's: of the ring, not of the
    // kernel's memory) is not believed: a loop that was would turn without end.
    in_vain_ = in_vain_ && blocked;
    Duration const blocked_for = in_vain_ ? pause : Duration::milliseconds(1);
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
    bool const for_room = blocked && !in_vain_;
    wait_for({driver_.descriptor(), for_room, signals_.descriptor(), doorbell, now, until});
    in_vain_ = in_vain_ || (for_room && driver_.now().since(now) < at_once);
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
  bool in_vain_ = false;  // the driver has said that there is room, and had none
  Ending ending_ = Ending::stopped;
};

}  // namespace lockstep::hw
