// The table of neighbours: who gives way to whom, and what is left of an entry that is gone.
#include "core/link/neighbour_table.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep::link {
namespace {

enum class Known : std::uint8_t { vacant, incomplete, told };

struct Entry {
  IpAddress address;
  Index chain = nil;
  Index timer = nil;
  memory::Link order;
  memory::Link transmit;
  memory::Link change;
  Known state = Known::vacant;
  bool active = false;
  bool owes_request = false;
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
    table[index].state = Known::told;
    table[index].active = active;
    table.join_order(index);
    return index;
  }

  bool sound() const {
    return table.sound([](const Entry& entry) {
      return NeighbourPlace{entry.state == Known::told, entry.owes_request, false};
    });
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory;
  memory::TimerWheel wheel;
  NeighbourTable<Entry> table;
};

TEST(NeighbourTable, WhomNobodySendsToGivesWayFirstAndTheOldestOfThem) {
  Room room(Count{3});
  room.known(1, true);
  room.known(2, false);
  room.known(3, false);
  EXPECT_EQ(room.table.add(host(4)), nil);
  EXPECT_NE(room.table.add_in_any_case(host(4), false), nil);
  EXPECT_EQ(room.table.find(host(2)), nil);
  EXPECT_NE(room.table.find(host(1)), nil);
  EXPECT_NE(room.table.find(host(3)), nil);
  EXPECT_TRUE(room.sound());
}

TEST(NeighbourTable, WhomWeSendToGivesWayOnlyToWhomWeWantToSendTo) {
  Room room(Count{1});
  room.known(1, true);
  EXPECT_EQ(room.table.add_in_any_case(host(2), false), nil);
  EXPECT_NE(room.table.add_in_any_case(host(2), true), nil);
  EXPECT_EQ(room.table.find(host(1)), nil);
  EXPECT_TRUE(room.sound());
}

TEST(NeighbourTable, AnEntryOfWhichNobodyWasToldYetStays) {
  Room room(Count{1});
  room.table.tell(room.known(1, false));
  EXPECT_EQ(room.table.add_in_any_case(host(2), true), nil);
  room.table.changes().pop_front();
  EXPECT_NE(room.table.add_in_any_case(host(2), true), nil);
}

TEST(NeighbourTable, TheRecentOneIsForgottenWithItsEntry) {
  Room room(Count{2});
  Index const index = room.known(1, true);
  room.table.remember(index);
  EXPECT_EQ(room.table.find_recent(host(1)), index);
  EXPECT_EQ(room.table.find_recent(host(2)), nil);
  room.table.remove(index);
  EXPECT_EQ(room.table.find_recent(host(1)), nil);
}

TEST(NeighbourTable, AnEntryThatIsRemovedLeavesNoListAndNoTimer) {
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
