// A script's stack, its virtual clock, and the threads whose calls wait.
#include "conformance/packetdrill/session.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "core/units/check.hpp"

namespace lockstep::tools::packetdrill {
namespace {

using conformance::script::World;

// Real time: a thread that does not read the time must not stop the others for ever.
constexpr std::chrono::seconds hold_max{10};
constexpr std::uint32_t standstill_max = 100'000;

}  // namespace

/// Acquires the session for the scope of a member function.
struct Session::Within {
  explicit Within(Session& all) : self(all), lock(all.mutex_) {
    if (self.held_for_ == std::this_thread::get_id()) {
      self.held_for_ = {};
      self.changed_.notify_all();
    }
    self.changed_.wait(lock, [&] { return !self.busy_; });
    self.busy_ = true;
  }
  ~Within() { let_others(); }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

  void let_others() {
    if (inside) {
      self.busy_ = false;
      self.changed_.notify_all();
    }
    inside = false;
  }

  Session& self;
  Lock lock;
  bool inside = true;
};

Session::Session(const Settings& settings)
    : horizon_(settings.horizon), world_(settings.plan, arena_) {}

// Ends the waiting calls, and returns once their threads have left the session.
Session::~Session() {
  Lock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return waiting_.empty() && !busy_; });
}

Instant Session::next() const {
  Instant out = world_.next();
  for (Waiting const& one : waiting_) {
    out = one.done ? out : earlier(out, one.until);
  }
  return out;
}

/// Retries the waiting calls. True: one of them has made progress.
bool Session::serve(Lock& lock) {
  for (Waiting& one : waiting_) {
    if (one.done) {
      continue;
    }
    Progress const progress = one.attempt(one.until <= world_.now(), one.out);
    if (progress == Progress::done) {
      one.done = true;
      world_.settle();
      hold(lock, one.thread);
      return true;
    }
    if (progress == Progress::some) {
      return true;
    }
  }
  return false;
}

/// Performs everything that happens at this instant.
void Session::settle(Lock& lock) {
  do {
    CHECK(world_.settle());
  } while (serve(lock));
}

void Session::hold(Lock& lock, std::thread::id thread) {
  held_for_ = thread;
  changed_.notify_all();
  bool const clock_was_read =
      changed_.wait_for(lock, hold_max, [&] { return held_for_ == std::thread::id{}; });
  if (!clock_was_read) {
    std::fputs(
        "liblockstep_packetdrill: a thread returned from a call that blocked and did not read "
        "the time in 10 seconds: continuing without it\n",
        stderr);
    held_for_ = {};
  }
}

void Session::step(Lock& lock, Instant to) {
  standstill_ = to > world_.now() ? 0 : standstill_ + 1;
  CHECK(standstill_ < standstill_max);
  world_.go_to(to);
  settle(lock);
}

void Session::advance(Lock& lock, Instant to) {
  settle(lock);
  for (Instant at = next(); at <= to; at = next()) {
    step(lock, at);
  }
  world_.go_to(to);
  settle(lock);
}

/// A call that blocks on the script's thread: no other thread advances the clock, so it does.
void Session::drive(Lock& lock, const Attempt& attempt, Instant until, Result& out) {
  Instant const last = earlier(until, world_.now() + horizon_);
  bool done = false;
  while (!done) {
    Instant const at = earlier(next(), last);
    step(lock, at);
    done = attempt(at == last, out) == Progress::done || at == last;
    settle(lock);
  }
}

Result Session::run(How how, const Attempt& attempt) {
  Within within(*this);
  Instant const until = how.patience ? world_.now() + *how.patience : Instant::never();
  bool const waits = how.blocking && until > world_.now();
  Result out = 0;
  bool const done = attempt(!waits, out) == Progress::done;
  settle(within.lock);
  if (done || !waits) {
    return out;
  }
  if (std::this_thread::get_id() == driver_) {
    drive(within.lock, attempt, until, out);
    return out;
  }
  auto const mine =
      waiting_.insert(waiting_.end(), Waiting{attempt, until, std::this_thread::get_id()});
  within.let_others();
  changed_.wait(within.lock, [&] { return mine->done || ending_; });
  out = mine->done ? mine->out : -EINTR;
  waiting_.erase(mine);
  changed_.notify_all();
  return out;
}

Result Session::run(const std::function<Result()>& call) {
  return run(How{}, [&](bool, Result& out) {
    out = call();
    return Progress::done;
  });
}

std::int64_t Session::read_clock() {
  {
    Lock lock(mutex_);
    if (held_for_ == std::this_thread::get_id()) {
      last_read_ = std::max(last_read_ + 1, microseconds(world_.now()));
      held_for_ = {};
      changed_.notify_all();
      return last_read_;
    }
  }
  Within within(*this);
  std::int64_t const now = std::max(last_read_ + 1, microseconds(world_.now()));
  last_read_ = now;
  advance(within.lock, World::origin + Duration::microseconds(static_cast<std::uint64_t>(now)));
  return now;
}

void Session::sleep(Duration by) {
  Within within(*this);
  Instant const time =
      World::origin + Duration::microseconds(static_cast<std::uint64_t>(last_read_));
  advance(within.lock, later(world_.now(), time) + by);
}

void Session::arrive(std::span<const std::byte> packet) {
  Within within(*this);
  settle(within.lock);
  world_.inject({packet.begin(), packet.end()});
  settle(within.lock);
}

std::optional<conformance::script::Sent> Session::leave() {
  Within within(*this);
  settle(within.lock);
  Instant const last = world_.now() + horizon_;
  for (Instant at = next(); world_.sent.empty() && at <= last; at = next()) {
    step(within.lock, at);
  }
  if (world_.sent.empty()) {
    return std::nullopt;
  }
  auto out = std::move(world_.sent.front());
  world_.sent.pop_front();
  return out;
}

}  // namespace lockstep::tools::packetdrill
