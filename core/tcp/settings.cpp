// Settings of a connection, and ICMP errors about it.
#include <algorithm>

#include "core/tcp/accounts.hpp"
#include "core/tcp/calls.hpp"
#include "core/tcp/congestion/added.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/fast_open.hpp"
#include "core/tcp/opening/syn_cache.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/user_timeout.hpp"

namespace lockstep::tcp {
namespace {

bool in_range(Setting setting) {
  std::uint64_t const v = setting.value;
  switch (setting.kind) {
    case SettingKind::nagle:
    case SettingKind::delayed_ack:
    case SettingKind::keepalive:
    case SettingKind::soft_errors:
      return v <= 1;
    case SettingKind::keepalive_idle_ms:
      return v >= 1 && v <= 0xffff'ffff;
    case SettingKind::user_timeout_ms:
      return v <= 0xffff'ffff;
    case SettingKind::dscp:
      return v <= 63;
    case SettingKind::ttl:
      return v >= 1 && v <= 255;
    case SettingKind::receive_buffer:
    case SettingKind::send_buffer:
      return v >= 1 && v <= 0x3fff'ffff;
    case SettingKind::keepalive_interval_ms:
      return v >= 1 && v <= 86'400'000;
    case SettingKind::keepalive_probes:
      return v >= 1 && v <= 255;
    case SettingKind::mss:
      return may_limit_mss(v);
    case SettingKind::congestion:
      return v < congestion_words().size();
  }
  return false;
}

bool wants_account(SettingKind kind) {
  return kind == SettingKind::keepalive_interval_ms || kind == SettingKind::keepalive_probes ||
         kind == SettingKind::mss || kind == SettingKind::congestion;
}

void apply_keepalive(Engine& e, Connection& c) {
  if (is_watched(c)) {
    set_slow(e, c, Instant::never());
    begin_keepalive(e, c);
  }
}

void apply_receive_buffer(Engine& e, Connection& c, Bytes size) {
  c.receive_buffer = size;
  c.receive_buffer_set = true;
  // A larger buffer may open a window that the peer is waiting for.
  if (peer_may_send(c.state)) {
    queue_window_update(e, c);
  }
}

void apply_timeout(Engine& e, Connection& c) {
  if (c.active == nil) {
    return;
  }
  InFlightState& a = e.active(c);
  if (!a.give_up_due.is_never()) {
    set_give_up(e, c, a);
    arm(e, a);
  }
}

Refusal set_in_account(Engine& e, Connection& c, Setting setting) {
  if (!accounts_kept(e)) {
    return Refusal::switched_off;
  }
  Account& account = e.accounts[e.slot_of(c)];
  switch (setting.kind) {
    case SettingKind::keepalive_interval_ms:
      account.keepalive_interval_ms = static_cast<std::uint32_t>(setting.value);
      break;
    case SettingKind::keepalive_probes:
      account.keepalive_probes = static_cast<std::uint8_t>(setting.value);
      break;
    case SettingKind::mss:
      // Before our SYN is sent the MSS option uses it; later it limits only our data.
      account.mss = static_cast<std::uint16_t>(setting.value);
      if (!c.detached && c.mss_max != 0) {
        accounts::limit_mss(e, c);
      }
      break;
    default:
      // The state of added controllers exists only if Config names one.
      if (is_added(static_cast<Congestion>(setting.value)) && e.added.count() == 0) {
        return Refusal::switched_off;
      }
      congestion::choose(e, c, static_cast<Congestion>(setting.value));
      break;
  }
  return Refusal::none;
}

void apply(Engine& e, Connection& c, Setting setting) {
  bool const on = setting.value != 0;
  auto const number = static_cast<std::uint32_t>(setting.value);
  switch (setting.kind) {
    case SettingKind::nagle:
      //= rfc9293#3.7.4
      //# 9293:MUST-17 Nagle can be switched off per connection
      c.nagle = on;
      if (!c.detached && c.active != nil) {
        make_ready(e, c);
      }
      break;
    case SettingKind::delayed_ack:
      c.delayed_acks = on;
      break;
    case SettingKind::keepalive:
      //= rfc9293#3.8.4
      //# 9293:MUST-24, 9293:MUST-25 on or off per connection, off by default
      c.keepalive = on;
      apply_keepalive(e, c);
      break;
    case SettingKind::keepalive_idle_ms:
      //= rfc9293#3.8.4
      //# 9293:MUST-27, 9293:MUST-28 the interval is configurable, two hours by default
      c.keepalive_idle_ms = keepalive_idle_beside(c, number);
      apply_keepalive(e, c);
      break;
    case SettingKind::user_timeout_ms:
      //= rfc9293#3.8.3
      //# 9293:MUST-21 R2, infinity included
      //= rfc9293#3.9.1.2
      //# 9293:P-SEND-TIMEOUT may change between SENDs and replaces the previous value
      fix_user_timeout(e, c, number);
      apply_timeout(e, c);
      break;
    case SettingKind::dscp:
      //= rfc9293#3.9.1.9
      //# 9293:MUST-48, 9293:SHLD-21 the Diffserv field may change during the connection
      c.dscp = static_cast<std::uint8_t>(number);
      break;
    case SettingKind::ttl:
      //= rfc9293#3.9.2
      //# 9293:MUST-49 the TTL is configurable
      c.ttl = static_cast<std::uint8_t>(number);
      break;
    case SettingKind::receive_buffer:
      apply_receive_buffer(e, c, {number});
      break;
    case SettingKind::send_buffer:
      c.writing.send_buffer = {number};
      c.send_buffer_set = true;
      break;
    case SettingKind::soft_errors:
      //= rfc9293#3.9.1.8
      //# 9293:SHLD-20 an application can disable the reports
      c.soft_errors = on;
      break;
    default:
      CHECK(!wants_account(setting.kind));
      break;
  }
}

}  // namespace

Refusal set(Engine& e, ConnectionId id, Setting setting) {
  Connection* const found = find_told(e, id);
  if (found == nullptr) {
    return Refusal::stale_id;
  }
  if (!in_range(setting)) {
    return Refusal::bad_argument;
  }
  if (wants_account(setting.kind)) {
    return set_in_account(e, *found, setting);
  }
  apply(e, *found, setting);
  return Refusal::none;
}

[[gnu::cold]] Drop process_icmp_error(Engine& e, const internet::IcmpError& error,
                                      std::uint16_t local_address, Cause cause) {
  FourTuple const& quoted = error.quoted;
  Sequence const sequence = error.quoted_sequence;
  bool const hard = error.kind == internet::IcmpErrorKind::hard;
  //= rfc9293#3.9.2.2
  //# 9293:MUST-54 the quoted header identifies the connection
  TableEntry const found = e.demux.find(e.demux.hash_of(quoted), [&](TableEntry candidate) {
    if (candidate.kind != EntryKind::connection) {
      return false;
    }
    Connection const& c = e.connections[candidate.index];
    return c.remote == quoted.remote.address && c.remote_port == quoted.remote.port &&
           c.local_port == quoted.local.port && c.local_address == local_address;
  });
  if (found.kind != EntryKind::connection) {
    return process_half_open_error(e, error, local_address);
  }
  Connection& c = e.connection(found.index);
  //= rfc5927#4.1
  //# 5927:ICMP-1 the quoted number must be in [SND.UNA, SND.NXT)
  bool const in_flight = sequence.at_or_after(c.send.una) && sequence.before(c.send.nxt);
  if (!in_flight) {
    return Drop::icmp_quote_outside;
  }
  if (c.active != nil && !synchronized(c.state)) {
    doubt_fast_open(e, c);
  }
  //= rfc9293#3.9.2.2
  //# 9293:SHLD-26 hard errors abort, but not in a synchronized state (RFC 5461, RFC 5927)
  //= rfc5927#5.2
  //# 5927:ICMP-3 in a synchronized state every error is soft
  //= rfc9293#3.8.3
  //# 9293:P-SYN-FAIL an open can fail this way
  bool const ends = hard || (e.config.soft_errors_end_open && c.state == State::syn_sent);
  if (ends && !synchronized(c.state)) {
    enter(e, c, State::closed);
    detach(e, c, cause);
    return Drop::none;
  }
  //= rfc9293#3.9.2.2
  //# 9293:MUST-56, 9293:SHLD-25 soft errors never abort; the application may be notified
  if (c.soft_errors) {
    c.soft_cause = cause;
    notify(e, c, EventKind::soft_error);
  }
  return Drop::none;
}

}  // namespace lockstep::tcp
