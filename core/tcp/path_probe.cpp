// Packetization-layer path MTU discovery (RFC 4821): probes with real data, black hole detection.
#include "core/tcp/path_probe.hpp"

#include <algorithm>

#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/path.hpp"
#include "core/tcp/record_ends.hpp"
#include "core/tcp/rtt.hpp"
#include "core/tcp/sack_report.hpp"

namespace lockstep::tcp::path_probe {
namespace {

bool is_on(const Engine& e) { return e.config.path_mtu_probing && e.config.path_mtu_discovery; }

//= rfc4821#7.4
//# 4821:PLP-11 no probe in flight and no loss
bool is_calm(const Connection& c, const InFlightState& a) {
  return a.path_probe.size == 0 && !c.congestion.recovering && !a.after_timeout &&
         a.retransmit_next.at_or_after(a.retransmit_end) && c.congestion.duplicates == 0 &&
         a.board.runs == 0 && c.retries == 0 && a.mode != RetransmitMode::persist &&
         synchronized(c.state) && !c.fin_sent;
}

// One round trip per segment of the window: congestion alone could cause one loss in that time.
Duration headway(const Connection& c) {
  return srtt_of(c.rtt) * (c.congestion.cwnd.count / c.mss + 1);
}

//= rfc4821#7.6.2
//# 4821:PLP-14, 4821:PLP-16 search_high is set below its size, and segments are smaller
//# 4821:PLP-15 no further probe before congestion could have caused a loss
void fail(Engine& e, Connection& c, std::uint32_t times) {
  PathProbe& probe = e.active(c).path_probe;
  e.paths.failed(c.remote, e.state->now, {probe.size, headway(c) * times});
  probe.size = 0;
  ++e.counters->path_probes_lost;
}

// Whether all ranges missing on the scoreboard are inside the probe.
//= rfc4821#4
//# 4821:PLP-1 losses are reported as fast and as exactly as the scoreboard detects them
bool only_the_probe(const Engine& e, const InFlightState& a) {
  memory::ListHead order = a.board.order;
  memory::List<Sent, &Sent::order> const ranges(order, e.sent.view());
  Sequence const top = a.board.highest == nil ? a.path_probe.end : e.sent[a.board.highest].end;
  for (Index i = ranges.first(); i != nil; i = ranges.next(i)) {
    Sent const& range = e.sent[i];
    bool const missing = !range.sacked && (range.lost || range.begin.before(top));
    bool const inside =
        range.begin.at_or_after(a.path_probe.begin) && range.end.at_or_before(a.path_probe.end);
    if (missing && !inside) {
      return false;
    }
  }
  return true;
}

//= rfc4821#7.7
//# 4821:PLP-18 R1 was reached without an ICMP message: a black hole
//# 4821:PLP-19 each further timeout halves the size
void detect_black_hole(Engine& e, Connection& c) {
  Duration const stalled = e.state->now.since(e.active(c).unacked_since);
  bool const full_stop = c.retries >= e.config.r1_retransmissions.value &&
                         (stalled > e.config.path_mtu_stalled || e.config.path_mtu_stalled.ns == 0);
  if (!full_stop || e.active(c).pending_mtu != 0) {
    return;
  }
  auto const least = e.paths.least_to(c.remote);
  auto const low = std::max(static_cast<std::uint16_t>(e.config.path_mtu_low.count), least);
  //= rfc4821#7.2
  //# 4821:PLP-9 search_low starts at a configured size that nearly all paths carry
  std::uint32_t const sent = std::min(packet_bytes(c), flight_size(c).count + overhead(c));
  if (sent > least && e.paths.stalled(c.remote, e.state->now, {low, sent})) {
    ++e.counters->black_holes;
    follow_path(e, c);
  }
}

}  // namespace

[[gnu::cold]] Step plan(Engine& e, Connection& c, SegmentPlan& out) {
  if (!is_on(e) || !c.path_limited || !is_calm(c, e.active(c))) {
    return Step::none;
  }
  InFlightState const& a = e.active(c);
  //= rfc4821#7.1
  //# 4821:PLP-6 above search_low and at most search_high
  //= rfc4821#7.2
  //# 4821:PLP-8 which the link and the peer's MSS limit
  std::uint32_t const size =
      e.paths.probe_size(c.remote, e.state->now, mss_most(e, c) + header_bytes(c));
  bool const plain = eff_snd_mss(c, a) == c.mss && e.state->now >= a.pace_at;
  if (size <= packet_bytes(c) || !plain) {
    return Step::none;
  }
  Bytes const data{size - overhead(c)};
  //= rfc4821#7.4
  //# 4821:PLP-11 enough data is queued, and both windows have space for it
  //# 4821:PLP-12 and for the segments whose duplicate ACKs report its loss
  Bytes const needed = data + Bytes{e.config.duplicate_acks.value * c.mss};
  Bytes const queued = (queue_begin(c) + a.send.length()).since(c.send.nxt);
  Bytes const usable = (c.send.una + c.send.wnd).since(c.send.nxt);
  if (queued < needed || usable < needed || c.congestion.cwnd < needed) {
    return Step::none;
  }
  if (within_record(e, c, a, c.send.nxt, data) < data) {
    return Step::none;
  }
  if (c.congestion.cwnd < flight_size(c) + data) {
    return Step::hold;
  }
  out = SegmentPlan{};
  out.kind = PlanKind::data;
  out.sequence = c.send.nxt;
  out.data = data;
  out.large = true;
  return Step::probe;
}

void note_sent(Engine& e, Connection& c, const SegmentPlan& plan) {
  PathProbe& probe = e.active(c).path_probe;
  probe.begin = plan.sequence;
  probe.end = plan.sequence + plan.data;
  probe.size = static_cast<std::uint16_t>(plan.data.count + overhead(c));
  ++e.counters->path_probes;
  e.paths.probed(c.remote);
}

void note_again(InFlightState& a, Sequence begin, Sequence end) {
  if (begin.before(a.path_probe.end) && end.after(a.path_probe.begin)) {
    a.path_probe.size = 0;
  }
}

[[gnu::cold]] void on_advance(Engine& e, Connection& c, InFlightState& a) {
  if (c.send.una.after(a.pending_sequence)) {
    //= rfc5927#7.2
    //# 5927:ICMP-6 the quoted data was acknowledged: discard the message for good
    a.pending_mtu = 0;
  }
  if (a.path_probe.size == 0 || c.send.una.at_or_before(a.path_probe.begin)) {
    return;
  }
  if (c.send.una.before(a.path_probe.end)) {
    // The probe was acknowledged in part: it was split on the way, or the peer had no space for the
    // rest. Neither shows what the path carries.
    a.path_probe.size = 0;
    return;
  }
  //= rfc4821#7.6.1
  //# 4821:PLP-13 search_low and eff_pmtu become its size
  e.paths.passed(c.remote, e.state->now, a.path_probe.size);
  a.path_probe.size = 0;
  //= rfc4821#4
  //# 4821:PLP-4 cwnd counts octets and stays the same
  follow_path(e, c);
}

[[gnu::cold]] bool only_probe_lost(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  end_suppression(c, a);
  if (a.path_probe.size == 0) {
    return false;
  }
  bool const tracked = a.board.order.count != 0;
  //= rfc4821#7.6.4
  //# 4821:PLP-17 with other losses the probe's loss shows nothing
  //= rfc4821#7.1
  //# 4821:PLP-20 nor does the loss of a packet that is not a probe
  bool const alone = tracked ? only_the_probe(e, a) : c.send.una == a.path_probe.begin;
  if (!alone) {
    a.path_probe.size = 0;
    return false;
  }
  fail(e, c, 1);
  //= rfc4821#4
  //# 4821:PLP-2 loss of the probe alone is no sign of congestion: cwnd stays the same in recovery
  a.path_probe.suppressed = true;
  a.path_probe.ssthresh = c.congestion.ssthresh;
  c.congestion.ssthresh = most(c.congestion.cwnd, Bytes{2u * c.mss});
  return true;
}

//= rfc4821#4
//# 4821:PLP-3 any other loss is handled as usual
[[gnu::cold]] void other_loss_found(Engine& e, Connection& c) {
  end_suppression(c, e.active(c));
  congestion::on_loss(e, c);
  c.congestion.cwnd = least(c.congestion.cwnd, c.congestion.ssthresh);
}

bool other_losses_known(const Engine& e, const InFlightState& a) { return !only_the_probe(e, a); }

void on_timeout(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  if (a.path_probe.size != 0) {
    // RFC 4821 7.6.3: a failed probe that cost a timeout is not repeated soon.
    if (c.send.una == a.path_probe.begin) {
      fail(e, c, 5);
    }
    a.path_probe.size = 0;
  }
  end_suppression(c, a);
  if (is_on(e)) {
    detect_black_hole(e, c);
  }
}

}  // namespace lockstep::tcp::path_probe
