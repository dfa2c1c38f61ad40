// Trains: full segments of new data that follow one another at the same instant.
#include "core/tcp/train.hpp"

#include <algorithm>
#include <cstring>

#include "core/tcp/accounts.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/rate.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/recovery/scoreboard.hpp"
#include "core/units/check.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::tcp {
namespace {

// Whether the planners in front of that for new data have nothing to send, and will not have at
// this instant.
bool only_new_data(const Connection& c, const InFlightState& a) {
  bool const separate = a.pending_ack_first != nil || a.any() || a.window_update;
  bool const again = a.retransmit_next.before(a.retransmit_end) || c.congestion.recovering ||
                     a.after_timeout || a.doubtful() || a.tail.wanted;
  bool const probes = a.path_probe.size != 0 || c.path_limited || c.doubt_next_hop;
  return !separate && !again && !probes;
}

// Whether each of the next segments has the header of this one, but for its number: that has no PSH
// and no CWR.
bool same_header(const Connection& c, const InFlightState& a, wire::Flags flags) {
  bool const reports = a.extents != nil || a.has_duplicate;
  bool const marks = c.send_urgent || a.send.record_ends != 0;
  return flags.without(wire::flag::ece) == wire::flag::ack && !reports && !marks &&
         !c.options.has(negotiated::user_timeout_due);
}

// Whether sending one more changes nothing but SND.NXT: the timers run already, a segment is timed,
// and the scoreboard's last range grows.
bool same_state(const Engine& e, const Connection& c, const InFlightState& a) {
  bool const timers =
      a.timing && flight_size(c).count >= 2u * c.mss &&
      (a.mode == RetransmitMode::retransmit || a.mode == RetransmitMode::loss_probe);
  bool const board = a.board.order.count == 0 ||
                     (e.config.rack && a.board.runs == 0 && a.board.lost_not_retransmitted.empty());
  return timers && board && c.congestion.duplicates == 0 && a.limited.empty();
}

// How many segments of `data` octets may follow at once. The last of the queue is not among them:
// it has PSH, and the connection leaves the ready list.
std::uint32_t followers(const Connection& c, const InFlightState& a, Bytes data) {
  Sequence const end = c.send.una + a.send.length();
  Sequence const pushed = a.pushed.after(c.send.nxt) ? first_of(a.pushed, end) : end;
  Bytes const queued = pushed.since(c.send.nxt);
  Bytes const usable = (c.send.una + c.send.wnd).since(c.send.nxt);
  Bytes const flight = flight_size(c);
  Bytes const pipe = a.board.order.count != 0 ? most(a.board.pipe, flight) : flight;
  Bytes const room = least(usable, c.congestion.cwnd - pipe);
  return queued.empty() ? 0
                        : std::min((queued - Bytes{1}).count / data.count, room.count / data.count);
}

}  // namespace

void begin_train(Engine& e, const Transmitted& sent, std::span<const std::byte> frame,
                 std::uint32_t tcp_at, Train& train) {
  Index const active = e.ready().first();
  bool const long_enough = sent.departure.payload.count + tcp_at >= Train::headers_max;
  if (active == nil || active != sent.sender || !long_enough) {
    return;
  }
  InFlightState const& a = e.actives[active];
  Connection const& c = e.connection(a.owner);
  std::byte const* const tcp = frame.data() + tcp_at;
  wire::Flags const flags{wire::load8(tcp + wire::tcp_flags_offset)};
  if (!synchronized(c.state) || c.fin_sent || e.config.pacing || e.config.push_bursts ||
      accounts_kept(e) || e.paths.any() || e.state->mtu_differs || !only_new_data(c, a) ||
      !same_header(c, a, flags) || !same_state(e, c, a)) {
    return;
  }
  train.left = followers(c, a, sent.data);
  if (train.left == 0) {
    return;
  }
  std::uint32_t const header = (wire::load8(tcp + wire::tcp_flags_offset - 1) >> 4) * 4u;
  train.active = active;
  train.at = e.state->now;
  train.data = sent.data;
  train.tcp_at = tcp_at;
  train.headers = tcp_at + header;
  CHECK(train.headers <= Train::headers_max);
  std::memcpy(train.frame.data(), frame.data(), Train::headers_max);
  wire::PseudoHeader const pseudo{e.local_of(c), c.remote,
                                  static_cast<std::uint8_t>(wire::IpProtocol::tcp),
                                  Bytes{header} + sent.data};
  train.sum = wire::pseudo_header_sum(pseudo).sum;
  for (std::uint32_t at = 0; at < header; at += 4) {
    bool const number = at == wire::tcp_sequence_offset;
    std::uint32_t const word = wire::load32(tcp + at);
    bool const checksum = at == wire::tcp_checksum_offset;
    train.sum += number ? 0u : checksum ? word & 0xffff : word;
  }
}

Bytes send_follower(Engine& e, Train& train, std::span<std::byte> frame) {
  InFlightState& a = e.actives[train.active];
  Connection& c = e.connection(a.owner);
  Sequence const begin = c.send.nxt;
  Bytes const flight = flight_size(c);
  std::memcpy(frame.data(), train.frame.data(), Train::headers_max);
  wire::Partial const data =
      copy_queued(e, a, flight, frame.subspan(train.headers, train.data.count));
  std::byte* const tcp = frame.data() + train.tcp_at;
  wire::Partial const all{train.sum + begin.value + data.sum, false};
  wire::store32(tcp + wire::tcp_sequence_offset, begin.value);
  wire::store16(tcp + wire::tcp_checksum_offset, all.checksum());
  c.send.nxt = begin + train.data;
  if (wants_marks(e.config)) {
    mark_segment(e, c, flight);
  }
  if (a.board.order.count != 0) {
    Scoreboard(e, a).sent(c.send.nxt);
  }
  ++c.segments_sent;
  ++e.counters->segments_sent;
  ++e.counters->data_segments_out;
  e.counters->bytes_sent += train.data.count;
  --train.left;
  ++a.quantum;
  if (a.quantum >= e.config.quantum_segments.value) {
    a.quantum = 0;
    e.ready().remove(train.active);
    e.ready().push_back(train.active);
    train.left = e.ready().count() == 1 ? train.left : 0;
  }
  return Bytes{train.headers} + train.data;
}

}  // namespace lockstep::tcp
