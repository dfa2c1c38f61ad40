// DCTCP (RFC 8257) in integers: the window shrinks in proportion to the share of marked octets.
#pragma once

#include "core/tcp/congestion/controller.hpp"

namespace lockstep::tcp::dctcp {

// Alpha, the share of marked octets; 2^16 means all. Stored in CongestionVariables::kept.
inline constexpr std::uint32_t alpha_one = 1u << 16;
std::uint32_t alpha_of(const CongestionVariables& v);
// The update after one observation window: `marked` of `acked` octets; acked is not zero.
std::uint32_t next_alpha(std::uint32_t alpha, Bytes acked, Bytes marked);

// Functions of Controller.
void begin(congestion::Subject& s);
void on_any_ack(congestion::Subject& s, const congestion::Acked& acked);
Bytes reduced(congestion::Subject& s, Bytes flight, congestion::Signal signal);

}  // namespace lockstep::tcp::dctcp
