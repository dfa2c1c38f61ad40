// Intrusive lists compared with a deque of indices.
#include "core/memory/list.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::memory {
namespace {

struct Item {
  int before = 0;
  Link one;
  Link other;
};

constexpr std::uint32_t items_max = 12;

using One = List<Item, &Item::one>;
using Other = List<Item, &Item::other>;

void expect_equal(One list, const std::deque<Index>& model) {
  ASSERT_TRUE(list.sound());
  ASSERT_EQ(list.count(), model.size());
  ASSERT_EQ(list.empty(), model.empty());
  ASSERT_EQ(list.first(), model.empty() ? nil : model.front());
  ASSERT_EQ(list.last(), model.empty() ? nil : model.back());
  for (std::size_t i = 0; i < model.size(); ++i) {
    ASSERT_EQ(list.next(model[i]), i + 1 < model.size() ? model[i + 1] : nil);
    ASSERT_EQ(list.previous(model[i]), i > 0 ? model[i - 1] : nil);
  }
  for (Index i = 0; i < items_max; ++i) {
    ASSERT_EQ(list.linked(i), std::find(model.begin(), model.end(), i) != model.end());
  }
}

TEST(List, BehavesAsADeque) {
  std::array<Item, items_max> items{};
  View<Item> const view(items.data(), Count{items_max});
  ListHead head;
  ListHead other_head;
  One list(head, view);
  Other other(other_head, view);
  std::deque<Index> model;
  Random random(3);
  for (int step = 0; step < 5000; ++step) {
    auto const index = static_cast<Index>(random.below(items_max));
    std::uint64_t const act = random.below(4);
    if (act == 0) {
      ASSERT_EQ(list.pop_front(), model.empty() ? nil : model.front());
      if (!model.empty()) {
        model.pop_front();
      }
    } else if (list.linked(index)) {
      list.remove(index);
      model.erase(std::find(model.begin(), model.end(), index));
    } else if (act == 1) {
      list.push_front(index);
      model.push_front(index);
    } else {
      list.push_back(index);
      model.push_back(index);
    }
    // The second link of the same elements is independent.
    other.linked(index) ? other.remove(index) : other.push_back(index);
    ASSERT_TRUE(other.sound());
    expect_equal(list, model);
  }
}

TEST(List, KnowsThatTheOnlyElementIsLinked) {
  std::array<Item, 2> items{};
  ListHead head;
  One list(head, View<Item>(items.data(), Count{2}));
  list.push_back(1);
  EXPECT_TRUE(list.linked(1));
  EXPECT_FALSE(list.linked(0));
  EXPECT_EQ(list.pop_front(), 1u);
  EXPECT_FALSE(list.linked(1));
  EXPECT_EQ(list.pop_front(), nil);
}

TEST(List, SoundSeesABrokenLink) {
  std::array<Item, 3> items{};
  ListHead head;
  One list(head, View<Item>(items.data(), Count{3}));
  list.push_back(0);
  list.push_back(1);
  list.push_back(2);
  EXPECT_TRUE(list.sound());
  items[1].one.previous = 2;
  EXPECT_FALSE(list.sound());
  items[1].one.previous = 0;
  head.count = 2;
  EXPECT_FALSE(list.sound());
}

TEST(ListDeathTest, RefusesToLinkTwiceAndToUnlinkTwice) {
  std::array<Item, 2> items{};
  ListHead head;
  One list(head, View<Item>(items.data(), Count{2}));
  EXPECT_DEATH(list.remove(0), "");
  list.push_back(0);
  EXPECT_DEATH(list.push_back(0), "");
  EXPECT_DEATH(list.push_front(0), "");
  EXPECT_DEATH(list.push_back(2), "");
}

}  // namespace
}  // namespace lockstep::memory
