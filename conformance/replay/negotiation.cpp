// Reads what the two SYNs of a flow negotiated.
#include "conformance/replay/negotiation.hpp"

#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {

using tools::Segment;
namespace flag = tools::tcp_flag;

Negotiated negotiation(const Flow& flow, const Endpoint& device) {
  Negotiated out;
  //= rfc9293#3.7.1
  //# 9293:MUST-15 without the option 536 octets, and 1220 with IPv6
  if (!device.address.is_v4()) {
    out.mss[0] = out.mss[1] = 1'220;
  }
  std::optional<std::uint32_t> isn[2];
  for (const Segment& segment : flow.segments) {
    if (!segment.any(flag::syn)) {
      continue;
    }
    int const side = is_from(segment, device) ? 0 : 1;
    out.syn[side] = true;
    isn[side] = segment.sequence;
    auto const& other = isn[1 - side];
    // The answer acknowledges data on the SYN: Fast Open, whatever its option number.
    if (segment.any(flag::ack) && other && segment.acknowledgment - *other > 1) {
      out.text_taken[side] = true;
      out.fast_open |= side == 0;
    }
    if (auto cookie = cookie_of(segment)) {
      out.cookie_answered[side] |= segment.any(flag::ack);
      if (!segment.any(flag::ack) && !out.cookie[side]) {
        out.cookie[side] = std::move(cookie);
      }
    }
    bool const answer = segment.any(flag::ack);
    out.ecn_asked[side] |= !answer && segment.has(flag::ece | flag::cwr);
    out.ecn_answered[side] |= answer && segment.any(flag::ece) && !segment.any(flag::cwr);
    for (const tools::TcpOption& option : tools::options_of(segment)) {
      if (option.kind == 2 && option.data.size() == 2) {
        // As in Linux, an MSS of 0 does not count.
        std::uint32_t const mss = tools::word_at(option.data, 0);
        out.mss[side] = mss != 0 ? mss : out.mss[side];
      } else if (option.kind == 3 && option.data.size() == 1) {
        out.shift[side] = tools::octet_at(option.data, 0);
      }
      out.selective[side] |= option.kind == 4;
      out.stamps[side] |= option.kind == 8;
      out.fast_open |= option.kind == 34;
      out.multipath[side] |= option.kind == option_kind::multipath;
    }
  }
  return out;
}

}  // namespace lockstep::conformance
