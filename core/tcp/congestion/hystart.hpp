// HyStart++ (RFC 9406): slow start that ends when the round trip grows, before a loss.
#pragma once

#include "core/tcp/congestion/controller.hpp"

namespace lockstep::tcp::hystart {

// An ACK of new data while cwnd is below ssthresh: cwnd grows, by Config with HyStart++ in the
// first slow start of the connection, plainly (RFC 5681) in all others.
void slow_start(congestion::Subject& s, const congestion::Acked& acked);

}  // namespace lockstep::tcp::hystart
