// Writes back every octet that it reads, as room allows.
#include "tools/lib/load/echo_server.hpp"

#include "core/units/check.hpp"

namespace lockstep::load {

EchoServer::EchoServer(const EchoSettings& settings, Count connections_max)
    : settings_(settings), slots_(connections_max.value) {}

Refusal EchoServer::start(Stack& stack) {
  Local local;
  local.port = settings_.port;
  return stack.listen(local, settings_.backlog, listener_);
}

void EchoServer::on_event(Stack& stack, const Event& event) {
  CHECK(event.id.slot < slots_.size());
  Slot& slot = slots_[event.id.slot];
  if (event.kind == EventKind::accepted) {
    slot = {event.id, true, false, false};
    ++open_;
    ++counters_.connections;
    if (stopping_) {
      stack.abort(slot.id);
    }
    return;
  }
  if (!slot.is_open || slot.id != event.id) {
    return;
  }
  slot.peer_finished = slot.peer_finished || event.kind == EventKind::peer_finished;
  if (event.kind == EventKind::closed) {
    slot.is_open = false;
    --open_;
  } else {
    go_on(stack, slot);
  }
}

void EchoServer::go_on(Stack& stack, Slot& slot) {
  for (auto part = stack.readable(slot.id); !part.empty(); part = stack.readable(slot.id)) {
    Taken const taken = stack.write(slot.id, part);
    if (taken.bytes.empty()) {
      return;
    }
    counters_.octets += taken.bytes.count;
    stack.consume(slot.id, taken.bytes);
  }
  if ((slot.peer_finished || stopping_) && !slot.is_finished) {
    slot.is_finished = stack.close(slot.id) != Refusal::no_room;
  }
}

void EchoServer::stop(Stack& stack, Instant) {
  stopping_ = true;
  static_cast<void>(stack.unlisten(listener_));
  for (Slot& slot : slots_) {
    if (slot.is_open) {
      go_on(stack, slot);
    }
  }
}

void EchoServer::abandon(Stack& stack, Instant) {
  for (const Slot& slot : slots_) {
    if (slot.is_open) {
      stack.abort(slot.id);
    }
  }
}

}  // namespace lockstep::load
