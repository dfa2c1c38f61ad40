// The rules that the referee knows: their names, their clauses, and what is said of who breaks one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep::sim::referee {

enum class Rule : std::uint8_t {
  // of a segment alone
  syn_with_fin_or_reset,
  reset_with_fin,
  ack_missing,
  reserved_bits,
  header_length,
  tcp_checksum,
  ip_checksum,
  option_malformed,
  padding_nonzero,
  scale_too_large,
  mss_outside_syn,
  scale_outside_syn,
  sack_permitted_outside_syn,
  urgent_empty,
  urgent_zero,
  ect_on_syn,
  ect_on_pure_ack,
  // of numbers
  beyond_window,
  beyond_fin,
  mss_exceeded,
  sent_with_gap,
  ack_of_unheard,
  sack_unpermitted,
  sack_of_unheard,
  edge_moved_left,
  too_many_acks,
  text_changed,
  urgent_backward,
  // of what was negotiated
  option_unoffered,
  stamp_missing,
  stamp_unnegotiated,
  stamp_backward,
  echo_unheard,
  old_stamp_accepted,
  ecn_unasked,
  ect_unnegotiated,
  ect_on_retransmission,
  ece_unheeded,
  // of resets
  reset_outside,
  reset_answers_reset,
  // of time and amounts
  timeout_too_soon,
  timeout_not_doubled,
  sacked_sent_again,
  duplicate_ack_missing,
  initial_window,
  window_grown_too_fast,
  more_than_loss_window,
  nagle,
  silly_sender,
  silly_receiver,
};

struct RuleText {
  Rule rule;
  std::string_view name;
  std::string_view clause;  // the id of a requirement
  std::string_view words;
  std::string_view expected = {};  // what the first number of a finding is; empty: it says nothing
  std::string_view found = {};     // ... and the second; names that end in _ns are times
};

inline constexpr std::array rule_texts{
    RuleText{Rule::syn_with_fin_or_reset, "syn-with-fin-or-reset", "9293:P-CTL-ONCE",
             "a SYN with FIN or RST",
             "", "flags"},
    RuleText{Rule::reset_with_fin, "reset-with-fin", "9293:P-RST-WHEN", "a RST with FIN",
             "", "flags"},
    RuleText{Rule::ack_missing, "ack-missing", "9293:P-ACK-ALWAYS",
             "a segment without ACK, SYN or RST",
             "", "flags"},
    RuleText{Rule::reserved_bits, "reserved-bits", "9293:P-RSRVD", "a reserved bit is set",
             "", "bits"},
    RuleText{Rule::header_length, "header-length", "9293:P-DOFF",
             "lengths of a header that cannot be"},
    RuleText{Rule::tcp_checksum, "tcp-checksum", "9293:MUST-2", "the checksum of TCP is wrong"},
    RuleText{Rule::ip_checksum, "ip-checksum", "791:IP4-2", "the checksum of IPv4 is wrong"},
    RuleText{Rule::option_malformed, "option-malformed", "9293:P-OPT-FORMAT",
             "an option of a length that it cannot have"},
    RuleText{Rule::padding_nonzero, "padding-nonzero", "9293:MUST-69",
             "octets other than zero after the end of the options"},
    RuleText{Rule::scale_too_large, "scale-too-large", "7323:TS-5", "a window scale beyond 14",
             "largest", "shift"},
    RuleText{Rule::mss_outside_syn, "mss-outside-syn", "9293:MUST-65", "MSS outside of a SYN",
             "", "mss"},
    RuleText{Rule::scale_outside_syn, "scale-outside-syn", "7323:TS-24",
             "a window scale outside of a SYN",
             "", "shift"},
    RuleText{Rule::sack_permitted_outside_syn, "sack-permitted-outside-syn", "2018:SACK-1",
             "SACK-permitted outside of a SYN"},
    RuleText{Rule::urgent_empty, "urgent-empty", "9293:P-URG-DATA",
             "URG on a segment without text"},
    RuleText{Rule::urgent_zero, "urgent-zero", "9293:P-URGPTR-FIELD",
             "URG with a pointer to nothing"},
    RuleText{Rule::ect_on_syn, "ect-on-syn", "3168:ECN-4", "ECT on a SYN",
             "", "codepoint"},
    RuleText{Rule::ect_on_pure_ack, "ect-on-pure-ack", "3168:ECN-11", "ECT on a pure ACK",
             "", "codepoint"},
    RuleText{Rule::beyond_window, "beyond-window", "9293:P-WND-FIT",
             "text beyond the window that the peer offered",
             "edge", "end"},
    RuleText{Rule::beyond_fin, "beyond-fin", "9293:P-CLOSE-QUEUED",
             "sequence numbers beyond the FIN",
             "fin", "end"},
    RuleText{Rule::mss_exceeded, "mss-exceeded", "9293:MUST-16",
             "more text in a segment than the peer's MSS allows",
             "mss", "octets"},
    RuleText{Rule::sent_with_gap, "sent-with-gap", "9293:P-SEND-EST",
             "a segment begins beyond all that was sent before",
             "next", "sequence"},
    RuleText{Rule::ack_of_unheard, "ack-of-unheard", "9293:P-ACK-CUMUL",
             "an ACK of something that was never heard",
             "heard", "ack"},
    RuleText{Rule::sack_unpermitted, "sack-unpermitted", "2018:SACK-2",
             "SACK blocks that no SYN permitted",
             "", "blocks"},
    RuleText{Rule::sack_of_unheard, "sack-of-unheard", "2018:SACK-14",
             "a SACK block of something that was never heard",
             "end", "begin"},
    RuleText{Rule::edge_moved_left, "edge-moved-left", "9293:SHLD-14",
             "the right edge of the offered window moved left",
             "edge", "now"},
    RuleText{Rule::too_many_acks, "too-many-acks", "5681:CC-28",
             "more ACKs than segments arrived",
             "segments", "acks"},
    RuleText{Rule::text_changed, "text-changed", "9293:P-RTO",
             "other octets than before under the same numbers",
             "from", "octets"},
    RuleText{Rule::urgent_backward, "urgent-backward", "9293:P-URG-NORECEDE",
             "the urgent pointer moved back",
             "pointer", "now"},
    RuleText{Rule::option_unoffered, "option-unoffered", "7323:TS-33",
             "a SYN,ACK with an option that no SYN offered",
             "", "kind"},
    RuleText{Rule::stamp_missing, "stamp-missing", "7323:TS-9",
             "no timestamp, though both SYNs had one"},
    RuleText{Rule::stamp_unnegotiated, "stamp-unnegotiated", "7323:TS-39",
             "a timestamp, though no SYN of the peer had one"},
    RuleText{Rule::stamp_backward, "stamp-backward", "7323:TS-13",
             "the clock of the timestamps went back",
             "clock", "now"},
    RuleText{Rule::echo_unheard, "echo-unheard", "7323:TS-11",
             "the echo of a timestamp that was never heard",
             "newest", "echo"},
    RuleText{Rule::old_stamp_accepted, "old-stamp-accepted", "7323:TS-17",
             "text with an old timestamp was accepted",
             "from", "ack"},
    RuleText{Rule::ecn_unasked, "ecn-unasked", "3168:ECN-2",
             "a SYN,ACK agrees to ECN that no SYN asked for"},
    RuleText{Rule::ect_unnegotiated, "ect-unnegotiated", "3168:ECN-3",
             "ECT, though the SYNs did not agree on ECN",
             "", "codepoint"},
    RuleText{Rule::ect_on_retransmission, "ect-on-retransmission", "3168:ECN-12",
             "ECT on text that is sent again",
             "", "codepoint"},
    RuleText{Rule::ece_unheeded, "ece-unheeded", "3168:ECN-26",
             "new text without CWR, a window after ECE"},
    RuleText{Rule::reset_outside, "reset-outside", "9293:P-RST-SEQ",
             "a RST of a number that is neither the sender's next nor an answer's",
             "next", "sequence"},
    RuleText{Rule::reset_answers_reset, "reset-answers-reset", "9293:P-CLOSED-RST",
             "a RST in answer to a RST",
             "segments", "resets"},
    RuleText{Rule::timeout_too_soon, "timeout-too-soon", "6298:RTO-4",
             "sent again sooner than a timer may run out",
             "least_ns", "gap_ns"},
    RuleText{Rule::timeout_not_doubled, "timeout-not-doubled", "6298:RTO-14",
             "sent again without doubling the timer",
             "doubled_ns", "gap_ns"},
    RuleText{Rule::sacked_sent_again, "sacked-sent-again", "2018:SACK-18",
             "text that was acknowledged selectively is sent again",
             "begin", "end"},
    RuleText{Rule::duplicate_ack_missing, "duplicate-ack-missing", "5681:CC-14",
             "text above a gap drew no duplicate ACK"},
    RuleText{Rule::initial_window, "initial-window", "5681:CC-3",
             "more than an initial window before the first ACK",
             "most", "flight"},
    RuleText{Rule::window_grown_too_fast, "window-grown-too-fast", "5681:CC-32",
             "more in flight than slow start allows",
             "most", "flight"},
    RuleText{Rule::more_than_loss_window, "more-than-loss-window", "5681:CC-12",
             "more than one segment after a timeout"},
    RuleText{Rule::nagle, "nagle", "9293:P-NAGLE", "a small segment while another is on its way",
             "awaited", "acked"},
    RuleText{Rule::silly_sender, "silly-sender", "9293:MUST-38",
             "a small segment that neither pushes nor fills the window",
             "full", "octets"},
    RuleText{Rule::silly_receiver, "silly-receiver", "9293:MUST-39",
             "a closed window is opened by less than a segment",
             "least", "window"},
};

inline constexpr std::uint32_t rule_count = rule_texts.size();

constexpr bool rules_are_in_order() {
  for (std::uint32_t i = 0; i < rule_count; ++i) {
    if (static_cast<std::uint32_t>(rule_texts[i].rule) != i) {
      return false;
    }
  }
  return true;
}
static_assert(rules_are_in_order());
static_assert(rule_count == static_cast<std::uint32_t>(Rule::silly_receiver) + 1);

constexpr const RuleText& text_of(Rule rule) {
  return rule_texts[static_cast<std::uint32_t>(rule)];
}

}  // namespace lockstep::sim::referee
