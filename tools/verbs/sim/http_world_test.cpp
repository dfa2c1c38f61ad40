// HTTP in worlds: every octet of every body, the same frames with either port, and rollback.
#include "tools/lib/sim_apps/http_app.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/rfc.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/kernel/snapshot.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/sim_nic/mpipe_nic.hpp"
#include "tools/lib/world_file/world_file.hpp"
#include "tools/verbs/sim/report.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint64_t body = 126'000;
constexpr std::uint64_t requests = 3 * 2 * 4;

std::string hosts(const std::string& of_server = "", const std::string& of_browser = "") {
  return "[[host]]\nname = \"browser\"\naddress = \"10.0.0.1/24\"\n" + of_browser +
         "[[host]]\nname = \"server\"\naddress = \"10.0.0.2/24\"\n" + of_server +
         "[[link]]\nname = \"wire\"\nfrom = \"browser\"\nto = \"server\"\n"
         "rate = \"1Gbit/s\"\ndelay = \"1ms\"\n";
}

std::string app(const std::string& name, const std::string& model, const std::string& more) {
  return "[[app]]\nname = \"" + name + "\"\nmodel = \"" + model +
         "\"\nfrom = \"browser\"\nto = \"server\"\n" + more;
}

std::string pages() {
  return app("pages", "http", "flows = 3\nrepeat = 2\nrounds = 4\nreply_bytes = \"126000B\"\n");
}

sim::World world_of(const std::string& text) { return read_world_text(text, "world", {}); }

struct Ran {
  std::uint64_t fingerprint = 0;
  std::uint64_t frames = 0;
};

// Runs to the end, where all requests must have correct answers.
Ran run_whole(const sim::World& world, std::uint64_t seed, std::uint64_t asked = requests) {
  sim::Kernel kernel(world, seed, world_registry());
  sim::Findings findings;
  sim::RfcChecker referee(world, findings);
  kernel.observe(referee);
  sim::Ending const ending = kernel.run();
  EXPECT_EQ(ending, sim::Ending::completed);
  EXPECT_TRUE(all_well(kernel, ending));
  EXPECT_TRUE(findings.empty());
  std::uint64_t read = 0;
  for (sim::Flow const& flow : kernel.ledger().flows()) {
    sim::FlowEnd const& browser = flow.end(sim::Side::opener);
    sim::FlowEnd const& server = flow.end(sim::Side::acceptor);
    EXPECT_FALSE(flow.foreign);
    EXPECT_EQ(browser.cause, Cause::finished);
    EXPECT_EQ(browser.read, server.written);
    EXPECT_EQ(server.read, browser.written);
    read += browser.read;
  }
  EXPECT_GE(kernel.ledger().flows().size(), 6u);
  EXPECT_GT(read, asked * body);
  EXPECT_LT(read, asked * (body + 400));  // plus the heads
  return {kernel.fingerprint(), kernel.frames_sent()};
}

TEST(HttpWorld, EveryBodyIsCompleteWithEitherDriver) {
  sim::World world = world_of(hosts() + pages());
  for (sim::HostSpec& host : world.hosts) {
    host.receive_ring = 510;
  }
  Ran const plain = run_whole(world, 1);
  ASSERT_EQ(give_nics(world), 2u);
  Ran const over_mpipe = run_whole(world, 1);
  EXPECT_EQ(over_mpipe.frames, plain.frames);
  EXPECT_EQ(over_mpipe.fingerprint, plain.fingerprint);
}

TEST(HttpWorld, EveryBodyIsCompleteOnNicsWithErrors) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    sim::World world = world_of(hosts() + pages());
    give_nics(world);
    draw_errors(world, seed);
    run_whole(world, seed);
  }
}

// Each worker sends requests and serves the connections that the NIC or another worker gives it.
TEST(HttpWorld, WorkersThatShareANicServeIt) {
  for (const char* hash : {"ours", "nic"}) {
    for (const char* workers : {"4", "36"}) {
      std::string const shared =
          "driver = \"mpipe\"\nreceive_ring = 510\nshards = " + std::string(workers) +
          "\n[host.nic]\nhash = \"" + hash + "\"\n";
      run_whole(world_of(hosts(shared, shared) +
                         app("pages", "http", "flows = 72\nreply_bytes = \"126000B\"\n")),
                1, 72);
    }
  }
}

// Two 16-bit words of a body are swapped: no checksum detects that, but the check of each octet
// does.
TEST(HttpWorld, AWrongOctetOfABodyIsDetected) {
  for (bool const has_nics : {false, true}) {
    sim::World world =
        world_of(hosts() + pages() +
                 "[[fault]]\nname = \"swap\"\nkind = \"substitute\"\nlink = \"wire\"\n"
                 "direction = \"back\"\nprobability = \"1%\"\nfirst_byte = 500\n");
    ASSERT_EQ(has_nics ? give_nics(world) : 0u, has_nics ? 2u : 0u);
    sim::Kernel kernel(world, 1, world_registry());
    EXPECT_FALSE(all_well(kernel, kernel.run()));
    std::uint32_t spoilt = 0;
    for (sim::Flow const& flow : kernel.ledger().flows()) {
      spoilt += flow.end(sim::Side::opener).intact ? 0 : 1;
    }
    EXPECT_GT(spoilt, 0u);
  }
}

TEST(HttpWorld, ARunCanBeRestored) {
  sim::World world = world_of(hosts() + pages());
  give_nics(world);
  sim::Kernel kernel(world, 1, world_registry());
  kernel.run_until(Instant{Duration::milliseconds(12).ns});
  Instant const at = kernel.now();
  auto const middle = kernel.snapshot();
  EXPECT_EQ(kernel.run(), sim::Ending::completed);
  std::uint64_t const first = kernel.fingerprint();
  kernel.restore(*middle);
  EXPECT_EQ(kernel.now(), at);
  EXPECT_EQ(kernel.run(), sim::Ending::completed);
  EXPECT_EQ(kernel.fingerprint(), first);
  EXPECT_TRUE(all_well(kernel, sim::Ending::completed));
}

TEST(HttpWorld, RunsWithOtherApplications) {
  sim::World const world =
      world_of(hosts() + pages() + app("more", "http", "port = 8080\nreply_bytes = \"10B\"\n") +
               app("files", "bulk", "bytes = \"100KiB\"\n"));
  sim::Kernel kernel(world, 1, world_registry());
  sim::Ending const ending = kernel.run();
  EXPECT_TRUE(all_well(kernel, ending));
  EXPECT_EQ(kernel.ledger().flows().size(), 8u);
}

std::string complaint(const std::string& text) {
  try {
    world_of(text);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing";
}

TEST(HttpWorld, ImpossibleWorldsGiveOneLine) {
  using testing::HasSubstr;
  std::string const lends = app("files", "bulk", "lend = true\n");
  EXPECT_EQ(complaint(hosts() + pages()), "nothing");
  EXPECT_THAT(complaint(hosts() + pages() + lends), HasSubstr("cannot lend on host 'server'"));
  EXPECT_THAT(complaint(hosts() + lends + pages()), HasSubstr("cannot lend on host 'server'"));
  EXPECT_THAT(complaint(hosts("[host.config]\nregions_max = 1\n") + pages()),
              HasSubstr("regions_max of 2 on host 'server': raise it"));
}

}  // namespace
}  // namespace lockstep::tools
