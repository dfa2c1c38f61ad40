// The interface between the application and TCP: ids, events, refusals, settings.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/memory/region.hpp"
#include "core/tcp/config.hpp"
#include "core/tcp/congestion/state.hpp"
#include "core/tcp/state.hpp"
#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/listed_enum.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"
#include "core/units/window.hpp"

namespace lockstep {

// Names a connection for its whole life. A stale id is refused; it never names another connection.
struct ConnectionId {
  std::uint32_t slot = 0xffff'ffff;
  std::uint32_t generation = 0;
  constexpr bool operator==(const ConnectionId&) const = default;
};

// Names a listener in the same way.
struct ListenerId {
  std::uint32_t slot = 0xffff'ffff;
  std::uint32_t generation = 0;
  constexpr bool operator==(const ListenerId&) const = default;
};

// Bytes of a bound region, lent until they are acknowledged.
struct Payload {
  RegionId region;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

// Whether more data follows at once: `no` pushes (RFC 9293 3.9.1.2), `yes` lets TCP wait for more.
// `record` pushes and `record_and_more` waits as well, and both end a record if the data is
// accepted whole: no segment, retransmissions included, ever has octets from both sides of that
// end, and the segment that ends there has PSH (MSG_EOR of Linux). The last segment of a record
// waits neither for later data nor for an ACK (Nagle). A record end occupies a block of the send
// buffer until it is acknowledged.
enum class More : std::uint8_t { no, yes, record, record_and_more };

constexpr bool pushes(More more) { return more == More::no || more == More::record; }
constexpr bool ends_record(More more) { return more >= More::record; }

// Why a call was refused: X(name, the reason). Quoted words are those of RFC 9293 3.9.1.
#define LOCKSTEP_REFUSALS(X)                                                             \
  X(none, "the call was carried out")                                                    \
  X(stale_id, "'connection does not exist'")                                             \
  X(closing, "'connection closing': our half is closed already")                         \
  X(no_room, "'insufficient resources': a pool or the send buffer is exhausted")         \
  X(exists, "'connection already exists': the four-tuple or the listener is in use")     \
  X(bad_remote, "'remote socket unspecified', or an address that no host has")           \
  X(bad_local, "the local address is not ours")                                          \
  X(no_route, "none of our addresses reaches the remote address")                        \
  X(ports_exhausted, "no free local port was found in the number of tries allowed")      \
  X(bad_argument, "a setting or a length is out of its range")                           \
  X(bad_region, "the region is not bound, or the bytes lie outside of it")               \
  X(quiet_time, "RFC 9293 3.4.2: no sequence number may be assigned so soon after boot") \
  X(not_urgent, "no data is queued that could be urgent")                                \
  X(bad_snapshot, "the bytes are not a snapshot of a stack with this configuration")     \
  X(switched_off, "the feature is off in the configuration of this stack")

enum class Refusal : std::uint8_t { LOCKSTEP_REFUSALS(LOCKSTEP_ENUMERATOR) };

inline constexpr std::uint32_t refusal_count = 0 LOCKSTEP_REFUSALS(LOCKSTEP_ONE_MORE);

// The name of the enumerator.
constexpr std::string_view name_of(Refusal refusal) {
  constexpr std::array<std::string_view, refusal_count> names{LOCKSTEP_REFUSALS(LOCKSTEP_NAME)};
  return names[static_cast<std::uint32_t>(refusal)];
}

// How much of a write was accepted. Less than all is normal, and no refusal.
struct Taken {
  Bytes bytes;
  Refusal refusal = Refusal::none;
};

// X(name, what happened and what the event's fields hold), in the order in which the pending events
// of one connection are reported.
#define LOCKSTEP_EVENT_KINDS(X)                                                            \
  X(accepted, "a listener's connection is ESTABLISHED")                                    \
  X(connected, "an active open is ESTABLISHED")                                            \
  X(received, "bytes: all that is readable now")                                           \
  X(acknowledged, "bytes: acknowledged since the last such event")                         \
  X(room, "a call was refused because a pool was exhausted; now it may succeed")           \
  X(urgent, "bytes: from the next unread byte to the end of the urgent data")              \
  X(peer_finished, "the peer closed its half; data that it sent before is still readable") \
  X(soft_error, "cause: why; the connection continues")                                    \
  X(closed, "cause: how the connection ended; the last event of this id")

//= rfc9293#3.9.1.8
//# 9293:MUST-47, 9293:P-REPORT-CONDS soft errors, excessive retransmission and urgent are reported
enum class EventKind : std::uint8_t { LOCKSTEP_EVENT_KINDS(LOCKSTEP_ENUMERATOR) };

inline constexpr std::uint32_t event_kind_count = 0 LOCKSTEP_EVENT_KINDS(LOCKSTEP_ONE_MORE);

// The name of the enumerator.
constexpr std::string_view name_of(EventKind kind) {
  constexpr std::array<std::string_view, event_kind_count> names{
      LOCKSTEP_EVENT_KINDS(LOCKSTEP_NAME)};
  return names[static_cast<std::uint32_t>(kind)];
}

// How a connection ended, or what went wrong before: X(name, when). "soft": the connection
// continues.
#define LOCKSTEP_CAUSES(X)                                                                  \
  X(none, "no cause")                                                                       \
  X(finished, "both halves were closed normally")                                           \
  X(refused, "a reset answered our SYN, or ICMP reported that nothing listens on the port") \
  X(reset, "the peer reset the connection")                                                 \
  X(aborted, "the application aborted it")                                                  \
  X(timed_out, "the user timeout, or R2, ran out")                                          \
  X(keepalive_timed_out, "too many keep-alive probes went unanswered")                      \
  X(protocol_unreachable, "hard: ICMP, the host has no TCP")                                \
  X(retransmitting, "soft: R1 retransmissions went unanswered")                             \
  X(network_unreachable, "soft: ICMP")                                                      \
  X(time_exceeded, "soft: ICMP")                                                            \
  X(parameter_problem, "soft: ICMP, or an ICMPv6 error of an unknown code")                 \
  X(no_neighbour, "soft: the next hop does not answer ARP")                                 \
  X(host_unreachable, "soft: ICMP, also that packets to it are filtered")                   \
  X(source_route_failed, "soft: ICMP")                                                      \
  X(prohibited, "ICMPv6, forbidden by a policy: hard if an administrator's, else soft")

//= rfc9293#3.6
//# 9293:MUST-12 a normal close is told apart from an abort
enum class Cause : std::uint8_t { LOCKSTEP_CAUSES(LOCKSTEP_ENUMERATOR) };

inline constexpr std::uint32_t cause_count = 0 LOCKSTEP_CAUSES(LOCKSTEP_ONE_MORE);

// The name of the enumerator.
constexpr std::string_view name_of(Cause cause) {
  constexpr std::array<std::string_view, cause_count> names{LOCKSTEP_CAUSES(LOCKSTEP_NAME)};
  return names[static_cast<std::uint32_t>(cause)];
}

// What happened to a connection or a listener; Stack::next_event() gives them in order.
struct Event {
  EventKind kind = EventKind::closed;
  Cause cause = Cause::none;
  ConnectionId id;
  ListenerId listener;  // of `accepted` only
  Bytes bytes;          // as EventKind says
  Instant heard_at;     // of `closed` only: when the last acceptable segment came
};

// The socket of a passive open. An unspecified address is any of ours. An unspecified remote
// accepts any peer, a specified one only that socket (RFC 9293 3.9.1.1).
struct Local {
  IpAddress address;
  Port port;
  Endpoint remote;
};

// How many connections may be in SYN-RECEIVED or wait for their `accepted` event, and how many may
// be reported as accepted before the application admits more with Stack::admit. With SYN cookies or
// the SYN cache as many more may be ESTABLISHED and wait to be reported.
struct Backlog {
  Count pending{128};
  Count admitted = Count::unlimited();
  // Fast Open (RFC 7413): how many connections whose SYN had data may be in SYN-RECEIVED. They are
  // reported as accepted there, and can be read and written. 0: off.
  //= rfc7413#4.2
  //# 7413:TFO-2 off unless the application turns it on
  //= rfc7413#6.1
  //# 7413:TFO-20 only for applications that tolerate the same data twice
  Count fast_open{0};
  // Settings of its connections from the SYN-ACK on, as the SettingKind of each name; mss 0: no
  // limit.
  Bytes mss{};
  Bytes receive_buffer{};  // zero: the configuration's
  std::uint8_t ttl = 0;    // 0: the configuration's. 255 on every segment: RFC 5082
  std::uint8_t dscp = 0;
};

// An active open. An unspecified local address is chosen by route, a zero local port drawn.
//= rfc9293#3.9.1.1
//# 9293:MUST-43 the local address is an optional parameter
struct Open {
  Endpoint local;
  Endpoint remote;
  std::uint8_t dscp = 0;  // 0 to 63
  Duration user_timeout;  // zero: the configuration's
  // Fast Open: data that is written before the SYN leaves, in the same turn, may leave with it.
  //= rfc7413#6.1
  //# 7413:TFO-20 only if the peer tolerates the same data twice
  bool fast_open = false;
};

// What can be changed during the life of a connection, each with its unit.
enum class SettingKind : std::uint8_t {
  nagle,              // 0 off, 1 on
  delayed_ack,        // 0 off, 1 on
  keepalive,          // 0 off, 1 on
  keepalive_idle_ms,  // 1 and up
  user_timeout_ms,    // R2 and the user timeout; 0: never
  dscp,               // 0 to 63
  ttl,                // 1 to 255
  receive_buffer,     // bytes, 1 and up; never moves the right edge back
  send_buffer,        // bytes, 1 and up
  soft_errors,        // 0: no soft_error events
  // Only with Config::accounts; else they are refused as switched_off.
  keepalive_interval_ms,  // between unanswered probes: 1 to a day
  keepalive_probes,       // 1 to 255
  // 64 to 65,495: the limit of our MSS option and of the data of a segment. On a connection that is
  // open it only lowers the limit: a larger value than the one in force has no effect.
  mss,
  congestion,  // a tcp::Congestion: which controller sets cwnd from now on
};

// Whether an application may limit the segments of a connection to so many octets.
constexpr bool may_limit_mss(std::uint64_t octets) { return octets >= 64 && octets <= 65'495; }

// A setting with the value that it gets, in the unit that SettingKind says.
struct Setting {
  SettingKind kind = SettingKind::nagle;
  std::uint64_t value = 0;
};

// Every variable of a connection, as RFC 9293 names them, for tests, traces and tools.
//= rfc9293#3.9.1.5
//# 9293:P-STATUS-DATA STATUS reports sockets, windows, state, unacked and pending bytes
struct ConnectionInfo {
  bool exists = false;    // false: the id is stale, and all other fields are meaningless
  bool detached = false;  // no more segments; unread data or events remain
  tcp::State state = tcp::State::closed;
  FourTuple tuple;
  bool passive = false;
  struct {
    Sequence una, nxt, wl1, wl2, iss, up;
    Bytes wnd, wnd_max, mss;
    Bytes queued;  // accepted from the application and not acknowledged
    bool urgent = false;
  } send;
  struct {
    Sequence nxt, irs, up, edge;
    Bytes wnd;
    Bytes unread;        // in order, not consumed
    Bytes out_of_order;  // above a gap
    bool urgent = false;
  } receive;
  struct {
    bool window_scale = false, timestamps = false;  // negotiated
    WindowScale send_scale, receive_scale;
    std::uint32_t ts_recent = 0;
    bool fast_open = false;  // data of a SYN, the peer's or ours, was accepted
  } options;
  Bytes cwnd, ssthresh;
  Sequence recover;
  bool fast_recovery = false;
  bool sack = false;  // both sides permitted it
  Bytes pipe;         // octets that count as being in the network
  Bytes sacked;
  Bytes lost;                // and not retransmitted yet
  Bytes retransmitted;       // retransmissions in flight
  std::uint32_t ranges = 0;  // on the scoreboard
  std::uint32_t duplicate_acks = 0;
  tcp::Congestion congestion = tcp::Congestion::reno;
  Bytes w_max, cwnd_prior;        // of CUBIC; zero: none yet
  std::uint32_t alpha = 0;        // of DCTCP: 65,536 is all marked
  std::uint64_t pacing_rate = 0;  // octets per second; 0: not paced
  tcp::RateSample rate;           // the last one, if Config has rate_samples or hystart
  struct {
    bool rx = false;    // CE that arrives is echoed
    bool tx = false;    // new data is ECT
    bool echo = false;  // ACKs carry ECE now
    bool cwr_due = false;
  } ecn;
  Duration srtt, rttvar, rto;
  // Of the last minutes, with RACK and data in flight; else of all time, with an account; else
  // zero.
  Duration least_rtt;
  std::uint32_t retries = 0;          // consecutive unanswered timeouts
  std::uint32_t persist_backoff = 0;  // consecutive zero-window probes
  Instant sent_at;                    // the last segment with data, SYN or FIN
  Instant heard_at;                   // the last acceptable segment
  Bytes largest_heard;                // the largest data of an arriving segment
  bool reordering_seen = false;       // RFC 8985's
  bool path_limited = false;          // send.mss is limited by the path, not by the link
  Instant retransmit_due = Instant::never();
  Instant persist_due = Instant::never();
  Instant delayed_ack_due = Instant::never();
  Instant time_wait_due = Instant::never();  // the end of TIME-WAIT
  std::uint8_t dscp = 0;
  std::uint8_t ttl = 0;
  Duration user_timeout;  // zero: never
  std::uint64_t segments_sent = 0;
  std::uint64_t segments_received = 0;
  std::uint64_t retransmissions = 0;
  // With Config::accounts, else all zero. Times that are running count up to now.
  struct {
    std::uint32_t data_segments_out = 0, data_segments_in = 0;  // segments with data
    std::uint32_t out_of_order_segments = 0;                    // queued above a gap
    std::uint32_t duplicates_told = 0;                          // D-SACK blocks of the peer
    Bytes overtaken;                          // the largest distance of reordered data
    std::uint64_t bytes_retrans = 0;          // data that was retransmitted
    std::uint64_t octets_marked = 0;          // acknowledged under ECE
    std::uint32_t timeouts = 0, repairs = 0;  // timeouts, and recoveries that they began
    Duration repairing;                       // in such recoveries
    Duration rwnd_limited;                    // limited by the peer's window alone
    Duration rcv_rtt;                         // the receiver's estimate of the RTT; zero: unknown
    Duration keepalive_interval;
    Count keepalive_probes{0};
    Bytes mss;  // the setting; zero: none
  } account;
};

}  // namespace lockstep
