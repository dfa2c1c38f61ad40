// libslirp as a device. It ends the TCP connections of a guest, the tester, and opens host sockets
// in their place; the device is the program at the other ends of these. Both are in one process,
// which has a network namespace of its own.
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/devices/libslirp/network.hpp"

namespace {

using namespace lockstep::conformance::libslirp;

constexpr std::int64_t unsupported = LOCKSTEP_DEVICE_UNSUPPORTED;
constexpr std::int64_t refused = LOCKSTEP_DEVICE_REFUSED;
constexpr std::int64_t again = LOCKSTEP_DEVICE_AGAIN;
constexpr std::int64_t gone = LOCKSTEP_DEVICE_GONE;

void destroy(lockstep_device* d) {
  for (const Waiting& each : d->waiting) {
    close(each.descriptor);
  }
  for (const Socket& each : d->sockets) {
    if (each.descriptor >= 0) {
      close(each.descriptor);
    }
  }
  if (d->slirp != nullptr) {
    slirp_cleanup(d->slirp);
  }
  delete d;
}

lockstep_device* create(const lockstep_device_setup* setup, char* why, std::size_t room) {
  auto* const made = new lockstep_device;
  if (std::string const reason = make(made, *setup); !reason.empty()) {
    std::snprintf(why, room, "%s", reason.c_str());
    destroy(made);
    return nullptr;
  }
  return made;
}

// --- time and the wire ---

void advance(lockstep_device* d, std::uint64_t now) {
  d->now_ns = now;
  settle(d);
}

std::uint64_t deadline(lockstep_device* d) { return d->deadline_ns; }

void packet_in(lockstep_device* d, const void* packet, std::size_t length) {
  packet_to(d, packet, length);
}

std::size_t packet_out(lockstep_device* d, void* packet, std::size_t room) {
  if (d->sent.empty()) {
    return 0;
  }
  Octets const next = std::move(d->sent.front());
  d->sent.pop_front();
  std::memcpy(packet, next.data(), std::min(room, next.size()));
  return next.size();
}

// --- the program's calls ---

Socket* find(lockstep_device* d, std::int64_t handle) {
  bool const known = handle >= 1 && static_cast<std::uint64_t>(handle) <= d->sockets.size();
  Socket* const found = known ? &d->sockets[static_cast<std::size_t>(handle) - 1] : nullptr;
  return found == nullptr || found->descriptor < 0 ? nullptr : found;
}

std::int64_t keep(lockstep_device* d, int descriptor) {
  int const yes = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(descriptor, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof yes);
  d->sockets.push_back({.descriptor = descriptor});
  return static_cast<std::int64_t>(d->sockets.size());
}

/// Notes the error of a call, and returns what the device's call returns.
std::int64_t failed(Socket& socket) {
  if (errno == EAGAIN || errno == EINPROGRESS) {
    return again;
  }
  socket.error = errno;
  return gone;
}

/// A socket of the host on a port of its own address; below 0: it is refused.
int bound(lockstep_device* d, const Name& name) {
  int const made = roomy(socket(name.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  int const yes = 1;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (made >= 0 && bind(made, &name.any, d->name_bytes) != 0) {
    close(made);
    return -1;
  }
  return made;
}

std::int64_t listen_on(lockstep_device* d, std::uint16_t port, std::uint32_t backlog) {
  int const made = bound(d, loopback(d, port));
  // The kernel lets one more wait than it is told.
  if (made < 0 || listen(made, static_cast<int>(std::max(backlog, 1U)) - 1) != 0) {
    close(made);
    return refused;
  }
  std::int64_t const out = keep(d, made);
  d->sockets.back().listens_on = port;
  return out;
}

/// Whether the library still has a connection with this port at its end.
bool is_listed(lockstep_device* d, std::uint16_t port) {
  return std::ranges::any_of(connections(d), [port](const Listed& each) {
    return port_of(each.descriptor, false) == port;
  });
}

std::int64_t accept_next(lockstep_device* d, std::int64_t handle) {
  Socket* const listener = find(d, handle);
  if (listener == nullptr) {
    return gone;
  }
  for (int made = 0; (made = accept4(listener->descriptor, nullptr, nullptr,
                                     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
    d->waiting.push_back({handle, made, port_of(made, true)});
  }
  std::vector<Waiting> left;
  int next = -1;
  for (const Waiting& each : d->waiting) {
    if (each.listener != handle || next >= 0) {
      left.push_back(each);
    } else if (d->established.contains(each.port)) {
      next = each.descriptor;
    } else if (is_listed(d, each.port)) {
      left.push_back(each);
    } else {
      close(each.descriptor);  // it was reset before
    }
  }
  d->waiting = std::move(left);
  settle(d);
  return next < 0 ? again : keep(d, next);
}

/// The library shows a connection to a forwarded port as one from the device's address, and from
/// the same port.
std::int64_t connect_to(lockstep_device* d, std::uint16_t local_port, std::uint16_t remote_port) {
  Name from = loopback(d, local_port);
  if (!d->six) {
    from.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);  // beside a listener of that port
  }
  Name const forward = loopback(d, static_cast<std::uint16_t>(forward_first + d->forwarded.size()));
  Name const guest = with_port(d->remote, remote_port);
  int const made = bound(d, from);
  if (made < 0 || slirp_add_hostxfwd(d->slirp, &forward.any, d->name_bytes, &guest.any,
                                     d->name_bytes, 0) != 0) {
    close(made);
    return refused;
  }
  d->forwarded.push_back(local_port);
  if (connect(made, &forward.any, d->name_bytes) != 0 && errno != EINPROGRESS) {
    close(made);
    return refused;
  }
  std::int64_t const out = keep(d, made);
  settle(d);
  slirp_remove_hostxfwd(d->slirp, &forward.any, d->name_bytes, 0);
  return out;
}

std::int64_t send_on(lockstep_device* d, std::int64_t handle, const void* data,
                     std::size_t length) {
  Socket* const one = find(d, handle);
  if (one == nullptr) {
    return gone;
  }
  ssize_t const taken = send(one->descriptor, data, length, MSG_NOSIGNAL);
  std::int64_t const out = taken >= 0 ? taken : failed(*one);
  settle(d);
  return out;
}

std::int64_t receive(lockstep_device* d, std::int64_t handle, void* data, std::size_t room) {
  Socket* const one = find(d, handle);
  if (one == nullptr) {
    return gone;
  }
  // A read ends before an octet that is urgent, so there may be more.
  auto* const to = static_cast<std::uint8_t*>(data);
  std::size_t got = 0;
  ssize_t last = 0;
  do {
    last = recv(one->descriptor, to + got, room - got, 0);
    if (last < 0 && got == 0) {
      return failed(*one);
    }
    got += last > 0 ? static_cast<std::size_t>(last) : 0;
    settle(d);
  } while (last > 0 && got < room);
  return static_cast<std::int64_t>(got);
}

std::int64_t finish(lockstep_device* d, std::int64_t handle) {
  Socket* const one = find(d, handle);
  bool const done = one != nullptr && shutdown(one->descriptor, SHUT_WR) == 0;
  settle(d);
  return done ? 0 : gone;
}

void reset(int descriptor) {
  linger const at_once{1, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

std::int64_t close_one(lockstep_device* d, std::int64_t handle) {
  Socket* const one = find(d, handle);
  if (one == nullptr) {
    return gone;
  }
  close(std::exchange(one->descriptor, -1));
  settle(d);
  return 0;
}

/// What waits for accept() is reset, as the kernel does with what it still has.
std::int64_t unlisten(lockstep_device* d, std::int64_t handle) {
  for (const Waiting& each : d->waiting) {
    if (each.listener == handle) {
      reset(each.descriptor);
      close(each.descriptor);
    }
  }
  std::erase_if(d->waiting, [handle](const Waiting& each) { return each.listener == handle; });
  return close_one(d, handle);
}

std::int64_t abort_one(lockstep_device* d, std::int64_t handle) {
  if (const Socket* const one = find(d, handle)) {
    reset(one->descriptor);
  }
  return close_one(d, handle);
}

std::int64_t get(lockstep_device* d, std::int64_t handle, const char* name) {
  Socket* const one = find(d, handle);
  if (one == nullptr) {
    return gone;
  }
  if (std::string_view(name) != "error") {
    return unsupported;
  }
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(one->descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
  return one->error != 0 ? std::exchange(one->error, 0) : error;
}

/// Whether it is the connection between these ports: of one that the device opened the library
/// lists the forwarded port as its source, of another one the tester's.
bool is_between(const lockstep_device* d, const Listed& one, std::uint16_t local_port,
                std::uint16_t remote_port) {
  int const number = one.source_port - forward_first;
  bool const opened = number >= 0 && number < static_cast<int>(d->forwarded.size()) &&
                      d->forwarded[static_cast<std::size_t>(number)] == local_port &&
                      one.destination_port == remote_port;
  return opened || (one.source_port == remote_port && one.destination_port == local_port);
}

const char* state(lockstep_device* d, std::uint16_t local_port, std::uint16_t remote_port) {
  for (const Listed& each : connections(d)) {
    if (is_between(d, each, local_port, remote_port)) {
      d->told = each.state == "SYN_RCVD" ? "SYN-RECEIVED" : each.state;
      std::ranges::replace(d->told, '_', '-');
      return d->told.c_str();
    }
  }
  const auto listens = [local_port](const Socket& each) {
    return each.descriptor >= 0 && each.listens_on == local_port;
  };
  return std::ranges::any_of(d->sockets, listens) ? "LISTEN" : "CLOSED";
}

const lockstep_device_calls* table() {
  static const std::string stack = std::string("libslirp ") + slirp_version_string();
  static const lockstep_device_calls calls{
      .version = LOCKSTEP_DEVICE_VERSION,
      .name = "libslirp",
      .stack = stack.c_str(),
      .abilities = "ipv4 ipv6 deterministic",
      .timer_grain = 500'000'000,
      .timer_late = 0,
      .create = create,
      .destroy = destroy,
      .advance = advance,
      .deadline = deadline,
      .packet_in = packet_in,
      .packet_out = packet_out,
      .listen = listen_on,
      .unlisten = unlisten,
      .accept = accept_next,
      .connect = connect_to,
      .send = send_on,
      .receive = receive,
      .finish = finish,
      .close = close_one,
      .abort = abort_one,
      .urgent = nullptr,
      .set = nullptr,
      .get = get,
      .state = state,
      .events = nullptr,
      .travel = nullptr,
      .branch = nullptr,
  };
  return &calls;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const lockstep_device_calls* lockstep_device_entry(void) {
  return table();
}
