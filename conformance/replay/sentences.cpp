// One sentence for each clause that a replay may name: the summaries of conformance/requirements.
#include "conformance/replay/sentences.hpp"

#include <algorithm>
#include <array>

namespace lockstep::conformance {
namespace {

struct Sentence {
  std::string_view clause, text;
};

// Sorted by clause. sentences_test.cpp compares each with its row.
constexpr std::array sentences{
    Sentence{"1191:PMTU-1", "Datagram Too Big lowers the path MTU estimate to its Next-Hop MTU"},
    Sentence{"2018:SACK-14",
             "Each block is queued data whose neighbouring bytes below and above were not "
             "received"},
    Sentence{"2018:SACK-18",
             "SACKed segments (wholly inside a block) are skipped in later retransmissions; "
             "unSACKed ones below the highest SACKed are candidates"},
    Sentence{"2018:SACK-2", "SACK options when peer did not send SACK-permitted"},
    Sentence{"2018:SACK-3",
             "If SACK is generated at all, do it on every ACK that does not ACK the highest "
             "received sequence"},
    Sentence{"2018:SACK-5",
             "First block covers the segment that triggered the ACK (unless it advanced the ACK)"},
    Sentence{"2883:DSACK-1",
             "Duplicate data is reported as first SACK block whose edges are exactly the "
             "duplicate range of the triggering segment"},
    Sentence{"2883:DSACK-3",
             "Each duplicate range is reported in one D-SACK block only; a repeat needs another "
             "duplicate arrival"},
    Sentence{"2883:DSACK-4",
             "D-SACK range above the cumulative ACK: second block is the larger queued block that "
             "contains it"},
    Sentence{"2883:DSACK-7",
             "A duplicate below the cumulative ACK draws an ACK with a D-SACK block even if no "
             "out-of-order data is queued"},
    Sentence{"3168:ECN-1", "ECN-setup SYN = ECE+CWR; ECN-setup SYN-ACK = ECE only"},
    Sentence{"3168:ECN-10", "Receiver sets ECE on every ACK from CE until CWR arrives"},
    Sentence{"3168:ECN-11", "Pure ACKs sent not-ECT"},
    Sentence{"3168:ECN-12", "ECT on retransmitted data"},
    Sentence{"3168:ECN-19", "CWR on retransmitted packets"},
    Sentence{"3168:ECN-2", "ECN-setup SYN-ACK in reply to a non-ECN-setup SYN"},
    Sentence{"3168:ECN-21",
             "Once ECT was set on data, CWR is set and cleared correctly on all later packets"},
    Sentence{"3168:ECN-23",
             "Host unwilling to use ECN clears both ECE and CWR in its SYN or SYN-ACK"},
    Sentence{"3168:ECN-28",
             "After CWR arrives, ACKs of later non-CE data carry no ECE; a further CE starts ECE "
             "again"},
    Sentence{"3168:ECN-3",
             "ECT on data unless an ECN-setup SYN or SYN-ACK was sent and one received, and no "
             "non-setup one was sent"},
    Sentence{"3168:ECN-4", "ECT on SYN or SYN-ACK"},
    Sentence{"5681:CC-1", "Send data above highest-ACKed + min(cwnd, rwnd)"},
    Sentence{"5681:CC-12", "On RTO cwnd <= loss window = 1 full segment"},
    Sentence{"5681:CC-14", "Receiver sends an immediate duplicate ACK for an out-of-order segment"},
    Sentence{"5681:CC-15", "Receiver ACKs at once a segment that fills all or part of a gap"},
    Sentence{"5681:CC-16",
             "Sender uses fast retransmit after 3 duplicate ACKs (dupack as defined in CC-38)"},
    Sentence{"5681:CC-21", "Retransmit SND.UNA segment and set cwnd = ssthresh + 3*SMSS"},
    Sentence{"5681:CC-25",
             "Before sending after no data was sent for longer than RTO, cwnd is cut to RW = "
             "min(IW, cwnd)"},
    Sentence{"5681:CC-27", "Receiver ACKs at least every second full-sized segment"},
    Sentence{"5681:CC-28", "More than one ACK per arriving segment except for window updates"},
    Sentence{"5681:CC-3",
             "IW upper bound: SMSS>2190 -> 2 seg; 1095<SMSS<=2190 -> 3 seg; else 4 seg (RFC 6928 "
             "experimental: min(10*MSS, max(2*MSS,14600)))"},
    Sentence{"5681:CC-42",
             "Fast retransmit needs 3 dupacks with no ACK moving SND.UNA between them and does "
             "not wait for the RTO"},
    Sentence{"5681:CC-5", "After loss of SYN or SYN/ACK the initial window is one segment"},
    Sentence{"5682:FRTO-13",
             "SACK step 3: ACK or SACK of data not ACKed before, not above RecoveryPoint -> "
             "spurious, RecoveryPoint=SND.UNA"},
    Sentence{"5682:FRTO-4",
             "Step 2b: first ACK advances window below recover -> up to two new segments (Nagle "
             "MAY be overridden), go to step 3"},
    Sentence{"6298:RTO-11", "Stop timer when everything is ACKed"},
    Sentence{"6298:RTO-14", "On expiry RTO doubles (bounded by 2.5)"},
    Sentence{"6298:RTO-9",
             "Timer handling never retransmits a segment less than one RTO after its previous "
             "transmission"},
    Sentence{"6582:NR-2",
             "Partial ACK: resend first unacked segment, cwnd -= bytes ACKed, += SMSS if >=SMSS "
             "were ACKed, send new if cwnd permits"},
    Sentence{"6582:NR-7",
             "Third dupack not covering more than recover: no fast retransmit, ssthresh unchanged"},
    Sentence{"7323:TS-1",
             "Scaling in either direction is active only if both sides sent Window Scale in their "
             "SYN segments"},
    Sentence{"7323:TS-15",
             "TS.Recent takes SEG.TSval only if SEG.TSval>=TS.Recent and SEG.SEQ<=Last.ACK.sent; "
             "TSecr sent is always TS.Recent"},
    Sentence{"7323:TS-17",
             "PAWS R1: non-RST segment with TSopt and TSval<valid TS.Recent is answered by an ACK "
             "and dropped"},
    Sentence{"7323:TS-33", "SYN-ACK carries Window Scale only if the initial SYN had it"},
    Sentence{"7323:TS-39",
             "SYN-ACK carries TSopt only if the initial SYN had it (crossing SYNs: either having "
             "it is enough)"},
    Sentence{"7323:TS-9", "After negotiation every non-RST segment carries TSopt"},
    Sentence{"7413:TFO-13",
             "Server with valid cookie and room buffers the SYN data, notifies the application "
             "and ACKs SYN plus data"},
    Sentence{"7413:TFO-14",
             "Server with invalid cookie, disabled or over limit ACKs the SYN only and drops the "
             "data"},
    Sentence{"7413:TFO-2",
             "Fast Open is off on a listener until the application turns it on; when off all "
             "cookie options are ignored"},
    Sentence{"7413:TFO-4",
             "Cookie is a MAC over the client address that only the server can make, fast to "
             "check and expiring"},
    Sentence{"8201:PMTU-3",
             "PTB lowers the PMTU estimate of its path to the MTU field and smaller packets "
             "follow"},
    Sentence{"8985:TLP-4",
             "Probe = new data if window allows, else retransmission of highest-sequence segment"},
    Sentence{"9293:MUST-14", "MSS option is both sent and understood"},
    Sentence{"9293:MUST-15",
             "Without a received MSS option assume send MSS 536 (IPv4) / 1220 (IPv6)"},
    Sentence{"9293:MUST-16",
             "Effective send MSS = min(SendMSS+20, MMS_S) - TCP header size (20 plus options "
             "actually sent) - IP options/extension header size"},
    Sentence{"9293:MUST-20",
             "Excessive data retransmission handled by thresholds R1 (negative advice to IP) and "
             "R2 (close connection)"},
    Sentence{"9293:MUST-29",
             "Missing answers to any particular keep-alive probe are not taken as a dead "
             "connection"},
    Sentence{"9293:MUST-3",
             "Receiver verifies the TCP checksum of every arriving segment (bad ones are "
             "discarded)"},
    Sentence{"9293:MUST-30", "Urgent mechanism is supported"},
    Sentence{"9293:MUST-36", "Probing of zero (offered) windows is supported"},
    Sentence{"9293:MUST-38", "Sender-side silly window avoidance"},
    Sentence{"9293:MUST-39", "Receiver-side silly window avoidance"},
    Sentence{"9293:MUST-40", "ACK is delayed less than 0.5 s"},
    Sentence{"9293:MUST-54",
             "ICMP/ICMPv6 errors handed up by IP are acted on and matched to their connection "
             "through the header quoted in the message"},
    Sentence{"9293:MUST-55", "ICMP Source Quench is silently discarded"},
    Sentence{"9293:MUST-56",
             "Soft errors never abort: v4 Unreachable 0,1,5, Time Exceeded 0,1, Parameter "
             "Problem; v6 Unreachable 0,3, Time Exceeded 0,1, Parameter Problem 0-2"},
    Sentence{"9293:MUST-62", "Urgent pointer points to the octet following the urgent data"},
    Sentence{"9293:MUST-65", "MSS option is never put on a segment without SYN"},
    Sentence{"9293:MUST-67",
             "Advertised MSS is at most MMS_R - 20, MMS_R being the largest transport message IP "
             "can receive and reassemble"},
    Sentence{"9293:P-ABORT",
             "ABORT in SYN-RECEIVED, ESTABLISHED, FIN-WAIT-1/2, CLOSE-WAIT sends "
             "<SEQ=SND.NXT><CTL=RST>, deletes the TCB, enters CLOSED"},
    Sentence{"9293:P-ABORT-CLOSING",
             "ABORT in CLOSING, LAST-ACK, TIME-WAIT answers ok, deletes the TCB, enters CLOSED, "
             "no RST"},
    Sentence{"9293:P-ABORT-SYNSENT",
             "ABORT in SYN-SENT gives queued SENDs and RECEIVEs connection reset, deletes the "
             "TCB, enters CLOSED, sends nothing"},
    Sentence{"9293:P-ACCEPT-REPLY",
             "Unacceptable segment gets <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK> and is dropped; with "
             "RST set it is dropped silently"},
    Sentence{"9293:P-ACCEPT-TRIM",
             "Parts outside the window, SYN and FIN included, are trimmed; processing continues "
             "only if the rest begins at RCV.NXT"},
    Sentence{"9293:P-ACK-5961",
             "With RFC 5961: ACK outside (SND.UNA-MAX.SND.WND) =< SEG.ACK =< SND.NXT: segment "
             "discarded, ACK sent (MUST)"},
    Sentence{"9293:P-ACK-ALWAYS",
             "From ESTABLISHED on, every segment carries ACK with the current acknowledgment "
             "number"},
    Sentence{"9293:P-ACK-CUMUL", "An ACK of X confirms every octet before X and not X itself"},
    Sentence{"9293:P-ACK-EST",
             "Step 5 ESTABLISHED: SND.UNA < SEG.ACK =< SND.NXT sets SND.UNA=SEG.ACK and drops "
             "fully ACKed segments from the retransmission queue"},
    Sentence{"9293:P-ACK-FUTURE",
             "Step 5 ESTABLISHED: SEG.ACK > SND.NXT is answered with an ACK and the segment "
             "dropped"},
    Sentence{"9293:P-ACK-OFF",
             "Step 5: a segment without ACK bit is dropped in SYN-RECEIVED and every later state"},
    Sentence{"9293:P-CLOSE-CLOSEWAIT",
             "CLOSE in CLOSE-WAIT: once earlier SENDs are segmentized a FIN is sent and LAST-ACK "
             "entered"},
    Sentence{"9293:P-CLOSE-NOAUTOFIN",
             "A received FIN is ACKed, but own FIN is sent only after the local user's CLOSE and "
             "any remaining data"},
    Sentence{"9293:P-CLOSE-QUEUED",
             "CLOSE in ESTABLISHED: FIN goes out after all earlier SENDs are segmentized; state "
             "becomes FIN-WAIT-1"},
    Sentence{"9293:P-CLOSE-SYNSENT",
             "CLOSE in SYN-SENT deletes the TCB and returns queued SENDs and RECEIVEs with error: "
             "closing"},
    Sentence{"9293:P-CLOSED-ACK",
             "CLOSED: a non-RST segment with ACK is answered by <SEQ=SEG.ACK><CTL=RST>"},
    Sentence{"9293:P-CLOSED-RST", "CLOSED: a segment with RST is discarded without reply"},
    Sentence{"9293:P-CLOSED-SEG",
             "CLOSED: data discarded; segment with neither RST nor ACK answered by "
             "<SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>"},
    Sentence{"9293:P-DOFF",
             "Data offset counts 32-bit header words including options; options exist only if it "
             "exceeds 5 and fill (offset-5)*4 bytes; data follows"},
    Sentence{"9293:P-EV-EQUIV",
             "Another processing order is fine as long as outcomes differ only in detail from "
             "section 3.10"},
    Sentence{"9293:P-FIN",
             "Step 8: FIN tells the user connection closing, returns pending RECEIVEs with it, "
             "moves RCV.NXT over the FIN, is ACKed, and pushes undelivered text"},
    Sentence{"9293:P-KA-PROBE",
             "Keep-alive probe generally has SEG.SEQ=SND.NXT-1 with zero or one garbage octet, so "
             "that the peer answers"},
    Sentence{"9293:P-LISTEN-ACK",
             "LISTEN step 2: a segment with ACK (no RST) is answered by <SEQ=SEG.ACK><CTL=RST>, "
             "even if SYN is set"},
    Sentence{"9293:P-LISTEN-OTHER",
             "LISTEN step 4: a segment with none of RST, ACK, SYN is dropped"},
    Sentence{"9293:P-LISTEN-RST",
             "LISTEN step 1: a segment with RST is ignored, before any other check"},
    Sentence{"9293:P-LISTEN-SYN",
             "LISTEN step 3: SYN sets RCV.NXT=SEG.SEQ+1, IRS=SEG.SEQ; "
             "<SEQ=ISS><ACK=RCV.NXT><CTL=SYN,ACK> sent; SYN-RECEIVED"},
    Sentence{"9293:P-NAGLE",
             "Nagle: with SND.NXT > SND.UNA, user data is held regardless of PSH until all is "
             "ACKed or a full-sized segment can go"},
    Sentence{"9293:P-OPEN-CLOSED-ACTIVE",
             "Active OPEN with remote socket picks ISS, sends <SEQ=ISS><CTL=SYN>, SND.UNA=ISS, "
             "SND.NXT=ISS+1, enters SYN-SENT"},
    Sentence{"9293:P-OPEN-CLOSED-PASSIVE",
             "Passive OPEN in CLOSED enters LISTEN and sends nothing"},
    Sentence{"9293:P-RST-CHALLENGE",
             "Step 2 with RFC 5961: in-window RST not at RCV.NXT gets challenge ACK "
             "<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK> and is dropped (MUST)"},
    Sentence{"9293:P-RST-CLOSING",
             "RST in CLOSING, LAST-ACK, TIME-WAIT: enter CLOSED and delete the TCB"},
    Sentence{"9293:P-RST-EST",
             "RST in ESTABLISHED, FIN-WAIT-1/2, CLOSE-WAIT: SENDs and RECEIVEs get reset, queues "
             "flushed, user told connection reset, CLOSED"},
    Sentence{"9293:P-RST-OUT",
             "Step 2 with RFC 5961: RST with SEQ outside the receive window is silently dropped"},
    Sentence{"9293:P-RST-SYNRCVD",
             "RST in SYN-RECEIVED: passive origin back to LISTEN, user need not know; active "
             "origin: connection refused, CLOSED; retransmission queue flushed either way"},
    Sentence{"9293:P-RST-WHEN",
             "A reset is sent only if the arriving segment is clearly not meant for the current "
             "connection; in doubt, none"},
    Sentence{"9293:P-RTO",
             "Retransmission timeout resends the segment at the front of the queue and restarts "
             "the timer"},
    Sentence{"9293:P-SEND-EST",
             "SEND in ESTABLISHED or CLOSE-WAIT segments the buffer and sends it with a "
             "piggybacked ACK of RCV.NXT"},
    Sentence{"9293:P-SEND-FIFO",
             "Several outstanding SENDs are queued and served in order of issue"},
    Sentence{"9293:P-SWS-RCV",
             "RCV.NXT+RCV.WND stays fixed until RCV.BUFF-RCV.USER-RCV.WND >= min(RCV.BUFF/2, "
             "Eff.snd.MSS); then RCV.WND=RCV.BUFF-RCV.USER"},
    Sentence{"9293:P-SWS-SEND-OVERRIDE",
             "Send when the override timeout of 0.1 to 1.0 s expires, so that SWS avoidance "
             "cannot deadlock"},
    Sentence{"9293:P-SYN-793",
             "Step 4 without RFC 5961: in-window SYN draws a reset, calls get reset, queues "
             "flushed, user told connection reset, CLOSED"},
    Sentence{"9293:P-SYN-INWIN",
             "Step 4, synchronized states, RFC 5961: SYN with any sequence number gets challenge "
             "ACK <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK> and is dropped"},
    Sentence{"9293:P-SYN-SYNRCVD",
             "Step 4 SYN-RECEIVED: SYN returns a passively opened connection to LISTEN; an "
             "actively opened one is treated as synchronized"},
    Sentence{"9293:P-SYNRCVD-ACK",
             "SYN-RECEIVED with ACK not in (SND.UNA, SND.NXT] -> RST with SEQ=SEG.ACK"},
    Sentence{"9293:P-SYNRCVD-EST",
             "Step 5 SYN-RECEIVED: SND.UNA < SEG.ACK =< SND.NXT enters ESTABLISHED and goes on; "
             "SND.WND=SEG.WND, SND.WL1=SEG.SEQ, SND.WL2=SEG.ACK"},
    Sentence{"9293:P-SYNSENT-ACK",
             "SYN-SENT step 1: SEG.ACK =< ISS or > SND.NXT gets <SEQ=SEG.ACK><CTL=RST> (no reply "
             "if RST is set); segment dropped"},
    Sentence{"9293:P-SYNSENT-EST",
             "SYN-SENT: if SND.UNA > ISS after the SYN, enter ESTABLISHED and send "
             "<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>"},
    Sentence{"9293:P-SYNSENT-OTHER",
             "SYN-SENT step 5: a segment with neither SYN nor RST is dropped"},
    Sentence{"9293:P-SYNSENT-RST",
             "SYN-SENT step 2: RST with acceptable ACK: user told connection reset, segment "
             "dropped, TCB deleted, CLOSED"},
    Sentence{"9293:P-SYNSENT-RST-NOACK",
             "SYN-SENT step 2: RST without ACK is dropped and the state stays"},
    Sentence{"9293:P-SYNSENT-SIM",
             "SYN-SENT: SYN without ACK of own SYN enters SYN-RECEIVED and sends "
             "<SEQ=ISS><ACK=RCV.NXT><CTL=SYN,ACK>"},
    Sentence{"9293:P-TEXT-ACK",
             "Step 7: accepted text is acknowledged with <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>"},
    Sentence{"9293:P-TEXT-DELIVER",
             "Step 7 ESTABLISHED, FIN-WAIT-1/2: text moves into RECEIVE buffers until either the "
             "segment is used up or no buffer space is left"},
    Sentence{"9293:P-TIMEWAIT-ACK",
             "Step 5 TIME-WAIT: a retransmitted FIN is acknowledged and the 2 MSL timer restarted"},
    Sentence{"9293:P-USER-TIMEOUT",
             "User timeout, any state: queues flushed, user and outstanding calls told of abort "
             "by user timeout, TCB deleted, CLOSED"},
    Sentence{"9293:P-WND-FIT",
             "Outgoing data is cut to the current send window; segments may be repackaged on "
             "retransmission"},
    Sentence{"9293:P-ZWP-REPLY",
             "A segment arriving at a zero receive window is answered by an ACK with RCV.NXT and "
             "window 0"},
    Sentence{"9293:SHLD-14", "Receiver does not move the right window edge left"},
    Sentence{"9293:SHLD-15",
             "While a shrunk window makes the usable window negative, no new data is sent"},
    Sentence{"9293:SHLD-26",
             "Hard errors (v4 Unreachable 2-4) abort the connection; code 4 feeds PMTUD where "
             "that is in use, and RFC 5461 notes stacks not aborting once synchronized"},
    Sentence{"9293:SHLD-29", "First zero-window probe after window was zero for an RTO"},
    Sentence{"9293:SHLD-3", "Half-duplex close with unread or later arriving data sends RST"},
    Sentence{"9293:SHLD-30", "Interval between zero-window probes grows exponentially"},
};

}  // namespace

std::string_view sentence_of(std::string_view clause) {
  auto const found = std::lower_bound(
      sentences.begin(), sentences.end(), clause,
      [](const Sentence& sentence, std::string_view wanted) { return sentence.clause < wanted; });
  return found != sentences.end() && found->clause == clause ? found->text : std::string_view{};
}

}  // namespace lockstep::conformance
