// Splits a capture into TCP flows: duplicates, order, and super-segments are dealt with here.
#include "conformance/replay/flow.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tools/cli/failure.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;

using Key = std::pair<Endpoint, Endpoint>;

Key key_of(const Endpoint& a, const Endpoint& b) { return a < b ? Key{a, b} : Key{b, a}; }

/// A copy that the capture made, as on a bridge or on the interface "any": the same IPv4 packet.
/// Retransmissions carry another identification; where all are zero nothing can be told.
bool is_copy(const Segment& earlier, const Segment& later) {
  constexpr Duration window = Duration::milliseconds(1);
  return later.identification != 0 && earlier.identification == later.identification &&
         earlier.source == later.source && earlier.sequence == later.sequence &&
         earlier.acknowledgment == later.acknowledgment && earlier.flags == later.flags &&
         earlier.payload == later.payload && later.time.since(earlier.time) <= window;
}

std::size_t drop_copies(Flow& flow) {
  std::vector<Segment> kept;
  std::size_t dropped = 0;
  for (Segment& segment : flow.segments) {
    std::size_t const look_back = std::min<std::size_t>(kept.size(), 8);
    bool const copy = std::any_of(kept.end() - static_cast<std::ptrdiff_t>(look_back), kept.end(),
                                  [&](const Segment& other) { return is_copy(other, segment); });
    if (copy) {
      ++dropped;
    } else {
      kept.push_back(std::move(segment));
    }
  }
  flow.segments = std::move(kept);
  return dropped;
}

/// Does `later` answer what only `earlier` can have told its sender?
bool answers(const Segment& later, const Segment& earlier) {
  bool const acknowledges = later.any(tools::tcp_flag::ack) && earlier.length() != 0 &&
                            later.acknowledgment == earlier.end();
  return later.source == earlier.destination && acknowledges;
}

/// Puts a segment before the one that answers it, where the capture has them the other way round
/// (two interfaces, two queues). Only the first appearance of what is answered counts.
std::size_t restore_causes(Flow& flow) {
  constexpr std::size_t reach = 4;
  std::size_t moved = 0;
  auto& all = flow.segments;
  for (std::size_t at = 0; at < all.size(); ++at) {
    for (std::size_t cause = at + 1; cause < all.size() && cause <= at + reach; ++cause) {
      bool const known = std::any_of(
          all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at), [&](const Segment& s) {
            return s.source == all[cause].source && s.end() == all[cause].end() && s.length() != 0;
          });
      if (!known && answers(all[at], all[cause])) {
        auto const begin = all.begin() + static_cast<std::ptrdiff_t>(at);
        auto const end = all.begin() + static_cast<std::ptrdiff_t>(cause) + 1;
        Instant const time = all[at].time;
        std::rotate(begin, end - 1, end);
        all[at].time = earlier(all[at].time, time);
        ++moved;
      }
    }
  }
  return moved;
}

}  // namespace

bool is_from(const Segment& segment, const Endpoint& endpoint) {
  return segment.source == endpoint;
}

bool sort_by_time(std::vector<Segment>& segments) {
  auto const before = [](const Segment& a, const Segment& b) { return a.time < b.time; };
  if (std::is_sorted(segments.begin(), segments.end(), before)) {
    return false;
  }
  std::vector<std::pair<Instant, std::size_t>> order;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    order.emplace_back(segments[i].time, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Segment> sorted;
  sorted.reserve(segments.size());
  for (const auto& [time, index] : order) {
    sorted.push_back(std::move(segments[index]));
  }
  segments = std::move(sorted);
  return true;
}

CaptureFlows read_flows(const std::string& path, std::uint64_t bytes_max) {
  tools::CaptureReader reader(path);
  CaptureFlows out;
  std::map<Key, std::size_t> index;
  std::uint64_t kept = 0;
  tools::CapturedFrame frame;
  while (reader.next(frame)) {
    ++out.packets;
    tools::Decoded decoded = tools::decode(frame, reader.link());
    ++out.kinds[static_cast<std::size_t>(decoded.kind)];
    if (decoded.kind == tools::FrameKind::icmp_error) {
      auto const& icmp = decoded.icmp;
      auto const found = index.find(key_of(icmp.quoted_source, icmp.quoted_destination));
      if (found != index.end()) {
        out.flows[found->second].errors.push_back(std::move(decoded.icmp));
      }
    }
    if (decoded.kind != tools::FrameKind::tcp) {
      continue;
    }
    kept += sizeof(Segment) + decoded.segment.payload.size() + decoded.segment.options.size();
    if (kept > bytes_max) {
      throw tools::Failure(
          tools::ExitCode::bad_input,
          fmt::format(
              "{}: packet {}: more TCP than fits into {} MiB; expected a smaller capture: "
              "cut it with editcap -r, or keep one connection with tcpdump -r {} -w one.pcap "
              "'port N'",
              path, frame.number, bytes_max >> 20, path));
    }
    Key const key = key_of(decoded.segment.source, decoded.segment.destination);
    auto const [found, is_new] = index.try_emplace(key, out.flows.size());
    if (is_new) {
      out.flows.push_back({decoded.segment.source, decoded.segment.destination, {}, {}});
    }
    out.flows[found->second].segments.push_back(std::move(decoded.segment));
  }
  return out;
}

std::vector<std::string> normalise(Flow& flow) {
  std::vector<std::string> notes;
  if (std::size_t const copies = drop_copies(flow); copies != 0) {
    notes.push_back(fmt::format("packets captured twice, counted once: {}", copies));
  }
  if (sort_by_time(flow.segments)) {
    notes.emplace_back("the packets were put in order of time");
  }
  if (std::size_t const moved = restore_causes(flow); moved != 0) {
    notes.push_back(fmt::format("packets put before their answers: {}", moved));
  }
  return notes;
}

Endpoint choose_device(const Flow& flow) {
  for (const Segment& segment : flow.segments) {
    if (segment.any(tools::tcp_flag::syn)) {
      return segment.any(tools::tcp_flag::ack) ? segment.source : segment.destination;
    }
  }
  return flow.second;
}

}  // namespace lockstep::conformance
