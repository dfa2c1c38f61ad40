// Every errno that a call can set, in tables: a call, a situation, the errno's name.
#include <fcntl.h>
#include <sys/ioctl.h>

#include <functional>

#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

// A call on a context and a descriptor, as one line of a table.
using Call = std::function<ssize_t(lockstep_sockets*, int)>;
struct Line {
  const char* what;
  Call call;
};

sockaddr_in const peer_name = name4(2, 80);
const sockaddr* peer_address() { return reinterpret_cast<const sockaddr*>(&peer_name); }
char text[16];
iovec part{text, 1};
sockaddr* text_as_name() { return reinterpret_cast<sockaddr*>(text); }

// Each call that needs a socket, with valid arguments.
std::vector<Line> calls() {
  static socklen_t length;
  static int value;
  static msghdr message;
  length = sizeof value;
  message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return {
      {"bind",
       [](auto* s, int fd) {
         return ssize_t{lockstep_bind(s, fd, peer_address(), sizeof peer_name)};
       }},
      {"listen", [](auto* s, int fd) { return ssize_t{lockstep_listen(s, fd, 1)}; }},
      {"accept", [](auto* s, int fd) { return ssize_t{lockstep_accept(s, fd, nullptr, nullptr)}; }},
      {"connect",
       [](auto* s, int fd) {
         return ssize_t{lockstep_connect(s, fd, peer_address(), sizeof peer_name)};
       }},
      {"shutdown", [](auto* s, int fd) { return ssize_t{lockstep_shutdown(s, fd, SHUT_RD)}; }},
      {"getsockname",
       [](auto* s, int fd) {
         return ssize_t{lockstep_getsockname(s, fd, text_as_name(), &length)};
       }},
      {"getpeername",
       [](auto* s, int fd) {
         return ssize_t{lockstep_getpeername(s, fd, text_as_name(), &length)};
       }},
      {"recv", [](auto* s, int fd) { return lockstep_recv(s, fd, text, 1, 0); }},
      {"read", [](auto* s, int fd) { return lockstep_read(s, fd, text, 1); }},
      {"readv", [](auto* s, int fd) { return lockstep_readv(s, fd, &part, 1); }},
      {"recvfrom",
       [](auto* s, int fd) { return lockstep_recvfrom(s, fd, text, 1, 0, nullptr, nullptr); }},
      {"recvmsg", [](auto* s, int fd) { return lockstep_recvmsg(s, fd, &message, 0); }},
      {"send", [](auto* s, int fd) { return lockstep_send(s, fd, text, 1, 0); }},
      {"write", [](auto* s, int fd) { return lockstep_write(s, fd, text, 1); }},
      {"writev", [](auto* s, int fd) { return lockstep_writev(s, fd, &part, 1); }},
      {"sendto", [](auto* s, int fd) { return lockstep_sendto(s, fd, text, 1, 0, nullptr, 0); }},
      {"sendmsg", [](auto* s, int fd) { return lockstep_sendmsg(s, fd, &message, 0); }},
      {"getsockopt",
       [](auto* s, int fd) {
         length = sizeof value;
         return ssize_t{lockstep_getsockopt(s, fd, SOL_SOCKET, SO_TYPE, &value, &length)};
       }},
      {"setsockopt",
       [](auto* s, int fd) {
         return ssize_t{lockstep_setsockopt(s, fd, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof value)};
       }},
      {"ioctl", [](auto* s, int fd) { return ssize_t{lockstep_ioctl(s, fd, FIONREAD, &value)}; }},
  };
}

class ErrorsTest : public Kit {
 protected:
  void each(lockstep_sockets* s, int fd, const std::vector<Line>& lines, const char* expected) {
    for (Line const& line : lines) {
      EXPECT_EQ(outcome(line.call(s, fd)), expected) << line.what;
    }
  }
  static std::vector<Line> but(std::initializer_list<std::string> left_out) {
    std::vector<Line> out = calls();
    std::erase_if(out, [&](const Line& line) {
      return std::find(left_out.begin(), left_out.end(), line.what) != left_out.end();
    });
    return out;
  }
};

TEST_F(ErrorsTest, NotOpen) {
  for (int const fd : {-1, 0, 2, 3, 100'000}) {
    each(l, fd, calls(), "EBADF");
    EXPECT_EQ(outcome(lockstep_close(l, fd)), "EBADF");
    EXPECT_EQ(outcome(lockstep_fcntl(l, fd, F_GETFL, 0)), "EBADF");
  }
  int const fd = make(l);
  EXPECT_EQ(lockstep_close(l, fd), 0);
  each(l, fd, calls(), "EBADF");
}

TEST_F(ErrorsTest, NoSocket) {
  int const fd = lockstep_epoll_create1(l, 0);
  ASSERT_GE(fd, 0);
  each(l, fd, calls(), "ENOTSOCK");
  EXPECT_EQ(outcome(lockstep_fcntl(l, fd, F_GETFL, 0)), "EINVAL");
  EXPECT_EQ(lockstep_close(l, fd), 0);
}

TEST_F(ErrorsTest, NotConnected) {
  int const fd = make(l);
  each(l, fd,
       but({"bind", "listen", "accept", "connect", "getsockname", "getsockopt", "setsockopt",
            "ioctl"}),
       "ENOTCONN");
  EXPECT_EQ(outcome(lockstep_accept(l, fd, nullptr, nullptr)), "EINVAL");
}

TEST_F(ErrorsTest, AListenerHasNoData) {
  int const fd = listening();
  each(r, fd,
       but({"bind", "listen", "accept", "connect", "shutdown", "getsockname", "getsockopt",
            "setsockopt", "ioctl"}),
       "ENOTCONN");
  EXPECT_EQ(outcome(connect(r, fd, name4(1, 9))), "EOPNOTSUPP");
  EXPECT_EQ(outcome(lockstep_shutdown(r, fd, SHUT_WR)), "ENOTCONN");
  int value = 0;
  EXPECT_EQ(outcome(lockstep_ioctl(r, fd, FIONREAD, &value)), "EINVAL");
  EXPECT_EQ(outcome(bind(r, fd, name4(0, 81))), "EINVAL");
}

TEST_F(ErrorsTest, Connected) {
  join();
  EXPECT_EQ(outcome(bind(l, near, name4(0, 81))), "EINVAL");
  EXPECT_EQ(outcome(lockstep_listen(l, near, 1)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_accept(l, near, nullptr, nullptr)), "EINVAL");
  EXPECT_EQ(outcome(connect(r, far, name4(1, 80))), "EISCONN");
  EXPECT_EQ(outcome(lockstep_shutdown(l, near, 3)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_shutdown(l, near, -1)), "EINVAL");
}

TEST_F(ErrorsTest, Socket) {
  EXPECT_EQ(outcome(lockstep_socket(l, AF_UNIX, SOCK_STREAM, 0)), "EAFNOSUPPORT");
  EXPECT_EQ(outcome(lockstep_socket(l, -1, SOCK_STREAM, 0)), "EAFNOSUPPORT");
  EXPECT_EQ(outcome(lockstep_socket(l, AF_INET, SOCK_DGRAM, 0)), "EPROTOTYPE");
  EXPECT_EQ(outcome(lockstep_socket(l, AF_INET, SOCK_STREAM | 0x100000, 0)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_socket(l, AF_INET, SOCK_STREAM, IPPROTO_UDP)), "EPROTONOSUPPORT");
  EXPECT_EQ(outcome(lockstep_socket(l, AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP)), "3");
}

TEST_F(ErrorsTest, Bind) {
  int const fd = make(r);
  int const six = make(r, AF_INET6);
  EXPECT_EQ(outcome(lockstep_bind(r, fd, nullptr, 16)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_bind(r, fd, peer_address(), 8)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_bind(r, fd, peer_address(), 1)), "EINVAL");
  EXPECT_EQ(outcome(bind(r, fd, name6("::", 80))), "EAFNOSUPPORT");
  EXPECT_EQ(outcome(bind(r, six, name4(0, 80))), "EAFNOSUPPORT");
  EXPECT_EQ(outcome(bind(r, fd, name4(3, 80))), "EADDRNOTAVAIL");
  EXPECT_EQ(outcome(bind(r, six, name6("fd00::3", 80))), "EADDRNOTAVAIL");
  EXPECT_EQ(outcome(bind(r, fd, name4(2, 80))), "0");
  EXPECT_EQ(outcome(bind(r, fd, name4(2, 81))), "EINVAL");
  // A name that overlaps is refused, by the same address or by the wildcard.
  int const other = make(r);
  EXPECT_EQ(outcome(bind(r, other, name4(2, 80))), "EADDRINUSE");
  EXPECT_EQ(outcome(bind(r, other, name4(0, 80))), "EADDRINUSE");
  EXPECT_EQ(outcome(bind(r, six, name6("::", 80))), "EADDRINUSE");
  EXPECT_EQ(outcome(bind(r, six, name6("::ffff:10.0.0.2", 80))), "EADDRINUSE");
  EXPECT_EQ(outcome(bind(r, six, name6("fd00::2", 80))), "0");
  EXPECT_EQ(outcome(bind(r, other, name4(2, 81))), "0");
  // A name is free once its socket is closed.
  EXPECT_EQ(lockstep_close(r, fd), 0);
  int const again = make(r);
  EXPECT_EQ(outcome(bind(r, again, name4(2, 80))), "0");
}

TEST_F(ErrorsTest, ReuseOfANameWithoutAListener) {
  int const one = make(r);
  int const two = make(r);
  int const plain = make(r);
  EXPECT_EQ(set(r, one, SOL_SOCKET, SO_REUSEADDR, 1), 0);
  EXPECT_EQ(set(r, two, SOL_SOCKET, SO_REUSEADDR, 1), 0);
  EXPECT_EQ(outcome(bind(r, one, name4(0, 80))), "0");
  EXPECT_EQ(outcome(bind(r, two, name4(0, 80))), "0");
  EXPECT_EQ(outcome(bind(r, plain, name4(0, 80))), "EADDRINUSE");
  EXPECT_EQ(outcome(lockstep_listen(r, one, 1)), "0");
  EXPECT_EQ(outcome(lockstep_listen(r, two, 1)), "EADDRINUSE");
  int const three = make(r);
  EXPECT_EQ(set(r, three, SOL_SOCKET, SO_REUSEADDR, 1), 0);
  EXPECT_EQ(outcome(bind(r, three, name4(0, 80))), "EADDRINUSE");
}

TEST_F(ErrorsTest, PortsAreDrawnUntilNoneIsLeft) {
  PairOf of;
  of.left.tcp.port_first = {50'000};
  of.left.tcp.port_last = {50'003};
  SocketPair few(of);
  lockstep_sockets* const s = few.left.c();
  for (int i = 0; i < 4; ++i) {
    int const fd = make(s);
    EXPECT_EQ(outcome(bind(s, fd, name4(0, 0))), "0");
    sockaddr_in name{};
    socklen_t length = sizeof name;
    EXPECT_EQ(lockstep_getsockname(s, fd, reinterpret_cast<sockaddr*>(&name), &length), 0);
    EXPECT_GE(ntohs(name.sin_port), 50'000);
    EXPECT_LE(ntohs(name.sin_port), 50'003);
  }
  EXPECT_EQ(outcome(bind(s, make(s), name4(0, 0))), "EADDRINUSE");
  EXPECT_EQ(outcome(lockstep_listen(s, make(s), 1)), "EADDRINUSE");
}

TEST_F(ErrorsTest, Connect) {
  int const fd = make(l);
  int const six = make(l, AF_INET6);
  EXPECT_EQ(outcome(lockstep_connect(l, fd, nullptr, 16)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_connect(l, fd, peer_address(), 15)), "EINVAL");
  EXPECT_EQ(outcome(connect(l, fd, name6("fd00::2", 80))), "EAFNOSUPPORT");
  EXPECT_EQ(outcome(connect(l, fd, name4(2, 0))), "EADDRNOTAVAIL");
  sockaddr_in group = peer_name;
  group.sin_addr.s_addr = htonl(0xe000'0001);
  EXPECT_EQ(outcome(connect(l, fd, group)), "ENETUNREACH");
  EXPECT_EQ(outcome(connect(l, fd, name4(0, 80))), "ENETUNREACH");
  EXPECT_EQ(set(l, six, IPPROTO_IPV6, IPV6_V6ONLY, 1), 0);
  EXPECT_EQ(outcome(connect(l, six, name6("::ffff:10.0.0.2", 80))), "ENETUNREACH");
  int const named = make(l, AF_INET6);
  EXPECT_EQ(outcome(bind(l, named, name6("fd00::1", 99))), "0");
  EXPECT_EQ(outcome(connect(l, named, name6("::ffff:10.0.0.2", 80))), "EADDRNOTAVAIL");
  // Two connections between the same pair of names.
  listening();
  int const one = make(l);
  int const two = make(l);
  EXPECT_EQ(set(l, one, SOL_SOCKET, SO_REUSEADDR, 1), 0);
  EXPECT_EQ(set(l, two, SOL_SOCKET, SO_REUSEADDR, 1), 0);
  EXPECT_EQ(outcome(bind(l, one, name4(1, 1234))), "0");
  EXPECT_EQ(outcome(bind(l, two, name4(1, 1234))), "0");
  EXPECT_EQ(outcome(connect(l, one, name4(2, port))), "EINPROGRESS");
  EXPECT_EQ(outcome(connect(l, two, name4(2, port))), "EADDRINUSE");
}

TEST_F(ErrorsTest, AddressesWithoutALength) {
  listener = listening();
  near = make(l);
  static_cast<void>(connect(l, near, name4(2, port)));
  pass();
  sockaddr_in name{};
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  auto negative = static_cast<socklen_t>(-1);
  EXPECT_EQ(outcome(lockstep_accept(r, listener, address, nullptr)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_accept(r, listener, address, &negative)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_accept4(r, listener, nullptr, nullptr, 1)), "EINVAL");
  far = lockstep_accept4(r, listener, nullptr, nullptr, SOCK_NONBLOCK);
  ASSERT_GE(far, 0);  // the connection was still waiting
  EXPECT_EQ(lockstep_fcntl(r, far, F_GETFL, 0), O_RDWR | O_NONBLOCK);
  EXPECT_EQ(outcome(lockstep_getpeername(r, far, address, nullptr)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_getpeername(r, far, address, &negative)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_getsockname(r, far, nullptr, nullptr)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_recvfrom(r, far, text, 1, 0, address, nullptr)), "EFAULT");
}

TEST_F(ErrorsTest, BuffersThatAreNull) {
  join();
  EXPECT_EQ(outcome(lockstep_recv(l, near, nullptr, 1, 0)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_recv(l, near, nullptr, 0, 0)), "0");
  EXPECT_EQ(outcome(lockstep_send(l, near, nullptr, 1, 0)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_send(l, near, nullptr, 0, 0)), "0");
  EXPECT_EQ(outcome(lockstep_readv(l, near, nullptr, 1)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_writev(l, near, nullptr, 1)), "EFAULT");
  iovec const nothing{nullptr, 1};
  EXPECT_EQ(outcome(lockstep_readv(l, near, &nothing, 1)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_writev(l, near, &nothing, 1)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_recvmsg(l, near, nullptr, 0)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_sendmsg(l, near, nullptr, 0)), "EFAULT");
  msghdr message{};
  message.msg_iovlen = 1;
  EXPECT_EQ(outcome(lockstep_recvmsg(l, near, &message, 0)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_ioctl(l, near, FIONREAD, nullptr)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_poll(l, nullptr, 1)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_poll(l, nullptr, 0)), "0");
  socklen_t length = 4;
  EXPECT_EQ(outcome(lockstep_getsockopt(l, near, SOL_SOCKET, SO_TYPE, nullptr, &length)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_getsockopt(l, near, SOL_SOCKET, SO_TYPE, text, nullptr)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_setsockopt(l, near, SOL_SOCKET, SO_KEEPALIVE, nullptr, 4)), "EFAULT");
}

TEST_F(ErrorsTest, VectorsAndMessages) {
  join();
  EXPECT_EQ(outcome(lockstep_readv(l, near, &part, 0)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_readv(l, near, &part, -1)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_writev(l, near, &part, 1025)), "EINVAL");
  iovec const huge[2] = {{text, ~std::size_t{0} / 2}, {text, ~std::size_t{0} / 2}};
  EXPECT_EQ(outcome(lockstep_readv(l, near, huge, 2)), "EINVAL");
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1025;
  EXPECT_EQ(outcome(lockstep_sendmsg(l, near, &message, 0)), "EMSGSIZE");
  EXPECT_EQ(outcome(lockstep_recvmsg(l, near, &message, 0)), "EMSGSIZE");
  message.msg_iovlen = 1;
  message.msg_control = text;
  message.msg_controllen = sizeof text;
  EXPECT_EQ(outcome(lockstep_sendmsg(l, near, &message, 0)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_recv(l, near, text, 1, MSG_ERRQUEUE)), "EOPNOTSUPP");
  EXPECT_EQ(outcome(lockstep_send(l, near, text, 1, MSG_CONFIRM)), "EOPNOTSUPP");
  EXPECT_EQ(outcome(lockstep_recv(l, near, text, 1, MSG_OOB)), "EINVAL");
}

TEST_F(ErrorsTest, ControlAndQueries) {
  int const fd = make(l);
  int value = 1;
  EXPECT_EQ(outcome(lockstep_ioctl(l, fd, 0x1234, &value)), "ENOTTY");
  EXPECT_EQ(lockstep_ioctl(l, fd, FIONBIO, &value), 0);
  EXPECT_EQ(lockstep_fcntl(l, fd, F_GETFL, 0), O_RDWR | O_NONBLOCK);
  EXPECT_EQ(lockstep_fcntl(l, fd, F_SETFL, O_RDWR), 0);
  EXPECT_EQ(lockstep_fcntl(l, fd, F_GETFL, 0), O_RDWR);
  EXPECT_EQ(outcome(lockstep_fcntl(l, fd, F_SETFL, O_APPEND)), "EINVAL");
  EXPECT_EQ(lockstep_fcntl(l, fd, F_SETFD, FD_CLOEXEC), 0);
  EXPECT_EQ(lockstep_fcntl(l, fd, F_GETFD, 0), FD_CLOEXEC);
  EXPECT_EQ(outcome(lockstep_fcntl(l, fd, F_DUPFD, 0)), "EINVAL");
}

TEST_F(ErrorsTest, DescriptorsRunOut) {
  PairOf of;
  of.right_sockets.descriptors = {0, Count{2}};
  SocketPair few(of);
  lockstep_sockets* const left = few.left.c();
  lockstep_sockets* const right = few.right.c();
  int const fd = make(right);
  EXPECT_EQ(fd, 0);
  EXPECT_EQ(outcome(bind(right, fd, name4(0, 80))), "0");
  EXPECT_EQ(outcome(lockstep_listen(right, fd, 5)), "0");
  int const other = make(right);
  EXPECT_EQ(outcome(make(right)), "EMFILE");
  EXPECT_EQ(outcome(lockstep_epoll_create1(right, 0)), "EMFILE");
  static_cast<void>(connect(left, make(left), name4(2, 80)));
  few.run(Duration::milliseconds(1));
  EXPECT_EQ(outcome(lockstep_accept(right, fd, nullptr, nullptr)), "EMFILE");
  EXPECT_EQ(lockstep_close(right, other), 0);
  EXPECT_EQ(outcome(lockstep_accept(right, fd, nullptr, nullptr)), "1");
  pollfd entries[3] = {{0, 0, 0}, {1, 0, 0}, {1, 0, 0}};
  EXPECT_EQ(outcome(lockstep_poll(right, entries, 3)), "EINVAL");
}

TEST_F(ErrorsTest, PoolsRunOut) {
  PairOf of;
  of.left.tcp.connections_max = Count{2};
  of.left.tcp.listeners_max = Count{1};
  SocketPair few(of);
  lockstep_sockets* const s = few.left.c();
  EXPECT_EQ(outcome(connect(s, make(s), name4(2, 80))), "EINPROGRESS");
  EXPECT_EQ(outcome(connect(s, make(s), name4(2, 80))), "EINPROGRESS");
  EXPECT_EQ(outcome(connect(s, make(s), name4(2, 80))), "ENOBUFS");
  int const six = make(s, AF_INET6);
  EXPECT_EQ(outcome(lockstep_listen(s, six, 1)), "0");
  EXPECT_EQ(outcome(lockstep_listen(s, make(s, AF_INET6), 1)), "ENOBUFS");
}

}  // namespace
}  // namespace lockstep::tools::testing
