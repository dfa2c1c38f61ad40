// What the four profiles say in a SYN, and how far a bare Config is from the plain ones.
#include <gtest/gtest.h>

#include "core/seam/test_kit.hpp"

namespace lockstep::testing {
namespace {

Config on_a_link(Config config) {
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  return config;
}

// "mss 1460 sack stamps scale 4", or as much of it as the SYN has.
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

TEST(Profiles, SayInASynWhatTheyCan) {
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

//= rfc9293#3.8.3
//= type=test
//# 9293:SHLD-11 R2 is a hundred seconds at least, in each
TEST(Profiles, GiveUpAfterAHundredSecondsAtLeast) {
  for (Config const& config : {Config{}, profile_rfc(), profile_linux(), profile_freebsd()}) {
    EXPECT_GE(config.tcp.user_timeout, Duration::seconds(100));
  }
}

// Ten segments of the default against RFC 5681's three.
TEST(Profiles, BeginWithTheirInitialWindow) {
  for (auto const& [config, segments] :
       {std::pair{Config{}, 10}, std::pair{profile_rfc(), 3}, std::pair{profile_linux(), 10}}) {
    Kit kit(on_a_link(config));
    kit.accept_connection();
    kit.write(std::string(40'000, 'x'));
    std::size_t sent = 0;
    for (Out const& out : kit.take()) {
      sent += out.text.empty() ? 0 : out.text.size();
    }
    EXPECT_EQ(sent, static_cast<std::size_t>(segments) * kit.info().send.mss.count);
  }
}

}  // namespace
}  // namespace lockstep::testing
