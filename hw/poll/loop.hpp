// The loop of one shard: runs turn(), and sleeps when there is nothing to do.
#pragma once

#include <concepts>
#include <cstdint>

#include "core/stack/turn.hpp"
#include "hw/link_mtu.hpp"
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

// For a driver that is waited for by a function of its own in place of ppoll(2). waits(): whether
// it can be waited for at all; if not, it is polled without sleeping. wait(): returns when a frame
// has arrived, when there is room if `what.room`, and at `what.until` at the latest.
template <class D>
concept WaitingDriver = requires(D driver, const D seen, const WaitFor& what) {
  { seen.waits() } -> std::same_as<bool>;
  { driver.wait(what) } -> std::same_as<void>;
};

// asked(): how many stop requests there have been. descriptor(): readable while asked() has not
// returned the last of them; -1: none can come.
template <class S>
concept StopSource = requires(S stop, const S seen) {
  { stop.asked() } -> std::same_as<std::uint32_t>;
  { seen.descriptor() } -> std::same_as<int>;
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

// For a watcher that another thread may wake. descriptor(): readable while it has something to do,
// and due() is in the past then; -1: none.
template <class W>
concept WakeableWatcher = requires(const W seen) {
  { seen.descriptor() } -> std::same_as<int>;
};

// Watches nothing.
struct NoWatcher {
  Instant due() const { return Instant::never(); }
  void look(Instant) {}
  void sleeping() {}
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

// What one step of a loop did. idle: nothing can be done before the next event or deadline.
enum class Step : std::uint8_t { worked, idle, over };

template <PolledDriver D, StoppableApplication App, Watcher Watch, StopSource Stop = StopSeat>
class Loop {
 public:
  Loop(Stack& stack, D& driver, App& app, Watch& watch, Stop& stop, const LoopSettings& settings)
      : stack_(stack),
        driver_(driver),
        app_(app),
        watch_(watch),
        stop_(stop),
        settings_(settings),
        mtu_(stack.config().mtu) {}

  // Runs turns until a stop was requested and everything open is closed.
  Ending run() {
    Step did = ended() ? Step::over : Step::worked;
    while (did != Step::over) {
      did = step();
      // A blocked turn cannot continue by itself, so it does not spin.
      bool const spins = !blocked_ && now_.since(worked_at_) < settings_.spin;
      if (did == Step::idle && !spins && waits()) {
        rest(Instant::never());
      }
    }
    return ending_;
  }

  // For a caller that has a loop of its own: one turn, and what was requested meanwhile.
  Step step() {
    follow_link();
    Outcome const outcome = turn(stack_, driver_, app_);
    ++counters_.turns;
    now_ = driver_.now();
    bool const signalled = handle_stop(now_);
    if (watch_.due() <= now_) {
      watch_.look(now_);
    }
    bool const over = ended();
    bool const worked = outcome == Outcome::worked || driver_.more();
    blocked_ = !worked && (outcome == Outcome::transmit_blocked || driver_.holds());
    if (worked) {
      ++counters_.worked;
      worked_at_ = now_;
      room_was_false_ = false;
    }
    if (over) {
      return Step::over;
    }
    // After a stop the next turn sends what the stop has queued.
    return worked || signalled ? Step::worked : Step::idle;
  }

  // After a step that was idle: what to wait for before the next one.
  WaitFor awaited() const {
    // A blocked turn continues only with room or a frame; timers are checked once a millisecond.
    // The descriptor may report room that is not there: AF_XDP's reports room in the ring, not in
    // the kernel's memory. Trusting it would make the loop spin.
    bool const distrusted = room_was_false_ && blocked_;
    Duration const blocked_for = distrusted ? pause : Duration::milliseconds(1);
    Instant until = blocked_ ? now_ + blocked_for : stack_.deadline();
    until = earlier(until, earlier(app_.deadline(), watch_.due()));
    if (driver_.down()) {
      until = earlier(until, now_ + Duration::seconds(1));
    }
    if (stopping_) {
      until = earlier(until, earlier(patience_, end_));
    }
    return {driver_.descriptor(), blocked_ && !distrusted, stop_.descriptor(), -1, now_, until};
  }

  // Sleeps for what awaited() says, at most until `limit`. Only if waits().
  void rest(Instant limit) {
    WaitFor what = awaited();
    what.until = earlier(what.until, limit);
    room_was_false_ = room_was_false_ && blocked_;
    if (what.until <= what.now) {
      return;
    }
    if constexpr (RestingDriver<D>) {
      if (!driver_.prepare_sleep()) {
        return;
      }
      what.doorbell = driver_.doorbell();
    }
    if constexpr (WakeableWatcher<Watch>) {
      what.watcher = watch_.descriptor();
    }
    ++counters_.slept;
    watch_.sleeping();
    if constexpr (WaitingDriver<D>) {
      driver_.wait(what);
    } else {
      wait_for(what);
    }
    room_was_false_ = room_was_false_ || (what.room && driver_.now().since(what.now) < at_once);
  }

  // Whether anything would wake a sleep.
  bool waits() const {
    if constexpr (WaitingDriver<D>) {
      return driver_.waits();
    } else {
      return driver_.descriptor() >= 0;
    }
  }

  // How the loop has ended; only after Step::over.
  Ending ending() const { return ending_; }
  const LoopCounters& counters() const { return counters_; }

 private:
  // The time for the resets of aborted connections to leave, if the device is slow to accept them.
  static constexpr Duration abort_time = Duration::seconds(1);
  // If the descriptor reports room within `at_once` but there is none, it is polled after `pause`
  // instead.
  static constexpr Duration at_once = Duration::microseconds(20);
  static constexpr Duration pause = Duration::microseconds(100);

  void follow_link() {
    if constexpr (LinkedDriver<D>) {
      Bytes const mtu = driver_.link_mtu();
      if (mtu != mtu_) {
        mtu_ = mtu;
        stack_.set_link_mtu(mtu);
      }
    }
  }

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
  bool handle_stop(Instant now) {
    std::uint32_t const asked = stop_.asked();
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

  Stack& stack_;
  D& driver_;
  App& app_;
  Watch& watch_;
  Stop& stop_;
  LoopSettings settings_;
  Bytes mtu_;  // that the stack knows
  LoopCounters counters_;
  Instant patience_ = Instant::never();
  Instant end_ = Instant::never();
  Instant now_;        // at the end of the last turn
  Instant worked_at_;  // of the last turn that did work
  bool stopping_ = false;
  bool blocked_ = false;         // the last turn had frames for which there was no room
  bool room_was_false_ = false;  // the descriptor reported room, and there was none
  Ending ending_ = Ending::stopped;
};

}  // namespace lockstep::hw
