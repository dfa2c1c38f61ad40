// Judges what a device does with an input, by rules that each have a clause.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/compare/input.hpp"
#include "conformance/compare/rules.hpp"
#include "core/units/address.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"
#include "sim/checkers/referee/referee.hpp"

namespace lockstep::conformance::compare {

/// The octet that the tester sends with this sequence number, or that the program writes at this
/// place.
constexpr std::byte compare_octet(std::uint32_t at) {
  return static_cast<std::byte>((at * 0x9e37'79b1U) >> 24);
}

/// Follows one connection, as far as the RFC leaves no choice, and collects the rules that the
/// device breaks. Where an implementation may go on in several ways the oracle stops to follow, and
/// judges only what it still knows for certain; so it misses rather than accuses.
class Oracle {
 public:
  struct Place {
    Opening opening;
    Endpoint device, tester;  ///< of the connection; the device's port may be unknown (0)
    Port closed;              ///< a port of the device where nothing listens
    Duration grain;           ///< of the device's timers
    bool ours = false;        ///< our own stack: the referee also judges what it never does
  };
  explicit Oracle(const Place& place);

  /// Call these in the order of events. A segment is about to arrive.
  void arrives(Instant at, std::span<const std::byte> packet, const wire::Segment& segment);
  void left(Instant at, std::span<const std::byte> packet);
  void accepted(Instant at);
  void wrote(std::uint64_t octets);
  void read(Instant at, std::string_view octets);
  void read_end(Instant at);
  void finished();
  void closed();
  /// All that is readable was read.
  void drained(Instant at);

  /// Whether something is still to be retransmitted: let 70 s pass, then call end().
  bool awaits_retransmission();
  void end(Instant at);

  const RuleSet& broken() const { return broken_; }
  /// Of a broken rule: when, and what exactly.
  std::string detail_of(std::size_t rule) const;
  /// What the device did in the end, in numbers that devices have in common.
  std::uint64_t outcome() const;

  /// The device's ISN, once it is known.
  std::optional<std::uint32_t> first_of_device() const { return iss_; }

 private:
  enum class Phase : std::uint8_t { none, listen, syn_sent, syn_received, open, unknown };
  enum class Answer : std::uint8_t { reset, ack, syn_ack, any };
  /// The device's port and the tester's.
  struct Pair {
    Port device, tester;
    bool operator==(const Pair&) const = default;
  };
  /// Something that must come.
  struct Expected {
    CompareRule rule{};
    Answer answer{};
    Instant since, due;
    Pair pair;
    std::int64_t acked = 0;          ///< ack: at least this, from the tester's SYN on
    std::uint32_t seq = 0, ack = 0;  ///< of a reset
    bool has_ack = false;            ///< the reset must acknowledge
  };
  /// Octets [begin, end) that the tester sent, from its SYN on.
  struct Range {
    std::int64_t begin = 0, end = 0;
    std::optional<CompareRule> wrong;  ///< accepting them breaks this rule
    bool fin = false;                  ///< it is a FIN
  };
  /// An arriving segment in numbers from the SYNs on, and what is certain about it.
  struct Arrival {
    Instant at;
    const wire::Segment& segment;
    std::int64_t seq, end, ack;
    bool old, beyond;  ///< certainly not acceptable
    bool sure;         ///< certainly acceptable
  };

  void break_rule(CompareRule rule, Instant at, const std::string& what);
  void arrives_closed(Instant at, const wire::Segment& segment, const Pair& pair);
  void arrives_listen(Instant at, const wire::Segment& segment, const Pair& pair);
  void open_passively(Instant at, const wire::Segment& syn);
  void arrives_syn_sent(Instant at, const wire::Segment& segment);
  void arrives_synchronized(Instant at, const wire::Segment& segment);
  void refuse(const Arrival& arrival);
  bool take_controls(const Arrival& arrival);
  bool take_ack(const Arrival& arrival);
  void take_text(const Arrival& arrival);
  void add_text(std::int64_t begin, const wire::Segment& segment, std::optional<CompareRule> wrong);
  void be_silent(CompareRule rule, Instant at, const Pair& pair);
  void owe(CompareRule rule, Answer answer, Instant at, std::int64_t acked = 0);
  void owe_reset(CompareRule rule, Instant at, const wire::Segment& segment, const Pair& pair);
  void judge_owed(Instant at);
  void settle_owed(const wire::Segment& segment, const Pair& pair);
  void judge_reset(Instant at, const wire::Segment& segment, const Pair& pair);
  void judge_sent(Instant at, const wire::Segment& segment);
  void take_sent(Instant at, const wire::Segment& segment);
  void take_acknowledged(Instant at, const wire::Segment& segment);
  /// An implementation may go on in several ways.
  void lose() { phase_ = Phase::unknown; }
  bool follows() const { return phase_ != Phase::unknown; }
  Pair connection() const { return {place_.device.port, place_.tester.port}; }
  std::int64_t of_tester(Sequence number) const;
  std::int64_t of_device(Sequence number) const;
  /// Behind all that may have been accepted in order.
  std::int64_t end_of_stream() const;
  bool fin_came() const;
  /// The rule that is broken if the octet at `at` is accepted; `otherwise` if no segment shows it.
  CompareRule reason_at(std::int64_t at, CompareRule otherwise) const;

  Place place_;
  sim::referee::Allowances allowances_;
  sim::referee::Violations violations_;
  sim::referee::Referee referee_;
  std::uint64_t packets_ = 0;
  RuleSet broken_;
  std::map<std::size_t, std::string> details_;

  Phase phase_;
  std::optional<std::uint32_t> iss_, irs_;
  std::int64_t una_ = 0, nxt_ = 0;  ///< from the device's SYN on
  std::int64_t acked_ = 0;          ///< by the device, from the tester's SYN on
  std::int64_t edge_ = 0;           ///< the furthest right edge that it offered
  std::int64_t read_ = 0, wrote_ = 0;
  std::uint32_t syn_window_ = 0;
  int scale_ = -1, scale_of_tester_ = -1;
  bool stamps_ = false, stamps_of_tester_ = false;
  std::vector<Range> ranges_;
  bool finished_ = false, closed_ = false, fin_left_ = false, reset_left_ = false, ended_ = false;
  bool una_sure_ = true;
  bool drawn_ = false;                  ///< an ACK was expected before: further ones may be limited
  bool small_windows_ = false;          ///< the tester offered less than 1,000 octets
  bool others_known_ = true;            ///< the tester's other port has no connection
  std::optional<CompareRule> silence_;  ///< nothing may be sent ...
  Instant silence_at_;                  ///< ... at this instant ...
  Pair silent_;
  std::vector<Expected> expected_;
  std::optional<std::int64_t> waits_for_;
  bool resent_ = false;
};

}  // namespace lockstep::conformance::compare
