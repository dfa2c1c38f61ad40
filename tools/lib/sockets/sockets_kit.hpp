// For tests of sockets: a pair of stacks, short forms of the C calls, and errno by name.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "core/stack/statistics.hpp"
#include "tools/lib/sockets/pair.hpp"

namespace lockstep::tools::testing {

inline sockaddr_in name4(std::uint8_t host, std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(host == 0 ? 0u : 0x0a00'0000u | host);
  return name;
}

inline sockaddr_in6 name6(const char* text, std::uint16_t port) {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET6, text, &name.sin6_addr), 1) << text;
  return name;
}

/// The result as a number, or the errno's name if the call returned -1.
inline std::string outcome(ssize_t result) {
  if (result != -1) {
    return std::to_string(result);
  }
  char const* const name = strerrorname_np(errno);
  return name == nullptr ? std::to_string(errno) : name;
}

class Kit : public ::testing::Test {
 protected:
  static constexpr std::uint16_t port = 80;

  explicit Kit(const PairOf& of = {}) : pair(of), l(pair.left.c()), r(pair.right.c()) {}
  void TearDown() override { check(); }

  void check() {
    pair.left.check_invariants();
    pair.right.check_invariants();
    pair.left.stack().check_invariants();
    pair.right.stack().check_invariants();
  }
  void pass(Duration by = Duration::milliseconds(1)) {
    pair.run(by);
    check();
  }

  template <class Name>
  static const sockaddr* as_name(const Name& name) {
    return reinterpret_cast<const sockaddr*>(&name);
  }
  static int make(lockstep_sockets* s, int domain = AF_INET) {
    return lockstep_socket(s, domain, SOCK_STREAM, 0);
  }
  template <class Name>
  static int bind(lockstep_sockets* s, int fd, const Name& name) {
    return lockstep_bind(s, fd, as_name(name), sizeof name);
  }
  template <class Name>
  static int connect(lockstep_sockets* s, int fd, const Name& name) {
    return lockstep_connect(s, fd, as_name(name), sizeof name);
  }
  /// Listens on the right side.
  int listening(int backlog = 5) {
    int const fd = make(r);
    EXPECT_EQ(outcome(bind(r, fd, name4(0, port))), "0");
    EXPECT_EQ(outcome(lockstep_listen(r, fd, backlog)), "0");
    return fd;
  }
  /// Opens a connection: `near` on the left, `far` on the right.
  void join() {
    listener = listening();
    near = make(l);
    EXPECT_EQ(outcome(connect(l, near, name4(2, port))), "EINPROGRESS");
    pass();
    far = lockstep_accept(r, listener, nullptr, nullptr);
    ASSERT_GE(far, 0);
  }
  static ssize_t send(lockstep_sockets* s, int fd, const std::string& text, int flags = 0) {
    return lockstep_send(s, fd, text.data(), text.size(), flags);
  }
  /// Reads up to `most` octets; on failure returns the errno's name.
  static std::string receive(lockstep_sockets* s, int fd, std::size_t most = 65536, int flags = 0) {
    std::string text(most, '\0');
    ssize_t const got = lockstep_recv(s, fd, text.data(), text.size(), flags);
    return got < 0 ? outcome(got) : text.substr(0, static_cast<std::size_t>(got));
  }
  static short ready(lockstep_sockets* s, int fd, int events = 0x7fff) {
    pollfd entry{fd, static_cast<short>(events), 0};
    EXPECT_GE(lockstep_poll(s, &entry, 1), 0);
    return entry.revents;
  }
  /// SO_ERROR, as a name.
  static std::string error_of(lockstep_sockets* s, int fd) {
    int error = -1;
    socklen_t length = sizeof error;
    EXPECT_EQ(lockstep_getsockopt(s, fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
    errno = error;
    return error == 0 ? "0" : outcome(-1);
  }
  static int option(lockstep_sockets* s, int fd, int level, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    EXPECT_EQ(lockstep_getsockopt(s, fd, level, name, &value, &length), 0) << level << " " << name;
    return value;
  }
  /// All of TCP_INFO.
  static lockstep_tcp_info info(lockstep_sockets* s, int fd) {
    lockstep_tcp_info out{};
    socklen_t length = sizeof out;
    EXPECT_EQ(lockstep_getsockopt(s, fd, IPPROTO_TCP, TCP_INFO, &out, &length), 0);
    EXPECT_EQ(length, sizeof out);
    return out;
  }
  static int set(lockstep_sockets* s, int fd, int level, int name, int value) {
    return lockstep_setsockopt(s, fd, level, name, &value, sizeof value);
  }

  SocketPair pair;
  lockstep_sockets* l;
  lockstep_sockets* r;
  int listener = -1;
  int near = -1;
  int far = -1;
};

inline constexpr short in = POLLIN | POLLRDNORM;
inline constexpr short out = POLLOUT | POLLWRNORM;

}  // namespace lockstep::tools::testing
