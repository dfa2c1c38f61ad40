// A stack with a SYN cache for tests, with SYN floods and real clients.
#pragma once

#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {

using tcp::SynCookies;

// All options that a SYN-ACK can agree to, with small pools.
inline Config cache_config(std::uint32_t most, std::uint32_t after = 0) {
  Config config;
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  config.tcp.connections_max = Count{16};
  config.tcp.active_max = Count{16};
  config.tcp.time_wait_max = Count{16};
  config.tcp.blocks_max = Count{64};
  config.tcp.pieces_max = Count{64};
  config.tcp.extents_max = Count{64};
  config.tcp.sent_max = Count{64};
  config.tcp.owed_max = Count{64};
  config.tcp.marks_max = Count{64};
  config.tcp.syn_timeout = Duration::seconds(20);
  config.tcp.user_timeout_option = true;
  config.tcp.syn_cache_max = Count{most};
  config.tcp.syn_cache_after = Count{after};
  return config;
}

inline ListenerId listen(Kit& kit, std::uint32_t pending) {
  Local local;
  local.port = {Kit::device_port};
  ListenerId listener;
  EXPECT_EQ(kit.stack.listen(local, {Count{pending}, Count::unlimited()}, listener), Refusal::none);
  return listener;
}

inline IpAddress stranger(std::uint32_t number) {
  return IpAddress::v4(10, 1, static_cast<std::uint8_t>(number >> 8),
                       static_cast<std::uint8_t>(number & 0xff));
}

// SYNs from hosts that will never answer, one per turn.
inline void flood(Kit& kit, std::uint32_t first, std::uint32_t count) {
  IpAddress const honest = kit.peer;
  for (std::uint32_t i = 0; i < count; ++i) {
    kit.peer = stranger(first + i);
    kit.deliver({.flags = flag::syn, .mss = 1460});
  }
  kit.peer = honest;
}

inline PoolUse pools(Kit& kit) { return kit.stack.pools(); }
inline const tcp::Counters& counters(Kit& kit) { return kit.stack.statistics().tcp; }

// The options of a SYN, one bit each.
inline constexpr unsigned names_mss = 1;
inline constexpr unsigned names_scale = 2;
inline constexpr unsigned names_stamps = 4;
inline constexpr unsigned names_sack = 8;
inline constexpr unsigned names_ecn = 16;
inline constexpr unsigned names_timeout = 32;
inline constexpr unsigned all_names = 64;

inline In syn_naming(Kit& kit, unsigned names) {
  In in{.flags = flag::syn, .window = 20'000};
  in.mss = (names & names_mss) != 0 ? std::uint16_t{1300} : std::uint16_t{0};
  in.options.has_window_scale = (names & names_scale) != 0;
  in.options.window_scale.shift = in.options.has_window_scale ? 3 : 0;
  kit.stamp = (names & names_stamps) != 0 ? 7000 : 0;
  in.sack_permitted = (names & names_sack) != 0;
  if ((names & names_ecn) != 0) {
    in.flags |= flag::ece | flag::cwr;
  }
  in.options.has_user_timeout = (names & names_timeout) != 0;
  in.options.user_timeout = in.options.has_user_timeout ? std::uint16_t{150} : std::uint16_t{0};
  return in;
}

inline const In third{.flags = flag::ack, .seq = 1, .ack = 1, .window = 3000};

inline In with_data(In in, const char* data, Flags more = flag::none) {
  in.data = data;
  in.flags |= more;
  return in;
}

}  // namespace lockstep::testing
