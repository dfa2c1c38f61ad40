// Accounts of connections: counters, per-connection settings, and that accounts never change what
// is sent.
#include "core/stack/testing/flow_kit.hpp"
#include "core/tcp/congestion/added.hpp"
#include "core/wire/icmp.hpp"

namespace lockstep::testing {
namespace {

Config with_accounts(Config config = flow_config()) {
  config.tcp.accounts = true;
  return config;
}

Config with_sack() {
  Config config = with_accounts();
  config.tcp.sack = true;
  config.tcp.dsack = true;
  return config;
}

constexpr std::uint64_t as_number(tcp::Congestion congestion) {
  return static_cast<std::uint64_t>(congestion);
}

TEST(Accounts, AreZeroWhereTheyAreOff) {
  Flow flow;
  flow.write_octets(1000);
  flow.time_out();
  auto const account = flow.info().account;
  EXPECT_EQ(account.data_segments_out, 0u);
  EXPECT_EQ(account.timeouts, 0u);
  EXPECT_EQ(account.bytes_retrans, 0u);
  EXPECT_EQ(account.keepalive_interval, Duration::seconds(75));
  EXPECT_EQ(account.keepalive_probes, Count{9});
  // Retransmitted octets in flight are known without accounts.
  EXPECT_EQ(flow.info().retransmitted, Bytes{1000});
}

TEST(Accounts, ChoicesAreRefusedWhereTheyAreOff) {
  Flow flow;
  for (Setting const setting :
       {Setting{SettingKind::keepalive_interval_ms, 1000},
        Setting{SettingKind::keepalive_probes, 3}, Setting{SettingKind::mss, 500},
        Setting{SettingKind::congestion, as_number(tcp::Congestion::cubic)}}) {
    EXPECT_EQ(flow.stack.set(flow.id, setting), Refusal::switched_off);
  }
  ListenerId listener;
  Backlog backlog;
  backlog.mss = Bytes{500};
  EXPECT_EQ(flow.stack.listen({IpAddress{}, Port{81}, {}}, backlog, listener),
            Refusal::switched_off);
}

TEST(Accounts, ChoicesOutOfRangeAreRefused) {
  Flow flow(with_accounts());
  for (Setting const setting :
       {Setting{SettingKind::keepalive_interval_ms, 0},
        Setting{SettingKind::keepalive_interval_ms, 86'400'001},
        Setting{SettingKind::keepalive_probes, 0}, Setting{SettingKind::keepalive_probes, 256},
        Setting{SettingKind::mss, 63}, Setting{SettingKind::mss, 65'496},
        Setting{SettingKind::congestion, tcp::congestion_words().size()}}) {
    EXPECT_EQ(flow.stack.set(flow.id, setting), Refusal::bad_argument);
  }
  ListenerId listener;
  Backlog backlog;
  backlog.mss = Bytes{63};
  EXPECT_EQ(flow.stack.listen({IpAddress{}, Port{81}, {}}, backlog, listener),
            Refusal::bad_argument);
}

TEST(Accounts, CountSegmentsWithDataInBothDirections) {
  Flow flow(with_accounts());
  flow.write_octets(2000);
  flow.ack(2001);
  flow.data(1, 10);
  flow.data(21, 10);  // above a gap
  flow.data(1, 10);   // again
  auto const info = flow.info();
  EXPECT_EQ(info.account.data_segments_out, 2u);
  EXPECT_EQ(info.account.data_segments_in, 3u);
  EXPECT_EQ(info.account.out_of_order_segments, 1u);
  EXPECT_EQ(info.account.bytes_retrans, 0u);
}

TEST(Accounts, ATimeoutIsCountedTimedAndOver) {
  Flow flow(with_accounts());
  flow.write_octets(2000);
  flow.time_out();
  Instant const begun = flow.now;
  flow.time_out();
  auto info = flow.info();
  EXPECT_EQ(info.account.timeouts, 2u);
  EXPECT_EQ(info.account.repairs, 1u);
  EXPECT_EQ(info.account.repairing, flow.now.since(begun));
  EXPECT_EQ(info.account.bytes_retrans, 2000u);
  EXPECT_EQ(info.account.data_segments_out, 4u);
  EXPECT_EQ(info.retransmitted, Bytes{1000});
  flow.advance(Duration::milliseconds(10));
  flow.ack(1001);  // a part of the flight
  flow.advance(Duration::milliseconds(20));
  flow.ack(2001);
  Duration const took = flow.now.since(begun);
  flow.advance(Duration::seconds(1));
  info = flow.info();
  EXPECT_EQ(info.account.repairing, took);
  EXPECT_EQ(info.retransmitted, Bytes{});
  // The next one counts separately.
  flow.write_octets(1000);
  flow.time_out();
  info = flow.info();
  EXPECT_EQ(info.account.timeouts, 3u);
  EXPECT_EQ(info.account.repairs, 2u);
}

TEST(Accounts, TimeLimitedByTheWindowIsMeasured) {
  Flow flow(with_accounts());
  flow.ack_with_window(1, 1500);
  flow.write_octets(3000);  // 1000 fit; Nagle holds the rest, which is too little for the window
  EXPECT_EQ(flow.segments(), "1+1000");
  flow.advance(Duration::milliseconds(30));
  EXPECT_EQ(flow.info().account.rwnd_limited, Duration::milliseconds(30));
  flow.ack_with_window(1001, 10'000);
  EXPECT_EQ(flow.segments(), "1001+1000 2001+1000");
  flow.advance(Duration::milliseconds(30));
  EXPECT_EQ(flow.info().account.rwnd_limited, Duration::milliseconds(30));
}

TEST(Accounts, TheWindowLimitsNothingOnceAProbeHasTakenTheLastOctet) {
  Flow flow(with_accounts());
  flow.ack_with_window(1, 0);
  flow.write_octets(1);
  flow.advance(Duration::seconds(2));  // a probe carries it
  Duration const limited = flow.info().account.rwnd_limited;
  EXPECT_GT(limited, Duration{});
  flow.ack_with_window(2, 0);
  flow.advance(Duration::seconds(3600));
  EXPECT_EQ(flow.info().account.rwnd_limited, limited);
}

TEST(Accounts, TimeLimitedByCwndIsNotCountedAsTheWindows) {
  Flow flow(with_accounts());
  flow.write_octets(60'000);
  flow.advance(Duration::milliseconds(30));
  EXPECT_EQ(flow.info().account.rwnd_limited, Duration{});
}

TEST(Accounts, DuplicatesReportedByThePeerAreCounted) {
  Flow flow(with_sack(), {.sack = true});
  flow.write_octets(3000);
  flow.sack(1, {{1001, 2001}});
  flow.time_out();
  flow.sack(3001, {{1, 1001}});
  EXPECT_EQ(flow.info().account.duplicates_told, 1u);
}

TEST(Accounts, RetransmittedOctetsAreKnownFromTheScoreboard) {
  Flow flow(with_sack(), {.sack = true});
  flow.write_octets(3000);
  flow.time_out();
  EXPECT_EQ(flow.info().retransmitted, Bytes{1000});
  flow.sack(1001, {{2001, 3001}});  // the gap is filled
  EXPECT_EQ(flow.segments(), "1+1000 1001+1000 2001+1000 1+1000 1001+1000");
  EXPECT_EQ(flow.info().retransmitted, Bytes{1000});
  flow.ack(3001);
  EXPECT_EQ(flow.info().retransmitted, Bytes{});
}

TEST(Accounts, OctetsAcknowledgedWithEceAreCounted) {
  Config config = with_accounts();
  config.tcp.ecn = tcp::EcnPolicy::accept;
  Kit kit(config);
  kit.listen();
  kit.deliver({.flags = flag::syn | flag::ece | flag::cwr, .mss = 1000});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  kit.write(octets(1, 3000));
  kit.deliver({.flags = flag::ack | flag::ece, .seq = 1, .ack = 1001});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 3001});
  EXPECT_EQ(kit.info().account.octets_marked, 1000u);
}

TEST(Accounts, TheMinimumRttOutlivesTheFlight) {
  Config config = with_accounts();
  Flow flow(config, {.round_trip = Duration::milliseconds(40)});
  EXPECT_EQ(flow.info().least_rtt, Duration::milliseconds(40));
  flow.write_octets(1000);
  flow.advance(Duration::milliseconds(30));
  flow.ack(1001);
  flow.write_octets(1000);
  flow.advance(Duration::milliseconds(50));
  flow.ack(2001);
  EXPECT_EQ(flow.info().least_rtt, Duration::milliseconds(30));
}

TEST(Accounts, AReceiverMeasuresRttByItsBuffer) {
  Config config = with_accounts();
  config.tcp.receive_buffer = Bytes{2000};
  Flow flow(config);
  flow.data(1, 1000);  // starts the first round
  flow.read(flow.id);
  std::uint32_t at = 1001;
  for (std::uint32_t const pause : {30u, 20u, 50u}) {
    for (int i = 0; i < 2; ++i) {
      flow.advance(Duration::milliseconds(pause));
      flow.data(at, 1000);
      flow.read(flow.id);
      at += 1000;
    }
  }
  // The buffer holds two segments: the minimum of 60, 40 and 100 ms.
  EXPECT_EQ(flow.info().account.rcv_rtt, Duration::milliseconds(40));
}

TEST(Accounts, AReceiverMeasuresRttByEchoes) {
  Config config = with_accounts();
  config.tcp.timestamps = true;
  Flow flow(config, {.stamp = 1000});
  flow.segments();
  for (int i = 0; i < 40; ++i) {
    flow.write_octets(10);
    flow.segments();
    flow.advance(Duration::milliseconds(25));
    ++flow.stamp;
    flow.acked = flow.written + 1;
    flow.data(1 + static_cast<std::uint32_t>(i) * 100, 100);
    flow.read(flow.id);
  }
  Duration const seen = flow.info().account.rcv_rtt;
  EXPECT_GE(seen, Duration::milliseconds(24));
  EXPECT_LE(seen, Duration::milliseconds(26));
}

TEST(Accounts, KeepAliveFollowsTheSettings) {
  Flow flow(with_accounts());
  for (Setting const setting :
       {Setting{SettingKind::keepalive_interval_ms, 1000},
        Setting{SettingKind::keepalive_probes, 2}, Setting{SettingKind::keepalive_idle_ms, 5000},
        Setting{SettingKind::keepalive, 1}}) {
    ASSERT_EQ(flow.stack.set(flow.id, setting), Refusal::none);
  }
  EXPECT_EQ(flow.info().account.keepalive_interval, Duration::seconds(1));
  EXPECT_EQ(flow.info().account.keepalive_probes, Count{2});
  flow.advance(Duration::milliseconds(4999));
  EXPECT_EQ(flow.sent(), "");
  flow.advance(Duration::milliseconds(1));
  EXPECT_EQ(flow.sent(), "A 0(0) ack 1");
  flow.advance(Duration::seconds(1));
  EXPECT_EQ(flow.sent(), "A 0(0) ack 1");
  flow.advance(Duration::seconds(1));
  EXPECT_EQ(flow.sent(), "R 1(0)");
  EXPECT_EQ(flow.state(), State::closed);
}

TEST(Accounts, AnMssIsSentInTheSynAndObeyed) {
  Kit kit(with_accounts());
  Open open;
  open.remote = {IpAddress::v4(10, 0, 0, 2), Port{Kit::peer_port}};
  open.local.port = Port{Kit::device_port};
  ASSERT_EQ(kit.stack.connect(open, kit.id), Refusal::none);
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::mss, 500}), Refusal::none);
  kit.turn();
  auto const syn = kit.take();
  ASSERT_EQ(syn.size(), 1u);
  EXPECT_EQ(syn[0].mss, 500);
}

TEST(Accounts, AListenersMssIsThatOfItsSynAcksAndConnections) {
  for (tcp::SynCookies const cookies : {tcp::SynCookies::off, tcp::SynCookies::always}) {
    for (std::uint32_t const cache : {0u, 16u}) {
      Config config = with_accounts();
      config.tcp.syn_cookies = cookies;
      config.tcp.syn_cache_max = Count{cache};
      config.tcp.syn_cache_after = Count{0};
      Kit kit(config);
      ListenerId listener;
      Backlog backlog;
      backlog.mss = Bytes{500};
      ASSERT_EQ(kit.stack.listen({IpAddress{}, Port{Kit::device_port}, {}}, backlog, listener),
                Refusal::none);
      kit.deliver({.flags = flag::syn, .mss = 1000});
      auto const answer = kit.take();
      ASSERT_EQ(answer.size(), 1u);
      EXPECT_EQ(answer[0].mss, 500);
      kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
      EXPECT_EQ(kit.info().send.mss, Bytes{500});
      EXPECT_EQ(kit.info().account.mss, Bytes{500});
    }
  }
}

TEST(Accounts, AnMssMayShrinkWhileDataIsInFlight) {
  Flow flow(with_accounts());
  flow.write_octets(2000);
  EXPECT_EQ(flow.segments(), "1+1000 1001+1000");
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::mss, 400}), Refusal::none);
  EXPECT_EQ(flow.info().send.mss, Bytes{400});
  flow.time_out();
  EXPECT_EQ(flow.segments(), "1+400");
  // A value above the peer's MSS is no limit.
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::mss, 1400}), Refusal::none);
  EXPECT_EQ(flow.info().send.mss, Bytes{400});
}

TEST(Accounts, AControllerIsChosenForOneConnection) {
  Config config = with_accounts();
  config.tcp.congestion = tcp::Congestion::reno;
  Flow flow(config);
  EXPECT_EQ(flow.info().congestion, tcp::Congestion::reno);
  flow.write_octets(4000);
  std::uint32_t const cwnd = flow.cwnd();
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::congestion, as_number(tcp::Congestion::dctcp)}),
            Refusal::none);
  EXPECT_EQ(flow.info().congestion, tcp::Congestion::dctcp);
  EXPECT_EQ(flow.info().alpha, 65'536u);
  EXPECT_EQ(flow.cwnd(), cwnd);
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::congestion, as_number(tcp::Congestion::cubic)}),
            Refusal::none);
  EXPECT_EQ(flow.info().alpha, 0u);
  // CUBIC reduces to 0.7 of the window at a loss, Reno to a half.
  flow.time_out();
  EXPECT_EQ(flow.ssthresh(), 2800u);
}

// The same calls, with accounts and without, give the same segments at the same times.
std::string played(bool accounts) {
  Config config = flow_config();
  config.tcp.accounts = accounts;
  config.tcp.congestion = tcp::Congestion::cubic;
  config.tcp.sack = true;
  config.tcp.rack = true;
  config.tcp.keepalive = true;
  config.tcp.keepalive_idle = Duration::seconds(1);
  config.tcp.keepalive_interval = Duration{1'500'700'001};
  Flow flow(config, {.sack = true});
  std::string out;
  auto const note = [&] {
    for (Out const& segment : flow.take()) {
      out += std::to_string(segment.at.ns) + " " + line(segment) + " " +
             std::to_string(segment.window) + " " + std::to_string(segment.mss) + "\n";
    }
  };
  flow.write_octets(20'000);
  note();
  flow.sack(1, {{1001, 3001}});
  note();
  flow.time_out();
  note();
  flow.ack_with_window(3001, 2000);
  note();
  flow.ack_with_window(flow.written + 1, 2000);
  flow.data(1, 900);
  flow.data(2001, 900);
  note();
  flow.advance(Duration::seconds(5));
  note();
  return out;
}

TEST(Accounts, ChangeNothingThatIsSent) {
  std::string const without = played(false);
  EXPECT_FALSE(without.empty());
  EXPECT_EQ(played(true), without);
}

TEST(Accounts, AreInSnapshotsAndFingerprints) {
  Flow flow(with_accounts());
  std::uint64_t const before = flow.stack.fingerprint();
  std::vector<std::byte> kept(static_cast<std::size_t>(flow.stack.snapshot_bytes()));
  flow.stack.snapshot(kept);
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::keepalive_probes, 3}), Refusal::none);
  EXPECT_NE(flow.stack.fingerprint(), before);
  ASSERT_EQ(flow.stack.restore(kept), Refusal::none);
  EXPECT_EQ(flow.stack.fingerprint(), before);
  EXPECT_EQ(flow.info().account.keepalive_probes, Count{9});
}

TEST(Accounts, ANewConnectionBeginsWithNone) {
  Flow flow(with_accounts());
  flow.write_octets(1000);
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::keepalive_probes, 3}), Refusal::none);
  flow.stack.abort(flow.id);
  flow.turn();
  flow.take();
  Open open;
  open.remote = {IpAddress::v4(10, 0, 0, 2), Port{7000}};
  ConnectionId next;
  ASSERT_EQ(flow.stack.connect(open, next), Refusal::none);
  ConnectionInfo const info = flow.stack.inspect(next);
  EXPECT_EQ(info.account.data_segments_out, 0u);
  EXPECT_EQ(info.account.keepalive_probes, Count{9});
}

TEST(Fingerprints, SeeWhetherAStackHasStarted) {
  Config config = kit_config();
  std::vector<std::byte> memory(static_cast<std::size_t>(Stack::arena_bytes(config)) + 64);
  auto const aligned = [&] {
    auto const at = reinterpret_cast<std::uintptr_t>(memory.data());
    return std::span<std::byte>(memory).subspan((64 - at % 64) % 64);
  };
  Stack stack(config, aligned());
  std::uint64_t const unborn = stack.fingerprint();
  stack.expire(Instant{});
  EXPECT_NE(stack.fingerprint(), unborn);
}

TEST(Fingerprints, SeeWhenAStackStarted) {
  std::uint64_t exact[2] = {};
  std::uint64_t canonical[2] = {};
  for (std::uint32_t const born : {0u, 1u}) {
    Config const config = kit_config();
    std::vector<std::byte> memory(static_cast<std::size_t>(Stack::arena_bytes(config)) + 64);
    auto const at = reinterpret_cast<std::uintptr_t>(memory.data());
    Stack stack(config, std::span<std::byte>(memory).subspan((64 - at % 64) % 64));
    stack.expire(Instant{} + Duration::seconds(born));
    stack.expire(Instant{} + Duration::seconds(10));
    exact[born] = stack.fingerprint();
    canonical[born] = stack.canonical(Instant{} + Duration::seconds(10));
  }
  EXPECT_NE(exact[0], exact[1]);
  // Without a quiet time this does not influence the future.
  EXPECT_EQ(canonical[0], canonical[1]);
}

}  // namespace
}  // namespace lockstep::testing
