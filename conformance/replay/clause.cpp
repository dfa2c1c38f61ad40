// The order of checks of RFC 9293 3.10.7, expressed as clause names. Makes no TCP decisions.
#include "conformance/replay/clause.hpp"

#include <algorithm>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"

namespace lockstep::conformance {
namespace {

using tcp::State;
using tools::Segment;
namespace flag = tools::tcp_flag;

bool in_window(const Numbers& n, std::uint32_t sequence) {
  return sequence - n.receive_next < n.receive_window;
}

bool acceptable(const Numbers& n, const Segment& segment) {
  if (segment.length() == 0) {
    return segment.sequence == n.receive_next || in_window(n, segment.sequence);
  }
  return n.receive_window != 0 &&
         (in_window(n, segment.sequence) || in_window(n, segment.end() - 1));
}

bool too_old(const Numbers& n, const Segment& segment) {
  auto const stamps = stamps_of(segment);
  return stamps && before(stamps->value, n.ts_recent);
}

Clauses closed(const Segment& segment) {
  if (segment.any(flag::rst)) {
    return {"9293:P-CLOSED-RST"};
  }
  return {segment.any(flag::ack) ? "9293:P-CLOSED-ACK" : "9293:P-CLOSED-SEG"};
}

Clauses listen(const Segment& segment) {
  if (segment.any(flag::rst)) {
    return {"9293:P-LISTEN-RST"};
  }
  if (segment.any(flag::ack)) {
    return {"9293:P-LISTEN-ACK"};
  }
  if (segment.any(flag::syn) && segment.data_bytes() != 0 && cookie_of(segment)) {
    return {"7413:TFO-13", "7413:TFO-14", "7413:TFO-2"};
  }
  return {segment.any(flag::syn) ? "9293:P-LISTEN-SYN" : "9293:P-LISTEN-OTHER"};
}

Clauses syn_sent(const Numbers& n, const Segment& segment) {
  bool const ack = segment.any(flag::ack);
  bool const ack_good = ack && before(n.send_una, segment.acknowledgment) &&
                        at_or_before(segment.acknowledgment, n.send_next);
  if (ack && !ack_good) {
    return {"9293:P-SYNSENT-ACK"};
  }
  if (segment.any(flag::rst)) {
    return {ack ? "9293:P-SYNSENT-RST" : "9293:P-SYNSENT-RST-NOACK"};
  }
  if (segment.any(flag::syn)) {
    return {ack ? "9293:P-SYNSENT-EST" : "9293:P-SYNSENT-SIM"};
  }
  return {"9293:P-SYNSENT-OTHER"};
}

Clauses unacceptable(const Numbers& n, const Segment& segment) {
  if (segment.any(flag::rst)) {
    return {"9293:P-RST-OUT"};
  }
  if (n.state == State::time_wait && segment.any(flag::fin)) {
    return {"9293:P-TIMEWAIT-ACK"};
  }
  if (n.receive_window == 0) {
    return {"9293:P-ZWP-REPLY"};
  }
  return {"9293:P-ACCEPT-REPLY"};
}

Clauses reset(const Numbers& n, const Segment& segment, tcp::ResetPolicy policy) {
  if (policy == tcp::ResetPolicy::rfc5961 && segment.sequence != n.receive_next) {
    return {"9293:P-RST-CHALLENGE"};
  }
  if (n.state == State::syn_received) {
    return {"9293:P-RST-SYNRCVD"};
  }
  bool const closing =
      n.state == State::closing || n.state == State::last_ack || n.state == State::time_wait;
  return {closing ? "9293:P-RST-CLOSING" : "9293:P-RST-EST"};
}

bool took_fin(State from, State to) {
  return (from == State::established && to == State::close_wait) ||
         (from == State::fin_wait_1 && (to == State::closing || to == State::time_wait)) ||
         (from == State::fin_wait_2 && to == State::time_wait) ||
         (from == State::syn_received && to == State::close_wait);
}

/// The segment is acceptable and so is its ACK: the clauses about its data and its FIN.
Clauses text(const Numbers& n, const Segment& segment, State after) {
  bool const carries = segment.data_bytes() != 0 || segment.any(flag::fin);
  if (n.close_called && segment.data_bytes() != 0 && n.state != State::time_wait) {
    return {"9293:SHLD-3"};
  }
  if (carries && before(n.receive_next, segment.sequence)) {
    return {"5681:CC-14"};
  }
  if (took_fin(n.state, after) || (carries && segment.any(flag::fin))) {
    return {"9293:P-FIN"};
  }
  if (carries && n.out_of_order != 0) {
    return {"5681:CC-15"};
  }
  if (carries && before(n.receive_next + n.receive_window, segment.end())) {
    return {"9293:P-ACCEPT-TRIM"};
  }
  if (carries) {
    return {"9293:P-TEXT-ACK", "5681:CC-27"};
  }
  return {n.state == State::syn_received ? "9293:P-SYNRCVD-EST" : "9293:P-ACK-EST"};
}

Clauses acknowledgement(const Numbers& n, const Segment& segment, State after,
                        tcp::ResetPolicy policy) {
  if (!segment.any(flag::ack)) {
    return {"9293:P-ACK-OFF"};
  }
  std::uint32_t const ack = segment.acknowledgment;
  bool const good = before(n.send_una, ack) && at_or_before(ack, n.send_next);
  if (n.state == State::syn_received && !good) {
    return {"9293:P-SYNRCVD-ACK"};
  }
  if (n.state != State::syn_received && before(n.send_next, ack)) {
    return {"9293:P-ACK-FUTURE"};
  }
  bool const too_old = before(ack, n.send_una - n.send_window_max);
  if (n.state != State::syn_received && policy == tcp::ResetPolicy::rfc5961 && too_old) {
    return {"9293:P-ACK-5961"};
  }
  return text(n, segment, after);
}

Clauses clauses_of_icmp(const tools::IcmpError& error) {
  auto const type = std::to_integer<unsigned>(error.message[0]);
  auto const code = std::to_integer<unsigned>(error.message[1]);
  if (type == 4) {
    return {"9293:MUST-55"};
  }
  bool const hard = type == 3 && (code == 2 || code == 3);
  bool const path_mtu = type == 3 && code == 4;
  return {hard ? "9293:SHLD-26" : path_mtu ? "9293:MUST-54" : "9293:MUST-56"};
}

}  // namespace

Clauses clauses_of_segment(const Numbers& n, const Segment& segment, State after,
                           tcp::ResetPolicy policy) {
  if (n.state == State::closed) {
    return closed(segment);
  }
  if (n.state == State::listen) {
    return listen(segment);
  }
  if (n.state == State::syn_sent) {
    return syn_sent(n, segment);
  }
  bool const synchronized = n.state != State::syn_received;
  bool const syn = segment.any(flag::syn) && !segment.any(flag::rst);
  if (syn && synchronized && n.state == State::time_wait && after == State::syn_received) {
    return {"9293:P-LISTEN-SYN"};
  }
  if (syn && synchronized && policy == tcp::ResetPolicy::rfc5961) {
    return {"9293:P-SYN-INWIN"};
  }
  bool const opens_from_both =
      !synchronized && segment.has(flag::syn | flag::ack) && segment.sequence + 1 == n.receive_next;
  if (opens_from_both) {
    return {"9293:P-SYNRCVD-EST"};
  }
  if (n.stamped && !segment.any(flag::rst | flag::syn) && too_old(n, segment)) {
    return {"7323:TS-17"};
  }
  if (!acceptable(n, segment)) {
    return unacceptable(n, segment);
  }
  if (segment.any(flag::rst)) {
    return reset(n, segment, policy);
  }
  if (syn) {
    return {synchronized ? "9293:P-SYN-793" : "9293:P-SYN-SYNRCVD"};
  }
  return acknowledgement(n, segment, after, policy);
}

Clauses clauses_of_call(Act act, const Numbers& n, State after, bool unread) {
  switch (act) {
    case Act::open:
      return {"9293:P-OPEN-CLOSED-ACTIVE"};
    case Act::listen:
      return {"9293:P-OPEN-CLOSED-PASSIVE"};
    case Act::write:
      return {"9293:P-SEND-EST"};
    case Act::urgent:
      return {"9293:MUST-30"};
    case Act::hold:
    case Act::resume:
    case Act::consume:
      return {"9293:P-SWS-RCV"};
    case Act::abort:
      if (n.state == State::syn_sent) {
        return {"9293:P-ABORT-SYNSENT"};
      }
      return {n.state == State::closing || n.state == State::last_ack || n.state == State::time_wait
                  ? "9293:P-ABORT-CLOSING"
                  : "9293:P-ABORT"};
    case Act::close:
    case Act::finish:
      break;
  }
  if (act == Act::close && unread) {
    return {"9293:SHLD-3"};
  }
  if (n.state == State::syn_sent) {
    return {"9293:P-CLOSE-SYNSENT"};
  }
  bool const second = n.state == State::close_wait || after == State::last_ack;
  return {second ? "9293:P-CLOSE-CLOSEWAIT" : "9293:P-CLOSE-QUEUED"};
}

Numbers numbers_before(const LiveRun& run, std::size_t index) {
  Numbers out;
  const StepRecord& record = run.steps[index];
  const View& view = record.before;
  out.state = view.state;
  out.close_called = view.close_called;
  if (view.info.exists) {
    const ConnectionInfo& info = view.info;
    out.receive_next = info.receive.nxt.value;
    out.receive_window = info.receive.wnd.count;
    out.out_of_order = info.receive.out_of_order.count;
    out.send_una = info.send.una.value;
    out.send_next = info.send.nxt.value;
    out.send_window = info.send.wnd.count;
    out.send_window_max = info.send.wnd_max.count;
    out.cwnd = info.cwnd.count;
    out.queued = info.send.queued.count;
    out.mss = info.send.mss.count;
    out.stamped = info.options.timestamps;
    out.ts_recent = info.options.ts_recent;
    return out;
  }
  for (const LiveSent& sent : run.sent) {
    if (sent.steps > index) {
      break;
    }
    if (sent.segment.any(flag::rst)) {
      continue;
    }
    out.receive_next = sent.segment.acknowledgment;
    out.receive_window = sent.window_bytes;
    out.send_next = sent.segment.end();
  }
  out.send_una = out.state == State::syn_received ? out.send_next - 1 : out.send_next;
  out.send_window_max = 65'535;
  return out;
}

Clauses clauses_of_step(const Script& script, const LiveRun& run, std::size_t index,
                        const Config& config) {
  const Step& step = script.steps[index];
  const StepRecord& record = run.steps[index];
  Numbers const numbers = numbers_before(run, index);
  if (step.kind == Step::Kind::call) {
    bool const unread = record.before.info.exists && !record.before.info.receive.unread.empty();
    return clauses_of_call(step.act, numbers, record.after.state, unread);
  }
  if (step.kind == Step::Kind::icmp) {
    return clauses_of_icmp(step.icmp);
  }
  tools::CapturedFrame frame;
  frame.bytes = record.bytes;
  frame.original_bytes = static_cast<std::uint32_t>(record.bytes.size());
  tools::Decoded const played = tools::decode(frame, tools::LinkLayer::raw_ip);
  if (played.kind != tools::FrameKind::tcp) {
    return {"9293:P-DOFF"};
  }
  if (played.segment.sum == tools::SumState::bad) {
    return {"9293:MUST-3"};
  }
  return clauses_of_segment(numbers, played.segment, record.after.state, config.tcp.reset_policy);
}

std::string chosen(const Clauses& clauses, const std::vector<std::string>& shows) {
  for (std::string_view const clause : clauses) {
    if (std::find(shows.begin(), shows.end(), clause) != shows.end()) {
      return std::string(clause);
    }
  }
  return clauses.empty() ? "9293:P-EV-EQUIV" : std::string(clauses.front());
}

}  // namespace lockstep::conformance
