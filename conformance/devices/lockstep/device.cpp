// Our own stack as a device.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/devices/device.h"
#include "core/stack/turn.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/calls/calls.hpp"
#include "tools/lib/calls/configure.hpp"

namespace {

using namespace lockstep;  // its names only: everything here is local to this file

constexpr std::int64_t unsupported = LOCKSTEP_DEVICE_UNSUPPORTED;
constexpr std::int64_t refused = LOCKSTEP_DEVICE_REFUSED;
constexpr std::int64_t again = LOCKSTEP_DEVICE_AGAIN;
constexpr std::int64_t gone = LOCKSTEP_DEVICE_GONE;

constexpr std::uint32_t turns_max = 100'000;  // until nothing more happens at an instant

/// One cache line of the stack's memory.
struct Line {
  alignas(64) std::array<std::byte, 64> bytes;
};

/// The driver of turn(): what arrived, and what was sent.
struct Link {
  Instant now() const { return clock; }
  std::span<const Ingress> receive() { return arrived; }
  std::span<std::byte> claim() { return sending ? std::span(room) : std::span<std::byte>{}; }
  void commit(const Egress& egress) {
    sent.emplace_back(room.begin(), room.begin() + egress.length);
  }
  void reclaim() { arrived = {}; }
  void flush() {}

  Instant clock;
  std::vector<std::byte> room;
  std::span<const Ingress> arrived;
  std::deque<std::vector<std::byte>> sent;
  bool sending = false;
};

using Key = std::pair<std::uint32_t, std::uint32_t>;

Key key_of(ConnectionId id) { return {id.slot, id.generation}; }
Key key_of(ListenerId id) { return {id.slot, id.generation}; }

/// The application of turn(): events and connections to accept.
struct Program {
  void on_event(Stack&, const Event& event) {
    std::string& told = events[key_of(event.id)];
    told += told.empty() ? "" : " ";
    told += name_of(event.kind);
    if (event.kind == EventKind::closed || event.kind == EventKind::soft_error) {
      told += ':';
      told += name_of(event.cause);
    }
    if (event.kind == EventKind::accepted) {
      accepted[key_of(event.listener)].push_back(event.id);
    }
    if (event.kind == EventKind::peer_finished) {
      finished[key_of(event.id)] = true;
    }
  }
  void run(Stack&, Instant) {}

  std::map<Key, std::string> events;
  std::map<Key, std::deque<ConnectionId>> accepted;
  std::map<Key, bool> finished;
};

/// What a handle names.
struct Named {
  ConnectionId connection;
  ListenerId listener;
  bool listens = false;
};

Config config_of(const lockstep_device_setup& setup) {
  tools::python::StackSpec spec;
  spec.seed = setup.seed;
  spec.addresses = {setup.local};
  spec.mtu = setup.mtu;
  std::string_view lines = setup.options;
  while (!lines.empty()) {
    std::string_view const line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    std::size_t const sign = line.find('=');
    if (sign == std::string_view::npos) {
      throw tools::Failure(tools::ExitCode::bad_input,
                           "expected name=value, found " + std::string(line));
    }
    std::string const name(line.substr(0, sign));
    std::string const value(line.substr(sign + 1));
    if (name == "profile") {
      spec.profile = value;
    } else {
      spec.fields.emplace_back(name, tools::python::field_value(value));
    }
  }
  return tools::python::config_of(spec);
}

}  // namespace

struct lockstep_device {
  explicit lockstep_device(const lockstep_device_setup& setup)
      : config(config_of(setup)),
        remote(tools::python::address_of(setup.remote, "remote")),
        memory(Stack::arena_bytes(config) / sizeof(Line) + 1),
        stack(config, std::as_writable_bytes(std::span(memory))) {
    link.clock = Instant{setup.start};
    link.room.resize(config.mtu.count + 64);
    turn(stack, link, program);  // sets the stack's clock
  }

  Config config;
  IpAddress remote;
  std::vector<Line> memory;
  Stack stack;
  Link link;
  Program program;
  std::vector<Named> handles;  ///< by handle - 1
  bool touched = true;         ///< turns may send something
  std::string told;
};

namespace {

/// Runs turns until nothing more happens at this instant.
void settle(lockstep_device* d) {
  d->link.sending = true;
  for (std::uint32_t i = 0; i < turns_max && d->touched; ++i) {
    bool const idle = turn(d->stack, d->link, d->program) == Outcome::idle;
    d->touched = !idle || d->stack.wants_transmit();
  }
  d->link.sending = false;
}

Named* find(lockstep_device* d, std::int64_t handle) {
  bool const known = handle >= 1 && static_cast<std::uint64_t>(handle) <= d->handles.size();
  return known ? &d->handles[static_cast<std::size_t>(handle) - 1] : nullptr;
}

std::int64_t keep(lockstep_device* d, const Named& named) {
  d->handles.push_back(named);
  return static_cast<std::int64_t>(d->handles.size());
}

std::int64_t result_of(lockstep_device* d, Refusal refusal) {
  d->touched = true;
  return refusal == Refusal::none       ? 0
         : refusal == Refusal::no_room  ? again
         : refusal == Refusal::stale_id ? gone
                                        : refused;
}

lockstep_device* create(const lockstep_device_setup* setup, char* why, std::size_t room) {
  try {
    return new lockstep_device(*setup);
  } catch (const std::exception& error) {
    std::snprintf(why, room, "%s", error.what());
    return nullptr;
  }
}

void destroy(lockstep_device* d) { delete d; }

void advance(lockstep_device* d, std::uint64_t now) {
  d->link.clock = Instant{now};
  d->touched = true;
  settle(d);
}

std::uint64_t deadline(lockstep_device* d) {
  Instant const due = d->stack.deadline();
  return due.is_never() ? LOCKSTEP_DEVICE_NEVER : due.ns;
}

void packet_in(lockstep_device* d, const void* packet, std::size_t length) {
  Ingress const one{
      {static_cast<const std::byte*>(packet), length}, Checksum::unknown, d->link.clock};
  d->link.arrived = {&one, 1};
  turn(d->stack, d->link, d->program);
  d->touched = true;
}

std::size_t packet_out(lockstep_device* d, void* packet, std::size_t room) {
  settle(d);
  if (d->link.sent.empty()) {
    return 0;
  }
  std::vector<std::byte> const next = std::move(d->link.sent.front());
  d->link.sent.pop_front();
  std::memcpy(packet, next.data(), std::min(room, next.size()));
  return next.size();
}

std::int64_t listen(lockstep_device* d, std::uint16_t port, std::uint32_t backlog) {
  Local local;
  local.port = Port{port};
  Backlog allowed;
  allowed.pending = Count{backlog};
  Named named;
  named.listens = true;
  std::int64_t const result = result_of(d, d->stack.listen(local, allowed, named.listener));
  return result == 0 ? keep(d, named) : result;
}

std::int64_t unlisten(lockstep_device* d, std::int64_t handle) {
  Named const* const named = find(d, handle);
  if (named == nullptr || !named->listens) {
    return gone;
  }
  std::int64_t const result = result_of(d, d->stack.unlisten(named->listener));
  settle(d);
  return result;
}

std::int64_t accept(lockstep_device* d, std::int64_t handle) {
  settle(d);
  Named const* const named = find(d, handle);
  if (named == nullptr || !named->listens) {
    return gone;
  }
  auto& waiting = d->program.accepted[key_of(named->listener)];
  if (waiting.empty()) {
    return again;
  }
  Named next;
  next.connection = waiting.front();
  waiting.pop_front();
  return keep(d, next);
}

std::int64_t connect(lockstep_device* d, std::uint16_t local_port, std::uint16_t remote_port) {
  Open open;
  open.local = {d->config.addresses[0].address, Port{local_port}};
  open.remote = {d->remote, Port{remote_port}};
  Named named;
  std::int64_t const result = result_of(d, d->stack.connect(open, named.connection));
  return result == 0 ? keep(d, named) : result;
}

std::int64_t send(lockstep_device* d, std::int64_t handle, const void* data, std::size_t length) {
  Named const* const named = find(d, handle);
  if (named == nullptr) {
    return gone;
  }
  Taken const taken =
      d->stack.write(named->connection, {static_cast<const std::byte*>(data), length});
  std::int64_t const result = result_of(d, taken.refusal);
  return result == 0 ? taken.bytes.count : result;
}

std::int64_t receive(lockstep_device* d, std::int64_t handle, void* data, std::size_t room) {
  Named const* const named = find(d, handle);
  if (named == nullptr) {
    return gone;
  }
  if (!d->stack.inspect(named->connection).exists) {
    return d->program.finished[key_of(named->connection)] ? 0 : gone;
  }
  auto* const to = static_cast<std::byte*>(data);
  std::size_t done = 0;
  for (auto next = d->stack.readable(named->connection); !next.empty() && done < room;
       next = d->stack.readable(named->connection)) {
    std::size_t const taken = std::min(next.size(), room - done);
    std::copy_n(next.begin(), taken, to + done);
    done += taken;
    d->stack.consume(named->connection, Bytes{static_cast<std::uint32_t>(taken)});
  }
  d->touched = true;
  if (done == 0 && room != 0) {
    return d->program.finished[key_of(named->connection)] ? 0 : again;
  }
  return static_cast<std::int64_t>(done);
}

std::int64_t finish(lockstep_device* d, std::int64_t handle) {
  Named const* const named = find(d, handle);
  return named == nullptr ? gone : result_of(d, d->stack.finish(named->connection));
}

std::int64_t close(lockstep_device* d, std::int64_t handle) {
  Named const* const named = find(d, handle);
  return named == nullptr ? gone : result_of(d, d->stack.close(named->connection));
}

std::int64_t abort_connection(lockstep_device* d, std::int64_t handle) {
  Named const* const named = find(d, handle);
  if (named == nullptr || !d->stack.inspect(named->connection).exists) {
    return gone;
  }
  d->stack.abort(named->connection);
  d->touched = true;
  return 0;
}

std::int64_t urgent(lockstep_device* d, std::int64_t handle) {
  Named const* const named = find(d, handle);
  return named == nullptr ? gone : result_of(d, d->stack.urgent(named->connection));
}

std::int64_t set(lockstep_device* d, std::int64_t handle, const char* name, std::int64_t value) {
  Named const* const named = find(d, handle);
  if (named == nullptr) {
    return gone;
  }
  try {
    SettingKind const kind = tools::python::setting_named(name);
    return result_of(d, d->stack.set(named->connection, {kind, static_cast<std::uint64_t>(value)}));
  } catch (const tools::Failure&) {
    return unsupported;
  }
}

std::int64_t get(lockstep_device* d, std::int64_t handle, const char* name) {
  Named const* const named = find(d, handle);
  if (named == nullptr) {
    return gone;
  }
  ConnectionInfo const info = d->stack.inspect(named->connection);
  if (!info.exists) {
    return gone;
  }
  for (const auto& [known, value] : tools::python::variables_of(info)) {
    if (known == name) {
      return static_cast<std::int64_t>(value);
    }
  }
  return unsupported;
}

const char* state(lockstep_device* d, std::uint16_t local_port, std::uint16_t remote_port) {
  Endpoint const local{d->config.addresses[0].address, Port{local_port}};
  d->told = tcp::name_of(d->stack.state_of({local, {d->remote, Port{remote_port}}}));
  return d->told.c_str();
}

const char* events(lockstep_device* d, std::int64_t handle) {
  settle(d);
  Named const* const named = find(d, handle);
  d->told = named == nullptr ? "" : d->program.events[key_of(named->connection)];
  return d->told.c_str();
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const lockstep_device_calls* lockstep_device_entry(void) {
  static const lockstep_device_calls calls{LOCKSTEP_DEVICE_VERSION,
                                           "lockstep",
                                           "Lockstep",
                                           "ipv4 ipv6 deterministic renewable branches",
                                           1,
                                           0,
                                           create,
                                           destroy,
                                           advance,
                                           deadline,
                                           packet_in,
                                           packet_out,
                                           listen,
                                           unlisten,
                                           accept,
                                           connect,
                                           send,
                                           receive,
                                           finish,
                                           close,
                                           abort_connection,
                                           urgent,
                                           set,
                                           get,
                                           state,
                                           events,
                                           nullptr,
                                           nullptr};
  return &calls;
}
