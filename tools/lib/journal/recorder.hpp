// Wrappers of a driver and of an application that record what passes through them in a journal.
#pragma once

#include "core/stack/stack.hpp"
#include "core/stack/turn.hpp"
#include "hw/poll/loop.hpp"
#include "tools/lib/journal/flight_recorder.hpp"
#include "tools/lib/journal/turn_log.hpp"

namespace lockstep::journal {

/// Forwards everything to `port` and records it. Costs one copy and one hash of each frame.
template <class Port>
class Recorder {
 public:
  /// `flight_recorder`: set if the log is kept in memory; may be nullptr.
  Recorder(Port& port, TurnLog& log, const Stack& stack, FlightRecorder* flight_recorder = nullptr)
      : port_(port),
        log_(log),
        stack_(stack),
        flight_recorder_(flight_recorder),
        mtu_(stack.config().mtu) {}

  Instant now() {
    now_ = port_.now();
    return now_;
  }
  std::span<const Ingress> receive() {
    if (flight_recorder_ != nullptr) {
      flight_recorder_->writes(now_) ? log_.catch_up() : log_.end();
      flight_recorder_->look(now_);
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
  void flush() { port_.flush(); }

  int descriptor() const { return port_.descriptor(); }
  bool holds() const { return port_.holds(); }
  bool more() const { return port_.more(); }
  bool down() const { return port_.down(); }
  bool gone() const { return port_.gone(); }
  /// Called between turns; a change is recorded.
  Bytes link_mtu()
    requires hw::LinkedDriver<Port>
  {
    Bytes const mtu = port_.link_mtu();
    if (mtu != mtu_) {
      mtu_ = mtu;
      log_.link_mtu(mtu);
    }
    return mtu;
  }
  bool prepare_sleep()
    requires hw::RestingDriver<Port>
  {
    return port_.prepare_sleep();
  }
  bool quiesce()
    requires hw::RestingDriver<Port>
  {
    return port_.quiesce();
  }
  int doorbell() const
    requires hw::RestingDriver<Port>
  {
    return port_.doorbell();
  }

 private:
  Port& port_;
  TurnLog& log_;
  const Stack& stack_;
  FlightRecorder* flight_recorder_;
  Bytes mtu_;
  Instant now_;
  std::span<std::byte> room_;
};

/// Forwards and records what the application receives besides the stack's events.
template <class App>
class Noted {
 public:
  Noted(App& app, TurnLog& log) : app_(app), log_(log) {}

  void on_event(Stack& stack, const Event& event) {
    log_.note();
    app_.on_event(stack, event);
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
