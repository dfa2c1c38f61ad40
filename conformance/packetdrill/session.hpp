// A script's stack, its virtual clock, and the threads whose calls wait.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "conformance/packetdrill/flags.hpp"
#include "conformance/packetdrill/live.hpp"
#include "conformance/script/world.hpp"

namespace lockstep::tools::packetdrill {

/// The progress of a call.
enum class Progress : std::uint8_t { none, some, done };

/// Does as much of a call as is possible now. `last`: this is the last attempt, so it must return a
/// result. `out` is the result or a negative errno; it is valid once `done` is returned.
using Attempt = std::function<Progress(bool last, Result& out)>;

/// One thread at a time uses the session, and only it advances the clock. A call that blocks on the
/// thread that created the session advances the clock itself, up to the horizon. On another thread
/// it sleeps until the other threads' clock reaches the event. Then the clock is held until that
/// thread has called read_clock(), so that it reads the instant at which its call returned.
class Session {
 public:
  explicit Session(const Settings& settings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  struct How {
    bool blocking = false;
    std::optional<Duration> patience;  ///< timeout of a call that blocks; none: for ever
  };
  Result run(How how, const Attempt& attempt);
  /// Runs a call that does not block.
  Result run(const std::function<Result()>& call);

  /// Microseconds from the script's origin; strictly increasing.
  std::int64_t read_clock();
  void sleep(Duration by);
  void arrive(std::span<const std::byte> packet);
  /// The next packet sent before the horizon.
  std::optional<conformance::script::Sent> leave();

  /// For calls, within run().
  Sockets& sockets() { return world_.sockets()->self; }
  Live& live() { return live_; }

  static std::int64_t microseconds(Instant at) {
    return static_cast<std::int64_t>(at.since(conformance::script::World::origin).ns / 1000);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Waiting {
    const Attempt& attempt;
    Instant until;
    std::thread::id thread;
    Result out = 0;
    bool done = false;
  };
  struct Within;

  Instant next() const;
  bool serve(Lock& lock);
  void settle(Lock& lock);
  void hold(Lock& lock, std::thread::id thread);
  void step(Lock& lock, Instant to);
  void advance(Lock& lock, Instant to);
  void drive(Lock& lock, const Attempt& attempt, Instant until, Result& out);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;  // a thread uses the session, or waits in hold()
  bool ending_ = false;
  std::thread::id held_for_;
  std::thread::id const driver_ = std::this_thread::get_id();
  std::list<Waiting> waiting_;  // in the order of their start
  Duration horizon_;
  std::int64_t last_read_ = 0;
  std::uint32_t standstill_ = 0;  // consecutive steps that did not advance the clock
  conformance::script::Arena arena_;
  conformance::script::StackWorld world_;
  Live live_;
};

}  // namespace lockstep::tools::packetdrill
