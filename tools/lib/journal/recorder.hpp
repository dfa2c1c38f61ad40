// A driver around a driver and an application around an application: both tell the journal.
#pragma once

#include "core/seam/stack.hpp"
#include "core/seam/turn.hpp"
#include "hw/poll/loop.hpp"
#include "tools/lib/journal/keeper.hpp"
#include "tools/lib/journal/turn_log.hpp"

namespace lockstep::journal {

/// Hands everything through to `port` and notes it. One copy and one hash of each frame.
template <class Port>
class Recorder {
 public:
  /// `keeper`: where the log goes into memory; or none.
  Recorder(Port& port, TurnLog& log, const Stack& stack, Keeper* keeper = nullptr)
      : port_(port), log_(log), stack_(stack), keeper_(keeper) {}

  Instant now() {
    now_ = port_.now();
    return now_;
  }
  std::span<const Ingress> receive() {
    if (keeper_ != nullptr) {
      keeper_->writes(now_) ? log_.catch_up() : log_.end();
      keeper_->look(now_);
    }
    auto const burst = port_.receive();
    log_.begin(now_, burst);
    if (stack_.deadline() <= now_) {
      log_.note();
    }
    return burst;
  }
  std::span<std::byte> claim() {
    room_ = port_.claim();
    if (room_.empty()) {
      log_.blocked();
    }
    return room_;
  }
  void commit(const Egress& egress) {
    log_.sent(room_.first(egress.length));
    port_.commit(egress);
  }
  void reclaim() { port_.reclaim(); }

  int descriptor() const { return port_.descriptor(); }
  bool holds() const { return port_.holds(); }
  bool more() const { return port_.more(); }
  bool down() const { return port_.down(); }
  bool gone() const { return port_.gone(); }
  bool rest()
    requires hw::RestingDriver<Port>
  {
    return port_.rest();
  }
  bool depart()
    requires hw::RestingDriver<Port>
  {
    return port_.depart();
  }
  int bell() const
    requires hw::RestingDriver<Port>
  {
    return port_.bell();
  }

 private:
  Port& port_;
  TurnLog& log_;
  const Stack& stack_;
  Keeper* keeper_;
  Instant now_;
  std::span<std::byte> room_;
};

/// The same of what the application is told beside the stack.
template <class App>
class Noted {
 public:
  Noted(App& app, TurnLog& log) : app_(app), log_(log) {}

  void told(Stack& stack, const Event& event) {
    log_.note();
    app_.told(stack, event);
  }
  void run(Stack& stack, Instant now) {
    if (app_.deadline() <= now) {
      log_.note();
    }
    app_.run(stack, now);
  }
  Instant deadline() const { return app_.deadline(); }
  void stop(Stack& stack, Instant now) {
    log_.command(Kind::stop, now);
    app_.stop(stack, now);
  }
  bool done() const { return app_.done(); }
  void abandon(Stack& stack, Instant now) {
    log_.command(Kind::abandon, now);
    app_.abandon(stack, now);
  }

 private:
  App& app_;
  TurnLog& log_;
};

}  // namespace lockstep::journal
