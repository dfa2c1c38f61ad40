// HyStart++ (RFC 9406): leaves slow start when the round-trip time grows, before a loss.
#pragma once

#include "core/tcp/congestion/controller.hpp"

namespace lockstep::tcp::hystart {

// An ACK of new data while cwnd is below ssthresh: cwnd grows, in the connection's first slow start
// with HyStart++ if Config has it, otherwise as RFC 5681.
void slow_start(congestion::Subject& s, const congestion::Acked& acked);

}  // namespace lockstep::tcp::hystart
