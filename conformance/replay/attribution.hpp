// Says which requirement a divergence is about, from what the core was answering at that moment.
#pragma once

#include <optional>
#include <vector>

#include "conformance/replay/clause.hpp"
#include "conformance/replay/verdict.hpp"

namespace lockstep::conformance {

/// Everything that attribution may look at. The clause that a twin names is not among it.
class Attribution {
 public:
  Attribution(const Script& script, const LiveRun& run, const Config& config);

  /// The captured device sent `captured`; the core did not.
  Clauses of_missing(const Sent& captured) const;
  /// The core sent `live`; the captured device did not.
  Clauses of_unexpected(const LiveSent& live) const;
  /// Both sent something in the same instant, and it is not the same.
  Clauses of_difference(const Sent& captured, const LiveSent& live) const;
  /// Both sent the same at different times.
  Clauses of_timing(const Sent& captured, const LiveSent& live) const;

 private:
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

  /// What the questions above ask of each segment that the core sent, found in one walk.
  struct History {
    std::uint32_t earlier = 0;         ///< how often its first octet was sent before
    std::uint32_t earlier_probes = 0;  ///< and by probes of a zero window
    bool after_timeout = false, after_idle = false;
    Instant latest;  ///< of the capture, of all up to this one: a wait sets the time back
  };
  const History& history_of(const LiveSent& live) const;
  std::size_t sent_until(Instant captured) const;
  std::size_t steps_until(Instant captured) const;
  std::vector<History> history_;
};

}  // namespace lockstep::conformance
