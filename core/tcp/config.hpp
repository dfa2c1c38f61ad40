// Every constant of TCP that an RFC leaves open or that a deployment may change.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/hash.hpp"
#include "core/units/listed_enum.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"
#include "core/wire/tcp_options.hpp"

namespace lockstep::tcp {

// RST and SYN in a synchronized state: the rules of RFC 793, or RFC 5961's challenge ACKs, or those
// for one of the two alone.
enum class ResetPolicy : std::uint8_t { rfc793, rfc5961, rfc5961_syn, rfc5961_reset };
// Whether a reset inside the window, but not at RCV.NXT, draws a challenge ACK.
constexpr bool challenges_resets(ResetPolicy policy) {
  return policy == ResetPolicy::rfc5961 || policy == ResetPolicy::rfc5961_reset;
}
// Whether a SYN in a synchronized state draws a challenge ACK.
constexpr bool challenges_syns(ResetPolicy policy) {
  return policy == ResetPolicy::rfc5961 || policy == ResetPolicy::rfc5961_syn;
}

// Which controller sets cwnd: core/tcp/congestion/README.md.
#define LOCKSTEP_CONGESTIONS(X)         \
  X(reno, "NewReno, RFC 5681 and 6582") \
  X(cubic, "RFC 9438")                  \
  X(dctcp, "RFC 8257: needs marks of the path")
enum class Congestion : std::uint8_t { LOCKSTEP_CONGESTIONS(LOCKSTEP_ENUMERATOR) };
inline constexpr std::uint32_t congestion_count = 0 LOCKSTEP_CONGESTIONS(LOCKSTEP_ONE_MORE);
inline constexpr std::array<std::string_view, congestion_count> congestion_names{
    LOCKSTEP_CONGESTIONS(LOCKSTEP_NAME)};

#define LOCKSTEP_ECN_POLICIES(X)                \
  X(off, "ECN (RFC 3168) is never used")        \
  X(accept, "it is used if the peer offers it") \
  X(on, "each SYN of ours offers it, too")
enum class EcnPolicy : std::uint8_t { LOCKSTEP_ECN_POLICIES(LOCKSTEP_ENUMERATOR) };
inline constexpr std::uint32_t ecn_policy_count = 0 LOCKSTEP_ECN_POLICIES(LOCKSTEP_ONE_MORE);
inline constexpr std::array<std::string_view, ecn_policy_count> ecn_policy_names{
    LOCKSTEP_ECN_POLICIES(LOCKSTEP_NAME)};

// RFC 5681's three steps, or RFC 6928's ten segments.
enum class InitialWindow : std::uint8_t { rfc5681, rfc6928 };

// What follows a fast retransmit without SACK.
enum class FastRecovery : std::uint8_t {
  newreno,  // RFC 6582: until all that was in flight is acknowledged
  reno,     // RFC 2581, as of 1990: until the first ACK of new data
  tahoe,    // none, as of 1988: slow start from the first segment that is not acknowledged
};

// When a listener answers a SYN with a cookie instead of a record (RFC 4987 3.6).
enum class SynCookies : std::uint8_t {
  off,
  on,      // once the backlog, or a pool, is full
  always,  // to every SYN: no half-open connection ever has a record
};

// TCP's part of a stack's configuration. core/stack/config_fields.hpp has the range of each field,
// core/stack/README.md the reason for each default.
struct Config {
  // Pools: all memory that TCP will ever use.
  Count connections_max{1024};
  Count active_max{1024};  // connections with something queued, in flight or unread
  Count time_wait_max{4096};
  Count listeners_max{64};
  Count blocks_max{4096};
  Bytes block_bytes{2048};  // a power of two
  Count pieces_max{8192};
  Count extents_max{4096};  // out-of-order ranges of all connections
  Count extents_per_connection{512};
  Count owed_max{4096};  // pending ACKs

  Count sent_max{16384};  // ranges of data in flight, of all scoreboards
  Count sent_per_connection{1024};

  Bytes receive_buffer{65535};
  Bytes send_buffer{131072};
  Count reserve_blocks{16};  // least number kept for connections that hold no block
  // How far the buffers of a connection may grow by themselves while its peer, or its application,
  // fills them. Not more than the sizes above: they do not grow.
  Bytes receive_buffer_max{1 << 20};
  Bytes send_buffer_max{1 << 20};
  Bytes mss{1460};  // what we advertise: MTU less 40

  // Whether each connection has an account (core/tcp/account.hpp): the counts of TCP_INFO that the
  // record does not have, and settings for one connection alone. Counting changes no frame.
  bool accounts = false;

  bool nagle = true;
  bool nagle_minshall = true;  // only a small segment in flight holds back another (RFC 9293 A.3)
  bool delayed_acks = true;
  Duration delayed_ack = Duration::milliseconds(40);
  // How many segments one delayed ACK may answer: RFC 5681 4.2 requires 2, receive offloads merge
  // more (RFC 9293 3.8.6.3). As a sender in slow start counts ACKs (RFC 5681 3.1), it is 2 until
  // ack_stretch_after octets have arrived in order, without a gap or a pause.
  Count ack_stretch_segments{8};
  Bytes ack_stretch_after{131072};
  // Whether any second segment gets its ACK at once, also one that is not full (RFC 1122 4.2.3.2
  // permits it; FreeBSD's frames show it).
  bool ack_each_second = false;
  // How many ACKs leave at once when data begins to arrive, after a pause of an RTO and after a
  // copy of old data; then, and once this side answers within the pauses of the peer, ACKs are
  // delayed: Linux's quick ACKs (tcp(7), TCP_QUICKACK), as its frames show them. 0: off.
  Count quick_acks{0};
  // Each ACK advertises the whole free space, without waiting for a full segment more (RFC 9293
  // 3.8.6.2.2 is kept for a window that is nearly closed), as FreeBSD's frames show it ...
  bool window_each_ack = false;
  // ... and the receive buffer of a connection is rounded up to full segments, as FreeBSD's
  // getsockopt(SO_RCVBUF) shows it.
  bool receive_buffer_rounded = false;
  // SO_RCVBUF and SO_SNDBUF return twice what was set, within Linux's limits (socket(7)).
  bool buffers_doubled = false;
  // A write on a socket without a connection gives EPIPE and connect() on a listener EISCONN, as
  // Linux's calls return; else ENOTCONN and EOPNOTSUPP (POSIX; send(2) and connect(2) list both). A
  // reset of an active open in SYN-RECEIVED is reported as reset, else as refused.
  bool errors_like_linux = false;
  // The last urgent octet is not in the stream of the sockets: a read skips it, recv(MSG_OOB) gives
  // it, and poll reports it once it is there, unless SO_OOBINLINE is set, as in Linux (tcp(7)).
  // Else all urgent data is in the stream (RFC 6093 6).
  bool urgent_apart = false;
  // Without SACK tcpi_ca_state stays in Recovery or Loss until an octet above `recover` is
  // acknowledged, as Linux's tcp_info shows. It changes nothing that is sent.
  bool recovery_held = false;
  Duration sws_override = Duration::milliseconds(200);
  Count quantum_segments{8};

  Duration rto_initial = Duration::seconds(1);
  Duration rto_min = Duration::milliseconds(200);
  Duration rto_max = Duration::seconds(120);
  Duration rto_after_syn_loss = Duration::seconds(3);
  Duration rto_granularity = Duration::milliseconds(1);
  // The RTO is SRTT + max(rto_min, 4 RTTVAR), as Linux's frames and tcpi_rto show it: rto_min is
  // the least that is added, not the least RTO.
  bool rto_min_added = false;
  // The first timeouts of a SYN, of an active open, that do not double the RTO (Linux's
  // ip-sysctl: tcp_syn_linear_timeouts).
  Count syn_linear_timeouts{0};
  // From this retransmission on a SYN has no option but its MSS, as with FreeBSD's tcp(4),
  // rexmit_drop_options. An answer with others is one to an earlier SYN; a peer that has the later
  // SYN, too, may not agree to them any more. 0: never.
  Count syn_plain_from{0};
  Count r1_retransmissions{3};
  Duration user_timeout = Duration::seconds(300);  // R2; zero: never
  // R2, if the application has set no user timeout, ends a connection only when its retransmission
  // timer expires next, as Linux's frames show.
  bool give_up_at_timer = false;
  // A user timeout of the application counts from the first probe of a zero window also while the
  // peer answers the probes, as Linux's TCP_USER_TIMEOUT does (tcp(7)).
  bool user_timeout_while_answered = false;
  // RFC 5482: the advertised value (zero: user_timeout), and the limits of an adopted one.
  bool user_timeout_option = false;
  Duration user_timeout_advertised;
  Duration user_timeout_least = Duration::seconds(100);
  Duration user_timeout_most = Duration::seconds(3600);
  // Timers of retransmissions, probes, keep-alive, delayed ACKs, reordering (RACK) and of a user
  // timeout fire at the next of steps of 1 ms, from 63 ms on of up to an eighth of the delay, as
  // those of Linux with HZ=1000 do.
  bool timer_steps = false;
  Duration syn_timeout = Duration::seconds(180);  // R2 of a SYN
  // The SYN-ACK of a simultaneous open gets an ACK, as each SYN of a synchronized connection does;
  // else it is taken as Figure 7 of RFC 9293 shows, without a further segment.
  bool simultaneous_answered = false;
  Duration syn_received_timeout{};  // R2 of a SYN-ACK; 0: as syn_timeout
  Duration persist_max = Duration::seconds(60);
  // The interval to the next probe of a closed window begins with the answer to the last, as
  // Linux's frames show it, not with that probe.
  bool probe_from_answer = false;
  // A closed window is probed by an octet that was not acknowledged (RFC 9293 3.8.6.1); without it
  // by an empty segment before SND.UNA, as Linux's frames show it.
  bool window_probe_data = true;

  bool keepalive = false;
  bool keepalive_garbage = false;
  Duration keepalive_idle = Duration::seconds(7200);
  Duration keepalive_interval = Duration::seconds(75);
  Count keepalive_probes{9};

  //= rfc9293#3.4.2
  //# 9293:P-MSL two minutes, unless configured otherwise (profile rfc has them)
  Duration msl = Duration::seconds(30);
  Duration fin_wait_2 = Duration::seconds(60);
  // After close() a connection whose peer keeps its window closed ends after this time, with Cause
  // timed_out, although the peer answers the probes; zero: never. While the application has the
  // connection open it stays, as RFC 9293 3.8.6.1 demands; RFC 6429 permits to end it.
  Duration orphan_timeout = Duration::seconds(300);
  // ... and in any case once it was probed at the longest interval, without a reset, as Linux's
  // frames show.
  bool orphan_until_persist_max = false;
  Duration quiet_time;
  bool time_wait_ignores_reset = true;
  bool time_wait_reuse = true;

  Congestion congestion = Congestion::cubic;
  bool hystart = true;  // HyStart++ (RFC 9406), with reno and cubic
  EcnPolicy ecn = EcnPolicy::accept;
  // So many retransmissions of a SYN still ask for ECN (RFC 3168 6.1.1.1 permits it), as FreeBSD's
  // tcp(4), ecn.maxretries.
  Count ecn_syn_retries{0};
  bool pacing = false;
  Count pacing_start{200};                              // percent of cwnd / RTT in slow start ...
  Count pacing_gain{120};                               // ... and after it
  Duration pacing_quantum = Duration::milliseconds(1);  // the length of a burst, as time
  bool rate_samples = false;                            // for observers, with any controller
  Count marks_max{4096};  // segments in flight with a rate mark, of all connections
  InitialWindow initial_window = InitialWindow::rfc6928;
  FastRecovery fast_recovery = FastRecovery::newreno;
  // By how many segments one ACK increases cwnd in slow start, at most (L of RFC 3465): a receiver
  // may acknowledge several segments with one ACK. One while lost data is outstanding.
  Count slow_start_segments{8};
  // In slow start cwnd grows only while it is less than twice the largest flight of the round, as
  // Linux's tcpi_snd_cwnd shows it; without it, up to twice.
  bool slow_start_below_twice = false;
  Count duplicate_acks{3};
  // Without SACK no more duplicates count than segments are in flight beyond the first, as Linux's
  // frames show it.
  bool duplicates_in_flight = false;
  bool limited_transmit = true;
  bool restart_after_idle = true;

  // Selective acknowledgment and the loss recovery that is built on it.
  bool sack = true;                     // RFC 2018, 2883 and 6675: offered, accepted and used
  bool dsack = true;                    // RFC 2883: duplicates are reported; requires `sack`
  bool dsack_before_reordering = true;  // one widens RACK's window though no reordering was seen
  bool prr = true;                      // RFC 9937 in recoveries by SACK, in place of a halved cwnd
  bool prr_rfc6937 = false;             // as in RFC 6937, with the bound of slow start ...
  bool prr_conservative = false;        // ... or with that of conservative reduction
  bool rack = true;                     // RFC 8985: losses by time; requires `sack`
  bool tail_probe = true;               // its tail loss probe; requires `rack`
  Duration tail_probe_ack_delay = Duration::milliseconds(200);
  Duration least_rtt_window =
      Duration::seconds(10);       // its least RTT is of the last one or two such
  bool frto = true;                // RFC 5682: new data shows whether a timeout was spurious
  bool undo = true;                // after a spurious loss cwnd is restored
  bool undo_by_timestamps = true;  // also if an echo shows it (Eifel: RFC 3522, 4015)

  ResetPolicy reset_policy = ResetPolicy::rfc5961;
  // A segment with SYN and FIN is dropped, as with FreeBSD's tcp(4), drop_synfin.
  bool syn_fin_dropped = false;
  // Which segments to a port that nobody listens on get no reset, as with FreeBSD's blackhole(4): 0
  // none, 1 SYNs, 2 all.
  Count closed_silent{0};
  // The reset that ends a connection carries an ACK and a window, as Linux's frames show it ...
  bool reset_acknowledges = false;
  // ... and one without a connection answers a timestamp with one (RFC 7323 5.2), as Linux's do
  // not.
  bool reset_stamps = true;
  // Data and FIN of a SYN or SYN-ACK are kept (RFC 9293 3.10.7.2), not only those that a Fast Open
  // cookie permits; Linux drops them, and the peer sends them again.
  bool syn_data = true;
  Count challenges_per_second{1000};
  // A keyed hash varies the limit of each second, from half to one and a half of that number.
  bool challenge_jitter = true;
  Count challenges_per_connection{10};  // in a second; beyond 255 there is no limit
  Count empty_answers_per_second{100};  // of a connection, to empty segments out of its window
  // In place of both limits of a connection: the least time from one such ACK to the next, as
  // Linux's frames show it (ip-sysctl, tcp_invalid_ratelimit). 0: off.
  Duration answer_interval{};
  // In ESTABLISHED a segment that acknowledges what was never sent draws an ACK (RFC 9293
  // 3.10.7.4); Linux drops it in silence.
  bool unsent_answered = true;
  // After an unacceptable ACK in SYN-SENT, and the reset that it draws, the SYN is sent again so
  // soon, as Linux's frames show it; 0: when its timer expires.
  Duration syn_after_bad_ack{};

  // In SYN-SENT soft ICMP errors end the connection, too, as those of Linux do.
  bool soft_errors_end_open = false;
  // An ACK with a wrong SYN cookie draws a reset, as in Linux; without it, nothing.
  bool bad_cookie_reset = false;
  // Options in front of a malformed one count, and one of a wrong length for its kind is skipped,
  // as Linux's frames show it; without it the segment is dropped (RFC 9293 MUST-7).
  bool options_lenient = false;
  wire::OptionOrder option_order = wire::OptionOrder::like_linux;  // of a SYN's options
  SynCookies syn_cookies = SynCookies::on;
  // RFC 4987 3.5: half-open connections beyond syn_cache_after percent of a listener's backlog go
  // into the SYN cache, which has small records. syn_cache_max 0: off.
  Count syn_cache_max{1024};
  Count syn_cache_after{50};

  // RFC 7323. The shift is window_shift, or the smallest one with which the window can advertise
  // the whole receive buffer at its maximum.
  bool window_scale = true;
  bool window_shift_automatic = true;
  std::uint8_t window_shift = 0;
  bool timestamps = true;
  bool timestamps_required = true;  // segments without them are dropped if they were negotiated
  Count timestamps_behind{0};       // a timestamp older than TS.Recent by so many ticks is accepted
  Duration timestamp_tick = Duration::milliseconds(1);

  // RFC 7413. A listener must also enable it by its Backlog, a client by its Open.
  bool fast_open_server = false;
  bool fast_open_client = false;
  // The data of a SYN ends a push, as other data does; in a SYN of Linux's or FreeBSD's frames PSH
  // is not set.
  bool push_syn_data = true;
  // A server whose SYN-ACK has no valid cookie is not asked again for fast_open_retry, as FreeBSD's
  // frames show it (tcp(4), fastopen.path_disable_time).
  bool fast_open_needs_cookie = false;
  // The last segment of a burst of new data has PSH, not only the last of a push, as Linux's frames
  // show it: a burst is what leaves within about a millisecond, and at most half of cwnd.
  bool push_bursts = false;
  // A window update leaves only if it at least doubles the window, as Linux's frames show it.
  bool window_update_doubles = false;
  // A cookie is SipHash-2-4 of both addresses as they are on the wire, under fast_open_key alone,
  // and does not expire: Linux's frames with a known key show it (ip-sysctl: tcp_fastopen_key).
  bool fast_open_by_addresses = false;
  Count fast_open_cache_max{64};  // servers whose cookies are kept
  Duration fast_open_rotation =
      Duration::seconds(3600);                         // a cookie is valid for one to two of these
  Duration fast_open_retry = Duration::seconds(3600);  // after it failed with a server

  Port port_first{49152};
  Port port_last{65535};
  Count port_tries{16384};  // all of these

  // Use packet-too-big messages (RFC 1191, 8201). Without it IPv6 packets have 1280 octets at most.
  bool path_mtu_discovery = true;
  // A segment has at most half of the largest window that the peer has offered since the handshake,
  // or all of it if that is 536 octets or less, as Linux's frames show it.
  bool segment_half_window = false;
  // Of a segment that neither acknowledges nor carries anything new a window smaller than the last
  // one is ignored unless it is 0, as tcpi_snd_wnd of Linux shows it.
  bool window_smaller_ignored = false;
  // While data is in flight a window that shrank to zero is not probed: the first segment is
  // retransmitted into it, as Linux's frames show it.
  bool shrunk_retransmitted = false;
  // The smallest segments, TCP options included, that a peer's MSS option or a router's message may
  // cause: smaller ones would be mostly headers (CVE-2019-11479).
  Bytes mss_least{48};
  Bytes path_mtu_least{552};  // of IPv4; IPv6 has 1280
  // RFC 4821, in addition: repeated timeouts may mean that large packets are lost. Packets of
  // path_mtu_low octets follow, and then probes of larger ones. Nothing is probed before.
  bool path_mtu_probing = true;
  Bytes path_mtu_low{1024};
  // ... and at least so long after the oldest data in flight was sent, as Linux's frames show it.
  Duration path_mtu_stalled{};
  // A router's message without an MTU means the next plateau below the packet (RFC 1191 7); without
  // this, path_mtu_least.
  bool path_mtu_plateaus = true;
  // Data that was too large for the path is sent again by slow start (RFC 1191 6.4); without this
  // within the same cwnd, as Linux's frames show it.
  bool path_mtu_slow_start = true;

  std::uint8_t ttl = 64;

  // This stack is one of `shards` behind the same addresses, and has the flows for which shard_of
  // is `shard`: segments of others are dropped, and connect draws ports whose flows are its own.
  Count shards{1};
  Count shard{0};

  // Drawn by the caller (draw_keys), of 128 bits each, and constant for the life of a stack. There
  // is no default: no stack is made while one of them is zero.
  HashKey table_key;
  //= rfc6528#3
  //# 6528:ISN-4 the secret has 128 bits
  //= rfc6056#3.4
  //# 6056:PORT-6 so has the key of the ports
  HashKey isn_key;
  HashKey port_key;
  HashKey fast_open_key;
  HashKey timestamp_key;
  Sequence isn_base;  // added to every initial sequence number
};

}  // namespace lockstep::tcp
