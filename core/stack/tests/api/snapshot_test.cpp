// The stack is a value: snapshots, restores, fingerprints.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/stack/testing/flow_kit.hpp"
#include "core/tcp/connection.hpp"
#include "core/units/hash.hpp"
#include "core/units/random.hpp"

namespace lockstep::testing {
namespace {

std::vector<std::byte> snapshot_of(const Stack& stack) {
  std::vector<std::byte> out(stack.snapshot_bytes());
  stack.snapshot(out);
  return out;
}

// Gives an altered snapshot the checksum of its state, which is the last word of the header.
std::vector<std::byte> with_checksum(std::vector<std::byte> bytes) {
  constexpr std::size_t header = 4 * sizeof(std::uint64_t);
  Fingerprint print;
  std::uint64_t word = 0;
  for (std::size_t at = header; at < bytes.size(); at += sizeof word) {
    word = 0;
    std::memcpy(&word, &bytes[at], std::min(bytes.size() - at, sizeof word));
    print.add(word);
  }
  word = print.value();
  std::memcpy(&bytes[header - sizeof word], &word, sizeof word);
  return bytes;
}

// Copies all that the kit itself stores about a flow.
void follow(Flow& to, const Flow& from) {
  to.now = from.now;
  to.device_iss = from.device_iss;
  to.id = from.id;
  to.written = from.written;
  to.acked = from.acked;
  to.peer_next = from.peer_next;
  to.window = from.window;
}

std::string frames_of(Flow& flow) {
  std::string out;
  for (Out const& segment : flow.take()) {
    EXPECT_EQ(segment.data, octets(segment.seq, Flow::length_of(segment)));
    out += std::to_string(segment.at.ns) + " " + line(segment) + " window " +
           std::to_string(segment.window) + "\n";
  }
  return out;
}

// One random action on a flow, in both directions.
void happen(Flow& flow, Random& draw) {
  auto const next = flow.info().receive.nxt.value - flow.peer_iss.value;
  auto const sent = flow.info().send.nxt.value - flow.device_iss.value;
  switch (draw.below(6)) {
    case 0:
      flow.write_octets(static_cast<std::uint32_t>(1 + draw.below(3000)));
      break;
    case 1:
      flow.ack(flow.acked + static_cast<std::uint32_t>(draw.below(sent - flow.acked + 1)));
      break;
    case 2:
      flow.duplicates(static_cast<std::uint32_t>(draw.below(4)));
      break;
    case 3:
      flow.data(next + static_cast<std::uint32_t>(draw.below(3) * 500), 700);
      break;
    case 4:
      flow.ack_with_window(flow.acked, static_cast<std::uint16_t>(draw.below(4) * 20'000));
      break;
    default:
      flow.advance(Duration::milliseconds(draw.below(3000)));
      break;
  }
}

TEST(Snapshot, RestoredStackContinuesByteForByte) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Config config = flow_config();
    config.tcp.user_timeout = Duration{};
    Flow original(config);
    Random draw(seed);
    for (std::uint64_t i = 0, count = draw.below(60); i < count; ++i) {
      happen(original, draw);
    }
    original.take();
    auto const bytes = snapshot_of(original.stack);
    Flow restored(config);
    restored.take();
    ASSERT_EQ(restored.stack.restore(bytes), Refusal::none);
    follow(restored, original);
    ASSERT_EQ(restored.stack.fingerprint(), original.stack.fingerprint()) << seed;
    Random first(seed + 1000);
    Random second(seed + 1000);
    for (int i = 0; i < 60; ++i) {
      happen(original, first);
      happen(restored, second);
      ASSERT_EQ(frames_of(restored), frames_of(original)) << "seed " << seed << " step " << i;
      ASSERT_EQ(restored.stack.fingerprint(), original.stack.fingerprint()) << seed;
    }
    // And back: the time is part of the value, too.
    ASSERT_EQ(original.stack.restore(bytes), Refusal::none);
    ASSERT_EQ(snapshot_of(original.stack), bytes);
  }
}

TEST(Snapshot, ForeignBytesAreRefused) {
  Flow flow;
  auto bytes = snapshot_of(flow.stack);
  auto const before = flow.stack.fingerprint();
  bytes[0] ^= std::byte{1};
  EXPECT_EQ(flow.stack.restore(bytes), Refusal::bad_snapshot);
  bytes[0] ^= std::byte{1};
  EXPECT_EQ(flow.stack.restore(std::span(bytes).first(bytes.size() - 1)), Refusal::bad_snapshot);
  EXPECT_EQ(flow.stack.restore({}), Refusal::bad_snapshot);
  Config other = flow_config();
  other.tcp.blocks_max = Count{256};
  Flow smaller(other);
  EXPECT_EQ(smaller.stack.restore(bytes), Refusal::bad_snapshot);
  // One range less, in an arena of the same size: its index would be valid in one stack only.
  other = flow_config();
  --other.tcp.extents_max.value;
  Flow almost(other);
  ASSERT_EQ(almost.stack.snapshot_bytes(), flow.stack.snapshot_bytes());
  EXPECT_EQ(almost.stack.restore(bytes), Refusal::bad_snapshot);
  other = flow_config();
  other.tcp.isn_key.first ^= 1;
  Flow secretive(other);
  EXPECT_EQ(secretive.stack.restore(bytes), Refusal::bad_snapshot);
  other = flow_config();
  --other.addresses[0].prefix_bits;
  Flow wider(other);
  EXPECT_EQ(wider.stack.restore(bytes), Refusal::bad_snapshot);
  EXPECT_EQ(flow.stack.fingerprint(), before);
}

// The fingerprint changes with every variable, and inspection changes nothing.
TEST(Snapshot, ADamagedOneIsRefused) {
  Flow flow;
  flow.write_octets(3000);
  auto bytes = snapshot_of(flow.stack);
  auto const before = flow.stack.fingerprint();
  Random draw(1);
  for (int i = 0; i < 200; ++i) {
    std::byte& damaged = bytes[draw.below(bytes.size())];
    damaged ^= std::byte{16};
    ASSERT_EQ(flow.stack.restore(bytes), Refusal::bad_snapshot);
    damaged ^= std::byte{16};
  }
  EXPECT_EQ(flow.stack.fingerprint(), before);
  EXPECT_EQ(flow.stack.restore(bytes), Refusal::none);
}

TEST(Snapshot, OneOfAStackWithOtherNeighboursIsRefused) {
  Config config = flow_config();
  config.link = LinkType::ethernet;
  config.mac = Mac{{2, 0, 0, 0, 0, 1}};
  config.static_neighbours[0] = {IpAddress::v4(10, 0, 0, 3), Mac{{2, 0, 0, 0, 0, 3}}};
  config.static_neighbour_count = Count{1};
  std::vector<std::byte> first_arena(Stack::arena_bytes(config) + 64);
  auto const aligned = [](std::vector<std::byte>& arena) {
    return std::span(arena).subspan((64 - reinterpret_cast<std::uintptr_t>(arena.data()) % 64) %
                                    64);
  };
  Stack const first(test_keys(config), aligned(first_arena));
  config.static_neighbours[0].mac = Mac{{2, 0, 0, 0, 0, 4}};
  std::vector<std::byte> second_arena(Stack::arena_bytes(config) + 64);
  Stack second(test_keys(config), aligned(second_arena));
  EXPECT_EQ(second.restore(snapshot_of(first)), Refusal::bad_snapshot);
}

TEST(Snapshot, LoansNeedTheirRegionAgain) {
  Flow flow;
  std::string const content(5000, 'x');
  flow.stack.bind(RegionId{0}, Kit::bytes_of(content));
  flow.ack_with_window(1, 0);
  ASSERT_EQ(flow.stack.lend(flow.id, {RegionId{0}, 0, 5000}).bytes, Bytes{5000});
  flow.turn();
  auto const bytes = snapshot_of(flow.stack);
  Flow restored;
  ASSERT_EQ(restored.stack.restore(bytes), Refusal::none);
  follow(restored, flow);
  EXPECT_DEATH(restored.ack_with_window(1, 10'000), "region.bytes.size");
  restored.stack.bind(RegionId{0}, Kit::bytes_of(content));
  restored.take();
  restored.ack_with_window(1, 10'000);
  EXPECT_FALSE(restored.take().empty());
}

TEST(Fingerprint, SeesChangesAndNothingElse) {
  Flow flow;
  auto const idle = flow.stack.fingerprint();
  EXPECT_EQ(flow.stack.fingerprint(), idle);
  static_cast<void>(flow.info());
  static_cast<void>(snapshot_of(flow.stack));
  EXPECT_EQ(flow.stack.fingerprint(), idle);
  flow.write_octets(1);
  auto const sent = flow.stack.fingerprint();
  EXPECT_NE(sent, idle);
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::ttl, 7}), Refusal::none);
  EXPECT_NE(flow.stack.fingerprint(), sent);
}

ConnectionId open_to(Kit& kit, std::uint16_t port) {
  Open open;
  open.local = {kit.device, {Kit::device_port}};
  open.remote = {kit.peer, {port}};
  ConnectionId id;
  EXPECT_EQ(kit.stack.connect(open, id), Refusal::none);
  return id;
}

// The same connections in other slots: equal canonically, different exactly.
TEST(Fingerprint, CanonicalIgnoresSlots) {
  Kit forwards(flow_config());
  Kit backwards(flow_config());
  for (std::uint16_t port = 6000; port < 6010; ++port) {
    open_to(forwards, port);
  }
  for (std::uint16_t port = 6009; port >= 6000; --port) {
    open_to(backwards, port);
  }
  forwards.turn();
  backwards.turn();
  EXPECT_NE(forwards.stack.fingerprint(), backwards.stack.fingerprint());
  EXPECT_EQ(forwards.stack.canonical(forwards.now), backwards.stack.canonical(backwards.now));
  open_to(forwards, 7000);
  EXPECT_NE(forwards.stack.canonical(forwards.now), backwards.stack.canonical(backwards.now));
}

// A slot that was used before makes no difference.
TEST(Fingerprint, CanonicalIgnoresGenerations) {
  Kit fresh(flow_config());
  Kit used(flow_config());
  for (int i = 0; i < 3; ++i) {
    used.stack.abort(open_to(used, 6000));
    used.turn();
  }
  open_to(fresh, 6001);
  open_to(used, 6001);
  fresh.turn();
  used.turn();
  EXPECT_NE(fresh.stack.fingerprint(), used.stack.fingerprint());
  EXPECT_EQ(fresh.stack.canonical(fresh.now), used.stack.canonical(used.now));
}

// Predecessor, defect 8: an uninitialised timer flag was read. A slot keeps what its last user
// left, so a second use must behave like the first.
TEST(Fingerprint, Defect08_SecondUseStartsLikeAFirst) {
  Config config = flow_config();
  config.tcp.connections_max = Count{1};  // so that the slot is the same
  config.tcp.active_max = Count{1};
  Flow flow(config);
  flow.write_octets(5000);
  flow.data(501, 100);
  flow.duplicates(3);
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::keepalive, 1}), Refusal::none);
  flow.time_out();
  flow.ack(5001);
  flow.write_octets(1000);  // a segment that is being timed
  flow.stack.abort(flow.id);
  flow.turn();
  flow.take();
  flow.connect();
  ConnectionInfo const info = flow.info();
  EXPECT_TRUE(info.persist_due.is_never());
  EXPECT_TRUE(info.delayed_ack_due.is_never());
  EXPECT_EQ(info.retransmit_due, flow.now + Duration::seconds(1));
  EXPECT_EQ(info.rto, Duration::seconds(1));
  EXPECT_EQ(info.retries, 0u);
  EXPECT_EQ(info.duplicate_acks, 0u);
  EXPECT_EQ(info.cwnd.count, 0u);
  EXPECT_FALSE(info.fast_recovery);
  Kit first(config);
  first.listen();
  first.now = flow.now;
  first.turn();
  first.connect();
  EXPECT_EQ(first.stack.canonical(first.now), flow.stack.canonical(flow.now));
}

// Delivers the segments in one burst, before anything is sent.
void take_in(Kit& kit, std::initializer_list<In> segments) {
  std::vector<std::vector<std::byte>> frames;
  std::vector<Ingress> burst;
  for (In const& in : segments) {
    frames.push_back(kit.frame_of(in));
  }
  for (auto const& frame : frames) {
    burst.push_back({frame, Checksum::unknown, kit.now});
  }
  kit.stack.receive(kit.now, burst);
  kit.stack.settle();
}

// Queued replies count by their content, not by their number.
TEST(Fingerprint, SeesReplies) {
  Kit first;
  Kit second;
  take_in(first, {{.flags = flag::ack, .ack = 1}});
  take_in(second, {{.flags = flag::ack, .ack = 2}});
  EXPECT_NE(first.stack.fingerprint(), second.stack.fingerprint());
  EXPECT_NE(first.stack.canonical(first.now), second.stack.canonical(second.now));
}

// Flags of an idle connection are part of the state. Each is changed in a snapshot, in which the
// record is found by its first fields.
TEST(Fingerprint, SeesTheFlagsOfAnIdleConnection) {
  using Turn = void (*)(tcp::Connection&);
  constexpr std::array<Turn, 13> turns{
      [](tcp::Connection& c) { c.sack = !c.sack; },
      [](tcp::Connection& c) { c.nagle = !c.nagle; },
      [](tcp::Connection& c) { c.delayed_acks = !c.delayed_acks; },
      [](tcp::Connection& c) { c.keepalive = !c.keepalive; },
      [](tcp::Connection& c) { c.soft_errors = !c.soft_errors; },
      [](tcp::Connection& c) { c.path_limited = !c.path_limited; },
      [](tcp::Connection& c) { c.receive_buffer_set = !c.receive_buffer_set; },
      [](tcp::Connection& c) { c.send_buffer_set = !c.send_buffer_set; },
      [](tcp::Connection& c) { c.syn_lost = !c.syn_lost; },
      [](tcp::Connection& c) { c.doubt_next_hop = !c.doubt_next_hop; },
      [](tcp::Connection& c) { c.reordering_seen = !c.reordering_seen; },
      [](tcp::Connection& c) { c.probe_doubtful = !c.probe_doubtful; },
      [](tcp::Connection& c) { c.rto_suspect = !c.rto_suspect; }};
  Flow kit(flow_config());
  ASSERT_EQ(kit.stack.pools().active, 0u);
  auto const before = snapshot_of(kit.stack);
  std::uint64_t const print = kit.stack.canonical(kit.now);
  tcp::Connection key;
  key.remote = kit.peer;
  key.remote_port = {Kit::peer_port};
  std::span<const std::byte> const begin = std::as_bytes(std::span(&key, 1)).first(18);
  auto const at = std::ranges::search(before, begin);
  ASSERT_FALSE(at.empty());
  std::size_t const from = static_cast<std::size_t>(at.begin() - before.begin());
  for (std::size_t i = 0; i < turns.size(); ++i) {
    tcp::Connection record;
    std::memcpy(static_cast<void*>(&record), &before[from], sizeof record);
    turns[i](record);
    auto turned = before;
    std::memcpy(&turned[from], &record, sizeof record);
    ASSERT_EQ(kit.stack.restore(with_checksum(turned)), Refusal::none);
    EXPECT_NE(kit.stack.canonical(kit.now), print) << i;
  }
  ASSERT_EQ(kit.stack.restore(before), Refusal::none);
  EXPECT_EQ(kit.stack.canonical(kit.now), print);
}

// So is what a connection stores about a possibly spurious timeout. The active part is found by two
// of its instants.
TEST(Fingerprint, SeesTheStateStoredAtATimeout) {
  using Turn = void (*)(tcp::InFlightState&);
  constexpr std::array<Turn, 8> turns{
      [](tcp::InFlightState& a) { a.unacked_since.ns ^= 2; },
      [](tcp::InFlightState& a) { a.echo.first_at.ns ^= 2; },
      [](tcp::InFlightState& a) { a.echo.retransmitted_at.ns ^= 2; },
      [](tcp::InFlightState& a) { a.echo.exact = !a.echo.exact; },
      [](tcp::InFlightState& a) { a.echo.timeout = !a.echo.timeout; },
      [](tcp::InFlightState& a) { a.rtt_before.srtt8_ns ^= 2; },
      [](tcp::InFlightState& a) { a.rtt_before.rttvar4_ns ^= 2; },
      [](tcp::InFlightState& a) { a.rtt_before.sent = a.rtt_before.sent + Bytes{1}; }};
  Config config = flow_config();
  config.tcp.timestamps = true;
  config.tcp.undo_by_timestamps = true;
  Flow flow(config, {.stamp = 1000});
  flow.advance(Duration{7'654'321});
  flow.write_octets(1000);
  flow.turn();
  Instant const left = flow.now;
  flow.time_out();
  auto const before = snapshot_of(flow.stack);
  std::uint64_t const print = flow.stack.fingerprint();
  tcp::InFlightState record;
  std::size_t found = 0;
  for (std::size_t at = 0; at + sizeof record <= before.size(); at += sizeof(std::uint32_t)) {
    std::memcpy(static_cast<void*>(&record), &before[at], sizeof record);
    if (record.echo.first_at != left || record.unacked_since != left) {
      continue;
    }
    ++found;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      std::memcpy(static_cast<void*>(&record), &before[at], sizeof record);
      turns[i](record);
      auto turned = before;
      std::memcpy(&turned[at], static_cast<const void*>(&record), sizeof record);
      ASSERT_EQ(flow.stack.restore(with_checksum(turned)), Refusal::none);
      EXPECT_NE(flow.stack.fingerprint(), print) << i;
    }
  }
  EXPECT_EQ(found, 1u);
}

// The order of connections that wait to be admitted is part of the state, too.
TEST(Fingerprint, SeesTheOrderOfWaitingConnections) {
  std::vector<std::uint64_t> prints;
  for (int const first : {0, 1}) {
    Kit kit(flow_config());
    Local local;
    local.port = {Kit::device_port};
    ListenerId listener;
    ASSERT_EQ(kit.stack.listen(local, {Count{8}, Count{0}}, listener), Refusal::none);
    std::array<Sequence, 2> iss{};
    wire::Segment s;
    s.destination = {Kit::device_port};
    s.window = {65535};
    for (std::uint16_t i = 0; i < 2; ++i) {
      s.source = {static_cast<std::uint16_t>(6000 + i)};
      s.sequence = {0};
      s.flags = flag::syn;
      kit.send_segment(s, "");
      kit.turn();
      iss[i] = kit.take().at(0).absolute;
    }
    for (std::uint16_t i = 0; i < 2; ++i) {
      auto const which = static_cast<std::uint16_t>(i ^ first);
      s.source = {static_cast<std::uint16_t>(6000 + which)};
      s.sequence = {1};
      s.acknowledgment = iss[which].next();
      s.flags = flag::ack;
      kit.send_segment(s, "");
    }
    kit.turn();
    prints.push_back(kit.stack.canonical(kit.now));
  }
  EXPECT_NE(prints[0], prints[1]);
}

// The timer of the SYN cache may be set for an entry that is gone: it fires anyway.
TEST(Fingerprint, SeesTheTimerOfTheSynCache) {
  std::vector<std::uint64_t> prints;
  std::vector<Instant> deadlines;
  for (bool const emptied : {false, true}) {
    Config config = flow_config();
    config.tcp.syn_cache_max = Count{4};
    config.tcp.syn_cache_after = Count{0};
    Kit kit(config);
    kit.listen();
    auto const say = [&](std::uint16_t port, Flags flags) {
      wire::Segment s;
      s.source = {port};
      s.destination = {Kit::device_port};
      s.sequence = {flags.rst() ? 1u : 0u};
      s.flags = flags;
      kit.send_segment(s, "");
      kit.turn();
    };
    say(6000, flag::syn);
    say(6001, flag::syn);
    if (emptied) {
      say(6000, flag::rst);
    }
    say(6001, flag::rst);
    kit.advance(Duration::milliseconds(100));
    say(6002, flag::syn);
    if (!emptied) {
      say(6000, flag::rst);
    }
    ASSERT_EQ(kit.stack.pools().half_open, 1u);
    prints.push_back(kit.stack.fingerprint());
    deadlines.push_back(kit.stack.deadline());
  }
  EXPECT_NE(deadlines[0], deadlines[1]);
  EXPECT_NE(prints[0], prints[1]);
}

// The order of the transmit queue is part of the state.
TEST(Fingerprint, SeesTheOrderOfService) {
  std::vector<std::uint64_t> prints;
  for (std::uint32_t first : {0u, 1u}) {
    Kit kit(flow_config());
    std::array<ConnectionId, 2> const ids{open_to(kit, 6000), open_to(kit, 6001)};
    kit.turn();
    for (std::uint32_t i = 0; i < 2; ++i) {
      ConnectionId const id = ids[(first + i) % 2];
      ASSERT_EQ(kit.stack.write(id, Kit::bytes_of("x")).bytes.count, 1u);
    }
    prints.push_back(kit.stack.canonical(kit.now));
  }
  EXPECT_NE(prints[0], prints[1]);
}

}  // namespace
}  // namespace lockstep::testing
