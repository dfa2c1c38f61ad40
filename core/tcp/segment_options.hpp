// The options of a segment: the one place where all features share the 40 octets.
#pragma once

#include "core/tcp/accounts.hpp"
#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/sack_report.hpp"

namespace lockstep::tcp {

// Octets of options that every segment of this connection carries; its data is reduced by them.
//= rfc9293#3.7.1
//# 9293:P-MSS-OPTSHRINK the options of a segment count against its MSS
inline Bytes steady_options_bytes(const Connection& c) {
  return {c.options.has(negotiated::timestamps) ? 12u : 0u};
}

// Octets of options that a SYN may have: fewer where the link MTU is very small.
inline Bytes syn_options_room(const Engine& e, const Connection& c) {
  return least(Bytes{wire::tcp_options_bytes_max}, e.link_mss(c.remote));
}

// Whether our SYN has no options any more: a path may drop SYNs for them (Config, syn_plain_from).
inline bool is_plain_syn(const Engine& e, const Connection& c) {
  Count const from = e.config.syn_plain_from;
  return from.value != 0 && c.state == State::syn_sent && c.retries >= from.value;
}

// The options of the planned segment, SYN or not. Each feature has its own lines here: first those
// only on SYNs, then those on every segment, then those that use the remaining space.
wire::Options options_of(const Engine& e, Connection& c, const SegmentPlan& plan,
                         const Report& report);

// The value of the MSS option on our SYN.
//= rfc9293#3.7.1
//# 9293:MUST-14, 9293:SHLD-5, 9293:MAY-3 every SYN carries our MSS
//= rfc9293#3.2
//# 9293:MUST-65 and no other segment does
//= rfc8201#5.4
//# 8201:PMTU-10 it depends on the link only, not on the path MTU
inline std::uint16_t mss_to_name(const Engine& e, const Connection& c) {
  return static_cast<std::uint16_t>(e.mss_to(c.remote).count);
}

// Whether SYNs of this configuration carry only an MSS, whatever options the peer's SYN has.
constexpr bool names_mss_alone(const Config& config) {
  return !config.window_scale && !config.sack && !config.timestamps &&
         !config.user_timeout_option && !config.fast_open_client && !config.fast_open_server;
}

// Writes the options of the planned segment to the front of `into` (which follows the fixed header)
// and returns their length, a multiple of 4. A segment without options costs one branch.
inline Bytes write_segment_options(const Engine& e, Connection& c, const SegmentPlan& plan,
                                   const Report& report, std::span<std::byte> into) {
  std::uint8_t const any = negotiated::timestamps | negotiated::user_timeout_due;
  if (!plan.syn && report.count == 0 && !c.options.has(any)) {
    return {};
  }
  if (plan.syn && accounts_kept(e)) [[unlikely]] {
    wire::Options options = options_of(e, c, plan, report);
    options.mss = accounts::least_mss(e.accounts[e.slot_of(c)].mss, Bytes{options.mss});
    return wire::write(options, into, e.config.option_order);
  }
  if (plan.syn && e.mss_alone && !is_plain_syn(e, c)) {
    return wire::write_mss(mss_to_name(e, c), into);
  }
  return wire::write(options_of(e, c, plan, report), into, e.config.option_order);
}

}  // namespace lockstep::tcp
