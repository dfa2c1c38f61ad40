// Random calls on both ends, checked against a small model: streams arrive intact, poll is
// truthful.
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <map>
#include <set>

#include "core/units/random.hpp"
#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

// The octet at this offset of the stream that starts at this port.
char octet_of(std::uint16_t port, std::uint64_t at) {
  return static_cast<char>((at * 2654435761u + port) >> 7);
}

// The model's knowledge of one descriptor.
struct Known {
  bool listens = false;
  bool bound = false;
  bool tried = false;  // connect() was called
  bool accepted = false;
  bool shut = false;    // writing is shut down
  bool failed = false;  // an error or the end was seen
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

// Two sides, random calls on them, and checks that octets come out as they went in.
class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : random_(seed), pair_(settings(seed)) {
    sides_[0].s = pair_.left.c();
    sides_[1].s = pair_.right.c();
    for (Side& side : sides_) {
      side.epoll = lockstep_epoll_create1(side.s, 0);
    }
  }

  void run(std::uint32_t calls) {
    for (std::uint32_t i = 0; i < calls && !::testing::Test::HasFailure(); ++i) {
      act();
      pair_.left.check_invariants();
      pair_.right.check_invariants();
    }
    finish();
  }
  std::uint64_t octets_received() const { return octets_received_; }

 private:
  struct Side {
    lockstep_sockets* s = nullptr;
    int epoll = -1;
    std::map<int, Known> known;
    std::set<int> watched;
  };

  static PairOf settings(std::uint64_t seed) {
    PairOf of;
    for (Config* config : {&of.left, &of.right}) {
      config->tcp.connections_max = Count{seed % 3 == 0 ? 4u : 32u};
      config->tcp.active_max = Count{seed % 5 == 0 ? 3u : 32u};
      config->tcp.listeners_max = Count{8};
      config->tcp.time_wait_max = Count{8};
      config->tcp.blocks_max = Count{seed % 7 == 0 ? 64u : 512u};
      config->tcp.receive_buffer = Bytes{seed % 2 == 0 ? 4096u : 65535u};
      config->tcp.send_buffer = Bytes{8192};
      config->tcp.isn_base = Sequence{static_cast<std::uint32_t>(0xffff'f000 + seed)};
    }
    of.left_sockets.descriptors.most = Count{12};
    of.right_sockets.descriptors.most = Count{12};
    of.left_sockets.items_max = Count{6};
    return of;
  }

  std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>(random_.below(limit));
  }
  Side& any_side() { return sides_[below(2)]; }
  // Usually a descriptor that is open.
  int any_descriptor(const Side& side) {
    if (side.known.empty() || below(20) == 0) {
      return static_cast<int>(below(20)) - 2;
    }
    auto at = side.known.begin();
    std::advance(at, below(static_cast<std::uint32_t>(side.known.size())));
    return at->first;
  }

  void act() {
    Side& side = any_side();
    int const fd = any_descriptor(side);
    switch (below(16)) {
      case 0:
        return open(side);
      case 1:
        return listen(side, fd);
      case 2:
      case 3:
        return connect(side, fd);
      case 4:
      case 5:
        return accept(side, fd);
      case 6:
      case 7:
      case 8:
        return send(side, fd);
      case 9:
      case 10:
        return receive(side, fd);
      case 11:
        return poll(side);
      case 12:
        return watch(side, fd);
      case 13:
        return below(4) == 0 ? close(side, fd) : shut(side, fd);
      default:
        pair_.run(Duration::microseconds(below(3) == 0 ? below(2'000'000) : below(20)));
    }
  }

  void open(Side& side) {
    int const fd = lockstep_socket(side.s, below(3) == 0 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    if (fd < 0) {
      EXPECT_TRUE(errno == EMFILE || errno == ENOBUFS) << errno;
      return;
    }
    EXPECT_FALSE(side.known.contains(fd));
    side.known[fd] = {};
  }

  void listen(Side& side, int fd) {
    auto const port = static_cast<std::uint16_t>(80 + below(2));
    int const bound = lockstep_bind(side.s, fd, as_name(name4(0, port)), sizeof(sockaddr_in));
    bool const open = side.known.contains(fd);
    EXPECT_TRUE(open || (bound == -1 && (errno == EBADF || errno == ENOTSOCK)));
    if (lockstep_listen(side.s, fd, static_cast<int>(below(4))) == 0) {
      EXPECT_TRUE(open);
      EXPECT_FALSE(side.known[fd].accepted);
      side.known[fd].listens = true;
    }
  }

  void connect(Side& side, int fd) {
    std::uint8_t const host = &side == &sides_[0] ? 2 : 1;
    auto const to = name4(host, static_cast<std::uint16_t>(80 + below(3)));
    int const done = lockstep_connect(side.s, fd, as_name(to), sizeof to);
    if (done == -1 && errno == EINPROGRESS) {
      ASSERT_TRUE(side.known.contains(fd));
      EXPECT_FALSE(side.known[fd].listens);
      side.known[fd] = {};
      side.known[fd].tried = true;
    } else if (done == 0) {
      EXPECT_TRUE(side.known[fd].tried);
    }
  }

  void accept(Side& side, int fd) {
    int const got = lockstep_accept(side.s, fd, nullptr, nullptr);
    if (got >= 0) {
      EXPECT_TRUE(side.known[fd].listens);
      EXPECT_FALSE(side.known.contains(got));
      side.known[got] = {};
      side.known[got].accepted = true;
    }
  }

  // The port that distinguishes the two directions: ours or the peer's, from the connection's
  // names.
  std::uint16_t stream_of(const Side& side, int fd, bool ours) {
    sockaddr_in6 name{};
    socklen_t length = sizeof name;
    auto* const to = reinterpret_cast<sockaddr*>(&name);
    int const done = ours ? lockstep_getsockname(side.s, fd, to, &length)
                          : lockstep_getpeername(side.s, fd, to, &length);
    return done == 0 ? ntohs(name.sin6_port) : std::uint16_t{0};
  }

  void send(Side& side, int fd) {
    auto const found = side.known.find(fd);
    std::uint64_t const at = found == side.known.end() ? 0 : found->second.sent;
    std::uint16_t const stream = stream_of(side, fd, true);
    std::string text(below(3000) + 1, '\0');
    for (std::size_t i = 0; i < text.size(); ++i) {
      text[i] = octet_of(stream, at + i);
    }
    bool const promised = (ready(side, fd) & POLLOUT) != 0;
    int const flags = (below(5) == 0 ? MSG_MORE : 0) | (below(5) == 0 ? MSG_EOR : 0);
    ssize_t const taken = lockstep_send(side.s, fd, text.data(), text.size(), flags);
    if (taken > 0) {
      ASSERT_TRUE(found != side.known.end());
      EXPECT_FALSE(found->second.shut);
      found->second.sent += static_cast<std::uint64_t>(taken);
    } else {
      // An exhausted pool becomes known only with the first refusal.
      bool const unpromised = errno != EAGAIN || !promised || (ready(side, fd) & POLLOUT) == 0;
      EXPECT_TRUE(unpromised) << "poll promised room";
    }
  }

  void receive(Side& side, int fd) {
    std::uint16_t const stream = stream_of(side, fd, false);
    bool const promised = (ready(side, fd) & POLLIN) != 0;
    bool const peek = below(4) == 0;
    std::string text(below(5000) + 1, '\0');
    ssize_t const got = lockstep_recv(side.s, fd, text.data(), text.size(), peek ? MSG_PEEK : 0);
    if (got <= 0) {
      EXPECT_FALSE(got < 0 && errno == EAGAIN && promised) << "poll promised text";
      return;
    }
    Known& known = side.known[fd];
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
      ASSERT_EQ(text[i], octet_of(stream, known.received + i)) << "at " << known.received + i;
    }
    known.received += peek ? 0 : static_cast<std::uint64_t>(got);
    octets_received_ += static_cast<std::uint64_t>(got);
  }

  static int ready(Side& side, int fd) {
    pollfd entry{fd, POLLIN | POLLOUT | POLLRDHUP | POLLPRI, 0};
    EXPECT_GE(lockstep_poll(side.s, &entry, 1), 0);
    return entry.revents;
  }

  // epoll reports every watched socket that is ready, and nothing else.
  void poll(Side& side) {
    std::vector<epoll_event> events(16);
    int const count = lockstep_epoll_wait(side.s, side.epoll, events.data(), 16);
    ASSERT_GE(count, 0);
    std::set<int> reported;
    for (int i = 0; i < count; ++i) {
      reported.insert(events[static_cast<std::size_t>(i)].data.fd);
    }
    for (int const fd : side.watched) {
      bool const expected = (ready(side, fd) & ~POLLPRI) != 0;
      EXPECT_EQ(reported.contains(fd), expected) << fd;
    }
    EXPECT_LE(reported.size(), side.watched.size());
  }

  void watch(Side& side, int fd) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP;
    event.data.fd = fd;
    bool const add = below(3) != 0;
    int const done =
        lockstep_epoll_ctl(side.s, side.epoll, add ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event);
    if (done == 0) {
      EXPECT_TRUE(side.known.contains(fd));
      EXPECT_EQ(side.watched.contains(fd), !add);
      add ? static_cast<void>(side.watched.insert(fd)) : static_cast<void>(side.watched.erase(fd));
    }
  }

  void shut(Side& side, int fd) {
    if (lockstep_shutdown(side.s, fd, static_cast<int>(below(3))) == 0) {
      Known& known = side.known[fd];
      known.shut = known.shut || ready(side, fd) != 0;
      std::string text(1, 'x');
      known.shut = lockstep_send(side.s, fd, "", 0, 0) == -1;
      known.listens =
          known.listens && lockstep_accept(side.s, fd, nullptr, nullptr) == -1 && errno != EINVAL;
    }
  }

  void close(Side& side, int fd) {
    if (fd == side.epoll) {
      return;
    }
    int const done = lockstep_close(side.s, fd);
    EXPECT_EQ(done == 0, side.known.erase(fd) == 1);
    side.watched.erase(fd);
    EXPECT_EQ(lockstep_close(side.s, fd), -1);
    EXPECT_EQ(errno, EBADF);
  }

  // Closes everything, then checks that nothing is left of it in either stack.
  void finish() {
    for (Side& side : sides_) {
      while (!side.known.empty()) {
        close(side, side.known.begin()->first);
      }
    }
    for (int i = 0; i < 4; ++i) {
      pair_.run(Duration::seconds(600));
    }
    for (Sockets* each : {&pair_.left, &pair_.right}) {
      EXPECT_EQ(each->descriptors_open(), 1u);
      EXPECT_TRUE(each->done());
      EXPECT_EQ(each->stack().pools().connections, 0u);
      EXPECT_EQ(each->stack().pools().blocks, 0u);
      each->stack().check_invariants();
    }
  }

  template <class Name>
  static const sockaddr* as_name(const Name& name) {
    return reinterpret_cast<const sockaddr*>(&name);
  }

  Random random_;
  SocketPair pair_;
  std::array<Side, 2> sides_;
  std::uint64_t octets_received_ = 0;
};

TEST(RandomCalls, MatchTheModel) {
  std::uint64_t received = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chaos chaos(seed);
    chaos.run(2000);
    received += chaos.octets_received();
    if (::testing::Test::HasFailure()) {
      break;
    }
  }
  EXPECT_GT(received, 100'000u);
}

}  // namespace
}  // namespace lockstep::tools::testing
