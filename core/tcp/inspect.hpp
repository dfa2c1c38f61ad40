// Inspection: a connection's variables, its invariants, and the field values for fingerprints.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

ConnectionInfo inspect(Engine& e, ConnectionId id);
// The records of connections, TIME-WAIT, the SYN cache and listeners, numbered one after another;
// not all of the numbers are in use.
std::uint32_t record_count(const Engine& e);
// `exists` is false if the number is not in use. A listener is in state LISTEN, with its limit of
// waiting connections in send.queued and those that wait in receive.unread.
ConnectionInfo inspect_record(Engine& e, Index record);
// The state that an arriving segment would find: LISTEN if only a listener matches.
State state_of(const Engine& e, const FourTuple& tuple, std::uint16_t local_address);
// How much of what the connection sent is acknowledged, the SYN included; zero if there is no
// connection.
Bytes acknowledged_of(const Engine& e, const FourTuple& tuple, std::uint16_t local_address);
// CHECKs the invariants of one connection, which hold between any two events.
void check_invariants(Engine& e, Connection& c);
// CHECKs that the used slots of each pool are exactly those that its owners hold.
void check_conservation(Engine& e);

// Receives field values: exact ones, or (canonical) relative to `origin` and without slots and
// generations.
class FieldSink {
 public:
  constexpr void add(std::uint64_t value) { print_.add(value); }
  void add(Sequence value) { add(value.value); }
  void add(Bytes value) { add(value.count); }
  void add(Duration value) { add(value.ns); }
  void add(Instant value) { add(canonical && !value.is_never() ? value.ns - origin.ns : value.ns); }
  void add(IpAddress value) {
    add(value.high);
    add(value.low);
  }
  // For values that only the exact fingerprint includes: slots, generations and counters.
  void add_exact(std::uint64_t value) {
    if (!canonical) {
      add(value);
    }
  }
  void add_bytes(std::span<const std::byte> bytes);
  std::uint64_t value() const { return print_.value(); }

  bool canonical = false;
  Instant origin;

 private:
  Fingerprint print_;
};

void visit_connection(Engine& e, Connection& c, FieldSink& sink);
void visit_time_wait(const Engine& e, Index record, FieldSink& sink);
void visit_half_open(const Engine& e, Index half_open, FieldSink& sink);
// The Fast Open cache of servers.
void visit_fast_open(const Engine& e, FieldSink& sink);
// The cookies that have opened connections and are still valid.
void visit_used_cookies(const Engine& e, FieldSink& sink);
void visit_listener(const Engine& e, Index slot, FieldSink& sink);

}  // namespace lockstep::tcp
