// RFC 5482: the user timeout that we advertise, and what we adopt from the peer.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"
#include "core/tcp/user_timeout.hpp"

namespace lockstep::testing {
namespace {

using tcp::user_timeout_from_wire;
using tcp::user_timeout_to_wire;

Config timeout_config() {
  Config config = flow_config();
  config.tcp.user_timeout_option = true;
  config.tcp.user_timeout = Duration::seconds(300);
  return config;
}

wire::Options timeout_of(std::uint16_t value) {
  wire::Options options;
  options.has_user_timeout = true;
  options.user_timeout = value;
  return options;
}

// ESTABLISHED; the peer's SYN had no option.
void open(Kit& kit) {
  kit.listen();
  kit.deliver({.flags = flag::syn, .mss = 1000});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  ASSERT_EQ(kit.state(), State::established);
  kit.sent();
}

std::uint64_t timeout_after(const Config& config, std::uint16_t value) {
  Kit kit(config);
  open(kit);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .options = timeout_of(value)});
  return kit.info().user_timeout.ns / 1'000'000'000;
}

//= rfc5482#3.3
//= type=test
//# 5482:UTO-8 15 bits of seconds, or of minutes if the top bit is set
//= rfc5482#3.4
//= type=test
//# 5482:UTO-9 zero is never written
TEST(UserTimeout, OnTheWire) {
  EXPECT_EQ(user_timeout_to_wire(Duration{}), 1);
  EXPECT_EQ(user_timeout_to_wire(Duration::milliseconds(1)), 1);
  EXPECT_EQ(user_timeout_to_wire(Duration::seconds(300)), 300);
  EXPECT_EQ(user_timeout_to_wire(Duration::seconds(0x7fff)), 0x7fff);
  EXPECT_EQ(user_timeout_to_wire(Duration::seconds(0x8000)), 0x8000 | 547);
  EXPECT_EQ(user_timeout_to_wire(Duration::seconds(86'400)), 0x8000 | 1440);
  EXPECT_EQ(user_timeout_to_wire(Duration::forever()), 0xffff);
  EXPECT_EQ(user_timeout_from_wire(300), Duration::seconds(300));
  EXPECT_EQ(user_timeout_from_wire(0x8000 | 2), Duration::seconds(120));
}

//= rfc5482#3
//= type=test
//# 5482:UTO-11 on SYNs, on the first segment that is not a SYN, and when a new timeout starts
//= rfc5482#3.2
//= type=test
//# 5482:UTO-12 once each: nothing waits for an answer
TEST(UserTimeout, IsAdvertisedWhenItStarts) {
  Kit kit(timeout_config());
  kit.connect();
  Out const syn = kit.take().at(0);
  EXPECT_TRUE(syn.options.has_user_timeout);
  EXPECT_EQ(syn.options.user_timeout, 300);
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1000});
  Out const first = kit.take().at(0);
  EXPECT_TRUE(first.options.has_user_timeout);
  kit.write("more");
  EXPECT_FALSE(kit.take().at(0).options.has_user_timeout);
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::user_timeout_ms, 50'000}), Refusal::none);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 5});
  // A full segment has no space for it; the next one does.
  kit.write(std::string(1010, 'x'));
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].data.size(), 1000u);
  EXPECT_FALSE(out[0].options.has_user_timeout);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1005});
  Out const rest = kit.take().at(0);
  EXPECT_TRUE(rest.options.has_user_timeout);
  EXPECT_EQ(rest.options.user_timeout, 50);
  EXPECT_EQ(rest.data.size(), 10u);
  Kit off(flow_config());
  off.connect();
  EXPECT_FALSE(off.take().at(0).options.has_user_timeout);
}

//= rfc5482#3.1
//= type=test
//# 5482:UTO-5 min(U_LIMIT, max(ADV_UTO, REMOTE_UTO, L_LIMIT))
//= rfc5482#3
//= type=test
//# 5482:UTO-2 within both limits
TEST(UserTimeout, IsAdoptedWithinItsLimits) {
  Config config = timeout_config();
  EXPECT_EQ(timeout_after(config, 50), 300u);  // ours is longer
  EXPECT_EQ(timeout_after(config, 1000), 1000u);
  EXPECT_EQ(timeout_after(config, 0x8000 | 20), 1200u);  // minutes
  EXPECT_EQ(timeout_after(config, 0x7fff), 3600u);       // U_LIMIT
  config.tcp.user_timeout_advertised = Duration::seconds(10);
  EXPECT_EQ(timeout_after(config, 50), 100u);  // L_LIMIT
  config.tcp.user_timeout_advertised = Duration{};
  config.tcp.user_timeout = Duration{};  // never
  EXPECT_EQ(timeout_after(config, 1), 3600u);
}

//= rfc5482#3.1
//= type=test
//# 5482:UTO-7 the lower limit is above the current RTO
TEST(UserTimeout, IsLongerThanTheRetransmissionTimeout) {
  Config config = timeout_config();
  config.tcp.user_timeout_advertised = Duration::seconds(1);
  config.tcp.user_timeout_least = Duration::seconds(1);
  config.tcp.rto_initial = Duration::seconds(7);
  config.tcp.rto_min = Duration::seconds(7);
  Kit kit(config);
  open(kit);
  Duration const rto = kit.info().rto;
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .options = timeout_of(2)});
  EXPECT_EQ(kit.info().user_timeout, rto + Duration::milliseconds(1));
}

//= rfc5482#3.4
//= type=test
//# 5482:UTO-9 zero is ignored, in seconds and in minutes
//= rfc5482#3
//= type=test
//# 5482:UTO-1 ignored if the feature is off, and the segment is accepted
TEST(UserTimeout, IsIgnoredWhereItMustBe) {
  EXPECT_EQ(timeout_after(timeout_config(), 0), 300u);
  EXPECT_EQ(timeout_after(timeout_config(), 0x8000), 300u);
  Config off = timeout_config();
  off.tcp.user_timeout_option = false;
  Kit kit(off);
  open(kit);
  EXPECT_EQ(
      kit.drop_of(
          {.flags = flag::ack, .seq = 1, .ack = 1, .data = "data", .options = timeout_of(1000)}),
      Drop::none);
  EXPECT_EQ(kit.received, "data");
  EXPECT_EQ(kit.info().user_timeout, Duration::seconds(300));
}

//= rfc5482#3
//= type=test
//# 5482:UTO-3 if set by the application, CHANGEABLE is false
//= rfc5482#3.1
//= type=test
//# 5482:UTO-4 and no option changes it
TEST(UserTimeout, OfTheApplicationIsKept) {
  Kit kit(timeout_config());
  open(kit);
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::user_timeout_ms, 50'000}), Refusal::none);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .options = timeout_of(1000)});
  EXPECT_EQ(kit.info().user_timeout, Duration::seconds(50));
}

//= rfc5482#3.3
//= type=test
//# 5482:UTO-10 the option of a SYN is adopted when the handshake is complete
TEST(UserTimeout, OfASynWaitsForTheHandshake) {
  Config config = timeout_config();
  config.tcp.syn_timeout = Duration::seconds(20);
  Kit kit(config);
  kit.listen();
  kit.deliver({.flags = flag::syn, .mss = 1000, .options = timeout_of(1000)});
  // SYN-RECEIVED ends after its own timeout, whatever the option.
  kit.advance(Duration::seconds(20));
  EXPECT_EQ(kit.state(), State::closed);
  Kit other(config);
  other.listen();
  other.deliver({.flags = flag::syn, .mss = 1000, .options = timeout_of(1000)});
  other.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(other.info().user_timeout, Duration::seconds(1000));
}

// The adopted timeout ends the connection.
TEST(UserTimeout, IsTheOneThatEndsTheConnection) {
  Kit kit(timeout_config());
  open(kit);
  kit.write("lost");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .options = timeout_of(1000)});
  kit.advance(Duration::seconds(1000) - Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::established);
  kit.advance(Duration::nanoseconds(1));
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::timed_out));
}

//= rfc5482#4.2
//= type=test
//# 5482:UTO-13 keep-alives wait longer than the adopted timeout
TEST(UserTimeout, IsShorterThanTheKeepAliveInterval) {
  Config config = timeout_config();
  config.tcp.keepalive = true;
  config.tcp.keepalive_idle = Duration::seconds(10);
  Kit kit(config);
  open(kit);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .options = timeout_of(1000)});
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::keepalive_idle_ms, 20'000}), Refusal::none);
  kit.advance(Duration::seconds(1000));
  EXPECT_EQ(kit.sent(), "");
  kit.advance(Duration::milliseconds(1));
  EXPECT_EQ(kit.sent(), "A 0(0) ack 1");
}

}  // namespace
}  // namespace lockstep::testing
