// The life of a socket: socket, bind, shutdown, close, getsockname, getpeername.
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>

#include "core/units/check.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {
namespace {

constexpr IpAddress any4 = IpAddress::v4(0, 0, 0, 0);
constexpr IpAddress any6{};

// Which families an unspecified address covers.
bool covers_v4(const Socket& s, IpAddress address) {
  return address == any4 || (address == any6 && !s.v6_only);
}
bool covers_v6(IpAddress address) { return address == any6; }

bool overlap(const Socket& a, IpAddress at, const Socket& b, IpAddress with) {
  if (at == with || (covers_v4(a, at) && covers_v4(b, with))) {
    return true;
  }
  if (!at.is_unspecified()) {
    return at.is_v4() ? covers_v4(b, with) : covers_v6(with);
  }
  if (!with.is_unspecified()) {
    return with.is_v4() ? covers_v4(a, at) : covers_v6(at);
  }
  return false;
}

}  // namespace

bool Sockets::has_v4() const {
  Config const& config = stack_.config();
  auto const all = std::span(config.addresses).first(config.address_count.value);
  return std::ranges::any_of(all, [](const HostAddress& a) { return a.address.is_v4(); });
}

bool Sockets::has_v6() const {
  Config const& config = stack_.config();
  auto const all = std::span(config.addresses).first(config.address_count.value);
  return std::ranges::any_of(all, [](const HostAddress& a) { return !a.address.is_v4(); });
}

bool Sockets::is_ours(IpAddress address) const {
  Config const& config = stack_.config();
  auto const all = std::span(config.addresses).first(config.address_count.value);
  bool const own_link =
      config.link == LinkType::ethernet && has_v6() && address == link_local_of(config.mac);
  return own_link ||
         std::ranges::any_of(all, [&](const HostAddress& a) { return a.address == address; });
}

// Another socket is bound to the name, or to an overlapping one.
bool Sockets::conflicts(const Socket& s, const Endpoint& with) const {
  for (Place at = bucket(with.port); at != nowhere; at = sockets_[at].next_named) {
    Socket const& other = sockets_[at];
    bool const shared = s.reuse_address && other.reuse_address && other.phase != Phase::listening;
    if (&other != &s && other.local.port == with.port && !shared &&
        overlap(s, with.address, other, other.local.address)) {
      return true;
    }
  }
  return false;
}

// Draws a free port, starting the search at an unpredictable place.
Result Sockets::draw_port(const Socket& s, Endpoint& name) {
  tcp::Config const& tcp = stack_.config().tcp;
  auto const span = static_cast<std::uint32_t>(tcp.port_last.value - tcp.port_first.value + 1);
  auto const from = static_cast<std::uint32_t>(random_.below(span));
  for (std::uint32_t i = 0; i < span; ++i) {
    name.port = {static_cast<std::uint16_t>(tcp.port_first.value + (from + i) % span)};
    if (!conflicts(s, name)) {
      return 0;
    }
  }
  return -EADDRNOTAVAIL;
}

void Sockets::enter_name(Socket& s) {
  s.named = true;
  s.next_named = bucket(s.local.port);
  bucket(s.local.port) = place_of(s);
}

void Sockets::leave_name(Socket& s) {
  if (!s.named) {
    return;
  }
  Place* at = &bucket(s.local.port);
  while (*at != place_of(s)) {
    at = &sockets_[*at].next_named;
  }
  *at = s.next_named;
  s.named = false;
}

Result Sockets::socket(int domain, int type, int protocol) {
  constexpr int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (domain != AF_INET && domain != AF_INET6) {
    return -EAFNOSUPPORT;
  }
  int const plain = type & ~flags;
  if ((plain & ~0xf) != 0) {
    return -EINVAL;
  }
  if (plain != SOCK_STREAM) {
    return -EPROTOTYPE;
  }
  if (protocol != 0 && protocol != IPPROTO_TCP) {
    return -EPROTONOSUPPORT;
  }
  if (descriptors_.full()) {
    return -EMFILE;
  }
  Socket* const s = take();
  if (s == nullptr) {
    return -ENOBUFS;
  }
  s->v6 = domain == AF_INET6;
  s->local.address = s->v6 ? any6 : any4;
  return give_descriptor(*s, type);
}

Result Sockets::bind(int fd, NameIn name) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  Endpoint wanted;
  if (Result const bad = read_name(name, s->v6, wanted); bad != 0) {
    return bad;
  }
  if (s->named || s->phase != Phase::unconnected) {
    return -EINVAL;
  }
  if (wanted.address.is_v4() && s->v6_only) {
    return -EINVAL;
  }
  if (!wanted.address.is_unspecified() && !is_ours(wanted.address)) {
    return -EADDRNOTAVAIL;
  }
  if (wanted.port.value == 0) {
    if (draw_port(*s, wanted) != 0) {
      return -EADDRINUSE;
    }
  } else if (conflicts(*s, wanted)) {
    return -EADDRINUSE;
  }
  s->local = wanted;
  enter_name(*s);
  return 0;
}

Result Sockets::shutdown(int fd, int how) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) {
    return -EINVAL;
  }
  switch (s->phase) {
    case Phase::free:
    case Phase::unconnected:
    case Phase::failed:
      return -ENOTCONN;
    case Phase::over:
      return -ENOTCONN;
    case Phase::listening:
      if (how == SHUT_WR) {
        return -ENOTCONN;
      }
      end_listening(*s);
      wake(*s, 0);
      return 0;
    case Phase::armed:
    case Phase::connecting:
      disconnect(*s);
      wake(*s, 0);
      return 0;
    case Phase::connected:
      break;
  }
  if (how != SHUT_WR) {
    s->shut_read = true;
  }
  if (how != SHUT_RD && !s->shut_write) {
    s->shut_write = true;
    finish(*s);
  }
  wake(*s, 0);
  return 0;
}

Result Sockets::close(int fd) {
  Entry const entry = descriptors_.find(fd);
  if (entry.kind == Opened::nothing) {
    return -EBADF;
  }
  descriptors_.give(fd);
  if (entry.kind == Opened::epoll) {
    close_epoll(entry.place);
    return 0;
  }
  Socket& s = sockets_[entry.place];
  s.descriptor = -1;
  forget_items(s);
  leave_name(s);
  if (s.phase == Phase::listening) {
    end_listening(s);
  }
  if (s.connection == ConnectionId{}) {
    release(s);
    return 0;
  }
  if (s.linger && s.linger_seconds == 0) {
    stack_.abort(s.connection);
    release(s);
    return 0;
  }
  if (stack_.close(s.connection) != Refusal::no_room) {
    release(s);
    return 0;
  }
  // No room for the FIN: the stack's `room` event will report when there is some.
  ++counters_.orphans;
  s.close_pending = true;
  return 0;
}

Result Sockets::local_name(int fd, sockaddr* address, socklen_t* length) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  if (address == nullptr) {
    return -EFAULT;
  }
  return write_name(s->local, s->v6, address, length);
}

Result Sockets::peer_name(int fd, sockaddr* address, socklen_t* length) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  if (s->phase != Phase::connected) {
    return -ENOTCONN;
  }
  if (address == nullptr) {
    return -EFAULT;
  }
  return write_name(s->remote, s->v6, address, length);
}

}  // namespace lockstep::tools
