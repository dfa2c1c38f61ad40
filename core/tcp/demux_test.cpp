// The demultiplexing table compared with a simple model.
#include "core/tcp/demux.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/units/random.hpp"

namespace lockstep::tcp {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;  // kind, index

struct Table {
  explicit Table(Count entries) {
    memory::Layout measure;
    static_cast<void>(Demux::lay_out(measure, entries, key));
    arena.resize(measure.bytes() + memory::arena_alignment);
    auto const address = reinterpret_cast<std::uintptr_t>(arena.data());
    std::span<std::byte> const whole(arena);
    memory::Layout layout(whole.subspan((64 - address % 64) % 64));
    demux = Demux::lay_out(layout, entries, key);
    demux.start();
  }

  static constexpr HashKey key{1, 2};
  std::vector<std::byte> arena;
  Demux demux;
};

bool holds(const Demux& demux, std::uint32_t hash, Key key) {
  TableEntry const found = demux.find(hash, [&](TableEntry candidate) {
    return Key{static_cast<std::uint32_t>(candidate.kind), candidate.index} == key;
  });
  return found.kind != EntryKind::none;
}

// Only a few hash values, so that runs become long, wrap around the end and contain equal hashes.
TEST(Demux, AgainstANaiveModel) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::uint32_t const entries = 16 + static_cast<std::uint32_t>(random.next() % 30);
    Table table{Count{entries}};
    std::map<Key, std::uint32_t> model;
    for (int step = 0; step < 1000; ++step) {
      Key const key{static_cast<std::uint32_t>(random.next() % 3),
                    static_cast<std::uint32_t>(random.next() % 16)};
      auto const hash = static_cast<std::uint32_t>(random.next() % 7) * 0x2aaa'aaaau;
      TableEntry const entry{static_cast<EntryKind>(key.first), key.second};
      auto const known = model.find(key);
      if (known == model.end() && model.size() < entries) {
        table.demux.insert(hash, entry);
        model[key] = hash;
      } else if (known != model.end()) {
        table.demux.remove(known->second, entry, [&](TableEntry other) {
          return model.at({static_cast<std::uint32_t>(other.kind), other.index});
        });
        model.erase(known);
      }
      ASSERT_EQ(table.demux.size(), model.size());
      for (std::uint32_t kind = 0; kind < 3; ++kind) {
        for (std::uint32_t index = 0; index < 16; ++index) {
          auto const it = model.find({kind, index});
          std::uint32_t const asked = it == model.end() ? hash : it->second;
          ASSERT_EQ(holds(table.demux, asked, {kind, index}), it != model.end());
        }
      }
    }
  }
}

TEST(Demux, AnEmptyTableFindsNothing) {
  Table table{Count{0}};
  EXPECT_FALSE(holds(table.demux, 0, {0, 0}));
  EXPECT_FALSE(holds(table.demux, 0xffff'ffff, {0, 0}));
}

TEST(Demux, TheHashNeedsTheKeyAndEveryPartOfTheTuple) {
  Table table{Count{4}};
  FourTuple const tuple{{IpAddress::v4(10, 0, 0, 1), {80}}, {IpAddress::v4(10, 0, 0, 2), {5000}}};
  std::uint32_t const hash = table.demux.hash_of(tuple);
  FourTuple other = tuple;
  other.local.port = {81};
  EXPECT_NE(table.demux.hash_of(other), hash);
  other = tuple;
  other.remote.port = {5001};
  EXPECT_NE(table.demux.hash_of(other), hash);
  other = tuple;
  other.local.address = IpAddress::v4(10, 0, 0, 3);
  EXPECT_NE(table.demux.hash_of(other), hash);
  other = tuple;
  other.remote.address = IpAddress::v4(10, 0, 0, 3);
  EXPECT_NE(table.demux.hash_of(other), hash);
  memory::Layout measure;
  EXPECT_NE(Demux::lay_out(measure, Count{4}, {3, 4}).hash_of(tuple), hash);
}

}  // namespace
}  // namespace lockstep::tcp
