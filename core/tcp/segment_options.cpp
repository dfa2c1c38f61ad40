// Which options a segment carries: the one place where all features share the 40 octets.
#include "core/tcp/segment_options.hpp"

namespace lockstep::tcp {
namespace {

// What only a SYN announces.
void add_announcements(const Engine& e, const Connection& c, wire::Options& options) {
  //= rfc9293#3.7.1
  //# 9293:MUST-14, 9293:SHLD-5, 9293:MAY-3 every SYN names our MSS
  //= rfc9293#3.2
  //# 9293:MUST-65 and no other segment does
  //= rfc8201#5.4
  //# 8201:PMTU-10 it follows from the link alone, not from what a path carries
  options.has_mss = true;
  options.mss = static_cast<std::uint16_t>(e.mss_to(c.remote).count);
}

}  // namespace

wire::Options options_of(const Engine& e, const Connection& c, const Plan& plan) {
  wire::Options options;
  if (plan.syn) {
    add_announcements(e, c, options);
  }
  return options;
}

}  // namespace lockstep::tcp
