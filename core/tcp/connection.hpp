// The records of connections, of their active parts, of TIME-WAIT and of listeners: no logic.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/memory/byte_store.hpp"
#include "core/memory/list.hpp"
#include "core/tcp/congestion/state.hpp"
#include "core/tcp/interface.hpp"
#include "core/units/address.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"
#include "core/units/window.hpp"
#include "core/wire/tcp_options.hpp"

namespace lockstep::tcp {

// In place of the index of a Loan.
inline constexpr std::uint16_t no_loan = 0xffff;

// What the single retransmission timer of a connection is running for.
enum class RetransmitMode : std::uint8_t {
  idle,
  retransmit,
  persist,
  sws_override,
  reordering,  // RACK: segments that may be reordered become lost
  loss_probe,  // a tail loss probe is due; the timeout itself at InFlightState::timeout_due
};

// F-RTO, after a timeout: it waits for the ACK of the retransmission, then for one of new data.
enum class TimeoutWatch : std::uint8_t { off, first, news };

// [begin, end) of a stream.
struct Range {
  Sequence begin;
  Sequence end;
};

// What may still show that a loss was spurious. Mostly all off.
struct SpuriousState {
  TimeoutWatch watch = TimeoutWatch::off;
  bool undo_armed = false;  // by D-SACK: the peer received all retransmissions as duplicates
  bool echo_armed = false;  // by timestamps: the next ACK of new data echoes the first transmission
  bool rto_suspect = false;  // a timeout was spurious: the estimate needs a sample of new data

  bool doubtful() const { return std::bit_cast<std::uint32_t>(*this) != 0; }
};

// The times of the oldest octet in flight, with which Eifel compares an echo, while `echo_armed`.
struct EchoWatch {
  Instant first_at;  // its first transmission; later than that unless `exact`
  Instant retransmitted_at =
      Instant::never();  // RetransmitTS: its retransmission; never: there was none yet
  bool exact = false;
  bool timeout = false;  // a timeout began the recovery
};

// The round-trip estimate from before a timeout, and SND.NXT of that time.
struct RttBefore {
  std::uint64_t srtt8_ns = 0;    // SRTT_prev, as in RttVariables
  std::uint64_t rttvar4_ns = 0;  // RTTVAR_prev
  Sequence sent;                 // SND.NXT
};

// Which queue of those that wait to send holds the connection, at most one.
enum class SendPlace : std::uint8_t { none, ready, waiting };

// Which list holds the connection by its `notify` link, at most one: up to `held` those of
// connections with events; from `wanting` on those of connections without: they wait for a
// resource, or are half open.
enum class TellPlace : std::uint8_t { none, now, next, held, wanting, half_open };

// The resource for lack of which a call was refused, and which the application waits for.
enum class Resource : std::uint8_t { none, active, block, piece };
inline constexpr std::uint32_t room_kinds = 3;

// The sending half of RFC 9293's TCB, by its names.
//= rfc9293#3.8
//# 9293:P-VARS-ADVANCE SND.NXT moves by what is sent, SND.UNA by what is acknowledged
struct SendVariables {
  Sequence una;  // oldest unacknowledged
  Sequence nxt;  // next to send for the first time; una at or before nxt
  Sequence wl1;  // SEG.SEQ of the last window update
  Sequence wl2;  // SEG.ACK of the last window update
  Sequence iss;
  Bytes wnd;      // the window that the peer advertises
  Bytes wnd_max;  // the largest one so far
};

// The receiving half. The advertised window is edge - nxt, so only the edge is ever moved.
//= rfc9293#3.8.6
//# 9293:SHLD-14 the right edge never moves left
struct ReceiveVariables {
  Sequence nxt;
  Sequence irs;
  Sequence edge;  // right edge: RCV.NXT + RCV.WND as last advertised
  Sequence read;  // next octet that the application has not consumed
};

// Options that both SYNs had, one bit each.
namespace negotiated {
inline constexpr std::uint8_t window_scale = 1;
inline constexpr std::uint8_t timestamps = 2;
// Not negotiated, but of the same lifetime:
inline constexpr std::uint8_t duplicates = 4;   // the peer has sent a D-SACK
inline constexpr std::uint8_t early_taken = 8;  // data of our SYN was acknowledged with it
inline constexpr std::uint8_t fast_open = 16;   // data of the peer's SYN was accepted with it
inline constexpr std::uint8_t user_timeout_fixed = 32;    // set by the application: not CHANGEABLE
inline constexpr std::uint8_t user_timeout_adopted = 64;  // it follows the peer's option
inline constexpr std::uint8_t user_timeout_due =
    128;  // our option is to be sent as soon as it fits
}  // namespace negotiated

// The negotiated options, and what they need even while the connection is idle.
struct OptionVariables {
  std::uint32_t ts_recent = 0;  // TS.Recent: the timestamp to echo, with which PAWS compares
  std::uint32_t ts_offset = 0;  // ours is the stack's timestamp clock plus this
  std::uint8_t negotiated = 0;
  WindowScale send_scale;     // Snd.Wind.Shift
  WindowScale receive_scale;  // Rcv.Wind.Shift

  bool has(std::uint8_t options) const { return (negotiated & options) != 0; }
  void set(std::uint8_t options) { negotiated = static_cast<std::uint8_t>(negotiated | options); }
  void clear(std::uint8_t options) {
    negotiated = static_cast<std::uint8_t>(negotiated & ~options);
  }
};

struct CongestionVariables {
  Bytes cwnd;
  Bytes ssthresh;
  Bytes acked;       // acknowledged since the last step of congestion avoidance
  Sequence recover;  // highest sequence number sent when the last loss was found
  std::uint8_t duplicates = 0;
  bool recovering = false;         // in fast recovery
  bool partial_seen = false;       // the first partial ACK of this recovery has arrived
  std::uint8_t reorder_steps = 0;  // RACK.reo_wnd_mult - 1
  // What the controller keeps while the connection is idle; its own file defines it.
  std::array<std::uint32_t, 2> kept{};
};

// Explicit congestion notification (RFC 3168), of this connection and this incarnation only.
//= rfc3168#6.1.1
//# 3168:ECN-32 what was negotiated ends with the record
struct EcnVariables {
  bool offered : 1 = false;  // a SYN or SYN-ACK of ours was an ECN-setup one
  bool plain : 1 = false;    // one of our SYNs was not
  bool rx : 1 = false;       // negotiated: CE that arrives is echoed
  bool tx : 1 = false;       // new data leaves as ECT(0), and echoes are answered
  bool echo : 1 = false;     // ACKs carry ECE
  bool cwr_due : 1 = false;  // the next new data carries CWR
};

// Numbers of 48 bits, three days in nanoseconds: Config limits the timeout to one day, and a sample
// counts as one hour at most.
class RttVariables {
 public:
  std::uint64_t srtt8_ns() const { return read(srtt8); }      // 8 * SRTT
  std::uint64_t rttvar4_ns() const { return read(rttvar4); }  // 4 * RTTVAR
  Duration rto() const { return {read(timeout)}; }
  bool sampled() const { return (octets_[flags_at] & was_sampled) != 0; }
  // No RTT was measured since the last tail loss probe.
  bool probe_unsampled() const { return (octets_[flags_at] & was_probed) != 0; }

  void set_srtt8_ns(std::uint64_t ns) { write(srtt8, ns); }
  void set_rttvar4_ns(std::uint64_t ns) { write(rttvar4, ns); }
  void set_rto(Duration rto) { write(timeout, rto.ns); }
  void set_sampled() {
    octets_[flags_at] = static_cast<std::uint8_t>((octets_[flags_at] & ~was_probed) | was_sampled);
  }
  void note_probe() { octets_[flags_at] |= was_probed; }

  // For tune_receive_buffer(): the round trip that the peer's echoes of our timestamps show,
  // rounded down to a power of two; 0: not measured, or not longer than a tick.
  std::uint64_t echoed_us() const {
    std::uint32_t const log = octets_[flags_at] >> echoed_at;
    return log == 0 ? 0 : std::uint64_t{1} << log;
  }
  // The next segment that fits is to be measured for it.
  bool echo_wanted() const { return (octets_[flags_at] & wants_echo) != 0; }
  void want_echo() { octets_[flags_at] |= wants_echo; }
  void set_echoed_us(std::uint64_t us) {
    auto const log =
        us < 2 ? 0u : std::min(static_cast<std::uint32_t>(std::bit_width(us)) - 1, 31u);
    octets_[flags_at] = static_cast<std::uint8_t>((octets_[flags_at] & (was_sampled | was_probed)) |
                                                  log << echoed_at);
  }
  std::uint8_t flags() const { return octets_[flags_at]; }

 private:
  static constexpr std::uint32_t size = 6;
  static constexpr std::uint32_t srtt8 = 0;
  static constexpr std::uint32_t rttvar4 = size;
  static constexpr std::uint32_t timeout = 2 * size;
  static constexpr std::uint32_t flags_at = 3 * size;
  static constexpr std::uint8_t was_sampled = 1;
  static constexpr std::uint8_t was_probed = 2;
  static constexpr std::uint8_t wants_echo = 4;
  static constexpr std::uint32_t echoed_at = 3;
  static_assert(std::endian::native == std::endian::little ||
                std::endian::native == std::endian::big);

  // Loads eight octets, two of which do not belong to the number: those behind it, or for the last
  // number those before it.
  std::uint64_t read(std::uint32_t at) const {
    std::uint64_t word = 0;
    bool const before = at == timeout;
    std::memcpy(&word, octets_ + (before ? at - 2 : at), sizeof word);
    bool const above = before == (std::endian::native == std::endian::little);
    return above ? word >> 16 : word & ((std::uint64_t{1} << 48) - 1);
  }
  void write(std::uint32_t at, std::uint64_t number) {
    std::uint64_t const word = std::endian::native == std::endian::big ? number << 16 : number;
    std::memcpy(octets_ + at, &word, size);
  }

  std::uint8_t octets_[19]{};  // the three numbers; three flags and five bits for echoed_us
};

// The listener whose backlog holds a connection. Without initializers: gcc 12 permits none in a
// union.
struct BacklogPlace {
  std::uint32_t listener;  // slot
  std::uint32_t generation;
};

// Of a connection that was reported to the application.
struct WritingVariables {
  Bytes send_buffer;
  Bytes acknowledged_untold;  // acknowledged since the last such event
};

static_assert(cause_count <= 16, "Connection::cause has four bits");

// Exists for the whole life of a connection, idle or not. Its slot is its index in the pool, and
// the number of its timer; see Engine::slot_of.
struct Connection {
  IpAddress remote;
  Port remote_port;
  Port local_port;
  std::uint16_t local_address = 0;  // index of our addresses
  State state = State::closed;
  std::uint8_t retries = 0;  // consecutive unanswered timeouts

  std::uint32_t generation = 0;  // odd while the record is in use
  std::uint32_t hash = 0;        // of the four-tuple, by the table's key
  memory::Index active = memory::nil;
  static memory::Index& next_free(Connection& c) { return c.active; }  // of a record not in use

  // `backlog` of a passive connection until `accepted` is reported (while accepted_unreported),
  // then `writing`. Always `writing` of an active one.
  union {
    BacklogPlace backlog;
    WritingVariables writing{};
  };

  SendVariables send;
  ReceiveVariables receive;
  OptionVariables options;
  CongestionVariables congestion;
  RttVariables rtt;
  TellPlace telling : 3 = TellPlace::none;
  std::uint8_t path_until : 5 = 0;  // while `path_limited`: see path.hpp

  std::uint32_t user_timeout_ms = 0;  // 0: never
  Instant sent_at;                    // last segment with data, SYN or FIN
  Instant heard_at;                   // last acceptable segment
  std::uint32_t keepalive_idle_ms = 0;
  Bytes receive_buffer;
  // Octets in order since the last gap or pause, which saturate; with Config's quick_acks the
  // variables of ack_pace.cpp.
  std::uint32_t ack_pace = 0;
  Sequence tuned_from;         // since tuned_us the application has read from here on
  std::uint32_t tuned_us = 0;  // microseconds; wraps
  std::uint32_t segments_sent = 0;
  std::uint32_t segments_received = 0;
  std::uint32_t retransmissions = 0;
  memory::Link notify;
  std::uint16_t mss = 536;     // largest data that we may send in a segment
  std::uint16_t mss_max = 0;   // as `mss`, if the path had no limit; 0 before the peer's SYN
  std::uint16_t rcv_mss = 0;   // largest data received in a segment: "full-sized"
  std::uint16_t pending = 0;   // mask of EventKind to report in this turn
  std::uint16_t deferred = 0;  // mask of EventKind to report in the next turn
  // Answers to unacceptable segments, in the second of that number. The numbers repeat after 18
  // hours: at worst an old count suppresses a few answers for one second. With Config's
  // answer_interval both hold the millisecond of the last answer: see challenge.cpp.
  std::uint16_t answers = 0;  // to empty segments
  std::uint16_t answers_second = 0;
  std::uint8_t challenges = 0;  // 255: or more

  std::uint8_t dscp = 0;
  std::uint8_t ttl = 64;
  std::uint8_t keepalive_probes = 0;  // unanswered
  EcnVariables ecn;
  Cause cause : 4 = Cause::none;       // of the coming `closed`
  Cause soft_cause : 4 = Cause::none;  // of the coming `soft_error`
  Resource wants : 2 = Resource::none;
  std::uint8_t reorder_persist : 5 = 0;  // RACK: recoveries until reorder_steps is 0 again
  // Opening.
  bool passive : 1 = false;              // by a listener
  bool accepted_unreported : 1 = false;  // `accepted` is not reported: counted in the backlog
  bool syn_lost : 1 = false;             // our SYN was retransmitted
  // Settings of the application, or Config's.
  bool nagle : 1 = true;
  bool delayed_acks : 1 = true;
  bool keepalive : 1 = false;
  bool soft_errors : 1 = true;          // soft_error events are reported
  bool receive_buffer_set : 1 = false;  // by the application: it does not grow by itself
  bool send_buffer_set : 1 = false;
  // Closing.
  bool detached : 1 = false;    // no more segments: only unread data and events remain
  bool fin_queued : 1 = false;  // finish() or close() was called
  bool fin_sent : 1 = false;
  bool fin_taken : 1 = false;     // the peer's FIN lies before RCV.NXT
  bool reading_over : 1 = false;  // close() was called: data draws a reset
  // Urgent data: up to InFlightState::send_up, and up to InFlightState::receive_up.
  bool send_urgent : 1 = false;
  bool receive_urgent : 1 = false;
  // The path.
  bool path_limited : 1 = false;    // `mss` is what the path carries, at least until path_until
  bool doubt_next_hop : 1 = false;  // R1 was reached: the neighbour may be gone
  // Loss detection and recovery. The last two keep the active part's while the connection is idle.
  bool sack : 1 = false;             // both sides permitted it
  bool reordering_seen : 1 = false;  // RFC 8985's, never cleared
  bool probe_doubtful : 1 = false;   // the last tail loss probe may have arrived twice
  bool rto_suspect : 1 = false;      // InFlightState::rto_suspect; `rtt` has RttBefore's values
  // Timer and queue.
  bool slow : 1 = false;                  // the slow timer runs: see slow_due()
  SendPlace place : 2 = SendPlace::none;  // not `none` only with an active part
};

static_assert(sizeof(Connection) <= 232, "an idle connection takes 256 bytes in all");

// FastOpened of RFC 7413: data of the peer's SYN was delivered, and is acknowledged with the SYN.
inline bool opened_fast(const Connection& c) { return c.options.has(negotiated::fast_open); }

// What is in flight, in ranges: see scoreboard.hpp.
struct ScoreboardState {
  memory::ListHead order;               // by sequence number
  memory::ListHead age;                 // with RACK: ranges in flight, by their last transmission
  memory::Index highest = memory::nil;  // the highest range that is SACKed
  memory::Index search = memory::nil;   // no range below it waits for retransmission; nil: unknown
  std::uint32_t runs = 0;               // how many ranges are SACKed
  Bytes sacked;
  Bytes pipe;
  Bytes lost_not_retransmitted;
  Sequence edge;  // all below it is lost or SACKed, while `has_edge`
  bool has_edge = false;
  Sequence fack;  // with RACK: the highest octet that was acknowledged or SACKed
};

// RFC 8985's variables while data is in flight.
struct RackState {
  Instant
      sent_at;  // RACK.xmit_ts and end_seq, of the most recently sent segment that was delivered,
  Sequence end;
  bool delivered = false;  // if any was
  bool in_round = false;   // a D-SACK arrived in the round that ends at `round`
  Sequence round;
  Duration rtt;
  Duration least_now;  // the least RTT of this window of time, and of the one before; 0: none
  Duration least_before;
  Instant least_since;
  Instant responded_at;  // when cwnd was last reduced for a loss
};

// The tail loss probe.
struct TailProbe {
  Sequence end;         // TLP.end_seq, while `out`
  bool wanted = false;  // it is to be sent
  bool out = false;
  bool retransmitted = false;  // TLP.is_retrans
};

// A probe of the path MTU (RFC 4821): the data [begin, end) in one large segment.
struct PathProbe {
  Sequence begin;
  Sequence end;
  std::uint16_t size = 0;   // of its packet; 0: none is out
  bool suppressed = false;  // it alone was lost: the recovery does not reduce cwnd
  Bytes ssthresh;           // as it was, while `suppressed`
};

// Retransmitted data as up to four ranges. If there are more, the last is the hull of the others.
struct Retransmitted {
  std::array<Range, 4> ranges{};
  std::uint32_t count = 0;
};

// What is to be sent next besides data and the ACKs that have records.
struct PendingControl {
  bool ack_now = false;  // an ACK of all data that arrived in order
  bool window_update = false;
  bool probe = false;  // a zero-window probe
  bool keepalive_probe = false;

  bool any() const { return std::bit_cast<std::uint32_t>(*this) != 0; }
};

// The active part of a connection. It exists only while data is in flight, queued or unread, an ACK
// is pending, urgent data is announced and not read, a D-SACK is awaited, or the connection is in a
// queue to send.
struct InFlightState : PendingControl, SpuriousState {
  memory::Index owner = memory::nil;  // slot of its connection
  memory::Link queue;                 // of the ready list or of a neighbour's waiting list
  memory::Index waiting_for = 0;      // neighbour, while place is waiting
  memory::SendStore send;             // begins at the first unacknowledged octet of data
  memory::ReceiveStore receive;  // unread octets that are not in frames on loan; those above gaps
  memory::Index extents = memory::nil;      // out-of-order ranges, in order
  memory::Index extent_last = memory::nil;  // the highest of them, while there are any
  std::uint32_t extent_count = 0;
  std::uint32_t gap_blocks = 0;  // taken for data above gaps; 0 without extents
  memory::Link gaps;             // of the active parts with data above gaps, oldest gap first
  Instant gap_since;             // when the gap at RCV.NXT began, with extents
  memory::Index pending_ack_first = memory::nil;
  memory::Index pending_ack_last = memory::nil;
  std::uint32_t pending_ack_duplicates = 0;  // how many of the pending ACKs are duplicate ACKs
  std::uint32_t pending_ack_cut = 0;         // how many have to leave alone, for a change of ECE
  std::uint32_t promised = 0;                // blocks for loans: memory::Blocks::promise
  std::uint16_t loan_first = no_loan;        // frames on loan with in-order data, this turn only
  std::uint16_t loan_last = no_loan;
  std::uint16_t loan_read = no_loan;  // the loan that was read last: where to look first

  Sequence pushed;           // end of the data that was pushed
  Sequence small_end;        // of the last segment sent that was not full; at least SND.UNA
  Sequence retransmit_next;  // [next, end) is to be retransmitted
  Sequence retransmit_end;
  Sequence timed;  // an ACK after this octet gives an RTT sample, while `timing`
  Instant timed_at;
  Instant unacked_since;  // all data in flight was sent at this instant or later
  Instant retransmit_due = Instant::never();
  Instant delayed_ack_due = Instant::never();
  Instant give_up_due = Instant::never();
  Instant slow_due = Instant::never();  // see slow_due(); without an active part the wheel has it
  Sequence last_ack_sent;               // Last.ACK.sent; without an active part it is RCV.NXT
  Sequence early_end;                   // see `early`
  Sequence fin_at;                      // where the peer's FIN lies, while `fin_known`
  Sequence send_up;     // SND.UP: the octet after the urgent data, while `send_urgent`
  Sequence receive_up;  // RCV.UP, while `receive_urgent`
  Bytes limited;        // sent by limited transmit: not counted in the flight size
  memory::Index reused_time_wait = memory::nil;  // the TIME-WAIT record that the SYN reopened
  std::uint16_t user_timeout_heard = 0;          // on the peer's SYN, as on the wire; 0: none
  Bytes delayed;                                 // in-order octets since the last ACK
  Sequence delayed_begin;                        // the first of them

  BacklogPlace fast_open_by{};    // while `fast_open_counted`
  Sequence pending_sequence;      // of the segment that was too big, while pending_mtu is not 0
  std::uint16_t pending_mtu = 0;  // of an ICMP error; used only if no ACK of that segment arrives

  RetransmitMode mode = RetransmitMode::idle;
  std::uint8_t persist_backoff = 0;
  std::uint8_t delayed_segments = 0;
  bool timing = false;
  bool fast_open_wanted = false;   // our SYN may request a cookie, or send one with data
  bool fast_open_used = false;     // it did
  bool early = false;              // data before `early_end` left with our SYN, before any window
  bool fast_open_answer = false;   // the SYN-ACK has a cookie
  bool fast_open_counted = false;  // against the limit of fast_open_by, until ESTABLISHED
  std::uint8_t quantum = 0;        // frames sent in this round
  std::uint8_t burst_left = 0;     // segments up to the next PSH, with Config's push_bursts
  bool override = false;           // the SWS override timer has fired
  bool fin_known = false;

  Sequence reduced_to;  // SND.NXT when cwnd was last reduced: ECE up to it is ignored
  Instant pace_at;      // new data leaves at this instant or later
  Instant pace_due = Instant::never();  // the timer for that, and for undo_until
  ControllerState controller;
  Marks marks;
  RateSample sample;  // the last valid one
  // Selective acknowledgments to the peer.
  std::uint32_t extent_stamp = 0;  // arrivals above gaps
  Sequence duplicate_begin;        // octets that arrived twice, while `has_duplicate`
  Sequence duplicate_end;
  bool has_duplicate = false;

  // Loss recovery by SACK.
  ScoreboardState board;
  Sequence rescue;   // RescueRxt: no rescue before SND.UNA is beyond it
  Bytes prr_flight;  // RecoverFS
  Bytes prr_delivered;
  Bytes prr_out;
  RackState rack;
  TailProbe tail;
  Instant timeout_due;  // of the retransmission timer, in RetransmitMode::loss_probe
  PathProbe path_probe;
  // The state from before the last reduction of cwnd, which is restored if the loss was spurious.
  Bytes undo_cwnd;
  Bytes undo_ssthresh;
  Sequence undo_reduced_to;
  Bytes undo_octets;    // retransmitted since, and not reported by a D-SACK
  Sequence undo_mark;   // SND.UNA of that time
  Instant undo_until;   // while nothing is in flight, reports are awaited until then
  Retransmitted again;  // what was retransmitted since
  Sequence watch_end;   // F-RTO: the end of the retransmission, then SND.NXT
  EchoWatch echo;
  RttBefore rtt_before;
  bool after_timeout = false;  // not all data that a timeout found lost is acknowledged
};

// One ACK that is to be sent.
//= rfc5681#4.2
//# 5681:CC-28 at most one ACK for each arriving segment: a record answers one segment or several
struct PendingAck {
  enum class Kind : std::uint8_t { cumulative, duplicate };
  Sequence ack;
  Sequence edge;   // the right edge when the record was made
  Sequence begin;  // of the segment that it answers
  Sequence end;
  memory::Index next = memory::nil;
  std::uint16_t segments = 0;  // how many it answers
  Kind kind = Kind::cumulative;
  bool echo = false;              // it carries ECE
  bool cut = false;               // ECE changes behind it: it must leave as a pure ACK
  std::uint8_t report_count = 0;  // of its SACK blocks: Engine::reports
  bool report_duplicate = false;  // the first of them is a duplicate's
};

// A range of sent data, [begin, end), all in the same state.
struct Sent {
  Sequence begin;
  Sequence end;
  Instant sent_at;  // its last transmission; with RACK only
  memory::Link order;
  memory::Link age;
  bool sacked = false;
  bool lost = false;
  bool retransmitted = false;  // a retransmission of it is in flight
  bool ever = false;           // it was retransmitted at least once
};

// A range of octets received above a gap: [begin, end).
struct Extent {
  Sequence begin;
  Sequence end;
  memory::Index next = memory::nil;
  std::uint32_t stamp = 0;  // its last growth, counted in arrivals above gaps
};

// In-order data that still lies in a frame lent by the driver.
struct Loan {
  const std::byte* bytes = nullptr;
  Sequence begin;
  Bytes length;
  std::uint32_t slot = memory::nil;
  std::uint32_t generation = 0;
  std::uint16_t next = no_loan;
};

// A SYN cookie that has opened a connection: its ACK, if it arrives again, opens none.
struct UsedCookie {
  Instant until;           // it is valid until then; in the past: the entry is free
  std::uint32_t mark = 0;  // a part of the keyed hash of its tuple
  Sequence cookie;
  bool begun_anew = false;  // a later SYN of the tuple was answered with a cookie, too
};

// The record of TIME-WAIT.
struct TimeWait {
  IpAddress remote;
  Port remote_port;
  Port local_port;
  std::uint16_t local_address = 0;
  std::uint8_t ttl = 64;
  std::uint8_t dscp = 0;
  OptionVariables options;
  bool suspended = false;       // not in the table: a new SYN has reopened the connection
  std::uint8_t challenges = 0;  // as of a connection
  std::uint16_t answers = 0;
  std::uint16_t answers_second = 0;
  std::uint32_t hash = 0;  // of the four-tuple, by the table's key
  Sequence send_nxt;
  Sequence receive_nxt;  // after the peer's FIN
  Bytes receive_wnd;
  Instant due;         // its timer on the wheel: Engine::time_wait_timer
  memory::Link order;  // oldest first, for eviction
};

// What a client remembers of a server for Fast Open. Free while `local` is unspecified.
//= rfc7413#4.1.3
//# 7413:TFO-5 the latest cookie of a client and server address pair
//# 7413:TFO-6 and the server's MSS
struct FastOpenEntry {
  IpAddress local;
  IpAddress remote;
  std::array<std::uint8_t, wire::cookie_bytes_max> cookie{};
  std::uint8_t cookie_bytes = 0;
  std::uint16_t mss = 0;  // 0: not known
  Port bad_port;          // Fast Open failed at this port:
  Instant bad_until;      // it is not tried there until then
};

struct Listener {
  Local local;
  std::uint32_t generation = 0;
  std::uint32_t pending_max = 0;
  std::uint32_t pending = 0;             // SYN-RECEIVED, or ESTABLISHED and not yet reported
  std::uint32_t complete = 0;            // of these, the ESTABLISHED ones
  std::uint32_t records_max = 0;         // limit of the others, before SYNs go into the SYN cache
  std::uint32_t half_open = 0;           // in the SYN cache
  std::uint32_t admitted = 0;            // how many `accepted` events may still be reported
  std::uint32_t fast_open_max = 0;       // 0: Fast Open is off
  std::uint32_t fast_open_pending = 0;   // in SYN-RECEIVED, with data accepted from the SYN
  std::uint32_t fast_open_resets = 0;    // ended by resets: they count as pending
  Instant fast_open_resets_until;        // until then
  std::uint16_t local_address = 0xffff;  // index, or any
  std::uint16_t mss = 0;                 // Account::mss of what it opens
  std::uint8_t ttl = 0;                  // 0: the stack's
  std::uint8_t dscp = 0;
  Bytes receive_buffer;  // zero: the stack's
  bool open = false;
  memory::ListHead held;  // ESTABLISHED connections that wait to be admitted, by `notify`
};

// Whether no handshake can complete: the backlog is full of connections that were not yet reported.
inline bool accept_queue_full(const Listener& listener) {
  return listener.complete >= listener.pending_max;
}

}  // namespace lockstep::tcp
