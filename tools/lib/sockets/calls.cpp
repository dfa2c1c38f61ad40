// The C calls: null checks and errno on top of the class Sockets.
#include <netinet/in.h>

#include <cerrno>

#include "tools/lib/sockets/sockets.hpp"

using lockstep::Instant;
using lockstep::tools::NameIn;
using lockstep::tools::Result;

namespace {

constexpr int parts_max = 1024;

int done(Result result) {
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return static_cast<int>(result);
}

ssize_t moved(Result result) {
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return static_cast<ssize_t>(result);
}

// Checks the arguments of readv and writev: 0, or a negative errno.
Result fault_of(const iovec* parts, int count) {
  if (count <= 0 || count > parts_max) {
    return -EINVAL;
  }
  return parts == nullptr ? -EFAULT : 0;
}

Result fault_of(const msghdr* message) {
  if (message == nullptr) {
    return -EFAULT;
  }
  if (message->msg_iovlen > parts_max) {
    return -EMSGSIZE;
  }
  return message->msg_iov == nullptr && message->msg_iovlen != 0 ? -EFAULT : 0;
}

}  // namespace

int lockstep_socket(lockstep_sockets* s, int domain, int type, int protocol) {
  return done(s->self.socket(domain, type, protocol));
}

int lockstep_bind(lockstep_sockets* s, int fd, const sockaddr* address, socklen_t length) {
  return done(s->self.bind(fd, {address, length}));
}

int lockstep_listen(lockstep_sockets* s, int fd, int backlog) {
  return done(s->self.listen(fd, backlog));
}

int lockstep_accept(lockstep_sockets* s, int fd, sockaddr* address, socklen_t* length) {
  return done(s->self.accept(fd, address, length, 0));
}

int lockstep_accept4(lockstep_sockets* s, int fd, sockaddr* address, socklen_t* length, int flags) {
  return done(s->self.accept(fd, address, length, flags));
}

int lockstep_connect(lockstep_sockets* s, int fd, const sockaddr* address, socklen_t length) {
  return done(s->self.connect(fd, {address, length}));
}

int lockstep_shutdown(lockstep_sockets* s, int fd, int how) {
  return done(s->self.shutdown(fd, how));
}

int lockstep_close(lockstep_sockets* s, int fd) { return done(s->self.close(fd)); }

int lockstep_getsockname(lockstep_sockets* s, int fd, sockaddr* address, socklen_t* length) {
  return done(s->self.local_name(fd, address, length));
}

int lockstep_getpeername(lockstep_sockets* s, int fd, sockaddr* address, socklen_t* length) {
  return done(s->self.peer_name(fd, address, length));
}

ssize_t lockstep_recv(lockstep_sockets* s, int fd, void* buffer, size_t size, int flags) {
  iovec const part{buffer, size};
  return moved(s->self.receive(fd, {&part, 1}, flags));
}

ssize_t lockstep_read(lockstep_sockets* s, int fd, void* buffer, size_t size) {
  return lockstep_recv(s, fd, buffer, size, 0);
}

ssize_t lockstep_readv(lockstep_sockets* s, int fd, const iovec* parts, int count) {
  Result const bad = fault_of(parts, count);
  return moved(bad != 0 ? bad : s->self.receive(fd, {parts, static_cast<std::size_t>(count)}, 0));
}

ssize_t lockstep_recvfrom(lockstep_sockets* s, int fd, void* buffer, size_t size, int flags,
                          sockaddr* address, socklen_t* length) {
  if (address != nullptr && length == nullptr) {
    return moved(-EFAULT);
  }
  ssize_t const result = lockstep_recv(s, fd, buffer, size, flags);
  if (result >= 0 && address != nullptr) {
    *length = 0;
  }
  return result;
}

ssize_t lockstep_recvmsg(lockstep_sockets* s, int fd, msghdr* message, int flags) {
  if (Result const bad = fault_of(message); bad != 0) {
    return moved(bad);
  }
  Result const result = s->self.receive(fd, {message->msg_iov, message->msg_iovlen}, flags);
  if (result >= 0) {
    message->msg_namelen = 0;
    message->msg_controllen = 0;
    message->msg_flags = 0;
  }
  return moved(result);
}

ssize_t lockstep_send(lockstep_sockets* s, int fd, const void* buffer, size_t size, int flags) {
  return lockstep_sendto(s, fd, buffer, size, flags, nullptr, 0);
}

ssize_t lockstep_write(lockstep_sockets* s, int fd, const void* buffer, size_t size) {
  return lockstep_sendto(s, fd, buffer, size, 0, nullptr, 0);
}

ssize_t lockstep_writev(lockstep_sockets* s, int fd, const iovec* parts, int count) {
  Result const bad = fault_of(parts, count);
  return moved(bad != 0 ? bad : s->self.send(fd, {parts, static_cast<std::size_t>(count)}, 0));
}

ssize_t lockstep_sendto(lockstep_sockets* s, int fd, const void* buffer, size_t size, int flags,
                        const sockaddr* address, socklen_t length) {
  iovec const part{const_cast<void*>(buffer), size};
  return moved(s->self.send(fd, {&part, 1}, flags, {address, length}));
}

ssize_t lockstep_sendmsg(lockstep_sockets* s, int fd, const msghdr* message, int flags) {
  if (Result const bad = fault_of(message); bad != 0) {
    return moved(bad);
  }
  if (message->msg_controllen != 0) {
    return moved(-EINVAL);
  }
  NameIn const to{static_cast<const sockaddr*>(message->msg_name), message->msg_namelen};
  return moved(s->self.send(fd, {message->msg_iov, message->msg_iovlen}, flags, to));
}

int lockstep_getsockopt(lockstep_sockets* s, int fd, int level, int name, void* value,
                        socklen_t* length) {
  return done(s->self.get_option(fd, level, name, value, length));
}

int lockstep_setsockopt(lockstep_sockets* s, int fd, int level, int name, const void* value,
                        socklen_t length) {
  return done(s->self.set_option(fd, level, name, value, length));
}

int lockstep_fcntl(lockstep_sockets* s, int fd, int command, int argument) {
  return done(s->self.control(fd, command, argument));
}

int lockstep_ioctl(lockstep_sockets* s, int fd, unsigned long request, void* argument) {
  return done(s->self.query(fd, request, argument));
}

int lockstep_poll(lockstep_sockets* s, pollfd* entries, nfds_t count) {
  if (entries == nullptr && count != 0) {
    return done(-EFAULT);
  }
  return done(s->self.poll({entries, count}));
}

int lockstep_epoll_create1(lockstep_sockets* s, int flags) {
  return done(s->self.create_epoll(flags));
}

int lockstep_epoll_create(lockstep_sockets* s, int size) {
  return done(size <= 0 ? -EINVAL : s->self.create_epoll(0));
}

int lockstep_epoll_ctl(lockstep_sockets* s, int epfd, int operation, int fd, epoll_event* event) {
  return done(s->self.watch(epfd, operation, fd, event));
}

int lockstep_epoll_wait(lockstep_sockets* s, int epfd, epoll_event* events, int count) {
  if (count <= 0) {
    return done(-EINVAL);
  }
  if (events == nullptr) {
    return done(-EFAULT);
  }
  return done(s->self.ready(epfd, {events, static_cast<std::size_t>(count)}));
}

uint64_t lockstep_now(const lockstep_sockets* s) { return s->self.stack().now().ns; }

void lockstep_on_turn(lockstep_sockets* s, lockstep_turn_function function, void* user) {
  s->self.on_turn(function, user);
}

void lockstep_wake_at(lockstep_sockets* s, uint64_t ns) { s->self.wake_at(Instant{ns}); }
