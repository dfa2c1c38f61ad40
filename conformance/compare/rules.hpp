// What counts as a finding: each rule, with the words of the RFC that it rests on.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string_view>

#include "sim/checkers/referee/rules.hpp"

namespace lockstep::conformance::compare {

enum class CompareRule : std::uint8_t {
  closed_reset_missing,
  listen_reset_missing,
  reset_number_wrong,
  drop_answered,
  reset_answered,
  syn_unanswered,
  syn_sent_reset_missing,
  syn_sent_answered,
  syn_ack_unanswered,
  simultaneous_open,
  syn_received_reset_missing,
  unacceptable_unanswered,
  unacceptable_reset,
  syn_inside_unanswered,
  unsent_ack_unanswered,
  no_ack_accepted,
  unsent_ack_accepted,
  outside_accepted,
  beyond_fin_accepted,
  unsent_acknowledged,
  data_unacknowledged,
  fin_unacknowledged,
  opened_too_early,
  delivers_too_much,
  delivers_wrong_octets,
  ends_too_early,
  acknowledged_lost,
  sends_wrong_octets,
  sends_unwritten,
  fin_too_early,
  never_retransmitted,
  device_broken,
};
inline constexpr std::uint32_t compare_rules = 32;

struct CompareRuleText {
  CompareRule rule;
  std::string_view name, clause, words;
};

inline constexpr std::array<CompareRuleText, compare_rules> compare_rule_texts{{
    {CompareRule::closed_reset_missing, "closed-reset-missing", "RFC 9293 3.10.7.1",
     "a segment without RST to a closed port draws no reset"},
    {CompareRule::listen_reset_missing, "listen-reset-missing", "RFC 9293 3.10.7.2, second",
     "an ACK that arrives in LISTEN draws no reset"},
    {CompareRule::reset_number_wrong, "reset-number-wrong", "RFC 9293 3.5.2, 1 and 2",
     "a reset has neither the ACK number of the segment nor, without one, zero and its end"},
    {CompareRule::drop_answered, "drop-answered", "RFC 9293 3.10.7.2, fourth",
     "in LISTEN a segment without SYN, ACK and RST is answered, not dropped"},
    {CompareRule::reset_answered, "reset-answered", "RFC 9293 3.10.7.1 and 3.10.7.2, first",
     "a reset that arrives in CLOSED or LISTEN is answered"},
    {CompareRule::syn_unanswered, "syn-unanswered", "RFC 9293 3.10.7.2, third",
     "a SYN that arrives in LISTEN draws no SYN,ACK"},
    {CompareRule::syn_sent_reset_missing, "syn-sent-reset-missing", "RFC 9293 3.10.7.3, first",
     "in SYN-SENT an ACK of something else than the SYN draws no reset"},
    {CompareRule::syn_sent_answered, "syn-sent-answered", "RFC 9293 3.10.7.3, fifth",
     "in SYN-SENT a segment without SYN and RST, which must be dropped, is answered"},
    {CompareRule::syn_ack_unanswered, "syn-ack-unanswered", "RFC 9293 3.10.7.3, fourth",
     "in SYN-SENT a right SYN,ACK draws no ACK"},
    {CompareRule::simultaneous_open, "simultaneous-open", "RFC 9293 3.5, MUST-10",
     "in SYN-SENT a SYN draws no SYN,ACK"},
    {CompareRule::syn_received_reset_missing, "syn-received-reset-missing",
     "RFC 9293 3.10.7.4, fifth", "in SYN-RECEIVED an ACK that is not acceptable draws no reset"},
    {CompareRule::unacceptable_unanswered, "unacceptable-unanswered", "RFC 9293 3.10.7.4, first",
     "a segment that is not acceptable draws no ACK"},
    {CompareRule::unacceptable_reset, "unacceptable-reset", "RFC 9293 3.5.2, 3",
     "a segment that is not acceptable draws a reset in a synchronized state"},
    {CompareRule::syn_inside_unanswered, "syn-inside-unanswered", "RFC 9293 3.10.7.4, fourth",
     "a SYN in the window draws neither an ACK nor a reset"},
    {CompareRule::unsent_ack_unanswered, "unsent-ack-unanswered", "RFC 9293 3.10.7.4, fifth",
     "an ACK of what was not sent draws no ACK"},
    {CompareRule::no_ack_accepted, "no-ack-accepted", "RFC 9293 3.10.7.4, fifth",
     "data or a FIN without the ACK bit is accepted"},
    {CompareRule::unsent_ack_accepted, "unsent-ack-accepted", "RFC 9293 3.10.7.4, fifth",
     "data or a FIN is accepted from a segment that acknowledges what was not sent"},
    {CompareRule::outside_accepted, "outside-accepted", "RFC 9293 3.10.7.4, first",
     "data or a FIN outside the window is accepted"},
    {CompareRule::beyond_fin_accepted, "beyond-fin-accepted", "RFC 9293 3.10.7.4, seventh",
     "data beyond the peer's FIN is accepted"},
    {CompareRule::unsent_acknowledged, "unsent-acknowledged", "RFC 9293 3.4",
     "octets are acknowledged that were never sent"},
    {CompareRule::data_unacknowledged, "data-unacknowledged", "RFC 9293 3.10.7.4, seventh; MUST-40",
     "data in order is not acknowledged within half a second"},
    {CompareRule::fin_unacknowledged, "fin-unacknowledged", "RFC 9293 3.10.7.4, eighth",
     "a FIN in order is not acknowledged"},
    {CompareRule::opened_too_early, "opened-too-early", "RFC 9293 3.10.7.4",
     "a connection is accepted before an acceptable segment acknowledged its SYN"},
    {CompareRule::delivers_too_much, "delivers-too-much", "RFC 9293 3.10.7.4",
     "the program reads octets that no acceptable segment had"},
    {CompareRule::delivers_wrong_octets, "delivers-wrong-octets", "RFC 9293 3.10.7.4, seventh",
     "the program reads other octets than were sent at this place"},
    {CompareRule::ends_too_early, "ends-too-early", "RFC 9293 3.10.7.4, eighth",
     "the program reads the end of the stream before the peer's FIN"},
    {CompareRule::acknowledged_lost, "acknowledged-lost", "RFC 9293 3.10.7.4, seventh",
     "the program cannot read octets that were acknowledged"},
    {CompareRule::sends_wrong_octets, "sends-wrong-octets", "RFC 9293 3.4",
     "a segment has other octets than the program wrote at this place"},
    {CompareRule::sends_unwritten, "sends-unwritten", "RFC 9293 3.4",
     "a segment has octets that the program never wrote"},
    {CompareRule::fin_too_early, "fin-too-early", "RFC 9293 3.10.4",
     "a FIN leaves before all data is sent, or without CLOSE"},
    {CompareRule::never_retransmitted, "never-retransmitted", "RFC 6298 5.4",
     "what is not acknowledged was not retransmitted in 70 s"},
    {CompareRule::device_broken, "device-broken", "conformance/devices/device.h",
     "the device broke its interface"},
}};

constexpr bool compare_rules_are_in_order() {
  for (std::uint32_t i = 0; i < compare_rules; ++i) {
    if (static_cast<std::uint32_t>(compare_rule_texts[i].rule) != i) {
      return false;
    }
  }
  return true;
}
static_assert(compare_rules_are_in_order());

/// A rule of this file, or behind them one of the referee: an index.
inline constexpr std::size_t all_rules = compare_rules + sim::referee::rule_count;
using RuleSet = std::bitset<all_rules>;

constexpr std::size_t index_of(CompareRule rule) { return static_cast<std::size_t>(rule); }
constexpr std::size_t index_of(sim::referee::Rule rule) {
  return compare_rules + static_cast<std::size_t>(rule);
}
constexpr const sim::referee::RuleText& referee_text(std::size_t index) {
  return sim::referee::rule_texts[index - compare_rules];
}
constexpr std::string_view name_of_rule(std::size_t index) {
  return index < compare_rules ? compare_rule_texts[index].name : referee_text(index).name;
}
constexpr std::string_view clause_of_rule(std::size_t index) {
  return index < compare_rules ? compare_rule_texts[index].clause : referee_text(index).clause;
}
constexpr std::string_view words_of_rule(std::size_t index) {
  return index < compare_rules ? compare_rule_texts[index].words : referee_text(index).words;
}

}  // namespace lockstep::conformance::compare
