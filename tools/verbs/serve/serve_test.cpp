// Bad combinations of options, the folder, keys, and the summary.
#include "tools/verbs/serve/serve.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "tools/base/process/failure.hpp"
#include "tools/verbs/serve/folder.hpp"
#include "tools/verbs/serve/plan.hpp"
#include "tools/verbs/serve/summary.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

ServeOptions good() {
  ServeOptions options;
  options.tap = "lock0";
  options.addresses = {"203.0.113.2/24", "2001:db8::2/64"};
  options.hosts = {"203.0.113.1/24"};
  options.seed = "7";
  return options;
}

/// The error message, empty if the options are accepted.
std::string refusal_of(const ServeOptions& options) {
  try {
    plan_of(options);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    EXPECT_EQ(std::string(failure.what()).find('\n'), std::string::npos);
    return failure.what();
  }
  return {};
}

TEST(Plan, OfGoodOptions) {
  ServePlan const plan = plan_of(good());
  EXPECT_EQ(plan.config.address_count, Count{2});
  EXPECT_EQ(plan.config.addresses[0].address, IpAddress::v4(203, 0, 113, 2));
  EXPECT_EQ(plan.config.addresses[1].prefix_bits, 64);
  EXPECT_EQ(plan.config.tcp.connections_max, Count{4096});
  EXPECT_EQ(plan.config.tcp.mss, Bytes{1460});
  EXPECT_FALSE(plan.config.mac.is_group());
  EXPECT_EQ(plan.config.mac.octets[0], 2);
  ASSERT_EQ(plan.tap.hosts.size(), 1u);
}

TEST(Plan, KeysComeFromTheSeedOrAreRandom) {
  ServeOptions options = good();
  ServePlan const first = plan_of(options);
  EXPECT_EQ(first.config.tcp.isn_key.first, plan_of(options).config.tcp.isn_key.first);
  options.seed = "8";
  EXPECT_NE(first.config.tcp.isn_key.first, plan_of(options).config.tcp.isn_key.first);
  options.seed.clear();
  EXPECT_NE(plan_of(options).config.mac, plan_of(options).config.mac);
}

TEST(Plan, RefusesInOneLine) {
  EXPECT_EQ(refusal_of(good()), "");
  ServeOptions options = good();
  options.addresses = {"203.0.113.2"};
  EXPECT_NE(refusal_of(options).find("its prefix"), std::string::npos);
  options = good();
  options.hosts = {"203.0.113.2/24"};
  EXPECT_NE(refusal_of(options).find("both would answer"), std::string::npos);
  options.hosts = {"198.51.100.1/24"};
  EXPECT_NE(refusal_of(options).find("no --address is in its network"), std::string::npos);
  options = good();
  options.profile = "solaris";
  EXPECT_NE(refusal_of(options).find("choose one"), std::string::npos);
  options = good();
  options.seed = "x";
  EXPECT_NE(refusal_of(options).find("--seed x"), std::string::npos);
  options = good();
  options.mtu = 1000;  // too small for IPv6
  EXPECT_NE(refusal_of(options).find("1280"), std::string::npos);
  options = good();
  options.addresses.assign(9, "203.0.113.2/24");
  EXPECT_NE(refusal_of(options).find("at most 8"), std::string::npos);
  options = good();
  options.gateway = "203.0.113.2";
  EXPECT_NE(refusal_of(options).find("our own --address"), std::string::npos);
}

TEST(Plan, NoTwoOutputsAreOneFile) {
  ServeOptions options = good();
  options.json = "out";
  options.record = "./out";
  EXPECT_NE(refusal_of(options).find("choose another path"), std::string::npos);
  options.record_on = "reset";
  options.json = "out-2";
  EXPECT_NE(refusal_of(options).find("choose another path"), std::string::npos);
  options.record_on.clear();
  EXPECT_EQ(refusal_of(options), "");
  options.shards = 2;
  options.json = "out.1";
  EXPECT_NE(refusal_of(options).find("choose another path"), std::string::npos);
}

TEST(Plan, EachTwoOutputsAreCompared) {
  using Name = std::string ServeOptions::*;
  std::array<Name, 4> const outputs{&ServeOptions::json, &ServeOptions::access_log,
                                    &ServeOptions::control, &ServeOptions::record};
  for (Name const one : outputs) {
    for (Name const other : outputs) {
      ServeOptions options = good();
      options.*one = "out-00003.pcapng";
      options.*other = "./out-00003.pcapng";
      EXPECT_EQ(refusal_of(options).empty(), one == other) << refusal_of(options);
    }
    ServeOptions options = good();
    options.*one = "out-00003.pcapng";
    options.pcapng = "./out.pcapng";
    EXPECT_NE(refusal_of(options).find("choose another path"), std::string::npos);
    options.pcapng = "./other.pcapng";
    EXPECT_EQ(refusal_of(options), "");
  }
}

TEST(Plan, AnAddressMustBeAHosts) {
  ServeOptions options = good();
  options.hosts.clear();
  for (const char* none : {"203.0.113.0/24", "203.0.113.255/24", "224.0.0.1/24", "ff02::1/64",
                           "127.0.0.1/8", "0.0.0.0/0", "255.255.255.255/32", "::/64"}) {
    options.addresses = {none};
    EXPECT_NE(refusal_of(options).find(std::string("--address ") + none), std::string::npos)
        << none << ": " << refusal_of(options);
    EXPECT_NE(refusal_of(options).find("choose a host's address"), std::string::npos) << none;
  }
  for (const char* one : {"203.0.113.0/31", "203.0.113.1/31", "203.0.113.255/32",
                          "203.0.112.255/23", "203.0.113.0/23"}) {
    options.addresses = {one};
    EXPECT_EQ(refusal_of(options), "") << one;
  }
}

TEST(Folder, FilesByTheirPathsAndNothingElse) {
  fs::path const folder = fs::path(testing::TempDir()) / "lockstep_serve_folder";
  fs::create_directories(folder / "sub");
  std::ofstream(folder / "a.txt") << "one";
  std::ofstream(folder / "sub" / "index.html") << "two";
  std::ofstream(folder / "empty");
  fs::create_symlink("/etc/passwd", folder / "link");
  fs::create_symlink("nowhere", folder / "broken");
  fs::create_symlink("sub", folder / "again");
  fs::create_symlink("..", folder / "sub" / "up");
  fs::create_symlink("../a.txt", folder / "sub" / "b.txt");
  fs::create_directories(folder / ".git");
  fs::create_directories(folder / ".well-known");
  std::ofstream(folder / ".git" / "config") << "secret";
  std::ofstream(folder / ".hidden") << "secret";
  std::ofstream(folder / ".well-known" / "c") << "challenge";
  fs::create_symlink(".git/config", folder / "config");
  testing::internal::CaptureStderr();
  http::Site site;
  load_folder(folder.string(), site);
  site.complete();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("3 symbolic links lead out"),
            std::string::npos);
  EXPECT_EQ(site.files(), 9u);
  EXPECT_EQ(site.find("/again/index.html")->body.length, 3u);
  EXPECT_EQ(site.find("/sub/b.txt")->body.length, 3u);
  EXPECT_EQ(site.find("/.well-known/c")->body.length, 9u);
  EXPECT_NE(site.find("/a.txt")->validators.modified.value, 0u);
  for (const char* const path :
       {"/broken", "/config", "/.hidden", "/.git/config", "/sub/up/a.txt", "/again/up/a.txt"}) {
    EXPECT_FALSE(site.find(path)) << path;
  }
  EXPECT_EQ(site.find("/a.txt")->body.length, 3u);
  EXPECT_EQ(site.find("/sub/")->type, "text/html");
  EXPECT_EQ(site.find("/empty")->body.length, 0u);
  EXPECT_FALSE(site.find("/link"));
  EXPECT_FALSE(site.find("/../etc/passwd"));
  fs::remove_all(folder);
  http::Site none;
  EXPECT_THROW(load_folder(folder.string(), none), Failure);
}

TEST(Summary, NamesWhatIsNotZero) {
  ServeTotals totals;
  totals.lasted = Duration::seconds(2);
  totals.server.connections = 2000;
  totals.server.requests = 3;
  totals.server.answers[http::index_of(http::Status::not_found)] = 3;
  totals.server.ends[static_cast<std::uint32_t>(Cause::reset)] = 1;
  totals.stack.drops.count(Drop::tcp_checksum);
  totals.port.link_down = 4;
  std::string const text = summary_text(totals);
  EXPECT_NE(text.find("connections      2,000: 1 reset\n"), std::string::npos) << text;
  EXPECT_NE(text.find("requests         3: 3 404 Not Found\n"), std::string::npos) << text;
  EXPECT_NE(text.find("lost             1 tcp_checksum, 4 port_link_down\n"), std::string::npos);
  EXPECT_NE(summary_json(totals, hw::Ending::stopped).find("\"port_link_down\": 4"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::tools
