// What the TCP under replay has sent, and how the capture's sequence numbers relate to its own.
#include "conformance/replay/played_numbers.hpp"

#include "conformance/replay/circle.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {

using tools::Segment;
namespace flag = tools::tcp_flag;

void PlayedNumbers::add(const Segment& segment, std::uint32_t window_bytes) {
  if (segment.any(flag::syn) && (isns_.empty() || isns_.back() != segment.sequence)) {
    isns_.push_back(segment.sequence);
    highest_ = segment.sequence;
  }
  if (before(highest_, segment.end())) {
    highest_ = segment.end();
  }
  std::uint32_t const edge = segment.acknowledgment + window_bytes;
  bool const offers = segment.any(flag::ack) && !segment.any(flag::rst);
  if (offers && (!edge_known_ || segment.any(flag::syn) || before(edge_, edge))) {
    edge_ = edge;
    edge_known_ = true;
  }
  sent_[incarnation()].add(segment.sequence, segment.length(), count_++);
}

std::uint32_t PlayedNumbers::as_played(std::uint32_t number, std::uint32_t incarnation) const {
  if (incarnation == 0 || isns_.size() < incarnation) {
    return number;
  }
  return number - script_.isns[incarnation - 1] + isns_[incarnation - 1];
}

std::uint32_t PlayedNumbers::times_sent(std::uint32_t number, std::uint32_t incarnation) const {
  auto const found = sent_.find(incarnation);
  std::size_t const count = found == sent_.end() ? 0 : found->second.count(number, count_);
  return static_cast<std::uint32_t>(count);
}

std::vector<Block> PlayedNumbers::played_blocks(const Step& step,
                                                const std::vector<Block>& captured) const {
  bool const exact = script_.comparison == Comparison::exact;
  bool const duplicate = reports_duplicate(step.segment.acknowledgment, captured);
  std::vector<Block> out;
  for (const Block& block : captured) {
    Block played{as_played(block.left, step.incarnation), as_played(block.right, step.incarnation)};
    if (!exact) {
      played.right = before(highest_, played.right) ? highest_ : played.right;
      bool const once =
          &block == &captured.front() && duplicate && times_sent(played.left, step.incarnation) < 2;
      if (once || !before(played.left, played.right)) {
        continue;
      }
    }
    out.push_back(played);
  }
  return out;
}

bool PlayedNumbers::met(const Step& step, const Need& need) const {
  if (need.kind == Need::Kind::right_edge) {
    return edge_known_ && at_or_before(need.sequence, edge_);
  }
  if (!knows(step.incarnation)) {
    return false;
  }
  std::uint32_t const number = as_played(need.sequence, step.incarnation);
  bool const counts = need.kind == Need::Kind::transmitted ||
                      (need.kind == Need::Kind::triggered && need.times != 1);
  return counts ? times_sent(number, step.incarnation) >= need.times
                : at_or_before(number, highest_);
}

void set_echo(Segment& segment, std::uint32_t echo) {
  auto const place = place_of_option(segment, option_kind::timestamps);
  if (place && stamps_of(segment)) {
    tools::set_word(segment.options, *place + 4, static_cast<std::uint16_t>(echo >> 16));
    tools::set_word(segment.options, *place + 6, static_cast<std::uint16_t>(echo));
  }
}

}  // namespace lockstep::conformance
