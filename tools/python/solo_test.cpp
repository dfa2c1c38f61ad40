// The C++ side of Python's Stack: settings as text, the clock, snapshots.
#include "tools/python/solo.hpp"

#include <gtest/gtest.h>

#include "tools/base/process/failure.hpp"
#include "tools/lib/calls/configure.hpp"
#include "tools/lib/calls/refused.hpp"

namespace lockstep::tools::python {
namespace {

constexpr Instant start{1'000'000'000'000};

StackSpec spec() {
  StackSpec out;
  out.addresses = {"10.0.0.1"};
  return out;
}

Open open_to(IpAddress address) {
  Open out;
  out.remote = {address, Port{80}};
  return out;
}

std::string fault_in(const StackSpec& of) {
  try {
    config_of(of);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    return failure.what();
  }
  return "";
}

TEST(PythonConfig, ASeedDrawsEachKey) {
  Config const one = config_of(spec());
  StackSpec other = spec();
  other.seed = 1;
  Config const two = config_of(other);
  EXPECT_EQ(one.tcp.isn_key.first, config_of(spec()).tcp.isn_key.first);
  EXPECT_NE(one.tcp.isn_key.first, two.tcp.isn_key.first);
  EXPECT_NE(one.tcp.isn_key.first, one.tcp.port_key.first);
  EXPECT_NE(one.tcp.isn_key.first, one.tcp.isn_key.second);
}

TEST(PythonConfig, AFieldIsSetByItsUnitAndRange) {
  StackSpec of = spec();
  of.fields = {{"delayed_ack", "20ms"}, {"receive_buffer_bytes", "64KiB"}, {"nagle", 0u}};
  Config const config = config_of(of);
  EXPECT_EQ(config.tcp.delayed_ack, Duration::milliseconds(20));
  EXPECT_EQ(config.tcp.receive_buffer.count, 65'536u);
  EXPECT_FALSE(config.tcp.nagle);
  of.fields = {{"delayed_ack", "1s"}};
  EXPECT_EQ(fault_in(of),
            "delayed_ack is 1s, expected 1 to 499999999 (nanoseconds, or text like "
            "200ms)");
}

TEST(PythonConfig, WithoutAPrefixEveryAddressIsOnLink) {
  StackSpec of = spec();
  of.addresses = {"10.0.0.1", "10.1.0.1/16"};
  Config const config = config_of(of);
  EXPECT_EQ(config.addresses[0].prefix_bits, 0);
  EXPECT_EQ(config.addresses[1].prefix_bits, 16);
  EXPECT_EQ(config.address_count.value, 2u);
}

TEST(PythonSolo, RetransmissionsLeaveAtTheirDeadlines) {
  Solo solo(config_of(spec()), start, 0);
  solo.connect(open_to(IpAddress::v4(10, 0, 0, 2)));
  auto const sent = solo.advance_to(start + Duration::seconds(3));
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].at, start);
  EXPECT_EQ(sent[1].at, start + Duration::seconds(1));
  EXPECT_EQ(sent[2].at, start + Duration::seconds(3));
  EXPECT_EQ(solo.now(), start + Duration::seconds(3));
}

TEST(PythonSolo, NothingLeavesWhileItReceives) {
  Solo solo(config_of(spec()), start, 0);
  solo.connect(open_to(IpAddress::v4(10, 0, 0, 2)));
  std::vector<std::byte> const nothing;
  Packet const packet = nothing;
  solo.receive({&packet, 1});
  EXPECT_TRUE(solo.stack().wants_transmit());
  EXPECT_EQ(solo.transmit().size(), 1u);
}

TEST(PythonSolo, ASnapshotHoldsTheClockAndTheState) {
  Solo solo(config_of(spec()), start, 0);
  ConnectionId const id = solo.connect(open_to(IpAddress::v4(10, 0, 0, 2)));
  auto const kept = solo.snapshot();
  solo.stack().abort(id);
  solo.advance_to(start + Duration::seconds(5));
  EXPECT_EQ(solo.state(id), tcp::State::closed);
  EXPECT_EQ(solo.inbox().events.size(), 1u);
  ASSERT_TRUE(solo.restore(kept));
  EXPECT_EQ(solo.now(), start);
  EXPECT_EQ(solo.state(id), tcp::State::syn_sent);
  EXPECT_TRUE(solo.inbox().events.empty());
  EXPECT_EQ(solo.snapshot(), kept);
  EXPECT_FALSE(solo.restore(std::span(kept).first(kept.size() - 1)));
}

TEST(PythonSolo, TheOldestUntakenEventsAreDropped) {
  Solo solo(config_of(spec()), start, 0);
  Event event;
  for (std::uint32_t i = 0; i <= Inbox::events_max; ++i) {
    event.bytes = Bytes{i};
    event.kind = EventKind::received;
    solo.on_event(solo.stack(), event);
  }
  EXPECT_EQ(solo.inbox().events.size(), Inbox::events_max);
  EXPECT_EQ(solo.inbox().events.front().event.bytes.count, 1u);
  EXPECT_EQ(solo.inbox().events_lost, 1u);
}

TEST(PythonSolo, AnUnknownIdIsStale) {
  Solo solo(config_of(spec()), start, 0);
  EXPECT_EQ(solo.state({0, 0}), std::nullopt);
  EXPECT_THROW(solo.read({0, 0}, Bytes{1}, false), Refused);
}

}  // namespace
}  // namespace lockstep::tools::python
