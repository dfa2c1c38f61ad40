// Access to the accounts of connections (Config::accounts): updates of counters, chosen settings.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp {

// Whether accounts exist. This test is their whole cost if Config::accounts is off.
inline bool accounts_kept(const Engine& e) { return e.accounts.count() != 0; }

// Null if there are no accounts. `c` must be a record of the pool.
inline Account* account_of(const Engine& e, const Connection& c) {
  if (accounts_kept(e)) [[unlikely]] {
    return &e.accounts[e.slot_of(c)];
  }
  return nullptr;
}

// The congestion controller of this connection.
inline Congestion congestion_of(const Engine& e, const Connection& c) {
  if (accounts_kept(e)) [[unlikely]] {
    return e.accounts[e.slot_of(c)].congestion;
  }
  return e.config.congestion;
}
Duration keepalive_interval_of(const Engine& e, const Connection& c);
Count keepalive_probes_of(const Engine& e, const Connection& c);

namespace accounts {

// The smaller of `chosen` and `mss`; `chosen` 0 means no limit.
constexpr std::uint16_t least_mss(std::uint16_t chosen, Bytes mss) {
  return chosen != 0 && chosen < mss.count ? chosen : static_cast<std::uint16_t>(mss.count);
}

// Call the following only if accounts_kept(): they are not on the normal path.

// A connection record was created.
[[gnu::cold, gnu::noinline]] void open(Engine& e, const Connection& c);
// The peer's SYN was processed: applies the chosen limit to mss_max and mss.
[[gnu::cold, gnu::noinline]] void limit_mss(Engine& e, Connection& c);

// Data was accepted: in order (RCV.NXT has advanced) or above a gap.
[[gnu::cold, gnu::noinline]] void note_data(Engine& e, const Connection& c,
                                            const wire::Segment& segment, bool in_order);
// Reordering was detected; `overtaken`: how far the late octets were behind the newest delivered
// ones.
[[gnu::cold, gnu::noinline]] void note_reordering(Engine& e, const Connection& c, Bytes overtaken);
[[gnu::cold, gnu::noinline]] void note_departure(Engine& e, const Connection& c,
                                                 const SegmentPlan& plan);
// The retransmission timer fired: a recovery starts or goes on.
[[gnu::cold, gnu::noinline]] void note_timeout(Engine& e, const Connection& c);
// SND.UNA is about to advance to `ack`.
[[gnu::cold, gnu::noinline]] void note_advance(Engine& e, const Connection& c, Sequence ack);
// New data is queued but could not be sent; `by_window`: only the peer's window prevents it.
[[gnu::cold, gnu::noinline]] void note_waiting(Engine& e, const Connection& c, bool by_window);
[[gnu::cold, gnu::noinline]] void note_rtt(Engine& e, const Connection& c, Duration measured);

}  // namespace accounts
}  // namespace lockstep::tcp
