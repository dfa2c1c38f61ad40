// Window scaling (RFC 7323 section 2): the offer, the agreement, and the window field.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The shift that our SYN offers: Config's, or the smallest at which 16 bits can express the whole
// receive buffer. 0 to 14.
WindowScale scale_to_offer(const Config& config);
// The peer's SYN arrived: scaling in both directions, or in neither.
void agree_on_scale(const Engine& e, Connection& c, const wire::Segment& syn);

// The largest window that a segment can advertise now. The window of a SYN is never scaled, so
// neither is any before the handshake is complete.
inline Bytes window_max(const Connection& c) {
  WindowScale const scale = synchronized(c.state) ? c.options.receive_scale : WindowScale{};
  return {0xffffu << scale.shift};
}
// The window that this segment advertises, in octets.
//= rfc7323#2.3
//# 7323:TS-4 every window but a SYN's is shifted left by Snd.Wind.Shift
//= rfc7323#2.2
//# 7323:TS-2 the window of a SYN is not scaled
inline Bytes offered_window(const Connection& c, const wire::Segment& segment) {
  return window_from_wire(segment.window,
                          segment.flags.syn() ? WindowScale{} : c.options.send_scale);
}

void round_edge_up(Connection& c);
// Moves the right edge to the next value that a scaled window, relative to RCV.NXT, can express
// exactly: to the right, by less than one unit of the scale. Call it whenever an ACK is queued or
// written, so that the advertised edge never moves left (RFC 7323 2.4).
inline void align_edge(Connection& c) {
  if (c.options.receive_scale.shift != 0) [[unlikely]] {
    round_edge_up(c);
  }
}
// Whether rounding may make the last advertised window look closed although it is not.
bool hides_window(const Connection& c);

}  // namespace lockstep::tcp
