// What runs under a script, and its virtual clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "conformance/script/settings.hpp"
#include "conformance/script/socket_calls.hpp"
#include "core/stack/stack.hpp"
#include "core/stack/turn.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::conformance::script {

/// A packet that the stack has sent.
struct Sent {
  Instant at;
  std::vector<std::byte> bytes;
};

/// Memory for a stack, reused from one script to the next.
class Arena {
 public:
  /// Aligned to 64 bytes; valid until the next call.
  std::span<std::byte> of(std::uint64_t bytes);

 private:
  std::vector<std::byte> memory_;
};

/// What runs a script: a TCP with its socket calls, in virtual time.
class World {
 public:
  /// The instant at which the script's clock starts.
  static constexpr Instant origin{1'000'000'000'000};

  World() = default;
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  virtual Instant now() const = 0;
  /// Performs what is due at this instant until nothing changes. False: that did not come to an
  /// end.
  virtual bool settle() = 0;
  /// Advances the clock to the next event at or before `until`. False: there is none.
  virtual bool advance(Instant until) = 0;
  /// Advances the clock; nothing must be due before `at`.
  virtual void go_to(Instant at) = 0;
  virtual void inject(std::vector<std::byte> packet) = 0;
  virtual SocketCalls& calls() = 0;
  /// The state that a segment from `remote` to `local` meets; nullopt: it cannot be seen.
  virtual std::optional<tcp::State> state_of(const Endpoint& local, const Endpoint& remote) = 0;
  /// TCP_INFO of a socket; nullopt: there is none.
  virtual std::optional<lockstep_tcp_info> info_of(int fd) = 0;
  /// The settings now.
  virtual const Config& config() const = 0;
  /// Replaces them, for connections that are open, too.
  virtual void reconfigure(const Config& config) = 0;
  /// Takes the settings of a command as they are; false: they are set in the Config.
  virtual bool take_settings(const std::vector<Assignment>&) { return false; }
  /// False: the fields of TCP_INFO cannot be seen, so no assertion is asked.
  virtual bool has_info() const { return true; }
  /// False: what it sends is judged as any peer's, not by what our own stack never does.
  virtual bool is_ours() const { return true; }
  /// True: it is the system that the profile imitates, so all is compared that is of our own stack.
  virtual bool is_original() const { return false; }
  bool is_other() const { return !is_ours() && !is_original(); }
  /// How far an expected packet may be off that is due `passed` after the last event.
  virtual Duration tolerance(Duration) const { return {}; }

  std::deque<Sent> sent;  ///< not yet matched, in order
};

/// Our own stack.
class StackWorld final : public World {
 public:
  StackWorld(const Plan& plan, Arena& arena);

  Instant now() const override { return port_.clock; }
  bool settle() override;
  bool advance(Instant until) override;
  void go_to(Instant at) override { port_.clock = later(port_.clock, at); }
  void inject(std::vector<std::byte> packet) override;
  SocketCalls& calls() override { return calls_; }
  std::optional<tcp::State> state_of(const Endpoint& local, const Endpoint& remote) override;
  std::optional<lockstep_tcp_info> info_of(int fd) override;
  const Config& config() const override { return stack_.config(); }
  void reconfigure(const Config& config) override;
  /// The time of the next event if nothing arrives and no call is made.
  Instant next() const { return earlier(stack_.deadline(), sockets_.deadline()); }
  lockstep_sockets* sockets() { return sockets_.c(); }

 private:
  struct Port {
    Instant now() const { return clock; }
    std::span<const Ingress> receive();
    std::span<std::byte> claim() { return room; }
    void commit(const Egress& egress);
    void reclaim() { arrived.clear(); }
    void flush() {}

    Instant clock = origin;
    std::vector<std::byte> room;
    std::vector<std::byte> arrived;
    Ingress lent;
    std::deque<Sent>* sent = nullptr;
  };

  Stack stack_;
  tools::Sockets sockets_;
  StackCalls calls_;
  Port port_;
};

/// The world of a run: our stack, or the device that the command line names.
std::unique_ptr<World> world_of(const Plan& plan, const Overrides& overrides, Arena& arena);

}  // namespace lockstep::conformance::script
