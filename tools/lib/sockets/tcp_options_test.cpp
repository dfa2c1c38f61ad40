// Options of IPPROTO_TCP except TCP_INFO: the connection obeys what is set.
#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

class TcpOptionsTest : public Kit {};

std::string algorithm(lockstep_sockets* context, int fd) {
  char name[16];
  socklen_t length = sizeof name;
  EXPECT_EQ(lockstep_getsockopt(context, fd, IPPROTO_TCP, TCP_CONGESTION, name, &length), 0);
  return name;
}

TEST_F(TcpOptionsTest, TheAlgorithmIsTheConnections) {
  join();
  auto const choose = [&](const char* name) {
    return outcome(lockstep_setsockopt(l, near, IPPROTO_TCP, TCP_CONGESTION, name,
                                       static_cast<socklen_t>(std::strlen(name))));
  };
  EXPECT_EQ(algorithm(l, near), "cubic");
  for (const char* const each : {"reno", "dctcp", "cubic"}) {
    EXPECT_EQ(choose(each), "0");
    EXPECT_EQ(algorithm(l, near), each);
  }
  EXPECT_EQ(choose("bbr"), "ENOENT");
  EXPECT_EQ(choose(""), "EINVAL");
  EXPECT_EQ(algorithm(r, far), "cubic");
  // Reno halves the flight size; CUBIC would keep seven tenths.
  EXPECT_EQ(choose("reno"), "0");
  pair.cut(true);
  send(l, near, std::string(14'480, 'x'));
  pass(Duration::milliseconds(500));
  EXPECT_EQ(info(l, near).tcpi_snd_ssthresh, 5u);
}

TEST_F(TcpOptionsTest, WithoutAccountsOnlyTheStacksOwnValuesCanBeSet) {
  PairOf of;
  of.left.tcp.accounts = false;
  SocketPair plain(of);
  auto* const context = plain.left.c();
  int const fd = make(context);
  EXPECT_EQ(outcome(set(context, fd, IPPROTO_TCP, TCP_KEEPINTVL, 75)), "0");
  EXPECT_EQ(outcome(set(context, fd, IPPROTO_TCP, TCP_KEEPCNT, 9)), "0");
  EXPECT_EQ(lockstep_setsockopt(context, fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5), 0);
  EXPECT_EQ(outcome(set(context, fd, IPPROTO_TCP, TCP_KEEPINTVL, 74)), "ENOPROTOOPT");
  EXPECT_EQ(outcome(set(context, fd, IPPROTO_TCP, TCP_KEEPCNT, 8)), "ENOPROTOOPT");
  EXPECT_EQ(outcome(set(context, fd, IPPROTO_TCP, TCP_MAXSEG, 1000)), "ENOPROTOOPT");
  EXPECT_EQ(outcome(lockstep_setsockopt(context, fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4)),
            "ENOPROTOOPT");
}

TEST_F(TcpOptionsTest, ASegmentSizeHoldsForBothDirections) {
  // Set by the connecting side and announced in its SYN: the other side sends no larger segments.
  listener = make(r);
  ASSERT_EQ(outcome(bind(r, listener, name4(0, port))), "0");
  ASSERT_EQ(lockstep_listen(r, listener, 5), 0);
  near = make(l);
  ASSERT_EQ(set(l, near, IPPROTO_TCP, TCP_MAXSEG, 1000), 0);
  EXPECT_EQ(option(l, near, IPPROTO_TCP, TCP_MAXSEG), 1000);
  EXPECT_EQ(outcome(connect(l, near, name4(2, port))), "EINPROGRESS");
  pass();
  far = lockstep_accept(r, listener, nullptr, nullptr);
  ASSERT_GE(far, 0);
  EXPECT_EQ(option(l, near, IPPROTO_TCP, TCP_MAXSEG), 988);
  EXPECT_EQ(option(r, far, IPPROTO_TCP, TCP_MAXSEG), 988);
  // Set on a listener and announced in its SYN-ACK.
  ASSERT_EQ(lockstep_close(r, listener), 0);
  listener = make(r);
  ASSERT_EQ(set(r, listener, IPPROTO_TCP, TCP_MAXSEG, 800), 0);
  ASSERT_EQ(set(r, listener, SOL_SOCKET, SO_REUSEADDR, 1), 0);
  ASSERT_EQ(outcome(bind(r, listener, name4(0, port))), "0");
  ASSERT_EQ(lockstep_listen(r, listener, 5), 0);
  int const other = make(l);
  EXPECT_EQ(outcome(connect(l, other, name4(2, port))), "EINPROGRESS");
  pass();
  EXPECT_EQ(option(l, other, IPPROTO_TCP, TCP_MAXSEG), 788);
}

TEST_F(TcpOptionsTest, KeepAliveIsTheConnections) {
  join();
  for (auto const& [name, value] :
       {std::pair{TCP_KEEPIDLE, 10}, {TCP_KEEPINTVL, 2}, {TCP_KEEPCNT, 3}}) {
    ASSERT_EQ(set(l, near, IPPROTO_TCP, name, value), 0);
  }
  ASSERT_EQ(set(l, near, SOL_SOCKET, SO_KEEPALIVE, 1), 0);
  pair.cut(true);
  pass(Duration::milliseconds(15'900));
  EXPECT_EQ(info(l, near).tcpi_state, 1);
  pass(Duration::milliseconds(200));  // three probes, the last of them two seconds ago
  EXPECT_EQ(info(l, near).tcpi_state, 7);
}

TEST_F(TcpOptionsTest, FastOpenIsRefusedIfTheStackHasItOff) {
  int const fd = make(l);
  EXPECT_EQ(outcome(set(l, fd, IPPROTO_TCP, TCP_FASTOPEN, 5)), "ENOPROTOOPT");
  sockaddr_in const to = name4(2, port);
  EXPECT_EQ(outcome(lockstep_sendto(l, fd, "x", 1, MSG_FASTOPEN, as_name(to), sizeof to)),
            "EOPNOTSUPP");
}

// In profile linux clients have it, and servers have not.
TEST_F(TcpOptionsTest, FastOpenOfClientsAloneLeavesAListenerWithoutIt) {
  PairOf of;
  of.left.tcp.fast_open_client = true;
  SocketPair fast(of);
  lockstep_sockets* const a = fast.left.c();
  int const fd = make(a);
  EXPECT_EQ(outcome(set(a, fd, IPPROTO_TCP, TCP_FASTOPEN, 5)), "0");
  EXPECT_EQ(outcome(bind(a, fd, name4(0, port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(a, fd, 5)), "0");
}

TEST_F(TcpOptionsTest, FastOpenByTheOptionOfAClientTakesTheDataAtOnce) {
  PairOf of;
  of.left.tcp.fast_open_client = true;
  of.right.tcp.fast_open_server = true;
  SocketPair fast(of);
  lockstep_sockets* const a = fast.left.c();
  lockstep_sockets* const b = fast.right.c();
  int const server = make(b);
  EXPECT_EQ(outcome(set(b, server, IPPROTO_TCP, TCP_FASTOPEN, 5)), "0");
  sockaddr_in const to = name4(2, port);
  EXPECT_EQ(outcome(bind(b, server, name4(0, port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(b, server, 5)), "0");
  for (bool const in_syn : {false, true}) {
    int const fd = make(a);
    EXPECT_EQ(outcome(lockstep_sendto(a, fd, "early", 5, 0, as_name(to), sizeof to)), "ENOTCONN");
    EXPECT_EQ(outcome(set(a, fd, IPPROTO_TCP, TCP_FASTOPEN, 1)), "0");
    EXPECT_EQ(outcome(lockstep_sendto(a, fd, "early", 5, 0, as_name(to), sizeof to)), "5");
    fast.run(Duration::milliseconds(1));
    EXPECT_EQ((info(a, fd).tcpi_options & 32) != 0, in_syn);
    int const got = lockstep_accept(b, server, nullptr, nullptr);
    ASSERT_GE(got, 0);
    EXPECT_EQ(receive(b, got), "early");
  }
}

TEST_F(TcpOptionsTest, ErrorsOfCallsAreThoseOfLinuxIfConfigSaysSo) {
  PairOf of;
  of.left.tcp.errors_like_linux = true;
  SocketPair pair_of(of);
  lockstep_sockets* const a = pair_of.left.c();
  int const fd = make(a);
  EXPECT_EQ(outcome(send(a, fd, "x")), "EPIPE");
  EXPECT_EQ(receive(a, fd), "ENOTCONN");
  EXPECT_EQ(outcome(bind(a, fd, name4(0, port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(a, fd, 5)), "0");
  EXPECT_EQ(outcome(send(a, fd, "x")), "EPIPE");
  EXPECT_EQ(outcome(connect(a, fd, name4(2, port))), "EISCONN");
}

TEST_F(TcpOptionsTest, BuffersAreDoubledIfConfigSaysSo) {
  PairOf of;
  of.left.tcp.buffers_doubled = true;
  SocketPair pair_of(of);
  lockstep_sockets* const a = pair_of.left.c();
  int const fd = make(a);
  int const before = option(a, fd, SOL_SOCKET, SO_RCVBUF);
  EXPECT_EQ(before, static_cast<int>(of.left.tcp.receive_buffer.count));
  for (auto const& [set_to, receives, sends] :
       {std::array{10'000, 20'000, 20'000}, {100, 2304, 4608}, {1 << 20, 425'984, 425'984}}) {
    EXPECT_EQ(outcome(set(a, fd, SOL_SOCKET, SO_RCVBUF, set_to)), "0");
    EXPECT_EQ(outcome(set(a, fd, SOL_SOCKET, SO_SNDBUF, set_to)), "0");
    EXPECT_EQ(option(a, fd, SOL_SOCKET, SO_RCVBUF), receives);
    EXPECT_EQ(option(a, fd, SOL_SOCKET, SO_SNDBUF), sends);
  }
}

TEST_F(TcpOptionsTest, FastOpenSendsDataWithTheSecondSyn) {
  PairOf of;
  of.left.tcp.fast_open_client = true;
  of.right.tcp.fast_open_server = true;
  SocketPair fast(of);
  lockstep_sockets* const a = fast.left.c();
  lockstep_sockets* const b = fast.right.c();
  int const server = make(b);
  EXPECT_EQ(outcome(set(b, server, IPPROTO_TCP, TCP_FASTOPEN, 5)), "0");
  sockaddr_in const to = name4(2, port);
  EXPECT_EQ(outcome(bind(b, server, name4(0, port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(b, server, 5)), "0");
  for (bool const in_syn : {false, true}) {
    int const fd = make(a);
    // Without a cookie the SYN leaves at once and asks for one, and no data is accepted.
    EXPECT_EQ(outcome(lockstep_sendto(a, fd, "early", 5, MSG_FASTOPEN, as_name(to), sizeof to)),
              in_syn ? "5" : "EINPROGRESS");
    fast.run(Duration::milliseconds(1));
    if (!in_syn) {
      EXPECT_EQ(send(a, fd, "early"), 5);
      fast.run(Duration::milliseconds(1));
    }
    EXPECT_EQ((info(a, fd).tcpi_options & 32) != 0, in_syn);
    int const got = lockstep_accept(b, server, nullptr, nullptr);
    ASSERT_GE(got, 0);
    EXPECT_EQ(receive(b, got), "early");
    EXPECT_EQ((info(b, got).tcpi_options & 32) != 0, in_syn);
  }
}

TEST_F(TcpOptionsTest, ConnectMayWaitForDataToSendWithTheSyn) {
  PairOf of;
  of.left.tcp.fast_open_client = true;
  of.right.tcp.fast_open_server = true;
  SocketPair fast(of);
  lockstep_sockets* const a = fast.left.c();
  lockstep_sockets* const b = fast.right.c();
  int const server = make(b);
  EXPECT_EQ(outcome(set(b, server, IPPROTO_TCP, TCP_FASTOPEN, 5)), "0");
  EXPECT_EQ(outcome(bind(b, server, name4(0, port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(b, server, 5)), "0");
  for (bool const in_syn : {false, true}) {
    int const fd = make(a);
    EXPECT_EQ(option(a, fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT), 0);
    EXPECT_EQ(outcome(set(a, fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 2)), "EINVAL");
    EXPECT_EQ(outcome(set(a, fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)), "0");
    EXPECT_EQ(option(a, fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT), 1);
    EXPECT_EQ(outcome(connect(a, fd, name4(2, port))), in_syn ? "0" : "EINPROGRESS");
    EXPECT_EQ(outcome(connect(a, fd, name4(2, port))), in_syn ? "EISCONN" : "EALREADY");
    EXPECT_EQ(ready(a, fd), in_syn ? out : 0);
    EXPECT_EQ(receive(a, fd), "EAGAIN");
    fast.run(Duration::milliseconds(1));
    if (in_syn) {
      EXPECT_EQ(lockstep_accept(b, server, nullptr, nullptr), -1);  // nothing has left yet
    } else {
      EXPECT_EQ(outcome(connect(a, fd, name4(2, port))), "0");
    }
    EXPECT_EQ(send(a, fd, "early"), 5);
    fast.run(Duration::milliseconds(1));
    int const got = lockstep_accept(b, server, nullptr, nullptr);
    ASSERT_GE(got, 0);
    EXPECT_EQ(receive(b, got), "early");
    EXPECT_EQ((info(b, got).tcpi_options & 32) != 0, in_syn);
    EXPECT_EQ(outcome(connect(a, fd, name4(2, port))), "EISCONN");
  }
  // A connection that cannot be opened is refused, and the socket stays as it was.
  int const lost = make(a);
  EXPECT_EQ(outcome(set(a, lost, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)), "0");
  EXPECT_EQ(outcome(connect(a, lost, name4(2, 0))), "EADDRNOTAVAIL");
  EXPECT_EQ(outcome(send(a, lost, "x")), "ENOTCONN");
  EXPECT_EQ(outcome(connect(a, lost, name4(2, port))), "0");
  EXPECT_EQ(outcome(lockstep_shutdown(a, lost, SHUT_WR)), "0");
  EXPECT_EQ(outcome(lockstep_close(a, lost)), "0");
  EXPECT_EQ(outcome(set(l, make(l), IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)), "EOPNOTSUPP");
}

TEST_F(TcpOptionsTest, AcceptIsDeferredUntilThereIsData) {
  listener = listening(1);
  EXPECT_EQ(outcome(set(r, listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, -1)), "EINVAL");
  EXPECT_EQ(outcome(set(r, listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, 3)), "0");
  EXPECT_EQ(option(r, listener, IPPROTO_TCP, TCP_DEFER_ACCEPT), 3);
  const auto call = [&] {
    int const fd = make(l);
    static_cast<void>(connect(l, fd, name4(2, port)));
    pass();
    return fd;
  };
  int const first = call();
  EXPECT_EQ(ready(r, listener), 0);
  EXPECT_EQ(outcome(lockstep_accept(r, listener, nullptr, nullptr)), "EAGAIN");
  send(l, first, "now");
  pass();
  EXPECT_EQ(ready(r, listener), in);
  far = lockstep_accept(r, listener, nullptr, nullptr);
  EXPECT_EQ(receive(r, far), "now");
  // Without data it is reported after three seconds; a FIN reports it at once.
  int const second = call();
  pass(Duration::milliseconds(2'990));
  EXPECT_EQ(ready(r, listener), 0);
  pass(Duration::milliseconds(20));
  EXPECT_EQ(ready(r, listener), in);
  EXPECT_GE(lockstep_accept(r, listener, nullptr, nullptr), 0);
  EXPECT_EQ(lockstep_shutdown(l, call(), SHUT_WR), 0);
  pass();
  EXPECT_EQ(receive(r, lockstep_accept(r, listener, nullptr, nullptr)), "");
  // A deferred connection that is reset is never reported, and frees its place in the queue.
  for (int i = 0; i < 10; ++i) {
    int const gone = call();
    linger const at_once{1, 0};
    lockstep_setsockopt(l, gone, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    EXPECT_EQ(lockstep_close(l, gone), 0);
    pass();
  }
  EXPECT_EQ(ready(r, listener), 0);
  // Closing a listener resets its deferred connections.
  EXPECT_EQ(lockstep_close(l, second), 0);
  int const last = call();
  EXPECT_EQ(lockstep_close(r, listener), 0);
  pass();
  EXPECT_EQ(error_of(l, last), "ECONNRESET");
}

TEST_F(TcpOptionsTest, NoDelaySendsWhatACorkHolds) {
  join();
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_CORK, 1), 0);
  send(l, near, "held");
  pass();
  EXPECT_EQ(receive(r, far), "EAGAIN");
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_NODELAY, 1), 0);
  pass();
  EXPECT_EQ(receive(r, far), "held");
  // As in Linux, the cork holds data written after that.
  send(l, near, "more");
  pass();
  EXPECT_EQ(receive(r, far), "EAGAIN");
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_CORK, 0), 0);
  pass();
  EXPECT_EQ(receive(r, far), "more");
}

TEST_F(TcpOptionsTest, FastOpenCanBeTurnedOnWhileListening) {
  PairOf of;
  of.left.tcp.fast_open_client = true;
  of.right.tcp.fast_open_server = true;
  SocketPair fast(of);
  lockstep_sockets* const a = fast.left.c();
  lockstep_sockets* const b = fast.right.c();
  int const server = make(b);
  sockaddr_in const to = name4(2, port);
  EXPECT_EQ(outcome(bind(b, server, name4(0, port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(b, server, 5)), "0");
  EXPECT_EQ(outcome(set(b, server, IPPROTO_TCP, TCP_FASTOPEN, 5)), "0");
  EXPECT_EQ(option(b, server, IPPROTO_TCP, TCP_FASTOPEN), 5);
  for (bool const in_syn : {false, true, false}) {
    int const fd = make(a);
    static_cast<void>(lockstep_sendto(a, fd, "early", 5, MSG_FASTOPEN, as_name(to), sizeof to));
    fast.run(Duration::milliseconds(1));
    int const got = lockstep_accept(b, server, nullptr, nullptr);
    ASSERT_GE(got, 0);
    EXPECT_EQ((info(b, got).tcpi_options & 32) != 0, in_syn);
    if (in_syn) {
      EXPECT_EQ(outcome(set(b, server, IPPROTO_TCP, TCP_FASTOPEN, 0)), "0");
    }
  }
}

TEST_F(TcpOptionsTest, KeepaliveFindsThePeerGone) {
  join();
  EXPECT_EQ(set(l, near, SOL_SOCKET, SO_KEEPALIVE, 1), 0);
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_KEEPIDLE, 10), 0);
  pair.cut(true);
  pass(Duration::seconds(10 + 75 * 8));
  EXPECT_EQ(ready(l, near), out);
  pass(Duration::seconds(80));
  EXPECT_EQ(error_of(l, near), "ETIMEDOUT");
}

TEST_F(TcpOptionsTest, TheUserTimeoutEndsAConnection) {
  join();
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_USER_TIMEOUT, 5000), 0);
  pair.cut(true);
  send(l, near, "is not delivered!");
  pass(Duration::milliseconds(4900));
  EXPECT_EQ(error_of(l, near), "0");
  pass(Duration::milliseconds(200));
  EXPECT_EQ(error_of(l, near), "ETIMEDOUT");
}

TEST_F(TcpOptionsTest, ACorkHoldsBackPartialSegments) {
  join();
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_CORK, 1), 0);
  send(l, near, "a");
  send(l, near, "b");
  pass();
  EXPECT_EQ(receive(r, far), "EAGAIN");
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_CORK, 0), 0);
  pass();
  EXPECT_EQ(receive(r, far), "ab");
  pass(Duration::milliseconds(50));
  send(l, near, "c", MSG_MORE);
  pass();
  EXPECT_EQ(receive(r, far), "EAGAIN");
  send(l, near, "d");
  pass();
  EXPECT_EQ(receive(r, far), "cd");
}

}  // namespace
}  // namespace lockstep::tools::testing
