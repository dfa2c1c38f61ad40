// Law 8: splitting a burst changes nothing, and a longer burst only omits superseded ACKs.
#include <gtest/gtest.h>

#include <memory>

#include "core/stack/testing/flow_kit.hpp"
#include "core/units/random.hpp"

namespace lockstep::testing {
namespace {

using Frame = std::vector<std::byte>;

// Any segment that a peer may send on an open connection, valid or not.
In any_segment(Random& draw, const Flow& flow) {
  std::uint32_t const next = flow.info().receive.nxt.value - flow.peer_iss.value;
  auto const near = [&](std::uint32_t around) {
    return static_cast<std::uint32_t>(around + draw.below(6000)) - 2000;
  };
  In in;
  in.flags = flag::ack;
  auto const ahead = static_cast<std::uint32_t>(1000 * draw.below(8));
  in.seq = draw.below(3) == 0 ? near(next) : next + ahead;
  in.ack = 1 + static_cast<std::uint32_t>(draw.below(3) * 1000);
  auto const count = static_cast<std::uint32_t>(1 + draw.below(1000));
  in.data = octets(in.seq, draw.below(4) == 0 ? 0 : count);
  in.window = static_cast<std::uint16_t>(draw.below(3) == 0 ? draw.below(3000) : 65535);
  switch (draw.below(30)) {
    case 0:
      in.flags = in.flags | flag::fin;
      break;
    case 1:
      in.flags = in.flags | flag::syn;
      break;
    case 2:
      in.flags = flag::rst;
      break;
    case 3:
      in.flags = in.flags | flag::urg;
      in.urgent = static_cast<std::uint16_t>(draw.below(3000));
      break;
    case 4:
      in.flags = {};
      break;
    default:
      break;
  }
  return in;
}

// What mostly follows a segment: one with the same headers. Now and then one field differs.
In follower(Random& draw, const In& before) {
  In in = before;
  in.seq += static_cast<std::uint32_t>(before.data.size());
  in.data = octets(in.seq, static_cast<std::uint32_t>(before.data.size()));
  switch (draw.below(24)) {
    case 0:
      in.flags = in.flags | flag::psh;
      break;
    case 1:
      in.flags = in.flags | flag::fin;
      break;
    case 2:
      in.window = static_cast<std::uint16_t>(in.window - draw.below(3000));
      break;
    case 3:
      in.ack += static_cast<std::uint32_t>(draw.below(1000));
      break;
    case 4:
      in.seq += static_cast<std::uint32_t>(draw.below(2000));
      break;
    case 5:
      in.seq -= static_cast<std::uint32_t>(draw.below(2000));
      break;
    case 6:
      in.data = octets(in.seq, static_cast<std::uint32_t>(draw.below(1000)));
      break;
    case 7:
      in.urgent = static_cast<std::uint16_t>(draw.below(100));
      break;
    default:
      break;
  }
  return in;
}

// One turn whose burst is split at `cuts`; the application acts only on events.
struct Cut {
  std::vector<Frame> frames;
  std::vector<std::size_t> ends;  // of the calls of receive, the last one the number of frames
};

std::vector<Frame> run_turn(Flow& flow, const Cut& cut, bool reads) {
  std::size_t from = 0;
  for (std::size_t end : cut.ends) {
    std::vector<Ingress> burst;
    for (; from < end; ++from) {
      burst.push_back({cut.frames[from], Checksum::unknown, flow.now});
    }
    flow.stack.receive(flow.now, burst);
  }
  flow.stack.expire(flow.now);
  Event event;
  while (flow.stack.next_event(event)) {
    if (reads && event.kind == EventKind::received) {
      flow.read(event.id);
    }
  }
  flow.stack.settle();
  std::vector<Frame> out;
  std::vector<std::byte> room(70'000);
  while (flow.stack.wants_transmit()) {
    Egress const egress = flow.stack.transmit(flow.now, room);
    if (egress.length == 0) {
      break;
    }
    out.emplace_back(room.begin(), room.begin() + egress.length);
  }
  flow.stack.check_invariants();
  return out;
}

// RCV.NXT and SND.UNA, relative to the initial numbers.
struct FlowInfo {
  std::uint32_t next = 0;
  std::uint32_t una = 0;
};

FlowInfo info_of(const Flow& flow) {
  ConnectionInfo const info = flow.info();
  return {info.receive.nxt.value - flow.peer_iss.value, info.send.una.value - info.send.iss.value};
}

std::vector<std::size_t> cuts_of(Random& draw, std::size_t count) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < count;) {
    at = std::min<std::size_t>(count, at + draw.below(5));
    ends.push_back(at);
  }
  ends.push_back(count);
  return ends;
}

TEST(Bursts, SplittingReceiveChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random draw(seed);
    Random cuts = draw.fork("cuts");
    bool const reads = seed % 2 == 0;
    Flow whole;
    Flow pieces;
    for (Flow* flow : {&whole, &pieces}) {
      if (seed % 3 != 0) {
        flow->write_octets(20'000);
      }
      flow->take();
    }
    ASSERT_EQ(whole.stack.fingerprint(), pieces.stack.fingerprint());
    for (int turn = 0; turn < 12; ++turn) {
      Cut cut;
      auto const count = 1 + draw.below(32);
      In in = any_segment(draw, whole);
      for (std::uint64_t i = 0; i < count; ++i) {
        cut.frames.push_back(whole.frame_of(in));
        if (draw.below(40) == 0) {
          cut.frames.back()[draw.below(cut.frames.back().size())] ^= std::byte{1};
        }
        in = draw.below(6) == 0 ? any_segment(draw, whole) : follower(draw, in);
      }
      cut.ends = {cut.frames.size()};
      auto const one = run_turn(whole, cut, reads);
      cut.ends = cuts_of(cuts, cut.frames.size());
      auto const many = run_turn(pieces, cut, reads);
      ASSERT_EQ(one, many) << "seed " << seed << " turn " << turn;
      ASSERT_EQ(whole.stack.fingerprint(), pieces.stack.fingerprint()) << "seed " << seed;
      whole.now = whole.now + Duration::milliseconds(draw.below(300));
      pieces.now = whole.now;
    }
  }
}

// Runs of equal segments in order, as bulk data arrives, with a buffer that they fill: few of them
// have a reason to be treated otherwise than the one before.
TEST(Bursts, SplittingRunsOfEqualSegmentsChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random draw(seed);
    Config config = flow_config();
    config.tcp.receive_buffer = Bytes{static_cast<std::uint32_t>(2'000 + draw.below(30'000))};
    Peer const peer{.sack = draw.below(2) == 0,
                    .stamp = static_cast<std::uint32_t>(draw.below(2) * 77)};
    Flow whole(config, peer);
    Flow pieces(config, peer);
    bool const writes = draw.below(4) == 0;
    for (int turn = 0; turn < 6; ++turn) {
      for (Flow* flow : {&whole, &pieces}) {
        if (writes) {
          flow->write_octets(100);
          flow->take();
        }
      }
      FlowInfo const before = info_of(whole);
      In in{.flags = flag::ack, .seq = before.next, .ack = before.una};
      in.seq += draw.below(4) == 0 ? 300 : 0;
      in.data = octets(in.seq, static_cast<std::uint32_t>(1 + draw.below(1000)));
      Cut cut;
      while (cut.frames.size() < 32) {
        if (draw.below(12) == 0) {
          in.seq = before.next;  // fills a gap, or arrives again
        }
        cut.frames.push_back(whole.frame_of(in));
        if (draw.below(30) == 0) {
          // Mostly in the headers.
          auto& frame = cut.frames.back();
          frame[draw.below(draw.below(4) == 0 ? frame.size() : 40)] ^= std::byte{1};
        }
        in = follower(draw, in);
      }
      cut.ends = {cut.frames.size()};
      auto const one = run_turn(whole, cut, seed % 2 == 0);
      cut.ends.clear();
      for (std::size_t end = 1; end <= cut.frames.size(); ++end) {
        cut.ends.push_back(end);
      }
      auto const many = run_turn(pieces, cut, seed % 2 == 0);
      ASSERT_EQ(one, many) << "seed " << seed << " turn " << turn;
      ASSERT_EQ(whole.stack.fingerprint(), pieces.stack.fingerprint())
          << "seed " << seed << " turn " << turn;
    }
  }
}

// The compared fields of an ACK: number, flags, window.
std::vector<std::string> acks_of(Flow& flow) {
  std::vector<std::string> out;
  for (Out const& segment : flow.take()) {
    out.push_back(line(segment) + " window " + std::to_string(segment.window));
  }
  return out;
}

// A pure receiver with a silent application: one burst of 32 against 32 turns at the same instant.
TEST(Bursts, LongBurstsOmitSupersededAcksOnly) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random draw(seed);
    Config config = flow_config();
    config.tcp.ack_stretch_segments = Count{static_cast<std::uint32_t>(2 + draw.below(20))};
    config.tcp.ack_stretch_after = Bytes{static_cast<std::uint32_t>(draw.below(3) * 9000)};
    Flow together(config);
    Flow apart(config);
    together.auto_consume = false;
    apart.auto_consume = false;
    std::uint32_t next = 1;
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<In> burst;
      for (std::uint32_t i = 0; i < 32; ++i) {
        std::uint32_t from = next + 900 * i;
        if (draw.below(4) == 0) {
          from = next + 900 * static_cast<std::uint32_t>(draw.below(32));
        }
        burst.push_back({.flags = flag::ack, .seq = from, .ack = 1, .data = octets(from, 900)});
      }
      next += 900 * 32;
      for (In const& in : burst) {
        together.send(in);
        apart.deliver(in);
      }
      together.turn();
      auto const few = acks_of(together);
      auto const all = acks_of(apart);
      std::size_t at = 0;
      for (std::string const& ack : few) {
        while (at < all.size() && all[at] != ack) {
          ++at;
        }
        ASSERT_LT(at, all.size()) << "seed " << seed << ": " << ack << " is not among them";
        ++at;
      }
      ASSERT_EQ(few.empty(), all.empty());
      if (!few.empty()) {
        ASSERT_EQ(few.back(), all.back()) << "seed " << seed;
      }
      ASSERT_EQ(together.info().receive.nxt, apart.info().receive.nxt);
      ASSERT_EQ(together.info().receive.unread, apart.info().receive.unread);
    }
  }
}

// The same for duplicates: none may be missing at the end of a burst. The first one replaces the
// delayed ACK.
TEST(Bursts, TrailingDuplicatesAreAllThere) {
  for (std::uint32_t count : {1u, 3u, 10u, 31u}) {
    Flow flow;
    flow.send({.flags = flag::ack, .seq = 1, .ack = 1, .data = octets(1, 500)});
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t const from = 1001 + 500 * i;
      flow.send({.flags = flag::ack, .seq = from, .ack = 1, .data = octets(from, 500)});
    }
    flow.turn();
    auto const out = flow.take();
    std::uint32_t duplicates = 0;
    for (Out const& ack : out) {
      duplicates += ack.ack == 501 ? 1 : 0;
    }
    EXPECT_EQ(duplicates, count);
  }
}

}  // namespace
}  // namespace lockstep::testing
