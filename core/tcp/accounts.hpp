// Accounts of connections, where Config asks for them: what they are told, and what was chosen.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp {

// Whether there are any: what a plain stack pays for them is this test.
inline bool accounts_kept(const Engine& e) { return e.accounts.count() != 0; }

// Null where none are kept. `c` is a record of the pool.
inline Account* account_of(const Engine& e, const Connection& c) {
  if (accounts_kept(e)) [[unlikely]] {
    return &e.accounts[e.slot_of(c)];
  }
  return nullptr;
}

// Which controller moves this connection's window.
inline Congestion congestion_of(const Engine& e, const Connection& c) {
  if (accounts_kept(e)) [[unlikely]] {
    return e.accounts[e.slot_of(c)].congestion;
  }
  return e.config.congestion;
}
Duration keepalive_interval_of(const Engine& e, const Connection& c);
Count keepalive_probes_of(const Engine& e, const Connection& c);

namespace accounts {

// `chosen` is 0, or holds the MSS of a SYN down.
constexpr std::uint16_t least_mss(std::uint16_t chosen, Bytes mss) {
  return chosen != 0 && chosen < mss.count ? chosen : static_cast<std::uint16_t>(mss.count);
}

// The following only where accounts are kept, and so never a part of the plain path.

// A record has begun.
[[gnu::cold, gnu::noinline]] void open(Engine& e, const Connection& c);
// The peer's SYN was read: its MSS, and what it takes, are held to what was chosen.
[[gnu::cold, gnu::noinline]] void limit_mss(Engine& e, Connection& c);

// Data of a segment was taken: at RCV.NXT, which it has moved, or above a gap.
[[gnu::cold, gnu::noinline]] void note_data(Engine& e, const Connection& c,
                                            const wire::Segment& segment, bool in_order);
// The segment has left.
// Something came out of order, so far behind what had left later.
[[gnu::cold, gnu::noinline]] void note_reordering(Engine& e, const Connection& c, Bytes overtaken);
[[gnu::cold, gnu::noinline]] void note_departure(Engine& e, const Connection& c, const Plan& plan);
// A timeout: what is out has to be repaired.
[[gnu::cold, gnu::noinline]] void note_timeout(Engine& e, const Connection& c);
// `ack` is about to become SND.UNA.
[[gnu::cold, gnu::noinline]] void note_advance(Engine& e, const Connection& c, Sequence ack);
// What was sent for the first time, and is due, was not let out: by the peer's window alone?
[[gnu::cold, gnu::noinline]] void note_waiting(Engine& e, const Connection& c, bool by_window);
[[gnu::cold, gnu::noinline]] void note_rtt(Engine& e, const Connection& c, Duration measured);

}  // namespace accounts
}  // namespace lockstep::tcp
