// Invariants: what must hold of every stack and connection after every event and every turn.
#pragma once

#include <string_view>
#include <vector>

#include "sim/checkers/finding.hpp"
#include "sim/kernel/observer.hpp"

namespace lockstep::sim {

// The first thing that cannot be true of a connection, in words, or empty. Needs no stack: it is
// what anyone can see from outside.
std::string_view what_is_wrong(const ConnectionInfo& info, const tcp::Config& config);

// Runs the stack's own invariants (which CHECK) and looks at every connection that a model knows.
class InvariantChecker : public Observer {
 public:
  explicit InvariantChecker(Findings& findings) : findings_(findings) {}

  void on_event(const Kernel& kernel, HostIndex host, const Event& event) override;
  void turned(const Kernel& kernel, HostIndex host, Outcome outcome) override;

 protected:
  // What is seen of a connection: a test plants a wrong value here.
  virtual ConnectionInfo seen(const Kernel& kernel, HostIndex host, ConnectionId id) const;

 private:
  void look(const Kernel& kernel, HostIndex host, ConnectionId id);

  Findings& findings_;
  std::vector<Instant> last_turns_;  // each host's clock never runs backwards
};

}  // namespace lockstep::sim
