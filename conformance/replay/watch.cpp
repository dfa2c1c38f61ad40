// Certain findings about a connection: options, sizes, windows, ACK storms, ECN marks, echoes of
// timestamps.
#include "conformance/replay/watch.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"
#include "sim/checkers/referee/mss_floor.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

/// The number of packets that a finding requires.
constexpr unsigned oversized_min = 3, shrunk_min = 3, repeats_min = 24, unheeded_min = 24;
constexpr unsigned unheeded_turns_min = 3;
/// Retransmissions trigger ACKs for this time, even after an ACK that covers all of them.
constexpr Duration on_its_way_most = Duration::seconds(3);

bool is_bare(const Segment& segment) {
  return segment.length() == 0 && segment.any(flag::ack) &&
         !segment.any(flag::rst | flag::syn | flag::fin);
}

}  // namespace

Watch::Watch(const Endpoint& first, const Endpoint& second, std::optional<Instant> recorded_since)
    : recorded_since_(recorded_since) {
  sides_[0].endpoint = first;
  sides_[1].endpoint = second;
}

void Watch::find(Side& side, Finding finding) {
  for (Finding& known : side.findings) {
    if (known.clause == finding.clause && known.always == finding.always) {
      ++known.count;
      return;
    }
  }
  side.findings.push_back(std::move(finding));
}

std::vector<Finding> Watch::findings(const Endpoint& side, std::uint64_t until) const {
  std::size_t const index = sides_[0].endpoint == side ? 0 : 1;
  if (sides_.at(index).hop_limits.differ() || mixed_) {
    return {};  // a middlebox may have sent some of its segments, or two connections are alive
  }
  std::vector<Finding> out = sides_.at(index).findings;
  // If the capture lacks packets of the other side, the cause of an ACK or a block is unknown.
  const Side& other = sides_.at(1 - index);
  if (!other.known || other.lossy) {
    std::erase_if(out, [](const Finding& finding) {
      bool const cause = finding.clause == "5681:CC-28" || finding.clause == "2018:SACK-14";
      return cause && !finding.always;
    });
  }
  std::erase_if(out, [&](const Finding& finding) { return finding.certain <= until; });
  std::sort(out.begin(), out.end(),
            [](const Finding& a, const Finding& b) { return a.packet < b.packet; });
  return out;
}

std::int64_t Watch::extent(const Endpoint& side) const {
  const Side& one = sides_[sides_[0].endpoint == side ? 0 : 1];
  return one.known ? one.next - one.isn : 0;
}

void Watch::take(const Segment& segment) {
  std::size_t const index = sides_[0].endpoint == segment.source ? 0 : 1;
  Side& side = sides_.at(index);
  Side& other = sides_.at(1 - index);
  began_ = began_ ? began_ : segment.time;
  packet_ = segment.number;
  other.repeats = 0;
  other.last_ack = {};
  if (segment.sum == tools::SumState::bad) {
    return;
  }
  ended_before_ = ended_;
  ended_ = !segment.any(flag::syn) && (ended_ || segment.any(flag::fin | flag::rst));
  if (segment.any(flag::rst)) {
    return;
  }
  note_packet(side, segment);
  bool const intact = is_intact(segment);
  note_numbers(side, segment, intact);
  if (segment.any(flag::syn)) {
    take_syn(side, other, segment);
  } else if (!intact) {
    doubt(side, other);
  } else if (side.known) {
    look_at_options(side, other, segment);
    look_at_size(side, other, segment);
    look_at_window(side, other, segment);
    look_at_reports(side, other, segment);
    look_at_repeats(side, other, segment);
    look_at_marks(side, other, segment);
    look_at_echo(side, other, segment);
  }
  move_on(side, other, segment, intact);
}

/// Whether the packet had these octets when it arrived. Without a checksum that shows it, octets
/// may have changed on the way, unless the data of most packets was edited after the capture.
bool Watch::is_intact(const Segment& segment) {
  bool const known = segment.sum != tools::SumState::unverifiable;
  if (segment.data_bytes() != 0 && segment.missing == 0) {
    ++(known ? verified_ : edited_);
  }
  return known || (segment.missing == 0 && edited_ > verified_);
}

/// Detects a second connection with equal addresses that is alive at the same time, as beside a
/// transparent proxy, or on both sides of a firewall that changes sequence numbers: a SYN in the
/// middle of the first one, or numbers of both.
void Watch::note_numbers(Side& side, const Segment& segment, bool intact) {
  constexpr std::int64_t far = std::int64_t{1} << 24;
  std::int64_t const number = position(side.next, segment.sequence);
  bool const other = number > side.next + far || number < side.next - far || number < side.isn;
  bool const second = segment.any(flag::syn)
                          ? segment.sequence != static_cast<std::uint32_t>(side.isn) && side.spoke
                          : side.syn && other;
  mixed_ |= side.known && intact && second && !ended_before_;
  side.spoke = !segment.any(flag::syn);
}

/// What a damaged segment says may be what a violation rests on, or what excuses one.
void Watch::doubt(Side& side, Side& other) {
  side.ece_pending = other.ece_pending = false;
  side.unheeded = side.unheeded_turns = other.unheeded = other.unheeded_turns = 0;
  side.repeats = 0;
  side.last_ack = {};
}

/// Notes the way that the packet took, and whether the capture lacks one before it: many stacks
/// number the IPv4 packets of a connection without a gap.
void Watch::note_packet(Side& side, const Segment& segment) {
  side.hop_limits.take(passed(segment));
  bool const next = side.identification != 0 && segment.identification == side.identification + 1;
  side.unbroken = side.unbroken && next;
  if (side.large.number != 0 && next) {
    side.oversized_packet = side.oversized == 0 ? side.large.number : side.oversized_packet;
    ++side.oversized;
  }
  side.identification = segment.identification;
}

/// A capture may begin within a connection, with ACKs and SACK blocks for data that passed before.
bool Watch::is_whole(const Side& side, const Segment& now) const {
  constexpr Duration arrived_most = Duration::seconds(10);
  return side.syn || (began_ && now.time.since(*began_) > arrived_most);
}

/// The ports are reused: earlier state belongs to another connection.
void Watch::begin_anew(Side& side) {
  side.edge_known = side.acks = side.ece_pending = side.asks = side.answers = false;
  side.unasked = false;
  side.fin_end.reset();
  side.answered.reset();
  side.reported.reset();
  side.stamp.reset();
  side.last_stamp.reset();
  side.leaps = false;
  side.echo.reset();
  side.syn_stamp.reset();
  side.unsent.reset();
  side.early = side.first_octet = false;
  side.flying.clear();
  side.again.clear();
  side.shrunk = side.unheeded = side.unheeded_turns = side.nonsense = 0;
  side.repeats = 0;
}

/// The options of its SYN-ACK turn out to be no answer to those that the other side offered.
void Watch::forgive_answer(Side& side) {
  std::erase_if(side.findings,
                [](const Finding& finding) { return finding.text.starts_with("its SYN,ACK "); });
}

/// Whether the SYN-ACK acknowledges the other side's SYN, and at most what that has sent.
bool Watch::is_answered(const Side& other, const Segment& answer) {
  std::int64_t const number = position(other.next, answer.acknowledgment);
  return other.isn < number && number <= other.next;
}

Watch::Offer Watch::offer_of(const Segment& syn) {
  Offer out;
  for (const tools::TcpOption& option : tools::options_of(syn)) {
    if (option.kind == 2 && option.data.size() == 2) {
      out.mss = tools::word_at(option.data, 0);
    } else if (option.kind == 3 && option.data.size() == 1) {
      out.shift = std::min<unsigned>(tools::octet_at(option.data, 0), 14);
    }
    out.selective |= option.kind == option_kind::sack_permitted;
    out.stamps |= option.kind == option_kind::timestamps;
  }
  return out;
}

/// A SYN-ACK has only options that the SYN offered. In a simultaneous open it repeats the options
/// of its sender's own SYN, which may have been lost on its way to the capture point, and echoes
/// the timestamp of the other side's, which may answer with an ACK. But nobody connects from the
/// port of a service. An earlier SYN of the other side may have offered more: then the timestamp
/// echoed was not seen, and without timestamps the capture began less than the time of a
/// retransmission before.
void Watch::look_at_answer(Side& side, const Side& other, const Segment& answer,
                           const Offer& offer) {
  constexpr std::uint16_t services_end = 1'024;
  constexpr Duration longest_retry = Duration::seconds(64);
  auto const own = stamps_of(answer);
  bool const echoes = own && other.syn_stamp && own->echo != 0 && own->echo == *other.syn_stamp;
  bool const first =
      recorded_since_ && !side.unasked && other.first_syn_at >= *recorded_since_ + longest_retry;
  bool const passive = (echoes || first) && side.endpoint.port.value < services_end;
  bool const of_unseen = own && own->echo != 0 && !echoes;
  bool const more = (offer.shift && !other.shift) || (offer.selective && !other.selective) ||
                    (offer.stamps && !other.stamps);
  if (!more || !other.syn || !other.same_options) {
    return;
  }
  if (!passive || of_unseen) {
    side.same_options = false;  // what was agreed on is unknown
    return;
  }
  if (offer.shift && !other.shift) {
    find(side, answer.number, "7323:TS-33", "its SYN,ACK has a window scale that was not offered");
  }
  if (offer.stamps && !other.stamps) {
    find(side, answer.number, "7323:TS-39", "its SYN,ACK has a timestamp that was not offered");
  }
}

void Watch::take_syn(Side& side, Side& other, const Segment& segment) {
  if (side.known && segment.sequence != static_cast<std::uint32_t>(side.isn)) {
    begin_anew(side);
    begin_anew(other);
    side.mss = 0;
    // The answer may be missing, and a new SYN offers options afresh.
    other.syn = other.syn && segment.any(flag::ack);
  }
  bool const answer = segment.any(flag::ack);
  if (answer && other.known && !is_answered(other, segment)) {
    other.syn = false;  // the capture lacks the SYN that it answers
  }
  side.unasked |= answer && !other.syn;
  Offer const offer = offer_of(segment);
  side.multipath |= place_of_option(segment, option_kind::multipath).has_value();
  side.mss = std::max(side.mss, offer.mss);
  bool const edited = segment.sum == tools::SumState::unverifiable;
  if (answer && !edited) {
    // With one number it answers two SYNs, as on both sides of a firewall.
    mixed_ |= side.answered && *side.answered != segment.acknowledgment;
    side.answered = segment.acknowledgment;
  }
  bool const same =
      side.selective == offer.selective && side.stamps == offer.stamps && side.shift == offer.shift;
  side.same_options = !edited && (!side.syn || (side.same_options && same));
  side.asks |= !answer;
  side.answers |= answer;
  // Crossing SYNs. The capture does not lack both a SYN and the other side's SYN-ACK.
  if (answer && (side.asks || other.answers)) {
    forgive_answer(other);
  } else if (answer && !edited) {
    look_at_answer(side, other, segment, offer);
  }
  auto const own = stamps_of(segment);
  if (own && !side.syn_stamp) {
    side.syn_stamp = own->value;
    side.syn_at = segment.time;
  }
  bool const copy = side.syn && static_cast<std::uint32_t>(side.isn) == segment.sequence;
  // A router's copy in another VLAN comes at once, and is the same packet.
  bool const elsewhere = copy && side.network != segment.network;
  bool const other_packet = (own && own->value != side.syn_stamp) ||
                            segment.time.since(side.first_syn_at) > Duration::milliseconds(20);
  mixed_ |= elsewhere && other_packet;
  side.network = copy ? side.network : segment.network;
  side.first_syn_at = copy ? side.first_syn_at : segment.time;
  side.early |= segment.data_bytes() != 0;
  side.syn = true;
  side.selective |= offer.selective;
  side.stamps |= offer.stamps;
  side.shift = offer.shift ? offer.shift : side.shift;
  side.asks_ecn |= !answer && segment.has(flag::ece | flag::cwr);
  side.answers_ecn |= answer && segment.any(flag::ece) && !segment.any(flag::cwr);
  side.known = true;
  side.isn = side.next = segment.sequence;
}

void Watch::look_at_options(Side& side, Side& other, const Segment& segment) {
  // The ports may have been reused, and the capture may lack the SYNs.
  if (!side.syn || !other.syn || !side.same_options || !other.same_options || ended_) {
    return;
  }
  // Both sides use an option that only one captured SYN lacks: the SYN was edited, which is no
  // violation.
  bool const edited = stamps_of(segment) && !side.stamps && other.stamps;
  if (edited) {
    side.same_options = false;
    forgive_answer(other);
    return;
  }
  if (!other.selective && !blocks_of(segment).empty()) {
    find(side, segment.number, "2018:SACK-2", "SACK blocks to a peer that did not permit them");
  }
  bool const agreed = side.stamps && other.stamps;
  if (stamps_of(segment) && !agreed) {
    find(side, segment.number, "7323:TS-39",
         "a timestamp although both sides did not agree on them");
  }
}

/// Whether one packet on the wire exceeds the other side's MSS. A NIC may have joined small
/// segments or may split what is recorded as one. The identification of the next packet shows how
/// many packets a record is.
void Watch::look_at_size(Side& side, const Side& other, const Segment& segment) {
  std::uint32_t const bytes = segment.data_bytes();
  auto const options = static_cast<std::uint32_t>(segment.options.size());
  if (side.oversized >= oversized_min && side.large.number != 0 && !side.offloads) {
    find(side, side.oversized_packet, "9293:MUST-16",
         fmt::format("{} octets in a segment, and the peer takes {}", side.large.data_bytes(),
                     other.mss));
  }
  side.large = {};
  std::uint32_t const headers = (segment.ipv6 ? 60u : 40u) + options;
  auto const is_multiple_of = [bytes, options](std::uint32_t mss) {
    return mss > options && bytes > mss - options && bytes % (mss - options) == 0;
  };
  side.offloads |= bytes > other.mss && bytes + headers > 1500;
  bool const counts = other.syn && other.same_options && other.mss > options && bytes > other.mss &&
                      bytes + options > sim::referee::mss_floor_deployed.count &&
                      bytes + headers <= 1500 && !segment.any(flag::psh | flag::fin) &&
                      !is_multiple_of(other.mss) && !is_multiple_of(side.mss);
  if (counts) {
    side.large = segment;
  }
}

/// Whether the SYNs negotiated MPTCP. Its window covers all subflows: it moves as data arrives on
/// others, and equal ACKs of a subflow may differ in MPTCP's own numbers (RFC 8684, 3.3.1).
bool Watch::share_window(const Side& side, const Side& other) {
  return side.multipath && other.multipath;
}

/// Whether the segment was sent after the one that offered the rightmost edge. An equal ACK may
/// have been recorded late, or at both ends.
bool Watch::is_later(const Side& side, const Segment& segment, std::int64_t ack) {
  auto const stamps = stamps_of(segment);
  bool const fresh =
      segment.data_bytes() != 0 && position(side.next, segment.sequence) >= side.next;
  return fresh || ack > side.edge_ack ||
         (stamps && side.edge_stamp &&
          static_cast<std::int32_t>(stamps->value - *side.edge_stamp) > 0);
}

/// Detects a right edge that moves left, by more than the rounding of the scale, and stays there.
void Watch::look_at_window(Side& side, const Side& other, const Segment& segment) {
  bool const scale_known = side.syn && other.syn && side.same_options && other.same_options;
  if (!segment.any(flag::ack) || !scale_known || !side.acks || share_window(side, other)) {
    return;
  }
  unsigned const shift = side.shift && other.shift ? *side.shift : 0;
  std::int64_t const ack = position(side.acked, segment.acknowledgment);
  std::int64_t const edge = ack + (std::int64_t{segment.window} << shift);
  std::int64_t const slack =
      std::max<std::int64_t>(2 * std::max(other.mss, 1460u), std::int64_t{2} << shift);
  if (ack < side.acked) {
    return;  // an older ACK
  }
  // After the other side's FIN the window has no meaning. An ACK above the offered window shows
  // that the capture lacks the ACK that offered it, or the SYNs of a later connection.
  bool const over = other.fin_end && ack >= *other.fin_end;
  bool const unseen = side.edge_known && ack > side.edge;
  side.edge_known = side.edge_known && !unseen;
  // Linux closes its window completely when it has no memory left, also with the same number, and
  // later opens a smaller one.
  bool const shut = segment.window == 0;
  bool const older = side.edge_known && edge < side.edge && !shut && !is_later(side, segment, ack);
  if (over || older) {
    return;
  }
  // A firewall behind the capture point may take the scale out of one SYN. It was in use if the
  // side has received more than its windows permit without it, or if they shrink without it as
  // well.
  std::int64_t const plain = ack + segment.window;
  side.scales = side.scales || shift == 0 || (side.plain_edge && ack > *side.plain_edge);
  bool const scaled = side.scales || (side.plain_edge && plain < *side.plain_edge);
  side.plain_edge = std::max(side.plain_edge.value_or(plain), plain);
  if (side.edge_known && edge + slack < side.edge && !shut && scaled) {
    side.shrunk_packet = side.shrunk == 0 ? segment.number : side.shrunk_packet;
    side.shrunk_at = side.shrunk == 0 ? segment.time : side.shrunk_at;
    if (++side.shrunk >= shrunk_min && segment.time.since(side.shrunk_at) > disorder) {
      find(side, side.shrunk_packet, "9293:SHLD-14", "moves the right window edge left");
    }
  } else {
    side.shrunk = 0;
  }
  if (!side.edge_known || edge >= side.edge || shut) {
    auto const stamps = stamps_of(segment);
    side.edge = edge;
    side.edge_known = true;
    side.edge_ack = ack;
    side.edge_stamp = stamps ? std::optional(stamps->value) : std::nullopt;
  }
}

/// Whether a loop in the network carries one packet past the capture point again. Without an
/// identification only a timestamp shows that it is another one; nothing if there is none.
std::optional<bool> Watch::is_copy(const Segment& last, const Segment& segment) {
  if (segment.identification != 0) {
    return segment.identification == last.identification;
  }
  auto const stamps = stamps_of(segment);
  auto const before = stamps_of(last);
  return stamps && before ? std::optional(stamps->value == before->value) : std::nullopt;
}

/// Whether the equal ACKs may be copies of one packet, or answer a packet that a loop behind the
/// capture point repeats. A D-SACK shows that something arrived. Where SACK is agreed there would
/// be one for each copy of data; else only the time shows it for which such a loop lasts.
bool Watch::may_be_copies(const Side& side, const Side& other, const Segment& segment) {
  constexpr Duration loop_most = Duration::seconds(1);
  if (reports_duplicate(segment.acknowledgment, blocks_of(segment))) {
    return true;
  }
  bool const reports = !side.repeats_unknown && side.selective && other.selective &&
                       other.sent_data && !other.fin_end;
  return !reports && segment.time.since(side.repeats_at) <= loop_most;
}

/// Equal ACKs in a row, more than all data under way could trigger even if the network duplicated
/// every packet, or a loop repeated one.
void Watch::look_at_repeats(Side& side, const Side& other, const Segment& segment) {
  const Segment& last = side.last_ack;
  bool const same = is_bare(segment) && last.number != 0 && last.sequence == segment.sequence &&
                    last.acknowledgment == segment.acknowledgment &&
                    last.window == segment.window && last.flags == segment.flags &&
                    blocks_of(last) == blocks_of(segment);
  auto const copy = is_copy(last, segment);
  if (same && copy.value_or(false)) {
    return;
  }
  bool const soon = same && !share_window(side, other) && is_whole(other, segment) &&
                    segment.time.since(last.time) <= Duration::milliseconds(100);
  if (!soon) {
    side.repeats = 0;
  } else {
    bool const first = side.repeats == 0;
    side.repeats_packet = first ? segment.number : side.repeats_packet;
    side.repeats_at = first ? segment.time : side.repeats_at;
    side.repeats_unknown = !copy || (!first && side.repeats_unknown);
    std::int64_t const drawing = other.flying.total() + other.again.total();
    bool const many = ++side.repeats >= repeats_min + 2 * drawing;
    if (many && !may_be_copies(side, other, segment)) {
      find(side, side.repeats_packet, "5681:CC-28", "repeated equal ACKs although nothing arrived");
    }
  }
  side.last_ack = {};
  if (is_bare(segment)) {
    side.last_ack = segment;
  }
}

/// Whether the segment shows that the echo of the mark had arrived. The sender may be far away,
/// with much data under way. Proof is a timestamp, or data that only a later ACK released.
bool Watch::has_received_ece(const Side& side, const Segment& segment) {
  auto const stamps = stamps_of(segment);
  if (stamps && side.ece_stamp) {
    return static_cast<std::int32_t>(stamps->echo - *side.ece_stamp) > 0;
  }
  return position(side.next, segment.sequence) >= side.ece_edge;
}

/// From here on, what shows that the side has received all that the other has sent so far.
void Watch::expect_cwr(Side& side, const Side& other, std::optional<std::uint32_t> stamp) {
  constexpr std::int64_t far = std::int64_t{1} << 30;
  side.ece_at = side.next;
  side.ece_stamp = stamp;
  side.ece_edge = other.edge_known ? std::max(other.edge, side.next) : side.next + far;
}

/// Counts new data without CWR, and the round trips in which it was sent. After a gap the count
/// begins anew: the first segment with CWR may be in the gap, and its retransmission has none.
void Watch::look_at_new_data(Side& side, const Side& other, const Segment& segment) {
  std::int64_t const begin = position(side.next, segment.sequence);
  if (begin > side.next) {
    side.ece_pending = false;
    side.unheeded = side.unheeded_turns = 0;
    return;
  }
  if (other.acked > side.ece_at && has_received_ece(side, segment)) {
    ++side.unheeded_turns;
    expect_cwr(side, other, other.stamp);
  }
  side.unheeded += side.unheeded_turns != 0 ? 1u : 0u;
  if (side.unheeded >= unheeded_min && side.unheeded_turns >= unheeded_turns_min) {
    find(side, side.ece_packet, "3168:ECN-21",
         "new data round trip after round trip, without CWR, while the peer echoes a mark");
  }
}

/// The other side echoes a mark in every ACK for several round trips, and no segment carries CWR.
void Watch::look_at_marks(Side& side, Side& other, const Segment& segment) {
  bool const agreed = (side.asks_ecn && other.answers_ecn) || (other.asks_ecn && side.answers_ecn);
  if (!agreed) {
    return;
  }
  if (segment.any(flag::cwr)) {
    side.ece_pending = false;
    side.unheeded = side.unheeded_turns = 0;
    side.cwr_end = position(side.next, segment.sequence) + segment.length();
  } else if (side.ece_pending && segment.data_bytes() != 0 &&
             position(side.next, segment.sequence) >= side.next) {
    look_at_new_data(side, other, segment);
  }
  if (segment.any(flag::ack)) {
    if (!segment.any(flag::ece)) {
      other.ece_pending = false;
      other.unheeded = other.unheeded_turns = 0;
    } else if (!other.ece_pending &&
               position(other.next, segment.acknowledgment) >= other.cwr_end) {
      auto const stamps = stamps_of(segment);
      other.ece_pending = true;
      other.ece_packet = segment.number;
      expect_cwr(other, side, stamps ? std::optional(stamps->value) : std::nullopt);
    }
  }
}

/// Whether a clock may have advanced from this timestamp to 0. No tick is shorter than 59 ns (RFC
/// 7323, 5.4).
bool Watch::may_reach_zero(std::uint32_t stamp, Duration time) {
  constexpr std::uint64_t shortest_ns = 59, scheduling = 1u << 16;
  return 0 - stamp <= time.ns / shortest_ns + scheduling;
}

/// TS.Recent never decreases, and data that arrives in order is newer than the SYN (RFC 7323, 4.3).
/// An ACK above that of an earlier echo was sent later, whatever the capture lacks.
void Watch::look_at_echo(Side& side, const Side& other, const Segment& segment) {
  // In this time no clock moves by half of all timestamps. A segment may have the time of its
  // departure, and Linux accepts a timestamp that is one tick older than TS.Recent.
  constexpr Duration comparable = Duration::seconds(1'000);
  constexpr std::uint32_t paced = 64, grace = 1;
  auto const stamps = stamps_of(segment);
  bool const agreed = side.syn && other.syn && side.same_options && other.same_options &&
                      side.stamps && other.stamps && other.syn_stamp && !other.early;
  std::int64_t const ack = position(other.next, segment.acknowledgment);
  // Another connection with the same ports may have begun with a SYN that the capture lacks.
  if (!stamps || !agreed || other.leaps || !segment.any(flag::ack) || ack <= other.isn + 1 ||
      ack > other.next) {
    return;
  }
  std::uint32_t const echo = stamps->echo;
  // A connection that is restored on another machine echoes zero. A peer with zero on its SYN has
  // started its clock later: the timestamps are not comparable.
  bool const lapsed = side.echo && echo == 0;
  Duration const elapsed = segment.time.since(other.syn_at);
  // If the first octet was not seen, a SYN that the capture lacks may have had it (Fast Open): its
  // timestamp stays TS.Recent, whatever a later SYN has.
  bool const opening = other.first_octet && *other.syn_stamp != 0 && elapsed < comparable &&
                       (before(echo + paced, *other.syn_stamp) ||
                        (echo == 0 && !may_reach_zero(*other.syn_stamp, elapsed)));
  bool const back = side.echo && ack > side.echo_ack && before(echo + grace, *side.echo) &&
                    segment.time.since(side.echo_at) < comparable;
  if (!lapsed && (opening || back)) {
    find(side, segment.number, "7323:TS-15", "an echo older than a timestamp that had arrived");
  }
  if (echo != 0 && (!side.echo || before(*side.echo, echo))) {
    side.echo = echo;
    side.echo_ack = ack;
    side.echo_at = segment.time;
  }
}

/// The number of segments on the wire for these octets: a recorder may have merged or lost some.
std::int64_t Watch::pieces_of(const Side& side, const Side& other, std::int64_t octets) {
  constexpr std::uint32_t usual = 536, least = 48, options = 20;
  std::uint32_t const most =
      std::min(side.mss != 0 ? side.mss : usual, other.mss != 0 ? other.mss : usual);
  std::int64_t const size = std::max(std::min(most, usual), least + options) - options;
  return octets <= most ? 1 : 1 + octets / size;
}

void Watch::move_on(Side& side, Side& other, const Segment& segment, bool intact) {
  std::int64_t const begin = side.known ? position(side.next, segment.sequence) : segment.sequence;
  std::int64_t const end = begin + segment.length();
  if (!side.known) {
    side.isn = side.next = begin;
    side.known = true;
  }
  settle_report(side, other, segment, begin);
  side.again.forget_until(static_cast<std::int64_t>(segment.time.since(Instant{}).ns) -
                          static_cast<std::int64_t>(on_its_way_most.ns));
  if (segment.length() != 0 && end <= side.next) {
    side.again.add(static_cast<std::int64_t>(segment.time.since(Instant{}).ns),
                   pieces_of(side, other, segment.length()));
  } else if (segment.length() != 0) {
    side.flying.add(end, pieces_of(side, other, end - std::min(begin, side.next)));
  }
  side.sent_data = segment.data_bytes() != 0;
  side.first_octet |= side.sent_data && begin <= side.isn + 1 && side.isn + 1 < end;
  side.fin_end = segment.any(flag::fin) ? std::optional(end) : side.fin_end;
  side.next = std::max(side.next, end);
  if (!intact) {
    return;
  }
  auto const stamps = stamps_of(segment);
  bool const later = stamps && (!side.stamp || before(*side.stamp, stamps->value));
  side.stamp = later ? std::optional(stamps->value) : side.stamp;
  if (stamps) {
    // No clock advances by so many ticks between two segments that follow each other.
    constexpr std::uint32_t leap = 1u << 26;
    std::uint32_t const last = side.last_stamp.value_or(stamps->value);
    side.leaps |= last != 0 && std::min(stamps->value - last, last - stamps->value) > leap;
    side.last_stamp = stamps->value;
  }
  if (segment.any(flag::ack)) {
    std::int64_t const ack =
        position(other.known ? other.next : segment.acknowledgment, segment.acknowledgment);
    other.lossy |= other.known && ack > other.next;
    side.acked = side.acks ? std::max(side.acked, ack) : ack;
    side.acks = true;
    other.flying.forget_until(side.acked);
  }
}

}  // namespace lockstep::conformance
