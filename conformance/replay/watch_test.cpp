// What is certain wherever the capture point is and whatever the capture lacks, and what explains
// it otherwise: each test also has a capture of a sound device.
#include "conformance/replay/watch.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conformance/replay/conversation.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

/// The clauses that the watch finds against one side.
std::string found_in(const Conversation& c, const Endpoint& side) {
  Watch watch(c.flow().first, c.flow().second);
  for (const tools::Segment& segment : c.flow().segments) {
    watch.take(segment);
  }
  std::string out;
  for (const Finding& finding : watch.findings(side)) {
    out += (out.empty() ? "" : " ") + std::string(finding.clause);
  }
  return out;
}

std::string found_in(const Conversation& c) { return found_in(c, c.device_side()); }

/// The edge of a block, from the sequence number and the initial one.
using Edge = std::function<std::uint32_t(std::uint32_t, std::uint32_t)>;

/// The device misses an octet again and again, and reports the 100 octets after it with these edges
/// `reports` times, while the peer's first transmission of them is not in the capture.
Conversation reporting(std::uint32_t reports, const Edge& edge) {
  constexpr std::uint32_t isn = Conversation::peer_isn;
  Conversation c;
  c.peer(0, "S", {0, 0});
  c.last().options.insert(c.last().options.end(), {std::byte{4}, std::byte{2}});
  c.device(0, "SA", {0, 1});
  c.last().options.insert(c.last().options.end(), {std::byte{4}, std::byte{2}});
  c.peer(10, "A", {1, 1});
  std::uint32_t next = 1;
  for (std::uint32_t i = 0; i < reports; ++i) {
    c.peer(100 + 100 * i, "PA", {next + 300, 1, 100});
    c.device(100 + 100 * i, "A", {1, next});
    c.last().options = {std::byte{1}, std::byte{1}, std::byte{5}, std::byte{10}};
    tools::put_long(c.last().options, edge(isn + next + 300, isn));
    tools::put_long(c.last().options, edge(isn + next + 400, isn));
    c.peer(150 + 100 * i, "PA", {next, 1, 300}).device(150 + 100 * i, "A", {1, next + 400});
    next += 400;
  }
  return c;
}

TEST(Watch, ABlockHasItsOctetsInTheWrongOrder) {
  auto const swapped = [](std::uint32_t number, std::uint32_t) {
    return __builtin_bswap32(number);
  };
  EXPECT_EQ(found_in(reporting(3, swapped)), "2018:SACK-14");
  EXPECT_EQ(found_in(reporting(2, swapped)), "");
  EXPECT_EQ(found_in(reporting(3, [](std::uint32_t number, std::uint32_t) { return number; })), "");
}

TEST(Watch, ABlockLacksTheInitialSequenceNumber) {
  for (std::uint32_t const first : {0u, 1u}) {
    auto const relative = [=](std::uint32_t number, std::uint32_t isn) {
      return number - isn - first;
    };
    EXPECT_EQ(found_in(reporting(3, relative)), "2018:SACK-14");
    EXPECT_EQ(found_in(reporting(2, relative)), "");
  }
  // A firewall moved the sequence numbers, but not those of the blocks.
  for (std::uint32_t const moved : {0x3000'0000u, 0xb000'0000u}) {
    auto const as_before = [=](std::uint32_t number, std::uint32_t) { return number + moved; };
    EXPECT_EQ(found_in(reporting(3, as_before)), "");
  }
}

// The numbers of the first report are never reached.
TEST(Watch, AReportFarAheadHidesNone) {
  Conversation c =
      reporting(1, [](std::uint32_t number, std::uint32_t) { return number + 0x3000'0000; });
  c.device(400, "A", {1, 401});
  c.last().options = {std::byte{1}, std::byte{1}, std::byte{5}, std::byte{10}};
  tools::put_long(c.last().options, Conversation::peer_isn + 601);
  tools::put_long(c.last().options, Conversation::peer_isn + 701);
  c.peer(500, "PA", {401, 1, 400}).device(500, "A", {1, 801}).identify();
  EXPECT_EQ(found_in(c), "2018:SACK-14");
}

/// The device offers 20,000 octets, then `shut` with the same number, then 4,000 again and again.
/// `ms`: the ticks of its timestamps between the first two; nothing: no timestamps.
Conversation short_of_memory(std::uint16_t shut, std::optional<std::uint32_t> ms) {
  Conversation c;
  std::uint32_t now = 0;
  auto const stamp = [&] {
    if (ms) {
      c.stamp(now, now);
    }
  };
  auto const arrive = [&](std::uint32_t at, std::uint32_t next) {
    now = at;
    c.peer(at, "PA", {next, 1, 100});
    stamp();
  };
  auto const offer = [&](std::uint32_t at, std::uint32_t next, std::uint16_t window) {
    now = at;
    c.device(at, "A", {1, next, 0, window});
    stamp();
  };
  c.peer(0, "S", {0, 0});
  stamp();
  c.device(0, "SA", {0, 1});
  stamp();
  c.peer(10, "A", {1, 1});
  stamp();
  arrive(11, 1);
  offer(11, 101, 20'000);
  arrive(11, 101);
  offer(11 + ms.value_or(0), 101, shut);
  for (std::uint32_t i = 0; i < 8; ++i) {
    arrive(200 + 50 * i, 101 + 100 * i);
    offer(200 + 50 * i, 201 + 100 * i, 4'000);
  }
  return c;
}

// Linux drops a segment for which it has no memory, and closes the window with the same number.
TEST(Watch, AWindowMayBeShutWithTheSameNumber) {
  for (std::optional<std::uint32_t> const ms :
       {std::optional<std::uint32_t>{}, std::optional(0u), std::optional(5u)}) {
    EXPECT_EQ(found_in(short_of_memory(0, ms)), "");
    EXPECT_EQ(found_in(short_of_memory(1, ms)), "9293:SHLD-14");
  }
}

// Half of all clocks begin so that 0 seems to be later. No clock gets there within a second.
TEST(Watch, AnEchoOfZeroIsOfNoTimestamp) {
  for (std::uint32_t const begun : {0u, 0x1000'0000u, 0x9000'0000u, 0xf000'0000u, 0xffff'ff00u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(begun, 0).device(0, "SA", {0, 1}).stamp(900, 0);
    c.peer(10, "A", {1, 1}).stamp(begun + 10, 900);
    for (std::uint32_t i = 0; i < 4; ++i) {
      c.peer(20 + 10 * i, "PA", {1 + 100 * i, 1, 100}).stamp(begun + 20 + 10 * i, 900);
      c.device(20 + 10 * i, "A", {1, 101 + 100 * i}).stamp(920 + 10 * i, 0);
    }
    bool const reachable = begun == 0 || begun == 0xffff'ff00;
    EXPECT_EQ(found_in(c), reachable ? "" : "7323:TS-15") << begun;
  }
}

// In a simultaneous open a SYN-ACK has the options of its sender's SYN, which a NAT in front of the
// recorder may have dropped, and echoes the other side's. Nobody connects from port 80.
TEST(Watch, ASynAckRepeatsALostSynAndEchoesTheOther) {
  for (bool const service : {false, true}) {
    Conversation c;
    auto const answers = service ? &Conversation::device : &Conversation::peer;
    auto const asks = service ? &Conversation::peer : &Conversation::device;
    (c.*asks)(0, "S", {0, 0, 0}).stamp(70, 0);
    (c.*answers)(10, "SA", {0, 1, 0}).stamp(900, 70);
    c.last().options.insert(c.last().options.end(), {std::byte{3}, std::byte{3}, std::byte{7}});
    (c.*asks)(20, "A", {1, 1, 0}).stamp(90, 900);
    Endpoint const side = service ? c.flow().second : c.flow().first;
    EXPECT_EQ(found_in(c, side), service ? "7323:TS-33" : "");
  }
}

// A Fast Open server answers a SYN with 100 octets, which the capture lacks, and not the one that
// comes later. The timestamp of the first one stays TS.Recent until other data arrives.
TEST(Watch, AFastOpenServerEchoesASynThatIsMissing) {
  for (bool const missing : {false, true}) {
    std::uint32_t const begun = missing ? 101 : 1;
    Conversation c;
    c.device(0, "SA", {0, begun}).stamp(900, 10).peer(80, "S", {0, 0}).stamp(1'010, 0);
    c.peer(200, "PA", {begun, 1, 200}).stamp(1'210, 900);
    c.device(300, "PA", {1, begun, 100}).stamp(1'000, 10);
    c.device(310, "A", {101, begun + 200}).stamp(1'010, missing ? 1'210 : 10);
    EXPECT_EQ(found_in(c), missing ? "" : "7323:TS-15");
  }
}

}  // namespace
}  // namespace lockstep::conformance
