// The socket calls that scripts make, on whatever TCP runs the script.
#pragma once

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <stdexcept>

#include "tools/lib/sockets/sockets.h"

namespace lockstep::conformance::script {

/// Thrown when the system under a script has no such call, setting or variable: the script is left
/// out. The message is the reason.
class LeftOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// As the calls of the same names: -1 and errno for an error. No call waits.
class SocketCalls {
 public:
  SocketCalls() = default;
  virtual ~SocketCalls() = default;
  SocketCalls(const SocketCalls&) = delete;
  SocketCalls& operator=(const SocketCalls&) = delete;

  virtual int socket(int domain, int type, int protocol) = 0;
  virtual int bind(int fd, const sockaddr* name, socklen_t length) = 0;
  virtual int listen(int fd, int backlog) = 0;
  virtual int accept4(int fd, sockaddr* name, socklen_t* length, int flags) = 0;
  virtual int connect(int fd, const sockaddr* name, socklen_t length) = 0;
  virtual int shutdown(int fd, int how) = 0;
  virtual int close(int fd) = 0;
  virtual int getsockname(int fd, sockaddr* name, socklen_t* length) = 0;
  virtual int getpeername(int fd, sockaddr* name, socklen_t* length) = 0;

  virtual ssize_t recvmsg(int fd, msghdr* message, int flags) = 0;
  virtual ssize_t sendmsg(int fd, const msghdr* message, int flags) = 0;
  // By default these are recvmsg() and sendmsg().
  virtual ssize_t read(int fd, void* data, std::size_t size);
  virtual ssize_t readv(int fd, const iovec* parts, int count);
  virtual ssize_t recv(int fd, void* data, std::size_t size, int flags);
  virtual ssize_t recvfrom(int fd, void* data, std::size_t size, int flags, sockaddr* name,
                           socklen_t* length);
  virtual ssize_t write(int fd, const void* data, std::size_t size);
  virtual ssize_t writev(int fd, const iovec* parts, int count);
  virtual ssize_t send(int fd, const void* data, std::size_t size, int flags);
  virtual ssize_t sendto(int fd, const void* data, std::size_t size, int flags,
                         const sockaddr* name, socklen_t length);

  virtual int getsockopt(int fd, int level, int name, void* value, socklen_t* length) = 0;
  virtual int setsockopt(int fd, int level, int name, const void* value, socklen_t length) = 0;
  virtual int fcntl(int fd, int command, int argument) = 0;
  virtual int ioctl(int fd, unsigned long request, void* argument) = 0;
  virtual int poll(pollfd* entries, std::size_t count) = 0;
  virtual int epoll_create(int size) = 0;
  virtual int epoll_create1(int flags) = 0;
  virtual int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) = 0;
  virtual int epoll_wait(int epoll, epoll_event* events, int most) = 0;
};

/// Those of our own sockets.
class StackCalls final : public SocketCalls {
 public:
  /// `sockets` must outlive it.
  explicit StackCalls(lockstep_sockets* sockets) : s_(sockets) {}

  int socket(int domain, int type, int protocol) override;
  int bind(int fd, const sockaddr* name, socklen_t length) override;
  int listen(int fd, int backlog) override;
  int accept4(int fd, sockaddr* name, socklen_t* length, int flags) override;
  int connect(int fd, const sockaddr* name, socklen_t length) override;
  int shutdown(int fd, int how) override;
  int close(int fd) override;
  int getsockname(int fd, sockaddr* name, socklen_t* length) override;
  int getpeername(int fd, sockaddr* name, socklen_t* length) override;
  ssize_t recvmsg(int fd, msghdr* message, int flags) override;
  ssize_t sendmsg(int fd, const msghdr* message, int flags) override;
  ssize_t read(int fd, void* data, std::size_t size) override;
  ssize_t readv(int fd, const iovec* parts, int count) override;
  ssize_t recv(int fd, void* data, std::size_t size, int flags) override;
  ssize_t recvfrom(int fd, void* data, std::size_t size, int flags, sockaddr* name,
                   socklen_t* length) override;
  ssize_t write(int fd, const void* data, std::size_t size) override;
  ssize_t writev(int fd, const iovec* parts, int count) override;
  ssize_t send(int fd, const void* data, std::size_t size, int flags) override;
  ssize_t sendto(int fd, const void* data, std::size_t size, int flags, const sockaddr* name,
                 socklen_t length) override;
  int getsockopt(int fd, int level, int name, void* value, socklen_t* length) override;
  int setsockopt(int fd, int level, int name, const void* value, socklen_t length) override;
  int fcntl(int fd, int command, int argument) override;
  int ioctl(int fd, unsigned long request, void* argument) override;
  int poll(pollfd* entries, std::size_t count) override;
  int epoll_create(int size) override;
  int epoll_create1(int flags) override;
  int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) override;
  int epoll_wait(int epoll, epoll_event* events, int most) override;

 private:
  lockstep_sockets* s_;
};

}  // namespace lockstep::conformance::script
