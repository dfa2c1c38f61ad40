// epoll and poll: level and edge triggered, one-shot, and the order of reported events.
#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

class EpollTest : public Kit {
 protected:
  void SetUp() override {
    join();
    // Each write leaves at once.
    EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_NODELAY, 1), 0);
    watcher = lockstep_epoll_create1(r, 0);
    ASSERT_GE(watcher, 0);
  }
  int control(int operation, int fd, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    return lockstep_epoll_ctl(r, watcher, operation, fd, &event);
  }
  int add(int fd, std::uint32_t events) const { return control(EPOLL_CTL_ADD, fd, events); }
  /// "fd:events fd:events", the events in hexadecimal.
  std::string reported(int most = 8) const {
    std::vector<epoll_event> events(static_cast<std::size_t>(most));
    int const count = lockstep_epoll_wait(r, watcher, events.data(), most);
    std::string out;
    for (int i = 0; i < count; ++i) {
      char line[32];
      static_cast<void>(std::snprintf(line, sizeof line, "%s%d:%x", i == 0 ? "" : " ",
                                      events[static_cast<std::size_t>(i)].data.fd,
                                      events[static_cast<std::size_t>(i)].events));
      out += line;
    }
    return count < 0 ? outcome(-1) : out;
  }
  std::string of(int fd, std::uint32_t events) const {
    char line[32];
    static_cast<void>(std::snprintf(line, sizeof line, "%d:%x", fd, events));
    return line;
  }

  int watcher = -1;
};

TEST_F(EpollTest, LevelReportsAsLongAsTheConditionHolds) {
  EXPECT_EQ(add(far, EPOLLIN), 0);
  EXPECT_EQ(reported(), "");
  send(l, near, "abc");
  pass();
  EXPECT_EQ(reported(), of(far, EPOLLIN));
  EXPECT_EQ(reported(), of(far, EPOLLIN));
  EXPECT_EQ(receive(r, far, 2), "ab");
  EXPECT_EQ(reported(), of(far, EPOLLIN));
  EXPECT_EQ(receive(r, far), "c");
  EXPECT_EQ(reported(), "");
}

TEST_F(EpollTest, EdgeReportsNewEventsOnly) {
  EXPECT_EQ(add(far, EPOLLIN | EPOLLET), 0);
  send(l, near, "abc");
  pass();
  EXPECT_EQ(reported(), of(far, EPOLLIN));
  EXPECT_EQ(reported(), "");
  EXPECT_EQ(receive(r, far, 1), "a");
  EXPECT_EQ(reported(), "");
  send(l, near, "d");
  pass();
  EXPECT_EQ(reported(), of(far, EPOLLIN));
  EXPECT_EQ(reported(), "");
  EXPECT_EQ(receive(r, far), "bcd");
  EXPECT_EQ(lockstep_shutdown(l, near, SHUT_WR), 0);
  pass();
  EXPECT_EQ(reported(), of(far, EPOLLIN));
  EXPECT_EQ(reported(), "");
}

TEST_F(EpollTest, EdgeOfRoomComesAfterARefusal) {
  std::string const text(1 << 20, 't');
  EXPECT_EQ(add(far, EPOLLOUT | EPOLLET), 0);
  EXPECT_EQ(reported(), of(far, EPOLLOUT));
  EXPECT_EQ(send(r, far, "short"), 5);
  pass();
  EXPECT_EQ(receive(l, near), "short");
  pass(Duration::milliseconds(100));  // the data is acknowledged
  EXPECT_EQ(reported(), "");          // no write was refused, so no event
  while (send(r, far, text) > 0) {
  }
  EXPECT_EQ(reported(), "");
  pass();
  receive(l, near, 1 << 20);
  pass();
  EXPECT_EQ(reported(), of(far, EPOLLOUT));
  EXPECT_EQ(reported(), "");
}

TEST_F(EpollTest, OneShotWaitsForMod) {
  EXPECT_EQ(add(far, EPOLLIN | EPOLLONESHOT), 0);
  send(l, near, "a");
  pass();
  EXPECT_EQ(reported(), of(far, EPOLLIN));
  send(l, near, "b");
  pass();
  EXPECT_EQ(reported(), "");
  EXPECT_EQ(control(EPOLL_CTL_MOD, far, EPOLLIN | EPOLLONESHOT), 0);
  EXPECT_EQ(reported(), of(far, EPOLLIN));
  EXPECT_EQ(reported(), "");
}

TEST_F(EpollTest, ErrorsAreAlwaysReported) {
  EXPECT_EQ(add(far, 0), 0);
  struct linger hard{1, 0};
  EXPECT_EQ(lockstep_setsockopt(l, near, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
  EXPECT_EQ(lockstep_close(l, near), 0);
  pass();
  EXPECT_EQ(reported(), of(far, EPOLLERR | EPOLLHUP));
}

TEST_F(EpollTest, TheFinHasItsOwnEvent) {
  EXPECT_EQ(add(far, EPOLLRDHUP), 0);
  send(l, near, "text");
  pass();
  EXPECT_EQ(reported(), "");
  EXPECT_EQ(lockstep_shutdown(l, near, SHUT_WR), 0);
  pass();
  EXPECT_EQ(reported(), of(far, EPOLLRDHUP));
}

TEST_F(EpollTest, AListenerIsReadyWhenAConnectionWaits) {
  EXPECT_EQ(add(listener, EPOLLIN | EPOLLET), 0);
  EXPECT_EQ(reported(), "");
  static_cast<void>(connect(l, make(l), name4(2, port)));
  pass();
  EXPECT_EQ(reported(), of(listener, EPOLLIN));
  EXPECT_EQ(reported(), "");
  static_cast<void>(connect(l, make(l), name4(2, port)));
  pass();
  EXPECT_EQ(reported(), of(listener, EPOLLIN));
}

TEST_F(EpollTest, AReportedSocketMovesToTheEnd) {
  static_cast<void>(connect(l, make(l), name4(2, port)));
  pass();
  int const second = lockstep_accept(r, listener, nullptr, nullptr);
  ASSERT_GE(second, 0);
  EXPECT_EQ(add(far, EPOLLOUT), 0);
  EXPECT_EQ(add(second, EPOLLOUT), 0);
  EXPECT_EQ(reported(1), of(far, EPOLLOUT));
  EXPECT_EQ(reported(1), of(second, EPOLLOUT));
  EXPECT_EQ(reported(1), of(far, EPOLLOUT));
  EXPECT_EQ(reported(), of(second, EPOLLOUT) + " " + of(far, EPOLLOUT));
}

TEST_F(EpollTest, AClosedSocketIsWatchedNoMore) {
  EXPECT_EQ(add(far, EPOLLOUT), 0);
  EXPECT_EQ(lockstep_close(r, far), 0);
  EXPECT_EQ(reported(), "");
  EXPECT_EQ(outcome(control(EPOLL_CTL_DEL, far, 0)), "EBADF");
  EXPECT_EQ(make(r), far);
  EXPECT_EQ(outcome(control(EPOLL_CTL_DEL, far, 0)), "ENOENT");
}

TEST_F(EpollTest, AnEpollCanBePolledItself) {
  EXPECT_EQ(add(far, EPOLLIN), 0);
  EXPECT_EQ(ready(r, watcher), 0);
  send(l, near, "x");
  pass();
  EXPECT_EQ(ready(r, watcher), in);
}

TEST_F(EpollTest, Errors) {
  epoll_event event{};
  event.events = EPOLLIN;
  EXPECT_EQ(outcome(lockstep_epoll_create(r, 0)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_epoll_create1(r, 1)), "EINVAL");
  EXPECT_EQ(outcome(add(99, EPOLLIN)), "EBADF");
  EXPECT_EQ(outcome(lockstep_epoll_ctl(r, 99, EPOLL_CTL_ADD, far, &event)), "EBADF");
  EXPECT_EQ(outcome(lockstep_epoll_ctl(r, far, EPOLL_CTL_ADD, far, &event)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_epoll_ctl(r, watcher, EPOLL_CTL_ADD, watcher, &event)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_epoll_ctl(r, watcher, 9, far, &event)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_epoll_ctl(r, watcher, EPOLL_CTL_ADD, far, nullptr)), "EFAULT");
  EXPECT_EQ(outcome(add(far, EPOLLIN | EPOLLEXCLUSIVE)), "EINVAL");
  EXPECT_EQ(outcome(control(EPOLL_CTL_MOD, far, EPOLLIN)), "ENOENT");
  EXPECT_EQ(outcome(control(EPOLL_CTL_DEL, far, EPOLLIN)), "ENOENT");
  EXPECT_EQ(outcome(add(far, EPOLLIN)), "0");
  EXPECT_EQ(outcome(add(far, EPOLLIN)), "EEXIST");
  EXPECT_EQ(outcome(control(EPOLL_CTL_DEL, far, 0)), "0");
  int const other = lockstep_epoll_create(r, 1);
  EXPECT_EQ(outcome(add(other, EPOLLIN)), "EPERM");
  EXPECT_EQ(outcome(lockstep_epoll_wait(r, watcher, &event, 0)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_epoll_wait(r, watcher, nullptr, 1)), "EFAULT");
  EXPECT_EQ(outcome(lockstep_epoll_wait(r, far, &event, 1)), "EINVAL");
  EXPECT_EQ(outcome(lockstep_epoll_wait(r, 99, &event, 1)), "EBADF");
}

TEST_F(EpollTest, ItemsAndEpollsRunOut) {
  PairOf of;
  of.left_sockets.epolls_max = Count{1};
  of.left_sockets.items_max = Count{1};
  SocketPair few(of);
  lockstep_sockets* const s = few.left.c();
  int const epoll = lockstep_epoll_create1(s, EPOLL_CLOEXEC);
  EXPECT_EQ(outcome(lockstep_epoll_create1(s, 0)), "ENOMEM");
  epoll_event event{};
  event.events = EPOLLIN;
  int const one = make(s);
  int const two = make(s);
  EXPECT_EQ(outcome(lockstep_epoll_ctl(s, epoll, EPOLL_CTL_ADD, one, &event)), "0");
  EXPECT_EQ(outcome(lockstep_epoll_ctl(s, epoll, EPOLL_CTL_ADD, two, &event)), "ENOSPC");
  EXPECT_EQ(lockstep_close(s, epoll), 0);
  int const again = lockstep_epoll_create1(s, 0);
  EXPECT_EQ(outcome(lockstep_epoll_ctl(s, again, EPOLL_CTL_ADD, two, &event)), "0");
}

TEST_F(EpollTest, PollOfSeveral) {
  pollfd entries[4] = {{far, POLLOUT, 7}, {-1, POLLIN, 7}, {99, POLLIN, 7}, {listener, POLLIN, 7}};
  EXPECT_EQ(lockstep_poll(r, entries, 4), 2);
  EXPECT_EQ(entries[0].revents, POLLOUT);
  EXPECT_EQ(entries[1].revents, 0);
  EXPECT_EQ(entries[2].revents, POLLNVAL);
  EXPECT_EQ(entries[3].revents, 0);
}

}  // namespace
}  // namespace lockstep::tools::testing
