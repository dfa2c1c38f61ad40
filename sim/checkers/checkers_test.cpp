// Each checker finds the error injected for it, and reports nothing in a correct run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/stack/body.hpp"
#include "sim/checkers/alteration.hpp"
#include "sim/checkers/conservation.hpp"
#include "sim/checkers/invariants.hpp"
#include "sim/checkers/liveness.hpp"
#include "sim/checkers/rfc.hpp"
#include "sim/checkers/stream.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {

// Access to private members of a stack. (An explicit instantiation may name private members.)
template <Stack::Body* Stack::* member>
struct Opened {
  friend Stack::Body& body_of(const Stack& stack) { return *(stack.*member); }
};
Stack::Body& body_of(const Stack& stack);
template struct Opened<&Stack::body_>;

namespace {

World lossy_world() {
  LaneSpec lane;
  lane.rate_bits_per_second = 10'000'000;
  lane.delay = Duration::milliseconds(3);
  World world = two_hosts(lane);
  world.apps = {app_of("echo", 30'000)};
  world.lane_faults = {fault_of_link("lossy", Loss{{30'000'000}})};
  return world;
}

// All checkers of one run.
struct CheckedRun {
  explicit CheckedRun(const World& drawn)
      : world(drawn),
        kernel(world, 5),
        stream(findings),
        conservation(findings),
        invariants(findings),
        liveness(findings),
        rfc(world, findings) {
    for (Observer* each : {static_cast<Observer*>(&stream), static_cast<Observer*>(&conservation),
                           static_cast<Observer*>(&invariants), static_cast<Observer*>(&liveness),
                           static_cast<Observer*>(&rfc)}) {
      kernel.observe(*each);
    }
  }

  World world;
  Kernel kernel;
  Findings findings;
  StreamChecker stream;
  ConservationChecker conservation;
  InvariantChecker invariants;
  LivenessChecker liveness;
  RfcChecker rfc;
};

std::string_view first_of(const Findings& findings) {
  return findings.empty() ? std::string_view("nothing") : findings.kept()[0].what;
}

TEST(Checkers, AnHonestRunHasNoFinding) {
  CheckedRun run(lossy_world());
  EXPECT_EQ(run.kernel.run(), Ending::completed);
  EXPECT_EQ(run.findings.count(), 0u) << first_of(run.findings);
}

// --- Stream ---

class StreamDefects : public testing::Test {
 protected:
  StreamDefects() : kernel_(two_hosts({}), 1), checker_(findings_) {
    flow_.id = {0};
    flow_.app = "planted";
  }

  void write(std::uint64_t offset, std::string_view text) {
    checker_.wrote(kernel_, note(Side::opener, offset, text));
  }
  void read(std::uint64_t offset, std::string_view text) {
    checker_.read(kernel_, note(Side::acceptor, offset, text));
  }
  StreamNote note(Side side, std::uint64_t offset, std::string_view text) {
    return {Instant{7}, {0}, &flow_, side, offset, std::as_bytes(std::span(text)), true};
  }

  Kernel kernel_;
  Findings findings_;
  StreamChecker checker_;
  Flow flow_;
};

TEST_F(StreamDefects, TheSameOctetsAreFine) {
  write(0, "abc");
  write(3, "def");
  read(0, "abcd");
  read(4, "ef");
  EXPECT_TRUE(findings_.empty()) << first_of(findings_);
}

TEST_F(StreamDefects, AnotherOctetIsFound) {
  write(0, "abc");
  read(0, "abd");
  EXPECT_EQ(first_of(findings_), "read other octets than were written, from this offset on");
}

TEST_F(StreamDefects, AWriteOutOfPlaceIsFound) {
  write(0, "abc");
  write(4, "def");
  EXPECT_EQ(first_of(findings_), "written at another offset than the stream's end");
}

TEST_F(StreamDefects, ASkippedOctetIsFound) {
  write(0, "abc");
  read(1, "bc");
  EXPECT_EQ(first_of(findings_), "read at another offset than the last read's end");
}

TEST_F(StreamDefects, AnOctetFromNowhereIsFound) {
  write(0, "abc");
  read(0, "abcd");
  EXPECT_EQ(first_of(findings_), "read more octets than were written");
}

TEST_F(StreamDefects, AStreamThatEndsEarlyIsFound) {
  for (FlowEnd& end : flow_.ends) {
    end.cause = Cause::finished;
    end.peer_finished = true;
  }
  flow_.end(Side::opener).written = 10;
  flow_.end(Side::acceptor).read = 10;
  checker_.judge_end(kernel_, flow_);
  EXPECT_TRUE(findings_.empty());
  flow_.end(Side::acceptor).read = 9;
  checker_.judge_end(kernel_, flow_);
  EXPECT_EQ(first_of(findings_), "both ends finished, but not all that was written was read");
}

// Octets beyond offsets 2^31 and 2^32 are compared, and the copy of what was read is freed.
TEST_F(StreamDefects, OctetsAreComparedBeyondFourGibibytes) {
  std::string text(std::size_t{1} << 20, 'x');
  for (char& letter : text) {
    letter = static_cast<char>('a' + (&letter - text.data()) % 23);
  }
  std::uint64_t const end = (std::uint64_t{1} << 32) + 5 * text.size();
  for (std::uint64_t at = 0; at < end; at += text.size()) {
    write(at, text);
    read(at, text);
  }
  EXPECT_TRUE(findings_.empty()) << first_of(findings_);
  write(end, "abc");
  read(end, "abd");
  ASSERT_EQ(findings_.count(), 1u);
  EXPECT_EQ(findings_.kept()[0].expected, end);
}

// --- Findings ---

TEST(Findings, OfOneCauseAreTheFirstFiveAndACount) {
  Findings findings;
  for (std::uint64_t i = 0; i < 9; ++i) {
    findings.add({CheckerKind::rfc, Instant{i}, "a", "one", i, 0});
    findings.add({CheckerKind::rfc, Instant{i}, "b", "one", i, 0});
  }
  findings.add({CheckerKind::rfc, Instant{9}, "a", "another", 0, 0});
  findings.add({CheckerKind::rfc, Instant{10}, "a", "one", 0, 0}, 40);
  ASSERT_EQ(findings.groups().size(), 3u);
  EXPECT_EQ(findings.groups()[0].count, 49u);
  EXPECT_EQ(findings.groups()[0].first.size(), 5u);
  EXPECT_EQ(findings.groups()[0].first[4].expected, 4u);
  EXPECT_EQ(findings.groups()[1].count, 9u);
  EXPECT_EQ(findings.groups()[2].count, 1u);
  EXPECT_EQ(findings.count(), 59u);
  EXPECT_EQ(findings.kept().size(), 11u);
}

// A change that no checksum detects reaches the application. The checker reports it unless it knows
// that a fault caused it.
TEST(Checkers, ASubstitutionIsFoundOrExcused) {
  World world = lossy_world();
  world.lane_faults = {fault_of_link("swap", Substitute{{200'000'000}, 54})};
  Findings blamed;
  Findings excused;
  AlterationWatch alteration(world);
  StreamChecker strict(blamed);
  StreamChecker lenient(excused, &alteration);
  Kernel kernel(world, 5);
  kernel.observe(alteration);
  kernel.observe(strict);
  kernel.observe(lenient);
  kernel.run();
  EXPECT_TRUE(alteration.text_altered());
  EXPECT_FALSE(alteration.header_altered());
  EXPECT_EQ(first_of(blamed), "read other octets than were written, from this offset on");
  EXPECT_TRUE(excused.empty()) << first_of(excused);
}

// --- Conservation ---

// Counts one frame too many or too few on the first lane.
class WrongBooks final : public ConservationChecker {
 public:
  // Frames missing from `delivered`, and frames counted as dropped that were not.
  struct Error {
    std::uint64_t undelivered = 0;
    std::uint64_t dropped = 0;
  };
  WrongBooks(Findings& findings, Error error) : ConservationChecker(findings), error_(error) {}

 protected:
  LaneAccount booked(const Kernel& kernel, std::uint32_t lane) const override {
    LaneAccount account = ConservationChecker::booked(kernel, lane);
    account.delivered -= lane == 0 ? error_.undelivered : 0;
    account.dropped += lane == 0 ? error_.dropped : 0;
    return account;
  }

 private:
  Error error_;
};

std::string_view with_wrong_books(WrongBooks::Error error) {
  Kernel kernel(lossy_world(), 5);
  Findings findings;
  WrongBooks checker(findings, error);
  kernel.observe(checker);
  kernel.run();
  return first_of(findings);
}

TEST(Conservation, ALostFrameIsFound) {
  EXPECT_EQ(with_wrong_books({0, 0}), "nothing");
  EXPECT_EQ(with_wrong_books({1, 0}), "frames offered but neither delivered, dropped nor held");
}

TEST(Conservation, ADropThatNobodyWasToldOfIsFound) {
  EXPECT_EQ(with_wrong_books({1, 1}), "frames dropped on a lane without a notice");
}

TEST(Conservation, AFrameFromNowhereIsFound) {
  EXPECT_EQ(with_wrong_books({0, 1}), "more frames left a lane than entered it");
}

// Sees some sent or delivered frames twice or not at all.
class Blinking final : public ConservationChecker {
 public:
  Blinking(Findings& findings, bool of_sent) : ConservationChecker(findings), of_sent_(of_sent) {}

  void sent(const Kernel& kernel, const FrameNote& note) override {
    blink_ = blink_ != of_sent_;
    if (!of_sent_ || blink_) {
      ConservationChecker::sent(kernel, note);
    }
  }
  void delivered(const Kernel& kernel, const FrameNote& note) override {
    ConservationChecker::delivered(kernel, note);
    blink_ = blink_ == of_sent_;
    if (!of_sent_ && blink_) {
      ConservationChecker::delivered(kernel, note);
    }
  }

 private:
  bool of_sent_;
  bool blink_ = false;
};

std::string_view with_blinking(bool of_sent) {
  Kernel kernel(lossy_world(), 5);
  Findings findings;
  Blinking checker(findings, of_sent);
  kernel.observe(checker);
  kernel.run();
  return first_of(findings);
}

TEST(Conservation, AFrameThatNeverReachedTheWireIsFound) {
  EXPECT_EQ(with_blinking(true), "frames that the stack sent and the wire did not carry");
}

TEST(Conservation, AFrameThatNeverReachedTheStackIsFound) {
  EXPECT_EQ(with_blinking(false), "frames delivered to the host and lost before its stack");
}

TEST(Conservation, MoreDeathsThanFramesAreFound) {
  Kernel kernel(lossy_world(), 5);
  Findings findings;
  ConservationChecker checker(findings);
  kernel.observe(checker);
  Stack const& stack = kernel.host({0}).stack();
  // No frame was received, and one was dropped.
  body_of(stack).statistics->drops.count(Drop::tcp_checksum);
  checker.ended(kernel);
  EXPECT_EQ(first_of(findings), "more frames were dropped than received");
}

TEST(Conservation, AForgottenConnectionIsFound) {
  Kernel kernel(two_hosts({}), 1);
  Findings findings;
  ConservationChecker checker(findings);
  checker.judge_connections(kernel, {0}, {5, 3, 2});
  EXPECT_TRUE(findings.empty());
  checker.judge_connections(kernel, {0}, {5, 3, 1});
  EXPECT_EQ(first_of(findings), "connections opened, but neither closed nor owned");
}

// --- RFC rules ---

// Alters each segment that host a sends, and fixes its checksum, before the checker sees it.
template <class Plant>
class Forged final : public Observer {
 public:
  Forged(const World& world, Findings& findings, Plant plant)
      : checker_(world, findings), plant_(plant) {}

  void sent(const Kernel& kernel, const FrameNote& note) override {
    SegmentView view;
    LinkType const link = kernel.world().hosts[0].config.link;
    if (read_frame(link, note.bytes, view) != FrameContent::tcp) {
      return;
    }
    if (note.node.index == 0) {
      plant_(view.segment);
    }
    checker_.judge_sent({{note.node.index}, note.at, view});
  }
  void delivered(const Kernel& kernel, const FrameNote& note) override {
    checker_.delivered(kernel, note);
  }

 private:
  RfcChecker checker_;
  Plant plant_;
};

template <class Plant>
std::string_view with_forged(Plant plant) {
  World world = lossy_world();
  // The other side must not be judged by segments that were altered.
  world.lane_faults = {fault_of_link("forge", Substitute{{0}, 54})};
  Kernel kernel(world, 5);
  Findings findings;
  Forged<Plant> observer(world, findings, plant);
  kernel.observe(observer);
  kernel.run();
  return first_of(findings);
}

TEST(RfcDefects, APlantedDefectIsFound) {
  EXPECT_EQ(with_forged([](wire::Segment&) {}), "nothing");
  EXPECT_EQ(with_forged([](wire::Segment& s) { s.acknowledgment = s.acknowledgment.next(); }),
            "an ACK of data that never arrived");
  EXPECT_EQ(with_forged([open = false](wire::Segment& s) mutable {
              open = !open;
              s.window.value = open ? 9'000 : 0;
            }),
            "the right edge of the offered window moved left");
  EXPECT_EQ(with_forged([](wire::Segment& s) { s.options.has_mss = true; }),
            "MSS outside of a SYN");
  EXPECT_EQ(with_forged([](wire::Segment& s) {
              s.options.has_timestamps = s.options.has_timestamps && s.payload.empty();
            }),
            "no timestamp, though both SYNs had one");
}

// --- Invariants ---

// Replaces one variable of each connection's view by a wrong value.
template <class Plant>
class Sabotaged final : public InvariantChecker {
 public:
  Sabotaged(Findings& findings, Plant plant) : InvariantChecker(findings), plant_(plant) {}

 protected:
  ConnectionInfo seen(const Kernel& kernel, HostIndex host, ConnectionId id) const override {
    ConnectionInfo info = InvariantChecker::seen(kernel, host, id);
    plant_(info);
    return info;
  }

 private:
  Plant plant_;
};

template <class Plant>
std::string_view with_planted(Plant plant) {
  Kernel kernel(lossy_world(), 5);
  Findings findings;
  Sabotaged<Plant> checker(findings, plant);
  kernel.observe(checker);
  kernel.run();
  return first_of(findings);
}

TEST(Invariants, APlantedValueIsFound) {
  EXPECT_EQ(with_planted([](ConnectionInfo&) {}), "nothing");
  EXPECT_EQ(with_planted([](ConnectionInfo& info) { info.send.una = info.send.nxt.next(); }),
            "SND.UNA is beyond SND.NXT");
  EXPECT_EQ(with_planted([](ConnectionInfo& info) { info.receive.edge = info.receive.nxt; }),
            "RCV.WND is not the distance from RCV.NXT to the right edge");
  EXPECT_EQ(with_planted([](ConnectionInfo& info) { info.cwnd = {}; }),
            "the congestion window is under one segment");
  EXPECT_EQ(with_planted([](ConnectionInfo& info) {
              info.retransmit_due = Instant::never();
              info.persist_due = Instant::never();
            }),
            "data is in flight and no timer runs");
  EXPECT_EQ(with_planted([](ConnectionInfo& info) { info.send.wnd_max = {}; }),
            "SND.WND is larger than the largest window seen");
  EXPECT_EQ(with_planted([](ConnectionInfo& info) { info.state = tcp::State::time_wait; }),
            "a connection that a model knows is in a state that has no such record");
  EXPECT_EQ(with_planted([](ConnectionInfo& info) { info.send.una = info.send.iss; }),
            "synchronized, but our SYN is not acknowledged");
  EXPECT_EQ(with_planted([](ConnectionInfo& info) { info.rto = Duration::seconds(100'000); }),
            "RTO is beyond its maximum");
}

TEST(Invariants, AClockThatRunsBackwardsIsFound) {
  Kernel late(lossy_world(), 5);
  Kernel early(lossy_world(), 5);
  late.run();
  Findings findings;
  InvariantChecker checker(findings);
  checker.turned(late, {0}, Outcome::worked);
  EXPECT_TRUE(findings.empty()) << first_of(findings);
  checker.turned(early, {0}, Outcome::worked);
  EXPECT_EQ(first_of(findings), "a stack's clock ran backwards");
}

// A failed invariant of the stack itself stops the run
// (core/stack/tests/whole/invariants_test.cpp).
TEST(InvariantsDeathTest, AStacksOwnAreAskedFor) {
  Kernel kernel(lossy_world(), 5);
  Findings findings;
  InvariantChecker invariants(findings);
  ConservationChecker conservation(findings);
  body_of(kernel.host({0}).stack()).engine.state->refused = 1;
  testing::Matcher<const std::string&> const there =
      testing::HasSubstr("refused == e.state->refused");
  EXPECT_DEATH(invariants.on_event(kernel, {0}, Event{}), there);
  EXPECT_DEATH(invariants.turned(kernel, {0}, Outcome::worked), there);
  EXPECT_DEATH(conservation.ended(kernel), there);
}

// --- Liveness ---

TEST(Liveness, AnApplicationThatNeverEndsIsFound) {
  World world = lossy_world();
  world.lane_faults = {fault_of_link("cut", Partition{})};
  world.limit = Duration::seconds(10);
  CheckedRun run(world);
  EXPECT_EQ(run.kernel.run(), Ending::limit_reached);
  ASSERT_FALSE(run.findings.empty());
  EXPECT_EQ(run.findings.kept()[0].checker, CheckerKind::liveness);
  EXPECT_EQ(first_of(run.findings), "the caller's connection never ended");
}

TEST(Liveness, ACalledSideThatNeverEndsIsFound) {
  World world = lossy_world();
  world.apps = {app_of("echo", 30'000'000)};
  world.limit = Duration::seconds(10);
  CheckedRun run(world);
  EXPECT_EQ(run.kernel.run(), Ending::limit_reached);
  ASSERT_EQ(run.findings.count(), 2u) << first_of(run.findings);
  EXPECT_EQ(run.findings.kept()[1].what, "the called side's connection never ended");
}

TEST(Liveness, AnApplicationThatNeverBeginsIsFound) {
  Kernel kernel(lossy_world(), 5);
  Findings findings;
  LivenessChecker checker(findings);
  checker.ended(kernel);
  EXPECT_EQ(first_of(findings), "an application is not done, though no connection is open");
}

// --- Service ---

TEST(Service, AFailedConnectionIsFoundWhereAllAreToBeServed) {
  for (bool const served : {false, true}) {
    World world = lossy_world();
    world.served = served;
    world.lane_faults = {fault_of_link("cut", Partition{})};
    world.hosts[0].config.tcp.syn_timeout = Duration::seconds(5);
    Kernel kernel(world, 5);
    Findings findings;
    ServiceChecker checker(findings);
    kernel.observe(checker);
    kernel.run();
    EXPECT_EQ(findings.empty(), !served);
  }
}

TEST(Service, AResetAfterTheOthersTimeWaitLacksNothing) {
  constexpr std::array<Duration, 2> msl{Duration::milliseconds(500), Duration::seconds(60)};
  const auto is_served = [&](Duration later, Cause opener, std::uint64_t read) {
    Flow flow;
    flow.end(Side::opener).ended = Instant{1'000'000'000};
    flow.end(Side::opener).cause = opener;
    flow.end(Side::opener).written = 10;
    flow.end(Side::acceptor).ended = flow.end(Side::opener).ended + later;
    flow.end(Side::acceptor).cause = Cause::reset;
    flow.end(Side::acceptor).read = read;
    return ServiceChecker::is_served(flow, msl);
  };
  EXPECT_TRUE(is_served(Duration::seconds(3), Cause::finished, 10));
  EXPECT_FALSE(is_served(Duration::seconds(1), Cause::finished, 10));  // still in TIME-WAIT
  EXPECT_FALSE(is_served(Duration::seconds(3), Cause::finished, 9));
  EXPECT_FALSE(is_served(Duration::seconds(3), Cause::reset, 10));
}

// --- Progress ---

// Shows data that stays queued although the window is open.
class Waiting final : public ProgressChecker {
 public:
  using ProgressChecker::ProgressChecker;

 protected:
  ConnectionInfo seen(const Kernel& kernel, HostIndex host, ConnectionId id) const override {
    ConnectionInfo info = ProgressChecker::seen(kernel, host, id);
    info.send.queued = Bytes{100};
    info.send.una = info.send.nxt;
    info.send.wnd = Bytes{1'000};
    return info;
  }
};

TEST(Progress, AConnectionThatHangsIsFound) {
  World world = lossy_world();
  world.apps[0].model = "chatter";
  world.apps[0].rounds = 3;
  world.apps[0].reply_bytes = 10;
  world.apps[0].think = Duration::seconds(100);
  Kernel kernel(world, 5);
  Findings planted;
  Findings honest;
  Waiting waiting(planted);
  ProgressChecker plain(honest);
  kernel.observe(waiting);
  kernel.observe(plain);
  EXPECT_EQ(kernel.run(), Ending::completed);
  EXPECT_EQ(first_of(planted), "data is queued and the window is open, but nothing is in flight");
  EXPECT_TRUE(honest.empty()) << first_of(honest);
}

}  // namespace
}  // namespace lockstep::sim
