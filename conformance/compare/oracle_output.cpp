// Judges what the device sends and what its program reads.
#include <fmt/core.h>

#include <algorithm>

#include "conformance/compare/oracle.hpp"
#include "core/units/hash.hpp"
#include "sim/checkers/rfc.hpp"

namespace lockstep::conformance::compare {

namespace referee = sim::referee;

void Oracle::left(Instant at, std::span<const std::byte> packet) {
  judge_owed(at);
  ++packets_;
  sim::SegmentView view;
  sim::FrameContent const content = sim::read_frame(LinkType::ip, packet, view);
  if (content == sim::FrameContent::malformed) {
    broken_.set(index_of(referee::Rule::tcp_checksum));
    details_[index_of(referee::Rule::tcp_checksum)] = "a checksum or a length is wrong";
  }
  if (content != sim::FrameContent::tcp) {
    return;
  }
  referee::Sighting said = sim::sighting_of(view, at);
  said.packet = packets_;
  if (place_.ours) {
    referee_.see_own(said, allowances_);
  } else {
    referee_.see(said);
  }
  wire::Segment const& segment = view.segment;
  Pair const pair{segment.source, segment.destination};
  bool const retransmits_syn =
      silence_ == CompareRule::syn_sent_answered && segment.flags.syn() && !segment.flags.ack();
  if (silence_ && silence_at_ == at && silent_ == pair && !retransmits_syn) {
    break_rule(*silence_, at, std::string(words_of_rule(index_of(*silence_))));
    silence_.reset();
  }
  bool const is_connection = pair == connection();
  if (segment.flags.rst()) {
    judge_reset(at, segment, pair);
  } else if (is_connection) {
    take_sent(at, segment);
  }
  if (!segment.flags.rst()) {
    settle_owed(segment, pair);
  }
}

/// A segment of the connection.
void Oracle::take_sent(Instant at, const wire::Segment& segment) {
  if (segment.flags.syn()) {
    if (!iss_) {
      iss_ = segment.sequence.value;
      scale_ = segment.options.has_window_scale ? segment.options.window_scale.shift : -1;
      stamps_ = segment.options.has_timestamps;
    }
    syn_window_ = segment.window.value;
  }
  if (!iss_) {
    return;
  }
  std::int64_t const begin = of_device(segment.sequence);
  std::int64_t const end = begin + segment.length().count;
  if (waits_for_ && begin <= *waits_for_ && *waits_for_ < end) {
    resent_ = true;
  }
  if (follows()) {
    judge_sent(at, segment);
  }
  nxt_ = std::max(nxt_, end);
  fin_left_ |= segment.flags.fin();
  if (segment.flags.ack() && irs_) {
    take_acknowledged(at, segment);
  }
}

void Oracle::judge_sent(Instant at, const wire::Segment& segment) {
  std::int64_t const begin = of_device(segment.sequence) + (segment.flags.syn() ? 1 : 0);
  auto const count = static_cast<std::int64_t>(segment.payload.size());
  std::int64_t const end = begin + count;
  if (segment.flags.fin() && (!finished_ || end != 1 + wrote_)) {
    break_rule(CompareRule::fin_too_early, at,
               fmt::format("its FIN is {}, the program {} after {} octets", end,
                           finished_ ? "finished" : "did not finish", wrote_));
  }
  // One octet may be a probe, with any value.
  if (count < 2 || begin < 1) {
    return;
  }
  if (end > 1 + wrote_) {
    break_rule(CompareRule::sends_unwritten, at,
               fmt::format("data ends at {}, the program wrote {} octets", end, wrote_));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (segment.payload[static_cast<std::size_t>(i)] !=
        compare_octet(static_cast<std::uint32_t>(begin - 1 + i))) {
      break_rule(CompareRule::sends_wrong_octets, at, fmt::format("octet {} differs", begin + i));
      return;
    }
  }
}

void Oracle::take_acknowledged(Instant at, const wire::Segment& segment) {
  std::int64_t const acked = of_tester(segment.acknowledgment);
  std::int64_t const last = end_of_stream();
  if (follows() && acked > last) {
    CompareRule const rule = reason_at(last, CompareRule::unsent_acknowledged);
    break_rule(rule, at, fmt::format("it acknowledges {}, expected {} at most", acked, last));
    lose();
  }
  acked_ = std::max(acked_, acked);
  bool const scaled = scale_ >= 0 && scale_of_tester_ >= 0 && !segment.flags.syn();
  edge_ = std::max(edge_, acked + (std::int64_t{segment.window.value} << (scaled ? scale_ : 0)));
  if (fin_left_ && fin_came() && acked_ == last) {
    lose();  // TIME-WAIT, or CLOSED
  }
}

void Oracle::accepted(Instant at) {
  if (phase_ == Phase::syn_received || phase_ == Phase::listen) {
    break_rule(CompareRule::opened_too_early, at, "accept() returns a connection");
    lose();
  }
}

void Oracle::wrote(std::uint64_t octets) {
  wrote_ += static_cast<std::int64_t>(octets);
  silence_.reset();
}

void Oracle::finished() {
  finished_ = true;
  silence_.reset();
}

void Oracle::closed() {
  finished();
  closed_ = true;
}

void Oracle::read(Instant at, std::string_view octets) {
  auto const count = static_cast<std::int64_t>(octets.size());
  if (follows() && irs_) {
    std::int64_t const last = end_of_stream() - (fin_came() ? 1 : 0);
    if (1 + read_ + count > last) {
      break_rule(reason_at(end_of_stream(), CompareRule::delivers_too_much), at,
                 fmt::format("{} octets were read, expected {} at most", read_ + count, last - 1));
      lose();
    }
    for (std::int64_t i = 0; follows() && i < count; ++i) {
      std::uint32_t const number = *irs_ + static_cast<std::uint32_t>(1 + read_ + i);
      if (static_cast<std::byte>(octets[static_cast<std::size_t>(i)]) != compare_octet(number)) {
        break_rule(CompareRule::delivers_wrong_octets, at,
                   fmt::format("octet {} differs", read_ + i));
        break;
      }
    }
  }
  read_ += count;
}

void Oracle::read_end(Instant at) {
  if (phase_ == Phase::open && !reset_left_ && !fin_came()) {
    break_rule(reason_at(end_of_stream(), CompareRule::ends_too_early), at, "receive() returns 0");
    lose();
  }
}

void Oracle::drained(Instant at) {
  std::int64_t const text = acked_ - 1 - (fin_came() && acked_ == end_of_stream() ? 1 : 0);
  if (phase_ == Phase::open && !closed_ && !reset_left_ && text > read_) {
    break_rule(CompareRule::acknowledged_lost, at,
               fmt::format("{} octets were acknowledged, {} could be read", text, read_));
  }
}

bool Oracle::awaits_retransmission() {
  if (phase_ == Phase::open && una_sure_ && una_ < nxt_ && !small_windows_ && !closed_ &&
      !reset_left_) {
    waits_for_ = una_;
  }
  return waits_for_.has_value();
}

void Oracle::end(Instant at) {
  judge_owed(at);
  if (waits_for_ && !resent_ && !reset_left_) {
    break_rule(CompareRule::never_retransmitted, at,
               fmt::format("octet {} was not acknowledged", *waits_for_));
  }
  referee_.end();
  for (referee::Violation const& violation : violations_.kept()) {
    if (violation.speaker.address == place_.device.address &&
        violation.certainty() == referee::Certainty::certain) {
      std::size_t const index = index_of(violation.rule);
      referee::RuleText const& text = referee::text_of(violation.rule);
      broken_.set(index);
      details_[index] =
          fmt::format("at {} ms: {}{}", violation.at.ns / 1'000'000, text.words,
                      text.found.empty() ? ""
                                         : fmt::format(" ({} {}, {} {})", text.expected,
                                                       violation.numbers.expected, text.found,
                                                       violation.numbers.found));
    }
  }
}

std::string Oracle::detail_of(std::size_t rule) const {
  auto const found = details_.find(rule);
  return found == details_.end() ? "" : found->second;
}

std::uint64_t Oracle::outcome() const {
  Fingerprint out;
  for (std::int64_t const number : {acked_, nxt_, read_, wrote_}) {
    out.add(static_cast<std::uint64_t>(number));
  }
  out.add((reset_left_ ? 1U : 0U) | (fin_left_ ? 2U : 0U) | (ended_ ? 4U : 0U));
  return out.value();
}

}  // namespace lockstep::conformance::compare
