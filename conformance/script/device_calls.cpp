// The socket calls of scripts on a device's calls.
#include "conformance/script/device_calls.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "conformance/script/constants.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr int first_descriptor = 3;
constexpr std::uint16_t first_port = 32'768;  // of sockets without bind()
constexpr std::size_t port_at = sizeof(sa_family_t);

Port port_of(const sockaddr* name) {
  in_port_t port = 0;  // at the same offset in both families
  std::memcpy(&port, reinterpret_cast<const std::byte*>(name) + port_at, sizeof port);
  return Port{ntohs(port)};
}

[[noreturn]] void leave_out(const std::string& what) {
  throw LeftOut(fmt::format("the device has no {}", what));
}

/// The error of a cause, as events() names it; `half`: the peer had finished before.
int error_named(std::string_view cause, bool half) {
  if (cause == "reset") {
    return half ? EPIPE : ECONNRESET;
  }
  if (cause == "refused") {
    return ECONNREFUSED;
  }
  if (cause == "timed_out" || cause == "keepalive_timed_out") {
    return ETIMEDOUT;
  }
  if (cause == "finished" || cause == "aborted") {
    return 0;
  }
  leave_out(fmt::format("error number of {}", cause));
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

ssize_t DeviceCalls::failed(int error) {
  errno = error;
  return -1;
}

DeviceCalls::Socket* DeviceCalls::find(int fd) {
  auto const at = static_cast<std::size_t>(fd - first_descriptor);
  bool const open =
      fd >= first_descriptor && at < sockets_.size() && sockets_[at].kind != Socket::Kind::none;
  errno = EBADF;
  return open ? &sockets_[at] : nullptr;
}

DeviceCalls::Socket* DeviceCalls::connection(int fd) {
  Socket* const out = find(fd);
  if (out != nullptr && out->kind != Socket::Kind::connection) {
    errno = ENOTCONN;
    return nullptr;
  }
  return out;
}

int DeviceCalls::add(Socket socket) {
  sockets_.push_back(std::move(socket));
  return first_descriptor + static_cast<int>(sockets_.size()) - 1;
}

int DeviceCalls::socket(int domain, int type, int protocol) {
  int const kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (kind != SOCK_STREAM || (protocol != 0 && protocol != IPPROTO_TCP)) {
    leave_out(fmt::format("socket of type {} and protocol {}", kind, protocol));
  }
  if (domain != family_) {
    leave_out("socket of another family than the script's");
  }
  Socket made;
  made.kind = Socket::Kind::plain;
  made.flags = O_RDWR | ((type & SOCK_NONBLOCK) != 0 ? O_NONBLOCK : 0);
  return add(std::move(made));
}

int DeviceCalls::bind(int fd, const sockaddr* name, socklen_t) {
  Socket* const one = find(fd);
  if (one == nullptr) {
    return -1;
  }
  if (!world_.is_local(name)) {
    leave_out("bind() to another address");
  }
  Port const port = port_of(name);
  for (Socket const& other : sockets_) {
    if (other.kind != Socket::Kind::none && other.local == port && &other != one) {
      leave_out("two sockets on one port");
    }
  }
  one->local = port;
  return 0;
}

int DeviceCalls::listen(int fd, int backlog) {
  Socket* const one = find(fd);
  if (one == nullptr) {
    return -1;
  }
  // As Linux, which lets one more wait.
  auto const most = static_cast<std::uint64_t>(std::max(backlog, 0)) + 1;
  DeviceAnswer const answer = world_.ask(LOCKSTEP_CALL_LISTEN, one->local.value, most);
  if (answer.result < 0) {
    return static_cast<int>(failed(EADDRINUSE));
  }
  one->kind = Socket::Kind::listener;
  one->handle = static_cast<std::uint64_t>(answer.result);
  return 0;
}

int DeviceCalls::accept4(int fd, sockaddr* name, socklen_t* length, int flags) {
  const Socket* const listener = find(fd);
  if (listener == nullptr) {
    return -1;
  }
  if (listener->kind != Socket::Kind::listener) {
    return static_cast<int>(failed(EINVAL));
  }
  DeviceAnswer const answer = world_.ask(LOCKSTEP_CALL_ACCEPT, listener->handle);
  if (answer.result < 0) {
    return static_cast<int>(failed(answer.result == LOCKSTEP_DEVICE_AGAIN ? EAGAIN : EINVAL));
  }
  Socket made;
  made.kind = Socket::Kind::connection;
  made.handle = static_cast<std::uint64_t>(answer.result);
  made.local = listener->local;
  made.remote = world_.next_caller(listener->local);
  made.flags = O_RDWR | ((flags & SOCK_NONBLOCK) != 0 ? O_NONBLOCK : 0);
  made.aborts = listener->aborts;
  made.opened = true;
  prepare(made, listener->settings);
  int const out = add(std::move(made));
  getpeername(out, name, length);
  return out;
}

int DeviceCalls::connect(int fd, const sockaddr* name, socklen_t) {
  Socket* const one = find(fd);
  if (one == nullptr) {
    return -1;
  }
  if (name->sa_family == AF_UNSPEC) {
    leave_out("connect() that ends a connection");
  }
  if (one->kind == Socket::Kind::listener) {
    bool const like_linux = world_.config().tcp.errors_like_linux;
    return static_cast<int>(failed(like_linux ? EISCONN : EOPNOTSUPP));
  }
  if (one->kind == Socket::Kind::connection) {
    Known const now = known(*one);
    if (now.stage == Stage::open && !std::exchange(one->opened, true)) {
      return 0;
    }
    return static_cast<int>(failed(now.stage == Stage::opening ? EALREADY
                                   : now.stage == Stage::open  ? EISCONN
                                                               : error_of(*one, ECONNABORTED)));
  }
  if (one->local.value == 0) {
    one->local = Port{static_cast<std::uint16_t>(first_port + fd)};
  }
  one->remote = port_of(name);
  if (!world_.is_remote(name)) {
    leave_out("connect() to another address than the tester's");
  }
  DeviceAnswer const answer =
      world_.ask(LOCKSTEP_CALL_CONNECT, one->local.value, one->remote.value);
  if (answer.result < 0) {
    return static_cast<int>(failed(EADDRNOTAVAIL));
  }
  one->kind = Socket::Kind::connection;
  one->handle = static_cast<std::uint64_t>(answer.result);
  prepare(*one, one->settings);
  return static_cast<int>(failed(EINPROGRESS));
}

int DeviceCalls::shutdown(int fd, int how) {
  Socket* const one = connection(fd);
  if (one == nullptr) {
    return -1;
  }
  if (how == SHUT_RD) {
    leave_out("shutdown(SHUT_RD)");
  }
  if (std::exchange(one->finished, true) && known(*one).stage != Stage::over) {
    return 0;
  }
  DeviceAnswer const answer = world_.ask(LOCKSTEP_CALL_FINISH, one->handle);
  return answer.result < 0 ? static_cast<int>(failed(ENOTCONN)) : 0;
}

int DeviceCalls::close(int fd) {
  Socket* const one = find(fd);
  if (one == nullptr) {
    return -1;
  }
  if (one->kind == Socket::Kind::listener) {
    world_.ask(LOCKSTEP_CALL_UNLISTEN, one->handle);
  } else if (one->kind == Socket::Kind::connection) {
    world_.ask(one->aborts ? LOCKSTEP_CALL_ABORT : LOCKSTEP_CALL_CLOSE, one->handle);
  }
  one->kind = Socket::Kind::none;
  return 0;
}

int DeviceCalls::getsockname(int fd, sockaddr* name, socklen_t* length) {
  const Socket* const one = find(fd);
  if (one == nullptr) {
    return -1;
  }
  world_.put_name(true, one->local, name, length);
  return 0;
}

int DeviceCalls::getpeername(int fd, sockaddr* name, socklen_t* length) {
  const Socket* const one = connection(fd);
  if (one == nullptr) {
    return -1;
  }
  world_.put_name(false, one->remote, name, length);
  return 0;
}

/// How far a connection is, by its events or else by its state.
DeviceCalls::Known DeviceCalls::known(const Socket& socket) {
  if (world_.can("events")) {
    std::string const events = world_.ask(LOCKSTEP_CALL_EVENTS, socket.handle).octets;
    if (has(events, "soft_error:") && !has(events, "soft_error:retransmitting")) {
      leave_out("error number of an ICMP error");
    }
    std::size_t const over = events.rfind("closed:");
    if (over != std::string::npos) {
      std::string_view const cause = std::string_view(events).substr(over + 7);
      return {Stage::over, error_named(cause, has(events, "peer_finished"))};
    }
    bool const open = has(events, "connected") || has(events, "accepted");
    return {open ? Stage::open : Stage::opening, 0};
  }
  auto const state = world_.state_between(socket.local, socket.remote);
  if (!state) {
    leave_out("events() and no state()");
  }
  bool const opening = *state == tcp::State::syn_sent || *state == tcp::State::syn_received;
  bool const over = *state == tcp::State::closed || *state == tcp::State::time_wait;
  return {opening ? Stage::opening : over ? Stage::over : Stage::open, 0};
}

/// The error of a connection that is over, once; then `otherwise`.
int DeviceCalls::error_of(Socket& socket, int otherwise) {
  if (!world_.can("events")) {
    // The error itself, of a device that has it.
    constexpr std::int64_t none = LOCKSTEP_DEVICE_UNSUPPORTED;
    std::int64_t const error = world_.can("get") ? world_.try_get(socket.handle, "error") : none;
    if (error == none) {
      leave_out("events() and no variable error");
    }
    return error <= 0 ? otherwise : static_cast<int>(error);
  }
  Known const now = known(socket);
  if (now.stage != Stage::over || now.error == 0 || socket.told) {
    return otherwise;
  }
  socket.told = true;
  return now.error;
}

ssize_t DeviceCalls::recvmsg(int fd, msghdr* message, int flags) {
  Socket* const one = connection(fd);
  if (one == nullptr) {
    return -1;
  }
  if ((flags & ~MSG_DONTWAIT) != 0) {
    leave_out(fmt::format("recv() with flags {:#x}", flags));
  }
  std::size_t room = 0;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
    room += message->msg_iov[i].iov_len;
  }
  DeviceAnswer const answer = world_.ask(LOCKSTEP_CALL_RECEIVE, one->handle, room);
  if (answer.result < 0) {
    int const error = error_of(*one, answer.result == LOCKSTEP_DEVICE_AGAIN ? EAGAIN : 0);
    return error == 0 ? 0 : failed(error);
  }
  message->msg_namelen = 0;
  message->msg_flags = 0;
  std::string_view left = answer.octets;
  for (std::size_t i = 0; i < message->msg_iovlen && !left.empty(); ++i) {
    std::size_t const part = std::min(left.size(), message->msg_iov[i].iov_len);
    std::memcpy(message->msg_iov[i].iov_base, left.data(), part);
    left.remove_prefix(part);
  }
  return static_cast<ssize_t>(answer.octets.size());
}

ssize_t DeviceCalls::sendmsg(int fd, const msghdr* message, int flags) {
  if ((flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_OOB)) != 0) {
    leave_out(fmt::format("send() with flags {:#x}", flags));
  }
  Socket* const one = connection(fd);
  if (one == nullptr) {
    errno = errno == ENOTCONN && world_.config().tcp.errors_like_linux ? EPIPE : errno;
    return -1;
  }
  if (!one->opened) {
    if (known(*one).stage == Stage::opening) {
      return failed(EAGAIN);
    }
    one->opened = true;
  }
  std::string data;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
    data.append(static_cast<const char*>(message->msg_iov[i].iov_base),
                message->msg_iov[i].iov_len);
  }
  if (data.empty()) {
    return 0;
  }
  DeviceAnswer const answer = world_.ask(LOCKSTEP_CALL_SEND, one->handle, 0, data);
  if (answer.result < 0) {
    return failed(answer.result == LOCKSTEP_DEVICE_AGAIN ? EAGAIN : error_of(*one, EPIPE));
  }
  if ((flags & MSG_OOB) != 0) {
    world_.ask(LOCKSTEP_CALL_URGENT, one->handle);
  }
  return static_cast<ssize_t>(answer.result);
}

int DeviceCalls::getsockopt(int fd, int level, int name, void* value, socklen_t* length) {
  Socket* const one = find(fd);
  if (one == nullptr) {
    return -1;
  }
  if (level != SOL_SOCKET || name != SO_ERROR) {
    leave_out(fmt::format("getsockopt() of level {}, name {}", level, name));
  }
  int const error = one->kind == Socket::Kind::connection ? error_of(*one, 0) : 0;
  std::memcpy(value, &error, std::min<std::size_t>(sizeof error, *length));
  *length = std::min<socklen_t>(*length, sizeof error);
  return 0;
}

/// Sets what the script has set before there was a connection. ICMP errors that do not end it are
/// told by a device that can tell them.
void DeviceCalls::prepare(const Socket& socket, const std::vector<Setting>& settings) {
  world_.try_set(socket.handle, "soft_errors", 1);
  for (Setting const& setting : settings) {
    set(socket, setting);
  }
}

void DeviceCalls::set(const Socket& socket, const Setting& setting) {
  world_.ask(LOCKSTEP_CALL_SET, socket.handle, static_cast<std::uint64_t>(setting.value),
             setting.name);
}

int DeviceCalls::setsockopt(int fd, int level, int name, const void* value, socklen_t length) {
  Socket* const one = find(fd);
  if (one == nullptr) {
    return -1;
  }
  std::array<int, 2> words{};
  std::memcpy(words.data(), value, std::min<std::size_t>(sizeof words, length));
  const auto is = [&](int wanted_level, int wanted_name) {
    return level == wanted_level && name == wanted_name;
  };
  if (is(SOL_SOCKET, SO_REUSEADDR)) {
    return 0;
  }
  if (is(SOL_SOCKET, SO_LINGER)) {
    if (words[0] != 0 && words[1] != 0) {
      leave_out("close() that waits (SO_LINGER)");
    }
    one->aborts = words[0] != 0;
    return 0;
  }
  Setting setting{nullptr, words[0]};
  if (is(IPPROTO_TCP, TCP_NODELAY)) {
    setting = {"nagle", words[0] == 0 ? 1 : 0};
  } else if (is(SOL_SOCKET, SO_KEEPALIVE)) {
    setting.name = "keepalive";
  } else if (is(IPPROTO_TCP, TCP_USER_TIMEOUT)) {
    setting.name = "user_timeout_ms";
  } else if (is(IPPROTO_IP, IP_TTL) || is(IPPROTO_IPV6, IPV6_UNICAST_HOPS)) {
    setting.name = "ttl";
  } else if (is(IPPROTO_IP, IP_TOS) || is(IPPROTO_IPV6, IPV6_TCLASS)) {
    setting = {"dscp", words[0] >> 2};
  } else {
    leave_out(fmt::format("setsockopt() of level {}, name {}", level, name));
  }
  if (one->kind == Socket::Kind::connection) {
    set(*one, setting);
  } else {
    one->settings.push_back(setting);
  }
  return 0;
}

int DeviceCalls::fcntl(int fd, int command, int argument) {
  Socket* const one = find(fd);
  if (one == nullptr) {
    return -1;
  }
  if (command == F_SETFL) {
    one->flags = argument;
    return 0;
  }
  if (command != F_GETFL) {
    leave_out(fmt::format("fcntl({})", command));
  }
  return one->flags;
}

int DeviceCalls::ioctl(int fd, unsigned long request, void*) {
  if (find(fd) == nullptr) {
    return -1;
  }
  if (request != FIONBIO) {
    leave_out(fmt::format("ioctl({:#x})", request));
  }
  return 0;
}

int DeviceCalls::poll(pollfd* entries, std::size_t count) {
  int ready = 0;
  for (pollfd& entry : std::span(entries, count)) {
    const Socket* const one = connection(entry.fd);
    if (one == nullptr || entry.events != POLLOUT || known(*one).stage == Stage::open) {
      // Whether a connection takes or has data is not said; that it has opened is.
      if (one == nullptr || entry.events != POLLOUT) {
        leave_out("poll()");
      }
      entry.revents = POLLOUT;
    } else {
      bool const over = known(*one).stage == Stage::over;
      entry.revents = static_cast<short>(over ? POLLOUT | POLLERR | POLLHUP : 0);
    }
    ready += entry.revents != 0 ? 1 : 0;
  }
  return ready;
}

int DeviceCalls::epoll_create(int) { leave_out("epoll"); }
int DeviceCalls::epoll_create1(int) { leave_out("epoll"); }
int DeviceCalls::epoll_ctl(int, int, int, epoll_event*) { leave_out("epoll"); }
int DeviceCalls::epoll_wait(int, epoll_event*, int) { leave_out("epoll"); }

}  // namespace lockstep::conformance::script
