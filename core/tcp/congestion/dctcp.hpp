// DCTCP (RFC 8257) in integers: a marked window shrinks by how much of it was marked.
#pragma once

#include "core/tcp/congestion/controller.hpp"

namespace lockstep::tcp::dctcp {

// Alpha, the share of octets that were marked: 2^16 is all of them. In CongestionVariables::kept.
inline constexpr std::uint32_t alpha_one = 1u << 16;
std::uint32_t alpha_of(const CongestionVariables& v);
// One observation window: `marked` of `acked` octets, both in octets and acked not zero.
std::uint32_t next_alpha(std::uint32_t alpha, Bytes acked, Bytes marked);

// The rows of Controller.
void begin(congestion::Subject& s);
void on_any_ack(congestion::Subject& s, const congestion::Acked& acked);
Bytes reduced(congestion::Subject& s, Bytes flight, congestion::Signal signal);

}  // namespace lockstep::tcp::dctcp
