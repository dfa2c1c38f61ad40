// What one side of a connection has said, and what the other has told it: all that rules look at.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/units/sequence.hpp"
#include "core/units/time.hpp"
#include "core/units/window.hpp"
#include "sim/checkers/heard_text.hpp"
#include "sim/checkers/referee/rules.hpp"
#include "sim/checkers/referee/violation.hpp"

namespace lockstep::sim::referee {

// A mark that stays where it is for 2^31 octets lies ahead of the stream from then on. So what says
// where numbers begin follows the acknowledgments, this far behind; no window is so large.
inline constexpr std::int32_t remembered = 1 << 30;

inline void follow(Sequence& origin, Sequence acknowledged) {
  if (acknowledged.distance_from(origin) > remembered) {
    origin = acknowledged - Bytes{remembered};
  }
}

// One SYN that was said: where its numbers begin, and how far they have been heard.
struct Opening {
  Sequence iss;
  Sequence origin;  // the first number after it, and later one that lies behind
  Sequence heard;
  Bytes mss;
  Bytes window;  // the largest that it offers
  WindowScale scale;
  bool scaled = false;     // it names a window scale
  bool sack = false;       // it permits selective acknowledgments
  bool stamped = false;    // one of its copies has a timestamp ...
  bool unstamped = false;  // ... and one has none
  bool asks_ecn = false;
  bool grants_ecn = false;
  bool is_answer = false;  // a SYN,ACK
  bool multipath = false;  // it speaks of MPTCP
};

// The last octets of a stream by their numbers; a cell is an octet, or `unknown`.
struct KeptText {
  static constexpr std::uint16_t unknown = 0xffff;
  std::vector<std::uint16_t> cells;  // none, or a power of two of them
  Sequence top;                      // the number after the last that was kept
};

// Text whose checksum was wrong as captured.
struct Spoiled {
  bool waits = false;  // nothing has shown yet that it was heard
  Sequence begin;
  Sequence end;
  Bytes text;
  std::uint32_t place = 0;  // of the finding
};

struct EndpointState {
  static constexpr std::uint32_t openings_max = 8;
  static constexpr std::uint32_t spoiled_max = 4;
  static constexpr std::uint32_t acks_max = 8;

  // --- What it said of its own numbers ---
  std::array<Opening, openings_max> openings{};
  std::uint32_t opening_count = 0;
  bool many_answers = false;   // SYN,ACKs of several numbers were said: nothing is judged of it
  bool openings_lost = false;  // more SYNs than can be remembered
  bool own = false;            // it speaks at the capture's place
  bool begun = false;
  bool middle = false;  // its SYN was not seen
  Sequence iss;
  Sequence origin;    // the same, and later a number that lies behind
  Sequence sent;      // the end of all that was said ...
  Sequence sent_ack;  // ... with this acknowledgment
  Sequence former;    // `sent` of the incarnation before
  bool has_former = false;
  bool fin_sent = false;
  Sequence fin_end;
  Sequence fin_ack;        // said with it
  bool fin_heard = false;  // the same, whatever is judged of it
  Sequence fin_heard_end;
  bool fins_differ = false;
  bool scaled = false;
  WindowScale scale;
  bool sack = false;
  bool early = false;  // its SYN had text ...
  Sequence early_end;  // ... up to here
  HeardText text;
  KeptText kept;
  bool kept_unsure = false;  // no checksum shows of some of it that it was sent so
  std::array<Spoiled, spoiled_max> spoiled{};
  std::uint32_t spoiled_count = 0;
  Sequence spoiled_end;          // the end of the latest
  bool forgiven = false;         // some of it was acknowledged,
  bool forgiven_header = false;  // or a segment without text
  bool good_text = false;        // some text has a checksum that is right
  bool good_sum = false;         // any segment has
  bool urgent = false;
  Sequence urgent_end;
  Sequence urgent_ack;  // said with it

  // --- What it said of the other's numbers ---
  bool offered = false;
  Sequence edge;                 // the furthest right edge that it offered ...
  Sequence edge_ack;             // ... with this acknowledgment ...
  std::uint32_t edge_stamp = 0;  // ... and this timestamp
  // In what order it is recorded: its highest acknowledgment, since when, and those that were 20 ms
  // before and as long before that.
  bool spoke_on = false;  // it has said something else than its SYN ...
  Instant spoke_on_at;    // ... first then
  bool order_known = false;
  Sequence order_ack;
  Instant order_at;
  std::array<Sequence, 2> order_before{};
  std::uint32_t orders_before = 0;  // how many of these there are
  Instant order_turned_at;
  Sequence last_ack;
  Bytes last_window;
  Bytes widest;
  std::array<Sequence, acks_max> acks{};  // the latest that differ
  std::uint32_t ack_count = 0;            // of all that differed from the one before
  std::uint64_t segments = 0;
  std::uint64_t pure_acks = 0;
  std::uint64_t resets = 0;
  bool last_was_reset = false;
  bool reset_acked = false;
  Sequence reset_ack;
  Sequence reset_end;

  // --- What the other has told it ---
  bool limited = false;
  Sequence limit;         // the furthest right edge
  Sequence limit_latest;  // the highest SEG.SEQ with it: SND.WL1 at most
  Sequence limit_ack;     // the highest acknowledgment
  Bytes limit_widest;

  // --- Timestamps ---
  bool stamp_known = false;
  std::uint32_t stamp = 0;  // the highest that it said outside of SYNs ...
  Sequence stamp_ack;       // ... with this acknowledgment
  bool stamp_any = false;
  std::uint32_t stamp_highest = 0;  // SYNs included
  Instant stamp_highest_at;
  bool stamp_first_known = false;
  std::uint32_t stamp_first = 0;  // of its first SYN
  bool echo_known = false;
  std::uint32_t echo = 0;                      // the highest that it echoed ...
  Instant echo_at;                             // ... first then,
  std::array<std::uint32_t, 2> echo_before{};  // and 20 ms before, and as long before that
  std::uint32_t echoes_before = 0;             // how many of these there are
  Instant echo_turned_at;
  bool stale = false;       // it said text with an older timestamp than the other had echoed
  bool stale_sure = false;  // ... long before
  Sequence stale_begin;
  Sequence stale_end;
  Sequence fresh_from;  // the end of its text ...
  bool fresh_known = false;
  Sequence fresh_iss;  // ... after this SYN
  bool fresh_stamped = false;
  std::uint32_t fresh_stamp = 0;  // the highest of text that was new

  // --- ECN ---
  bool ece_open = false;  // the other says ECE, and no CWR has answered it
  Sequence ece_high;      // what had been said by then
  Instant ece_at;
  bool ece_stamped = false;     // what said it had a timestamp ...
  std::uint32_t ece_stamp = 0;  // ... which is this
  bool ece_heeded = false;      // CWR was said ...
  Sequence ece_until;           // ... and ECE up to here is from before it
  Instant text_at;              // of its last new text

  // --- Time ---
  Instant front_at;  // the last transmission of what the other waits for
  bool front_known = false;
  std::uint32_t repeats = 0;  // of it, without a word from the other
  Duration repeat_gap;        // before the last of them
  bool timed_out = false;     // the last of them can only be a timer's
  bool told_of_gap = false;   // the other said a duplicate ACK or SACK since it moved on
  std::uint32_t duplicates = 0;
  bool moved_known = false;
  Sequence moved_to;  // the other's highest acknowledgment
  bool recovering = false;
  Sequence recover;         // until the other has this
  HeardText sacked;         // what the other reported ...
  HeardText sacked_late;    // ... by this time,
  HeardText sacked_before;  // ... and a round trip before it
  Instant sacked_late_at;
  bool heard_anything = false;
  Instant heard_at;        // the other's last segment
  std::uint32_t owed = 0;  // duplicate ACKs that it owes
  Instant owed_since;
  bool small = false;  // a small segment was said
  Sequence small_end;
  Bytes last_text;  // of its last new segment

  // What was acknowledged reaches so far that nothing is left of the beginning.
  bool is_old() const { return origin != iss; }

  // --- What it owes ---
  bool owes_reset = false;      // for an ACK of another number than its SYN's ...
  Sequence owed_reset_for;      // ... which is this
  bool unheeded_words = false;  // it spoke, resets aside, and the other has not since
  bool was_reset = false;       // the other reset it with the right number
  Instant reset_at;
  std::uint32_t after_reset = 0;  // segments that it said long after
  bool owes_ack = false;          // for one segment, up to ...
  Sequence owed_ack;
  Instant owed_ack_at;
  std::uint32_t full_waiting = 0;  // full segments since its last ACK
  std::uint32_t full_acks = 0;     // ACKs of any ...
  std::uint32_t stretched = 0;     // ... and of very many
  std::uint32_t largest_text = 0;  // that it said
  std::uint32_t drawn = 0;         // pure ACKs that it may say ...
  std::uint32_t undrawn = 0;       // ... and that it said beyond them, since anything drew one
  Sequence storm_edge;
  bool told_unheeded = false;
  Instant third_duplicate_at;
  bool ce_heard = false;  // CE on what ends here:
  Sequence ce_end;
  bool has_text = false;
  Sequence text_top;        // the end of its latest text
  bool owes_reply = false;  // for what it cannot accept
  Instant owed_reply_at;
  Sequence owed_reply_for;
  std::uint32_t unanswered = 0;  // how often the other repeated what begins here, without a word:
  Sequence unanswered_begin;
  Instant unanswered_at;      // the first time
  bool shut = false;          // the other's window is
  bool silent_since = false;  // ... and it has said nothing since
  bool unprobed = false;      // it opened after long, still without a word
  Instant shut_at;
  Instant opened_at;
  bool probed = false;  // the first repeat was of the last segment: a probe's

  // --- Its progress ---
  bool ack_top_known = false;
  Sequence ack_top;                 // the highest that it acknowledged ...
  std::uint32_t ack_top_stamp = 0;  // ... and the timestamp that said so first
  std::uint32_t bare = 0;           // duplicate ACKs in a row that report nothing, while ...
  Sequence bare_top;                // ... the other sent beyond this
  std::uint32_t refused = 0;   // how often the other repeated what it answers but never takes ...
  Sequence refused_begin;      // ... which begins here
  Instant refused_at;          // the first time
  std::uint32_t refusals = 0;  // what it answered meanwhile

  // --- The connection of the same ports before ---
  bool has_former_iss = false;
  Sequence former_iss;
  bool former_stamped = false;
  std::uint32_t former_stamp = 0;

  // How often each rule was told of it, by how sure that was.
  std::array<std::array<std::uint8_t, standing_count>, rule_count> told{};
};

}  // namespace lockstep::sim::referee
