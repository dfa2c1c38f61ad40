// The sockets of one stack for Python; a failed call throws its errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tools/lib/calls/calls.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools::python {

/// A socket call that failed.
class SocketFailure : public std::runtime_error {
 public:
  SocketFailure(const std::string& call, int number) : std::runtime_error(call), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

class SocketCalls {
 public:
  /// `calls` must outlive this object and have no sockets yet (Failure). From now on the stack's
  /// events go to these sockets.
  explicit SocketCalls(Calls& calls);
  ~SocketCalls() { calls_.inbox().sockets = nullptr; }
  SocketCalls(const SocketCalls&) = delete;
  SocketCalls& operator=(const SocketCalls&) = delete;

  using Name = std::pair<std::string, std::uint16_t>;

  int socket(bool v6);
  void bind(int fd, const Name& name, bool v6);
  void listen(int fd, int backlog);
  int accept(int fd);
  /// False: the connection is in progress.
  bool connect(int fd, const Name& name, bool v6);
  void shutdown(int fd, int how);
  void close(int fd);
  Name local_name(int fd);
  Name peer_name(int fd);
  std::vector<std::byte> receive(int fd, std::uint32_t most, int flags);
  std::uint64_t send(int fd, Packet data, int flags);
  std::vector<std::byte> get_option(int fd, int level, int name, std::uint32_t most);
  void set_option(int fd, int level, int name, Packet value);
  /// Sends the parts in order; returns the number of octets accepted.
  std::uint64_t send_parts(int fd, const std::vector<Packet>& parts);
  /// Receives into parts of these sizes in order; the last ones may be short or missing.
  std::vector<std::vector<std::byte>> receive_parts(int fd, const std::vector<std::uint32_t>& most);
  int control(int fd, int command, int argument);
  int query(int fd, unsigned long request);
  /// Returns which of `events` are ready, and errors and hang-ups.
  int poll(int fd, int events);
  int create_epoll();
  /// `operation` is EPOLL_CTL_ADD, _MOD or _DEL.
  void watch(int epfd, int operation, int fd, std::uint32_t events);
  /// At most `most` ready descriptors, each with its events.
  std::vector<std::pair<int, std::uint32_t>> ready(int epfd, std::uint32_t most);

 private:
  std::int64_t done(const char* call, Result result);
  Name name_from(const char* call, int fd, bool peer);

  Calls& calls_;
  Sockets sockets_;
};

}  // namespace lockstep::tools::python
