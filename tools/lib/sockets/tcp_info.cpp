// TCP_INFO: fills Linux's struct from what the stack knows of a connection.
#include <algorithm>
#include <array>
#include <cstddef>

#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {
namespace {

static_assert(offsetof(lockstep_tcp_info, tcpi_rto) == 8);
static_assert(offsetof(lockstep_tcp_info, tcpi_total_retrans) == 100);
static_assert(offsetof(lockstep_tcp_info, tcpi_pacing_rate) == 104);
static_assert(offsetof(lockstep_tcp_info, tcpi_delivery_rate) == 160);
static_assert(offsetof(lockstep_tcp_info, tcpi_snd_wnd) == 228);
static_assert(sizeof(lockstep_tcp_info) == 248);

constexpr std::uint8_t state_closed = 7;
constexpr std::uint8_t state_listen = 10;
constexpr std::uint32_t no_threshold = 0x7fff'ffff;
constexpr std::uint32_t core_has_none = 0x3fff'ffff;  // the initial ssthresh of core
constexpr std::uint32_t timestamps_bytes = 12;
// Linux's constants: the MSS assumed before any data arrives, its minimum, and the largest
// reordering.
constexpr std::uint32_t rcv_mss_first = 536;
constexpr std::uint32_t rcv_mss_least = 88;
constexpr std::uint32_t reordering_most = 300;

std::uint8_t number_of(tcp::State state) {
  // In the order of tcp::State: closed, listen, syn_sent, syn_received, established, fin_wait_1,
  // fin_wait_2, close_wait, closing, last_ack, time_wait.
  constexpr std::array<std::uint8_t, tcp::state_count> numbers{7, 10, 2, 3, 1, 4, 5, 8, 11, 9, 6};
  return numbers[static_cast<std::uint32_t>(state)];
}

std::uint32_t segments(Bytes octets, std::uint32_t mss) { return (octets.count + mss - 1) / mss; }

std::uint32_t in_units(Duration duration, std::uint64_t unit_ns) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(duration.ns / unit_ns, 0xffff'ffff));
}
std::uint32_t microseconds(Duration duration) { return in_units(duration, 1000); }

/// Whether nothing above `recover` was acknowledged since the last loss.
bool holds_recovery(const ConnectionInfo& info) {
  bool const lost_once = info.recover != info.send.iss;
  return lost_once && !info.sack && !info.send.una.previous().after(info.recover);
}

std::uint8_t mood_of(const ConnectionInfo& info, bool held) {
  constexpr std::uint8_t recovery = 3, loss = 4;
  if (info.retries != 0) {
    return loss;
  }
  if (info.fast_recovery) {
    return recovery;
  }
  if (held && holds_recovery(info)) {
    return info.account.timeouts == 0 ? recovery : loss;
  }
  return info.duplicate_acks != 0 || !info.sacked.empty() ? 1 : 0;
}

std::uint8_t options_of(const ConnectionInfo& info) {
  std::uint32_t options = 0;
  options |= info.options.timestamps ? 1u : 0u;
  options |= info.sack ? 2u : 0u;
  options |= info.options.window_scale ? 4u : 0u;
  options |= info.ecn.rx || info.ecn.tx ? 8u : 0u;
  options |= info.options.fast_open ? 32u : 0u;
  return static_cast<std::uint8_t>(options);
}

void fill_sender(const ConnectionInfo& info, lockstep_tcp_info& out) {
  std::uint32_t const mss = std::max(info.send.mss.count, 1u);
  Bytes const flight = info.send.nxt.since(info.send.una);
  out.tcpi_snd_mss = mss;
  out.tcpi_unacked = segments(flight, mss);
  out.tcpi_sacked = segments(info.sacked, mss);
  out.tcpi_lost = segments(info.lost, mss);
  out.tcpi_retrans = segments(info.retransmitted, mss);
  out.tcpi_snd_cwnd = info.cwnd.count / mss;
  bool const none = info.ssthresh.count >= core_has_none;
  out.tcpi_snd_ssthresh = none ? no_threshold : info.ssthresh.count / mss;
  out.tcpi_notsent_bytes = (info.send.queued - flight).count;
  out.tcpi_snd_wnd = info.send.wnd.count;
  out.tcpi_total_retrans = static_cast<std::uint32_t>(info.retransmissions);
  out.tcpi_pacing_rate = info.pacing_rate == 0 ? ~std::uint64_t{0} : info.pacing_rate;
  out.tcpi_max_pacing_rate = ~std::uint64_t{0};
  if (info.rate.valid && info.rate.interval.ns != 0) {
    out.tcpi_delivery_rate =
        std::uint64_t{info.rate.delivered.count} * 1'000'000'000 / info.rate.interval.ns;
    out.tcpi_flags = info.rate.limited ? 1 : 0;
  }
}

// Fills in the counters of the connection's account.
void fill_account(const ConnectionInfo& info, lockstep_tcp_info& out) {
  auto const& account = info.account;
  std::uint32_t const mss = out.tcpi_snd_mss;
  out.tcpi_rcv_rtt = microseconds(account.rcv_rtt);
  out.tcpi_data_segs_in = account.data_segments_in;
  out.tcpi_data_segs_out = account.data_segments_out;
  out.tcpi_rwnd_limited = account.rwnd_limited.ns / 1000;
  out.tcpi_delivered_ce = static_cast<std::uint32_t>((account.octets_marked + mss - 1) / mss);
  out.tcpi_bytes_retrans = account.bytes_retrans;
  out.tcpi_dsack_dups = account.duplicates_told;
  out.tcpi_rcv_ooopack = account.out_of_order_segments;
  out.tcpi_total_rto = static_cast<std::uint16_t>(std::min(account.timeouts, 0xffffu));
  out.tcpi_total_rto_recoveries = static_cast<std::uint16_t>(std::min(account.repairs, 0xffffu));
  out.tcpi_total_rto_time = in_units(account.repairing, 1'000'000);
}

// Before any data arrives Linux assumes a value; afterwards it is the largest payload received,
// limited by the MSS of our SYN.
std::uint32_t rcv_mss_of(const ConnectionInfo& info, std::uint32_t named) {
  std::uint32_t const guess =
      std::min({named, info.send.mss.count, info.receive.wnd.count / 2, rcv_mss_first});
  return std::max({std::min(info.largest_heard.count, named), guess, rcv_mss_least});
}

}  // namespace

// Records the MSS that our SYN or SYN-ACK announces: the stack's, or the one that `by` has set.
void Sockets::note_announced_mss(Socket& s, const Socket& by) const {
  Config const& config = stack_.config();
  std::uint32_t const chosen = pending_or_default(by, SettingKind::mss);
  std::uint32_t own = config.tcp.mss.count;
  if (!s.remote.address.is_v4()) {
    own = std::min(own, config.mtu.count - 60);
  }
  s.announced_mss = chosen == 0 ? own : std::min(own, chosen);
}

lockstep_tcp_info Sockets::info_of(const Socket& s) const {
  lockstep_tcp_info out{};
  Config const& config = stack_.config();
  ConnectionInfo const info = stack_.inspect(s.connection);
  auto const milliseconds_since = [this](Instant past) {
    return past == Instant{} ? 0 : in_units(stack_.now().since(past), 1'000'000);
  };
  out.tcpi_bytes_acked = s.acknowledged;
  out.tcpi_bytes_received = s.consumed;
  if (!info.exists) {
    bool const listens = s.phase == Phase::listening;
    out.tcpi_state = listens ? state_listen : state_closed;
    out.tcpi_unacked = s.waiting;  // as in Linux: the accept queue, and its limit
    out.tcpi_sacked = listens ? s.backlog - 1 : 0;
    out.tcpi_snd_mss = 536;
    return out;
  }
  out.tcpi_state = number_of(info.state);
  out.tcpi_ca_state = mood_of(info, config.tcp.recovery_held);
  out.tcpi_retransmits = static_cast<std::uint8_t>(std::min(info.retries, 255u));
  out.tcpi_probes = static_cast<std::uint8_t>(info.persist_backoff);
  out.tcpi_backoff = std::max(out.tcpi_retransmits, out.tcpi_probes);
  out.tcpi_options = options_of(info);
  out.tcpi_wscale = static_cast<std::uint8_t>((info.options.send_scale.shift & 15) |
                                              (info.options.receive_scale.shift & 15) << 4);
  out.tcpi_rto = microseconds(info.rto);
  out.tcpi_ato = microseconds(config.tcp.delayed_ack);
  out.tcpi_rtt = microseconds(info.srtt);
  out.tcpi_rttvar = microseconds(info.rttvar);
  out.tcpi_min_rtt = info.least_rtt.ns == 0 ? 0xffff'ffff : microseconds(info.least_rtt);
  std::uint32_t const stamps = info.options.timestamps ? timestamps_bytes : 0;
  out.tcpi_advmss = s.announced_mss - std::min(s.announced_mss, stamps);
  out.tcpi_rcv_mss = rcv_mss_of(info, out.tcpi_advmss);
  out.tcpi_reord_seen = info.reordering_seen ? 1 : 0;
  out.tcpi_last_data_sent = milliseconds_since(info.sent_at);
  out.tcpi_last_ack_recv = milliseconds_since(info.heard_at);
  out.tcpi_pmtu = mtu_of(s);
  // In segments: how far below the highest SACKed octet data that was not retransmitted was
  // acknowledged.
  out.tcpi_reordering =
      std::max(config.tcp.duplicate_acks.value,
               std::min(segments(info.account.overtaken, std::max(info.send.mss.count, 1u)),
                        reordering_most));
  out.tcpi_bytes_received += info.receive.unread.count;
  out.tcpi_rcv_wnd = info.receive.wnd.count;
  out.tcpi_rcv_space = pending_or_default(s, SettingKind::receive_buffer);
  out.tcpi_segs_out = static_cast<std::uint32_t>(info.segments_sent);
  out.tcpi_segs_in = static_cast<std::uint32_t>(info.segments_received);
  out.tcpi_last_data_recv = milliseconds_since(Instant{s.data_at});
  fill_sender(info, out);
  fill_history(s, info, out);
  fill_account(info, out);
  out.tcpi_bytes_sent += out.tcpi_bytes_retrans;
  return out;
}

// Fills in fields derived from calls and events.
void Sockets::fill_history(const Socket& s, const ConnectionInfo& info,
                           lockstep_tcp_info& out) const {
  out.tcpi_bytes_sent = s.written - std::min<std::uint64_t>(s.written, out.tcpi_notsent_bytes);
  // The SYN counts as one segment.
  std::uint64_t const mss = out.tcpi_snd_mss;
  std::uint64_t const segments_heard_of = (s.acknowledged + info.sacked.count + mss - 1) / mss;
  bool const open = s.phase == Phase::connected;
  out.tcpi_delivered = open ? 1 + static_cast<std::uint32_t>(segments_heard_of) : 0;
  std::uint64_t const window = std::uint64_t{65'535} << info.options.receive_scale.shift;
  out.tcpi_rcv_ssthresh =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(window, out.tcpi_rcv_space));
  Instant const now = stack_.now();
  Duration const busy =
      s.busy_for + (s.written != s.acknowledged ? now.since(s.busy_since) : Duration{});
  Duration const refused = s.refused_for + (s.refused ? now.since(s.refused_since) : Duration{});
  out.tcpi_busy_time = busy.ns / 1000;
  out.tcpi_sndbuf_limited = refused.ns / 1000;
}

// The MSS in use; before there is a connection, the one that was set.
std::uint32_t Sockets::mss_of(const Socket& s) const {
  bool const open = s.phase == Phase::connected || s.phase == Phase::connecting;
  std::uint32_t const asked = pending_or_default(s, SettingKind::mss);
  return open || asked == 0 ? info_of(s).tcpi_snd_mss : asked;
}

// The path MTU if known, otherwise the link's MTU.
std::uint32_t Sockets::mtu_of(const Socket& s) const {
  ConnectionInfo const info = stack_.inspect(s.connection);
  std::uint32_t const headers =
      (s.remote.address.is_v4() ? 40u : 60u) + (info.options.timestamps ? timestamps_bytes : 0);
  return info.path_limited ? info.send.mss.count + headers : stack_.config().mtu.count;
}

}  // namespace lockstep::tools
