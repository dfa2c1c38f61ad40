// The bounded ring compared with a deque.
#include "core/memory/queue.hpp"

#include <array>
#include <deque>

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::memory {
namespace {

TEST(Queue, BehavesAsABoundedDeque) {
  alignas(arena_alignment) std::array<std::byte, 512> memory;
  for (std::uint32_t capacity = 0; capacity < 6; ++capacity) {
    Layout layout(memory);
    auto queue = Queue<std::uint64_t>::lay_out(layout, Count{capacity});
    queue.start();
    std::deque<std::uint64_t> model;
    Random random(capacity);
    for (int step = 0; step < 300; ++step) {
      if (random.below(2) == 0) {
        std::uint64_t const value = random.next();
        bool const fits = model.size() < capacity;
        ASSERT_EQ(queue.push_back(value), fits);
        if (fits) {
          model.push_back(value);
        }
      } else if (!model.empty()) {
        queue.pop_front();
        model.pop_front();
      }
      ASSERT_EQ(queue.count(), model.size());
      ASSERT_EQ(queue.empty(), model.empty());
      ASSERT_EQ(queue.full(), model.size() == capacity);
      ASSERT_EQ(queue.capacity(), capacity);
      for (std::uint32_t i = 0; i < model.size(); ++i) {
        ASSERT_EQ(queue[i], model[i]);
      }
      if (!model.empty()) {
        ASSERT_EQ(queue.front(), model.front());
      }
    }
  }
}

TEST(QueueDeathTest, RefusesToPopFromAnEmptyRing) {
  alignas(arena_alignment) std::array<std::byte, 256> memory;
  Layout layout(memory);
  auto queue = Queue<int>::lay_out(layout, Count{2});
  queue.start();
  EXPECT_DEATH(queue.pop_front(), "");
  EXPECT_DEATH(queue.front(), "");
  ASSERT_TRUE(queue.push_back(1));
  EXPECT_DEATH(queue[1], "");
}

}  // namespace
}  // namespace lockstep::memory
