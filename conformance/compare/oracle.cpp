// Follows the connection from what arrives: RFC 9293 3.10.7, as far as it leaves no choice.
#include "conformance/compare/oracle.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/checkers/rfc.hpp"

namespace lockstep::conformance::compare {
namespace {

namespace referee = sim::referee;

constexpr Duration reply_most = Duration::milliseconds(500);
constexpr std::uint16_t window_least = 1'000;

/// Every packet is seen, in order and unchanged; inferred findings do not count.
referee::Terms terms_of_compare() {
  referee::Terms out;
  out.whole = true;
  out.at_host = true;
  out.likely = false;
  out.others = false;
  out.connections_max = 64;
  out.violations_max = 64;
  out.kept_octets_max = 65'536;
  return out;
}

}  // namespace

Oracle::Oracle(const Place& place)
    : place_(place),
      violations_(terms_of_compare().violations_max),
      referee_(terms_of_compare(), violations_),
      phase_(place.opening == Opening::listens    ? Phase::listen
             : place.opening == Opening::connects ? Phase::syn_sent
                                                  : Phase::none) {
  allowances_.fast_open_client = allowances_.fast_open_server = false;
}

void Oracle::break_rule(CompareRule rule, Instant at, const std::string& what) {
  std::size_t const index = index_of(rule);
  if (!broken_.test(index)) {
    broken_.set(index);
    details_[index] = fmt::format("at {} ms: {}", at.ns / 1'000'000, what);
  }
}

std::int64_t Oracle::of_tester(Sequence number) const {
  return number.distance_from(Sequence{irs_.value_or(0)});
}

std::int64_t Oracle::of_device(Sequence number) const {
  return number.distance_from(Sequence{iss_.value_or(0)});
}

std::int64_t Oracle::end_of_stream() const {
  std::int64_t out = 1;
  for (bool more = true; more;) {
    more = false;
    for (Range const& range : ranges_) {
      if (!range.wrong && range.begin <= out && out < range.end) {
        out = range.end;
        more = true;
      }
    }
  }
  return out;
}

bool Oracle::fin_came() const {
  std::int64_t const end = end_of_stream();
  return std::ranges::any_of(
      ranges_, [end](const Range& range) { return range.fin && !range.wrong && range.end == end; });
}

CompareRule Oracle::reason_at(std::int64_t at, CompareRule otherwise) const {
  auto const is_below = [at](const Range& range) { return range.wrong && range.begin <= at; };
  // The latest segment is the likeliest.
  for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) {
    if (is_below(*range) && at < range->end) {
      return *range->wrong;
    }
  }
  auto const below = std::find_if(ranges_.rbegin(), ranges_.rend(), is_below);
  return below == ranges_.rend() ? otherwise : *below->wrong;
}

// --- what must come, and what must not ---

void Oracle::be_silent(CompareRule rule, Instant at, const Pair& pair) {
  silence_ = rule;
  silence_at_ = at;
  silent_ = pair;
}

void Oracle::owe(CompareRule rule, Answer answer, Instant at, std::int64_t acked) {
  expected_.push_back({rule, answer, at, at + reply_most + place_.grain, connection(), acked});
}

void Oracle::owe_reset(CompareRule rule, Instant at, const wire::Segment& segment,
                       const Pair& pair) {
  Expected out{rule, Answer::reset, at, at + reply_most + place_.grain, pair};
  out.has_ack = !segment.flags.ack();
  out.seq = segment.flags.ack() ? segment.acknowledgment.value : 0;
  out.ack = segment.end().value;
  expected_.push_back(out);
}

void Oracle::judge_owed(Instant at) {
  std::erase_if(expected_, [&](const Expected& expected) {
    if (expected.due < at) {
      break_rule(expected.rule, expected.since,
                 std::string(words_of_rule(index_of(expected.rule))));
    }
    return expected.due < at;
  });
}

void Oracle::settle_owed(const wire::Segment& segment, const Pair& pair) {
  std::erase_if(expected_, [&](const Expected& expected) {
    if (expected.pair != pair) {
      return false;
    }
    switch (expected.answer) {
      case Answer::reset:
        return false;
      case Answer::syn_ack:
        return segment.flags.syn() && segment.flags.ack();
      case Answer::ack:
        return segment.flags.ack() && of_tester(segment.acknowledgment) >= expected.acked;
      case Answer::any:
        break;
    }
    return true;
  });
}

void Oracle::judge_reset(Instant at, const wire::Segment& segment, const Pair& pair) {
  const auto is_for = [&](const Expected& expected) {
    return expected.answer == Answer::reset && expected.pair == pair;
  };
  const auto is_right = [&](const Expected& expected) {
    return is_for(expected) && segment.sequence.value == expected.seq &&
           (!expected.has_ack ||
            (segment.flags.ack() && segment.acknowledgment.value == expected.ack));
  };
  auto found = std::ranges::find_if(expected_, is_right);
  if (found == expected_.end()) {
    found = std::ranges::find_if(expected_, is_for);
    if (found != expected_.end()) {
      break_rule(CompareRule::reset_number_wrong, at,
                 fmt::format("the reset has SEQ {} and ACK {}, expected {} and {}",
                             segment.sequence.value, segment.acknowledgment.value, found->seq,
                             found->has_ack ? fmt::format("{}", found->ack) : "none"));
    }
  }
  if (found != expected_.end()) {
    expected_.erase(found);
    return;
  }
  if (pair != connection()) {
    return;
  }
  for (Expected const& expected : expected_) {
    if (expected.rule == CompareRule::unacceptable_unanswered && expected.since == at && !closed_ &&
        phase_ == Phase::open) {
      break_rule(CompareRule::unacceptable_reset, at, "a reset in place of an ACK");
    }
  }
  reset_left_ = true;
  std::erase_if(expected_, [&](const Expected& expected) { return expected.pair == pair; });
  lose();
}

// --- segments that arrive ---

void Oracle::arrives(Instant at, std::span<const std::byte> packet, const wire::Segment& segment) {
  judge_owed(at);
  silence_.reset();
  sim::SegmentView view;
  if (sim::read_frame(LinkType::ip, packet, view) == sim::FrameContent::tcp) {
    referee::Sighting said = sim::sighting_of(view, at);
    said.packet = ++packets_;
    referee_.see(said);
  }
  Pair const pair{segment.destination, segment.source};
  if (segment.destination == place_.closed) {
    arrives_closed(at, segment, pair);
    return;
  }
  if (pair != connection()) {
    if (others_known_) {
      place_.opening == Opening::listens ? arrives_listen(at, segment, pair)
                                         : arrives_closed(at, segment, pair);
    }
    return;
  }
  small_windows_ |= segment.window.value < window_least;
  switch (phase_) {
    case Phase::none:
      arrives_closed(at, segment, pair);
      break;
    case Phase::listen:
      arrives_listen(at, segment, pair);
      break;
    case Phase::syn_sent:
      arrives_syn_sent(at, segment);
      break;
    case Phase::syn_received:
    case Phase::open:
      arrives_synchronized(at, segment);
      break;
    case Phase::unknown:
      break;
  }
  if (segment.flags.rst()) {
    std::erase_if(expected_, [&](const Expected& expected) {
      return expected.pair == pair && expected.answer != Answer::reset;
    });
  }
}

void Oracle::arrives_closed(Instant at, const wire::Segment& segment, const Pair& pair) {
  if (segment.flags.all_of(wire::flag::syn | wire::flag::fin)) {
    return;  // some drop it as malformed
  }
  if (segment.flags.rst()) {
    be_silent(CompareRule::reset_answered, at, pair);
  } else {
    owe_reset(CompareRule::closed_reset_missing, at, segment, pair);
  }
}

void Oracle::arrives_listen(Instant at, const wire::Segment& segment, const Pair& pair) {
  if (segment.flags.all_of(wire::flag::syn | wire::flag::fin)) {
    pair == connection() ? lose() : void(others_known_ = false);
    return;
  }
  if (segment.flags.rst()) {
    be_silent(CompareRule::reset_answered, at, pair);
  } else if (segment.flags.ack()) {
    owe_reset(CompareRule::listen_reset_missing, at, segment, pair);
  } else if (!segment.flags.syn()) {
    be_silent(CompareRule::drop_answered, at, pair);
  } else if (pair != connection()) {
    others_known_ = false;
  } else {
    open_passively(at, segment);
  }
}

void Oracle::open_passively(Instant at, const wire::Segment& syn) {
  irs_ = syn.sequence.value;
  scale_of_tester_ = syn.options.has_window_scale ? syn.options.window_scale.shift : -1;
  stamps_of_tester_ = syn.options.has_timestamps;
  phase_ = Phase::syn_received;
  owe(CompareRule::syn_unanswered, Answer::syn_ack, at, 1);
  if (!syn.payload.empty()) {
    lose();  // when it counts as received is not said
  }
}

void Oracle::arrives_syn_sent(Instant at, const wire::Segment& segment) {
  if (!iss_) {
    lose();
    return;
  }
  wire::Flags const flags = segment.flags;
  std::int64_t const ack = of_device(segment.acknowledgment);
  if (flags.ack() && (ack <= 0 || ack > nxt_)) {
    if (!flags.rst()) {
      owe_reset(CompareRule::syn_sent_reset_missing, at, segment, connection());
    }
    return;
  }
  if (flags.rst()) {
    if (flags.ack()) {
      ended_ = true;
      lose();
    }
    return;
  }
  if (!flags.syn()) {
    be_silent(CompareRule::syn_sent_answered, at, connection());
    return;
  }
  irs_ = segment.sequence.value;
  scale_of_tester_ = segment.options.has_window_scale ? segment.options.window_scale.shift : -1;
  stamps_of_tester_ = segment.options.has_timestamps;
  edge_ = 1 + syn_window_;
  if (flags.fin() && !flags.ack()) {
    lose();
    return;
  }
  add_text(1, segment, std::nullopt);
  if (flags.ack()) {
    una_ = ack;
    phase_ = Phase::open;
    owe(CompareRule::syn_ack_unanswered, Answer::ack, at, 1);
  } else {
    phase_ = Phase::syn_received;
    owe(CompareRule::simultaneous_open, Answer::syn_ack, at, 1);
  }
}

/// What is certain about a segment in a synchronized state, or in SYN-RECEIVED. The device's
/// RCV.NXT lies between what it has acknowledged and the end of what it may have accepted.
void Oracle::arrives_synchronized(Instant at, const wire::Segment& segment) {
  // With timestamps the referee judges alone. In SYN-RECEIVED a SYN may be that of a simultaneous
  // open, which the test of the sequence number would refuse (RFC 9293 A.2).
  bool const stamps = stamps_ && stamps_of_tester_;
  bool const second_syn = phase_ == Phase::syn_received && segment.flags.syn();
  if (!iss_ || acked_ < 1 || edge_ == 0 || stamps || second_syn) {
    lose();
    return;
  }
  std::int64_t const seq = of_tester(segment.sequence);
  std::int64_t const length = segment.length().count;
  std::int64_t const edge = edge_ + read_;
  bool const exact = acked_ == end_of_stream();
  bool const empty = length == 0;
  Arrival const arrival{
      at,
      segment,
      seq,
      seq + length,
      of_device(segment.acknowledgment),
      empty ? seq < acked_ : seq + length <= acked_,
      empty ? seq > edge : seq >= edge,
      exact && edge_ > acked_ &&
          ((seq >= acked_ && seq < edge_) || (!empty && seq <= acked_ && seq + length > acked_))};
  if (arrival.old || arrival.beyond) {
    refuse(arrival);
  } else if (take_controls(arrival) && take_ack(arrival)) {
    take_text(arrival);
  }
}

/// First: a segment that is not acceptable.
void Oracle::refuse(const Arrival& arrival) {
  wire::Segment const& segment = arrival.segment;
  if (segment.flags.rst()) {
    if (fin_came() && arrival.seq + 1 == acked_) {
      lose();  // Linux takes the number of the FIN, too, as some peers use it
    }
    return;
  }
  // With a closed window a valid ACK may count all the same.
  una_sure_ = una_sure_ && edge_ > acked_;
  // "must" is said of synchronized states only (3.5.2). Without ACK and SYN it may be dropped
  // before its number is looked at: nothing of it counts in any case.
  bool const counts = segment.flags.any_of(wire::flag::ack | wire::flag::syn);
  if (!drawn_ && counts && phase_ == Phase::open) {
    owe(CompareRule::unacceptable_unanswered, Answer::ack, arrival.at, acked_);
    drawn_ = true;
  }
  if (arrival.beyond) {
    add_text(arrival.seq + (segment.flags.syn() ? 1 : 0), segment, CompareRule::outside_accepted);
  }
}

/// Second to fourth: RST and SYN. False: nothing is left to process.
bool Oracle::take_controls(const Arrival& arrival) {
  wire::Flags const flags = arrival.segment.flags;
  if (flags.rst()) {
    ended_ = true;
    lose();
    return false;
  }
  if (flags.syn()) {
    if (arrival.sure && phase_ == Phase::open && arrival.seq >= acked_) {
      owe(CompareRule::syn_inside_unanswered, Answer::any, arrival.at);
    }
    lose();
    return false;
  }
  return true;
}

/// Fifth: the ACK field. False: the segment is dropped.
bool Oracle::take_ack(const Arrival& arrival) {
  wire::Segment const& segment = arrival.segment;
  if (!segment.flags.ack()) {
    add_text(arrival.seq, segment, CompareRule::no_ack_accepted);
    return false;
  }
  bool const unsent = arrival.ack > nxt_;
  if (phase_ == Phase::syn_received) {
    if (!arrival.sure) {
      lose();
      return false;
    }
    if (arrival.ack <= 0 || unsent) {
      owe_reset(CompareRule::syn_received_reset_missing, arrival.at, segment, connection());
      add_text(arrival.seq, segment, CompareRule::unsent_ack_accepted);
      return false;
    }
    phase_ = Phase::open;
  }
  if (unsent) {
    if (arrival.sure && !drawn_) {
      owe(CompareRule::unsent_ack_unanswered, Answer::ack, arrival.at, acked_);
    }
    drawn_ = true;
    add_text(arrival.seq, segment, CompareRule::unsent_ack_accepted);
    return false;
  }
  if (arrival.ack < una_ && segment.length().count != 0) {
    lose();  // RFC 5961 5.2 drops it if that is long ago
    return false;
  }
  if (arrival.ack > una_) {
    una_sure_ = una_sure_ && arrival.sure;
    una_ = arrival.ack;
  }
  return true;
}

/// Sixth to eighth: URG, data and FIN.
void Oracle::take_text(const Arrival& arrival) {
  wire::Segment const& segment = arrival.segment;
  if (segment.length().count == 0) {
    return;
  }
  std::int64_t const before = end_of_stream();
  auto const fin =
      std::ranges::find_if(ranges_, [](const Range& range) { return range.fin && !range.wrong; });
  std::int64_t const place = arrival.end - (segment.flags.fin() ? 1 : 0);
  if (fin != ranges_.end() && place > fin->begin) {
    if (acked_ < fin->end || segment.flags.fin()) {
      lose();  // which of them is the end?
    } else if (place > fin->end) {
      ranges_.push_back({fin->end, place, CompareRule::beyond_fin_accepted});
    }
    return;
  }
  // Data at the place of the FIN or behind it, even if it was to be dropped.
  bool const behind = std::ranges::any_of(ranges_, [&](const Range& range) {
    return segment.flags.fin() && !range.fin && range.end > place;
  });
  if (behind || (segment.flags.fin() && fin != ranges_.end() && fin->begin != place)) {
    lose();
    return;
  }
  bool const had_fin = fin != ranges_.end();
  add_text(arrival.seq, segment, std::nullopt);
  bool const expected = arrival.sure && arrival.seq <= acked_ && arrival.end > acked_ &&
                        arrival.end <= edge_ && acked_ == before && !segment.flags.urg() &&
                        !closed_ && !had_fin;
  if (expected) {
    owe(segment.flags.fin() ? CompareRule::fin_unacknowledged : CompareRule::data_unacknowledged,
        Answer::ack, arrival.at, arrival.end);
  }
}

void Oracle::add_text(std::int64_t begin, const wire::Segment& segment,
                      std::optional<CompareRule> wrong) {
  std::int64_t const end = begin + static_cast<std::int64_t>(segment.payload.size());
  if (end != begin) {
    ranges_.push_back({begin, end, wrong, false});
  }
  if (segment.flags.fin()) {
    ranges_.push_back({end, end + 1, wrong, true});
  }
}

}  // namespace lockstep::conformance::compare
