// TCP_NOTSENT_LOWAT, TCP_WINDOW_CLAMP and IP_MTU_DISCOVER: the connection obeys what is set.
#include <sys/epoll.h>

#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

class LimitsOfOptionsTest : public Kit {
 protected:
  static PairOf small_windows() {
    PairOf of;
    of.right.tcp.receive_buffer = Bytes{14'600};
    of.right.tcp.receive_buffer_max = Bytes{};
    return of;
  }
  LimitsOfOptionsTest() : Kit(small_windows()) {}

  // What `near` has written and not yet sent.
  std::uint32_t unsent() { return info(l, near).tcpi_notsent_bytes; }
};

TEST_F(LimitsOfOptionsTest, AWriteStopsWhenAsMuchAsTheLimitIsUnsent) {
  join();
  // The peer reads nothing: its window, ten segments of 1448 octets and a bit, bounds what leaves.
  // Chunks are five of them.
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 1), 0);
  EXPECT_EQ(send(l, near, std::string(100'000, 'x')), 14'480 + 7240);
  EXPECT_EQ(outcome(send(l, near, "x")), "EAGAIN");
  pass(Duration::milliseconds(100));
  EXPECT_EQ(unsent(), 7240u);
  EXPECT_EQ(outcome(send(l, near, "x")), "EAGAIN");
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 7241), 0);
  EXPECT_EQ(send(l, near, std::string(100'000, 'x')), 7240);
  // Without a limit only the send buffer counts.
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 0), 0);
  EXPECT_EQ(send(l, near, std::string(10'000, 'x')), 10'000);
}

TEST_F(LimitsOfOptionsTest, AWriterIsReadyWhileLessThanHalfOfTheLimitIsUnsent) {
  join();
  int const epoll = lockstep_epoll_create1(l, 0);
  epoll_event event{EPOLLOUT, {}};
  ASSERT_EQ(lockstep_epoll_ctl(l, epoll, EPOLL_CTL_ADD, near, &event), 0);
  const auto reported = [&] { return lockstep_epoll_wait(l, epoll, &event, 1); };
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 2000), 0);
  EXPECT_EQ(send(l, near, std::string(14'600, 'x')), 14'600);
  pass(Duration::milliseconds(100));
  EXPECT_EQ(send(l, near, std::string(999, 'x')), 999);
  EXPECT_EQ(ready(l, near), out);
  EXPECT_EQ(reported(), 1);
  EXPECT_EQ(send(l, near, "x"), 1);
  EXPECT_EQ(ready(l, near), 0);
  EXPECT_EQ(reported(), 0);
  // A larger limit makes it ready at once.
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 2001), 0);
  EXPECT_EQ(reported(), 1);
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 2000), 0);
  EXPECT_EQ(reported(), 0);
  // The peer reads, so the rest leaves.
  EXPECT_EQ(receive(r, far).size(), 14'600u);
  pass(Duration::milliseconds(100));
  EXPECT_EQ(unsent(), 0u);
  EXPECT_EQ(reported(), 1);
}

TEST_F(LimitsOfOptionsTest, WhatNagleOrACorkHoldsIsUnsent) {
  join();
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 10), 0);
  EXPECT_EQ(send(l, near, "leaves"), 6);
  EXPECT_EQ(ready(l, near), out);
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_CORK, 1), 0);
  pass();
  EXPECT_EQ(send(l, near, "held"), 4);
  EXPECT_EQ(ready(l, near), out);
  EXPECT_EQ(send(l, near, "!"), 1);
  EXPECT_EQ(ready(l, near), 0);
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_CORK, 0), 0);
  pass(Duration::milliseconds(300));
  EXPECT_EQ(ready(l, near), out);
}

TEST_F(LimitsOfOptionsTest, AcceptedConnectionsInheritThem) {
  listener = listening();
  EXPECT_EQ(set(r, listener, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 5), 0);
  EXPECT_EQ(set(r, listener, IPPROTO_TCP, TCP_WINDOW_CLAMP, 3000), 0);
  EXPECT_EQ(set(r, listener, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO), 0);
  near = make(l);
  EXPECT_EQ(outcome(connect(l, near, name4(2, port))), "EINPROGRESS");
  pass();
  far = lockstep_accept(r, listener, nullptr, nullptr);
  EXPECT_EQ(option(r, far, IPPROTO_TCP, TCP_NOTSENT_LOWAT), 5);
  EXPECT_EQ(option(r, far, IPPROTO_TCP, TCP_WINDOW_CLAMP), 3000);
  EXPECT_EQ(option(r, far, IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_DO);
  // The SYN-ACK offers whole segments.
  EXPECT_EQ(info(l, near).tcpi_snd_wnd, 2920u);
}

TEST_F(LimitsOfOptionsTest, AClampBoundsTheWindowButNotTheBuffer) {
  listener = listening();
  EXPECT_EQ(set(r, listener, IPPROTO_TCP, TCP_WINDOW_CLAMP, 4380), 0);
  near = make(l);
  EXPECT_EQ(outcome(connect(l, near, name4(2, port))), "EINPROGRESS");
  pass();
  far = lockstep_accept(r, listener, nullptr, nullptr);
  EXPECT_EQ(info(l, near).tcpi_snd_wnd, 4380u);
  // Unread data does not count against it: the buffer fills with ten segments of 1448 octets.
  EXPECT_EQ(send(l, near, std::string(50'000, 'x')), 50'000);
  for (int i = 0; i < 200; ++i) {
    pass(Duration::milliseconds(1));
    ASSERT_LE(info(l, near).tcpi_snd_wnd, 4380u);
  }
  EXPECT_EQ(receive(r, far).size(), 14'480u);
  // While the peer reads, the window stays within the clamp, and everything arrives.
  std::size_t read = 14'480;
  for (int i = 0; i < 500 && read < 50'000; ++i) {
    pass(Duration::milliseconds(1));
    ASSERT_LE(info(l, near).tcpi_snd_wnd, 4380u);
    std::string const data = receive(r, far, 2000);
    read += data == "EAGAIN" ? 0 : data.size();
  }
  EXPECT_EQ(read, 50'000u);
  EXPECT_EQ(option(r, far, SOL_SOCKET, SO_RCVBUF), 14'600);
}

TEST_F(LimitsOfOptionsTest, AClampThatIsSetLaterMovesNoEdgeBack) {
  join();
  EXPECT_EQ(option(r, far, IPPROTO_TCP, TCP_WINDOW_CLAMP), 14'600);
  EXPECT_EQ(outcome(set(r, far, IPPROTO_TCP, TCP_WINDOW_CLAMP, 0)), "EINVAL");
  EXPECT_EQ(set(r, far, IPPROTO_TCP, TCP_WINDOW_CLAMP, 100), 0);
  EXPECT_EQ(option(r, far, IPPROTO_TCP, TCP_WINDOW_CLAMP), 1152);
  EXPECT_EQ(set(r, far, IPPROTO_TCP, TCP_WINDOW_CLAMP, 4380), 0);
  send(l, near, std::string(5840, 'x'));
  pass(Duration::milliseconds(100));
  EXPECT_EQ(info(l, near).tcpi_snd_wnd, 14'600u - 5840);
  EXPECT_EQ(receive(r, far).size(), 5840u);
  send(l, near, std::string(5840, 'x'));
  pass(Duration::milliseconds(100));
  EXPECT_EQ(info(l, near).tcpi_snd_wnd, 4380u);
}

TEST_F(LimitsOfOptionsTest, ASynOffersWholeSegmentsOfTheClamp) {
  listener = listening();
  near = make(l);
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_WINDOW_CLAMP, 5000), 0);
  EXPECT_EQ(outcome(connect(l, near, name4(2, port))), "EINPROGRESS");
  EXPECT_EQ(outcome(set(l, near, IPPROTO_TCP, TCP_WINDOW_CLAMP, 0)), "EINVAL");
  pass();
  far = lockstep_accept(r, listener, nullptr, nullptr);
  // Three segments of 1460, rounded up to a multiple of the window scale's 32.
  EXPECT_EQ(info(r, far).tcpi_snd_wnd, 4384u);
  EXPECT_EQ(option(l, near, IPPROTO_TCP, TCP_WINDOW_CLAMP), 5000);
}

TEST_F(LimitsOfOptionsTest, WithoutPathMtuDiscoveryItIsProbe) {
  PairOf of;
  of.left.tcp.path_mtu_discovery = false;
  SocketPair plain(of);
  auto* const context = plain.left.c();
  int const fd = make(context);
  EXPECT_EQ(option(context, fd, IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_PROBE);
  EXPECT_EQ(outcome(set(context, fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_WANT)), "EINVAL");
  EXPECT_EQ(outcome(set(context, fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)), "0");
}

}  // namespace
}  // namespace lockstep::tools::testing
