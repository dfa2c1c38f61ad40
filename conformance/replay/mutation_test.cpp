// Randomly damaged captures: each gets a verdict, quickly and in bounded memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "conformance/replay/connections.hpp"
#include "conformance/replay/conversation.hpp"
#include "conformance/replay/packet.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"

namespace lockstep::conformance {
namespace {

/// Random numbers that are the same on every platform.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_((seed + 1) * 0x9e37'79b9'7f4a'7c15u) {}
  std::uint32_t below(std::uint32_t end) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::uint32_t>((state_ >> 32) % end);
  }

 private:
  std::uint64_t state_;
};

using Frames = std::vector<tools::CapturedFrame>;

tools::CapturedFrame frame_of(const tools::Segment& segment) {
  tools::CapturedFrame out;
  out.number = segment.number;
  out.time = segment.time;
  out.bytes = packet_of(segment);
  out.original_bytes = static_cast<std::uint32_t>(out.bytes.size());
  return out;
}

void add_option(tools::Segment& segment, std::initializer_list<int> octets) {
  for (int const octet : octets) {
    segment.options.push_back(static_cast<std::byte>(octet));
  }
}

/// Small complete connections: various options, a loss, one end by FIN and one by reset.
std::vector<Conversation> originals() {
  std::vector<Conversation> out(3);
  Conversation& a = out[0];
  a.handshake().peer(11, "PA", {1, 1, 100}).device(11, "PA", {1, 101, 300});
  a.peer(21, "A", {101, 301}).device(22, "FA", {301, 101}).peer(32, "FA", {101, 302});
  a.device(32, "A", {302, 102});
  Conversation& b = out[1];
  b.peer(0, "SEC", {0, 0});
  add_option(b.last(), {4, 2, 1, 1, 3, 3, 7, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1});
  b.device(0, "SAE", {0, 1});
  add_option(b.last(), {4, 2, 1, 1, 3, 3, 7, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 1, 1, 1});
  b.peer(10, "A", {1, 1, 0, 500});
  for (std::uint32_t i = 0; i < 6; ++i) {
    b.device(12, "A", {1 + 200 * i, 1, 200, 500});
  }
  b.peer(22, "A", {1, 201, 0, 500}).peer(22, "A", {1, 201, 0, 500});
  add_option(b.last(), {1, 1, 5, 10, 0, 0, 1, 0x80, 0, 0, 2, 0x48});
  b.device(240, "A", {201, 1, 200, 500}).peer(250, "A", {1, 1201, 0, 500});
  Conversation& c = out[2];
  c.handshake().device(12, "PA", {1, 1, 50}).peer(22, "PA", {1, 51, 40}).peer(23, "R", {41, 0});
  return out;
}

/// Changes a field, the position or the time of a segment; the checksum stays correct.
void change_segment(std::vector<tools::Segment>& all, Draws& draw) {
  constexpr std::uint32_t numbers[] = {1,          79,         1460,       65'536,     2'000'000,
                                       30'000'000, 0x40000000, 0x7fffffff, 0x80000001, 0xfffffff0};
  std::size_t const at = draw.below(static_cast<std::uint32_t>(all.size()));
  std::size_t const other = draw.below(static_cast<std::uint32_t>(all.size()));
  std::uint32_t const number = numbers[draw.below(10)];
  tools::Segment& segment = all[at];
  switch (draw.below(10)) {
    case 0:
      segment.sequence += number;
      break;
    case 1:
      segment.acknowledgment -= number;
      break;
    case 2:
      segment.window = static_cast<std::uint16_t>(number);
      break;
    case 3:
      segment.flags = static_cast<std::uint8_t>(draw.below(256));
      break;
    case 4:
      segment.time = Instant{} + Duration::milliseconds(std::uint64_t{draw.below(100'000)});
      break;
    case 5:
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), all[other]);
      break;
    case 6:
      std::swap(all[at], all[other]);
      break;
    case 7:
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 8:
      segment.payload.resize(draw.below(3000), std::byte{7});
      break;
    default:
      all.resize(std::max<std::size_t>(at, 1));
      break;
  }
}

void change_frame(Frames& frames, Draws& draw) {
  tools::CapturedFrame& frame = frames[draw.below(static_cast<std::uint32_t>(frames.size()))];
  auto const size = static_cast<std::uint32_t>(frame.bytes.size());
  if (draw.below(4) == 0) {
    frame.bytes.resize(draw.below(size + 1));
  } else if (size != 0) {
    frame.bytes[draw.below(size)] ^= static_cast<std::byte>(1u << draw.below(8));
  }
}

Frames mutated(const Conversation& original, Draws& draw) {
  std::vector<tools::Segment> segments = original.flow().segments;
  std::uint32_t const changes = draw.below(4);
  for (std::uint32_t i = 0; i < changes && !segments.empty(); ++i) {
    change_segment(segments, draw);
  }
  Frames frames;
  for (const tools::Segment& segment : segments) {
    frames.push_back(frame_of(segment));
    frames.back().number = frames.size();
  }
  std::uint32_t const flips = changes == 0 ? 1 + draw.below(3) : draw.below(2);
  for (std::uint32_t i = 0; i < flips && !frames.empty(); ++i) {
    change_frame(frames, draw);
  }
  return frames;
}

std::size_t judge_all(const Frames& frames) {
  std::size_t verdicts = 0;
  auto const judge = [&](Connection& connection) {
    for (const Endpoint& side : {connection.flow.first, connection.flow.second}) {
      Replayed const result = replay_flow(connection.flow, side, nullptr);
      std::string const text = verdict_text(result.verdict) + divergence_text(result);
      verdicts += text.empty() ? 0 : 1;
    }
  };
  ConnectionReader reader({}, {judge, [](Connection&) {}});
  for (const tools::CapturedFrame& frame : frames) {
    reader.take(tools::decode(frame, tools::LinkLayer::raw_ip));
  }
  reader.finish();
  EXPECT_EQ(verdicts, 2 * reader.connections());
  return verdicts;
}

TEST(Mutations, EndInAVerdictInTimeAndMemory) {
  constexpr std::uint64_t mutations = 10'000;
  std::vector<Conversation> const all = originals();
  std::size_t verdicts = 0;
  for (std::uint64_t seed = 0; seed < mutations; ++seed) {
    Draws draw(seed);
    Frames const frames = mutated(all[seed % all.size()], draw);
    auto const begin = std::chrono::steady_clock::now();
    verdicts += judge_all(frames);
    ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << seed;
  }
  EXPECT_GT(verdicts, mutations);
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return;  // its shadow memory would be counted
#endif
#endif
  rusage usage{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  EXPECT_LT(usage.ru_maxrss, 256 * 1024);
}

// The time of a play grows linearly with its packets, not quadratically.
TEST(Bounds, APlayWithoutEndIsStopped) {
  LiveRun run;
  EXPECT_FALSE(run.unsettled);
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
  Replayed result = replay_flow(c.flow(), c.device_side(), nullptr);
  EXPECT_FALSE(result.run.unsettled);
  LiveRun const stopped = play(result.script, result.config, 3);
  EXPECT_TRUE(stopped.unsettled);
  EXPECT_EQ(verdict_of_unsettled().reason, "the play did not settle");
}

}  // namespace
}  // namespace lockstep::conformance
