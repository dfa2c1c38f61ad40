// The memory of a play is reused by the next one, whatever was retained in between.
#include "conformance/replay/replay_port.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace lockstep::conformance {
namespace {

// Without reuse, retained data would occupy the freed memory and the next play would need more:
// 50,000 open flows used two gigabytes.
TEST(ReplayArena, GoesFromOnePlayToTheNext) {
  constexpr std::uint64_t bytes = std::uint64_t{1} << 20;
  std::byte* first = nullptr;
  {
    ReplayArena arena(bytes);
    first = arena.span().data();
    EXPECT_EQ(arena.span().size(), bytes);
  }
  auto const kept = std::make_unique<std::byte[]>(bytes);
  ReplayArena next(bytes / 2);
  EXPECT_EQ(next.span().data(), first);
  EXPECT_EQ(next.span().size(), bytes / 2);
}

}  // namespace
}  // namespace lockstep::conformance
