// packetdrill_interface_init and its call table: sets errno from the results of calls.hpp.
#include "conformance/packetdrill/interface.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "conformance/packetdrill/calls.hpp"
#include "core/units/check.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools::packetdrill {
namespace {

constexpr std::size_t packet_max = 65'535;
constexpr int parts_max = 1024;
// The clock starts at a time of day that cannot be confused with the real one.
constexpr std::int64_t epoch_seconds = 1'000'000'000;
constexpr std::int64_t million = 1'000'000;

// The running session. Not destroyed at the end of the process, when a thread may still sleep in
// it.
Session* current = nullptr;

Session& of(void* userdata) { return *static_cast<Session*>(userdata); }

template <class Number = int>
Number done(Result result) {
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return static_cast<Number>(result);
}

void end_session() {
  delete current;
  current = nullptr;
}

// ---- sockets ----

void free_all(void*) { end_session(); }

int call_socket(void* userdata, int domain, int type, int protocol) {
  return done(open_socket(of(userdata), domain, type, protocol));
}

int call_bind(void* userdata, int fd, const sockaddr* address, socklen_t length) {
  return done(bind(of(userdata), fd, {address, length}));
}

int call_listen(void* userdata, int fd, int backlog) {
  Session& session = of(userdata);
  return done(
      session.run([&] { return session.sockets().listen(session.live().ours(fd), backlog); }));
}

int call_accept(void* userdata, int fd, sockaddr* address, socklen_t* length) {
  return done(accept(of(userdata), fd, address, length));
}

int call_connect(void* userdata, int fd, const sockaddr* address, socklen_t length) {
  return done(connect(of(userdata), fd, {address, length}));
}

int call_close(void* userdata, int fd) { return done(close(of(userdata), fd)); }

int call_shutdown(void* userdata, int fd, int how) {
  Session& session = of(userdata);
  return done(
      session.run([&] { return session.sockets().shutdown(session.live().ours(fd), how); }));
}

int call_getsockopt(void* userdata, int fd, int level, int name, void* value, socklen_t* length) {
  Session& session = of(userdata);
  return done(session.run([&] {
    return session.sockets().get_option(session.live().ours(fd), level, name, value, length);
  }));
}

int call_setsockopt(void* userdata, int fd, int level, int name, const void* value,
                    socklen_t length) {
  Session& session = of(userdata);
  return done(session.run([&] {
    return session.sockets().set_option(session.live().ours(fd), level, name, value, length);
  }));
}

int call_fcntl(void* userdata, int fd, int command, ...) {
  int argument = 0;
  if (command != F_GETFL && command != F_GETFD) {
    va_list more;
    va_start(more, command);
    argument = va_arg(more, int);
    va_end(more);
  }
  return done(control(of(userdata), fd, command, argument));
}

int call_ioctl(void* userdata, int fd, unsigned long request, ...) {
  va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  return done(query(of(userdata), fd, request, argument));
}

// ---- data ----

ssize_t moved_in(void* userdata, int fd, std::span<const iovec> parts, int flags) {
  return done<ssize_t>(receive(of(userdata), fd, parts, flags));
}

ssize_t moved_out(void* userdata, int fd, std::span<const iovec> parts, int flags, NameIn to) {
  return done<ssize_t>(send(of(userdata), fd, parts, flags, to));
}

/// Validates the arguments of readv and writev: 0, or the negative errno.
Result fault_of(const iovec* parts, int count) {
  if (count <= 0 || count > parts_max) {
    return -EINVAL;
  }
  return parts == nullptr ? -EFAULT : 0;
}

Result fault_of(const msghdr* message) {
  if (message == nullptr || (message->msg_iov == nullptr && message->msg_iovlen != 0)) {
    return -EFAULT;
  }
  return message->msg_iovlen > parts_max ? -EMSGSIZE : 0;
}

ssize_t call_recv(void* userdata, int fd, void* buffer, size_t size, int flags) {
  iovec const part{buffer, size};
  return moved_in(userdata, fd, {&part, 1}, flags);
}

ssize_t call_read(void* userdata, int fd, void* buffer, size_t size) {
  return call_recv(userdata, fd, buffer, size, 0);
}

ssize_t call_readv(void* userdata, int fd, const iovec* parts, int count) {
  Result const bad = fault_of(parts, count);
  return bad != 0 ? done<ssize_t>(bad)
                  : moved_in(userdata, fd, {parts, static_cast<std::size_t>(count)}, 0);
}

ssize_t call_recvfrom(void* userdata, int fd, void* buffer, size_t size, int flags, sockaddr*,
                      socklen_t* length) {
  ssize_t const out = call_recv(userdata, fd, buffer, size, flags);
  if (out >= 0 && length != nullptr) {
    *length = 0;
  }
  return out;
}

ssize_t call_recvmsg(void* userdata, int fd, msghdr* message, int flags) {
  if (Result const bad = fault_of(message); bad != 0) {
    return done<ssize_t>(bad);
  }
  ssize_t const out = moved_in(userdata, fd, {message->msg_iov, message->msg_iovlen}, flags);
  if (out >= 0) {
    message->msg_namelen = 0;
    message->msg_controllen = 0;
    message->msg_flags = 0;
  }
  return out;
}

ssize_t call_sendto(void* userdata, int fd, const void* buffer, size_t size, int flags,
                    const sockaddr* address, socklen_t length) {
  iovec const part{const_cast<void*>(buffer), size};
  return moved_out(userdata, fd, {&part, 1}, flags, {address, length});
}

ssize_t call_send(void* userdata, int fd, const void* buffer, size_t size, int flags) {
  return call_sendto(userdata, fd, buffer, size, flags, nullptr, 0);
}

ssize_t call_write(void* userdata, int fd, const void* buffer, size_t size) {
  return call_sendto(userdata, fd, buffer, size, 0, nullptr, 0);
}

ssize_t call_writev(void* userdata, int fd, const iovec* parts, int count) {
  Result const bad = fault_of(parts, count);
  return bad != 0 ? done<ssize_t>(bad)
                  : moved_out(userdata, fd, {parts, static_cast<std::size_t>(count)}, 0, {});
}

ssize_t call_sendmsg(void* userdata, int fd, const msghdr* message, int flags) {
  Result const bad = fault_of(message);
  if (bad != 0 || message->msg_controllen != 0) {
    return done<ssize_t>(bad != 0 ? bad : -EINVAL);
  }
  NameIn const to{static_cast<const sockaddr*>(message->msg_name), message->msg_namelen};
  return moved_out(userdata, fd, {message->msg_iov, message->msg_iovlen}, flags, to);
}

// ---- readiness, pipes ----

int call_poll(void* userdata, pollfd* entries, nfds_t count, int timeout_ms) {
  if (entries == nullptr && count != 0) {
    return done(-EFAULT);
  }
  return done(poll(of(userdata), {entries, count}, timeout_ms));
}

int call_epoll_create(void* userdata, int size) {
  return done(size <= 0 ? -EINVAL : open_epoll(of(userdata)));
}

int call_epoll_ctl(void* userdata, int epfd, int operation, int fd, epoll_event* event) {
  return done(watch(of(userdata), epfd, operation, fd, event));
}

int call_epoll_wait(void* userdata, int epfd, epoll_event* events, int count, int timeout_ms) {
  if (count <= 0 || events == nullptr) {
    return done(count <= 0 ? -EINVAL : -EFAULT);
  }
  return done(
      wait_epoll(of(userdata), epfd, {events, static_cast<std::size_t>(count)}, timeout_ms));
}

int call_pipe(void* userdata, int ends[2]) { return done(open_pipe(of(userdata), ends)); }

int call_splice(void* userdata, int fd_in, loff_t* offset_in, int fd_out, loff_t* offset_out,
                size_t size, unsigned int flags) {
  return done(splice(of(userdata), {fd_in, offset_in}, {fd_out, offset_out}, size, flags));
}

// ---- packets and time ----

int netdev_send(void* userdata, const void* packet, size_t size) {
  if (packet == nullptr || size == 0 || size > packet_max) {
    return done(packet == nullptr ? -EFAULT : -EMSGSIZE);
  }
  of(userdata).arrive({static_cast<const std::byte*>(packet), size});
  return 0;
}

int netdev_receive(void* userdata, void* buffer, size_t* count, long long* time_usecs) {
  auto const packet = of(userdata).leave();
  if (!packet) {
    *count = 0;
    return 0;
  }
  *count = std::min(*count, packet->bytes.size());
  std::memcpy(buffer, packet->bytes.data(), *count);
  *time_usecs = epoch_seconds * million + Session::microseconds(packet->at);
  return 0;
}

int call_usleep(void* userdata, useconds_t usecs) {
  // packetdrill sleeps 20 us less than it requires and polls the time for the rest.
  of(userdata).sleep(Duration::microseconds(usecs + std::uint64_t{20}));
  return 0;
}

int call_gettimeofday(void* userdata, timeval* now, struct timezone*) {
  std::int64_t const time = of(userdata).read_clock();
  if (now != nullptr) {
    now->tv_sec = epoch_seconds + time / million;
    now->tv_usec = time % million;
  }
  return 0;
}

void print_failed_check(const lockstep::CheckSite& site) {
  std::fprintf(stderr,
               "liblockstep_packetdrill: internal error: CHECK(%s) failed at %s:%d; please report "
               "it with the script\n",
               site.condition, site.file, site.line);
}

Settings settings_of(const char* flags) {
  try {
    return read_flags(flags == nullptr ? "" : flags);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "liblockstep_packetdrill: %s\n", failure.what());
    std::exit(static_cast<int>(failure.code()));
  }
}

}  // namespace
}  // namespace lockstep::tools::packetdrill

extern "C" __attribute__((visibility("default"))) void packetdrill_interface_init(
    const char* flags, packetdrill_interface* interface) {
  using namespace lockstep::tools::packetdrill;
  end_session();
  lockstep::set_check_handler(print_failed_check);
  Settings const settings = settings_of(flags);  // ends the process if they are invalid
  current = new Session(settings);
  interface->userdata = current;
  interface->free = free_all;
  interface->socket = call_socket;
  interface->bind = call_bind;
  interface->listen = call_listen;
  interface->accept = call_accept;
  interface->connect = call_connect;
  interface->read = call_read;
  interface->readv = call_readv;
  interface->recv = call_recv;
  interface->recvfrom = call_recvfrom;
  interface->recvmsg = call_recvmsg;
  interface->write = call_write;
  interface->writev = call_writev;
  interface->send = call_send;
  interface->sendto = call_sendto;
  interface->sendmsg = call_sendmsg;
  interface->fcntl = call_fcntl;
  interface->ioctl = call_ioctl;
  interface->close = call_close;
  interface->shutdown = call_shutdown;
  interface->getsockopt = call_getsockopt;
  interface->setsockopt = call_setsockopt;
  interface->poll = call_poll;
  interface->netdev_send = netdev_send;
  interface->netdev_receive = netdev_receive;
  interface->usleep = call_usleep;
  interface->gettimeofday = call_gettimeofday;
  interface->epoll_create = call_epoll_create;
  interface->epoll_ctl = call_epoll_ctl;
  interface->epoll_wait = call_epoll_wait;
  interface->pipe = call_pipe;
  interface->splice = call_splice;
}
