// All state of TCP in one shard, as handles on the arena, and what every part of TCP needs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/internet/path_mtu.hpp"
#include "core/internet/replies.hpp"
#include "core/memory/arena.hpp"
#include "core/memory/list.hpp"
#include "core/memory/slots.hpp"
#include "core/memory/timer_wheel.hpp"
#include "core/tcp/account.hpp"
#include "core/tcp/config.hpp"
#include "core/tcp/connection.hpp"
#include "core/tcp/counters.hpp"
#include "core/tcp/demux.hpp"
#include "core/tcp/opening/half_open.hpp"
#include "core/tcp/opening/isn.hpp"
#include "core/units/drop.hpp"
#include "core/units/time.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep::tcp {

using memory::Index;
using memory::nil;

// The numbers of timers on the shared wheel: first those of connections, by their slots, then those
// of TIME-WAIT records, that of the SYN cache if there is one, and those of the layers below.
constexpr std::uint32_t time_wait_timers_from(const Config& config) {
  return config.connections_max.value;
}
constexpr std::uint32_t half_open_timer_of(const Config& config) {
  return config.connections_max.value + config.time_wait_max.value;
}
constexpr std::uint32_t lower_timers_from(const Config& config) {
  return half_open_timer_of(config) + (config.syn_cache_max.value == 0 ? 0 : 1);
}

// The kind of a listener: which addresses it names besides its port. The higher, the more specific.
inline constexpr std::uint32_t listener_names_remote = 2;
inline constexpr std::uint32_t listener_names_address = 1;
inline constexpr std::uint32_t listener_kinds = 4;

// The state of TCP that is neither a pool nor a table; in the arena.
struct EngineState {
  Instant now;
  Instant booted;   // the first instant that the caller gave, once `started`
  Instant arrived;  // of the segment being processed
  // After a stall of the driver: frames that it passes in between these two instants have waited in
  // its ring for an unknown time. See is_timed().
  Instant stalled_until;
  Instant stall_over;
  Instant challenge_second;
  std::uint32_t challenges_used = 0;
  Instant cookies_until;  // until then an ACK may answer a SYN cookie
  Instant spent_until;    // until then a cookie that has opened a connection is remembered
  std::uint64_t half_open_tries = 0;  // bit n: a SYN-ACK of the cache was retransmitted n times
  std::uint32_t ports_drawn = 0;
  bool started = false;
  bool draining =
      false;  // next_event() runs: events that calls raise are reported in the next turn
  // How many listeners there are of each listener_kind: kinds without any are not searched.
  std::array<std::uint32_t, listener_kinds> listeners_of_kind{};
  std::uint32_t gap_blocks = 0;  // of all connections: InFlightState::gap_blocks
  memory::ListHead ready;        // active parts with something to send, by `queue`
  memory::ListHead notify_now;   // connections with events for this turn, by `notify`
  memory::ListHead notify_next;  // connections with events for the next turn
  memory::ListHead time_waits;   // oldest first
  memory::ListHead gaps;         // active parts with data above gaps, by `gaps`, oldest gap first
  // Connections that wait for a resource and have no events, by `notify`, one list for each
  // resource.
  std::array<memory::ListHead, room_kinds> wanting{};
  // Connections in SYN-RECEIVED that were not reported to an application, by `notify`, oldest
  // first.
  memory::ListHead half_open_records;
  std::uint32_t refused = 0;  // how many connections wait for a resource, in these lists or not
  std::uint16_t loan_count = 0;
  // Of IPv6 router advertisements.
  std::uint8_t hop_limit6 = 0;  // 0: none was advertised
  Bytes mtu6;                   // of the link
  Bytes mtu4;                   // of the link, for IPv4
  bool mtu_differs = false;     // one of them is or was less than Config::mtu
  ControllerFault controller_fault;
};

// A driver that runs this much later than the next timer was due has stalled, and may need as long
// to empty its ring.
inline constexpr Duration stall_least = Duration::milliseconds(200);

// Whether the segment being processed arrived when its time says, so that it measures a round trip.
inline bool is_timed(const EngineState& s) {
  return s.arrived >= s.stall_over || s.arrived < s.stalled_until;
}

constexpr std::uint32_t listener_kind(const Local& local) {
  return (local.remote == Endpoint{} ? 0u : listener_names_remote) |
         (local.address.is_unspecified() ? 0u : listener_names_address);
}

// A region that the application has bound, with its table of prefix sums (or none).
struct Region {
  std::span<const std::byte> bytes;
  wire::ChecksumTable table;
};

// One arriving segment, checked by the lower layers.
struct InboundSegment {
  const wire::Segment& segment;
  const IpAddress& local;
  const IpAddress& remote;
  std::uint16_t local_address = 0;
  std::uint32_t hash = 0;  // of the four-tuple, by the table's key
  Mac from;                // the link address for replies without a connection
  Instant arrived;
  std::uint8_t ecn = 0;  // the ECN field of its packet
};

inline FourTuple tuple_of(const InboundSegment& arrival) {
  return {{arrival.local, arrival.segment.destination}, {arrival.remote, arrival.segment.source}};
}

// What the remotes of one keyed hash hold above gaps: see gaps.hpp.
struct GapUse {
  std::uint32_t blocks = 0;
  std::uint32_t ranges = 0;
};
inline constexpr std::uint32_t gap_uses = 256;

// Of the blocks for receiving: core/tcp/README.md, "Buffers".
struct ReceiveReserves {
  std::uint32_t first = 0;    // for the first block of each connection
  std::uint32_t readers = 0;  // for connections whose application has left nothing unread

  std::uint32_t all() const { return first + readers; }
};

// Handles and configuration, outside of the arena, for the life of the stack.
struct Engine {
  Config config;
  ReceiveReserves reserves;  // receive_reserves(config)
  bool mss_alone = false;    // names_mss_alone(config)
  KnownOffset ports;         // of the last connection whose port was drawn
  // Whose segment was processed last in this call of receive(), if nothing was wrong with it.
  Connection* latest = nullptr;
  Connection fresh;  // the initial value of every record: fresh_connection(config)
  EngineState* state = nullptr;
  Counters* counters = nullptr;
  DropCounters* drops = nullptr;
  std::span<const IpAddress> addresses;

  memory::Slots<Connection> connections;
  memory::View<Account> accounts;  // by the slots of connections; none unless Config::accounts
  memory::View<AddedState> added;  // the same; none unless Config names an added controller
  memory::Slots<InFlightState> actives;
  memory::Slots<TimeWait> time_waits;
  memory::Slots<HalfOpen> half_opens;               // the SYN cache
  memory::View<memory::ListHead> half_open_queues;  // by the retransmissions of their SYN-ACKs
  memory::View<UsedCookie> used_cookies;
  memory::Slots<Listener> listeners;
  memory::Slots<Extent> extents;
  memory::Slots<PendingAck> pending_acks;
  memory::Slots<TxStamp> marks;
  memory::Slots<Sent> sent;
  memory::View<SentStamp> stamps;  // by the slots of `sent`; none without `added`
  memory::View<std::array<wire::SackBlock, wire::sack_blocks_max>>
      reports;  // one for each pending ACK
  memory::BytePools pools;
  memory::View<FastOpenEntry> fast_open_cache;   // a client's
  memory::View<memory::ListHead> waiting_heads;  // one for each neighbour
  memory::View<GapUse> gap_uses;
  memory::TimerWheel wheel;
  Demux demux;
  internet::Replies replies;
  internet::PathMtus paths;

  std::span<Region> regions;
  std::span<Loan> loans;  // state->loan_count of them are valid

  Connection& connection(Index at) const { return connections[at]; }
  // The place of a record in its pool, which is also the number of its timer.
  Index slot_of(const Connection& c) const {
    return static_cast<Index>(&c - connections.view().data());
  }
  // The connection must have one.
  InFlightState& active(const Connection& c) const { return actives[c.active]; }

  Index half_open_timer() const { return half_open_timer_of(config); }
  Index time_wait_timer(Index record) const { return time_wait_timers_from(config) + record; }

  std::uint32_t hash_of(
      const HalfOpen& h) const;  // not stored in the record; core/tcp/opening/syn_cache.cpp
  // Takes an entry out of the table.
  void leave_table(std::uint32_t hash, TableEntry entry) {
    demux.remove(hash, entry, [this](TableEntry other) {
      if (other.kind == EntryKind::connection) {
        return connections[other.index].hash;
      }
      if (other.kind == EntryKind::half_open) {
        return hash_of(half_opens[other.index]);
      }
      return other.kind == EntryKind::time_wait
                 ? time_waits[other.index].hash
                 : Demux::listener_hash(listeners[other.index].local);
    });
  }

  memory::List<InFlightState, &InFlightState::queue> ready() const {
    return {state->ready, actives.view()};
  }
  memory::List<InFlightState, &InFlightState::gaps> gaps() const {
    return {state->gaps, actives.view()};
  }
  memory::List<Connection, &Connection::notify> notify_now() const {
    return {state->notify_now, connections.view()};
  }
  memory::List<Connection, &Connection::notify> notify_next() const {
    return {state->notify_next, connections.view()};
  }
  memory::List<Connection, &Connection::notify> wanting(Resource kind) const {
    return {state->wanting[static_cast<std::uint32_t>(kind) - 1], connections.view()};
  }
  memory::List<Connection, &Connection::notify> held(Listener& listener) const {
    return {listener.held, connections.view()};
  }
  memory::List<Connection, &Connection::notify> half_open_records() const {
    return {state->half_open_records, connections.view()};
  }
  // Active parts of connections that wait for a next hop to be resolved.
  memory::List<InFlightState, &InFlightState::queue> waiting(Index neighbour) const {
    return {waiting_heads[neighbour], actives.view()};
  }
  // Those that were retransmitted `tries` times, the next one due first.
  memory::List<HalfOpen, &HalfOpen::order> half_open_queue(std::uint8_t tries) const {
    return {half_open_queues[tries], half_opens.view()};
  }
  memory::List<TimeWait, &TimeWait::order> time_wait_order() const {
    return {state->time_waits, time_waits.view()};
  }

  //= rfc4861#6.3.4
  //# 4861:ND-39 a router's hop limit has precedence over the configured one
  std::uint8_t ttl_to(IpAddress remote) const {
    return remote.is_v4() || state->hop_limit6 == 0 ? config.ttl : state->hop_limit6;
  }
  // The largest data that the link carries to `remote`, without options.
  Bytes link_mss(IpAddress remote) const {
    //= rfc8200#8.3
    //# 8200:V6-27 the packet's size less 60
    if (remote.is_v4()) {
      return state->mtu4 - Bytes{40};
    }
    //= rfc8200#5
    //# 8200:V6-29 without path MTU discovery no packet has more than 1280 octets
    return least(state->mtu6, Bytes{config.path_mtu_discovery ? 0xffffu : 1280u}) - Bytes{60};
  }
  // The MSS option of a SYN to `remote`: not more than the link can deliver.
  Bytes mss_to(IpAddress remote) const {
    return least(config.mss, state->mtu4 - Bytes{remote.is_v4() ? 40u : 60u});
  }

  IpAddress local_of(const Connection& c) const { return addresses[c.local_address]; }
  FourTuple tuple_of(const Connection& c) const {
    return {{local_of(c), c.local_port}, {c.remote, c.remote_port}};
  }
  FourTuple tuple_of(const HalfOpen& h) const {
    return {{addresses[h.local_address], h.local_port}, {h.remote, h.remote_port}};
  }
};

}  // namespace lockstep::tcp
