// Worlds from TOML: what is read, and the error line for each mistake.
#include "tools/lib/world_file/world_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tools/base/process/failure.hpp"

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

std::string good() { return std::string(hosts) + std::string(link); }

class WorldFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    const auto folder = std::filesystem::path(testing::TempDir());
    path_ = (folder / "lockstep_world_test.toml").string();
    std::ofstream(path_) << text;
    return path_;
  }
  ~WorldFile() override { std::filesystem::remove(path_); }

  /// The error for a setting applied to a valid world.
  std::string complaint_about(const std::string& setting) {
    try {
      read_world(write(good()), {setting});
      return "";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      return failure.what();
    }
  }

  /// The error for a world, without the file's name; empty if there is none.
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

TEST_F(WorldFile, ReadsTheNicOfAHost) {
  const std::string at_a = "address = \"10.0.0.1/24\"\n";
  const auto with = [&](const std::string& more) {
    std::string text = good();
    return text.insert(text.find(at_a) + at_a.size(), more);
  };
  const sim::World world = read_world(write(with(R"(driver = "mpipe"
[host.nic]
bad_sum = "1%"
completion = "20us"
)")));
  EXPECT_EQ(world.hosts[0].nic.driver, sim::Name("mpipe"));
  EXPECT_EQ(world.hosts[0].nic.bad_sum.per_billion, 10'000'000u);
  EXPECT_EQ(world.hosts[0].nic.completion, Duration::microseconds(20));
  EXPECT_TRUE(world.hosts[1].nic.plain());
  EXPECT_THAT(complaint(with("driver = \"e1000\"\n")),
              testing::HasSubstr("\"e1000\" was found, expected plain or mpipe"));
  EXPECT_THAT(complaint(with("[host.nic]\nbatch = 1\n")),
              testing::HasSubstr("a host with the plain port has no nic"));
  EXPECT_THAT(complaint(with("driver = \"mpipe\"\n[host.nic]\nbatch = 33\n")),
              testing::HasSubstr("33"));
  EXPECT_THAT(complaint(with("driver = \"mpipe\"\n[host.config]\nmtu_bytes = \"20KiB\"\n")),
              testing::HasSubstr("an MTU of at most 10222 bytes"));
}

TEST_F(WorldFile, WhatAnApplicationDraws) {
  const auto app_with = [](const std::string& keys) { return good() + std::string(upload) + keys; };
  sim::AppSpec app = read_world(write(app_with(R"(start = "uniform 1s 2s"
bytes = "pareto 10KiB 1.2 1MiB"
think = "exponential 10ms"
arrivals = "on_off 1s 2s 20ms"
)")))
                         .apps.at(0);
  EXPECT_EQ(app.draws.start.kind, sim::DrawKind::uniform);
  EXPECT_EQ(app.draws.start.most, 2'000'000'000u);
  EXPECT_EQ(app.draws.bytes.least, 10'240u);
  EXPECT_EQ(app.draws.bytes.shape_thousandths, 1'200u);
  EXPECT_EQ(app.draws.bytes.most, 1'048'576u);
  EXPECT_EQ(app.draws.think.mean, 10'000'000u);
  EXPECT_EQ(app.draws.arrivals.gap, Duration::milliseconds(20));
  EXPECT_EQ(app.draws.arrivals.off, Duration::seconds(2));
  const auto refused = [&](const std::string& keys, const std::string& why) {
    EXPECT_THAT(complaint(app_with(keys)), testing::HasSubstr(why)) << keys;
  };
  refused("start = \"uniform 2s 1s\"\n",
          "18: 'start' of app 'x': \"uniform 2s 1s\" was found, expected");
  refused("bytes = \"pareto 10KiB\"\n", "18: 'bytes'");
  refused("bytes = \"pareto 10KiB 0\"\n", "18: 'bytes'");
  refused("bytes = \"exponential\"\n", "18: 'bytes'");
  refused("think = \"gauss 1s\"\n", "18: 'think'");
  refused("arrivals = \"poisson 0s\"\n",
          "18: 'arrivals' of app 'x': \"poisson 0s\" was found, expected");
  refused("arrivals = \"on_off 1s 20ms\"\n", "18: 'arrivals'");
  refused("arrivals = \"on_off 1us 1s 1s\"\n", "an arrival would take more than 1,000 times on");
  refused("bytes = \"file missing.txt\"\n", "missing.txt cannot be read: name a file of sizes");
}

TEST_F(WorldFile, SizesFromAFileBesideTheWorld) {
  const auto folder = std::filesystem::path(testing::TempDir());
  const std::string path = (folder / "lockstep_sizes.txt").string();
  const std::string text = good() + std::string(upload) + "bytes = \"file lockstep_sizes.txt\"\n";
  std::ofstream(path) << "# sizes of pages\n1500\n\n2KiB  # two\n";
  const sim::Draw draw = read_world(write(text)).apps.at(0).draws.bytes;
  EXPECT_EQ(draw.values, (std::vector<std::uint64_t>{1'500, 2'048}));
  for (const auto& [bad, where] : {std::pair("1500\nmany\n", ":2: \"many\" was found, expected"),
                                   std::pair("# none\n", ":1: no size was found, expected")}) {
    std::ofstream(path) << bad;
    try {
      read_world(write(text));
      FAIL() << bad;
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(), testing::HasSubstr(path + where));
    }
  }
  std::filesystem::remove(path);
}

TEST_F(WorldFile, TheQueueOfALink) {
  const sim::World world = read_world(write(good() + R"(discipline = "red"
min_packets = 20
max_packets = 60
ecn = true
shape = "5Mbit/s"
[link.back]
discipline = "fq_codel"
queue_packets = 100
)"));
  const sim::OutputSpec& there = world.links.at(0).forward.output;
  EXPECT_EQ(there.discipline, sim::DisciplineKind::red);
  EXPECT_EQ(there.red.max_packets, 60u);
  EXPECT_TRUE(there.red.ecn);
  EXPECT_EQ(there.red.packet_time, Duration::microseconds(400));
  EXPECT_EQ(there.shape_bits_per_second, 5'000'000u);
  const sim::OutputSpec& back = world.links.at(0).back.output;
  EXPECT_EQ(back.discipline, sim::DisciplineKind::fq_codel);
  EXPECT_EQ(back.fq_codel.limit_packets, 100u);
  const auto refused = [&](const std::string& keys, const std::string& why) {
    EXPECT_THAT(complaint(good() + keys), testing::HasSubstr(why)) << keys;
  };
  refused("discipline = \"blue\"\n", "13: 'discipline' of link 'ab': \"blue\" was found");
  refused("discipline = \"red\"\nmin_packets = 15\n", "15 is not below max_packets, 15");
  refused("discipline = \"red\"\nqueue_packets = 9\n", "the average never reaches 15");
  refused("discipline = \"codel\"\ntarget = \"1s\"\n", "14: 'target'");
  refused("discipline = \"pie\"\nmark_packets = 5\n", "expected ecn = true instead");
  refused("shape = \"1Mbit/s\"\nshape_burst = \"1KiB\"\n", "at least 1518 B");
  refused("trace = \"x.trace\"\n", "the trace is the rate");
  refused("[link.back]\ntrace = \"none.trace\"\n", "none.trace cannot be read: name a file");
  EXPECT_THAT(complaint_about("ab.interval=1s"), testing::HasSubstr("interval"));
}

TEST_F(WorldFile, ATraceThatIsNone) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / "lockstep_test.trace").string();
  const std::string text = good() + "[link.back]\ntrace = \"lockstep_test.trace\"\n";
  std::ofstream(path) << "0\n2\n2\n7\n";
  EXPECT_EQ(read_world(write(text)).links.at(0).back.output.trace_ms.size(), 4u);
  for (const auto& [bad, where] :
       {std::pair("", ":1: the trace ends without an opportunity after 0 ms"),
        std::pair("0\n0\n", ":2: the trace ends"), std::pair("5\n4\n", ":2: \"4\" was found"),
        std::pair("1\n2.5\n", ":2: \"2.5\" was found, expected milliseconds")}) {
    std::ofstream(path) << bad;
    try {
      read_world(write(text));
      FAIL() << bad;
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(), testing::HasSubstr(path + where));
    }
  }
  std::filesystem::remove(path);
}

constexpr std::string_view routed = R"([[host]]
name = "a"
address = "10.1.0.1/24"
[[host]]
name = "b"
address = "10.2.0.1/24"
[[router]]
name = "r"
[[link]]
name = "ar"
from = "a"
to = "r"
[[app]]
name = "x"
model = "bulk"
from = "a"
to = "b"
)";

TEST_F(WorldFile, Routers) {
  const std::string text = std::string(routed) +
                           "[[link]]\nname = \"rb\"\nfrom = \"r\"\nto = "
                           "\"b\"\n";
  const sim::World world = read_world(write(text));
  ASSERT_EQ(world.routers.at(0).ports.size(), 2u);
  EXPECT_EQ(world.routers[0].ports[1].address, IpAddress::v4(10, 2, 0, 254));
  EXPECT_EQ(world.hosts.at(0).config.gateway, IpAddress::v4(10, 1, 0, 254));
  const auto refused = [&](const std::string& all, const std::string& why) {
    EXPECT_THAT(complaint(all), testing::HasSubstr(why)) << all;
  };
  std::string bad = text;
  refused(bad.replace(bad.find("10.2.0.1"), 8, "10.1.0.9"),
          "4: 'b': its prefix is on another side of a router, too");
  bad = text;
  const auto with = [&](const std::string& keys) {
    std::string out = text;
    return out.insert(out.find("[[link]]"), keys);
  };
  refused(with("[[router.route]]\nto = \"10.9.0.0/16\"\nvia = \"10.2.0.7\"\n"),
          "7: 'r': a route leads via an address that no neighbouring router has");
  refused(with("[[router.route]]\nto = \"10.9.0.0/16\"\n"), "expected 'to' and 'via'");
  refused(with("[[router.interface]]\nlink = \"none\"\naddress = \"10.3.0.1/24\"\n"),
          "router 'r' has an interface on 'none', which is no link of it");
}

// Two routers that send packets to each other, and two islands.
TEST_F(WorldFile, RoutingLoopsAndUnreachablePrefixes) {
  const std::string two = std::string(routed) + R"([[link]]
name = "middle"
from = "r"
to = "s"
[[router]]
name = "s"
[[router.interface]]
link = "middle"
address = "100.64.0.2/24"
[[link]]
name = "sb"
from = "s"
to = "b"
)";
  EXPECT_EQ(complaint(two), "");
  EXPECT_THAT(complaint(two + "[[router.route]]\nto = \"10.2.0.0/24\"\nvia = \"100.64.0.1\"\n"),
              testing::HasSubstr("'s': a routing loop: packets to a prefix come back here"));
  std::string apart = two;
  apart.replace(apart.find("from = \"r\"\nto = \"s\""), 19, "from = \"c\"\nto = \"s\"");
  apart += "[[host]]\nname = \"c\"\naddress = \"10.3.0.1/24\"\n";
  EXPECT_THAT(complaint(apart), testing::HasSubstr("'x': no router leads from one of its hosts"));
}

TEST_F(WorldFile, ShortForms) {
  const sim::World world = read_world(write(R"([[dumbbell]]
pairs = 3
[dumbbell.bottleneck]
rate = "5Mbit/s"
[[star]]
name = "s"
[[app]]
name = "x"
model = "bulk"
from = "l3"
to = "r1"
)"),
                                      {"bottleneck.rate=7Mbit/s", "r2.sack=false"});
  EXPECT_EQ(world.hosts.size(), 8u);
  EXPECT_EQ(world.routers.size(), 3u);
  EXPECT_EQ(world.hosts.at(7).name, sim::Name("s-h2"));
  EXPECT_EQ(world.links.at(0).forward.rate_bits_per_second, 7'000'000u);
  EXPECT_FALSE(world.hosts.at(3).config.tcp.sack);
  EXPECT_THAT(complaint("[[dumbbell]]\npairs = 0\n"), testing::HasSubstr("2: 'pairs'"));
  EXPECT_THAT(complaint("[[dumbbell]]\nwidth = 1\n"), testing::HasSubstr("has no key 'width'"));
  EXPECT_THAT(complaint("[[dumbbell]]\n[dumbbell.bottleneck]\nrate = \"fast\"\n"),
              testing::HasSubstr("3: 'rate' of link 'bottleneck': \"fast\" was found"));
}

TEST_F(WorldFile, TwoHostsOnLinksOfOneNic) {
  const auto with = [&](const std::string& a, const std::string& b) {
    std::string text = good();
    text.insert(text.find("address = \"10.0.0.2"), b);
    return text.insert(text.find("address = \"10.0.0.1"), a);
  };
  const std::string nic = "driver = \"mpipe\"\n";
  const std::string same = "same_nic_as = \"a\"\n";
  const sim::World world = read_world(write(with(nic, same)));
  EXPECT_EQ(world.hosts[0].nic_links, 2u);
  EXPECT_EQ(world.hosts[1].nic_first, sim::HostIndex{0});
  EXPECT_EQ(world.hosts[1].nic_link, 1u);
  EXPECT_EQ(world.hosts[1].nic.driver, sim::Name("mpipe"));
  EXPECT_THAT(complaint(with("", same)), testing::HasSubstr("'a' has no nic of its own"));
  EXPECT_THAT(complaint(with(nic, "same_nic_as = \"c\"\n")),
              testing::HasSubstr("no host, switch, router or random_peer 'c'"));
  EXPECT_THAT(complaint(with(nic, same + nic)), testing::HasSubstr("leave 'driver' out"));
  EXPECT_THAT(complaint(with(nic, same + "receive_ring = 126\n")),
              testing::HasSubstr("hosts on links of one nic have the same link"));
  EXPECT_THAT(complaint(with(nic, same + "shards = 2\n")),
              testing::HasSubstr("hosts on links of one nic have the same link"));
}

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
  EXPECT_EQ(text,
            "11: 'delay' of link 'ab': \"3 parsec\" was found, expected a time with a unit, "
            "like \"10ms\"");
}

TEST_F(WorldFile, RefusesAMissingHost) {
  const std::string text =
      complaint(std::string(hosts) + "[[link]]\nname = \"ab\"\nfrom = \"a\"\nto = \"c\"\n");
  EXPECT_EQ(
      text.rfind("10: 'to' of link 'ab': there is no host, switch, router or random_peer 'c'", 0),
      0u);
}

TEST_F(WorldFile, RefusesImpossibleValues) {
  EXPECT_NE(complaint("not toml at all").find("not TOML"), std::string::npos);
  EXPECT_NE(complaint("").find("no [[host]]"), std::string::npos);
  EXPECT_NE(complaint(std::string(hosts)).find("exactly one link"), std::string::npos);
  EXPECT_NE(complaint(good() + "[[host]]\nname = \"a\"\naddress = \"10.0.0.3/24\"\n").find("taken"),
            std::string::npos);
  EXPECT_NE(
      complaint(good() + "[[fault]]\nname = \"f\"\nkind = \"gremlin\"\n").find("expected one"),
      std::string::npos);
  EXPECT_NE(complaint(good() + "[[fault]]\nname = \"f\"\nkind = \"loss\"\nlink = \"ab\"\n"
                               "probability = 0.5\n")
                .find("in quotes"),
            std::string::npos);
  constexpr std::string_view mask =
      "[[fault]]\nname = \"f\"\nkind = \"mask\"\nlink = \"ab\"\nmask = \"001\"\n";
  EXPECT_NE(complaint(good() + std::string(mask) + "repeat = true\nperiod = 2\n").find("from 3 to"),
            std::string::npos);
  EXPECT_NE(complaint(good() + std::string(mask) + "period = 5\n").find("repeat = true"),
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

TEST_F(WorldFile, SuggestsEveryKey) {
  const std::string text = complaint(std::string(hosts) +
                                     "[[link]]\nname = \"ab\"\nfrom = \"a\"\nto = \"b\"\n"
                                     "speed = \"1Mbit/s\"\n");
  EXPECT_NE(text.find(": answers_too_big, back, delay, discipline, from, mark_packets, mtu, "
                      "name, overhead, queue, queue_packets, rate, shape, shape_burst, to, trace;"),
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
                     "\n[[host]]\nname = \"b\"\naddress = " + second + "\n" + std::string(link) +
                     std::string(upload));
  };
  EXPECT_EQ(between("\"10.0.0.1/24\"", "\"10.0.1.1/24\"").rfind("17: 'to' of app 'x'", 0), 0u);
  EXPECT_EQ(between("\"10.0.0.1/8\"", "\"10.9.1.1/24\"").rfind("17: ", 0), 0u);
  EXPECT_EQ(between("\"10.0.0.1/0\"", "\"99.0.1.1/0\""), "");
  EXPECT_EQ(between("\"10.0.0.1/24\"\nlink = \"ip\"", "\"10.0.1.1/24\"\nlink = \"ip\""), "");
  EXPECT_EQ(
      between("\"10.0.0.1/24\"\ngateway = \"10.0.0.9\"", "\"10.0.1.1/24\"\ngateway = \"10.0.1.9\""),
      "");
}

TEST_F(WorldFile, NamesTheLineOfAnImpossibleValue) {
  EXPECT_EQ(complaint(std::string(hosts) + "[[link]]\nname = \"ab\"\nfrom = \"a\"\nto = \"a\"\n"),
            "7: 'ab': a link must join two different nodes");
  EXPECT_EQ(complaint(good() + "[[host]]\nname = \"c\"\naddress = \"10.0.0.3/24\"\n"),
            "13: 'c': a host must be on exactly one link");
}

TEST_F(WorldFile, AParserFailureIsOneLineToo) {
  for (const std::string text : {"[[#", "[#", "[[\na]]"}) {
    const std::string path = write(text);
    try {
      read_world(path);
      ADD_FAILURE() << text;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      EXPECT_EQ(std::string(failure.what()).rfind(path + ": not TOML: ", 0), 0u) << failure.what();
    }
  }
}

TEST_F(WorldFile, LettersBeyondAsciiStandInQuotesOnly) {
  const auto stray = [&](const std::string& text) {
    return complaint(text).find("a non-ASCII letter") != std::string::npos;
  };
  for (const char* fine : {"# \u00e9\n", "x = \"\u00e9\"", "x = '''\n\u00e9\n'''",
                           "x = \"\"\"\\\"\u00e9\"\"\"", "x = '\\' # \u00e9"}) {
    EXPECT_FALSE(stray(fine)) << fine;
  }
  for (const char* bad : {"\u00e9 = 1", "x = \"a\" \u00e9", "x = 'a\n\u00e9'", "# a\n\u00e9",
                          "x = '\\' \u00e9", "[\u2028]", "x = 2'\u00e9'"}) {
    EXPECT_TRUE(stray(bad)) << bad;
  }
  EXPECT_EQ(complaint("# a\n\n\u00e9 = 1").rfind("3: not TOML: a non-ASCII letter", 0), 0u);
}

TEST_F(WorldFile, SettingsComeAfterTheFile) {
  const std::string file = write(good());
  const sim::World world =
      read_world(file, {"*.sack=false", "a.delayed_ack=7ms", "b.congestion=reno", "a.sack=true"});
  EXPECT_TRUE(world.hosts[0].config.tcp.sack);
  EXPECT_FALSE(world.hosts[1].config.tcp.sack);
  EXPECT_EQ(world.hosts[0].config.tcp.delayed_ack, Duration::milliseconds(7));
  EXPECT_EQ(world.hosts[1].config.tcp.congestion, tcp::Congestion::reno);
  EXPECT_EQ(world.hosts[0].config.tcp.congestion, Config{}.tcp.congestion);
}

TEST_F(WorldFile, SettingsOfLinksAppsAndFaults) {
  const std::string file = write(good() + std::string(upload) +
                                 "[[fault]]\nname = \"loss\"\nkind = \"loss\"\nlink = \"ab\"\n"
                                 "probability = \"1%\"\n");
  const sim::World world =
      read_world(file, {"ab.rate=20Mbit/s", "loss.probability=5%", "ab.delay=3ms", "a.sack=false"});
  EXPECT_EQ(world.links[0].forward.rate_bits_per_second, 20'000'000u);
  EXPECT_EQ(world.links[0].forward.delay, Duration::milliseconds(3));
  ASSERT_EQ(world.lane_faults.size(), 1u);
  EXPECT_EQ(std::get<sim::Loss>(world.lane_faults[0].fault).probability.per_billion, 50'000'000u);
  EXPECT_FALSE(world.hosts[0].config.tcp.sack);
  EXPECT_EQ(complaint_about("ab.rate=fast").rfind("ab.rate=fast: 'rate' of link 'ab': ", 0), 0u)
      << complaint_about("ab.rate=fast");
  EXPECT_EQ(complaint_about("ab.rat=1").rfind("ab.rat=1: ", 0), 0u);
}

TEST_F(WorldFile, RefusesABadSettingInOneLine) {
  EXPECT_EQ(complaint_about("sack=false"),
            "sack=false: expected NAME.FIELD=VALUE, like a.sack=false");
  EXPECT_EQ(complaint_about("a.sack"), "a.sack: expected NAME.FIELD=VALUE, like a.sack=false");
  EXPECT_EQ(complaint_about("a.=\n"), "a.=\n: expected NAME.FIELD=VALUE, like a.sack=false");
  EXPECT_EQ(complaint_about("c.sack=false"),
            "c.sack=false: there is no host 'c', expected one of: a, b; or * for all; or a link, "
            "an app or a fault");
  EXPECT_EQ(complaint_about("a.sack=2"), "a.sack=2:1: 'sack' of host 'a': expected true or false");
  EXPECT_EQ(complaint_about("a.sac=true").rfind("a.sac=true:1: ", 0), 0u);
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

TEST_F(WorldFile, AHostOfSeveralShards) {
  std::string text = good() + std::string(upload);
  text.insert(text.find("[[host]]\nname = \"b\""), "shards = 3\nmissteer = \"1%\"\n");
  const sim::World world = read_world(write(text));
  ASSERT_EQ(world.hosts.size(), 4u);
  EXPECT_EQ(world.hosts[0].config.tcp.shards, Count{3});
  EXPECT_EQ(world.hosts[3].name.view(), "a-2");
  EXPECT_EQ(world.hosts[3].config.mac, world.hosts[0].config.mac);
  EXPECT_EQ(world.hosts[0].sibling({2}), sim::HostIndex{3});
  ASSERT_EQ(world.switches.size(), 1u);
  EXPECT_EQ(world.switches[0].missteer.per_billion, 10'000'000u);
  EXPECT_EQ(world.links.size(), 4u);
}

TEST_F(WorldFile, AHostOfSeveralShardsOnOneNic) {
  const auto with = [](const std::string& more) {
    std::string text = good() + std::string(upload);
    return text.insert(text.find("[[host]]\nname = \"b\""), more);
  };
  const sim::World world = read_world(write(
      with("shards = 4\nmissteer = \"2%\"\ndriver = \"mpipe\"\n[host.nic]\nhash = \"nic\"\n")));
  ASSERT_EQ(world.hosts.size(), 5u);
  for (const std::uint32_t worker : {0u, 2u, 3u, 4u}) {
    EXPECT_EQ(world.hosts[worker].nic.driver, sim::Name("mpipe"));
    EXPECT_EQ(world.hosts[worker].nic.hash, sim::NicHash::nic);
    EXPECT_EQ(world.hosts[worker].nic.mispredicted.per_billion, 20'000'000u);
  }
  // The NIC does the steering.
  EXPECT_EQ(world.switches[0].missteer.per_billion, 0u);
  EXPECT_THAT(complaint(with("driver = \"mpipe\"\n[host.nic]\nhash = \"toeplitz\"\n")),
              testing::HasSubstr("expected ours, nic, one or lopsided"));
  EXPECT_THAT(complaint(with("driver = \"mpipe\"\nshards = 65\n")),
              testing::HasSubstr("at most 64 workers"));
}

/// A world with a device as host `a`, read as `sim run` reads it; or why it is refused.
class DeviceWorld : public WorldFile {
 protected:
  static std::string text(const std::string& of_a, const std::string& app = std::string(upload)) {
    return "[[host]]\nname = \"a\"\n" + of_a +
           "[[host]]\nname = \"b\"\naddress = \"10.0.0.2/24\"\n" + std::string(link) + app;
  }
  std::string refusal(const std::string& world, Devices devices = Devices::allowed) {
    try {
      read_world(write(world), {}, devices);
      return "";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::bad_input);
      return failure.what();
    }
  }
  static inline const std::string lwip = "device = \"lwip\"\naddress = \"10.0.0.1/24\"\n";
};

TEST_F(DeviceWorld, ReadsADeviceItsSettingsAndItsApp) {
  const sim::World world =
      read_world(write(text(lwip + "profile = \"rfc\"\n[host.config]\nsack = false\nttl = 9\n"
                                   "mtu_bytes = 1400\n")),
                 {"a.ttl=10", "a.device=smoltcp"}, Devices::allowed);
  ASSERT_EQ(world.stations.size(), 1u);
  EXPECT_EQ(world.stations[0].device.view(), "smoltcp");
  EXPECT_EQ(world.stations[0].settings.view(), "profile=rfc\nsack=false\nttl=10\n");
  EXPECT_EQ(world.stations[0].mtu_bytes, 1'400u);
  EXPECT_TRUE(world.apps.empty());
  ASSERT_EQ(world.station_apps.size(), 1u);
  EXPECT_EQ(world.station_apps[0].client, (sim::NodeRef{sim::NodeKind::station, 0}));
  EXPECT_EQ(world.station_apps[0].server, (sim::NodeRef{sim::NodeKind::host, 0}));
  EXPECT_EQ(world.station_apps[0].app.server_address, IpAddress::v4(10, 0, 0, 2));
}

TEST_F(DeviceWorld, RefusesWhatADeviceCannotBeOrDo) {
  EXPECT_THAT(refusal(text(lwip), Devices::refused), testing::HasSubstr("use lockstep sim run"));
  EXPECT_THAT(refusal(text("device = \"\"\n")), testing::HasSubstr("lockstep devices"));
  EXPECT_THAT(refusal(text("device = \"lwip\"\n")), testing::HasSubstr("lacks the key 'address'"));
  EXPECT_THAT(refusal(text(lwip + "shards = 2\n")), testing::HasSubstr("'shards'"));
  EXPECT_THAT(refusal(text(lwip + "[host.config]\nx = \"1\\n2\"\n")),
              testing::HasSubstr("expected one line"));
  EXPECT_THAT(refusal(text(lwip,
                           "[[app]]\nname = \"x\"\nmodel = \"http\"\nfrom = \"a\"\n"
                           "to = \"b\"\n")),
              testing::HasSubstr("'http' does not run on a device"));
  EXPECT_THAT(refusal(text("device = \"lwip\"\naddress = \"10.9.0.1/24\"\n")),
              testing::HasSubstr("different networks"));
  EXPECT_THAT(refusal(text("device = \"lwip\"\naddress = \"10.0.0.2/24\"\n")),
              testing::HasSubstr("is the address of 'a'"));
}

}  // namespace
}  // namespace lockstep::tools
