// ECN (RFC 3168): when ECT may be set, and that the sender reacts to ECE.
#include <algorithm>
#include <span>

#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

// Slack for reordering and for the sender's processing time.
constexpr Duration settled_after = Duration::milliseconds(10);

bool asked_by(const EndpointState& endpoint) {
  bool asked = false;
  for (std::uint32_t i = 0; i < endpoint.opening_count; ++i) {
    asked = asked || endpoint.openings[i].asks_ecn;
  }
  return asked;
}

bool has_accurate(const EndpointState& endpoint) {
  return std::ranges::any_of(std::span(endpoint.openings).first(endpoint.opening_count),
                             [](const Opening& opening) { return opening.accurate_ecn; });
}

void judge_text_marks(const Moment& m) {
  bool const opened = m.speaker.opening_count != 0 && m.other.opening_count != 0 &&
                      !m.speaker.openings_lost && !m.other.openings_lost;
  bool const capable = m.said.ecn == 1 || m.said.ecn == 2;
  if (!capable || m.said.text().empty()) {
    return;
  }
  //= rfc3168#6.1.1
  //# 3168:ECN-3 no ECT on data unless the SYNs agreed on ECN
  if (opened && !speaks_ecn(m)) {
    // Routers that rewrite the traffic class overwrite these bits.
    m.judge.call_whole(m, Rule::ect_unnegotiated,
                       has_accurate(m.speaker) && has_accurate(m.other) ? Ambiguity::choice
                       : m.may.lone_marks                               ? Ambiguity::middlebox
                                                                        : Ambiguity::none,
                       {0, m.said.ecn});
    return;
  }
  bool const again =
      (m.said.text_begin() + m.said.text()).at_or_before(m.speaker.sent) && m.speaker.begun;
  //= rfc3168#6.1.5
  //# 3168:ECN-12 no ECT on retransmissions
  if (again && (m.own || m.said.at.since(m.speaker.text_at) > settled_after)) {
    Ambiguity const ambiguity = m.may.lone_marks ? Ambiguity::choice : Ambiguity::none;
    m.judge.call_whole(m, Rule::ect_on_retransmission, m.own ? ambiguity : Ambiguity::order,
                       {0, m.said.ecn});
  }
}

// Whether ECE has reached the sender: its timestamp echo shows it, or two round trips have passed.
bool has_received_ece(const Moment& m) {
  EndpointState const& v = m.speaker;
  wire::Options const& options = m.segment().options;
  if (v.ece_stamped && options.has_timestamps) {
    return tick(v.ece_stamp).before(tick(options.timestamp_echo));
  }
  return m.connection.round_known &&
         m.said.at.since(v.ece_at) > m.connection.round * 2 + settled_after;
}

// New data without CWR although ECE has arrived.
void judge_heed(const Moment& m) {
  EndpointState& v = m.speaker;
  bool const fresh = !m.said.text().empty() && m.segment().sequence.at_or_after(v.sent);
  if (m.segment().flags.cwr()) {
    v.ece_heeded = true;
    v.ece_until = m.said.end();
  }
  if (!fresh || !v.ece_open) {
    return;
  }
  //= rfc3168#6.1.2
  //# 3168:ECN-26 the first new data after a window reduction carries CWR
  if (m.segment().flags.cwr()) {
    v.ece_open = false;
  } else if (v.limited && v.limit_ack.after(v.ece_high) && has_received_ece(m)) {
    v.ece_open = false;
    m.judge.call_whole(m, Rule::ece_unheeded, Ambiguity::hidden, {1, 0});
  }
}

}  // namespace

bool speaks_ecn(const Moment& m) {
  bool asked = false;
  bool granted = false;
  for (EndpointState const* endpoint : {&m.speaker, &m.other}) {
    for (std::uint32_t i = 0; i < endpoint->opening_count; ++i) {
      asked = asked || endpoint->openings[i].asks_ecn;
      granted = granted || endpoint->openings[i].grants_ecn;
    }
  }
  return asked && granted;
}

void judge_marks(const Moment& m) {
  wire::Flags const flags = m.segment().flags;
  if (flags.syn()) {
    bool const grants = flags.ack() && flags.ece() && !flags.cwr();
    bool const crossed = m.speaker.opening_count != 0 && !m.speaker.openings[0].is_answer;
    bool const known = m.other.opening_count != 0 && !m.other.openings_lost && !crossed;
    //= rfc3168#6.1.1
    //# 3168:ECN-2 a SYN-ACK agrees to ECN only if the SYN requested it
    if (grants && known && !asked_by(m.other)) {
      // A client's later SYNs do not request ECN, but the server keeps what the first requested;
      // the echo does not tell: NetBSD echoes the timestamp of the last one.
      wire::Options const& options = m.segment().options;
      bool const earlier = options.has_timestamps && m.other.stamp_first_known &&
                           tick(options.timestamp_echo).before(tick(m.other.stamp_first));
      bool const shown = m.terms.whole || (shows_first_syn(m) && !earlier);
      m.judge.call_whole(m, Rule::ecn_unasked, shown ? Ambiguity::none : Ambiguity::lost_packets,
                         {0, 1});
    }
    return;
  }
  judge_text_marks(m);
  if (m.terms.likely) {
    judge_heed(m);
  }
  bool const fresh = !m.said.text().empty() && m.segment().sequence.at_or_after(m.speaker.sent);
  m.speaker.text_at = fresh ? m.said.at : m.speaker.text_at;
}

void hear_marks(const Moment& m) {
  wire::Flags const flags = m.segment().flags;
  EndpointState& other = m.other;
  other.ece_heeded =
      other.ece_heeded && !(flags.ack() && m.segment().acknowledgment.after(other.ece_until));
  if (flags.syn() || flags.rst() || !flags.ece() || !other.begun || !speaks_ecn(m)) {
    return;
  }
  bool const former = other.ece_heeded && m.segment().acknowledgment.at_or_before(other.ece_until);
  if (!other.ece_open && !former) {
    other.ece_open = true;
    other.ece_high = other.sent;
    other.ece_at = m.said.at;
    other.ece_stamped = m.segment().options.has_timestamps;
    other.ece_stamp = m.segment().options.timestamp_value;
  }
}

}  // namespace lockstep::sim::referee
