// Window scaling (RFC 7323 section 2): what is offered, agreed on, and told in the window field.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The shift that our SYN names: Config's, or the least one at which 16 bits tell of the whole
// receive buffer. 0 to 14.
WindowScale scale_to_offer(const Config& config);
// The peer's SYN has come: scaling in both directions, or in none.
void agree_on_scale(const Engine& e, Connection& c, const wire::Segment& syn);

// The largest window that a segment can tell of now. A SYN's is never scaled, so neither is any
// before the handshake is over.
inline Bytes window_max(const Connection& c) {
  WindowScale const scale = synchronized(c.state) ? c.options.receive_scale : WindowScale{};
  return {0xffffu << scale.shift};
}
// SND.WND as this segment offers it.
//= rfc7323#2.3
//# 7323:TS-4 every window but a SYN's is shifted left by Snd.Wind.Shift
//= rfc7323#2.2
//# 7323:TS-2 a SYN's is not scaled
inline Bytes offered_window(const Connection& c, const wire::Segment& segment) {
  return window_from_wire(segment.window,
                          segment.flags.syn() ? WindowScale{} : c.options.send_scale);
}

void round_edge_up(Connection& c);
// Moves the right edge to where a scaled window, told along with RCV.NXT, can tell it exactly: to
// the right, by less than one unit of the scale. Called wherever an ACK comes to be owed or
// written, so that what is told never moves left (RFC 7323 2.4).
inline void align_edge(Connection& c) {
  if (c.options.receive_scale.shift != 0) [[unlikely]] {
    round_edge_up(c);
  }
}
// Whether the window that was told last may be short of the edge by so much that it looks shut,
// although it need not be any more.
bool hides_window(const Connection& c);

}  // namespace lockstep::tcp
