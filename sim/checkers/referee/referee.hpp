// Judges TCP from the wire alone, one segment at a time in the order of one capture point.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/time.hpp"
#include "sim/checkers/referee/endpoint_state.hpp"
#include "sim/checkers/referee/mss_floor.hpp"
#include "sim/checkers/referee/sighting.hpp"
#include "sim/checkers/referee/violation.hpp"

namespace lockstep::sim::referee {

// What a sender may do that is not visible on the wire. Turn off what its configuration excludes.
struct Allowances {
  bool cookies = true;    // it may send SYN cookies, without a connection
  bool syn_cache = true;  // its SYN-ACKs may come from a SYN cache and wait in the reply queue
  bool fast_open_client = true;
  bool fast_open_server = true;
  bool unsent = true;      // a packet that waits for its next hop counts as sent
  bool lone_marks = true;  // ECT on SYNs, pure ACKs and retransmissions, which RFC 8311 permits
  bool paws_off = false;
};

// What is known about the capture, and what to judge.
struct Terms {
  bool whole = false;     // no packet is missing, and hardware has changed none
  bool deployed = false;  // senders may do what deployed TCPs are known to do
  bool joined = false;    // it shows segments that hardware has joined
  bool likely = true;     // also apply rules whose findings are at most likely
  bool at_host = false;   // it was taken at a host, which may see a part of other hosts' packets
  bool others = true;     // also judge segments whose sender is not at the capture point
  Duration rto_min = Duration::seconds(1);
  Bytes mss_least = mss_floor_of_rfc;  // a peer that names a smaller MSS may be sent this
  std::uint32_t connections_max = 65'536;
  std::uint32_t violations_max = 100'000;
  std::uint32_t reported_max =
      16;  // findings kept per rule, sender and Standing; more are only counted
  std::uint32_t without = rule_count;          // index of a rule to turn off, for its tests
  std::uint32_t kept_octets_max = 1u << 20;    // of a sender's data; a power of two
  std::uint64_t kept_total_max = 128'000'000;  // of all senders' data

  // Whether what deployed TCPs do cannot explain a finding.
  bool is_strict() const { return whole && !deployed; }
};

// A finding that packets recorded later may explain.
struct Claim {
  // ack, block: of data that was not seen; echo: of a timestamp not seen; edge: data beyond the
  // edge.
  enum class Kind : std::uint8_t { none, ack, block, echo, edge };

  Kind kind = Kind::none;
  std::uint32_t side = 0;  // of the sender that broke the rule
  Sequence from;           // the end of what was seen ...
  Sequence upto;           // ... and the value that the segment implies
  Instant at = {};
  std::uint32_t place = 0;  // among the violations
  bool stamped = false;     // the segment has a timestamp ...
  std::uint32_t stamp = 0;  // ... which is this ...
  std::uint32_t echo = 0;   // ... and echoes this
  Sequence begin = {};      // its SEG.SEQ ...
  Sequence fresh_end = {};  // ... and the end of its data, if that is new; otherwise `begin`
  bool doubted = false;     // one later packet confirms it, but may have been overtaken
  bool shut = false;        // the other side has closed its window completely since ...
  bool was_shut = false;    // ... and before
  bool single = false;      // the segment is no larger than the MSS
  // block: what the other side may retransmit.
  Sequence left = {};       // the segment's acknowledgment
  bool left_sent = false;   // the octet there was seen before ...
  bool went_back = false;   // ... and seen again since
  Instant timer_from = {};  // no retransmission timer has been running for longer
};

// What a side seems to have made up: the latest acknowledgment, SACK block or echo of what was not
// seen. A middlebox behind the capture point may have sent that to it. Then the side keeps to it.
struct Unheard {
  static constexpr std::uint32_t kinds = 3;  // acknowledgments, blocks, echoes

  bool known = false;
  bool made_up = false;     // shown: the side took it back, or goes on with other values
  std::uint32_t place = 0;  // of its first finding
  Instant first_at;
  Sequence from;
  Sequence upto;
  Instant at;  // the latest one
  bool stamped = false;
  std::uint32_t stamp = 0;
};

// The ISSs of a host's successive connections.
struct FirstNumbers {
  IpAddress host;
  std::uint32_t count = 0;
  Sequence last;
  std::uint32_t step = 0;   // the difference of the last two ...
  std::uint32_t equal = 0;  // ... and how many differences before were equal to it
};

struct Connection {
  static constexpr std::uint32_t claims_max = 8;

  std::array<Endpoint, 2> ends;
  std::array<EndpointState, 2> endpoints;
  bool lossy = false;       // the capture lacks a packet that arrived
  bool disordered = false;  // it has a reply before the packet that it replies to
  bool reused = false;      // there was a connection on the same ports before
  bool resumed = false;     // segments came long after the end or a silence: maybe a new connection
  std::array<std::optional<std::uint32_t>, 2> networks;  // of each side's first segment
  bool asked_again = false;    // so did a SYN with the number of the first, ...
  std::uint32_t asked_by = 0;  // ... from this side
  bool round_known = false;
  bool syn_seen = false;
  Instant syn_at;
  std::uint32_t syn_side = 0;
  Duration round;  // from the SYN to the ACK that ends the handshake
  Instant last_at;
  std::uint32_t first_place = 0;  // findings before this are about a former connection
  std::array<Claim, claims_max> claims{};
  std::array<std::array<Unheard, Unheard::kinds>, 2> unheard{};  // by the speaker's side
  bool unverified = false;  // some checksums are unknown, so octets may have changed on the way
};

class Referee;

// One segment together with all that the judges need.
struct Moment {
  const Sighting& said;
  EndpointState& speaker;
  EndpointState& other;
  Connection& connection;
  std::uint32_t side = 0;  // of the sender
  bool own = false;        // captured at its sender: order and received segments are exact
  const Allowances& may;
  const Terms& terms;
  Referee& judge;
  bool of_listener = false;  // findings are about the receiver, which `speaker` refers to
  bool alone = true;         // only the packet itself is judged, without earlier ones

  const wire::Segment& segment() const { return said.segment; }
};

class Referee {
 public:
  // `violations` outlives the referee.
  Referee(const Terms& terms, Violations& violations) : terms_(terms), violations_(violations) {}

  // Feeds the next segment in capture order. Cost: linear in the segment's length and the number of
  // disjoint ranges of data (ReceivedRanges::ranges_max).
  void see(const Sighting& said) { see(said, nullptr); }
  // As see(), for a segment captured at its sender; `own`: what that sender may do.
  void see_own(const Sighting& said, const Allowances& own) { see(said, &own); }
  // Call once, after the last segment.
  void end();

  std::uint64_t connections() const { return connections_.size(); }
  // Segments of connections beyond connections_max, or beyond 256 for which the hash is the same.
  std::uint64_t unjudged() const { return unjudged_; }
  const Terms& terms() const { return terms_; }
  // The earliest segment.
  Instant began() const { return began_; }

  // For rules. Returns the violation's index, or violations_max if it was only counted.
  std::uint32_t call(const Moment& m, Rule rule, Ambiguity ambiguity, Disagreement numbers);
  // As call(), for a violation that is certain only if the capture lacks no packet.
  std::uint32_t call_whole(const Moment& m, Rule rule, Ambiguity ambiguity, Disagreement numbers);
  // Call when the capture turns out to lack a packet of this connection.
  void weaken_whole(const Moment& m);
  // The segment of this finding arrived with a right checksum: it no longer counts for
  // `reported_max`.
  void weaken_checksum(EndpointState& speaker, std::uint32_t place);
  // Makes checksum findings likely if all data of the connection was edited.
  void weaken_edited(Connection& connection);
  // Makes findings likely that a middlebox behind the capture point explains.
  void weaken_unheard(Connection& connection);
  // Makes one finding about either side likely for the reason `why`.
  void weaken_claim(const Moment& m, std::uint32_t place, Ambiguity why);
  // Makes a finding, or none, likely, and marks the connection as recorded out of order.
  void weaken_order(const Moment& m, std::uint32_t place);
  void weaken_order(const Moment& m);
  // Whether there is room to keep so many more octets of the segment's connection.
  bool may_keep(const Moment& m, std::uint64_t more);

 private:
  void see(const Sighting& said, const Allowances* own);
  void begin_again(Connection& c, const Sighting& said, std::uint32_t side);
  void find_beginning(Connection& c, const Sighting& said, std::uint32_t side);
  void tell_apart(Connection& c, const Sighting& said, std::uint32_t side);
  void see_stray(const Moment& m);
  // Compares the hop limit with those before; `own`: captured at its sender.
  void see_hop_limit(Connection& c, const Sighting& said, std::uint32_t side, bool own);
  bool may_be_foreign(const Moment& m) const;
  // Gives back what is kept of other connections that are over.
  void forget_what_is_over(const Connection& but);
  Connection* connection_of(const Sighting& said, std::uint32_t& side);
  // In `places_`: of the connection, or where it is to be added; ~0 if others are there.
  std::uint32_t place_of(const std::array<Endpoint, 2>& ends) const;
  void grow();
  void judge(Moment& m);
  std::uint32_t add(const Moment& m, Violation violation);
  // nullptr if too many hosts are known.
  FirstNumbers* first_numbers_of(const IpAddress& host);

  Terms terms_;
  Violations& violations_;
  Instant began_ = Instant::never();
  std::vector<Connection> connections_;
  std::vector<std::uint32_t> places_;  // open-addressed table of connection index + 1; 0 is empty
  std::vector<FirstNumbers> first_numbers_;  // sorted by address; at most first_numbers_max
  std::uint64_t unjudged_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t ends_ = 0;  // FINs and resets since forget_what_is_over()
};

}  // namespace lockstep::sim::referee
