// Calls that block, made from a second thread: when they return, the same in each run.
#include <atomic>

#include "conformance/packetdrill/packetdrill_kit.hpp"

namespace lockstep::tools::packetdrill::testing {
namespace {

TEST(Blocking, AcceptReturnsAtTheInstantOfTheAck) {
  std::vector<std::string> first;
  for (int i = 0; i < 10; ++i) {
    Drill drill;
    int const listener = drill.listening();
    drill.block(1'000, [&] {
      int const fd = drill.calls.accept(drill.ud(), listener, nullptr, nullptr);
      drill.sockets.push_back(fd);
      return fd < 0 ? -1L : 1L;
    });
    drill.wait_until(100'000);
    drill.arrive("S 0:0(0) win 65535 <mss 1000>");
    drill.leaves("S. 0:0(0) ack 1 <mss 1460>");
    drill.wait_until(200'000);
    drill.arrive(". 1:1(0) ack 1 win 65535");
    std::string const back = drill.came_back(300'000);
    EXPECT_EQ(back, "1 at 200001");
    drill.note(back);
    if (i == 0) {
      first = drill.log;
    }
    EXPECT_EQ(drill.log, first) << i;
  }
}

TEST(Blocking, ConnectReturnsWithTheSynAck) {
  Drill drill;
  int const fd = drill.socket();
  socklen_t length = 0;
  sockaddr_storage const to = drill.name(true, length);
  drill.flow.local_known = false;
  drill.block(0, [&]() -> long {
    return drill.calls.connect(drill.ud(), fd, reinterpret_cast<const sockaddr*>(&to), length);
  });
  drill.leaves("S 0:0(0) <...>");
  EXPECT_EQ(drill.came_back(50'000), "blocked");
  drill.wait_until(60'000);
  drill.arrive("S. 0:0(0) ack 1 win 65535 <mss 1000>");
  EXPECT_TRUE(drill.came_back(100'000).starts_with("0 at 6000"));
  // The result was already returned once.
  EXPECT_EQ(
      said(drill.calls.connect(drill.ud(), fd, reinterpret_cast<const sockaddr*>(&to), length)),
      "EISCONN");
}

TEST(Blocking, ConnectIsRefused) {
  Drill drill;
  int const fd = drill.socket();
  socklen_t length = 0;
  sockaddr_storage const to = drill.name(true, length);
  drill.flow.local_known = false;
  drill.block(0, [&]() -> long {
    return drill.calls.connect(drill.ud(), fd, reinterpret_cast<const sockaddr*>(&to), length);
  });
  drill.leaves("S 0:0(0) <...>");
  drill.arrive("R. 0:0(0) ack 1 win 0");
  EXPECT_TRUE(drill.came_back(100'000).starts_with("ECONNREFUSED at "));
}

TEST(Blocking, ReadWaitsForDataAndForAllOfIt) {
  Drill drill;
  int const fd = drill.accepted();
  char text[64];
  drill.block(10'000, [&]() -> long { return drill.calls.read(drill.ud(), fd, text, 64); });
  drill.wait_until(20'000);
  drill.arrive("P. 1:6(5) ack 1 win 65535");
  EXPECT_EQ(drill.came_back(30'000), "5 at 20001");
  drill.block(40'000,
              [&]() -> long { return drill.calls.recv(drill.ud(), fd, text, 20, MSG_WAITALL); });
  drill.wait_until(50'000);
  drill.arrive("P. 6:16(10) ack 1 win 65535");
  EXPECT_EQ(drill.came_back(55'000), "blocked");
  drill.wait_until(60'000);
  drill.arrive("P. 16:26(10) ack 1 win 65535");
  EXPECT_EQ(drill.came_back(70'000), "20 at 60001");
  // Also when the stream ends.
  drill.block(80'000, [&]() -> long { return drill.calls.read(drill.ud(), fd, text, 64); });
  drill.wait_until(90'000);
  drill.arrive("F. 26:26(0) ack 1 win 65535");
  EXPECT_EQ(drill.came_back(95'000), "0 at 90001");
}

TEST(Blocking, WriteWaitsForRoom) {
  Drill drill("local_ip=192.168.0.1 profile=rfc");
  int const fd = drill.accepted();
  int const small = 4'000;
  EXPECT_EQ(
      said(drill.calls.setsockopt(drill.ud(), fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small)),
      "0");
  std::vector<char> text(6'000);
  drill.block(10'000, [&]() -> long {
    return drill.calls.write(drill.ud(), fd, text.data(), text.size());
  });
  drill.leaves(". 1:1001(1000) ack 1");
  drill.wait_until(20'000);
  EXPECT_EQ(drill.came_back(25'000), "blocked");
  drill.wait_until(30'000);
  drill.arrive(". 1:1(0) ack 1001 win 65535");
  EXPECT_EQ(drill.came_back(35'000), "blocked");
  drill.wait_until(40'000);
  drill.arrive(". 1:1(0) ack 2001 win 65535");
  EXPECT_EQ(drill.came_back(45'000), "6000 at 40001");
}

TEST(Blocking, PollAndEpollWaitForAnEventOrTheirTimeout) {
  Drill drill;
  int const fd = drill.accepted();
  pollfd entry{fd, POLLIN, 0};
  drill.block(10'000, [&]() -> long { return drill.calls.poll(drill.ud(), &entry, 1, 20); });
  EXPECT_TRUE(drill.came_back(100'000).starts_with("0 at 3000"));
  int const epoll = drill.calls.epoll_create(drill.ud(), 1);
  epoll_event event{};
  event.events = EPOLLIN;
  EXPECT_EQ(drill.calls.epoll_ctl(drill.ud(), epoll, EPOLL_CTL_ADD, fd, &event), 0);
  drill.block(200'000,
              [&]() -> long { return drill.calls.epoll_wait(drill.ud(), epoll, &event, 1, -1); });
  drill.wait_until(210'000);
  drill.arrive("P. 1:6(5) ack 1 win 65535");
  EXPECT_EQ(drill.came_back(220'000), "1 at 210001");
}

TEST(Blocking, CloseLingersUntilTheFinIsAcknowledged) {
  Drill drill;
  int const fd = drill.accepted();
  linger const wish{1, 10};
  EXPECT_EQ(said(drill.calls.setsockopt(drill.ud(), fd, SOL_SOCKET, SO_LINGER, &wish, sizeof wish)),
            "0");
  std::erase(drill.sockets, fd);
  drill.block(10'000, [&]() -> long { return drill.calls.close(drill.ud(), fd); });
  drill.leaves("F. 1:1(0) ack 1");
  drill.wait_until(50'000);
  drill.arrive(". 1:1(0) ack 2 win 65535");
  EXPECT_EQ(drill.came_back(60'000), "0 at 50001");
}

TEST(Blocking, TwoThreadsAndTheScriptsThread) {
  Drill drill;
  int const fd = drill.accepted();
  char text[16], more[16];
  long got = 0;
  std::thread second;
  drill.block(10'000, [&]() -> long { return drill.calls.read(drill.ud(), fd, text, 5); });
  second = std::thread([&] {
    got = drill.calls.recv(drill.ud(), fd, more, 5, MSG_WAITALL);
    drill.time();
  });
  drill.wait_until(20'000);
  drill.arrive("P. 1:21(20) ack 1 win 65535");
  EXPECT_TRUE(drill.came_back(30'000).starts_with("5 at "));
  second.join();
  EXPECT_EQ(got, 5);
}

TEST(Blocking, FreeEndsWaitingCalls) {
  packetdrill_interface calls{};
  load()(Drill::flags4, &calls);
  int const fd = calls.socket(calls.userdata, AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(calls.listen(calls.userdata, fd, 1), 0);
  std::string out;
  std::atomic<int> id = 0;
  std::thread waiting([&] {
    id = static_cast<int>(syscall(SYS_gettid));
    out = said(calls.accept(calls.userdata, fd, nullptr, nullptr));
  });
  while (id == 0 || !is_asleep(id)) {
    std::this_thread::yield();
  }
  calls.free(calls.userdata);
  waiting.join();
  EXPECT_EQ(out, "EINTR");
  EXPECT_EQ(::close(fd), 0);
}

}  // namespace
}  // namespace lockstep::tools::packetdrill::testing
