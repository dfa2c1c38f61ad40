// What the rules know of one side of a connection: what it has sent and what it may have received.
#pragma once

#include <array>
#include <cstdint>

#include "core/units/sequence.hpp"
#include "core/units/time.hpp"
#include "core/units/window.hpp"
#include "sim/checkers/received_ranges.hpp"
#include "sim/checkers/referee/hop_limits.hpp"
#include "sim/checkers/referee/kept_text.hpp"
#include "sim/checkers/referee/rules.hpp"
#include "sim/checkers/referee/violation.hpp"

namespace lockstep::sim::referee {

// A fixed sequence number appears to lie ahead once the stream has moved 2^31 octets beyond it. So
// the origin follows the acknowledgments at this distance, which exceeds every window.
inline constexpr std::int32_t remembered = 1 << 30;

inline void follow(Sequence& origin, Sequence acknowledged) {
  if (acknowledged.distance_from(origin) > remembered) {
    origin = acknowledged - Bytes{remembered};
  }
}

// One SYN: where its sequence numbers begin, and how far they were seen.
struct Opening {
  Sequence iss;
  Sequence origin;    // the first number after the SYN; later it follows the acknowledgments
  Sequence seen_end;  // the end of all that was seen
  Bytes mss;
  Bytes window;  // the largest that its copies offer
  WindowScale scale;
  bool scaled = false;     // it has a window scale option
  bool sack = false;       // it permits selective acknowledgments
  bool stamped = false;    // one of its copies has a timestamp ...
  bool unstamped = false;  // ... and one has none
  bool asks_ecn = false;
  bool grants_ecn = false;
  bool accurate_ecn = false;  // requests AccECN (RFC 9768), or agrees to it
  bool is_answer = false;     // a SYN-ACK
  bool multipath = false;     // it has an MPTCP option
};

// A segment whose checksum was wrong as captured.
struct Spoiled {
  bool waits = false;  // nothing has shown yet that it was accepted
  Sequence begin;
  Sequence end;
  Bytes text;
  std::uint32_t place = 0;  // of the finding
};

struct EndpointState {
  static constexpr std::uint32_t openings_max = 8;
  static constexpr std::uint32_t spoiled_max = 4;
  static constexpr std::uint32_t acks_max = 8;

  // --- What it sent: its own sequence numbers ---
  std::array<Opening, openings_max> openings{};
  std::uint32_t opening_count = 0;
  std::uint32_t answer_place = ~std::uint32_t{0};  // of the finding about its SYN-ACK's options
  bool many_answers = false;   // it sent SYN-ACKs with several ISSs: it is not judged
  bool openings_lost = false;  // it sent more SYNs than fit in `openings`
  bool own = false;            // the capture was taken at this host
  bool begun = false;
  Instant begun_at;          // the first of its SYNs that was seen
  bool middle = false;       // its SYN was not seen
  bool odd_options = false;  // it sent an option of an illegal length
  HopLimits hop_limits;
  Sequence iss;
  Sequence origin;    // iss at first; later it follows the acknowledgments
  Sequence sent;      // the end of all that it sent ...
  Sequence sent_ack;  // ... with this acknowledgment
  Sequence former;    // `sent` of the previous connection
  bool has_former = false;
  bool has_rival = false;  // ... in which it had sent nothing but its SYN-ACK
  bool fin_sent = false;
  Sequence fin_end;
  Sequence fin_ack;       // the FIN's acknowledgment number
  bool fin_seen = false;  // a FIN was seen, even if it was not judged
  Sequence fin_seen_end;
  bool fins_differ = false;
  bool scaled = false;
  WindowScale scale;
  bool sack = false;
  bool early = false;  // its SYN had data ...
  Sequence early_end;  // ... up to here
  ReceivedRanges text;
  KeptText kept;
  bool kept_unsure = false;  // no checksum shows that each segment in `kept` was sent so
  std::array<Spoiled, spoiled_max> spoiled{};
  std::uint32_t spoiled_count = 0;
  Sequence spoiled_end;    // the end of the latest spoiled segment
  bool forgiven = false;   // a spoiled segment with data was acknowledged
  bool good_text = false;  // a segment with data had a right checksum
  bool good_sum = false;   // any segment had
  bool urgent = false;
  Sequence urgent_end;
  Sequence urgent_ack;  // the acknowledgment number sent with it

  // --- What it sent: acknowledgments and windows ---
  bool offered = false;
  bool edge_of_syn = false;      // its SYN-ACK offered the furthest edge
  bool edge_went_left = false;   // a later segment offered less ...
  std::uint32_t edge_moves = 0;  // ... so often, without closed windows
  Sequence edge;                 // the furthest right edge that it offered ...
  Sequence edge_ack;             // ... with this acknowledgment ...
  Sequence plain_edge;           // the same if its windows are not scaled
  bool plain_known = false;
  bool scales = false;           // its windows are certainly scaled
  std::uint32_t edge_stamp = 0;  // ... and this timestamp
  // To detect recording out of order: its highest acknowledgment, when that rose, and what it was
  // at least 20 ms and 40 ms before.
  bool spoke_on = false;  // it has sent a segment other than its SYN ...
  Instant spoke_on_at;    // ... for the first time at this time
  bool order_known = false;
  bool overtaken = false;  // a segment acknowledged less than one before it
  Sequence order_ack;
  Instant order_at;
  std::array<Sequence, 2> order_before{};
  std::uint32_t orders_before = 0;  // valid entries of order_before
  Instant order_turned_at;
  Sequence last_ack;
  Bytes last_window;
  Bytes widest;
  std::array<Sequence, acks_max> acks{};  // the latest distinct acknowledgment numbers
  std::uint32_t ack_count = 0;            // how many there were, including those no longer kept
  std::uint64_t segments = 0;
  std::uint64_t pure_acks = 0;
  std::uint64_t resets = 0;
  bool last_was_reset = false;
  bool reset_acked = false;
  Sequence reset_ack;
  Sequence reset_end;

  // --- What the other side has sent to it ---
  bool limited = false;
  Sequence limit;             // the furthest right edge
  Sequence limit_latest;      // the highest SEG.SEQ that came with a window: SND.WL1 at most
  Sequence limit_ack;         // the highest acknowledgment
  bool limit_unread = false;  // ... is known from a keep-alive alone, which its receiver drops
  Bytes limit_widest;
  std::uint32_t shut_ignored = 0;  // how often it sent beyond a closed window that stayed closed
  Instant shut_ignored_at;         // ... which an ACK showed last at this instant

  // --- Timestamps ---
  bool stamp_known = false;
  std::uint32_t stamp = 0;  // the highest TSval outside of SYNs ...
  Sequence stamp_ack;       // ... with this acknowledgment
  bool stamp_any = false;
  std::uint32_t stamp_highest = 0;  // including SYNs
  Instant stamp_highest_at;
  std::uint32_t stamp_latest = 0;  // the latest one
  bool stamps_leap = false;        // a timestamp was far from the one before: another clock's
  bool stamp_first_known = false;
  std::uint32_t stamp_first = 0;  // of its first SYN
  Instant stamp_first_at;
  bool echo_due = false;  // it sent the octet that the other expects ...
  Sequence echo_due_for;
  std::uint32_t echo_due_stamp = 0;  // ... with this timestamp, which the ACK of it echoes
  bool echo_known = false;
  std::uint32_t echo = 0;                      // the highest TSecr that it sent ...
  Instant echo_at;                             // ... for the first time at this time ...
  Sequence echo_ack;                           // ... with this acknowledgment
  std::array<std::uint32_t, 2> echo_before{};  // `echo` at least 20 ms and 40 ms before
  std::uint32_t echoes_before = 0;             // valid entries of echo_before
  Instant echo_turned_at;
  bool stale = false;       // it sent data with an older timestamp than the other had echoed
  bool stale_sure = false;  // ... and the echo was sent long before
  Sequence stale_begin;
  Sequence stale_end;
  Sequence fresh_from;  // the end of its data ...
  bool fresh_known = false;
  Sequence fresh_iss;  // ... after this SYN
  bool fresh_stamped = false;
  std::uint32_t fresh_stamp = 0;  // the highest TSval of new data

  // --- ECN ---
  bool ece_open = false;  // the other sends ECE and has not received CWR
  Sequence ece_high;      // `sent` when the ECE passed
  Instant ece_at;
  bool ece_stamped = false;     // the segment with ECE had a timestamp ...
  std::uint32_t ece_stamp = 0;  // ... which is this
  bool ece_heeded = false;      // it sent CWR ...
  Sequence ece_until;           // ... and an ECE on ACKs up to here was sent before CWR arrived
  Instant text_at;              // when it last sent new data

  // --- Time ---
  Instant front_at;  // the last transmission of the oldest unacknowledged octet
  bool front_known = false;
  std::uint32_t repeats = 0;  // retransmissions of it since the other's last segment
  Duration repeat_gap;        // the time before the last of them
  bool timed_out = false;     // the last of them must have been caused by an RTO
  bool gap_reported = false;  // a duplicate ACK or SACK has arrived since the ACK last advanced
  std::uint32_t duplicates = 0;
  bool moved_known = false;
  Sequence moved_to;  // the other's highest acknowledgment
  bool recovering = false;
  Sequence recover;              // recovery ends when this is acknowledged
  ReceivedRanges sacked;         // what the other has reported in SACK blocks
  ReceivedRanges sacked_late;    // the same at sacked_late_at
  ReceivedRanges sacked_before;  // the same a round trip before that
  Instant sacked_late_at;
  bool any_arrived = false;
  Instant last_arrival_at;           // the other's last segment
  std::uint32_t duplicates_due = 0;  // duplicate ACKs that it has to send
  Instant duplicates_due_since;
  bool small = false;  // a small segment is unacknowledged ...
  Sequence small_end;  // ... which ends here
  Bytes last_text;     // payload of its last new segment

  // The acknowledgments have moved so far that `origin` is no longer the ISS.
  bool is_old() const { return origin != iss; }

  // --- Replies that it has to send ---
  bool reset_due = false;  // for an ACK that does not acknowledge its SYN ...
  Sequence reset_due_for;  // ... but this number
  bool unheeded_words =
      false;               // it sent a segment other than RST, and the other has sent none since
  bool was_reset = false;  // the other sent a RST with the expected number
  Instant reset_at;
  std::uint32_t after_reset = 0;  // segments that it sent long after the RST
  bool ack_due = false;           // for one segment, which ends at ...
  Sequence ack_due_for;
  Instant ack_due_at;
  std::uint32_t full_waiting = 0;  // full segments since its last ACK
  std::uint32_t full_acks = 0;     // its ACKs of any full segments ...
  std::uint32_t stretched = 0;     // ... and of stretched_least or more
  std::uint32_t largest_text = 0;  // the largest payload that it sent
  std::uint32_t drawn = 0;         // pure ACKs that received segments entitle it to ...
  std::uint32_t undrawn = 0;       // ... and those sent beyond them, since the last such segment
  std::uint32_t old_acks = 0;      // equal ACKs of less than it had acknowledged
  Sequence old_ack;
  Sequence storm_edge;
  bool acks_ignored_reported = false;
  Instant third_duplicate_at;
  bool ce_arrived = false;  // a segment with CE arrived ...
  Sequence ce_end;          // ... which ends here
  bool has_text = false;
  Sequence text_top;       // the end of its latest data
  bool reply_due = false;  // an ACK of a segment that is not acceptable
  Instant reply_due_at;
  Sequence reply_due_for;
  std::uint32_t unanswered = 0;  // how often the other sent the same data without a reply ...
  Sequence unanswered_begin;     // ... which begins here
  Instant unanswered_at;         // the first time
  bool shut = false;             // the other's window is zero
  bool silent_since = false;     // ... and it has sent nothing since
  bool unprobed = false;         // the window opened after a long time without a probe
  Instant shut_at;
  Instant opened_at;
  bool probed = false;  // the first retransmission may be a tail loss probe

  // --- Its progress ---
  bool ack_top_known = false;
  Sequence ack_top;                 // its highest acknowledgment number ...
  std::uint32_t ack_top_stamp = 0;  // ... and the TSval of the first segment with it
  std::uint32_t bare = 0;           // consecutive duplicate ACKs without SACK blocks, while ...
  Sequence bare_top;                // ... the other sent beyond this
  std::uint32_t refused = 0;   // how often the other sent the data at RCV.NXT without progress ...
  Sequence refused_begin;      // ... which begins here
  Instant refused_at;          // the first time
  std::uint32_t refusals = 0;  // its ACKs since then

  // --- The previous connection on the same ports ---
  bool has_former_iss = false;
  Sequence former_iss;
  bool former_stamped = false;
  std::uint32_t former_stamp = 0;

  // How many findings of each rule and standing were kept.
  std::array<std::array<std::uint8_t, standing_count>, rule_count> reported{};
};

}  // namespace lockstep::sim::referee
