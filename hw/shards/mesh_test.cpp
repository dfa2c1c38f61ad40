// Rings between threads, sorted frames, doorbells; most of it is checked by ThreadSanitizer.
#include "hw/shards/mesh.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "core/wire/octets.hpp"
#include "hw/poll/wait.hpp"
#include "hw/shards/affinity.hpp"
#include "hw/shards/port.hpp"

namespace lockstep::hw {
namespace {

using Octets = std::vector<std::byte>;

Octets numbered(std::uint32_t number, std::size_t length) {
  Octets out(length, static_cast<std::byte>(number));
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}

TEST(FrameRing, IsBoundedAndInOrder) {
  FrameRing ring(Count{4}, Bytes{100});
  EXPECT_EQ(ring.waiting(), 0u);
  EXPECT_FALSE(ring.put(Octets(101), Checksum::good));
  for (std::uint32_t round = 0; round < 10; ++round) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(ring.put(numbered(round * 4 + i, 4 + i), Checksum::bad));
    }
    EXPECT_FALSE(ring.put(numbered(0, 4), Checksum::good));
    EXPECT_EQ(ring.waiting(), 4u);
    for (std::uint32_t i = 0; i < 4; ++i) {
      FrameRing::Entry const entry = ring.at(i);
      EXPECT_EQ(Octets(entry.bytes.begin(), entry.bytes.end()), numbered(round * 4 + i, 4 + i));
      EXPECT_EQ(entry.checksum, Checksum::bad);
    }
    ring.pop(1);
    EXPECT_TRUE(ring.put(numbered(7, 9), Checksum::good));
    ring.pop(4);
  }
}

TEST(FrameRing, BetweenTwoThreads) {
  constexpr std::uint32_t frames = 20'000;
  FrameRing ring(Count{16}, Bytes{64});
  std::thread putter([&] {
    for (std::uint32_t i = 0; i < frames;) {
      if (ring.put(numbered(i, 4 + i % 60), Checksum::unknown)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::uint32_t next = 0;
  while (next < frames) {
    std::uint32_t const waiting = ring.waiting();
    for (std::uint32_t i = 0; i < waiting; ++i) {
      Octets const expected = numbered(next, 4 + next % 60);
      auto const bytes = ring.at(i).bytes;
      ASSERT_EQ(bytes.size(), expected.size());
      ASSERT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0) << next;
      ++next;
    }
    ring.pop(waiting);
    if (waiting == 0) {
      std::this_thread::yield();
    }
  }
  putter.join();
}

/// Finds which shard writes which cache lines of a mesh, by comparing them after each shard's
/// actions.
class Writers {
 public:
  explicit Writers(Mesh& mesh) : mesh_(mesh), before_(lines()) {}

  /// Attributes everything that changed since the last call to this shard.
  void note(std::uint32_t shard) {
    auto now = lines();
    for (auto const& [line, content] : now) {
      if (before_.at(line) != content) {
        auto const [known, fresh] = writers_.emplace(line, shard);
        EXPECT_TRUE(fresh || known->second == shard)
            << "shard " << shard << " wrote where shard " << known->second << " writes";
      }
    }
    before_ = std::move(now);
  }
  std::size_t written() const { return writers_.size(); }

 private:
  using Content = std::array<std::byte, line_bytes>;

  static void add(std::map<std::uintptr_t, Content>& to, std::span<const std::byte> memory) {
    auto const begin = reinterpret_cast<std::uintptr_t>(memory.data());
    // Whole cache lines: no other data is on the first or the last.
    EXPECT_EQ(begin % line_bytes, 0u);
    EXPECT_EQ(memory.size() % line_bytes, 0u);
    for (std::size_t at = 0; at < memory.size(); at += line_bytes) {
      std::memcpy(to[begin + at].data(), memory.data() + at, line_bytes);
    }
  }
  template <class Object>
  static std::span<const std::byte> octets_of(const Object& object) {
    return {reinterpret_cast<const std::byte*>(&object), sizeof object};
  }
  std::map<std::uintptr_t, Content> lines() const {
    std::map<std::uintptr_t, Content> out;
    std::uint32_t const shards = mesh_.shards().value;
    for (std::uint32_t i = 0; i < shards; ++i) {
      add(out, octets_of(mesh_.seat({i})));
      add(out, mesh_.seat({i}).siblings_lines());
      for (std::uint32_t k = 0; k < shards; ++k) {
        if (i != k) {
          add(out, octets_of(mesh_.ring({i}, {k})));
          add(out, mesh_.ring({i}, {k}).memory());
        }
      }
    }
    return out;
  }

  Mesh& mesh_;
  std::map<std::uintptr_t, Content> before_;
  std::map<std::uintptr_t, std::uint32_t> writers_;
};

// Each shard in turn does everything that a shard does to a mesh.
TEST(Mesh, NoLineIsWrittenByTwo) {
  constexpr std::uint32_t shards = 3;
  Mesh mesh({shards}, Bytes{100});
  ASSERT_FALSE(mesh.open());
  Writers writers(mesh);
  for (std::uint32_t self = 0; self < shards; ++self) {
    for (std::uint32_t to = 0; to < shards; ++to) {
      if (self == to) {
        continue;
      }
      for (std::uint32_t i = 0; i <= Mesh::ring_frames.value; ++i) {
        if (mesh.ring({self}, {to}).put(Octets(100, std::byte{0xee}), Checksum::good)) {
          mesh.ring_bell({self}, {to});
        }
      }
      writers.note(self);
    }
    mesh.seat({self}).prepare_sleep();
    writers.note(self);
  }
  for (std::uint32_t self = 0; self < shards; ++self) {
    mesh.seat({self}).rise();
    for (std::uint32_t from = 0; from < shards; ++from) {
      if (self != from) {
        mesh.ring({from}, {self}).pop(1);
      }
    }
    mesh.quiesce({self});
    writers.note(self);
  }
  // For each shard: its seat, and for each of the two others the count of puts for it; of the ring
  // to it the producer's line and two lines for each frame; of the ring from it the consumer's
  // line. The last shard to quiesce also counts for itself.
  EXPECT_EQ(writers.written(), shards * (1 + 2 * (1 + 1 + 2 * Mesh::ring_frames.value + 1)) + 1);
}

Octets segment_of(std::uint32_t flow) {
  Octets frame(14 + 40);
  wire::store16(&frame[12], 0x0800);
  frame[14] = std::byte{0x45};
  frame[23] = std::byte{6};
  wire::store32(&frame[26], 0x0a00'0001);
  wire::store32(&frame[30], 0x0a00'0002);
  wire::store16(&frame[34], static_cast<std::uint16_t>(30'000 + flow));
  wire::store16(&frame[36], 80);
  return frame;
}

Octets arp_reply() {
  Octets frame(42);
  wire::store16(&frame[12], 0x0806);
  wire::store16(&frame[20], 2);
  return frame;
}

/// A driver of frames that the test gives it.
struct Fed {
  std::vector<Octets> frames;
  std::vector<Ingress> burst;
  std::uint32_t next = 0;

  Instant now() { return Instant{} + Duration::seconds(1); }
  std::span<const Ingress> receive() {
    burst.clear();
    for (; next < frames.size() && burst.size() < 32; ++next) {
      burst.push_back({frames[next], Checksum::unknown, now()});
    }
    return burst;
  }
  std::span<std::byte> claim() { return {}; }
  void commit(const Egress&) {}
  void reclaim() {}
  void flush() {}
  int descriptor() const { return -1; }
  bool holds() const { return false; }
  bool more() const { return next < frames.size(); }
  bool down() const { return false; }
  bool gone() const { return false; }
};

TEST(ShardPort, GivesEachShardItsFrames) {
  Mesh mesh({3}, Bytes{1514});
  ASSERT_FALSE(mesh.open());
  std::array<Fed, 3> feds;
  feds[0].frames = {segment_of(0), segment_of(1), segment_of(2), segment_of(3), arp_reply()};
  std::vector<std::unique_ptr<ShardPort<Fed>>> ports;
  std::array<std::uint32_t, 3> got{};
  std::array<std::uint32_t, 3> due{1, 1, 1};  // an ARP reply goes to every shard
  for (std::uint32_t i = 0; i < 4; ++i) {
    ++due[home_of(LinkType::ethernet, segment_of(i), {3}).value];
  }
  EXPECT_LT(due[0], 5u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ports.push_back(std::make_unique<ShardPort<Fed>>(feds[i], mesh, ShardId{i}, Count{64}));
  }
  EXPECT_TRUE(ports[1]->prepare_sleep());
  for (std::uint32_t i = 0; i < 3; ++i) {
    got[i] = static_cast<std::uint32_t>(ports[i]->receive().size());
  }
  EXPECT_EQ(got, due);
  // It rang for the shard that rested, and was cleared when that shard checked.
  pollfd doorbell{ports[1]->doorbell(), POLLIN, 0};
  EXPECT_EQ(poll(&doorbell, 1, 0), 0);
  EXPECT_EQ(ports[0]->counters().announced, 2u);
  EXPECT_EQ(ports[0]->counters().forwarded + due[0], 5u);
  EXPECT_EQ(ports[1]->counters().given, due[1]);
  for (auto& port : ports) {
    port->reclaim();
    EXPECT_FALSE(port->more());
  }
}

TEST(ShardPort, AFullRingIsACountedLoss) {
  Mesh mesh({2}, Bytes{1514});
  ASSERT_FALSE(mesh.open());
  Fed fed;
  std::uint32_t flow = 0;
  while (home_of(LinkType::ethernet, segment_of(flow), {2}) != ShardId{1}) {
    ++flow;
  }
  fed.frames.assign(100, segment_of(flow));
  ShardPort<Fed> port(fed, mesh, {0}, Count{64});
  while (port.more()) {
    EXPECT_TRUE(port.receive().empty());
    port.reclaim();
  }
  EXPECT_EQ(port.counters().forwarded, Mesh::ring_frames.value);
  EXPECT_EQ(port.counters().lost, 100 - Mesh::ring_frames.value);
}

TEST(ShardPort, TheLastToDepartWakesTheOthers) {
  Mesh mesh({2}, Bytes{1514});
  ASSERT_FALSE(mesh.open());
  Fed none;
  ShardPort<Fed> first(none, mesh, {0}, Count{64});
  ShardPort<Fed> second(none, mesh, {1}, Count{64});
  EXPECT_FALSE(first.quiesce());
  EXPECT_FALSE(first.quiesce());  // counts only once
  EXPECT_TRUE(first.prepare_sleep());
  EXPECT_TRUE(second.quiesce());
  pollfd doorbell{first.doorbell(), POLLIN, 0};
  EXPECT_EQ(poll(&doorbell, 1, 0), 1);
  EXPECT_TRUE(first.quiesce());
}

// Two shards that rest and wake each other: a lost wake-up would hang the test.
TEST(ShardPort, ARestingShardIsWoken) {
  constexpr std::uint32_t frames = 3'000;
  Mesh mesh({2}, Bytes{1514});
  ASSERT_FALSE(mesh.open());
  std::uint32_t flow = 0;
  while (home_of(LinkType::ethernet, segment_of(flow), {2}) != ShardId{1}) {
    ++flow;
  }
  Octets const frame = segment_of(flow);
  std::atomic<std::uint32_t> seen{0};
  std::thread taker([&] {
    Fed none;
    ShardPort<Fed> port(none, mesh, {1}, Count{64});
    while (seen.load(std::memory_order_relaxed) < frames) {
      auto const got = static_cast<std::uint32_t>(port.receive().size());
      port.reclaim();
      seen.fetch_add(got);
      if (got == 0 && port.prepare_sleep()) {
        wait_for({.doorbell = port.doorbell(), .now = none.now()});
      }
    }
  });
  Fed fed;
  ShardPort<Fed> port(fed, mesh, {0}, Count{64});
  for (std::uint32_t i = 0; i < frames; ++i) {
    fed.frames = {frame};
    fed.next = 0;
    port.receive();
    port.reclaim();
    while (seen.load() + 32 < i) {
      std::this_thread::yield();
    }
  }
  taker.join();
  EXPECT_EQ(port.counters().lost, 0u);
}

TEST(Affinity, ListsOfProcessors) {
  std::vector<Cpu> cpus;
  EXPECT_FALSE(parse_cpus("3,0-1", cpus));
  EXPECT_EQ(cpus, (std::vector<Cpu>{{3}, {0}, {1}}));
  for (const char* const wrong :
       {"", ",", "1,", "2-1", "1-", "x", "0,0", "0-2,1", "99999", "1 2"}) {
    Trouble const trouble = parse_cpus(wrong, cpus);
    EXPECT_EQ(trouble.kind, TroubleKind::bad_input) << wrong;
    EXPECT_NE(trouble.text.find("0,2-3"), std::string::npos);
  }
}

TEST(Affinity, AThreadStaysWhereItIsPinned) {
  auto const allowed = allowed_cpus();
  ASSERT_FALSE(allowed.empty());
  std::thread([&] {
    EXPECT_FALSE(pin_to(allowed.back()));
    EXPECT_EQ(allowed_cpus(), (std::vector<Cpu>{allowed.back()}));
    EXPECT_EQ(pin_to({1023}).kind, TroubleKind::bad_input);
  }).join();
  EXPECT_EQ(allowed_cpus(), allowed);
}

}  // namespace
}  // namespace lockstep::hw
