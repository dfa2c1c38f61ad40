// One turn: frames in, timers, events, frames out. The simulator and the network drivers run it.
#pragma once

#include <cstdint>

#include "core/stack/driver.hpp"
#include "core/stack/event.hpp"
#include "core/stack/stack.hpp"

namespace lockstep {

// idle: nothing arrived, expired or was sent. worked: call again at once, more may be ready.
// transmit_blocked: frames are ready but the driver has no space; retry when it has.
enum class Outcome : std::uint8_t { idle, worked, transmit_blocked };

// on_event(): called for each event, in order. run(): called once a turn, after the events, for
// work that depends on the time. Both may call the stack; events that these calls raise come next
// turn.
template <class A>
concept Application = requires(A app, Stack& stack, const Event& event, Instant now) {
  { app.on_event(stack, event) } -> std::same_as<void>;
  { app.run(stack, now) } -> std::same_as<void>;
};

// Order: the application runs before frames are written, so that data carries the ACK; receive
// buffers are returned before transmit buffers are claimed; an ACK in the burst stops its timer.
// Limited by Config::events_per_turn and Config::frames_per_turn.
template <Driver D, Application App>
Outcome turn(Stack& stack, D& driver, App& app) {
  Instant const now = driver.now();
  //= rfc9293#3.10.7.4
  //# 9293:MUST-59 the whole burst is processed before an ACK is sent
  auto const burst = driver.receive();
  stack.receive(now, burst);
  bool const expired = stack.expire(now);

  std::uint32_t events = 0;
  Event event;
  while (events < stack.config().events_per_turn.value && stack.next_event(event)) {
    app.on_event(stack, event);
    ++events;
  }
  app.run(stack, now);
  stack.settle();
  driver.reclaim();

  std::uint32_t sent = 0;
  bool blocked = false;
  while (sent < stack.config().frames_per_turn.value && stack.wants_transmit()) {
    auto const room = driver.claim();
    blocked = room.empty();
    if (blocked) {
      break;
    }
    Egress const egress = stack.transmit(now, room);
    if (egress.length == 0) {
      break;
    }
    driver.commit(egress);
    ++sent;
  }
  driver.flush();
  if (blocked) {
    return Outcome::transmit_blocked;
  }
  bool const worked = !burst.empty() || expired || events != 0 || sent != 0;
  return worked ? Outcome::worked : Outcome::idle;
}

}  // namespace lockstep
