// Round-trip time and the retransmission timeout (RFC 6298), in integers.
#pragma once

#include "core/tcp/config.hpp"
#include "core/tcp/connection.hpp"

namespace lockstep::tcp {

// Takes one measurement, of a segment that was sent once (Karn) or by a timestamp, and computes the
// timeout from it. Each of `samples` of a round trip counts for so much less (RFC 7323 4.2).
void add_rtt_sample(RttVariables& rtt, Duration measured, const Config& config,
                    Count samples = Count{1});
// The first sample of what left after a timeout that was none (RFC 4015): the estimate begins anew
// with it, but the timeout gets no shorter than it was before.
void begin_again(RttVariables& rtt, const RttBefore& before, Duration measured,
                 const Config& config);
// The estimate is again what it was before that timeout; the timeout itself stays.
void set_aside(RttVariables& rtt, const RttBefore& before);
// The timer expired: the timeout doubles, up to its bound.
void back_off(RttVariables& rtt, const Config& config);
// The handshake is over. If its SYN timed out, the timeout starts from three seconds.
void begin_data(RttVariables& rtt, bool syn_lost, const Config& config);

Duration srtt_of(const RttVariables& rtt);
Duration rttvar_of(const RttVariables& rtt);

}  // namespace lockstep::tcp
