// Liveness: once the faults are over, every application comes to its end.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/checkers/alteration.hpp"
#include "sim/checkers/finding.hpp"
#include "sim/kernel/ledger.hpp"
#include "sim/kernel/observer.hpp"

namespace lockstep::sim {

// The bound is the world's limit: whoever makes the world puts it far enough behind the last fault.
class LivenessChecker final : public Observer {
 public:
  // `alteration` may be nullptr. Both outlive the checker.
  explicit LivenessChecker(Findings& findings, const AlterationWatch* alteration = nullptr)
      : findings_(findings), alteration_(alteration) {}

  void ended(const Kernel& kernel) override;

  // An open end that TCP itself never has to end: a stranger called it; or the other side is gone
  // without a word, nothing is outstanding that could time out, and there are no keep-alives
  // (RFC 9293 3.5.1, 3.8.4).
  static bool excused(const Kernel& kernel, const Flow& flow, Side side);

 private:
  Findings& findings_;
  const AlterationWatch* alteration_;
};

// Service: in a world that says `served`, every connection of an application ends in friendship,
// with all octets read, whatever else trickles in.
class ServiceChecker final : public Observer {
 public:
  explicit ServiceChecker(Findings& findings) : findings_(findings) {}

  void ended(const Kernel& kernel) override;

 private:
  Findings& findings_;
};

// Progress: who has text to send, and a peer that takes some, has something in flight or does
// something about it. Looks at each connection that a model knows after each turn of its host, and
// at all of them at the end.
class ProgressChecker : public Observer {
 public:
  // No timer of a connection that may send is as long, and no wait for a neighbour, a ring or a
  // pace.
  static constexpr Duration patience = Duration::seconds(90);

  explicit ProgressChecker(Findings& findings) : findings_(findings) {}

  void turned(const Kernel& kernel, HostIndex host, Outcome outcome) override;
  void ended(const Kernel& kernel) override;

  // Nothing is in flight, though text waits and the peer's window is open.
  static bool idles(const ConnectionInfo& info);

 protected:
  // What is seen of a connection: a test plants a wrong value here.
  virtual ConnectionInfo seen(const Kernel& kernel, HostIndex host, ConnectionId id) const;

 private:
  struct Watched {
    ConnectionId id;
    Instant since = Instant::never();  // never: it does not idle
  };
  void look(const Kernel& kernel, HostIndex host);

  Findings& findings_;
  std::vector<std::vector<Watched>> hosts_;  // by host, by slot of its routes
};

}  // namespace lockstep::sim
