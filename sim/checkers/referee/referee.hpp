// Judges TCP from the wire alone: fed one segment at a time, as they passed one place.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/time.hpp"
#include "sim/checkers/referee/endpoint_state.hpp"
#include "sim/checkers/referee/mss_floor.hpp"
#include "sim/checkers/referee/sighting.hpp"
#include "sim/checkers/referee/violation.hpp"

namespace lockstep::sim::referee {

// What a speaker may do that cannot be seen. Whoever knows its configuration can say no.
struct Allowances {
  bool cookies = true;    // SYN,ACKs that no connection stands behind
  bool syn_cache = true;  // ... or a record that waits among the replies
  bool fast_open_client = true;
  bool fast_open_server = true;
  bool unsent = true;      // what found no next hop counts as sent
  bool lone_marks = true;  // ECT on SYNs, pure ACKs and retransmissions, as RFC 8311 lets some
  bool paws_off = false;
};

// What is known of the capture, and what is asked of the judge.
struct Terms {
  bool whole = false;    // nothing that passed is missing, hardware has changed nothing
  bool joined = false;   // it shows segments as hardware has joined them
  bool likely = true;    // rules that infer are judged as well
  bool at_host = false;  // it was taken at a host, which may see some of what is not for it
  bool others = true;    // segments are judged that come from elsewhere than the capture's place
  Duration rto_min = Duration::seconds(1);
  Bytes mss_least = mss_floor_of_rfc;  // a peer that names a smaller MSS may be sent this
  std::uint32_t connections_max = 65'536;
  std::uint32_t violations_max = 100'000;
  std::uint32_t told_max = 16;         // of one rule, speaker and Standing; more are only counted
  std::uint32_t without = rule_count;  // the number of a rule that is not judged: for its tests
  std::uint32_t kept_octets_max = 65'536;      // of a speaker's text, a power of two
  std::uint64_t kept_cells_max = 128'000'000;  // of all speakers' text
};

// A finding that what is recorded later may explain.
struct Claim {
  // ack: of what was not heard; block: of the same; echo: of a timestamp; edge: text beyond it.
  enum class Kind : std::uint8_t { none, ack, block, echo, edge };

  Kind kind = Kind::none;
  std::uint32_t side = 0;  // of who is accused
  Sequence from;           // what was seen reaches so far ...
  Sequence upto;           // ... and would have to reach this
  Instant at = {};
  std::uint32_t place = 0;  // among the violations
  bool stamped = false;     // what claims it has a timestamp ...
  std::uint32_t stamp = 0;  // ... which is this
};

// The first numbers of a host's connections, one after the other.
struct FirstNumbers {
  IpAddress host;
  std::uint32_t count = 0;
  Sequence last;
  std::uint32_t step = 0;   // between the last two ...
  std::uint32_t equal = 0;  // ... which so many steps before were as well
};

struct Connection {
  static constexpr std::uint32_t claims_max = 8;

  std::array<Endpoint, 2> ends;
  std::array<EndpointState, 2> endpoints;
  bool lossy = false;       // the capture lacks something that arrived
  bool disordered = false;  // it has an answer before what is answered
  bool reused = false;      // the tuple had a connection before
  bool resumed = false;     // ... or may have had: it was over, or silent for long, and is no more
  bool round_known = false;
  bool syn_seen = false;
  Instant syn_at;
  std::uint32_t syn_side = 0;
  Duration round;  // from the SYN to the ACK that ends the handshake
  Instant last_at;
  std::array<Claim, claims_max> claims{};
};

class Referee;

// One segment before its judges.
struct Moment {
  const Sighting& said;
  EndpointState& speaker;
  EndpointState& other;
  Connection& connection;
  std::uint32_t side = 0;  // of the speaker
  bool own = false;        // the capture was taken where it was sent: order and hearing are exact
  const Allowances& may;
  const Terms& terms;
  Referee& judge;
  bool of_listener = false;  // what is found is about who listens, `speaker` here
  bool alone = true;         // the packet alone is looked at, whatever was said before

  const wire::Segment& segment() const { return said.segment; }
};

class Referee {
 public:
  // `violations` outlives the referee.
  Referee(const Terms& terms, Violations& violations) : terms_(terms), violations_(violations) {}

  // In the order in which they passed. Work is bounded by the segment's length and the ranges of
  // text that are apart (HeardText::ranges_max).
  void see(const Sighting& said) { see(said, nullptr); }
  // The capture was taken at the source, which may do what `own` says.
  void see_own(const Sighting& said, const Allowances& own) { see(said, &own); }
  // Once, after the last.
  void end();

  std::uint64_t connections() const { return connections_.size(); }
  std::uint64_t unjudged() const { return unjudged_; }  // segments beyond connections_max
  const Terms& terms() const { return terms_; }

  // For rules. Gives the violation's place, or the number of those that are kept if it was not.
  std::uint32_t call(const Moment& m, Rule rule, Ambiguity ambiguity, Disagreement numbers);
  // As call(), of what stands only if the capture lacks nothing.
  std::uint32_t call_whole(const Moment& m, Rule rule, Ambiguity ambiguity, Disagreement numbers);
  // The capture has been seen to lack something of this connection.
  void weaken_whole(const Moment& m);
  // The checksum of this finding was not what arrived; it does not count towards `told_max`.
  void weaken_checksum(EndpointState& speaker, std::uint32_t place);
  void weaken_edited(Connection& connection);
  // The same of a finding about either side that something else explains.
  void weaken_claim(const Moment& m, std::uint32_t place, Ambiguity why);
  // The same, and the capture has been seen to have packets in another order than they passed.
  void weaken_order(const Moment& m, std::uint32_t place);
  void weaken_order(const Moment& m);
  bool may_keep(std::uint64_t more_cells);

 private:
  void see(const Sighting& said, const Allowances* own);
  Connection* connection_of(const Sighting& said, std::uint32_t& side);
  std::uint32_t place_of(const std::array<Endpoint, 2>& ends) const;
  void grow();
  void judge(Moment& m);
  std::uint32_t add(const Moment& m, Violation violation);
  // Null where too many hosts are known.
  FirstNumbers* first_numbers_of(const IpAddress& host);

  Terms terms_;
  Violations& violations_;
  std::vector<Connection> connections_;
  std::vector<std::uint32_t> places_;        // an open-addressed table of numbers plus one
  std::vector<FirstNumbers> first_numbers_;  // by address, first_numbers_max at most
  std::uint64_t unjudged_ = 0;
  std::uint64_t cells_ = 0;
};

}  // namespace lockstep::sim::referee
