// Loads in the simulator: every request is accounted for, runs repeat exactly, and bad options are
// refused in one line.
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/stack/testing/test_keys.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/load/modes.hpp"
#include "tools/verbs/load/page_sizes.hpp"
#include "tools/verbs/load/plan.hpp"
#include "tools/verbs/load/simulate.hpp"
#include "tools/verbs/load/wire.hpp"
#include "tools/verbs/load/workers.hpp"
#include "tools/verbs/load/workloads.hpp"

namespace lockstep::tools {
namespace {

LoadOptions in_the_wire(const std::string& url) {
  LoadOptions options;
  options.urls = {url};
  options.sim = LOCKSTEP_SOURCE_DIR "/tools/verbs/load/worlds/wire.toml";
  options.requests = 1'000;
  options.connections = 20;
  return options;
}

SimulatedLoad run(const LoadOptions& options) {
  SimulatedLoad out = simulate(options, load_plan_of(options));
  EXPECT_EQ(out.ending, sim::Ending::completed);
  EXPECT_TRUE(out.is_lawful);
  load::Counters const& all = out.result.counters;
  EXPECT_EQ(all.asked, all.answered + load::faults_of(all));
  EXPECT_EQ(all.answered, out.result.times.latency.count());
  return out;
}

std::uint64_t fault(const SimulatedLoad& run, load::Fault which) {
  return run.result.counters.faults[static_cast<std::uint32_t>(which)];
}

TEST(Load, PingPongIsTwoRoundTrips) {
  LoadOptions options = in_the_wire("echo://10.0.0.2");
  options.workload = "pingpong64";
  SimulatedLoad const got = run(options);
  EXPECT_EQ(got.result.counters.answered, 1'000u);
  EXPECT_EQ(got.result.counters.connections, 1'000u);
  EXPECT_EQ(got.result.counters.body_octets, 64'000u);
  // 10 us each way for the handshake, and again for the message.
  EXPECT_GE(got.result.times.latency.least(), Duration::microseconds(40));
  EXPECT_LE(got.result.times.latency.at({50'000}), Duration::microseconds(42));
}

TEST(Load, TheSameSeedIsTheSameRun) {
  LoadOptions options = in_the_wire("echo://10.0.0.2");
  options.settings = {"*.rto_min=10ms"};
  SimulatedLoad const first = run(options);
  EXPECT_EQ(first.fingerprint, run(options).fingerprint);
  options.seed = "2";
  EXPECT_NE(first.fingerprint, run(options).fingerprint);
}

TEST(Load, HttpOnConnectionsThatLast) {
  LoadOptions options = in_the_wire("http://10.0.0.2/bytes/3000");
  SimulatedLoad const got = run(options);
  EXPECT_EQ(got.result.counters.answered, 1'000u);
  EXPECT_EQ(got.result.counters.connections, 20u);
  EXPECT_EQ(got.result.counters.body_octets, 3'000'000u);
  options.pipeline = 8;
  EXPECT_LT(run(options).lasted, got.lasted);
}

TEST(Load, UploadsAreHashedByTheServer) {
  LoadOptions options = in_the_wire("http://10.0.0.2/sink");
  for (std::uint64_t const octets : {0u, 1u, 5'000u, 1'100'000u}) {
    options.upload = octets;
    options.requests = octets > 10'000 ? 20 : 200;
    SimulatedLoad const got = run(options);
    EXPECT_EQ(got.result.counters.answered, options.requests) << octets;
  }
  // Any other path is not a sink, on any server.
  options.urls = {"http://10.0.0.2/other"};
  options.upload = 5;
  EXPECT_EQ(fault(run(options), load::Fault::status), options.requests);
}

// With mPIPE drivers at both ends the frames are the same. Each octet of /bytes/N and of an echo is
// checked.
TEST(Load, OverTheMpipeDriverFramesAndBodiesAreTheSame) {
  for (const char* url : {"http://10.0.0.2/bytes/126000", "echo://10.0.0.2"}) {
    LoadOptions options = in_the_wire(url);
    options.requests = 400;
    SimulatedLoad const plain = run(options);
    options.sim = LOCKSTEP_SOURCE_DIR "/tools/verbs/load/worlds/mpipe.toml";
    SimulatedLoad const over_mpipe = run(options);
    EXPECT_EQ(over_mpipe.result.counters.answered, 400u);
    EXPECT_EQ(over_mpipe.result.counters.body_octets, plain.result.counters.body_octets);
    EXPECT_EQ(over_mpipe.frames_sent, plain.frames_sent);
    EXPECT_EQ(over_mpipe.fingerprint, plain.fingerprint);
  }
}

/// Writes a changed copy of a world in tools/verbs/load/worlds.
std::string world_with(const std::string& name, const std::string& from, const std::string& to) {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tools/verbs/load/worlds/" + name);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::size_t changed = 0;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
    ++changed;
  }
  EXPECT_GT(changed, 0u);
  std::string const path = testing::TempDir() + "load_" + name;
  std::ofstream(path) << text;
  return path;
}

// 36 workers at each end; the frames do not show which driver is below them.
TEST(Load, ThirtySixWorkersOverTheMpipeDriverAtBothEnds) {
  for (const char* url : {"http://10.0.0.2/bytes/12600", "echo://10.0.0.2"}) {
    LoadOptions options = in_the_wire(url);
    options.requests = 720;
    options.connections = 144;
    options.sim = LOCKSTEP_SOURCE_DIR "/tools/verbs/load/worlds/mpipe36.toml";
    SimulatedLoad const over_mpipe = run(options);
    EXPECT_EQ(over_mpipe.result.counters.answered, 720u);
    EXPECT_EQ(over_mpipe.result.counters.connections, 144u);
    EXPECT_EQ(load::faults_of(over_mpipe.result.counters), 0u);
    options.sim = world_with("mpipe36.toml", "driver = \"mpipe\"\n", "");
    SimulatedLoad const plain = run(options);
    EXPECT_EQ(over_mpipe.frames_sent, plain.frames_sent);
    EXPECT_EQ(over_mpipe.fingerprint, plain.fingerprint);
    // A NIC with its own hash makes workers forward frames; no request is lost by that.
    options.sim = world_with("mpipe36.toml", "driver = \"mpipe\"",
                             "driver = \"mpipe\"\n[host.nic]\nhash = \"nic\"");
    EXPECT_EQ(run(options).result.counters.answered, 720u);
  }
}

TEST(Load, SharesOfWorkersAddUpToThePlan) {
  load::LoadPlan plan;
  plan.connections = 100;
  plan.requests = 1'001;
  plan.rate = 37;
  plan.connects_a_second = 72;
  load::LoadPlan sum;
  sum.connections = 0;
  for (std::uint32_t worker = 0; worker < 36; ++worker) {
    auto const share = share_of(plan, {worker}, {36});
    ASSERT_TRUE(share.has_value());
    sum.connections += share->connections;
    sum.requests += share->requests;
    sum.rate += share->rate;
    sum.connects_a_second += share->connects_a_second;
    EXPECT_EQ(share->seed, plan.seed + worker);
  }
  EXPECT_EQ(sum.connections, 100u);
  EXPECT_EQ(sum.requests, 1'001u);
  EXPECT_EQ(sum.rate, 37u);
  EXPECT_EQ(sum.connects_a_second, 72u);
  plan.connections = 3;
  EXPECT_TRUE(share_of(plan, {2}, {36}).has_value());
  EXPECT_FALSE(share_of(plan, {3}, {36}).has_value());
  plan.connections = 36;
  plan.requests = 2;
  EXPECT_FALSE(share_of(plan, {2}, {36}).has_value());
  plan.requests = 0;
  plan.rate = 1;
  EXPECT_FALSE(share_of(plan, {1}, {36}).has_value());
}

TEST(Load, HttpServerClosesAfterOneRequest) {
  LoadOptions options = in_the_wire("http://10.0.0.2/bytes/10");
  options.requests_a_connection = 1;
  EXPECT_EQ(run(options).result.counters.connections, 1'000u);
  options.close_mode = "reset";
  EXPECT_EQ(run(options).result.counters.connections, 1'000u);
}

TEST(Load, AnErrorIsCountedByName) {
  LoadOptions options = in_the_wire("http://10.0.0.2/nothing");
  SimulatedLoad const got = run(options);
  EXPECT_EQ(fault(got, load::Fault::status), 1'000u);
}

TEST(Load, OpenLoopLatencyCountsFromTheScheduledInstant) {
  LoadOptions options = in_the_wire("http://10.0.0.2/bytes/100");
  options.requests = 0;
  options.duration = "1s";
  options.rate = 10'000;
  SimulatedLoad const fast = run(options);
  EXPECT_EQ(fast.result.counters.asked, 10'000u);
  EXPECT_EQ(fast.result.counters.answered, 10'000u);
  EXPECT_LE(fast.result.times.latency.at({99'000}), Duration::microseconds(100));
  // One connection answers 50,000 per second, so waiting requests get old.
  options.connections = 1;
  options.rate = 60'000;
  options.timeout = "100ms";
  SimulatedLoad const late = run(options);
  EXPECT_EQ(late.result.counters.asked, 60'000u);
  EXPECT_GE(late.result.times.latency.at({99'000}), Duration::milliseconds(90));
  EXPECT_GT(fault(late, load::Fault::unsent), 1'000u);
}

TEST(Load, OpenLoopWithOneRequestPerConnection) {
  LoadOptions options = in_the_wire("http://10.0.0.2/bytes/100");
  options.requests = 0;
  options.duration = "100ms";
  options.warm_up = "50ms";
  options.rate = 20'000;
  options.poisson = true;
  options.requests_a_connection = 1;
  SimulatedLoad const got = run(options);
  EXPECT_NEAR(static_cast<double>(got.result.counters.asked), 2'000, 200);
  EXPECT_EQ(got.result.counters.answered, got.result.counters.asked);
}

TEST(Load, MemcachedKeysAreSetBeforeTheMeasurement) {
  LoadOptions options = in_the_wire("memcached://10.0.0.2");
  options.workload = "memcached";
  options.connections = 100;
  options.rate = 50'000;
  options.requests = 0;
  options.duration = "200ms";
  options.updates = 10;
  SimulatedLoad const got = run(options);
  EXPECT_EQ(got.result.counters.answered, 10'000u);
  EXPECT_EQ(got.result.counters.misses, 0u);
  EXPECT_GT(got.result.counters.updates, 800u);
  EXPECT_LT(got.result.counters.updates, 1'200u);
  EXPECT_EQ(got.result.counters.body_octets, 64 * (10'000 - got.result.counters.updates));
  options = in_the_wire("memcached://10.0.0.2");  // a closed loop with several connections
  options.pipeline = 4;
  EXPECT_EQ(run(options).result.counters.answered, 1'000u);
}

TEST(Load, PagesUseTheRequestedMtu) {
  LoadOptions options = in_the_wire("http://10.0.0.2");
  options.workload = "pages-mtu";
  options.requests = 50;
  options.mtu = 9000;
  SimulatedLoad const large = run(options);
  options.mtu = 576;
  SimulatedLoad const small = run(options);
  EXPECT_EQ(large.result.counters.body_octets, small.result.counters.body_octets);
  EXPECT_GT(small.frames_sent, large.frames_sent * 5);
}

TEST(Load, ChatKeepsItsConnections) {
  LoadOptions options = in_the_wire("echo://10.0.0.2");
  options.workload = "chat";
  options.connections = 100;
  options.requests = 0;
  options.duration = "10s";
  SimulatedLoad const got = run(options);
  EXPECT_EQ(got.result.counters.connections, 100u);
  // 80 send a message when they connect; 20 of them send one every second, for at least nine
  // seconds.
  EXPECT_GE(got.result.counters.answered, 80u + 20 * 8);
  EXPECT_LE(got.result.counters.answered, 80u + 20 * 10);
}

TEST(Workloads, AreAsPublished) {
  auto pages = page_sizes;
  std::sort(pages.begin(), pages.end());
  auto const below = [&](std::uint32_t octets) {
    return std::lower_bound(pages.begin(), pages.end(), octets) - pages.begin();
  };
  EXPECT_EQ(pages.front(), 3'500u);
  EXPECT_EQ(pages.back(), 1'100'000u);
  EXPECT_NEAR(static_cast<double>(pages[250]), 68'000, 1'000);
  EXPECT_NEAR(std::accumulate(pages.begin(), pages.end(), 0.0) / 500, 126'000, 5'000);
  EXPECT_GE(below(150'000), 350);                                 // 70 %
  EXPECT_GE(below(300'000), 450);                                 // 90 %
  EXPECT_NEAR(static_cast<double>(500 - below(500'001)), 15, 4);  // 3 %
  std::uint64_t of_all = 0;
  std::uint64_t small = 0;
  std::uint64_t medium = 0;
  for (const FileClass& each : file_classes()) {
    of_all += each.weight;
    small += each.octets <= 4'096 ? each.weight : 0;
    medium += each.octets <= 51'200 ? each.weight : 0;
  }
  EXPECT_EQ(of_all, 1'000'000u);
  EXPECT_NEAR(static_cast<double>(small), 500'000, 40'000);
  EXPECT_NEAR(static_cast<double>(medium), 950'000, 5'000);
  EXPECT_EQ(file_classes().back().octets, 921'600u);
}

TEST(Load, IdleConnectionsSendNothing) {
  LoadOptions options = in_the_wire("echo://10.0.0.2");
  options.idle_share = 50;
  options.think = "1ms";
  options.requests = 0;
  options.duration = "100ms";
  SimulatedLoad const got = run(options);
  EXPECT_EQ(got.result.counters.connections, 20u);
  // Ten send a message about every millisecond.
  EXPECT_GE(got.result.counters.answered, 700u);
  EXPECT_LE(got.result.counters.answered, 1'000u);
}

TEST(Load, ASilentTargetEndsIt) {
  LoadOptions options = in_the_wire("http://10.0.0.2/bytes/1");
  options.timeout = "1s";
  std::string const path = testing::TempDir() + "silent.toml";
  std::ofstream(path) << std::ifstream(options.sim).rdbuf() << R"(
[[fault]]
name = "cut"
kind = "partition"
link = "wire"
)";
  options.sim = path;
  SimulatedLoad const got = simulate(options, load_plan_of(options));
  EXPECT_EQ(got.ending, sim::Ending::completed);
  EXPECT_EQ(got.result.counters.answered, 0u);
  EXPECT_LE(got.lasted, Duration::seconds(3));
  EXPECT_EQ(fault(got, load::Fault::no_connect), 20u);
}

TEST(Load, AsManyConnectionsAsTheHelpSaysFit) {
  for (std::uint32_t const connections : {1u, 839'948u, 840'000u, 1'000'000u}) {
    load::LoadPlan plan;
    plan.connections = connections;
    Config config;
    config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
    config.address_count = Count{1};
    fit_pools(config.tcp, plan);
    config = test_keys(config);
    EXPECT_EQ(fault_of(config), "") << connections;
    EXPECT_GE(config.tcp.time_wait_max.value, connections);
  }
}

TEST(Load, TooManyConnectionsForThePoolsAreRefused) {
  LoadOptions options;
  options.urls = {"http://203.0.113.1/"};
  options.tap = "lock0";
  options.addresses = {"203.0.113.2/24"};
  auto const refusal = [&]() -> std::string {
    try {
      load_on_the_wire(options, load_plan_of(options));
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      return failure.what();
    }
    return {};
  };
  options.time_wait = "1ns";
  EXPECT_EQ(refusal(),
            "with this load, msl is out of range: give fewer --connections, a smaller --pipeline, "
            "or another --time-wait");
  options.time_wait.clear();
  options.connections = 1'000'000;
  options.pipeline = 64;
  EXPECT_NE(refusal().find("pieces_max is out of range"), std::string::npos);
}

TEST(Load, RefusesInOneLine) {
  auto const refusal = [](const LoadOptions& options) -> std::string {
    try {
      simulate(options, load_plan_of(options));
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      EXPECT_EQ(std::string(failure.what()).find('\n'), std::string::npos);
      return failure.what();
    }
    return {};
  };
  for (const char* url :
       {"ftp://10.0.0.2/", "http://example.org/", "http://10.0.0.2:0/", "http://10.0.0.2:x/",
        "echo://10.0.0.2/path", "http://[::1/", "http://10.0.0.2/a b", ""}) {
    EXPECT_NE(refusal(in_the_wire(url)).find("expected http://"), std::string::npos) << url;
  }
  LoadOptions options = in_the_wire("http://10.0.0.9/");
  EXPECT_NE(refusal(options).find("load 10.0.0.1, server 10.0.0.2"), std::string::npos);
  options = in_the_wire("http://10.0.0.2/");
  options.from = "server";
  EXPECT_NE(refusal(options).find("--from server"), std::string::npos);
  options = in_the_wire("http://10.0.0.2/");
  options.workload = "pingpong64";
  EXPECT_NE(refusal(options).find("another protocol"), std::string::npos);
  options.workload = "pingpong";
  EXPECT_NE(refusal(options).find("there are pages, pages-mtu, pingpong64"), std::string::npos);
  options = in_the_wire("http://10.0.0.2/");
  options.duration = "10";
  EXPECT_NE(refusal(options).find("--duration 10"), std::string::npos);
  options.duration = "10s";
  EXPECT_NE(refusal(options).find("give one of them"), std::string::npos);
  options = in_the_wire("http://10.0.0.2/");
  options.timeout = "0s";
  EXPECT_NE(refusal(options).find("--timeout 0"), std::string::npos);
  options = in_the_wire("echo://10.0.0.2");
  options.connections = 1;
  options.idle_share = 1;
  EXPECT_NE(refusal(options).find("would send requests"), std::string::npos);
  options.connections = 2;
  options.idle_share = 37;
  EXPECT_EQ(refusal(options), "");
}

/// The option that is refused because it would have no effect.
std::string unheard(const LoadOptions& options) {
  try {
    refuse_unheard(options, load_plan_of(options));
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    std::string const said = failure.what();
    EXPECT_TRUE(said.ends_with(": leave it out")) << said;
    return said.substr(0, said.find(':'));
  }
  return {};
}

LoadOptions on_a_tap(const std::string& url) {
  LoadOptions options;
  options.urls = {url};
  options.tap = "lock0";
  options.addresses = {"10.0.0.3/24"};
  return options;
}

struct OfOnePlace {
  const char* option;
  void (*change)(LoadOptions&);
};

/// Each option is refused with `here` and accepted with `there`.
void expect_refused(const LoadOptions& here, const LoadOptions& there,
                    std::initializer_list<OfOnePlace> options) {
  EXPECT_EQ(unheard(here), "");
  for (OfOnePlace const& each : options) {
    LoadOptions changed = here;
    each.change(changed);
    EXPECT_EQ(unheard(changed), each.option);
    changed = there;
    each.change(changed);
    EXPECT_EQ(unheard(changed), "") << each.option;
  }
}

TEST(Load, RefusesOptionsWithoutEffect) {
  LoadOptions const wire = on_a_tap("http://10.0.0.2/");
  LoadOptions const world = in_the_wire("http://10.0.0.2/");
  expect_refused(wire, world,
                 {{"--set", [](LoadOptions& of) { of.settings = {"*.mtu=576"}; }},
                  {"--from", [](LoadOptions& of) { of.from = "x"; }}});
  expect_refused(world, wire,
                 {{"--driver", [](LoadOptions& of) { of.driver = "xdp"; }},
                  {"--host", [](LoadOptions& of) { of.hosts = {"10.0.0.1/24"}; }},
                  {"--gateway", [](LoadOptions& of) { of.gateway = "10.0.0.1"; }},
                  {"--profile", [](LoadOptions& of) { of.profile = "rfc"; }},
                  {"--window", [](LoadOptions& of) { of.window = 9'000; }},
                  {"--control", [](LoadOptions& of) { of.control = "none"; }},
                  {"--log", [](LoadOptions& of) { of.log = "json"; }},
                  {"--force", [](LoadOptions& of) { of.force = true; }}});
  LoadOptions files;
  files.urls = {"http://10.0.0.2/"};
  files.make_site = "x";
  expect_refused(files, wire,
                 {{"--pcapng", [](LoadOptions& of) { of.pcapng_folder = "run.pcapng"; }},
                  {"--shards", [](LoadOptions& of) { of.shards = 2; }},
                  {"--cpus", [](LoadOptions& of) { of.cpus = "0"; }},
                  {"--metrics", [](LoadOptions& of) { of.metrics = "10.0.0.3:9100"; }},
                  {"--record", [](LoadOptions& of) { of.record = "journal"; }}});
}

TEST(Load, RefusesOptionsOfOtherLoads) {
  LoadOptions options = on_a_tap("http://10.0.0.2/");
  options.updates = 3;
  EXPECT_EQ(unheard(options), "--updates");
  options = on_a_tap("http://10.0.0.2/");
  options.message = 3;
  EXPECT_EQ(unheard(options), "--message");
  options.urls = {"echo://10.0.0.2"};
  EXPECT_EQ(unheard(options), "");
  options.poisson = true;
  EXPECT_EQ(unheard(options), "--poisson");
  options.rate = 10;
  EXPECT_EQ(unheard(options), "");
  options.think = "1s";
  EXPECT_EQ(unheard(options), "--think");
  options = on_a_tap("http://10.0.0.2/");
  options.time_wait = "0s";
  EXPECT_EQ(unheard(options), "--time-wait 0");
  options.time_wait = "1s";
  EXPECT_EQ(unheard(options), "");
  options.tap.clear();
  options.make_site = "x";
  EXPECT_EQ(unheard(options), "--address");
}

LoadResult sample() {
  LoadResult result;
  result.measured = Duration::seconds(2);
  result.plan.targets.push_back({{}, "10.0.0.2"});
  result.counters.asked = result.counters.answered = 10;
  result.in_time = result.counters;
  for (int i = 0; i < 10; ++i) {
    result.times.latency.add(Duration::milliseconds(2));
  }
  result.counters.faults[static_cast<std::uint32_t>(load::Fault::timeout)] = 3;
  return result;
}

TEST(Limit, IsBrokenOrNot) {
  LoadResult const result = sample();
  EXPECT_NE(Limit("p99>1ms").broken_by(result), "");
  EXPECT_EQ(Limit("p99>3ms").broken_by(result), "");
  EXPECT_NE(Limit("errors>2").broken_by(result), "");
  EXPECT_EQ(Limit("errors>3").broken_by(result), "");
  EXPECT_NE(Limit("requests/s<6").broken_by(result), "");
  EXPECT_EQ(Limit("requests/s<5").broken_by(result), "");
  EXPECT_NE(Limit("goodput<1Mbit/s").broken_by(result), "");
  EXPECT_NE(Limit("most>1us").broken_by(result), "");
  for (const char* text : {"p98>1ms", "p99>1", "p99=1ms", "errors>x", "", ">", "goodput<3"}) {
    EXPECT_THROW(Limit{text}, Failure) << text;
  }
}

// A limit cannot be met by leaving requests unanswered: those would have been the slowest.
TEST(Limit, CountsUnansweredRequestsAsInfinite) {
  LoadResult result = sample();
  result.counters.asked = 1'000;
  result.counters.answered = 10;
  EXPECT_EQ(Limit("p50>3ms").broken_by(result),
            "--fail-if p50>3ms: it is infinite, because unanswered requests count as infinite");
  EXPECT_NE(Limit("most>3ms").broken_by(result), "");
  EXPECT_NE(Limit("mean>3ms").broken_by(result), "");
  EXPECT_EQ(Limit("p99<1ms").broken_by(result), "");
  EXPECT_NE(load_text(result).find("of all sent  p50 never, "), std::string::npos);
  result.counters.asked =
      11;  // 10 of 11: the median is among the answered ones, the 95th percentile is not
  EXPECT_EQ(Limit("p50>3ms").broken_by(result), "");
  EXPECT_NE(Limit("p95>3ms").broken_by(result), "");
  result.counters.asked = 10;
  EXPECT_EQ(Limit("p99.99>3ms").broken_by(result), "");
  EXPECT_EQ(load_text(result).find("of all sent"), std::string::npos);
}

// The same with a schedule that the server cannot keep up with.
TEST(Load, AnOverloadedServerExceedsALimitOfLatency) {
  LoadOptions options = in_the_wire("http://10.0.0.2/bytes/100");
  options.requests = 0;
  options.duration = "1s";
  options.connections = 1;
  options.rate = 100'000;
  options.timeout = "100ms";
  SimulatedLoad const got = run(options);
  EXPECT_LE(got.result.times.latency.at({99'000}), Duration::milliseconds(110));
  EXPECT_NE(Limit("p99>3s").broken_by(got.result), "");
}

TEST(Report, SaysWhatHappened) {
  std::string const text = load_text(sample());
  EXPECT_NE(text.find("requests     10 sent, 10 answered: 5/s"), std::string::npos) << text;
  EXPECT_NE(text.find("errors       3 timeout\n"), std::string::npos) << text;
  EXPECT_NE(load_json(sample(), R"({"ending": "x"})").find("\"ending\": \"x\""), std::string::npos);
}

/// Checks a value against a schema's objects, members and types.
void expect_as(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& root,
               const nlohmann::ordered_json& value, const std::string& where) {
  if (schema.contains("$ref")) {
    return expect_as(root["$defs"]["times"], root, value, where);
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end())
        << where;
    return;
  }
  std::string const type = schema["type"];
  EXPECT_TRUE(type == "integer"  ? value.is_number_unsigned()
              : type == "string" ? value.is_string()
              : type == "array"  ? value.is_array()
                                 : value.is_object())
      << where;
  if (type != "object") {
    return;
  }
  for (const auto& name : schema["required"]) {
    EXPECT_TRUE(value.contains(std::string(name))) << where << "." << name;
  }
  for (const auto& [name, member] : value.items()) {
    ASSERT_TRUE(schema["properties"].contains(name)) << where << "." << name;
    expect_as(schema["properties"][name], root, member, where + "." + name);
  }
}

TEST(Report, MatchesItsSchema) {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tools/verbs/load/report.schema.json");
  auto const schema = parse_json(file);
  auto const value = parse_json(load_json(sample(), R"({"virtual_ns": 3})"));
  expect_as(schema, schema, value, "result");
}

}  // namespace
}  // namespace lockstep::tools
