// The sentence of each clause that a rule refers to, as in conformance/requirements.
#pragma once

#include <array>
#include <string_view>

namespace lockstep::sim::referee {

struct ClauseText {
  std::string_view clause;
  std::string_view sentence;
};

inline constexpr std::array clause_texts{
    ClauseText{"9293:P-CTL-ONCE",
               "SYN and FIN occupy sequence space, are retransmitted until ACKed and are "
               "acted upon exactly once"},
    ClauseText{"9293:P-VARS-ADVANCE",
               "Sending advances SND.NXT, accepting advances RCV.NXT and is ACKed, an ACK "
               "advances SND.UNA, each by data + SYN + FIN; equal when idle"},
    ClauseText{"9293:P-RST-WHEN",
               "A reset is sent only if the arriving segment is clearly not meant for the "
               "current connection; in doubt, none"},
    ClauseText{"9293:P-ACK-ALWAYS",
               "From ESTABLISHED on, every segment carries ACK with the current "
               "acknowledgment number"},
    ClauseText{"9293:P-RSRVD",
               "The four reserved header bits are zero on send and ignored on receipt when "
               "their feature is not implemented"},
    ClauseText{"9293:P-DOFF",
               "Data offset counts 32-bit header words including options; options exist only "
               "if it exceeds 5 and fill (offset-5)*4 bytes; data follows"},
    ClauseText{"9293:MUST-2",
               "Sender fills in the TCP checksum over pseudo-header, header and data"},
    ClauseText{"791:IP4-2",
               "Header checksum (16-bit one's complement, own field as 0) is verified and "
               "recomputed wherever the header is processed"},
    ClauseText{"9293:P-OPT-FORMAT",
               "Options may start at any octet; the length byte counts kind, length and "
               "data; all options are covered by the checksum"},
    ClauseText{"9293:MUST-69", "Header bytes after an End-of-list option are sent as zero padding"},
    ClauseText{"7323:TS-5",
               "Shift count is limited to 14; a received value above 14 is used as 14"},
    ClauseText{"9293:MUST-65", "MSS option is never put on a segment without SYN"},
    ClauseText{"7323:TS-24", "Window Scale option in a segment without SYN is ignored"},
    ClauseText{"2018:SACK-1", "SACK-permitted on non-SYN segments"},
    ClauseText{"9293:P-URG-DATA",
               "An urgent indication is sent together with at least one data octet"},
    ClauseText{"9293:P-URGPTR-FIELD",
               "Urgent field is a positive offset from SEG.SEQ and is only looked at when "
               "URG is set"},
    ClauseText{"3168:ECN-4", "ECT on SYN or SYN-ACK"},
    ClauseText{"3168:ECN-11", "Pure ACKs sent not-ECT"},
    ClauseText{"9293:P-WND-FIT",
               "Outgoing data is cut to the current send window; segments may be repackaged "
               "on retransmission"},
    ClauseText{"9293:P-CLOSE-QUEUED",
               "CLOSE in ESTABLISHED: FIN goes out after all earlier SENDs are segmentized; "
               "state becomes FIN-WAIT-1"},
    ClauseText{"9293:MUST-16",
               "Effective send MSS = min(SendMSS+20, MMS_S) - TCP header size (20 plus "
               "options actually sent) - IP options/extension header size"},
    ClauseText{"9293:P-SEND-EST",
               "SEND in ESTABLISHED or CLOSE-WAIT segments the buffer and sends it with a "
               "piggybacked ACK of RCV.NXT"},
    ClauseText{"9293:P-ACK-CUMUL", "An ACK of X confirms every octet before X and not X itself"},
    ClauseText{"2018:SACK-2", "SACK options when peer did not send SACK-permitted"},
    ClauseText{"2018:SACK-14",
               "Each block is queued data whose neighbouring bytes below and above were not "
               "received"},
    ClauseText{"9293:SHLD-14", "Receiver does not move the right window edge left"},
    ClauseText{"5681:CC-28", "More than one ACK per arriving segment except for window updates"},
    ClauseText{"9293:P-RTO",
               "Retransmission timeout resends the segment at the front of the queue and "
               "restarts the timer"},
    ClauseText{"9293:P-URG-NORECEDE",
               "Sent urgent pointer never moves back; receiver survives invalid urgent "
               "values"},
    ClauseText{"7323:TS-33", "SYN-ACK carries Window Scale only if the initial SYN had it"},
    ClauseText{"7323:TS-9", "After negotiation every non-RST segment carries TSopt"},
    ClauseText{"7323:TS-39",
               "SYN-ACK carries TSopt only if the initial SYN had it (crossing SYNs: either "
               "having it is enough)"},
    ClauseText{"7323:TS-13", "Timestamp clock roughly proportional to real time"},
    ClauseText{"7323:TS-11",
               "A segment with ACK set echoes in TSecr a recently received TSval (the one "
               "chosen by 4.3)"},
    ClauseText{"7323:TS-15",
               "TS.Recent takes SEG.TSval only if SEG.TSval>=TS.Recent and "
               "SEG.SEQ<=Last.ACK.sent; TSecr sent is always TS.Recent"},
    ClauseText{"7323:TS-17",
               "PAWS R1: non-RST segment with TSopt and TSval<valid TS.Recent is answered by "
               "an ACK and dropped"},
    ClauseText{"3168:ECN-2", "ECN-setup SYN-ACK in reply to a non-ECN-setup SYN"},
    ClauseText{"3168:ECN-3",
               "ECT on data unless an ECN-setup SYN or SYN-ACK was sent and one received, "
               "and no non-setup one was sent"},
    ClauseText{"3168:ECN-12", "ECT on retransmitted data"},
    ClauseText{"3168:ECN-26",
               "CWR also follows window reductions by RTO and fast retransmit, on the first "
               "new data packet"},
    ClauseText{"9293:P-RST-SEQ",
               "Resets in CLOSED and non-synchronized states: SEQ=SEG.ACK if ACK set, else "
               "SEQ=0, ACK=SEG.SEQ+SEG.LEN; in CLOSED a RST is never answered"},
    ClauseText{"9293:P-CLOSED-RST", "CLOSED: a segment with RST is discarded without reply"},
    ClauseText{"6298:RTO-4",
               "A computed RTO below 1 s is rounded up to 1 s (Linux uses 200 ms: known "
               "deviation)"},
    ClauseText{"6298:RTO-14", "On expiry RTO doubles (bounded by 2.5)"},
    ClauseText{"2018:SACK-4", "ACK every valid segment with new data, dupacks carry SACK"},
    ClauseText{"2018:SACK-18",
               "SACKed segments (wholly inside a block) are skipped in later "
               "retransmissions; unSACKed ones below the highest SACKed are candidates"},
    ClauseText{"5681:CC-14",
               "Receiver sends an immediate duplicate ACK for an out-of-order segment"},
    ClauseText{"5681:CC-3",
               "IW upper bound: SMSS>2190 -> 2 seg; 1095<SMSS<=2190 -> 3 seg; else 4 seg "
               "(RFC 6928 experimental: min(10*MSS, max(2*MSS,14600)))"},
    ClauseText{"5681:CC-32",
               "Send data that the cwnd of the four algorithms would not allow (being more "
               "conservative is fine)"},
    ClauseText{"5681:CC-12", "On RTO cwnd <= loss window = 1 full segment"},
    ClauseText{"9293:P-NAGLE",
               "Nagle: with SND.NXT > SND.UNA, user data is held regardless of PSH until all "
               "is ACKed or a full-sized segment can go"},
    ClauseText{"9293:MUST-38", "Sender-side silly window avoidance"},
    ClauseText{"9293:MUST-39", "Receiver-side silly window avoidance"},
    ClauseText{"9293:P-SYNSENT-ACK",
               "SYN-SENT step 1: SEG.ACK =< ISS or > SND.NXT gets <SEQ=SEG.ACK><CTL=RST> (no "
               "reply if RST is set); segment dropped"},
    ClauseText{"9293:P-RST-EST",
               "RST in ESTABLISHED, FIN-WAIT-1/2, CLOSE-WAIT: SENDs and RECEIVEs get reset, "
               "queues flushed, user told connection reset, CLOSED"},
    ClauseText{"9293:P-ACCEPT-REPLY",
               "Unacceptable segment gets <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK> and is "
               "dropped; with RST set it is dropped silently"},
    ClauseText{"9293:P-TEXT-ACK",
               "Step 7: accepted text is acknowledged with <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>"},
    ClauseText{"9293:SHLD-3", "Half-duplex close with unread or later arriving data sends RST"},
    ClauseText{"9293:MUST-36", "Probing of zero (offered) windows is supported"},
    ClauseText{"9293:MUST-40", "ACK is delayed less than 0.5 s"},
    ClauseText{"5681:CC-27", "Receiver ACKs at least every second full-sized segment"},
    ClauseText{"5681:CC-16",
               "Sender uses fast retransmit after 3 duplicate ACKs (dupack as defined in "
               "CC-38)"},
    ClauseText{"6298:RTO-9",
               "Timer handling never retransmits a segment less than one RTO after its "
               "previous transmission"},
    ClauseText{"3168:ECN-10", "Receiver sets ECE on every ACK from CE until CWR arrives"},
    ClauseText{"9293:P-KA-PROBE",
               "Keep-alive probe generally has SEG.SEQ=SND.NXT-1 with zero or one garbage "
               "octet, so that the peer answers"},
    ClauseText{"9293:MUST-8",
               "ISN selection is driven by a monotonic 32-bit clock ticking at least about "
               "every 4 us (full cycle about 4.55 h); it may restart at reboot"},
    ClauseText{"6528:ISN-2", "PRF computable from outside"},
};

constexpr std::string_view sentence_of(std::string_view clause) {
  for (ClauseText const& each : clause_texts) {
    if (each.clause == clause) {
      return each.sentence;
    }
  }
  return {};
}

}  // namespace lockstep::sim::referee
