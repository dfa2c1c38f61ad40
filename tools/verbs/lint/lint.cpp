// Feeds a capture to the referee segment by segment, after a first pass over its checksums.
#include "tools/verbs/lint/lint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/wire/tcp_options.hpp"
#include "tools/base/capture/octets.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/lint/copies.hpp"

namespace lockstep::tools {
namespace {

using namespace sim::referee;

/// Counts of one source's checksums by state.
struct Sums {
  std::uint64_t good = 0, bad = 0, partial = 0;
  bool good_text = false;  ///< a segment with data has a right one

  /// Offloaded to hardware: some are the pseudo-header's sum alone, or none of several is right.
  /// If few of them are neither, those packets may have been damaged before a second capture point.
  WrongSum wrong() const {
    bool const offloaded = partial != 0 || (good == 0 && bad > 2);
    bool const few = bad * 8 <= good + partial;
    return !offloaded ? WrongSum::damage : few ? WrongSum::either : WrongSum::offload;
  }
  /// Of segments larger than those of the wire. Hardware joins only what it has verified, and does
  /// not update the checksum. If no data has a right one, the capture may have been edited as well.
  WrongSum wrong_joined() const { return good_text ? WrongSum::joined : WrongSum::offload; }
};

using Address = std::pair<std::uint64_t, std::uint64_t>;
using SumsBySource = std::map<Address, Sums>;

Address key_of(const IpAddress& address) { return {address.high, address.low}; }

/// The first pass: facts about the whole capture.
class FirstLook {
 public:
  explicit FirstLook(Linted& out) : out_(out) {}

  void take(const Segment& segment, std::uint32_t interface) {
    ++out_.segments;
    times_.take(segment.time, interface);
    count_sum(segment);
    ++records_[std::min<std::size_t>(copies_.add(segment).before, copies_most)];
    take_sizes(segment);
  }

  void take_fragment(const Segment& fragment) {
    const auto pair = std::pair(fragment.source.address, fragment.destination.address);
    // In a tunnel the addresses are unknown.
    unknown_ = unknown_ || pair.first == IpAddress{} || fragmented_.size() == places_max;
    if (!unknown_) {
      fragmented_.insert(pair);
    }
  }

  void end() {
    for (const auto& [what, count] : large_) {
      const auto& [from, to, size] = what;
      out_.joined += size > largest_of(from, to) ? count : 0;
    }
  }

  const Times& times() const { return times_; }
  /// Whether TCP was fragmented from one address to the other.
  bool has_fragments(const IpAddress& from, const IpAddress& to) const {
    return fragmented_.contains({from, to});
  }
  /// Whether there are fragments that may belong to any connection.
  bool has_fragments_of_unknown() const { return unknown_; }
  /// How many copies the capture holds of each packet, or at least of every second one.
  std::uint32_t copies_of_each() const {
    std::uint32_t each = 0;
    while (each < copies_most && records_[each + 1] * 2 >= records_[0] && out_.segments > 2) {
      ++each;
    }
    return each;
  }
  bool has(const IpAddress& source) const {
    return sums_.contains(key_of(source)) || sums_.size() == places_max;
  }
  /// What a wrong checksum means; either, if there were too many sources to count.
  WrongSum wrong_sum(const Segment& segment) const {
    const Address from = key_of(segment.source.address);
    const auto found = sums_.find(from);
    if (found == sums_.end()) {
      return WrongSum::either;
    }
    const bool joined =
        segment.data_bytes() > mss_ethernet &&
        segment.data_bytes() > largest_of(from, key_of(segment.destination.address));
    return joined ? found->second.wrong_joined() : found->second.wrong();
  }

 private:
  /// What a segment holds on Ethernet: one that is not longer was not joined.
  static constexpr std::uint32_t mss_ethernet = 1'460;
  /// Sources, and pairs with fragments, that are told apart.
  static constexpr std::size_t places_max = std::size_t{1} << 20;
  static constexpr std::size_t sizes_max = std::size_t{1} << 16;

  void count_sum(const Segment& segment) {
    const auto key = key_of(segment.source.address);
    auto found = sums_.find(key);
    if (found == sums_.end() && sums_.size() < places_max) {
      found = sums_.emplace(key, Sums{}).first;
    }
    if (found != sums_.end()) {
      const bool good = segment.sum == SumState::good;
      found->second.good += good ? 1u : 0u;
      found->second.good_text = found->second.good_text || (good && segment.data_bytes() != 0);
      found->second.bad += segment.sum == SumState::bad ? 1u : 0u;
      found->second.partial += segment.sum == SumState::partial ? 1u : 0u;
    }
  }

  /// A host's own SYNs say what its interface carries; another's are of another interface.
  void take_sizes(const Segment& segment) {
    const Address from = key_of(segment.source.address);
    for (const TcpOption& option : options_of(segment)) {
      const bool known = mss_most_.size() < places_max || mss_most_.contains(from);
      if (option.kind == 2 && option.data.size() == 2 && known) {
        std::uint32_t& most = mss_most_[from];
        most = std::max<std::uint32_t>(most, word_at(option.data, 0));
      }
    }
    if (segment.data_bytes() > mss_ethernet) {
      const std::tuple what(from, key_of(segment.destination.address), segment.data_bytes());
      // Of further ones it is not known.
      const bool room = large_.size() < sizes_max || large_.contains(what);
      ++(room ? large_[what] : out_.joined);
    }
  }

  std::uint32_t mss_of(const Address& address) const {
    const auto found = mss_most_.find(address);
    return std::max(mss_ethernet, found == mss_most_.end() ? 0 : found->second);
  }

  /// The most data of a segment that was not joined.
  std::uint32_t largest_of(const Address& from, const Address& to) const {
    return std::min(mss_of(from), mss_of(to));
  }

  static constexpr std::uint32_t copies_most = 8;

  Linted& out_;
  Times times_;
  SumsBySource sums_;
  std::set<std::pair<IpAddress, IpAddress>> fragmented_;
  bool unknown_ = false;
  Copies copies_{Copies::any_number};
  std::array<std::uint64_t, copies_most + 1> records_{};  // by the number of those before it
  std::map<Address, std::uint32_t> mss_most_;             ///< of each source's SYNs
  /// How many segments have more data, by source, destination and size.
  std::map<std::tuple<Address, Address, std::uint32_t>, std::uint64_t> large_;
};

FirstLook first_look(const std::string& path, Linted& out) {
  FirstLook look(out);
  CaptureReader reader(path);
  CapturedFrame frame;
  while (reader.next(frame)) {
    ++out.packets;
    Decoded const decoded = decode(frame, reader.link());
    ++out.kinds[static_cast<std::size_t>(decoded.kind)];
    if (decoded.kind == FrameKind::tcp) {
      look.take(decoded.segment, reader.interface());
    } else if (decoded.kind == FrameKind::fragment) {
      look.take_fragment(decoded.segment);
    }
  }
  out.warning = reader.warning();
  look.end();
  out.order = look.times().order();
  return look;
}

Sum sum_of(SumState state, WrongSum wrong) {
  switch (state) {
    case SumState::good:
      return Sum::good;
    case SumState::bad:
      return wrong == WrongSum::damage    ? Sum::bad
             : wrong == WrongSum::offload ? Sum::unfilled
             : wrong == WrongSum::joined  ? Sum::partial
                                          : Sum::unknown;
    case SumState::partial:
      return Sum::partial;
    case SumState::unverifiable:
      break;
  }
  return Sum::unknown;
}

/// The violation of a malformed header. Certain only if the checksum is right: else octets may have
/// changed on the way.
Violation malformed_violation(const CapturedFrame& frame, const Decoded& decoded) {
  Violation violation;
  bool const right = decoded.segment.number != 0 && decoded.segment.sum == SumState::good;
  violation.ambiguity = right ? Ambiguity::none : Ambiguity::damaged;
  violation.rule = Rule::header_length;
  violation.packet = frame.number;
  violation.at = frame.time;
  return violation;
}

// Including those only counted in `more`.
std::uint64_t count_sure(const std::vector<Violation>& violations, Certainty certainty) {
  std::uint64_t count = 0;
  for (const Violation& violation : violations) {
    count += violation.certainty() == certainty ? 1 + violation.more : 0;
  }
  return count;
}

}  // namespace

std::uint64_t Linted::certain() const { return count_sure(violations, Certainty::certain); }
std::uint64_t Linted::likely() const { return count_sure(violations, Certainty::likely); }
std::uint64_t Linted::notes() const { return count_sure(violations, Certainty::note); }

std::uint64_t Linted::without_place() const {
  return violations.size() + beyond - (certain() + likely() + notes());
}

Sighting sighting_of(const Segment& segment, WrongSum wrong) {
  Sighting out;
  out.packet = segment.number;
  out.at = segment.time;
  out.source = segment.source;
  out.destination = segment.destination;
  out.segment.source = segment.source.port;
  out.segment.destination = segment.destination.port;
  out.segment.sequence = {segment.sequence};
  out.segment.acknowledgment = {segment.acknowledgment};
  out.segment.flags = {segment.flags};
  out.segment.window = {segment.window};
  out.segment.urgent = segment.urgent;
  out.segment.payload = segment.payload;
  out.cut = {segment.missing};
  out.options = segment.options;
  out.options_good = wire::parse(segment.options, out.segment.options) == Drop::none;
  if (!out.options_good) {
    out.segment.options = {};
  }
  out.reserved = segment.reserved;
  out.ecn = segment.traffic_class & 3u;
  out.hop_limit = segment.hop_limit;
  out.identification = segment.identification;
  out.network = segment.network;
  out.sum = sum_of(segment.sum, wrong);
  out.ip_sum = sum_of(segment.header_sum, wrong);
  return out;
}

namespace {

/// Rejects --at addresses that do not occur in the capture, which would have no effect.
void expect_places(const LintOptions& options, const FirstLook& look) {
  for (const IpAddress& place : options.at) {
    if (!look.has(place)) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}: no TCP segment from {}, expected the address at which it was "
                                "captured: leave --at out to list the senders",
                                options.capture, text_of(place)));
    }
  }
}

/// Octets of TCP may be in frames that were cut short, and in fragments, also where no packet is
/// missing.
void weaken_what_is_hidden(const Linted& out, const FirstLook& look, Violations& violations) {
  if (out.kinds[static_cast<std::size_t>(FrameKind::cut_short)] != 0) {
    violations.weaken_all(Ambiguity::cut);
  }
  if (look.has_fragments_of_unknown()) {
    violations.weaken_all(Ambiguity::cut);
  }
  violations.weaken_between(
      [&](const IpAddress& one, const IpAddress& other) {
        return look.has_fragments(one, other) || look.has_fragments(other, one);
      },
      Ambiguity::cut);
}

Terms terms_of(const LintOptions& options, const Linted& looked) {
  Terms out;
  out.whole = options.whole && looked.order != FileOrder::unknown;
  out.deployed = true;
  out.joined = looked.joined != 0;
  out.rto_min = options.rto_min;
  out.mss_least = mss_floor_deployed;
  return out;
}

/// Findings are added in the order in which packets are judged; several of a packet keep theirs.
std::vector<Violation> in_file_order(const std::vector<Violation>& all) {
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (const Violation& each : all) {
    order.emplace_back(each.packet, order.size());
  }
  std::sort(order.begin(), order.end());
  std::vector<Violation> out;
  for (const auto& [packet, index] : order) {
    out.push_back(all[index]);
  }
  return out;
}

/// The second pass: feeds segments to the referee.
class SecondLook {
 public:
  SecondLook(const LintOptions& options, const FirstLook& look, Linted& out, Referee& referee)
      : options_(options),
        look_(look),
        out_(out),
        referee_(referee),
        copies_(look.copies_of_each()),
        doubled_(look.copies_of_each() != 0) {
    // A packet is captured at its host only after its next hop was resolved.
    own_.unsent = false;
  }

  void take(const Segment& segment) {
    const IpAddress source = segment.source.address;
    Sighting said = sighting_of(segment, look_.wrong_sum(segment));
    const Copies::Record record = copies_.add(segment);
    said.copy = record.before != 0;
    said.equal = record.equal && doubled_;
    out_.copies += said.copy ? 1u : 0u;
    if (std::find(options_.at.begin(), options_.at.end(), source) != options_.at.end()) {
      referee_.see_own(said, own_);
    } else {
      referee_.see(said);
    }
  }

 private:
  const LintOptions& options_;
  const FirstLook& look_;
  Linted& out_;
  Referee& referee_;
  Allowances own_;
  Copies copies_;
  bool doubled_;  ///< the capture holds most packets several times
};

/// Reads the frames of the first pass again, and gives out their segments in order of time if that
/// is known. False if some were not in order.
bool second_look(CaptureReader& reader, Linted& out, SecondLook& look, const Times& times,
                 Violations& violations) {
  bool const sorts = out.order == FileOrder::sorted_here;
  TimeOrder order(times.late_most());
  CapturedFrame frame;
  Segment segment;
  // The first pass knows nothing of packets that were appended since. This one does not read up to
  // where the file is truncated.
  for (std::uint64_t i = 0; i < out.packets && reader.next(frame); ++i) {
    Decoded decoded = decode(frame, reader.link());
    if (decoded.kind == FrameKind::malformed) {
      violations.add(malformed_violation(frame, decoded));
    }
    if (decoded.kind == FrameKind::tcp && !sorts) {
      look.take(decoded.segment);
    } else if (decoded.kind == FrameKind::tcp) {
      order.put(std::move(decoded.segment));
    }
    while (order.take(segment)) {
      look.take(segment);
    }
  }
  order.end();
  while (order.take(segment)) {
    look.take(segment);
  }
  return !order.failed();
}

}  // namespace

Linted lint(const LintOptions& options) { return lint(options, options.capture); }

Linted lint(const LintOptions& options, const std::string& grown) {
  Linted out;
  FirstLook const look = first_look(options.capture, out);
  expect_tcp(options.capture, out.packets, out.kinds);
  expect_places(options, look);
  Terms const terms = terms_of(options, out);
  Violations violations(terms.violations_max);
  Referee referee(terms, violations);
  SecondLook second(options, look, out, referee);
  CaptureReader reader(grown);
  bool const in_order = second_look(reader, out, second, look.times(), violations);
  referee.end();
  weaken_what_is_hidden(out, look, violations);
  if (!in_order) {
    out.order = FileOrder::unknown;
    violations.weaken_all(Ambiguity::order);
  }
  out.violations = in_file_order(violations.kept());
  out.beyond = violations.dropped();
  out.connections = referee.connections();
  out.unjudged = referee.unjudged();
  return out;
}

}  // namespace lockstep::tools
