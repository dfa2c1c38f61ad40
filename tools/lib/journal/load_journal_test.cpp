// A load and its server, both recorded with loss: their journals replay, a changed one does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tools/base/process/failure.hpp"
#include "tools/lib/http/http_kit.hpp"
#include "tools/lib/journal/load_parts.hpp"
#include "tools/lib/journal/recorder.hpp"
#include "tools/lib/journal/replay.hpp"
#include "tools/lib/load/client.hpp"

namespace lockstep::journal {
namespace {

using http::testing::Joined;
using http::testing::Lossy;

/// The journal of one side.
template <class App>
struct Side {
  Side(const std::string& path, const Stack& stack, App& app, auto& port, const auto& parts)
      : writer(path),
        log(writer, stack.config().frames_per_turn),
        recorder(port, log, stack),
        noted(app, log),
        stack_(stack) {
    write_parts(writer, {stack.config(), "wire", 0}, parts);
  }
  void finish() { log.finish(stack_.fingerprint()); }

  Writer writer;
  TurnLog log;
  Recorder<Lossy<Joined::Port>> recorder;
  Noted<App> noted;

 private:
  const Stack& stack_;
};

class LoadRecorded : public testing::Test {
 protected:
  LoadRecorded() : ours(testing::TempDir() + "lockstep_load_journal"), theirs(ours + ".server") {}
  ~LoadRecorded() override {
    std::filesystem::remove(ours);
    std::filesystem::remove(theirs);
  }

  /// Records the whole load, and a stop at its end.
  template <class Server>
  void record(load::LoadPlan plan, const auto& settings) {
    http::Site site;
    site.complete();
    Joined joined;
    plan.targets.push_back({{tools::benchmark::server_address(), settings.port}, "h"});
    load::Client client(plan, site, joined.client.config().tcp.connections_max);
    client.start(joined.client);
    Server server(settings, joined.config.tcp.connections_max);
    ASSERT_EQ(server.start(joined.server), Refusal::none);
    Lossy lossy(joined.client_port, 9);
    Lossy back(joined.server_port, 7);
    Side<load::Client> asks(ours, joined.client, client, lossy, plan);
    Side<Server> answers(theirs, joined.server, server, back, settings);
    for (std::uint32_t i = 0; i < 100 && !client.finished(); ++i) {
      joined.advance(Duration::seconds(1), asks.recorder, asks.noted, answers.recorder,
                     answers.noted);
    }
    ASSERT_TRUE(client.finished());
    EXPECT_EQ(client.counters().answered, plan.requests);
    EXPECT_EQ(load::faults_of(client.counters()), 0u);
    asks.noted.stop(joined.client, joined.now());
    answers.noted.stop(joined.server, joined.now());
    joined.advance(Duration::seconds(1), asks.recorder, asks.noted, answers.recorder,
                   answers.noted);
    asks.finish();
    answers.finish();
    sent = joined.client.statistics().frames_sent;
    sent_back = joined.server.statistics().frames_sent;
  }

  void expect_clean(const std::string& path, std::uint64_t frames) {
    ReplayResult const result = replay_journal({path, {}, {}});
    EXPECT_TRUE(result.clean()) << text_of(result, path);
    EXPECT_TRUE(result.ended);
    EXPECT_EQ(result.frames_out, frames);
    EXPECT_GT(frames, 100u);
  }

  std::string ours;
  std::string theirs;
  std::uint64_t sent = 0;
  std::uint64_t sent_back = 0;
};

load::LoadPlan plan_of(load::Protocol protocol) {
  load::LoadPlan plan;
  plan.protocol = protocol;
  plan.connections = 4;
  plan.requests = 200;
  plan.requests_a_connection = 20;
  plan.close_mode = load::CloseMode::client;
  plan.message = Bytes{500};
  plan.slow = {50, Duration::milliseconds(3)};
  return plan;
}

TEST_F(LoadRecorded, AnEchoServerAndItsClient) {
  record<load::EchoServer>(plan_of(load::Protocol::echo), load::EchoSettings{});
  expect_clean(ours, sent);
  expect_clean(theirs, sent_back);
}

TEST_F(LoadRecorded, ACacheServerAndItsClient) {
  load::LoadPlan plan = plan_of(load::Protocol::memcached);
  plan.catalogue.items = {{"one"}, {"two"}, {"three"}};
  plan.catalogue.weights = {1, 2, 3};
  plan.updates_percent = 30;
  plan.pipeline = 3;
  record<load::CacheServer>(plan, load::CacheSettings{});
  expect_clean(ours, sent);
  expect_clean(theirs, sent_back);
}

TEST_F(LoadRecorded, AnotherPlanIsCaught) {
  record<load::EchoServer>(plan_of(load::Protocol::echo), load::EchoSettings{});
  {
    Reader reader(ours);
    Writer writer(theirs);  // the chain hashes match
    Record record;
    while (reader.next(record)) {
      if (record.kind == Kind::begin) {
        std::string text(reinterpret_cast<const char*>(record.fields.data()), record.fields.size());
        std::size_t const at = text.find("\"message\":500");
        ASSERT_NE(at, std::string::npos);
        text[at + 10] = '4';
        std::ranges::copy(std::as_bytes(std::span(text)), record.fields.begin());
      }
      writer.begin(record.kind);
      writer.octets(record.fields);
      writer.finish();
    }
  }
  ReplayResult const result = replay_journal({theirs, {}, {}});
  EXPECT_FALSE(result.edited_record);
  ASSERT_TRUE(result.divergence);
  EXPECT_GT(result.divergence->frame, 1u);  // not the SYNs
}

TEST(LoadParts, EveryFieldOfAPlanComesBack) {
  std::string const path = testing::TempDir() + "lockstep_load_parts";
  load::LoadPlan plan = plan_of(load::Protocol::http);
  plan.targets = {{{IpAddress::v4(192, 0, 2, 1), Port{81}}, "one"},
                  {{{0x20010db8'00000000, 1}, Port{82}}, "two"}};
  plan.sources = {IpAddress::v4(192, 0, 2, 7)};
  plan.catalogue = {{{"/bytes/3", 3, true}, {"/caf\xe9", load::Item::unknown, false, "text"}},
                    {5, 6}};
  plan.upload = 77;
  plan.connects_a_second = 8;
  plan.rate = 9;
  plan.is_poisson = true;
  plan.silent_percent = 10;
  plan.think = Duration{11};
  plan.warm_up = Duration{12};
  plan.time_wait = Duration{13};
  plan.seed = ~std::uint64_t{0};
  auto const rewritten = [&](const load::LoadPlan& of) {
    {
      Writer writer(path);
      write_parts(writer, {tools::benchmark::config_of({}, false), "wire", 0}, of);
    }
    Reader reader(path);
    return read_begin(reader);
  };
  Begin const begin = rewritten(plan);
  Reader const reader(path);
  load::LoadPlan const back = read_plan(reader, begin);
  EXPECT_EQ(back.targets[1].endpoint.address, plan.targets[1].endpoint.address);
  EXPECT_EQ(back.catalogue.items[1].text, "text");
  EXPECT_EQ(back.catalogue.items[1].name, "/caf\xe9");
  EXPECT_EQ(back.seed, plan.seed);
  EXPECT_EQ(rewritten(back).json, begin.json);
  Begin poor = begin;
  poor.json["plan"]["targets"] = nlohmann::ordered_json::array();
  EXPECT_THROW(read_plan(reader, poor), tools::Failure);
  poor = begin;
  poor.json["plan"].erase("seed");
  EXPECT_THROW(read_plan(reader, poor), tools::Failure);
  poor = begin;
  poor.json["plan"]["close_mode"] = 3;
  EXPECT_THROW(read_plan(reader, poor), tools::Failure);
  poor = begin;
  poor.json["plan"]["sources"] = {"no address"};
  EXPECT_THROW(read_plan(reader, poor), tools::Failure);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace lockstep::journal
