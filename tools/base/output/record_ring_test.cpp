// Rings of records: order, room, and a thread that puts as fast as another takes.
#include "tools/base/output/record_ring.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace lockstep::tools {
namespace {

bool put(RecordRing& ring, std::string_view text) {
  return ring.put(std::as_bytes(std::span(text)), {});
}

TEST(RecordRing, KeepsOrderAndRefusesWhatHasNoRoom) {
  RecordRing ring(64);
  std::vector<std::byte> buffer;
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(put(ring, std::string(25, 'a')));
    EXPECT_TRUE(put(ring, std::string(26, 'b')));
    EXPECT_FALSE(put(ring, "too much"));
    std::string sizes;
    ring.take_round(buffer, [&](std::span<const std::byte> each) {
      sizes += std::to_string(each.size()) + static_cast<char>(each.front());
      return true;
    });
    EXPECT_EQ(sizes, "25a26b");
  }
}

TEST(RecordRing, ARoundEndsAlthoughRecordsFollow) {
  RecordRing ring(1024);
  std::vector<std::byte> buffer;
  int taken = 0;
  ASSERT_TRUE(put(ring, std::string(60, 'x')));
  ring.take_round(buffer, [&](std::span<const std::byte>) {
    ++taken;
    EXPECT_TRUE(put(ring, std::string(60, 'x')));
    return taken < 1000;
  });
  EXPECT_EQ(taken, 1024 / 64);
}

TEST(RecordRing, ARoundMayEndEarly) {
  RecordRing ring(64);
  std::vector<std::byte> buffer;
  ASSERT_TRUE(put(ring, "one"));
  ASSERT_TRUE(put(ring, "two"));
  ring.take_round(buffer, [](std::span<const std::byte>) { return false; });
  ASSERT_TRUE(ring.look(buffer));
  EXPECT_EQ(static_cast<char>(buffer.front()), 't');
}

}  // namespace
}  // namespace lockstep::tools
