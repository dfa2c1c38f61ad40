// Tail loss probes (RFC 8985 section 7): one segment that elicits an ACK before a timeout.
#include "core/tcp/recovery/tail_probe.hpp"

#include <algorithm>

#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/record_ends.hpp"
#include "core/tcp/recovery/sack.hpp"
#include "core/tcp/rtt.hpp"
#include "core/tcp/sack_report.hpp"

namespace lockstep::tcp::tail_probe {
namespace {

//= rfc8985#7.2
//# 8985:TLP-1 two round trips, more for a single segment
// And more for less than two full-sized segments, whose ACK the peer may delay as well.
Duration probe_delay(const Engine& e, const Connection& c) {
  Duration const two = srtt_of(c.rtt) * 2;
  return flight_size(c).count < 2u * c.mss ? two + e.config.tail_probe_ack_delay : two;
}

// The probe has repaired one loss: reduces cwnd as a recovery would have.
void respond_to_repaired_loss(Engine& e, Connection& c) {
  if (!c.congestion.recovering) {
    congestion::on_loss(e, c);
    spurious::keep_reduction(e.active(c));
    c.congestion.cwnd = least(c.congestion.cwnd, c.congestion.ssthresh);
  }
}

}  // namespace

//= rfc8985#7.2
//# 8985:TLP-2 not while losses are being repaired, or SACKed data gives better information
//= rfc8985#4
//# 8985:TLP-13 and only if RACK can use the answer
void schedule(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  bool const plain = e.config.rack && a.board.order.count != 0 && a.board.runs == 0 &&
                     !c.congestion.recovering && !a.after_timeout;
  //= rfc8985#7.3
  //# 8985:TLP-3 no probe while one is in flight, or before an RTT was measured since the last
  // Then the retransmission timer keeps running. If it became a probe timer that sends nothing, an
  // application that writes once per RTO would postpone the timeout for ever.
  bool const permitted = !a.tail.out && !c.rtt.probe_unsampled() && c.rtt.sampled();
  if (!plain || !permitted ||
      (a.mode != RetransmitMode::retransmit && a.mode != RetransmitMode::loss_probe)) {
    return;
  }
  //= rfc8985#8
  //# 8985:RACK-10 one timer, whose mode shows what it waits for
  if (a.mode == RetransmitMode::retransmit) {
    a.mode = RetransmitMode::loss_probe;
    a.timeout_due = a.retransmit_due;
  }
  a.retransmit_due = earlier(due_in(e, probe_delay(e, c)), a.timeout_due);
  arm(e, c);
}

//= rfc8985#7.3
//# 8985:TLP-5 the retransmission timer starts here
void expire(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  a.mode = RetransmitMode::retransmit;
  a.retransmit_due = due_in(e, c.rtt.rto());
  a.tail.wanted = true;
  make_ready(e, c);
}

//= rfc8985#7.3
//# 8985:TLP-4 new data if the peer's window permits; otherwise the last segment is retransmitted
//# 8985:TLP-9 regardless of cwnd
SegmentPlan plan(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  a.tail.wanted = false;
  SegmentPlan plan;
  Scoreboard board(e, a);
  Index const last = board.tracks() ? board.last_unsacked() : nil;
  if (last == nil || c.send.wnd.empty()) {
    return plan;
  }
  Sequence const data_end = c.send.una + a.send.length();
  std::uint32_t const usable = (c.send.una + c.send.wnd).since(c.send.nxt).count;
  Bytes const unsent = data_end.since(c.send.nxt);
  std::uint32_t const queued =
      within_record(e, c, a, c.send.nxt, least(unsent, Bytes{eff_snd_mss(c, a)})).count;
  plan.data = {std::min({queued, usable, eff_snd_mss(c, a)})};
  plan.fin =
      c.fin_queued && !c.fin_sent && c.send.nxt + plan.data == data_end && plan.data.count < usable;
  if (plan.data.empty() && !plan.fin) {
    Sent const& range = board.at(last);
    Sequence const begin = last_segment_of(e, c, {range.begin, range.end});
    plan = plan_range(e, c, a, {begin, range.end});
  } else {
    plan.kind = PlanKind::data;
    plan.sequence = c.send.nxt;
  }
  plan.loss_probe = plan.kind != PlanKind::none;
  a.tail.wanted = plan.loss_probe;
  return plan;
}

//= rfc8985#7.3
//# 8985:TLP-8, 8985:TLP-9 the scoreboard has recorded it like any segment; TLP.end_seq is SND.NXT
void note_departure(Connection& c, InFlightState& a, const SegmentPlan& plan, Sequence end) {
  a.tail.wanted = false;
  a.tail.out = true;
  a.tail.retransmitted = plan.retransmitted;
  c.rtt.note_probe();
  a.tail.end = last_of(c.send.nxt, end);
}

//= rfc8985#7.4.1
//# 8985:TLP-12 in addition to what RACK concludes from the same ACK
void on_ack(Engine& e, Connection& c, const wire::Segment& segment, const AckSample& news,
            bool duplicate) {
  InFlightState& a = e.active(c);
  if (!a.tail.out || segment.acknowledgment.before(a.tail.end)) {
    return;
  }
  //= rfc8985#7.4.2
  //# 8985:TLP-11 new data was delivered, or the segment arrived twice: nothing was lost
  Sequence const block_end = news.duplicate.end;
  bool const twice = news.has_duplicate &&
                     (block_end == a.tail.end || (c.fin_sent && block_end.next() == a.tail.end));
  if (!a.tail.retransmitted || twice) {
    a.tail.out = false;
  } else if (segment.acknowledgment.after(a.tail.end)) {
    //= rfc8985#7.4.2
    //# 8985:TLP-6, 8985:TLP-10 no sign that both arrived: the probe has repaired a loss
    a.tail.out = false;
    respond_to_repaired_loss(e, c);
  } else if (duplicate) {
    a.tail.out = false;
  }
}

void on_idle_ack(Engine& e, Connection& c, const wire::Segment& segment) {
  bool const doubtful = c.active == nil ? c.probe_doubtful : e.active(c).tail.out;
  if (!doubtful || c.send.una != c.send.nxt || segment.acknowledgment != c.send.una ||
      !segment.length().empty()) {
    return;
  }
  Sequence const block_end = segment.options.sack[0].end;
  bool const twice = segment.options.sack_count == 0 || block_end == c.send.una ||
                     (c.fin_sent && block_end.next() == c.send.una);
  if (twice) {
    c.probe_doubtful = false;
    if (c.active != nil) {
      e.active(c).tail.out = false;
    }
  }
}

//= rfc8985#7.1
//# 8985:TLP-7 a recovery resets both variables
void forget(InFlightState& a) {
  a.tail.out = false;
  a.tail.retransmitted = false;
  a.tail.wanted = false;
}

}  // namespace lockstep::tcp::tail_probe
