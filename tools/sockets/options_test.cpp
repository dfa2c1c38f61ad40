// Options: what is set is what the connection does, what is not supported is refused by name.
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "core/wire/octets.hpp"
#include "tools/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

class OptionsTest : public Kit {
 protected:
  static lockstep_tcp_info info(lockstep_sockets* s, int fd) {
    lockstep_tcp_info out{};
    socklen_t length = sizeof out;
    EXPECT_EQ(lockstep_getsockopt(s, fd, IPPROTO_TCP, TCP_INFO, &out, &length), 0);
    EXPECT_EQ(length, sizeof out);
    return out;
  }
  static int query(lockstep_sockets* s, int fd, unsigned long request) {
    int value = -1;
    EXPECT_EQ(lockstep_ioctl(s, fd, request, &value), 0);
    return value;
  }
};

TEST_F(OptionsTest, WhatCanOnlyBeRead) {
  join();
  int const six = make(l, AF_INET6);
  EXPECT_EQ(option(l, near, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
  EXPECT_EQ(option(l, near, SOL_SOCKET, SO_PROTOCOL), IPPROTO_TCP);
  EXPECT_EQ(option(l, near, SOL_SOCKET, SO_DOMAIN), AF_INET);
  EXPECT_EQ(option(l, six, SOL_SOCKET, SO_DOMAIN), AF_INET6);
  EXPECT_EQ(option(r, listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
  EXPECT_EQ(option(r, far, SOL_SOCKET, SO_ACCEPTCONN), 0);
  EXPECT_EQ(option(l, near, SOL_SOCKET, SO_RCVLOWAT), 1);
  EXPECT_EQ(option(l, near, IPPROTO_TCP, TCP_KEEPINTVL), 75);
  EXPECT_EQ(option(l, near, IPPROTO_TCP, TCP_KEEPCNT), 9);
  EXPECT_EQ(option(l, near, IPPROTO_TCP, TCP_MAXSEG), 1448);
  EXPECT_EQ(option(l, near, IPPROTO_IP, IP_MTU), 1500);
  for (int const name : {SO_TYPE, SO_PROTOCOL, SO_DOMAIN, SO_ERROR, SO_ACCEPTCONN, SO_RCVLOWAT}) {
    EXPECT_EQ(said(set(l, near, SOL_SOCKET, name, 1)), "ENOPROTOOPT") << name;
  }
  EXPECT_EQ(said(set(l, near, IPPROTO_TCP, TCP_INFO, 1)), "ENOPROTOOPT");
}

TEST_F(OptionsTest, WhatIsNotSupportedIsRefused) {
  int const fd = make(l);
  struct Option {
    int level;
    int name;
  };
  Option const options[] = {
      {SOL_SOCKET, SO_BROADCAST},       {SOL_SOCKET, SO_REUSEPORT},
      {SOL_SOCKET, SO_PRIORITY},        {SOL_SOCKET, SO_TIMESTAMP},
      {SOL_SOCKET, SO_RCVTIMEO},        {SOL_SOCKET, SO_SNDTIMEO},
      {SOL_SOCKET, SO_MARK},            {SOL_SOCKET, SO_ZEROCOPY},
      {IPPROTO_TCP, TCP_MD5SIG},        {IPPROTO_TCP, TCP_CC_INFO},
      {IPPROTO_TCP, TCP_REPAIR},        {IPPROTO_TCP, TCP_SYNCNT},
      {IPPROTO_TCP, TCP_QUEUE_SEQ},     {IPPROTO_TCP, TCP_LINGER2},
      {IPPROTO_TCP, TCP_WINDOW_CLAMP},  {IPPROTO_TCP, TCP_NOTSENT_LOWAT},
      {IPPROTO_TCP, TCP_ULP},           {IPPROTO_TCP, TCP_SAVE_SYN},
      {IPPROTO_IP, IP_OPTIONS},         {IPPROTO_IP, IP_MTU_DISCOVER},
      {IPPROTO_IPV6, IPV6_TCLASS},      {IPPROTO_UDP, 1},
      {0x7777, 1}};
  for (Option const& each : options) {
    int value = 1;
    socklen_t length = sizeof value;
    EXPECT_EQ(said(lockstep_getsockopt(l, fd, each.level, each.name, &value, &length)),
              "ENOPROTOOPT")
        << each.level << " " << each.name;
    EXPECT_EQ(said(set(l, fd, each.level, each.name, 1)), "ENOPROTOOPT")
        << each.level << " " << each.name;
  }
}

TEST_F(OptionsTest, ValuesAndTheirRanges) {
  int const four = make(l);
  int const six = make(l, AF_INET6);
  struct Value {
    int fd;
    int level;
    int name;
    int first;             // before it is set
    std::vector<int> good;
    std::vector<int> bad;
  };
  Value const values[] = {
      {four, SOL_SOCKET, SO_KEEPALIVE, 0, {1, 0}, {}},
      {four, SOL_SOCKET, SO_REUSEADDR, 0, {1, 0}, {}},
      {four, SOL_SOCKET, SO_OOBINLINE, 1, {1}, {}},
      {four, SOL_SOCKET, SO_RCVBUF, 65535, {1, 1 << 20}, {0, -1}},
      {four, SOL_SOCKET, SO_SNDBUF, 131072, {1, 1 << 20}, {0, -1}},
      {four, IPPROTO_TCP, TCP_NODELAY, 0, {1, 0}, {}},
      {four, IPPROTO_TCP, TCP_CORK, 0, {1, 0}, {}},
      {four, IPPROTO_TCP, TCP_QUICKACK, 0, {1, 0}, {}},
      {four, IPPROTO_TCP, TCP_KEEPIDLE, 7200, {1, 32767}, {0, 32768, -1}},
      {four, IPPROTO_TCP, TCP_KEEPINTVL, 75, {1, 32767}, {0, 32768, -1}},
      {four, IPPROTO_TCP, TCP_KEEPCNT, 9, {1, 127}, {0, 128, -1}},
      {four, IPPROTO_TCP, TCP_MAXSEG, 536, {88, 1000, 32767}, {0, 87, 32768, -1}},
      {four, IPPROTO_TCP, TCP_USER_TIMEOUT, 300'000, {1, 1'000'000}, {-1}},
      {four, IPPROTO_IP, IP_TOS, 0, {0x10, 0xfc}, {256, -2}},
      {four, IPPROTO_IP, IP_TTL, 64, {1, 255}, {0, 256, -2}},
      {six, IPPROTO_IPV6, IPV6_TCLASS, 0, {0x10, 0xfc}, {256, -2}},
      {six, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 64, {1, 255}, {0, 256, -2}},
      {six, IPPROTO_IPV6, IPV6_V6ONLY, 0, {1, 0}, {}},
  };
  for (Value const& each : values) {
    std::string const which = std::to_string(each.level) + " " + std::to_string(each.name);
    EXPECT_EQ(option(l, each.fd, each.level, each.name), each.first) << which;
    for (int const good : each.good) {
      EXPECT_EQ(said(set(l, each.fd, each.level, each.name, good)), "0") << which;
      EXPECT_EQ(option(l, each.fd, each.level, each.name), good) << which;
    }
    for (int const bad : each.bad) {
      EXPECT_EQ(said(set(l, each.fd, each.level, each.name, bad)), "EINVAL") << which << bad;
    }
    EXPECT_EQ(said(lockstep_setsockopt(l, each.fd, each.level, each.name, &each.first, 3)),
              "EINVAL")
        << which;
  }
  EXPECT_EQ(set(l, four, IPPROTO_IP, IP_TTL, -1), 0);
  EXPECT_EQ(option(l, four, IPPROTO_IP, IP_TTL), 64);
  EXPECT_EQ(set(l, four, IPPROTO_TCP, TCP_USER_TIMEOUT, 0), 0);
  EXPECT_EQ(option(l, four, IPPROTO_TCP, TCP_USER_TIMEOUT), 300'000);
  EXPECT_EQ(said(set(l, four, SOL_SOCKET, SO_OOBINLINE, 0)), "ENOPROTOOPT");
}

TEST_F(OptionsTest, ShortBuffersGetWhatFits) {
  int const fd = make(l);
  unsigned char octets[4] = {9, 9, 9, 9};
  socklen_t length = 2;
  EXPECT_EQ(lockstep_getsockopt(l, fd, IPPROTO_IP, IP_TTL, octets, &length), 0);
  EXPECT_EQ(length, 2u);
  EXPECT_EQ(octets[0], 64);
  EXPECT_EQ(octets[2], 9);
  length = static_cast<socklen_t>(-1);
  EXPECT_EQ(said(lockstep_getsockopt(l, fd, IPPROTO_IP, IP_TTL, octets, &length)), "EINVAL");
}

TEST_F(OptionsTest, LingerIsKept) {
  int const fd = make(l);
  struct linger value {
    1, 30
  };
  EXPECT_EQ(lockstep_setsockopt(l, fd, SOL_SOCKET, SO_LINGER, &value, sizeof value), 0);
  value = {};
  socklen_t length = sizeof value;
  EXPECT_EQ(lockstep_getsockopt(l, fd, SOL_SOCKET, SO_LINGER, &value, &length), 0);
  EXPECT_EQ(value.l_onoff, 1);
  EXPECT_EQ(value.l_linger, 30);
  value.l_linger = -1;
  EXPECT_EQ(said(lockstep_setsockopt(l, fd, SOL_SOCKET, SO_LINGER, &value, sizeof value)),
            "EINVAL");
  EXPECT_EQ(said(set(l, fd, SOL_SOCKET, SO_LINGER, 1)), "EINVAL");
}

std::string algorithm(lockstep_sockets* context, int fd) {
  char name[16];
  socklen_t length = sizeof name;
  EXPECT_EQ(lockstep_getsockopt(context, fd, IPPROTO_TCP, TCP_CONGESTION, name, &length), 0);
  return name;
}

TEST_F(OptionsTest, TheAlgorithmIsTheConnections) {
  join();
  auto const choose = [&](const char* name) {
    return said(lockstep_setsockopt(l, near, IPPROTO_TCP, TCP_CONGESTION, name,
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
  // Half of what was out, in place of seven tenths.
  EXPECT_EQ(choose("reno"), "0");
  pair.cut(true);
  say(l, near, std::string(14'480, 'x'));
  pass(Duration::milliseconds(500));
  EXPECT_EQ(info(l, near).tcpi_snd_ssthresh, 5u);
}

TEST_F(OptionsTest, WithoutAccountsOnlyTheStacksOwnValuesCanBeSet) {
  PairOf of;
  of.left.tcp.accounts = false;
  SocketPair plain(of);
  auto* const context = plain.left.c();
  int const fd = make(context);
  EXPECT_EQ(said(set(context, fd, IPPROTO_TCP, TCP_KEEPINTVL, 75)), "0");
  EXPECT_EQ(said(set(context, fd, IPPROTO_TCP, TCP_KEEPCNT, 9)), "0");
  EXPECT_EQ(lockstep_setsockopt(context, fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5), 0);
  EXPECT_EQ(said(set(context, fd, IPPROTO_TCP, TCP_KEEPINTVL, 74)), "ENOPROTOOPT");
  EXPECT_EQ(said(set(context, fd, IPPROTO_TCP, TCP_KEEPCNT, 8)), "ENOPROTOOPT");
  EXPECT_EQ(said(set(context, fd, IPPROTO_TCP, TCP_MAXSEG, 1000)), "ENOPROTOOPT");
  EXPECT_EQ(said(lockstep_setsockopt(context, fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4)),
            "ENOPROTOOPT");
}

TEST_F(OptionsTest, ASegmentSizeHoldsForBothDirections) {
  // The caller's own, named in its SYN: the other side sends no more, either.
  listener = make(r);
  ASSERT_EQ(said(bind(r, listener, name4(0, port))), "0");
  ASSERT_EQ(lockstep_listen(r, listener, 5), 0);
  near = make(l);
  ASSERT_EQ(set(l, near, IPPROTO_TCP, TCP_MAXSEG, 1000), 0);
  EXPECT_EQ(option(l, near, IPPROTO_TCP, TCP_MAXSEG), 1000);
  EXPECT_EQ(said(connect(l, near, name4(2, port))), "EINPROGRESS");
  pass();
  far = lockstep_accept(r, listener, nullptr, nullptr);
  ASSERT_GE(far, 0);
  EXPECT_EQ(option(l, near, IPPROTO_TCP, TCP_MAXSEG), 988);
  EXPECT_EQ(option(r, far, IPPROTO_TCP, TCP_MAXSEG), 988);
  // And a listener's, in its SYN-ACK.
  ASSERT_EQ(lockstep_close(r, listener), 0);
  listener = make(r);
  ASSERT_EQ(set(r, listener, IPPROTO_TCP, TCP_MAXSEG, 800), 0);
  ASSERT_EQ(set(r, listener, SOL_SOCKET, SO_REUSEADDR, 1), 0);
  ASSERT_EQ(said(bind(r, listener, name4(0, port))), "0");
  ASSERT_EQ(lockstep_listen(r, listener, 5), 0);
  int const other = make(l);
  EXPECT_EQ(said(connect(l, other, name4(2, port))), "EINPROGRESS");
  pass();
  EXPECT_EQ(option(l, other, IPPROTO_TCP, TCP_MAXSEG), 788);
}

TEST_F(OptionsTest, KeepAliveIsTheConnections) {
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

TEST_F(OptionsTest, InfoFromTheAccount) {
  join();
  pair.cut(true);
  say(l, near, std::string(3000, 'x'));
  pass(Duration::milliseconds(500));
  lockstep_tcp_info const waiting = info(l, near);
  EXPECT_EQ(waiting.tcpi_retrans, 1u);
  EXPECT_GE(waiting.tcpi_total_rto, 1u);
  EXPECT_EQ(waiting.tcpi_total_rto_recoveries, 1u);
  EXPECT_GT(waiting.tcpi_total_rto_time, 100u);
  EXPECT_LT(waiting.tcpi_total_rto_time, 500u);
  EXPECT_GE(waiting.tcpi_bytes_retrans, 104u);
  pair.cut(false);
  pass(Duration::seconds(2));
  EXPECT_EQ(info(l, near).tcpi_retrans, 0u);
  EXPECT_GE(info(r, far).tcpi_data_segs_in, 3u);
  EXPECT_EQ(info(r, far).tcpi_data_segs_out, 0u);
  EXPECT_GT(info(r, far).tcpi_rcv_rtt, 0u);
  EXPECT_LT(info(l, near).tcpi_min_rtt, 100u);
  // The reader stops: the window is what holds the writer back.
  say(l, near, std::string(1 << 20, 'y'));
  pass(Duration::seconds(1));
  EXPECT_GT(info(l, near).tcpi_rwnd_limited, 900'000u);
}

TEST_F(OptionsTest, FastOpenIsRefusedWhereTheStackHasItNot) {
  int const fd = make(l);
  EXPECT_EQ(said(set(l, fd, IPPROTO_TCP, TCP_FASTOPEN, 5)), "ENOPROTOOPT");
  sockaddr_in const to = name4(2, port);
  EXPECT_EQ(said(lockstep_sendto(l, fd, "x", 1, MSG_FASTOPEN, as_name(to), sizeof to)),
            "EOPNOTSUPP");
}

TEST_F(OptionsTest, FastOpenBringsTextWithTheSecondSyn) {
  PairOf of;
  of.left.tcp.fast_open_client = true;
  of.right.tcp.fast_open_server = true;
  SocketPair fast(of);
  lockstep_sockets* const a = fast.left.c();
  lockstep_sockets* const b = fast.right.c();
  int const server = make(b);
  EXPECT_EQ(said(set(b, server, IPPROTO_TCP, TCP_FASTOPEN, 5)), "0");
  sockaddr_in const to = name4(2, port);
  EXPECT_EQ(said(bind(b, server, name4(0, port))), "0");
  EXPECT_EQ(said(lockstep_listen(b, server, 5)), "0");
  for (bool const in_syn : {false, true}) {
    int const fd = make(a);
    // Without a cookie the SYN asks for one at once, and nothing is taken.
    EXPECT_EQ(said(lockstep_sendto(a, fd, "early", 5, MSG_FASTOPEN, as_name(to), sizeof to)),
              in_syn ? "5" : "EINPROGRESS");
    fast.run(Duration::milliseconds(1));
    if (!in_syn) {
      EXPECT_EQ(say(a, fd, "early"), 5);
      fast.run(Duration::milliseconds(1));
    }
    EXPECT_EQ((info(a, fd).tcpi_options & 32) != 0, in_syn);
    int const got = lockstep_accept(b, server, nullptr, nullptr);
    ASSERT_GE(got, 0);
    EXPECT_EQ(hear(b, got), "early");
    EXPECT_EQ((info(b, got).tcpi_options & 32) != 0, in_syn);
  }
}

TEST_F(OptionsTest, ConnectMayWaitForTextThatLeavesWithTheSyn) {
  PairOf of;
  of.left.tcp.fast_open_client = true;
  of.right.tcp.fast_open_server = true;
  SocketPair fast(of);
  lockstep_sockets* const a = fast.left.c();
  lockstep_sockets* const b = fast.right.c();
  int const server = make(b);
  EXPECT_EQ(said(set(b, server, IPPROTO_TCP, TCP_FASTOPEN, 5)), "0");
  EXPECT_EQ(said(bind(b, server, name4(0, port))), "0");
  EXPECT_EQ(said(lockstep_listen(b, server, 5)), "0");
  for (bool const in_syn : {false, true}) {
    int const fd = make(a);
    EXPECT_EQ(option(a, fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT), 0);
    EXPECT_EQ(said(set(a, fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 2)), "EINVAL");
    EXPECT_EQ(said(set(a, fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)), "0");
    EXPECT_EQ(option(a, fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT), 1);
    EXPECT_EQ(said(connect(a, fd, name4(2, port))), in_syn ? "0" : "EINPROGRESS");
    EXPECT_EQ(said(connect(a, fd, name4(2, port))), in_syn ? "EISCONN" : "EALREADY");
    EXPECT_EQ(ready(a, fd), in_syn ? out : 0);
    EXPECT_EQ(hear(a, fd), "EAGAIN");
    fast.run(Duration::milliseconds(1));
    if (in_syn) {
      EXPECT_EQ(lockstep_accept(b, server, nullptr, nullptr), -1);  // nothing has left yet
    } else {
      EXPECT_EQ(said(connect(a, fd, name4(2, port))), "0");
    }
    EXPECT_EQ(say(a, fd, "early"), 5);
    fast.run(Duration::milliseconds(1));
    int const got = lockstep_accept(b, server, nullptr, nullptr);
    ASSERT_GE(got, 0);
    EXPECT_EQ(hear(b, got), "early");
    EXPECT_EQ((info(b, got).tcpi_options & 32) != 0, in_syn);
    EXPECT_EQ(said(connect(a, fd, name4(2, port))), "EISCONN");
  }
  // What cannot begin is refused, and the socket is as it was.
  int const lost = make(a);
  EXPECT_EQ(said(set(a, lost, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)), "0");
  EXPECT_EQ(said(connect(a, lost, name4(2, 0))), "EADDRNOTAVAIL");
  EXPECT_EQ(said(say(a, lost, "x")), "ENOTCONN");
  EXPECT_EQ(said(connect(a, lost, name4(2, port))), "0");
  EXPECT_EQ(said(lockstep_shutdown(a, lost, SHUT_WR)), "0");
  EXPECT_EQ(said(lockstep_close(a, lost)), "0");
  EXPECT_EQ(said(set(l, make(l), IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)), "EOPNOTSUPP");
}

TEST_F(OptionsTest, AcceptIsDeferredUntilThereIsText) {
  listener = listening(1);
  EXPECT_EQ(said(set(r, listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, -1)), "EINVAL");
  EXPECT_EQ(said(set(r, listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, 3)), "0");
  EXPECT_EQ(option(r, listener, IPPROTO_TCP, TCP_DEFER_ACCEPT), 3);
  const auto call = [&] {
    int const fd = make(l);
    static_cast<void>(connect(l, fd, name4(2, port)));
    pass();
    return fd;
  };
  int const first = call();
  EXPECT_EQ(ready(r, listener), 0);
  EXPECT_EQ(said(lockstep_accept(r, listener, nullptr, nullptr)), "EAGAIN");
  say(l, first, "now");
  pass();
  EXPECT_EQ(ready(r, listener), in);
  far = lockstep_accept(r, listener, nullptr, nullptr);
  EXPECT_EQ(hear(r, far), "now");
  // Silence ends it after three seconds, a FIN at once.
  int const second = call();
  pass(Duration::milliseconds(2'990));
  EXPECT_EQ(ready(r, listener), 0);
  pass(Duration::milliseconds(20));
  EXPECT_EQ(ready(r, listener), in);
  EXPECT_GE(lockstep_accept(r, listener, nullptr, nullptr), 0);
  EXPECT_EQ(lockstep_shutdown(l, call(), SHUT_WR), 0);
  pass();
  EXPECT_EQ(hear(r, lockstep_accept(r, listener, nullptr, nullptr)), "");
  // One that is reset is never told of, and leaves its place to others.
  for (int i = 0; i < 10; ++i) {
    int const gone = call();
    linger const at_once{1, 0};
    lockstep_setsockopt(l, gone, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    EXPECT_EQ(lockstep_close(l, gone), 0);
    pass();
  }
  EXPECT_EQ(ready(r, listener), 0);
  // A listener that ends resets those that it has not told of.
  EXPECT_EQ(lockstep_close(l, second), 0);
  int const last = call();
  EXPECT_EQ(lockstep_close(r, listener), 0);
  pass();
  EXPECT_EQ(error_of(l, last), "ECONNRESET");
}

TEST_F(OptionsTest, AcceptedSocketsHaveTheListenersOptions) {
  listener = listening();
  EXPECT_EQ(set(r, listener, IPPROTO_TCP, TCP_NODELAY, 1), 0);
  EXPECT_EQ(set(r, listener, SOL_SOCKET, SO_KEEPALIVE, 1), 0);
  EXPECT_EQ(set(r, listener, IPPROTO_IP, IP_TTL, 7), 0);
  near = make(l);
  static_cast<void>(connect(l, near, name4(2, port)));
  pass();
  far = lockstep_accept(r, listener, nullptr, nullptr);
  EXPECT_EQ(option(r, far, IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option(r, far, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(r, far, IPPROTO_IP, IP_TTL), 7);
}

// What IP and TCP say in the frames that the right side has sent: those to a port of the left.
struct Sent {
  std::uint8_t ttl = 0;
  std::uint8_t tos = 0;
  std::uint16_t window = 0;
  std::uint16_t mss = 0;
  bool syn = false;
};

std::vector<Sent> sent_of(const SocketPair::Frames& frames) {
  std::vector<Sent> out;
  for (auto const& frame : frames) {
    Sent sent;
    bool const four = wire::load8(&frame[0]) >> 4 == 4;
    sent.tos = four ? wire::load8(&frame[1])
                    : static_cast<std::uint8_t>(wire::load16(&frame[0]) >> 4);
    sent.ttl = wire::load8(&frame[four ? 8 : 7]);
    std::byte const* const tcp = &frame[four ? 20 : 40];
    sent.syn = (wire::load8(tcp + 13) & 2) != 0;
    sent.window = wire::load16(tcp + 14);
    bool const mss_first = (wire::load8(tcp + 12) >> 4) > 5 && wire::load8(tcp + 20) == 2;
    sent.mss = mss_first ? wire::load16(tcp + 22) : std::uint16_t{0};
    out.push_back(sent);
  }
  return out;
}

// RFC 5082: who wants 255 on every segment drops a SYN-ACK that has less.
TEST_F(OptionsTest, AListenersOptionsHoldFromTheSynAckOn) {
  for (bool const six : {false, true}) {
    for (auto const cookies : {tcp::SynCookies::off, tcp::SynCookies::always}) {
      for (std::uint32_t const cache : {0u, 100u}) {
        for (bool const late : {false, true}) {
          PairOf of;
          of.right.tcp.syn_cookies = cookies;
          of.right.tcp.syn_cache_max = Count{cache};
          of.right.tcp.syn_cache_after = Count{0};
          SocketPair fresh(of);
          SocketPair::Frames frames;
          fresh.note_right(&frames);
          lockstep_sockets* const a = fresh.left.c();
          lockstep_sockets* const b = fresh.right.c();
          int const server = make(b, six ? AF_INET6 : AF_INET);
          auto const choose = [&] {
            int const level = six ? IPPROTO_IPV6 : IPPROTO_IP;
            EXPECT_EQ(set(b, server, level, six ? IPV6_UNICAST_HOPS : IP_TTL, 255), 0);
            EXPECT_EQ(set(b, server, level, six ? IPV6_TCLASS : IP_TOS, 0x48), 0);
            EXPECT_EQ(set(b, server, SOL_SOCKET, SO_RCVBUF, 5000), 0);
            EXPECT_EQ(set(b, server, IPPROTO_TCP, TCP_MAXSEG, 700), 0);
          };
          if (!late) {
            choose();
          }
          EXPECT_EQ(said(six ? bind(b, server, name6("::", port))
                             : bind(b, server, name4(0, port))),
                    "0");
          EXPECT_EQ(said(lockstep_listen(b, server, 5)), "0");
          if (late) {
            choose();
          }
          int const caller = make(a, six ? AF_INET6 : AF_INET);
          EXPECT_EQ(said(six ? connect(a, caller, name6("fd00::2", port))
                             : connect(a, caller, name4(2, port))),
                    "EINPROGRESS");
          fresh.run(Duration::milliseconds(1));
          int const taken = lockstep_accept(b, server, nullptr, nullptr);
          ASSERT_GE(taken, 0);
          say(b, taken, "text");
          fresh.run(Duration::milliseconds(1));
          std::string const which = std::to_string(six) + std::to_string(cache) +
                                    std::to_string(static_cast<int>(cookies)) +
                                    std::to_string(late);
          auto const sent = sent_of(frames);
          ASSERT_GE(sent.size(), 2u) << which;
          EXPECT_TRUE(sent[0].syn) << which;
          EXPECT_EQ(sent[0].window, 5000) << which;
          EXPECT_EQ(sent[0].mss, 700) << which;
          for (Sent const& each : sent) {
            EXPECT_EQ(each.ttl, 255) << which;
            EXPECT_EQ(each.tos & 0xfc, 0x48) << which;
          }
        }
      }
    }
  }
}

TEST_F(OptionsTest, NoDelayLetsOutWhatACorkHolds) {
  join();
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_CORK, 1), 0);
  say(l, near, "held");
  pass();
  EXPECT_EQ(hear(r, far), "EAGAIN");
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_NODELAY, 1), 0);
  pass();
  EXPECT_EQ(hear(r, far), "held");
  // The cork holds what comes, as in Linux.
  say(l, near, "more");
  pass();
  EXPECT_EQ(hear(r, far), "EAGAIN");
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_CORK, 0), 0);
  pass();
  EXPECT_EQ(hear(r, far), "more");
}

TEST_F(OptionsTest, FastOpenCanBeTurnedOnWhileListening) {
  PairOf of;
  of.left.tcp.fast_open_client = true;
  of.right.tcp.fast_open_server = true;
  SocketPair fast(of);
  lockstep_sockets* const a = fast.left.c();
  lockstep_sockets* const b = fast.right.c();
  int const server = make(b);
  sockaddr_in const to = name4(2, port);
  EXPECT_EQ(said(bind(b, server, name4(0, port))), "0");
  EXPECT_EQ(said(lockstep_listen(b, server, 5)), "0");
  EXPECT_EQ(said(set(b, server, IPPROTO_TCP, TCP_FASTOPEN, 5)), "0");
  EXPECT_EQ(option(b, server, IPPROTO_TCP, TCP_FASTOPEN), 5);
  for (bool const in_syn : {false, true, false}) {
    int const fd = make(a);
    static_cast<void>(lockstep_sendto(a, fd, "early", 5, MSG_FASTOPEN, as_name(to), sizeof to));
    fast.run(Duration::milliseconds(1));
    int const got = lockstep_accept(b, server, nullptr, nullptr);
    ASSERT_GE(got, 0);
    EXPECT_EQ((info(b, got).tcpi_options & 32) != 0, in_syn);
    if (in_syn) {
      EXPECT_EQ(said(set(b, server, IPPROTO_TCP, TCP_FASTOPEN, 0)), "0");
    }
  }
}

TEST_F(OptionsTest, InfoOfSegmentSizes) {
  join();
  // Before any text Linux guesses 536; our SYN named 1460, of which timestamps take twelve.
  EXPECT_EQ(info(r, far).tcpi_advmss, 1448u);
  EXPECT_EQ(info(r, far).tcpi_rcv_mss, 536u);
  say(l, near, std::string(3000, 'x'));
  pass();
  EXPECT_EQ(info(r, far).tcpi_rcv_mss, 1448u);
  int const small = make(l);
  EXPECT_EQ(set(l, small, IPPROTO_TCP, TCP_MAXSEG, 500), 0);
  EXPECT_EQ(said(connect(l, small, name4(2, port))), "EINPROGRESS");
  pass();
  EXPECT_EQ(info(l, small).tcpi_advmss, 488u);
  EXPECT_EQ(info(l, small).tcpi_rcv_mss, 488u);
  PairOf of;
  of.left.tcp.timestamps = false;
  SocketPair plain(of);
  int const server = make(plain.right.c(), AF_INET6);
  EXPECT_EQ(said(bind(plain.right.c(), server, name6("::", port))), "0");
  EXPECT_EQ(said(lockstep_listen(plain.right.c(), server, 5)), "0");
  int const six = make(plain.left.c(), AF_INET6);
  EXPECT_EQ(said(connect(plain.left.c(), six, name6("fd00::2", port))), "EINPROGRESS");
  plain.run(Duration::milliseconds(1));
  EXPECT_EQ(info(plain.left.c(), six).tcpi_advmss, 1440u);
}

TEST_F(OptionsTest, InfoOfReordering) {
  join();
  EXPECT_EQ(info(l, near).tcpi_reordering, 3u);
  for (std::size_t const segments : {3u, 6u}) {
    pair.hold_left();
    say(l, near, std::string(segments * 1448, 'x'));
    pair.step();
    pair.let_left_go();
    pass();
    EXPECT_EQ(info(l, near).tcpi_reord_seen, 1u);
    EXPECT_EQ(info(l, near).tcpi_reordering, segments);
    EXPECT_EQ(info(l, near).tcpi_total_retrans, 0u);
    EXPECT_EQ(hear(r, far).size(), segments * 1448);
  }
}

TEST_F(OptionsTest, KeepaliveFindsThePeerGone) {
  join();
  EXPECT_EQ(set(l, near, SOL_SOCKET, SO_KEEPALIVE, 1), 0);
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_KEEPIDLE, 10), 0);
  pair.cut(true);
  pass(Duration::seconds(10 + 75 * 8));
  EXPECT_EQ(ready(l, near), out);
  pass(Duration::seconds(80));
  EXPECT_EQ(error_of(l, near), "ETIMEDOUT");
}

TEST_F(OptionsTest, TheUserTimeoutEndsAConnection) {
  join();
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_USER_TIMEOUT, 5000), 0);
  pair.cut(true);
  say(l, near, "nobody hears this");
  pass(Duration::milliseconds(4900));
  EXPECT_EQ(error_of(l, near), "0");
  pass(Duration::milliseconds(200));
  EXPECT_EQ(error_of(l, near), "ETIMEDOUT");
}

TEST_F(OptionsTest, ACorkHoldsBackWhatFillsNoSegment) {
  join();
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_CORK, 1), 0);
  say(l, near, "a");
  say(l, near, "b");
  pass();
  EXPECT_EQ(hear(r, far), "EAGAIN");
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_CORK, 0), 0);
  pass();
  EXPECT_EQ(hear(r, far), "ab");
  pass(Duration::milliseconds(50));
  say(l, near, "c", MSG_MORE);
  pass();
  EXPECT_EQ(hear(r, far), "EAGAIN");
  say(l, near, "d");
  pass();
  EXPECT_EQ(hear(r, far), "cd");
}

TEST_F(OptionsTest, QueriesCountOctets) {
  join();
  EXPECT_EQ(say(l, near, "12345"), 5);
  EXPECT_EQ(query(l, near, SIOCOUTQ), 5);
  EXPECT_EQ(query(l, near, SIOCOUTQNSD), 5);
  EXPECT_EQ(query(r, far, SIOCINQ), 0);
  pass(Duration::milliseconds(100));
  EXPECT_EQ(query(l, near, SIOCOUTQ), 0);
  EXPECT_EQ(query(r, far, SIOCINQ), 5);
  EXPECT_EQ(query(r, far, FIONREAD), 5);
  EXPECT_EQ(hear(r, far, 2), "12");
  EXPECT_EQ(query(r, far, SIOCINQ), 3);
  pair.cut(true);
  say(l, near, "678");
  pass();
  EXPECT_EQ(query(l, near, SIOCOUTQ), 3);
  EXPECT_EQ(query(l, near, SIOCOUTQNSD), 0);
}

TEST_F(OptionsTest, InfoOfAConnection) {
  join();
  lockstep_tcp_info before = info(l, near);
  EXPECT_EQ(before.tcpi_state, 1);
  EXPECT_EQ(before.tcpi_options, 1 | 2 | 4);
  EXPECT_EQ(before.tcpi_snd_mss, 1448u);
  EXPECT_EQ(before.tcpi_snd_cwnd, 10u);
  EXPECT_EQ(before.tcpi_snd_ssthresh, 0x7fff'ffffu);
  EXPECT_EQ(before.tcpi_unacked, 0u);
  EXPECT_EQ(before.tcpi_pmtu, 1500u);
  EXPECT_EQ(before.tcpi_rto, 200'000u);
  EXPECT_GT(before.tcpi_rtt, 0u);
  EXPECT_LT(before.tcpi_rtt, 100u);
  say(l, near, std::string(3000, 'x'));
  pass(Duration::milliseconds(100));
  hear(r, far, 1000);
  lockstep_tcp_info const sender = info(l, near);
  lockstep_tcp_info const receiver = info(r, far);
  EXPECT_EQ(sender.tcpi_bytes_acked, 3000u);
  EXPECT_EQ(sender.tcpi_segs_out, before.tcpi_segs_out + 3);
  EXPECT_EQ(receiver.tcpi_bytes_received, 3000u);
  EXPECT_EQ(receiver.tcpi_rcv_mss, 1448u);
  EXPECT_GT(sender.tcpi_snd_wnd, 0u);
  pass(Duration::milliseconds(400));
  EXPECT_EQ(info(r, far).tcpi_last_data_recv, 499u);
  EXPECT_EQ(info(l, near).tcpi_last_data_sent, 499u);
  // Nobody answers: the timeout counts, and what is in flight is seen.
  pair.cut(true);
  say(l, near, std::string(3000, 'y'));
  pass(Duration::milliseconds(500));
  lockstep_tcp_info const waiting = info(l, near);
  EXPECT_EQ(waiting.tcpi_unacked, 3u);
  EXPECT_EQ(waiting.tcpi_ca_state, 4);
  EXPECT_GE(waiting.tcpi_retransmits, 1);
  EXPECT_GE(waiting.tcpi_total_retrans, 1u);
  EXPECT_EQ(waiting.tcpi_notsent_bytes, 0u);
}

TEST_F(OptionsTest, InfoOfWhatHasBeen) {
  join();
  lockstep_tcp_info const begun = info(l, near);
  EXPECT_EQ(begun.tcpi_delivered, 1u);
  EXPECT_EQ(begun.tcpi_bytes_sent, 0u);
  EXPECT_EQ(begun.tcpi_busy_time, 0u);
  EXPECT_EQ(begun.tcpi_rcv_ssthresh, 65'535u);
  pair.cut(true);
  say(l, near, std::string(3000, 'x'));
  pass(Duration::milliseconds(2));
  EXPECT_EQ(info(l, near).tcpi_bytes_sent, 3000u);
  EXPECT_EQ(info(l, near).tcpi_delivered, 1u);
  EXPECT_EQ(info(l, near).tcpi_busy_time, 2'000u);
  pair.cut(false);
  pass(Duration::milliseconds(1'000));
  lockstep_tcp_info const done = info(l, near);
  // All of it went twice, but nothing is out any more.
  EXPECT_EQ(done.tcpi_bytes_retrans, 3000u);
  EXPECT_EQ(done.tcpi_bytes_sent, 6000u);
  EXPECT_EQ(done.tcpi_data_segs_out, 6u);
  EXPECT_EQ(done.tcpi_retrans, 0u);
  EXPECT_EQ(done.tcpi_delivered, 1u + 3u);
  EXPECT_GT(done.tcpi_busy_time, 200'000u);  // the retransmission timer
  EXPECT_LT(done.tcpi_busy_time, 500'000u);
  EXPECT_EQ(done.tcpi_sndbuf_limited, 0u);
  // More than there is room for, twice.
  std::string const much(1 << 20, 'y');
  EXPECT_LT(say(l, near, much), 1 << 20);
  EXPECT_EQ(said(say(l, near, much)), "EAGAIN");
  pair.cut(true);
  pass(Duration::milliseconds(3));
  EXPECT_EQ(info(l, near).tcpi_sndbuf_limited, 3'000u);
  pair.cut(false);
  for (int i = 0; i < 100; ++i) {
    hear(r, far, 1 << 20);
    pass(Duration::milliseconds(20));
  }
  std::uint64_t const limited = info(l, near).tcpi_sndbuf_limited;
  EXPECT_LT(limited, 1'000'000u);
  pass(Duration::seconds(1));
  EXPECT_EQ(info(l, near).tcpi_sndbuf_limited, limited);
}

TEST_F(OptionsTest, InfoOfTheOtherStates) {
  int const fd = make(l);
  EXPECT_EQ(info(l, fd).tcpi_state, 7);
  static_cast<void>(connect(l, fd, name4(2, port)));
  EXPECT_EQ(info(l, fd).tcpi_state, 2);
  listener = listening(3);
  pass();
  EXPECT_EQ(info(l, fd).tcpi_state, 1);
  EXPECT_EQ(info(r, listener).tcpi_state, 10);
  EXPECT_EQ(info(r, listener).tcpi_unacked, 1u);
  EXPECT_EQ(info(r, listener).tcpi_sacked, 3u);
  far = lockstep_accept(r, listener, nullptr, nullptr);
  EXPECT_EQ(info(r, listener).tcpi_unacked, 0u);
  EXPECT_EQ(lockstep_shutdown(l, fd, SHUT_WR), 0);
  EXPECT_EQ(info(l, fd).tcpi_state, 4);
  pass(Duration::milliseconds(100));
  EXPECT_EQ(info(l, fd).tcpi_state, 5);
  EXPECT_EQ(info(r, far).tcpi_state, 8);
  EXPECT_EQ(lockstep_shutdown(r, far, SHUT_WR), 0);
  pair.step();
  EXPECT_EQ(info(r, far).tcpi_state, 9);
  pass();
  EXPECT_EQ(info(r, far).tcpi_state, 7);
  EXPECT_EQ(info(l, fd).tcpi_state, 7);
}

}  // namespace
}  // namespace lockstep::tools::testing
