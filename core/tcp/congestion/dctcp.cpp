// DCTCP (RFC 8257) in integers: the window shrinks in proportion to the share of marked octets.
#include "core/tcp/congestion/dctcp.hpp"

#include <algorithm>

namespace lockstep::tcp::dctcp {
namespace {

constexpr std::uint32_t alpha_place = 0;  // index into `kept`
constexpr std::uint32_t g_shift = 4;      // g is 1/16

}  // namespace

std::uint32_t alpha_of(const CongestionVariables& v) { return v.kept[alpha_place]; }

std::uint32_t next_alpha(std::uint32_t alpha, Bytes acked, Bytes marked) {
  //= rfc8257#3.3
  //# 8257:DCTCP-7 M is the share of marked octets
  std::uint64_t const m = (std::uint64_t{least(marked, acked).count} << 16) / acked.count;
  //= rfc8257#3.3
  //# 8257:DCTCP-5 alpha * (1 - g) + g * M
  //= rfc8257#4.2
  //# 8257:DCTCP-13 the decrease is rounded up so that alpha can reach 0; alpha is clamped
  std::uint32_t const faded = alpha - ((alpha + (1u << g_shift) - 1) >> g_shift);
  auto const sum = static_cast<std::uint32_t>(faded + (m >> g_shift));
  return std::min(sum, alpha_one);
}

void begin(congestion::Subject& s) {
  //= rfc8257#3.3
  //# 8257:DCTCP-5 alpha starts at 1
  s.v.kept[alpha_place] = alpha_one;
}

void on_any_ack(congestion::Subject& s, const congestion::Acked& acked) {
  Dctcp& d = s.state.dctcp;
  if (!d.begun) {
    d = {};
    d.begun = true;
    d.window_end = acked.nxt;
  }
  //= rfc8257#3.3
  //# 8257:DCTCP-6 octets acknowledged by SEG.ACK alone, and whether it was marked
  d.acked = congestion::capped(std::uint64_t{d.acked.count} + acked.newly.count);
  if (acked.marked) {
    d.marked = congestion::capped(std::uint64_t{d.marked.count} + acked.newly.count);
  }
  //= rfc8257#3.3
  //# 8257:DCTCP-7 the window has ended: update alpha and start the next
  if (acked.una.after(d.window_end)) {
    s.v.kept[alpha_place] = next_alpha(s.v.kept[alpha_place], d.acked, d.marked);
    d.window_end = acked.nxt;
    d.acked = {};
    d.marked = {};
  }
}

Bytes reduced(congestion::Subject& s, Bytes flight, congestion::Signal signal) {
  if (signal != congestion::Signal::mark) {
    //= rfc8257#3.5
    //# 8257:DCTCP-10 a loss is handled as in standard TCP
    return {flight.count / 2};
  }
  //= rfc8257#3.3
  //# 8257:DCTCP-8 cwnd * (1 - alpha / 2)
  std::uint64_t const cut = std::uint64_t{s.v.cwnd.count} * alpha_of(s.v) >> 17;
  return s.v.cwnd - Bytes{static_cast<std::uint32_t>(cut)};
}

}  // namespace lockstep::tcp::dctcp
