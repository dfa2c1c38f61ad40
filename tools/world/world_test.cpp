// Worlds out of TOML: what is read, and the one line for each thing that is wrong.
#include "tools/world/world_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tools/cli/failure.hpp"

namespace lockstep::tools {
namespace {

constexpr std::string_view hosts = R"([[host]]
name = "a"
address = "10.0.0.1/24"
[[host]]
name = "b"
address = "10.0.0.2/24"
)";

constexpr std::string_view link = R"([[link]]
name = "ab"
from = "a"
to = "b"
rate = "10Mbit/s"
delay = "3ms"
)";

constexpr std::string_view upload = R"([[app]]
name = "x"
model = "bulk"
from = "a"
to = "b"
)";

class WorldFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    const auto folder = std::filesystem::path(testing::TempDir());
    path_ = (folder / "lockstep_world_test.toml").string();
    std::ofstream(path_) << text;
    return path_;
  }
  ~WorldFile() override { std::filesystem::remove(path_); }

  /// The complaint about a world, without the file's name; empty if there is none.
  std::string complaint(const std::string& text) {
    const std::string path = write(text);
    try {
      read_world(path);
      return "";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      const std::string what = failure.what();
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
      EXPECT_EQ(what.rfind(path + ":", 0), 0u) << what;
      return what.substr(path.size() + 1);
    }
  }

  std::string path_;
};

std::string good() { return std::string(hosts) + std::string(link); }

TEST_F(WorldFile, ReadsHostsLinksAppsAndFaults) {
  const sim::World world = read_world(write(good() + R"([link.back]
rate = "1Mbit/s"
[[app]]
name = "up"
model = "bulk"
from = "a"
to = "b"
bytes = "2KiB"
[[fault]]
name = "loss"
kind = "loss"
link = "ab"
direction = "back"
probability = "2%"
until = "5s"
[[fault]]
name = "nap"
kind = "stall"
host = "b"
every = "1s"
lasting = "100ms"
)"));
  ASSERT_EQ(world.hosts.size(), 2u);
  EXPECT_EQ(world.links[0].forward.rate_bits_per_second, 10'000'000u);
  EXPECT_EQ(world.links[0].back.rate_bits_per_second, 1'000'000u);
  EXPECT_EQ(world.links[0].back.delay, Duration::milliseconds(3));
  EXPECT_EQ(world.apps[0].bytes, 2'048u);
  EXPECT_FALSE(world.lane_faults[0].forward);
  EXPECT_EQ(std::get<sim::Loss>(world.lane_faults[0].fault).probability.per_billion, 20'000'000u);
  EXPECT_EQ(world.host_faults[0].host.value, 1u);
  EXPECT_NE(world.hosts[0].config.mac, world.hosts[1].config.mac);
}

TEST_F(WorldFile, ConfigOverridesByName) {
  const sim::World world = read_world(write(R"([[host]]
name = "a"
address = "10.0.0.1/24"
profile = "rfc"
[host.config]
mtu_bytes = "576B"
delayed_ack = "20ms"
nagle = false
isn_base = 4294967290
[[host]]
name = "b"
address = "10.0.0.2/24"
)" + std::string(link)));
  EXPECT_EQ(world.hosts[0].config.mtu.count, 576u);
  EXPECT_EQ(world.hosts[0].config.tcp.mss.count, 536u);
  EXPECT_EQ(world.hosts[0].config.tcp.delayed_ack, Duration::milliseconds(20));
  EXPECT_FALSE(world.hosts[0].config.tcp.nagle);
  EXPECT_EQ(world.hosts[0].config.tcp.isn_base.value, 4'294'967'290u);
}

TEST_F(WorldFile, NamesTheLineOfAnUnknownKey) {
  EXPECT_EQ(complaint(good() + "colour = \"red\"\n").rfind("13: link 'ab' has no key 'colour'", 0),
            0u);
  EXPECT_EQ(complaint("speed = 1\n" + good()).rfind("1: the world has no key 'speed'", 0), 0u);
}

TEST_F(WorldFile, RefusesAWrongUnit) {
  const std::string text = complaint(std::string(hosts) +
                                     "[[link]]\nname = \"ab\"\nfrom = \"a\"\nto = \"b\"\n"
                                     "delay = \"3 parsec\"\n");
  EXPECT_EQ(text, "11: 'delay' of link 'ab': \"3 parsec\" was found, expected a time with a unit, "
                  "like \"10ms\"");
}

TEST_F(WorldFile, RefusesAMissingHost) {
  const std::string text = complaint(
      std::string(hosts) + "[[link]]\nname = \"ab\"\nfrom = \"a\"\nto = \"c\"\n");
  EXPECT_EQ(text.rfind("10: 'to' of link 'ab': there is no host, switch or adversary 'c'", 0), 0u);
}

TEST_F(WorldFile, RefusesWhatCannotBe) {
  EXPECT_NE(complaint("not toml at all").find("not TOML"), std::string::npos);
  EXPECT_NE(complaint("").find("no [[host]]"), std::string::npos);
  EXPECT_NE(complaint(std::string(hosts)).find("exactly one link"), std::string::npos);
  EXPECT_NE(complaint(good() + "[[host]]\nname = \"a\"\naddress = \"10.0.0.3/24\"\n").find("taken"),
            std::string::npos);
  EXPECT_NE(complaint(good() + "[[fault]]\nname = \"f\"\nkind = \"gremlin\"\n")
                .find("expected one"),
            std::string::npos);
  EXPECT_NE(complaint(good() + "[[fault]]\nname = \"f\"\nkind = \"loss\"\nlink = \"ab\"\n"
                               "probability = 0.5\n")
                .find("in quotes"),
            std::string::npos);
  EXPECT_NE(complaint(good() + "[[app]]\nname = \"x\"\nmodel = \"bulk\"\nfrom = \"a\"\nto = \"b\"\n"
                               "flows = -1\n")
                .find("from 1 to"),
            std::string::npos);
  EXPECT_NE(complaint("[[host]]\nname = \"a\"\naddress = \"10.0.0.1/24\"\n[host.config]\n"
                      "rto_max = \"1s\"\n")
                .find("expected 60.000 s to"),
            std::string::npos);
}

TEST_F(WorldFile, ReadsChoicesByTheirWords) {
  const std::string text = std::string(hosts) + "[host.config]\ncongestion = ";
  const std::string rest = std::string(link) + std::string(upload);
  EXPECT_NE(complaint(text + "\"vegas\"\n" + rest).find("expected one of reno, cubic, dctcp"),
            std::string::npos);
  EXPECT_EQ(complaint(text + "\"cubic\"\necn = \"accept\"\n" + rest), "");
}

TEST_F(WorldFile, OffersEveryKeyThereIs) {
  const std::string text = complaint(std::string(hosts) +
                                     "[[link]]\nname = \"ab\"\nfrom = \"a\"\nto = \"b\"\n"
                                     "speed = \"1Mbit/s\"\n");
  EXPECT_NE(text.find(": back, delay, from, mark_packets, mtu, name, queue, queue_packets, rate, "
                      "to;"),
            std::string::npos)
      << text;
}

TEST_F(WorldFile, RefusesNamesAndAddressesThatAreTaken) {
  const std::string app = std::string(upload);
  const std::string fault = "[[fault]]\nname = \"f\"\nkind = \"stall\"\nhost = \"a\"\n";
  EXPECT_EQ(complaint(good() + app + app),
            "19: 'name' of app 'x': 'x' is taken, expected a new name");
  EXPECT_EQ(complaint(good() + fault + fault),
            "18: 'name' of fault 'f': 'f' is taken, expected a new name");
  EXPECT_EQ(complaint("[[host]]\nname = \"c\"\naddress = \"10.0.0.2/24\"\n" + good()),
            "9: 'address' of host 'b': 10.0.0.2 is the address of 'c', expected one of its own");
  EXPECT_EQ(complaint("[[host]]\nname = \"c\"\naddress = \"10.0.0.2\"\n"),
            "3: 'address' of host 'c': \"10.0.0.2\" was found, expected an address with a "
            "prefix length, like \"10.0.0.1/24\" or \"2001:db8::1/64\"");
}

TEST_F(WorldFile, RefusesAnAppBetweenNetworks) {
  const auto between = [this](const std::string& first, const std::string& second) {
    return complaint("[[host]]\nname = \"a\"\naddress = " + first +
                     "\n[[host]]\nname = \"b\"\naddress = " + second + "\n" +
                     std::string(link) + std::string(upload));
  };
  EXPECT_EQ(between("\"10.0.0.1/24\"", "\"10.0.1.1/24\"").rfind("17: 'to' of app 'x'", 0), 0u);
  EXPECT_EQ(between("\"10.0.0.1/8\"", "\"10.9.1.1/24\"").rfind("17: ", 0), 0u);
  EXPECT_EQ(between("\"10.0.0.1/0\"", "\"99.0.1.1/0\""), "");
  EXPECT_EQ(between("\"10.0.0.1/24\"\nlink = \"ip\"", "\"10.0.1.1/24\"\nlink = \"ip\""), "");
  EXPECT_EQ(between("\"10.0.0.1/24\"\ngateway = \"10.0.0.9\"",
                    "\"10.0.1.1/24\"\ngateway = \"10.0.1.9\""),
            "");
}

TEST_F(WorldFile, NamesTheLineOfWhatCannotBe) {
  EXPECT_EQ(complaint(std::string(hosts) +
                      "[[link]]\nname = \"ab\"\nfrom = \"a\"\nto = \"a\"\n"),
            "7: 'ab': a link must join two different nodes");
  EXPECT_EQ(complaint(good() + "[[host]]\nname = \"c\"\naddress = \"10.0.0.3/24\"\n"),
            "13: 'c': a host must be on exactly one link");
}

TEST(WorldFileMissing, IsOneLineToo) {
  for (const char* path : {"/nonexistent/world.toml", "/tmp"}) {
    try {
      read_world(path);
      ADD_FAILURE() << path;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
    }
  }
}

}  // namespace
}  // namespace lockstep::tools
