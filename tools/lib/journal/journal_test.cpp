// A recorded run replays octet by octet; changes, truncation and loss are found and named.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "core/stack/config_fields.hpp"
#include "core/stack/testing/test_keys.hpp"
#include "tools/base/capture/capture.hpp"
#include "tools/base/capture/decode.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/http/http_kit.hpp"
#include "tools/lib/journal/config_json.hpp"
#include "tools/lib/journal/http_parts.hpp"
#include "tools/lib/journal/inspection.hpp"
#include "tools/lib/journal/mend_checksum.hpp"
#include "tools/lib/journal/recorder.hpp"
#include "tools/lib/journal/replay.hpp"

namespace lockstep::journal {
namespace {

using http::testing::Client;
using http::testing::ClientConnection;
using http::testing::Joined;
using http::testing::Lossy;

/// A driver that regularly has no room to send, as a kernel's queue can be full.
template <class Port>
class Crowded {
 public:
  explicit Crowded(Port& port) : port_(port) {}
  Instant now() { return port_.now(); }
  std::span<const Ingress> receive() { return port_.receive(); }
  std::span<std::byte> claim() {
    ++claims_;
    return claims_ % 5 == 0 ? std::span<std::byte>{} : port_.claim();
  }
  void commit(const Egress& egress) { port_.commit(egress); }
  void reclaim() { port_.reclaim(); }
  void flush() { port_.flush(); }

 private:
  Port& port_;
  std::uint32_t claims_ = 0;
};

std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n"; }

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// The first initial sequence number of stacks made from here on.
std::uint32_t isn_base = tcp::Config{}.isn_base.value;

void begin_there(Config& config) { config.tcp.isn_base = {isn_base}; }

class Recorded : public testing::Test {
 protected:
  Recorded() : path(testing::TempDir() + "lockstep_journal_test") {}
  ~Recorded() override { std::filesystem::remove(path); }

  /// A few downloads with loss in both directions, and a stop in the middle of the last.
  void record(std::uint32_t lose_every, bool ends = true) {
    http::Site site;
    std::string const text(5000, 'j');
    ASSERT_TRUE(site.add("/file.txt", std::as_bytes(std::span(text))));
    // Two names that are not UTF-8 and differ only in the invalid octet.
    ASSERT_TRUE(site.add("/caf\xe8.txt", std::as_bytes(std::span(text)).first(10)));
    ASSERT_TRUE(site.add("/caf\xe9.txt", std::as_bytes(std::span(text)).first(300)));
    site.complete();
    Joined joined({}, begin_there);
    http::ServerSettings const settings;
    http::Server server(site, settings, joined.config.tcp.connections_max);
    ASSERT_EQ(server.start(joined.server), Refusal::none);
    Writer writer(path);
    write_parts(writer, {joined.config, "wire", 1'000'000'000}, settings, site);
    TurnLog log(writer, joined.config.frames_per_turn);
    Lossy lossy(joined.server_port, lose_every);
    Lossy back(joined.client_port, lose_every == 0 ? 0 : lose_every + 2);
    Crowded crowded(lossy);
    Recorder recorder(crowded, log, joined.server);
    Noted noted(server, log);
    Client client(tools::benchmark::server_address());
    auto const advance = [&](Duration by) { joined.advance(by, back, client, recorder, noted); };
    for (std::uint32_t i = 0; i < 20; ++i) {
      if (i == 10) {
        log.link_mtu(Bytes{900});
        joined.server.set_link_mtu(Bytes{900});
      }
      ClientConnection& connection =
          client.open(joined.client, get("/bytes/" + std::to_string(i * 4321)) + get("/file.txt") +
                                         get("/caf%E9.txt") + get("/caf%E8.txt") + get("/missing"));
      connection.piece = 1 + i * 5;
      advance(Duration::milliseconds(3));
    }
    advance(Duration::seconds(30));
    ClientConnection& last = client.open(joined.client, get("/bytes/1000000"));
    advance(Duration::milliseconds(1));
    log.flush();
    noted.stop(joined.server, joined.now());
    advance(Duration::seconds(5));
    last.reads = false;
    noted.abandon(joined.server, joined.now());
    advance(Duration::seconds(1));
    log.flush();  // discards a last turn that did not matter
    if (ends) {
      log.finish(joined.server.fingerprint());
    }
    EXPECT_EQ(writer.failed(), 0);
    sent = joined.server.statistics().frames_sent;
    received = joined.server.statistics().frames_received;
    turns = log.turns();
  }
  ReplayResult replay() { return replay_journal({path, {}, {}}); }

  std::string path;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t turns = 0;
};

TEST_F(Recorded, StopsWhereRequested) {
  record(5);
  for (std::uint64_t const asked : {1u, 7u, 40u}) {
    ReplayRequest request{path, {}, {}};
    request.turns = asked;
    ReplayResult const result = replay_journal(request);
    EXPECT_EQ(result.turns, asked);
    EXPECT_TRUE(result.stopped && result.clean() && !result.ended) << text_of(result, path);
  }
  ReplayRequest request{path, {}, {}};
  request.until = Duration::milliseconds(20);
  ReplayResult const early = replay_journal(request);
  EXPECT_TRUE(early.stopped);
  EXPECT_LE(early.lasted, *request.until);
  // The next turn begins later.
  request.until.reset();
  request.turns = early.turns + 1;
  EXPECT_GT(replay_journal(request).lasted, Duration::milliseconds(20));
  request.turns = turns;
  EXPECT_FALSE(replay_journal(request).stopped);  // trailing records are no turns
}

TEST_F(Recorded, PrintsEachFrame) {
  record(5);
  ReplayRequest request{path, {}, {}};
  std::vector<std::string> lines;
  request.on_line = [&](const std::string& line) { lines.push_back(line); };
  ReplayResult const result = replay_journal(request);
  auto const count = [&](const std::string& words) {
    return static_cast<std::uint64_t>(std::count_if(
        lines.begin(), lines.end(),
        [&](const std::string& line) { return line.find(words) != std::string::npos; }));
  };
  EXPECT_EQ(count(" in  "), result.frames_in);
  EXPECT_EQ(count(" out "), result.frames_out);
  EXPECT_EQ(count("is asked to stop"), 1u);
  EXPECT_EQ(count("aborts what is open"), 1u);
  EXPECT_EQ(count("the link's MTU is 900"), 1u);
  EXPECT_EQ(lines.size(), result.frames_in + result.frames_out + 3);
  EXPECT_NE(lines.front().find("turn 1 in"), std::string::npos) << lines.front();
  EXPECT_EQ(count(" octets, "), result.frames_in + result.frames_out);
  // each frame is printed as a TCP segment
  EXPECT_EQ(count(" seq "), result.frames_in + result.frames_out);
}

TEST_F(Recorded, ShowsTheStateOfEachConnection) {
  record(0);
  ReplayRequest request{path, {}, {}};
  EXPECT_FALSE(replay_journal(request).connections);
  request.inspect = true;
  // The first download has been requested by then, and no connection is closed.
  request.until = Duration::milliseconds(2);
  ReplayResult const result = replay_journal(request);
  ASSERT_TRUE(result.connections);
  ASSERT_EQ(result.connections->size(), 1u);
  EXPECT_EQ(result.connections->front().state, tcp::State::established);
  EXPECT_EQ(result.connections->front().tuple.local.address, tools::benchmark::server_address());
  std::string const text = text_of(result, path);
  EXPECT_NE(text.find("connections: 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("ESTABLISHED"), std::string::npos) << text;
  auto const report = tools::parse_json(json_of(result, path));
  EXPECT_EQ(report["connections"][0]["state"], "ESTABLISHED");
  EXPECT_EQ(report["connections"][0]["cwnd"], result.connections->front().cwnd.count);
  EXPECT_EQ(report["stopped"], true);
}

TEST_F(Recorded, ReplaysOctetByOctet) {
  for (std::uint32_t const lose_every : {0u, 5u, 11u}) {
    record(lose_every);
    ReplayResult const result = replay();
    EXPECT_TRUE(result.clean()) << text_of(result, path);
    EXPECT_TRUE(result.ended);
    EXPECT_EQ(result.tail, Tail::whole);
    EXPECT_EQ(result.frames_out, sent);
    EXPECT_EQ(result.frames_in, received);
    EXPECT_EQ(result.turns, turns);
    EXPECT_GT(sent, 700u);
  }
}

/// Inspects the first connection after this many turns.
ConnectionInfo first_of(const std::string& path, std::uint64_t turns) {
  ReplayRequest request{path, {}, {}};
  request.inspect = true;
  request.turns = turns;
  ReplayResult const result = replay_journal(request);
  return result.connections && !result.connections->empty() ? result.connections->front()
                                                            : ConnectionInfo{};
}

//= rfc9293#3.4
//= type=test
//# 9293:P-SEQ-MOD a journal is replayed and inspected where sequence numbers cross 2^31 and 2^32
TEST_F(Recorded, NumbersCrossTheMiddleAndTheEnd) {
  std::uint32_t const usual = isn_base;
  isn_base = 0;
  record(0);
  std::uint32_t const first = first_of(path, 8).send.iss.value;
  for (std::uint32_t const crossing : {0x8000'0000u, 0u}) {
    isn_base = crossing - 2'000 - first;
    record(0);
    ReplayResult const result = replay();
    EXPECT_TRUE(result.clean()) << text_of(result, path);
    // The first requests arrive octet by octet.
    bool crosses = false;
    for (std::uint64_t turn = 80; turn < 160 && !crosses; ++turn) {
      ConnectionInfo const info = first_of(path, turn);
      crosses = info.exists && info.send.una.before({crossing}) && info.send.nxt.after({crossing});
      if (crosses) {
        auto const report = json_of(std::vector{info});
        EXPECT_EQ(report[0]["flight"], info.send.nxt.since(info.send.una).count);
        EXPECT_LT(report[0]["flight"], 65'536u);
      }
    }
    EXPECT_TRUE(crosses) << crossing;
  }
  isn_base = usual;
}

/// Run by `tools/evidence long-stream`: replays more than 2^32 octets of one connection.
TEST_F(Recorded, DISABLED_FiveGibibytes) {
  constexpr std::uint64_t piece = 1'000'000'000;
  http::Site site;
  site.complete();
  Joined joined({.mtu = Bytes{65'535}, .extensions = true, .receive_buffer = Bytes{2'000'000}});
  http::ServerSettings const settings;
  http::Server server(site, settings, joined.config.tcp.connections_max);
  ASSERT_EQ(server.start(joined.server), Refusal::none);
  std::uint64_t heard = 0;
  {
    Writer writer(path);
    write_parts(writer, {joined.config, "wire", 1'000'000'000}, settings, site);
    TurnLog log(writer, joined.config.frames_per_turn);
    Recorder recorder(joined.server_port, log, joined.server);
    Noted noted(server, log);
    Client client(tools::benchmark::server_address());
    ClientConnection& connection = client.open(joined.client, "");
    for (std::uint32_t i = 0; i < 5; ++i) {
      connection.to_send = get("/bytes/" + std::to_string(piece));
      std::uint64_t const until = (i + 1) * piece;
      for (std::uint32_t round = 0; heard < until && round < 1'000'000; ++round) {
        joined.advance(Duration::microseconds(200), joined.client_port, client, recorder, noted);
        heard += connection.received.size();
        connection.received.clear();
      }
    }
    EXPECT_FALSE(connection.closed);
    log.finish(joined.server.fingerprint());
  }
  EXPECT_GT(heard, 5 * piece);
  ReplayResult const result = replay();
  EXPECT_TRUE(result.clean() && result.ended) << text_of(result, path);
}

TEST_F(Recorded, ATruncatedTailIsReportedAndTheRestUsed) {
  record(7, false);
  std::string const whole = contents(path);
  ReplayResult const unended = replay();
  EXPECT_TRUE(unended.clean()) << text_of(unended, path);
  EXPECT_FALSE(unended.ended);
  std::uint64_t before = 0;
  // Truncated at many places, as after a crash.
  for (std::size_t part = 40; part < 100; part += 7) {
    std::size_t const cut = whole.size() * part / 100;
    write_file(path, whole.substr(0, cut));
    ReplayResult const result = replay();
    EXPECT_TRUE(result.clean()) << text_of(result, path);
    EXPECT_LE(result.tail_offset, cut);
    EXPECT_EQ(result.tail == Tail::torn, result.tail_offset != cut);
    EXPECT_GE(result.turns, before);
    before = result.turns;
  }
  EXPECT_GT(before, 0u);
}

TEST_F(Recorded, EveryChangedOctetIsCaught) {
  record(7);
  std::string const whole = contents(path);
  for (std::size_t i = 0; i < 60; ++i) {
    std::string changed = whole;
    std::size_t const at = magic.size() + (whole.size() - magic.size()) * i / 60;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    write_file(path, changed);
    bool caught = false;
    try {
      ReplayResult const result = replay();
      caught = !result.clean() || result.tail == Tail::torn;
    } catch (const tools::Failure&) {
      caught = true;
    }
    EXPECT_TRUE(caught) << at;
  }
}

/// Copies a journal record by record with matching chain hashes; `change` may alter each record.
template <class Change>
void rewrite(const std::string& from, const std::string& to, Change&& change) {
  Reader reader(from);
  Writer writer(to);
  Record record;
  while (reader.next(record)) {
    change(record);
    writer.begin(record.kind);
    writer.octets(record.fields);
    writer.finish();
  }
}

TEST_F(Recorded, AChangeWithValidHashesIsFoundByItsFirstDivergentFrame) {
  record(0);
  std::string const other = path + ".changed";
  bool done = false;
  rewrite(path, other, [&](Record& record) {
    Turn turn;
    // The first request asks for another file, so the frame that answers it differs.
    std::string_view const text(reinterpret_cast<const char*>(record.fields.data()),
                                record.fields.size());
    std::size_t const at = text.find("/file.txt");
    if (!done && record.kind == Kind::turn && parse_turn(record, turn) &&
        at != std::string_view::npos) {
      record.fields[at + 1] = std::byte{'g'};
      done = true;
    }
  });
  ASSERT_TRUE(done);
  ReplayResult const result = replay_journal({other, {}, {}});
  EXPECT_FALSE(result.edited_record);
  ASSERT_TRUE(result.divergence) << text_of(result, other);
  EXPECT_GT(result.divergence->frame, 1u);
  EXPECT_NE(text_of(result, other).find("first divergence: frame "), std::string::npos);
  std::filesystem::remove(other);
}

TEST_F(Recorded, AFrameTooManyAndOneTooFewAreNamed) {
  record(0);
  std::string const other = path + ".changed";
  std::uint64_t frames = 0;
  rewrite(path, other, [&](Record& record) {
    Turn turn;
    if (record.kind == Kind::turn && parse_turn(record, turn)) {
      frames += turn.out.size();
      if (frames == turn.out.size() && frames == 1) {
        // The turn sent one frame; now it records none sent, and room for it.
        record.fields.resize(record.fields.size() - 12 - 4);
        record.fields.resize(record.fields.size() + 4);
      }
    }
  });
  ReplayResult const result = replay_journal({other, {}, {}});
  ASSERT_TRUE(result.divergence);
  EXPECT_EQ(result.divergence->frame, 1u);
  EXPECT_FALSE(result.divergence->recorded);
  std::filesystem::remove(other);
}

TEST_F(Recorded, ACaptureHoldsWhatWentOverTheWire) {
  record(7);
  std::string const capture = path + ".pcapng";
  replay_journal({path, capture, {}});
  tools::CaptureReader reader(capture);
  tools::CapturedFrame frame;
  std::uint64_t frames = 0;
  while (reader.next(frame)) {
    ++frames;
    EXPECT_EQ(tools::decode(frame, reader.link()).segment.sum, tools::SumState::good);
  }
  EXPECT_EQ(frames, sent + received);
  std::filesystem::remove(capture);
}

TEST(Journal, OtherFilesAreRefused) {
  std::string const path = testing::TempDir() + "lockstep_no_journal";
  write_file(path, "hello");
  EXPECT_THROW(replay_journal({path, {}, {}}), tools::Failure);
  write_file(path, std::string(magic));
  EXPECT_THROW(replay_journal({path, {}, {}}), tools::Failure);
  std::filesystem::remove(path);
  EXPECT_THROW(replay_journal({path, {}, {}}), tools::Failure);
}

TEST(ConfigJson, EveryFieldComesBack) {
  Config config = profile_linux();
  config.link = LinkType::ip;
  config.addresses[0] = {{1, 2}, 64};
  config.address_count = Count{1};
  config.routes[0] = {IpAddress::v4(10, 0, 0, 0), IpAddress::v4(192, 0, 2, 1), 8};
  config.route_count = Count{1};
  config.static_neighbours[0] = {IpAddress::v4(192, 0, 2, 1), {{2, 3, 4, 5, 6, 7}}};
  config.static_neighbour_count = Count{1};
  config.tcp.isn_key = {~std::uint64_t{0}, 1};
  config = test_keys(config);
  config.tcp.reset_policy = tcp::ResetPolicy::rfc793;
  auto const json = json_of(config);
  Config back;
  std::string fault;
  ASSERT_TRUE(config_from(json, back, fault)) << fault;
  EXPECT_EQ(json_of(back), json);
  EXPECT_EQ(back.tcp.isn_key.first, ~std::uint64_t{0});
  EXPECT_EQ(back.routes[0].gateway, config.routes[0].gateway);
  EXPECT_EQ(back.static_neighbours[0].mac, config.static_neighbours[0].mac);
  for (auto const& [name, value] : json.items()) {
    auto less = json;
    less.erase(name);
    EXPECT_FALSE(config_from(less, back, fault)) << name;
  }
  auto more = json;
  more["surprise"] = 1;
  EXPECT_FALSE(config_from(more, back, fault));
  EXPECT_NE(fault.find("does not know"), std::string::npos);
}

/// Converts to the type of any field.
struct Anything {
  template <class T>
  operator T() const;
};

template <class T, std::size_t... i>
constexpr bool takes(std::index_sequence<i...>) {
  return requires { T{(static_cast<void>(i), Anything{})...}; };
}

/// The number of fields of an aggregate.
template <class T, std::size_t n = 256>
constexpr std::size_t fields_of() {
  if constexpr (takes<T>(std::make_index_sequence<n>{})) {
    return n;
  } else {
    return fields_of<T, n - 1>();
  }
}

// A field added to Config but not to config_fields.hpp must be added here too.
TEST(ConfigJson, NoFieldIsForgotten) {
  // tcp::Config is a field itself; three lists have two fields each but one name.
  EXPECT_EQ(json_of(Config{}).size(), fields_of<Config>() - 1 - 3 + fields_of<tcp::Config>());
}

TEST(MendChecksum, OnlyASegmentWithAWrongSum) {
  // A packet of 20 octets of IPv4 and a 20-octet SYN without a checksum, from 10.0.0.1 to 10.0.0.2.
  std::vector<std::byte> packet(40);
  auto const set = [&](std::size_t at, int value) { packet[at] = static_cast<std::byte>(value); };
  set(0, 0x45);
  set(3, 40);
  set(9, 6);
  set(12, 10);
  set(15, 1);
  set(16, 10);
  set(19, 2);
  set(32, 0x50);
  set(33, 2);
  auto const before = packet;
  mend_checksum(packet, LinkType::ip);
  EXPECT_NE(packet, before);
  auto const mended = packet;
  mend_checksum(packet, LinkType::ip);
  EXPECT_EQ(packet, mended);
  auto udp = before;
  udp[9] = std::byte{17};
  auto const kept = udp;
  mend_checksum(udp, LinkType::ip);
  EXPECT_EQ(udp, kept);
}

}  // namespace
}  // namespace lockstep::journal
