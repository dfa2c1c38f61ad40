// Liveness: once the faults are over, every application finishes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/checkers/alteration.hpp"
#include "sim/checkers/finding.hpp"
#include "sim/kernel/ledger.hpp"
#include "sim/kernel/observer.hpp"

namespace lockstep::sim {

// The time bound is the world's limit, which must lie far enough behind the last fault.
class LivenessChecker final : public Observer {
 public:
  // `alteration` may be nullptr. Both outlive the checker.
  explicit LivenessChecker(Findings& findings, const AlterationWatch* alteration = nullptr)
      : findings_(findings), alteration_(alteration) {}

  void ended(const Kernel& kernel) override;

  // Whether TCP may keep this end open for ever: its peer is not an application of this world; or
  // the peer is gone without a FIN or RST, nothing is outstanding that could time out, and
  // keep-alives are off (RFC 9293 3.5.1, 3.8.4).
  static bool excused(const Kernel& kernel, const Flow& flow, Side side);

 private:
  Findings& findings_;
  const AlterationWatch* alteration_;
};

// Service: in a world with `served` set, every connection of an application is closed by both sides
// with all octets read, whatever other traffic arrives.
class ServiceChecker final : public Observer {
 public:
  explicit ServiceChecker(Findings& findings) : findings_(findings) {}

  void ended(const Kernel& kernel) override;

  // Both sides have closed, and have read all. A side whose FIN comes later than the other's
  // TIME-WAIT lasts gets a reset, and lacks nothing (RFC 9293 3.6.1). `msl`: of opener and
  // acceptor.
  static bool is_served(const Flow& flow, std::array<Duration, 2> msl);

 private:
  Findings& findings_;
};

// Progress: a connection with data queued and an open window does not stay idle with nothing in
// flight. Checks each connection that an application model knows after each turn of its host, and
// all of them at the end.
class ProgressChecker : public Observer {
 public:
  // Longer than any timer of a connection that may send, and than any wait for address resolution,
  // a ring or pacing.
  static constexpr Duration patience = Duration::seconds(90);

  explicit ProgressChecker(Findings& findings) : findings_(findings) {}

  void turned(const Kernel& kernel, HostIndex host, Outcome outcome) override;
  void ended(const Kernel& kernel) override;

  // Nothing is in flight, although data is queued and the peer's window is open.
  static bool idles(const ConnectionInfo& info);

 protected:
  // The connection's public view; tests override it to inject a wrong value.
  virtual ConnectionInfo seen(const Kernel& kernel, HostIndex host, ConnectionId id) const;

 private:
  struct Watched {
    ConnectionId id;
    Instant since = Instant::never();  // when it became idle; never: it is not
  };
  void look(const Kernel& kernel, HostIndex host);

  Findings& findings_;
  std::vector<std::vector<Watched>> hosts_;  // by host, then by slot of its routes
};

}  // namespace lockstep::sim
