// A script's stack, its virtual clock, and the threads that wait for something to happen.
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

/// How far a call has come.
enum class Progress : std::uint8_t { none, some, done };

/// Does what a call can do now. `last`: it will not be asked again, and says what it has come to.
/// `out` is a result or a negative errno; it is the call's once `done` is returned.
using Attempt = std::function<Progress(bool last, Result& out)>;

/// One thread at a time is within, and it alone moves the clock. A call that blocks on the thread
/// that made the session moves the clock itself, as far as the horizon; on another thread it sleeps
/// until the clock of the others brings what it waits for. Then the clock is held until that thread
/// has called tell(), so that it learns the instant at which its call returned.
class Session {
 public:
  explicit Session(const Settings& settings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  struct How {
    bool blocking = false;
    std::optional<Duration> patience;  ///< of a call that blocks; none: for ever
  };
  Result run(How how, const Attempt& attempt);
  /// A call that does not block.
  Result run(const std::function<Result()>& call);

  /// Microseconds from the script's origin, more than were ever told.
  std::int64_t tell();
  void sleep(Duration by);
  void arrive(std::span<const std::byte> packet);
  /// The next packet that leaves before the horizon.
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
  bool busy_ = false;  // a thread is within, perhaps waiting in hold()
  bool ending_ = false;
  std::thread::id held_for_;
  std::thread::id const driver_ = std::this_thread::get_id();
  std::list<Waiting> waiting_;  // in the order in which they began
  Duration horizon_;
  std::int64_t told_ = 0;
  std::uint32_t standstill_ = 0;  // steps that did not move the clock, one behind the other
  conformance::script::Arena arena_;
  conformance::script::World world_;
  Live live_;
};

}  // namespace lockstep::tools::packetdrill
