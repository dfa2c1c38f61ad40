// The socket calls of scripts as calls of Linux's kernel.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "conformance/devices/linux/guest.hpp"
#include "conformance/script/socket_calls.hpp"
#include "core/units/address.hpp"

namespace lockstep::conformance::script {

class LinuxWorld;

class LinuxCalls final : public SocketCalls {
 public:
  explicit LinuxCalls(LinuxWorld& world) : world_(world) {}

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
  int getsockopt(int fd, int level, int name, void* value, socklen_t* length) override;
  int setsockopt(int fd, int level, int name, const void* value, socklen_t length) override;
  int fcntl(int fd, int command, int argument) override;
  int ioctl(int fd, unsigned long request, void* argument) override;
  int poll(pollfd* entries, std::size_t count) override;
  int epoll_create(int size) override;
  int epoll_create1(int flags) override;
  int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) override;
  int epoll_wait(int epoll, epoll_event* events, int most) override;

  /// A SYN was sent: it shows the port that the kernel has chosen.
  void opened(Port local);
  /// The socket between two ports; -1: there is none.
  int find(Port local, Port remote);

 private:
  struct Socket {
    std::string local;  ///< the name, as a sockaddr
    int flags = 0;
    bool opens = false;  ///< connect() was called, and the kernel's port is not known yet
    // For SIOCOUTQ: sequence numbers that the kernel was given.
    std::uint64_t given = 0;  ///< octets written, our SYN in an active open, and our FIN
    bool finished = false;
  };
  struct Watched {
    epoll_event event;
    bool armed = true;
  };

  std::int64_t result(const guest::Result& from) const;
  Socket* known(int fd);
  std::uint32_t ready(int fd);
  std::int64_t unread(int fd);
  int unacknowledged(int fd, bool unsent);
  void refuse_if_failed(int fd);
  int at_mark(int fd);
  Port port_of(int fd, bool local);

  LinuxWorld& world_;
  std::map<int, Socket> sockets_;                  ///< by the kernel's numbers
  std::map<int, std::map<int, Watched>> watched_;  ///< by an epoll's number, what it watches
  int epolls_ = 0;                                 ///< how many were made
};

}  // namespace lockstep::conformance::script
