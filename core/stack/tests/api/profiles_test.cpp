// What the four profiles offer in a SYN, and how a bare Config differs from the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

using ::testing::StartsWith;

Config on_a_link(Config config) {
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  return test_keys(config);
}

// "mss 1460 sack stamps scale 4", or the part of it that the SYN has.
std::string offers(const Config& config) {
  Kit kit(on_a_link(config));
  kit.connect();
  Out const syn = kit.take().at(0);
  std::string out = "mss " + std::to_string(syn.mss);
  if (syn.sack_permitted) {
    out += " sack";
  }
  if (syn.options.has_timestamps) {
    out += " stamps";
  }
  if (syn.options.has_window_scale) {
    out += " scale " + std::to_string(syn.options.window_scale.shift);
  }
  return out;
}

TEST(Profiles, OfferTheirOptionsInASyn) {
  EXPECT_EQ(offers(Config{}), "mss 1460 sack stamps scale 5");
  EXPECT_EQ(offers(profile_rfc()), "mss 1460");
  EXPECT_EQ(offers(profile_linux()), "mss 1460 sack stamps scale 7");
  EXPECT_EQ(offers(profile_freebsd()), "mss 1460 sack stamps scale 6");
  Config without;
  switch_extensions_off(without);
  EXPECT_EQ(offers(without), "mss 1460");
}

TEST(Profiles, AreAllValid) {
  for (Config const& config : {Config{}, profile_rfc(), profile_linux(), profile_freebsd()}) {
    EXPECT_EQ(fault_of(on_a_link(config)), "");
  }
}

Config with_address(IpAddress address) {
  Config out = on_a_link(Config{});
  out.addresses[out.address_count.value++] = {address, 24};
  return out;
}

Config with_neighbour(const StaticNeighbour& neighbour) {
  Config out = on_a_link(Config{});
  out.link = LinkType::ethernet;
  out.static_neighbours[out.static_neighbour_count.value++] = neighbour;
  return out;
}

constexpr Mac a_mac{{2, 0, 0, 0, 0, 9}};

// Every valid configuration can be used: Stack::configure() stops the program otherwise.
//= rfc1122#3.2.1.3
//= type=test
//# 1122:H-18 our source address is a valid host address
TEST(Configuration, AddressesAreHosts) {
  EXPECT_EQ(fault_of(with_address(IpAddress::v4(10, 0, 0, 200))), "");
  for (IpAddress const wrong :
       {IpAddress::v4(0, 0, 0, 0), IpAddress::v4(127, 0, 0, 1), IpAddress::v4(224, 0, 0, 1),
        IpAddress::v4(255, 255, 255, 255), IpAddress{0, 1}, IpAddress{0xff02ull << 48, 1}}) {
    EXPECT_THAT(fault_of(with_address(wrong)),
                StartsWith("addresses: each must be a host address"));
  }
  Config const one = on_a_link(Config{});
  EXPECT_EQ(fault_of(with_address(one.addresses[0].address)),
            "addresses: the same address is listed twice");
}

TEST(Configuration, StaticNeighboursAreHosts) {
  IpAddress const good = IpAddress::v4(10, 0, 0, 9);
  EXPECT_EQ(fault_of(with_neighbour({good, a_mac})), "");
  constexpr std::string_view wrong =
      "static_neighbours: each needs a host address and a unicast link address";
  EXPECT_EQ(fault_of(with_neighbour({good, Mac{}})), wrong);
  EXPECT_EQ(fault_of(with_neighbour({good, Mac{{1, 0, 0, 0, 0, 9}}})), wrong);
  EXPECT_EQ(fault_of(with_neighbour({IpAddress::v4(224, 0, 0, 9), a_mac})), wrong);
  EXPECT_EQ(fault_of(with_neighbour({IpAddress{0xfd00ull << 48, 9}, a_mac})),
            "static_neighbours: an IPv6 neighbour requires an IPv6 address in addresses");
  Config crowded = with_neighbour({good, a_mac});
  crowded.static_neighbours[1] = {IpAddress::v4(10, 0, 0, 10), a_mac};
  crowded.static_neighbour_count = {2};
  crowded.neighbours_max = {1};
  EXPECT_EQ(fault_of(crowded), "static_neighbours: more than neighbours_max");
  Config bare = with_neighbour({good, a_mac});
  bare.link = LinkType::ip;
  EXPECT_EQ(fault_of(bare), "");
}

using KeyOf = HashKey tcp::Config::*;
constexpr std::array<std::pair<KeyOf, const char*>, 5> keys{
    {{&tcp::Config::table_key, "table_key"},
     {&tcp::Config::isn_key, "isn_key"},
     {&tcp::Config::port_key, "port_key"},
     {&tcp::Config::fast_open_key, "fast_open_key"},
     {&tcp::Config::timestamp_key, "timestamp_key"}}};

// There are no default keys, which everyone could read.
//= rfc6528#3
//= type=test
//# 6528:ISN-4 a secret, not a constant
TEST(Configuration, EachKeyMustBeSet) {
  for (auto const& [key, name] : keys) {
    EXPECT_TRUE((Config{}.tcp.*key).is_zero());
    Config config = on_a_link(Config{});
    config.tcp.*key = {};
    EXPECT_THAT(fault_of(config), StartsWith(std::string(name) + ": must not be zero"));
    config.tcp.*key = {0, 1};
    EXPECT_EQ(fault_of(config), "");
  }
}

TEST(Configuration, EachKeyHasItsOwnEntropy) {
  Config config;
  config.tcp.port_key = {7, 8};
  draw_keys(config, entropy_of(Random(1)));
  std::set<std::uint64_t> words;
  for (auto const& [key, name] : keys) {
    words.insert((config.tcp.*key).first);
    words.insert((config.tcp.*key).second);
  }
  EXPECT_EQ(words.size(), 10u);
  EXPECT_EQ(config.tcp.port_key.first, 7u);
  EXPECT_EQ(config.tcp.port_key.second, 8u);
}

TEST(ConfigurationDeathTest, AStackReportsWhyItCannotBeMade) {
  Config config = on_a_link(Config{});
  config.tcp.isn_key = {};
  std::vector<std::byte> arena(Stack::arena_bytes(config) + 64);
  auto const at = reinterpret_cast<std::uintptr_t>(arena.data());
  std::span<std::byte> const aligned = std::span(arena).subspan((64 - at % 64) % 64);
  EXPECT_DEATH(Stack(config, aligned), "isn_key: must not be zero");
  config = on_a_link(Config{});
  config.address_count = Count{0};
  EXPECT_DEATH(Stack(config, aligned), "address_count: must be 1 to 8");
}

//= rfc9293#3.8.3
//= type=test
//# 9293:SHLD-11 R2 is at least a hundred seconds, in each
TEST(Profiles, GiveUpAfterAHundredSecondsAtLeast) {
  for (Config const& config : {Config{}, profile_rfc(), profile_linux(), profile_freebsd()}) {
    EXPECT_GE(config.tcp.user_timeout, Duration::seconds(100));
  }
}

// Ten segments in the default, three in RFC 5681.
TEST(Profiles, BeginWithTheirInitialWindow) {
  for (auto const& [config, segments] :
       {std::pair{Config{}, 10}, std::pair{profile_rfc(), 3}, std::pair{profile_linux(), 10}}) {
    Kit kit(on_a_link(config));
    kit.accept_connection();
    kit.write(std::string(40'000, 'x'));
    std::size_t sent = 0;
    for (Out const& out : kit.take()) {
      sent += out.data.empty() ? 0 : out.data.size();
    }
    EXPECT_EQ(sent, static_cast<std::size_t>(segments) * kit.info().send.mss.count);
  }
}

}  // namespace
}  // namespace lockstep::testing
