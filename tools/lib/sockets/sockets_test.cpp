// Sockets end to end: connecting, accepting, data, closing, and what poll reports meanwhile.
#include <algorithm>

#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

class SocketsTest : public Kit {};

TEST_F(SocketsTest, Echo) {
  join();
  EXPECT_EQ(send(l, near, "hello"), 5);
  pass();
  EXPECT_EQ(receive(r, far), "hello");
  EXPECT_EQ(send(r, far, "hello yourself"), 14);
  pass();
  EXPECT_EQ(receive(l, near, 5), "hello");
  EXPECT_EQ(receive(l, near), " yourself");
  EXPECT_EQ(receive(l, near), "EAGAIN");
}

TEST_F(SocketsTest, DescriptorsAreTheLowest) {
  EXPECT_EQ(make(l), 3);
  EXPECT_EQ(make(l), 4);
  EXPECT_EQ(make(l), 5);
  EXPECT_EQ(lockstep_close(l, 4), 0);
  EXPECT_EQ(make(l), 4);
  EXPECT_EQ(make(l), 6);
}

TEST_F(SocketsTest, ConnectReportsProgress) {
  int const fd = make(l);
  EXPECT_EQ(ready(l, fd), out | POLLHUP);
  listening();
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "EINPROGRESS");
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "EALREADY");
  EXPECT_EQ(ready(l, fd), 0);
  EXPECT_EQ(outcome(send(l, fd, "x")), "EAGAIN");
  EXPECT_EQ(receive(l, fd), "EAGAIN");
  EXPECT_EQ(outcome(lockstep_getpeername(l, fd, nullptr, nullptr)), "ENOTCONN");
  pass();
  EXPECT_EQ(ready(l, fd), out);
  EXPECT_EQ(error_of(l, fd), "0");
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "0");
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "EISCONN");
}

TEST_F(SocketsTest, NobodyListens) {
  int const fd = make(l);
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "EINPROGRESS");
  pass();
  EXPECT_EQ(ready(l, fd), in | out | POLLRDHUP | POLLHUP | POLLERR);
  EXPECT_EQ(error_of(l, fd), "ECONNREFUSED");
  EXPECT_EQ(error_of(l, fd), "0");
  EXPECT_EQ(ready(l, fd), in | out | POLLRDHUP | POLLHUP);
  EXPECT_EQ(receive(l, fd), "");
  EXPECT_EQ(outcome(send(l, fd, "x")), "EPIPE");
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "ECONNABORTED");
  // The socket can then connect anew.
  listening();
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "EINPROGRESS");
  pass();
  EXPECT_EQ(ready(l, fd), out);
}

TEST_F(SocketsTest, ConnectReportsTheFailure) {
  int const fd = make(l);
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "EINPROGRESS");
  pass();
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "ECONNREFUSED");
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "EINPROGRESS");
}

TEST_F(SocketsTest, NobodyAnswers) {
  int const fd = make(l);
  pair.cut(true);
  EXPECT_EQ(outcome(connect(l, fd, name4(2, port))), "EINPROGRESS");
  pass(Duration::seconds(179));
  EXPECT_EQ(ready(l, fd), 0);
  pass(Duration::seconds(2));
  EXPECT_EQ(ready(l, fd), in | out | POLLRDHUP | POLLHUP | POLLERR);
  EXPECT_EQ(error_of(l, fd), "ETIMEDOUT");
}

TEST_F(SocketsTest, NamesOfBothEnds) {
  join();
  sockaddr_in local{};
  sockaddr_in remote{};
  socklen_t length = sizeof local;
  EXPECT_EQ(lockstep_getsockname(l, near, reinterpret_cast<sockaddr*>(&local), &length), 0);
  EXPECT_EQ(length, sizeof local);
  EXPECT_EQ(ntohl(local.sin_addr.s_addr), 0x0a000001u);
  EXPECT_NE(local.sin_port, 0);
  EXPECT_EQ(lockstep_getpeername(r, far, reinterpret_cast<sockaddr*>(&remote), &length), 0);
  EXPECT_EQ(std::memcmp(&local, &remote, sizeof local), 0);
  EXPECT_EQ(lockstep_getpeername(l, near, reinterpret_cast<sockaddr*>(&remote), &length), 0);
  EXPECT_EQ(ntohs(remote.sin_port), port);
}

TEST_F(SocketsTest, AcceptNamesThePeerAndCutsItToTheLength) {
  listener = listening();
  near = make(l);
  static_cast<void>(connect(l, near, name4(2, port)));
  EXPECT_EQ(outcome(lockstep_accept(r, listener, nullptr, nullptr)), "EAGAIN");
  EXPECT_EQ(ready(r, listener), 0);
  pass();
  EXPECT_EQ(ready(r, listener), in);
  sockaddr_in name{};
  socklen_t length = 4;
  far = lockstep_accept(r, listener, reinterpret_cast<sockaddr*>(&name), &length);
  EXPECT_EQ(far, 4);
  EXPECT_EQ(length, sizeof name);
  EXPECT_EQ(name.sin_family, AF_INET);
  EXPECT_NE(name.sin_port, 0);
  EXPECT_EQ(name.sin_addr.s_addr, 0u);  // beyond *length, so not written
}

TEST_F(SocketsTest, TheQueueHoldsTheBacklogAndOneMore) {
  listener = listening(1);
  std::vector<int> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(make(l));
    static_cast<void>(connect(l, callers.back(), name4(2, port)));
    pass();
  }
  // Two wait in the socket; the rest stay in the stack until there is room.
  EXPECT_EQ(pair.right.counters().accepted, 2u);
  int accepted = 0;
  for (int round = 0; round < 8; ++round) {
    while (lockstep_accept(r, listener, nullptr, nullptr) >= 0) {
      ++accepted;
    }
    pass(Duration::seconds(10));
  }
  EXPECT_EQ(accepted, 8);
}

TEST_F(SocketsTest, HalfClose) {
  join();
  EXPECT_EQ(send(l, near, "last words"), 10);
  EXPECT_EQ(lockstep_shutdown(l, near, SHUT_WR), 0);
  EXPECT_EQ(outcome(send(l, near, "x")), "EPIPE");
  pass();
  EXPECT_EQ(ready(r, far), in | out | POLLRDHUP);
  EXPECT_EQ(receive(r, far), "last words");
  EXPECT_EQ(receive(r, far), "");
  EXPECT_EQ(receive(r, far), "");
  EXPECT_EQ(send(r, far, "answer"), 6);
  pass();
  EXPECT_EQ(receive(l, near), "answer");
  EXPECT_EQ(ready(l, near), out);
  EXPECT_EQ(lockstep_shutdown(r, far, SHUT_WR), 0);
  pass();
  EXPECT_EQ(receive(l, near), "");
  EXPECT_EQ(ready(l, near), in | out | POLLRDHUP | POLLHUP);
  EXPECT_EQ(error_of(l, near), "0");
}

TEST_F(SocketsTest, ShutdownOfReadingEndsReads) {
  join();
  EXPECT_EQ(send(l, near, "there"), 5);
  pass();
  EXPECT_EQ(lockstep_shutdown(r, far, SHUT_RD), 0);
  EXPECT_EQ(receive(r, far), "there");
  EXPECT_EQ(receive(r, far), "");
  EXPECT_EQ(ready(r, far), in | out | POLLRDHUP);
  EXPECT_EQ(send(r, far, "still sends!"), 12);
}

TEST_F(SocketsTest, CloseWithUnreadDataResets) {
  join();
  EXPECT_EQ(send(l, near, "unread"), 6);
  pass();
  EXPECT_EQ(lockstep_close(r, far), 0);
  pass();
  EXPECT_EQ(ready(l, near), in | out | POLLRDHUP | POLLHUP | POLLERR);
  EXPECT_EQ(receive(l, near), "ECONNRESET");
  EXPECT_EQ(receive(l, near), "");
  EXPECT_EQ(outcome(send(l, near, "x")), "EPIPE");
  EXPECT_EQ(outcome(lockstep_getpeername(l, near, nullptr, nullptr)), "ENOTCONN");
}

TEST_F(SocketsTest, AResetDiscardsUnreadData) {
  join();
  EXPECT_EQ(send(r, far, "will be lost"), 12);
  pass();
  struct linger hard{1, 0};
  EXPECT_EQ(lockstep_setsockopt(r, far, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
  EXPECT_EQ(lockstep_close(r, far), 0);
  pass();
  EXPECT_EQ(outcome(send(l, near, "x")), "ECONNRESET");
  EXPECT_EQ(outcome(send(l, near, "x")), "EPIPE");
  EXPECT_EQ(receive(l, near), "");
}

TEST_F(SocketsTest, CloseSendsWhatIsQueued) {
  join();
  std::string const text(20'000, 'q');
  EXPECT_EQ(send(l, near, text), 20'000);
  EXPECT_EQ(lockstep_close(l, near), 0);
  EXPECT_EQ(outcome(lockstep_close(l, near)), "EBADF");
  std::string heard;
  for (int i = 0; i < 100 && heard.size() < text.size(); ++i) {
    pass();
    heard += receive(r, far);
  }
  EXPECT_EQ(heard, text);
  EXPECT_EQ(receive(r, far), "");
  EXPECT_EQ(lockstep_close(r, far), 0);
  pass(Duration::seconds(120));
  EXPECT_EQ(pair.left.stack().pools().connections, 0u);
  EXPECT_EQ(pair.right.stack().pools().connections, 0u);
}

TEST_F(SocketsTest, ClosingAListenerResetsWaitingConnections) {
  listener = listening();
  near = make(l);
  static_cast<void>(connect(l, near, name4(2, port)));
  pass();
  EXPECT_EQ(ready(l, near), out);
  EXPECT_EQ(lockstep_close(r, listener), 0);
  pass();
  EXPECT_EQ(error_of(l, near), "ECONNRESET");
  int const late = make(l);
  static_cast<void>(connect(l, late, name4(2, port)));
  pass();
  EXPECT_EQ(error_of(l, late), "ECONNREFUSED");
  EXPECT_EQ(pair.right.stack().pools().connections, 0u);
}

TEST_F(SocketsTest, AConnectionResetBeforeAcceptIsStillAccepted) {
  listener = listening();
  near = make(l);
  static_cast<void>(connect(l, near, name4(2, port)));
  pass();
  struct linger hard{1, 0};
  EXPECT_EQ(lockstep_setsockopt(l, near, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
  EXPECT_EQ(lockstep_close(l, near), 0);
  pass();
  far = lockstep_accept(r, listener, nullptr, nullptr);
  ASSERT_GE(far, 0);
  EXPECT_EQ(receive(r, far), "ECONNRESET");
}

TEST_F(SocketsTest, AFullBufferGivesEagainUntilThereIsRoom) {
  join();
  std::string const text(1 << 16, 't');
  std::size_t sent = 0;
  for (int i = 0; i < 100; ++i) {
    ssize_t const took = send(l, near, text);
    if (took < 0) {
      EXPECT_EQ(outcome(took), "EAGAIN");
      break;
    }
    sent += static_cast<std::size_t>(took);
  }
  EXPECT_GE(sent, std::size_t{131'072});
  EXPECT_EQ(ready(l, near), 0);
  std::size_t heard = 0;
  for (int i = 0; i < 1000 && heard < sent; ++i) {
    pass();
    std::string const part = receive(r, far);
    heard += part == "EAGAIN" ? 0 : part.size();
  }
  EXPECT_EQ(heard, sent);
  EXPECT_EQ(ready(l, near), out);
}

TEST_F(SocketsTest, SixAndMappedFour) {
  int const six = make(r, AF_INET6);
  EXPECT_EQ(outcome(bind(r, six, name6("::", port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(r, six, 5)), "0");
  int const by_four = make(l);
  int const by_six = make(l, AF_INET6);
  int const mapped = make(l, AF_INET6);
  EXPECT_EQ(outcome(connect(l, by_four, name4(2, port))), "EINPROGRESS");
  pass();
  EXPECT_EQ(outcome(connect(l, by_six, name6("fd00::2", port))), "EINPROGRESS");
  pass();
  EXPECT_EQ(outcome(connect(l, mapped, name6("::ffff:10.0.0.2", port))), "EINPROGRESS");
  pass();
  for (char const* const expected : {"::ffff:10.0.0.1", "fd00::1", "::ffff:10.0.0.1"}) {
    sockaddr_in6 name{};
    socklen_t length = sizeof name;
    int const fd = lockstep_accept(r, six, reinterpret_cast<sockaddr*>(&name), &length);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(length, sizeof name);
    char text[INET6_ADDRSTRLEN];
    EXPECT_STREQ(inet_ntop(AF_INET6, &name.sin6_addr, text, sizeof text), expected);
    EXPECT_EQ(send(r, fd, "six"), 3);
  }
  pass();
  EXPECT_EQ(receive(l, by_four), "six");
  EXPECT_EQ(receive(l, by_six), "six");
  EXPECT_EQ(receive(l, mapped), "six");
}

TEST_F(SocketsTest, AListenerAcceptsItsFamilyOnly) {
  int const four = make(r);
  EXPECT_EQ(outcome(bind(r, four, name4(0, port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(r, four, 5)), "0");
  int const by_six = make(l, AF_INET6);
  static_cast<void>(connect(l, by_six, name6("fd00::2", port)));
  pass();
  EXPECT_EQ(error_of(l, by_six), "ECONNREFUSED");
  // So a socket restricted to IPv6 may use the same port.
  int const six = make(r, AF_INET6);
  EXPECT_EQ(set(r, six, IPPROTO_IPV6, IPV6_V6ONLY, 1), 0);
  EXPECT_EQ(outcome(bind(r, six, name6("::", port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(r, six, 5)), "0");
  static_cast<void>(connect(l, by_six, name6("fd00::2", port)));
  static_cast<void>(connect(l, by_six, name6("fd00::2", port)));
  int const by_four = make(l);
  static_cast<void>(connect(l, by_four, name4(2, port)));
  pass();
  EXPECT_EQ(ready(r, six), in);
  EXPECT_EQ(ready(r, four), in);
}

}  // namespace
}  // namespace lockstep::tools::testing
