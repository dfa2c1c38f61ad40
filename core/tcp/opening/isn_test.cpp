// Initial sequence numbers and ports, by RFC 6528 and RFC 6056.
#include "core/tcp/opening/isn.hpp"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::tcp {
namespace {

FourTuple tuple_of(std::uint8_t host, std::uint16_t local_port, std::uint16_t remote_port = 80) {
  return {{IpAddress::v4(10, 0, 0, 1), {local_port}},
          {IpAddress::v4(10, 0, 0, host), {remote_port}}};
}

Instant at_us(std::uint64_t microseconds) {
  return Instant{} + Duration::microseconds(microseconds);
}

std::uint32_t isn(const Config& config, const FourTuple& tuple, Instant now) {
  return initial_sequence(config, tuple, now).value;
}

//= rfc9293#3.4.1
//= type=test
//# 9293:MUST-8, 9293:SHLD-1 the clock ticks once per 4 us, 250,000 times a second
//= rfc6528#3
//= type=test
//# 6528:ISN-1, 6528:ISN-6 M is a 4 us timer, added to F
TEST(Isn, MovesWithTheClock) {
  Config const config;
  FourTuple const tuple = tuple_of(2, 1000);
  for (std::uint64_t start : {0ull, 123'456'784ull, 17'179'869'180ull}) {
    std::uint32_t const first = isn(config, tuple, at_us(start));
    EXPECT_EQ(isn(config, tuple, at_us(start + 3)), first);
    EXPECT_EQ(isn(config, tuple, at_us(start + 4)), first + 1);
    EXPECT_EQ(isn(config, tuple, at_us(start + 1'000'000)), first + 250'000);
  }
}

// The predecessor's ISNs repeated every 3.6 s and could be computed by anyone. Ours take a full
// cycle of 2^32 ticks, 4.77 hours, to repeat.
TEST(Isn, Defect14_DoesNotRepeatWithinHours) {
  Config const config;
  FourTuple const tuple = tuple_of(2, 1000);
  std::set<std::uint32_t> seen;
  for (std::uint64_t tenths = 0; tenths < 36'000; ++tenths) {
    EXPECT_TRUE(seen.insert(isn(config, tuple, at_us(tenths * 100'000))).second);
  }
  std::uint32_t const first = isn(config, tuple, at_us(0));
  EXPECT_EQ(isn(config, tuple, at_us((std::uint64_t{1} << 32) * 4)), first);
}

//= rfc9293#3.4.1
//= type=test
//# 9293:MUST-9 one key, or one tuple, reveals nothing about another
//= rfc6528#3
//= type=test
//# 6528:ISN-2, 6528:ISN-4 F depends on all 128 bits of the secret and on each part of the tuple
TEST(Isn, Defect14_CannotBeComputedFromOutside) {
  Config config;
  Instant const now = at_us(1'000'000);
  FourTuple const tuple = tuple_of(2, 1000);
  std::set<std::uint32_t> values{isn(config, tuple, now), isn(config, tuple_of(3, 1000), now),
                                 isn(config, tuple_of(2, 1001), now),
                                 isn(config, tuple_of(2, 1000, 81), now)};
  FourTuple elsewhere = tuple;
  elsewhere.local.address = IpAddress::v4(10, 0, 0, 9);
  values.insert(isn(config, elsewhere, now));
  EXPECT_EQ(values.size(), 5u);
  for (int bit = 0; bit < 128; ++bit) {
    Config other = config;
    (bit < 64 ? other.isn_key.first : other.isn_key.second) ^= std::uint64_t{1} << (bit % 64);
    EXPECT_TRUE(values.insert(isn(other, tuple, now)).second) << "bit " << bit;
  }
  // The distance between the numbers of two tuples is secret, too.
  Config other = config;
  other.isn_key.first ^= 1;
  EXPECT_NE(isn(config, tuple_of(3, 1000), now) - isn(config, tuple, now),
            isn(other, tuple_of(3, 1000), now) - isn(other, tuple, now));
}

TEST(Isn, BaseShiftsEveryNumber) {
  Config config;
  Instant const now = at_us(77);
  std::uint32_t const plain = isn(config, tuple_of(2, 1), now);
  config.isn_base = Sequence{0xffff'0000};
  EXPECT_EQ(isn(config, tuple_of(2, 1), now), plain + 0xffff'0000);
}

//= rfc6056#3.3
//= type=test
//# 6056:PORT-1 the next port is unpredictable without the key
//= rfc5927#4.2
//= type=test
//# 5927:ICMP-2 also for an attacker who wants to quote it
//= rfc6056#3.3.3
//= type=test
//# 6056:PORT-5 an offset by keyed hash of addresses and remote port, plus a counter
//= rfc6056#3.4
//= type=test
//# 6056:PORT-6 the key has 128 bits, and all of them matter
//= rfc6056#5
//= type=test
//# 6056:PORT-7 no list of unavailable ports: the offset covers the whole range
TEST(Ports, OffsetByKeyAndCounter) {
  Config const config;
  FourTuple const tuple = tuple_of(2, 0);
  auto port = [&](const Config& with, const FourTuple& to, std::uint32_t drawn, Count attempt) {
    return candidate_port(with, port_offset(with, to), drawn, attempt).value;
  };
  std::uint32_t const span = config.port_last.value - config.port_first.value + 1u;
  std::uint32_t const first = port(config, tuple, 0, Count{0});
  for (std::uint32_t i = 0; i < 2 * span; i += 997) {
    std::uint32_t const expected = (first - config.port_first.value + i) % span;
    EXPECT_EQ(port(config, tuple, i, Count{0}), config.port_first.value + expected);
    EXPECT_EQ(port(config, tuple, 0, Count{i}), config.port_first.value + expected);
  }
  std::set<std::uint16_t> offsets;
  for (int bit = 0; bit < 128; ++bit) {
    Config other = config;
    (bit < 64 ? other.port_key.first : other.port_key.second) ^= std::uint64_t{1} << (bit % 64);
    offsets.insert(port(other, tuple, 0, Count{0}));
  }
  EXPECT_GT(offsets.size(), 120u);
  EXPECT_NE(port(config, tuple_of(3, 0), 0, Count{0}), first);
  EXPECT_NE(port(config, tuple_of(2, 0, 81), 0, Count{0}), first);
}

TEST(Ports, StayInTheirRange) {
  Config config;
  config.port_first = {1024};
  config.port_last = {65535};
  PortOffset const offset = port_offset(config, tuple_of(2, 0));
  for (std::uint32_t i = 0; i < 200'000; i += 61) {
    EXPECT_GE(candidate_port(config, offset, i, Count{0}).value, 1024);
  }
  config.port_first = config.port_last = {7};
  EXPECT_EQ(candidate_port(config, offset, 0xffff'ffff, Count{0xffff'ffff}).value, 7);
}

}  // namespace
}  // namespace lockstep::tcp
