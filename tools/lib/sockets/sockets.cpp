// The context: its memory, its records, and its work in each turn.
#include "tools/lib/sockets/sockets.hpp"

#include <fcntl.h>

#include <cerrno>

#include "core/units/check.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t buckets = 256;

}  // namespace

Sockets::Sockets(Stack& stack, const SocketSettings& settings)
    : stack_(stack),
      descriptors_(settings.descriptors),
      sockets_(std::size_t{settings.descriptors.most.value} +
               stack.config().tcp.connections_max.value),
      by_connection_(stack.config().tcp.connections_max.value, nowhere),
      by_listener_(stack.config().tcp.listeners_max.value, nowhere),
      named_(buckets, nowhere),
      epolls_(settings.epolls_max.value),
      items_(settings.items_max.value),
      random_(stack.config().tcp.port_key.first ^ stack.config().tcp.port_key.second) {
  for (std::size_t i = sockets_.size(); i-- != 0;) {
    sockets_[i].next = free_socket_;
    free_socket_ = static_cast<Place>(i);
  }
  for (std::size_t i = items_.size(); i-- != 0;) {
    items_[i].next = free_item_;
    free_item_ = static_cast<Place>(i);
  }
}

Result Sockets::find(int fd, Socket*& out) {
  Entry const entry = descriptors_.find(fd);
  switch (entry.kind) {
    case Opened::nothing:
      return -EBADF;
    case Opened::epoll:
      return -ENOTSOCK;
    case Opened::socket:
      break;
  }
  out = &sockets_[entry.place];
  return 0;
}

Socket* Sockets::of_connection(ConnectionId id) {
  Place const at = id.slot < by_connection_.size() ? by_connection_[id.slot] : nowhere;
  bool const known = at != nowhere && sockets_[at].connection == id;
  return known ? &sockets_[at] : nullptr;
}

Socket* Sockets::take() {
  if (free_socket_ == nowhere) {
    return nullptr;
  }
  Socket& s = sockets_[free_socket_];
  free_socket_ = s.next;
  s = Socket{};
  s.phase = Phase::unconnected;
  s.urgent_inline = !stack_.config().tcp.urgent_apart;
  ++live_;
  return &s;
}

void Sockets::release(Socket& s) {
  CHECK(s.phase != Phase::free);
  CHECK(s.listener_count == 0);
  forget_items(s);
  forget_connection(s);
  leave_name(s);
  s = Socket{};
  s.next = free_socket_;
  free_socket_ = place_of(s);
  --live_;
}

Result Sockets::give_descriptor(Socket& s, int flags) {
  s.nonblocking = (flags & SOCK_NONBLOCK) != 0;
  s.close_on_exec = (flags & SOCK_CLOEXEC) != 0;
  s.descriptor = descriptors_.take({Opened::socket, place_of(s)});
  return s.descriptor;
}

void Sockets::adopt(Socket& s, ConnectionId id) {
  s.connection = id;
  by_connection_[id.slot] = place_of(s);
}

void Sockets::forget_connection(Socket& s) {
  if (of_connection(s.connection) == &s) {
    by_connection_[s.connection.slot] = nowhere;
  }
  s.connection = ConnectionId{};
}

void Sockets::run(Stack& stack, Instant now) {
  CHECK(&stack == &stack_);
  if (wake_at_ <= now) {
    wake_at_ = Instant::never();
  }
  if (defer_at_ <= now) {
    end_deferrals(now);
  }
  if (hook_.function != nullptr) {
    hook_.function(c(), hook_.user);
  }
}

void Sockets::stop(Stack&, Instant) {
  for (std::uint32_t i = 0; i < descriptors_.most(); ++i) {
    int const fd = descriptors_.first() + static_cast<int>(i);
    if (descriptors_.find(fd).kind != Opened::nothing) {
      static_cast<void>(close(fd));
    }
  }
}

void Sockets::abandon(Stack&, Instant) {
  stop(stack_, stack_.now());
  for (Socket& s : sockets_) {
    if (s.phase != Phase::free) {
      stack_.abort(s.connection);
      release(s);
    }
  }
}

void Sockets::check_invariants() const {
  std::uint32_t live = 0;
  for (Place at = 0; at < sockets_.size(); ++at) {
    Socket const& s = sockets_[at];
    live += s.phase == Phase::free ? 0 : 1;
    bool const joined = s.phase == Phase::connecting || s.phase == Phase::connected;
    CHECK(joined == (s.connection != ConnectionId{}));
    CHECK(!joined || by_connection_[s.connection.slot] == at);
    CHECK((s.phase == Phase::listening) == (s.listener_count != 0));
    std::uint32_t waiting = 0;
    for (Place w = s.first; w != nowhere; w = sockets_[w].next) {
      CHECK(sockets_[w].descriptor == -1);
      ++waiting;
    }
    CHECK(waiting == s.waiting);
    CHECK(s.phase != Phase::free || s.first_item == nowhere);
    if (s.deferred) {
      CHECK(s.descriptor == -1);
      CHECK(s.phase == Phase::connected);
      CHECK(defer_at_ <= s.deferred_until);
    }
    if (s.descriptor != -1) {
      Entry const entry = descriptors_.find(s.descriptor);
      CHECK(entry.kind == Opened::socket);
      CHECK(entry.place == at);
    }
  }
  CHECK(live == live_);
  for (Epoll const& epoll : epolls_) {
    std::uint32_t listed = 0;
    for (Place i = epoll.first; i != nowhere; i = items_[i].after) {
      CHECK(items_[i].listed);
      ++listed;
    }
    CHECK(listed == epoll.listed);
  }
}

}  // namespace lockstep::tools
