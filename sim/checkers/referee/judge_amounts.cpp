// Amounts: the congestion window as far as it is visible, Nagle's algorithm, silly windows.
#include <algorithm>

#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

// The payload of a full packet on the smallest path MTU in practice.
constexpr std::uint32_t path_least = 512;

// RFC 6928: min(10 * MSS, max(2 * MSS, 14600)).
std::uint32_t initial_window(std::uint32_t mss) {
  return std::min(10 * mss, std::max(2 * mss, 14'600u));
}

void judge_flight(const Moment& m, std::uint32_t mss) {
  EndpointState const& v = m.speaker;
  Sequence const first = v.iss.next();
  Sequence const una = v.limited ? last_of(v.limit_ack, first) : first;
  Sequence const end = m.said.text_begin() + m.said.text();
  // Neither octets reported by SACK nor lost ones count as in flight.
  bool const unknown = v.middle || v.is_old() || v.recovering;
  if (!end.after(v.sent) || unknown || (v.gap_reported && m.other.sack)) {
    return;
  }
  std::uint64_t const flight = end.since(una).count;
  std::uint64_t const acked = una.since(first).count;
  std::uint64_t const most = initial_window(mss) + acked + std::uint64_t{v.duplicates} * mss;
  if (flight <= most) {
    return;
  }
  //= rfc5681#3.1
  //# 5681:CC-3 no more than the initial window is sent before the first ACK
  if (acked == 0) {
    m.judge.call_whole(m, Rule::initial_window, Ambiguity::choice, {most, flight});
    return;
  }
  //= rfc5681#3.1
  //# 5681:CC-32 each acknowledged octet opens the window by at most one octet
  m.judge.call_whole(m, Rule::window_grown_too_fast, Ambiguity::hidden, {most, flight});
}

void judge_small(const Moment& m, std::uint32_t mss) {
  EndpointState& v = m.speaker;
  wire::Segment const& segment = m.segment();
  Sequence const una = v.limited ? v.limit_ack : v.iss;
  v.small = v.small && una.before(v.small_end);
  // Options reduce the payload of a full segment: timestamps take twelve octets of the MSS.
  std::uint32_t const full = mss > 40 ? mss - 40 : mss;
  bool const fresh = segment.sequence.at_or_after(v.sent);
  // Two segments of equal size are full ones, on a path whose MTU is below what the MSS allows.
  bool const alike = m.said.text() == v.last_text && m.said.text().count >= path_least;
  bool const small = m.said.text().count < full && !segment.flags.fin() && !alike;
  v.last_text = fresh ? m.said.text() : v.last_text;
  if (!fresh || !small) {
    return;
  }
  Sequence const end = segment.sequence + m.said.text();
  //= rfc9293#3.7.4
  //# 9293:P-NAGLE a small segment waits until all data in flight is acknowledged
  if (v.small) {
    m.judge.call_whole(m, Rule::nagle, Ambiguity::choice, {v.small_end.value, una.value});
  }
  bool const half = m.said.text().count * 2 >= v.limit_widest.count;
  //= rfc9293#3.8.6.2.1
  //# 9293:MUST-38 a segment that is neither full nor pushed is held back
  if (!segment.flags.psh() && !segment.flags.urg() && !half && end != v.limit) {
    m.judge.call_whole(m, Rule::silly_sender, Ambiguity::hidden, {full, m.said.text().count});
  }
  v.small = true;
  v.small_end = end;
}

//= rfc9293#3.8.6.2.2
//# 9293:MUST-39 a closed window opens by at least a segment or half the buffer
void judge_opened(const Moment& m) {
  EndpointState const& v = m.speaker;
  wire::Segment const& segment = m.segment();
  bool const opens = v.offered && v.last_window.empty() && segment.flags.ack() &&
                     segment.acknowledgment == v.last_ack && segment.window.value != 0;
  bool const scaled = v.scaled && m.other.scaled;
  Bytes const window{static_cast<std::uint32_t>(segment.window.value)
                     << (scaled ? v.scale.shift : 0)};
  // Implementations estimate the MSS from the segments that arrived.
  std::uint32_t const mss =
      v.opening_count == 1 ? std::min(v.openings[0].mss.count, m.other.largest_text) : 0;
  if (opens && window.count < mss && window.count * 2 < v.widest.count) {
    m.judge.call_whole(m, Rule::silly_receiver, Ambiguity::hidden,
                       {std::min(mss, v.widest.count / 2), window.count});
  }
}

}  // namespace

void judge_amounts(const Moment& m) {
  judge_opened(m);
  if (m.said.text().empty() || m.other.opening_count != 1 || m.segment().flags.syn()) {
    return;
  }
  // The sender may use a minimum MSS above the one that the peer's SYN names, so each check uses
  // the value that permits more.
  Bytes const named = m.other.openings[0].mss;
  judge_flight(m, most(named, m.terms.mss_least).count);
  judge_small(m, std::max(named.count, 1u));
}

}  // namespace lockstep::sim::referee
