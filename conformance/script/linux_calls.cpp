// The socket calls of scripts as calls of Linux's kernel.
#include "conformance/script/linux_calls.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "conformance/script/linux_world.hpp"

namespace lockstep::conformance::script {
namespace {

using Do = guest::Call;

constexpr int name_of_peer = 28;  // SO_PEERNAME
constexpr int first_epoll = 1 << 20;
/// The largest read of the kernel's driver, and the largest write that fits a message.
constexpr std::size_t message_bytes = 60'000;
constexpr std::size_t name_room = sizeof(sockaddr_in6);

std::string_view octets_at(const void* at, std::size_t length) {
  return {static_cast<const char*>(at), length};
}

Port port_in(std::string_view name) {
  in_port_t port = 0;  // at the same offset in both families
  if (name.size() >= sizeof(sa_family_t) + sizeof port) {
    std::memcpy(&port, name.data() + sizeof(sa_family_t), sizeof port);
  }
  return Port{ntohs(port)};
}

void copy_name(std::string_view from, sockaddr* name, socklen_t* length) {
  if (name != nullptr && length != nullptr) {
    std::memcpy(name, from.data(), std::min<std::size_t>(*length, from.size()));
    *length = static_cast<socklen_t>(from.size());
  }
}

void scatter(std::string_view from, const msghdr& message) {
  for (std::size_t i = 0; i < message.msg_iovlen && !from.empty(); ++i) {
    std::size_t const part = std::min(from.size(), message.msg_iov[i].iov_len);
    std::memcpy(message.msg_iov[i].iov_base, from.data(), part);
    from.remove_prefix(part);
  }
}

std::size_t room_of(const msghdr& message) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    out += message.msg_iov[i].iov_len;
  }
  return out;
}

int set_bits(int from, int which, bool on) { return on ? from | which : from & ~which; }

}  // namespace

/// The result of a call, or -1 and errno.
std::int64_t LinuxCalls::result(const guest::Result& from) const {
  errno = from.value < 0 ? static_cast<int>(-from.value) : 0;
  return from.value < 0 ? -1 : from.value;
}

LinuxCalls::Socket* LinuxCalls::known(int fd) {
  auto const found = sockets_.find(fd);
  errno = EBADF;
  return found == sockets_.end() ? nullptr : &found->second;
}

int LinuxCalls::socket(int domain, int type, int protocol) {
  int const flags = type & (SOCK_NONBLOCK | SOCK_CLOEXEC);
  auto const fd =
      static_cast<int>(result(world_.ask(Do::socket, {domain, type & ~flags, protocol})));
  if (fd >= 0) {
    sockets_[fd] = {std::string(domain == AF_INET ? sizeof(sockaddr_in) : name_room, '\0'),
                    set_bits(O_RDWR, O_NONBLOCK, (flags & SOCK_NONBLOCK) != 0), false};
  }
  return fd;
}

int LinuxCalls::bind(int fd, const sockaddr* name, socklen_t length) {
  Socket* const one = known(fd);
  if (one == nullptr) {
    return -1;
  }
  auto const done = static_cast<int>(result(world_.ask(Do::bind, {fd}, octets_at(name, length))));
  one->local = done == 0 ? std::string(octets_at(name, length)) : one->local;
  return done;
}

int LinuxCalls::listen(int fd, int backlog) {
  return known(fd) == nullptr ? -1
                              : static_cast<int>(result(world_.ask(Do::listen, {fd, backlog})));
}

int LinuxCalls::accept4(int fd, sockaddr* name, socklen_t* length, int flags) {
  const Socket* const listener = known(fd);
  if (listener == nullptr) {
    return -1;
  }
  auto const made = static_cast<int>(result(world_.ask(Do::accept, {fd})));
  if (made >= 0) {
    sockets_[made] = {listener->local, set_bits(O_RDWR, O_NONBLOCK, (flags & SOCK_NONBLOCK) != 0),
                      false};
    getpeername(made, name, length);
  }
  return made;
}

int LinuxCalls::connect(int fd, const sockaddr* name, socklen_t length) {
  Socket* const one = known(fd);
  if (one == nullptr) {
    return -1;
  }
  guest::Result const made = world_.ask(Do::connect, {fd}, octets_at(name, length));
  bool const begins = made.value == 0 || made.value == -EINPROGRESS;
  one->opens = one->opens || (begins && port_in(one->local).value == 0);
  bool const opens = begins && name->sa_family != AF_UNSPEC;
  one->given = opens ? std::max<std::uint64_t>(one->given, 1) : begins ? 0 : one->given;
  return static_cast<int>(result(made));
}

int LinuxCalls::shutdown(int fd, int how) {
  Socket* const one = known(fd);
  if (one == nullptr) {
    return -1;
  }
  guest::Result const done = world_.ask(Do::shutdown, {fd, how});
  bool const first = done.value == 0 && how != SHUT_RD && !one->finished;
  one->given += first ? 1 : 0;
  one->finished = one->finished || first;
  return static_cast<int>(result(done));
}

int LinuxCalls::close(int fd) {
  if (watched_.erase(fd) != 0) {
    return 0;
  }
  if (known(fd) == nullptr) {
    return -1;
  }
  sockets_.erase(fd);
  for (auto& [epoll, watched] : watched_) {
    watched.erase(fd);
  }
  return static_cast<int>(result(world_.ask(Do::close, {fd})));
}

int LinuxCalls::getsockname(int fd, sockaddr* name, socklen_t* length) {
  const Socket* const one = known(fd);
  if (one == nullptr) {
    return -1;
  }
  copy_name(one->local, name, length);
  return 0;
}

int LinuxCalls::getpeername(int fd, sockaddr* name, socklen_t* length) {
  if (known(fd) == nullptr) {
    return -1;
  }
  guest::Result const got =
      world_.ask(Do::get, {fd, SOL_SOCKET, name_of_peer}, std::string(name_room, '\0'));
  if (got.value == 0) {
    copy_name(got.octets, name, length);
  }
  return static_cast<int>(result(got));
}

ssize_t LinuxCalls::recvmsg(int fd, msghdr* message, int flags) {
  if (known(fd) == nullptr) {
    return -1;
  }
  auto const most = static_cast<std::int64_t>(std::min(room_of(*message), message_bytes));
  if (message->msg_control == nullptr && (flags & MSG_ERRQUEUE) == 0) {
    guest::Result const got = world_.ask(Do::receive, {fd, flags, most});
    scatter(got.octets, *message);
    message->msg_namelen = 0;
    message->msg_flags = 0;
    return static_cast<ssize_t>(result(got));
  }
  guest::Result const got = world_.ask(Do::receive_message, {fd, flags, most});
  constexpr std::size_t words = 8;
  if (got.value >= 0 && got.octets.size() >= words) {
    std::uint32_t control = 0;
    std::memcpy(&control, got.octets.data(), sizeof control);
    std::memcpy(&message->msg_flags, got.octets.data() + 4, 4);
    std::string_view const rest = std::string_view(got.octets).substr(words);
    std::size_t const kept =
        std::min({std::size_t{control}, std::size_t{message->msg_controllen}, rest.size()});
    std::memcpy(message->msg_control, rest.data(), kept);
    message->msg_controllen = kept;
    scatter(rest.substr(std::min<std::size_t>(control, rest.size())), *message);
  }
  return static_cast<ssize_t>(result(got));
}

/// MSG_FASTOPEN needs the address, for which the driver has no room: connect() with
/// TCP_FASTOPEN_CONNECT and a write that follows send the same packets.
ssize_t LinuxCalls::sendmsg(int fd, const msghdr* message, int flags) {
  if (known(fd) == nullptr) {
    return -1;
  }
  if ((flags & MSG_ZEROCOPY) != 0) {
    throw LeftOut("the kernel's driver cannot pass MSG_ZEROCOPY");
  }
  if ((flags & MSG_FASTOPEN) != 0) {
    int const on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on);
    const auto* const name = static_cast<const sockaddr*>(message->msg_name);
    if (name == nullptr || connect(fd, name, message->msg_namelen) != 0) {
      return -1;
    }
  }
  std::string data;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
    data += octets_at(message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
  }
  std::size_t done = 0;
  do {
    std::string_view const part = std::string_view(data).substr(done, message_bytes);
    bool const last = done + part.size() == data.size();
    int const how = (flags & ~MSG_FASTOPEN) | (last ? 0 : MSG_MORE);
    std::int64_t const taken = result(world_.ask(Do::send, {fd, how}, part));
    if (taken < 0) {
      return done != 0 ? static_cast<ssize_t>(done) : -1;
    }
    done += static_cast<std::size_t>(taken);
    sockets_[fd].given += static_cast<std::uint64_t>(taken);
    if (static_cast<std::size_t>(taken) < part.size()) {
      break;
    }
  } while (done < data.size());
  return static_cast<ssize_t>(done);
}

int LinuxCalls::getsockopt(int fd, int level, int name, void* value, socklen_t* length) {
  if (known(fd) == nullptr) {
    return -1;
  }
  guest::Result const got =
      world_.ask(Do::get, {fd, level, name}, std::string_view(octets_at(value, *length)));
  if (got.value == 0) {
    std::size_t const kept = std::min<std::size_t>(*length, got.octets.size());
    std::memcpy(value, got.octets.data(), kept);
    *length = static_cast<socklen_t>(kept);
  }
  return static_cast<int>(result(got));
}

int LinuxCalls::setsockopt(int fd, int level, int name, const void* value, socklen_t length) {
  return known(fd) == nullptr ? -1
                              : static_cast<int>(result(world_.ask(Do::set, {fd, level, name},
                                                                   octets_at(value, length))));
}

int LinuxCalls::fcntl(int fd, int command, int argument) {
  Socket* const one = known(fd);
  if (one == nullptr) {
    return -1;
  }
  if (command != F_GETFL && command != F_SETFL) {
    throw LeftOut(fmt::format("fcntl({}) is not passed to the kernel", command));
  }
  one->flags = command == F_SETFL ? argument : one->flags;
  return command == F_SETFL ? 0 : one->flags;
}

/// A read would take the socket's error, which ioctl() leaves.
void LinuxCalls::refuse_if_failed(int fd) {
  if ((ready(fd) & POLLERR) != 0) {
    throw LeftOut("ioctl() on a socket that has an error is not asked");
  }
}

/// The octets that a read would give, or -1 and errno. The driver has no ioctl(): what it answers
/// follows from other calls.
std::int64_t LinuxCalls::unread(int fd) {
  guest::Result const got =
      world_.ask(Do::receive, {fd, MSG_PEEK, static_cast<std::int64_t>(message_bytes)});
  if (got.value >= static_cast<std::int64_t>(message_bytes)) {
    throw LeftOut(fmt::format("ioctl() with {} octets or more is not asked", message_bytes));
  }
  if (got.value == -ENOTCONN) {
    constexpr std::uint8_t listens = 10;
    auto const info = world_.info_of(fd);
    errno = EINVAL;
    return info && info->tcpi_state == listens ? -1 : 0;
  }
  return got.value == -EAGAIN ? 0 : result(got);
}

/// SIOCOUTQ, from what was written and what tcp_info has acknowledged; or SIOCOUTQNSD.
int LinuxCalls::unacknowledged(int fd, bool unsent) {
  constexpr std::uint8_t syn_sent = 2, syn_received = 3, listens = 10;
  auto const info = world_.info_of(fd);
  if (!info || info->tcpi_state == listens) {
    errno = EINVAL;
    return -1;
  }
  bool const opening = info->tcpi_state == syn_sent || info->tcpi_state == syn_received;
  std::uint64_t const flight = sockets_[fd].given - info->tcpi_bytes_acked;
  return opening ? 0 : static_cast<int>(unsent ? info->tcpi_notsent_bytes : flight);
}

/// SIOCATMARK. A read skips the urgent octet at the mark unless SO_OOBINLINE is set (tcp(7)).
int LinuxCalls::at_mark(int fd) {
  int before = 0;
  socklen_t length = sizeof before;
  getsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &before, &length);
  std::array<std::int64_t, 2> seen{};
  for (int const on : {0, 1}) {
    setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
    seen[static_cast<std::size_t>(on)] = unread(fd);
  }
  setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &before, sizeof before);
  return seen[0] != seen[1] ? 1 : 0;
}

int LinuxCalls::ioctl(int fd, unsigned long request, void* argument) {
  if (known(fd) == nullptr) {
    return -1;
  }
  std::int64_t answer = 0;
  switch (request) {
    case FIONBIO:
      return 0;
    case FIONREAD:
      refuse_if_failed(fd);
      answer = unread(fd);
      break;
    case SIOCOUTQ:
    case SIOCOUTQNSD:
      answer = unacknowledged(fd, request == SIOCOUTQNSD);
      break;
    case SIOCATMARK:
      refuse_if_failed(fd);
      answer = at_mark(fd);
      break;
    default:
      throw LeftOut(fmt::format("ioctl({:#x}) is not passed to the kernel", request));
  }
  if (answer < 0) {
    return -1;
  }
  int const octets = static_cast<int>(answer);
  std::memcpy(argument, &octets, sizeof octets);
  return 0;
}

std::uint32_t LinuxCalls::ready(int fd) {
  return static_cast<std::uint32_t>(world_.ask(Do::poll, {fd}).value);
}

int LinuxCalls::poll(pollfd* entries, std::size_t count) {
  int out = 0;
  for (std::size_t i = 0; i < count; ++i) {
    pollfd& one = entries[i];
    int const wanted = static_cast<std::uint16_t>(one.events) | POLLERR | POLLHUP;
    one.revents = one.fd < 0 ? static_cast<short>(0)
                  : known(one.fd) == nullptr
                      ? static_cast<short>(POLLNVAL)
                      : static_cast<short>(static_cast<int>(ready(one.fd)) & wanted);
    out += one.revents != 0 ? 1 : 0;
  }
  return out;
}

int LinuxCalls::epoll_create(int) { return epoll_create1(0); }

int LinuxCalls::epoll_create1(int) {
  int const made = first_epoll + epolls_++;
  watched_[made];
  return made;
}

int LinuxCalls::epoll_ctl(int epoll, int operation, int fd, epoll_event* event) {
  auto const found = watched_.find(epoll);
  if (found == watched_.end() || known(fd) == nullptr) {
    errno = EBADF;
    return -1;
  }
  bool const there = found->second.contains(fd);
  if (there == (operation == EPOLL_CTL_ADD)) {
    errno = there ? EEXIST : ENOENT;
    return -1;
  }
  if (operation == EPOLL_CTL_DEL) {
    found->second.erase(fd);
    return 0;
  }
  if ((event->events & EPOLLET) != 0) {
    throw LeftOut("EPOLLET is not passed to the kernel");
  }
  found->second[fd] = {*event, true};
  return 0;
}

int LinuxCalls::epoll_wait(int epoll, epoll_event* events, int most) {
  auto const found = watched_.find(epoll);
  if (found == watched_.end()) {
    errno = EBADF;
    return -1;
  }
  int out = 0;
  for (auto& [fd, one] : found->second) {
    std::uint32_t const wanted = one.event.events | EPOLLERR | EPOLLHUP;
    std::uint32_t const got = one.armed && out < most ? ready(fd) & wanted : 0;
    if (got != 0) {
      events[out] = one.event;
      events[out++].events = got;
      one.armed = (one.event.events & EPOLLONESHOT) == 0;
    }
  }
  return out;
}

Port LinuxCalls::port_of(int fd, bool local) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  auto* const at = reinterpret_cast<sockaddr*>(&name);
  bool const there = (local ? getsockname(fd, at, &length) : getpeername(fd, at, &length)) == 0;
  return there ? port_in(octets_at(&name, length)) : Port{0};
}

int LinuxCalls::find(Port local, Port remote) {
  for (auto const& [fd, one] : sockets_) {
    if (port_of(fd, true) == local && port_of(fd, false) == remote) {
      return fd;
    }
  }
  return -1;
}

void LinuxCalls::opened(Port local) {
  for (auto& [fd, one] : sockets_) {
    if (one.opens) {
      in_port_t const port = htons(local.value);
      std::memcpy(one.local.data() + sizeof(sa_family_t), &port, sizeof port);
      one.opens = false;
      return;
    }
  }
}

}  // namespace lockstep::conformance::script
