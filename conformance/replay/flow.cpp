// Splits a capture into TCP flows and handles duplicates, reordering and super-segments.
#include "conformance/replay/flow.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"
#include "conformance/replay/transmissions.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;

using Key = std::pair<Endpoint, Endpoint>;

Key key_of(const Endpoint& a, const Endpoint& b) { return a < b ? Key{a, b} : Key{b, a}; }

/// Whether a capture shows the two as the same packet.
bool is_copy(const Segment& earlier, const Segment& later) {
  constexpr Duration window = Duration::milliseconds(1);
  return earlier.identification == later.identification && earlier.source == later.source &&
         earlier.sequence == later.sequence && earlier.acknowledgment == later.acknowledgment &&
         earlier.flags == later.flags && earlier.window == later.window &&
         earlier.options == later.options && earlier.payload == later.payload &&
         later.time.since(earlier.time) <= window;
}

/// For each segment, the number of identical segments captured just before it.
std::vector<std::size_t> find_likes(const Flow& flow) {
  constexpr std::size_t reach = 64;
  std::vector<std::size_t> likes(flow.segments.size());
  for (std::size_t i = 0; i < flow.segments.size(); ++i) {
    for (std::size_t back = 1; back <= std::min(i, reach); ++back) {
      if (is_copy(flow.segments[i - back], flow.segments[i])) {
        likes[i] = likes[i - back] + 1;
        break;
      }
    }
  }
  return likes;
}

/// How many copies of each packet the capture has: the number that three quarters of them reach.
std::size_t copies_of_each(const std::vector<std::size_t>& likes) {
  constexpr std::size_t most = 8;
  std::array<std::size_t, most + 1> as_often{};  // number of packets that occur at least this often
  for (std::size_t const like : likes) {
    ++as_often.at(std::min(like, most));
  }
  std::size_t times = 1;
  while (times < most && as_often.at(times) >= 2 && as_often.at(times) * 4 >= as_often[0] * 3) {
    ++times;
  }
  return times;
}

/// Drops duplicate packets if most packets are duplicated (a bridge and the interface below it, the
/// interface "any", a mirrored port). A network that duplicates packets duplicates only some, and
/// the receiver gets both.
std::size_t drop_copies(Flow& flow) {
  std::vector<std::size_t> const likes = find_likes(flow);
  std::size_t const times = copies_of_each(likes);
  std::size_t next = 0;
  return std::erase_if(flow.segments, [&](const Segment&) { return likes[next++] % times != 0; });
}

/// Acknowledgment numbers of a side, ordered by segment index: finds when a number was
/// acknowledged.
class Acknowledged {
 public:
  void take(const Segment& segment, std::size_t index) {
    if (!segment.any(tools::tcp_flag::ack) || segment.any(tools::tcp_flag::rst)) {
      return;
    }
    auto const ahead = static_cast<std::int32_t>(segment.acknowledgment - last_);
    if (steps_.empty() || ahead > 0) {
      at_ += steps_.empty() ? 0 : ahead;
      last_ = segment.acknowledgment;
      steps_.emplace_back(at_, index);
    }
  }
  /// The first segment that acknowledged up to `number`.
  std::optional<std::size_t> first_of(std::uint32_t number) const {
    std::int64_t const wanted = at_ + static_cast<std::int32_t>(number - last_);
    std::pair<std::int64_t, std::size_t> const least(wanted, 0);
    auto const found = std::lower_bound(steps_.begin(), steps_.end(), least);
    return found == steps_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::vector<std::pair<std::int64_t, std::size_t>> steps_;
  std::int64_t at_ = 0;
  std::uint32_t last_ = 0;
};

/// A segment with a wrong checksum was received if its receiver acknowledged it and no other copy
/// arrived. The packet was edited after capture, or the NIC computes the checksum. Acknowledgments
/// with a wrong checksum, whose number may be damaged, count only if their sender has no others.
std::size_t forgive_sums(Flow& flow) {
  std::array<Acknowledged, 2> acknowledged;
  std::array<Transmissions, 2> good;
  std::array<bool, 2> sound{};
  auto const side = [&](const Segment& segment) { return segment.source == flow.first ? 0u : 1u; };
  for (const Segment& segment : flow.segments) {
    bool const acks = segment.any(tools::tcp_flag::ack) && !segment.any(tools::tcp_flag::rst);
    sound.at(side(segment)) |=
        acks && segment.sum != tools::SumState::bad && !segment.any(tools::tcp_flag::syn);
  }
  for (std::size_t i = 0; i < flow.segments.size(); ++i) {
    const Segment& segment = flow.segments[i];
    if (segment.sum != tools::SumState::bad || !sound.at(side(segment))) {
      acknowledged.at(side(segment)).take(segment, i);
    }
    if (segment.sum != tools::SumState::bad) {
      good.at(side(segment)).add(segment.sequence, segment.length(), i);
    }
  }
  std::vector<std::size_t> empty;
  std::size_t proven = 0;
  std::size_t refuted = 0;
  for (std::size_t i = 0; i < flow.segments.size(); ++i) {
    Segment& segment = flow.segments[i];
    if (segment.sum != tools::SumState::bad) {
      continue;
    }
    if (segment.length() == 0) {
      empty.push_back(i);
      continue;
    }
    auto const seen = acknowledged.at(1 - side(segment)).first_of(segment.end());
    auto const other = good.at(side(segment)).first(segment.sequence);
    bool const received = seen && *seen > i && (!other || *other > *seen || *other < i);
    proven += received ? 1 : 0;
    refuted += !received && other ? 1 : 0;
    segment.sum = received ? tools::SumState::unverifiable : segment.sum;
  }
  // Segments without data are treated like the majority of the others.
  bool const edited = proven > refuted || (proven + refuted == 0 && empty.size() > 4);
  for (std::size_t const index : empty) {
    flow.segments[index].sum = edited ? tools::SumState::unverifiable : tools::SumState::bad;
  }
  return proven + (edited ? empty.size() : 0);
}

/// Whether `later` responds to something that only `earlier` can have reported.
bool answers(const Segment& later, const Segment& earlier) {
  bool const acknowledges = later.any(tools::tcp_flag::ack) && earlier.length() != 0 &&
                            later.acknowledgment == earlier.end();
  return later.source == earlier.destination && acknowledges;
}

/// How late each side's packets are recorded relative to the replies to them.
using Lateness = std::map<Endpoint, Duration>;

/// A separate recorder for one direction may be this late.
constexpr Duration late_most = Duration::milliseconds(25);
/// Without timestamps only few of its packets are known to be late, and what those say that are not
/// is taken for the truth.
constexpr Duration unstamped_late_most = Duration::milliseconds(5);

/// Whether `later` certainly answers `earlier`, which is recorded slightly after it. Among
/// neighbours the number is proof unless the echo is of an earlier packet; further apart the echoed
/// timestamp must match. What is
/// recorded long after it may be a retransmission of a segment that the capture lacks.
bool proves(const Segment& later, const Segment& earlier, bool near) {
  if (!answers(later, earlier) || earlier.time.since(later.time) > late_most) {
    return false;
  }
  auto const earlier_stamps = stamps_of(earlier);
  auto const later_stamps = stamps_of(later);
  if (!earlier_stamps || !later_stamps) {
    return (near || !later_stamps) && earlier.time.since(later.time) <= unstamped_late_most;
  }
  return near ? !before(later_stamps->echo, earlier_stamps->value)
              : later_stamps->echo == earlier_stamps->value;
}

/// Whether `later` echoes the timestamp of `earlier`, which is recorded slightly after it, or
/// within that side's known lateness. A segment that echoes nothing, as a SYN, has zero.
bool echoes(const Segment& later, const Segment& earlier, const Lateness& late) {
  auto const earlier_stamps = stamps_of(earlier);
  auto const later_stamps = stamps_of(later);
  if (!earlier_stamps || !later_stamps || later.source != earlier.destination ||
      later_stamps->echo != earlier_stamps->value || later_stamps->echo == 0 ||
      !later.any(tools::tcp_flag::ack)) {
    return false;
  }
  auto const known = late.find(earlier.source);
  Duration const moment = Duration::microseconds(100);
  return earlier.time.since(later.time) <= (known == late.end() ? moment : known->second + moment);
}

/// Moves a segment before its reply if the capture has them in the wrong order (two interfaces, two
/// queues, one direction recorded late). Only the first copy of a segment counts.
std::size_t restore_causes(Flow& flow) {
  constexpr std::size_t near = 4;
  constexpr std::size_t reach = 64;
  std::size_t moved = 0;
  auto& all = flow.segments;
  std::set<std::pair<Endpoint, std::uint32_t>> known;   // ends of the segments sent
  std::set<std::pair<Endpoint, std::uint32_t>> clocks;  // timestamps sent
  Lateness late;
  for (std::size_t at = 0; at < all.size(); ++at) {
    for (std::size_t cause = at + 1; cause < std::min(all.size(), at + reach + 1); ++cause) {
      bool const close = cause <= at + near;
      Duration const apart = all[cause].time.since(all[at].time);
      if (!close && apart > late_most) {
        break;
      }
      bool const data = proves(all[at], all[cause], close) &&
                        !known.contains({all[cause].source, all[cause].end()});
      auto const stamps = stamps_of(all[cause]);
      bool const stamp = stamps && echoes(all[at], all[cause], late) &&
                         !clocks.contains({all[cause].source, stamps->value});
      if (data || stamp) {
        auto const begin = all.begin() + static_cast<std::ptrdiff_t>(at);
        auto const end = all.begin() + static_cast<std::ptrdiff_t>(cause) + 1;
        Instant const time = all[at].time;
        if (data) {
          Duration& most = late[all[cause].source];
          most = std::max(most, apart);
        }
        std::rotate(begin, end - 1, end);
        all[at].time = earlier(all[at].time, time);
        ++moved;
      }
    }
    if (all[at].length() != 0) {
      known.emplace(all[at].source, all[at].end());
    }
    if (auto const stamps = stamps_of(all[at])) {
      clocks.emplace(all[at].source, stamps->value);
    }
  }
  return moved;
}

/// Sorts new data of one side that was recorded out of order within a short time.
std::size_t restore_order(Flow& flow) {
  constexpr std::size_t reach = 8;
  constexpr Duration moment = Duration::microseconds(100);
  std::size_t moved = 0;
  std::map<Endpoint, std::uint32_t> next;
  auto& all = flow.segments;
  for (std::size_t at = 0; at < all.size(); ++at) {
    auto const known = next.find(all[at].source);
    bool const above = known != next.end() && all[at].length() != 0 &&
                       !all[at].any(tools::tcp_flag::rst | tools::tcp_flag::syn) &&
                       before(known->second, all[at].sequence);
    for (std::size_t other = at + 1; above && other < std::min(all.size(), at + reach); ++other) {
      bool const fills = all[other].source == all[at].source && all[other].length() != 0 &&
                         all[other].sequence == known->second &&
                         all[other].time.since(all[at].time) <= moment;
      if (fills) {
        Instant const time = all[at].time;
        auto const begin = all.begin() + static_cast<std::ptrdiff_t>(at);
        auto const end = all.begin() + static_cast<std::ptrdiff_t>(other) + 1;
        std::rotate(begin, end - 1, end);
        all[at].time = time;
        ++moved;
        break;
      }
    }
    const Segment& segment = all[at];
    if (segment.any(tools::tcp_flag::syn) ||
        (next.contains(segment.source) && before(next[segment.source], segment.end()) &&
         !segment.any(tools::tcp_flag::rst))) {
      next[segment.source] = segment.end();
    }
  }
  return moved;
}

}  // namespace

bool is_from(const Segment& segment, const Endpoint& endpoint) {
  return segment.source == endpoint;
}

sim::referee::Passed passed(const Segment& segment) {
  return {segment.time,   {segment.sequence}, {segment.end()},        {segment.acknowledgment},
          segment.window, segment.flags,      segment.identification, segment.hop_limit};
}

void FilterProof::Common::take(const IpAddress& source, const IpAddress& destination) {
  if (!all_) {
    all_ = {source, destination};
  }
  for (IpAddress& address : *all_) {
    address = address == source || address == destination ? address : IpAddress{};
  }
}

bool FilterProof::Common::lacks(const IpAddress& host) const {
  return all_ && std::find(all_->begin(), all_->end(), host) == all_->end();
}

void FilterProof::take(const tools::Decoded& decoded) {
  const tools::Segment& segment = decoded.segment;
  not_ip_ |= decoded.kind == tools::FrameKind::not_ip;
  bool const error = decoded.kind == tools::FrameKind::icmp_error;
  bool const known = !segment.source.address.is_unspecified();
  if (known && (error || decoded.kind == tools::FrameKind::not_tcp)) {
    (error ? errors_ : others_).take(segment.source.address, segment.destination.address);
  }
}

bool FilterProof::is_unfiltered(const IpAddress& host) const {
  // "tcp or arp" is a filter that hides ICMP.
  return errors_.lacks(host) || (not_ip_ && others_.lacks(host));
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
  FilterProof filter;
  std::map<Key, std::size_t> index;
  std::uint64_t kept = 0;
  tools::CapturedFrame frame;
  auto const keep = [&](std::size_t bytes) {
    kept += bytes;
    if (kept > bytes_max) {
      throw tools::Failure(
          tools::ExitCode::bad_input,
          fmt::format(
              "{}: packet {}: more TCP than fits into {} MiB; expected a smaller capture: "
              "cut it with editcap -r, or keep one connection with tcpdump -r {} -w one.pcap "
              "'port N'",
              path, frame.number, bytes_max >> 20, path));
    }
  };
  std::optional<Instant> began;
  while (reader.next(frame)) {
    ++out.packets;
    began = began ? began : frame.time;
    tools::Decoded decoded = tools::decode(frame, reader.link());
    ++out.kinds[static_cast<std::size_t>(decoded.kind)];
    filter.take(decoded);
    if (decoded.kind == tools::FrameKind::icmp_error) {
      auto const& icmp = decoded.icmp;
      auto const found = index.find(key_of(icmp.quoted_source, icmp.quoted_destination));
      if (found != index.end()) {
        keep(sizeof(tools::IcmpError) + icmp.message.size());
        out.flows[found->second].errors.push_back(std::move(decoded.icmp));
      }
    }
    if (decoded.kind != tools::FrameKind::tcp) {
      continue;
    }
    keep(sizeof(Segment) + decoded.segment.payload.size() + decoded.segment.options.size());
    Key const key = key_of(decoded.segment.source, decoded.segment.destination);
    auto const [found, is_new] = index.try_emplace(key, out.flows.size());
    if (is_new) {
      out.flows.push_back({decoded.segment.source, decoded.segment.destination, {}, {}});
    }
    out.flows[found->second].segments.push_back(std::move(decoded.segment));
  }
  for (Flow& flow : out.flows) {
    flow.recorded_since = began;
    flow.unfiltered = {filter.is_unfiltered(flow.second.address),
                       filter.is_unfiltered(flow.first.address)};
  }
  out.warning = reader.warning();
  return out;
}

std::vector<std::string> normalise(Flow& flow, bool aided) {
  std::vector<std::string> notes;
  if (std::size_t const copies = drop_copies(flow); copies != 0) {
    notes.push_back(fmt::format("packets captured twice, counted once: {}", copies));
  }
  if (sort_by_time(flow.segments)) {
    notes.emplace_back("the packets were put in order of time");
  }
  if (std::size_t const moved = aided ? 0 : restore_order(flow); moved != 0) {
    notes.push_back(fmt::format("packets put before what follows them: {}", moved));
  }
  if (std::size_t const moved = restore_causes(flow); moved != 0) {
    flow.recorded_late = true;
    notes.push_back(fmt::format("packets put before their answers: {}", moved));
  }
  if (std::size_t const forgiven = aided ? 0 : forgive_sums(flow); forgiven != 0) {
    notes.push_back(fmt::format("packets with a wrong checksum, taken as received: {}", forgiven));
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
