// The ring of replies compared with a plain list.
#include "core/internet/replies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "core/units/random.hpp"

namespace lockstep::internet {
namespace {

TEST(Replies, RandomUseIsFirstInFirstOutAndBounded) {
  for (std::uint32_t capacity : {128u, 200u, 1'000u, 4'096u}) {
    memory::Layout measure;
    (void)Replies::lay_out(measure, {capacity});
    struct alignas(64) Line {
      std::array<std::byte, 64> octets;
    };
    std::vector<Line> arena(measure.bytes() / 64);
    memory::Layout layout({reinterpret_cast<std::byte*>(arena.data()), arena.size() * 64});
    Replies replies = Replies::lay_out(layout, {capacity});
    replies.start();
    std::deque<std::vector<std::byte>> model;
    Random random(capacity);
    std::uint32_t refused = 0;
    for (int step = 0; step < 20'000; ++step) {
      if (random.chance({550'000'000})) {
        ReplyHeader header;
        header.length = static_cast<std::uint16_t>(random.within({1, 60}));
        header.time_to_live = static_cast<std::uint8_t>(step);
        std::span<std::byte> const room = replies.push(header);
        if (room.empty()) {
          ++refused;
          ASSERT_FALSE(model.empty()) << "an empty ring has room for one";
          continue;
        }
        ASSERT_EQ(room.size(), header.length);
        std::ranges::fill(room, static_cast<std::byte>(step));
        model.emplace_back(header.length, static_cast<std::byte>(step));
      } else if (!model.empty()) {
        ASSERT_EQ(replies.front().time_to_live, std::to_integer<int>(model.front().front()));
        ASSERT_TRUE(std::ranges::equal(replies.front_bytes(), model.front()));
        replies.pop();
        model.pop_front();
      }
      ASSERT_EQ(replies.count(), model.size());
      ASSERT_EQ(replies.empty(), model.empty());
    }
    EXPECT_GT(refused, 0u);
  }
}

}  // namespace
}  // namespace lockstep::internet
