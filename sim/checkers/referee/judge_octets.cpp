// Retransmissions carry the same octets, and the urgent pointer does not move back.
#include <algorithm>

#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

constexpr std::uint32_t octets_least = 4'096;

// Makes room for octets up to `end`, if memory permits with all that is not acknowledged. False if
// there is no memory at all.
bool make_room(const Moment& m, KeptText& kept, Sequence begin, Sequence end) {
  if (kept.size() == 0) {
    std::uint32_t const octets = std::min(octets_least, m.terms.kept_octets_max);
    if (octets == 0 || !m.judge.may_keep(m, octets)) {
      return false;
    }
    kept.grow(octets);
  }
  Sequence const oldest = m.speaker.limited ? first_of(m.speaker.limit_ack, begin) : begin;
  std::uint32_t size = kept.size();
  while (end.since(oldest).count > size && size < m.terms.kept_octets_max &&
         m.judge.may_keep(m, size)) {
    size *= 2;
  }
  if (size > kept.size()) {
    kept.grow(size);
  }
  return true;
}

//= rfc9293#3.10.8
//# 9293:P-RTO a retransmission is sent from the queue, so its octets are the same
void judge_copy(const Moment& m) {
  std::span<const std::byte> const text = m.segment().payload;
  // A single octet may be a probe, whose value is arbitrary.
  if (text.size() < 2 || m.terms.kept_octets_max == 0) {
    return;
  }
  KeptText& kept = m.speaker.kept;
  Sequence const begin = m.said.text_begin();
  Sequence const end = begin + Bytes{static_cast<std::uint32_t>(text.size())};
  if (!make_room(m, kept, begin, end)) {
    return;
  }
  auto const [wrong, first] = kept.take(begin, text);
  EndpointState& v = m.speaker;
  bool const tells = m.said.sum == Sum::good || m.said.sum == Sum::partial;
  v.kept_unsure = v.kept_unsure || (!m.terms.whole && !m.own && !tells);
  if (wrong != 0) {
    Ambiguity const middle = ambiguity_of_middle(m);
    m.judge.call(m, Rule::text_changed,
                 middle == Ambiguity::none && v.kept_unsure ? Ambiguity::damaged : middle,
                 {first.value, wrong});
  }
}

//= rfc9293#3.8.5
//# 9293:P-URG-NORECEDE the urgent pointer that was sent never moves back
void judge_urgent(const Moment& m) {
  wire::Segment const& segment = m.segment();
  EndpointState& v = m.speaker;
  v.urgent = v.urgent && v.sent.distance_from(v.urgent_end) < remembered;
  if (!segment.flags.urg() || segment.flags.syn()) {
    return;
  }
  Sequence const end = segment.sequence + Bytes{segment.urgent};
  // The pointer is at its maximum: the urgent data may end further ahead.
  bool const far = segment.urgent == 0xffff;
  if (v.urgent && end.before(v.urgent_end) && !far && end.after(segment.sequence)) {
    bool const again = segment.sequence.before(v.sent) && !m.own;
    bool const later = surely_after(m, v.urgent_ack) && !again;
    m.judge.call_whole(m, Rule::urgent_backward, later ? Ambiguity::hidden : Ambiguity::order,
                       {v.urgent_end.value, end.value});
  }
  if (!v.urgent || end.after(v.urgent_end)) {
    v.urgent = true;
    v.urgent_end = end;
    v.urgent_ack = segment.acknowledgment;
  }
}

}  // namespace

void judge_octets(const Moment& m) {
  judge_copy(m);
  judge_urgent(m);
}

}  // namespace lockstep::sim::referee
