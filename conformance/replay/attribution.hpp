// Finds the requirement that a divergence is about, from what the core was responding to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "conformance/replay/clause.hpp"
#include "conformance/replay/verdict.hpp"

namespace lockstep::conformance {

/// Holds all that attribution depends on. The clause that a twin expects is deliberately not
/// included.
class Attribution {
 public:
  Attribution(const Script& script, const LiveRun& run, const Config& config);

  /// The captured device sent `captured`; the core did not.
  Clauses of_missing(const Sent& captured) const;
  /// The core sent `live`; the captured device did not.
  Clauses of_unexpected(const LiveSent& live) const;
  /// Both sent a segment at the same time, with different contents.
  Clauses of_difference(const Sent& captured, const LiveSent& live) const;
  /// Both sent the same segment at different times.
  Clauses of_timing(const Sent& captured, const LiveSent& live) const;

  /// Where the clauses of a row of of_difference's rule table come from.
  enum class Source : std::uint8_t {
    fixed,         ///< the row names the clause
    fin,           ///< FIN: from whether the application has closed
    own_fin,       ///< FIN: the application has closed
    cause,         ///< the step that made the core send
    live_segment,  ///< the core's segment, as if the captured device had sent none
    live_data,     ///< the data that the core sent
    extra_bytes,   ///< the sizes of the payloads
  };

 private:
  /// Masks: the parts that differ, and the situations that hold.
  struct Difference {
    std::uint32_t parts = 0, situations = 0;
  };
  Difference compare(const Sent& captured, const LiveSent& live) const;
  Clauses answer(Source source, const Sent& captured, const LiveSent& live) const;
  Clauses of_step(std::size_t index) const {
    return clauses_of_step(script_, run_, index, config_);
  }
  std::optional<std::size_t> cause_of(const LiveSent& live) const;
  std::optional<std::size_t> step_at(Instant captured) const;
  View view_at(Instant captured) const;
  bool is_retransmission(const LiveSent& live) const;
  std::uint32_t earlier_transmissions(const LiveSent& live, bool probes) const;
  bool timer_fired_at(Instant captured) const;
  Clauses of_pending_text(std::size_t steps) const;
  Clauses of_fin(bool called, const View& view) const;
  Clauses of_live_data(const LiveSent& live) const;
  Clauses of_resent(const LiveSent& live) const;
  Clauses of_captured_data(const Sent& captured) const;
  Clauses of_captured_again(const Sent& captured, const View& view) const;
  Clauses of_captured_ack(const Sent& captured) const;
  Clauses beyond_window(const Sent& captured, const View& view) const;
  Clauses of_extra_bytes(const Sent& captured, const LiveSent& live) const;
  std::uint32_t as_live(std::uint32_t number, std::uint32_t incarnation) const;
  bool after_timeout(Instant captured) const;
  bool after_lost_syn() const;
  bool after_idle(Instant captured) const;

  const Script& script_;
  const LiveRun& run_;
  const Config& config_;

  /// Facts about each segment that the core sent, collected in one pass.
  struct History {
    std::uint32_t earlier =
        0;  ///< how often its first octet was sent before, zero-window probes excluded
    std::uint32_t earlier_probes = 0;  ///< the same, by zero-window probes
    bool after_timeout = false, after_idle = false;
    Instant
        latest;  ///< latest time in the capture up to this segment: a wait can set the time back
  };
  const History& history_of(const LiveSent& live) const;
  std::size_t sent_until(Instant captured) const;
  std::size_t steps_until(Instant captured) const;
  std::vector<History> history_;
};

}  // namespace lockstep::conformance
