// Options of every level: the connection obeys what is set; what is not supported is refused by its
// errno.
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "core/wire/octets.hpp"
#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

class OptionsTest : public Kit {
 protected:
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
    EXPECT_EQ(outcome(set(l, near, SOL_SOCKET, name, 1)), "ENOPROTOOPT") << name;
  }
  EXPECT_EQ(outcome(set(l, near, IPPROTO_TCP, TCP_INFO, 1)), "ENOPROTOOPT");
}

TEST_F(OptionsTest, WhatIsNotSupportedIsRefused) {
  int const fd = make(l);
  struct Option {
    int level;
    int name;
  };
  Option const options[] = {{SOL_SOCKET, SO_BROADCAST},
                            {SOL_SOCKET, SO_REUSEPORT},
                            {SOL_SOCKET, SO_PRIORITY},
                            {SOL_SOCKET, SO_TIMESTAMP},
                            {SOL_SOCKET, SO_RCVTIMEO},
                            {SOL_SOCKET, SO_SNDTIMEO},
                            {SOL_SOCKET, SO_MARK},
                            {SOL_SOCKET, SO_ZEROCOPY},
                            {IPPROTO_TCP, TCP_MD5SIG},
                            {IPPROTO_TCP, TCP_CC_INFO},
                            {IPPROTO_TCP, TCP_REPAIR},
                            {IPPROTO_TCP, TCP_SYNCNT},
                            {IPPROTO_TCP, TCP_QUEUE_SEQ},
                            {IPPROTO_TCP, TCP_LINGER2},
                            {IPPROTO_TCP, TCP_ULP},
                            {IPPROTO_TCP, TCP_SAVE_SYN},
                            {IPPROTO_IP, IP_OPTIONS},
                            {IPPROTO_IPV6, IPV6_TCLASS},
                            {IPPROTO_UDP, 1},
                            {0x7777, 1}};
  for (Option const& each : options) {
    int value = 1;
    socklen_t length = sizeof value;
    EXPECT_EQ(outcome(lockstep_getsockopt(l, fd, each.level, each.name, &value, &length)),
              "ENOPROTOOPT")
        << each.level << " " << each.name;
    EXPECT_EQ(outcome(set(l, fd, each.level, each.name, 1)), "ENOPROTOOPT")
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
    int first;  // the value before it is set
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
      {four, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 0, {1, 1 << 30, -1, 0}, {}},
      {four, IPPROTO_TCP, TCP_WINDOW_CLAMP, 0, {1152, 1 << 30, -1, 0}, {}},
      {four, IPPROTO_IP, IP_TTL, 64, {1, 255}, {0, 256, -2}},
      {four, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_WANT, {2, 1}, {0, 3, 4, 5, 6, -1}},
      {six, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_WANT, {2, 1}, {0, 3, 4, 5, 6, -1}},
      {six, IPPROTO_IPV6, IPV6_TCLASS, 0, {0x10, 0xfc}, {256, -2}},
      {six, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 64, {1, 255}, {0, 256, -2}},
      {six, IPPROTO_IPV6, IPV6_V6ONLY, 0, {1, 0}, {}},
  };
  for (Value const& each : values) {
    std::string const which = std::to_string(each.level) + " " + std::to_string(each.name);
    EXPECT_EQ(option(l, each.fd, each.level, each.name), each.first) << which;
    for (int const good : each.good) {
      EXPECT_EQ(outcome(set(l, each.fd, each.level, each.name, good)), "0") << which;
      EXPECT_EQ(option(l, each.fd, each.level, each.name), good) << which;
    }
    for (int const bad : each.bad) {
      EXPECT_EQ(outcome(set(l, each.fd, each.level, each.name, bad)), "EINVAL") << which << bad;
    }
    EXPECT_EQ(outcome(lockstep_setsockopt(l, each.fd, each.level, each.name, &each.first, 3)),
              "EINVAL")
        << which;
  }
  EXPECT_EQ(set(l, four, IPPROTO_IP, IP_TTL, -1), 0);
  EXPECT_EQ(option(l, four, IPPROTO_IP, IP_TTL), 64);
  EXPECT_EQ(set(l, four, IPPROTO_TCP, TCP_USER_TIMEOUT, 0), 0);
  EXPECT_EQ(option(l, four, IPPROTO_TCP, TCP_USER_TIMEOUT), 300'000);
  EXPECT_EQ(outcome(set(l, four, SOL_SOCKET, SO_OOBINLINE, 0)), "ENOPROTOOPT");
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
  EXPECT_EQ(outcome(lockstep_getsockopt(l, fd, IPPROTO_IP, IP_TTL, octets, &length)), "EINVAL");
}

TEST_F(OptionsTest, LingerIsKept) {
  int const fd = make(l);
  struct linger value{1, 30};
  EXPECT_EQ(lockstep_setsockopt(l, fd, SOL_SOCKET, SO_LINGER, &value, sizeof value), 0);
  value = {};
  socklen_t length = sizeof value;
  EXPECT_EQ(lockstep_getsockopt(l, fd, SOL_SOCKET, SO_LINGER, &value, &length), 0);
  EXPECT_EQ(value.l_onoff, 1);
  EXPECT_EQ(value.l_linger, 30);
  value.l_linger = -1;
  EXPECT_EQ(outcome(lockstep_setsockopt(l, fd, SOL_SOCKET, SO_LINGER, &value, sizeof value)),
            "EINVAL");
  EXPECT_EQ(outcome(set(l, fd, SOL_SOCKET, SO_LINGER, 1)), "EINVAL");
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

// IP and TCP header fields of frames that the right side sent to a given port of the left.
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
    sent.tos =
        four ? wire::load8(&frame[1]) : static_cast<std::uint8_t>(wire::load16(&frame[0]) >> 4);
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

// RFC 5082: a peer that requires a TTL of 255 on every segment drops a SYN-ACK with less.
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
          EXPECT_EQ(
              outcome(six ? bind(b, server, name6("::", port)) : bind(b, server, name4(0, port))),
              "0");
          EXPECT_EQ(outcome(lockstep_listen(b, server, 5)), "0");
          if (late) {
            choose();
          }
          int const caller = make(a, six ? AF_INET6 : AF_INET);
          EXPECT_EQ(outcome(six ? connect(a, caller, name6("fd00::2", port))
                                : connect(a, caller, name4(2, port))),
                    "EINPROGRESS");
          fresh.run(Duration::milliseconds(1));
          int const taken = lockstep_accept(b, server, nullptr, nullptr);
          ASSERT_GE(taken, 0);
          send(b, taken, "text");
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

TEST_F(OptionsTest, QueriesCountOctets) {
  join();
  EXPECT_EQ(send(l, near, "12345"), 5);
  EXPECT_EQ(query(l, near, SIOCOUTQ), 5);
  EXPECT_EQ(query(l, near, SIOCOUTQNSD), 5);
  EXPECT_EQ(query(r, far, SIOCINQ), 0);
  pass(Duration::milliseconds(100));
  EXPECT_EQ(query(l, near, SIOCOUTQ), 0);
  EXPECT_EQ(query(r, far, SIOCINQ), 5);
  EXPECT_EQ(query(r, far, FIONREAD), 5);
  EXPECT_EQ(receive(r, far, 2), "12");
  EXPECT_EQ(query(r, far, SIOCINQ), 3);
  pair.cut(true);
  send(l, near, "678");
  pass();
  EXPECT_EQ(query(l, near, SIOCOUTQ), 3);
  EXPECT_EQ(query(l, near, SIOCOUTQNSD), 0);
}

}  // namespace
}  // namespace lockstep::tools::testing
