// The seconds around a trouble replay from a snapshot; without trouble no file is written.
#include "tools/lib/journal/flight_recorder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tools/base/process/failure.hpp"
#include "tools/lib/http/http_kit.hpp"
#include "tools/lib/journal/http_parts.hpp"
#include "tools/lib/journal/recorder.hpp"
#include "tools/lib/journal/replay.hpp"

namespace lockstep::journal {
namespace {

using http::testing::Client;
using http::testing::ClientConnection;
using http::testing::Joined;
using http::testing::Lossy;

std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n"; }

class Kept : public testing::Test {
 protected:
  Kept() : path(testing::TempDir() + "lockstep_keeper_test") {
    site.complete();
    EXPECT_EQ(server.start(joined.server), Refusal::none);
  }
  ~Kept() override {
    for (std::string const& each : files) {
      std::filesystem::remove(each);
    }
  }

  /// A minute of downloads. In the middle, everything that the server sends is lost for two
  /// seconds.
  void run(const Troubles& troubles) {
    FlightRecorder flight_recorder(
        path, troubles, joined.server,
        {[this] { return server.counters().ends[static_cast<int>(Cause::reset)]; },
         [this] { return server.snapshot(); },
         [this](Writer& to) { write_parts(to, {joined.config, "wire", 0}, settings, site); }});
    TurnLog log(flight_recorder.writer(), joined.config.frames_per_turn);
    Recorder recorder(joined.server_port, log, joined.server, &flight_recorder);
    Noted noted(server, log);
    Client client(tools::benchmark::server_address());
    Lossy lossy(joined.server_port, 1);
    Recorder lost(lossy, log, joined.server, &flight_recorder);
    // In progress whenever a snapshot is taken, because it is read only every ten seconds.
    ClientConnection& slow = client.open(joined.client, get("/bytes/90000000"));
    for (std::uint32_t i = 0; i < 60; ++i) {
      slow.reads = i % 10 == 0;
      client.open(joined.client, get("/bytes/" + std::to_string(i == 30 ? 20'000'000 : i * 977)));
      joined.advance(Duration::microseconds(50), joined.client_port, client, recorder, noted);
      slow.reads = false;
      if (i == 30) {
        joined.advance(Duration::seconds(2), joined.client_port, client, lost, noted);
      }
      joined.advance(Duration::seconds(1), joined.client_port, client, recorder, noted);
    }
    EXPECT_FALSE(slow.closed);
    log.catch_up();
    flight_recorder.finish();
    files = flight_recorder.files();
    EXPECT_EQ(flight_recorder.failed(), 0);
  }

  std::string path;
  http::Site site;
  Joined joined;
  http::ServerSettings settings;
  http::Server server{site, settings, joined.config.tcp.connections_max};
  std::vector<std::string> files;
};

TEST_F(Kept, TheSecondsAroundATimeout) {
  Troubles troubles;
  troubles.rto = true;
  run(troubles);
  ASSERT_FALSE(files.empty());
  ReplayResult const result = replay_journal({files.front(), {}, {}});
  EXPECT_TRUE(result.clean()) << text_of(result, files.front());
  EXPECT_TRUE(result.from_snapshot);
  EXPECT_TRUE(result.ended);
  EXPECT_GT(result.frames_out, 20u);
  // Five seconds before, at most five more to the start of the piece, and five after.
  EXPECT_GE(result.lasted, Duration::seconds(9));
  EXPECT_LE(result.lasted, Duration::seconds(17));
}

TEST_F(Kept, WithoutTroubleNothingIsWritten) {
  Troubles troubles;
  troubles.reset = true;
  troubles.drops = {Drop::tcp_checksum};
  run(troubles);
  EXPECT_TRUE(files.empty());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Kept, AChangedSnapshotIsCaught) {
  Troubles troubles;
  troubles.rto = true;
  run(troubles);
  ASSERT_FALSE(files.empty());
  // Offset 40,000 is inside the snapshot, which is most of the file.
  std::fstream file(files.front(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(40'000);
  file.put('\x5a');
  file.close();
  try {
    replay_journal({files.front(), {}, {}});
    ADD_FAILURE() << "the changed snapshot was restored";
  } catch (const tools::Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("the file was changed"), std::string::npos);
  }
}

TEST(Troubles, AreNamed) {
  Troubles const all = parse_troubles("rto,drop:tcp_checksum,reset,drop:ip_version");
  EXPECT_TRUE(all.rto && all.reset);
  EXPECT_EQ(all.drops, (std::vector<Drop>{Drop::tcp_checksum, Drop::ip_version}));
  for (const char* const wrong : {"", "rto,", "Rto", "drop:", "drop:none", "drop:x", "rto reset"}) {
    EXPECT_THROW(parse_troubles(wrong), tools::Failure) << wrong;
  }
}

TEST(Snapshot, OtherOctetsAreRefused) {
  SnapshotParts parts;
  std::vector<std::byte> fields(20);
  fields[0] = std::byte{12};
  EXPECT_TRUE(parse_snapshot(fields, parts));
  EXPECT_EQ(parts.stack.size(), 12u);
  EXPECT_TRUE(parts.application.empty());
  fields[0] = std::byte{13};
  EXPECT_FALSE(parse_snapshot(fields, parts));
  EXPECT_FALSE(parse_snapshot(std::span(fields).first(7), parts));
  http::Site site;
  site.complete();
  http::Server server(site, {}, Count{8});
  http::Server other(site, {}, Count{9});
  EXPECT_TRUE(server.restore(server.snapshot()));
  EXPECT_FALSE(server.restore(other.snapshot()));
  EXPECT_FALSE(server.restore({}));
}

}  // namespace
}  // namespace lockstep::journal
