// What every TCP owes, checked on one side's segments: the captured device's, or the core's.
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
  std::optional<std::size_t> item;  ///< of the trace
  /// It stands whatever became of packets behind the capture: of what nobody tells more about than
  /// the capture, only such a breach is an accusal.
  bool sure = false;
};

struct AuditInput {
  const Script& script;
  const LiveRun& run;  ///< for the states in which steps found the core
  const Reception& reception;
  const Config& config;
  bool of_capture = false;  ///< the trace is the captured device's
};

/// The earliest breach of each kind of obligation, in no order. Pure functions of the trace.
std::vector<Breach> audit_acks(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_data(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_retransmissions(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_selective(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_stamps(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_marks(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_spurious(const AuditInput& input, const Trace& trace);
std::vector<Breach> audit_path(const AuditInput& input, const Trace& trace);

/// How many octets pass, as a router's message about a packet too big says (RFC 1191, 8201).
std::optional<std::uint32_t> path_told(const tools::IcmpError& error);

/// The clauses of the last step before `item` that carried something to answer.
Clauses clauses_of_cause(const AuditInput& input, const Item& item);

}  // namespace lockstep::conformance
