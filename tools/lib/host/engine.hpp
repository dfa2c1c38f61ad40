// The parts of a host over one kind of port, and the calls that do not depend on the kind.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/stack/statistics.hpp"
#include "hw/poll/loop.hpp"
#include "tools/lib/host/host.h"
#include "tools/lib/host/plan.hpp"
#include "tools/lib/host/stop.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {

/// The sockets as the application of a loop. A stopped host is done when its connections are
/// closed, also those whose sockets are: a process that ended earlier could not retransmit their
/// FINs.
class HostApp {
 public:
  HostApp(Stack& stack, const SocketSettings& settings)
      : stack_(stack),
        connections_(stack.config().tcp.connections_max.value),
        sockets_(stack, settings) {
    sockets_.announce({.connection = note_opened, .listener = nullptr, .user = this});
  }
  HostApp(const HostApp&) = delete;
  HostApp& operator=(const HostApp&) = delete;

  Sockets& sockets() { return sockets_; }
  void on_event(Stack& stack, const Event& event) {
    if (event.kind == EventKind::accepted) {
      note(event.id);
    }
    sockets_.on_event(stack, event);
  }
  void run(Stack& stack, Instant now) { sockets_.run(stack, now); }
  Instant deadline() const { return sockets_.deadline(); }
  /// The program's function is no longer called, as its descriptors are closed.
  void stop(Stack& stack, Instant now) {
    sockets_.on_turn(nullptr, nullptr);
    sockets_.wake_at(Instant::never());
    sockets_.stop(stack, now);
  }
  bool done() const { return sockets_.done() && stack_.pools().connections == 0; }
  void abandon(Stack& stack, Instant now) {
    sockets_.abandon(stack, now);
    for (ConnectionId const each : connections_) {
      stack.abort(each);  // ignored for one that is closed
    }
  }

 private:
  void note(ConnectionId id) { connections_[id.slot] = id; }
  static void note_opened(void* user, ConnectionId id) { static_cast<HostApp*>(user)->note(id); }

  Stack& stack_;
  std::vector<ConnectionId> connections_;  // the last one of each slot
  Sockets sockets_;
};

/// What the C calls need of a host.
class Engine {
 public:
  Engine() = default;
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  virtual Sockets& sockets() = 0;
  virtual hw::Ending run() = 0;
  virtual hw::Step step() = 0;
  /// Waits at most `most` (nothing: without limit); false: there is nothing to wait for.
  virtual bool rest(std::optional<Duration> most) = 0;
  virtual hw::WaitFor awaited() const = 0;
  virtual Instant now() = 0;
  virtual hw::Ending ending() const = 0;

  HostStop stop;
};

template <class Port>
class EngineOn final : public Engine {
 public:
  /// `ports` are the arguments of the port's constructor.
  template <class... Args>
  explicit EngineOn(const HostPlan& plan, Args&&... ports)
      : memory_(Stack::arena_bytes(plan.config) / sizeof(Line) + 1),
        stack_(plan.config, std::as_writable_bytes(std::span(memory_))),
        port_(std::forward<Args>(ports)...),
        app_(stack_, settings_of(plan.config)),
        loop_(stack_, port_, app_, watch_, stop, plan.loop) {}

  Sockets& sockets() override { return app_.sockets(); }
  hw::Ending run() override { return loop_.run(); }
  hw::Step step() override { return loop_.step(); }
  bool rest(std::optional<Duration> most) override {
    if (!loop_.waits()) {
      return false;
    }
    loop_.rest(most ? port_.now() + *most : Instant::never());
    return true;
  }
  hw::WaitFor awaited() const override { return loop_.awaited(); }
  Instant now() override { return port_.now(); }
  hw::Ending ending() const override { return loop_.ending(); }

 private:
  struct Line {
    alignas(64) std::array<std::byte, 64> bytes;
  };

  /// A descriptor for each connection, some listeners, and one epoll.
  static SocketSettings settings_of(const Config& config) {
    SocketSettings settings;
    settings.descriptors.most =
        Count{config.tcp.connections_max.value + config.tcp.listeners_max.value + 64};
    settings.items_max = Count{settings.descriptors.most.value * 2};
    return settings;
  }

  std::vector<Line> memory_;
  Stack stack_;
  Port port_;
  HostApp app_;
  hw::NoWatcher watch_;
  hw::Loop<Port, HostApp, hw::NoWatcher, HostStop> loop_;
};

}  // namespace lockstep::tools

/// The opaque type of the C calls.
struct lockstep_host {
  lockstep::hw::TapInterface tap;  ///< restored after the port is gone
  std::unique_ptr<lockstep::tools::Engine> engine;
  std::string interface;
  std::string description;
  std::string error;
};
