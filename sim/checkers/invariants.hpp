// Invariants that must hold for every stack and connection after every event and every turn.
#pragma once

#include <string_view>
#include <vector>

#include "sim/checkers/finding.hpp"
#include "sim/kernel/observer.hpp"

namespace lockstep::sim {

// Describes the first invariant that `info` violates; empty if it violates none. Needs only the
// public view of the connection.
std::string_view what_is_wrong(const ConnectionInfo& info, const tcp::Config& config);

// Runs the stack's own invariants (which CHECK) and what_is_wrong() on every connection that an
// application model knows.
class InvariantChecker : public Observer {
 public:
  explicit InvariantChecker(Findings& findings) : findings_(findings) {}

  void on_event(const Kernel& kernel, HostIndex host, const Event& event) override;
  void turned(const Kernel& kernel, HostIndex host, Outcome outcome) override;

 protected:
  // The connection's public view; tests override it to inject a wrong value.
  virtual ConnectionInfo seen(const Kernel& kernel, HostIndex host, ConnectionId id) const;

 private:
  void look(const Kernel& kernel, HostIndex host, ConnectionId id);

  Findings& findings_;
  std::vector<Instant> last_turns_;  // by host: the stack's clock at its last turn
};

}  // namespace lockstep::sim
