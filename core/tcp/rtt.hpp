// Round-trip time and the retransmission timeout (RFC 6298), in integers.
#pragma once

#include "core/tcp/config.hpp"
#include "core/tcp/connection.hpp"

namespace lockstep::tcp {

// Adds one measurement, of a segment that was sent once (Karn) or by a timestamp, and computes the
// RTO. Each of `samples` measurements in a round trip gets proportionally less weight (RFC 7323
// 4.2).
void add_rtt_sample(RttVariables& rtt, Duration measured, const Config& config,
                    Count samples = Count{1});
// The first sample of data sent after a spurious timeout (RFC 4015): restarts the estimate from it,
// but the RTO is not set below its previous value.
void restart_estimate(RttVariables& rtt, const RttBefore& before, Duration measured,
                      const Config& config);
// Restores the estimate of before that timeout; the RTO is kept.
void set_aside(RttVariables& rtt, const RttBefore& before);
// The timer expired: doubles the RTO, up to its maximum.
void back_off(RttVariables& rtt, const Config& config);
// The handshake is complete. If our SYN was retransmitted, the RTO starts at three seconds.
void begin_data(RttVariables& rtt, bool syn_lost, const Config& config);

Duration srtt_of(const RttVariables& rtt);
Duration rttvar_of(const RttVariables& rtt);

}  // namespace lockstep::tcp
