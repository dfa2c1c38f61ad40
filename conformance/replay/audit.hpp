// Checks of TCP's obligations on one side's segments: the captured device's or the core's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/replay/clause.hpp"
#include "conformance/replay/trace.hpp"

namespace lockstep::conformance {

/// An obligation that was not met.
struct Breach {
  Instant at;
  Clauses clauses;
  std::string text;
  std::optional<std::size_t> item;  ///< index into the trace
  /// The breach stands whatever was lost after the capture point. In a capture without a scenario
  /// only such a breach counts as a violation.
  bool sure = false;
};

struct AuditInput {
  const Script& script;
  const LiveRun& run;  ///< for the core's state at each step
  const Reception& reception;
  const Config& config;
  bool of_capture = false;  ///< the trace holds the captured device's segments
};

/// The earliest breach of each kind of obligation, in no particular order. Pure functions of the
/// trace.
std::vector<Breach> audit_acks(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_data(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_retransmissions(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_selective(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_stamps(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_marks(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_spurious(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_path(const AuditInput& input, const Trace& trace);

/// The path MTU, in octets, that an ICMP packet-too-big message reports (RFC 1191, 8201).
std::optional<std::uint32_t> reported_path_mtu(const tools::IcmpError& error);

/// The clauses of the last step before `item` that required a response.
Clauses clauses_of_cause(const AuditInput& input, const Item& item);

}  // namespace lockstep::conformance
