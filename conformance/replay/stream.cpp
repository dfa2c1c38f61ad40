// Assembles the octets that a side sent from its segments.
#include <algorithm>
#include <optional>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/script.hpp"

namespace lockstep::conformance {

using tools::Segment;
namespace flag = tools::tcp_flag;

std::vector<std::byte> stream_of(const Flow& flow, const Endpoint& side, bool received) {
  std::vector<std::byte> out;
  std::vector<bool> known;
  std::optional<std::uint32_t> first;
  // The stream is no longer than all captured data: numbers beyond it belong elsewhere.
  std::size_t reach = 0;
  for (const Segment& segment : flow.segments) {
    reach += is_from(segment, side) ? segment.payload.size() : 0;
  }
  for (const Segment& segment : flow.segments) {
    if (!is_from(segment, side)) {
      continue;
    }
    if (segment.any(flag::syn)) {
      first = segment.sequence + 1;
    }
    bool const bad = received && segment.sum == tools::SumState::bad;
    if (!first || segment.payload.empty() || bad) {
      continue;
    }
    std::uint32_t const at = segment.sequence + (segment.any(flag::syn) ? 1u : 0u) - *first;
    std::size_t const end = at + segment.payload.size();
    if (end > reach) {
      continue;
    }
    if (out.size() < end) {
      out.resize(end);
      known.resize(end);
    }
    for (std::size_t i = 0; i < segment.payload.size(); ++i) {
      if (!known[at + i]) {
        out[at + i] = segment.payload[i];
        known[at + i] = true;
      }
    }
  }
  return out;
}

}  // namespace lockstep::conformance
