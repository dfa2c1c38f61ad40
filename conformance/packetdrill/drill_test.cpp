// The library under a loader in packetdrill's place: every call, times, packets, scripts.
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "conformance/packetdrill/packetdrill_kit.hpp"
#include "core/units/check.hpp"
#include "tools/lib/sockets/sockets.h"

namespace lockstep::tools::packetdrill::testing {
namespace {

int option(const Drill& drill, int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(said(drill.calls.getsockopt(drill.ud(), fd, level, name, &value, &length)), "0");
  EXPECT_EQ(length, sizeof value);
  return value;
}

TEST(Drill, EveryMemberIsFilledIn) {
  Drill const drill;
  void* slots[33];
  static_assert(sizeof slots == sizeof drill.calls);
  std::memcpy(slots, &drill.calls, sizeof slots);
  for (int i = 0; i < 33; ++i) {
    EXPECT_NE(slots[i], nullptr) << i;
  }
}

TEST(Drill, TimeAdvancesInCallsAndBySleeping) {
  Drill const drill;
  long long const first = drill.time();
  EXPECT_EQ(drill.time(), first + 1);
  EXPECT_EQ(drill.calls.usleep(drill.ud(), 1000), 0);
  EXPECT_EQ(drill.time(), first + 1 + 1000 + 20);
}

TEST(Drill, APassiveConnection) {
  Drill drill;
  int const listener = drill.listening();
  drill.wait_until(100'000);
  drill.arrive("S 0:0(0) win 65535 <mss 1000>");
  drill.leaves("S. 0:0(0) ack 1 <mss 1460>");
  EXPECT_EQ(drill.left_at, 100'000);
  drill.arrive(". 1:1(0) ack 1 win 65535");

  sockaddr_in peer{};
  socklen_t length = sizeof peer;
  int const fd =
      drill.calls.accept(drill.ud(), listener, reinterpret_cast<sockaddr*>(&peer), &length);
  ASSERT_GE(fd, 0) << said(fd);
  drill.sockets.push_back(fd);
  EXPECT_NE(fd, listener);
  EXPECT_EQ(length, sizeof peer);
  EXPECT_EQ(ntohl(peer.sin_addr.s_addr), 0xc000'0201u);
  EXPECT_EQ(ntohs(peer.sin_port), 40'000);

  char text[100];
  drill.arrive("P. 1:11(10) ack 1 win 65535");
  EXPECT_EQ(said(drill.calls.read(drill.ud(), fd, text, sizeof text)), "10");
  EXPECT_EQ(said(drill.calls.write(drill.ud(), fd, text, 10)), "10");
  drill.leaves("P. 1:11(10) ack 11");
  EXPECT_EQ(said(drill.close(fd)), "0");
  drill.leaves("F. 11:11(0) ack 11");
}

TEST(Drill, AnActiveConnectionOverIpv6) {
  Drill drill("local_ip=fd3d:a0b:17d6::1", true);
  int const fd = drill.socket();
  EXPECT_EQ(said(drill.calls.fcntl(drill.ud(), fd, F_GETFL)), "2");
  EXPECT_EQ(said(drill.calls.fcntl(drill.ud(), fd, F_SETFL, O_RDWR | O_NONBLOCK)), "0");
  EXPECT_EQ(said(drill.calls.fcntl(drill.ud(), fd, F_GETFL)), "2050");
  socklen_t length = 0;
  sockaddr_storage const to = drill.name(true, length);
  drill.flow.opening = true;
  drill.flow.local_known = false;
  EXPECT_EQ(
      said(drill.calls.connect(drill.ud(), fd, reinterpret_cast<const sockaddr*>(&to), length)),
      "EINPROGRESS");
  drill.leaves("S 0:0(0) <...>");
  drill.arrive("S. 0:0(0) ack 1 win 65535 <mss 1000>");
  drill.leaves(". 1:1(0) ack 1");
  EXPECT_EQ(option(drill, fd, SOL_SOCKET, SO_ERROR), 0);
}

TEST(Drill, DataThroughEveryCall) {
  Drill drill;
  int const fd = drill.accepted();
  packetdrill_interface const& c = drill.calls;
  char in[64], out[] = "abcdef";
  iovec parts[2] = {{in, 2}, {in + 2, 4}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  drill.arrive("P. 1:61(60) ack 1 win 65535");
  EXPECT_EQ(said(c.readv(drill.ud(), fd, parts, 2)), "6");
  EXPECT_EQ(said(c.recv(drill.ud(), fd, in, 10, MSG_PEEK)), "10");
  socklen_t length = 99;
  EXPECT_EQ(said(c.recvfrom(drill.ud(), fd, in, 10, 0, nullptr, &length)), "10");
  EXPECT_EQ(length, 0u);
  EXPECT_EQ(said(c.recvmsg(drill.ud(), fd, &message, 0)), "6");
  int count = 0;
  EXPECT_EQ(said(c.ioctl(drill.ud(), fd, SIOCINQ, &count)), "0");
  EXPECT_EQ(count, 38);
  parts[0] = parts[1] = {out, 3};
  EXPECT_EQ(option(drill, fd, IPPROTO_TCP, TCP_NODELAY), 0);
  int const on = 1;
  EXPECT_EQ(said(c.setsockopt(drill.ud(), fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)), "0");
  EXPECT_EQ(said(c.writev(drill.ud(), fd, parts, 2)), "6");
  drill.leaves("P. 1:7(6) ack 61");
  EXPECT_EQ(said(c.send(drill.ud(), fd, out, 5, 0)), "5");
  drill.leaves("P. 7:12(5) ack 61");
  EXPECT_EQ(said(c.sendto(drill.ud(), fd, out, 4, 0, nullptr, 0)), "4");
  drill.leaves("P. 12:16(4) ack 61");
  EXPECT_EQ(said(c.sendmsg(drill.ud(), fd, &message, 0)), "6");
  drill.leaves("P. 16:22(6) ack 61");
  EXPECT_EQ(said(c.ioctl(drill.ud(), fd, SIOCOUTQ, &count)), "0");
  EXPECT_EQ(count, 21);
  EXPECT_EQ(said(c.shutdown(drill.ud(), fd, SHUT_WR)), "0");
  drill.leaves("F. 22:22(0) ack 61");
  lockstep_tcp_info info{};
  length = sizeof info;
  EXPECT_EQ(said(c.getsockopt(drill.ud(), fd, IPPROTO_TCP, TCP_INFO, &info, &length)), "0");
  EXPECT_EQ(info.tcpi_state, TCP_FIN_WAIT1);
}

TEST(Drill, PollAndEpollReportReadiness) {
  Drill drill;
  int const fd = drill.accepted();
  packetdrill_interface const& c = drill.calls;
  int const epoll = c.epoll_create(drill.ud(), 1);
  ASSERT_GE(epoll, 0);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = 77;
  EXPECT_EQ(said(c.epoll_ctl(drill.ud(), epoll, EPOLL_CTL_ADD, fd, &event)), "0");
  EXPECT_EQ(said(c.epoll_wait(drill.ud(), epoll, &event, 1, 0)), "0");
  pollfd entries[2] = {{fd, POLLIN | POLLOUT, 0}, {12'345, POLLIN, 0}};
  EXPECT_EQ(said(c.poll(drill.ud(), entries, 2, 0)), "2");
  EXPECT_EQ(entries[0].revents, POLLOUT);
  EXPECT_EQ(entries[1].revents, POLLNVAL);
  drill.arrive("P. 1:11(10) ack 1 win 65535");
  EXPECT_EQ(said(c.epoll_wait(drill.ud(), epoll, &event, 1, -1)), "1");
  EXPECT_EQ(event.data.fd, 77);
  // On the script's own thread a timeout advances virtual time.
  entries[0].events = POLLPRI;
  long long const before = drill.now();
  EXPECT_EQ(said(c.poll(drill.ud(), entries, 1, 3'000)), "0");
  EXPECT_EQ(drill.now(), before + 3'000'000);
  EXPECT_EQ(said(c.close(drill.ud(), epoll)), "0");
}

TEST(Drill, DataIsSplicedThroughAPipe) {
  Drill drill;
  int const fd = drill.accepted();
  packetdrill_interface const& c = drill.calls;
  int ends[2] = {-1, -1};
  EXPECT_EQ(said(c.pipe(drill.ud(), ends)), "0");
  loff_t in = 0, out = 0;
  drill.arrive("P. 1:101(100) ack 1 win 65535");
  EXPECT_EQ(said(c.splice(drill.ud(), fd, &in, ends[1], &out, 60, 0)), "60");
  EXPECT_EQ(said(c.splice(drill.ud(), fd, &in, ends[1], &out, 60, 0)), "40");
  int count = 0;
  EXPECT_EQ(said(c.ioctl(drill.ud(), ends[0], FIONREAD, &count)), "0");
  EXPECT_EQ(count, 100);
  char text[8];
  EXPECT_EQ(said(c.read(drill.ud(), ends[0], text, sizeof text)), "8");
  EXPECT_EQ(said(c.write(drill.ud(), ends[1], text, sizeof text)), "8");
  EXPECT_EQ(said(c.splice(drill.ud(), ends[0], &in, fd, &out, 1000, 0)), "100");
  drill.leaves("P. 1:101(100) ack 101");
  EXPECT_EQ(said(c.splice(drill.ud(), ends[0], &in, fd, &out, 1, SPLICE_F_NONBLOCK)), "EAGAIN");
  EXPECT_EQ(said(c.splice(drill.ud(), fd, &in, fd, &out, 1, 0)), "EINVAL");
  in = 4;
  EXPECT_EQ(said(c.splice(drill.ud(), ends[0], &in, fd, &out, 1, 0)), "ESPIPE");
  EXPECT_EQ(said(c.close(drill.ud(), ends[0])), "0");
  EXPECT_EQ(said(c.close(drill.ud(), ends[1])), "0");
}

TEST(Drill, DescriptorsAreRealOnes) {
  Drill drill;
  int const one = drill.socket();
  int const two = drill.socket();
  EXPECT_NE(one, two);
  EXPECT_GE(fcntl(one, F_GETFD), 0);
  EXPECT_EQ(drill.close(one), 0);
  EXPECT_EQ(fcntl(one, F_GETFD), -1);
  EXPECT_EQ(said(drill.calls.close(drill.ud(), one)), "EBADF");
  EXPECT_EQ(said(drill.calls.listen(drill.ud(), one, 1)), "EBADF");
  // A descriptor that the caller closed directly: its number is reused.
  EXPECT_EQ(::close(two), 0);
  drill.sockets.clear();
  int const again = drill.socket();
  EXPECT_EQ(option(drill, again, SOL_SOCKET, SO_ACCEPTCONN), 0);
}

TEST(Drill, ReceiveAdvancesTheClockUpToTheHorizon) {
  Drill drill("local_ip=192.168.0.1 horizon=60s");
  int const fd = drill.accepted();
  EXPECT_EQ(drill.leaves(), "none");
  EXPECT_EQ(said(drill.calls.write(drill.ud(), fd, "x", 1)), "1");
  drill.leaves("P. 1:2(1) ack 1");
  long long const sent = drill.left_at;
  drill.leaves("P. 1:2(1) ack 1");  // the retransmission
  EXPECT_GE(drill.left_at, sent + 200'000);
}

TEST(Drill, AReadWithoutDataEndsAtTheHorizon) {
  Drill drill("local_ip=192.168.0.1 horizon=60s");
  int const fd = drill.accepted();
  char text[8];
  long long const before = drill.now();
  EXPECT_EQ(said(drill.calls.read(drill.ud(), fd, text, sizeof text)), "EAGAIN");
  EXPECT_EQ(drill.now(), before + 60'000'000);
}

TEST(Drill, AnHourPassesAtOnce) {
  Drill drill("local_ip=192.168.0.1 keepalive_idle=600s");
  int const fd = drill.accepted();
  int const on = 1;
  EXPECT_EQ(said(drill.calls.setsockopt(drill.ud(), fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on)),
            "0");
  int probes = 0;
  while (drill.now() < 3'600'000'000LL) {
    drill.leaves();
    drill.wait_until(drill.left_at);
    drill.arrive(". 1:1(0) ack 1 win 65535");
    ++probes;
  }
  EXPECT_EQ(probes, 6);
}

TEST(Drill, AScriptIsIndependentOfThePreviousOne) {
  std::vector<std::string> first;
  for (int i = 0; i < 10; ++i) {
    Drill drill;
    int const fd = drill.accepted();
    EXPECT_EQ(said(drill.calls.write(drill.ud(), fd, "hello", 5)), "5");
    drill.leaves("P. 1:6(5) ack 1");
    drill.leaves("P. 1:6(5) ack 1");
    if (i == 0) {
      first = drill.log;
    }
    EXPECT_EQ(drill.log, first) << i;
  }
}

TEST(Drill, InitEndsTheSessionThatWasNotFreed) {
  packetdrill_interface left{};
  Init const init = load();
  init(Drill::flags4, &left);
  int const fd = left.socket(left.userdata, AF_INET, SOCK_STREAM, 0);
  EXPECT_GE(fd, 0);
  EXPECT_EQ(::close(fd), 0);
  Drill drill;
  drill.accepted();
}

TEST(DrillDeathTest, AnUnknownFlagEndsTheProcessWithOneLine) {
  Init const init = load();
  packetdrill_interface calls{};
  EXPECT_EXIT(init("tapdance=7", &calls), ::testing::ExitedWithCode(2),
              "^liblockstep_packetdrill: --so_flags:1:1: the flag tapdance is not known, .*\n$");
}

TEST(DrillDeathTest, AFailedCheckPrintsTheCondition) {
  packetdrill_interface calls{};
  EXPECT_DEATH(
      {
        packetdrill_interface_init(nullptr, &calls);  // of this program, with its own CHECKs
        CHECK(calls.free == nullptr);
      },
      "^liblockstep_packetdrill: internal error: CHECK\\(calls.free == nullptr\\) failed at "
      ".*drill_test.cpp:[0-9]+; please report it");
}

TEST(Drill, MalformedPacketsAreRefused) {
  Drill const drill;
  char text[1] = {};
  EXPECT_EQ(said(drill.calls.netdev_send(drill.ud(), nullptr, 1)), "EFAULT");
  EXPECT_EQ(said(drill.calls.netdev_send(drill.ud(), text, 0)), "EMSGSIZE");
  EXPECT_EQ(said(drill.calls.netdev_send(drill.ud(), text, 1)), "0");  // malformed: dropped
}

}  // namespace
}  // namespace lockstep::tools::packetdrill::testing
