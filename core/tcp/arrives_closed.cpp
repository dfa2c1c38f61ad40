// SEGMENT ARRIVES without a connection, RFC 9293 3.10.7.1.
#include "core/tcp/arrives.hpp"
#include "core/tcp/replies.hpp"

namespace lockstep::tcp {

[[gnu::cold]] Drop arrives_closed(Engine& e, const InboundSegment& arrival) {
  //= rfc9293#3.10.7.1
  //# 9293:P-CLOSED-RST a reset is never answered
  if (arrival.segment.flags.rst()) {
    return Drop::tcp_closed_reset;
  }
  if (wire::Flags const flags = arrival.segment.flags;
      e.config.closed_silent.value > (flags.syn() && !flags.ack() ? 0u : 1u)) {
    return Drop::tcp_closed_silent;
  }
  //= rfc9293#3.5.1
  //# 9293:P-HALFOPEN-DATA a segment for a connection that is not there draws a reset
  //= rfc9293#3.5.2
  //# 9293:P-RST-WHEN only what is clearly for no connection here is reset
  reply_reset(e, arrival);
  return Drop::tcp_closed;
}

}  // namespace lockstep::tcp
