// The records of a socket and of an epoll's watch list; data only, no logic.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>

#include "core/stack/config.hpp"
#include "core/stack/event.hpp"

namespace lockstep::tools {

/// The index of a record in its pool.
using Place = std::uint32_t;
inline constexpr Place nowhere = 0xffff'ffff;

/// The state of a socket.
enum class Phase : std::uint8_t {
  free,
  unconnected,
  listening,
  armed,  // connect() was called with TCP_FASTOPEN_CONNECT: the SYN waits for data
  connecting,
  failed,  // connect() failed, and has not been called since
  connected,
  over,  // it was connected and no longer is
};

/// Options set by setsockopt, applied to each connection of the socket.
struct PendingOptions {
  std::array<std::uint32_t, 14> values{};  // indexed by SettingKind
  std::uint32_t set = 0;                   // one bit for each SettingKind

  bool has(SettingKind kind) const { return (set >> static_cast<std::uint32_t>(kind) & 1) != 0; }
  std::uint32_t of(SettingKind kind) const { return values[static_cast<std::uint32_t>(kind)]; }
  void add(Setting setting) {
    values[static_cast<std::uint32_t>(setting.kind)] = static_cast<std::uint32_t>(setting.value);
    set |= 1u << static_cast<std::uint32_t>(setting.kind);
  }
};

/// A socket with a descriptor, or one waiting for accept(), or one still closing in the background.
struct Socket {
  Phase phase = Phase::free;
  bool v6 = false;
  bool v6_only = false;
  bool nonblocking = false;
  bool close_on_exec = false;
  bool reuse_address = false;
  bool cork = false;
  bool linger = false;
  bool shut_read = false;
  bool shut_write = false;
  bool peer_finished = false;
  bool reset_seen = false;        // the connection failed: both directions are shut
  bool connect_reported = false;  // connect() has returned 0 for it
  bool finish_pending = false;    // the FIN was refused for lack of room: retry when there is some
  bool close_pending = false;
  bool no_space = false;      // a write was refused, or poll has reported that there is no room
  bool room_awaited = false;  // a pool of the stack is exhausted
  bool refused = false;       // a write was refused for lack of room, and there is still none
  bool fast_open_connect = false;
  bool deferred = false;  // accepted, but not reported before data arrives (TCP_DEFER_ACCEPT)
  bool named = false;     // bound by bind() or listen()
  int descriptor = -1;
  int linger_seconds = 0;
  int error = 0;                    // an errno, for SO_ERROR or the next call
  int soft_error = 0;               // of the last ICMP error: replaces ETIMEDOUT ...
  std::uint32_t fast_open = 0;      // TCP_FASTOPEN
  std::uint32_t announced_mss = 0;  // the MSS that our SYN announced
  std::uint32_t defer_seconds = 0;  // TCP_DEFER_ACCEPT
  std::uint32_t notsent_low = 0;    // TCP_NOTSENT_LOWAT; 0: no limit
  std::uint32_t window_clamp = 0;   // TCP_WINDOW_CLAMP; 0: none
  int mtu_discover = -1;            // IP_MTU_DISCOVER; -1: as the stack is configured
  std::uint32_t chunk = 0;          // of the last write: octets of its last chunk (unsent.cpp)
  Endpoint local;
  Endpoint remote;
  ConnectionId connection;  // while connecting or connected
  PendingOptions pending_options;
  std::uint64_t written = 0;  // octets since the connection began, as the next two
  std::uint64_t acknowledged = 0;
  std::uint64_t consumed = 0;
  std::uint64_t data_at = 0;  // nanoseconds: when data last arrived
  Instant soft_error_at;      // ... unless a segment of the peer arrived after this
  Instant busy_since;         // since when written data is unacknowledged
  Instant refused_since;      // while `refused`
  Duration busy_for;          // total of the earlier busy periods
  Duration refused_for;
  Instant deferred_until;         // while `deferred`
  std::uint32_t urgent_left = 0;  // unread octets up to and including the urgent one
  bool urgent_inline = true;      // SO_OOBINLINE
  bool urgent_taken = false;      // recv(MSG_OOB) has read the urgent octet
  // Of a listener.
  std::array<ListenerId, Config::addresses_max + 1> listeners{};
  std::uint32_t listener_count = 0;
  std::uint32_t backlog = 0;  // how many connections may wait in the queue
  std::uint32_t waiting = 0;
  std::uint32_t surplus = 0;  // connections that must leave the queue before one more is admitted
  Place first = nowhere;
  Place last = nowhere;
  // While waiting for accept().
  Place next = nowhere;  // also links the free sockets
  ListenerId from;
  // Links the bound sockets whose ports hash to the same bucket.
  Place next_named = nowhere;
  Place first_item = nowhere;  // the first of the epoll items that watch it
};

/// A socket watched by an epoll.
struct Item {
  Place epoll = nowhere;  // nowhere: this item is free
  Place socket = nowhere;
  int descriptor = -1;
  std::uint32_t events = 0;
  std::uint64_t data = 0;
  bool listed = false;    // in the epoll's list of items that may be ready
  bool spent = false;     // EPOLLONESHOT has reported it: silent until EPOLL_CTL_MOD
  Place next = nowhere;   // links the socket's items, or the free ones
  Place after = nowhere;  // links the list of its epoll
  Place before = nowhere;
};

struct Epoll {
  bool open = false;
  Place first = nowhere;  // of the items that may be ready
  Place last = nowhere;
  std::uint32_t listed = 0;
  std::uint32_t items = 0;
};

}  // namespace lockstep::tools
