// The loop that serves a device: requests and answers, and devices that break the interface.
#include "conformance/devices/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

// What create() returns.
struct lockstep_device {
  std::uint64_t now = 0;
};

namespace lockstep::conformance {
namespace {

using testing::HasSubstr;
using testing::IsNull;

/// What the fake device does; one test at a time.
struct Fake {
  std::uint64_t period = 0;  ///< between its packets; 0: it has no timer
  bool stuck = false;        ///< its deadline stays over
  bool silent = false;       ///< its timers send nothing
  std::size_t too_long = 0;  ///< the length that packet_out() returns
  bool without_end = false;  ///< packet_out() always has one more
  std::int64_t read = 0;     ///< the result of receive()
  std::vector<std::string> waiting;
  std::uint64_t due = LOCKSTEP_DEVICE_NEVER;
  int destroyed = 0;
  std::uint64_t reached = 0;  ///< what travel() says; 0: the truth
  std::string options;
};

Fake fake;

lockstep_device* create(const lockstep_device_setup* setup, char* why, std::size_t room) {
  fake.options = setup->options;
  if (fake.options == "colour=red\n") {
    std::snprintf(why, room, "unsupported: no way to set colour");
    return nullptr;
  }
  if (fake.period != 0) {
    fake.due = setup->start + fake.period;
  }
  return new lockstep_device{setup->start};
}
void destroy(lockstep_device* d) {
  ++fake.destroyed;
  delete d;
}
void advance(lockstep_device* d, std::uint64_t now) {
  d->now = now;
  if (!fake.stuck && fake.period != 0 && now >= fake.due) {
    fake.due += fake.period;
    if (!fake.silent) {
      fake.waiting.push_back("tick");
    }
  }
}
std::uint64_t deadline(lockstep_device* d) { return fake.stuck ? d->now : fake.due; }
void packet_in(lockstep_device*, const void* packet, std::size_t length) {
  fake.waiting.emplace_back(static_cast<const char*>(packet), length);
}
std::size_t packet_out(lockstep_device*, void* packet, std::size_t) {
  if (fake.too_long != 0) {
    return fake.too_long;
  }
  if (fake.without_end) {
    return 1;
  }
  if (fake.waiting.empty()) {
    return 0;
  }
  const std::string next = fake.waiting.front();
  fake.waiting.erase(fake.waiting.begin());
  std::memcpy(packet, next.data(), next.size());
  return next.size();
}
std::int64_t send_some(lockstep_device*, std::int64_t, const void* data, std::size_t length) {
  fake.waiting.emplace_back(static_cast<const char*>(data), length);
  return static_cast<std::int64_t>(length);
}
std::int64_t receive(lockstep_device*, std::int64_t, void* data, std::size_t room) {
  std::memset(data, 'r', std::min<std::size_t>(room, 3));
  return fake.read;
}
const char* state(lockstep_device*, std::uint16_t, std::uint16_t) { return "ESTABLISHED"; }

lockstep_device_calls table() {
  lockstep_device_calls calls{};
  calls.version = LOCKSTEP_DEVICE_VERSION;
  calls.name = "fake";
  calls.stack = "Fake 1.0";
  calls.abilities = "ipv4";
  calls.timer_grain = 7;
  calls.timer_late = 125;
  calls.create = create;
  calls.destroy = destroy;
  calls.advance = advance;
  calls.deadline = deadline;
  calls.packet_in = packet_in;
  calls.packet_out = packet_out;
  calls.send = send_some;
  calls.receive = receive;
  calls.state = state;
  return calls;
}

std::uint64_t number(const std::string& from, std::size_t at, unsigned size) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < size; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(from.at(at + i))} << (8 * i);
  }
  return value;
}

std::string octets_of(std::uint64_t value, unsigned size) {
  std::string out;
  for (unsigned i = 0; i < size; ++i) {
    out += static_cast<char>(value >> (8 * i));
  }
  return out;
}

struct Answer {
  std::int64_t result = 0;
  std::uint64_t now = 0;
  std::uint64_t deadline = 0;
  std::vector<std::string> packets;
  std::string octets;
};

/// A served device: the loop runs in a thread, and this is the other end.
class ServedDevice : public testing::Test {
 protected:
  ServedDevice() {
    fake = {};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    loop_ = std::thread([this] {
      wrong_ = lockstep_device_serve(&calls_, ends_[1], ends_[1]);
      shutdown(ends_[1], SHUT_RDWR);
    });
  }
  ~ServedDevice() override {
    end();
    close(ends_[0]);
    close(ends_[1]);
  }

  /// Ends the input; returns what the loop said.
  const char* end() {
    shutdown(ends_[0], SHUT_WR);
    if (loop_.joinable()) {
      loop_.join();
    }
    return wrong_;
  }

  void send_raw(const std::string& octets) {
    EXPECT_EQ(send(ends_[0], octets.data(), octets.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(octets.size()));
  }

  void request(std::uint32_t call, std::uint64_t first = 0, std::uint64_t second = 0,
               const std::string& octets = "") {
    send_raw(octets_of(20 + octets.size(), 4) + octets_of(call, 4) + octets_of(first, 8) +
             octets_of(second, 8) + octets);
  }

  std::string take(std::size_t length) {
    std::string out(length, '\0');
    EXPECT_EQ(recv(ends_[0], out.data(), length, MSG_WAITALL), static_cast<ssize_t>(length));
    return out;
  }

  Answer ask(std::uint32_t call, std::uint64_t first = 0, std::uint64_t second = 0,
             const std::string& octets = "") {
    request(call, first, second, octets);
    const std::string body = take(number(take(4), 0, 4));
    Answer out{static_cast<std::int64_t>(number(body, 0, 8)),
               number(body, 8, 8),
               number(body, 16, 8),
               {},
               ""};
    std::size_t at = 28;
    for (std::uint64_t left = number(body, 24, 4); left != 0; --left) {
      const std::size_t length = number(body, at, 4);
      out.packets.push_back(body.substr(at + 4, length));
      at += 4 + length;
    }
    out.octets = body.substr(at);
    return out;
  }

  Answer make(const std::string& options = "") {
    return ask(LOCKSTEP_CALL_CREATE, 0, 0,
               "local=10.0.0.1\nremote=10.0.0.2\nmtu=1500\nseed=1\nstart=100\n" + options);
  }

  lockstep_device_calls calls_ = table();

 private:
  int ends_[2] = {-1, -1};
  std::thread loop_;
  const char* wrong_ = nullptr;
};

TEST_F(ServedDevice, SaysWhatItIs) {
  EXPECT_EQ(ask(LOCKSTEP_CALL_ABOUT).octets,
            "version 3\nname fake\nstack Fake 1.0\nabilities ipv4\ntimer_grain 7\n"
            "timer_late 125\n"
            "calls send receive state\n");
}

TEST_F(ServedDevice, OnlyOneThatBranchesIsCopied) {
  make();
  EXPECT_EQ(ask(LOCKSTEP_CALL_BRANCH, 0, 0, "/nowhere/socket").result, LOCKSTEP_DEVICE_UNSUPPORTED);
  calls_.abilities = "ipv4 branches";
  const Answer answer = ask(LOCKSTEP_CALL_BRANCH, 0, 0, "/nowhere/socket");
  EXPECT_EQ(answer.result, LOCKSTEP_DEVICE_REFUSED);
  EXPECT_EQ(answer.octets, "/nowhere/socket: the device cannot connect to it");
  calls_.abilities = "ipv4 branchesnot";
  EXPECT_EQ(ask(LOCKSTEP_CALL_BRANCH, 0, 0, "/nowhere/socket").result, LOCKSTEP_DEVICE_UNSUPPORTED);
}

TEST_F(ServedDevice, TimeStopsAtTheFirstPacket) {
  fake.period = 50;
  EXPECT_EQ(make().now, 100u);
  const Answer first = ask(LOCKSTEP_CALL_ADVANCE, 1'000);
  EXPECT_EQ(first.now, 150u);
  EXPECT_EQ(first.packets, std::vector<std::string>{"tick"});
  EXPECT_EQ(first.deadline, 200u);
  const Answer none = ask(LOCKSTEP_CALL_ADVANCE, 199);
  EXPECT_EQ(none.now, 199u);
  EXPECT_TRUE(none.packets.empty());
}

TEST_F(ServedDevice, PacketsOfACallWaitForTheNextAdvance) {
  make();
  EXPECT_TRUE(ask(LOCKSTEP_CALL_SEND, 1, 0, "abc").packets.empty());
  EXPECT_TRUE(ask(LOCKSTEP_CALL_SEND, 1, 0, "def").packets.empty());
  const Answer answer = ask(LOCKSTEP_CALL_ADVANCE, 500);
  EXPECT_EQ(answer.now, 100u);
  EXPECT_EQ(answer.packets, (std::vector<std::string>{"abc", "def"}));
  EXPECT_EQ(ask(LOCKSTEP_CALL_PACKET, 0, 0, "echo").packets, std::vector<std::string>{"echo"});
}

TEST_F(ServedDevice, ReturnsDataAndWords) {
  make();
  fake.read = 3;
  EXPECT_EQ(ask(LOCKSTEP_CALL_RECEIVE, 1, 10).octets, "rrr");
  EXPECT_EQ(ask(LOCKSTEP_CALL_STATE, 80, 5'000).octets, "ESTABLISHED");
}

TEST_F(ServedDevice, ACallThatIsMissingIsUnsupported) {
  make();
  EXPECT_EQ(ask(LOCKSTEP_CALL_LISTEN, 80).result, LOCKSTEP_DEVICE_UNSUPPORTED);
  EXPECT_EQ(ask(LOCKSTEP_CALL_EVENTS, 1).result, LOCKSTEP_DEVICE_UNSUPPORTED);
  EXPECT_THAT(ask(99).octets, HasSubstr("there is no call 99"));
}

TEST_F(ServedDevice, RefusesWhatItCannotCreate) {
  EXPECT_EQ(ask(LOCKSTEP_CALL_STATE, 80, 5'000).result, LOCKSTEP_DEVICE_REFUSED);
  const Answer unknown = make("colour=red\n");
  EXPECT_EQ(unknown.result, LOCKSTEP_DEVICE_UNSUPPORTED);
  EXPECT_EQ(unknown.octets, "unsupported: no way to set colour");
  EXPECT_THAT(ask(LOCKSTEP_CALL_CREATE, 0, 0, "remote=10.0.0.2\n").octets,
              HasSubstr("has no line local="));
}

TEST_F(ServedDevice, DestroysItAtTheEnd) {
  make();
  make();
  EXPECT_THAT(end(), IsNull());
  EXPECT_EQ(fake.destroyed, 2);
}

TEST_F(ServedDevice, NamesADeadlineThatStaysOver) {
  make();
  fake.stuck = true;
  request(LOCKSTEP_CALL_ADVANCE, 1'000);
  EXPECT_THAT(end(), HasSubstr("deadline() is still over after 1000 calls"));
}

TEST_F(ServedDevice, TimersThatSendNothingDoNotStopTime) {
  fake.period = 10;
  fake.silent = true;
  make();
  const Answer answer = ask(LOCKSTEP_CALL_ADVANCE, 1'000'005);
  EXPECT_EQ(answer.now, 1'000'005u);
  EXPECT_EQ(answer.deadline, 1'000'010u);
}

/// In one step to the first tick.
std::uint64_t travel(lockstep_device* d, std::uint64_t until) {
  advance(d, std::min(fake.due, until));
  return fake.reached != 0 ? fake.reached : d->now;
}

TEST_F(ServedDevice, OneThatTravelsSaysHowFar) {
  calls_.travel = travel;
  fake.period = 50;
  make();
  const Answer first = ask(LOCKSTEP_CALL_ADVANCE, 1'000);
  EXPECT_EQ(first.now, 150u);
  EXPECT_EQ(first.packets, std::vector<std::string>{"tick"});
  const Answer none = ask(LOCKSTEP_CALL_ADVANCE, 199);
  EXPECT_EQ(none.now, 199u);
  EXPECT_TRUE(none.packets.empty());
}

TEST_F(ServedDevice, NamesOneThatTravelsTooFar) {
  calls_.travel = travel;
  make();
  fake.reached = 1'001;
  request(LOCKSTEP_CALL_ADVANCE, 1'000);
  EXPECT_THAT(end(), HasSubstr("travel()"));
}

TEST_F(ServedDevice, NamesAPacketThatIsTooLong) {
  make();
  fake.too_long = 70'000;
  request(LOCKSTEP_CALL_ADVANCE, 1'000);
  EXPECT_THAT(end(), HasSubstr("packet_out() returned more octets"));
}

TEST_F(ServedDevice, NamesPacketsWithoutEnd) {
  make();
  fake.without_end = true;
  request(LOCKSTEP_CALL_ADVANCE, 1'000);
  EXPECT_THAT(end(), HasSubstr("packet_out() has more than 100000 packets"));
}

TEST_F(ServedDevice, NamesDataBeyondTheRoom) {
  make();
  fake.read = 11;
  request(LOCKSTEP_CALL_RECEIVE, 1, 10);
  EXPECT_THAT(end(), HasSubstr("receive() returned more octets"));
}

TEST_F(ServedDevice, NamesARequestOfAWrongLength) {
  send_raw(octets_of(3, 4) + "abc");
  EXPECT_THAT(end(), HasSubstr("a request of 3 octets, expected 20 to"));
}

TEST_F(ServedDevice, NamesARequestThatEnds) {
  send_raw(octets_of(25, 4) + "abc");
  EXPECT_THAT(end(), HasSubstr("the input ends within a request"));
}

}  // namespace
}  // namespace lockstep::conformance
