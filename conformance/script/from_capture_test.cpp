// Scripts of captures: those in pcaps/ on which our stack agrees, and captures of our own scripts.
#include "conformance/script/from_capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "conformance/replay/scenario.hpp"
#include "conformance/script/report.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance::script {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A script of a capture in pcaps/, seen from the scenario's device.
FromCapture of_scenario(const std::string& name) {
  Scenario const scenario = load_scenario("pcaps/" + name + "/scenario.toml");
  return from_capture("pcaps/" + name + "/capture.pcapng", scenario.device.address);
}

Verdict verdict_of(const FromCapture& made) {
  Arena arena;
  return run(parse("made.pkt", made.text, {}), {}, arena).verdict;
}

TEST(FromCapture, AuthoredScenariosPass) {
  std::vector<std::string> names;
  for (auto const& entry : fs::directory_iterator("pcaps")) {
    std::string const name = entry.path().filename().string();
    if (fs::exists(entry.path() / "scenario.toml") && name.find("linux") == name.npos) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  std::string differing;
  std::size_t passed = 0, refused = 0;
  for (std::string const& name : names) {
    try {
      FromCapture const made = of_scenario(name);
      EXPECT_EQ(verdict_of(made) == Verdict::passed, made.difference.empty()) << name;
      passed += made.difference.empty() ? 1 : 0;
      differing += made.difference.empty() ? "" : name + ": " + made.difference + "\n";
      EXPECT_EQ(made.difference.find('\n'), std::string::npos) << made.difference;
    } catch (const tools::Failure& failure) {
      EXPECT_THAT(failure.what(), HasSubstr("no TCP connection of 10.0.0.1 begins")) << name;
      ++refused;
    }
  }
  // The others depend on things that no capture shows, such as timer settings or dropped
  // connections.
  EXPECT_GE(passed, names.size() * 3 / 4) << differing;
  EXPECT_LE(refused, 3u);
}

TEST(FromCapture, CapturesOfLinuxPassWhereOurStackAgrees) {
  for (const char* const name :
       {"rfc2018-4-linux-gap-reported", "rfc2883-4-linux-duplicates-reported",
        "rfc3168-6.1.1-linux-client-asks", "rfc4987-3.6-linux-cookie",
        "rfc5681-4.2-linux-delayed-ack", "rfc5681-4.2-linux-reordering-received",
        "rfc6298-5-linux-backoff", "rfc7323-4.3-linux-echo-at-a-gap",
        "rfc7323-5.3-linux-old-timestamp", "rfc9293-3.5-linux-default-client",
        "rfc9293-3.6.1-linux-half-close", "rfc9293-3.8.5-linux-urgent-received"}) {
    FromCapture const made = of_scenario(name);
    EXPECT_EQ(made.difference, "") << name;
    EXPECT_EQ(verdict_of(made), Verdict::passed) << name << "\n" << made.text;
  }
}

TEST(FromCapture, ADifferenceIsOneLineWithThePacket) {
  FromCapture const larger = of_scenario("rfc1191-3-linux-datagram-too-big");
  EXPECT_THAT(larger.difference,
              HasSubstr("capture.pcapng: our stack differs at packet 17 (line "));
  EXPECT_THAT(larger.difference, HasSubstr("length: 600 in the capture, 1160 by our stack"));
  EXPECT_EQ(larger.difference.find('\n'), std::string::npos);
  EXPECT_EQ(verdict_of(larger), Verdict::failed);
}

/// Script to capture to script: the second script passes.
TEST(FromCapture, AScriptOfACaptureOfAScriptPasses) {
  std::size_t passed = 0;
  fs::path const folder =
      fs::temp_directory_path() / ("lockstep-from-capture-" + std::to_string(getpid()));
  auto const path = folder / "one.pcapng";
  fs::create_directories(folder);
  auto const files = find_scripts({"conformance/script/close", "conformance/script/data",
                                   "conformance/script/sack", "conformance/script/timestamps",
                                   "conformance/script/rto", "conformance/script/cwnd"});
  Arena arena;
  Overrides keep;
  keep.keep_capture = true;
  std::string differing;
  for (std::string const& file : files) {
    Ran const ran = run_file(file, {}, keep, arena);
    ASSERT_EQ(ran.verdict, Verdict::passed) << file;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(ran.capture.data()),
               static_cast<std::streamsize>(ran.capture.size()));
    try {
      FromCapture const made = from_capture(path.string(), IpAddress::v4(192, 168, 0, 1));
      passed += made.difference.empty() ? 1 : 0;
      differing += made.difference.empty() ? "" : file + ": " + made.difference + "\n";
      EXPECT_EQ(verdict_of(made) == Verdict::passed, made.difference.empty()) << file;
    } catch (const tools::Failure& failure) {
      differing += file + ": " + failure.what() + "\n";
    }
  }
  fs::remove_all(folder);
  EXPECT_GE(passed, files.size() * 9 / 10) << differing;
}

TEST(FromCapture, AnInvalidCaptureIsRefused) {
  EXPECT_THROW(from_capture("no/such.pcapng", {}), tools::Failure);
  EXPECT_THROW(from_capture("conformance/script/README.md", {}), tools::Failure);
  EXPECT_THROW(from_capture("pcaps/rfc6298-3-karn/capture.pcapng", IpAddress::v4(9, 9, 9, 9)),
               tools::Failure);
}

}  // namespace
}  // namespace lockstep::conformance::script
