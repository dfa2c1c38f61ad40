// The rings' arithmetic in plain memory, and between two threads.
#include "hw/af_xdp/ring.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace lockstep::hw {
namespace {

constexpr std::uint32_t size = 8;

struct Memory {
  std::uint32_t producer = 0;
  std::uint32_t consumer = 0;
  std::uint32_t flags = 0;
  std::array<std::uint64_t, size> entries{};

  RingMemory<std::uint64_t> view() { return {&producer, &consumer, &flags, entries.data(), size}; }
  void begin_at(std::uint32_t position) {
    producer = position;
    consumer = position;
  }
};

TEST(Ring, EntriesAreVisibleAfterPublish) {
  Memory memory;
  ProducerRing<std::uint64_t> put(memory.view());
  ConsumerRing<std::uint64_t> get(memory.view());
  put.put(7);
  put.put(8);
  EXPECT_EQ(get.ready(), 0u);
  EXPECT_EQ(put.waiting(), 2u);
  put.publish();
  EXPECT_EQ(get.ready(), 2u);
  EXPECT_EQ(get.take(), 7u);
  EXPECT_EQ(get.ready(), 1u);
  EXPECT_EQ(get.take(), 8u);
  EXPECT_EQ(put.waiting(), 2u);
  get.release();
  EXPECT_EQ(put.waiting(), 0u);
  EXPECT_EQ(put.room(), size);
}

TEST(Ring, AFullRingStaysFullUntilRelease) {
  Memory memory;
  ProducerRing<std::uint64_t> put(memory.view());
  ConsumerRing<std::uint64_t> get(memory.view());
  for (std::uint64_t i = 0; i < size; ++i) {
    put.put(i);
  }
  put.publish();
  EXPECT_EQ(put.room(), 0u);
  EXPECT_EQ(get.ready(), size);
  get.take();
  EXPECT_EQ(put.room(), 0u);
  get.release();
  EXPECT_EQ(put.room(), 1u);
  put.put(100);
  EXPECT_EQ(put.room(), 0u);
  put.publish();
  for (std::uint64_t i = 1; i < size; ++i) {
    EXPECT_EQ(get.take(), i);
  }
  EXPECT_EQ(get.take(), 100u);
}

TEST(Ring, PositionsWrapAt32Bits) {
  Memory memory;
  memory.begin_at(0u - 5);
  ProducerRing<std::uint64_t> put(memory.view());
  ConsumerRing<std::uint64_t> get(memory.view());
  for (std::uint64_t round = 0; round < 4; ++round) {
    for (std::uint64_t i = 0; i < size; ++i) {
      put.put(round * size + i);
    }
    put.publish();
    EXPECT_EQ(put.room(), 0u);
    for (std::uint64_t i = 0; i < size; ++i) {
      EXPECT_EQ(get.take(), round * size + i);
    }
    EXPECT_EQ(get.ready(), 0u);
    get.release();
  }
  EXPECT_EQ(memory.producer, 4 * size - 5);
}

TEST(Ring, OnlyTheNeedWakeupFlagCounts) {
  Memory memory;
  ProducerRing<std::uint64_t> const put(memory.view());
  EXPECT_FALSE(put.needs_wakeup());
  memory.flags = 1;
  EXPECT_TRUE(put.needs_wakeup());
  memory.flags = 2;
  EXPECT_FALSE(put.needs_wakeup());
}

using RingDeathTest = testing::Test;

TEST(RingDeathTest, MisuseIsOurBug) {
  Memory memory;
  ProducerRing<std::uint64_t> put(memory.view());
  ConsumerRing<std::uint64_t> get(memory.view());
  EXPECT_DEATH(get.take(), "");
  for (std::uint64_t i = 0; i < size; ++i) {
    put.put(i);
  }
  EXPECT_DEATH(put.put(9), "");
  RingMemory<std::uint64_t> odd = memory.view();
  odd.size = 6;
  EXPECT_DEATH(ProducerRing<std::uint64_t>{odd}, "");
}

TEST(Ring, TwoThreadsLoseNothingAndKeepTheOrder) {
  constexpr std::uint64_t count = 10'000;
  Memory memory;
  memory.begin_at(0u - 1000);
  std::thread producer([&] {
    ProducerRing<std::uint64_t> put(memory.view());
    for (std::uint64_t next = 0; next < count;) {
      for (std::uint32_t room = put.room(); room != 0 && next < count; --room) {
        put.put(next);
        ++next;
      }
      put.publish();
      std::this_thread::yield();
    }
  });
  ConsumerRing<std::uint64_t> get(memory.view());
  std::uint64_t wrong = 0;
  for (std::uint64_t next = 0; next < count;) {
    for (std::uint32_t ready = get.ready(); ready != 0; --ready) {
      wrong += get.take() == next ? 0 : 1;
      ++next;
    }
    get.release();
    std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace lockstep::hw
