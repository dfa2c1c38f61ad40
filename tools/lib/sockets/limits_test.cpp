// Behaviour at the limits: exhausted pools, and errors that come from the network.
#include "hw/poll/loop.hpp"
#include "tools/lib/sockets/icmp_kit.hpp"

namespace lockstep::tools::testing {
namespace {

static_assert(hw::StoppableApplication<Sockets>);

PairOf one_active() {
  PairOf of;
  of.left.tcp.active_max = Count{1};
  return of;
}

// The left side has room for one connection with data in flight, which `near` uses.
class FullTest : public Kit {
 protected:
  explicit FullTest(const PairOf& of = one_active()) : Kit(of) {}
  void SetUp() override {
    join();
    idle = near;
    peer = far;
    near = make(l);
    EXPECT_EQ(outcome(connect(l, near, name4(2, port))), "EINPROGRESS");
    pass(Duration::milliseconds(100));
    far = lockstep_accept(r, listener, nullptr, nullptr);
    ASSERT_GE(far, 0);
    pair.cut(true);
    EXPECT_EQ(send(l, near, "holds the room"), 14);
    pass();
  }
  int idle = -1;
  int peer = -1;
};

TEST_F(FullTest, ARefusedWriterIsNotReadyUntilThereIsRoom) {
  EXPECT_EQ(outcome(send(l, idle, "x")), "EAGAIN");
  EXPECT_EQ(ready(l, idle), 0);
  pair.cut(false);
  pass(Duration::seconds(1));
  EXPECT_EQ(ready(l, idle), out);
  EXPECT_EQ(send(l, idle, "x"), 1);
}

PairOf few_blocks() {
  PairOf of;
  of.left.tcp.blocks_max = Count{128};
  return of;
}

// On the left `near` uses all of the store except the share kept for connections without data.
class SharedStoreTest : public FullTest {
 protected:
  SharedStoreTest() : FullTest(few_blocks()) {}
};

TEST_F(SharedStoreTest, AWriterAtItsShareIsReadyOnceItIsAcknowledged) {
  ASSERT_EQ(send(l, near, std::string(129'024, 'x')), 129'024);
  EXPECT_EQ(send(l, idle, std::string(4096, 'y')), 2048);
  EXPECT_EQ(outcome(send(l, idle, "z")), "EAGAIN");
  EXPECT_EQ(ready(l, idle), 0);
  pair.cut(false);
  pass(Duration::seconds(2));
  EXPECT_EQ(ready(l, idle), out);
  EXPECT_EQ(send(l, idle, "z"), 1);
}

TEST_F(FullTest, ARefusedFinIsRetried) {
  EXPECT_EQ(lockstep_shutdown(l, idle, SHUT_WR), 0);
  EXPECT_EQ(outcome(send(l, idle, "x")), "EPIPE");
  pair.cut(false);
  pass(Duration::microseconds(50));
  EXPECT_EQ(receive(r, peer), "EAGAIN");
  pass(Duration::seconds(1));
  EXPECT_EQ(receive(r, peer), "");
}

TEST_F(FullTest, ARefusedCloseIsRetried) {
  EXPECT_EQ(lockstep_close(l, idle), 0);
  EXPECT_EQ(pair.left.counters().orphans, 1u);
  pair.cut(false);
  pass(Duration::seconds(1));
  EXPECT_EQ(receive(r, peer), "");
  EXPECT_EQ(lockstep_close(r, peer), 0);
  EXPECT_EQ(lockstep_close(l, near), 0);
  pass(Duration::seconds(1));
  EXPECT_EQ(lockstep_close(r, far), 0);
  pass(Duration::seconds(1));
  EXPECT_TRUE(pair.left.done());
}

TEST_F(FullTest, StoppingClosesAndAbandoningAborts) {
  pair.left.stop(pair.left.stack(), pair.now());
  EXPECT_EQ(pair.left.descriptors_open(), 0u);
  EXPECT_FALSE(pair.left.done());
  pair.left.abandon(pair.left.stack(), pair.now());
  EXPECT_TRUE(pair.left.done());
  pair.cut(false);
  pass(Duration::seconds(1));
  EXPECT_EQ(receive(r, peer), "ECONNRESET");
}

class LimitsTest : public Kit {
 protected:
  // Connects and resets at once.
  void connect_and_reset() {
    int const fd = make(l);
    static_cast<void>(connect(l, fd, name4(2, port)));
    pass();
    struct linger hard{1, 0};
    EXPECT_EQ(lockstep_setsockopt(l, fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
    EXPECT_EQ(lockstep_close(l, fd), 0);
    pass();
  }
};

class CrowdedTest : public LimitsTest {
 protected:
  static PairOf few() {
    PairOf of;
    of.right.tcp.connections_max = Count{2};
    of.right_sockets.descriptors.most = Count{2};
    return of;
  }
  CrowdedTest() : crowd(few()) {}
  SocketPair crowd;
};

TEST_F(CrowdedTest, ConnectionsTurnedAwayDoNotUseTheQueue) {
  lockstep_sockets* const a = crowd.left.c();
  lockstep_sockets* const b = crowd.right.c();
  int const server = make(b);
  EXPECT_EQ(outcome(bind(b, server, name4(0, port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(b, server, 4)), "0");
  struct linger hard{1, 0};
  // Three dead connections wait, which fills the queue; the others are aborted.
  for (int i = 0; i < 12; ++i) {
    int const fd = make(a);
    static_cast<void>(connect(a, fd, name4(2, port)));
    crowd.run(Duration::milliseconds(1));
    EXPECT_EQ(error_of(a, fd), i < 3 ? "0" : "ECONNRESET") << i;
    EXPECT_EQ(lockstep_setsockopt(a, fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
    EXPECT_EQ(lockstep_close(a, fd), 0);
    crowd.run(Duration::milliseconds(1));
    crowd.right.check_invariants();
  }
  EXPECT_EQ(crowd.right.counters().turned_away, 9u);
  int const dead = lockstep_accept(b, server, nullptr, nullptr);
  EXPECT_EQ(receive(b, dead), "ECONNRESET");
  EXPECT_EQ(lockstep_close(b, dead), 0);
  int const fd = make(a);
  static_cast<void>(connect(a, fd, name4(2, port)));
  crowd.run(Duration::milliseconds(1));
  EXPECT_EQ(ready(a, fd), out);
  EXPECT_EQ(crowd.right.counters().turned_away, 9u);
}

TEST_F(LimitsTest, ASmallerBacklogAppliesToLaterConnections) {
  listener = listening(3);
  for (int i = 0; i < 4; ++i) {
    connect_and_reset();
  }
  EXPECT_EQ(pair.right.counters().accepted, 4u);
  EXPECT_EQ(outcome(lockstep_listen(r, listener, 0)), "0");
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(lockstep_accept(r, listener, nullptr, nullptr), 0);
    connect_and_reset();
    EXPECT_EQ(pair.right.counters().accepted, 4u);
  }
  EXPECT_EQ(outcome(lockstep_listen(r, listener, 1)), "0");
  int const fd = make(l);
  static_cast<void>(connect(l, fd, name4(2, port)));
  pass();
  EXPECT_GE(pair.right.counters().accepted, 5u);
}

TEST_F(LimitsTest, ALingerOfSecondsClosesAsUsual) {
  join();
  struct linger soft{1, 30};
  EXPECT_EQ(lockstep_setsockopt(l, near, SOL_SOCKET, SO_LINGER, &soft, sizeof soft), 0);
  send(l, near, "whole");
  EXPECT_EQ(lockstep_close(l, near), 0);
  pass();
  EXPECT_EQ(receive(r, far), "whole");
  EXPECT_EQ(receive(r, far), "");
}

TEST_F(LimitsTest, OptionsSetBeforeHoldAfterwards) {
  listener = listening();
  EXPECT_EQ(set(r, listener, IPPROTO_TCP, TCP_USER_TIMEOUT, 3000), 0);
  near = make(l);
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_USER_TIMEOUT, 5000), 0);
  static_cast<void>(connect(l, near, name4(2, port)));
  pass();
  far = lockstep_accept(r, listener, nullptr, nullptr);
  pair.cut(true);
  send(l, near, "lost");
  send(r, far, "lost");
  pass(Duration::milliseconds(3100));
  EXPECT_EQ(error_of(r, far), "ETIMEDOUT");
  EXPECT_EQ(error_of(l, near), "0");
  pass(Duration::milliseconds(2000));
  EXPECT_EQ(error_of(l, near), "ETIMEDOUT");
}

TEST(Errors, AMissingNeighbourIsReportedByTheTimeout) {
  PairOf of;
  of.left.link = of.right.link = LinkType::ethernet;
  of.left.mac = {{2, 0, 0, 0, 0, 1}};
  of.right.mac = {{2, 0, 0, 0, 0, 2}};
  of.left.mtu = of.right.mtu = Bytes{1500};
  SocketPair pair(of);
  pair.cut(true);
  lockstep_sockets* const s = pair.left.c();
  int const fd = lockstep_socket(s, AF_INET, SOCK_STREAM, 0);
  auto const to = name4(2, 80);
  EXPECT_EQ(lockstep_connect(s, fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), -1);
  pair.run(Duration::seconds(200));
  int error = 0;
  socklen_t length = sizeof error;
  EXPECT_EQ(lockstep_getsockopt(s, fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
  EXPECT_EQ(error, EHOSTUNREACH);
}

TEST_F(LimitsTest, ThePathMtuIsReported) {
  join();
  EXPECT_EQ(option(l, near, IPPROTO_IP, IP_MTU), 1500);
  pair.cut(true);
  send(l, near, std::string(4000, 'x'));
  pass();
  pair.deliver_left(icmp_about(first_of(pair.left), {.code = 4, .rest = 1300}));
  pass(Duration::milliseconds(1));
  EXPECT_EQ(option(l, near, IPPROTO_IP, IP_MTU), 1300);
  EXPECT_EQ(option(l, near, IPPROTO_TCP, TCP_MAXSEG), 1300 - 40 - 12);
}

}  // namespace
}  // namespace lockstep::tools::testing
