// Packetization-layer path MTU discovery (RFC 4821) on paths that drop large packets silently.
#include <algorithm>
#include <map>

#include "core/stack/testing/flow_kit.hpp"
#include "core/stack/testing/six_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration rtt = Duration::milliseconds(100);

Config probing(bool selective = true) {
  Config config = flow_config();
  config.tcp.path_mtu_discovery = true;
  config.tcp.path_mtu_probing = true;
  config.tcp.sack = selective;
  config.tcp.timestamps = false;
  config.tcp.send_buffer = Bytes{1 << 20};
  config.tcp.blocks_max = Count{4096};
  return config;
}

Peer peer_of(const Config& config) {
  Peer peer;
  peer.mss = 1460;
  peer.round_trip = rtt;
  peer.sack = config.tcp.sack;
  return peer;
}

struct Probe {
  Instant at;
  std::uint32_t bytes = 0;  // of the packet
  std::uint32_t mss = 0;    // when it was sent
  std::uint32_t window_segments = 0;
};

// A stream on a path that carries packets of `limit` octets, to a peer that acknowledges each.
class Hole : public Flow {
 public:
  explicit Hole(std::uint32_t carries, const Config& config = probing())
      : Flow(config, peer_of(config)), limit(carries) {}

  static std::uint32_t packet_bytes(const Out& out) {
    return 40 + options_bytes(out.options).count + length_of(out);
  }
  // Delivers what was sent after a round trip, or advances to the next timer.
  void step() {
    auto const out = take();
    if (out.empty()) {
      time_out();
      return;
    }
    advance(rtt);
    for (Out const& segment : out) {
      std::uint32_t const size = packet_bytes(segment);
      if (segment.at == now) {
        continue;
      }
      if (size > last_mss + 40 && last_mss != 0 && !segment.data.empty()) {
        probes.push_back({segment.at, size, last_mss, last_window / last_mss});
      }
      if (size <= limit && !segment.data.empty() && !(lose && lose(segment))) {
        arrive(segment);
      }
    }
  }
  // Runs until all is acknowledged. False: it takes too long.
  bool finish_within(std::uint32_t steps) {
    for (std::uint32_t i = 0; i < steps && acked != written + 1; ++i) {
      last_mss = info().send.mss.count;
      last_window = cwnd();
      step();
      if (state() != State::established) {
        return false;
      }
    }
    return acked == written + 1;
  }
  // Sends data until the search is over.
  bool settles() {
    auto const over = [&] { return mss() + 40 <= limit && mss() + 40 + 16 > limit; };
    for (int i = 0; i < 40 && !over(); ++i) {
      write_octets(200'000);
      if (!finish_within(1000)) {
        return false;
      }
    }
    return over();
  }
  const tcp::Counters& counters() const { return stack.statistics().tcp; }
  std::uint32_t mss() const { return info().send.mss.count; }

  std::uint32_t limit;
  std::function<bool(const Out&)> lose;
  std::vector<Probe> probes;
  std::uint32_t last_mss = 0;
  std::uint32_t last_window = 0;

 private:
  void arrive(const Out& segment) {
    std::uint32_t const begin = segment.seq;
    std::uint32_t const end = begin + length_of(segment);
    EXPECT_EQ(segment.data, octets(begin, length_of(segment)));
    std::uint32_t& known = above_[begin];
    known = std::max(known, end);
    std::uint32_t next = acked;
    for (auto it = above_.begin(); it != above_.end() && it->first <= next;) {
      next = std::max(next, it->second);
      it = above_.erase(it);
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks;
    for (auto const& [from, to] : above_) {
      if (!blocks.empty() && blocks.back().second >= from) {
        blocks.back().second = std::max(blocks.back().second, to);
      } else {
        blocks.emplace_back(from, to);
      }
    }
    if (blocks.size() > 3) {
      blocks.resize(3);
    }
    acked = next;
    deliver({.flags = flag::ack,
             .seq = 1,
             .ack = next,
             .window = window,
             .sack = stack.config().tcp.sack
                         ? blocks
                         : std::vector<std::pair<std::uint32_t, std::uint32_t>>{}});
  }

  std::map<std::uint32_t, std::uint32_t> above_;
};

//= rfc4821#7.7
//= type=test
//# 4821:PLP-18 at R1 without a message: search_low
//= rfc4821#7.2
//= type=test
//# 4821:PLP-9 1024 octets by default
//= rfc4821#7.6.1
//= type=test
//# 4821:PLP-13 delivered probes increase the size
//= rfc4821#7.6.2
//= type=test
//# 4821:PLP-14, 4821:PLP-16 lost probes reduce the upper limit
//= rfc4821#7.3
//= type=test
//# 4821:PLP-10 until the remaining gain is too small
TEST(PathProbe, FindsAndMeasuresABlackHole) {
  for (bool const selective : {true, false}) {
    Hole hole(1400, probing(selective));
    ASSERT_TRUE(hole.settles()) << selective;
    EXPECT_EQ(hole.counters().black_holes, 1u);
    EXPECT_GT(hole.counters().path_probes, hole.counters().path_probes_lost);
    EXPECT_GT(hole.counters().path_probes_lost, 0u);
    EXPECT_LE(hole.mss() + 40, 1400u);
    EXPECT_GT(hole.mss() + 40 + 16, 1400u) << selective;
  }
}

TEST(PathProbe, OffTheConnectionStalls) {
  Config config = probing();
  config.tcp.path_mtu_probing = false;
  Hole hole(1400, config);
  hole.write_octets(600'000);
  EXPECT_FALSE(hole.finish_within(2000));
  EXPECT_TRUE(hole.notified(EventKind::closed, Cause::timed_out));
  EXPECT_EQ(hole.counters().black_holes, 0u);
}

//= rfc4821#7.1
//= type=test
//# 4821:PLP-6 larger than search_low, at most search_high
//= rfc4821#7.2
//= type=test
//# 4821:PLP-8 which is initially the limit of the link and the peer's MSS
//= rfc4821#7.6.2
//= type=test
//# 4821:PLP-15 after a failure one round trip per segment of the window passes
TEST(PathProbe, KeepsToItsRangeAndItsPace) {
  Hole hole(1400);
  hole.write_octets(600'000);
  ASSERT_TRUE(hole.finish_within(2000));
  ASSERT_GE(hole.probes.size(), 3u);
  EXPECT_EQ(hole.probes[0].bytes, 1500u);
  std::uint32_t low = 1024;
  std::uint32_t high = 1500;
  for (std::size_t i = 0; i < hole.probes.size(); ++i) {
    Probe const& probe = hole.probes[i];
    EXPECT_GT(probe.bytes, low);
    EXPECT_LE(probe.bytes, high);
    bool const arrives = probe.bytes <= 1400;
    low = arrives ? probe.bytes : low;
    high = arrives ? high : probe.bytes - 1;
    if (!arrives && i + 1 < hole.probes.size()) {
      EXPECT_GE(hole.probes[i + 1].at.since(probe.at), rtt * probe.window_segments) << i;
    }
  }
}

//= rfc4821#4
//= type=test
//# 4821:PLP-1 the loss of a probe is detected from the ACKs of later segments
//# 4821:PLP-2 and without other losses cwnd stays
TEST(PathProbe, LostAloneIsNoCongestion) {
  for (bool const selective : {true, false}) {
    Hole hole(1400, probing(selective));
    hole.write_octets(600'000);
    while (hole.counters().black_holes == 0) {
      hole.step();
    }
    std::uint32_t const ssthresh = hole.ssthresh();
    std::uint32_t window = 0;
    while (hole.counters().path_probes_lost < 2) {
      hole.step();
      window = hole.info().fast_recovery ? window : hole.cwnd();
    }
    ASSERT_TRUE(hole.finish_within(2000));
    EXPECT_EQ(hole.ssthresh(), ssthresh) << selective;
    EXPECT_GE(hole.cwnd(), window) << selective;
    EXPECT_EQ(hole.counters().fast_retransmits, hole.counters().path_probes_lost);
  }
}

//= rfc4821#4
//= type=test
//# 4821:PLP-3 any other loss halves the window
//= rfc4821#7.6.4
//= type=test
//# 4821:PLP-17 and has no effect on the size
TEST(PathProbe, LostWithOthersIsInconclusive) {
  Hole hole(1400);
  hole.write_octets(600'000);
  while (hole.counters().black_holes == 0) {
    hole.step();
  }
  // The probe is lost, and the next segment with it.
  std::uint32_t behind = 0;
  hole.lose = [&](const Out& segment) {
    bool const lost = segment.seq == behind;
    behind = lost ? 0 : behind;
    return lost;
  };
  while (hole.counters().path_probes == 0) {
    hole.step();
    behind = hole.info().send.nxt.value - hole.device_iss.value;
  }
  // In the next step the probe is the only larger segment to arrive.
  std::uint32_t const window = hole.cwnd();
  while (hole.counters().fast_retransmits == 0) {
    hole.step();
  }
  EXPECT_EQ(hole.counters().path_probes_lost, 0u);
  EXPECT_LT(hole.ssthresh(), window);
  EXPECT_EQ(hole.mss(), 984u);
  hole.probes.clear();
  ASSERT_TRUE(hole.finish_within(2000));
  EXPECT_EQ(hole.probes.at(0).bytes, 1500u);
}

//= rfc4821#7.4
//= type=test
//# 4821:PLP-11 not without enough data and window
//# 4821:PLP-12 and three segments after it
TEST(PathProbe, NeedsDataAndWindow) {
  Hole hole(1400);
  hole.write_octets(30'000);
  ASSERT_TRUE(hole.finish_within(100));
  std::uint64_t const before = hole.counters().path_probes;
  for (int i = 0; i < 20; ++i) {
    hole.write_octets(3900);
    ASSERT_TRUE(hole.finish_within(10));
  }
  EXPECT_EQ(hole.counters().path_probes, before);
  hole.ack_with_window(hole.acked, 4000);
  hole.write_octets(60'000);
  ASSERT_TRUE(hole.finish_within(100));
  EXPECT_EQ(hole.counters().path_probes, before);
  hole.ack_with_window(hole.acked, 65535);
  hole.write_octets(60'000);
  ASSERT_TRUE(hole.finish_within(100));
  EXPECT_GT(hole.counters().path_probes, before);
}

// An outage looks like a black hole, and the first probe shows that it was none.
//= rfc4821#4
//= type=test
//# 4821:PLP-4 a larger size does not increase cwnd in octets
TEST(PathProbe, RecoversFromAnOutage) {
  Hole hole(0);
  hole.write_octets(200'000);
  while (hole.counters().black_holes == 0) {
    hole.step();
  }
  EXPECT_EQ(hole.mss(), 984u);
  hole.limit = 1500;
  while (hole.mss() == 984) {
    std::uint32_t const window = hole.cwnd();
    std::uint32_t const before = hole.acked;
    hole.step();
    EXPECT_LE(hole.cwnd(), window + (hole.acked - before));
  }
  EXPECT_EQ(hole.mss(), 1460u);
  EXPECT_EQ(hole.counters().path_probes, 1u);
  EXPECT_TRUE(hole.finish_within(500));
}

//= rfc4821#7.7
//= type=test
//# 4821:PLP-19 each further timeout halves the size, down to 68 octets
TEST(PathProbe, HalvesWhileNothingIsDelivered) {
  Hole hole(0);
  hole.write_octets(20'000);
  std::vector<std::uint32_t> sizes;
  while (sizes.size() < 5) {
    hole.step();
    if (sizes.empty() ? hole.mss() != 1460 : hole.mss() + 40 != sizes.back()) {
      sizes.push_back(hole.mss() + 40);
    }
  }
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{1024, 512, 256, 128, 68}));
  hole.step();
  EXPECT_EQ(hole.mss(), 28u);
}

//= rfc4821#7.3
//= type=test
//# 4821:PLP-10 ten minutes later the search continues, and a larger path MTU is found
TEST(PathProbe, TriesAgainWhenTheTimerIsOver) {
  Hole hole(1400);
  ASSERT_TRUE(hole.settles());
  std::uint32_t const settled = hole.mss();
  std::uint64_t const probes = hole.counters().path_probes;
  hole.limit = 1500;
  hole.write_octets(200'000);
  ASSERT_TRUE(hole.finish_within(500));
  EXPECT_EQ(hole.counters().path_probes, probes);
  EXPECT_EQ(hole.mss(), settled);
  hole.advance(probing().path_age);
  hole.write_octets(200'000);
  ASSERT_TRUE(hole.finish_within(500));
  EXPECT_EQ(hole.mss(), 1460u);
}

//= rfc4821#7.1
//= type=test
//# 4821:PLP-20 the loss of an ordinary packet of any size is no failed probe
TEST(PathProbe, OrdinaryLossesAreNoFailures) {
  Hole hole(1500);
  hole.write_octets(300'000);
  std::uint32_t lost = 0;
  hole.lose = [&](const Out& segment) { return segment.seq % 7 == 3 && ++lost % 3 == 0; };
  ASSERT_TRUE(hole.finish_within(2000));
  EXPECT_GT(lost, 10u);
  EXPECT_EQ(hole.counters().path_probes_lost, 0u);
  EXPECT_EQ(hole.counters().black_holes, 0u);
  EXPECT_EQ(hole.mss(), 1460u);
}

// For IPv6 the minimum is 1280 octets, which every path carries.
//= rfc4821#7.7
//= type=test
//# 4821:PLP-19 not below 1280
TEST(PathProbe, SupportsIpv6) {
  Config config = probing();
  config.addresses[0] = {six_device, 64};
  Six six(config);
  six.listen();
  wire::Segment segment;
  segment.flags = flag::syn;
  segment.window = {65535};
  segment.options.has_mss = true;
  segment.options.mss = 1440;
  auto const send = [&](const wire::Segment& s) {
    SixPacket packet;
    packet.payload = segment_octets(s);
    six.deliver(packet);
  };
  send(segment);
  Sequence const base = six.next_segment().sequence.next();
  segment = {};
  segment.flags = flag::ack;
  segment.sequence = {1};
  segment.window = {65535};
  segment.acknowledgment = base;
  send(segment);
  ASSERT_GT(six.stack.write(six.id, Kit::bytes_of(std::string(60'000, 'x'))).bytes.count, 30'000u);
  six.turn();
  auto const mss = [&] { return six.stack.inspect(six.id).send.mss.count; };
  while (mss() == 1440) {
    six.advance(six.stack.inspect(six.id).retransmit_due.since(six.now));
  }
  EXPECT_EQ(mss(), 1220u);
  six.advance(six.stack.inspect(six.id).retransmit_due.since(six.now));
  EXPECT_EQ(mss(), 1220u);
  bool large = false;
  for (int i = 0; i < 20 && !large; ++i) {
    auto const out = six.out.size();
    for (std::size_t k = 0; k < out; ++k) {
      wire::Segment const sent = six.next_segment();
      large = large || sent.payload.size() == 1440;
      segment.acknowledgment = last_of(segment.acknowledgment, sent.end());
    }
    six.advance(rtt);
    send(segment);
    // The first of these rounds acknowledges data sent before the black hole was detected.
    large = large && i != 0;
    EXPECT_EQ(mss(), large ? 1440u : 1220u);
  }
  EXPECT_EQ(six.stack.statistics().tcp.path_probes, 1u);
  EXPECT_EQ(mss(), 1440u);
}

// A middlebox splits the probe, or the peer has no space for all of it: a partial ACK shows neither
// that its size passes nor that it does not.
TEST(PathProbe, PartlyAcknowledgedIsInconclusive) {
  Hole hole(1300);
  bool cut = false;
  hole.lose = [&](const Out& segment) {
    if (cut || segment.data.size() <= hole.mss() || segment.seq != hole.acked) {
      return false;
    }
    cut = true;
    std::uint32_t const before = hole.mss();
    hole.ack(segment.seq + 100);
    EXPECT_EQ(hole.mss(), before);
    return true;
  };
  EXPECT_TRUE(hole.settles());
  EXPECT_TRUE(cut);
}

// A probe is one segment, so it never contains data of two records.
TEST(PathProbe, DoesNotSpanARecordEnd) {
  for (bool const records : {true, false}) {
    Hole hole(1300);
    hole.write_octets(20'000);
    ASSERT_TRUE(hole.finish_within(1000));
    ASSERT_LT(hole.mss() + 40, 1300u);
    std::size_t const before = hole.probes.size();
    for (int i = 0; i < 20; ++i) {
      for (int k = 0; k < 100; ++k) {
        auto const data = octets(hole.written + 1, 800);
        More const more = records ? More::record : More::no;
        ASSERT_EQ(hole.stack.write(hole.id, Kit::bytes_of(data), more).bytes.count, 800u);
        hole.written += 800;
      }
      hole.turn();
      ASSERT_TRUE(hole.finish_within(1000));
    }
    EXPECT_EQ(hole.probes.size() > before, !records);
  }
}

// The probe was late, not lost, and a D-SACK undoes the recovery. With it ends the suppression of
// the reduction: ssthresh is restored, and the next loss reduces it once.
TEST(PathProbe, LateProbeLeavesNoState) {
  Config config = probing();
  config.tcp.undo = true;
  config.tcp.congestion = tcp::Congestion::cubic;
  Hole hole(0, config);
  hole.write_octets(400'000);
  while (hole.counters().black_holes == 0) {
    hole.step();
  }
  hole.limit = 1500;
  // The first probe is late.
  Out probe;
  hole.lose = [&](const Out& segment) {
    bool const first = probe.data.empty() && segment.data.size() > hole.last_mss;
    probe = first ? segment : probe;
    return first;
  };
  std::uint32_t ssthresh = 0;
  std::uint32_t cwnd = 0;
  while (hole.counters().fast_retransmits == 0) {
    ssthresh = hole.ssthresh();
    cwnd = hole.cwnd();
    hole.last_mss = hole.mss();
    hole.step();
  }
  ASSERT_FALSE(probe.data.empty());
  ASSERT_TRUE(hole.info().fast_recovery);
  std::uint32_t const end = probe.seq + Hole::length_of(probe);
  hole.take();
  hole.sack(end, {{probe.seq, end}});
  EXPECT_EQ(hole.counters().recoveries_undone, 1u);
  EXPECT_EQ(hole.ssthresh(), ssthresh);
  EXPECT_GE(hole.cwnd(), cwnd);
}

}  // namespace
}  // namespace lockstep::testing
