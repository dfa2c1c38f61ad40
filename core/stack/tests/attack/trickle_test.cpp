// Five spoofed SYNs per second for an hour of virtual time, with honest clients, in profile
// default.
#include <gtest/gtest.h>

#include <vector>

#include "core/stack/testing/crowd_kit.hpp"

namespace lockstep::testing {
namespace {

struct Trickle : Crowd {
  using Crowd::Crowd;

  // The last segment sent to a client; fails if there is none.
  Out last_to(IpAddress client) {
    Out found;
    for (Out const& each : take()) {
      if (each.tuple.remote.address == client) {
        found = each;
      }
    }
    EXPECT_NE(found.flags.bits, 0) << "nothing was answered";
    return found;
  }

  // A connection, a request, a response, and a close from either side. True if all succeeded.
  bool serve(Remote client) {
    static_cast<void>(take());
    received.clear();
    deliver_from(client, flag::syn, 1000);
    Out const opening = last_to(client.address);
    client.next = opening.absolute.value + 1;
    deliver_from(client, flag::ack | flag::psh, 1001, "hello");
    if (!(opening.flags == (flag::syn | flag::ack)) || received != "hello") {
      return false;
    }
    EXPECT_EQ(stack.write(id, bytes_of("world")).bytes.count, 5u);
    EXPECT_EQ(stack.close(id), Refusal::none);
    turn();
    client.next += 6;
    deliver_from(client, flag::ack, 1006);
    deliver_from(client, flag::ack | flag::fin, 1006);
    return last_to(client.address).ack == 1007u;
  }
};

// One second: five SYNs from hosts that never answer.
void trickle(Trickle& kit, std::uint32_t second) {
  for (std::uint32_t i = 0; i < 5; ++i) {
    std::uint32_t const number = second * 5 + i;
    IpAddress const silent = IpAddress::v4(198, 18, static_cast<std::uint8_t>(number >> 8),
                                           static_cast<std::uint8_t>(number));
    kit.deliver_from({silent, 7000}, flag::syn, number);
    kit.advance(Duration::milliseconds(200));
  }
}

void run_hour(const Config& config) {
  Trickle kit(config);
  std::uint32_t served = 0;
  for (std::uint32_t second = 0; second < 3600; ++second) {
    trickle(kit, second);
    if (second % 3 == 0) {
      IpAddress const client = IpAddress::v4(10, 0, 0, static_cast<std::uint8_t>(2 + second % 97));
      served += kit.serve({client, static_cast<std::uint16_t>(10'000 + second)}) ? 1u : 0u;
    }
  }
  EXPECT_EQ(served, 1200u);
  // After that all state of the spoofed SYNs expires.
  kit.advance(Duration::seconds(600));
  EXPECT_EQ(kit.stack.pools().connections, 0u);
  EXPECT_EQ(kit.stack.pools().half_open, 0u);
  EXPECT_EQ(kit.stack.pools().blocks, 0u);
}

TEST(Trickle, RecordsAndTheSynCacheForAnHour) { run_hour(crowd_config()); }

// A small cache and few records, so that cookies answer most SYNs.
TEST(Trickle, CookiesForAnHour) {
  Config config = crowd_config();
  config.tcp.syn_cache_max = Count{16};
  config.tcp.connections_max = Count{32};
  run_hour(config);
}

TEST(Trickle, CookiesAloneForAnHour) {
  Config config = crowd_config();
  config.tcp.syn_cookies = tcp::SynCookies::always;
  run_hour(config);
}

}  // namespace
}  // namespace lockstep::testing
