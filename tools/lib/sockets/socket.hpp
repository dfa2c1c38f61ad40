// The records of a socket and of what epoll watches: no logic.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>

#include "core/stack/config.hpp"
#include "core/stack/event.hpp"

namespace lockstep::tools {

/// The place of a record in its pool.
using Place = std::uint32_t;
inline constexpr Place nowhere = 0xffff'ffff;

/// Where a socket stands in its life.
enum class Phase : std::uint8_t {
  free,
  unconnected,
  listening,
  armed,  // connect() was called with TCP_FASTOPEN_CONNECT: the SYN waits for text
  connecting,
  failed,  // to connect, and connect() has not been called since
  connected,
  over,  // it was connected
};

/// What setsockopt has set, to be applied to each connection of the socket.
struct Wishes {
  std::array<std::uint32_t, 14> values{};  // by SettingKind
  std::uint32_t set = 0;                   // one bit a SettingKind

  bool has(SettingKind kind) const { return (set >> static_cast<std::uint32_t>(kind) & 1) != 0; }
  std::uint32_t of(SettingKind kind) const { return values[static_cast<std::uint32_t>(kind)]; }
  void wish(Setting setting) {
    values[static_cast<std::uint32_t>(setting.kind)] = static_cast<std::uint32_t>(setting.value);
    set |= 1u << static_cast<std::uint32_t>(setting.kind);
  }
};

/// With a descriptor; or waiting to be accepted; or closing still, and known to nobody.
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
  bool connect_reported = false;  // connect() has said that it succeeded
  bool finish_owed = false;       // refused for want of room: again when there is some
  bool close_owed = false;
  bool no_space = false;      // a writer was refused, or poll has said that there is no room
  bool room_awaited = false;  // a pool is exhausted
  bool refused = false;       // a writer was, for want of room, and there is none yet
  bool fast_open_connect = false;
  bool deferred = false;  // accepted, but not to be told of before it has text
  bool named = false;     // bound, by bind() or listen()
  int descriptor = -1;
  int linger_seconds = 0;
  int error = 0;                    // an errno, for SO_ERROR or the next call
  int soft_error = 0;               // an errno, of ICMP: what a timeout will be blamed on ...
  std::uint32_t fast_open = 0;      // TCP_FASTOPEN
  std::uint32_t named_mss = 0;      // by our SYN
  std::uint32_t defer_seconds = 0;  // TCP_DEFER_ACCEPT
  Endpoint local;
  Endpoint remote;
  ConnectionId connection;  // while connecting or connected
  Wishes wishes;
  std::uint64_t written = 0;  // octets, of the whole life, as the next two
  std::uint64_t acknowledged = 0;
  std::uint64_t consumed = 0;
  std::uint64_t heard_at = 0;  // nanoseconds: when text came last
  Instant soft_error_at;       // ... unless the peer answers later than this
  Instant busy_since;          // while not all that was written is acknowledged
  Instant refused_since;       // while `refused`
  Duration busy_for;           // before that
  Duration refused_for;
  Instant deferred_until;         // while `deferred`
  std::uint32_t urgent_left = 0;  // unread octets up to and with the urgent one
  // A listener's.
  std::array<ListenerId, Config::addresses_max + 1> listeners{};
  std::uint32_t listener_count = 0;
  std::uint32_t backlog = 0;  // how many may wait in the queue
  std::uint32_t waiting = 0;
  std::uint32_t debt = 0;  // how many more may wait than `backlog` says
  Place first = nowhere;
  Place last = nowhere;
  // While waiting.
  Place next = nowhere;  // also of the free ones
  ListenerId from;
  // Of those that have a name, by a hash of the port.
  Place next_named = nowhere;
  Place first_item = nowhere;  // of the items that watch it
};

/// A socket that an epoll watches.
struct Item {
  Place epoll = nowhere;  // nowhere: free
  Place socket = nowhere;
  int descriptor = -1;
  std::uint32_t events = 0;
  std::uint64_t data = 0;
  bool listed = false;    // as perhaps ready
  bool spent = false;     // told once: not again until EPOLL_CTL_MOD
  Place next = nowhere;   // of the socket's items, or of the free ones
  Place after = nowhere;  // in the list of its epoll
  Place before = nowhere;
};

struct Epoll {
  bool open = false;
  Place first = nowhere;  // of the items that are perhaps ready
  Place last = nowhere;
  std::uint32_t listed = 0;
  std::uint32_t items = 0;
};

}  // namespace lockstep::tools
