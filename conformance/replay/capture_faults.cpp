// Finds packets that a capture lost and sequence numbers of other connections.
#include "conformance/replay/capture_faults.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "conformance/replay/circle.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

/// The octets of one side that the capture holds. A new SYN starts over.
class Coverage {
 public:
  /// `index` orders the segments in time.
  void add(const Segment& segment, std::size_t index) {
    if (segment.any(flag::rst)) {
      return;
    }
    // A SYN with the same number is a retransmission, or a late copy.
    if (segment.any(flag::syn) && begin_ != segment.sequence) {
      begin_ = segment.sequence;
      begun_at_ = index;
      ranges_.clear();
    }
    if (begin_ && segment.length() != 0) {
      std::uint32_t const from = segment.sequence - *begin_;
      std::uint32_t& to = ranges_[from];
      to = std::max(to, from + segment.length());
    }
  }

  /// Computes where the first missing octet is. Call it after all segments have been added.
  void settle() {
    std::uint32_t reached = 0;
    for (const auto& [from, to] : ranges_) {
      if (from > reached) {
        break;
      }
      reached = std::max(reached, to);
    }
    end_ = begin_ ? std::optional(*begin_ + reached) : std::nullopt;
  }

  /// Whether the segment belongs to an earlier connection, as the ACK with which a host answers the
  /// SYN of one that has started again (RFC 9293, 3.5.1).
  bool is_before(std::size_t index) const { return begin_ && index < begun_at_; }

  bool is_passed_by(const Segment& segment) const {
    return end_ && segment.any(flag::ack) && !segment.any(flag::rst) &&
           before(*end_, segment.acknowledgment);
  }

 private:
  std::optional<std::uint32_t> begin_, end_;
  std::size_t begun_at_ = 0;
  std::map<std::uint32_t, std::uint32_t> ranges_;
};

/// Whether the segment is an ACK of an old connection, with which its sender answers a SYN, and
/// which the other side resets (RFC 9293, 3.5.1): no SYN of the sender lies between the two.
bool is_half_open(const std::vector<Segment>& all, std::size_t at) {
  const Segment& ack = all[at];
  bool asked = false;
  for (std::size_t i = at; i > 0 && !asked; --i) {
    if (all[i - 1].source == ack.source && all[i - 1].any(flag::syn)) {
      return false;
    }
    asked = all[i - 1].source == ack.destination && all[i - 1].any(flag::syn) &&
            !all[i - 1].any(flag::ack);
  }
  return asked && std::any_of(all.begin() + static_cast<std::ptrdiff_t>(at), all.end(),
                              [&](const Segment& reset) {
                                return reset.source == ack.destination && reset.any(flag::rst) &&
                                       !reset.any(flag::ack) &&
                                       reset.sequence == ack.acknowledgment;
                              });
}

/// Finds an acknowledgment of data that is not in the capture.
std::string lost(const Flow& flow, const Endpoint& device) {
  Coverage ours;
  Coverage theirs;
  const std::vector<Segment>& all = flow.segments;
  for (std::size_t i = 0; i < all.size(); ++i) {
    (is_from(all[i], device) ? ours : theirs).add(all[i], i);
  }
  ours.settle();
  theirs.settle();
  for (bool const by_device : {true, false}) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      bool const old = ours.is_before(i) || theirs.is_before(i);
      bool const beyond = (by_device ? theirs : ours).is_passed_by(all[i]);
      if (is_from(all[i], device) == by_device && beyond && !old && !is_half_open(all, i)) {
        return fmt::format(
            "the capture lost packets of the {}: packet {} acknowledges what it "
            "does not hold",
            by_device ? "peer" : "device", all[i].number);
      }
    }
  }
  return {};
}

/// Finds device packets that were lost or reordered before the capture point: a TCP sends new data
/// in order, and its acknowledgment numbers never decrease.
std::string disorder(const Flow& flow, const Endpoint& device) {
  std::optional<std::uint32_t> begin;
  std::optional<std::uint32_t> next;
  std::optional<std::uint32_t> acknowledged;
  Instant acknowledged_at;
  constexpr Duration moment = Duration::microseconds(100);
  for (const Segment& segment : flow.segments) {
    if (!is_from(segment, device) || segment.any(flag::rst)) {
      continue;
    }
    if (segment.any(flag::syn) && begin != segment.sequence) {
      begin = segment.sequence;
      next = segment.end();
      acknowledged.reset();
    } else if (next && segment.length() != 0) {
      if (before(*next, segment.sequence)) {
        return fmt::format(
            "packets of the device were lost or overtaken before they were "
            "captured: packet {} leaves a gap",
            segment.number);
      }
      next = before(*next, segment.end()) ? segment.end() : *next;
    }
    if (segment.any(flag::ack)) {
      bool const back = acknowledged && before(segment.acknowledgment, *acknowledged);
      if (back && segment.time.since(acknowledged_at) <= moment) {
        continue;  // recorded out of order
      }
      if (back) {
        return fmt::format(
            "packets of the device were overtaken before they were captured: packet "
            "{} acknowledges less than one before it",
            segment.number);
      }
      acknowledged = segment.acknowledgment;
      acknowledged_at = segment.time;
    }
  }
  return {};
}

/// Finds that the two directions were recorded by clocks that differ, or far out of order: a packet
/// comes long behind one that acknowledges it.
std::string clocks(const Flow& flow) {
  constexpr Duration clocks_late = Duration::milliseconds(5);
  struct Way {
    std::optional<std::uint32_t> sent;  ///< SND.NXT as recorded
    const Segment* early = nullptr;     ///< the first segment that acknowledges more
  };
  std::map<Endpoint, Way> ways;
  for (const Segment& segment : flow.segments) {
    if (segment.any(flag::rst) || segment.sum == tools::SumState::bad) {
      continue;
    }
    Way& way = ways[segment.source];
    bool const begins = segment.any(flag::syn) && !way.sent;
    bool const news = begins || (way.sent && before(*way.sent, segment.end()));
    if (news && way.early != nullptr && at_or_before(way.early->acknowledgment, segment.end()) &&
        before(segment.sequence, way.early->acknowledgment)) {
      if (segment.time.since(way.early->time) > clocks_late) {
        return fmt::format(
            "packet {} acknowledges packet {}, which was recorded long after it: the clocks of the "
            "two directions differ, or the packets are out of order",
            way.early->number, segment.number);
      }
      way.early = nullptr;
    }
    way.sent = news ? segment.end() : way.sent;
    Way& other = ways[segment.destination];
    bool const unheard =
        segment.any(flag::ack) && (!other.sent || before(*other.sent, segment.acknowledgment));
    if (unheard && other.early == nullptr && flow.segments.front().any(flag::syn)) {
      other.early = &segment;
    }
  }
  return {};
}

/// No window is larger (RFC 7323, 2.3): numbers further apart belong to another connection.
constexpr std::uint32_t reach = 1u << 30;

std::string strangers(const Flow& flow) {
  std::map<Endpoint, std::uint32_t> next;  // SND.NXT of each side since its SYN
  for (const Segment& segment : flow.segments) {
    auto const own = next.find(segment.source);
    if (segment.any(flag::syn)) {
      next[segment.source] = segment.end();
    } else if (own != next.end() && !segment.any(flag::rst)) {
      std::uint32_t const ahead = segment.end() - own->second;
      if (ahead > reach && 0u - ahead > reach) {
        return fmt::format("packet {} has a sequence number of another connection", segment.number);
      }
      own->second = before(own->second, segment.end()) ? segment.end() : own->second;
    }
    auto const other = next.find(segment.destination);
    if (other != next.end() && segment.any(flag::ack) && !segment.any(flag::rst)) {
      std::uint32_t const ahead = segment.acknowledgment - other->second;
      if (ahead > reach && 0u - ahead > reach) {
        return fmt::format("packet {} acknowledges a number of another connection", segment.number);
      }
    }
  }
  return {};
}

}  // namespace

std::string capture_fault(const Flow& flow, const Endpoint& device, bool strict) {
  std::string out = clocks(flow);
  out = out.empty() ? lost(flow, device) : out;
  if (out.empty() && strict) {
    out = disorder(flow, device);
  }
  return out.empty() && strict ? strangers(flow) : out;
}

}  // namespace lockstep::conformance
