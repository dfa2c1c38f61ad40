// The options of a segment: the one place where all features share the 40 octets.
#include "core/tcp/segment_options.hpp"

#include "core/tcp/opening/fast_open.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/tcp/user_timeout.hpp"
#include "core/tcp/window_scale.hpp"

namespace lockstep::tcp {
namespace {

// Our SYN offers all that we support; a SYN that answers one, what both sides support.
bool announces(const Connection& c, bool ours, std::uint8_t option) {
  return c.state == State::syn_sent ? ours : c.options.has(option);
}

// Options that only a SYN carries.
void add_announcements(const Engine& e, const Connection& c, wire::Options& options) {
  options.has_mss = true;
  options.mss = mss_to_name(e, c);
  //= rfc7323#2.2
  //# 7323:TS-34 a TCP that supports scaling sends the option, even for a shift of zero
  //# 7323:TS-33 a SYN-ACK only if the SYN had it
  //= rfc7323#2.3
  //# 7323:TS-3 and then always
  options.has_window_scale = announces(c, e.config.window_scale, negotiated::window_scale);
  if (options.has_window_scale) {
    options.window_scale = scale_to_offer(e.config);
  }
  //= rfc2018#2
  //# 2018:SACK-1, 2018:SACK-20 SACK-permitted only on SYNs; on a SYN-ACK only if the SYN had it
  options.has_sack_permitted = c.state == State::syn_sent ? e.config.sack : c.sack;
}

// Optional advice for the peer: uses the space that other options leave.
[[gnu::cold]] void add_user_timeout(const Engine& e, Connection& c, const SegmentPlan& plan,
                                    wire::Options& options) {
  Duration const timeout = user_timeout_to_advertise(e.config, c);
  if (!e.config.user_timeout_option || timeout.ns == 0) {
    return;
  }
  options.has_user_timeout = true;
  options.user_timeout = user_timeout_to_wire(timeout);
  Bytes const all = options_bytes(options);
  Bytes const room =
      plan.syn ? syn_options_room(e, c) : steady_options_bytes(c) + (Bytes{c.mss} - plan.data);
  options.has_user_timeout = all <= room && all.count <= wire::tcp_options_bytes_max;
  if (options.has_user_timeout && !plan.syn) {
    c.options.clear(negotiated::user_timeout_due);
  }
}

}  // namespace

wire::Options options_of(const Engine& e, Connection& c, const SegmentPlan& plan,
                         const Report& report) {
  wire::Options options;
  if (plan.syn && is_plain_syn(e, c)) [[unlikely]] {
    return options;
  }
  if (plan.syn) {
    add_announcements(e, c, options);
  }
  //= rfc7323#3.2
  //# 7323:TS-9 once agreed on, every segment has it
  options.has_timestamps = announces(c, plan.syn && e.config.timestamps, negotiated::timestamps);
  if (options.has_timestamps) {
    options.timestamp_value = timestamp_at(e, c.options, e.state->now);
    //= rfc7323#3.2
    //# 7323:TS-28 zero without ACK
    //# 7323:TS-11 with ACK, the value chosen by 4.3
    //= rfc7323#4.3
    //# 7323:TS-15 which is always TS.Recent
    options.timestamp_echo = c.state == State::syn_sent ? 0 : c.options.ts_recent;
  }
  if (report.count != 0) {
    options.sack_count = report.count;
    options.sack = report.blocks;
  }
  if (c.options.has(negotiated::user_timeout_due) || plan.syn) [[unlikely]] {
    add_user_timeout(e, c, plan, options);
  }
  if (plan.syn && c.active != nil) {
    add_fast_open(e, c, plan, options);
  }
  return options;
}

}  // namespace lockstep::tcp
