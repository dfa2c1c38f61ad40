// The order of calls in a turn, as a driver sees it.
#include "core/stack/turn.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

// Records each call; has space for a fixed number of frames.
struct Noting {
  Instant now() { return note('n'), Instant{} + Duration::seconds(3600); }
  std::span<const Ingress> receive() { return note('r'), std::span<const Ingress>{}; }
  void reclaim() { note('g'); }
  std::span<std::byte> claim() {
    note('c');
    return room != 0 ? std::span<std::byte>(frame) : std::span<std::byte>{};
  }
  void commit(const Egress&) {
    note('C');
    --room;
  }
  void flush() { note('f'); }
  void note(char call) { calls += call; }

  std::string calls;
  std::uint32_t room = 8;
  std::array<std::byte, 2048> frame{};
};

struct Nobody {
  void on_event(Stack&, const Event&) {}
  void run(Stack&, Instant) {}
};

void open_connections(Kit& kit, std::uint16_t count) {
  for (std::uint16_t i = 0; i < count; ++i) {
    Open open;
    open.local = {kit.device, {static_cast<std::uint16_t>(Kit::device_port + i)}};
    open.remote = {kit.peer, {6000}};
    ConnectionId id;
    ASSERT_EQ(kit.stack.connect(open, id), Refusal::none);
  }
}

TEST(Turn, FlushesOnceAfterAllFrames) {
  Kit kit;
  Noting driver;
  Nobody nobody;
  EXPECT_EQ(turn(kit.stack, driver, nobody), Outcome::idle);
  EXPECT_EQ(driver.calls, "nrgf");
  driver.calls.clear();
  open_connections(kit, 3);
  EXPECT_EQ(turn(kit.stack, driver, nobody), Outcome::worked);
  EXPECT_EQ(driver.calls, "nrgcCcCcCf");
}

TEST(Turn, FlushesWhereTheDriverHasNoMoreRoom) {
  Kit kit;
  Noting driver;
  driver.room = 2;
  Nobody nobody;
  open_connections(kit, 3);
  EXPECT_EQ(turn(kit.stack, driver, nobody), Outcome::transmit_blocked);
  EXPECT_EQ(driver.calls, "nrgcCcCcf");
}

}  // namespace
}  // namespace lockstep::testing
