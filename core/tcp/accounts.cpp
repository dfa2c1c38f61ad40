// Updates of the accounts of connections.
#include "core/tcp/accounts.hpp"

#include <algorithm>

#include "core/tcp/output.hpp"
#include "core/tcp/path.hpp"
#include "core/tcp/segment_options.hpp"
#include "core/tcp/timestamps.hpp"

namespace lockstep::tcp {

Duration keepalive_interval_of(const Engine& e, const Connection& c) {
  Account const* const account = account_of(e, c);
  bool const chosen = account != nullptr && account->keepalive_interval_ms != 0;
  return chosen ? Duration::milliseconds(account->keepalive_interval_ms)
                : e.config.keepalive_interval;
}

Count keepalive_probes_of(const Engine& e, const Connection& c) {
  Account const* const account = account_of(e, c);
  bool const chosen = account != nullptr && account->keepalive_probes != 0;
  return chosen ? Count{account->keepalive_probes} : e.config.keepalive_probes;
}

namespace accounts {
namespace {

// A peer can make a measurement arbitrarily long; at most an hour is used.
constexpr Duration rtt_most = Duration::seconds(3600);

void smooth(Account& account, Duration measured) {
  std::uint64_t const sample = std::min(measured, rtt_most).ns;
  std::uint64_t const kept = account.rcv_rtt8_ns;
  account.rcv_rtt8_ns = kept == 0 ? sample * 8 : kept - kept / 8 + sample;
}

// A sample from the echo of a timestamp of ours, once per timestamp value. It includes the time in
// which our application wrote nothing, so only full-sized segments count: these follow one another
// closely.
bool sample_by_echo(Engine& e, const Connection& c, Account& account,
                    const wire::Segment& segment) {
  wire::Options const& options = segment.options;
  if (!c.options.has(negotiated::timestamps) || !options.has_timestamps ||
      options.timestamp_echo == 0) {
    return false;
  }
  std::uint32_t const clock = timestamp_at(e, c.options, e.state->arrived);
  bool const fresh = options.timestamp_echo != account.last_echo &&
                     segment.payload.size() >= c.rcv_mss &&
                     !is_older({clock, options.timestamp_echo}) && is_timed(*e.state);
  if (fresh) {
    account.last_echo = options.timestamp_echo;
    std::uint32_t const ticks = std::max(clock - options.timestamp_echo, 1u);
    smooth(account, e.config.timestamp_tick * ticks);
  }
  return true;
}

// Without timestamps: the time in which the peer sends one receive buffer of data. The last of that
// data was permitted by windows advertised since, so this is at least a round trip; the minimum is
// kept.
void sample_by_window(Engine& e, const Connection& c, Account& account) {
  if (account.round_since.is_never() || c.receive.nxt.at_or_after(account.round_end)) {
    if (!account.round_since.is_never()) {
      Duration const took = std::min(e.state->arrived.since(account.round_since), rtt_most);
      std::uint64_t const sample = std::max<std::uint64_t>(took.ns, 1) * 8;
      account.rcv_rtt8_ns =
          account.rcv_rtt8_ns == 0 ? sample : std::min(account.rcv_rtt8_ns, sample);
    }
    account.round_end = c.receive.nxt + c.receive_buffer;
    account.round_since = e.state->arrived;
  }
}

}  // namespace

void open(Engine& e, const Connection& c) {
  Account& account = e.accounts[e.slot_of(c)];
  account = Account{};
  account.congestion = e.config.congestion;
}

void limit_mss(Engine& e, Connection& c) {
  std::uint16_t const limit = e.accounts[e.slot_of(c)].mss;
  if (limit == 0 || limit >= c.mss_max) {
    return;
  }
  c.mss_max = limit;
  c.mss = std::min(c.mss, static_cast<std::uint16_t>(limit - steady_options_bytes(c).count));
}

void note_data(Engine& e, const Connection& c, const wire::Segment& segment, bool in_order) {
  Account& account = e.accounts[e.slot_of(c)];
  if (!in_order) {
    ++account.out_of_order_segments;
  } else if (!sample_by_echo(e, c, account, segment)) {
    sample_by_window(e, c, account);
  }
}

void note_reordering(Engine& e, const Connection& c, Bytes overtaken) {
  Account& account = e.accounts[e.slot_of(c)];
  account.overtaken = most(account.overtaken, overtaken);
}

void note_departure(Engine& e, const Connection& c, const SegmentPlan& plan) {
  Account& account = e.accounts[e.slot_of(c)];
  if (plan.data.empty()) {
    return;
  }
  Sequence const queue_end = queue_begin(c) + e.active(c).send.length();
  ++account.data_segments_out;
  if (plan.retransmitted) {
    account.bytes_retrans += plan.data.count;
  } else if (!plan.probe || plan.sequence + plan.data == queue_end) {
    note_waiting(e, c, false);  // a probe may carry the last octet
  }
}

void note_timeout(Engine& e, const Connection& c) {
  Account& account = e.accounts[e.slot_of(c)];
  ++account.timeouts;
  account.repairs += c.retries == 1 ? 1 : 0;
  account.repairs_since = earlier(account.repairs_since, e.state->now);
  account.repair_end = c.send.nxt;
}

void note_advance(Engine& e, const Connection& c, Sequence ack) {
  Account& account = e.accounts[e.slot_of(c)];
  if (!account.repairs_since.is_never() && ack.at_or_after(account.repair_end)) {
    account.repaired_for = account.repaired_for + e.state->now.since(account.repairs_since);
    account.repairs_since = Instant::never();
  }
}

void note_waiting(Engine& e, const Connection& c, bool by_window) {
  Account& account = e.accounts[e.slot_of(c)];
  if (by_window) {
    account.rwnd_limited_since = earlier(account.rwnd_limited_since, e.state->now);
  } else if (!account.rwnd_limited_since.is_never()) {
    account.rwnd_limited_for =
        account.rwnd_limited_for + e.state->now.since(account.rwnd_limited_since);
    account.rwnd_limited_since = Instant::never();
  }
}

void note_rtt(Engine& e, const Connection& c, Duration measured) {
  Account& account = e.accounts[e.slot_of(c)];
  Duration const sample = std::max(measured, Duration{1});
  account.least_rtt = account.least_rtt.ns == 0 ? sample : std::min(account.least_rtt, sample);
}

}  // namespace accounts
}  // namespace lockstep::tcp
