// Record ends (More::record, MSG_EOR of Linux), in profile default: no segment contains octets of
// two records, whatever sends it.
#include <map>

#include "core/stack/testing/sender_kit.hpp"
#include "core/units/random.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

Config record_config(bool nagle = false) {
  Config config = sender_config();
  config.tcp.nagle = nagle;
  return config;
}

// Segments carry 1448 octets.
class Records : public Flow {
 public:
  explicit Records(const Config& config = record_config(), const Peer& with = bare_peer())
      : Flow(config, with) {}

  // Queues without a turn, so that all could be sent in one segment.
  void queue(std::uint32_t count, More more = More::record) {
    auto const data = octets(written + 1, count);
    ASSERT_EQ(stack.write(id, bytes_of(data), more).bytes.count, count);
    written += count;
  }
  void queue_and_send(std::initializer_list<std::uint32_t> counts) {
    for (std::uint32_t const count : counts) {
      queue(count);
    }
    turn();
  }
  // As segments(), with "P" for PSH.
  std::string pushes() {
    std::string out;
    for (Out const& segment : take()) {
      out += out.empty() ? "" : " ";
      out += std::to_string(segment.seq) + "+" + std::to_string(segment.data.size());
      out += segment.flags.psh() ? "P" : "";
    }
    return out;
  }
};

//= rfc9293#3.9.1.2
//= type=test
//# 9293:MUST-61, 9293:P-SEND-PUSHBIT each record is pushed
TEST(RecordEnds, EachRecordHasSeparateSegments) {
  Records flow;
  flow.queue_and_send({3000, 1, 500});
  EXPECT_EQ(flow.pushes(), "1+1448 1449+1448 2897+104P 3001+1P 3002+500P");
  Records plain;
  for (std::uint32_t const count : {3000u, 1u, 500u}) {
    plain.queue(count, More::no);
  }
  plain.turn();
  EXPECT_EQ(plain.pushes(), "1+1448 1449+1448 2897+605P");
}

// The last record is still incomplete as a segment, so Nagle holds it; one with another record
// behind it will not grow.
TEST(RecordEnds, NagleHoldsOnlyTheLastRecord) {
  Records flow(record_config(true));
  flow.write_octets(100, More::record);
  EXPECT_EQ(flow.segments(), "1+100");
  flow.write_octets(100, More::record);
  EXPECT_EQ(flow.segments(), "");
  flow.write_octets(100, More::record);
  EXPECT_EQ(flow.segments(), "101+100");
  flow.write_octets(50);
  EXPECT_EQ(flow.segments(), "201+100");
  flow.ack(101);
  EXPECT_EQ(flow.segments(), "");
  flow.ack(301);
  EXPECT_EQ(flow.segments(), "301+50");
}

// Held as with MSG_MORE until another one follows.
TEST(RecordEnds, ARecordCanWaitForMore) {
  Records flow;
  flow.write_octets(100, More::record_and_more);
  EXPECT_EQ(flow.segments(), "");
  flow.write_octets(100, More::record_and_more);
  EXPECT_EQ(flow.pushes(), "1+100P");
  flow.advance(flow.info().rto);
  flow.take();
  flow.ack(101);
  flow.advance(ms(300));
  EXPECT_EQ(flow.segments(), "101+100");
}

// A record that is not accepted whole has no end: the rest is still to come.
TEST(RecordEnds, APartOfARecordHasNoEnd) {
  Config config = record_config();
  config.tcp.send_buffer = config.tcp.send_buffer_max = Bytes{1000};
  Records flow(config);
  flow.ack_with_window(1, 0);
  auto const data = octets(1, 1300);
  ASSERT_EQ(flow.stack.write(flow.id, Kit::bytes_of(data), More::record).bytes.count, 1000u);
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::send_buffer, 9000}), Refusal::none);
  flow.written = 1000;
  flow.queue(300, More::record);
  flow.queue(100, More::no);
  flow.ack_with_window(1, 65535);
  EXPECT_EQ(flow.pushes(), "1+1300P 1301+100P");
}

// RFC 5681's retransmission timer, with and without the scoreboard.
TEST(RecordEnds, ATimeoutMergesNothing) {
  for (bool const sack : {true, false}) {
    Peer peer = bare_peer();
    peer.sack = sack;
    Records flow(record_config(), peer);
    flow.queue_and_send({100, 200, 300});
    EXPECT_EQ(flow.segments(), "1+100 101+200 301+300");
    flow.advance(Duration::seconds(1));
    std::string again = flow.segments();
    EXPECT_TRUE(again.starts_with(sack ? "301+300 1+100" : "1+100")) << again;
    flow.ack(101);
    flow.advance(Duration::seconds(20));
    again = flow.segments();
    EXPECT_TRUE(again.starts_with("101+200")) << again;
    flow.ack(301);
    flow.advance(Duration::seconds(20));
    again = flow.segments();
    EXPECT_TRUE(again.starts_with("301+300")) << again;
  }
}

TEST(RecordEnds, AFastRetransmissionMergesNothing) {
  for (bool const sack : {true, false}) {
    Peer peer = bare_peer();
    peer.sack = sack;
    Records flow(record_config(), peer);
    flow.queue_and_send({100, 200, 1000, 1000, 1000});
    flow.take();
    if (sack) {
      flow.sack(1, {{301, 3301}});
      EXPECT_EQ(flow.segments(), "1+100 101+200");
    } else {
      flow.duplicates(3);
      EXPECT_EQ(flow.segments(), "1+100");
      flow.ack(101);
      EXPECT_EQ(flow.segments(), "101+200");
    }
  }
}

//= rfc8985#7.3
//= type=test
//# 8985:TLP-4 retransmits the last segment
TEST(RecordEnds, ATailLossProbeIsOfTheLastRecord) {
  Records flow;
  flow.queue_and_send({100, 200, 300});
  flow.take();
  flow.advance(flow.info().retransmit_due.since(flow.now));
  EXPECT_EQ(flow.segments(), "301+300");
}

// If there is new data, the probe sends one record of it.
TEST(RecordEnds, ATailLossProbeOfNewDataIsOneRecord) {
  Records flow;
  for (int i = 0; i < 30; ++i) {
    flow.queue(700);
  }
  flow.turn();
  std::uint32_t const next = flow.info().send.nxt.value - flow.device_iss.value;
  ASSERT_LT(next, flow.written - 1400);
  flow.take();
  flow.advance(flow.info().retransmit_due.since(flow.now));
  EXPECT_EQ(flow.segments(), std::to_string(next) + "+700");
}

// RFC 6675's rescue retransmission.
TEST(RecordEnds, ARescueIsOfTheLastRecord) {
  Config config = record_config();
  config.tcp.rack = false;
  config.tcp.tail_probe = false;
  Records flow(config);
  flow.queue_and_send({1000, 1000, 1000, 1000, 1000, 100, 200});
  flow.take();
  flow.sack(1, {{1001, 2001}});
  flow.sack(1, {{1001, 3001}});
  flow.sack(1, {{1001, 4001}});
  EXPECT_EQ(flow.segments(), "1+1000");
  flow.sack(4001, {});
  EXPECT_EQ(flow.segments(), "5101+200");
}

TEST(RecordEnds, AZeroWindowProbeEndsWhereTheRecordDoes) {
  Records flow;
  flow.ack_with_window(1, 0);
  flow.queue_and_send({100, 200});
  EXPECT_EQ(flow.segments(), "");
  flow.advance(flow.info().persist_due.since(flow.now));
  EXPECT_EQ(flow.segments(), "1+1");
  flow.ack_with_window(1, 65535);
  EXPECT_EQ(flow.segments(), "1+1 2+99 101+200");
}

//= rfc1191#6.4
//= type=test
//# 1191:PMTU-10 data from large segments is retransmitted in small ones, each with one record
TEST(RecordEnds, ASmallerPathKeepsThem) {
  Records flow;
  flow.queue_and_send({1000, 900});
  auto const sent = flow.take();
  ASSERT_EQ(sent.size(), 2u);
  deliver_too_big(flow, sent[0], 700);
  flow.advance(ms(1));
  EXPECT_EQ(flow.segments(), "1+648");
  flow.ack(649);
  EXPECT_EQ(flow.segments(), "649+352 1001+648 1649+252");
}

TEST(RecordEnds, ContiguousLoansAreSplitToo) {
  Records flow;
  std::string const memory = octets(1, 600);
  flow.stack.bind(RegionId{0}, Kit::bytes_of(memory));
  ASSERT_EQ(flow.stack.lend(flow.id, {RegionId{0}, 0, 200}, More::record).bytes.count, 200u);
  ASSERT_EQ(flow.stack.lend(flow.id, {RegionId{0}, 200, 400}, More::record).bytes.count, 400u);
  flow.turn();
  EXPECT_EQ(flow.pushes(), "1+200P 201+400P");
}

// Small records could use up the blocks of all connections: so each end counts as a block of the
// send buffer.
TEST(RecordEnds, EachTakesABlockOfTheSendBuffer) {
  Config config = record_config();
  config.tcp.send_buffer = config.tcp.send_buffer_max = Bytes{8192};
  Records flow(config);
  for (std::uint32_t i = 0; i < 4; ++i) {
    ASSERT_EQ(flow.stack.writable(flow.id).count, 8192 - i * 2058);
    flow.queue(10);
  }
  EXPECT_EQ(flow.stack.writable(flow.id).count, 0u);
  auto const data = octets(1, 1);
  EXPECT_EQ(flow.stack.write(flow.id, Kit::bytes_of(data), More::record).refusal, Refusal::no_room);
  flow.turn();
  EXPECT_EQ(flow.segments(), "1+10 11+10 21+10 31+10");
  flow.events.clear();
  flow.ack(21);
  EXPECT_TRUE(flow.notified(EventKind::acknowledged));
  EXPECT_EQ(flow.stack.writable(flow.id).count, 8192u - 2 * 2058);
}

TEST(RecordEnds, TheFingerprintIncludesThem) {
  Records whole;
  Records cut;
  whole.queue(100, More::no);
  cut.queue(100, More::record);
  EXPECT_NE(whole.stack.fingerprint(), cut.stack.fingerprint());
}

// A peer that stores what it receives and acknowledges it; the path loses one segment of four.
class Lossy {
 public:
  Lossy(std::uint64_t seed, bool sack) : random_(seed), flow_(config_of(sack), peer_of(sack)) {}

  void run() {
    while (!::testing::Test::HasFailure() && acked_ <= total) {
      write();
      take_segments();
      answer();
      flow_.advance(random_.below(4) == 0 ? ms(1200) : ms(random_.within({0, 60})));
    }
  }

 private:
  static constexpr std::uint32_t total = 20'000;

  static Config config_of(bool sack) {
    Config config = record_config(sack);
    config.tcp.path_mtu_probing = true;
    config.tcp.user_timeout = {};
    return config;
  }
  static Peer peer_of(bool sack) {
    Peer peer = bare_peer();
    peer.sack = sack;
    return peer;
  }
  void write() {
    for (std::uint64_t i = random_.below(4); i != 0 && flow_.written < total; --i) {
      auto const most = std::uint64_t{total} - flow_.written;
      auto const count = static_cast<std::uint32_t>(std::min(random_.within({1, 2500}), most));
      bool const last = count == most;
      More const more = last ? More::no : static_cast<More>(random_.below(4));
      auto const data = octets(flow_.written + 1, count);
      std::uint32_t const taken =
          flow_.stack.write(flow_.id, Kit::bytes_of(data), more).bytes.count;
      flow_.written += taken;
      if (ends_record(more) && taken == count) {
        ends_[flow_.written + 1] = true;
      }
    }
    flow_.turn();
  }
  void take_segments() {
    for (Out const& out : flow_.take()) {
      std::uint32_t const end = out.seq + Flow::length_of(out);
      EXPECT_EQ(out.data, octets(out.seq, Flow::length_of(out)));
      auto const next = ends_.upper_bound(out.seq);
      EXPECT_TRUE(next == ends_.end() || next->first >= end) << out.seq << " " << end;
      EXPECT_TRUE(out.data.empty() || !ends_.contains(end) || out.flags.psh());
      if (random_.below(4) != 0) {
        for (std::uint32_t at = out.seq; at < end; ++at) {
          here_[at] = true;
        }
      } else if (random_.below(20) == 0 && !out.data.empty()) {
        queue_too_big(flow_, out, static_cast<std::uint16_t>(random_.within({600, 1400})));
      }
    }
  }
  void answer() {
    while (here_[acked_]) {
      ++acked_;
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks;
    for (std::uint32_t at = acked_; at <= flow_.written && blocks.size() < 3; ++at) {
      std::uint32_t const begin = at;
      while (here_[at]) {
        ++at;
      }
      if (at != begin) {
        blocks.emplace_back(begin, at);
      }
    }
    std::uint16_t const windows[] = {65535, 65535, 3000, 700, 0};
    flow_.window = windows[random_.below(5)];
    flow_.info().sack ? flow_.sack(acked_, blocks) : flow_.ack(acked_);
  }

  Random random_;
  Flow flow_;
  std::map<std::uint32_t, bool> ends_;  // the numbers after them
  std::vector<char> here_ = std::vector<char>(total + 2);
  std::uint32_t acked_ = 1;
};

TEST(RecordEnds, HoldUnderAnyLoss) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Lossy(seed, seed % 2 == 0).run();
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace lockstep::testing
