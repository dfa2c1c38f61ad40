// What an observer sees: a connection's variables, its invariants, and the field values of all.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

ConnectionInfo inspect(Engine& e, ConnectionId id);
// The state that the wire would find: LISTEN if only a listener matches.
State state_of(const Engine& e, const FourTuple& tuple, std::uint16_t local_address);
// How much of all that the connection has sent is acknowledged, our SYN with it; none if there is
// no connection.
Bytes acknowledged_of(const Engine& e, const FourTuple& tuple, std::uint16_t local_address);
// CHECKs what must hold of one connection between any two events.
void check_invariants(Engine& e, Connection& c);
// CHECKs that each pool's used slots are those that its owners hold.
void check_conservation(Engine& e);

// Where field values go: exact ones, or relative to `origin` and without slots and generations.
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
  // Only in the exact print: slots, generations and counters.
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
// What is remembered of servers for Fast Open.
void visit_fast_open(const Engine& e, FieldSink& sink);
// Cookies that have opened connections, and are good still.
void visit_used_cookies(const Engine& e, FieldSink& sink);
void visit_listener(const Engine& e, Index slot, FieldSink& sink);

}  // namespace lockstep::tcp
