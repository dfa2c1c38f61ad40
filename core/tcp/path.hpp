// Path MTU discovery of a connection: RFC 1191 and 8201, hardened by RFC 5927.
#pragma once

#include "core/internet/icmp_input.hpp"
#include "core/tcp/engine.hpp"
#include "core/tcp/segment_options.hpp"

namespace lockstep::tcp {

// Octets of the IP and TCP headers, without options.
inline std::uint32_t header_bytes(const Connection& c) { return c.remote.is_v4() ? 40 : 60; }

// Octets of each packet besides its data: headers and the options that every segment carries.
inline std::uint32_t overhead(const Connection& c) {
  return header_bytes(c) + steady_options_bytes(c).count;
}
// The largest packet that this connection sends.
inline std::uint32_t packet_bytes(const Connection& c) { return c.mss + overhead(c); }

// An ICMP error reports that a packet of ours was too big. Returns Drop::none if it is used now or
// will be used if progress stalls; otherwise icmp_quote_unknown, icmp_quote_outside or
// icmp_mtu_refused.
Drop process_packet_too_big(Engine& e, const internet::IcmpError& error,
                            std::uint16_t local_address);

// The retransmission timer fired: uses the reported MTU that was not used at once.
void apply_pending_mtu(Engine& e, Connection& c);

// Connection::path_until is the time when a limit ends, in steps of path_age / path_steps, modulo
// path_step_values. The table of paths is small; a connection whose entry was evicted keeps its
// limit until then.
inline constexpr std::uint64_t path_steps = 8;
inline constexpr std::uint64_t path_step_values = 32;

// The largest data, without options, that the peer's MSS and the link allow. 0 before the peer's
// SYN.
inline std::uint32_t mss_most(const Engine& e, const Connection& c) {
  return std::min<std::uint32_t>(c.mss_max, e.link_mss(c.remote).count);
}

// The largest segment with Config's segment_half_window: half of the largest window that the peer
// has offered, all of it if that is small. Never so little that it would be mostly headers, and no
// bound before the peer has offered any.
inline std::uint32_t half_window_of(const Connection& c) {
  constexpr std::uint32_t small = 536, least = 48, none = 0xffff;
  std::uint32_t const window = c.send.wnd_max.count;
  return window == 0 ? none : std::max(window > small ? window / 2 : window, least);
}

// Sets the segment size from what is stored for the path, and from the link's MTU, which a router
// may have lowered. Call only if path_may_differ().
void follow_path(Engine& e, Connection& c);

// Whether follow_path has something to do.
inline bool path_may_differ(const Engine& e, const Connection& c) {
  return e.paths.any() || c.path_limited || e.state->mtu_differs;
}

}  // namespace lockstep::tcp
