// The table of neighbours: eviction order, and what remains of removed entries.
#include "core/link/neighbour_table.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep::link {
namespace {

enum class Known : std::uint8_t { vacant, incomplete, resolved, failed, fixed };

struct Entry {
  IpAddress address;
  Index chain = nil;
  Index timer = nil;
  memory::Link order;
  memory::Link transmit;
  memory::Link change;
  Known state = Known::vacant;
  bool active = false;
  bool strange = false;
  bool request_pending = false;
  bool used = true;

  bool in_use() const { return used; }
};

constexpr IpAddress host(std::uint8_t number) { return IpAddress::v4(10, 0, 0, number); }

struct Room {
  explicit Room(Count entries) {
    memory::Layout measure;
    lay_out(measure, entries);
    memory.resize(measure.bytes() / 64 + 1);
    memory::Layout layout({reinterpret_cast<std::byte*>(memory.data()), memory.size() * 64});
    lay_out(layout, entries);
    wheel.start();
    table.start();
  }

  void lay_out(memory::Layout& layout, Count entries) {
    wheel = memory::TimerWheel::lay_out(layout, entries);
    table = NeighbourTable<Entry>::lay_out(layout, {entries, {}, {0}}, wheel);
  }

  Index known(std::uint8_t number, bool active) {
    Index const index = table.add(host(number));
    table.leave_order(index);
    table[index].state = Known::resolved;
    table[index].active = active;
    table.join_order(index);
    return index;
  }

  bool sound() const {
    return table.sound([](const Entry& entry) {
      return NeighbourPlace{entry.state != Known::fixed, entry.request_pending, false};
    });
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory;
  memory::TimerWheel wheel;
  NeighbourTable<Entry> table;
};

TEST(NeighbourTable, UnusedEntriesAreEvictedFirstTheOldestBeforeOthers) {
  Room room(Count{3});
  room.known(1, true);
  room.known(2, false);
  room.known(3, false);
  EXPECT_EQ(room.table.add(host(4)), nil);
  EXPECT_NE(room.table.add_learned(host(4)), nil);
  EXPECT_EQ(room.table.find(host(2)), nil);
  EXPECT_NE(room.table.find(host(1)), nil);
  EXPECT_NE(room.table.find(host(3)), nil);
}

TEST(NeighbourTable, EntriesInUseAreNotEvictedByIncompleteOnes) {
  Room room(Count{2});
  Index const idle = room.known(1, true);
  room.known(2, true);
  EXPECT_EQ(room.table.add_learned(host(3)), nil);
  EXPECT_EQ(room.table.add_incomplete(host(3), Asker::ours), nil);
  EXPECT_TRUE(room.sound());
  room.table[idle].used = false;
  EXPECT_EQ(room.table.add_learned(host(3)), nil);
  EXPECT_NE(room.table.add_incomplete(host(3), Asker::ours), nil);
  EXPECT_EQ(room.table.find(host(1)), nil);
  EXPECT_NE(room.table.find(host(2)), nil);
  EXPECT_TRUE(room.sound());
}

TEST(NeighbourTable, IncompleteEntriesHaveAShareAndStrangersAPartOfIt) {
  Room room(Count{16});
  for (std::uint8_t number = 1; number <= 20; ++number) {
    Index const index = room.table.add_incomplete(host(number), Asker::stranger);
    EXPECT_EQ(index != nil, number <= 4) << int{number};
  }
  // An entry that we need ourselves no longer counts as a stranger's.
  room.table.want(room.table.find(host(1)));
  EXPECT_NE(room.table.add_incomplete(host(5), Asker::stranger), nil);
  for (std::uint8_t number = 21; number <= 30; ++number) {
    Index const index = room.table.add_incomplete(host(number), Asker::ours);
    EXPECT_EQ(index != nil, number <= 23) << int{number};
  }
  EXPECT_TRUE(room.sound());
  room.table.remove(room.table.find(host(2)));
  EXPECT_NE(room.table.add_incomplete(host(6), Asker::stranger), nil);
  EXPECT_TRUE(room.sound());
}

TEST(NeighbourTable, AFailedEntryIsEvictedByAnIncompleteOne) {
  Room room(Count{2});
  room.known(1, true);
  Index const failed = room.table.add(host(2));
  room.table.leave_order(failed);
  room.table[failed].state = Known::failed;
  room.table.join_order(failed);
  EXPECT_NE(room.table.add_incomplete(host(3), Asker::ours), nil);
  EXPECT_EQ(room.table.find(host(2)), nil);
  EXPECT_TRUE(room.sound());
}

// A quarter stays free of entries with a link address, so that answers find space.
TEST(NeighbourTable, AnAnswerEvictsTheOldestEntry) {
  Room room(Count{8});
  for (std::uint8_t number = 1; number <= 6; ++number) {
    room.known(number, true);
  }
  EXPECT_EQ(room.table.add_learned(host(7)), nil);
  Index const asked = room.table.add_incomplete(host(7), Asker::ours);
  ASSERT_NE(asked, nil);
  EXPECT_EQ(room.table.used(), 7u);
  room.table.make_room_for_answer();
  room.table.leave_order(asked);
  room.table[asked].state = Known::resolved;
  room.table[asked].active = true;
  room.table.join_order(asked);
  EXPECT_EQ(room.table.used(), 6u);
  EXPECT_EQ(room.table.find(host(1)), nil);
  EXPECT_TRUE(room.sound());
}

TEST(NeighbourTable, AnEntryWithAnUnreportedResultStays) {
  Room room(Count{1});
  room.table.notify(room.known(1, false));
  EXPECT_EQ(room.table.add_incomplete(host(2), Asker::ours), nil);
  room.table.changes().pop_front();
  EXPECT_NE(room.table.add_incomplete(host(2), Asker::ours), nil);
}

TEST(NeighbourTable, TheRecentEntryIsClearedOnRemoval) {
  Room room(Count{2});
  Index const index = room.known(1, true);
  room.table.remember(index);
  EXPECT_EQ(room.table.find_recent(host(1)), index);
  EXPECT_EQ(room.table.find_recent(host(2)), nil);
  room.table.remove(index);
  EXPECT_EQ(room.table.find_recent(host(1)), nil);
}

TEST(NeighbourTable, ARemovedEntryIsInNoListAndHasNoTimer) {
  Room room(Count{2});
  Index const index = room.known(1, true);
  room.table.ask(index);
  room.table.set_timer(index, Instant{5});
  EXPECT_TRUE(room.table.wants_transmit());
  room.table.remove(index);
  EXPECT_FALSE(room.table.wants_transmit());
  EXPECT_EQ(room.wheel.pop_due(Instant{9}), nil);
  EXPECT_EQ(room.table.used(), 0u);
  EXPECT_TRUE(room.sound());
}

}  // namespace
}  // namespace lockstep::link
