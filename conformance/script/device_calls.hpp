// The socket calls of scripts on a device's calls.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "conformance/script/device_world.hpp"
#include "conformance/script/socket_calls.hpp"

namespace lockstep::conformance::script {

/// TCP sockets. What a device has no call for throws LeftOut.
class DeviceCalls final : public SocketCalls {
 public:
  /// `world` must outlive it; `family` is AF_INET or AF_INET6.
  DeviceCalls(DeviceWorld& world, int family) : world_(world), family_(family) {}

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

 private:
  struct Setting {
    const char* name;
    std::int64_t value;
  };
  struct Socket {
    enum class Kind : std::uint8_t { none, plain, listener, connection };
    Kind kind = Kind::none;
    std::uint64_t handle = 0;
    Port local, remote;
    std::vector<Setting> settings;  ///< to be set once there is a connection
    int flags = 0;                  ///< of fcntl()
    bool aborts = false;            ///< close() sends a reset
    bool told = false;              ///< its error has been returned
    bool opened = false;            ///< a connect() has returned 0
    bool finished = false;          ///< shutdown(SHUT_WR)
  };
  /// What is known of a connection.
  enum class Stage : std::uint8_t { opening, open, over };
  struct Known {
    Stage stage = Stage::open;
    int error = 0;  ///< why it is over; 0: closed
  };

  Socket* find(int fd);
  Socket* connection(int fd);
  int add(Socket socket);
  void prepare(const Socket& socket, const std::vector<Setting>& settings);
  void set(const Socket& socket, const Setting& setting);
  Known known(const Socket& socket);
  int error_of(Socket& socket, int otherwise);
  ssize_t failed(int error);

  DeviceWorld& world_;
  int family_;
  std::deque<Socket> sockets_;  ///< by descriptor - 3
};

}  // namespace lockstep::conformance::script
