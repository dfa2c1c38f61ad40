// The list of connections with something to send.
#include "core/tcp/send_queue.hpp"

#include "core/tcp/lifecycle.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {

void leave_ready(Engine& e, Connection& c) {
  Index const first = e.ready().pop_front();
  CHECK(first == c.active);
  c.place = SendPlace::none;
  InFlightState const& a = e.active(c);
  if (a.delayed_segments != 0) {
    arm_for(e, a, a.delayed_ack_due);
  }
}

void unready(Engine& e, Connection& c) {
  if (c.place == SendPlace::ready) {
    e.ready().remove(c.active);
  } else if (c.place == SendPlace::waiting) {
    e.waiting(e.active(c).waiting_for).remove(c.active);
  }
  c.place = SendPlace::none;
}

}  // namespace lockstep::tcp
