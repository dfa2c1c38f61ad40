// Hosts over tables of functions, in virtual time, and the errors of options.
#include "tools/lib/host/host.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "hw/poll/clock.hpp"
#include "tools/lib/host/stop.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t never = UINT64_MAX;
using Frame = std::vector<unsigned char>;

/// One end of a wire in memory, and its clock.
struct End {
  std::uint64_t* clock = nullptr;
  std::deque<Frame>* in = nullptr;
  std::deque<Frame>* out = nullptr;
  std::vector<Frame> sent{};
  std::uint64_t refuse = 0;  // so many times there is no room
  std::vector<Frame> refused{};
  std::vector<std::uint64_t> waits{};  // until when
  std::vector<int> for_room{};
  int frames = -1;  // the descriptor
  std::size_t oversized = 0;
  lockstep_host* stopped = nullptr;  // a thread stops it when the descriptor is looked up

  static End& of(void* user) { return *static_cast<End*>(user); }
  static std::uint64_t now(void* user) { return *of(user).clock; }
  static std::size_t poll(void* user, void* frame, std::size_t room) {
    End& end = of(user);
    if (end.oversized != 0) {
      --end.oversized;
      return room + 1;
    }
    if (end.in->empty()) {
      return 0;
    }
    Frame const first = end.in->front();
    end.in->pop_front();
    EXPECT_LE(first.size(), room);
    std::copy(first.begin(), first.end(), static_cast<unsigned char*>(frame));
    return first.size();
  }
  static int send(void* user, const void* frame, std::size_t length) {
    End& end = of(user);
    auto const* const begin = static_cast<const unsigned char*>(frame);
    Frame const copy(begin, begin + length);
    if (end.refuse != 0) {
      --end.refuse;
      end.refused.push_back(copy);
      return 0;
    }
    end.sent.push_back(copy);
    end.out->push_back(copy);
    return 1;
  }
  /// Time jumps.
  static void wait(void* user, std::uint64_t until, int for_room) {
    End& end = of(user);
    end.waits.push_back(until);
    end.for_room.push_back(for_room);
    *end.clock = until == never ? *end.clock + second : std::max(until, *end.clock);
  }
  static int descriptor(void* user) {
    End& end = of(user);
    if (end.stopped != nullptr) {
      std::thread([&] { lockstep_host_stop(end.stopped); }).join();
      end.stopped = nullptr;
    }
    return end.frames;
  }
};

/// A host that closes itself.
struct Opened {
  explicit Opened(lockstep_host* host) : self(host) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() { lockstep_host_close(self); }
  lockstep_sockets* sockets() const { return lockstep_host_sockets(self); }
  lockstep_host* self;
};

/// Two hosts joined by a wire.
struct Joined {
  std::uint64_t clock = second;
  std::deque<Frame> to_left, to_right;
  End left_end{.clock = &clock, .in = &to_left, .out = &to_right};
  End right_end{.clock = &clock, .in = &to_right, .out = &to_left};
  Opened left, right;

  static lockstep_driver table(End& end) {
    return {.size = sizeof(lockstep_driver),
            .user = &end,
            .now = End::now,
            .poll = End::poll,
            .send = End::send,
            .wait = nullptr,
            .descriptor = End::descriptor};
  }
  static lockstep_host* open(End& end, const char* address, bool waits) {
    std::array<const char*, 5> const options{address, "link=ip", "seed=7", "connections=16",
                                             nullptr};
    lockstep_driver driver = table(end);
    driver.wait = waits ? End::wait : nullptr;
    lockstep_host* const host = lockstep_host_on_driver(&driver, options.data());
    EXPECT_NE(host, nullptr) << lockstep_host_error(nullptr);
    return host;
  }
  explicit Joined(bool waits = false)
      : left(open(left_end, "address=10.0.0.1/24", waits)),
        right(open(right_end, "address=10.0.0.2/24", waits)) {}

  /// Turns of both until neither has anything to do at this time.
  void settle() {
    while (lockstep_host_turn(left.self, 0) == 1 || lockstep_host_turn(right.self, 0) == 1) {
    }
  }
  /// A connection of the left to port 7 of the right: {left's descriptor, right's}.
  std::array<int, 2> connect() {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(7);
    int const listener = lockstep_socket(right.sockets(), AF_INET, SOCK_STREAM, 0);
    auto const* const generic = reinterpret_cast<const sockaddr*>(&name);
    EXPECT_EQ(lockstep_bind(right.sockets(), listener, generic, sizeof name), 0);
    EXPECT_EQ(lockstep_listen(right.sockets(), listener, 5), 0);
    inet_pton(AF_INET, "10.0.0.2", &name.sin_addr);
    int const caller = lockstep_socket(left.sockets(), AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(lockstep_connect(left.sockets(), caller, generic, sizeof name), -1);
    settle();
    int const callee = lockstep_accept(right.sockets(), listener, nullptr, nullptr);
    EXPECT_GE(callee, 0);
    return {caller, callee};
  }
};

TEST(Host, TwoOnAWireExchangeData) {
  Joined pair;
  auto const [caller, callee] = pair.connect();
  EXPECT_EQ(lockstep_send(pair.left.sockets(), caller, "hello", 5, 0), 5);
  EXPECT_EQ(lockstep_host_deadline(pair.left.self), pair.clock);  // it is due now
  pair.settle();
  std::array<char, 8> data{};
  EXPECT_EQ(lockstep_recv(pair.right.sockets(), callee, data.data(), data.size(), 0), 5);
  EXPECT_STREQ(data.data(), "hello");
  EXPECT_EQ(lockstep_now(pair.left.sockets()), pair.clock);
}

TEST(Host, ASeedGivesTheSameFrames) {
  Joined once;
  Joined twice;
  once.connect();
  twice.connect();
  EXPECT_FALSE(once.left_end.sent.empty());
  EXPECT_EQ(once.left_end.sent, twice.left_end.sent);
  EXPECT_EQ(once.right_end.sent, twice.right_end.sent);
}

TEST(Host, TwoWithOneSeedHaveOtherLinkAddresses) {
  Joined pair;
  std::array<End*, 2> const ends{&pair.left_end, &pair.right_end};
  std::array<const char*, 2> const addresses{"address=10.0.0.3/24", "address=10.0.0.4/24"};
  std::array<Frame, 2> sources;
  for (std::size_t i = 0; i < 2; ++i) {
    lockstep_driver const table = Joined::table(*ends[i]);
    std::array<const char*, 3> const options{addresses[i], "seed=7", nullptr};
    Opened const host(lockstep_host_on_driver(&table, options.data()));
    ASSERT_NE(host.self, nullptr);
    lockstep_host_turn(host.self, 0);  // announces the address by ARP
    ASSERT_FALSE(ends[i]->sent.empty());
    Frame const& frame = ends[i]->sent.front();
    sources[i] = Frame(frame.begin() + 6, frame.begin() + 12);
  }
  EXPECT_NE(sources[0], sources[1]);
}

TEST(Host, WithoutASeedKeysAreDrawnFromTheSystem) {
  Joined pair;
  Joined other;
  lockstep_driver const table = Joined::table(other.left_end);
  std::array<const char*, 3> const options{"address=10.0.0.1/24", "link=ip", nullptr};
  Opened const drawn(lockstep_host_on_driver(&table, options.data()));
  std::array<lockstep_sockets*, 2> const both{pair.left.sockets(), drawn.sockets()};
  for (lockstep_sockets* const each : both) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(7);
    inet_pton(AF_INET, "10.0.0.2", &name.sin_addr);
    int const caller = lockstep_socket(each, AF_INET, SOCK_STREAM, 0);
    lockstep_connect(each, caller, reinterpret_cast<const sockaddr*>(&name), sizeof name);
  }
  lockstep_host_turn(pair.left.self, 0);
  lockstep_host_turn(drawn.self, 0);
  ASSERT_EQ(pair.left_end.sent.size(), 1u);
  ASSERT_EQ(other.left_end.sent.size(), 1u);
  EXPECT_NE(pair.left_end.sent, other.left_end.sent);
}

TEST(Host, AFrameWithoutRoomIsOfferedAgain) {
  Joined pair;
  auto const [caller, callee] = pair.connect();
  pair.left_end.refuse = 2;
  std::size_t const before = pair.left_end.sent.size();
  lockstep_send(pair.left.sockets(), caller, "hello", 5, 0);
  // Offered by commit() and by flush(), refused both times.
  EXPECT_EQ(lockstep_host_turn(pair.left.self, 0), 1);
  EXPECT_EQ(pair.left_end.refused.size(), 2u);
  EXPECT_EQ(pair.left_end.sent.size(), before);
  pair.settle();
  ASSERT_GT(pair.left_end.sent.size(), before);
  EXPECT_EQ(pair.left_end.sent[before], pair.left_end.refused[0]);
  EXPECT_EQ(pair.left_end.refused[0], pair.left_end.refused[1]);
}

TEST(Host, WhileThereIsNoRoomOnePollsForRoomToo) {
  Joined pair;
  auto const [caller, callee] = pair.connect();
  pollfd entry{};
  lockstep_host_prepare(pair.left.self, &entry);
  EXPECT_EQ(entry.events, POLLIN);
  EXPECT_EQ(entry.fd, -1);
  pair.left_end.refuse = 1000;
  lockstep_send(pair.left.sockets(), caller, "hello", 5, 0);
  while (lockstep_host_turn(pair.left.self, 0) == 1) {
  }
  pair.left_end.frames = 99;
  EXPECT_EQ(lockstep_host_prepare(pair.left.self, &entry), 1);  // looked at after a millisecond
  EXPECT_EQ(entry.events, POLLIN | POLLOUT);
  EXPECT_EQ(entry.fd, 99);
}

TEST(Host, ThePollTimeoutIsRoundedUp) {
  Joined pair;
  auto const [caller, callee] = pair.connect();
  lockstep_send(pair.left.sockets(), caller, "hello", 5, 0);
  while (lockstep_host_turn(pair.left.self, 0) == 1) {
  }
  pollfd entry{};
  std::uint64_t const left = lockstep_host_deadline(pair.left.self) - pair.clock;
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, second * 10);
  EXPECT_EQ(lockstep_host_prepare(pair.left.self, &entry),
            static_cast<int>((left + 999'999) / 1'000'000));
  pair.clock += 1;
  EXPECT_EQ(lockstep_host_prepare(pair.left.self, &entry),
            static_cast<int>((left - 1 + 999'999) / 1'000'000));
  pair.clock += left;
  EXPECT_EQ(lockstep_host_prepare(pair.left.self, &entry), 0);
}

TEST(Host, ATurnWaitsNoLongerThanItsTimeout) {
  Joined pair(true);
  pair.settle();
  pair.left_end.waits.clear();
  std::uint64_t const begun = pair.clock;
  EXPECT_EQ(lockstep_host_turn(pair.left.self, 0), 0);
  EXPECT_TRUE(pair.left_end.waits.empty());
  EXPECT_EQ(lockstep_host_turn(pair.left.self, 5), 0);
  EXPECT_EQ(pair.left_end.waits, std::vector<std::uint64_t>{begun + 5});
  EXPECT_EQ(pair.clock, begun + 5);
}

TEST(Host, ATurnWithoutTimeoutWaitsForTheDeadline) {
  Joined pair(true);
  pair.settle();
  pair.left_end.waits.clear();
  lockstep_wake_at(pair.left.sockets(), pair.clock + 77);
  lockstep_host_turn(pair.left.self, -1);
  EXPECT_EQ(pair.left_end.waits, std::vector<std::uint64_t>{second + 77});
  EXPECT_EQ(pair.left_end.for_room, std::vector<int>{0});
}

TEST(Host, AnOversizedFrameIsLost) {
  Joined pair;
  pair.left_end.oversized = 100;
  auto const [caller, callee] = pair.connect();
  EXPECT_EQ(pair.left_end.oversized, 0u);
  EXPECT_GE(caller, 0);
}

/// Called in each turn: counts, and stops the host at the fifth.
struct StopAtFifth {
  lockstep_host* host = nullptr;
  int turns = 0;
  int stops = 1;
  static void run(lockstep_sockets*, void* user) {
    auto* const self = static_cast<StopAtFifth*>(user);
    if (++self->turns == 5) {
      for (int i = 0; i < self->stops; ++i) {
        lockstep_host_stop(self->host);
      }
    }
  }
};

TEST(Host, RunEndsWhenItIsStopped) {
  Joined pair(true);
  StopAtFifth at{pair.left.self};
  lockstep_on_turn(pair.left.sockets(), StopAtFifth::run, &at);
  EXPECT_EQ(lockstep_host_run(pair.left.self), 0);
  EXPECT_EQ(at.turns, 5);  // not called after the stop
  EXPECT_EQ(lockstep_host_turn(pair.left.self, 0), -1);
  EXPECT_STREQ(lockstep_host_error(pair.left.self), "the host was stopped as requested");
}

TEST(Host, AfterTheGraceConnectionsAreAborted) {
  Joined pair(true);
  pair.connect();
  // The peer does not run, so the FIN is never acknowledged.
  StopAtFifth at{pair.left.self};
  lockstep_on_turn(pair.left.sockets(), StopAtFifth::run, &at);
  std::uint64_t const begun = pair.clock;
  EXPECT_EQ(lockstep_host_run(pair.left.self), 1);
  EXPECT_GE(pair.clock, begun + 5 * second);
  EXPECT_EQ(at.turns, 5);  // not called while connections close
  // A reset was the last that left.
  EXPECT_EQ(pair.left_end.sent.back().at(20 + 13) & 0x04, 0x04);
}

TEST(Host, AcceptedConnectionsAreAbortedToo) {
  Joined pair(true);
  pair.connect();
  StopAtFifth at{pair.right.self};
  lockstep_on_turn(pair.right.sockets(), StopAtFifth::run, &at);
  EXPECT_EQ(lockstep_host_run(pair.right.self), 1);
  EXPECT_EQ(pair.right_end.sent.back().at(20 + 13) & 0x04, 0x04);
}

TEST(Host, ASecondStopAbortsAtOnce) {
  Joined pair(true);
  pair.connect();
  StopAtFifth at{pair.left.self};
  at.stops = 2;
  lockstep_on_turn(pair.left.sockets(), StopAtFifth::run, &at);
  std::uint64_t const begun = pair.clock;
  EXPECT_EQ(lockstep_host_run(pair.left.self), 1);
  EXPECT_LT(pair.clock, begun + 5 * second);
}

TEST(Host, SignalsStopOneHostOfTheProcess) {
  Joined pair(true);
  EXPECT_EQ(lockstep_host_stop_on_signals(pair.left.self), 0);
  EXPECT_EQ(lockstep_host_stop_on_signals(pair.left.self), 0);
  EXPECT_EQ(lockstep_host_stop_on_signals(pair.right.self), -1);
  EXPECT_STREQ(lockstep_host_error(pair.right.self),
               "another host of this process has SIGINT and SIGTERM: install a handler that stops "
               "both");
  raise(SIGTERM);
  EXPECT_EQ(lockstep_host_run(pair.left.self), 0);
  lockstep_host_close(pair.left.self);
  pair.left.self = nullptr;
  EXPECT_EQ(lockstep_host_stop_on_signals(pair.right.self), 0);
}

bool is_readable(int descriptor) {
  pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) == 1;
}

TEST(Host, AStopFromAThreadOrASignalWakesTheLoopOnce) {
  HostStop stop;
  ASSERT_FALSE(stop.open());
  ASSERT_FALSE(stop.take_signals());
  for (std::uint32_t times = 1; times <= 2; ++times) {
    EXPECT_FALSE(is_readable(stop.descriptor()));
    if (times == 1) {
      std::thread([&] { stop.ask(); }).join();
    } else {
      raise(SIGTERM);
    }
    EXPECT_TRUE(is_readable(stop.descriptor()));
    EXPECT_EQ(stop.asked(), times);
    EXPECT_FALSE(is_readable(stop.descriptor()));
  }
}

TEST(Host, AStopFromAThreadEndsASleepWithoutLimit) {
  Joined pair;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  pair.settle();
  pair.left_end.frames = ends[0];
  pair.left_end.stopped = pair.left.self;  // after the turn, before the sleep
  EXPECT_EQ(lockstep_host_run(pair.left.self), 0);
  EXPECT_EQ(pair.left_end.stopped, nullptr);
  close(ends[0]);
  close(ends[1]);
}

TEST(Host, WithoutAWaitItSleepsOnTheDescriptor) {
  Joined pair;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  pair.settle();
  pair.left_end.frames = ends[0];
  hw::MonotonicClock const clock;
  Instant const begun = clock.now();
  EXPECT_EQ(lockstep_host_turn(pair.left.self, 2'000'000), 0);  // the pipe is empty
  EXPECT_GE(clock.now().since(begun), Duration::milliseconds(2));
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_EQ(lockstep_host_turn(pair.left.self, -1), 0);  // returns, as the pipe is readable
  close(ends[0]);
  close(ends[1]);
}

TEST(Host, AShorterTableOfAnOlderProgramWorks) {
  Joined pair;
  lockstep_driver table = Joined::table(pair.left_end);
  table.size = offsetof(lockstep_driver, wait);
  table.wait = End::wait;  // beyond the size: not looked at
  std::array<const char*, 2> const options{"address=10.0.0.3/24", nullptr};
  Opened const host(lockstep_host_on_driver(&table, options.data()));
  ASSERT_NE(host.self, nullptr);
  while (lockstep_host_turn(host.self, 0) == 1) {
  }
  EXPECT_EQ(lockstep_host_turn(host.self, -1), 0);  // nothing to wait for
  EXPECT_TRUE(pair.left_end.waits.empty());
  EXPECT_STREQ(lockstep_host_description(host.self),
               "10.0.0.3/24 on a driver of the program's own, MTU 1500");
}

/// Why a table is refused.
std::string table_error(const lockstep_driver& table) {
  std::array<const char*, 2> const options{"address=10.0.0.3/24", nullptr};
  EXPECT_EQ(lockstep_host_on_driver(&table, options.data()), nullptr);
  return lockstep_host_error(nullptr);
}

TEST(Host, AnIncompleteTableIsRefused) {
  Joined pair;
  lockstep_driver table = Joined::table(pair.left_end);
  table.size = 8;
  EXPECT_EQ(table_error(table),
            "the driver's size is less than that of its first functions: set size to "
            "sizeof(struct lockstep_driver)");
  table = Joined::table(pair.left_end);
  table.poll = nullptr;
  EXPECT_EQ(table_error(table),
            "the driver lacks now, poll or send: only wait and descriptor may be NULL");
  table = Joined::table(pair.left_end);
  pair.clock = second - 1;
  EXPECT_EQ(table_error(table),
            "the driver's clock shows less than a second: add 1000000000 to it");
}

/// Why an interface is refused with these options.
std::string open_error(std::vector<const char*> options) {
  options.push_back(nullptr);
  EXPECT_EQ(lockstep_host_open(options.data()), nullptr);
  return lockstep_host_error(nullptr);
}

TEST(HostOptions, EachErrorIsALineThatSaysWhatToDo) {
  struct Case {
    std::vector<const char*> options;
    const char* error;
  };
  const std::vector<Case> cases{
      {{}, "no interface was given: add tap=NAME for a TAP, or iface=NAME for one that exists"},
      {{"=x"}, "option '=x': expected NAME=VALUE, like tap=lock0: correct it"},
      {{"tap"}, "option 'tap': expected NAME=VALUE, like tap=lock0: correct it"},
      {{"tap=l", "iface=l"}, "tap=l: iface was given as well: choose one"},
      {{"tap=l", "tap=l"}, "tap=l: tap was given before: leave one of them out"},
      {{"tap=l"}, "no address was given: add one, like address=10.9.0.2/24"},
      {{"tap=l", "address=10.9.0.2"},
       "address=10.9.0.2: expected an address and its prefix, like 10.9.0.2/24 or "
       "2001:db8::2/64: correct it"},
      {{"tap=l", "address=10.9.0.255/24"},
       "address=10.9.0.255/24: it is the network's broadcast address: choose a host's address"},
      {{"tap=l", "address=10.9.0.2/24", "host=10.9.1.1/24"},
       "host=10.9.1.1/24: no address is in its network: choose one in the network of an address"},
      {{"tap=l", "address=10.9.0.2/24", "host=10.9.0.2/24"},
       "host=10.9.0.2/24: it is also an address, and both would answer: choose another"},
      {{"tap=l", "address=10.9.0.2/24", "gateway=10.9.1.1"},
       "gateway=10.9.1.1: expected an IPv4 address in the network of an address: correct it"},
      {{"tap=l", "address=10.9.0.2/24", "gateway=10.9.0.2"},
       "gateway=10.9.0.2: it is our own address: give the router's"},
      {{"tap=l", "mtu=67"}, "mtu=67: expected a number from 68 to 65000: correct it"},
      {{"tap=l", "connections=0"},
       "connections=0: expected a number from 1 to 1000000: correct it"},
      {{"tap=l", "profile=bsd"},
       "profile=bsd: expected default, rfc, linux or freebsd: choose one"},
      {{"tap=l", "driver=xdp"}, "driver=xdp: it does not apply to a TAP: give iface"},
      {{"iface=l", "driver=dpdk"},
       "driver=dpdk: expected packet, xdp, xdp-native, xdp-generic or xdp-zero-copy: choose one"},
      {{"tap=l", "link=ip"}, "link=ip: it applies to a driver of your own: leave it out"},
      {{"tap=l", "address=10.9.0.2/24", "spin=5"},
       "spin=5: expected a time with a unit, like 50us or 5s: correct it"},
      {{"tap=l", "address=10.9.0.2/24", "seed=x"},
       "seed=x: expected a number from 0 to 18446744073709551615: correct it"},
      {{"tap=l", "sack=2"}, "sack=2: expected a number from 0 to 1: correct it"},
      {{"tap=l", "congestion=bbr"},
       "congestion=bbr: expected one of reno, cubic, dctcp: choose one"},
      {{"tap=l", "delayed_ack=2s"},
       "delayed_ack=2s: expected a time from 1ns to 499999999ns: correct it"},
      {{"tap=l", "mtu_bytes=9000"}, "mtu_bytes=9000: give mtu instead"},
      {{"tap=l", "shard=1"}, "shard=1: a host is one stack"},
      {{"tap=l", "adress=10.9.0.2/24"},
       "adress=10.9.0.2/24: there is no option adress: there are address, connections, driver, "
       "gateway, grace, host, iface, link, mac, mtu, profile, seed, spin, tap, and the fields of "
       "Config (core/stack/README.md)"},
      {{"tap=no/name", "address=10.9.0.2/24"},
       "'no/name' is not an interface name: 1 to 15 letters, digits or dashes are"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(open_error(each.options), each.error);
  }
  EXPECT_NE(open_error({"iface=none0", "address=10.9.0.2/24"}).find("iface=none0: "),
            std::string::npos);
  EXPECT_NE(open_error({"tap=l", "address=127.0.0.1/8"}).find("it is a loopback address"),
            std::string::npos);
}

TEST(HostOptions, OfInterfacesDoNotFitADriver) {
  Joined pair;
  lockstep_driver const table = Joined::table(pair.left_end);
  std::array<const char*, 3> const options{"tap=l", "address=10.0.0.3/24", nullptr};
  EXPECT_EQ(lockstep_host_on_driver(&table, options.data()), nullptr);
  EXPECT_STREQ(lockstep_host_error(nullptr),
               "tap=l: the interface is the table of functions: leave it out");
}

TEST(HostOptions, AFieldOfConfigIsSet) {
  Joined pair;
  lockstep_driver const table = Joined::table(pair.left_end);
  std::array<const char*, 6> const options{
      "address=10.0.0.3/24", "congestion=reno", "link=ip", "ttl=17", "timestamps=0", nullptr};
  Opened const host(lockstep_host_on_driver(&table, options.data()));
  ASSERT_NE(host.self, nullptr) << lockstep_host_error(nullptr);
  int const made = lockstep_socket(host.sockets(), AF_INET, SOCK_STREAM, 0);
  int ttl = 0;
  socklen_t length = sizeof ttl;
  EXPECT_EQ(lockstep_getsockopt(host.sockets(), made, IPPROTO_IP, IP_TTL, &ttl, &length), 0);
  EXPECT_EQ(ttl, 17);
}

}  // namespace
}  // namespace lockstep::tools
