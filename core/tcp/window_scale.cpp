// Window scaling (RFC 7323 section 2): the offer, the agreement, and the window field.
#include "core/tcp/window_scale.hpp"

#include <algorithm>

#include "core/tcp/lifecycle.hpp"

namespace lockstep::tcp {
namespace {

constexpr std::uint8_t shift_max = 14;

// How far the edge must move so that the window from RCV.NXT is a multiple of the scale; zero if it
// may not move.
//
// Three goals conflict: to acknowledge every octet, never to retract window, and to stay within
// the buffer. With a unit of 128 octets a peer that sends single octets would push the edge by one
// with each. So the edge is rounded up until it is a sixteenth of the buffer (or one unit) beyond
// the buffer; from then on the window field is rounded down, and the peer sees up to one unit less
// than before. The edge itself does not move, and data below it is still accepted.
Bytes rounding(const Connection& c) {
  std::uint32_t const unit = 1u << c.options.receive_scale.shift;
  std::uint32_t const window = c.receive.edge.since(c.receive.nxt).count;
  std::uint32_t const beyond = window & (unit - 1);
  if (beyond == 0) {
    return {};
  }
  std::uint32_t const missing = unit - beyond;
  std::uint64_t const held = std::uint64_t{unread_of(c).count} + window + missing;
  std::uint64_t const most = std::max(c.receive_buffer.count / 16, unit);
  return {held <= c.receive_buffer.count + most ? missing : 0};
}

}  // namespace

WindowScale scale_to_offer(const Config& config) {
  //= rfc7323#2.3
  //# 7323:TS-5 never above 14
  if (!config.window_shift_automatic) {
    return {config.window_shift};
  }
  WindowScale scale;
  std::uint32_t const most = std::max(config.receive_buffer.count, config.receive_buffer_max.count);
  while (scale.shift < shift_max && most >> scale.shift > 0xffff) {
    ++scale.shift;
  }
  return scale;
}

void agree_on_scale(const Engine& e, Connection& c, const wire::Segment& syn) {
  //= rfc7323#2.2
  //# 7323:TS-1 windows are scaled only if both SYNs have the option
  //# 7323:TS-24 the option on a later segment is ignored
  //= rfc7323#2.3
  //# 7323:TS-35 Snd.Wind.Shift is the peer's, Rcv.Wind.Shift ours, or both are zero
  if (e.config.window_scale && syn.options.has_window_scale) {
    c.options.negotiated |= negotiated::window_scale;
    c.options.send_scale = syn.options.window_scale;
    c.options.receive_scale = scale_to_offer(e.config);
  }
}

//= rfc7323#2.4
//# 7323:TS-7 RCV.EDGE is the highest edge ever advertised, even if the field cannot express it
//# 7323:TS-6 and all data below it is accepted
void round_edge_up(Connection& c) {
  if (synchronized(c.state)) {
    c.receive.edge = c.receive.edge + rounding(c);
  }
}

bool hides_window(const Connection& c) {
  std::uint32_t const window = c.receive.edge.since(c.receive.nxt).count;
  return window >> c.options.receive_scale.shift == 0 && !rounding(c).empty();
}

}  // namespace lockstep::tcp
