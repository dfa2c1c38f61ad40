// SACK: blocks required for out-of-order and duplicate data, and retransmissions that they prevent.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "conformance/replay/audit.hpp"
#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

/// After this time without progress a timeout may have made the sender discard the SACK
/// information.
constexpr Duration forgetting = Duration::milliseconds(190);

/// A set of octets as disjoint ranges of offsets that do not touch.
class Ranges {
 public:
  void clear() { ranges_.clear(); }
  void add(std::int64_t begin, std::int64_t end) {
    for (auto at = ranges_.begin(); at != ranges_.end();) {
      if (at->first <= end && begin <= at->second) {
        begin = std::min(begin, at->first);
        end = std::max(end, at->second);
        at = ranges_.erase(at);
      } else {
        ++at;
      }
    }
    ranges_[begin] = end;
  }
  bool holds(std::int64_t begin, std::int64_t end) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& range) {
      return range.first <= begin && end <= range.second;
    });
  }
  /// The first part of [begin, end) that is in the set.
  std::optional<std::pair<std::int64_t, std::int64_t>> common(std::int64_t begin,
                                                              std::int64_t end) const {
    for (const auto& [from, to] : ranges_) {
      if (std::max(from, begin) < std::min(to, end)) {
        return std::pair{std::max(from, begin), std::min(to, end)};
      }
    }
    return std::nullopt;
  }
  /// The end of the range that contains `at`, or `at` itself if no range contains it.
  std::int64_t end_from(std::int64_t at) const {
    for (const auto& [from, to] : ranges_) {
      if (from <= at && at < to) {
        return to;
      }
    }
    return at;
  }

 private:
  std::map<std::int64_t, std::int64_t> ranges_;
};

/// What the next ACK must report about the last data that arrived.
struct Expected {
  std::uint64_t packet = 0;
  Block text;  ///< it arrived above a gap
  bool above = false;
  std::optional<Block> repeated;  ///< this part of it had arrived before
};

class SackAudit {
 public:
  SackAudit(const AuditInput& input, const Trace& trace) : in_(input), trace_(trace) {}

  std::vector<Breach> run() {
    if (in_.script.inferred) {
      return {};
    }
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      take_steps(trace_[i]);
      const Segment& segment = trace_[i].segment;
      if (segment.any(flag::rst)) {
        continue;
      }
      if (!in_.script.selective) {
        unpermitted(i);
      } else if (segment.any(flag::ack) && !segment.any(flag::syn)) {
        report(i);
        resent(i);
      }
      high_ = !opened_ || before(high_, segment.end()) ? segment.end() : high_;
      opened_ = true;
    }
    return std::move(breaches_);
  }

 private:
  void breach(std::size_t item, std::string_view clause, std::string text) {
    breaches_.push_back({trace_[item].at, {clause}, std::move(text), item, false});
  }

  void unpermitted(std::size_t item) {
    if (!blocks_of(trace_[item].segment).empty()) {
      breach(item, "2018:SACK-2", "SACK blocks to a peer that did not permit them");
    }
  }

  // --- The peer's segments ---

  void take_steps(const Item& item) {
    for (; steps_ < std::min(item.steps_before, in_.script.steps.size()); ++steps_) {
      const Step& step = in_.script.steps[steps_];
      const Reception::After& after = in_.reception.after[steps_];
      if (step.kind != Step::Kind::segment || step.segment.any(flag::rst) || after.refused ||
          !after.known) {
        continue;
      }
      if (step.segment.any(flag::syn)) {
        isn_ = step.segment.sequence;
        received_.clear();
        received_.add(0, 1);
      }
      take_text(step);
      take_reports(step);
    }
  }

  std::int64_t offset(std::uint32_t sequence) const {
    return std::int64_t{static_cast<std::int32_t>(sequence - isn_)};
  }

  Block block(std::int64_t begin, std::int64_t end) const {
    return {isn_ + static_cast<std::uint32_t>(begin), isn_ + static_cast<std::uint32_t>(end)};
  }

  void take_text(const Step& step) {
    if (step.segment.data_bytes() == 0 || step.segment.any(flag::syn)) {
      return;
    }
    std::int64_t const begin = offset(step.segment.sequence);
    std::int64_t const end = begin + step.segment.data_bytes();
    auto const common = received_.common(begin, end);
    std::int64_t const next = received_.end_from(0);
    received_.add(begin, end);
    unanswered_ += 1;
    expected_ = {step.packet, block(begin, end), begin > next, std::nullopt};
    if (common) {
      expected_.repeated = block(common->first, common->second);
    }
  }

  void take_reports(const Step& step) {
    if (!step.segment.any(flag::ack) || step.segment.any(flag::syn)) {
      return;
    }
    std::uint32_t const ack = step.segment.acknowledgment;
    if (!una_known_ || before(una_, ack)) {
      una_ = ack;
      una_known_ = true;
      una_at_ = step.at;
    }
    auto const blocks = blocks_of(step.segment);
    for (const Block& each : blocks) {
      if (before(ack, each.left) && before(each.left, each.right)) {
        std::int64_t const left = each.left;
        reported_.add(left, left + std::int64_t{each.right - each.left});
      }
    }
  }

  // --- The device's reports ---

  void report(std::size_t index) {
    bool const judged = unanswered_ == 1;
    unanswered_ = 0;
    const Segment& segment = trace_[index].segment;
    auto const blocks = blocks_of(segment);
    bool const twice = reports_duplicate(segment.acknowledgment, blocks);
    if (judged && in_.config.tcp.dsack && expected_.repeated && !repeated(index, blocks)) {
      return;
    }
    for (std::size_t i = twice ? 1 : 0; i < blocks.size(); ++i) {
      if (!received_.holds(offset(blocks[i].left), offset(blocks[i].right))) {
        return breach(index, judged && expected_.above && i == 0 ? "2018:SACK-5" : "2018:SACK-14",
                      fmt::format("block {} reports data that had not arrived", i + 1));
      }
    }
    bool const said = in_.config.tcp.dsack && expected_.repeated;
    if (judged && !said && expected_.above) {
      above(index, blocks);
    } else if (judged && !said && twice) {
      breach(index, "2883:DSACK-3", "reports data as duplicate that arrived once");
    }
  }

  /// Returns whether the report of duplicates is correct.
  bool repeated(std::size_t index, const std::vector<Block>& blocks) {
    const Block& duplicate = *expected_.repeated;
    bool const below = at_or_before(duplicate.right, trace_[index].segment.acknowledgment);
    if (blocks.empty()) {
      breach(index, below ? "2883:DSACK-7" : "2883:DSACK-1",
             fmt::format("does not report that data of packet {} arrived twice", expected_.packet));
    } else if (blocks.front().left != duplicate.left || blocks.front().right != duplicate.right) {
      breach(index, "2883:DSACK-1",
             fmt::format("the first block is not the part of packet {} that arrived twice",
                         expected_.packet));
    } else if (!below && (blocks.size() < 2 || before(duplicate.left, blocks[1].left) ||
                          before(blocks[1].right, duplicate.right))) {
      breach(index, "2883:DSACK-4", "the second block does not contain the duplicate data");
    } else {
      return true;
    }
    return false;
  }

  void above(std::size_t index, const std::vector<Block>& blocks) {
    if (blocks.empty()) {
      breach(index, "2018:SACK-3",
             fmt::format("no SACK of packet {}, whose data is above a gap", expected_.packet));
    } else if (before(expected_.text.left, blocks.front().left) ||
               before(blocks.front().right, expected_.text.right)) {
      breach(index, "2018:SACK-5",
             fmt::format("the first block does not contain packet {}, which caused the ACK",
                         expected_.packet));
    }
  }

  /// Data inside a reported block is not retransmitted unless a timeout may have discarded the
  /// report.
  void resent(std::size_t index) {
    const Item& item = trace_[index];
    bool const again = item.segment.data_bytes() != 0 && before(item.segment.sequence, high_);
    if (una_known_ && item.at.since(una_at_) >= forgetting) {
      reported_.clear();
    }
    std::int64_t const begin = item.segment.sequence;
    if (again && una_known_ && before(una_, item.segment.sequence) &&
        reported_.holds(begin, begin + item.segment.data_bytes())) {
      breach(index, "2018:SACK-18", "retransmitted although the peer had reported it by SACK");
    }
  }

  const AuditInput& in_;
  const Trace& trace_;
  std::vector<Breach> breaches_;
  Ranges received_;  ///< offsets from the peer's initial sequence number
  Ranges reported_;  ///< in the device's own sequence numbers
  Expected expected_;
  std::size_t steps_ = 0, unanswered_ = 0;
  std::uint32_t isn_ = 0, una_ = 0, high_ = 0;
  Instant una_at_;
  bool una_known_ = false, opened_ = false;
};

}  // namespace

std::vector<Breach> audit_selective(const AuditInput& input, const Trace& trace) {
  return SackAudit(input, trace).run();
}

}  // namespace lockstep::conformance
